//! A plain question with yes or no, for verbs that a person types: on the terminal itself, never on standard input.
//!
//! What belongs here: the line that is read. Commands are asked about on the card ([`super::terminal`]), which has a
//! deadline and shows what would run.
//!
//! A yes can let a command run or last as a grant, so it is read here and by no library: `dialoguer`, which draws choices
//! ([`super::choose`]), takes its keys from whatever terminal standard input is, and one `y` without Enter.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use nix::libc;
use nix::sys::termios::{self, FlushArg};

/// Shows a text and a question behind it. Only `y` or `yes` means yes; Enter, the end of the file and all else mean no.
///
/// # Errors
/// There is no terminal, or it closed the connection.
pub fn confirm(text: &str, question: &str) -> io::Result<bool> {
    let terminal =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC).open("/dev/tty")?;
    // What was typed before the question was there does not answer it.
    termios::tcflush(&terminal, FlushArg::TCIFLUSH)?;
    (&terminal).write_all(format!("{text}{} ", super::line::fitted(&format!("{question} [y/N]"))).as_bytes())?;
    let mut line = String::new();
    BufReader::new(&terminal).read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
