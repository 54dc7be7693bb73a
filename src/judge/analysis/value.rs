//! Texts with unknown parts, and the known facts about them: the beginning, the rest, an approximate text.

use std::borrow::Cow;

use super::act::{Piece, Taint, Unknown, UnknownReason};
use super::replacements::EditedText;
use crate::judge::rules::glob;

/// The character for an unknown piece in an approximate text. No pattern contains it.
pub const HOLE: char = '\u{fffc}';

/// Maximum length of the text of a value, in bytes. Longer values are unknown.
pub(super) const MAX_TEXT: usize = 64 * 1024;

/// Maximum number of pieces of a value.
const MAX_PIECES: usize = 1024;

/// A text with unknown parts, as a sequence of pieces. Only this module changes the sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Value {
    pieces: Vec<Piece>,
    /// Whether it is a keyword argument in code (`force=True`), which the parser of the code turned into an option. A
    /// text in code is never an option.
    option: bool,
}

impl Value {
    /// Creates a value of these pieces.
    #[must_use]
    pub fn of(pieces: Vec<Piece>) -> Self {
        Self { pieces, option: false }
    }

    /// Marks the value as an option of a call in code (`--force=True`).
    #[must_use]
    pub fn into_option(self) -> Self {
        Self { option: true, ..self }
    }

    /// Reports whether it is an option of a call in code.
    #[must_use]
    pub fn is_option(&self) -> bool {
        self.option
    }

    /// Returns its pieces.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns its pieces by value.
    #[must_use]
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }

    /// Removes newlines at its end, as far as the end is known.
    #[must_use]
    pub fn without_last_lines(mut self) -> Self {
        if let Some(Piece::Text(text)) = self.pieces.last_mut() {
            text.truncate(text.trim_end_matches('\n').len());
            if text.is_empty() {
                self.pieces.pop();
            }
        }
        self
    }

    /// Creates a completely known value.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(vec![Piece::Text(text.into())])
    }

    /// Returns the text if every piece is known. An unquoted glob is not known.
    #[must_use]
    pub fn known(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self.pieces.as_slice() {
            [] => Some("".into()),
            [Piece::Text(text)] => Some(text.into()),
            pieces => {
                let mut all = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => all.push_str(text),
                        _ => return None,
                    }
                }
                Some(all.into())
            }
        }
    }

    /// Returns the text with globs as written; `None` if a piece is unknown.
    #[must_use]
    pub fn pattern(&self) -> Option<String> {
        let mut all = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) | Piece::Glob(text) => all.push_str(text),
                Piece::Unknown(_) => return None,
            }
        }
        Some(all)
    }

    /// Returns the glob of the paths that it names now, in which other text is escaped; `None` if it has no glob, or a
    /// piece is unknown. An extended glob becomes `*`.
    #[must_use]
    pub fn glob(&self) -> Option<String> {
        let mut all = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => glob::escape(text, &mut all),
                Piece::Glob(text) if text.contains('(') => all.push('*'),
                Piece::Glob(text) => all.push_str(text),
                Piece::Unknown(_) => return None,
            }
        }
        self.has_glob().then_some(all)
    }

    /// Reports whether a piece is unknown.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Unknown(_)))
    }

    /// Returns the taints of its unknown pieces.
    #[must_use]
    pub fn taint(&self) -> Taint {
        self.pieces.iter().fold(Taint::default(), |all, piece| match piece {
            Piece::Unknown(unknown) => all.and(unknown.taint),
            _ => all,
        })
    }

    /// Returns it with a taint of its unknown pieces.
    #[must_use]
    pub fn tainted(mut self, taint: Taint) -> Self {
        for piece in &mut self.pieces {
            if let Piece::Unknown(unknown) = piece {
                unknown.taint = unknown.taint.and(taint);
            }
        }
        self
    }

    /// Returns the edited text of a file with which it begins, and the pieces behind that.
    #[must_use]
    pub fn edited_text(&self) -> Option<(&EditedText, &[Piece])> {
        match self.pieces.split_first()? {
            (Piece::Unknown(Unknown { why: UnknownReason::FileText(edited), .. }), rest) => Some((edited, rest)),
            _ => None,
        }
    }

    /// Returns the known text at its beginning.
    #[must_use]
    pub fn leading(&self) -> Cow<'_, str> {
        let texts = self.pieces.iter().take_while(|piece| matches!(piece, Piece::Text(_))).count();
        match &self.pieces[..texts] {
            [] => "".into(),
            [Piece::Text(text)] => text.into(),
            pieces => pieces.iter().filter_map(Piece::as_text).collect::<String>().into(),
        }
    }

    /// Removes the first `bytes` bytes of its leading text. If that position is inside a character or after the text,
    /// the whole text is removed.
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
        Self::of(pieces)
    }

    /// Reports whether it is completely known and equal to this text.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.known().is_some_and(|known| known == text)
    }

    /// Reports whether it has no piece, or only known pieces without text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(text) if text.is_empty()))
    }

    /// Returns the text with globs as written and [`HOLE`] for unknown pieces.
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

    /// Returns the length of its text in bytes, without its unknown parts.
    #[must_use]
    pub fn length(&self) -> usize {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Glob(text) => text.len(),
            Piece::Unknown(_) => 0,
        };
        self.pieces.iter().map(text).sum()
    }

    /// Reports whether a piece is an unquoted glob.
    #[must_use]
    pub fn has_glob(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)))
    }

    /// Appends a piece. Adjacent texts are joined.
    pub fn push(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), piece) {
            (Some(Piece::Text(last)), Piece::Text(text)) => last.push_str(&text),
            (_, piece) => self.pieces.push(piece),
        }
    }

    /// Joins values with a separator. Globs become text, as for a program that joins its arguments.
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
    /// Returns its text, if it is known text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Composing values.
