//! Text of which numbers and made-up names are not known, letter by letter.
//!
//! Out of scope: any meaning of a character that a command may hold.

use super::act::{NumberId, Piece, Taint, Unknown, UnknownReason, Value};
use super::value::HOLE;

/// What stands for a path that `mktemp` made, as far as names are cut out of it.
const MADE: &str = "/tmp/tmp.";

/// The most numbers that are told apart.
pub const MAX_NUMBERS: u16 = 0x7000;

/// A letter of a text, or what stands in it for letters that are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Letter {
    /// A character, whichever it is.
    Known(char),
    /// A number.
    Number(NumberId),
    /// The end of a name that `mktemp` made up.
    MadeUp,
}

impl Letter {
    /// Whether it stands for letters that are not known.
    pub const fn is_unknown(self) -> bool {
        !matches!(self, Self::Known(_))
    }

    /// Whether it may stand for anything but letters and digits.
    pub const fn is_vague(self) -> bool {
        matches!(self, Self::Number(NumberId { plain: false, .. }))
    }

    /// A number as it is told apart.
    const fn number(number: NumberId) -> Self {
        let told = number.id > 0 && number.id <= MAX_NUMBERS;
        Self::Number(if told { number } else { NumberId { id: 0, plain: false } })
    }
}

/// The letters of known text.
pub(super) fn known(text: &str) -> Vec<Letter> {
    text.chars().map(Letter::Known).collect()
}

/// The text of a path, or of a name in one, of which letters may not be known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathText {
    /// [`HOLE`] stands where a letter is not known; one that is written stands for itself.
    text: String,
    /// The letters that are not known, by where they stand in the text.
    unknown: Vec<(usize, Letter)>,
}

impl PathText {
    /// Text that is wholly known.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), unknown: Vec::new() }
    }

    /// The text, when all of it is known.
    pub fn known(&self) -> Option<&str> {
        self.is_known().then_some(self.text.as_str())
    }

    /// Whether all of it is known.
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty()
    }

    /// The text with [`HOLE`] for each letter that is not known: to be shown, and to be matched against patterns.
    pub fn rough(&self) -> &str {
        &self.text
    }

    /// Whether its first letter is not known.
    pub fn begins_unknown(&self) -> bool {
        self.unknown.first().is_some_and(|(at, _)| *at == 0)
    }

    /// Whether none of its letters is known.
    pub fn is_all_unknown(&self) -> bool {
        self.unknown.len() * HOLE.len_utf8() == self.text.len()
    }

    /// Adds known text.
    pub fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a letter.
    pub fn push(&mut self, letter: Letter) {
        match letter {
            Letter::Known(letter) => self.text.push(letter),
            unknown => {
                self.unknown.push((self.text.len(), unknown));
                self.text.push(HOLE);
            }
        }
    }

    /// Adds a number.
    pub fn push_number(&mut self, number: NumberId) {
        self.push(Letter::number(number));
    }

    /// Adds a letter of which nothing is known.
    pub fn push_unknown(&mut self) {
        self.push(Letter::number(NumberId::default()));
    }

    /// Adds another one.
    pub fn push_spelled(&mut self, other: &Self) {
        let before = self.text.len();
        self.unknown.extend(other.unknown.iter().map(|(at, letter)| (before + at, *letter)));
        self.text.push_str(&other.text);
    }

    /// A part of it. A bound inside a letter gives nothing.
    #[must_use]
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        let inside = self.unknown.iter().filter(|(at, _)| range.contains(at));
        let unknown = inside.map(|(at, letter)| (at - range.start, *letter)).collect();
        Self { text: self.text.get(range.clone()).unwrap_or_default().to_owned(), unknown }
    }

    /// The parts between characters of this kind, which are none of its unknown letters.
    pub fn split(&self, mark: char) -> impl Iterator<Item = Self> {
        let mut start = Some(0);
        std::iter::from_fn(move || {
            let from = start?;
            let end = self.text.get(from..)?.find(mark).map(|at| from + at);
            start = end.map(|end| end + mark.len_utf8());
            Some(self.part(from..end.unwrap_or(self.text.len())))
        })
    }

    /// Whether it begins with another one, which ends where a letter of this one ends.
    pub fn begins_with(&self, start: &Self) -> bool {
        let begun = self.unknown.iter().take_while(|(at, _)| *at < start.text.len());
        self.text.starts_with(&start.text) && begun.eq(&start.unknown)
    }

    /// What is behind another one that it begins with.
    pub fn after(&self, start: &Self) -> Option<Self> {
        self.begins_with(start).then(|| self.part(start.text.len()..self.text.len()))
    }

    /// Its letters.
    pub fn letters(&self) -> impl Iterator<Item = Letter> {
        let mut unknown = self.unknown.iter().peekable();
        self.text.char_indices().map(move |(at, letter)| {
            let found = unknown.next_if(|(place, _)| *place == at);
            found.map_or(Letter::Known(letter), |(_, letter)| *letter)
        })
    }

    /// The value that it stands for.
    pub fn value(&self) -> Value {
        match self.known() {
            Some("") => Value::default(),
            Some(text) => Value::text(text),
            None => Value::of_letters(self.letters()),
        }
    }
}

impl Value {
    /// Its letters, with one for each number in it and for a name that `mktemp` made up at its beginning; `None` where anything
    /// else of it is not known.
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

    /// Whether [`Self::letters`] gives any.
    pub(crate) fn is_spelled(&self) -> bool {
        self.pieces().iter().enumerate().all(|(index, piece)| match piece {
            Piece::Text(_) => true,
            Piece::Glob(_) => false,
            Piece::Unknown(Unknown { why: UnknownReason::Number(_), .. }) => true,
            Piece::Unknown(unknown) => index == 0 && unknown.why == (UnknownReason::Temporary { variable: false }),
        })
    }

    /// The same as far as it spells a name, where each number in it is told apart; equal to all others of the same letters.
    pub(crate) fn name(&self) -> Option<Self> {
        self.letters().filter(|_| self.is_told_apart()).map(Self::of_letters)
    }

    /// Whether all of its letters are given, and each number among them is told apart.
    pub(super) fn is_told_apart(&self) -> bool {
        let told = |number: NumberId| number.id > 0 && number.id <= MAX_NUMBERS;
        let any = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Number(number), .. }) if !told(*number));
        self.is_spelled() && !self.pieces().iter().any(any)
    }

    /// The value of these letters.
    pub(super) fn of_letters(letters: impl IntoIterator<Item = Letter>) -> Self {
        let unknown = |why: UnknownReason| Piece::Unknown(Unknown { why, taint: Taint::default() });
        let (mut value, mut text) = (Self::default(), String::new());
        for letter in letters {
            let why = match letter {
                Letter::Known(letter) => {
                    text.push(letter);
                    continue;
                }
                // The name as a whole is what was made.
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

    /// The text of the path that it names. `None` for what has no [`Self::letters`], and for what no path holds.
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
