//! Decisions as rows of the record: the command, its risk and the decision, and the result of the command.
//!
//! A row is written before anything runs (`intent`), and another when the result is known (`result`). The answer to a
//! host that runs commands itself is an `advised` row. Commands are redacted here and nowhere else, so that no caller
//! can forget it.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::Store;
use super::behaviour;
use super::chain::{self, Draft};
use super::entries::{context, findings, json};
use super::error::StoreError;
use super::grants;
use super::intent_row::{IntentRow, RecordedDecision};
use super::key::DigestKey;
use super::ledger;
use super::redact::{KnownSecrets, redact, redact_shown};
use crate::judge::approved::{GrantSubject, Receipt};
use crate::judge::policy::{ApprovalReason, ParentApproval, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::Tier;

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandResult {
    pub end: ExitStatus,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
}

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It exited with this code.
    Exit(i32),
    /// It was killed by this signal.
    Signal(i32),
}

impl Store {
    /// Records a command that is about to run, or that does not run.
    ///
    /// For tier 3 and above this waits until the row is on the disk, because such a command may destroy the machine.
    /// All other rows survive the end of any process, but the last of them may be lost in a power failure.
    ///
    /// # Errors
    /// The row is not written. A command of tier 2 or above must not run then.
    pub fn intent(&self, row: &IntentRow<'_>) -> Result<Receipt, StoreError> {
        self.decision("intent", row)
    }

    /// Records the advice to a host about a command that the host runs itself.
    ///
    /// # Errors
    /// The row is not written.
    pub fn advised(&self, row: &IntentRow<'_>) -> Result<Receipt, StoreError> {
        self.decision("advised", row)
    }

    /// Records the result of a command. Does nothing if its intent is not in the record.
    ///
    /// # Errors
    /// The row is not written.
    pub fn result(&self, receipt: &Receipt, outcome: &CommandResult, now: Timestamp) -> Result<(), StoreError> {
        let Some(intent) = receipt.row() else { return Ok(()) };
        let mut draft = Draft::default();
        draft.text("kind", Some("result"));
        draft.integer("at", now.as_millisecond());
        draft.integer("about", intent);
        match outcome.end {
            ExitStatus::Exit(code) => draft.integer("exit", i64::from(code)),
            ExitStatus::Signal(signal) => draft.integer("signal", i64::from(signal)),
        }
        draft.integer("duration_ms", i64::try_from(outcome.duration_ms).unwrap_or(i64::MAX));
        self.write(|connection| chain::append(connection, &draft)).map(drop)
    }

    fn decision(&self, kind: &'static str, row: &IntentRow<'_>) -> Result<Receipt, StoreError> {
        let key = DigestKey::read_or_make(&self.paths.key())?;
        let digest = key.seal("digest", &row.digest.0);
        let mut draft = draft(kind, row, &digest);
        draft.changes(row, &key);
        draft.text("scope", row.process.map(waiting));
        self.append_decision(row, &draft)
    }

    /// Appends a decision, which refers to the intent of the parent guard that waits for it.
    pub(super) fn append_decision(&self, row: &IntentRow<'_>, draft: &Draft<'_>) -> Result<Receipt, StoreError> {
        let append = |connection: &Connection| {
            let parent = row.parent.map_or(Ok(None), |process| waited_for_by(connection, process))?;
            chain::append_about(connection, draft, parent)
        };
        let durable = row.risk.tier >= Tier::High;
        let row = if durable { self.write_durably(append) } else { self.write_alone(append) }?;
        Ok(Receipt::Recorded(row))
    }
}

impl Draft<'_> {
    /// Adds the command's changes of files.
    pub(super) fn changes(&mut self, row: &IntentRow<'_>, key: &DigestKey) {
        if let Some((made, brings)) = ledger::part(row, key) {
            self.text("made", Some(made));
            self.integer("kept", brings.then_some(1));
        }
    }
}

