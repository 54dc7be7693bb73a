//! What is fetched into files, where no effect says which, and what runs the code that lies in a project.

use super::{Ran, is_among};
use crate::judge::analysis::act::{OpaqueReason, Operand, Taint, UnknownReason, Value};
use crate::judge::analysis::enclosing::Frame;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::redirect::absolute;
use crate::judge::analysis::state::{Build as _, State, unknown};
use crate::judge::analysis::walk::Walker;

/// What stands behind a directory for files in it whose names nothing says.
pub(in crate::judge::analysis) const UNNAMED: &str = "/*";

/// Programs that fetch, by their first words. `+`: what is named, into a directory of its own. `>`: copies, from a
/// place elsewhere only. `*`: files whose names it makes up.
const FETCHERS: [&str; 49] = [
    "+gh repo clone",
    "+gh gist clone",
    "+glab repo clone",
    "+svn checkout",
    "+svn co",
    "+svn export",
    "+hg clone",
    "+bzr branch",
    "+brz branch",
    "+fossil clone",
    "+jj git clone",
    "+git submodule add",
    "+degit",
    "+tiged",
    "+hf download",
    "+huggingface-cli download",
    ">aws s3 cp",
    ">aws s3 mv",
    ">aws s3 sync",
    ">gsutil cp",
    ">gsutil rsync",
    ">gcloud storage cp",
    ">gcloud storage rsync",
    ">gcloud compute scp",
    ">rclone copy",
    ">rclone copyto",
    ">rclone sync",
    ">docker cp",
    ">docker container cp",
    ">podman cp",
    ">kubectl cp",
    ">oc cp",
    ">azcopy copy",
    ">s5cmd cp",
    ">s3cmd get",
    ">mc cp",
    ">scp",
    ">rsync",
    "*gh release download",
    "*gh run download",
    "*glab release download",
    "*az storage blob download",
    "*npm pack",
    "*pip download",
    "*pip3 download",
    "*oras pull",
    "*sftp",
    "*lftp",
    "*smbclient",
];

/// Programs that run the code of the project in which they start, each with the words of it that do; none: all do.
/// `-`: not all that lies there, only what is named or lies beside it.
const RUNNERS: [(&str, &str); 20] = [
    (
        "npm pnpm yarn bun",
        "install i ci clean-install add test t start run run-script exec rebuild build dev pack publish link",
    ),
    ("- pip pip3 pipx", "install wheel"),
    ("uv poetry pdm hatch rye pipenv", "sync install run build lock add pip test"),
    ("cargo", "build b run r test t check c bench install clippy doc nextest"),
    ("go", "run test generate"),
    ("- python python3 node ruby perl php lua", ""),
    (
        "pytest py.test tox nox jest mocha vitest ava tsx ts-node webpack vite rollup gulp grunt turbo nx lerna eslint",
        "",
    ),
    ("make gmake just task mage invoke inv fab scons waf doit rake ninja meson cmake ctest", ""),
    ("gradle gradlew mvn mvnw ant sbt lein bazel bazelisk buck2", ""),
    ("bundle", "install exec update"),
    ("composer", "install update run run-script require"),
    ("docker podman", "up"),
    ("docker-compose podman-compose", "up run build create start exec"),
    (
        "mix stack cabal swift dotnet zig nimble dub rebar3 elixir",
        "build run test compile deps.get install restore publish",
    ),
    ("deno", "task run test"),
    ("nix nix-build nix-shell", ""),
    ("rails rake rspec phpunit pre-commit", ""),
    ("vagrant fastlane pod", ""),
    (
        "- dpkg rpm apt apt-get dnf yum zypper apk gem code codium cursor snap flatpak installer msiexec",
        "-i -U -Uvh -ivh -package --install --install-extension add install /i",
    ),
    ("- wasmtime wasmer", ""),
];

/// Files that such a program reads to know what to run, beside source code.
const RECIPES: [&str; 26] = [
    "Cargo.toml",
    "CMakeLists.txt",
    "Gemfile",
    "Gruntfile.js",
    "Makefile",
    "Rakefile",
    "Vagrantfile",
    "WORKSPACE",
    "build.gradle",
    "build.ninja",
    "build.xml",
    "compose.yaml",
    "compose.yml",
    "composer.json",
    "docker-compose.yaml",
    "docker-compose.yml",
    "meson.build",
    "mix.exs",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    ".npmrc",
    ".pre-commit-config.yaml",
    "Taskfile.yml",
];

/// Files without an ending that are Ruby.
const RUBY: [&str; 6] = ["Rakefile", "Vagrantfile", "Gemfile", "Guardfile", "Fastfile", "Podfile"];

/// The language that a file of this name is read as, by its ending.
pub(super) fn language_of(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if RUBY.contains(&name) {
        return Some("ruby");
    }
    let (_, extension) = name.rsplit_once('.')?;
    SOURCES.iter().find(|(known, _)| *known == extension).map(|(_, language)| *language)
}

