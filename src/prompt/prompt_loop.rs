//! The loop of a prompt, from the first drawing to the answer.

use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::answer::{NO, PromptAnswer, PromptClosed, READING, ReviewInProgress, ReviewProgress, failed, hung_up};
use super::dialog::{Dialog, KeyEffect};
use super::keys::{Decoder, KeyPress};
use super::lock::Lock;
use super::screen::Screen;
use super::signal_watch::{Watch, now};
use super::tty::{Modes, ReadResult, Tty};
use crate::judge::policy::Prompt;
use crate::ui::card_view::CardView;
use crate::ui::explain::ExplainView;
use crate::ui::style::Look;
use crate::ui::verdict;

mod drawing;

/// The time after an approval in which no other input may arrive; otherwise a program typed it.
const ALONE: Duration = Duration::from_millis(50);

/// The interval at which the reviewer is polled.
const PACE: Duration = Duration::from_millis(100);

/// Maximum time between an escape and the rest of a sequence.
const ESCAPE: Duration = Duration::from_millis(50);

/// The size of the buffer, which is larger than the input queue of a terminal, so that one read empties it.
const LONGEST: usize = 8192;

/// The content of a prompt.
#[derive(Clone, Copy)]
pub struct PromptRequest<'a> {
    pub view: &'a CardView,
    pub prompt: &'a Prompt,
    pub explained: &'a ExplainView,
    pub look: Look,
    /// Whether an approval is printed after the card. `false`: it has to be signed first.
    pub said: bool,
}

/// A prompt that is being shown.
pub(super) struct PromptLoop<'a> {
    tty: &'a Tty,
    watch: &'a Watch,
    lock: &'a Lock,
    view: CardView,
    prompt: &'a Prompt,
    explained: &'a ExplainView,
    look: Look,
    said: bool,
    /// The reviewer, and the time since it was consulted, in tenths of a second.
    second: Option<&'a mut dyn ReviewInProgress>,
    asking: Option<u64>,
    /// Whether the cursor cannot be moved, or there is too little room.
    line_by_line: bool,
    dialog: Dialog,
    screen: Screen,
    decoder: Decoder,
    /// The current timeout, in seconds.
    total: u32,
    deadline: Duration,
    /// Whether the window is too small for the card. The command is then not visible, and no approval is accepted.
    small: bool,
    /// The time at which the current question appeared.
    shown: Option<Duration>,
    /// The time spent before the current timeout, in seconds.
    waited: u32,
}

impl<'a> PromptLoop<'a> {
    /// Creates a prompt whose timeout begins now, on a locked terminal. If there is a word, it has to be typed.
    pub(super) fn new(
        question: PromptRequest<'a>,
        word: Option<String>,
        tty: &'a Tty,
        watch: &'a Watch,
        lock: &'a Lock,
    ) -> Self {
        let PromptRequest { view, prompt, explained, look, said } = question;
        let offered = |grant: &Option<String>| prompt.may_grant && grant.is_some();
        let mut dialog = Dialog::new(word, offered(&view.session_grant), offered(&view.standing_grant));
        if view.opinion.as_ref().is_some_and(|said| said.denies) {
            dialog.overrule();
        }
        Self {
            tty,
            watch,
            lock,
            view: view.clone(),
            prompt,
            explained,
            look,
            said,
            second: None,
            asking: None,
            line_by_line: look.dumb || !tty.size().is_enough(),
            dialog,
            screen: Screen::default(),
            decoder: Decoder::default(),
            total: prompt.seconds,
            deadline: now().saturating_add(Duration::from_secs(prompt.seconds.into())),
            small: false,
            shown: None,
            waited: 0,
        }
    }

    /// Adds a reviewer that is consulted while the prompt is shown.
    pub(super) fn beside(mut self, second: &'a mut dyn ReviewInProgress) -> Self {
        self.second = Some(second);
        self
    }

    /// Asks until there is an answer, and restores the terminal.
    pub(super) fn ask(mut self) -> Result<PromptAnswer, PromptClosed> {
        let answer = self.run();
        self.take_away(answer.as_ref());
        answer
    }

    /// Performs rounds until there is an answer.
    fn run(&mut self) -> Result<PromptAnswer, PromptClosed> {
        let tty = self.tty;
        let mut modes = if self.line_by_line { None } else { Some(Modes::enter(tty).map_err(hung_up)?) };
        let answer = loop {
            match self.round(modes.as_mut()) {
                Ok(None) => {}
                Ok(Some(answer)) => break Ok(answer),
                Err(closed) => break Err(closed),
            }
        };
        // A denial that was begun remains one, however the prompt ends.
        match (answer, self.dialog.denied()) {
            (Err(PromptClosed::HungUp) | Ok(PromptAnswer::TimedOut { .. }), Some(no)) => Ok(no),
            (answer, _) => answer,
        }
    }

