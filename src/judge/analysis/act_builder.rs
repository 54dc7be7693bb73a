//! Creates acts of programs and of effects, and links them to the acts that they read from.
//!
//! Out of scope: walking the commands that a program runs.

use std::rc::Rc;

use super::act::{Act, Disguise, Effect, Facts, Piece, Taint, Unknown, UnknownReason, Value, Verb};
use super::analysis_input::AnalysisInput;
use super::arguments::{self, Arg, DerivedEffect, Reading};
use super::command::DECLARING;
use super::command_context::Context;
use super::expand::Field;
use super::fuel::cost;
use super::parameter::is_unset_temporary;
use super::paths::names_sink;
use super::place::Place;
use super::program_run::CommandCall;
use super::progress::WalkProgress;
use super::reductions;
use super::search_results;
use super::state::{Build as _, State};
use super::streams::{Sink, Stream, descriptor};
use crate::judge::risk::Tier;
use crate::judge::rules::model::{OutputTaint, Program, Reduction};
use crate::judge::syntax::tree::Span;

/// Maximum number of readers of an act's output, and of writers to one pipe.
const MAX_LINKS: usize = 64;

impl WalkProgress<'_, '_> {
    /// Creates an act in this context, with default values for everything else.
    #[inline(never)]
    pub fn blank(&self, state: &State, context: &Context, verb: Verb, span: Span) -> Act {
        Act {
            tier: Tier::Safe,
            input: state.streams.stdin.input(self.sinks),
            output: state.streams.stdout.output(),
            root: context.root || (self.input.invocation.uid == 0 && context.remote.is_none()),
            remote: context.remote.clone(),
            wrappers: Rc::clone(&context.wrappers),
            conditional: context.conditional,
            repeated: context.conditional && context.repeated,
            absent: Rc::clone(&context.absent),
            staged: context.staged,
            read: false,
            source: context.source.clone(),
            span,
            ..Act::plain(verb, state.cwd.clone())
        }
    }

    /// Creates the act of a program with parsed arguments.
    #[inline(never)]
    pub fn of_program(
        &self,
        state: &State,
        context: &Context,
        verb: Verb,
        (words, reading): (&[Arg], &Reading),
        called: &CommandCall<'_>,
    ) -> Act {
        let (input_text, input_taint, decoded) = self.stdin_of(state);
        // A program with operands rarely reads the standard input of guard.
        let unfed = matches!(state.streams.stdin, Stream::Inherited) && !reading.operands.is_empty();
        let fed = if unfed { Taint::default() } else { input_taint.and(input_text.taint()) };
        let carried = words.iter().fold(fed, |all, arg| all.and(arg.value.taint()));
        let keeps_names_alone = || {
            let given: Vec<&Value> = words.iter().map(|arg| &arg.value).collect();
            let described = self.input.catalog.program(called.name);
            described.and_then(|program| reductions::of(program, &given)) == Some(Reduction::EntryNames)
        };
        let taint = match reading.output {
            OutputTaint::Copies => match self.loaded(state, reading) {
                // The expressions of descriptions are compiled only if something depends on them.
                loaded if loaded != Taint::default() && keeps_names_alone() => carried,
                loaded => carried.and(loaded),
            },
            OutputTaint::Own | OutputTaint::Code => Taint::default(),
            OutputTaint::Fetched => carried.and(Taint::FETCHED),
            OutputTaint::Decoded => carried.and(self.loaded(state, reading)).and(Taint::DECODED),
            // A wrapper prints the output of its command.
            OutputTaint::Secret if !reading.inner.is_empty() => Taint::default(),
            OutputTaint::Secret => Taint::SECRET,
        };
        let disguise = called.disguise.or((decoded && context.disguise.is_some()).then_some(Disguise::Encoding));
        Act {
            tier: reading.tier,
            sub: reading.sub.clone(),
            flags: reading.flags.clone(),
            operands: reading.operands.clone(),
            args: words.iter().map(|arg| arg.value.clone()).collect(),
            passed_on: reading.passed_on,
            found: search_results::deleted(reading),
            env: state.env(called.env),
            dry_run: reading.dry_run,
            targets: reading.target.clone(),
            taint,
            disguise,
            ..self.blank(state, context, verb, called.span)
        }
    }

    /// Creates the act of an effect, which is that of a program if it has a `parent`.
    #[inline(never)]
    pub fn of_effect(
        &self,
        state: &State,
        context: &Context,
        derived: DerivedEffect,
        parent: Option<usize>,
        span: Span,
        taint: Taint,
    ) -> Act {
        let DerivedEffect { effect, on, recursive } = derived;
        let inherited = parent.and_then(|id| self.acts.get(id));
        let on_nothing = on.is_empty();
        let rehearsed = inherited.is_some_and(|act| act.dry_run);
        let changes = effect.changes() && !rehearsed && !on.iter().all(|operand| names_sink(&operand.value.rough()));
        Act {
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
        }
    }
}

