//! Files of code that a program loads: named by an option, an operand or a variable, or found under a fixed name.
//!
//! Out of scope: which programs load what (descriptions), and walking the files.

use super::downloads::language_of;
use super::targets::shell_functions;
use super::task_settings::commands;
use crate::judge::analysis::act::{Effect, Piece, Taint, UnknownReason, Value};
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::fuel::cost;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program::variable;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::streams::{Stream, descriptor};
use crate::judge::analysis::value::HOLE;
use crate::judge::rules::glob;
use crate::judge::rules::model::{Load, OptionSpec, ValueKind};
use crate::judge::syntax;
use crate::judge::syntax::tree::Dialect;

/// Maximum number of files for one description.
const MAX_FILES: usize = 16;

/// The files that a program loads by one description, in one run.
pub(super) struct LoadedFiles {
    /// Whether one of them is the output of another command.
    pub piped: bool,
    /// The settings files of the program, and whether they are unchanged in git.
    pub settings: Vec<(Value, bool)>,
    /// The values of options; if settings contain options, these precede the values in settings.
    pub of_options: Vec<Value>,
    pub files: Vec<Value>,
}

impl LoadedFiles {
    /// Returns the files of code, given the values of options that settings contain.
    pub fn code(self, in_settings: Vec<Value>) -> impl Iterator<Item = Value> {
        self.of_options.into_iter().chain(self.files).chain(in_settings).take(MAX_FILES)
    }
}

/// Reports whether a run only lists or checks the files that it finds, and runs none of them.
pub(super) fn only_lists(load: &Load, ran: ProgramRun<'_>) -> bool {
    ran.reading.dry_run && !load.listed
}

/// Reports whether a description of loaded files is of this run.
pub(super) fn applies(load: &Load, ran: ProgramRun<'_>) -> bool {
    // The name of a program with several versions is a glob.
    let is_of = load.programs.iter().any(|name| name == ran.name || glob::text(name, ran.name));
    let has = |word: &String| ran.args.iter().any(|field| field.value.is(word));
    is_of && (load.words.is_empty() || load.words.iter().any(has)) && !load.unless.iter().any(has)
}

/// Returns the function that finds the possible commands in a file of this language; `None`: its lines are not
/// commands.
pub(super) fn commands_in(language: &str) -> Option<fn(&str) -> Vec<String>> {
    match language {
        "tasks" => Some(|text| commands(text, &[])),
        "keyed" => Some(commands_behind_keywords),
        "make" => Some(commands_of_recipes),
        _ => None,
    }
}

/// Returns what follows the first word of each line.
fn commands_behind_keywords(text: &str) -> Vec<String> {
    let behind = |line: &str| Some(line.trim().split_once(char::is_whitespace)?.1.trim().to_owned());
    text.lines().filter_map(behind).collect()
}

/// Returns the commands of all recipes of a makefile, and those of its functions.
fn commands_of_recipes(text: &str) -> Vec<String> {
    let recipes = text.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned);
    recipes.chain(shell_functions(text).into_iter().map(str::to_owned)).collect()
}

