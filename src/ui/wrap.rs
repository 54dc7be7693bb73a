//! Fitting text into columns.

use super::style::{Line, Style, width};
use super::visible::{self, Glyph, Shown};

/// Prose wrapped at blanks; a word longer than a line is cut into lines. At least one line.
#[must_use]
pub fn prose(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    // What is made visible gets wider: before it is measured, not after.
    let text = visible::text(text);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let wide = width(word);
        if used > 0 && used + 1 + wide <= columns {
            line.push(' ');
            line.push_str(word);
            used += 1 + wide;
            continue;
        }
        if used > 0 {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        for c in word.chars() {
            let w = width(c.encode_utf8(&mut [0; 4]));
            if used > 0 && used + w > columns {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += w;
        }
    }
    if used > 0 || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Prose in a style, hanging from a label: the label stands on the first line, the rest is indented below the text.
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

/// A styled sentence wrapped at blanks; words keep their style.
#[must_use]
pub fn styled(line: &Line, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut last = Line::new();
    let mut blank = false;
    for (style, text) in line.spans() {
        for word in text.split_inclusive(' ') {
            let bare = word.trim_end();
            if last.width() > 0 && last.width() + usize::from(blank) + width(bare) > columns {
                lines.push(std::mem::take(&mut last));
            } else if blank && last.width() > 0 {
                last.push(*style, " ");
            }
            last.push(*style, bare);
            blank = word.ends_with(' ');
        }
    }
    lines.push(last);
    lines
}

/// One row of a shown command: which of its glyphs, from and up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub from: usize,
    pub to: usize,
}

/// A command in rows of at most `columns`: cut after newlines, else after the last blank that fits, else anywhere.
/// The rows hold every glyph once and in order.
#[must_use]
pub fn command(glyphs: &[Glyph], columns: usize) -> Vec<Row> {
    let columns = columns.max(10);
    let mut rows = Vec::new();
    let (mut from, mut used, mut blank) = (0, 0, None);
    let mut at = 0;
    while let Some(glyph) = glyphs.get(at) {
        let wide = glyph.shown.width();
        if used + wide > columns && at > from {
            // A cut after a blank is easier to read, unless it would leave a row half empty.
            let to = blank.filter(|blank| *blank > from + (at - from) / 2).unwrap_or(at);
            rows.push(Row { from, to });
            (from, at, used, blank) = (to, to, 0, None);
            continue;
        }
        used += wide;
        at += 1;
        match glyph.shown {
            Shown::Char(' ') => blank = Some(at),
            Shown::Newline => {
                rows.push(Row { from, to: at });
                (from, used, blank) = (at, 0, None);
            }
            _ => {}
        }
    }
    if at > from || rows.is_empty() {
        rows.push(Row { from, to: at });
    }
    rows
}
