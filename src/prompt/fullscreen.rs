//! The whole screen of a terminal, for views that a person stays in: drawn on the alternate screen, and given back as it
//! was on every way out.
//!
//! Out of scope: what is shown, and what a key means.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;

pub use super::keys::KeyPress;

use super::answer::{PromptClosed, failed, hung_up};
use super::keys::Decoder;
use super::signal_watch::Watch;
use super::split_screen;
use super::tty::{Modes, ReadResult, Tty};
use crate::ui::card::Size;
use crate::ui::style::{Line, Look};

/// The alternate screen, no cursor, and brackets around what is pasted.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[?2004l\x1b[?25h\x1b[?1049l";

/// The same where the window is divided: the other half is not on the alternate screen.
const ENTER_HALF: &str = "\x1b[?25l\x1b[?2004h\x1b[H\x1b[J";
const LEAVE_HALF: &str = "\x1b[?2004l\x1b[?25h\x1b[H\x1b[J";

/// After an escape, for so long a sequence may go on.
const ESCAPE: Duration = Duration::from_millis(50);

/// Whether a panic has to leave the alternate screen.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// Keys that arrived together: more than one is no person's typing.
    Keys(Vec<KeyPress>),
    /// The screen must be drawn anew: another size, or the process was stopped.
    Redraw,
    /// Nothing, for as long as was to be waited.
    Nothing,
}

/// A terminal whose whole screen is in use.
pub struct Fullscreen<'a> {
    tty: &'a Tty,
    modes: Modes<'a>,
    watch: Option<Watch>,
    decoder: Decoder,
    look: Look,
    drawn: Vec<String>,
}

