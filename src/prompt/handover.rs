//! Prepares the terminal for dialoguer: opens it, discards input that was typed ahead, and restores it afterwards, also
//! if a signal ends guard.
//!
//! Out of scope: questions, and the meaning of an answer. Three kinds of questions do not use dialoguer. A passphrase
//! ([`super::line::ask_hidden`]): dialoguer would read it into the buffer of standard input, where it would remain, and
//! which may contain data from a pipe. A command on the card ([`super::terminal`]): dialoguer has no timeouts. Any line
//! if the cursor cannot be moved or the terminal is very narrow: dialoguer would overwrite its own output.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use dialoguer::console::Term;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};
use nix::unistd::dup2_stdin;

use super::signal_watch::is_pending;

/// The signals that restore the terminal before they end guard. Ctrl-C is a key here and not a signal.
const FATAL: [Signal; 3] = [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGQUIT];

/// The terminal while dialoguer uses it, until this is dropped.
///
/// The library reads keys from standard input if that is a terminal; therefore standard input is the terminal that
/// guard opened during the question.
pub(super) struct Handover {
    pub(super) term: Term,
    terminal: File,
    before: Termios,
    /// The previous standard input, if it was open.
    stdin: Option<OwnedFd>,
    actions: Vec<(Signal, SigAction)>,
    mask: SigSet,
}

impl Handover {
    /// Opens the terminal, discards typed input, and sets the modes for single keys.
    ///
    /// # Errors
    /// There is no terminal, or it hung up.
    pub(super) fn begin() -> io::Result<Self> {
        let terminal = open()?;
        let before = termios::tcgetattr(&terminal)?;
        // Ctrl-C is a key, and must not end guard while the cursor is hidden.
        let mask = interrupt().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let mut handover = Self {
            term: Term::read_write_pair(terminal.try_clone()?, terminal.try_clone()?),
            stdin: kept_stdin(),
            actions: given_back_by_signals(&terminal, &before)?,
            terminal,
            before,
            mask,
        };
        handover.take()?;
        Ok(handover)
    }

    fn take(&mut self) -> io::Result<()> {
        // Input that was typed before the question appeared does not answer it. From now on the library reads each key,
        // including Ctrl-C, which would otherwise send a signal if it was pressed between two reads.
        let mut keys = self.before.clone();
        keys.local_flags.remove(LocalFlags::ISIG | LocalFlags::ICANON | LocalFlags::ECHO);
        termios::tcsetattr(&self.terminal, SetArg::TCSAFLUSH, &keys)?;
        Ok(dup2_stdin(&self.terminal)?)
    }

    /// Returns the answer to a question. Cancelling it with Esc or Ctrl-C is an error.
    ///
    /// # Errors
    /// The terminal hung up, or the person cancelled.
    pub(super) fn end<T>(&self, answer: dialoguer::Result<Option<T>>) -> io::Result<T> {
        match answer {
            Ok(Some(picked)) => Ok(picked),
            Ok(None) => Err(io::Error::other("cancelled")),
            Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::Interrupted => {
                // For Ctrl-C the library also sends SIGINT to guard, which is consumed here.
                if is_pending(Signal::SIGINT) {
                    interrupt().wait()?;
                }
                Err(io::Error::other("cancelled"))
            }
            Err(dialoguer::Error::IO(error)) => Err(error),
        }
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        // A terminal that hung up has no modes to restore.
        let _ = self.term.show_cursor();
        let _ = termios::tcsetattr(&self.terminal, SetArg::TCSADRAIN, &self.before);
        if let Some(stdin) = &self.stdin {
            let _ = dup2_stdin(stdin);
        }
        for (signal, action) in &self.actions {
            // SAFETY: `action` is what the system gave for this signal before.
            let _ = unsafe { sigaction(*signal, action) };
        }
        GIVEN_BACK.store(ptr::null_mut(), Ordering::SeqCst);
        // A Ctrl-C that was not handled as an answer now has its usual effect.
        let _ = self.mask.thread_set_mask();
    }
}

/// Opens the controlling terminal.
///
/// # Errors
/// There is none.
pub(super) fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC).open("/dev/tty")
}

fn interrupt() -> SigSet {
    SigSet::from(Signal::SIGINT)
}

fn kept_stdin() -> Option<OwnedFd> {
    use std::os::fd::FromRawFd as _;
    let number = fcntl(io::stdin(), FcntlArg::F_DUPFD_CLOEXEC(3)).ok()?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows its number.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The terminal that a signal restores.
struct SavedTerminal {
    terminal: RawFd,
    modes: libc::termios,
}

static GIVEN_BACK: AtomicPtr<SavedTerminal> = AtomicPtr::new(ptr::null_mut());

/// Restores the terminal and ends the process by the same signal.
extern "C" fn give_back(number: libc::c_int) {
    const SHOW_CURSOR: &[u8] = b"\x1b[?25h\r\n";
    // SAFETY: what the pointer was set to is never freed. The calls are those that POSIX allows in a handler; while it
    // runs all signals are blocked, so that the modes can be set from the background, and the raised one arrives with
    // its default action when this returns.
    unsafe {
        if let Some(before) = GIVEN_BACK.load(Ordering::SeqCst).as_ref() {
            libc::tcsetattr(before.terminal, libc::TCSANOW, &raw const before.modes);
            libc::write(before.terminal, SHOW_CURSOR.as_ptr().cast(), SHOW_CURSOR.len());
        }
        libc::signal(number, libc::SIG_DFL);
        libc::raise(number);
    }
}

/// Installs handlers for the signals that end guard, which restore the terminal, and returns the previous actions.
/// Ignored signals remain ignored.
fn given_back_by_signals(terminal: &File, modes: &Termios) -> nix::Result<Vec<(Signal, SigAction)>> {
    let before = SavedTerminal { terminal: terminal.as_raw_fd(), modes: modes.clone().into() };
    // A handler may read it in another thread while the question ends, so these few bytes are never freed.
    GIVEN_BACK.store(Box::leak(Box::new(before)), Ordering::SeqCst);
    let handler = SigAction::new(SigHandler::Handler(give_back), SaFlags::empty(), SigSet::all());
    let mut actions = Vec::new();
    for signal in FATAL {
        // SAFETY: the handler does only what a handler may do.
        let before = unsafe { sigaction(signal, &handler) }?;
        if matches!(before.handler(), SigHandler::SigIgn) {
            // SAFETY: `before` is what the system gave.
            unsafe { sigaction(signal, &before) }?;
        } else {
            actions.push((signal, before));
        }
    }
    Ok(actions)
}