/// Names of source files, with the language that their text is read as.
const SOURCES: [(&str, &str); 44] = [
    ("py", "python"),
    ("js", "js"),
    ("mjs", "js"),
    ("cjs", "js"),
    ("ts", "js"),
    ("rb", "ruby"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("lua", "lua"),
    ("php", "php"),
    ("rs", "other"),
    ("go", "other"),
    ("gradle", "other"),
    ("R", "other"),
    ("r", "other"),
    ("c", "other"),
    ("cc", "other"),
    ("cpp", "other"),
    ("cr", "other"),
    ("csx", "other"),
    ("d", "other"),
    ("dart", "other"),
    ("ex", "other"),
    ("exs", "other"),
    ("fsx", "other"),
    ("groovy", "other"),
    ("hs", "other"),
    ("java", "other"),
    ("jl", "other"),
    ("jsx", "js"),
    ("kt", "other"),
    ("kts", "other"),
    ("ml", "other"),
    ("mts", "js"),
    ("nim", "other"),
    ("sc", "other"),
    ("scala", "other"),
    ("sh", "shell"),
    ("sql", "sql"),
    ("swift", "other"),
    ("tcl", "tcl"),
    ("tsx", "js"),
    ("v", "other"),
    ("zig", "other"),
];

/// Whether a program builds a project, so that what is new there may come of that.
pub(super) fn builds(name: &str) -> bool {
    RUNNERS.iter().any(|(names, _)| !names.starts_with('-') && is_among(names, name))
}

impl Walker<'_> {
    /// Remembers what a program fetches that says so by its subcommand alone.
    #[inline(never)]
    pub(super) fn fetches(&mut self, state: &State, frame: &Frame, name: &str, args: &[Field]) {
        let known: Vec<Option<String>> = args.iter().map(|field| field.value.known_text()).collect();
        if matches!(name, "wget" | "wget2") {
            let collects = |arg: &String| match arg.strip_prefix("--") {
                Some(long) => {
                    ["recursive", "input-file", "mirror", "force-directories"].iter().any(|o| long.starts_with(o))
                }
                None => arg.starts_with('-') && arg.contains(['r', 'i', 'x', 'm']) && !arg.starts_with("-e"),
            };
            if known.iter().flatten().any(collects) {
                self.fetched_to(state, frame, Value::text(format!(".{UNNAMED}")));
            }
            return;
        }
        let plain: Vec<usize> =
            (0..args.len()).filter(|at| !known[*at].as_deref().is_some_and(|word| word.starts_with('-'))).collect();
        let word = |at: usize| plain.get(at).and_then(|at| known[*at].as_deref());
        let mut found = None;
        for fetcher in FETCHERS {
            let (kind, line) = fetcher.split_at(1);
            let mut words = line.split(' ');
            if words.next() != Some(name) {
                continue;
            }
            let tail: Vec<&str> = words.collect();
            // Values of options may stand in front.
            let begins = |from: &usize| tail.iter().enumerate().all(|(at, tail)| word(from + at) == Some(tail));
            if let Some(from) = (0..3).find(begins) {
                found = Some((kind, from + tail.len()));
            }
        }
        let Some((kind, from)) = found else { return };
        let rest: Vec<&Value> = plain.iter().skip(from).map(|at| &args[*at].value).collect();
        let elsewhere = |value: &&&Value| {
            let text = value.leading();
            text.contains(':') && !text.starts_with(['/', '.', '~'])
        };
        // Without a name it packs what lies here.
        if name == "npm" && !rest.iter().any(|value| !value.is(".") && !value.leading().starts_with(['-', '/', '.'])) {
            return;
        }
        match kind {
            ">" => {
                let Some((target, sources)) = rest.split_last().filter(|(target, _)| !elsewhere(target)) else {
                    return;
                };
                let into = target.is(".") || target.rough().ends_with('/');
                for source in sources.iter().filter(elsewhere) {
                    let mut place = (*target).clone();
                    if into {
                        place.push_text("/");
                        place.push_text(&last_name(source).unwrap_or("*".to_owned()));
                    }
                    self.fetched_to(state, frame, place);
                }
            }
            _ => {
                for (at, value) in rest.iter().enumerate() {
                    let name = last_name(value).filter(|_| kind == "+");
                    let named = (kind == "*" || at > 0).then(|| (*value).clone());
                    for place in name.map(Value::text).into_iter().chain(named) {
                        self.fetched_to(state, frame, place);
                    }
                }
                if kind == "*" {
                    self.fetched_to(state, frame, Value::text(format!(".{UNNAMED}")));
                }
            }
        }
    }

    /// Remembers that what lies at a place is fetched.
    fn fetched_to(&mut self, state: &State, frame: &Frame, place: Value) {
        let Some(key) = self.file_key(state, &place) else { return };
        let sink = self.file_sink(frame, key, false);
        if let Some(sink) = self.sinks.get_mut(sink) {
            sink.write(&unknown(UnknownReason::CommandOutput, Taint::FETCHED), Taint::FETCHED, false);
        }
    }

    /// What a program runs of the project where it starts, as far as the line itself fetched or wrote it.
    #[inline(never)]
    pub(super) fn project_code(&mut self, state: &State, frame: &Frame, ran: Ran<'_>) {
        let Ran { name, reading, args, span } = ran;
        if self.files.is_empty() {
            return;
        }
        let Some((names, subs)) = RUNNERS.iter().find(|(names, _)| is_among(names, name)) else {
            return;
        };
        let words = || args.iter().filter_map(|field| field.value.known());
        let runs = |sub: &str| subs.split(' ').any(|known| known == sub);
        let bare = ["npm", "pnpm", "yarn", "bun"].contains(&name) && args.is_empty();
        if !subs.is_empty() && !bare && !reading.sub.iter().any(|sub| runs(sub)) && !words().any(|word| runs(&word)) {
            return;
        }
        let language = language_of;
        // A directory, or source code; data that is handed over is none.
        let is_code = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let packed = [
                ".whl", ".gz", ".tgz", ".zip", ".toml", ".yml", ".yaml", ".sh", ".jar", ".deb", ".rpm", ".apk", ".gem",
                ".vsix", ".wasm", ".nix", ".snap", ".flatpak", ".pkg", ".msi",
            ];
            !name.contains('.') || language(name).is_some() || packed.iter().any(|end| name.ends_with(end))
        };
        let mut places: Vec<String> = state.cwd.iter().cloned().collect();
        // Where packages are taken from or put is no project.
        let beside = |field: &Field| ["-f", "--find-links", "-t", "--target"].iter().any(|name| field.value.is(name));
        let mut before = None;
        for field in args {
            let place = before.replace(field).is_none_or(|before| !beside(before));
            let Some(word) = field.value.known().filter(|_| place) else { continue };
            let word = word.rsplit_once('=').map_or(&*word, |(_, value)| value);
            let place = absolute(state, word).filter(|path| is_code(path));
            // A plain word may be a name of something else.
            places.extend(place.filter(|path| word.contains(['/', '.']) || self.files.contains_key(path)));
        }
        let own = usize::from(names.starts_with('-'));
        let own = if state.cwd.is_some() { own } else { 0 };
        let mut fetched = places.iter().skip(own).any(|place| self.is_fetched(place));
        let (mut written, mut copies) = (Vec::new(), Vec::new());
        for (path, file) in &self.files {
            let Some((dir, name)) = path.rsplit_once('/') else { continue };
            if !places.iter().any(|place| place == dir) || !(RECIPES.contains(&name) || language(name).is_some()) {
                continue;
            }
            // What is named itself is read by who is given it.
            let given = words().any(|word| absolute(state, &word).as_deref() == Some(path.as_str()));
            for sink in file.contents.iter().filter_map(|sink| self.sinks.get(*sink)).filter(|_| !given) {
                let taint = sink.taint.and(sink.text.taint());
                fetched |= taint.has(Taint::FETCHED);
                if let Some(language) = language(name)
                    && !taint.has(Taint::FETCHED)
                    && sink.text.known().is_some()
                {
                    written.push((language, format!("code of {path}"), sink.text.clone()));
                }
            }
            // A copy of what lies elsewhere, under a name that is run.
            let copied = file.copies.iter().filter(|_| !given);
            copies.extend(copied.filter_map(|origin| Some((language(name)?, origin.clone()))));
        }
        if fetched {
            let detail = "what is run is fetched from the network in this line";
            // What a manager of packages installs is checked by it, for what that is worth.
            let installs = own == 1 && subs.contains("install") && names.contains("dpkg");
            self.opaque(if installs { OpaqueReason::FetchedCode } else { frame.fetched_code() }, detail, span);
        } else if places.iter().skip(own).any(|place| self.is_unpacked(place)) {
            self.opaque(OpaqueReason::Script, "what is run comes out of an archive of this line", span);
        }
        for (language, call, text) in written.into_iter().filter(|(language, ..)| *language != "shell") {
            // What it runs may be code of the project in turn.
            if frame.is_called(&call) {
                continue;
            }
            let mut inner = frame.perhaps();
            inner.called(&call);
            self.foreign(state, &inner, None, language, &text, span);
        }
        for (language, origin) in copies {
            let origin = Operand { value: Value::text(origin), span };
            self.foreign_file(state, &frame.perhaps(), language, &origin, span);
        }
    }
}

/// The name under which something that is fetched is kept: the last of its address.
fn last_name(value: &Value) -> Option<String> {
    let text = value.known()?;
    let path = text.split(['?', '#']).next()?.trim_end_matches('/').trim_end_matches(".git");
    path.rsplit(['/', ':']).next().filter(|name| !name.is_empty()).map(str::to_owned)
}
