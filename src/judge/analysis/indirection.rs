//! Follows a command to the definitions that it uses: aliases of git, scripts of packages, targets of makefiles,
//! variables that contain commands.
//!
//! Out of scope: I/O. Definitions are answers to questions; nothing is executed to find them.

pub(super) mod archives;
mod config_keys;
mod definitions;
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
mod settings;
mod targets;
mod task_settings;
mod unknown_scripts;

use self::session_code::SessionFile;
use self::unknown_scripts::HandedScript;
use super::act::{Operand, Taint, Value};
use super::arguments::{Arg, InnerCommand, InnerText, Reading};
use super::builtins::within;
use super::command_context::Context;
use super::expand::Field;
use super::follow::{self, DescribedLead, Lead};
use super::place::Place;
use super::program_run::ProgramRun;
use super::question::FileFacts;
use super::recipes::RecipeKind;
use super::state::{Build as _, State};
use super::walk::Walker;
use crate::judge::rules::glob;
use crate::judge::rules::model::{Added, Follow, OperandList, Program};
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

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
        let ProgramRun { name, env, span, .. } = ran;
        match kind {
            Follow::Git => self.follow_git(state, context, ran),
            Follow::Packages => self.follow_packages(state, context, ran),
            Follow::Entrypoint => {
                if let Some(started) = entrypoint::started(ran) {
                    self.in_place_of(state, context, name, started, span);
                }
            }
            Follow::Makefile => {
                self.recipe(&state.child(env), context, program, RecipeKind::Make, ran);
            }
            Follow::Justfile => {
                self.recipe(&state.child(env), context, program, RecipeKind::Just, ran);
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
                let context = context.staged().by_first_line();
                self.script_bytes(&mut state.child(&[]), &context, &path, text, ran.span, None);
            } else {
                let file = Operand { value: Value::text(path), span: ran.span };
                self.embedded_file(state, &context.staged(), language, &file, ran.span);
            }
            let found = self.facts.opaque.split_off(known);
            self.facts.opaque.extend(found.into_iter().filter(session_code::is_grave));
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
            read.iter().filter_map(|field| self.progress().added_to(state, &field.value)).collect();
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
        if !word_lists::COMMAND_VARIABLES.iter().any(|known| glob::text(known, name)) || value.is_empty() {
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
