//! Programs: the act of running one, what it does to files and the network, and what it runs in turn.

use std::rc::Rc;

use super::act::{Act, Disguise, Effect, Operand, Piece, Source, Taint, Unknown, UnknownReason, Value, Verb};
use super::arguments::{self, Arg, Derived, Reading};
use super::builtins::Builtin;
use super::enclosing::Context;
use super::expand::Field;
use super::paths::names_sink;
use super::place::Place;
use super::search;
use super::state::{Bound, Build as _, State, unknown};
use super::streams::{Stream, descriptor};
use super::walk::Walker;
use crate::judge::risk::Tier;
use crate::judge::rules::model::{OutputTaint, Program};
use crate::judge::syntax::tree::Span;

/// What a variable is for a command: as set in front of it, else as the shell has it.
pub(super) fn variable(state: &State, env: &[(String, Value)], name: &str) -> Option<Value> {
    let given = env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    given.or_else(|| match state.variable(name)?.values.first()? {
        Bound::Scalar(value) => Some(value.clone()),
        _ => None,
    })
}

impl Walker<'_> {
    /// Runs a program or builtin by name.
    #[allow(clippy::too_many_arguments)]
    pub fn program(
        &mut self,
        state: &mut State,
        context: &Context,
        (name, path): (&str, Option<Value>),
        args: &[Field],
        env: &[(String, Value)],
        span: Span,
        by_shell: bool,
        disguise: Option<Disguise>,
    ) -> Option<usize> {
        let catalog = self.setting.catalog;
        let lower;
        let (name, known) = match catalog.program(name) {
            None => {
                lower = name.to_ascii_lowercase();
                // Where names are not told apart by case, `RM` is `rm`. `npx wrangler@3` names the version to fetch.
                let others = [Some(lower.as_str()), name.split_once('@').map(|(plain, _)| plain)];
                let known = others.into_iter().flatten().find_map(|name| Some((name, catalog.program(name)?)));
                known.map_or((name, None), |(name, program)| (name, Some(program)))
            }
            known => (name, known),
        };
        // Of what single facts name it is not known what it does.
        let described = known.filter(|program| !program.facts_alone);
        let named = self.with_option_names(state, described, args);
        let args = named.as_deref().unwrap_or(args);
        let opened = Self::through_descriptors(state, args);
        let args = opened.as_deref().unwrap_or(args);
        let words: Vec<Arg> = args.iter().map(Field::arg).collect();
        let mut reading = match described {
            Some(program) => arguments::read(program, &words),
            None => Reading { tier: Tier::Low, ..arguments::read(&Program::default(), &words) },
        };
        // A program by its path is what lies there, whatever bears its name elsewhere.
        let shown = path.as_ref().map(|path| path.rough().into_owned());
        let elsewhere = shown.as_deref().is_some_and(|path| !is_installed(path) || self.resolver.is_planted(path));
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
        let id = self.program_act(state, context, verb, &words, &reading, env, span, disguise);
        self.effects(state, context, &reading, id, span);
        if let Some(program) = described.filter(|_| reading.expression) {
            for part in search::alternatives(&words, self.setting.catalog).unwrap_or_default() {
                let verb = Verb::Program { name: name.to_owned(), path: shown.clone() };
                let reading = arguments::read(program, &part);
                let id = self.program_act(state, context, verb, &part, &reading, env, span, disguise);
                self.effects(state, context, &reading, id, span);
            }
        }
        self.links_made(state, &reading);
        if !runs_more && (reading.tier > Tier::Safe || !reading.effects.is_empty()) {
            self.perhaps_empty(state, context, (name, shown.as_deref()), described, &words, env, span, disguise);
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
        // What is only checked, or asked for its version, runs nothing.
        let idle = reading.dry_run && !args.iter().any(|field| field.value.is("+n"));
        if !wrote && idle && !elsewhere {
            self.leads(state, context, name, known, &reading, args, env, span);
        }
        if !wrote && !idle {
            if !reading.inner.is_empty() {
                self.inner(state, context, name, &reading, env, span);
            }
            if let Some(program) = known.filter(|_| !elsewhere) {
                self.typed(context, id, name, program, &reading, span);
            }
            for source in &reading.code {
                self.code_source(state, context, id, (name, shown.as_deref()), source, env, span);
            }
            let may_run = described.is_none() || reading.tier > Tier::Safe && launches(&words);
            if may_run && !runs_more && !words.is_empty() && !name.contains(':') {
                self.perhaps_wraps(state, context, name, &words, env, span);
            } else if context.root && !name.contains(':') {
                self.escapes_as_root(state, context, name, &words, env);
            }
            self.leads(state, context, name, known, &reading, args, env, span);
            if context.root && builtin.is_none() && context.remote.is_none() && !name.contains(':') {
                self.raised(state, context, (name, shown.as_deref()), described.is_some(), span);
            }
            // A script is judged by what it says; of what is not there, nothing is known.
            let unread =
                path.as_ref().is_none_or(|path| is_installed(&path.rough()) || self.so_far().is_absent(state, path));
            if builtin.is_none() && unread && context.remote.is_none() {
                self.touches(state, context, (name, described), &reading, &words, id, span);
            }
            if let Some(path) = &path
                && (described.is_none() && reading.code.is_empty()
                    || described.is_some()
                        && (elsewhere
                            || self.resolver.is_planted(&path.rough())
                            || self.so_far().is_made_here(state, path)))
            {
                self.executable(state, context, id, path, args, env, span);
            }
            if reading.inner.is_empty() && !reading.code.iter().any(|source| is_shell(&source.language)) {
                self.wrote(state, context, id, name, args, &reading);
            }
        }
        Some(id)
    }

    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn program_act(
        &mut self,
        state: &State,
        context: &Context,
        verb: Verb,
        words: &[Arg],
        reading: &Reading,
        env: &[(String, Value)],
        span: Span,
        disguise: Option<Disguise>,
    ) -> usize {
        let (input_text, input_taint, decoded) = self.so_far().stdin_of(state);
        // A program that is given operands seldom reads what nobody feeds it.
        let unfed = matches!(state.streams.stdin, Stream::Inherited) && !reading.operands.is_empty();
        let fed = if unfed { Taint::default() } else { input_taint.and(input_text.taint()) };
        let carried = words.iter().fold(fed, |all, arg| all.and(arg.value.taint()));
        let taint = match reading.output {
            OutputTaint::Copies => carried.and(self.so_far().loaded(state, reading)),
            OutputTaint::Own | OutputTaint::Code => Taint::default(),
            OutputTaint::Fetched => carried.and(Taint::FETCHED),
            OutputTaint::Decoded => carried.and(self.so_far().loaded(state, reading)).and(Taint::DECODED),
            // A wrapper prints what the command in it prints.
            OutputTaint::Secret if !reading.inner.is_empty() => Taint::default(),
            OutputTaint::Secret => Taint::SECRET,
        };
        let disguise = disguise.or((decoded && context.disguise.is_some()).then_some(Disguise::Encoding));
        let act = Act {
            tier: reading.tier,
            sub: reading.sub.clone(),
            flags: reading.flags.clone(),
            operands: reading.operands.clone(),
            args: words.iter().map(|arg| arg.value.clone()).collect(),
            env: state.env(env),
            dry_run: reading.dry_run,
            targets: reading.target.clone(),
            taint,
            disguise,
            ..self.blank(state, context, verb, span)
        };
        let id = self.emit(state, act);
        for dir in self.doubted(state, reading.tier) {
            if let Some(act) = self.facts.acts.get(id).cloned() {
                self.pay(&act);
                self.facts.acts.push(Act { cwd: dir, conditional: true, ..act });
            }
        }
        id
    }

    /// The arguments with each `/dev/fd/N` replaced by the file that the descriptor has open; `None` where none is.
    fn through_descriptors(state: &State, args: &[Field]) -> Option<Vec<Field>> {
        let file = |field: &Field| {
            let number = descriptor(&field.value.known()?).filter(|number| *number > 2)?;
            match state.streams.opened(number)? {
                Stream::File(operand, _) => Some(operand.value.clone()),
                _ => None,
            }
        };
        if state.streams.others.is_empty() {
            return None;
        }
        let mut through: Option<Vec<Field>> = None;
        for (at, field) in args.iter().enumerate() {
            let Some(value) = file(field) else { continue };
            through
                .get_or_insert_with(|| args.to_vec())
                .get_mut(at)
                .into_iter()
                .for_each(|arg| arg.value.clone_from(&value));
        }
        through
    }

    /// An act at this place with nothing said of it yet.
    #[inline(never)]
    pub fn blank(&self, state: &State, context: &Context, verb: Verb, span: Span) -> Act {
        Act {
            tier: Tier::Safe,
            input: state.streams.stdin.input(&self.sinks),
            output: state.streams.stdout.output(),
            root: context.root || (self.setting.invocation.uid == 0 && context.remote.is_none()),
            remote: context.remote.clone(),
            wrappers: Rc::clone(&context.wrappers),
            conditional: context.conditional,
            staged: context.staged,
            read: false,
            source: context.source.clone(),
            span,
            ..Act::plain(verb, state.cwd.clone())
        }
    }

    /// The other directories in which a command may run: on another way through the line, or where a `cd` failed.
    #[inline(never)]
    fn doubted(&self, state: &State, tier: Tier) -> Vec<Option<Place>> {
        if tier == Tier::Safe || (state.doubt.is_empty() && state.also.is_empty()) {
            return Vec::new();
        }
        let mut dirs = state.also.clone();
        if !state.errexit && !state.doubt.is_empty() {
            let there = state.dir().and_then(|dir| self.setting.inquiry.path(dir));
            if state.fails || there.is_none_or(|facts| facts.kind != super::question::PathKind::Directory) {
                dirs.extend(state.doubt.iter().filter(|dir| !state.also.contains(dir)).cloned());
            }
        }
        dirs
    }

    /// Effects by the program's description.
    #[inline(never)]
    fn effects(&mut self, state: &State, context: &Context, reading: &Reading, parent: usize, span: Span) {
        let taint = self.facts.acts.get(parent).map(|act| act.taint).unwrap_or_default();
        for (index, derived) in reading.effects.iter().enumerate() {
            let Derived { effect, on, recursive } = derived;
            // Two layers may describe one program the same way.
            let same = |other: &Derived| {
                (other.effect, other.recursive) == (*effect, *recursive)
                    && other.on.iter().map(|on| &on.value).eq(on.iter().map(|on| &on.value))
            };
            if reading.effects.iter().take(index).any(same) {
                continue;
            }
            let id = self.effect(state, context, *effect, on.clone(), *recursive, Some(parent), span, taint);
            if matches!(effect, Effect::Load | Effect::Show | Effect::Send)
                && on.iter().any(|on| self.so_far().holds_secret(state, &on.value))
            {
                let why = UnknownReason::Other("what a file holds that a secret was copied to");
                let content = unknown(why, Taint::SECRET);
                // What is only loaded is the program's own business.
                let of = if *effect == Effect::Load { parent } else { id };
                self.facts.acts.get_mut(of).into_iter().for_each(|act| act.args.push(content.clone()));
            }
            if let (Some(dry_run), Some(act)) =
                (self.facts.acts.get(parent).map(|act| act.dry_run), self.facts.acts.get_mut(id))
            {
                act.dry_run = dry_run;
            }
            if effect.writes() {
                self.written_by(state, context, derived, reading, parent);
            }
        }
        self.landings(state, context, reading, parent, span);
    }

    /// Adds an effect act.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn effect(
        &mut self,
        state: &State,
        context: &Context,
        effect: Effect,
        on: Vec<Operand>,
        recursive: bool,
        parent: Option<usize>,
        span: Span,
        taint: Taint,
    ) -> usize {
        let span = on.iter().map(|operand| operand.span).reduce(Span::to).unwrap_or(span);
        let mut on = on;
        if context.plainly {
            on.retain(|operand| self.says_plainly(state, effect, &operand.value));
        }
        let inherited = parent.and_then(|id| self.facts.acts.get(id));
        let on_nothing = on.is_empty();
        let rehearsed = inherited.is_some_and(|act| act.dry_run);
        let changes = effect.changes() && !rehearsed && !on.iter().all(|operand| names_sink(&operand.value.rough()));
        let act = Act {
            tier: if changes { Tier::Low } else { Tier::Safe },
            args: on.iter().map(|operand| operand.value.clone()).collect(),
            operands: on,
            env: inherited.map(|act| act.env.clone()).unwrap_or_default(),
            disguise: inherited.and_then(|act| act.disguise),
            recursive,
            parent,
            taint,
            dry_run: context.plainly && on_nothing,
            ..self.blank(state, context, Verb::Effect(effect), span)
        };
        let doubted = self.doubted(state, Tier::Low);
        let id = self.emit(state, act);
        self.effect_behind_links(state, id, effect);
        for dir in doubted {
            if let Some(act) = self.facts.acts.get(id).cloned() {
                self.pay(&act);
                self.facts.acts.push(Act { cwd: dir, conditional: true, ..act });
            }
        }
        id
    }

    /// The same command once more with unset variables empty, where that names another place: `rm -rf $X/` is then
    /// `rm -rf /`.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn perhaps_empty(
        &mut self,
        state: &State,
        context: &Context,
        (name, path): (&str, Option<&str>),
        described: Option<&Program>,
        words: &[Arg],
        env: &[(String, Value)],
        span: Span,
        disguise: Option<Disguise>,
    ) {
        // Nothing is known of what a generated script sets.
        if context.plainly {
            return;
        }
        // A word that is a variable alone goes altogether.
        let stays = |arg: &&Arg| !super::parameter::is_unset_temporary(&arg.value);
        let left = words.iter().filter(stays);
        let emptied: Vec<Arg> = left.map(|arg| Arg { value: without_unset(&arg.value), ..arg.clone() }).collect();
        if emptied == words {
            return;
        }
        let reading = match described {
            Some(program) => arguments::read(program, &emptied),
            None => Reading { tier: Tier::Low, ..arguments::read(&Program::default(), &emptied) },
        };
        // Where no temporary directory could be made, only deleting does harm.
        let deletes = reading.effects.iter().any(|derived| derived.effect == Effect::Delete);
        let is_temporary =
            |piece: &Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Temporary { .. }, .. }));
        let temporary = |arg: &Arg| arg.value.pieces().first().is_some_and(is_temporary);
        let differ = || words.iter().filter(|word| !emptied.contains(word));
        if !deletes && emptied.len() == words.len() && differ().all(temporary) {
            return;
        }
        let verb = Verb::Program { name: name.to_owned(), path: path.map(str::to_owned) };
        let context = context.perhaps();
        let id = self.program_act(state, &context, verb, &emptied, &reading, env, span, disguise);
        self.effects(state, &context, &reading, id, span);
    }

    /// The source of a script file.
    pub fn script_context(&self, context: &Context, path: &str, span: Span) -> Context {
        Context { source: Source::Script(path.to_owned()), ..context.elsewhere(span) }
    }
}

