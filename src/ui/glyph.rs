//! Glyphs: the units of displayed text.

use std::ops::Range;

use crate::judge::sort;

/// A unit of displayed text, with the bytes for which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyph {
    pub shown: GlyphForm,
    /// The position of the first byte.
    pub start: usize,
    /// The position after the last byte.
    pub end: usize,
}

/// The form in which a character or byte is displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlyphForm {
    /// The character itself.
    Char(char),
    /// The character itself with one accent on it.
    Accented(char, char),
    /// The character itself, followed by its code point, because it is a homoglyph.
    LookAlike(char),
    /// Its name: `⟨ESC⟩`.
    Named(&'static str),
    /// Its code point: `⟨U+202E⟩`.
    Code(char),
    /// An invalid byte: `⟨0xFF⟩`.
    Byte(u8),
    /// `⇥`
    Tab,
    /// `↵`, followed by a new line.
    Newline,
}

/// Returns for each glyph whether it is in one of these byte ranges, in one pass over both.
pub(super) fn covered(glyphs: &[Glyph], ranges: &[Range<usize>]) -> Vec<bool> {
    let mut sorted: Vec<&Range<usize>> = ranges.iter().filter(|range| !range.is_empty()).collect();
    sort::sort_by_key(&mut sorted, |range| range.start);
    let mut sorted = sorted.into_iter().peekable();
    // The end of the ranges that began so far.
    let mut end = 0;
    let one = |glyph: &Glyph| {
        while let Some(range) = sorted.next_if(|range| range.start < glyph.end) {
            end = end.max(range.end);
        }
        glyph.start < end
    };
    glyphs.iter().map(one).collect()
}
