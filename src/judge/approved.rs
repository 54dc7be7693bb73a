//! Approval as a value: what was judged and what allowed it, bound together. `exec` accepts nothing
//! else, and only this module makes one.

use super::Judgment;
pub use super::grant::{Grant, GrantExpiry, GrantId, GrantPlace, GrantSubject};
use super::invocation::{Digest, Invocation};
use super::policy::{ApprovalReason, Clearance, Policy, Refusal};
use super::review::{self, Opinion, Outcome};

/// The key to `exec`: the invocation that was judged, and what allowed it.
#[derive(Debug)]
pub struct Approved {
    invocation: Invocation,
    basis: ApprovalReason,
    digest: Digest,
}

impl Approved {
    /// What may run.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    /// What allowed it.
    #[must_use]
    pub const fn basis(&self) -> &ApprovalReason {
        &self.basis
    }

    /// The digest that the approval is bound to.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

/// That the intent is written down. `exec` demands one for whatever it runs.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The row of the intent in the record.
    Recorded(i64),
    /// The record cannot be written, or the policy leaves this command out of it: tier 0 and 1, and support.
    Unrecorded,
}

impl Receipt {
    /// The row, when there is one.
    #[must_use]
    pub const fn row(self) -> Option<i64> {
        match self {
            Self::Recorded(row) => Some(row),
            Self::Unrecorded => None,
        }
    }
}

/// What a grant that is given with an answer covers: this command to the byte, in its directory and below.
#[must_use]
pub fn exactly(invocation: &Invocation) -> (GrantSubject, GrantPlace) {
    let path = invocation.cwd.to_string_lossy().into_owned();
    (GrantSubject::Exact { command: invocation.display() }, GrantPlace::Directory { path })
}

impl GrantPlace {
    /// Whether a directory lies where the grant holds.
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
    /// What a rule, a grant or the score let run.
    #[must_use]
    pub fn by_policy(invocation: Invocation, judgment: &Judgment, cleared: &Clearance) -> Self {
        let digest = invocation.digest(&judgment.facts.expanded);
        Self { invocation, basis: cleared.basis().clone(), digest }
    }

    /// What a person let run: bound to what they saw. `shown` is the judgment that was on the card, `fresh` the one
    /// that was made after the answer.
    ///
    /// # Errors
    /// [`Refusal::Changed`] when the two differ in anything that the approval was given for.
    pub fn by_person(invocation: Invocation, shown: &Judgment, fresh: &Rejudged) -> Result<Self, Refusal> {
        if let Some(what) = shown.difference(&fresh.0) {
            return Err(Refusal::Changed { what });
        }
        let digest = invocation.digest(&fresh.0.facts.expanded);
        Ok(Self { invocation, basis: ApprovalReason::Person, digest })
    }

    /// What a reviewer let run: its opinion is held against the judgment that was made after it came, as well.
    ///
    /// # Errors
    /// [`Refusal::Changed`] when the two differ, or the opinion does not settle what would run now.
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

    /// What runs on a yes that was given before it was judged here: nothing was shown, so there is nothing to compare.
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

/// A yes that was given before a command was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorApproval {
    /// A person's own, on their command line (`--yes`).
    OwnYes,
    /// That of a person whom an agent's own prompt asked on guard's behalf.
    Host,
}

/// A judgment that was made after a person answered, with new answers of the world. It is a type of its own so that
/// what was on the card cannot stand in for it.
#[derive(Debug)]
pub struct Rejudged(Judgment);

impl Rejudged {
    /// What was judged just now.
    #[must_use]
    pub const fn just_now(judgment: Judgment) -> Self {
        Self(judgment)
    }

    /// The judgment.
    #[must_use]
    pub const fn judgment(&self) -> &Judgment {
        &self.0
    }
}

#[cfg(test)]
mod tests;
