//! The screen that a verb prints to: how wide it is.
//!
//! What may not enter: where a person is asked, which is [`crate::prompt`].

use std::io::{self, IsTerminal as _, Write};

use crate::prompt::line;
use crate::ui::wrap;

/// The columns of the terminal that standard output is; `None` where it is none.
#[must_use]
pub fn width() -> Option<usize> {
    io::stdout().is_terminal().then(line::columns)
}

/// The same, where what goes elsewhere has lines as long as they are.
#[must_use]
pub fn columns() -> usize {
    width().unwrap_or(usize::MAX)
}

/// A text as standard output shows it: on a terminal no line is wider than that.
#[must_use]
pub fn fitted(text: &str) -> String {
    width().map_or_else(|| text.to_owned(), |columns| wrap::text(text, columns))
}

/// Says it on standard error, on a terminal in lines that fit. What cannot be said there is not said.
pub fn complain(text: &str) {
    let mut errors = io::stderr().lock();
    let text = if errors.is_terminal() { wrap::text(text, line::columns().max(20)) } else { format!("{text}\n") };
    let _ = errors.write_all(text.as_bytes());
}

/// Output whose lines are wrapped at blanks where they are wider than the terminal that standard output is.
pub(super) struct WrappedOutput<W: Write> {
    to: W,
    columns: Option<usize>,
    line: Vec<u8>,
}

impl<W: Write> WrappedOutput<W> {
    /// Over this; `wraps` is false for what programs read.
    pub(super) fn over(to: W, wraps: bool) -> Self {
        Self { to, columns: width().filter(|_| wraps), line: Vec::new() }
    }

    /// Writes out the line so far.
    fn put(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match (self.columns, std::str::from_utf8(&line)) {
            (Some(columns), Ok(text)) if text.ends_with('\n') => {
                self.to.write_all(wrap::text(text, columns).as_bytes())
            }
            _ => self.to.write_all(&line),
        }
    }
}

impl<W: Write> Write for WrappedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.put()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put()?;
        self.to.flush()
    }
}
