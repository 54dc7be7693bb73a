//! Displays a command in rows, marks the parts that have findings, and reports every truncation.

use std::ops::Range;

use super::card_view::CardView;
use super::glyph;
use super::style::{Line, Look, Style};
use super::visible::{self, Glyph, GlyphForm};
use super::wrap;
use crate::judge::risk::Tier;
use crate::judge::syntax::tree::Span;

/// Returns the line that says how much is omitted.
pub(super) fn more(lines: usize, columns: usize) -> Line {
    let noun = if lines == 1 { "line" } else { "lines" };
    let how = if columns < 45 { "press ?" } else { "press ? to see all" };
    Line::of(Style::Strong, format!("… {lines} more {noun}: {how}"))
}

/// A command in rows.
pub(super) struct Command {
    glyphs: Vec<Glyph>,
    rows: Vec<wrap::WrappedRow>,
    columns: usize,
    /// For each glyph, whether it is part of a finding.
    danger: Vec<bool>,
    /// Whether marks are drawn below the rows, because there is no colour.
    carets: bool,
}

impl Command {
    /// The minimum number of lines of a command: the marked part, an omission, the end.
    pub(super) const LEAST: usize = 3;

    /// Creates it from a view, with rows of at most `columns`.
    pub(super) fn new(view: &CardView, columns: usize, look: &Look) -> Self {
        let words: Vec<Range<usize>> = view.words.iter().map(|span| first_word(&view.command, *span)).collect();
        let glyphs = visible::glyphs(&view.command, &words, look.ascii);
        let rows = wrap::command(&glyphs, columns);
        let worst = view.risk.findings.iter().map(|finding| finding.tier).max().unwrap_or_default();
        let danger: Vec<Range<usize>> = view
            .risk
            .findings
            .iter()
            .filter(|finding| finding.tier >= Tier::Medium || finding.tier == worst)
            .map(|finding| finding.span.start as usize..finding.span.end as usize)
            .collect();
        let danger = glyph::covered(&glyphs, &danger);
        Self { glyphs, rows, columns, danger, carets: !look.color }
    }