impl AnalysisInput<'_> {
    /// Returns the state in which a program runs others: its own directories are first in `PATH`.
    pub(in crate::judge::analysis) fn with_bins(
        &self,
        state: &State,
        name: &str,
        env: &[(String, Value)],
    ) -> Box<State> {
        let mut child = state.child(env);
        let bins = self.catalog.program(name).map(|program| program.bins.clone()).unwrap_or_default();
        let Some(dir) = state.dir().filter(|_| !bins.is_empty()) else { return child };
        let mut path: String = bins.iter().map(|bin| format!("{}/{bin}:", dir.trim_end_matches('/'))).collect();
        let outer = variable(state, env, "PATH").and_then(|value| value.known_text());
        path.push_str(outer.as_deref().or_else(|| self.invocation.env.get("PATH")).unwrap_or_default());
        child.set_scalar("PATH", Value::text(path));
        child.export("PATH");
        child
    }

    /// Reports whether a line of settings is a command: it begins with a described program or a path, and parses.
    pub(super) fn is_command(&self, line: &str) -> bool {
        let first = line.split_whitespace().next().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or_default();
        (self.catalog.program(program).is_some() || first.starts_with("./"))
            && syntax::parse(line.as_bytes(), Dialect::Sh).is_ok()
    }

    /// Returns the operands that may name loaded files.
    fn operand_files(&self, state: &State, load: &Load, ran: ProgramRun<'_>) -> Vec<Value> {
        let args = ran.args;
        let may_be = |field: &&Field| {
            let text = field.value.rough();
            let plain = !text.starts_with('-') && !text.contains("://") && !load.words.iter().any(|word| *word == text);
            // A name with its ending is complete.
            let whole = language_of(text.split("::").next().unwrap_or_default()).is_some();
            plain && if load.endings.is_empty() { whole } else { !whole }
        };
        // The value of an option before a package is another directory.
        let taken =
            |at: usize| at > 0 && args.get(at - 1).is_some_and(|before| self.takes_next(ran.name, &before.value));
        // A file that the program writes is not loaded.
        let wrote = |value: &Value| {
            let outputs = ran.reading.effects.iter().filter(|derived| derived.effect == Effect::Write);
            outputs.flat_map(|derived| &derived.on).any(|on| on.value == *value)
        };
        let is_package = !load.words.is_empty() && !load.endings.is_empty();
        let operands = args.iter().enumerate().filter(|(at, _)| !is_package || !taken(*at)).map(|(_, field)| field);
        let named = operands.filter(may_be).map(|field| field.value.clone()).filter(|value| !wrote(value));
        // Operands after a script are its arguments; several scripts may follow a subcommand.
        let named = named.take(if load.endings.is_empty() || !load.words.is_empty() { MAX_FILES } else { 1 });
        // `test_a.py::test_b`
        let part = |value: Value| match value.known_text().as_deref().and_then(|text| text.split_once("::")) {
            Some((file, _)) => Value::text(file),
            None => value,
        };
        let is_new = |value: &Value| {
            let path = value.known().and_then(|path| state.path(&path));
            !load.changed || path.is_none_or(|path| self.is_changed(&path))
        };
        named.map(part).filter(is_new).collect()
    }

    /// Reports whether a file is in a git work tree and new or changed there.
    fn is_of_work_tree(&self, state: &State, file: &Value) -> bool {
        let path = file.known().and_then(|path| state.path(&path));
        path.and_then(|path| self.inquiry.git(&path)).is_some_and(|git| git.root.is_some() && !git.clean)
    }

    /// Reports whether the next argument is the value of this one, by the description of the program.
    fn takes_next(&self, program: &str, argument: &Value) -> bool {
        let Some(name) = argument.known_text().filter(|name| name.starts_with('-')) else { return false };
        let Some(program) = self.catalog.program(program) else { return true };
        let subs = program.subs.iter().flat_map(|sub| &sub.options);
        let is_it = |option: &&OptionSpec| option.names.contains(&name);
        program.options.iter().chain(subs).find(is_it).is_some_and(|option| option.value == ValueKind::Required)
    }

    /// Reports whether a file is new or changed in git, so that it may not have been reviewed.
    pub(in crate::judge::analysis) fn is_changed(&self, path: &str) -> bool {
        !self.inquiry.git(path).is_some_and(|git| git.clean)
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the files that a program loads by a description which [`applies`].
    #[inline(never)]
    pub(super) fn loaded_files(&self, state: &State, load: &Load, ran: ProgramRun<'_>) -> LoadedFiles {
        let env = ran.env;
        let listing = only_lists(load, ran);
        let given: Vec<&Value> = ran.args.iter().map(|field| &field.value).collect();
        let mut named = option_values(&given, &load.options);
        for name in &load.within {
            let more = variable(state, env, name).and_then(|value| value.known_text()).unwrap_or_default();
            let more: Vec<Value> = more.split_whitespace().map(Value::text).collect();
            named.extend(option_values(&more.iter().collect::<Vec<_>>(), &load.options));
        }
        let mut files: Vec<Value> = named.into_iter().flat_map(|file| self.listed(state, file)).collect();
        let mut piped = files.iter().any(|file| comes_in(state, file));
        let of_options = if load.option_keys.is_empty() { Vec::new() } else { std::mem::take(&mut files) };
        if load.operands && !listing {
            files.extend(self.input.operand_files(state, load, ran));
        }
        for name in &load.variables {
            let value = variable(state, env, name);
            piped |= value.as_ref().is_some_and(|value| comes_in(state, value));
            let parts = value.iter().flat_map(|value| known_parts(value, &[':', ',', ' ', '=']));
            files.extend(parts.filter(|part| !part.starts_with('-')).map(Value::text));
        }
        for dir in load.under.iter().flat_map(|name| directories(state, ran, name)) {
            let file = |file: &String| Value::text(format!("{}/{file}", dir.trim_end_matches('/')));
            files.extend(load.files.iter().map(file));
        }
        let by_name = load.under.is_empty() && !listing;
        if by_name {
            self.input.spend(cost::LOOK_UP * 4 * load.files.len() as u64);
            files.extend(self.written_by_name(state, &load.files));
            files.extend(self.found_by_name(state, &load.files));
        }
        if load.session {
            files.retain(|file| self.is_of_session(state, file));
        }
        if load.compiles {
            files.retain(|file| match self.content_of(state, file) {
                Some(text) => !says_nothing(&text),
                None => self.is_of_session(state, file) || self.input.is_of_work_tree(state, file),
            });
        }
        let mut settings: Vec<(Value, bool)> = Vec::new();
        if load.has_keys() {
            if by_name && !load.session {
                settings.extend(self.own_by_name(state, &load.files).into_iter().map(|file| (file, true)));
            }
            settings.extend(files.drain(..).map(|file| (file, false)));
            settings.truncate(MAX_FILES);
        }
        LoadedFiles { piped, settings, of_options, files }
    }

    /// Returns the path of a loaded file that the command wrote, or that exists, from its name in an option or in
    /// settings.
    pub(super) fn loaded_path(&self, state: &State, load: &Load, file: &Value, ran: ProgramRun<'_>) -> Option<Value> {
        // The name of a module.
        let module = file.known_text().filter(|name| load.language == "python" && !name.contains('/'));
        let module = module.filter(|name| !name.ends_with(".py") && !load.endings.is_empty());
        // `package.module:application`
        let path = |name: String| Value::text(name.split(':').next().unwrap_or_default().replace('.', "/"));
        let file = match (module, file.known_text().filter(|_| !load.separator.is_empty())) {
            (Some(module), _) => path(module),
            // `Package::Module=arguments`
            (None, Some(name)) => {
                Value::text(name.split('=').next().unwrap_or_default().replace(load.separator.as_str(), "/"))
            }
            (None, None) => file.clone(),
        };
        let mut dirs = vec![String::new()];
        if !file.leading().starts_with('/') {
            let own = ["PYTHONPATH"].into_iter().filter(|_| load.language == "python");
            let names = own.chain(load.search.iter().map(String::as_str));
            dirs.extend(names.flat_map(|name| directories(state, ran, name)).map(|dir| format!("{dir}/")));
        }
        let ends = if load.endings.is_empty() { &[String::new()][..] } else { &load.endings };
        for dir in &dirs {
            for end in ends {
                // The given name selects one of the files that the command wrote.
                let mut path = file.clone();
                if !dir.is_empty() {
                    path = Value::text(dir.as_str());
                    path.push_value(&file);
                }
                if !end.is_empty() {
                    path.push_text(end);
                }
                if self.is_there(state, &path) {
                    return Some(path);
                }
            }
        }
        None
    }

    /// Returns the files that the value of an option names. Files that are the standard input stand for it.
    fn listed(&self, state: &State, value: Value) -> Vec<Value> {
        let is_input = value.is("-") || value.known().as_deref().and_then(descriptor) == Some(0);
        if is_input && let Some(files) = self.files_on_stdin(state) {
            return files;
        }
        named_in(value)
    }

    /// Reports whether the command or an earlier one of the session wrote a file. Downloads are judged elsewhere.
    fn is_of_session(&self, state: &State, file: &Value) -> bool {
        let Some(place) = file.known().and_then(|path| state.place(&path)) else { return false };
        let wrote = |path: &str| {
            let led = self.input.inquiry.path(path).map_or(path, |facts| facts.canonical.as_str());
            self.input.inquiry.ledger().is_some_and(|ledger| ledger.has_written(led))
        };
        !self.is_fetched(&place) && (self.files.holds(&place) || place.text().is_some_and(wrote))
    }

    /// Returns the texts of the files with these names in the working directory that neither the command nor the session
    /// wrote.
    pub(super) fn locks(&self, state: &State, names: &[String]) -> Vec<String> {
        let others = names.iter().map(Value::text).filter(|file| !self.is_of_session(state, file));
        others.filter_map(|file| self.settings(state, &file).ok()??.known_text()).collect()
    }

    /// Returns the files with these names in the working directory that are new or changed in git.
    fn found_by_name(&self, state: &State, names: &[String]) -> Vec<Value> {
        let Some(dir) = state.dir() else { return Vec::new() };
        let paths = names.iter().filter(|name| !name.contains('*')).filter_map(|name| state.path(name));
        let written = |path: &String| self.files.holds(&Place::of(path.as_str()));
        let there = |path: &String| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. }));
        let loaded =
            |path: &String| path.starts_with(dir) && !written(path) && there(path) && self.input.is_changed(path);
        paths.filter(loaded).map(Value::text).collect()
    }

    /// Returns the files with these names in the working directory that are unchanged in git.
    fn own_by_name(&self, state: &State, names: &[String]) -> Vec<Value> {
        let paths = names.iter().filter(|name| !name.contains('*')).filter_map(|name| state.path(name));
        let there = |path: &String| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. }));
        let own =
            |path: &String| !self.files.holds(&Place::of(path.as_str())) && there(path) && !self.input.is_changed(path);
        paths.filter(own).map(Value::text).collect()
    }

    /// Returns the files with these names in the working directory that the command wrote and, for a name with `*`,
    /// those that the session wrote and that are new or changed in git.
    fn written_by_name(&self, state: &State, names: &[String]) -> Vec<Value> {
        let Some(dir) = state.cwd.as_ref().filter(|_| !names.is_empty()) else { return Vec::new() };
        let is_named_here = |place: &Place| place.below(dir).is_some_and(|below| is_one_of(names, below.rough()));
        let written = self.files.written.keys().chain(self.files.links.keys());
        let mut files: Vec<Value> = written.filter(|place| is_named_here(place)).map(Place::value).collect();
        // For a name without `*`, files of the session are found by the name.
        if names.iter().any(|name| name.contains('*')) {
            files.extend(self.written_earlier(dir, names).into_iter().map(Value::text));
        }
        files
    }

    /// Returns the files below a directory with one of these names that earlier commands of the session wrote, and not
    /// this one, and that are new or changed in git.
    pub(super) fn written_earlier(&self, dir: &Place, names: &[String]) -> Vec<&str> {
        let (Some(dir), Some(ledger)) = (dir.text(), self.input.inquiry.ledger()) else { return Vec::new() };
        let is_named = |path: &&str| path.strip_prefix(dir).is_some_and(|below| is_one_of(names, below));
        let of_line = |path: &&str| self.files.written.contains_key(&Place::of(*path));
        let own = ledger.written().filter(|path| is_named(path) && !of_line(path));
        own.filter(|path| self.input.is_changed(path)).take(MAX_FILES).collect()
    }

    /// Reports whether the command wrote a file, or it exists.
    pub(super) fn is_there(&self, state: &State, file: &Value) -> bool {
        let written = self.is_written(state, file);
        if written || self.behind(state, file).is_some() {
            return true;
        }
        let Some(place) = file.known().and_then(|path| state.place(&path)) else { return false };
        let is_read =
            |path: &str| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. } | FileFacts::TooLarge));
        self.is_fetched(&place) || self.is_unpacked(&place) || place.text().is_some_and(is_read)
    }
}

