//! What becomes of a question: the answer, or why there is none.

use std::io;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::ui::card_view::OpinionLine;

/// For so long after a question appears no key answers it: nobody has read it yet.
pub const READING: Duration = Duration::from_millis(300);

/// What became of a question. Only the first four let anything run.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptAnswer {
    /// This time.
    Once,
    /// And again in this session.
    Session,
    /// And from now on: the grant was shown in words and confirmed.
    Always,
    /// This time, against a reviewer's no, with why.
    Overruled { words: String },
    /// The reviewer allowed it meanwhile ([`ReviewInProgress`]).
    Settled,
    /// No, with what the person wants the caller to know; `typed` where they pressed n, and did not only leave.
    No { words: Option<String>, typed: bool },
    /// Nobody answered.
    TimedOut { seconds: u32 },
    /// Nobody could be asked, or the question ended without an answer.
    Closed(PromptClosed),
}

impl PromptAnswer {
    /// A yes in words; `lasts` says whether a plain one is a grant as well.
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

/// No, and nothing more.
pub(super) const NO: PromptAnswer = PromptAnswer::No { words: None, typed: false };

/// A reviewer that is asked while the question is shown.
pub trait ReviewInProgress {
    /// What the reviewer has said by now. Called again until it is not [`ReviewProgress::Pending`].
    fn poll(&mut self) -> ReviewProgress;
}

/// How far a [`ReviewInProgress`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewProgress {
    /// No answer yet, after so long.
    Pending { after: Duration },
    /// The reviewer allowed the command: the question is closed.
    Settled,
    /// A person answers, and sees this opinion.
    Said(OpinionLine),
}

/// Why there is no answer.
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
    /// The person pressed the key of this signal (Ctrl-C, Ctrl-\\): a no that ends everything in the foreground. The
    /// caller should record the no, then die of the signal.
    #[error("interrupted by a person")]
    Interrupted(Signal),
    /// A signal was sent while asking. The caller should record that, then die of it.
    #[error("ended by {0}")]
    Signal(Signal),
    /// Something failed that should not.
    #[error("cannot use the terminal: {0}")]
    Failed(String),
}

/// Any failure of the terminal itself is its end.
pub(super) fn hung_up(error: io::Error) -> PromptClosed {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EIO | Errno::ENXIO | Errno::ENODEV | Errno::ENOTTY) | None => PromptClosed::HungUp,
        Some(_) => PromptClosed::Failed(error.to_string()),
    }
}

/// A failure of a call that is no terminal's.
pub(super) fn failed(error: impl std::fmt::Display) -> PromptClosed {
    PromptClosed::Failed(error.to_string())
}
