//! What an agent types later into a shell, an interpreter or a debugger that it starts now, where no hook is told of it.
//!
//! Nobody could judge that then, so it is what starts that is asked about. What may not enter: names of programs; that one
//! reads commands from its standard input is in its description.

use super::hosts::Host;
use crate::app::engine::{Engine, Judged};
use crate::judge::Judgment;
use crate::judge::analysis::act::{Input, Verb};
use crate::judge::invocation::{Invocation, Line, Request};

/// Gives what follows an input of which nobody can tell what will be in it.
const TYPED: &[u8] = b"exec < <(cat /dev/tty)";

/// Judges a call. What waits for commands is judged as what runs commands that are not known, and is that from then on.
pub(super) fn judged(engine: &Engine, host: Host, invocation: Invocation) -> (Invocation, Judged) {
    let judged = engine.judge(&invocation);
    let Request::Line(line) = &invocation.request else { return (invocation, judged) };
    if !host.hook.types_unseen || !waits_for_commands(engine, &judged.judgment) {
        return (invocation, judged);
    }
    let line = Line { before: TYPED.to_vec(), ..line.clone() };
    let typed = Invocation { request: Request::Line(line), ..invocation.clone() };
    let mut later = engine.judge(&typed);
    if later.judgment.risk.tier <= judged.judgment.risk.tier {
        return (invocation, judged);
    }
    let known = |rule: &str| judged.judgment.risk.findings.iter().any(|finding| finding.rule == rule);
    for finding in later.judgment.risk.findings.iter_mut().filter(|finding| !known(&finding.rule)) {
        finding.reason =
            format!("It runs commands that are typed into it later, and {} shows those to nobody.", host.agent.title);
    }
    (typed, later)
}

/// Whether anything reads commands from the standard input that it was started with.
fn waits_for_commands(engine: &Engine, judgment: &Judgment) -> bool {
    judgment.facts.acts.iter().any(|act| {
        let Verb::Program { name, .. } = &act.verb else { return false };
        let reads =
            || engine.catalog.program(name).and_then(|program| program.runs.as_ref()).is_some_and(|runs| runs.stdin);
        matches!(act.input, Input::Inherited) && act.code.is_none() && reads()
    })
}
