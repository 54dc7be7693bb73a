//! One question being asked: the loop from the first drawing to the answer.

use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::alarm::{Watch, now};
use super::dialog::{Dialog, Step};
use super::keys::Decoder;
use super::lock::Lock;
use super::screen::Screen;
use super::terminal::{Answer, Closed, NO, READING, failed, hung_up};
use super::tty::{Got, Modes, Tty};
use crate::judge::policy::Prompt;
use crate::ui::card::{self, CardState, CardView, Entry, Size};
use crate::ui::explain::{ExplainView, explain};
use crate::ui::style::{Line, Look, Style};
use crate::ui::{verdict, wrap};

/// After a yes, for so long nothing else may arrive: if something does, a machine typed it.
const ALONE: Duration = Duration::from_millis(50);

/// After an escape, for so long a sequence may go on.
const ESCAPE: Duration = Duration::from_millis(50);

/// More than a terminal's input queue holds, so that one read empties it.
const LONGEST: usize = 8192;

/// What is asked, and of what terminal.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) view: &'a CardView,
    pub(super) prompt: &'a Prompt,
    pub(super) explained: &'a ExplainView,
    pub(super) look: Look,
    /// A yes is said when the card is gone; false where it counts only once it is signed.
    pub(super) said: bool,
}

/// One question being asked.
pub(super) struct Asking<'a> {
    tty: &'a Tty,
    watch: &'a Watch,
    lock: &'a Lock,
    view: &'a CardView,
    prompt: &'a Prompt,
    explained: &'a ExplainView,
    look: Look,
    said: bool,
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

impl<'a> Asking<'a> {
    /// A question whose time begins now, on a terminal whose lock is held. With a word, that must be typed.
    pub(super) fn new(
        question: Question<'a>,
        word: Option<String>,
        tty: &'a Tty,
        watch: &'a Watch,
        lock: &'a Lock,
    ) -> Self {
        let Question { view, prompt, explained, look, said } = question;
        let offered = |grant: &Option<String>| prompt.may_grant && grant.is_some();
        Self {
            tty,
            watch,
            lock,
            view,
            prompt,
            explained,
            look,
            said,
            line_by_line: look.dumb || !tty.size().is_enough(),
            dialog: Dialog::new(word, offered(&view.session_grant), offered(&view.standing_grant)),
            screen: Screen::default(),
            decoder: Decoder::default(),
            total: prompt.seconds,
            deadline: now().saturating_add(Duration::from_secs(prompt.seconds.into())),
            shown: None,
            waited: 0,
        }
    }

    /// Until there is an answer. The terminal is as before when this returns.
    pub(super) fn ask(mut self) -> Result<Answer, Closed> {
        let answer = self.run();
        self.settle(answer.as_ref());
        answer
    }

    /// Rounds until there is an answer.
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
            return Err(Closed::Background);
        }
        self.watch.take(Signal::SIGWINCH);
        self.draw()?;
        let left = self.deadline.saturating_sub(now());
        let most = if self.decoder.is_waiting() { ESCAPE } else { Duration::from_secs(1) };
        let ready = self.watch.wait(self.tty.as_fd(), false, left.min(most)).map_err(failed)?;
        if self.is_late() {
            return Ok(Some(self.timed_out()));
        }
        // A key that was pressed while the process was stopped comes together with the signal to go on: that first.
        if self.watch.is_called().map_err(failed)? {
            return Ok(None);
        }
        self.read(ready.read)
    }

    /// Whether a signal has come that ends the process.
    fn look_for_the_end(&self) -> Result<(), Closed> {
        match self.watch.fatal() {
            Some(signal) if self.watch.was_typed(signal) => Err(Closed::Interrupted(signal)),
            Some(signal) => Err(Closed::Signal(signal)),
            None => Ok(()),
        }
    }

    fn is_late(&self) -> bool {
        now() >= self.deadline
    }

    fn timed_out(&self) -> Answer {
        Answer::TimedOut { seconds: self.waited.saturating_add(self.total) }
    }

    /// Reads what was typed, and what it means.
    fn read(&mut self, ready: bool) -> Result<Option<Answer>, Closed> {
        let mut buffer = [0; LONGEST];
        let got = if ready { self.tty.read(&mut buffer).map_err(hung_up)? } else { Got::Nothing };
        // Nobody has read the question yet: what comes now was meant for something else.
        let early = self.shown.is_none_or(|shown| now().saturating_sub(shown) < READING);
        let step = match got {
            Got::End if self.line_by_line => return Ok(Some(self.dialog.denied().unwrap_or(NO))),
            Got::End => return Err(Closed::HungUp),
            Got::Bytes(_) if early => {
                self.decoder.clear();
                self.dialog.hint.get_or_insert("too soon: that was not counted");
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
        self.follow(step)
    }

    /// What a step means for the clock and for the end.
    fn follow(&mut self, step: Step) -> Result<Option<Answer>, Closed> {
        match step {
            Step::On => {}
            Step::Turned => self.shown = None,
            // What belongs to a burst may still be on its way.
            Step::Pasted => self.shown = Some(now()),
            Step::Begun => {
                self.waited = self.waited.saturating_add(self.total);
                self.total = self.prompt.finish_seconds;
                self.deadline = now().saturating_add(Duration::from_secs(self.total.into()));
            }
            Step::Answered(yes @ (Answer::Once | Answer::Session | Answer::Always)) if !self.line_by_line => {
                let left = self.deadline.saturating_sub(now());
                let more = self.watch.wait(self.tty.as_fd(), false, ALONE.min(left)).map_err(failed)?;
                if more.read {
                    self.dialog.pasted();
                    self.shown = Some(now());
                } else if self.watch.is_called().map_err(failed)? {
                    // The next round finds who called.
                } else if !self.is_late() {
                    return Ok(Some(yes));
                }
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
        let bytes = self.screen.draw(&lines, &self.look, size);
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
        let count = all.len();
        let foot = |room: usize| {
            let hint = self.dialog.hint.unwrap_or("space: on, b: back, q: to the card");
            let line = Line::of(Style::Strong, format!("{} s", self.left()));
            let where_ = format!(" · lines {}–{} of {count} · {hint}", top + 1, (top + room).min(count));
            // A line that the terminal wraps by itself would put the next drawing in the wrong place.
            wrap::styled(&line.with(Style::Dim, where_), size.columns.saturating_sub(1))
        };
        let room = size.rows.saturating_sub(2 + foot(count).len()).max(1);
        let foot = foot(room);
        self.dialog.page_lines = room;
        self.dialog.all_lines = count;
        let mut lines: Vec<Line> = all.into_iter().skip(top).take(room).collect();
        lines.push(Line::new());
        lines.extend(foot);
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
                self.watch.wait(self.tty.as_fd(), true, Duration::from_millis(100)).map_err(failed)?;
                self.look_for_the_end()?;
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
        if !self.lock.take(|| now() >= deadline || watch.is_called().unwrap_or(true)).map_err(failed)? {
            // The next round finds why.
            return Ok(());
        }
        if self.is_late() {
            return Ok(());
        }
        if !self.tty.is_foreground().map_err(hung_up)? {
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
            Ok(_) if !self.said => None,
            Ok(Answer::Once) if self.prompt.approvals > 1 => Some("your yes is one of several that are wanted"),
            Ok(answer) => answer.words(),
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
