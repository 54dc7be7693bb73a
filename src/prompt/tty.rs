//! The controlling terminal: opened by itself, never through standard input, and given back as it was found.
//!
//! Keys and modes are handled here and by no library: crossterm has one reader for the process, which takes standard
//! input where that is a terminal and opens `/dev/tty` itself where it is not, so that it cannot be held to the terminal
//! that guard opened, locked and flushed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Mutex, Once, PoisonError};

use nix::errno::Errno;
use nix::libc;
use nix::sys::select::FD_SETSIZE;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::termios::{self, FlushArg, InputFlags, LocalFlags, SetArg, SpecialCharacterIndices, Termios};
use nix::unistd;

use super::split_screen;
use crate::ui::card::Size;

mod request {
    use nix::libc;

    nix::ioctl_read_bad!(window_size, libc::TIOCGWINSZ, libc::winsize);
}

/// The result of a read from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadResult {
    Bytes(usize),
    /// Nothing was there.
    Nothing,
    /// End of file: the terminal is closed, or a line editor's Ctrl-D.
    End,
}

/// The controlling terminal, open for reading and writing without blocking.
#[derive(Debug)]
pub(super) struct Tty {
    file: File,
}

impl Tty {
    /// Opens the controlling terminal.
    ///
    /// # Errors
    /// When the process has none.
    pub(super) fn open() -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/tty")?;
        if usize::try_from(file.as_raw_fd()).is_ok_and(|fd| fd >= FD_SETSIZE) {
            return Err(io::Error::other("too many files are open"));
        }
        Ok(Self { file })
    }

    /// A number that no other terminal of this machine has: the device's, where the system tells it, else the
    /// session's.
    pub(super) fn number(&self) -> u64 {
        let session = || termios::tcgetsid(&self.file).map_or(0, |session| u64::from(session.as_raw().unsigned_abs()));
        guard_system::terminal_number(self.file.as_fd()).unwrap_or_else(session)
    }

    /// Whether this process is in the terminal's foreground group.
    ///
    /// # Errors
    /// When the terminal hung up.
    pub(super) fn is_foreground(&self) -> io::Result<bool> {
        Ok(unistd::tcgetpgrp(&self.file)? == unistd::getpgrp())
    }

    /// Columns and rows that may be drawn on: of the lower half where the window is divided.
    pub(super) fn size(&self) -> Size {
        let Size { columns, rows } = self.whole_size();
        Size { columns, rows: rows - split_screen::rows_above(rows) }
    }

    /// Columns and rows; 80 × 24 where the terminal does not know.
    pub(super) fn whole_size(&self) -> Size {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: TIOCGWINSZ writes one `winsize` through the pointer, which is valid for the call.
        let known = unsafe { request::window_size(self.file.as_raw_fd(), &raw mut size) }.is_ok();
        let or = |value: u16, otherwise: usize| if known && value > 0 { usize::from(value) } else { otherwise };
        Size { columns: or(size.ws_col, 80), rows: or(size.ws_row, 24) }
    }

    /// Reads what is there.
    ///
    /// # Errors
    /// When the terminal hung up, or the process is in the background.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<ReadResult> {
        match (&self.file).read(buffer) {
            Ok(0) => Ok(ReadResult::End),
            Ok(length) => Ok(ReadResult::Bytes(length)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(ReadResult::Nothing),
                _ => Err(error),
            },
        }
    }

    /// Writes as much as the terminal takes now; the number of bytes taken.
    ///
    /// # Errors
    /// When the terminal hung up.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match (&self.file).write(bytes) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Throws away what was typed and not read.
    ///
    /// # Errors
    /// When the terminal hung up.
    pub(super) fn flush_input(&self) -> io::Result<()> {
        Ok(termios::tcflush(&self.file, FlushArg::TCIFLUSH)?)
    }

    /// Whether some program reads this terminal key by key: it is not in its usual line mode.
    pub(super) fn is_raw(&self) -> io::Result<bool> {
        Ok(!termios::tcgetattr(&self.file)?.local_flags.contains(LocalFlags::ICANON))
    }
}

