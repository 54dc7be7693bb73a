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

use super::alarm::{Watch, now};
use super::dialog::{Dialog, Step};
use super::keys::Decoder;
use super::lock::Lock;
use super::screen::Screen;
use super::tty::{Got, Modes, Tty, is_attended};
use crate::judge::policy::Prompt;
use crate::ui::card::{self, CardState, CardView, Entry, Size};
use crate::ui::explain::{ExplainView, explain};
use crate::ui::style::{Line, Look, Style};
use crate::ui::verdict;

/// For so long after a question appears no key answers it: nobody has read it yet.
pub const READING: Duration = Duration::from_millis(300);

/// After an escape, for so long a sequence may go on.
const ESCAPE: Duration = Duration::from_millis(50);

/// What became of a question. Only the first three let anything run.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This time.
    Once,
    /// And again in this session.
    Session,
    /// And from now on: the grant was shown in words and confirmed.
    Always,
    /// No, with what the person wants the caller to know.
    No { words: Option<String> },
    /// Nobody answered.
    TimedOut { seconds: u32 },
    /// Nobody could be asked, or the question ended without an answer.
    Closed(Closed),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// There is no terminal.
    #[error("there is no terminal here ({0})")]
    NoTerminal(String),
    /// Neither standard input nor standard error is the terminal.
    #[error("nobody sits in front of this command: neither its input nor its errors are the terminal")]
    Unattended,
    /// Another process group has the terminal.
    #[error("this runs in the background of its terminal")]
    Background,
    /// Another program reads the terminal key by key.
    #[error("another program is using the terminal")]
    Busy,
    /// The terminal was closed while asking.
    #[error("the terminal was closed")]
    HungUp,
    /// A signal came while asking. The terminal is restored; the caller should record, then die of it.
    #[error("ended by {0}")]
    Signal(Signal),
    /// Something failed that should not.
    #[error("the terminal cannot be used: {0}")]
    Failed(String),
}

/// Asks at the terminal and waits for the answer, or for the time to pass.
///
/// One card is shown per terminal at a time; waiting for another to be answered costs no time of this one. `runtime` is
/// `XDG_RUNTIME_DIR`, where the lock lies.
pub fn ask(view: &CardView, prompt: &Prompt, explained: &ExplainView, look: Look, runtime: Option<PathBuf>) -> Answer {
    match try_ask(view, prompt, explained, look, runtime) {
        Ok(answer) => answer,
        Err(closed) => Answer::Closed(closed),
    }
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
    if !tty.is_foreground() {
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
fn hung_up(error: io::Error) -> Closed {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EIO | Errno::ENXIO | Errno::ENODEV | Errno::ENOTTY) | None => Closed::HungUp,
        Some(_) => Closed::Failed(error.to_string()),
    }
}

/// A failure of a call that is no terminal's.
fn failed(error: impl std::fmt::Display) -> Closed {
    Closed::Failed(error.to_string())
}

fn try_ask(
    view: &CardView,
    prompt: &Prompt,
    explained: &ExplainView,
    look: Look,
    runtime: Option<PathBuf>,
) -> Result<Answer, Closed> {
    let tty = Tty::open().map_err(|error| Closed::NoTerminal(error.to_string()))?;
    check(&tty).or_else(|why| if why == Closed::Busy { Ok(()) } else { Err(why) })?;
    let lock = Lock::open(tty.number(), runtime.as_deref()).map_err(failed)?;
    lock.take(|| false).map_err(failed)?;
    // Whoever held the lock had the terminal in its own modes: whose it is now counts.
    check(&tty)?;
    let word = if prompt.word { Some(random_word()?) } else { None };
    let line_by_line = look.dumb || !tty.size().is_enough();
    let watch = Watch::begin().map_err(failed)?;
    let mut asking = Asking {
        tty: &tty,
        watch: &watch,
        lock: &lock,
        view,
        prompt,
        explained,
        look,
        line_by_line,
        dialog: Dialog::new(
            word,
            prompt.may_grant && view.session_grant.is_some(),
            prompt.may_grant && view.standing_grant.is_some(),
        ),
        screen: Screen::default(),
        decoder: Decoder::default(),
        total: prompt.seconds,
        deadline: now().saturating_add(Duration::from_secs(prompt.seconds.into())),
        shown: None,
        waited: 0,
    };
    let answer = asking.run();
    asking.settle(answer.as_ref());
    answer
}