    /// Performs one round: checks the clock, signals and the foreground, draws, waits, and reads.
    fn round(&mut self, modes: Option<&mut Modes<'_>>) -> Result<Option<PromptAnswer>, PromptClosed> {
        self.look_for_the_end()?;
        if self.watch.take(Signal::SIGTSTP) {
            self.pause(modes)?;
            return Ok(None);
        }
        if self.watch.take(Signal::SIGCONT) {
            self.resume(modes)?;
            return Ok(None);
        }
        self.watch.take(Signal::SIGALRM);
        if self.is_late() {
            return Ok(Some(self.timed_out()));
        }
        if !self.tty.is_foreground().map_err(hung_up)? {
            return Err(PromptClosed::Background);
        }
        self.watch.take(Signal::SIGWINCH);
        if self.listen() {
            return Ok(Some(PromptAnswer::Settled));
        }
        self.draw()?;
        let left = self.deadline.saturating_sub(now());
        let most = match (self.decoder.is_waiting(), self.second.is_some()) {
            (true, _) => ESCAPE,
            (false, true) => PACE,
            (false, false) => Duration::from_secs(1),
        };
        let ready = self.watch.wait(self.tty.as_fd(), false, left.min(most)).map_err(failed)?;
        if self.is_late() {
            return Ok(Some(self.timed_out()));
        }
        // A key that was pressed while the process was stopped arrives together with SIGCONT, which is handled first.
        if self.watch.is_called().map_err(failed)? {
            return Ok(None);
        }
        self.read(ready.read)
    }

    /// Polls the reviewer. Returns whether no answer is needed any more.
    fn listen(&mut self) -> bool {
        let Some(second) = &mut self.second else { return false };
        match second.poll() {
            ReviewProgress::Pending { after } => {
                self.asking = Some(u64::try_from(after.as_millis() / 100).unwrap_or(u64::MAX));
                return false;
            }
            // A denial that was begun remains one.
            ReviewProgress::Settled if self.dialog.denied().is_none() => return true,
            ReviewProgress::Settled => {}
            ReviewProgress::Said(said) => {
                if said.denies {
                    self.dialog.overrule();
                    // The screen shows another question, which the person needs time to read.
                    self.shown = None;
                }
                self.view.opinion = Some(said);
                if self.line_by_line {
                    self.shown = None;
                }
            }
        }
        (self.second, self.asking) = (None, None);
        false
    }

    /// Checks for a signal that ends the process.
    fn look_for_the_end(&self) -> Result<(), PromptClosed> {
        match self.watch.fatal() {
            Some(signal) if self.watch.was_typed(signal) => Err(PromptClosed::Interrupted(signal)),
            Some(signal) => Err(PromptClosed::Signal(signal)),
            None => Ok(()),
        }
    }

    fn is_late(&self) -> bool {
        now() >= self.deadline
    }

    fn timed_out(&self) -> PromptAnswer {
        PromptAnswer::TimedOut { seconds: self.waited.saturating_add(self.total) }
    }

    /// Reads and processes input.
    fn read(&mut self, ready: bool) -> Result<Option<PromptAnswer>, PromptClosed> {
        let mut buffer = [0; LONGEST];
        let got = if ready { self.tty.read(&mut buffer).map_err(hung_up)? } else { ReadResult::Nothing };
        // Nobody has read the question yet, so that this input was meant for something else.
        let early = self.shown.is_none_or(|shown| now().saturating_sub(shown) < READING);
        let step = match got {
            ReadResult::End if self.line_by_line => return Ok(Some(self.dialog.denied().unwrap_or(NO))),
            ReadResult::End => return Err(PromptClosed::HungUp),
            ReadResult::Bytes(_) if early => {
                self.decoder.clear();
                self.dialog.hint.get_or_insert("too soon; press it again");
                KeyEffect::On
            }
            ReadResult::Bytes(length) if self.line_by_line => {
                let line = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
                self.shown = None;
                self.dialog.line(&line)
            }
            ReadResult::Bytes(length) => {
                let keys = self.decoder.feed(buffer.get(..length).unwrap_or_default());
                self.keys(&keys)
            }
            ReadResult::Nothing if self.decoder.is_waiting() => match self.decoder.take_pending() {
                Some(key) => self.keys(&[key]),
                None => KeyEffect::On,
            },
            ReadResult::Nothing => KeyEffect::On,
        };
        self.follow(step)
    }

