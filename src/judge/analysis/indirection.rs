//! Follows a command to the definitions that it uses: aliases of git, scripts of packages, targets of makefiles,
//! variables that contain commands.
//!
//! Out of scope: I/O. Definitions are answers to questions; nothing is executed to find them.

pub(super) mod archives;
mod config_keys;
mod directory;
pub(super) mod downloads;
mod entrypoint;
mod git;
mod loaded_code;
mod loading;
mod loads;
mod operand_lists;
mod packages;
mod patch;
pub(super) mod path_floor;
mod session_code;
mod targets;
mod task_settings;
mod unknown_scripts;

use std::rc::Rc;

use self::git::{AliasCommand, GitSettings};
use self::packages::{PackageScripts, ScriptLine};
use self::session_code::SessionFile;
use self::unknown_scripts::HandedScript;
use super::act::{OpaqueReason, Operand, Source, Taint, Value};
use super::arguments::{Arg, InnerCommand, InnerText, Reading};
use super::builtins::within;
use super::command_context::Context;
use super::expand::Field;
use super::follow::{self, DescribedLead, Lead};
use super::place::Place;
use super::program_run::ProgramRun;
use super::question::FileFacts;
use super::recipes::RecipeKind;
use super::recursion::{ActiveCall, Callee};
use super::resolve::Lookup;
use super::state::{Build as _, State, VariableValue};
use super::walk::Walker;
use super::wrappers::quoted_words;
use crate::judge::rules::model::{Added, Follow, OperandList, Program};
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::{Dialect, Span};

/// Variables that a shell expands, including substitutions, before it prints them.
const PROMPTS: &[&str] = &["PS0", "PS1", "PS2", "PS4"];

