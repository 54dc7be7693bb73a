//! Wraps text to a width.
//!
//! Prose is wrapped by textwrap. This module wraps what that does not support: styled words, the glyphs of a command,
//! all of which must be displayed, and text in the last column of a table.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::style::{Line, Style, width};
use super::visible::{self, Glyph, GlyphForm};

/// Wraps prose at blanks; a word that is longer than a line is split. Returns at least one line.
#[must_use]
pub fn prose(text: &str, columns: usize) -> Vec<String> {
    // Making characters visible changes the width, so it is done first.
    let text = visible::text(text);
    // Blanks and newlines in the text are not significant, but the library would keep them.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let options = Options::new(columns.max(2))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(&words, options).into_iter().map(Cow::into_owned).collect()
}

/// Wraps lines at blanks. Continuation lines are indented to the last column, which follows a gap of two or more
/// blanks.
#[must_use]
pub fn text(text: &str, columns: usize) -> String {
    /// Minimum width of the last column.
    const LEAST: usize = 24;
    let mut fitted = String::new();
    for line in text.lines() {
        if width(line) <= columns {
            fitted.push_str(line);
            fitted.push('\n');
            continue;
        }
        let from = line.rfind("  ").map_or(0, |at| at + 2);
        let (lead, rest) = line.split_at(from);
        let indent = line.len() - line.trim_start().len();
        let deep = width(lead);
        // On a narrow terminal the description is below the name.
        let below = !lead.trim().is_empty() && columns < deep + LEAST;
        let under = if below { (indent + 2).max(4) } else { deep };
        if below {
            for part in prose(lead, columns.saturating_sub(indent)) {
                fitted.push_str(&format!("{}{part}\n", " ".repeat(indent)));
            }
        }
        for (number, part) in prose(rest, columns.saturating_sub(under).max(LEAST / 2)).iter().enumerate() {
            let before = if number == 0 && !below { lead.to_owned() } else { " ".repeat(under) };
            fitted.push_str(&format!("{before}{part}\n"));
        }
    }
    fitted
}

/// Wraps prose in a style after a label: the label is on the first line, and the others are indented.
#[must_use]
pub fn labelled(label: &Line, style: Style, text: &str, columns: usize) -> Vec<Line> {
    let indent = label.width();
    let lines = prose(text, columns.saturating_sub(indent).max(8));
    lines
        .into_iter()
        .enumerate()
        .map(|(number, text)| {
            let lead = if number == 0 { label.clone() } else { Line::of(Style::Plain, " ".repeat(indent)) };
            lead.with(style, text)
        })
        .collect()
}

/// Wraps a styled sentence at blanks; words keep their styles.
#[must_use]
pub fn styled(line: &Line, columns: usize) -> Vec<Line> {
    hanging(line, columns, 0)
}

/// Does the same as [`styled`], with an indentation of continuation lines.
#[must_use]
pub fn hanging(line: &Line, columns: usize, indent: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut before = 0;
    let mut last = Line::new();
    // The blank before the next word, in the style of the text before it.
    let mut blank = None;
    for (style, text) in line.spans() {
        for word in text.split_inclusive(' ') {
            let bare = word.trim_end();
            if last.width() > before && last.width() + usize::from(blank.is_some()) + width(bare) > columns {
                lines.push(std::mem::replace(&mut last, Line::of(Style::Plain, " ".repeat(indent))));
                before = indent;
            } else if let Some(style) = blank.filter(|_| last.width() > before) {
                last.push(style, " ");
            }
            last.push(*style, bare);
            blank = word.ends_with(' ').then_some(*style);
        }
    }
    lines.push(last);
    lines
}

/// A row of a displayed command: the range of its glyphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrappedRow {
    pub from: usize,
    pub to: usize,
}

