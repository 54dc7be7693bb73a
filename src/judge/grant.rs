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
    /// Commands of this shape. The paths that they name must be in the directory of the grant.
    Shape(ShapeScope),
    /// Commands that match no other rule.
    Rule { rule: String },
    /// All commands up to this tier, which is at most 2: a trusted session.
    UpTo { tier: Tier },
}

/// The commands that a shape grant covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeScope {
    /// The shape ([`super::shape`]) and, in brackets, the rules that the command matches and the scripts that it runs.
    pub shape: String,
    /// The directory in which the files that may vary must be, with links resolved; `None`: the directory of the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The highest tier that was approved; `None` in grants of configuration files and of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
}

impl ShapeScope {
    /// Creates the scope of a grant that contains only the shape.
    #[must_use]
    pub fn plain(shape: &str) -> Self {
        Self { shape: shape.to_owned(), ..Self::default() }
    }

    /// Returns the shape without the brackets, and the rules and scripts in them, separated by commas.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        let bracketed = self.shape.strip_suffix(']').and_then(|shape| shape.rsplit_once(" ["));
        bracketed.unwrap_or((&self.shape, ""))
    }
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
