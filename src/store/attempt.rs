//! Somebody tried to answer, grant or trust from where nobody may: it is refused, and the record keeps it.
//!
//! Out of scope: finding out from where that is.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{IntentRow, RecordedDecision};
use crate::judge::invocation::Invocation;
use crate::judge::policy::Refusal;
use crate::judge::risk::{Finding, Reversibility, Risk, Tier};
use crate::judge::syntax::tree::Span;

/// What the finding of such an attempt is called.
const ATTEMPT: &str = "guard.approve";

/// Hands over the row of such an attempt. `reason` says who may, and `why` why this one may not.
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
