//! The replacement character, which the judge keeps for bytes that are no text, and what stands for it where it comes from
//! outside.
//!
//! A command, a file, the environment or an answer may hold it too, and must not mean lost bytes by it: what comes in is
//! spelled with another one of the same length, and questions to the world spell it back.

use std::borrow::Cow;

/// What stands for a replacement character that was written: a code point that is no character and will be none.
const REPLACEMENT: char = '\u{fdd0}';

/// What stands for a stand-in that was written. Nothing can be asked about a name that holds one.
const LOST: char = '\u{fdd1}';

/// Whether a text may hold one of them at all: each begins with the byte 0xEF.
pub(super) fn may_hold(bytes: &[u8]) -> bool {
    bytes.contains(&0xef)
}

fn mapped(text: &str, map: impl Fn(char) -> char) -> Cow<'_, str> {
    if may_hold(text.as_bytes()) && text.chars().any(|letter| map(letter) != letter) {
        text.chars().map(map).collect::<String>().into()
    } else {
        text.into()
    }
}

/// A text that comes from outside, without replacement characters. What already is a stand-in would be confused with what
/// it stands for, so it becomes a character that stands for any of them.
#[must_use]
pub fn taken_in(text: &str) -> Cow<'_, str> {
    mapped(text, taken_in_letter)
}

/// As [`taken_in`], of one character.
#[must_use]
pub const fn taken_in_letter(letter: char) -> char {
    match letter {
        char::REPLACEMENT_CHARACTER => REPLACEMENT,
        REPLACEMENT => LOST,
        letter => letter,
    }
}

/// The bytes that `written` spells with escapes, where `written` has come in before: what the escapes spell is new, and
/// where it cannot be told from what stands there, all of it counts as new.
#[must_use]
pub fn unescaped_bytes<'a>(written: &[u8], bytes: &'a [u8]) -> Cow<'a, [u8]> {
    let spells = |pair: &[u8]| matches!(pair, [b'\\', b'u' | b'U' | b'x' | b'0'..=b'7']);
    match may_hold(written) && !written.windows(2).any(spells) {
        true => bytes.into(),
        false => taken_in_bytes(bytes),
    }
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

/// Why the world cannot be asked about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaskableReason {
    /// A part of it was no text.
    NoText,
    /// It holds a character that was lost on the way in.
    Lost,
}

impl UnaskableReason {
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
pub fn given_out(text: &str) -> Result<Cow<'_, str>, UnaskableReason> {
    if may_hold(text.as_bytes()) {
        if text.contains(LOST) {
            return Err(UnaskableReason::Lost);
        }
        if text.contains(char::REPLACEMENT_CHARACTER) {
            return Err(UnaskableReason::NoText);
        }
    }
    Ok(mapped(text, |letter| if letter == REPLACEMENT { char::REPLACEMENT_CHARACTER } else { letter }))
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
        assert_eq!(given_out(&taken), Err(UnaskableReason::Lost));
        assert_eq!(taken_in(&taken), taken);
    }

    #[test]
    fn an_escape_spells_no_stand_in() {
        let stand = "\u{fdd0}".as_bytes();
        // Written itself, and not by an escape.
        assert_eq!(unescaped_bytes(stand, stand), stand);
        assert_eq!(unescaped_bytes(b"\\ufffd", "\u{fffd}".as_bytes()), stand);
        for written in [r"\ufdd0", r"\xef\xb7\x90", r"\357\267\220", r"\U0000fdd0"] {
            for written in [written.to_owned(), format!("{written}\u{fdd0}"), format!("é{written}")] {
                let bytes = unescaped_bytes(written.as_bytes(), stand);
                let bytes = std::str::from_utf8(&bytes).unwrap();
                assert_eq!(given_out(bytes), Err(UnaskableReason::Lost), "{written}");
            }
        }
        assert_eq!(taken_in_letter('\u{fdd0}'), LOST);
        assert_eq!(taken_in_letter('\u{fffd}'), '\u{fdd0}');
        assert_eq!(taken_in_letter('é'), 'é');
    }

    #[test]
    fn what_is_no_text_is_not_asked_about() {
        assert_eq!(given_out("a\u{fffd}"), Err(UnaskableReason::NoText));
        assert_eq!(given_out("a\u{fffd}\u{fdd1}"), Err(UnaskableReason::Lost));
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "",
            "ls",
            "größe",
            "\u{e000}\u{e001}\u{e005}\u{e0f5}\u{fffc}\u{fdd2}\u{fdd7}",
            "\u{50003}\u{f0000}\u{10fffd}",
            "日本",
        ] {
            assert_eq!(taken_in(text), text);
            assert_eq!(given_out(text).unwrap(), text);
        }
        assert_eq!(taken_in_bytes(b"\xff\xfe"), &b"\xff\xfe"[..]);
    }
}