/// Splits a command into rows of at most `columns`: after newlines, after the last blank that fits, or anywhere. The
/// rows contain every glyph once and in order.
#[must_use]
pub fn command(glyphs: &[Glyph], columns: usize) -> Vec<WrappedRow> {
    let columns = columns.max(10);
    let mut rows = Vec::new();
    let (mut from, mut used, mut blank) = (0, 0, None);
    let mut at = 0;
    while let Some(glyph) = glyphs.get(at) {
        let wide = glyph.shown.width();
        if used + wide > columns && at > from {
            // A split after a blank is easier to read, unless the row would be half empty.
            let to = blank.filter(|blank| *blank > from + (at - from) / 2).unwrap_or(at);
            rows.push(WrappedRow { from, to });
            (from, at, used, blank) = (to, to, 0, None);
            continue;
        }
        used += wide;
        at += 1;
        match glyph.shown {
            GlyphForm::Char(' ') => blank = Some(at),
            GlyphForm::Newline => {
                rows.push(WrappedRow { from, to: at });
                (from, used, blank) = (at, 0, None);
            }
            _ => {}
        }
    }
    if at > from || rows.is_empty() {
        rows.push(WrappedRow { from, to: at });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{WrappedRow, command, prose, styled, text};
    use crate::ui::style::{Line, Style, width};
    use crate::ui::visible::glyphs;

    /// A command in rows.
    fn rows(text: &str, columns: usize) -> Vec<String> {
        let all = glyphs(text.as_bytes(), &[], false);
        command(&all, columns)
            .into_iter()
            .map(|WrappedRow { from, to }| all[from..to].iter().map(|glyph| glyph.shown.to_string()).collect())
            .collect()
    }

    #[test]
    fn prose_breaks_at_blanks_and_long_words_anywhere() {
        assert_eq!(prose("one two three", 8), ["one two", "three"]);
        assert_eq!(prose("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(prose("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(prose("", 5), [""]);
        assert_eq!(prose(" a  b\n\tc ", 9), ["a b c"]);
        assert_eq!(prose("twenty-one", 8), ["twenty-o", "ne"]);
        assert_eq!(prose("ab", 0), ["ab"]);
    }

    #[test]
    fn what_goes_on_in_the_next_line_stands_under_where_it_began() {
        assert_eq!(text("  a  one two three four five six\n", 29), "  a  one two three four five\n     six\n");
        assert_eq!(text("  name-of-it  one two three\n", 20), "  name-of-it\n    one two three\n");
        assert_eq!(text("one two three\n\n  short\n", 8), "one two\nthree\n\n  short\n");
    }

    #[test]
    fn at_every_width_lines_fit_and_no_word_is_lost() {
        let all = "Since 2026-11-01: 12 commands. 4 ran unasked, 3 were asked about, and five more were refused.\n  indented \
                   text that goes on and on for longer than any window is wide\n12:00  session-of-claude-with-a-name  3 \
                   asked in the last hour, 2 denied in a row\n漢字 in a line that is wide, and as wide as two for each of \
                   漢字漢字漢字\n";
        for columns in [40, 80] {
            let fitted = text(all, columns);
            assert!(fitted.lines().all(|line| width(line) <= columns), "{columns}:\n{fitted}");
            assert_eq!(fitted.split_whitespace().collect::<Vec<_>>(), all.split_whitespace().collect::<Vec<_>>());
            assert!(fitted.lines().filter(|line| line.starts_with("  ")).count() > 1, "{fitted}");
        }
    }

    #[test]
    fn a_command_breaks_after_newlines_and_blanks() {
        assert_eq!(rows("one two three four", 12), ["one two ", "three four"]);
        assert_eq!(rows("one\ntwo", 12), ["one↵", "two"]);
        assert_eq!(rows("one\n", 12), ["one↵"]);
        assert_eq!(rows("a bcdefghijklmnop", 12), ["a bcdefghijk", "lmnop"]);
        assert_eq!(rows("", 12), [""]);
    }

    #[test]
    fn styled_words_keep_their_style() {
        let line = Line::of(Style::Plain, "a very ").with(Style::Danger, "bad").with(Style::Plain, " thing");
        let lines = styled(&line, 10);
        assert_eq!(lines.iter().map(Line::plain).collect::<Vec<_>>(), ["a very bad", "thing"]);
        assert!(lines[0].spans().contains(&(Style::Danger, "bad".to_owned())));
    }
}
