//! The replacement character, and what stands for it where it comes from outside.
//!
//! The judge reads bytes that are no text as that character. A command, a file, the environment or an answer may hold it
//! too, and must not mean lost bytes by it: what comes in is spelled with another one of the same length, and questions to
//! the world spell it back.

use std::borrow::Cow;

/// What stands for a replacement character that was written.
const REPLACEMENT: char = '\u{e0ef}';

/// Whether a text may hold one of the two at all: they begin with the bytes 0xEE and 0xEF.
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

/// A text that comes from outside. What already is the stand-in would be confused with what it stands for, so it becomes the
/// replacement character.
#[must_use]
pub fn taken_in(text: &str) -> Cow<'_, str> {
    mapped(text, |letter| match letter {
        char::REPLACEMENT_CHARACTER => Some(REPLACEMENT),
        REPLACEMENT => Some(char::REPLACEMENT_CHARACTER),
        _ => None,
    })
}

/// As [`taken_in`], for bytes that need not be UTF-8 and stay as they are where they are not.
#[must_use]
pub fn taken_in_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !may_hold(bytes) {
        return bytes.into();
    }
    let mut all = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        all.extend_from_slice(taken_in(chunk.valid()).as_bytes());
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
    Some(mapped(text, |letter| (letter == REPLACEMENT).then_some(char::REPLACEMENT_CHARACTER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_holds_no_replacement_character_and_goes_out_as_it_was() {
        let text = "a\u{fffd}b";
        let inside = taken_in(text).into_owned();
        assert_eq!(inside.len(), text.len());
        assert!(!inside.contains(char::REPLACEMENT_CHARACTER));
        assert_eq!(given_out(&inside).unwrap(), text);
        assert_eq!(taken_in_bytes(&[text.as_bytes(), b"\xff"].concat()), [inside.as_bytes(), b"\xff"].concat());
        // A stand-in that was written is none.
        let taken = taken_in(&inside).into_owned();
        assert!(taken.contains(char::REPLACEMENT_CHARACTER) && given_out(&taken).is_none());
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "",
            "ls",
            "größe",
            "\u{e000}\u{e001}\u{e005}\u{e0f5}\u{fffc}",
            "\u{50003}",
            "\u{f0000}",
            "\u{10fffd}",
            "日本",
        ] {
            assert_eq!(taken_in(text), text);
            assert_eq!(given_out(text).unwrap(), text);
        }
        assert_eq!(taken_in_bytes(b"\xff\xfe"), &b"\xff\xfe"[..]);
    }
}
