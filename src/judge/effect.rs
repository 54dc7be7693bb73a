//! The effects by which programs are described and by which rules are indexed.
//!
//! Only the list: the build script includes this file too, so it depends on `serde` alone.

use serde::{Deserialize, Serialize};

/// The effects by which programs are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Reads a file to use its content.
    Load,
    /// Prints the content of a file or passes it on.
    Show,
    /// Replaces the content of a file.
    Write,
    /// Changes the content of a file in place, after reading it.
    Edit,
    /// Appends to a file.
    Append,
    /// Removes a file or directory.
    Delete,
    /// Moves a file away from its path.
    Move,
    /// Changes the owner, mode or attributes.
    Permit,
    /// Creates a link to a file.
    Link,
    /// Sends data over the network.
    Send,
    /// Fetches from the network.
    Fetch,
    /// Runs a file.
    Execute,
}

impl Effect {
    /// Reports whether it changes files. Effects that only read, execute or use the network do not.
    #[must_use]
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Edit | Self::Append | Self::Delete | Self::Move | Self::Permit | Self::Link)
    }

    /// Reports whether it changes the content of a file.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Edit | Self::Append)
    }

    /// Returns the key by which the `program` of a rule matches the effect (`:show` and so on). In a rule, `:write`
    /// matches both [`Self::Write`] and [`Self::Edit`].
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Load => ":load",
            Self::Show => ":show",
            Self::Write => ":overwrite",
            Self::Edit => ":edit",
            Self::Append => ":append",
            Self::Delete => ":delete",
            Self::Move => ":move",
            Self::Permit => ":permit",
            Self::Link => ":link",
            Self::Send => ":send",
            Self::Fetch => ":fetch",
            Self::Execute => ":execute",
        }
    }
}
