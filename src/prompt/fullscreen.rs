//! Full-screen views on the alternate screen of a terminal, which is restored on every exit.
//!
//! Out of scope: the content of a view, and the meaning of keys.

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

/// Enters the alternate screen, hides the cursor, and enables bracketed paste.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[?2004l\x1b[?25h\x1b[?1049l";

/// The same in a divided window, whose other half is not on the alternate screen.
const ENTER_HALF: &str = "\x1b[?25l\x1b[?2004h\x1b[H\x1b[J";
const LEAVE_HALF: &str = "\x1b[?2004l\x1b[?25h\x1b[H\x1b[J";

/// Maximum time between an escape and the rest of a sequence.
const ESCAPE: Duration = Duration::from_millis(50);

/// Whether a panic has to leave the alternate screen.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScreenEvent {
    /// Keys that arrived together. A person does not type several at once.
    Keys(Vec<KeyPress>),
    /// The screen has to be redrawn: its size changed, or the process was stopped.
    Redraw,
    /// The timeout passed.
    Nothing,
}

/// A terminal in full-screen mode.
pub struct Fullscreen<'a> {
    tty: &'a Tty,
    modes: Modes<'a>,
    watch: Option<Watch>,
    decoder: Decoder,
    look: Look,
    drawn: Vec<String>,
}

/// Calls `work` in full-screen mode.
///
/// # Errors
/// There is no terminal, it cannot be used, or `work` failed.
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
    /// Returns the size of the screen.
    #[must_use]
    pub fn size(&self) -> Size {
        self.tty.size()
    }

    /// Shows these lines from the top. Only changed lines are written.
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

    /// Waits for an event, for at most `time`.
    ///
    /// # Errors
    /// The terminal hung up, another process group has it, or a signal that ends this process arrived.
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

    /// Calls a function that asks on this terminal, on an empty screen.
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
        // Keys that were typed at the other prompt are discarded.
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

    /// Writes a text, or as much as the terminal accepts within a second.
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
        // The modes are restored when they are dropped.
        self.leave();
    }
}

/// Converts a failure of the terminal to an I/O error.
#[must_use]
pub fn closed_error(closed: &PromptClosed) -> io::Error {
    io::Error::other(closed.to_string())
}
