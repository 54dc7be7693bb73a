//! Asks at the terminal.
//!
//! guard asks on the controlling terminal, never on standard input, and only if a user is there: this process is in the
//! foreground group, standard input or standard error is that terminal, and no other program reads single keys from it.
//! Input that was typed before the card appeared, in its first [`READING`](super::answer::READING), or in a burst is
//! discarded, so that neither typing ahead nor pasting answers it.
//!
//! The alarm ends the prompt and updates the countdown. The clock is checked too, so that a deadline that passes while
//! the process is stopped, or the machine asleep, denies the command. Everything that is not an explicit approval is a
//! denial.

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

/// Asks at the terminal, and waits for the answer or the timeout.
///
/// A terminal shows one card at a time; waiting for another card does not count towards the timeout. `runtime` is
/// `XDG_RUNTIME_DIR`, which contains the lock.
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

/// Does the same as [`ask`], while a reviewer is consulted, for which the person does not have to wait. If an approval
/// has to be signed first, it is not printed; [`say_yes`] prints it.
pub fn ask_beside(
    question: PromptRequest<'_>,
    runtime: Option<PathBuf>,
    second: Option<&mut dyn ReviewInProgress>,
) -> PromptAnswer {
    try_ask(question, runtime, second).unwrap_or_else(PromptAnswer::Closed)
}

/// Does the same as [`ask`], for an approval that has to be signed first: it is not printed; [`say_yes`] prints it.
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

/// Prints on the terminal that a command was allowed.
pub fn say_yes(answer: &PromptAnswer, command: &[u8], look: &Look) {
    let (Some(words), Ok(tty)) = (answer.words(false), Tty::open()) else { return };
    let line = verdict::settled(words, command, tty.size().columns);
    // If the terminal does not accept output, the answer is still valid.
    let _ = tty.write(format!("{}\r\n", line.render(look)).as_bytes());
}

/// Checks whether a person could be asked now, without asking.
///
/// # Errors
/// The reason why nobody can be asked.
pub fn reachable() -> Result<(), PromptClosed> {
    let tty = Tty::open().map_err(|error| PromptClosed::NoTerminal(error.to_string()))?;
    check(&tty)
}

/// Checks whether a user is at this terminal, and no other program uses it.
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
    // The previous holder of the lock had changed the modes of the terminal: check again.
    check(&tty)?;
    let word = if question.prompt.word { Some(random().map_err(failed)?) } else { None };
    let watch = Watch::begin(1).map_err(failed)?;
    let asking = PromptLoop::new(question, word, &tty, &watch, &lock);
    match second {
        Some(second) => asking.beside(second).ask(),
        None => asking.ask(),
    }
}
