//! Draws a few lines at the cursor, redraws them without flicker, and removes them at the end.
//!
//! It does not use the alternate screen, and changes nothing above the first line.

use crate::ui::card::Size;
use crate::ui::style::{Line, Look};

/// Enables bracketed paste, so that pasted text can be distinguished from typed text.
const PASTES_TOLD: &str = "\x1b[?2004h";

/// Disables bracketed paste; a shell enables it itself.
const PASTES_UNTOLD: &str = "\x1b[?2004l";

/// The lines that were last drawn.
#[derive(Debug, Default)]
pub(super) struct Screen {
    lines: Vec<String>,
    /// The size of the window in which they were drawn.
    size: Option<Size>,
}

impl Screen {
    /// Returns the bytes that show these lines in a window of this size. The cursor is then at the end of the last
    /// line.
    pub(super) fn draw(&mut self, lines: &[Line], look: &Look, size: Size) -> String {
        let lines: Vec<String> = lines.iter().map(|line| line.render(look)).collect();
        let mut out = String::new();
        let old = std::mem::take(&mut self.lines);
        let before = self.size.replace(size);
        let resized = before.is_some_and(|before| before != size);
        if old.is_empty() {
            begin(size.columns, &mut out);
            out.push_str(PASTES_TOLD);
        } else if resized {
            up(old.len() - 1, &mut out);
            out.push_str("\r\x1b[J");
            scroll_away(size.rows, &mut out);
        } else if old.len() == lines.len() {
            // Only changed lines are written: move up once, and down line by line.
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

    /// Returns the bytes that remove the lines.
    pub(super) fn erase(&mut self) -> String {
        let mut out = String::new();
        if !self.lines.is_empty() {
            up(self.lines.len() - 1, &mut out);
            out.push_str("\r\x1b[J");
            out.push_str(PASTES_UNTOLD);
            self.lines.clear();
        }
        out
    }

    /// Reports whether it was drawn in a window of another size.
    pub(super) fn is_of_another_size(&self, size: Size) -> bool {
        self.size.is_some_and(|before| before != size)
    }

    /// Discards the drawn lines: the next drawing begins below.
    pub(super) fn forget(&mut self) {
        self.lines.clear();
    }
}

/// Moves to the beginning of an empty line. Blanks up to the margin wrap only if the line was not empty; otherwise the
/// carriage return moves to its beginning.
fn begin(columns: usize, out: &mut String) {
    out.push_str(&" ".repeat(columns.saturating_sub(1)));
    out.push_str("\r\x1b[K");
}

/// Scrolls the content of the window into the scrollback buffer, and moves the cursor to the top. After a change of the
/// size the position of the first line is unknown: some terminals rewrap their content, others truncate it.
fn scroll_away(rows: usize, out: &mut String) {
    out.push_str(&format!("\x1b[{rows};1H{}\x1b[H\x1b[J", "\n".repeat(rows)));
}

/// Moves the cursor up.
fn up(lines: usize, out: &mut String) {
    if lines > 0 {
        out.push_str(&format!("\x1b[{lines}A"));
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::Screen;
    use crate::ui::card::Size;
    use crate::ui::style::{Line, Look, Style};

    fn lines(texts: &[&str]) -> Vec<Line> {
        texts.iter().map(|text| Line::of(Style::Plain, text)).collect()
    }

    /// Returns the content of a terminal of 20 × 6 after `before` and these drawings.
    fn shown(before: &str, drawings: &[&[&str]], erase: bool) -> String {
        let mut terminal = vt100::Parser::new(NonZeroU16::new(6).unwrap(), NonZeroU16::new(20).unwrap(), 0);
        let mut screen = Screen::default();
        terminal.process(before.as_bytes());
        for drawing in drawings {
            terminal.process(screen.draw(&lines(drawing), &Look::PLAIN, Size { columns: 20, rows: 6 }).as_bytes());
        }
        if erase {
            terminal.process(screen.erase().as_bytes());
        }
        let rows: Vec<String> = terminal.screen().rows(0, 20).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    #[test]
    fn a_drawing_begins_on_a_line_of_its_own() {
        assert_eq!(shown("above\r\n", &[&["one", "two"]], false), "above\none\ntwo");
        assert_eq!(shown("prompt> ", &[&["one", "two"]], false), "prompt>\none\ntwo");
    }

    #[test]
    fn a_second_drawing_takes_the_place_of_the_first() {
        assert_eq!(shown("above\r\n", &[&["one", "two"], &["one", "2"]], false), "above\none\n2");
        assert_eq!(shown("above\r\n", &[&["one", "two"], &["1"]], false), "above\n1");
        assert_eq!(shown("above\r\n", &[&["one"], &["1", "2", "3"]], false), "above\n1\n2\n3");
        assert_eq!(shown("above\r\n", &[&["1", "2", "3"], &["1", "two", "3"]], false), "above\n1\ntwo\n3");
    }

    #[test]
    fn a_drawing_at_the_bottom_moves_up_with_what_stood_there() {
        let before = "1\r\n2\r\n3\r\n4\r\n5\r\n";
        assert_eq!(shown(before, &[&["a", "b", "c"], &["a", "b", "C"]], false), "3\n4\n5\na\nb\nC");
        assert_eq!(shown(before, &[&["a", "b", "c"]], true), "3\n4\n5");
    }

    #[test]
    fn in_a_window_that_became_smaller_the_drawing_stands_alone_wherever_the_old_one_went() {
        for columns in [20, 12] {
            let cells = |number| NonZeroU16::new(number).unwrap();
            let mut terminal = vt100::Parser::new(cells(6), cells(20), 10);
            let mut screen = Screen::default();
            terminal.process(b"above\r\nme\r\n");
            let size = |columns, rows| Size { columns, rows };
            terminal.process(screen.draw(&lines(&["one", "two", "three"]), &Look::PLAIN, size(20, 6)).as_bytes());
            terminal.screen_mut().set_size(cells(3), cells(12));
            // If a terminal rewraps its content, the drawing takes more lines than before, and the cursor is elsewhere.
            terminal.process(b"one\r\none\r\none\r\none");
            terminal.process(screen.draw(&lines(&["1", "2"]), &Look::PLAIN, size(columns, 3)).as_bytes());
            assert_eq!(terminal.screen().contents(), "1\n2");
        }
    }

    #[test]
    fn nothing_is_left_of_a_drawing_that_was_erased() {
        assert_eq!(shown("above\r\n", &[&["one", "two"]], true), "above");
    }
}
