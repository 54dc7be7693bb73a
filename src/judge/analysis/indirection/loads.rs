//! Files of code that a program is given: by an option, as an operand, by a variable, or by the name that it looks for.
//!
//! In scope: finding the file and handing its text to a reader. Out of scope: which programs load what,
//! which is said by their descriptions.

use super::downloads::language_of;
use super::targets::shell_functions;
use super::task_settings::commands;
use crate::judge::analysis::act::{Effect, OpaqueReason, Operand, Piece, Taint, UnknownReason, Value};
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program::variable;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::streams::{Stream, descriptor};
use crate::judge::analysis::walk::Walker;
use crate::judge::rules::glob;
use crate::judge::rules::model::{Load, OptionSpec, Tasks, ValueKind};
use crate::judge::syntax;
use crate::judge::syntax::tree::Dialect;

/// The most files that one description leads to.
const MAX_FILES: usize = 16;

impl Walker<'_> {
    /// Walks what a program loads, by its description.
    #[inline(never)]
    pub(super) fn follow_loads(&mut self, state: &State, context: &Context, loads: &[Load], ran: ProgramRun<'_>) {
        let env = ran.env;
        // A program of several versions is described by a glob.
        let is_of = |load: &&Load| load.programs.iter().any(|name| name == ran.name || glob::text(name, ran.name));
        // What only lists or checks runs none of what it finds by itself.
        let listing = ran.reading.dry_run;
        for load in loads.iter().filter(is_of) {
            let has = |word: &String| ran.args.iter().any(|field| field.value.is(word));
            if !load.words.is_empty() && !load.words.iter().any(has) || load.unless.iter().any(has) {
                continue;
            }
            if load.stdin && !listing {
                self.code_on_stdin(state, context, &load.language, ran.span);
            }
            if let Some(module) = load.module.as_ref().filter(|_| !listing) {
                self.module(state, context, load, module, ran);
            }
            if load.tasks != Tasks::None && !listing {
                self.tasks_in_files(state, context, load, ran);
                continue;
            }
            let given: Vec<&Value> = ran.args.iter().map(|field| &field.value).collect();
            let mut named = option_values(&given, &load.options);
            for name in &load.within {
                let more = variable(state, env, name).and_then(|value| value.known_text()).unwrap_or_default();
                let more: Vec<Value> = more.split_whitespace().map(Value::text).collect();
                named.extend(option_values(&more.iter().collect::<Vec<_>>(), &load.options));
            }
            if named.iter().any(|file| self.comes_in(state, file)) {
                let detail = format!("{} loads code from a pipe", ran.name);
                self.opaque(OpaqueReason::Script, detail, ran.span);
            }
            let mut files: Vec<Value> = named.into_iter().flat_map(listed).collect();
            let of_options: Vec<Value> =
                if load.option_keys.is_empty() { Vec::new() } else { std::mem::take(&mut files) };
            if load.operands && !listing {
                files.extend(self.input.operand_files(state, load, ran));
            }
            for name in &load.variables {
                if variable(state, env, name).is_some_and(|value| self.comes_in(state, &value)) {
                    let detail = format!("{} loads code from a pipe", ran.name);
                    self.opaque(OpaqueReason::Script, detail, ran.span);
                }
                let text = variable(state, env, name).and_then(|value| value.known_text()).unwrap_or_default();
                let parts = text.split([':', ',', ' ', '=']).filter(|part| !part.is_empty() && !part.starts_with('-'));
                files.extend(parts.map(Value::text));
            }
            for name in &load.under {
                let dirs = variable(state, env, name).and_then(|value| value.known_text()).unwrap_or_default();
                for dir in dirs.split(':').filter(|dir| !dir.is_empty()) {
                    let file = |file: &String| Value::text(format!("{}/{file}", dir.trim_end_matches('/')));
                    files.extend(load.files.iter().map(file));
                }
            }
            if load.under.is_empty() && !listing {
                files.extend(self.progress().written_by_name(state, &load.files));
                files.extend(self.progress().found_by_name(state, &load.files));
            }
            if load.session {
                files.retain(|file| self.progress().is_of_session(state, file));
            }
            if load.compiles {
                files.retain(|file| match self.progress().content_of(state, file) {
                    Some(text) => !says_nothing(&text),
                    None => self.progress().is_of_session(state, file) || self.input.is_of_work_tree(state, file),
                });
            }
            // Settings that the program has, and that git may have as they are.
            let mut settings: Vec<(Value, bool)> = Vec::new();
            if load.has_keys() {
                if load.under.is_empty() && !listing {
                    let own = self.progress().own_by_name(state, &load.files);
                    settings.extend(own.into_iter().filter(|_| !load.session).map(|file| (file, true)));
                }
                settings.extend(files.drain(..).map(|file| (file, false)));
            }
            for (file, own) in settings.into_iter().take(MAX_FILES) {
                if load.option_keys.is_empty() {
                    self.config_keys(state, context, load, (&file, own), ran);
                } else if !own {
                    files.extend(self.options_in(state, load, &file, ran));
                }
            }
            for file in of_options.into_iter().chain(files).take(MAX_FILES) {
                self.load(state, context, load, &file, ran);
            }
        }
    }

    /// Whether a file is what another command of the line gives: a pipe, or standard input where something feeds it.
    fn comes_in(&self, state: &State, file: &Value) -> bool {
        let is_pipe = |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if unknown.why == UnknownReason::Pipe);
        let fed = !matches!(state.streams.stdin, Stream::Inherited | Stream::Nothing | Stream::File(..));
        file.pieces().iter().any(is_pipe)
            || fed && (file.is("-") || file.known().as_deref().and_then(descriptor) == Some(0))
    }

    pub(super) fn load(&mut self, state: &State, context: &Context, load: &Load, file: &Value, ran: ProgramRun<'_>) {
        // A module by its name.
        let module = file.known_text().filter(|name| load.language == "python" && !name.contains('/'));
        let module = module.filter(|name| !name.ends_with(".py") && !load.endings.is_empty());
        // `package.module:application`
        let path = |name: String| Value::text(name.split(':').next().unwrap_or_default().replace('.', "/"));
        let file = module.map_or_else(|| file.clone(), path);
        let mut dirs = vec![String::new()];
        if load.language == "python" && !file.leading().starts_with('/') {
            let path = variable(state, ran.env, "PYTHONPATH").and_then(|path| path.known_text()).unwrap_or_default();
            dirs.extend(path.split(':').filter(|dir| !dir.is_empty()).map(|dir| format!("{dir}/")));
        }
        let ends = if load.endings.is_empty() { &[String::new()][..] } else { &load.endings };
        for dir in &dirs {
            for end in ends {
                // What it is named by says which of the files that the line wrote it is.
                let mut path = file.clone();
                if !dir.is_empty() {
                    path = Value::text(dir.as_str());
                    path.push_value(&file);
                }
                if !end.is_empty() {
                    path.push_text(end);
                }
                if !self.progress().is_there(state, &path) {
                    continue;
                }
                if load.lines.is_empty() {
                    let said = format!("{} loads {}", ran.name, path.rough());
                    self.loaded_file(state, context, &load.language, &path, said, ran);
                } else {
                    self.settings(state, context, ran.name, &path, &load.lines, ran.span);
                }
                return;
            }
        }
    }

    /// Reads a file that is loaded as what it is; `said` is what a person is told of how it comes to run.
    pub(super) fn loaded_file(
        &mut self,
        state: &State,
        context: &Context,
        language: &str,
        file: &Value,
        said: String,
        ran: ProgramRun<'_>,
    ) {
        let ProgramRun { name, env, span, .. } = ran;
        let rough = file.rough().into_owned();
        let language = if language.is_empty() { language_of(&rough).unwrap_or("other") } else { language };
        let behind = self.progress().behind(state, file).map(|(value, _)| value);
        let file = behind.as_ref().unwrap_or(file);
        let Some(inner) = self.definition(state, context, name, (said, &[file]), span) else { return };
        match language {
            "shell" => {
                let mut child = state.child(env);
                let inside = inner.read_by(name, name);
                self.script_file(&mut child, &inside, &Operand { value: file.clone(), span }, span, None);
            }
            "tasks" => {
                let Some(text) = self.settings_text(state, file, span).and_then(|text| text.known_text()) else {
                    return;
                };
                self.tasks(state, &inner, &commands(&text, &[]));
            }
            // A keyword, blanks, and what may be a command.
            "keyed" => {
                let Some(text) = self.settings_text(state, file, span).and_then(|text| text.known_text()) else {
                    return;
                };
                let behind = |line: &str| Some(line.trim().split_once(char::is_whitespace)?.1.trim().to_owned());
                self.tasks(state, &inner, &text.lines().filter_map(behind).collect::<Vec<_>>());
            }
            "make" => {
                let Some(text) = self.settings_text(state, file, span).and_then(|text| text.known_text()) else {
                    return;
                };
                let recipes = text.lines().filter_map(|line| line.strip_prefix('\t')).map(str::to_owned);
                let shells = shell_functions(&text).into_iter().map(str::to_owned);
                self.tasks(state, &inner, &recipes.chain(shells).collect::<Vec<_>>());
            }
            _ => self.code_named(state, &within(context, name), language, file, &[""], span),
        }
    }

    /// Walks the lines of settings that are commands.
    pub(super) fn tasks(&mut self, state: &State, context: &Context, lines: &[String]) {
        for line in lines {
            let first = line.split_whitespace().next().unwrap_or_default();
            let program = first.rsplit('/').next().unwrap_or_default();
            let is_program = self.input.catalog.program(program).is_some() || first.starts_with("./");
            if is_program && syntax::parse(line.as_bytes(), Dialect::Sh).is_ok() {
                self.text(&mut state.child(&[]), &context.perhaps(), line);
            }
        }
    }

    /// The state in which a program runs others: what lies in the directories of its own is found first.
    pub(in crate::judge::analysis) fn with_bins(
        &mut self,
        state: &State,
        name: &str,
        env: &[(String, Value)],
    ) -> Box<State> {
        let mut child = state.child(env);
        let bins = self.input.catalog.program(name).map(|program| program.bins.clone()).unwrap_or_default();
        let Some(dir) = state.dir().filter(|_| !bins.is_empty()) else { return child };
        let mut path: String = bins.iter().map(|bin| format!("{}/{bin}:", dir.trim_end_matches('/'))).collect();
        let outer = variable(state, env, "PATH").and_then(|value| value.known_text());
        path.push_str(outer.as_deref().or_else(|| self.input.invocation.env.get("PATH")).unwrap_or_default());
        child.set_scalar("PATH", Value::text(path));
        child.export("PATH");
        child
    }
}

