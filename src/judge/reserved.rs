//! Characters that the judge keeps for itself, and what stands for them where they come from outside.
//!
//! Values that are not known are written into text as such characters. A command, a file, the environment or an answer
//! may hold them too, and must not mean by them what the judge means: what comes in is spelled with characters that mean
//! nothing, one for one and of the same length, and questions to the world spell them back.

use std::borrow::Cow;

/// The first character that every later one is kept with.
const PRIVATE: u32 = 0xf_0000;
/// Where characters from [`PRIVATE`] on are moved to: two planes without a character, in as many bytes.
const MOVED: u32 = 0x5_0000;
/// What stands for the object replacement character, and after it for each of U+E001 to U+E005: code points that are no
/// characters and will be none.
const OBJECT: char = '\u{fdd0}';

/// What stands for a replacement character that was written: the judge reads one as bytes that are no text.
const REPLACEMENT: char = '\u{fdd6}';

/// What stands for a stand-in that was written. Nothing can be asked about a name that holds one.
const LOST: char = '\u{fdd7}';

/// The character that stands for one that is kept; `None` for all others.
fn stand_in(letter: char) -> Option<char> {
    match letter as u32 {
        0xfffc => Some(OBJECT),
        at @ 0xe001..=0xe005 => char::from_u32(at - 0xe001 + 0xfdd1),
        at @ PRIVATE.. => char::from_u32(at - PRIVATE + MOVED),
        _ => None,
    }
}

/// The kept character that this one stands for.
fn original(letter: char) -> Option<char> {
    match letter as u32 {
        at @ 0xfdd1..=0xfdd5 => char::from_u32(at - 0xfdd1 + 0xe001),
        at @ MOVED..=0x6_ffff => char::from_u32(at - MOVED + PRIVATE),
        _ if letter == OBJECT => Some('\u{fffc}'),
        _ if letter == REPLACEMENT => Some(char::REPLACEMENT_CHARACTER),
        _ if letter == LOST => Some(LOST),
        _ => None,
    }
}

/// Whether a text may hold one of them at all: each begins with a byte from 0xEE on.
pub(super) fn may_hold(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte >= 0xee)
}

fn mapped(text: &str, map: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    if may_hold(text.as_bytes()) && text.chars().any(|letter| map(letter).is_some()) {
        text.chars().map(|letter| map(letter).unwrap_or(letter)).collect::<String>().into()
    } else {
        text.into()
    }
}

/// A text that comes from outside, without kept characters. What already is a stand-in would be confused with what it
/// stands for, so it becomes a character that stands for any of them.
#[must_use]
pub fn taken_in(text: &str) -> Cow<'_, str> {
    mapped(text, |letter| Some(taken_in_letter(letter)).filter(|taken| *taken != letter))
}

/// As [`taken_in`], for text that came in before: stand-ins stay.
fn kept_out(text: &str) -> Cow<'_, str> {
    mapped(text, stand_in)
}

/// As [`taken_in`], of one character.
#[must_use]
pub fn taken_in_letter(letter: char) -> char {
    match letter {
        char::REPLACEMENT_CHARACTER => REPLACEMENT,
        letter => stand_in(letter).or(original(letter).map(|_| LOST)).unwrap_or(letter),
    }
}

/// The bytes that `written` spells with escapes, where `written` has come in before: what the escapes spell is new, and
/// where it cannot be told from what stands there, all of it counts as new.
#[must_use]
pub fn unescaped_bytes<'a>(written: &[u8], bytes: &'a [u8]) -> Cow<'a, [u8]> {
    let spells = |pair: &[u8]| matches!(pair, [b'\\', b'u' | b'U' | b'x' | b'0'..=b'7']);
    match may_hold(written) && !written.windows(2).any(spells) {
        true => mapped_bytes(bytes, kept_out),
        false => taken_in_bytes(bytes),
    }
}

/// As [`taken_in`], for bytes that need not be UTF-8 and stay as they are where they are not.
#[must_use]
pub fn taken_in_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    mapped_bytes(bytes, taken_in)
}

