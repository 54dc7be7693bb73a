//! Wraps the output of verbs to the width of the terminal.
//!
//! Out of scope: asking a person ([`crate::prompt`]).

use std::io::{self, IsTerminal as _, Write};

use crate::prompt::line;
use crate::ui::wrap;

/// Returns the width of standard output, or `None` if it is not a terminal.
#[must_use]
pub fn width() -> Option<usize> {
    io::stdout().is_terminal().then(line::columns)
}

/// Like [`width`], but unlimited if standard output is not a terminal.
#[must_use]
pub fn columns() -> usize {
    width().unwrap_or(usize::MAX)
}

/// Wraps a text to the width of standard output, and ends its last line.
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

/// Prints a text on standard error, wrapped if that is a terminal. Ignores errors.
pub fn complain(text: &str) {
    let mut errors = io::stderr().lock();
    let text = if errors.is_terminal() { complaint(text, line::columns().max(20)) } else { format!("{text}\n") };
    let _ = errors.write_all(text.as_bytes());
}

/// Wraps an error message. Lines after a line that ends with a colon are for copying, and are not wrapped.
fn complaint(text: &str, columns: usize) -> String {
    let (words, copied) = text.split_once(":\n").unwrap_or((text, ""));
    if copied.is_empty() {
        return wrap::text(text, columns);
    }
    format!("{}{}\n", wrap::text(&format!("{words}:"), columns), copied.trim_end())
}

/// Output whose lines are wrapped at blanks if they are wider than the terminal of standard output.
pub(super) struct WrappedOutput<W: Write> {
    to: W,
    columns: Option<usize>,
    line: Vec<u8>,
}

impl<W: Write> WrappedOutput<W> {
    /// Creates it. `wraps` is `false` for output that programs read.
    pub(super) fn over(to: W, wraps: bool) -> Self {
        Self { to, columns: width().filter(|_| wraps), line: Vec::new() }
    }

    /// Writes the current line.
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