/// Reports whether a file is the output of another command: a pipe, or standard input with known data.
fn comes_in(state: &State, file: &Value) -> bool {
    let is_pipe = |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if unknown.why == UnknownReason::Pipe);
    let fed = !matches!(state.streams.stdin, Stream::Inherited | Stream::Nothing | Stream::File(..));
    file.pieces().iter().any(is_pipe)
        || fed && (file.is("-") || file.known().as_deref().and_then(descriptor) == Some(0))
}

/// Reports whether the part of a path after a directory is one of these names, which may be globs.
pub(super) fn is_one_of(names: &[String], below: &str) -> bool {
    let Some(below) = below.strip_prefix('/') else { return false };
    let last = below.rsplit('/').next().unwrap_or(below);
    names.iter().any(|name| glob::text(name, below) || !name.contains('/') && glob::text(name, last))
}

/// Returns the known parts of a list with these marks between its parts. Of a part whose end is unknown, its beginning.
fn known_parts(list: &Value, marks: &[char]) -> Vec<String> {
    let text = list.rough();
    let known = text.split(marks).map(|part| part.split(HOLE).next().unwrap_or_default());
    known.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the known directories in a variable, or in the values of an option.
fn directories(state: &State, ran: ProgramRun<'_>, name: &str) -> Vec<String> {
    let given: Vec<Value> = if name.starts_with('-') {
        let args: Vec<&Value> = ran.args.iter().map(|field| &field.value).collect();
        option_values(&args, &[name.to_owned()])
    } else {
        variable(state, ran.env, name).into_iter().collect()
    };
    given.iter().flat_map(|list| known_parts(list, &[':'])).collect()
}

/// Returns the files that a value names: itself or, if it is a list of options for another program, their values.
fn named_in(value: Value) -> Vec<Value> {
    match value.known_text().filter(|text| text.starts_with('-') && text.len() > 1) {
        Some(options) => {
            let words = options.split([' ', '=']).filter(|word| !word.is_empty() && !word.starts_with('-'));
            words.map(Value::text).collect()
        }
        None => vec![value],
    }
}

/// Returns the values of options with these names, in all notations.
pub(super) fn option_values(args: &[&Value], options: &[String]) -> Vec<Value> {
    let mut values = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let text = arg.leading();
        for option in options {
            let Some(rest) = text.strip_prefix(option.as_str()) else { continue };
            let whole = rest.is_empty() && arg.known().is_some();
            let value = match rest.strip_prefix('=') {
                _ if whole => args.get(at + 1).map(|next| (*next).clone()),
                Some(_) => Some(arg.without_leading(option.len() + 1)),
                // `-Cdir`, `-javaagent:file`
                None if option.len() == 2 && !option.starts_with("--") || option.ends_with(':') => {
                    Some(arg.without_leading(option.len()))
                }
                None => None,
            };
            values.extend(value);
        }
    }
    values
}

/// Reports whether a text is completely unknown, and neither downloaded nor decoded.
pub(super) fn says_nothing(text: &Value) -> bool {
    let unknown = |piece: &Piece| matches!(piece, Piece::Unknown(_));
    let taint = text.taint();
    !taint.has(Taint::FETCHED) && !taint.has(Taint::DECODED) && text.pieces().iter().all(unknown)
}

#[cfg(test)]
mod tests;
