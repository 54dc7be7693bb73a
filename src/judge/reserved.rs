//! Characters that the judge keeps for itself, and what stands for them where they come from outside.
//!
//! Values that are not known are written into text as such characters. A command, a file, the environment or an answer
//! may hold them too, and must not mean by them what the judge means: what comes in is spelled with characters that mean
//! nothing, one for one and of the same length, and questions to the world spell them back.

use std::borrow::Cow;

/// What stands for the object replacement character, and for each of U+E001 to U+E005.
const OBJECT: char = '\u{e0f0}';

/// What stands for a replacement character that was written: the judge reads one as bytes that are no text.
const REPLACEMENT: char = '\u{e0ef}';

/// The character that stands for one that is kept; `None` for all others.
fn stand_in(letter: char) -> Option<char> {
    match letter as u32 {
        0xfffc => Some(OBJECT),
        at @ 0xe001..=0xe005 => char::from_u32(at + 0xf0),
        _ => None,
    }
}

/// The kept character that this one stands for.
fn original(letter: char) -> Option<char> {
    match letter as u32 {
        at @ 0xe0f1..=0xe0f5 => char::from_u32(at - 0xf0),
        _ if letter == OBJECT => Some('\u{fffc}'),
        _ if letter == REPLACEMENT => Some(char::REPLACEMENT_CHARACTER),
        _ => None,
    }
}

/// Whether a text may hold one of them at all: each begins with the byte 0xEE or 0xEF.
pub(super) fn may_hold(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| matches!(byte, 0xee | 0xef))
}

fn mapped(text: &str, map: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    if may_hold(text.as_bytes()) && text.chars().any(|letter| map(letter).is_some()) {
        text.chars().map(|letter| map(letter).unwrap_or(letter)).collect::<String>().into()
    } else {
        text.into()
    }
}

/// A text that comes from outside, without kept characters. What already is a stand-in would be confused with what it
/// stands for, so it becomes the replacement character.
#[must_use]
pub fn taken_in(text: &str) -> Cow<'_, str> {
    mapped(text, |letter| match letter {
        char::REPLACEMENT_CHARACTER => Some(REPLACEMENT),
        letter => stand_in(letter).or(original(letter).map(|_| char::REPLACEMENT_CHARACTER)),
    })
}

/// As [`taken_in`], for text that may have come in before: stand-ins stay.
#[must_use]
pub fn kept_out(text: &str) -> Cow<'_, str> {
    mapped(text, stand_in)
}

/// As [`kept_out`], of one character.
#[must_use]
pub fn kept_out_letter(letter: char) -> char {
    stand_in(letter).unwrap_or(letter)
}

/// As [`taken_in`], for bytes that need not be UTF-8 and stay as they are where they are not.
#[must_use]
pub fn taken_in_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    mapped_bytes(bytes, taken_in)
}

/// As [`kept_out`], for bytes.
#[must_use]
pub fn kept_out_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    mapped_bytes(bytes, kept_out)
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

/// A text as the world spells it; `None` where a part of it was no text or was lost on the way in.
#[must_use]
pub fn given_out(text: &str) -> Option<Cow<'_, str>> {
    if may_hold(text.as_bytes()) && text.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    Some(mapped(text, original))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_holds_no_kept_character_and_goes_out_as_it_was() {
        for kept in ['\u{fffc}', '\u{fffd}', '\u{e001}', '\u{e005}'] {
            let text = format!("a{kept}b");
            let inside = taken_in(&text).into_owned();
            assert_eq!(inside.len(), text.len());
            assert!(!inside.contains(kept) && inside.chars().all(|letter| stand_in(letter).is_none()), "{kept:?}");
            assert_eq!(kept_out(&inside), inside);
            assert_eq!(given_out(&inside).unwrap(), text);
            assert_eq!(taken_in_bytes(&[text.as_bytes(), b"\xff"].concat()), [inside.as_bytes(), b"\xff"].concat());
            // A stand-in that was written is none.
            let taken = taken_in(&inside).into_owned();
            assert!(taken.contains(char::REPLACEMENT_CHARACTER) && given_out(&taken).is_none());
        }
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "",
            "ls",
            "größe",
            "\u{e000}\u{e006}\u{efff}\u{e0b0}",
            "\u{1f600}",
            "\u{50003}",
            "\u{f0000}",
            "\u{10fffd}",
            "日本",
        ] {
            assert_eq!(taken_in(text), text);
            assert_eq!(kept_out(text), text);
            assert_eq!(given_out(text).unwrap(), text);
        }
        assert_eq!(taken_in_bytes(b"\xff\xfe"), &b"\xff\xfe"[..]);
    }
}