/// Whether a path is of a place where programs are installed by name: what they do is known by it.
pub(super) fn is_installed(path: &str) -> bool {
    const PLACES: [&str; 7] = ["/usr/", "/opt/", "/nix/", "/snap/", "/Applications/", "/System/", "/Library/"];
    const DIRECTORIES: [&str; 6] = ["bin", "sbin", ".bin", "libexec", "shims", "Scripts"];
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory).rsplit('/').next().unwrap_or_default();
    PLACES.iter().any(|place| path.starts_with(place)) || DIRECTORIES.contains(&directory)
}

/// Whether arguments speak of starting something.
fn launches(words: &[Arg]) -> bool {
    const LAUNCHING: [&str; 20] = [
        "exec",
        "run",
        "shell",
        "x",
        "enter",
        "develop",
        "ssh",
        "spawn",
        "env",
        "--",
        "-c",
        "-e",
        "-s",
        "-x",
        "-exec",
        "--exec",
        "--command",
        "--run",
        "--cmd",
        "-E",
    ];
    words.iter().any(|arg| arg.value.known().is_some_and(|word| LAUNCHING.contains(&&*word)))
}

/// Languages that are walked and not handed on as code.
pub fn is_shell(language: &str) -> bool {
    matches!(language, "shell" | "sh" | "bash" | "zsh" | "ksh" | "dash" | "fish")
}

