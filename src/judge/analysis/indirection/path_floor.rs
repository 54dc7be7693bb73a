//! The floor of paths: arguments of any program that name a sensitive path, and that no described effect mentions.
//!
//! A described program is never judged less strictly than an undescribed one. This module finds the arguments that name
//! such paths, and the effects that mention them already. Out of scope: the program's use of its files, which is
//! `files` and `effects` of its description.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::judge::analysis::act::{Effect, Flag, Operand, Value};
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::arguments::{Arg, CodeFrom, CodeSource, DerivedEffect, Reading};
use crate::judge::analysis::fuel::cost;
use crate::judge::analysis::hosts;
use crate::judge::analysis::indirection::downloads::{self, language_of};
use crate::judge::analysis::paths::is_remote;
use crate::judge::analysis::program::is_shell;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::state::State;
use crate::judge::analysis::streams::Stream;
use crate::judge::path_class::{PathClass, PathClasses};
use crate::judge::risk::Tier;
use crate::judge::rules::model::{ArgumentPlace, Files, HostClass, Program};
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// The classes of files that run later, and of guard's own files.
const LATER: [PathClass; 3] = [PathClass::Guard, PathClass::Startup, PathClass::Persistence];
/// The classes of files about whose change guard always asks.
const OWNED: [PathClass; 6] = [
    PathClass::Guard,
    PathClass::Startup,
    PathClass::Persistence,
    PathClass::System,
    PathClass::Device,
    PathClass::Secret,
];
/// An argument, or a part of one, that may name a file.
struct NamedArgument {
    value: Value,
    span: Span,
    /// The option before it, or before its `=`, without dashes; empty if there is none.
    option: String,
    /// Whether the description of the program does not list the option, so that it may have no value.
    guessed: bool,
}

/// What a program does with sensitive paths in its arguments that no described effect mentions.
#[derive(Debug, Default)]
pub(in crate::judge::analysis) struct TouchedPaths {
    /// Whether it may show a secret.
    pub shows_secret: bool,
    /// The programs of the rules that judge it, with their arguments.
    pub judged_as: Vec<(&'static str, Vec<Arg>)>,
    /// Its effects.
    pub effects: Vec<DerivedEffect>,
}

impl AnalysisInput<'_> {
    /// Returns the program of the rule about a program that runs as root because of a wrapper, and that is undescribed
    /// or in a directory that the session writes, with its argument.
    pub fn unknown_as_root(
        &self,
        state: &State,
        (name, path): (&str, Option<&str>),
        described: bool,
        span: Span,
    ) -> Option<(&'static str, Arg)> {
        const OURS: [PathClass; 3] = [PathClass::Project, PathClass::Temp, PathClass::InHome];
        let ours = path.is_some_and(|path| self.classes(state.cwd.as_ref(), &Value::text(path)).has_any(&OURS));
        let program = match (ours, described) {
            (true, _) => "unknown:root-own",
            (false, false) => "unknown:root",
            (false, true) => return None,
        };
        let what = Operand { value: Value::text(path.unwrap_or(name)), span };
        Some((program, Arg::of(&what)))
    }
}

impl WalkProgress<'_, '_> {
    /// Resolves links in a path; `None` if there are none.
    fn led_to(&self, state: &State, value: &Value) -> Option<Value> {
        if let Some((behind, _)) = self.behind(state, value) {
            return Some(behind);
        }
        let dir = state.cwd.as_ref();
        let path = state.path(&value.known()?)?;
        // Only a link can point out of the project.
        if !self.input.spend(cost::QUESTION) || !is_own_work(self.input.classes(dir, value)) {
            return None;
        }
        let led = &self.input.inquiry.path(&path)?.canonical;
        let led = Value::text(led.as_str());
        (*led.known()? != *path && !is_own_work(self.input.classes(dir, &led))).then_some(led)
    }

