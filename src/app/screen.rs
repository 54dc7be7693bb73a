//! The screen that a verb prints to: how wide it is.
//!
//! What may not enter: where a person is asked, which is [`crate::prompt`].

use std::io::{self, IsTerminal as _};

/// The columns of the terminal that standard output is. What goes elsewhere has lines as long as they are.
#[must_use]
pub fn columns() -> usize {
    if !io::stdout().is_terminal() {
        return usize::MAX;
    }
    crossterm::terminal::size().map_or(80, |(columns, _)| if columns > 0 { columns.into() } else { 80 })
}
