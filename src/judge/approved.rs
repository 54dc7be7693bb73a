//! Approval as a value: what was judged and what allowed it, bound together. `exec` accepts nothing
//! else, and only this module makes one.

use serde::{Deserialize, Serialize};

use super::invocation::{Digest, Invocation};
use super::policy::Basis;

/// A standing permission (RISK.md, DESIGN.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub id: GrantId,
    pub what: What,
    pub place: Place,
    pub until: Until,
    /// When it was given, in seconds since 1970.
    pub given: i64,
    /// In words, as it was shown before it was given.
    pub words: String,
}

/// The number of a grant in the record, or the name of one that a configuration file gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GrantId {
    Stored(i64),
    Configured(String),
}

impl std::fmt::Display for GrantId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stored(number) => write!(f, "{number}"),
            Self::Configured(name) => f.write_str(name),
        }
    }
}

/// What a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum What {
    /// This command, to the byte (its text; the folder is [`Place`]'s).
    Exact { command: String },
    /// Commands of this shape: program, subcommand and flags, any operands.
    Shape { shape: String },
    /// Whatever only this rule finds.
    Rule { rule: String },
}

/// Where a grant holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Place {
    /// In this folder and below.
    Folder {
        path: String,
    },
    Anywhere,
}

/// How long a grant holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Until {
    Session {
        id: String,
    },
    /// Seconds since 1970.
    Date {
        at: i64,
    },
    /// Until it is revoked.
    Revoked,
}

/// The key to `exec`: the invocation that was judged, and what allowed it.
#[derive(Debug)]
pub struct Approved {
    invocation: Invocation,
    basis: Basis,
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
    pub const fn basis(&self) -> &Basis {
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
    /// The record cannot be written, or the policy leaves this command out of it: tier 0 and 1 alone.
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
