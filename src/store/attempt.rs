//! Records attempts to answer, grant or trust from a process that must not do so.
//!
//! Out of scope: recognising such a process.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{IntentRow, RecordedDecision};
use crate::judge::invocation::Invocation;
use crate::judge::policy::Refusal;
use crate::judge::risk::{Finding, Reversibility, Risk, Tier};
use crate::judge::syntax::tree::Span;

/// The rule of the finding of such an attempt.
const ATTEMPT: &str = "guard.approve";

/// Passes the row of such an attempt to a function. `reason` says who may answer, and `why` why this process may not.
pub fn attempted<T>(
    at: Timestamp,
    invocation: &Invocation,
    (reason, why): (&str, &str),
    write: impl FnOnce(&IntentRow<'_>) -> T,
) -> T {
    let finding = Finding {
        deny: true,
        ..Finding::plain(ATTEMPT, Tier::Critical, Reversibility::Irreversible, reason, Span::default())
    };
    let risk = Risk::join(Tier::Critical, vec![finding], Vec::new());
    let refusal = Refusal::Attempt { why: why.to_owned() };
    let digest = invocation.digest(&BTreeSet::new());
    write(&IntentRow::plain(at, invocation, digest, &risk, RecordedDecision::Refused(&refusal)))
}
