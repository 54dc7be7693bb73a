//! Commands in an envelope that no template describes, as another version of an agent may write it.
//!
//! The command in it is shown alone only where that hides nothing: what stands around it is harmless, and the whole string
//! is judged no otherwise than the command. Out of scope: what an envelope looks like.

use super::engine::Engine;
use crate::judge::Judgment;
use crate::judge::agents;
use crate::judge::invocation::{Invocation, Request};
use crate::judge::risk::Tier;
use crate::store::{Entry, Filter};

/// How many rows of a session are looked through.
const LOOKED_THROUGH: u32 = 50;

/// The invocation with the envelope taken off where that hides nothing; else as it stands.
#[must_use]
pub fn opened(engine: &Engine, invocation: Invocation) -> Invocation {
    let Some(scaffold) = invocation.scaffold() else { return invocation };
    // What runs unasked is shown to nobody.
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

/// What counts of a judgment, whichever place it was found at.
fn found(judgment: &Judgment) -> (Tier, Vec<(String, Tier, Vec<String>)>) {
    let each = judgment.risk.findings.iter();
    let mut found: Vec<_> = each.map(|finding| (finding.rule.clone(), finding.tier, finding.touches.clone())).collect();
    found.sort_unstable();
    (judgment.risk.tier, found)
}

/// That an agent puts something around its commands that guard does not know, where this is the first of its session that
/// is asked about or refused, as the rows tell. The row of this one is not written yet.
#[must_use]
pub fn warning(engine: &Engine, invocation: &Invocation) -> Option<String> {
    let Request::Line(line) = &invocation.request else { return None };
    let is_opened = line.envelope.as_ref().is_some_and(|envelope| !envelope.is_known);
    if !is_opened && invocation.scaffold().is_none() {
        return None;
    }
    let session = Some(invocation.session.id.clone());
    let filter = Filter { session, limit: Some(LOOKED_THROUGH), ..Filter::default() };
    // Without a record this is the first.
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