/// Returns the columns of a row except its scope.
pub(super) fn draft<'a>(kind: &'static str, row: &IntentRow<'a>, digest: &'a [u8; 32]) -> Draft<'a> {
    let invocation = row.invocation;
    let known = KnownSecrets::of(invocation);
    let risk = &*known.without(row.risk);
    let (command, redacted) = redact_shown(invocation);
    let redacted = redacted || row.hides || invocation.hides();
    let session = &invocation.session;

    let mut draft = Draft::default();
    draft.text("kind", Some(kind));
    draft.integer("at", row.at.as_millisecond());
    draft.text("command", Some(command));
    let tool = invocation.tool().map(|call| std::borrow::Cow::Owned(call.title()));
    draft.text("tool", tool.or_else(|| row.tool.map(std::borrow::Cow::Borrowed)));
    draft.integer("redacted", redacted.then_some(1));
    draft.blob("digest", digest);
    draft.text("cwd", Some(invocation.cwd.to_string_lossy()));
    draft.text("user", Some(invocation.user.as_str()));
    draft.text("session", Some(session.id.as_str()));
    draft.text("root", Some(session.root.as_str()));
    draft.text("origin", Some(invocation.origin.name()));
    draft.text("agent", session.agent.as_deref());
    draft.integer("tier", i64::from(risk.tier.number()));
    draft.integer("score", i64::from(risk.score.0));
    draft.text("reversibility", Some(risk.reversibility.name()));
    draft.text("findings", json(findings(risk)));
    draft.text("context", json(context(risk)));
    match row.settled {
        RecordedDecision::Allowed(basis) => {
            draft.text("decision", Some("allow"));
            draft.text("settled", Some(basis.name()));
            draft.text("provenance", Some(basis.provenance()));
            if let ApprovalReason::Grant(grant) = basis {
                draft.text("granted", Some(grant.to_string()));
            }
            draft.text("words", row.words.map(|words| known.hide(&redact(words).0)));
        }
        RecordedDecision::Refused(refusal) => {
            draft.text("decision", Some("deny"));
            draft.text("settled", Some(refusal.kind()));
            draft.text("provenance", Some(provenance(refusal)));
            draft.text("words", words(refusal).map(|words| known.hide(&redact(words).0)));
        }
        RecordedDecision::Asked => draft.text("decision", Some("ask")),
    }
    // A shape contains text of the command, and the record keeps no secret.
    if let Some(shape) = row.shape.filter(|shape| row.answer_ms.is_some() && !redact(shape.parts().0).1) {
        draft.text("what", Some(grants::encode(&GrantSubject::Shape(shape.clone()))));
    }
    draft.text("review", row.opinion.and_then(|said| opinion(said, &known)));
    draft.integer("answer_ms", row.answer_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)));
    draft.integer("mark", behaviour::mark(row).map(i64::from));
    draft
}

/// Returns a reviewer's opinion as JSON, with a redacted reason.
fn opinion(opinion: &Opinion, known: &KnownSecrets) -> Option<String> {
    let reason = known.hide(&redact(&opinion.reason).0);
    serde_json::to_string(&Opinion { reason, ..opinion.clone() }).ok()
}

/// Finds the last intent of a guard that waits.
pub(super) const WAITING: &str = "SELECT id FROM record WHERE scope = ?1 ORDER BY id DESC LIMIT 1";

/// Returns the intent of the command for which a guard waits; `None` if the record does not contain it.
fn waited_for_by(connection: &Connection, process: &str) -> rusqlite::Result<Option<i64>> {
    connection.query_row(WAITING, [waiting(process)], |row| row.get(0)).optional()
}

impl Store {
    /// Returns the command that a person approved, if the guard with this process waits for it.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn approved_above(&self, process: &str) -> Result<Option<ParentApproval>, StoreError> {
        const APPROVED: &str =
            "SELECT id, tier FROM record WHERE id = ?1 AND decision = 'allow' AND settled = 'person'";
        self.persist(|connection| {
            let Some(row) = waited_for_by(connection, process)? else { return Ok(None) };
            let found = connection.query_row(APPROVED, [row], |found| found.get::<_, Option<u8>>(1)).optional()?;
            Ok(found.flatten().and_then(Tier::from_number).map(|tier| ParentApproval { row, tier }))
        })
    }
}

impl Store {
    /// Returns the intent of the command for which the guard with this process waits.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn waited_for(&self, process: &str) -> Result<Option<i64>, StoreError> {
        self.persist(|connection| waited_for_by(connection, process))
    }
}

/// Returns the scope of the intent of a guard that waits. It shares the index with the sessions of grants, none of
/// which has such a name, because another index would slow down every opening.
fn waiting(process: &str) -> String {
    format!("waiting {process}")
}

/// Returns the provenance of a denial in the terms of docs/risk.md: `rule`, `human` or `llm`. A missing answer counts
/// as a denial by rule.
const fn provenance(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Person { .. } => "human",
        Refusal::Reviewer { .. } => "llm",
        Refusal::Rule { .. }
        | Refusal::Timeout { .. }
        | Refusal::RateLimited { .. }
        | Refusal::Breaker { .. }
        | Refusal::Edited { .. }
        | Refusal::NoOne { .. }
        | Refusal::Unrecorded { .. }
        | Refusal::Unanswered { .. }
        | Refusal::Crowded { .. }
        | Refusal::Attempt { .. }
        | Refusal::Unjudged { .. }
        | Refusal::Changed { .. }
        | Refusal::Unsigned { .. } => "rule",
    }
}

/// Returns the text of a denial in addition to its kind.
fn words(refusal: &Refusal) -> Option<&str> {
    match refusal {
        Refusal::Person { words } => words.as_deref(),
        Refusal::Reviewer { reason, .. } => Some(reason),
        Refusal::NoOne { why } | Refusal::Unrecorded { why } => Some(why),
        Refusal::Changed { what } => Some(what),
        Refusal::Unsigned { why } => Some(why),
        Refusal::Rule { rule, .. } => Some(rule),
        Refusal::Attempt { why } | Refusal::Unjudged { why } => Some(why),
        Refusal::Unanswered { request, .. } => Some(request),
        Refusal::Timeout { .. }
        | Refusal::RateLimited { .. }
        | Refusal::Crowded { .. }
        | Refusal::Breaker { .. }
        | Refusal::Edited { .. } => None,
    }
}

#[cfg(test)]
mod tests;
