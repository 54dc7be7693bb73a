//! Texts in other grammars than that of shells, with a mark for each unknown part.
//!
//! Makefiles, manifests and settings are parsed as plain text. The marks of a text are characters that it does not
//! contain, neither literally nor by an escape, so that no part of it can be mistaken for a mark. Parts of the text are
//! converted to values before other code gets them.

use std::collections::BTreeSet;

use super::act::{Piece, Value};
use super::state::Build as _;

/// The first candidate for a mark, in a private use area of Unicode.
const FIRST: u32 = 0xf_0000;

/// A text with marks for its unknown parts.
#[derive(Debug)]
pub(super) struct MarkedText {
    text: String,
    pieces: Vec<(char, Piece)>,
}

impl MarkedText {
    pub fn new(value: &Value) -> Self {
        Self::beside(value, &[])
    }

    /// Like [`Self::new`], for a text that will be composed with others.
    pub fn beside(value: &Value, others: &[&str]) -> Self {
        let known: String = value.pieces().iter().filter_map(known_text).chain(others.iter().copied()).collect();
        let unknown = value.pieces().iter().filter(|piece| known_text(piece).is_none());
        let pieces: Vec<(char, Piece)> = free_characters(&known).zip(unknown.cloned()).collect();
        let mut marks = pieces.iter().map(|(mark, _)| *mark);
        let mut text = String::new();
        for piece in value.pieces() {
            match known_text(piece) {
                Some(known) => text.push_str(known),
                None => text.extend(marks.next()),
            }
        }
        Self { text, pieces }
    }

    /// Returns the text with its marks, for parsing.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Converts a part of the text to a value.
    pub fn value(&self, part: &str) -> Value {
        let mut value = Value::default();
        let mut from = 0;
        let marks = part.char_indices().filter_map(|(at, letter)| Some((at, letter, self.piece(letter)?)));
        for (at, letter, piece) in marks {
            value.push_text(part.get(from..at).unwrap_or_default());
            value.push_piece(piece);
            from = at + letter.len_utf8();
        }
        value.push_text(part.get(from..).unwrap_or_default());
        value
    }

    /// Converts a composition of parts of the text to a value.
    pub fn filled(&self, composed: &Value) -> Value {
        let mut value = Value::default();
        for piece in composed.pieces() {
            match piece {
                Piece::Text(text) => value.push_value(&self.value(text)),
                other => value.push_piece(other),
            }
        }
        value
    }

    fn piece(&self, mark: char) -> Option<&Piece> {
        self.pieces.iter().find(|(other, _)| *other == mark).map(|(_, piece)| piece)
    }
}

/// Returns the text of a piece. A glob is text here.
fn known_text(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Text(text) | Piece::Glob(text) => Some(text),
        Piece::Unknown(_) => None,
    }
}

/// Returns characters that a text does not contain, in order.
fn free_characters(text: &str) -> impl Iterator<Item = char> + use<> {
    let mut held: BTreeSet<char> = text.chars().filter(|letter| *letter as u32 >= FIRST).collect();
    held.extend(denoted(text));
    (FIRST..=u32::from(char::MAX)).filter_map(char::from_u32).filter(move |letter| !held.contains(letter))
}

/// Returns the characters outside the basic multilingual plane for which a text contains escapes: `\udb80\udc00`,
/// `\U000f0000`, `\u{f0000}`.
fn denoted(text: &str) -> Vec<char> {
    let code = |digits: Option<&str>| u32::from_str_radix(digits.unwrap_or("x"), 16).ok();
    let escaped = |at: usize| {
        let rest = text.get(at + 2..)?;
        if let Some(inside) = rest.strip_prefix('{') {
            return char::from_u32(code(inside.split_once('}').map(|(digits, _)| digits))?);
        }
        let high = code(rest.get(..4))?;
        let low = rest.get(4..).and_then(|rest| code(rest.strip_prefix("\\u")?.get(..4)));
        let long = code(rest.get(..8)).and_then(char::from_u32);
        let pair = low.and_then(|low| char::decode_utf16([high as u16, low as u16]).next()?.ok());
        pair.or(long)
    };
    text.match_indices("\\u").chain(text.match_indices("\\U")).filter_map(|(at, _)| escaped(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::act::{Taint, UnknownReason};
    use super::super::state::unknown;
    use super::*;

    fn composed(before: &str, after: &str) -> Value {
        let mut value = Value::text(before);
        value.push_value(&unknown(UnknownReason::CommandOutput, Taint::default()));
        value.push_text(after);
        value
    }

    #[test]
    fn what_is_cut_out_is_the_value_again() {
        let value = composed("all:\n\trm ", "/x\n");
        let marked = MarkedText::new(&value);
        let line = marked.text().lines().nth(1).unwrap();
        assert_eq!(marked.value(line), composed("\trm ", "/x"));
        assert_eq!(marked.value("plain"), Value::text("plain"));
        assert_eq!(marked.filled(&Value::text(line)), composed("\trm ", "/x"));
        assert_eq!(marked.value(marked.text()), value);
    }

    #[test]
    fn no_mark_is_written_in_the_text() {
        for text in ["\u{f0000}", "\\udb80\\udc00", "\\U000f0000", "\\u{f0000}"] {
            let marked = MarkedText::new(&composed(text, text));
            assert_eq!(marked.value("\u{f0000}"), Value::text("\u{f0000}"), "{text}");
            assert_eq!(marked.value(marked.text()), composed(text, text), "{text}");
        }
        assert!(MarkedText::new(&composed("a", "b")).text().contains('\u{f0000}'));
        let marked = MarkedText::beside(&composed("a", "b"), &["\u{f0000}"]);
        assert_eq!(marked.filled(&Value::text("\u{f0000}")), Value::text("\u{f0000}"));
    }
}
