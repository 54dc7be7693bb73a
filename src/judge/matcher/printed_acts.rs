//! Finds the acts whose output the caller sees: directly, through pipes and filters, or through a substitution whose
//! value is printed.
//!
//! The result is computed for all acts at once, backwards from those that print to the caller, so that the cost of a
//! long pipe is proportional to its commands. Out of scope: the content of the output.

use std::collections::HashMap;

use super::conditions::{copies, taint_of};
use super::match_context::MatchContext;
use crate::judge::analysis::act::{Act, ActId, Output, Taint, Verb};

/// The cost of one act, in units of fuel.
const LOOK: u64 = 4;

/// The builtins that print their arguments.
const PRINTING: [&str; 3] = ["echo", "printf", "print"];

/// Returns for each act whether the caller sees its output. An effect has the output of its program. If no fuel is
/// left, the remaining acts count as not seen.
pub(super) fn shown(context: &MatchContext<'_>) -> Vec<bool> {
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
            Output::Inherited => open.push(id),
            Output::Pipe => {
                for (number, next) in act.feeds.iter().filter_map(|next| Some((*next, acts.get(*next)?))) {
                    if context.spend(LOOK) && copies(context.catalog, next) {
                        passed.entry(next.parent.unwrap_or(number)).or_default().push(id);
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

fn prints(act: &Act) -> bool {
    matches!(&act.verb, Verb::Program { name, .. } if PRINTING.contains(&name.as_str()))
}