impl AnalysisInput<'_> {
    /// Returns the other directories in which a command may run: in another branch, or after a failed `cd`.
    #[inline(never)]
    pub fn doubted(&self, state: &State, tier: Tier) -> Vec<Option<Place>> {
        if tier == Tier::Safe || (state.doubt.is_empty() && state.also.is_empty()) {
            return Vec::new();
        }
        let mut dirs = state.also.clone();
        if !state.errexit && !state.doubt.is_empty() {
            let there = state.dir().and_then(|dir| self.inquiry.path(dir));
            if state.fails || there.is_none_or(|facts| facts.kind != super::question::PathKind::Directory) {
                dirs.extend(state.doubt.iter().filter(|dir| !state.also.contains(dir)).cloned());
            }
        }
        dirs
    }

    /// Charges an act.
    pub fn pay(&self, act: &Act) {
        let arguments = act.args.len() + act.operands.len() + act.flags.len();
        let place = act.cwd.as_ref().map_or(0, |dir| dir.shown().len());
        self.spend(cost::ACT + cost::ARGUMENT * arguments as u64 + place as u64 / 8);
        let operands = act.operands.iter().map(|operand| &operand.value);
        let options = act.flags.iter().filter_map(|flag| flag.value.as_ref());
        self.reads_all(act.args.iter().chain(operands).chain(options));
    }

    /// Removes assignments of the value that a variable has already. Agents store a snapshot of the environment and
    /// source it for each command. The name of the variable remains, as declared.
    pub fn leave_out_what_holds_already(&self, act: &mut Act) {
        let is_declaring = |name: &str| DECLARING.contains(&name);
        if !matches!(&act.verb, Verb::Program { name, .. } if is_declaring(name)) {
            return;
        }
        let plain = |value: &mut Value| {
            let name = value.known().and_then(|text| {
                let (name, held) = text.split_once('=')?;
                self.holds_already(name, &Value::text(held)).then(|| name.to_owned())
            });
            if let Some(name) = name {
                *value = Value::text(name.as_str());
            }
        };
        act.args.iter_mut().for_each(plain);
        act.operands.iter_mut().for_each(|operand| plain(&mut operand.value));
    }
}

/// Links the next act, which will have this index, to the source of its input and the readers of its output.
pub(super) fn link(facts: &mut Facts, sinks: &mut [Sink], state: &State, act: &Act, id: usize) {
    if let Stream::Sink(sink, _) = &state.streams.stdin
        && act.parent.is_none()
        && let Some(sink) = sinks.get(*sink)
    {
        for writer in &sink.writers {
            if let Some(writer) = facts.acts.get_mut(*writer)
                && writer.feeds.len() < MAX_LINKS
            {
                writer.feeds.push(id);
            }
        }
    }
    if act.parent.is_none()
        && let Some(sink) = state.streams.stdout.sink().and_then(|id| sinks.get_mut(id))
        && sink.writers.len() < MAX_LINKS
    {
        sink.writers.push(id);
    }
}

/// Replaces each `/dev/fd/N` in arguments by the file of that descriptor; `None` if there is none.
pub(super) fn through_descriptors(state: &State, args: &[Field]) -> Option<Vec<Field>> {
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

/// Replaces unset variables in arguments by empty text, if the result is another path: `rm -rf $X/` becomes `rm -rf /`.
pub(super) fn emptied(described: Option<&Program>, words: &[Arg]) -> Option<(Vec<Arg>, Reading)> {
    // A word that consists of an unset variable disappears.
    let stays = |arg: &&Arg| !is_unset_temporary(&arg.value);
    let left = words.iter().filter(stays);
    let emptied: Vec<Arg> = left.map(|arg| Arg { value: without_unset(&arg.value), ..arg.clone() }).collect();
    if emptied == words {
        return None;
    }
    let reading = match described {
        Some(program) => arguments::read(program, &emptied),
        None => Reading { tier: Tier::Low, ..arguments::read(&Program::default(), &emptied) },
    };
    // If `mktemp` failed, only deletion is harmful.
    let deletes = reading.effects.iter().any(|derived| derived.effect == Effect::Delete);
    let is_temporary =
        |piece: &Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Temporary { .. }, .. }));
    let temporary = |arg: &Arg| arg.value.pieces().first().is_some_and(is_temporary);
    let differ = || words.iter().filter(|word| !emptied.contains(word));
    if !deletes && emptied.len() == words.len() && differ().all(temporary) {
        return None;
    }
    Some((emptied, reading))
}

/// Removes unset variables from a value, if the rest is a path.
fn without_unset(value: &Value) -> Value {
    // Such a name does not exist in the root directory: only the whole remaining path is harmful.
    let is_temporary = |piece: &Piece| match piece {
        Piece::Unknown(Unknown { why: UnknownReason::Variable(name), .. }) => name == "TMPDIR",
        // If `mktemp` fails, it prints nothing.
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

#[cfg(test)]
mod tests;
