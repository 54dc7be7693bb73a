//! Grants: their subject, place and expiry.

use serde::{Deserialize, Serialize};

use super::risk::Tier;

/// A grant: a standing permission (docs/risk.md, docs/design.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub id: GrantId,
    pub what: GrantSubject,
    pub place: GrantPlace,
    pub until: GrantExpiry,
    /// The time at which it was given, in seconds since 1970.
    pub given: i64,
    /// The description that was shown before it was given.
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

/// The commands that a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum GrantSubject {
    /// Exactly this command; [`GrantPlace`] has the directory.
    Exact { command: String },
    /// Commands of this shape: program, subcommand and flags and, in brackets, the rules that they match. The paths
    /// that they name must be in the directory of the grant.
    Shape { shape: String },
    /// Commands that match no other rule.
    Rule { rule: String },
    /// All commands up to this tier, which is at most 2: a trusted session.
    UpTo { tier: Tier },
}

/// The directories in which a grant is valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum GrantPlace {
    /// In this directory and below it.
    #[serde(rename = "folder")]
    Directory {
        path: String,
    },
    Anywhere,
}

/// The validity period of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum GrantExpiry {
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
