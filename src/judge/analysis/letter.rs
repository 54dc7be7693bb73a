//! Texts with unknown numbers and generated names, as sequences of letters.
//!
//! No character of a command has a special meaning here: an unknown letter is stored by its position.

use super::act::{NumberId, Piece, Taint, Unknown, UnknownReason, Value};
use super::value::HOLE;

/// The beginning of a path of `mktemp`.
const MADE: &str = "/tmp/tmp.";

/// Maximum number of unknown numbers with an identity.
pub const MAX_NUMBERS: u16 = 0x7000;

/// A letter of a text, or a placeholder for unknown letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Letter {
    /// A known character.
    Known(char),
    /// A number.
    Number(NumberId),
    /// The generated end of a name of `mktemp`.
    MadeUp,
}

impl Letter {
    /// Reports whether it stands for unknown letters.
    pub const fn is_unknown(self) -> bool {
        !matches!(self, Self::Known(_))
    }

    /// Reports whether it may stand for other characters than letters and digits.
    pub const fn is_vague(self) -> bool {
        matches!(self, Self::Number(NumberId { plain: false, .. }))
    }

    /// Creates the placeholder of a number.
    const fn number(number: NumberId) -> Self {
        let told = number.id > 0 && number.id <= MAX_NUMBERS;
        Self::Number(if told { number } else { NumberId { id: 0, plain: false } })
    }
}

/// Returns the letters of known text.
pub(super) fn known(text: &str) -> Vec<Letter> {
    text.chars().map(Letter::Known).collect()
}

/// The text of a path or a name, with unknown letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathText {
    /// The text with [`HOLE`] for unknown letters. A literal [`HOLE`] in it stands for itself.
    text: String,
    /// The positions in the text of unknown letters.
    unknown: Vec<(usize, Letter)>,
}

impl PathText {
    /// Creates a completely known text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), unknown: Vec::new() }
    }

    /// Returns the text if it is completely known.
    pub fn known(&self) -> Option<&str> {
        self.is_known().then_some(self.text.as_str())
    }

    /// Reports whether it is completely known.
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Returns the text with [`HOLE`] for unknown letters, for display and for matching patterns.
    pub fn rough(&self) -> &str {
        &self.text
    }

    /// Reports whether its first letter is unknown.
    pub fn begins_unknown(&self) -> bool {
        self.unknown.first().is_some_and(|(at, _)| *at == 0)
    }

    /// Reports whether all of its letters are unknown.
    pub fn is_all_unknown(&self) -> bool {
        self.unknown.len() * HOLE.len_utf8() == self.text.len()
    }

    /// Appends known text.
    pub fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends a letter.
    pub fn push(&mut self, letter: Letter) {
        match letter {
            Letter::Known(letter) => self.text.push(letter),
            unknown => {
                self.unknown.push((self.text.len(), unknown));
                self.text.push(HOLE);
            }
        }
    }

    /// Appends an unknown number.
    pub fn push_number(&mut self, number: NumberId) {
        self.push(Letter::number(number));
    }

    /// Appends an unknown letter.
    pub fn push_unknown(&mut self) {
        self.push(Letter::number(NumberId::default()));
    }

    /// Appends another text.
    pub fn push_spelled(&mut self, other: &Self) {
        let before = self.text.len();
        self.unknown.extend(other.unknown.iter().map(|(at, letter)| (before + at, *letter)));
        self.text.push_str(&other.text);
    }

    /// Returns a part of it; empty if a bound is inside a character.
    #[must_use]
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        let inside = self.unknown.iter().filter(|(at, _)| range.contains(at));
        let unknown = inside.map(|(at, letter)| (at - range.start, *letter)).collect();
        Self { text: self.text.get(range.clone()).unwrap_or_default().to_owned(), unknown }
    }

    /// Splits it at a character. Unknown letters never match.
    pub fn split(&self, mark: char) -> impl Iterator<Item = Self> {
        let mut start = Some(0);
        std::iter::from_fn(move || {
            let from = start?;
            let end = self.text.get(from..)?.find(mark).map(|at| from + at);
            start = end.map(|end| end + mark.len_utf8());
            Some(self.part(from..end.unwrap_or(self.text.len())))
        })
    }

    /// Reports whether it begins with another text.
    pub fn begins_with(&self, start: &Self) -> bool {
        let begun = self.unknown.iter().take_while(|(at, _)| *at < start.text.len());
        self.text.starts_with(&start.text) && begun.eq(&start.unknown)
    }

    /// Returns the rest after another text with which it begins.
    pub fn after(&self, start: &Self) -> Option<Self> {
        self.begins_with(start).then(|| self.part(start.text.len()..self.text.len()))
    }

    /// Returns its letters.
    pub fn letters(&self) -> impl Iterator<Item = Letter> {
        let mut unknown = self.unknown.iter().peekable();
        self.text.char_indices().map(move |(at, letter)| {
            let found = unknown.next_if(|(place, _)| *place == at);
            found.map_or(Letter::Known(letter), |(_, letter)| *letter)
        })
    }

    /// Returns it as a value.
    pub fn value(&self) -> Value {
        match self.known() {
            Some("") => Value::default(),
            Some(text) => Value::text(text),
            None => Value::of_letters(self.letters()),
        }
    }
}

