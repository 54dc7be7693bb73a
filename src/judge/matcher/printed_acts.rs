//! Finds the acts whose output the caller sees: directly, through pipes and filters, or through a substitution whose
//! value is printed.
//!
//! The result is computed for all acts at once, backwards from those that print to the caller, so that the cost of a
//! long pipe is proportional to its commands. Out of scope: the content of the output.

use std::collections::{HashMap, HashSet};

use super::conditions::{copies, taint_of};
use super::match_context::MatchContext;
use crate::judge::analysis::act::{Act, ActId, Effect, Output, Taint, Value, Verb};
use crate::judge::analysis::reductions;
use crate::judge::rules::model::Reduction;

/// The cost of one act, in units of fuel.
const LOOK: u64 = 4;

/// The builtins that print their arguments.
const PRINTING: [&str; 3] = ["echo", "printf", "print"];

/// Returns for each act whether the caller sees its output. An effect has the output of its program. If no fuel is
/// left, the remaining acts count as not seen. `reductions`: what a program reduces to counts or names is not seen; to
/// find that out takes expressions that are compiled first.
pub(super) fn shown(context: &MatchContext<'_>, reductions: bool) -> Vec<bool> {
    let reduced = |id| if reductions { reduced(context, id) } else { None };
    let acts = &context.facts.acts;
    let mut shown = vec![false; acts.len()];
    let mut open: Vec<ActId> = Vec::new();
    // For each act, the acts whose output it passes on.
    let mut passed: HashMap<ActId, Vec<ActId>> = HashMap::new();
    // For each act, what it prints of the output that substitutions take.
    let mut printed: HashMap<ActId, Vec<Taint>> = HashMap::new();
    let mut taken: Vec<(ActId, Taint)> = Vec::new();
    for (id, act) in acts.iter().enumerate() {
        if !context.spend(LOOK) {
            break;
        }
        match act.output {
            Output::Inherited if reduced(id) == Some(Reduction::EntryNames) => {}
            Output::Inherited => open.push(id),
            Output::Pipe => {
                for (number, next) in act.feeds.iter().filter_map(|next| Some((*next, acts.get(*next)?))) {
                    let reader = next.parent.unwrap_or(number);
                    if context.spend(LOOK) && copies(context.catalog, next) && reduced(reader).is_none() {
                        passed.entry(reader).or_default().push(id);
                    }
                }
            }
            Output::Captured if act.taint != Taint::default() => taken.push((id, act.taint)),
            Output::Captured | Output::File | Output::Nothing => {}
        }
        if prints(act) {
            printed.entry(act.parent.unwrap_or(id)).or_default().push(taint_of(act));
        }
    }
    let mut carried: Vec<Taint> = Vec::new();
    while let Some(id) = open.pop() {
        if shown.get_mut(id).is_none_or(|shown| std::mem::replace(shown, true)) {
            continue;
        }
        open.extend(passed.remove(&id).unwrap_or_default());
        for taint in printed.remove(&id).unwrap_or_default() {
            if taint == Taint::default() || carried.contains(&taint) || !context.spend(taken.len() as u64) {
                continue;
            }
            carried.push(taint);
            open.extend(taken.iter().filter(|(_, of)| taint.has(*of)).map(|(id, _)| *id));
        }
    }
    shown
}

/// Returns what the program of an act leaves of the data that it reads; `None`: it may leave all of it.
fn reduced(context: &MatchContext<'_>, id: ActId) -> Option<Reduction> {
    let act = context.facts.acts.get(context.program_of(id))?;
    let given: Vec<&Value> = act.args.iter().collect();
    reductions::of(context.program(act)?, &given)
}

/// Reports whether a program, or all readers of its output, reduce the data that it reads to one of these.
pub(super) fn is_reduced_to(context: &MatchContext<'_>, id: ActId, to: &[Reduction]) -> bool {
    let mut open = vec![id];
    let mut seen: HashSet<ActId> = HashSet::new();
    while let Some(id) = open.pop() {
        if !context.spend(LOOK) {
            return false;
        }
        if !seen.insert(id) || reduced(context, id).is_some_and(|left| to.contains(&left)) {
            continue;
        }
        // What it passes on is judged where it arrives; what it writes or sends is not reduced.
        let Some(act) = context.facts.acts.get(id).filter(|act| act.remote.is_none()) else { return false };
        if act.output != Output::Pipe || act.feeds.is_empty() || !only_reads(context, id, act) {
            return false;
        }
        open.extend(act.feeds.iter().map(|next| context.program_of(*next)));
    }
    true
}

/// Reports whether a described program only reads: it writes and sends nothing.
pub(super) fn only_reads(context: &MatchContext<'_>, id: ActId, act: &Act) -> bool {
    context.program(act).is_some()
        && context.effects_of(id).all(|(_, effect)| matches!(effect, Effect::Show | Effect::Load))
}

fn prints(act: &Act) -> bool {
    matches!(&act.verb, Verb::Program { name, .. } if PRINTING.contains(&name.as_str()))
}
