//! Walks the code that a program loads: its modules, preloaded files and settings.
//!
//! Out of scope: which files these are, and what is code in them ([`super::loads`], [`super::loaded_code`],
//! [`super::config_keys`], [`super::task_settings`]).

use super::config_keys;
use super::downloads::{ProjectCode, UnknownCode, language_of};
use super::loaded_code::{LoadedCode, ModuleCode, commands_in_lines};
use super::loads::{applies, commands_in, only_lists};
use super::task_settings::{TaskSettings, commands};
use crate::judge::analysis::act::{OpaqueReason, Operand, Taint, Value};
use crate::judge::analysis::arguments::Arg;
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::program;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::recursion::{ActiveCall, Callee};
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::value::HOLE;
use crate::judge::analysis::walk::Walker;
use crate::judge::analysis::wrappers::quoted_words;
use crate::judge::rules::model::{Load, Module, Program, Tasks};
use crate::judge::syntax;
use crate::judge::syntax::tree::{Dialect, Span};

impl Walker<'_> {
    /// Walks the code of the project that a program runs, as far as the command itself downloaded or wrote it.
    #[inline(never)]
    pub(super) fn project_code(&mut self, state: &State, context: &Context, program: &Program, ran: ProgramRun<'_>) {
        const FETCHED: &str = "the command runs code that it downloads";
        let ProjectCode { unknown, written, existing } = self.progress().project_code(state, program, ran);
        match unknown {
            Some(UnknownCode::Fetched) => self.opaque(context.fetched_code(), FETCHED, ran.span),
            Some(UnknownCode::FetchedPackage) => self.opaque(OpaqueReason::FetchedCode, FETCHED, ran.span),
            Some(UnknownCode::Unpacked) => {
                let detail = "the command runs code from an archive that it unpacks";
                self.opaque(OpaqueReason::Script, detail, ran.span);
            }
            None => {}
        }
        for (language, call, text) in written {
            // The code may run other code of the project.
            let call = Callee::Definition(call);
            if context.is_called(&call) {
                continue;
            }
            let mut inner = context.perhaps();
            inner.called(ActiveCall::of(call));
            self.embedded_code(state, &inner, None, language, &text, ran.span);
        }
        for (language, file) in existing {
            self.existing_code(state, &context.perhaps(), language, &file, ran.span);
        }
    }

    /// Walks the files that a program loads, by its description.
    #[inline(never)]
    pub(super) fn follow_loads(&mut self, state: &State, context: &Context, loads: &[Load], ran: ProgramRun<'_>) {
        for load in loads.iter().filter(|load| applies(load, ran)) {
            if !only_lists(load, ran) {
                if load.stdin
                    && let Some(code) = self.progress().code_on_stdin(state)
                {
                    self.loaded_code(state, context, &load.language, code, ran.span);
                }
                if let Some(module) = &load.module {
                    self.module(state, context, load, module, ran);
                }
                for given in &load.arguments {
                    self.with_arguments(state, context, given, ran);
                }
                if load.tasks != Tasks::None {
                    self.tasks_in_files(state, context, load, ran);
                    continue;
                }
            }
            let loaded = self.progress().loaded_files(state, load, ran);
            if loaded.piped {
                let detail = format!("{} loads code from a pipe", ran.name);
                self.opaque(OpaqueReason::Script, detail, ran.span);
            }
            let mut in_settings = Vec::new();
            for (file, own) in &loaded.settings {
                if load.option_keys.is_empty() {
                    self.code_in_settings(state, context, load, (file, *own), ran);
                } else if !own && let Some(text) = self.known_settings(state, file, ran.span) {
                    in_settings.extend(config_keys::options(load, &text));
                }
            }
            for file in loaded.code(in_settings) {
                self.load(state, context, load, &file, ran);
            }
        }
    }

    /// Walks a program again, with the arguments in a variable; `given`: the variable, or `OPTION=VARIABLE`.
    #[inline(never)]
    fn with_arguments(&mut self, state: &State, context: &Context, given: &str, ran: ProgramRun<'_>) {
        let (option, variable) = given.split_once('=').map_or((None, given), |(option, name)| (Some(option), name));
        let Some(value) = program::variable(state, ran.env, variable).filter(|value| !value.is_empty()) else { return };
        let words = match option {
            // A value that is not known is judged as if there were none.
            Some(_) if value.is_dynamic() => return,
            Some(option) => vec![Value::text(option), value],
            None => {
                let words = quoted_words(&value.rough()).into_iter().filter(|word| !word.contains(HOLE));
                words.map(Value::text).collect()
            }
        };
        let called = format!("arguments of {} in {variable}", ran.name);
        if let Some(inner) = self.definition(state, context, ran.name, (called, &[]), ran.span) {
            let more = words.into_iter().map(|word| Arg::word(word, ran.span));
            let all: Vec<Arg> = more.chain(ran.args.iter().map(Field::arg)).collect();
            self.stands_for(state, &inner, ran.name, ran.name, &all, ran.span);
        }
    }

    /// Walks a file that a program loads by this name, if there is one.
    fn load(&mut self, state: &State, context: &Context, load: &Load, file: &Value, ran: ProgramRun<'_>) {
        let Some(path) = self.progress().loaded_path(state, load, file, ran) else { return };
        if load.lines.is_empty() {
            let said = format!("{} loads {}", ran.name, path.rough());
            self.loaded_file(state, context, &load.language, &path, said, ran);
        } else {
            self.command_lines(state, context, load, &path, ran);
        }
    }

    /// Walks a loaded file by its language; `said` describes for the user why it runs.
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
        if language == "shell" {
            let mut child = state.child(env);
            let inside = inner.read_by(name, name).by_first_line();
            self.script_file(&mut child, &inside, &Operand { value: file.clone(), span }, span, None);
        } else if let Some(commands) = commands_in(language) {
            let Some(text) = self.known_settings(state, file, span) else { return };
            self.tasks(state, &inner, &commands(&text));
        } else if let Some(code) = self.progress().code_named(state, file, &[""], span) {
            self.loaded_code(state, &within(context, name), language, code, span);
        }
    }

    /// Walks a module that runs by its name (`python3 -m unittest`).
    fn module(&mut self, state: &State, context: &Context, load: &Load, module: &Module, ran: ProgramRun<'_>) {
        let (language, span) = (load.language.as_str(), ran.span);
        let code = match self.input.module_code(module, ran) {
            Some(ModuleCode::Stdin) => self.progress().code_on_stdin(state),
            Some(ModuleCode::Script(path)) => self.progress().code_named(state, &path, &[""], span),
            Some(ModuleCode::Module(path)) => self.progress().code_named(state, &path, &load.endings, span),
            None => None,
        };
        if let Some(code) = code {
            self.loaded_code(state, context, language, code, span);
        }
    }

    fn loaded_code(&mut self, state: &State, context: &Context, language: &str, code: LoadedCode, span: Span) {
        match code {
            LoadedCode::Text(text) if text.taint().has(Taint::FETCHED) || text.taint().has(Taint::DECODED) => {
                let detail = format!("the command runs {language} code that it downloads or decodes");
                self.opaque(context.fetched_code(), detail, span);
            }
            LoadedCode::Text(text) => self.embedded_code(state, context, None, language, &text, span),
            LoadedCode::Written(file) => {
                for text in self.written_code(state, context, language, &file, span).unwrap_or_default() {
                    self.loaded_code(state, context, language, LoadedCode::Text(text), span);
                }
            }
            LoadedCode::File(file) => {
                self.code_file(state, context, language, &file, span);
            }
        }
    }

    /// Walks the files that settings name, and the code in them. `own`: the settings are unchanged in git, so that only
    /// changed files which they name are read.
    fn code_in_settings(
        &mut self,
        state: &State,
        context: &Context,
        load: &Load,
        (file, own): (&Value, bool),
        ran: ProgramRun<'_>,
    ) {
        let Some(text) = self.known_settings(state, file, ran.span) else { return };
        let Some(inner) = self.settings_of(state, context, file, ran) else { return };
        for path in
            config_keys::file_names(load, &text).into_iter().flat_map(|name| config_keys::paths_of(state, file, name))
        {
            if !own || self.progress().is_new_code(state, load, &path) {
                self.load(state, &inner, load, &path, ran);
            }
        }
        for code in config_keys::code(load, &text).into_iter().filter(|_| !own) {
            if !load.language.is_empty() && load.language != "shell" {
                self.embedded_code(state, &inner.perhaps(), None, &load.language, &Value::text(code), ran.span);
            } else if syntax::parse(code.as_bytes(), Dialect::Sh).is_ok() {
                self.text(&mut state.child(&[]), &inner.perhaps(), &code);
            }
        }
        if !load.requirements.is_empty() {
            self.required(state, &inner, load, &text);
        }
    }

    /// Walks the installations of what settings require, as far as lock files of others do not contain it.
    #[inline(never)]
    fn required(&mut self, state: &State, context: &Context, load: &Load, text: &str) {
        let locks = self.progress().locks(state, &load.locks);
        for command in config_keys::installs(load, text, &locks) {
            self.text(&mut state.child(&[]), &context.perhaps(), &command);
        }
    }

    /// Walks the commands in the lines of a settings file.
    fn command_lines(&mut self, state: &State, context: &Context, load: &Load, file: &Value, ran: ProgramRun<'_>) {
        let Some(text) = self.settings_text(state, file, ran.span) else { return };
        let Some(inner) = self.settings_of(state, context, file, ran) else { return };
        let inner = within(&inner, ran.name);
        for command in commands_in_lines(&text, &load.lines) {
            self.read_value(&mut state.child(&[]), &inner, &command, ran.span);
        }
    }

    /// Walks the commands in the settings of a task runner.
    fn tasks_in_files(&mut self, state: &State, context: &Context, load: &Load, ran: ProgramRun<'_>) {
        let Some(TaskSettings { dir, tasks }) = TaskSettings::of(state, load, ran.reading) else { return };
        let named = load.variables.iter().filter_map(|name| program::variable(state, ran.env, name)?.known_text());
        let files: Vec<String> = named.chain(load.files.iter().cloned()).collect();
        for place in files.iter().flat_map(|file| self.progress().written_at(&dir, file)).collect::<Vec<_>>() {
            let Some(text) = self.known_settings(state, &place.value(), ran.span) else { continue };
            let called = format!("{} {} in {}", ran.name, tasks.join(" "), place.shown());
            let Some(inner) = self.definition(state, context, ran.name, (called, &[]), ran.span) else { continue };
            self.tasks(&state.child_in(&[], Some(&dir)), &inner, &commands(&text, &tasks));
        }
    }

    /// Walks the commands in the lines of settings.
    fn tasks(&mut self, state: &State, context: &Context, lines: &[String]) {
        for line in lines {
            if self.input.is_command(line) {
                self.text(&mut state.child(&[]), &context.perhaps(), line);
            }
        }
    }

    /// Returns the content of a settings file, if all of it is known.
    fn known_settings(&mut self, state: &State, file: &Value, span: Span) -> Option<String> {
        self.settings_text(state, file, span)?.known_text()
    }

    /// Returns the context of what a settings file defines; `None` if it is being walked already.
    fn settings_of(&mut self, state: &State, context: &Context, file: &Value, ran: ProgramRun<'_>) -> Option<Context> {
        let called = format!("settings {}", file.rough());
        self.definition(state, context, ran.name, (called, &[file]), ran.span)
    }
}
