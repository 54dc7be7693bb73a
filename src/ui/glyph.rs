//! The steps of shown text.

use std::ops::Range;

use crate::judge::sort;

/// One step of shown text and the bytes it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyph {
    pub shown: GlyphForm,
    /// Of the first byte in the source.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// How a character or byte is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlyphForm {
    /// As itself.
    Char(char),
    /// As itself with one accent on it.
    Accented(char, char),
    /// As itself, followed by its code point, because it looks like another letter.
    LookAlike(char),
    /// By name: `⟨ESC⟩`.
    Named(&'static str),
    /// By code point: `⟨U+202E⟩`.
    Code(char),
    /// An invalid byte: `⟨0xFF⟩`.
    Byte(u8),
    /// `⇥`
    Tab,
    /// `↵`; what follows stands on a line of its own.
    Newline,
}

/// For each glyph, whether it lies in one of these byte ranges. One pass over both, however many there are.
pub(super) fn covered(glyphs: &[Glyph], ranges: &[Range<usize>]) -> Vec<bool> {
    let mut sorted: Vec<&Range<usize>> = ranges.iter().filter(|range| !range.is_empty()).collect();
    sort::sort_by_key(&mut sorted, |range| range.start);
    let mut sorted = sorted.into_iter().peekable();
    // The end of what has begun so far.
    let mut end = 0;
    let one = |glyph: &Glyph| {
        while let Some(range) = sorted.next_if(|range| range.start < glyph.end) {
            end = end.max(range.end);
        }
        glyph.start < end
    };
    glyphs.iter().map(one).collect()
}
