//! Text and paths of which numbers and made-up names are not known, letter by letter.
//!
//! What may not enter: any meaning of a character that a command may hold.

use super::act::{NumberId, Piece, Taint, Unknown, UnknownReason, Value};
use super::value::HOLE;

/// What stands for a path that `mktemp` made, as far as names are cut out of it.
const MADE: &str = "/tmp/tmp.";

/// Begins a mark in the text of a place. No path holds it.
const NUL: char = '\0';

/// The mark of a number that is not told apart from others.
const ANY: char = '?';

/// The mark of the end of a name that `mktemp` made up.
const MADE_UP: char = 'm';

/// The first of the marks of numbers that are told apart.
const NUMBERS: u32 = 0x1_0000;

/// The text of a place that `mktemp` made.
pub const TEMPORARY: &str = "/tmp/tmp.\0m";

/// The most numbers that are told apart.
pub const MAX_NUMBERS: u16 = 0x7000;

/// A letter of a text, or what stands in it for letters that are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Letter {
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

    fn write(self, place: &mut String) {
        match self {
            Self::Known(letter) => place.push(letter),
            Self::MadeUp => place.extend([NUL, MADE_UP]),
            Self::Number(NumberId { id: 0, .. }) => place.extend([NUL, ANY]),
            Self::Number(NumberId { id, plain }) => {
                let mark = char::from_u32(NUMBERS + u32::from(id) * 2 + u32::from(plain));
                place.extend([NUL, mark.unwrap_or(ANY)]);
            }
        }
    }

    fn of_mark(mark: char) -> Self {
        let number = || {
            let at = (mark as u32).checked_sub(NUMBERS)?;
            Some(NumberId { id: u16::try_from(at / 2).ok()?, plain: at % 2 == 1 })
        };
        match mark {
            MADE_UP => Self::MadeUp,
            _ => Self::number(number().unwrap_or_default()),
        }
    }
}

/// The letters of known text.
pub(super) fn known(text: &str) -> Vec<Letter> {
    text.chars().map(Letter::Known).collect()
}

/// The letters of the text of a place.
pub(super) fn letters_of(place: &str) -> impl Iterator<Item = Letter> {
    let mut letters = place.chars();
    std::iter::from_fn(move || match letters.next()? {
        NUL => Some(letters.next().map_or(Letter::Number(NumberId::default()), Letter::of_mark)),
        letter => Some(Letter::Known(letter)),
    })
}

/// Whether part of the text of a place is not known.
pub fn is_marked(place: &str) -> bool {
    place.contains(NUL)
}

/// Adds a number to the text of a place.
pub(super) fn push_number(number: NumberId, place: &mut String) {
    Letter::number(number).write(place);
}

/// Adds to the text of a place what is not known of it.
pub(super) fn push_unknown(place: &mut String) {
    Letter::Number(NumberId::default()).write(place);
}

/// The text of a place with [`HOLE`] for each part that is not known.
pub(super) fn rough(place: &str) -> String {
    let rough = |letter: Letter| match letter {
        Letter::Known(letter) => letter,
        Letter::Number(_) | Letter::MadeUp => HOLE,
    };
    letters_of(place).map(rough).collect()
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

    /// The text of the place that it names, in which a mark stands for each letter that is not known. `None` for what has no
    /// [`Self::letters`], and for what no path holds.
    pub(super) fn place_text(&self) -> Option<String> {
        let mut place = String::new();
        for letter in self.letters()? {
            if letter == Letter::Known(NUL) {
                return None;
            }
            letter.write(&mut place);
        }
        Some(place)
    }

    /// The value that the text of a place stands for.
    pub(super) fn of_place(place: &str) -> Self {
        match place {
            "" => Self::default(),
            _ if is_marked(place) => Self::of_letters(letters_of(place)),
            _ => Self::text(place),
        }
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
            assert_eq!(Value::of_place(&value.place_text().unwrap()), value);
            assert!(value.is_spelled());
        }
        for pieces in [
            vec![unknown(UnknownReason::CommandOutput)],
            vec![Piece::Text("x".into()), made],
            vec![Piece::Glob("*".into())],
        ] {
            let value = Value::of(pieces);
            assert_eq!((value.letters(), value.place_text(), value.is_spelled()), (None, None, false));
        }
    }

    #[test]
    fn no_text_is_the_mark_of_another_one() {
        let told = Value::of(vec![Piece::Text("/tmp/".into()), number(1)]);
        let place = told.place_text().unwrap();
        assert_eq!(Value::text(place.as_str()).place_text(), None);
        for written in ["\0", "\0?", "/tmp/\u{100002}", "/tmp/\u{fffc}"] {
            assert_ne!(Value::text(written).place_text().as_ref(), Some(&place));
        }
        assert_eq!(rough(&place), format!("/tmp/{HOLE}"));
        assert!(told.is_told_apart() && !Value::of(vec![number(0)]).is_told_apart());
    }

    #[test]
    fn numbers_are_told_apart() {
        let place = |id| Value::of(vec![number(id)]).place_text().unwrap();
        assert!(place(1) != place(2) && place(0) == place(MAX_NUMBERS + 1));
    }
}
