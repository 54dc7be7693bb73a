//! The replacement character, which the judge reserves for bytes that are not valid UTF-8, and the stand-in for one
//! that comes from outside.
//!
//! A command, a file, the environment or an answer may contain the replacement character too, which must not be
//! confused with lost bytes: on input it is replaced with a stand-in of the same length, and questions to the world
//! contain the original again.

use std::borrow::Cow;

/// The stand-in for a replacement character in the input: a noncharacter, which Unicode will never assign.
const REPLACEMENT: char = '\u{fdd0}';

/// The stand-in for a stand-in in the input. A name that contains one cannot be queried.
const LOST: char = '\u{fdd1}';

/// Reports whether a text may contain one of them: each begins with the byte 0xEF.
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

/// Returns a text from outside without replacement characters. A stand-in in the text would be ambiguous, so it is
/// replaced with a character that represents all of them.
#[must_use]
pub fn taken_in(text: &str) -> Cow<'_, str> {
    mapped(text, taken_in_letter)
}

/// Converts one character as [`taken_in`] does.
#[must_use]
pub const fn taken_in_letter(letter: char) -> char {
    match letter {
        char::REPLACEMENT_CHARACTER => REPLACEMENT,
        REPLACEMENT => LOST,
        letter => letter,
    }
}

/// Converts the bytes that result from the escapes in `written`, which was converted before. Only the results of
/// escapes are new; if they cannot be told from the rest, all bytes are converted.
#[must_use]
pub fn unescaped_bytes<'a>(written: &[u8], bytes: &'a [u8]) -> Cow<'a, [u8]> {
    let spells = |pair: &[u8]| matches!(pair, [b'\\', b'u' | b'U' | b'x' | b'0'..=b'7']);
    match may_hold(written) && !written.windows(2).any(spells) {
        true => bytes.into(),
        false => taken_in_bytes(bytes),
    }
}

/// Converts bytes as [`taken_in`] does. Bytes that are not valid UTF-8 are unchanged.
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

/// The reason why a name cannot be queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaskableReason {
    /// A part of it was not valid UTF-8.
    NoText,
    /// It contains a character that was lost on input.
    Lost,
}

impl UnaskableReason {
    /// Returns the more severe of two reasons.
    #[must_use]
    pub const fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::NoText, Self::NoText) => Self::NoText,
            _ => Self::Lost,
        }
    }
}

/// Returns a text with the original characters, for questions to the world.
///
/// # Errors
///
/// A part of the text was not valid UTF-8, or was lost on input.
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
        // A stand-in in the input is ambiguous.
        let taken = taken_in(&inside).into_owned();
        assert_eq!(given_out(&taken), Err(UnaskableReason::Lost));
        assert_eq!(taken_in(&taken), taken);
    }

    #[test]
    fn an_escape_spells_no_stand_in() {
        let stand = "\u{fdd0}".as_bytes();
        // The character itself, without an escape.
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
