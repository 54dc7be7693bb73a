//! The decision on a command as it is recorded before the command runs, or instead of running it.

use jiff::Timestamp;

use crate::judge::approved::ShapeScope;
use crate::judge::invocation::{Digest, Invocation};
use crate::judge::ledger::CommandChanges;
use crate::judge::policy::{ApprovalReason, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::Risk;

/// A decision that is recorded before a command runs, or instead of running it.
#[derive(Clone, Copy, Debug)]
pub struct IntentRow<'a> {
    pub at: Timestamp,
    pub invocation: &'a Invocation,
    /// The digest of the invocation to which the approval is bound.
    pub digest: Digest,
    pub risk: &'a Risk,
    pub settled: RecordedDecision<'a>,
    /// The milliseconds until a person answered or the time to answer ended; `None` if nobody was asked.
    pub answer_ms: Option<u64>,
    /// The message of a person with an approval. The message with a denial is in the refusal.
    pub words: Option<&'a str>,
    /// The process of the parent guard, which waits for this one, under the name that is the `process` of its own
    /// intent. The row then refers to that intent. The process must be alive; otherwise the row would refer to a
    /// command that ended long ago. If the record does not contain the process, the row has no parent.
    pub parent: Option<&'a str>,
    /// The process of this guard, under a unique name, if it will wait for the command.
    pub process: Option<&'a str>,
    /// The shape of the command, which a grant for similar commands would cover. It is recorded if a person answered,
    /// to learn which commands they always allow.
    pub shape: Option<&'a ShapeScope>,
    /// The opinion of a reviewer, if one was consulted.
    pub opinion: Option<&'a Opinion>,
    /// The command's changes of files.
    pub changes: &'a CommandChanges,
    /// The tool that is called, if the invocation does not contain it.
    pub tool: Option<&'a str>,
    /// Whether something in the command is redacted already.
    pub hides: bool,
}

/// The changes of a command that changes no files.
static NO_CHANGES: CommandChanges = CommandChanges {
    done: Vec::new(),
    ran: false,
    brought: Vec::new(),
    named: Vec::new(),
    copied: Vec::new(),
    fetched: Vec::new(),
};

impl<'a> IntentRow<'a> {
    /// Creates a row with a decision and no optional parts.
    #[must_use]
    pub fn plain(
        at: Timestamp,
        invocation: &'a Invocation,
        digest: Digest,
        risk: &'a Risk,
        settled: RecordedDecision<'a>,
    ) -> Self {
        Self {
            at,
            invocation,
            digest,
            risk,
            settled,
            answer_ms: None,
            words: None,
            parent: None,
            process: None,
            shape: None,
            opinion: None,
            changes: &NO_CHANGES,
            tool: None,
            hides: false,
        }
    }
}

/// The decision in a row of the record.
#[derive(Clone, Copy, Debug)]
pub enum RecordedDecision<'a> {
    Allowed(&'a ApprovalReason),
    Refused(&'a Refusal),
    /// The host asks a person itself.
    Asked,
}
