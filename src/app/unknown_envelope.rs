//! Handles commands in an envelope that no template describes, for example of another version of an agent.
//!
//! The command in it is shown alone only if that hides nothing: the rest is harmless, and the whole string has the same
//! findings as the command. Out of scope: recognizing an envelope.

use super::engine::Engine;
use crate::judge::Judgment;
use crate::judge::agents;
use crate::judge::invocation::{Invocation, Request};
use crate::judge::risk::Tier;
use crate::store::{Entry, Filter};

/// The number of rows of a session that are searched.
const LOOKED_THROUGH: u32 = 50;

/// Returns the invocation without the envelope if that hides nothing, and unchanged otherwise.
#[must_use]
pub fn opened(engine: &Engine, invocation: Invocation) -> Invocation {
    let Some(scaffold) = invocation.scaffold() else { return invocation };
    // A command that runs without a prompt is not shown to anybody.
    let whole = engine.work_out(&invocation);
    if whole.risk.tier == Tier::Safe || engine.work_out(&scaffold).risk.tier > Tier::Safe {
        return invocation;
    }
    let opened = invocation.clone().opened();
    let Request::Line(line) = &opened.request else { return invocation };
    let mut alone = line.clone();
    alone.envelope = None;
    let alone = Invocation { request: Request::Line(alone), ..opened.clone() };
    if found(&whole) == found(&engine.work_out(&alone)) { opened } else { invocation }
}

/// Returns the relevant parts of a judgment, without the positions of its findings.
fn found(judgment: &Judgment) -> (Tier, Vec<(String, Tier, Vec<String>)>) {
    let each = judgment.risk.findings.iter();
    let mut found: Vec<_> = each.map(|finding| (finding.rule.clone(), finding.tier, finding.touches.clone())).collect();
    found.sort_unstable();
    (judgment.risk.tier, found)
}

/// Returns a warning about an unknown envelope, if this is the first command of its session that guard asks about or
/// refuses, according to the rows. The row of this command is not written yet.
#[must_use]
pub fn warning(engine: &Engine, invocation: &Invocation) -> Option<String> {
    let Request::Line(line) = &invocation.request else { return None };
    let is_opened = line.envelope.as_ref().is_some_and(|envelope| !envelope.is_known);
    if !is_opened && invocation.scaffold().is_none() {
        return None;
    }
    let session = Some(invocation.session.id.clone());
    let filter = Filter { session, limit: Some(LOOKED_THROUGH), ..Filter::default() };
    // Without a record, assume that this is the first.
    let store = engine.existing().ok().flatten();
    let rows = store.and_then(|store| store.find(&filter).map(|ids| store.entries(&ids)).ok()).unwrap_or_default();
    let mut rows = rows.into_iter().flatten();
    if rows.any(|entry: Entry| matches!(entry.decision.as_deref(), Some("deny" | "ask"))) {
        return None;
    }
    let agent = agents::named(invocation.session.agent.as_deref()?)?;
    let shown = if is_opened { "; only the command in it is shown" } else { "" };
    Some(format!(
        "this version of {} puts something around its commands that guard does not know: they are judged as they stand{shown} (see guard doctor agent.{})",
        agent.title, agent.name
    ))
}
