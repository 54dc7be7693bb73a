//! Makes every byte of a command visible.
//!
//! Characters that are not displayed, or not as themselves (controls, escape sequences, bidirectional overrides,
//! zero-width and tag characters, invalid UTF-8, homoglyphs in command words), are written in brackets: `⟨ESC⟩`,
//! `⟨U+202E⟩`, `⟨0xFF⟩`. Such a bracket in the command itself is written in the same way, so that it cannot be forged.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use unicode_width::UnicodeWidthChar as _;

pub use super::glyph::{Glyph, GlyphForm};
use super::lookalike::{self, is_dash};

impl GlyphForm {
    /// Reports whether the user should be warned about it.
    #[must_use]
    pub const fn is_odd(self) -> bool {
        matches!(self, Self::LookAlike(_) | Self::Named(_) | Self::Code(_) | Self::Byte(_))
    }

    /// Returns its width in columns.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Self::Char(c) | Self::Accented(c, _) => c.width().unwrap_or(0),
            Self::LookAlike(c) => c.width().unwrap_or(0) + code_width(c),
            Self::Named(name) => name.len() + 2,
            Self::Code(c) => code_width(c),
            Self::Byte(_) => 6,
            Self::Tab => 2,
            Self::Newline => 1,
        }
    }
}

/// Returns the width of `⟨U+202E⟩`.
const fn code_width(c: char) -> usize {
    match c as u32 {
        0x10_0000.. => 10,
        0x1_0000.. => 9,
        _ => 8,
    }
}

impl fmt::Display for GlyphForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Char(c) => write!(f, "{c}"),
            Self::Accented(c, accent) => write!(f, "{c}{accent}"),
            Self::LookAlike(c) => write!(f, "{c}⟨U+{:04X}⟩", u32::from(*c)),
            Self::Named(name) => write!(f, "⟨{name}⟩"),
            Self::Code(c) => write!(f, "⟨U+{:04X}⟩", u32::from(*c)),
            Self::Byte(byte) => write!(f, "⟨0x{byte:02X}⟩"),
            Self::Tab => f.write_str("⇥ "),
            Self::Newline => f.write_str("↵"),
        }
    }
}

/// Returns the glyphs of a command, in order and without omissions. `words` are the byte ranges of its command words,
/// in which a letter that is not ASCII is displayed with its code point; with `ascii`, everything that is not ASCII is.
#[must_use]
pub fn glyphs(bytes: &[u8], words: &[Range<usize>], ascii: bool) -> Vec<Glyph> {
    let mut all: Vec<Glyph> = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut at = all.last().map_or(0, |glyph| glyph.end);
        for c in chunk.valid().chars() {
            let end = at + c.len_utf8();
            if let Some(base) = all.last_mut()
                && !ascii
                && let GlyphForm::Char(letter) = base.shown
                && is_accent(c, letter)
            {
                base.shown = GlyphForm::Accented(letter, c);
                base.end = end;
            } else {
                let shown = if ascii && !c.is_ascii() { GlyphForm::Code(c) } else { of_char(c) };
                all.push(Glyph { shown, start: at, end });
            }
            at = end;
        }
        for byte in chunk.invalid() {
            all.push(Glyph { shown: GlyphForm::Byte(*byte), start: at, end: at + 1 });
            at += 1;
        }
    }
    lookalike::mark(&mut all, words);
    all
}

/// Returns how a character is displayed.
fn of_char(c: char) -> GlyphForm {
    match c {
        '\n' => GlyphForm::Newline,
        '\t' => GlyphForm::Tab,
        ' '..='~' => GlyphForm::Char(c),
        _ => match name(c) {
            Some(name) => GlyphForm::Named(name),
            None if hides(c) || is_own(c) || c.width().unwrap_or(0) == 0 => GlyphForm::Code(c),
            None => GlyphForm::Char(c),
        },
    }
}

/// Returns the usual name of an ASCII control character.
const fn name(c: char) -> Option<&'static str> {
    Some(match c {
        '\0' => "NUL",
        '\x01' => "SOH",
        '\x02' => "STX",
        '\x03' => "ETX",
        '\x04' => "EOT",
        '\x05' => "ENQ",
        '\x06' => "ACK",
        '\x07' => "BEL",
        '\x08' => "BS",
        '\t' => "TAB",
        '\n' => "LF",
        '\x0b' => "VT",
        '\x0c' => "FF",
        '\r' => "CR",
        '\x0e' => "SO",
        '\x0f' => "SI",
        '\x10' => "DLE",
        '\x11' => "DC1",
        '\x12' => "DC2",
        '\x13' => "DC3",
        '\x14' => "DC4",
        '\x15' => "NAK",
        '\x16' => "SYN",
        '\x17' => "ETB",
        '\x18' => "CAN",
        '\x19' => "EM",
        '\x1a' => "SUB",
        '\x1b' => "ESC",
        '\x1c' => "FS",
        '\x1d' => "GS",
        '\x1e' => "RS",
        '\x1f' => "US",
        '\x7f' => "DEL",
        _ => return None,
    })
}

