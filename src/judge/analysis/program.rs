//! Programs: the act of a run, its effects on files and the network, and the commands that it runs.

use super::act::{Act, Effect, Source, Taint, UnknownReason, Value, Verb};
use super::act_builder::{self, through_descriptors};
use super::arguments::{self, Arg, CodeFrom, CodeSource, DerivedEffect, Reading};
use super::builtins::Builtin;
use super::command_context::Context;
use super::console_input;
use super::expand::Field;
use super::follow::{self, Step, StepFacts};
use super::indirection::path_floor::TouchedPaths;
use super::program_run::{CommandCall, ProgramRun};
use super::scripts::is_binary_at;
use super::search;
use super::state::{State, VariableValue, unknown};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::risk::Tier;
use crate::judge::rules::catalog::shell_languages;
use crate::judge::rules::model::Program;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// Returns the value of a variable for a command: the one set for it, or that of the shell.
pub(super) fn variable(state: &State, env: &[(String, Value)], name: &str) -> Option<Value> {
    let given = env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    given.or_else(|| match state.variable(name)?.values.first()? {
        VariableValue::Scalar(value) => Some(value.clone()),
        _ => None,
    })
}

impl Walker<'_> {
    /// Walks a program or a builtin by its name.
    pub fn program(
        &mut self,
        state: &mut State,
        context: &Context,
        called: &CommandCall<'_>,
        by_shell: bool,
    ) -> Option<usize> {
        let CommandCall { name, ref path, args, env, span, .. } = *called;
        let catalog = self.input.catalog;
        let lower;
        let (name, known) = match catalog.program(name) {
            None => {
                lower = name.to_ascii_lowercase();
                // On a case-insensitive file system `RM` is `rm`. `npx wrangler@3` contains a version.
                let others = [Some(lower.as_str()), name.split_once('@').map(|(plain, _)| plain)];
                let known = others.into_iter().flatten().find_map(|name| Some((name, catalog.program(name)?)));
                known.map_or((name, None), |(name, program)| (name, Some(program)))
            }
            known => (name, known),
        };
        // Single facts do not describe the effects of a program.
        let described = known.filter(|program| !program.facts_alone);
        let line = (&self.input, self.facts.acts.as_slice());
        let named = self.dashed.with_option_names(line, state, described, args);
        let args = named.as_deref().unwrap_or(args);
        let opened = through_descriptors(state, args);
        let args = opened.as_deref().unwrap_or(args);
        let words: Vec<Arg> = args.iter().map(Field::arg).collect();
        let mut reading = match described {
            Some(program) => arguments::read(program, &words),
            None => Reading { tier: Tier::Low, ..arguments::read(&Program::default(), &words) },
        };
        // A path is judged by the file there, and not by the program with that name.
        let shown = path.as_ref().map(|path| path.rough().into_owned());
        let is_remote = context.remote.is_some();
        let elsewhere = shown.as_deref().is_some_and(|path| {
            !is_installed(path)
                || self.resolver.is_planted(path)
                || self.resolver.is_written(&self.input, state, path, is_remote)
        });
        if elsewhere {
            reading.tier = reading.tier.max(Tier::Low);
        }
        let named = described.and_then(|program| program.target.as_ref()).map(|target| target.env.as_slice());
        reading.target.extend(named.unwrap_or_default().iter().filter_map(|name| variable(state, env, name)));
        let mut there;
        let state = if reading.chdir.is_empty() {
            state
        } else {
            there = state.clone();
            reading.chdir.iter().for_each(|dir| there.enter(dir));
            &mut there
        };
        let builtin = if path.is_none() { Builtin::of(name, by_shell) } else { None };
        let runs_more = builtin.is_some_and(Builtin::runs) || !reading.inner.is_empty() || !reading.code.is_empty();
        let verb = Verb::Program { name: name.to_owned(), path: shown.clone() };
        let id = self.program_act(state, context, verb, (&words, &reading), called);
        self.effects(state, context, &reading, id, span);
        if let Some(program) = described.filter(|_| reading.expression) {
            self.alternatives(state, context, (program, shown.as_deref()), &words, called);
        }
        self.files.add_links(&self.input, state, &reading);
        if !runs_more && (reading.tier > Tier::Safe || !reading.effects.is_empty()) {
            self.perhaps_empty(state, context, (name, shown.as_deref()), described, &words, called);
        }
        let wrote = match builtin {
            Some(builtin) => {
                let outer = Self::set_for(state, env);
                let wrote = self.builtin(state, context, builtin, name, args, span);
                if !builtin.sets() {
                    Self::put_back(state, outer);
                }
                wrote
            }
            None => false,
        };
        let is_fed = !matches!(state.streams.stdin, Stream::Inherited | Stream::Nothing);
        if is_fed && context.remote.is_none() && reading.inner.is_empty() && reading.code.is_empty() {
            let act = self.facts.acts.get(id).filter(|_| known.is_some_and(|program| !program.consoles.is_empty()));
            let language = act.and_then(|act| console_input::input_language(act, self.input.catalog));
            let source = |language| CodeSource { language, from: CodeFrom::Stdin, positional: Vec::new() };
            reading.code.extend(language.map(source));
        }
        // A dry run or a request for the version executes nothing.
        let idle = reading.dry_run && !args.iter().any(|field| field.value.is("+n"));
        let facts = StepFacts {
            name,
            words: &words,
            reading: &reading,
            builtin,
            is_known: known.is_some(),
            is_described: described.is_some(),
            is_path: path.is_some(),
            elsewhere,
            wrote,
            idle,
            root: context.root,
            is_remote: context.remote.is_some(),
        };
        let named = (name, shown.as_deref());
        let ran = ProgramRun { name, known, reading: &reading, args, env, span };
        for step in follow::steps(&facts) {
            match step {
                Step::Inner => self.inner(state, context, ran),
                Step::Typed => {
                    known.into_iter().for_each(|program| self.typed(context, id, name, program, &reading, span));
                }
                Step::Code(at) => {
                    let source = reading.code.get(at);
                    source.into_iter().for_each(|code| self.code_source(state, context, id, ran, code));
                }
                Step::PerhapsWraps | Step::EscapesAsRoot => self.perhaps_wrapped(state, context, &ran, step, &words),
                Step::Leads => self.leads(state, context, ran),
                Step::Raised => self.raised(state, context, named, described.is_some(), span),
                Step::Touches => {
                    // A script is judged by its content; about a file that does not exist nothing is known.
                    let is_unread = |path: &Value| {
                        is_installed(&path.rough())
                            || self.progress().is_absent(state, path)
                            || is_binary_at(&self.input, state, path)
                    };
                    if path.as_ref().is_none_or(is_unread) {
                        self.touches(state, context, &ran, id, described, &words);
                    }
                }
                Step::Executable { if_brought } => {
                    let is_brought = |path: &Value| {
                        self.resolver.is_planted(&path.rough()) || self.progress().is_made_here(state, path)
                    };
                    if let Some(path) = path.as_ref().filter(|path| !if_brought || is_brought(path)) {
                        self.executable(state, context, id, path, ran);
                    }
                }
                Step::Prints => self.wrote(state, context, id, name, args, &reading),
            }
        }
        Some(id)
    }

    /// Adds the acts of a search once for each alternative of its expression.
    #[inline(never)]
    fn alternatives(
        &mut self,
        state: &State,
        context: &Context,
        (program, path): (&Program, Option<&str>),
        words: &[Arg],
        called: &CommandCall<'_>,
    ) {
        for part in search::alternatives(words, self.input.catalog).unwrap_or_default() {
            let verb = Verb::Program { name: called.name.to_owned(), path: path.map(str::to_owned) };
            let reading = arguments::read(program, &part);
            let id = self.program_act(state, context, verb, (&part, &reading), called);
            self.effects(state, context, &reading, id, called.span);
        }
    }

    /// Judges an unknown program that runs as root.
    #[inline(never)]
    fn raised(&mut self, state: &State, context: &Context, named: (&str, Option<&str>), described: bool, span: Span) {
        if let Some((program, arg)) = self.input.unknown_as_root(state, named, described, span) {
            self.stands_for(state, context, named.0, program, &[arg], span);
        }
    }

    /// Adds the effects on paths that no described effect mentions.
    #[inline(never)]
    fn touches(
        &mut self,
        state: &State,
        context: &Context,
        ran: &ProgramRun<'_>,
        id: usize,
        described: Option<&Program>,
        words: &[Arg],
    ) {
        let touched = self.progress().touched_paths(state, *ran, described, words);
        self.touch(state, context, *ran, id, touched);
    }

    #[inline(never)]
    fn program_act(
        &mut self,
        state: &State,
        context: &Context,
        verb: Verb,
        (words, reading): (&[Arg], &Reading),
        called: &CommandCall<'_>,
    ) -> usize {
        let act = self.progress().of_program(state, context, verb, (words, reading), called);
        let id = self.emit(state, act);
        for dir in self.input.doubted(state, reading.tier) {
            if let Some(act) = self.facts.acts.get(id).cloned() {
                self.input.pay(&act);
                self.facts.acts.push(Act { cwd: dir, conditional: true, ..act });
            }
        }
        id
    }

    /// Adds the effects in the description of the program.
    #[inline(never)]
    fn effects(&mut self, state: &State, context: &Context, reading: &Reading, parent: usize, span: Span) {
        let taint = self.facts.acts.get(parent).map(|act| act.taint).unwrap_or_default();
        for (index, derived) in reading.effects.iter().enumerate() {
            let DerivedEffect { effect, on, recursive } = derived;
            // Several layers may describe the same effect.
            let same = |other: &DerivedEffect| {
                (other.effect, other.recursive) == (*effect, *recursive)
                    && other.on.iter().map(|on| &on.value).eq(on.iter().map(|on| &on.value))
            };
            if reading.effects.iter().take(index).any(same) {
                continue;
            }
            let id = self.effect(state, context, derived.clone(), Some(parent), span, taint);
            if matches!(effect, Effect::Load | Effect::Show | Effect::Send)
                && on.iter().any(|on| self.progress().holds_secret(state, &on.value))
            {
                let why = UnknownReason::Other("what a file holds that a secret was copied to");
                let content = unknown(why, Taint::SECRET);
                // An effect of loading has the program as its parent.
                let of = if *effect == Effect::Load { parent } else { id };
                self.facts.acts.get_mut(of).into_iter().for_each(|act| act.args.push(content.clone()));
            }
            if let (Some(dry_run), Some(act)) =
                (self.facts.acts.get(parent).map(|act| act.dry_run), self.facts.acts.get_mut(id))
            {
                act.dry_run = dry_run;
            }
            if effect.writes() {
                self.store_written(state, context, derived, reading, parent);
            }
        }
        let dry_run = self.facts.acts.get(parent).is_some_and(|act| act.dry_run);
        for derived in self.progress().destinations(state, reading, parent) {
            let id = self.effect(state, context, derived, Some(parent), span, Taint::default());
            self.facts.acts.get_mut(id).into_iter().for_each(|act| act.dry_run = dry_run);
        }
    }

    /// Stores what a program writes to files.
    #[inline(never)]
    fn store_written(
        &mut self,
        state: &State,
        context: &Context,
        derived: &DerivedEffect,
        reading: &Reading,
        parent: usize,
    ) {
        let written = self.progress().written_by(state, derived, reading, parent, context.conditional);
        for target in &written.emptied {
            self.emptied(state, context, target);
        }
        self.update_files(written.updates);
    }

    /// Adds the effects of a program on sensitive paths in its arguments.
    #[inline(never)]
    fn touch(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>, id: usize, touched: TouchedPaths) {
        if touched.shows_secret
            && let Some(act) = self.facts.acts.get_mut(id)
        {
            act.taint = act.taint.and(Taint::SECRET);
        }
        for (program, args) in touched.judged_as {
            self.stands_for(state, context, ran.name, program, &args, ran.span);
        }
        for derived in touched.effects {
            self.effect(state, context, derived, Some(id), ran.span, Taint::default());
        }
    }

    /// Adds an effect act.
    #[inline(never)]
    pub fn effect(
        &mut self,
        state: &State,
        context: &Context,
        mut derived: DerivedEffect,
        parent: Option<usize>,
        span: Span,
        taint: Taint,
    ) -> usize {
        let (effect, on) = (derived.effect, &mut derived.on);
        let span = on.iter().map(|operand| operand.span).reduce(Span::to).unwrap_or(span);
        if context.plainly {
            on.retain(|operand| self.input.says_plainly(state, effect, &operand.value));
        }
        let act = self.progress().of_effect(state, context, derived, parent, span, taint);
        let doubted = self.input.doubted(state, Tier::Low);
        let id = self.emit(state, act);
        let behind_links = self.progress().act_behind_links(state, id, effect);
        self.facts.acts.extend(behind_links);
        for dir in doubted {
            if let Some(act) = self.facts.acts.get(id).cloned() {
                self.input.pay(&act);
                self.facts.acts.push(Act { cwd: dir, conditional: true, ..act });
            }
        }
        id
    }

    /// Walks the command again with unset variables as empty text, if the paths differ: `rm -rf $X/` becomes `rm -rf
    /// /`.
    #[inline(never)]
    fn perhaps_empty(
        &mut self,
        state: &State,
        context: &Context,
        (name, path): (&str, Option<&str>),
        described: Option<&Program>,
        words: &[Arg],
        called: &CommandCall<'_>,
    ) {
        // The variables of a generated script are unknown.
        if context.plainly {
            return;
        }
        let Some((emptied, reading)) = act_builder::emptied(described, words) else { return };
        let verb = Verb::Program { name: name.to_owned(), path: path.map(str::to_owned) };
        let context = context.perhaps();
        let id = self.program_act(state, &context, verb, (&emptied, &reading), called);
        self.effects(state, &context, &reading, id, called.span);
    }

    /// Returns the context of a script file.
    pub fn script_context(&self, context: &Context, path: &str, span: Span) -> Context {
        Context { source: Source::Script(path.to_owned()), by_first_line: false, ..context.elsewhere(span) }
    }
}

/// Reports whether a path is in a directory of installed programs, which are described by their names.
pub(super) fn is_installed(path: &str) -> bool {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory).rsplit('/').next().unwrap_or_default();
    word_lists::PROGRAM_PLACES.iter().any(|place| path.starts_with(place))
        || word_lists::PROGRAM_DIRECTORIES.contains(&directory)
}

/// Reports whether code in this language is walked as shell code.
pub fn is_shell(language: &str) -> bool {
    matches!(language, "shell" | "sh" | "bash" | "zsh" | "ksh" | "dash") || shell_languages().of(language).is_some()
}
