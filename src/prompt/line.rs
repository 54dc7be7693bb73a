//! Reads a line for a subcommand: a name, a code, or a passphrase that is not displayed. It reads the terminal and
//! never standard input.
//!
//! Out of scope: the meaning of the line.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};

use dialoguer::Input;
use dialoguer::theme::Theme;
use nix::sys::termios::{self, FlushArg, LocalFlags, SetArg, SpecialCharacterIndices, Termios};

use super::handover::{Handover, open};
use super::process_seal::ProcessSeal;
use crate::ui::style::Look;
use crate::ui::wrap;

/// Minimum number of columns with which the library can edit a line (with one column it would divide by zero).
const NARROW: usize = 20;

/// Shows a text and a question, and reads a line, without its end.
///
/// # Errors
/// There is no terminal, it hung up, or the line ended without Enter.
pub fn ask(text: &str, question: &str) -> io::Result<String> {
    let question = fitted(question);
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    if look.dumb || columns() < NARROW {
        return read(&open()?, &format!("{text}{question} "));
    }
    let handover = Handover::begin()?;
    // The library redraws only the line of the input after the answer, and no line above it.
    let (above, last) = question.rsplit_once('\n').map_or(("", question.as_str()), |(above, last)| (above, last));
    let line_end = if above.is_empty() { "" } else { "\n" };
    handover.term.write_str(&format!("{text}{above}{line_end}"))?;
    let input = Input::<String>::with_theme(&PlainTheme).with_prompt(last).allow_empty(true);
    let answer = input.interact_text_on(&handover.term);
    answer.map_err(|dialoguer::Error::IO(error)| error)
}

/// Does the same as [`ask`], for input that is not displayed. Ctrl-C and Ctrl-D cancel it.
///
/// # Errors
/// The same as of [`ask`], and when cancelled.
pub fn ask_hidden(text: &str, question: &str) -> io::Result<String> {
    let _sealed = ProcessSeal::begin();
    let terminal = open()?;
    let hidden = EchoOff::begin(&terminal)?;
    (&terminal).write_all(format!("{text}{} ", fitted(question)).as_bytes())?;
    let line = keys(&terminal);
    // Enter was not echoed either.
    (&terminal).write_all(b"\n")?;
    drop(hidden);
    line
}

/// A theme that shows a question without the colon that the library would add.
struct PlainTheme;

impl Theme for PlainTheme {
    fn format_input_prompt(&self, f: &mut dyn fmt::Write, prompt: &str, _: Option<&str>) -> fmt::Result {
        write!(f, "{prompt} ")
    }

    fn format_input_prompt_selection(&self, f: &mut dyn fmt::Write, prompt: &str, typed: &str) -> fmt::Result {
        write!(f, "{prompt} {typed}")
    }
}

/// Returns the number of columns of the terminal; 80 if it is unknown.
#[must_use]
pub fn columns() -> usize {
    let columns = crossterm::terminal::size().map_or(0, |(columns, _)| usize::from(columns));
    if columns > 0 { columns } else { 80 }
}

/// Wraps a question to the width of the terminal, without a newline at its end.
pub(super) fn fitted(question: &str) -> String {
    wrap::text(question, columns().max(20) - 1).trim_end_matches('\n').to_owned()
}

/// Prints a line on the terminal, between two questions.
///
/// # Errors
/// There is no terminal, or it hung up.
pub fn tell(text: &str) -> io::Result<()> {
    (&open()?).write_all(format!("{text}\n").as_bytes())
}

/// Reads the keys of a line, up to Enter.
fn keys(mut terminal: &File) -> io::Result<String> {
    const GIVEN_UP: [u8; 3] = [0x03, 0x04, 0x1b];
    const ERASE: [u8; 2] = [0x08, 0x7f];
    const ERASE_ALL: u8 = 0x15;
    let mut line = Vec::new();
    let mut key = [0];
    loop {
        match terminal.read(&mut key) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal was closed")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        match key[0] {
            b'\n' | b'\r' => return String::from_utf8(line).map_err(io::Error::other),
            ERASE_ALL => line.clear(),
            key if GIVEN_UP.contains(&key) => return Err(io::Error::other("cancelled")),
            key if ERASE.contains(&key) => {
                // Remove all bytes of a character.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            key => line.push(key),
        }
    }
}

fn read(terminal: &File, question: &str) -> io::Result<String> {
    // Keys that were typed before the question appeared are discarded.
    termios::tcflush(terminal, FlushArg::TCIFLUSH)?;
    (&*terminal).write_all(question.as_bytes())?;
    let mut line = String::new();
    BufReader::new(terminal).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.to_owned()),
        None => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal was closed")),
    }
}

/// A terminal without echo. Its modes are restored when this is dropped.
struct EchoOff<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> EchoOff<'a> {
    fn begin(terminal: &'a File) -> io::Result<Self> {
        let before = termios::tcgetattr(terminal)?;
        let mut modes = before.clone();
        // Signal keys would end or stop guard and leave the terminal without echo: they are ordinary keys here.
        modes.local_flags.remove(LocalFlags::ECHO | LocalFlags::ECHONL | LocalFlags::ICANON | LocalFlags::ISIG);
        modes.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        modes.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        termios::tcsetattr(terminal, SetArg::TCSAFLUSH, &modes)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for EchoOff<'_> {
    fn drop(&mut self) {
        // A terminal that hung up has no modes to restore.
        let _ = termios::tcsetattr(self.terminal, SetArg::TCSAFLUSH, &self.before);
    }
}
