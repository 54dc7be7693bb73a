//! The screen that a verb prints to: how wide it is.
//!
//! Out of scope: where a person is asked, which is [`crate::prompt`].

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

/// A text as standard output shows it, its last line ended: on a terminal no line is wider than that.
#[must_use]
pub fn fitted(text: &str) -> String {
    fitted_to(text, width())
}

fn fitted_to(text: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => wrap::text(text, columns),
        None if text.is_empty() || text.ends_with('\n') => text.to_owned(),
        None => format!("{text}\n"),
    }
}

/// Says it on standard error, on a terminal in lines that fit. What cannot be said there is not said.
pub fn complain(text: &str) {
    let mut errors = io::stderr().lock();
    let text = if errors.is_terminal() { complaint(text, line::columns().max(20)) } else { format!("{text}\n") };
    let _ = errors.write_all(text.as_bytes());
}

/// A complaint in lines that fit. What stands below a line that ends with a colon is there to be copied, and is not
/// broken.
fn complaint(text: &str, columns: usize) -> String {
    let (words, copied) = text.split_once(":\n").unwrap_or((text, ""));
    if copied.is_empty() {
        return wrap::text(text, columns);
    }
    format!("{}{}\n", wrap::text(&format!("{words}:"), columns), copied.trim_end())
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

#[cfg(test)]
mod tests {
    use super::{complaint, fitted_to};

    #[test]
    fn the_last_line_is_ended_wherever_it_goes() {
        for columns in [None, Some(80)] {
            assert_eq!(["a", "a\n", ""].map(|text| fitted_to(text, columns)), ["a\n", "a\n", ""]);
        }
    }

    #[test]
    fn what_is_to_be_copied_is_not_broken() {
        let said =
            complaint("guard: fix it, or add this by hand:\n  {\"command\": \"guard\", \"words\": \"a b\"}\n", 30);
        assert_eq!(said, "guard: fix it, or add this by\nhand:\n  {\"command\": \"guard\", \"words\": \"a b\"}\n");
        assert_eq!(complaint("guard: one two three", 12), "guard: one\ntwo three\n");
    }
}