/// Uses the whole screen for as long as `work` takes.
///
/// # Errors
/// There is no terminal, it cannot be used, or `work` ended so.
pub fn on_screen<T>(
    look: Look,
    work: impl FnOnce(&mut Fullscreen<'_>) -> Result<T, PromptClosed>,
) -> Result<T, PromptClosed> {
    let tty = Tty::open().map_err(|error| PromptClosed::NoTerminal(error.to_string()))?;
    if !tty.is_foreground().map_err(hung_up)? {
        return Err(PromptClosed::Background);
    }
    let watch = Watch::begin(0).map_err(failed)?;
    let modes = Modes::enter(&tty).map_err(hung_up)?;
    let mut full =
        Fullscreen { tty: &tty, modes, watch: Some(watch), decoder: Decoder::default(), look, drawn: Vec::new() };
    full.enter();
    work(&mut full)
}

impl Fullscreen<'_> {
    /// The room there is.
    #[must_use]
    pub fn size(&self) -> Size {
        self.tty.size()
    }

    /// Shows these lines from the top. Only what changed is written.
    ///
    /// # Errors
    /// The terminal hung up.
    pub fn draw(&mut self, lines: &[Line]) -> Result<(), PromptClosed> {
        let lines: Vec<String> = lines.iter().take(self.size().rows).map(|line| line.render(&self.look)).collect();
        let mut out = split_screen::changed().unwrap_or_default();
        for (number, line) in lines.iter().enumerate() {
            if self.drawn.get(number) != Some(line) {
                out.push_str(&format!("\x1b[{};1H{line}\x1b[K", number + 1));
            }
        }
        if self.drawn.len() > lines.len() {
            out.push_str(&format!("\x1b[{};1H\x1b[J", lines.len() + 1));
        }
        self.drawn = lines;
        self.write(&out)
    }

    /// Waits for something to happen, for at most `time`.
    ///
    /// # Errors
    /// The terminal hung up, another process has it, or a signal came that ends this one.
    pub fn wait(&mut self, time: Duration) -> Result<ScreenEvent, PromptClosed> {
        let Some(watch) = &self.watch else { return Err(PromptClosed::Busy) };
        if let Some(signal) = watch.fatal() {
            let typed = watch.was_typed(signal);
            return Err(if typed { PromptClosed::Interrupted(signal) } else { PromptClosed::Signal(signal) });
        }
        if watch.take(Signal::SIGTSTP) {
            self.leave();
            self.modes.leave();
            if let Some(watch) = &self.watch {
                watch.stop().map_err(failed)?;
            }
            if !self.tty.is_foreground().map_err(hung_up)? {
                return Err(PromptClosed::Background);
            }
            self.modes.again().map_err(hung_up)?;
            self.enter();
            return Ok(ScreenEvent::Redraw);
        }
        let watch = self.watch.as_ref().ok_or(PromptClosed::Busy)?;
        let resized = watch.take(Signal::SIGWINCH);
        if watch.take(Signal::SIGCONT) || resized {
            self.drawn.clear();
            let anew = split_screen::divided(self.tty.whole_size());
            self.write(anew.as_deref().unwrap_or("\x1b[2J"))?;
            return Ok(ScreenEvent::Redraw);
        }
        if !self.tty.is_foreground().map_err(hung_up)? {
            return Err(PromptClosed::Background);
        }
        let most = if self.decoder.is_waiting() { ESCAPE } else { time };
        let ready = watch.wait(self.tty.as_fd(), false, most.min(time)).map_err(failed)?;
        if !ready.read {
            return Ok(self.decoder.take_pending().map_or(ScreenEvent::Nothing, |key| ScreenEvent::Keys(vec![key])));
        }
        let mut buffer = [0; 4096];
        match self.tty.read(&mut buffer).map_err(hung_up)? {
            ReadResult::End => Err(PromptClosed::HungUp),
            ReadResult::Nothing => Ok(ScreenEvent::Nothing),
            ReadResult::Bytes(length) => {
                let mut keys = self.decoder.feed(buffer.get(..length).unwrap_or_default());
                keys.retain(|key| *key != KeyPress::Report);
                Ok(if keys.is_empty() { ScreenEvent::Nothing } else { ScreenEvent::Keys(keys) })
            }
        }
    }

    /// Lets something else ask on this terminal meanwhile, on an empty screen.
    ///
    /// # Errors
    /// The terminal hung up.
    pub fn meanwhile<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, PromptClosed> {
        self.write("\x1b[H\x1b[J\x1b[?25h")?;
        self.modes.leave();
        self.watch = None;
        let done = work();
        self.watch = Some(Watch::begin(0).map_err(failed)?);
        self.modes.again().map_err(hung_up)?;
        self.drawn.clear();
        self.decoder.clear();
        // What was typed at the other question does not count here.
        self.tty.flush_input().map_err(hung_up)?;
        self.write(ENTER_HALF)?;
        Ok(done)
    }

    fn enter(&mut self) {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let then = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if INSIDE.load(Ordering::SeqCst)
                    && let Ok(mut tty) = OpenOptions::new().write(true).open("/dev/tty")
                {
                    let _ = tty.write_all(LEAVE.as_bytes());
                }
                then(panic);
            }));
        });
        INSIDE.store(true, Ordering::SeqCst);
        self.drawn.clear();
        let _ = self.write(if split_screen::is_divided() { ENTER_HALF } else { ENTER });
    }

    fn leave(&self) {
        let _ = self.write(if split_screen::is_divided() { LEAVE_HALF } else { LEAVE });
        INSIDE.store(false, Ordering::SeqCst);
    }

    /// Writes all of it, or as much as the terminal takes within a second.
    fn write(&self, text: &str) -> Result<(), PromptClosed> {
        let mut rest = text.as_bytes();
        for _ in 0..100 {
            if rest.is_empty() {
                break;
            }
            let taken = self.tty.write(rest).map_err(hung_up)?;
            rest = rest.get(taken..).unwrap_or_default();
            if taken == 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }
}

impl Drop for Fullscreen<'_> {
    fn drop(&mut self) {
        // The modes go back by themselves.
        self.leave();
    }
}

/// A failure of the terminal, as an error of input and output.
#[must_use]
pub fn closed_error(closed: &PromptClosed) -> io::Error {
    io::Error::other(closed.to_string())
}