fn mapped_bytes(bytes: &[u8], map: fn(&str) -> Cow<'_, str>) -> Cow<'_, [u8]> {
    if !may_hold(bytes) {
        return bytes.into();
    }
    let mut all = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        all.extend_from_slice(map(chunk.valid()).as_bytes());
        all.extend_from_slice(chunk.invalid());
    }
    all.into()
}

/// Why the world cannot be asked about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unaskable {
    /// A part of it was no text.
    NoText,
    /// It holds a character that was lost on the way in.
    Lost,
}

impl Unaskable {
    /// The worse of two reasons.
    #[must_use]
    pub const fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::NoText, Self::NoText) => Self::NoText,
            _ => Self::Lost,
        }
    }
}

/// A text as the world spells it.
///
/// # Errors
///
/// Where a part of it was no text or was lost on the way in.
pub fn given_out(text: &str) -> Result<Cow<'_, str>, Unaskable> {
    if may_hold(text.as_bytes()) {
        if text.contains(LOST) {
            return Err(Unaskable::Lost);
        }
        if text.contains(char::REPLACEMENT_CHARACTER) {
            return Err(Unaskable::NoText);
        }
    }
    Ok(mapped(text, original))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_holds_no_kept_character_and_goes_out_as_it_was() {
        for kept in
            ['\u{fffc}', '\u{fffd}', '\u{e001}', '\u{e005}', '\u{f0000}', '\u{fffff}', '\u{100003}', '\u{10fffd}']
        {
            let text = format!("a{kept}b");
            let inside = taken_in(&text).into_owned();
            assert_eq!(inside.len(), text.len());
            assert!(!inside.contains(kept) && inside.chars().all(|letter| stand_in(letter).is_none()), "{kept:?}");
            assert_eq!(kept_out(&inside), inside);
            assert_eq!(given_out(&inside).unwrap(), text);
            assert_eq!(taken_in_bytes(&[text.as_bytes(), b"\xff"].concat()), [inside.as_bytes(), b"\xff"].concat());
            // A stand-in that was written is none.
            let taken = taken_in(&inside).into_owned();
            assert_eq!(given_out(&taken), Err(Unaskable::Lost));
            assert_eq!(taken_in(&taken), taken);
        }
    }

    #[test]
    fn an_escape_spells_no_stand_in() {
        let (kept, stand) = ("\u{e001}".as_bytes(), "\u{fdd1}".as_bytes());
        // Written itself, and not by an escape.
        assert_eq!(unescaped_bytes(stand, stand), stand);
        assert_eq!(unescaped_bytes(b"\\ue001", kept), stand);
        for written in [r"\ufdd1", r"\xef\xb7\x91", r"\357\267\221", r"\U0000fdd1"] {
            for written in [written.to_owned(), format!("{written}\u{fdd2}"), format!("é{written}")] {
                let bytes = unescaped_bytes(written.as_bytes(), stand);
                let bytes = std::str::from_utf8(&bytes).unwrap();
                assert_eq!(given_out(bytes), Err(Unaskable::Lost), "{written}");
            }
        }
        assert_eq!(taken_in_letter('\u{fdd1}'), LOST);
        assert_eq!(taken_in_letter('\u{e001}'), '\u{fdd1}');
        assert_eq!(taken_in_letter('é'), 'é');
    }

    #[test]
    fn what_is_no_text_is_not_asked_about() {
        assert_eq!(given_out("a\u{fffd}"), Err(Unaskable::NoText));
        assert_eq!(given_out("a\u{fffd}\u{fdd7}"), Err(Unaskable::Lost));
    }

    #[test]
    fn everything_else_stays() {
        for text in ["", "ls", "größe", "\u{e000}\u{e006}\u{efff}\u{e0b0}\u{e0f0}", "\u{1f600}", "日本"] {
            assert_eq!(taken_in(text), text);
            assert_eq!(kept_out(text), text);
            assert_eq!(given_out(text).unwrap(), text);
        }
        assert_eq!(taken_in_bytes(b"\xff\xfe"), &b"\xff\xfe"[..]);
    }
}
