//! Detects whether a person is at guard's own terminal.
//!
//! Out of scope: asking the person, which `prompt` does.

use std::fmt;
use std::fs::OpenOptions;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use nix::sys::termios::{self, LocalFlags};
use nix::unistd;

/// The state of the terminal: a person can be asked there, or the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalState {
    /// guard is in the foreground of a terminal that its standard input or standard error is connected to, and that is
    /// in line mode.
    PersonHere,
    /// There is no controlling terminal.
    NoTerminal,
    /// Another process group is in the foreground of the terminal.
    Background,
    /// A known agent is an ancestor, so that the terminal is not a person's.
    AgentAbove(&'static str),
    /// The terminal is in raw mode: a full-screen program is using it.
    ForeignRawMode,
    /// There is a terminal, but neither standard input nor standard error is connected to it.
    NotOurTerminal,
}

impl TerminalState {
    /// Reports whether a person can be asked.
    #[must_use]
    pub const fn is_person_here(&self) -> bool {
        matches!(self, Self::PersonHere)
    }
}

/// Formats the state as a sentence for the denial.
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

/// Detects the state of this process's terminal, without regard to agents.
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

/// Returns the device number of the controlling terminal, if a standard stream is connected to it.
pub(super) fn device() -> Option<u64> {
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let terminal = [input.as_fd(), output.as_fd(), errors.as_fd()].into_iter().find(|fd| is_controlling(*fd))?;
    // A descriptor of `/dev/tty` has that file's device number, which is the same for every terminal.
    guard_system::terminal_number(terminal).or_else(|| {
        let file = std::fs::File::from(terminal.try_clone_to_owned().ok()?);
        file.metadata().ok().map(|metadata| metadata.rdev())
    })
}

/// Reports whether a descriptor is the controlling terminal, whose session is that of this process.
fn is_controlling(fd: BorrowedFd<'_>) -> bool {
    termios::tcgetsid(fd).is_ok_and(|session| unistd::getsid(None) == Ok(session))
}
