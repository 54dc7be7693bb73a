//! The controlling terminal, which is opened by its name, never through standard input, and is restored.
//!
//! This module handles keys and modes instead of a library: crossterm has one reader per process, which reads standard
//! input if that is a terminal and otherwise opens `/dev/tty` itself. It cannot be restricted to the terminal that
//! guard opened, locked and flushed.

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
    /// There is no input.
    Nothing,
    /// The end of the file: the terminal is closed, or Ctrl-D in line mode.
    End,
}

/// The controlling terminal, opened for non-blocking reading and writing.
#[derive(Debug)]
pub(super) struct Tty {
    file: File,
}

impl Tty {
    /// Opens the controlling terminal.
    ///
    /// # Errors
    /// The process has none.
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

    /// Returns a number that identifies the terminal: that of the device, or of the session if the device is unknown.
    pub(super) fn number(&self) -> u64 {
        let session = || termios::tcgetsid(&self.file).map_or(0, |session| u64::from(session.as_raw().unsigned_abs()));
        guard_system::terminal_number(self.file.as_fd()).unwrap_or_else(session)
    }

    /// Reports whether this process is in the foreground group of the terminal.
    ///
    /// # Errors
    /// The terminal hung up.
    pub(super) fn is_foreground(&self) -> io::Result<bool> {
        Ok(unistd::tcgetpgrp(&self.file)? == unistd::getpgrp())
    }

    /// Returns the columns and rows for drawing: those of the lower half in a divided window.
    pub(super) fn size(&self) -> Size {
        let Size { columns, rows } = self.whole_size();
        Size { columns, rows: rows - split_screen::rows_above(rows) }
    }

    /// Returns the columns and rows; 80 × 24 if they are unknown.
    pub(super) fn whole_size(&self) -> Size {
        let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: TIOCGWINSZ writes one `winsize` through the pointer, which is valid for the call.
        let known = unsafe { request::window_size(self.file.as_raw_fd(), &raw mut size) }.is_ok();
        let or = |value: u16, otherwise: usize| if known && value > 0 { usize::from(value) } else { otherwise };
        Size { columns: or(size.ws_col, 80), rows: or(size.ws_row, 24) }
    }

    /// Reads available input.
    ///
    /// # Errors
    /// The terminal hung up, or the process is in the background.
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

    /// Writes as much as the terminal accepts. Returns the number of bytes.
    ///
    /// # Errors
    /// The terminal hung up.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match (&self.file).write(bytes) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Discards unread input.
    ///
    /// # Errors
    /// The terminal hung up.
    pub(super) fn flush_input(&self) -> io::Result<()> {
        Ok(termios::tcflush(&self.file, FlushArg::TCIFLUSH)?)
    }

    /// Reports whether a program reads single keys from this terminal: it is not in line mode.
    pub(super) fn is_raw(&self) -> io::Result<bool> {
        Ok(!termios::tcgetattr(&self.file)?.local_flags.contains(LocalFlags::ICANON))
    }
}

impl AsFd for Tty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Reports whether standard input or standard error is the controlling terminal, so that a user sees this command.
pub(super) fn is_attended() -> bool {
    // The call succeeds only for the controlling terminal of the process.
    termios::tcgetsid(io::stdin()).is_ok() || termios::tcgetsid(io::stderr()).is_ok()
}

/// The modes for reading single keys. The previous ones are restored when this is dropped.
#[derive(Debug)]
pub(super) struct Modes<'a> {
    tty: &'a Tty,
    before: Termios,
    ours: Termios,
    inside: bool,
}

impl<'a> Modes<'a> {
    /// Sets the modes: single keys without echo, and Ctrl-S does not stop output. Signal keys still send signals, so
    /// that Ctrl-C reaches the whole group as for any other command.
    ///
    /// # Errors
    /// The terminal hung up.
    pub(super) fn enter(tty: &'a Tty) -> io::Result<Self> {
        let before = termios::tcgetattr(tty)?;
        let mut modes = Self { tty, ours: before.clone(), before, inside: false };
        modes.again()?;
        Ok(modes)
    }

    /// Sets the modes again after a stop. The current ones become the previous ones.
    ///
    /// # Errors
    /// The terminal hung up.
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

    /// Restores the modes, and discards late input. If another process changed the modes in the meantime (a shell that
    /// took the terminal), they are restored only if this process is still in the foreground.
    pub(super) fn leave(&mut self) {
        if std::mem::take(&mut self.inside) {
            let front = self.tty.is_foreground().unwrap_or(false);
            // A terminal that hung up has no modes to restore.
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

/// Sets modes at once, without waiting for output that may never drain.
fn set(tty: impl AsFd, modes: &Termios) -> nix::Result<()> {
    // In the background, SIGTTOU would stop the process unless it is blocked.
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

/// Reports whether two modes are equal in everything that [`Modes`] changes.
fn same(one: &Termios, other: &Termios) -> bool {
    one.local_flags == other.local_flags
        && one.input_flags == other.input_flags
        && one.output_flags == other.output_flags
        && one.control_chars == other.control_chars
}

/// The terminal to restore after a panic: a release build aborts without dropping anything.
static PANIC: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// Sets the terminal that a panic restores.
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
