//! What is written down of a decision before the command runs, or instead of running it.

use jiff::Timestamp;

use crate::judge::invocation::{Digest, Invocation};
use crate::judge::ledger::CommandChanges;
use crate::judge::policy::{ApprovalReason, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::Risk;

/// What is written down before a command runs, or instead of running it.
#[derive(Clone, Copy, Debug)]
pub struct IntentRow<'a> {
    pub at: Timestamp,
    pub invocation: &'a Invocation,
    /// Of the invocation, as the approval is bound to it.
    pub digest: Digest,
    pub risk: &'a Risk,
    pub settled: RecordedDecision<'a>,
    /// Milliseconds that a person took to answer, or had without answering. `None` when nobody was asked.
    pub answer_ms: Option<u64>,
    /// What a person said with a yes. With a no, the refusal holds it.
    pub words: Option<&'a str>,
    /// The process of the guard that waits above this one, by the name that it wrote into its own intent as `process`. The
    /// row is then about that intent. It must be alive, or the row would be about what it waited for long ago; one that
    /// the record does not know leaves the row without a parent.
    pub parent: Option<&'a str>,
    /// The process of this guard, by a name that no other process has, when it will wait for the command.
    pub process: Option<&'a str>,
    /// What a grant for commands like it would cover. Kept where a person answered, to learn what they always allow.
    pub shape: Option<&'a str>,
    /// What a reviewer thought of it, where one was asked.
    pub opinion: Option<&'a Opinion>,
    /// What it does to files.
    pub changes: &'a CommandChanges,
    /// The tool that is called, where the invocation itself does not say.
    pub tool: Option<&'a str>,
    /// Something in the command is hidden already.
    pub hides: bool,
}

/// A command that does nothing to files.
static NO_CHANGES: CommandChanges =
    CommandChanges { done: Vec::new(), ran: false, brought: Vec::new(), named: Vec::new() };

impl<'a> IntentRow<'a> {
    /// A decision, and nothing that may go with one.
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

/// The decision that a row of the record holds.
#[derive(Clone, Copy, Debug)]
pub enum RecordedDecision<'a> {
    Allowed(&'a ApprovalReason),
    Refused(&'a Refusal),
    /// Left to a person elsewhere: the answer given to a host that asks for itself.
    Asked,
}