/// One question being asked.
struct Asking<'a> {
    tty: &'a Tty,
    watch: &'a Watch,
    lock: &'a Lock,
    view: &'a CardView,
    prompt: &'a Prompt,
    explained: &'a ExplainView,
    look: Look,
    /// The cursor cannot be moved, or there is no room to.
    line_by_line: bool,
    dialog: Dialog,
    screen: Screen,
    decoder: Decoder,
    /// Seconds of the timeout that counts now.
    total: u32,
    deadline: Duration,
    /// When the question on the screen appeared.
    shown: Option<Duration>,
    /// Seconds spent in timeouts before the one that counts now.
    waited: u32,
}

impl Asking<'_> {
    /// Until there is an answer.
    fn run(&mut self) -> Result<Answer, Closed> {
        let tty = self.tty;
        let mut modes = if self.line_by_line { None } else { Some(Modes::enter(tty).map_err(hung_up)?) };
        let answer = loop {
            match self.round(modes.as_mut()) {
                Ok(None) => {}
                Ok(Some(answer)) => break Ok(answer),
                Err(closed) => break Err(closed),
            }
        };
        // A no that was on its way is a no, however it ended.
        match (answer, self.dialog.denied()) {
            (Err(Closed::HungUp) | Ok(Answer::TimedOut { .. }), Some(no)) => Ok(no),
            (answer, _) => answer,
        }
    }

    /// One turn: look at clock, signals and foreground, draw, wait, read.
    fn round(&mut self, modes: Option<&mut Modes<'_>>) -> Result<Option<Answer>, Closed> {
        if let Some(signal) = self.watch.fatal() {
            return Err(Closed::Signal(signal));
        }
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
        if !self.tty.is_foreground() {
            return Err(Closed::Background);
        }
        self.watch.take(Signal::SIGWINCH);
        self.draw()?;
        let left = self.deadline.saturating_sub(now());
        let most = if self.decoder.is_waiting() { ESCAPE } else { Duration::from_secs(1) };
        let ready = self.watch.wait(std::os::fd::AsFd::as_fd(self.tty), false, left.min(most)).map_err(failed)?;
        if self.is_late() {
            return Ok(Some(self.timed_out()));
        }
        self.read(ready.read)
    }

    fn is_late(&self) -> bool {
        now() >= self.deadline
    }

    fn timed_out(&self) -> Answer {
        Answer::TimedOut { seconds: self.waited.saturating_add(self.total) }
    }

    /// Reads what was typed, and what it means.
    fn read(&mut self, ready: bool) -> Result<Option<Answer>, Closed> {
        let mut buffer = [0; 1024];
        let got = if ready { self.tty.read(&mut buffer).map_err(hung_up)? } else { Got::Nothing };
        // Nobody has read the question yet: what comes now was meant for something else.
        let early = self.shown.is_none_or(|shown| now().saturating_sub(shown) < READING);
        let step = match got {
            Got::End if self.line_by_line => {
                return Ok(Some(self.dialog.denied().unwrap_or(Answer::No { words: None })));
            }
            Got::End => return Err(Closed::HungUp),
            Got::Bytes(_) if early => {
                self.decoder.clear();
                Step::On
            }
            Got::Bytes(length) if self.line_by_line => {
                let line = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
                self.shown = None;
                self.dialog.line(&line)
            }
            Got::Bytes(length) => {
                let keys = self.decoder.feed(buffer.get(..length).unwrap_or_default());
                self.dialog.keys(&keys)
            }
            Got::Nothing if self.decoder.is_waiting() => match self.decoder.settle() {
                Some(key) => self.dialog.keys(&[key]),
                None => Step::On,
            },
            Got::Nothing => Step::On,
        };
        match step {
            Step::On => {}
            Step::Turned => self.shown = None,
            Step::Begun => {
                self.waited = self.waited.saturating_add(self.total);
                self.total = self.prompt.finish_seconds;
                self.deadline = now().saturating_add(Duration::from_secs(self.total.into()));
            }
            Step::Answered(answer) => return Ok(Some(answer)),
        }
        Ok(None)
    }

    /// Whole seconds left, the begun one counted.
    fn left(&self) -> u32 {
        let left = self.deadline.saturating_sub(now());
        u32::try_from(left.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).min(self.total)
    }

    /// Shows where things stand.
    fn draw(&mut self) -> Result<(), Closed> {
        if self.line_by_line {
            return self.draw_lines();
        }
        let size = self.tty.size();
        let lines = match self.dialog.page() {
            Some(top) => self.page(top, size),
            None => card::card(self.view, &self.state(), size, &self.look),
        };
        let first = self.shown.is_none();
        let bytes = self.screen.draw(&lines, &self.look, size.columns);
        self.write(&bytes)?;
        if first {
            self.now_shown()?;
        }
        Ok(())
    }

    /// A question has just appeared: what was typed before is thrown away.
    fn now_shown(&mut self) -> Result<(), Closed> {
        self.tty.flush_input().map_err(hung_up)?;
        self.decoder.clear();
        self.shown = Some(now());
        Ok(())
    }

    /// What the card shows of the conversation.
    fn state(&self) -> CardState<'_> {
        CardState {
            prompt: self.prompt,
            left: self.left(),
            total: self.total,
            entry: self.dialog.entry(),
            hint: self.dialog.hint,
        }
    }

    /// A page of the explanation, and the time that goes on.
    fn page(&mut self, top: usize, size: Size) -> Vec<Line> {
        let all = explain(self.explained, size.columns, &self.look);
        let room = size.rows.saturating_sub(3).max(1);
        self.dialog.page_lines = room;
        self.dialog.all_lines = all.len();
        let count = all.len();
        let end = (top + room).min(count);
        let mut lines: Vec<Line> = all.into_iter().skip(top).take(room).collect();
        lines.push(Line::new());
        let hint = self.dialog.hint.unwrap_or("space: on, b: back, q: to the card");
        lines.push(
            Line::of(Style::Strong, format!("{} s", self.left()))
                .with(Style::Dim, format!(" · lines {}–{end} of {count} · {hint}", top + 1)),
        );
        lines
    }

    /// Without a cursor to move: each question once, in lines.
    fn draw_lines(&mut self) -> Result<(), Closed> {
        if self.shown.is_some() {
            return Ok(());
        }
        let size = self.tty.size();
        let mut lines = Vec::new();
        if self.dialog.close_page() {
            lines = explain(self.explained, size.columns, &self.look);
        } else if self.dialog.hint.is_none() && matches!(self.dialog.entry(), Entry::Key | Entry::Word { .. }) {
            lines = card::plain(self.view, self.prompt.may_grant, size.columns, &self.look);
        }
        if let Some(hint) = self.dialog.hint {
            lines.push(Line::of(Style::Plain, hint));
        }
        if let (Entry::Confirm, Some(words)) = (self.dialog.entry(), &self.view.standing_grant) {
            lines.push(Line::of(Style::Plain, format!("always: {words}")));
        }
        let question = match self.dialog.entry() {
            Entry::Key => {
                let session = if self.view.session_grant.is_some() { ", s this session" } else { "" };
                let standing = if self.view.standing_grant.is_some() { ", a always" } else { "" };
                let grants = if self.prompt.may_grant { format!("{session}{standing}") } else { String::new() };
                format!("y once{grants}, n no, ? explain; then Enter ({} s):", self.left())
            }
            Entry::Confirm => format!("y allow always, n no; then Enter ({} s):", self.left()),
            Entry::Words(_) => format!("Why not? ({} s):", self.left()),
            Entry::Word { word, .. } => format!("To run it, type {word} and press Enter ({} s):", self.left()),
        };
        let mut out = String::from("\r\n");
        for line in &lines {
            out.push_str(&line.render(&self.look));
            out.push_str("\r\n");
        }
        out.push_str(&Line::of(Style::Plain, question).render(&self.look));
        out.push(' ');
        self.write(&out)?;
        self.now_shown()
    }

    /// Writes all of it, for as long as there is time.
    fn write(&self, text: &str) -> Result<(), Closed> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let taken = self.tty.write(rest).map_err(hung_up)?;
            rest = rest.get(taken..).unwrap_or_default();
            if taken == 0 {
                // A terminal that takes nothing must not hold the answer up past its time.
                if self.is_late() {
                    return Ok(());
                }
                self.watch
                    .wait(std::os::fd::AsFd::as_fd(self.tty), true, Duration::from_millis(100))
                    .map_err(failed)?;
                if let Some(signal) = self.watch.fatal() {
                    return Err(Closed::Signal(signal));
                }
            }
        }
        Ok(())
    }

    /// Stopped by Ctrl-Z: the terminal goes back, and the clock goes on.
    fn pause(&mut self, modes: Option<&mut Modes<'_>>) -> Result<(), Closed> {
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

    /// Going on after a stop: everything is drawn anew, below.
    fn resume(&mut self, modes: Option<&mut Modes<'_>>) -> Result<(), Closed> {
        let deadline = self.deadline;
        let watch = self.watch;
        if !self.lock.take(|| now() >= deadline).map_err(failed)? {
            // The next round finds that it is late.
            return Ok(());
        }
        if let Some(signal) = watch.fatal() {
            return Err(Closed::Signal(signal));
        }
        if self.is_late() {
            return Ok(());
        }
        if !self.tty.is_foreground() {
            return Err(Closed::Background);
        }
        if let Some(modes) = modes {
            modes.again().map_err(hung_up)?;
        }
        self.screen.forget();
        self.shown = None;
        Ok(())
    }

    /// Takes the card away; one calm line stays of a yes. A no is told by the caller, on standard error.
    fn settle(&mut self, answer: Result<&Answer, &Closed>) {
        let what = match answer {
            Ok(Answer::Once) => Some("allowed once by you"),
            Ok(Answer::Session) => Some("allowed for this session by you"),
            Ok(Answer::Always) => Some("allowed always by you"),
            Ok(Answer::No { .. } | Answer::TimedOut { .. } | Answer::Closed(_)) => None,
            // Somebody else has the terminal, or nobody has it.
            Err(Closed::Background | Closed::HungUp) => return,
            Err(_) => None,
        };
        let mut out = if self.line_by_line { String::from("\r\n") } else { self.screen.erase() };
        if let Some(what) = what {
            let line = verdict::settled(what, &self.view.command, self.tty.size().columns);
            out.push_str(&line.render(&self.look));
            out.push_str("\r\n");
        }
        // If the terminal takes nothing now, the card stays on it; the answer holds.
        let _ = self.tty.write(out.as_bytes());
    }
}

/// Short words that are not mistaken for one another, nor for a shell command.
const WORDS: [&str; 64] = [
    "acorn", "amber", "anchor", "apple", "autumn", "bamboo", "basket", "bottle", "bridge", "bronze", "candle",
    "canyon", "carpet", "castle", "cedar", "cherry", "cloud", "cobalt", "copper", "coral", "cotton", "desert",
    "dolphin", "ember", "falcon", "feather", "forest", "garden", "ginger", "glacier", "hammer", "harbor", "hazel",
    "island", "ivory", "jacket", "jungle", "kettle", "ladder", "lantern", "lemon", "marble", "meadow", "mirror",
    "mountain", "nectar", "ocean", "orange", "orchid", "pepper", "planet", "pocket", "quartz", "ribbon", "river",
    "saddle", "silver", "spider", "summer", "timber", "tulip", "velvet", "walnut", "winter",
];

/// One of them.
fn random_word() -> Result<String, Closed> {
    let random = getrandom::u32().map_err(failed)?;
    // 64 divides 2³², so every word is as likely as any other.
    Ok(WORDS.get(random as usize % WORDS.len()).copied().unwrap_or("acorn").to_owned())
}