    /// Returns what a program does with sensitive paths in arguments that no described effect mentions: secrets, files
    /// that run later, files of guard, and files that are written by the name of an option.
    #[inline(never)]
    pub fn touched_paths(
        &self,
        state: &State,
        ran: ProgramRun<'_>,
        described: Option<&Program>,
        args: &[Arg],
    ) -> TouchedPaths {
        let ProgramRun { name, reading, .. } = ran;
        // Calls in code are judged elsewhere, and a dry run does nothing with its arguments.
        if reading.dry_run || name.contains(':') {
            return TouchedPaths::default();
        }
        let (mut read, mut used, mut written) = (Vec::new(), Vec::new(), Vec::new());
        let (mut touched, mut devices) = (Vec::new(), Vec::new());
        let reader = described.is_some() && reading.tier == Tier::Safe;
        let told = described.is_some_and(|program| tells_of_operands(program, reading));
        for mut named in named_files(described, reading, args) {
            if named.guessed {
                let classes = self.input.classes(state.cwd.as_ref(), &named.value);
                if reading.files != Files::Named && classes.has_any(&LATER) && is_guarded(classes) {
                    written.push(Operand { value: named.value, span: named.span });
                    continue;
                }
                named.option.clear();
            }
            if named.option.is_empty() && (reading.files == Files::Named || told) {
                continue;
            }
            // For a described program the description gives the effects on its operands.
            let followed = (described.is_none() || !named.option.is_empty()).then(|| self.led_to(state, &named.value));
            let followed = followed.flatten();
            // A bare word counts as a file only if it is a link.
            if followed.is_none() && is_bare(&named.value.leading()) {
                continue;
            }
            let value = followed.unwrap_or(named.value);
            let classes = self.input.classes(state.cwd.as_ref(), &value);
            let operand = Operand { value, span: named.span };
            let has = |word: &str| named.option.split(['-', '_', ':']).any(|part| part == word);
            let writes = !named.option.is_empty() && word_lists::WRITING_OPTIONS.into_iter().any(has);
            let replaces = described.is_none()
                && !named.option.is_empty()
                && word_lists::FILE_REPLACING_OPTIONS.into_iter().any(has);
            if writes && is_guarded(classes) || replaces {
                written.push(operand);
                continue;
            }
            if classes.has(PathClass::Secret) {
                let rightly = reading.files == Files::Used || word_lists::SECRET_USING_OPTIONS.into_iter().any(has);
                if !rightly {
                    read.push(operand.clone());
                } else if classes.has(PathClass::System) {
                    used.push(operand.clone());
                }
            }
            if classes.has(PathClass::Device) && described.is_none() {
                devices.push(operand);
                continue;
            }
            let operand_of_reader = reader && named.option.is_empty();
            // A program that uses settings reads those that an option names.
            let used_setting = reading.files == Files::Used && !named.option.is_empty();
            // A script is judged by its content.
            let script =
                |source: &CodeSource| matches!(&source.from, CodeFrom::Script(script) if script.value == operand.value);
            let is_script = reading.code.iter().any(script);
            if classes.has_any(&LATER) && !is_own_work(classes) && !operand_of_reader && !used_setting && !is_script {
                touched.push(operand);
            }
        }
        // An unknown program, or code, may show its standard input.
        if (described.is_none() || reading.code.iter().any(may_show_input))
            && let Stream::File(from, _) = &state.streams.stdin
            && self.input.classes(state.cwd.as_ref(), &from.value).has(PathClass::Secret)
        {
            read.push((**from).clone());
        }
        written.extend(self.written_by_variables(state, ran));
        let shows_secret = !read.is_empty();
        let judged_as =
            [("unknown:read", read), ("known:read", used), ("unknown:touch", touched), ("unknown:device", devices)];
        let judged_as = judged_as.into_iter().filter(|(_, operands)| !operands.is_empty());
        let judged_as =
            judged_as.map(|(program, operands)| (program, operands.iter().map(Arg::of).collect())).collect();
        let connects = described.is_none_or(|program| downloads::connects(program, ran));
        let addresses = if connects { self.addresses(args) } else { Vec::new() };
        let fetched = addresses.into_iter().map(|address| DerivedEffect::of(Effect::Fetch, vec![address]));
        let written = written.into_iter().map(|operand| DerivedEffect::of(Effect::Write, vec![operand]));
        TouchedPaths { shows_secret, judged_as, effects: fetched.chain(written).collect() }
    }

    /// Returns the files that variables of a program name as an output, a log or a trace, if they run later, are guard's
    /// own or of the system.
    #[inline(never)]
    fn written_by_variables(&self, state: &State, ran: ProgramRun<'_>) -> Vec<Operand> {
        let env = state.env(ran.env);
        let parts = env.iter().flat_map(|(name, value)| {
            let text = value.rough().into_owned();
            let of_name = |part: &str| {
                let (key, path) = part.split_once('=').unwrap_or((name, part));
                (path.contains('/') && writes_by_name(key)).then(|| Value::text(path))
            };
            text.split([' ', ':', ',']).filter_map(of_name).collect::<Vec<Value>>()
        });
        let is_guarded = |path: &Value| is_guarded(self.input.classes(state.cwd.as_ref(), path));
        parts.filter(is_guarded).map(|value| Operand { value, span: ran.span }).collect()
    }