impl Value {
    /// Returns its letters, with placeholders for unknown numbers and for a generated name of `mktemp` at its
    /// beginning; `None` if another part is unknown.
    pub(super) fn letters(&self) -> Option<Vec<Letter>> {
        let mut all = Vec::new();
        for (index, piece) in self.pieces().iter().enumerate() {
            match piece {
                Piece::Text(text) => all.extend(text.chars().map(Letter::Known)),
                Piece::Glob(_) => return None,
                Piece::Unknown(unknown) => match unknown.why {
                    UnknownReason::Number(number) => all.push(Letter::number(number)),
                    UnknownReason::Temporary { variable: false } if index == 0 => {
                        all.extend(MADE.chars().map(Letter::Known));
                        all.push(Letter::MadeUp);
                    }
                    _ => return None,
                },
            }
        }
        Some(all)
    }

    /// Reports whether [`Self::letters`] returns a result.
    pub(crate) fn is_spelled(&self) -> bool {
        self.pieces().iter().enumerate().all(|(index, piece)| match piece {
            Piece::Text(_) => true,
            Piece::Glob(_) => false,
            Piece::Unknown(Unknown { why: UnknownReason::Number(_), .. }) => true,
            Piece::Unknown(unknown) => index == 0 && unknown.why == (UnknownReason::Temporary { variable: false }),
        })
    }

    /// Returns it as a name, if each number in it has an identity. Names with the same letters are equal.
    pub(crate) fn name(&self) -> Option<Self> {
        self.letters().filter(|_| self.is_told_apart()).map(Self::of_letters)
    }

