//! What can be said of a [`Value`] whose parts may be unknown: its beginning, its rest, its rough text.

use std::borrow::Cow;

use super::act::{Piece, Value};

/// Stands for an unknown piece where a text is needed for matching; no pattern names it.
pub const HOLE: char = '\u{fffc}';

impl Value {
    /// The known text that it begins with.
    #[must_use]
    pub fn leading(&self) -> Cow<'_, str> {
        let texts = self.pieces.iter().take_while(|piece| matches!(piece, Piece::Text(_))).count();
        match &self.pieces[..texts] {
            [] => "".into(),
            [Piece::Text(text)] => text.into(),
            pieces => pieces.iter().filter_map(Piece::as_text).collect::<String>().into(),
        }
    }

    /// Without the first `bytes` bytes of its leading text. A cut inside a character or beyond the text leaves
    /// everything that follows the text.
    #[must_use]
    pub fn without_leading(&self, mut bytes: usize) -> Self {
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) if bytes > 0 => {
                    if let Some(rest) = text.get(bytes..)
                        && !rest.is_empty()
                    {
                        pieces.push(Piece::Text(rest.into()));
                    }
                    bytes = bytes.saturating_sub(text.len());
                }
                other => pieces.push(other.clone()),
            }
        }
        Self { pieces }
    }

    /// Whether it is wholly known and this text.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.known().is_some_and(|known| known == text)
    }

    /// Nothing at all: no piece, or known pieces without text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(text) if text.is_empty()))
    }

    /// The text with live globs as written and [`HOLE`] for what is unknown.
    #[must_use]
    pub fn rough(&self) -> Cow<'_, str> {
        match self.pieces.as_slice() {
            [] => "".into(),
            [Piece::Text(text) | Piece::Glob(text)] => text.into(),
            pieces => {
                let mut all = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) | Piece::Glob(text) => all.push_str(text),
                        Piece::Unknown(_) => all.push(HOLE),
                    }
                }
                all.into()
            }
        }
    }

    /// Whether a piece of it is a live glob.
    #[must_use]
    pub fn has_glob(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)))
    }

    /// Adds a piece at the end; texts that meet become one.
    pub fn push(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), piece) {
            (Some(Piece::Text(last)), Piece::Text(text)) => last.push_str(&text),
            (_, piece) => self.pieces.push(piece),
        }
    }

    /// The values one after another with `between` in between, read as plain text: a glob in one of them is text
    /// again, as a program that joins its arguments sees it.
    #[must_use]
    pub fn join<'a>(values: impl IntoIterator<Item = &'a Self>, between: &str) -> Self {
        let mut all = Self::default();
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                all.push(Piece::Text(between.into()));
            }
            for piece in &value.pieces {
                all.push(match piece {
                    Piece::Text(text) | Piece::Glob(text) => Piece::Text(text.clone()),
                    unknown @ Piece::Unknown(_) => unknown.clone(),
                });
            }
        }
        all
    }
}

impl Piece {
    /// Its text, when it is known text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::act::{Taint, Unknown, UnknownReason};
    use super::*;

    fn unknown() -> Piece {
        Piece::Unknown(Unknown { why: UnknownReason::Variable("X".into()), taint: Taint::default() })
    }

    #[test]
    fn cutting_leading_text_keeps_what_is_unknown() {
        let value = Value { pieces: vec![Piece::Text("--out".into()), Piece::Text("put=a".into()), unknown()] };
        assert_eq!(value.leading(), "--output=a");
        assert_eq!(value.without_leading(9), Value { pieces: vec![Piece::Text("a".into()), unknown()] });
        assert_eq!(value.without_leading(10), Value { pieces: vec![unknown()] });
        assert_eq!(value.without_leading(99), Value { pieces: vec![unknown()] });
    }

    #[test]
    fn a_rough_text_shows_holes_and_globs() {
        let value = Value { pieces: vec![unknown(), Piece::Text("/".into()), Piece::Glob("*".into())] };
        assert_eq!(value.rough(), format!("{HOLE}/*"));
        assert!(value.known().is_none());
    }

    #[test]
    fn joining_makes_globs_text() {
        let joined = Value::join([&Value::text("rm"), &Value { pieces: vec![Piece::Glob("*".into())] }], " ");
        assert_eq!(joined, Value::text("rm *"));
    }
}