/// Reports whether a character is invisible, changes the direction of others, or looks like a blank.
#[must_use]
pub const fn hides(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{a0}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{ffff}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}

/// Reports whether a character is one that guard itself uses as a mark.
const fn is_own(c: char) -> bool {
    matches!(c, '⟨' | '⟩' | '⇥' | '↵')
}

/// Reports whether a combining character is an ordinary accent of a letter (file names of macOS). Strokes and several
/// accents are not ordinary.
fn is_accent(c: char, letter: char) -> bool {
    match c {
        '\u{300}'..='\u{333}' | '\u{339}'..='\u{345}' => letter.is_alphabetic(),
        _ => c.width() == Some(0) && c.is_alphabetic() && letter.is_alphabetic() && !letter.is_ascii() && !hides(c),
    }
}

/// Returns the characters in a command that are not displayed as themselves, each once, in order.
#[must_use]
pub fn oddities(glyphs: &[Glyph]) -> Vec<GlyphForm> {
    let mut found: Vec<GlyphForm> = Vec::new();
    for glyph in glyphs.iter().filter(|glyph| glyph.shown.is_odd()) {
        // The list is limited, because a command may contain very many of them.
        if found.len() < 64 && !found.contains(&glyph.shown) {
            found.push(glyph.shown);
        }
    }
    found
}

/// Describes the effect of a character that is not displayed as itself; empty for others.
#[must_use]
pub fn meaning(shown: GlyphForm) -> &'static str {
    match shown {
        GlyphForm::Named("ESC") => "starts a terminal control sequence",
        GlyphForm::Named("CR") => "a carriage return, after which text overwrites the line",
        GlyphForm::Named("BS") => "a backspace, which erases the character before it",
        GlyphForm::Named("NUL") => "a zero byte",
        GlyphForm::Named(_) => "a control character",
        GlyphForm::Byte(_) => "a byte that is not UTF-8",
        GlyphForm::LookAlike(c) if is_dash(c) => "a dash, not the hyphen of an option",
        GlyphForm::LookAlike(_) => "a letter from another script",
        GlyphForm::Code(c) => match c {
            '\u{80}'..='\u{9f}' => "a control character",
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                "changes the direction of text"
            }
            '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}' | '\u{180e}' | '\u{34f}' => {
                "takes no space"
            }
            '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3164}' => {
                "looks like a space but is not one"
            }
            '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "a variation of the character before it",
            '\u{e0000}'..='\u{e007f}' => "an invisible tag",
            _ => "not shown literally",
        },
        GlyphForm::Char(_) | GlyphForm::Accented(..) | GlyphForm::Tab | GlyphForm::Newline => "",
    }
}

/// Makes bytes visible on one line, for paths, names and short quotations.
#[must_use]
pub fn line(bytes: &[u8], ascii: bool) -> String {
    glyphs(bytes, &[], ascii).iter().map(|glyph| glyph.shown.to_string()).collect()
}

/// Makes prose safe to print: characters that are not plain text are written in brackets. A second call changes
/// nothing.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    let plain = |c: char| is_own(c) || matches!(of_char(c), GlyphForm::Char(_));
    let mut out = String::new();
    // The letter for a following accent.
    let mut letter = None;
    let mut clean = true;
    for (at, c) in text.char_indices() {
        let is_plain = plain(c);
        let stays = is_plain || letter.is_some_and(|letter| is_accent(c, letter));
        if clean && !stays {
            clean = false;
            out.push_str(text.get(..at).unwrap_or_default());
        }
        if !clean {
            match c {
                '\n' | '\t' => out.push(' '),
                c if stays => out.push(c),
                c => out.push_str(&of_char(c).to_string()),
            }
        }
        letter = is_plain.then_some(c);
    }
    if clean { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// Converts text to ASCII of the same width: guard's marks are replaced by similar characters, others by a question
/// mark. ([`glyphs`] has converted the text of a command before.)
pub(super) fn ascii(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            ' '..='~' => out.push(c),
            '┃' | '│' => out.push('|'),
            '•' => out.push('*'),
            '·' | '–' | '—' | '─' => out.push('-'),
            '━' => out.push('='),
            '▸' | '›' | '⟩' | '⇥' => out.push('>'),
            '⟨' | '‹' => out.push('<'),
            '↵' => out.push('$'),
            '├' | '└' => out.push('+'),
            '█' | '■' => out.push('#'),
            '░' | '□' => out.push('.'),
            '“' | '”' => out.push('"'),
            '‘' | '’' => out.push('\''),
            '…' => out.push('~'),
            c => out.extend(std::iter::repeat_n('?', c.width().unwrap_or(0))),
        }
    }
}

#[cfg(test)]
mod tests;
