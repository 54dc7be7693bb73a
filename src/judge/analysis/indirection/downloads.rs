//! Downloads into files that no effect names, and programs that run the code of a project.

use crate::judge::analysis::act::{OpaqueReason, Operand, Taint, UnknownReason, Value};
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::files::{FileUpdate, WrittenData};
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::recursion::{ActiveCall, Callee};
use crate::judge::analysis::state::{Build as _, State, unknown};
use crate::judge::analysis::walk::Walker;
use crate::judge::rules::catalog::source_files;
use crate::judge::rules::glob;
use crate::judge::rules::model::{Build, FetchInto, Program};

/// Returns the language of a file with this name.
pub fn language_of(path: &str) -> Option<&'static str> {
    source_files().language_of(path)
}

/// Returns the files into which a program downloads, if no effect names them.
#[inline(never)]
pub(super) fn targets(state: &State, program: &Program, ran: ProgramRun<'_>) -> Vec<Place> {
    let ProgramRun { name, reading, args, .. } = ran;
    if program.fetches.is_empty() {
        return Vec::new();
    }
    let known: Vec<Option<String>> = args.iter().map(|field| field.value.known_text()).collect();
    let plain: Vec<usize> =
        (0..args.len()).filter(|at| !known[*at].as_deref().is_some_and(|word| word.starts_with('-'))).collect();
    let word = |at: usize| plain.get(at).and_then(|at| known[*at].as_deref());
    // The end of the words of a download among the arguments. Values of options may precede them.
    let begins = |words: &str| {
        let tail: Vec<&str> = words.split(' ').collect();
        let fits = |from: &usize| tail.iter().enumerate().all(|(at, tail)| word(from + at) == Some(tail));
        (0..3).find(fits).map(|from| from + tail.len())
    };
    let mut found = None;
    for fetch in program.fetches.iter().filter(|fetch| fetch.programs.iter().any(|known| known == name)) {
        let from = match fetch.words.is_empty() {
            true => Some(0),
            false => fetch.words.iter().find_map(|words| begins(words)),
        };
        if let Some(from) = from.filter(|_| fetch.options.is_empty() || reading.has_flag(&fetch.options)) {
            found = Some((fetch, from));
        }
    }
    let Some((fetch, from)) = found else { return Vec::new() };
    let rest: Vec<&Value> = plain.iter().skip(from).map(|at| &args[*at].value).collect();
    let elsewhere = |value: &&&Value| {
        let text = value.leading();
        text.contains(':') && !text.starts_with(['/', '.', '~'])
    };
    let is_here = |value: &&Value| value.is(".") || value.leading().starts_with(['-', '/', '.']);
    if fetch.elsewhere && rest.iter().all(is_here) {
        return Vec::new();
    }
    let mut named: Vec<Value> = Vec::new();
    match fetch.into {
        FetchInto::Target => {
            let Some((target, sources)) = rest.split_last().filter(|(target, _)| !elsewhere(target)) else {
                return Vec::new();
            };
            let into = target.is(".") || target.rough().ends_with('/');
            for source in sources.iter().filter(elsewhere) {
                let mut place = (*target).clone();
                if into {
                    place.push_text("/");
                    place.push_text(&last_name(source).unwrap_or("*".to_owned()));
                }
                named.push(place);
            }
        }
        FetchInto::Named => {
            for (at, value) in rest.iter().enumerate() {
                named.extend(last_name(value).map(Value::text));
                named.extend((at > 0).then(|| (*value).clone()));
            }
        }
        FetchInto::Unnamed => named.extend(rest.into_iter().cloned()),
    }
    let any = state.cwd.as_ref().filter(|_| matches!(fetch.into, FetchInto::Unnamed)).and_then(Place::any_in);
    named.iter().filter_map(|place| state.file(place)).chain(any).collect()
}

/// Returns the change of a file that is downloaded.
pub(super) fn downloaded(place: Place, conditional: bool) -> FileUpdate {
    let text = unknown(UnknownReason::CommandOutput, Taint::FETCHED);
    FileUpdate::Write(WrittenData::of(place, text, Taint::FETCHED, conditional))
}