/// A value with unset variables taken out, where what is left is a path of its own.
fn without_unset(value: &Value) -> Value {
    // Nobody keeps anything under such a name in the root: only what is left of it whole does harm.
    let is_temporary = |piece: &Piece| match piece {
        Piece::Unknown(Unknown { why: UnknownReason::Variable(name), .. }) => name == "TMPDIR",
        // Where `mktemp` cannot make anything it prints nothing.
        Piece::Unknown(Unknown { why, .. }) => matches!(why, UnknownReason::Temporary { .. }),
        Piece::Text(_) | Piece::Glob(_) => false,
    };
    let is_unset = |piece: &Piece| {
        matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Variable(_), .. })) && !is_temporary(piece)
    };
    let mut left = Value::default();
    value.pieces().iter().filter(|piece| !is_unset(piece)).for_each(|piece| left.push_piece(piece));
    if left.pieces().first().is_some_and(is_temporary) && left.pieces().len() > 1 {
        let rest = Value::of(left.pieces().iter().skip(1).cloned().collect());
        let is_all = |text: &str| text.starts_with(['/', '*']) && text.bytes().all(|byte| b"/.*".contains(&byte));
        if rest.pattern().is_some_and(|text| is_all(&text)) {
            return rest;
        }
    }
    let rough = left.rough();
    let is_place = rough.starts_with(['/', '*', '~', '.']) && left.pieces().len() + 1 >= value.pieces().len();
    if is_place { left } else { value.clone() }
}