impl AsFd for Tty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether standard input or standard error is the controlling terminal: somebody sits in front of this command.
pub(super) fn is_attended() -> bool {
    // The session of a terminal is told to the processes that it controls, and to no others.
    termios::tcgetsid(io::stdin()).is_ok() || termios::tcgetsid(io::stderr()).is_ok()
}

/// The terminal's modes while keys are read one by one, and the way back: dropped, they are as before.
#[derive(Debug)]
pub(super) struct Modes<'a> {
    tty: &'a Tty,
    before: Termios,
    ours: Termios,
    inside: bool,
}

impl<'a> Modes<'a> {
    /// Enters: keys arrive one by one and are not echoed, output is not held back by Ctrl-S. Signal keys stay signal
    /// keys, so that Ctrl-C reaches the whole group, as it does for any other command.
    ///
    /// # Errors
    /// When the terminal hung up.
    pub(super) fn enter(tty: &'a Tty) -> io::Result<Self> {
        let before = termios::tcgetattr(tty)?;
        let mut modes = Self { tty, ours: before.clone(), before, inside: false };
        modes.again()?;
        Ok(modes)
    }

    /// Enters again, after having been stopped: from whatever modes there are now.
    ///
    /// # Errors
    /// When the terminal hung up.
    pub(super) fn again(&mut self) -> io::Result<()> {
        let now = termios::tcgetattr(self.tty)?;
        if !(self.inside && same(&now, &self.ours)) {
            self.before = now;
        }
        let mut ours = self.before.clone();
        ours.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::IEXTEN);
        ours.local_flags.insert(LocalFlags::ISIG);
        ours.input_flags.remove(InputFlags::IXON | InputFlags::ISTRIP);
        ours.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        ours.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        remember(Some((self.tty.file.try_clone()?, self.before.clone())));
        self.inside = true;
        set(self.tty, &ours)?;
        self.ours = termios::tcgetattr(self.tty)?;
        Ok(())
    }

    /// Gives the modes back, and throws away what was typed too late. Modes that somebody else has set meanwhile (a
    /// shell that took the terminal away) are left alone, unless this process is still the one in front.
    pub(super) fn leave(&mut self) {
        if std::mem::take(&mut self.inside) {
            let front = self.tty.is_foreground().unwrap_or(false);
            // A terminal that hung up has no modes to give back.
            if termios::tcgetattr(self.tty).is_ok_and(|now| front || same(&now, &self.ours)) {
                let _ = self.tty.flush_input();
                let _ = set(self.tty, &self.before);
            }
            remember(None);
        }
    }
}

impl Drop for Modes<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Sets modes now, without waiting for output that may never drain.
fn set(tty: impl AsFd, modes: &Termios) -> nix::Result<()> {
    // From the background, setting modes would stop the process with SIGTTOU unless that is blocked.
    let blocked = SigSet::from(Signal::SIGTTOU);
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let result = loop {
        match termios::tcsetattr(&tty, SetArg::TCSANOW, modes) {
            Err(Errno::EINTR) => {}
            result => break result,
        }
    };
    before.thread_set_mask()?;
    result
}

/// Whether two modes are the same in everything that [`Modes`] changes.
fn same(one: &Termios, other: &Termios) -> bool {
    one.local_flags == other.local_flags
        && one.input_flags == other.input_flags
        && one.output_flags == other.output_flags
        && one.control_chars == other.control_chars
}

/// The terminal to restore if the process panics: a release build aborts without dropping anything.
static PANIC: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Sets what a panic restores.
fn remember(saved: Option<(File, Termios)>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let then = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if let Ok(Some((tty, modes))) = PANIC.try_lock().as_deref() {
                let _ = set(tty, modes);
            }
            then(panic);
        }));
    });
    *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = saved;
}