impl Walker<'_> {
    /// Walks the code of the project that a program runs, as far as the command itself downloaded or wrote it.
    #[inline(never)]
    pub(super) fn project_code(&mut self, state: &State, context: &Context, program: &Program, ran: ProgramRun<'_>) {
        let ProgramRun { args, span, .. } = ran;
        if self.files.written.is_empty() {
            return;
        }
        let Some(build) = runs_project(program, ran) else { return };
        let words = || args.iter().filter_map(|field| field.value.known());
        let language = language_of;
        // A directory or source code, and not data.
        let is_code = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            let packed = [
                ".whl", ".gz", ".tgz", ".zip", ".toml", ".yml", ".yaml", ".sh", ".jar", ".deb", ".rpm", ".apk", ".gem",
                ".vsix", ".wasm", ".nix", ".snap", ".flatpak", ".pkg", ".msi",
            ];
            !name.contains('.') || language(name).is_some() || packed.iter().any(|end| name.ends_with(end))
        };
        let mut places: Vec<Place> = state.cwd.iter().cloned().collect();
        // The source or target directory of packages is not a project.
        let beside = |field: &Field| ["-f", "--find-links", "-t", "--target"].iter().any(|name| field.value.is(name));
        let mut before = None;
        for field in args {
            let place = before.replace(field).is_none_or(|before| !beside(before));
            let Some(word) = field.value.known().filter(|_| place) else { continue };
            let word = word.rsplit_once('=').map_or(&*word, |(_, value)| value);
            let place = state.place(word).filter(|place| is_code(place.shown()));
            // A plain word may be another name.
            places.extend(place.filter(|path| word.contains(['/', '.']) || self.files.written.contains_key(path)));
        }
        let own = usize::from(build.named && state.cwd.is_some());
        let mut fetched = places.iter().skip(own).any(|place| self.progress().is_fetched(place));
        let (mut written, mut copies) = (Vec::new(), Vec::new());
        for (path, file) in &self.files.written {
            let Some((dir, name)) = path.split() else { continue };
            let Some(name) = name.known() else { continue };
            if !places.contains(&dir) || !(source_files().is_recipe(name) || language(name).is_some()) {
                continue;
            }
            // A named file is walked by the program that gets it.
            let given = words().any(|word| state.place(&word).as_ref() == Some(path));
            for sink in file.contents.iter().filter_map(|sink| self.sinks.get(*sink)).filter(|_| !given) {
                let taint = sink.taint.and(sink.text.taint());
                fetched |= taint.has(Taint::FETCHED);
                if let Some(language) = language(name)
                    && !taint.has(Taint::FETCHED)
                    && sink.text.known().is_some()
                {
                    written.push((language, format!("code of {}", path.shown()), sink.text.clone()));
                }
            }
            // A copy of another file, under a name that runs.
            let copied = file.copies.iter().filter(|_| !given);
            copies.extend(copied.filter_map(|origin| Some((language(name)?, origin.clone()))));
        }
        if fetched {
            let detail = "the command runs code that it downloads";
            // A package manager verifies the packages that it installs.
            self.opaque(
                if build.installs && own == 1 { OpaqueReason::FetchedCode } else { context.fetched_code() },
                detail,
                span,
            );
        } else if places.iter().skip(own).any(|place| self.progress().is_unpacked(place)) {
            self.opaque(OpaqueReason::Script, "the command runs code from an archive that it unpacks", span);
        }
        for (language, call, text) in written.into_iter().filter(|(language, ..)| *language != "shell") {
            // The code may run other code of the project.
            let call = Callee::Definition(call);
            if context.is_called(&call) {
                continue;
            }
            let mut inner = context.perhaps();
            inner.called(ActiveCall::of(call));
            self.embedded_code(state, &inner, None, language, &text, span);
        }
        for (language, origin) in copies {
            let origin = Operand { value: origin.value(), span };
            self.embedded_file(state, &context.perhaps(), language, &origin, span);
        }
    }
}

/// Returns the description that this run executes code of the project.
pub(super) fn runs_project<'p>(program: &'p Program, ran: ProgramRun<'_>) -> Option<&'p Build> {
    let ProgramRun { name, reading, args, .. } = ran;
    let is_of = |build: &&Build| build.programs.iter().any(|known| known == name || glob::text(known, name));
    let build = program.builds.iter().find(is_of)?;
    let words = || args.iter().filter_map(|field| field.value.known());
    let runs = |sub: &str| build.words.iter().any(|known| known == sub);
    let always = build.words.is_empty() || build.bare && args.is_empty();
    (always || reading.sub.iter().any(|sub| runs(sub)) || words().any(|word| runs(&word))).then_some(build)
}

/// Returns the name of a downloaded file: the last part of its address.
fn last_name(value: &Value) -> Option<String> {
    let text = value.known()?;
    let path = text.split(['?', '#']).next()?.trim_end_matches('/').trim_end_matches(".git");
    path.rsplit(['/', ':']).next().filter(|name| !name.is_empty()).map(str::to_owned)
}
