//! Records a decision before it takes effect: the intent, without which a command does not run, or the refusal.
//!
//! Out of scope: taking the decision, and printing.

use std::time::Duration;

use jiff::Timestamp;

use super::changes;
use super::engine::Engine;
use super::export::deliver;
use super::record_backend::RecordBackend;
use crate::judge::Judgment;
use crate::judge::approved::Receipt;
use crate::judge::invocation::{Digest, Invocation};
use crate::judge::ledger::CommandChanges;
use crate::judge::policy::{ApprovalReason, Record, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::Tier;
use crate::store::{IntentRow, RecordedDecision, Retention, StoreError};

/// Prunes the record to the limits of the policy, at a time when no command waits for guard. `guard log prune` and
/// `guard verify` report the reason if rows cannot be pruned.
pub(super) fn keep_to_retention(engine: &Engine) {
    if let Ok(store) = engine.store() {
        let kept = Retention { days: engine.policy().retention_days, mib: engine.policy().retention_mib };
        store.keep_to_policy(kept, &engine.caller.account.name, Timestamp::now());
    }
}

/// The content of a row besides the decision.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowDetails<'a> {
    pub answer: Option<Duration>,
    /// The message of the person who approved.
    pub words: Option<&'a str>,
    /// The process of guard, if it will wait for the command.
    pub process: Option<&'a str>,
    pub opinion: Option<&'a Opinion>,
}

/// Records the intent.
///
/// # Errors
/// It could not be recorded, and the command has tier 2 or above.
pub(super) fn record(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    digest: Digest,
    settled: RecordedDecision<'_>,
    details: &RowDetails<'_>,
) -> Result<Receipt, Refusal> {
    let parent = engine.parent();
    let shape = judgment.shape_to_grant();
    let changes = match settled {
        RecordedDecision::Refused(_) => CommandChanges::default(),
        RecordedDecision::Allowed(_) | RecordedDecision::Asked => changes::of(engine, invocation, judgment),
    };
    let row = IntentRow {
        changes: &changes,
        answer_ms: details.answer.map(milliseconds),
        words: details.words,
        parent: parent.as_deref(),
        process: details.process,
        opinion: details.opinion,
        shape: shape.as_ref(),
        ..IntentRow::plain(Timestamp::now(), invocation, digest, &judgment.risk, settled)
    };
    write_down(engine, &row, |backend| backend.intent(&row))
}

/// Returns a duration in milliseconds, the unit of the record.
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Records a decision with the given function, and sends the row to the collectors. If the policy keeps only commands
/// with a finding, others are not recorded.
///
/// # Errors
/// It could not be recorded, and the command has tier 2 or above.
pub(super) fn write_down(
    engine: &Engine,
    row: &IntentRow<'_>,
    write: impl FnOnce(&RecordBackend) -> Result<Receipt, StoreError>,
) -> Result<Receipt, Refusal> {
    let risk = row.risk;
    let plain =
        risk.tier <= Tier::Low && risk.findings.is_empty() && matches!(row.settled, RecordedDecision::Allowed(_));
    if plain && engine.policy().record == Record::Flagged {
        return Ok(Receipt::Unrecorded);
    }
    let written = engine.store().map_err(ToString::to_string);
    match written.and_then(|backend| write(backend).map_err(|error| error.to_string())) {
        Ok(receipt) => {
            deliver::at_once(engine, receipt.row());
            Ok(receipt)
        }
        // A support command runs even if it cannot be recorded.
        Err(_)
            if risk.tier <= Tier::Low || matches!(row.settled, RecordedDecision::Allowed(ApprovalReason::Support)) =>
        {
            Ok(Receipt::Unrecorded)
        }
        Err(why) => Err(Refusal::Unrecorded { why }),
    }
}