    /// Returns a line for each kind of character that is not displayed as itself.
    pub(super) fn oddities(&self, columns: usize) -> Vec<Line> {
        let mut kinds: Vec<(&'static str, Vec<String>)> = Vec::new();
        for shown in visible::oddities(&self.glyphs) {
            let meaning = visible::meaning(shown);
            match kinds.iter_mut().find(|(kind, _)| *kind == meaning) {
                Some((_, all)) => all.push(shown.to_string()),
                None => kinds.push((meaning, vec![shown.to_string()])),
            }
        }
        kinds
            .into_iter()
            .flat_map(|(meaning, all)| {
                let mut text = all.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(" ");
                if all.len() > 4 {
                    text.push_str(&format!(" and {} others", all.len() - 4));
                }
                text.push_str(": ");
                text.push_str(meaning);
                wrap::labelled(&Line::of(Style::Odd, "!").with(Style::Plain, " "), Style::Plain, &text, columns)
            })
            .collect()
    }

    /// Returns the glyphs of a row, and whether each is part of a finding.
    fn glyphs(&self, row: wrap::WrappedRow) -> impl Iterator<Item = (&Glyph, bool)> {
        let danger = self.danger.get(row.from..row.to).unwrap_or_default();
        self.glyphs.get(row.from..row.to).unwrap_or_default().iter().zip(danger.iter().copied())
    }

    /// Reports whether a row contains a part of a finding.
    fn is_marked(&self, row: wrap::WrappedRow) -> bool {
        self.glyphs(row).any(|(_, danger)| danger)
    }

    /// Returns the number of lines of a row.
    fn height_of(&self, row: wrap::WrappedRow, carets: bool) -> usize {
        1 + usize::from(carets && self.is_marked(row))
    }

    /// Returns the number of lines of the whole command.
    pub(super) fn height(&self) -> usize {
        self.rows.iter().map(|row| self.height_of(*row, self.carets)).sum()
    }

    /// Returns all lines.
    pub(super) fn all(&self) -> Vec<Line> {
        self.rows.iter().flat_map(|row| self.row(*row, self.carets)).collect()
    }

    /// Returns at most `room` lines, and at least [`Command::LEAST`]: the first and the last part of a finding, the end,
    /// and the beginning. Lines in between say how much is omitted.
    pub(super) fn lines(&self, room: usize) -> Vec<Line> {
        if self.height() <= room {
            return self.all();
        }
        let room = room.max(Self::LEAST);
        let marked = self.rows.iter().position(|row| self.is_marked(*row)).unwrap_or(0);
        // Blank rows at the end would hide what stands before them.
        let end = self.rows.iter().rposition(|row| !self.is_blank(*row)).unwrap_or(0);
        // With few lines there is no room for marks, and then only for one omission.
        let fitting = |carets: &bool| self.height_shown(&self.marks(&[marked, end]), *carets) <= room;
        let Some(carets) = [self.carets, false].into_iter().find(fitting) else {
            return self.ends(marked, end);
        };
        let mut shown = self.marks(&[marked, end]);
        let last = self.rows.iter().rposition(|row| self.is_marked(*row)).unwrap_or(end);
        let mut add = |number: usize| {
            let Some(row) = shown.get_mut(number) else { return false };
            let before = std::mem::replace(row, true);
            let fits = self.height_shown(&shown, carets) <= room;
            if let Some(row) = shown.get_mut(number) {
                *row = before || fits;
            }
            before || fits
        };
        for number in [last, 0, end.saturating_sub(1)] {
            add(number);
        }
        let _ = (0..self.rows.len()).all(&mut add);
        self.shown(&shown, carets)
    }

    /// Returns for each row whether it is one of these.
    fn marks(&self, numbers: &[usize]) -> Vec<bool> {
        (0..self.rows.len()).map(|number| numbers.contains(&number)).collect()
    }

    /// Reports whether a row contains only blanks.
    fn is_blank(&self, row: wrap::WrappedRow) -> bool {
        self.glyphs(row).all(|(glyph, _)| {
            matches!(glyph.shown, GlyphForm::Tab | GlyphForm::Newline) || glyph.shown == GlyphForm::Char(' ')
        })
    }

    /// Returns the number of lines of these rows and of the lines for the omissions between them.
    fn height_shown(&self, shown: &[bool], carets: bool) -> usize {
        let mut hidden = false;
        let one = |(row, shown): (&wrap::WrappedRow, &bool)| match (*shown, std::mem::replace(&mut hidden, !shown)) {
            (true, _) => self.height_of(*row, carets),
            (false, before) => usize::from(!before),
        };
        self.rows.iter().zip(shown).map(one).sum()
    }

    /// Draws these rows, with lines for the omissions between them.
    fn shown(&self, shown: &[bool], carets: bool) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut hidden = 0;
        for (row, shown) in self.rows.iter().zip(shown) {
            if !shown {
                hidden += 1;
                continue;
            }
            if hidden > 0 {
                lines.push(more(std::mem::take(&mut hidden), self.columns));
            }
            lines.extend(self.row(*row, carets));
        }
        if hidden > 0 {
            lines.push(more(hidden, self.columns));
        }
        lines
    }

    /// Draws a part of a finding and the end, and between them one line about all other rows.
    fn ends(&self, marked: usize, end: usize) -> Vec<Line> {
        let all = [marked.min(end), marked.max(end)];
        let mut rows = all.iter().filter_map(|number| self.rows.get(*number)).flat_map(|row| self.row(*row, false));
        let first = rows.next().unwrap_or_default();
        let hidden = more(self.rows.len().saturating_sub(if marked == end { 1 } else { 2 }), self.columns);
        let last = if marked == end { None } else { rows.next() };
        [first, hidden].into_iter().chain(last).collect()
    }

    /// Draws a row, and the carets below it.
    fn row(&self, row: wrap::WrappedRow, carets: bool) -> Vec<Line> {
        let mut line = Line::new();
        let mut marks = String::new();
        for (glyph, danger) in self.glyphs(row) {
            let style = match glyph.shown {
                shown if shown.is_odd() => Style::Odd,
                GlyphForm::Newline | GlyphForm::Tab => Style::Dim,
                _ if danger => Style::Danger,
                _ => Style::Plain,
            };
            line.push(style, glyph.shown.to_string());
            marks.push_str(&if danger { "^" } else { " " }.repeat(glyph.shown.width()));
        }
        let mut lines = vec![line];
        if carets && marks.contains('^') {
            lines.push(Line::of(Style::Plain, marks.trim_end()));
        }
        lines
    }
}

/// Returns the first word of a part.
fn first_word(command: &[u8], part: Span) -> Range<usize> {
    let (start, end) = (part.start as usize, part.end as usize);
    let text = command.get(start..end.min(command.len())).unwrap_or_default();
    let length = text.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    start..start + length
}
