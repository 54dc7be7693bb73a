//! Asking at the terminal.
//!
//! A person is asked on the controlling terminal, never on standard input, and only where one sits: this process is in
//! the terminal's foreground group, standard input or standard error is that terminal, and no other program reads it
//! key by key. What was typed before the card appeared is thrown away, as are keys in its first
//! [`READING`] and anything that arrives in a burst, so that neither typing ahead nor pasting answers it.
//!
//! The alarm is the deadline and moves the countdown. The clock is looked at too, so that a deadline that passes while
//! the process is stopped, or the machine asleep, means no. Everything that is not a clear yes is a no.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;

use super::lock::Lock;
use super::prompt_loop::PromptLoop;
pub use super::prompt_loop::Question;
use super::sealed::Sealed;
use super::signal_watch::Watch;
use super::tty::{Tty, is_attended};
use super::word::random;
use crate::judge::policy::Prompt;
use crate::ui::card::{CardView, Said};
use crate::ui::explain::ExplainView;
use crate::ui::style::Look;
use crate::ui::verdict;

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
    /// Somebody else settled it meanwhile: [`Second`].
    Settled,
    /// No, with what the person wants the caller to know; `typed` where they pressed n, and did not only leave.
    No { words: Option<String>, typed: bool },
    /// Nobody answered.
    TimedOut { seconds: u32 },
    /// Nobody could be asked, or the question ended without an answer.
    Closed(Closed),
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

/// Somebody else who thinks about the question while it is shown.
pub trait Second {
    /// What they have said by now. Called again until it is something.
    fn look(&mut self) -> SecondOpinion;
}

/// What a [`Second`] has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecondOpinion {
    /// Nothing yet, after so long.
    Not { after: Duration },
    /// The question need not be answered any more.
    Settled,
    /// A person answers, and sees this.
    Said(Said),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
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

/// Asks at the terminal and waits for the answer, or for the time to pass.
///
/// One card is shown per terminal at a time; waiting for another to be answered costs no time of this one. `runtime` is
/// `XDG_RUNTIME_DIR`, where the lock lies.
pub fn ask(
    view: &CardView,
    prompt: &Prompt,
    explained: &ExplainView,
    look: Look,
    runtime: Option<PathBuf>,
) -> PromptAnswer {
    let question = Question { view, prompt, explained, look, said: true };
    try_ask(question, runtime, None).unwrap_or_else(PromptAnswer::Closed)
}

/// As [`ask`], while somebody else thinks about it too. The person need not wait for them. Where a yes counts only once it
/// is signed, it is not `said`: [`say_yes`] says it.
pub fn ask_beside(question: Question<'_>, runtime: Option<PathBuf>, second: Option<&mut dyn Second>) -> PromptAnswer {
    try_ask(question, runtime, second).unwrap_or_else(PromptAnswer::Closed)
}

/// As [`ask`], where a yes counts only once it is signed: it is not said. [`say_yes`] says it.
pub fn ask_before_a_signature(
    view: &CardView,
    prompt: &Prompt,
    explained: &ExplainView,
    look: Look,
    runtime: Option<PathBuf>,
) -> PromptAnswer {
    let question = Question { view, prompt, explained, look, said: false };
    try_ask(question, runtime, None).unwrap_or_else(PromptAnswer::Closed)
}

/// Says on the terminal that a command was allowed.
pub fn say_yes(answer: &PromptAnswer, command: &[u8], look: &Look) {
    let (Some(words), Ok(tty)) = (answer.words(false), Tty::open()) else { return };
    let line = verdict::settled(words, command, tty.size().columns);
    // If the terminal takes nothing now, the answer holds all the same.
    let _ = tty.write(format!("{}\r\n", line.render(look)).as_bytes());
}

/// Whether somebody could be asked right now, without asking.
///
/// # Errors
/// Why not.
pub fn reachable() -> Result<(), Closed> {
    let tty = Tty::open().map_err(|error| Closed::NoTerminal(error.to_string()))?;
    check(&tty)
}

/// Whether a person sits at this terminal and nobody else is using it.
fn check(tty: &Tty) -> Result<(), Closed> {
    if !tty.is_foreground().map_err(hung_up)? {
        return Err(Closed::Background);
    }
    if !is_attended() {
        return Err(Closed::Unattended);
    }
    if tty.is_raw().map_err(hung_up)? {
        return Err(Closed::Busy);
    }
    Ok(())
}

/// Any failure of the terminal itself is its end.
pub(super) fn hung_up(error: io::Error) -> Closed {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EIO | Errno::ENXIO | Errno::ENODEV | Errno::ENOTTY) | None => Closed::HungUp,
        Some(_) => Closed::Failed(error.to_string()),
    }
}

/// A failure of a call that is no terminal's.
pub(super) fn failed(error: impl std::fmt::Display) -> Closed {
    Closed::Failed(error.to_string())
}

fn try_ask(
    question: Question<'_>,
    runtime: Option<PathBuf>,
    second: Option<&mut dyn Second>,
) -> Result<PromptAnswer, Closed> {
    let _sealed = Sealed::begin();
    let tty = Tty::open().map_err(|error| Closed::NoTerminal(error.to_string()))?;
    check(&tty).or_else(|why| if why == Closed::Busy { Ok(()) } else { Err(why) })?;
    let lock = Lock::open(tty.number(), runtime.as_deref()).map_err(failed)?;
    lock.take(|| false).map_err(failed)?;
    // Whoever held the lock had the terminal in its own modes: whose it is now counts.
    check(&tty)?;
    let word = if question.prompt.word { Some(random().map_err(failed)?) } else { None };
    let watch = Watch::begin(1).map_err(failed)?;
    let asking = PromptLoop::new(question, word, &tty, &watch, &lock);
    match second {
        Some(second) => asking.beside(second).ask(),
        None => asking.ask(),
    }
}
