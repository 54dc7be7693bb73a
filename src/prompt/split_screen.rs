//! Divides the window into two halves: the upper one shows the actions of another program, and the person's prompts
//! appear in the lower one, as on a smaller terminal.
//!
//! The terminal itself separates the halves: its margins limit scrolling, and its origin is the first row of the lower
//! half. Out of scope: the content of the halves.

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ui::card::Size;
use crate::ui::style::{Line, Look, Style};

/// The minimum number of rows of a window that is divided.
const LEAST: usize = 24;

/// The content of the upper half; `None` if the window is not divided.
static UPPER: Mutex<Option<UpperPane>> = Mutex::new(None);

#[derive(Debug)]
struct UpperPane {
    title: String,
    /// The lines, newest last.
    lines: Vec<String>,
    look: Look,
    /// Whether it has lines that are not drawn yet.
    changed: bool,
}

/// A divided window, until this is dropped.
#[derive(Debug)]
pub struct SplitScreen(());

impl SplitScreen {
    /// Divides the window; `None` if it is too small or cannot be drawn on.
    #[must_use]
    pub fn begin(title: &str, look: Look) -> Option<Self> {
        let size = window();
        if look.dumb || !size.is_enough() || size.rows < LEAST {
            return None;
        }
        *upper() = Some(UpperPane { title: title.to_owned(), lines: Vec::new(), look, changed: false });
        let halves = Self(());
        // Both halves are empty at first; earlier output is in the scrollback buffer.
        let away = format!("\x1b[{};1H{}", size.rows, "\n".repeat(size.rows));
        write(&(away + &divided(size).unwrap_or_default()));
        Some(halves)
    }

    /// Adds lines to the upper half. They appear with the next drawing of the lower half.
    pub fn add(text: &str) {
        if let Some(upper) = upper().as_mut() {
            upper.lines.extend(text.lines().map(str::to_owned));
            upper.changed = true;
        }
    }
}

impl Drop for SplitScreen {
    fn drop(&mut self) {
        let rows = window().rows;
        let last = changed().unwrap_or_default();
        // Later output is below the upper half, which remains.
        let from = rows_above(rows) + 1;
        *upper() = None;
        write(&format!("{last}\x1b[?6l\x1b[r\x1b[{from};1H\x1b[J"));
    }
}

/// Returns the columns and rows of the whole window; 0 if they are unknown.
fn window() -> Size {
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    Size { columns: columns.into(), rows: rows.into() }
}

fn upper() -> MutexGuard<'static, Option<UpperPane>> {
    UPPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of rows of the upper half of a window; 0 if the window is not divided.
pub(super) fn rows_above(rows: usize) -> usize {
    if upper().is_none() || rows < LEAST { 0 } else { (rows * 2 / 5).clamp(9, 18) }
}

/// Reports whether the window is divided.
pub(super) fn is_divided() -> bool {
    upper().is_some()
}

/// Returns the bytes that draw both halves of a window of this size: the lower one is empty, with the cursor at its
/// start. `None` if the window is not divided.
pub(super) fn divided(size: Size) -> Option<String> {
    let above = rows_above(size.rows);
    let mut upper = upper();
    let upper = upper.as_mut()?;
    // Terminals differ in the margins that they have after a change of their size, so they are reset.
    let mut out = String::from("\x1b[?6l\x1b[r\x1b[H\x1b[J");
    if above > 0 {
        out.push_str(&upper.drawn(above, size.columns));
        out.push_str(&format!("\x1b[{};{}r\x1b[?6h\x1b[H", above + 1, size.rows));
    }
    upper.changed = false;
    Some(out)
}

/// Returns the bytes that draw the upper half if it has changed. The cursor does not move.
pub(super) fn changed() -> Option<String> {
    // Usually nothing has changed, so this check is first.
    if !upper().as_ref().is_some_and(|upper| upper.changed) {
        return None;
    }
    let size = window();
    let above = rows_above(size.rows);
    let mut upper = upper();
    let upper = upper.as_mut().filter(|_| above > 0)?;
    upper.changed = false;
    Some(format!("\x1b7\x1b[?6l{}\x1b8", upper.drawn(above, size.columns)))
}

impl UpperPane {
    /// Returns the bytes that draw the upper half from the top of the window, with a horizontal line as its last row.
    fn drawn(&self, above: usize, columns: usize) -> String {
        let room = above - 1;
        let rows: Vec<String> = self.lines.iter().flat_map(|line| rows_of(line, columns)).collect();
        let mut out = String::new();
        let newest = rows.iter().skip(rows.len().saturating_sub(room));
        for (number, row) in newest.map(Some).chain(std::iter::repeat(None)).take(room).enumerate() {
            let style = if row.is_some_and(|row| row.starts_with("$ ")) { Style::Strong } else { Style::Plain };
            let row = row.map(|row| Line::of(style, row).render(&self.look)).unwrap_or_default();
            out.push_str(&format!("\x1b[{};1H{row}\x1b[K", number + 1));
        }
        let dash = if self.look.ascii { "-" } else { "─" };
        let title = format!("{} {} ", dash.repeat(2), self.title);
        let rest = columns.saturating_sub(title.chars().count() + 1);
        let rule = title.chars().take(columns.saturating_sub(1)).collect::<String>() + &dash.repeat(rest);
        out.push_str(&format!("\x1b[{above};1H{}\x1b[K", Line::of(Style::Dim, rule).render(&self.look)));
        out
    }
}

/// Wraps a line of the upper half.
fn rows_of(line: &str, columns: usize) -> Vec<String> {
    if line.is_empty() {
        return vec![String::new()];
    }
    crate::ui::wrap::prose(line, columns.saturating_sub(1))
}

/// Writes to standard output. Failures are ignored, because the terminal may be closed.
fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::UpperPane;
    use crate::ui::style::Look;

    #[test]
    fn the_upper_half_shows_its_newest_lines_and_a_rule() {
        let lines: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
        let upper = UpperPane { title: "an agent".to_owned(), lines, look: Look::PLAIN, changed: true };
        let drawn = upper.drawn(9, 40);
        assert!(drawn.contains("line 29") && drawn.contains("line 22") && !drawn.contains("line 21"), "{drawn}");
        assert!(drawn.contains("\x1b[9;1H") && drawn.contains(" an agent "), "{drawn}");
    }
}
