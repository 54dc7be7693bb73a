//! Standing permissions: what one covers, where, and for how long.

use serde::{Deserialize, Serialize};

use super::risk::Tier;

/// A standing permission (docs/risk.md, docs/design.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub id: GrantId,
    pub what: GrantSubject,
    pub place: GrantPlace,
    pub until: GrantExpiry,
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
pub enum GrantSubject {
    /// This command, to the byte (its text; the directory is [`GrantPlace`]'s).
    Exact { command: String },
    /// Commands of this shape: program, subcommand and flags, then in brackets the rules that found something in it.
    /// The places that they name lie in the directory of the grant.
    Shape { shape: String },
    /// Whatever only this rule finds.
    Rule { rule: String },
    /// Whatever is of this tier or below, tier 2 at most: a session that is trusted.
    UpTo { tier: Tier },
}

/// Where a grant holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum GrantPlace {
    /// In this directory and below.
    #[serde(rename = "folder")]
    Directory {
        path: String,
    },
    Anywhere,
}

/// How long a grant holds.
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