    /// Returns the arguments that are hosts, addresses or files on other hosts.
    fn addresses(&self, args: &[Arg]) -> Vec<Operand> {
        let mut addresses = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| args.get(at)).and_then(|arg| arg.value.known());
            if before.is_some_and(|option| names_host(&option))
                && hosts::class(&arg.value, false, self.input.catalog, &[]) != HostClass::None
            {
                addresses.push(Operand { value: arg.value.clone(), span: arg.span });
                continue;
            }
            let text = arg.value.leading();
            let is_host =
                |text: &str| hosts::class(&Value::text(text), false, self.input.catalog, &[]) != HostClass::None;
            if let Some(hosts) = named_hosts(&text, &is_host) {
                addresses.extend(hosts.map(|host| Operand { value: Value::text(host), span: arg.span }));
                continue;
            }
            let (from, rest) = match text.split_once('=') {
                Some((option, rest)) if text.starts_with('-') => (option.len() + 1, rest),
                _ => (0, text.as_ref()),
            };
            let address = rest.split_once("://").is_some_and(|(scheme, _)| {
                let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
                scheme != "file" && !scheme.is_empty() && scheme.bytes().all(is_letter)
            });
            let place = is_remote(rest) && rest.split_once(':').is_some_and(|(host, _)| host.contains('@'));
            if address || place {
                addresses.push(Operand { value: arg.value.without_leading(from), span: arg.span });
            }
        }
        addresses
    }
}

/// Reports whether a word does not look like a path.
fn is_bare(text: &str) -> bool {
    !text.contains(['/', '.', '~', '_'])
}

/// Reports whether the name of an option indicates that its value is a host.
fn names_host(option: &str) -> bool {
    option.starts_with('-')
        && word_lists::HOST_OPTIONS.contains(&option.trim_start_matches('-').to_ascii_lowercase().as_str())
}

/// Returns the hosts that an argument names beyond addresses: `--host=HOST`, `host=HOST port=1`, `HOST:PORT`, `HOST,HOST,`.
fn named_hosts<'t>(text: &'t str, is_host: &dyn Fn(&str) -> bool) -> Option<std::vec::IntoIter<&'t str>> {
    let of_key = |part: &'t str| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim_start_matches('-').to_ascii_lowercase();
        (key.len() > 1 && word_lists::HOST_OPTIONS.contains(&key.as_str()) && is_host(value)).then_some(value)
    };
    let mut found: Vec<&str> = text.split([' ', ';', ',']).filter_map(of_key).collect();
    let (name, port) = text.rsplit_once(':').unwrap_or_default();
    let port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    // `main.swift:12` is a line of a file.
    if port && name.contains('.') && language_of(name).is_none() && is_host(name) && is_host(text) {
        found.push(text);
    }
    if let Some(list) = text.strip_suffix(',') {
        found.extend(list.split(',').filter(|part| is_host(part)));
    }
    (!found.is_empty()).then(|| found.into_iter())
}

/// Reports whether code may print its standard input. The code of filters is analysed for this.
fn may_show_input(source: &CodeSource) -> bool {
    const FILTERS: [&str; 3] = ["awk", "sed", "sql"];
    let beside = !matches!(source.from, CodeFrom::Stdin);
    beside && !is_shell(&source.language) && !FILTERS.contains(&source.language.as_str())
}

