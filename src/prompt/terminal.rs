//! Asking at the terminal.
//!
//! A person is asked on the controlling terminal, never on standard input, and only where one sits: this process is in
//! the terminal's foreground group, standard input or standard error is that terminal, and no other program reads it
//! key by key. What was typed before the card appeared is thrown away, as are keys in its first
//! [`READING`](super::answer::READING) and anything that arrives in a burst, so that neither typing ahead nor pasting answers it.
//!
//! The alarm is the deadline and moves the countdown. The clock is looked at too, so that a deadline that passes while
//! the process is stopped, or the machine asleep, means no. Everything that is not a clear yes is a no.

use std::path::PathBuf;

use super::answer::{PromptAnswer, PromptClosed, ReviewInProgress, failed, hung_up};
use super::lock::Lock;
use super::process_seal::ProcessSeal;
use super::prompt_loop::{PromptLoop, PromptRequest};
use super::signal_watch::Watch;
use super::tty::{Tty, is_attended};
use super::word::random;
use crate::judge::policy::Prompt;
use crate::ui::card_view::CardView;
use crate::ui::explain::ExplainView;
use crate::ui::style::Look;
use crate::ui::verdict;

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
    let question = PromptRequest { view, prompt, explained, look, said: true };
    try_ask(question, runtime, None).unwrap_or_else(PromptAnswer::Closed)
}

/// As [`ask`], while a reviewer is asked too. The person need not wait for it. Where a yes counts only once it
/// is signed, it is not `said`: [`say_yes`] says it.
pub fn ask_beside(
    question: PromptRequest<'_>,
    runtime: Option<PathBuf>,
    second: Option<&mut dyn ReviewInProgress>,
) -> PromptAnswer {
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
    let question = PromptRequest { view, prompt, explained, look, said: false };
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
pub fn reachable() -> Result<(), PromptClosed> {
    let tty = Tty::open().map_err(|error| PromptClosed::NoTerminal(error.to_string()))?;
    check(&tty)
}

/// Whether a person sits at this terminal and nobody else is using it.
fn check(tty: &Tty) -> Result<(), PromptClosed> {
    if !tty.is_foreground().map_err(hung_up)? {
        return Err(PromptClosed::Background);
    }
    if !is_attended() {
        return Err(PromptClosed::Unattended);
    }
    if tty.is_raw().map_err(hung_up)? {
        return Err(PromptClosed::Busy);
    }
    Ok(())
}

fn try_ask(
    question: PromptRequest<'_>,
    runtime: Option<PathBuf>,
    second: Option<&mut dyn ReviewInProgress>,
) -> Result<PromptAnswer, PromptClosed> {
    let _sealed = ProcessSeal::begin();
    let tty = Tty::open().map_err(|error| PromptClosed::NoTerminal(error.to_string()))?;
    check(&tty).or_else(|why| if why == PromptClosed::Busy { Ok(()) } else { Err(why) })?;
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