    /// Reports whether its letters are known or numbers with an identity.
    pub(super) fn is_told_apart(&self) -> bool {
        let told = |number: NumberId| number.id > 0 && number.id <= MAX_NUMBERS;
        let any = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Number(number), .. }) if !told(*number));
        self.is_spelled() && !self.pieces().iter().any(any)
    }

    /// Creates a value of letters.
    pub(super) fn of_letters(letters: impl IntoIterator<Item = Letter>) -> Self {
        let unknown = |why: UnknownReason| Piece::Unknown(Unknown { why, taint: Taint::default() });
        let (mut value, mut text) = (Self::default(), String::new());
        for letter in letters {
            let why = match letter {
                Letter::Known(letter) => {
                    text.push(letter);
                    continue;
                }
                // The whole name is that of `mktemp`.
                Letter::MadeUp if value.pieces().is_empty() && text == MADE => {
                    text.clear();
                    UnknownReason::Temporary { variable: false }
                }
                Letter::MadeUp => UnknownReason::Number(NumberId::default()),
                Letter::Number(number) => UnknownReason::Number(number),
            };
            if !text.is_empty() {
                value.push(Piece::Text(std::mem::take(&mut text)));
            }
            value.push(unknown(why));
        }
        if !text.is_empty() {
            value.push(Piece::Text(text));
        }
        value
    }

    /// Returns the text of the path that it names. `None` if it has no [`Self::letters`], or cannot be a path.
    pub(super) fn spelled(&self) -> Option<PathText> {
        if let Some(text) = self.known() {
            return (!text.contains('\0')).then(|| PathText::text(text));
        }
        let mut spelled = PathText::default();
        for letter in self.letters()? {
            if letter == Letter::Known('\0') {
                return None;
            }
            spelled.push(letter);
        }
        Some(spelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(why: UnknownReason) -> Piece {
        Piece::Unknown(Unknown { why, taint: Taint::default() })
    }

    fn number(id: u16) -> Piece {
        unknown(UnknownReason::Number(NumberId { id, plain: id.is_multiple_of(2) }))
    }

    #[test]
    fn a_value_is_spelled_and_read_back() {
        let made = unknown(UnknownReason::Temporary { variable: false });
        for pieces in [
            vec![Piece::Text("/tmp/x.".into()), number(1), Piece::Text(".c".into())],
            vec![number(2), number(3)],
            vec![made.clone(), Piece::Text("/x".into()), number(MAX_NUMBERS)],
            vec![Piece::Text("/tmp/tmp.".into())],
            vec![Piece::Text("\u{fffc}\u{100003}\u{10fffd}?m".into())],
        ] {
            let value = Value::of(pieces);
            assert_eq!(Value::of_letters(value.letters().unwrap()), value);
            assert_eq!(value.spelled().unwrap().value(), value);
            assert!(value.is_spelled());
        }
        for pieces in [
            vec![unknown(UnknownReason::CommandOutput)],
            vec![Piece::Text("x".into()), made],
            vec![Piece::Glob("*".into())],
        ] {
            let value = Value::of(pieces);
            assert_eq!((value.letters(), value.spelled(), value.is_spelled()), (None, None, false));
        }
    }

    #[test]
    fn no_text_is_a_letter_that_is_not_known() {
        let told = Value::of(vec![Piece::Text("/tmp/".into()), number(1)]);
        let spelled = told.spelled().unwrap();
        for written in ["/tmp/\u{100002}", "/tmp/\u{fffc}", "/tmp/?"] {
            assert_ne!(Value::text(written).spelled(), Some(spelled.clone()));
        }
        assert_eq!(Value::text("/tmp/\0").spelled(), None);
        assert_eq!((spelled.rough(), spelled.known()), (format!("/tmp/{HOLE}").as_str(), None));
        assert!(told.is_told_apart() && !Value::of(vec![number(0)]).is_told_apart());
    }

    #[test]
    fn a_part_of_a_spelling_keeps_what_is_not_known_of_it() {
        let mut spelled = PathText::text("/a\u{fffc}");
        spelled.push_number(NumberId { id: 1, plain: true });
        spelled.push_str("/b");
        let (whole, length) = (spelled.clone(), spelled.rough().len());
        assert_eq!(whole.part(0..length), whole);
        assert_eq!(whole.part(0..5).known(), Some("/a\u{fffc}"));
        assert!(whole.part(5..8).is_all_unknown() && whole.part(5..length).begins_unknown());
        assert!(!PathText::text("\u{fffc}").is_all_unknown() && !whole.part(2..8).begins_unknown());
        let mut joined = whole.part(0..5);
        joined.push_spelled(&whole.part(5..length));
        assert_eq!(joined, whole);
        assert!(whole.begins_with(&whole.part(0..8)) && whole.begins_with(&PathText::text("/a")));
        assert!(!whole.begins_with(&PathText::text("/a\u{fffc}\u{fffc}")));
        assert_eq!(whole.value().spelled(), Some(whole));
    }

    #[test]
    fn numbers_are_told_apart() {
        let spelled = |id| Value::of(vec![number(id)]).spelled().unwrap();
        assert!(spelled(1) != spelled(2) && spelled(0) == spelled(MAX_NUMBERS + 1));
    }
}
