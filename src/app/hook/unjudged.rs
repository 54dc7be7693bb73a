//! Records denials without a judgment: an unreadable input, a command that is too long, a missed deadline.
//!
//! Out of scope: the input itself, which could contain anything and is not kept.

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

/// The time limit for recording a denial that was already sent.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// Records that an agent was denied what guard could not judge. The denial holds even if it cannot be recorded.
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

/// Like [`record`], but gives up soon, because what caused the delay may also block the record.
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
