//! Downloads into files that no effect names, and programs that run the code of a project.

use crate::judge::analysis::act::{Effect, Taint, UnknownReason, Value};
use crate::judge::analysis::arguments::{DerivedEffect, Reading};
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::files::{ExistingText, FileUpdate, WrittenData};
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::state::{Build as _, State, unknown};
use crate::judge::rules::catalog::source_files;
use crate::judge::rules::glob;
use crate::judge::rules::model::{Build, Fetch, FetchInto, Program};
use crate::judge::rules::word_lists;

/// Returns the language of a file with this name.
pub fn language_of(path: &str) -> Option<&'static str> {
    source_files().language_of(path)
}

/// A download by a program, and the operands that belong to it.
struct Download<'r> {
    fetch: &'r Fetch,
    operands: Vec<&'r Value>,
}

/// Returns the download that a run performs, by the description of the program.
fn download<'r>(program: &'r Program, ran: ProgramRun<'r>) -> Option<Download<'r>> {
    let ProgramRun { name, reading, args, .. } = ran;
    if program.fetches.is_empty() {
        return None;
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
    let of_name = program.fetches.iter().filter(|fetch| fetch.programs.iter().any(|known| known == name));
    let mut found = of_name.filter_map(|fetch| {
        let from = match fetch.words.is_empty() {
            true => Some(0),
            false => fetch.words.iter().find_map(|words| begins(words)),
        }?;
        (fetch.options.is_empty() || reading.has_flag(&fetch.options)).then_some((fetch, from))
    });
    // A later table takes precedence.
    let (fetch, from) = found.next_back()?;
    Some(Download { fetch, operands: plain.iter().skip(from).map(|at| &args[*at].value).collect() })
}

/// Reports whether a run connects to the addresses among its arguments, and no effect mentions them.
pub(super) fn connects(program: &Program, ran: ProgramRun<'_>) -> bool {
    let tells = |effect: &DerivedEffect| matches!(effect.effect, Effect::Fetch | Effect::Send) && !effect.on.is_empty();
    let is_told = ran.reading.effects.iter().any(tells);
    // Programs with a target have names of their own for places elsewhere.
    !is_told && download(program, ran).is_some_and(|download| download.fetch.into != FetchInto::Target)
}

/// Returns the files into which a program downloads, if no effect names them.
#[inline(never)]
pub(super) fn targets(state: &State, program: &Program, ran: ProgramRun<'_>) -> Vec<Place> {
    let Some(Download { fetch, operands: rest }) = download(program, ran) else { return Vec::new() };
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
        FetchInto::Nowhere => {}
    }
    let any = match fetch.into {
        FetchInto::Unnamed => directory(state, fetch, ran.reading).and_then(|dir| dir.any_in()),
        _ => None,
    };
    named.iter().filter_map(|place| state.file(place)).chain(any).collect()
}

/// Returns the directory of files whose names the program chooses: that of an option, or the working directory.
fn directory(state: &State, fetch: &Fetch, reading: &Reading) -> Option<Place> {
    let mut given = reading.flags.iter().filter(|flag| fetch.directory.contains(&flag.name));
    let named = given.next().and_then(|flag| flag.value.as_ref()?.known());
    match (named, given.next()) {
        (Some(dir), None) => state.place(&dir),
        _ => state.cwd.clone(),
    }
}

/// Returns the change of a file that is downloaded.
pub(super) fn downloaded(place: Place, conditional: bool) -> FileUpdate {
    let text = unknown(UnknownReason::CommandOutput, Taint::FETCHED);
    FileUpdate::Write(WrittenData::of(place, text, Taint::FETCHED, conditional))
}

