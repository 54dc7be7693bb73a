//! The effects that programs are described by and that rules are keyed by.
//!
//! Nothing but the list: the build script reads this file too, so it stands on `serde` alone.

use serde::{Deserialize, Serialize};

/// The effects that programs are described by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Reads a file into something that is meant to use it.
    Load,
    /// Prints a file's content, or hands it on.
    Show,
    /// Replaces a file's content.
    Write,
    /// Changes a file's content where it lies: what was there is read first.
    Edit,
    /// Adds to a file.
    Append,
    /// Removes a file or directory.
    Delete,
    /// Takes a file away from where it is.
    Move,
    /// Changes owner, mode, attributes.
    Permit,
    /// Links to a file under another name.
    Link,
    /// Sends data out.
    Send,
    /// Fetches from the network.
    Fetch,
    /// Runs a file.
    Execute,
}

impl Effect {
    /// Whether files are other than before: what only reads, and what concerns the network, does not.
    #[must_use]
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Edit | Self::Append | Self::Delete | Self::Move | Self::Permit | Self::Link)
    }

    /// Whether a file holds other content afterwards than before.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Edit | Self::Append)
    }

    /// `:show` and so on: what a rule's `program` says to match an effect. `:write` stands for [`Self::Write`] and
    /// [`Self::Edit`] there.
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