/// Returns the arguments, or parts of them, that may name files and that no effect mentions. Arguments of an inner
/// command belong to that command. For a described program it is known of which option an argument is the value.
fn named_files(described: Option<&Program>, reading: &Reading, args: &[Arg]) -> Vec<NamedArgument> {
    let wraps = !reading.inner.is_empty();
    // A set, because there may be thousands of arguments.
    let of_effects: HashSet<&Value> =
        reading.effects.iter().flat_map(|derived| &derived.on).map(|on| &on.value).collect();
    let spoken = |value: &Value| of_effects.contains(value);
    let mut given: HashMap<&Value, &Flag> = HashMap::new();
    for flag in &reading.flags {
        flag.value.iter().for_each(|value| _ = given.entry(value).or_insert(flag));
    }
    let of_sub = described.and_then(|program| program.subs.exact(&reading.sub)).map(|sub| sub.options.as_slice());
    let options = described.map(|program| program.options.as_slice()).into_iter().chain(of_sub).flatten();
    let names = OnceCell::new();
    let is_option = |name: &str| {
        let all = || options.clone().flat_map(|spec| &spec.names).map(String::as_str).collect::<HashSet<&str>>();
        names.get_or_init(all).contains(name)
    };
    let script = reading.code.iter().find_map(|source| match &source.from {
        CodeFrom::Script(operand) => Some(operand.span),
        CodeFrom::Inline(..) | CodeFrom::Stdin => None,
    });
    let mut named = Vec::new();
    let mut before = String::new();
    for arg in args {
        let text = arg.value.leading();
        let mut option = std::mem::take(&mut before);
        let flag = given.get(&arg.value);
        let mut guessed = false;
        // A short option may have no value (`ls -l FILE`); a long one has none if it is described so.
        if described.is_some() {
            let unlisted = Some(option).filter(|option| !is_option(option));
            let writes = |option: &str| word_lists::WRITING_OPTIONS.contains(&option.trim_start_matches('-'));
            let unlisted = unlisted.filter(|option| option.starts_with("--") || writes(option));
            guessed = flag.is_none() && unlisted.as_ref().is_some_and(|option| !option.starts_with("--"));
            option = flag.map(|flag| flag.name.clone()).or(unlisted).unwrap_or_default();
        }
        let part = |from: usize, option: &str| NamedArgument {
            value: arg.value.without_leading(from),
            span: arg.span,
            option: option.trim_start_matches('-').to_ascii_lowercase(),
            guessed,
        };
        let found = if text.starts_with('-') && text.len() > 1 {
            match text.find('=') {
                Some(at) => part(at + 1, &text[..at]),
                // `-xPATH`
                None if text.get(2..).is_some_and(|rest| rest.starts_with(['/', '~', '@'])) => part(2, &text[..2]),
                // `-NAME:PATH`
                None if let Some((name, path)) = text.rsplit_once(':')
                    && path.contains('/')
                    && writes_by_name(name) =>
                {
                    part(name.len() + 1, name)
                }
                None => {
                    before = text.to_string();
                    continue;
                }
            }
        } else {
            // The arguments of a wrapper's command, and of a script, belong to them.
            let theirs = wraps || !reading.code.is_empty() && script != Some(arg.span);
            if theirs && flag.is_none() {
                continue;
            }
            let is_key = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            match text.find('=').filter(|at| is_key(&text[..*at])) {
                Some(at) => part(at + 1, &text[..at]),
                None => part(0, &option),
            }
        };
        let text = found.value.leading();
        // A command string is not a path.
        let words = text.contains(' ') && !text.starts_with(['/', '~']);
        if words || described.is_some() && is_bare(&text) || spoken(&found.value) || spoken(&arg.value) {
            continue;
        }
        // `@FILE`, `file:/…`, `text/plain:/…`
        let skip = match text.find(":/") {
            _ if text.starts_with('@') => 1,
            Some(at) if at > 0 && !text[at..].starts_with("://") && !text[..at].contains(['.', '@']) => at + 1,
            _ => 0,
        };
        let option = if skip == 1 && found.option.is_empty() { "@".to_owned() } else { found.option };
        named.extend(listed_paths(&found.value, &option, arg.span));
        named.push(NamedArgument { value: found.value.without_leading(skip), option, ..found });
    }
    named
}

/// Returns the absolute paths in a list with commas, each of which may follow a key (`id=a,file=/dev/sda,format=raw`).
fn listed_paths(list: &Value, option: &str, span: Span) -> Vec<NamedArgument> {
    let Some(text) = list.known().filter(|text| text.contains(',')) else { return Vec::new() };
    let named = text.split(',').filter_map(|part| {
        let (key, path) = part.split_once('=').unwrap_or((option, part));
        let option = key.to_ascii_lowercase();
        path.starts_with('/').then(|| NamedArgument { value: Value::text(path), span, option, guessed: false })
    });
    named.collect()
}

/// Reports whether an effect of the program applies to its operands, so that the description covers them.
fn tells_of_operands(program: &Program, reading: &Reading) -> bool {
    fn on_operands(place: &ArgumentPlace) -> bool {
        match place {
            ArgumentPlace::Operands
            | ArgumentPlace::Below(_)
            | ArgumentPlace::First
            | ArgumentPlace::Last
            | ArgumentPlace::Init
            | ArgumentPlace::Rest => true,
            ArgumentPlace::All(places) => places.iter().any(on_operands),
            ArgumentPlace::Inside(inner, _) => on_operands(inner),
            ArgumentPlace::Flag(_)
            | ArgumentPlace::Data(_)
            | ArgumentPlace::Names
            | ArgumentPlace::Here
            | ArgumentPlace::Stdin => false,
        }
    }
    let of_sub = program.subs.exact(&reading.sub).map(|sub| sub.effects.as_slice()).unwrap_or_default();
    program.effects.iter().chain(of_sub).any(|spec| on_operands(&spec.to))
}

/// Reports whether the name of a variable, or of a key in its value, indicates a file that is written.
fn writes_by_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(['-', '_', ':']).map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()));
    word_lists::WRITING_VARIABLES.contains(&name.as_str())
        || parts.any(|part| part.len() > 1 && word_lists::WRITING_OPTIONS.contains(&part))
}

/// Reports whether guard asks about a change of a file with these classes. Hooks of a repository are not the project's
/// own work.
fn is_guarded(classes: PathClasses) -> bool {
    let hook = classes.has(PathClass::Repository) && classes.has_any(&LATER);
    classes.has_any(&OWNED) && (!is_own_work(classes) || hook)
}

/// Reports whether a path is in the project or temporary.
fn is_own_work(classes: PathClasses) -> bool {
    classes.has_any(&[PathClass::Project, PathClass::Temp])
}

#[cfg(test)]
mod tests;
