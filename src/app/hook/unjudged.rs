//! Denials without a judgment, written down: an input that could not be read, a command too long, a deadline that passed.
//!
//! Out of scope: the input. What could not be read may hold anything, and is not kept.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;

use crate::app::engine::Engine;
use crate::app::export::deliver;
use crate::judge::invocation::{Origin, Request};
use crate::judge::policy::Refusal;
use crate::judge::risk::Risk;
use crate::store::{IntentRow, RecordedDecision};

/// For how long a denial that was given already may wait to be written down.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Writes down that an agent was denied what guard could not judge. What cannot be written down is a denial all the same.
pub(super) fn record(agent: &str, why: &str) {
    let Ok(engine) = Engine::open() else { return };
    let refusal = Refusal::Unjudged { why: why.to_owned() };
    let mut invocation = engine.caller.invocation(Request::Files(Vec::new()));
    invocation.origin = Origin::Agent;
    invocation.session.agent = Some(agent.chars().take(64).collect());
    let risk = Risk::default();
    let digest = invocation.digest(&std::collections::BTreeSet::new());
    let row = IntentRow::plain(Timestamp::now(), &invocation, digest, &risk, RecordedDecision::Refused(&refusal));
    if let Some(receipt) = engine.store().ok().and_then(|store| store.advised(&row, None).ok()) {
        deliver::at_once(&engine, receipt.row());
    }
}

/// The same where whatever was in time's way may be in the record's way too: tried for a moment.
pub(super) fn record_soon(agent: String, why: &'static str) {
    let (done, waits) = mpsc::channel();
    let write = move || {
        record(&agent, why);
        let _ = done.send(());
    };
    if thread::Builder::new().spawn(write).is_ok() {
        let _ = waits.recv_timeout(LONGEST_WAIT);
    }
}