    /// Processes keys. If the card is not visible, only a denial is accepted.
    fn keys(&mut self, keys: &[KeyPress]) -> KeyEffect {
        match keys {
            _ if !self.small => self.dialog.keys(keys),
            [KeyPress::Char('n' | 'N') | KeyPress::Escape | KeyPress::Interrupt | KeyPress::EndOfFile] => {
                KeyEffect::Answered(self.dialog.denied().unwrap_or(NO))
            }
            _ => KeyEffect::On,
        }
    }

    /// Applies the effect of keys to the clock and the result.
    fn follow(&mut self, step: KeyEffect) -> Result<Option<PromptAnswer>, PromptClosed> {
        match step {
            KeyEffect::On => {}
            KeyEffect::Turned => self.shown = None,
            // More input of the same paste may follow.
            KeyEffect::Pasted => self.shown = Some(now()),
            KeyEffect::Begun => {
                self.waited = self.waited.saturating_add(self.total);
                self.total = self.prompt.finish_seconds;
                self.deadline = now().saturating_add(Duration::from_secs(self.total.into()));
            }
            KeyEffect::Answered(yes) if is_yes(&yes) && !self.line_by_line => {
                let left = self.deadline.saturating_sub(now());
                let more = self.watch.wait(self.tty.as_fd(), false, ALONE.min(left)).map_err(failed)?;
                if more.read {
                    self.dialog.pasted();
                    self.shown = Some(now());
                } else if self.watch.is_called().map_err(failed)? {
                    // The next round handles the signal.
                } else if !self.is_late() {
                    return Ok(Some(yes));
                }
            }
            KeyEffect::Answered(answer) => return Ok(Some(answer)),
        }
        Ok(None)
    }

    /// Returns the remaining seconds, rounded up.
    fn left(&self) -> u32 {
        let left = self.deadline.saturating_sub(now());
        u32::try_from(left.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).min(self.total)
    }

    /// Restores the terminal and stops the process after Ctrl-Z. The timeout continues.
    fn pause(&mut self, modes: Option<&mut Modes<'_>>) -> Result<(), PromptClosed> {
        let erased = self.screen.erase();
        let _ = self.tty.write(erased.as_bytes());
        match modes {
            Some(modes) => {
                modes.leave();
                self.lock.release();
                self.watch.stop().map_err(failed)?;
                self.resume(Some(modes))
            }
            None => {
                self.lock.release();
                self.watch.stop().map_err(failed)?;
                self.resume(None)
            }
        }
    }

    /// Continues after a stop, and redraws everything below.
    fn resume(&mut self, modes: Option<&mut Modes<'_>>) -> Result<(), PromptClosed> {
        let deadline = self.deadline;
        let watch = self.watch;
        if !self.lock.take(|| now() >= deadline || watch.is_called().unwrap_or(true)).map_err(failed)? {
            // The next round finds the reason.
            return Ok(());
        }
        if self.is_late() {
            return Ok(());
        }
        if !self.tty.is_foreground().map_err(hung_up)? {
            return Err(PromptClosed::Background);
        }
        if let Some(modes) = modes {
            modes.again().map_err(hung_up)?;
        }
        self.screen.forget();
        self.shown = None;
        Ok(())
    }

    /// Removes the card. For an approval one line remains; the caller reports a denial on standard error.
    fn take_away(&mut self, answer: Result<&PromptAnswer, &PromptClosed>) {
        let what = match answer {
            // A command that the reviewer allows is judged again before that is printed.
            Ok(PromptAnswer::Settled) => None,
            Ok(_) if !self.said => None,
            Ok(PromptAnswer::Once) if self.prompt.approvals > 1 => Some("approved by you; more approvers are needed"),
            Ok(answer) => answer.words(self.view.lasts),
            // Another process group has the terminal, or it was closed.
            Err(PromptClosed::Background | PromptClosed::HungUp) => return,
            Err(_) => None,
        };
        let mut out = if self.line_by_line { String::from("\r\n") } else { self.screen.erase() };
        if let Some(what) = what {
            let line = verdict::settled(what, &self.view.command, self.tty.size().columns);
            out.push_str(&line.render(&self.look));
            out.push_str("\r\n");
        }
        // If the terminal does not accept output, the card remains; the answer is valid.
        let _ = self.tty.write(out.as_bytes());
    }
}

/// Reports whether an answer allows the command.
const fn is_yes(answer: &PromptAnswer) -> bool {
    matches!(answer, PromptAnswer::Once | PromptAnswer::Overruled { .. } | PromptAnswer::Session | PromptAnswer::Always)
}
