//! The window in two halves: what somebody else does above, and below it the person's own questions, which are asked there as
//! on a smaller terminal.
//!
//! The terminal itself keeps the halves apart: its margins hold what scrolls, and its origin is the first row of the lower
//! half. Out of scope: what either half shows.

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ui::card::Size;
use crate::ui::style::{Line, Look, Style};

/// A window with fewer rows is not divided.
const LEAST: usize = 24;

/// The upper half, as it was last given; `None` where the window is whole.
static UPPER: Mutex<Option<UpperPane>> = Mutex::new(None);

#[derive(Debug)]
struct UpperPane {
    title: String,
    /// The newest last.
    lines: Vec<String>,
    look: Look,
    /// It was given something that is not drawn yet.
    changed: bool,
}

/// The window while it is divided. Dropped, it is whole again.
#[derive(Debug)]
pub struct SplitScreen(());

impl SplitScreen {
    /// Divides the window; `None` where it is too small for that, or cannot be drawn on.
    #[must_use]
    pub fn begin(title: &str, look: Look) -> Option<Self> {
        let size = window();
        if look.dumb || !size.is_enough() || size.rows < LEAST {
            return None;
        }
        *upper() = Some(UpperPane { title: title.to_owned(), lines: Vec::new(), look, changed: false });
        let halves = Self(());
        // Above and below begin empty; what stood there can be scrolled back to.
        let away = format!("\x1b[{};1H{}", size.rows, "\n".repeat(size.rows));
        write(&(away + &divided(size).unwrap_or_default()));
        Some(halves)
    }

    /// Adds lines to the upper half. They are drawn with the lower half's next drawing.
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
        // What comes next stands below the upper half, which stays.
        let from = rows_above(rows) + 1;
        *upper() = None;
        write(&format!("{last}\x1b[?6l\x1b[r\x1b[{from};1H\x1b[J"));
    }
}

/// Columns and rows of the whole window; none where nobody knows.
fn window() -> Size {
    let (columns, rows) = crossterm::terminal::size().unwrap_or_default();
    Size { columns: columns.into(), rows: rows.into() }
}

fn upper() -> MutexGuard<'static, Option<UpperPane>> {
    UPPER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many rows the upper half takes of a window, 0 where it is whole.
pub(super) fn rows_above(rows: usize) -> usize {
    if upper().is_none() || rows < LEAST { 0 } else { (rows * 2 / 5).clamp(9, 18) }
}

/// Whether the window is divided.
pub(super) fn is_divided() -> bool {
    upper().is_some()
}

/// What draws both halves of a window of this size anew, the lower one empty and the cursor at its start; `None` where the
/// window was not divided.
pub(super) fn divided(size: Size) -> Option<String> {
    let above = rows_above(size.rows);
    let mut upper = upper();
    let upper = upper.as_mut()?;
    // The margins that a terminal has after it changed its size are its own affair.
    let mut out = String::from("\x1b[?6l\x1b[r\x1b[H\x1b[J");
    if above > 0 {
        out.push_str(&upper.drawn(above, size.columns));
        out.push_str(&format!("\x1b[{};{}r\x1b[?6h\x1b[H", above + 1, size.rows));
    }
    upper.changed = false;
    Some(out)
}

/// What draws the upper half where it has changed, and leaves the cursor where it was.
pub(super) fn changed() -> Option<String> {
    // Most of the time there is nothing, and nothing is opened.
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
    /// The rows of the upper half from the top of the window, a rule as its last.
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

/// A line of the upper half in rows that fit.
fn rows_of(line: &str, columns: usize) -> Vec<String> {
    if line.is_empty() {
        return vec![String::new()];
    }
    crate::ui::wrap::prose(line, columns.saturating_sub(1))
}

/// Shows it. A terminal that is gone shows nothing.
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
