//! The approval of a command as a value, which binds the judged invocation to the reason why it may run. `exec` accepts
//! only this value, and only this module creates one.

use super::Judgment;
pub use super::grant::{Grant, GrantExpiry, GrantId, GrantPlace, GrantSubject, ShapeScope};
use super::invocation::{Digest, Invocation};
use super::policy::{ApprovalReason, Clearance, Policy, Refusal};
use super::review::{self, Opinion, Outcome};

/// An invocation that was judged and may run, with the reason.
#[derive(Debug)]
pub struct Approved {
    invocation: Invocation,
    basis: ApprovalReason,
    digest: Digest,
}

impl Approved {
    /// Returns the invocation that may run.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    /// Returns the reason why it may run.
    #[must_use]
    pub const fn basis(&self) -> &ApprovalReason {
        &self.basis
    }

    /// Returns the digest to which the approval is bound.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

/// The proof that the record contains the intent. `exec` requires one for everything that it runs.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The record contains the intent in this row.
    Recorded(i64),
    /// The record cannot be written, or the policy excludes this command: tiers 0 and 1, and support commands.
    Unrecorded,
}

impl Receipt {
    /// Returns the row, if there is one.
    #[must_use]
    pub const fn row(self) -> Option<i64> {
        match self {
            Self::Recorded(row) => Some(row),
            Self::Unrecorded => None,
        }
    }
}

/// Returns the subject and the place of a grant that is given with an answer: exactly this command, in its directory
/// and below.
#[must_use]
pub fn exactly(invocation: &Invocation) -> (GrantSubject, GrantPlace) {
    let path = invocation.cwd.to_string_lossy().into_owned();
    (GrantSubject::Exact { command: invocation.display() }, GrantPlace::Directory { path })
}

impl GrantPlace {
    /// Reports whether the grant is valid in a directory.
    #[must_use]
    pub fn holds(&self, cwd: &str) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Directory { path } => {
                let path = path.trim_end_matches('/');
                cwd.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

impl Approved {
    /// Creates the approval of a command that may run without a prompt.
    #[must_use]
    pub fn by_policy(invocation: Invocation, judgment: &Judgment, cleared: &Clearance) -> Self {
        let digest = invocation.digest(&judgment.facts.expanded);
        Self { invocation, basis: cleared.basis().clone(), digest }
    }

    /// Creates the approval of a command that a person approved. `shown` is the judgment that the card showed, `fresh`
    /// the one that was made after the answer.
    ///
    /// # Errors
    /// [`Refusal::Changed`] if the two differ in anything to which the approval is bound.
    pub fn by_person(invocation: Invocation, shown: &Judgment, fresh: &Rejudged) -> Result<Self, Refusal> {
        if let Some(what) = shown.difference(&fresh.0) {
            return Err(Refusal::Changed { what });
        }
        let digest = invocation.digest(&fresh.0.facts.expanded);
        Ok(Self { invocation, basis: ApprovalReason::Person, digest })
    }

    /// Creates the approval of a command that a reviewer approved. The opinion must also be sufficient for the judgment
    /// that was made after it.
    ///
    /// # Errors
    /// [`Refusal::Changed`] if the judgments differ, or the opinion is not sufficient for the new one.
    pub fn by_reviewer(
        invocation: Invocation,
        shown: &Judgment,
        fresh: &Rejudged,
        policy: &Policy,
        opinion: &Opinion,
    ) -> Result<Self, Refusal> {
        if let Some(what) = shown.difference(&fresh.0) {
            return Err(Refusal::Changed { what });
        }
        match review::gate(&invocation, &fresh.0, policy, opinion) {
            Outcome::Run(cleared) => {
                let digest = invocation.digest(&fresh.0.facts.expanded);
                Ok(Self { invocation, basis: cleared.basis().clone(), digest })
            }
            Outcome::Refuse(refusal) => Err(refusal),
            Outcome::Ask => Err(Refusal::Changed { what: "what the reviewer may decide".to_owned() }),
        }
    }

    /// Creates the approval of a command that was approved before guard judged it. No card was shown, so nothing is
    /// compared.
    #[must_use]
    pub fn in_advance(invocation: Invocation, judgment: &Judgment, yes: PriorApproval) -> Self {
        let basis = match yes {
            PriorApproval::OwnYes => ApprovalReason::YesInAdvance,
            PriorApproval::Host => ApprovalReason::Host,
        };
        let digest = invocation.digest(&judgment.facts.expanded);
        Self { invocation, basis, digest }
    }
}

/// An approval that was given before guard judged the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorApproval {
    /// The user gave it on the command line (`--yes`).
    OwnYes,
    /// A person gave it at the prompt of an agent, to which guard had left the question.
    Host,
}

/// A judgment that was made after a person answered, with new facts about the system. It is a separate type, so that
/// the judgment of the card cannot be passed instead.
#[derive(Debug)]
pub struct Rejudged(Judgment);

impl Rejudged {
    /// Wraps a judgment that was just made.
    #[must_use]
    pub const fn just_now(judgment: Judgment) -> Self {
        Self(judgment)
    }

    /// Returns the judgment.
    #[must_use]
    pub const fn judgment(&self) -> &Judgment {
        &self.0
    }
}

#[cfg(test)]
mod tests;