impl Walker<'_> {
    /// Walks all leads of a program.
    #[inline(never)]
    pub fn leads(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        for lead in follow::leads(ran.known, ran.reading, context.remote.is_some()) {
            match lead {
                Lead::CommandVariables => {
                    for (variable, value) in ran.env {
                        self.command_variable(state, context, variable, value, ran.span);
                    }
                }
                Lead::SessionCode => self.session_code(state, context, ran),
                Lead::UnknownScripts => {
                    for HandedScript { file, language } in self.progress().unknown_scripts(state, ran) {
                        let said = format!("{} may run {file}", ran.name);
                        self.loaded_file(state, &context.perhaps(), language, &Value::text(file), said, ran);
                    }
                }
                Lead::Built => self.files.built_over_archive(&self.sinks, state.cwd.as_ref()),
                Lead::Sources => self.source_of_the_line(state, context, ran.args, ran.span),
                Lead::Described(program, lead) => self.described_lead(state, context, program, lead, ran),
            }
        }
    }

    /// Walks something that the description of a program names.
    fn described_lead(
        &mut self,
        state: &State,
        context: &Context,
        program: &Program,
        lead: DescribedLead,
        ran: ProgramRun<'_>,
    ) {
        match lead {
            DescribedLead::ProjectCode => self.project_code(state, context, program, ran),
            DescribedLead::Loads => self.follow_loads(state, context, &program.loads, ran),
            DescribedLead::Downloads => {
                self.store_downloads(downloads::targets(state, program, ran), context.conditional);
            }
            DescribedLead::Archives => self.store_unpacked(state, context, program, ran),
            DescribedLead::OperandLists => {
                if let Some(list) = &program.lists {
                    self.with_listed_operands(state, context, list, ran);
                }
            }
            DescribedLead::Kind(kind) => self.of_kind(state, context, kind, program, ran),
        }
    }

    /// Stores that files are downloaded.
    #[inline(never)]
    fn store_downloads(&mut self, targets: Vec<Place>, conditional: bool) {
        self.update_files(targets.into_iter().map(|place| downloads::downloaded(place, conditional)));
    }

    /// Stores the files that a program unpacks from archives, or changes by a patch.
    #[inline(never)]
    fn store_unpacked(&mut self, state: &State, context: &Context, program: &Program, ran: ProgramRun<'_>) {
        let updates = self.progress().unpacked(state, program, ran, context.conditional);
        self.update_files(updates);
    }

    /// Walks a program again, with the operands that a file lists.
    fn with_listed_operands(&mut self, state: &State, context: &Context, list: &OperandList, ran: ProgramRun<'_>) {
        let ProgramRun { name, span, .. } = ran;
        let Some(words) = self.progress().with_listed_operands(state, list, ran) else { return };
        if let Some(inner) = self.definition(state, context, name, (format!("operands of {name}"), &[]), span) {
            self.stands_for(state, &inner, name, name, &words, span);
        }
    }

    /// Walks the files and settings of programs of this kind.
    fn of_kind(&mut self, state: &State, context: &Context, kind: Follow, program: &Program, ran: ProgramRun<'_>) {
        let ProgramRun { name, reading, env, span, .. } = ran;
        match kind {
            Follow::Git => self.follow_git(state, context, ran),
            Follow::Packages => self.follow_packages(state, context, ran),
            Follow::Entrypoint => {
                if let Some(started) = entrypoint::started(ran) {
                    self.in_place_of(state, context, name, started, span);
                }
            }
            Follow::Makefile => {
                self.recipe(&state.child(env), context, (name, program), RecipeKind::Make, reading, span);
            }
            Follow::Justfile => {
                self.recipe(&state.child(env), context, (name, program), RecipeKind::Just, reading, span);
            }
            Follow::TildeCommands => self.tilde_commands(state, context, name, span),
        }
    }

    /// Walks the files that the session wrote, and that a program may load.
    #[inline(never)]
    fn session_code(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let mut bytes = session_code::MAX_BYTES;
        for file in self.progress().session_files(state, context, ran) {
            let Some(FileFacts::Text { bytes: text, .. }) = self.input.inquiry.file(&file.path) else { continue };
            let Some(left) = bytes.checked_sub(text.len()) else { continue };
            let run = (file.path.clone(), context.root, state.dir().unwrap_or_default().to_owned());
            // A file that runs several times has the same acts each time.
            if !self.progress().is_read_for(&file, context) || !self.staged.insert(run) {
                continue;
            }
            bytes = left;
            let known = self.facts.opaque.len();
            let SessionFile { language, path } = file;
            if language == "shell" {
                self.script_bytes(&mut state.child(&[]), &context.staged(), &path, text, ran.span, None);
            } else {
                let file = Operand { value: Value::text(path), span: ran.span };
                self.embedded_file(state, &context.staged(), language, &file, ran.span);
            }
            let found = self.facts.opaque.split_off(known);
            self.facts.opaque.extend(found.into_iter().filter(session_code::is_grave));
        }
    }

    /// Walks what settings and aliases make of a command.
    #[inline(never)]
    fn follow_git(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        const SETTINGS: Callee = Callee::Step("settings of variables");
        const REMOTE: Callee = Callee::Step("a remote by its address");
        let settings = GitSettings::of(ran.reading, &mut |name| self.variable_of(state, ran.env, name));
        if !context.is_called(&SETTINGS)
            && let Some(fields) = settings.as_options(ran)
        {
            self.run_step(&mut state.child(ran.env), context, SETTINGS, fields, ran);
        }
        if !context.is_called(&REMOTE)
            && let Some(fields) = self.progress().git_remote(ran, &settings)
        {
            self.run_step(&mut state.child(&[]), context, REMOTE, fields, ran);
        }
        if let Some(alias) = self.progress().git_alias(state, ran, &settings) {
            self.git_alias(state, context, alias, ran);
        }
    }

    /// Walks the command for which an alias stands.
    fn git_alias(&mut self, state: &State, context: &Context, alias: AliasCommand<'_>, ran: ProgramRun<'_>) {
        let ProgramRun { name, env, span, .. } = ran;
        let AliasCommand { alias, text, root, dir, rest } = alias;
        let given: Vec<&Value> = rest.iter().map(|field| &field.value).collect();
        let what = (format!("{name} alias {alias}"), given.as_slice());
        let Some(inner) = self.definition(state, context, name, what, span) else { return };
        let mut child = state.child(env);
        if dir != child.cwd {
            child.move_to(dir);
        }
        if let Some(line) = text.strip_prefix('!') {
            if let Some(root) = root {
                child.move_to(Some(Place::of(root)));
            }
            child.zero = Value::text(line);
            child.positional = Rc::new(rest.iter().map(|field| field.value.clone()).collect());
            self.text(&mut child, &inner, &format!("{line} \"$@\""));
            return;
        }
        let mut fields = vec![Field::text(name, span)];
        fields.extend(quoted_words(&text).into_iter().map(|word| Field::text(word, span)));
        fields.extend(rest.iter().cloned());
        self.run(&mut child, &inner, fields, Vec::new(), span, Lookup::Programs);
    }

    /// Walks another form of a command, as a step that is not repeated in it.
    fn run_step(
        &mut self,
        state: &mut State,
        context: &Context,
        step: Callee,
        fields: Vec<Field>,
        ran: ProgramRun<'_>,
    ) {
        let mut inner = within(context, ran.name).elsewhere(ran.span);
        inner.called(ActiveCall::of(step));
        self.run(state, &inner, fields, Vec::new(), ran.span, Lookup::Programs);
    }

    /// Walks the scripts and programs of a package that a command runs.
    #[inline(never)]
    fn follow_packages(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let ProgramRun { name, reading, args, env, span, .. } = ran;
        let state = &self.input.with_bins(state, name, env);
        self.update_files(packages::scripts_set(state, args, reading, context.conditional));
        if let Some(scripts) = self.progress().package_scripts(state, ran) {
            for dir in &scripts.dirs {
                self.scripts_in(state, context, ran, &scripts, dir);
            }
        }
        if let Some((program, args)) = packages::named_program(ran) {
            self.stands_for(state, context, name, &program, &args, span);
        }
    }

    /// Walks scripts in the manifest of a directory.
    #[inline(never)]
    fn scripts_in(
        &mut self,
        state: &State,
        context: &Context,
        ran: ProgramRun<'_>,
        scripts: &PackageScripts,
        dir: &Place,
    ) {
        let ProgramRun { name, reading, span, .. } = ran;
        let Some(place) = dir.join(packages::MANIFEST) else { return };
        // The scripts of a downloaded package are judged with its installation.
        if scripts.rest == usize::MAX && self.progress().is_fetched(&place) {
            return;
        }
        let manifest = place.value();
        let Some(text) = self.settings_text(state, &manifest, span) else { return };
        for possible in self.progress().possible_scripts(state, &manifest) {
            let inner = within(&context.perhaps(), name).elsewhere(span);
            self.read_value(&mut state.child(&[]), &inner, &possible, span);
        }
        let words: Vec<&Value> = reading.operands.iter().map(|operand| &operand.value).collect();
        for ScriptLine { name: script, line } in
            self.progress().script_lines(state, reading, scripts, (&manifest, &text))
        {
            let what = (format!("{name} script {script} in {}", dir.shown()), words.as_slice());
            let Some(inner) = self.definition(state, context, name, what, span) else { continue };
            let mut child = state.child(&[]);
            if child.cwd.as_ref() != Some(dir) {
                child.move_to(Some(dir.clone()));
            }
            let mut child = self.input.with_bins(&child, name, &[]);
            self.read_value(&mut child, &inner, &line, span);
        }
    }

    /// Returns the text of a variable that a command gets.
    fn variable_of(&mut self, state: &State, env: &[(String, Value)], name: &str) -> Option<String> {
        match env.iter().rev().find(|(own, _)| own == name) {
            Some((_, value)) => value.known_text(),
            None => match self.expand().lookup(state, name) {
                VariableValue::Scalar(value) => value.known_text(),
                _ => None,
            },
        }
    }

    /// Walks sources that the command itself wrote and a compiler reads. Existing files are the project's own code.
    #[inline(never)]
    fn source_of_the_line(&mut self, state: &State, context: &Context, args: &[Field], span: Span) {
        // With `-E` the source is only preprocessed.
        if args.iter().any(|field| field.value.is("-E")) {
            return;
        }
        // The output file is not a source.
        let read: Vec<&Field> =
            (0..args.len()).filter(|&at| at == 0 || !args[at - 1].value.is("-o")).map(|at| &args[at]).collect();
        let mut sources: Vec<Value> =
            read.iter().filter_map(|field| self.progress().content_of(state, &field.value)).collect();
        if read.iter().any(|field| field.value.is("-")) {
            sources.push(self.progress().stdin_of(state).0);
        }
        for text in sources.iter().filter(|text| !loads::says_nothing(text)) {
            self.embedded_code(state, &context.perhaps(), None, "other", text, span);
        }
    }

    /// Walks the lines of a mail that run a command in the mail client: `~! command`, `~| command`.
    #[inline(never)]
    fn tilde_commands(&mut self, state: &State, context: &Context, name: &str, span: Span) {
        let Some(letter) = self.progress().stdin_of(state).0.known_text() else { return };
        let commands = letter.lines().filter_map(|line| {
            let rest = line.strip_prefix('~')?;
            rest.strip_prefix(['!', '|']).or_else(|| rest.trim_start_matches([' ', '<', 'r']).strip_prefix('!'))
        });
        let inner = within(&context.perhaps(), name).elsewhere(span);
        for command in commands {
            self.text(&mut state.child(&[]), &inner, command);
        }
    }

    /// Walks the value of a variable that is a command.
    #[inline(never)]
    pub fn command_variable(&mut self, state: &State, context: &Context, name: &str, value: &Value, span: Span) {
        if PROMPTS.contains(&name) {
            if let Some(text) = value.known_text() {
                let mut child = self.input.fork(state);
                self.walk_embedded(&mut child, &within(&context.perhaps(), name).elsewhere(span), &text);
            }
            return;
        }
        if !word_lists::COMMAND_VARIABLES.contains(&name) || value.is_empty() {
            return;
        }
        let Some(text) = value.known_text() else {
            if value.taint().has(Taint::FETCHED) {
                self.opaque(
                    context.fetched_code(),
                    "the command sets up a command that it downloads to run later",
                    span,
                );
            }
            return;
        };
        let text = if name.starts_with("LESS") { text.trim_start_matches(['|', '-']) } else { text.as_str() };
        let mut child = state.child(&[]);
        self.text(&mut child, &within(&context.perhaps(), name).elsewhere(span), text);
    }

    /// Returns the context of a definition that a command uses; `None` if it is being walked already.
    fn definition(
        &mut self,
        state: &State,
        context: &Context,
        wrapper: &str,
        (what, given): (String, &[&Value]),
        span: Span,
    ) -> Option<Context> {
        let call = self.begin_definition(state, context, &what, given, span)?;
        let mut inner = within(context, wrapper).elsewhere(span);
        inner.called(call);
        inner.source = Source::Definition(what);
        inner.reads(Dialect::Sh);
        Some(inner)
    }

    /// Returns the texts of existing files, one behind the other.
    fn texts_of<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Value {
        let text = |path| match self.input.inquiry.file(path) {
            Some(FileFacts::Text { bytes, .. }) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        Value::text(paths.filter_map(text).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the content of a settings file: the text that the command wrote to it, or the existing content.
    #[inline(never)]
    fn settings_text(&mut self, state: &State, file: &Value, span: Span) -> Option<Value> {
        if let Some((behind, _)) = self.progress().behind(state, file) {
            return self.settings_text(state, &behind, span);
        }
        let copies = state.file(file).and_then(|key| self.files.written.get(&key));
        if let Some(copies) = copies.map(|written| written.copies.clone()).filter(|copies| !copies.is_empty()) {
            return Some(self.texts_of(copies.iter().filter_map(Place::text)));
        }
        if let Some(files) = self.progress().printed_into(state, file) {
            return Some(self.texts_of(files.iter().map(String::as_str)));
        }
        if let Some(written) = self.progress().content_of(state, file) {
            let taint = written.taint();
            if written.is_dynamic() && (taint.has(Taint::FETCHED) || taint.has(Taint::DECODED)) {
                self.opaque(OpaqueReason::FetchedCode, "the command runs code that it downloads or decodes", span);
                return None;
            }
            if !self.progress().goes_on(state, file) {
                return Some(written);
            }
            // The command appended to the existing content, or changed part of it.
            let path = file.known().and_then(|path| state.path(&path))?;
            if let Some(FileFacts::Text { bytes, .. }) = self.input.inquiry.file(&path) {
                let before = Value::text(String::from_utf8_lossy(bytes));
                return Some(Value::join([&before, &written], "\n"));
            }
            return Some(written);
        }
        let place = file.known().and_then(|path| state.place(&path))?;
        if self.progress().is_fetched(&place) {
            self.opaque(OpaqueReason::FetchedCode, "the command runs code that it downloads", span);
            return None;
        }
        let path = place.text()?;
        match self.input.inquiry.file(path) {
            Some(FileFacts::Text { bytes, .. }) => {
                // The file adds fuel once, however often it is read.
                if self.read.insert(path.to_owned()) {
                    self.input.inquiry.fuel.add_file(bytes.len());
                }
                Some(Value::text(String::from_utf8_lossy(bytes)))
            }
            _ => None,
        }
    }

    /// Walks a described program that a package manager or an interpreter starts by its name (`yarn prisma migrate
    /// reset`, `python manage.py flush`).
    #[inline(never)]
    pub fn stands_for(
        &mut self,
        state: &State,
        context: &Context,
        wrapper: &str,
        program: &str,
        args: &[Arg],
        span: Span,
    ) {
        if self.input.catalog.program(program).is_none() {
            return;
        }
        let word = Arg::word(Value::text(program), span);
        let inner = InnerCommand {
            what: InnerText::Argv(std::iter::once(word).chain(args.iter().cloned()).collect()),
            words: Vec::new(),
            positional: Vec::new(),
            env: Vec::new(),
            root: false,
            remote: None,
            adds: Added::Nothing,
            replace: None,
        };
        self.in_place_of(state, context, wrapper, inner, span);
    }

    /// Walks a command that a program starts in its place.
    fn in_place_of(&mut self, state: &State, context: &Context, wrapper: &str, inner: InnerCommand, span: Span) {
        let reading = Reading { inner: vec![inner], ..Reading::default() };
        self.inner(state, context, ProgramRun::in_place_of(wrapper, &reading, span));
    }
}

/// Returns the directory that one of these options names, or the working directory.
fn named_directory(state: &State, reading: &Reading, options: &[&str]) -> Option<Place> {
    // The state has that directory already.
    if !reading.chdir.is_empty() {
        return state.cwd.clone();
    }
    let flag = reading.flags.iter().find(|flag| options.contains(&flag.name.as_str()));
    match flag.and_then(|flag| flag.value.as_ref()) {
        Some(value) => Place::of_directory(state.cwd.as_ref(), value),
        None => state.cwd.clone(),
    }
}

/// Reports whether the description of a program contains this subcommand.
fn describes(program: Option<&Program>, sub: &str) -> bool {
    program.is_some_and(|program| program.subs.begin_with(sub))
}

#[cfg(test)]
mod tests;
