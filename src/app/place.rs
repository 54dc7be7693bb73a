//! Terminals and processes from which no answer is accepted, and the record of attempts to answer from them.
//!
//! Out of scope: requests.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use jiff::Timestamp;

use crate::app::engine::Engine;
use crate::judge::invocation::{Invocation, Request};
use crate::store::{self, IntentRow};
use crate::world::identity::{Caller, Process};

/// Returns the reason why no answer is accepted from this process, or `None` if it is.
pub fn not_from_here(caller: &Caller, behind: &[Process]) -> Option<String> {
    if !caller.terminal.is_person_here() {
        let why = caller.terminal.to_string();
        return Some(why.strip_prefix("no one to ask: ").unwrap_or(&why).to_owned());
    }
    if caller.origin.is_guarded() {
        return Some("the caller is in a guarded session".to_owned());
    }
    if !io::stdin().is_terminal() {
        return Some("standard input is not the terminal".to_owned());
    }
    if let Some(agent) = Caller::agent_among(behind) {
        return Some(format!("this terminal was started by an agent ({agent})"));
    }
    let guard = Caller::guard_among(behind);
    guard.then(|| "this terminal runs below a guard process that waits for its command".to_owned())
}

/// Records an attempt to answer from a process that may not.
pub(in crate::app) fn attempt(engine: &Engine, verb: &str, why: &str) {
    let argv = verb.split(' ').map(OsString::from).collect();
    let invocation = engine.caller.invocation(Request::Argv(argv));
    // It is refused whether or not it can be recorded.
    if let Ok(store) = engine.store() {
        attempted(&invocation, why, |row| drop(store.intent(row)));
    }
}

/// The message that names who may answer.
const WHO: &str = "Only a person at their own terminal can approve, grant or trust.";

/// Passes the row of such an attempt to a function.
pub(in crate::app) fn attempted(invocation: &Invocation, why: &str, write: impl FnOnce(&IntentRow<'_>)) {
    store::attempted(Timestamp::now(), invocation, (WHO, why), write);
}