pub(super) trait Build {
    /// Appends known text.
    fn push_text(&mut self, text: &str);
    /// Appends a piece.
    fn push_piece(&mut self, piece: &Piece);
    /// Appends another value.
    fn push_value(&mut self, value: &Value);
    /// Appends another value with its known parts quoted for a shell.
    fn push_quoted(&mut self, value: &Value);
    /// Returns the known text, if it is not too long.
    fn known_text(&self) -> Option<String>;
    /// Returns its approximate size in memory, in bytes.
    fn size(&self) -> usize;
}

impl Build for Value {
    fn push_text(&mut self, text: &str) {
        if text.is_empty() || is_cut(self) {
            return;
        }
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            if last.len() + text.len() <= MAX_TEXT {
                last.push_str(text);
                return;
            }
            self.pieces.push(too_long());
        } else if text.len() <= MAX_TEXT {
            self.pieces.push(Piece::Text(text.to_owned()));
        } else {
            self.pieces.push(too_long());
        }
    }

    fn push_piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) => self.push_text(text),
            _ if is_cut(self) => {}
            // Repetitions of the same unknown piece add no information, and could grow without limit.
            other if self.pieces.last() == Some(other) && matches!(other, Piece::Unknown(_)) => {}
            other => self.pieces.push(other.clone()),
        }
    }

    fn push_value(&mut self, value: &Value) {
        value.pieces.iter().for_each(|piece| self.push_piece(piece));
    }

    fn push_quoted(&mut self, value: &Value) {
        for piece in &value.pieces {
            match piece {
                Piece::Text(text) => self.push_text(&crate::judge::invocation::quote(text)),
                // An unquoted glob stands for names.
                other => self.push_piece(other),
            }
        }
    }

    fn size(&self) -> usize {
        64 * self.pieces.len() + self.length()
    }

    fn known_text(&self) -> Option<String> {
        self.known().map(std::borrow::Cow::into_owned)
    }
}

/// Reports whether the maximum size is reached. Without it a variable that is doubled in a loop would grow without
/// limit.
fn is_cut(value: &mut Value) -> bool {
    if value.pieces.len() >= MAX_PIECES {
        value.pieces.truncate(MAX_PIECES - 1);
        value.pieces.push(too_long());
    }
    value.pieces.last() == Some(&too_long())
}

fn too_long() -> Piece {
    Piece::Unknown(Unknown { why: UnknownReason::Other("longer than what is followed"), taint: Taint::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown() -> Piece {
        Piece::Unknown(Unknown { why: UnknownReason::Variable("X".into()), taint: Taint::default() })
    }

    #[test]
    fn cutting_leading_text_keeps_what_is_unknown() {
        let value = Value::of(vec![Piece::Text("--out".into()), Piece::Text("put=a".into()), unknown()]);
        assert_eq!(value.leading(), "--output=a");
        assert_eq!(value.without_leading(9), Value::of(vec![Piece::Text("a".into()), unknown()]));
        assert_eq!(value.without_leading(10), Value::of(vec![unknown()]));
        assert_eq!(value.without_leading(99), Value::of(vec![unknown()]));
    }

    #[test]
    fn a_rough_text_shows_holes_and_globs() {
        let value = Value::of(vec![unknown(), Piece::Text("/".into()), Piece::Glob("*".into())]);
        assert_eq!(value.rough(), format!("{HOLE}/*"));
        assert!(value.known().is_none());
    }

    #[test]
    fn joining_makes_globs_text() {
        let joined = Value::join([&Value::text("rm"), &Value::of(vec![Piece::Glob("*".into())])], " ");
        assert_eq!(joined, Value::text("rm *"));
    }
}
