//! Homoglyphs: letters and dashes that look like others.

use std::ops::Range;

use super::glyph::{Glyph, GlyphForm, covered};

/// Marks letters of other scripts in command words, and in words that also contain ASCII letters.
pub(super) fn mark(all: &mut [Glyph], words: &[Range<usize>]) {
    if all.iter().all(|glyph| glyph.end - glyph.start == 1) {
        return;
    }
    let in_word = covered(all, words);
    let mut from = 0;
    while from < all.len() {
        let is_part = |glyph: &Glyph| match glyph.shown {
            GlyphForm::Char(c) | GlyphForm::Accented(c, _) => c.is_alphanumeric() || "-_‐‑‒–—―−".contains(c),
            _ => false,
        };
        let rest = all.get_mut(from..).unwrap_or_default();
        let length = rest.iter().take_while(|glyph| is_part(glyph)).count();
        let word = rest.get_mut(..length).unwrap_or_default();
        let letters = |test: fn(char) -> bool| {
            word.iter().any(|glyph| matches!(glyph.shown, GlyphForm::Char(c) | GlyphForm::Accented(c, _) if test(c)))
        };
        let mixed = letters(|c| c.is_ascii_alphabetic()) && letters(is_confusable);
        for (place, glyph) in word.iter_mut().enumerate() {
            if let GlyphForm::Char(c) = glyph.shown
                && !c.is_ascii()
                && (in_word.get(from + place).is_some_and(|inside| *inside)
                    || (mixed && is_confusable(c))
                    || (place == 0 && length > 1 && is_dash(c)))
            {
                glyph.shown = GlyphForm::LookAlike(c);
            }
        }
        from += length.max(1);
    }
}

/// Reports whether a letter looks like an ASCII one.
const fn is_confusable(c: char) -> bool {
    matches!(c,
        '\u{131}' | '\u{17f}' | '\u{1c0}'..='\u{1c3}' | '\u{251}' | '\u{261}' | '\u{269}' | '\u{26a}'
        | '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{531}'..='\u{587}' | '\u{13a0}'..='\u{13ff}'
        | '\u{1d00}'..='\u{1d7f}' | '\u{2100}'..='\u{214f}' | '\u{2160}'..='\u{217f}' | '\u{a4d0}'..='\u{a4ff}'
        | '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}')
}

/// Reports whether a character is a dash but not a hyphen; a word that begins with one is not an option.
pub(super) const fn is_dash(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}')
}