impl AnalysisInput<'_> {
    /// The operands that may name a file which is loaded.
    fn operand_files(&self, state: &State, load: &Load, ran: ProgramRun<'_>) -> Vec<Value> {
        let args = ran.args;
        let may_be = |field: &&Field| {
            let text = field.value.rough();
            let plain = !text.starts_with('-') && !text.contains("://") && !load.words.iter().any(|word| *word == text);
            // A name with its ending leaves nothing out.
            let whole = language_of(text.split("::").next().unwrap_or_default()).is_some();
            plain && if load.endings.is_empty() { whole } else { !whole }
        };
        // What an option in front of a package takes is another place.
        let taken =
            |at: usize| at > 0 && args.get(at - 1).is_some_and(|before| self.takes_next(ran.name, &before.value));
        // What it writes is not what it reads.
        let wrote = |value: &Value| {
            let outputs = ran.reading.effects.iter().filter(|derived| derived.effect == Effect::Write);
            outputs.flat_map(|derived| &derived.on).any(|on| on.value == *value)
        };
        let is_package = !load.words.is_empty() && !load.endings.is_empty();
        let operands = args.iter().enumerate().filter(|(at, _)| !is_package || !taken(*at)).map(|(_, field)| field);
        let named = operands.filter(may_be).map(|field| field.value.clone()).filter(|value| !wrote(value));
        // What follows a script is its own; a subcommand is followed by several.
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

    /// Whether a file lies in a work tree of git, which does not have it as it is.
    fn is_of_work_tree(&self, state: &State, file: &Value) -> bool {
        let path = file.known().and_then(|path| state.path(&path));
        path.and_then(|path| self.inquiry.git(&path)).is_some_and(|git| git.root.is_some() && !git.clean)
    }

    /// Whether a program is described as taking the next argument for the value of this one.
    fn takes_next(&self, program: &str, argument: &Value) -> bool {
        let Some(name) = argument.known_text().filter(|name| name.starts_with('-')) else { return false };
        let Some(program) = self.catalog.program(program) else { return true };
        let subs = program.subs.iter().flat_map(|sub| &sub.options);
        let is_it = |option: &&OptionSpec| option.names.contains(&name);
        program.options.iter().chain(subs).find(is_it).is_some_and(|option| option.value == ValueKind::Required)
    }

    /// Whether git does not have a file as it is, so that nobody need have looked at it.
    pub(in crate::judge::analysis) fn is_changed(&self, path: &str) -> bool {
        !self.inquiry.git(path).is_some_and(|git| git.clean)
    }
}

