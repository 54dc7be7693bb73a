//! Copies that the command itself made: a copy may be deleted because its source still exists, and what was put aside
//! may be put back over what the command changed since.
//!
//! Out of scope: copies that an earlier command made.

use super::earlier_acts::{earlier, linked, moved_into, naming};
use super::place;
use crate::judge::analysis::act::{Act, ActId, Effect, Verb};
use crate::judge::analysis::paths::NormalPath;
use crate::judge::analysis::question::PathKind;
use crate::judge::matcher::match_context::View;

/// Reports whether the path is a copy of one file, made by the command under an unused name, and that file is
/// unchanged.
pub(super) fn is_own_copy(view: &View<'_>, path: &NormalPath) -> bool {
    let is_kept = |original: &NormalPath| !is_changed(view, original, None) && !moved_into(view, original);
    !view.act.recursive && put_aside(view, path, reads).is_some_and(|original| is_kept(&original))
}

/// Reports whether a single file contains only what the command derived from files that it neither moves nor deletes:
/// the output of a filter, or an archive. Nothing else is lowered because such a file exists, so that deleting it loses
/// nothing.
pub(super) fn is_derived(view: &View<'_>, path: &NormalPath) -> bool {
    let context = view.context;
    let Some(text) = place(path).filter(|_| !view.act.recursive) else { return false };
    let missing = context.inquiry.path(&text).is_some_and(|facts| facts.kind == PathKind::Missing);
    let writers: Vec<ActId> = naming(view, path).filter_map(|(_, act)| act.parent).collect();
    let copies = |program: &ActId| {
        let program = context.facts.acts.get(*program).and_then(|act| context.program(act));
        program.is_none_or(|program| program.copies)
    };
    let moves = |program: &ActId| context.effects_of(*program).any(|(_, effect)| effect == Effect::Move);
    let all = context.facts.acts.len();
    let removes = |act: &Act| matches!(act.verb, Verb::Effect(Effect::Move | Effect::Delete));
    let removes_nothing = || !earlier(view, 0..all).any(|(_, act)| removes(act)) && context.spend(all as u64);
    let keeps = |program: &ActId| {
        let read = context.effects_of(*program).filter(|(_, effect)| reads(*effect)).map(|(act, _)| act);
        let mut sources = read.flat_map(|act| act.operands.iter().map(move |operand| (act, &operand.value)));
        sources.all(|(act, value)| match context.placer.path(value, act.cwd.as_ref()) {
            Some(source) if place(&source).is_some() => !is_changed(view, &source, Some(*program)),
            _ => removes_nothing(),
        })
    };
    missing && writers.iter().all(|program| !copies(program) && !moves(program) && keeps(program))
}

/// Reports whether the act puts back at the path what the command copied or moved from there to the source of the act,
/// so that only what the command wrote since is lost. Nothing existed where it was put aside, so that a move that
/// failed leaves nothing to put back.
pub(super) fn is_put_back(view: &View<'_>, path: &NormalPath) -> bool {
    let program = view.act.parent.unwrap_or(view.id);
    let Some(from) = source(view, program, takes) else { return false };
    put_aside(view, &from, takes).is_some_and(|original| place(&original) == place(path))
        && !moved_into(view, path)
        && !linked(view, path)
}

/// Returns the one file that was put at a path in one of these ways, if nothing existed there before and nothing else
/// was written there since.
fn put_aside(view: &View<'_>, path: &NormalPath, ways: fn(Effect) -> bool) -> Option<NormalPath> {
    let text = place(path)?;
    let missing = view.context.inquiry.path(&text).is_some_and(|facts| facts.kind == PathKind::Missing);
    let program = naming(view, path).find_map(|(_, act)| act.parent).filter(|_| missing)?;
    let copies = view.context.facts.acts.get(program).and_then(|act| view.context.program(act));
    let alone = copies.is_some_and(|program| program.copies) && !is_changed(view, path, Some(program));
    source(view, program, ways).filter(|_| alone && !linked(view, path))
}

fn reads(effect: Effect) -> bool {
    matches!(effect, Effect::Load | Effect::Show)
}

fn takes(effect: Effect) -> bool {
    effect == Effect::Move || reads(effect)
}

/// Returns the one file from which a program takes what it writes. If the program moves files, it is returned only if
/// `takes` accepts moves.
fn source<'a>(view: &'a View<'_>, program: ActId, takes: impl Fn(Effect) -> bool) -> Option<NormalPath> {
    let effects = || view.context.effects_of(program);
    if effects().any(|(_, effect)| effect == Effect::Move && !takes(effect)) {
        return None;
    }
    let named = |act: &'a Act| act.operands.iter().map(move |operand| (act, &operand.value));
    let mut taken = effects().filter(|(_, effect)| takes(*effect)).flat_map(|(act, _)| named(act));
    let (act, value) = taken.next()?;
    taken.all(|(_, other)| other == value).then(|| view.context.placer.path(value, act.cwd.as_ref()))?
}

/// Reports whether an act of the command, except those of one program, writes, moves or deletes the path.
fn is_changed(view: &View<'_>, path: &NormalPath, beside: Option<ActId>) -> bool {
    let placer = &view.context.placer;
    let falls_there = |act: &Act| {
        act.operands.iter().any(|operand| {
            placer.path(&operand.value, act.cwd.as_ref()).is_none_or(|other| {
                let unclear = other.dynamic || other.globbed || other.found;
                unclear || place(&other).is_none_or(|other| path.relation(&other).within())
            })
        })
    };
    let changes = |act: &Act| match act.verb {
        Verb::Effect(effect) => effect.writes() || matches!(effect, Effect::Move | Effect::Delete),
        Verb::Program { .. } => false,
    };
    let all = view.context.facts.acts.len();
    let mut others =
        earlier(view, 0..all).filter(|(id, act)| beside.is_none_or(|own| *id != own && act.parent != beside));
    others.any(|(_, act)| changes(act) && falls_there(act)) || !view.context.spend(all as u64)
}
