//! The shape of a command: programs, subcommands and flags without operands. What a grant of this shape
//! would cover, in words that a person can read.

use super::facts::act::{Act, Facts, Verb};
use super::order;
use super::risk::{Risk, Tier};
use super::rules::catalog::Catalog;
use super::rules::model::{Wrap, WrapFrom};

/// The shape, when a grant of it may be given, and whether any standing grant may cover the command at all: not at
/// tier 4, not when a part is opaque, and never a shell, an interpreter or a wrapper.
#[must_use]
pub fn of(facts: &Facts, risk: &Risk, catalog: &Catalog) -> (Option<String>, bool) {
    // Not a wrapper for an option that it was not given: with the option, the inner command is an act with wrappers.
    let wraps = |wraps: &[Wrap]| wraps.iter().any(|wrap| wrap.from == WrapFrom::Operands && wrap.when.is_empty());
    let runs_others = |act: &Act| {
        let Verb::Program { name, .. } = &act.verb else { return false };
        catalog.program(name).is_some_and(|program| {
            let mut subs = program.subs.iter().filter(|sub| sub.paths.iter().any(|path| act.sub.starts_with(path)));
            wraps(&program.wraps) || program.runs.is_some() || subs.any(|sub| wraps(&sub.wraps) || sub.runs.is_some())
        })
    };
    let programs = || facts.acts.iter().filter(|act| act.parent.is_none());
    let may_grant = risk.tier < Tier::Critical
        && facts.opaque.is_empty()
        && facts.acts.iter().all(|act| act.wrappers.is_empty() && act.code.is_none())
        && !programs().any(runs_others);
    if !may_grant {
        return (None, false);
    }
    let mut shapes = Vec::new();
    for act in programs() {
        let Verb::Program { name, .. } = &act.verb else { continue };
        let mut words = vec![name.clone()];
        words.extend(act.sub.iter().cloned());
        let mut flags: Vec<_> = act.flags.iter().map(|flag| flag.name.clone()).collect();
        order::sort(&mut flags);
        flags.dedup();
        words.extend(flags);
        shapes.push(words.join(" "));
    }
    let shape = shapes.join(" ; ");
    ((!shape.is_empty()).then_some(shape), true)
}

#[cfg(test)]
mod tests;