impl WalkProgress<'_, '_> {
    /// Whether the line or an earlier command of the session wrote a file. What is fetched is judged where that is.
    fn is_of_session(&self, state: &State, file: &Value) -> bool {
        let Some(place) = file.known().and_then(|path| state.place(&path)) else { return false };
        let wrote = |path: &str| {
            let led = self.input.inquiry.path(path).map_or(path, |facts| facts.canonical.as_str());
            self.input.inquiry.ledger().is_some_and(|ledger| ledger.has_written(led))
        };
        !self.is_fetched(&place) && (self.files.holds(&place) || place.text().is_some_and(wrote))
    }

    /// The files that lie under these names where the program stands, and that git does not have as they are.
    fn found_by_name(&self, state: &State, names: &[String]) -> Vec<Value> {
        let Some(dir) = state.dir() else { return Vec::new() };
        let paths = names.iter().filter(|name| !name.contains('*')).filter_map(|name| state.path(name));
        let written = |path: &String| self.files.holds(&Place::of(path.as_str()));
        let there = |path: &String| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. }));
        let loaded =
            |path: &String| path.starts_with(dir) && !written(path) && there(path) && self.input.is_changed(path);
        paths.filter(loaded).map(Value::text).collect()
    }

    /// The files that lie under these names where the program stands, and that git has as they are.
    fn own_by_name(&self, state: &State, names: &[String]) -> Vec<Value> {
        let paths = names.iter().filter(|name| !name.contains('*')).filter_map(|name| state.path(name));
        let there = |path: &String| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. }));
        let own =
            |path: &String| !self.files.holds(&Place::of(path.as_str())) && there(path) && !self.input.is_changed(path);
        paths.filter(own).map(Value::text).collect()
    }

    /// The files that the line wrote under one of these names, where the program stands; with a pattern also those that the
    /// session wrote and git does not have as they are.
    fn written_by_name(&self, state: &State, names: &[String]) -> Vec<Value> {
        let Some(dir) = state.cwd.as_ref().filter(|_| !names.is_empty()) else { return Vec::new() };
        let is_named_here = |place: &Place| place.below(dir).is_some_and(|below| is_one_of(names, below.rough()));
        let written = self.files.written.keys().chain(self.files.links.keys());
        let mut files: Vec<Value> = written.filter(|place| is_named_here(place)).map(Place::value).collect();
        // Without a pattern the session's own are found by their names.
        if names.iter().any(|name| name.contains('*')) {
            files.extend(self.written_earlier(dir, names).into_iter().map(Value::text));
        }
        files
    }

    /// The files below a directory that earlier commands of the session wrote under one of these names, that this line did
    /// not write and that git does not have as they are.
    pub(super) fn written_earlier(&self, dir: &Place, names: &[String]) -> Vec<&str> {
        let (Some(dir), Some(ledger)) = (dir.text(), self.input.inquiry.ledger()) else { return Vec::new() };
        let is_named = |path: &&str| path.strip_prefix(dir).is_some_and(|below| is_one_of(names, below));
        let of_line = |path: &&str| self.files.written.contains_key(&Place::of(*path));
        let own = ledger.written().filter(|path| is_named(path) && !of_line(path));
        own.filter(|path| self.input.is_changed(path)).take(MAX_FILES).collect()
    }

    /// Whether the line wrote a file, or it lies there.
    pub(super) fn is_there(&self, state: &State, file: &Value) -> bool {
        let written = state.file(file).is_some_and(|key| self.files.written.contains_key(&key));
        if written || self.behind(state, file).is_some() {
            return true;
        }
        let Some(place) = file.known().and_then(|path| state.place(&path)) else { return false };
        let is_read =
            |path: &str| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. } | FileFacts::TooLarge));
        self.is_fetched(&place) || self.is_unpacked(&place) || place.text().is_some_and(is_read)
    }
}

/// Whether what stands behind a directory in a path is one of these names, which may be globs.
pub(super) fn is_one_of(names: &[String], below: &str) -> bool {
    let Some(below) = below.strip_prefix('/') else { return false };
    let last = below.rsplit('/').next().unwrap_or(below);
    names.iter().any(|name| glob::text(name, below) || !name.contains('/') && glob::text(name, last))
}

/// What a value names: itself, or, where it is a list of options for another program, what these are given.
fn listed(value: Value) -> Vec<Value> {
    match value.known_text().filter(|text| text.starts_with('-')) {
        Some(options) => {
            let words = options.split([' ', '=']).filter(|word| !word.is_empty() && !word.starts_with('-'));
            words.map(Value::text).collect()
        }
        None => vec![value],
    }
}

/// The values of options of these names, in each way that they are written.
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

/// Whether nothing is known of a text, and it was neither fetched nor decoded.
pub(super) fn says_nothing(text: &Value) -> bool {
    let unknown = |piece: &Piece| matches!(piece, Piece::Unknown(_));
    let taint = text.taint();
    !taint.has(Taint::FETCHED) && !taint.has(Taint::DECODED) && text.pieces().iter().all(unknown)
}

#[cfg(test)]
mod tests;
