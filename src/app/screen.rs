//! The screen that a verb prints to: how wide it is.
//!
//! What may not enter: where a person is asked, which is [`crate::prompt`].

use std::io::{self, IsTerminal as _};

/// The columns of the terminal that standard output is; `None` where it is none.
#[must_use]
pub fn width() -> Option<usize> {
    let columns = || crossterm::terminal::size().map_or(80, |(columns, _)| columns.into());
    io::stdout().is_terminal().then(columns).map(|columns| if columns > 0 { columns } else { 80 })
}

/// The same, where what goes elsewhere has lines as long as they are.
#[must_use]
pub fn columns() -> usize {
    width().unwrap_or(usize::MAX)
}
