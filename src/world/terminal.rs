//! Whether a person sits at guard's own terminal.
//!
//! Out of scope: asking them, which `prompt` does.

use std::fmt;
use std::fs::OpenOptions;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use nix::sys::termios::{self, LocalFlags};
use nix::unistd;

/// Whether a person can be asked at the terminal, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalState {
    /// guard is in the foreground of a terminal that its standard input or standard error is, and that waits for lines.
    PersonHere,
    /// There is no controlling terminal.
    NoTerminal,
    /// The terminal belongs to another process group now.
    Background,
    /// A known agent stands above: whoever sees this terminal is no person.
    AgentAbove(&'static str),
    /// The terminal is in raw mode: a full-screen program is using it.
    ForeignRawMode,
    /// There is a terminal, but neither standard input nor standard error leads to it.
    NotOurTerminal,
}

impl TerminalState {
    /// Whether a person can be asked.
    #[must_use]
    pub const fn is_person_here(&self) -> bool {
        matches!(self, Self::PersonHere)
    }
}

/// A sentence for the refusal.
impl fmt::Display for TerminalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PersonHere => f.write_str("a person is at the terminal"),
            Self::NoTerminal => f.write_str("no one to ask: there is no terminal"),
            Self::Background => f.write_str("no one to ask: guard is not in the foreground of its terminal"),
            Self::AgentAbove(name) => write!(f, "no one to ask: the terminal belongs to an agent ({name})"),
            Self::ForeignRawMode => f.write_str("no one to ask: another program is using the terminal (raw mode)"),
            Self::NotOurTerminal => {
                f.write_str("no one to ask: neither standard input nor standard error is the terminal")
            }
        }
    }
}

/// Looks at the terminal of this process, agents left aside.
#[must_use]
pub(super) fn detect() -> TerminalState {
    let (input, errors) = (std::io::stdin(), std::io::stderr());
    let Some(terminal) = [input.as_fd(), errors.as_fd()].into_iter().find(|fd| is_controlling(*fd)) else {
        let tty = OpenOptions::new().read(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK).open("/dev/tty");
        return if tty.is_ok() { TerminalState::NotOurTerminal } else { TerminalState::NoTerminal };
    };
    if unistd::tcgetpgrp(terminal).ok() != Some(unistd::getpgrp()) {
        return TerminalState::Background;
    }
    match termios::tcgetattr(terminal) {
        Ok(modes) if modes.local_flags.contains(LocalFlags::ICANON) => TerminalState::PersonHere,
        _ => TerminalState::ForeignRawMode,
    }
}

/// The device number of the controlling terminal, when one of the standard streams leads to it.
pub(super) fn device() -> Option<u64> {
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let terminal = [input.as_fd(), output.as_fd(), errors.as_fd()].into_iter().find(|fd| is_controlling(*fd))?;
    // Opened as /dev/tty, it bears the number of that name, which is the same for every terminal.
    guard_system::terminal_number(terminal).or_else(|| {
        let file = std::fs::File::from(terminal.try_clone_to_owned().ok()?);
        file.metadata().ok().map(|metadata| metadata.rdev())
    })
}

/// A terminal whose session is this process's own is its controlling terminal.
fn is_controlling(fd: BorrowedFd<'_>) -> bool {
    termios::tcgetsid(fd).is_ok_and(|session| unistd::getsid(None) == Ok(session))
}