/// The code of a project that a program runs, as far as the command itself made it.
#[derive(Default)]
pub(super) struct ProjectCode {
    /// The reason why it is not all known.
    pub unknown: Option<UnknownCode>,
    /// The languages of texts that the command wrote, their names for recursion, and the texts.
    pub written: Vec<(&'static str, String, Value)>,
    /// The languages of existing files that the command copied or changed, and the files.
    pub existing: Vec<(&'static str, ExistingText)>,
}

/// The reason why code of a project is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownCode {
    /// The command downloads it.
    Fetched,
    /// The command downloads it for a package manager, which verifies the packages that it installs.
    FetchedPackage,
    /// The command unpacks it from an archive.
    Unpacked,
}

/// Reports whether a path is that of a directory or of source code, and not of data.
fn is_code(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let packed = || word_lists::PROJECT_FILE_ENDINGS.iter().any(|end| name.ends_with(end));
    !name.contains('.') || language_of(name).is_some() || packed()
}

impl WalkProgress<'_, '_> {
    /// Returns the code of the project that a program runs, as far as the command itself downloaded or wrote it.
    #[inline(never)]
    pub(super) fn project_code(&self, state: &State, program: &Program, ran: ProgramRun<'_>) -> ProjectCode {
        let args = ran.args;
        if self.files.written.is_empty() {
            return ProjectCode::default();
        }
        let Some(build) = runs_project(program, ran) else { return ProjectCode::default() };
        let words = || args.iter().filter_map(|field| field.value.known());
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
        let mut fetched = places.iter().skip(own).any(|place| self.is_fetched(place));
        let (mut written, mut existing) = (Vec::new(), Vec::new());
        for (path, file) in &self.files.written {
            let Some((dir, name)) = path.split() else { continue };
            let Some(name) = name.known() else { continue };
            let language = language_of(name);
            if !places.contains(&dir) || !(source_files().is_recipe(name) || language.is_some()) {
                continue;
            }
            // A named file is walked by the program that gets it.
            if words().any(|word| state.place(&word).as_ref() == Some(path)) {
                continue;
            }
            for sink in file.contents.iter().filter_map(|sink| self.sinks.get(*sink)) {
                let is_fetched = sink.taint.and(sink.text.taint()).has(Taint::FETCHED);
                fetched |= is_fetched;
                let known =
                    language.filter(|language| *language != "shell" && !is_fetched && sink.text.known().is_some());
                let code = |language| (language, format!("code of {}", path.shown()), sink.text.clone());
                written.extend(known.filter(|_| !sink.is_empty()).map(code));
                // What is unchanged is the project's own code.
                let base = sink.base.clone().filter(|base| base.place != *path || !base.changes.is_empty());
                existing.extend(base.and_then(|base| Some((language?, base))));
            }
            // A copy of another file, under a name that runs.
            let copies = file.copies.iter().cloned().map(ExistingText::of);
            existing.extend(copies.filter_map(|origin| Some((language?, origin))));
        }
        let unknown = if fetched {
            let verified = build.installs && own == 1;
            Some(if verified { UnknownCode::FetchedPackage } else { UnknownCode::Fetched })
        } else {
            let unpacked = places.iter().skip(own).any(|place| self.is_unpacked(place));
            unpacked.then_some(UnknownCode::Unpacked)
        };
        ProjectCode { unknown, written, existing }
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

#[cfg(test)]
mod tests {
    use crate::judge::analysis::testing::world::SampleWorld;
    use crate::judge::risk::Tier;

    fn tier(command: &str) -> Tier {
        SampleWorld::default().judge(command).risk.tier
    }

    #[test]
    fn a_described_program_connects_to_no_unknown_host_unasked() {
        const UNKNOWN: &str = "https://files.unheard-of.net/a";
        const KNOWN: &str = "https://github.com/a/b";
        for form in [
            "svn checkout U",
            "hg clone U",
            "darcs get U",
            "jj git clone U",
            "degit U x",
            "ffprobe U",
            "convert U x.png",
            "vagrant box add x U",
            "vim U",
        ] {
            assert_eq!(tier(&form.replace('U', UNKNOWN)), Tier::Medium, "{form}");
            assert!(tier(&form.replace('U', KNOWN)) <= Tier::Low, "{form}");
        }
        for form in ["svn import . U -m x", "hg push U"] {
            assert!(tier(&form.replace('U', UNKNOWN)) >= Tier::Medium, "{form}");
        }
        assert_eq!(tier("svn co svn+ssh://files.unheard-of.net/a"), Tier::Medium);
        for harmless in [
            "echo https://files.unheard-of.net/a",
            "svn propget x https.txt",
            "helm template ./chart",
            "aws s3 cp s3://unheard-of/a .",
            "rg https://files.unheard-of.net/a",
        ] {
            assert!(tier(harmless) <= Tier::Low, "{harmless}");
        }
    }
}
