//! The shape of a command: its programs, subcommands and flags without operands. It is what a shape grant covers, in a
//! form that users can read.
//!
//! The acts of a script that the command runs are not part of its shape. Instead, a shape grant is bound to the bytes
//! of the script.

use super::analysis::act::{Act, Facts, Source, Verb};
use super::invocation::Digest;
use super::risk::{Risk, Tier};
use super::rules::catalog::Catalog;
use super::rules::model::{Wrap, WrapFrom};
use super::sort;

/// Returns the shape, if a shape grant is possible, and whether any grant may cover the command. A grant never covers
/// tier 4, a command with a part that could not be analysed, a shell, an interpreter or a wrapper.
#[must_use]
pub fn of(facts: &Facts, risk: &Risk, catalog: &Catalog) -> (Option<String>, bool) {
    // Options that are not given do not make the program a wrapper: with them, the inner command is an act with
    // wrappers.
    let wraps = |wraps: &[Wrap]| wraps.iter().any(|wrap| wrap.from == WrapFrom::Operands && wrap.when.is_empty());
    let runs_others = |act: &Act| {
        let Verb::Program { name, .. } = &act.verb else { return false };
        catalog.program(name).is_some_and(|program| {
            let mut subs = program.subs.naming(&act.sub);
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
    let is_bound = |act: &&Act| matches!(&act.source, Source::Script(path) if facts.scripts.contains_key(path));
    for act in programs().filter(|act| !is_bound(act)) {
        let Verb::Program { name, .. } = &act.verb else { continue };
        let mut words = vec![name.clone()];
        words.extend(act.sub.iter().cloned());
        let mut flags: Vec<_> = act.flags.iter().map(|flag| flag.name.clone()).collect();
        sort::sort(&mut flags);
        flags.dedup();
        words.extend(flags);
        shapes.push(words.join(" "));
    }
    let shape = shapes.join(" ; ");
    ((!shape.is_empty()).then_some(shape), true)
}

/// Returns the files to which a shape grant is bound, each with the digest of its bytes.
#[must_use]
pub fn bound_to(facts: &Facts) -> Vec<String> {
    facts.scripts.iter().map(|(path, digest)| format!("{path}={}", Digest(*digest))).collect()
}

#[cfg(test)]
mod tests;
