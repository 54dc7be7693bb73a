//! The result of a prompt: the answer, or the reason why there is none.

use std::io;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::ui::card_view::OpinionLine;

/// The time after a prompt appears in which no key answers it, because nobody has read it yet.
pub const READING: Duration = Duration::from_millis(300);

/// The result of a prompt. Only the first four variants allow the command.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptAnswer {
    /// Allowed once.
    Once,
    /// Allowed in this session.
    Session,
    /// Always allowed: the description of the grant was shown and confirmed.
    Always,
    /// Allowed once, against the denial of a reviewer, with a reason.
    Overruled { words: String },
    /// The reviewer allowed it in the meantime ([`ReviewInProgress`]).
    Settled,
    /// Denied, with a message for the requester; `typed` if the person pressed n and did not only leave.
    No { words: Option<String>, typed: bool },
    /// Nobody answered.
    TimedOut { seconds: u32 },
    /// Nobody could be asked, or the prompt ended without an answer.
    Closed(PromptClosed),
}

impl PromptAnswer {
    /// Returns the description of an approval; `lasts` says whether a plain one is also a grant.
    #[must_use]
    pub const fn words(&self, lasts: bool) -> Option<&'static str> {
        match self {
            Self::Once if lasts => Some("allowed by you"),
            Self::Once => Some("allowed once by you"),
            Self::Overruled { .. } => Some("allowed once by you, against the reviewer"),
            Self::Settled => Some("allowed once by the reviewer"),
            Self::Session => Some("allowed for this session by you"),
            Self::Always => Some("allowed always by you"),
            Self::No { .. } | Self::TimedOut { .. } | Self::Closed(_) => None,
        }
    }
}

/// A denial without a message.
pub(super) const NO: PromptAnswer = PromptAnswer::No { words: None, typed: false };

/// A reviewer that is consulted while the prompt is shown.
pub trait ReviewInProgress {
    /// Returns the progress of the reviewer. It is called until the result is not [`ReviewProgress::Pending`].
    fn poll(&mut self) -> ReviewProgress;
}

/// The progress of a [`ReviewInProgress`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewProgress {
    /// There is no opinion after this time.
    Pending { after: Duration },
    /// The reviewer allowed the command, so the prompt ends.
    Settled,
    /// A person has to answer, and sees this opinion.
    Said(OpinionLine),
}

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptClosed {
    /// There is no terminal.
    #[error("there is no terminal ({0})")]
    NoTerminal(String),
    /// Neither standard input nor standard error is the terminal.
    #[error("neither the input nor the error output of the command is a terminal")]
    Unattended,
    /// Another process group has the terminal.
    #[error("the command runs in the background of its terminal")]
    Background,
    /// Another program reads the terminal key by key.
    #[error("another program is using the terminal")]
    Busy,
    /// The terminal was closed while asking.
    #[error("the terminal was closed")]
    HungUp,
    /// The person pressed the key of this signal (Ctrl-C, Ctrl-\\): a denial that ends everything in the foreground.
    /// The caller should record the denial and then die of the signal.
    #[error("interrupted by a person")]
    Interrupted(Signal),
    /// A signal arrived during the prompt. The caller should record that and then die of it.
    #[error("ended by {0}")]
    Signal(Signal),
    /// An unexpected failure.
    #[error("cannot use the terminal: {0}")]
    Failed(String),
}

/// Converts a failure of the terminal, which counts as a hang-up.
pub(super) fn hung_up(error: io::Error) -> PromptClosed {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EIO | Errno::ENXIO | Errno::ENODEV | Errno::ENOTTY) | None => PromptClosed::HungUp,
        Some(_) => PromptClosed::Failed(error.to_string()),
    }
}

/// Converts a failure of another call.
pub(super) fn failed(error: impl std::fmt::Display) -> PromptClosed {
    PromptClosed::Failed(error.to_string())
}
