//! Walks the definitions for which commands stand: aliases and settings of git, scripts of packages, targets of recipe
//! files.
//!
//! Out of scope: finding the definitions ([`super::git`], [`super::packages`], [`super::targets`]).

use std::rc::Rc;

use super::git::{AliasCommand, GitSettings};
use super::named_directory;
use super::packages::{self, PackageScripts, ScriptLine};
use crate::judge::analysis::act::{OpaqueReason, Source, Value};
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::recipes::RecipeKind;
use crate::judge::analysis::recursion::{ActiveCall, Callee};
use crate::judge::analysis::resolve::Lookup;
use crate::judge::analysis::state::{Build as _, State, VariableValue};
use crate::judge::analysis::walk::{TOO_LARGE, Walker};
use crate::judge::analysis::wrappers::quoted_words;
use crate::judge::rules::model::Program;
use crate::judge::syntax::tree::{Dialect, Span};

/// Options that name the directory of a recipe file.
const DIRECTORY_OPTIONS: [&str; 4] = ["-C", "--directory", "--working-directory", "-d"];

impl Walker<'_> {
    /// Walks what settings and aliases make of a command.
    #[inline(never)]
    pub(super) fn follow_git(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
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
        let mut child = state.child_in(env, dir.as_ref());
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
    pub(super) fn follow_packages(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
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
            let mut child = self.input.with_bins(&state.child_in(&[], Some(dir)), name, &[]);
            self.read_value(&mut child, &inner, &line, span);
        }
    }

    /// Walks the commands that recipe files define for the targets of a run.
    #[inline(never)]
    pub(super) fn recipe(
        &mut self,
        state: &State,
        context: &Context,
        program: &Program,
        kind: RecipeKind,
        ran: ProgramRun<'_>,
    ) {
        let ProgramRun { name, reading, span, .. } = ran;
        let mut there = self.input.fork(state);
        there.cwd = named_directory(state, reading, &DIRECTORY_OPTIONS);
        let file = self.progress().recipe_file(&there, kind, reading);
        for fetched in &file.fetched {
            self.opaque(OpaqueReason::FetchedCode, fetched.detail(), span);
        }
        let perhaps = within(&context.perhaps(), name).elsewhere(span);
        for inserted in &file.inserted {
            self.read_value(&mut there.child(&[]), &perhaps, inserted, span);
        }
        if let Some(shell) = file.shell()
            && !self.input.is_shell_name(shell.rsplit('/').next().unwrap_or_default())
        {
            self.text(&mut state.child(&[]), &within(context, name).elsewhere(span), shell);
        }
        let dir = file.dir.clone();
        let home = self.expand().home(state).and_then(|home| home.known_text());
        let Some(recipe) = file.recipe(home) else { return };
        let words: Vec<&Value> = reading.operands.iter().map(|operand| &operand.value).collect();
        let called = format!("{name} {} in {}", recipe.targets.join(" "), dir.as_ref().map_or("?", Place::shown));
        let Some(inner) = self.definition(state, context, name, (called, &words), span) else { return };
        for command in recipe.evaluated(kind) {
            self.read_value(&mut there.child(&[]), &inner, &command, span);
        }
        for line in self.input.commands_of_recipe(state, (&recipe, kind), reading, &program.defaults) {
            if !self.input.inquiry.fuel.lasts() {
                self.limit(span, TOO_LARGE);
                break;
            }
            self.read_value(&mut state.child_in(&[], dir.as_ref()), &inner, &line, span);
        }
    }

    /// Returns the context of a definition that a command uses; `None` if it is being walked already.
    pub(super) fn definition(
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

    /// Returns the content of a settings file: the text that the command wrote to it, or the existing content. A file
    /// that is downloaded is an opaque part.
    #[inline(never)]
    pub(super) fn settings_text(&mut self, state: &State, file: &Value, span: Span) -> Option<Value> {
        match self.progress().settings(state, file) {
            Ok(text) => text,
            Err(fetched) => {
                self.opaque(OpaqueReason::FetchedCode, fetched.detail(), span);
                None
            }
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
}
