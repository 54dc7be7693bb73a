//! Drawing in place: a few lines where the cursor was, redrawn without flicker, and taken away at the end.
//!
//! No alternate screen, and nothing above the first line is touched.

use crate::ui::style::{Line, Look};

/// What is on the screen, as it was last drawn.
#[derive(Debug, Default)]
pub(super) struct Screen {
    lines: Vec<String>,
}

impl Screen {
    /// The bytes that make the screen show these lines. The cursor stays at the end of the last.
    pub(super) fn draw(&mut self, lines: &[Line], look: &Look, columns: usize) -> String {
        let lines: Vec<String> = lines.iter().map(|line| line.render(look)).collect();
        let mut out = String::new();
        let old = std::mem::take(&mut self.lines);
        if old.is_empty() {
            begin(columns, &mut out);
        } else if old.len() == lines.len() {
            // Only what changed, bottom up or top down costs the same: go up once, and down line by line.
            if old == lines {
                self.lines = lines;
                return out;
            }
            up(old.len() - 1, &mut out);
            for (number, (old, new)) in old.iter().zip(&lines).enumerate() {
                if number > 0 {
                    out.push_str("\r\n");
                }
                if old != new || number + 1 == lines.len() {
                    out.push('\r');
                    out.push_str(new);
                    out.push_str("\x1b[K");
                }
            }
            self.lines = lines;
            return out;
        } else {
            up(old.len() - 1, &mut out);
            out.push_str("\r\x1b[J");
        }
        out.push_str(&lines.join("\r\n"));
        self.lines = lines;
        out
    }

    /// The bytes that take the lines away.
    pub(super) fn erase(&mut self) -> String {
        let mut out = String::new();
        if !self.lines.is_empty() {
            up(self.lines.len() - 1, &mut out);
            out.push_str("\r\x1b[J");
            self.lines.clear();
        }
        out
    }

    /// What was drawn is no longer where it was: the next drawing begins anew, below.
    pub(super) fn forget(&mut self) {
        self.lines.clear();
    }
}

/// Moves to the start of a line of its own. Blanks up to the margin wrap only if something stood on the line already;
/// where nothing did, the return goes back to the same line.
fn begin(columns: usize, out: &mut String) {
    out.push_str(&" ".repeat(columns.saturating_sub(1)));
    out.push_str("\r\x1b[K");
}

/// Moves the cursor up.
fn up(lines: usize, out: &mut String) {
    if lines > 0 {
        out.push_str(&format!("\x1b[{lines}A"));
    }
}
