//! The text of code, and of strings in it, with unknown parts.
//!
//! No character of code has a special meaning here, except that NUL marks an unknown part.

use super::processes;
use crate::judge::analysis::act::{Piece, Taint, Unknown, UnknownReason, Value};

/// The placeholder for an unknown part in the displayed text. A literal NUL counts as an unknown part, because no path
/// or command contains one.
const NOTHING: char = '\0';

/// An unknown part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The result of an expansion of the enclosing shell, or a value that code computes.
    Value,
    /// A path that is found below the preceding directory.
    Found,
    /// A new temporary file or directory.
    Temporary,
    /// Data from the network.
    Fetched,
    /// Each number of a loop: process IDs, or a range.
    Each,
    /// Any name in a directory.
    Name,
}

/// A letter, or an unknown part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextItem {
    Letter(char),
    Gap(Gap),
}

impl TextItem {
    /// Returns the letter, or NUL for an unknown part.
    pub fn letter(self) -> char {
        match self {
            Self::Letter(letter) => letter,
            Self::Gap(_) => NOTHING,
        }
    }
}

/// A text with unknown parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text with [`NOTHING`] for each unknown part, and nowhere else.
    text: String,
    /// The unknown parts, with their positions in the text.
    gaps: Vec<(usize, Gap)>,
}

impl Text {
    /// Appends a letter or an unknown part.
    pub fn push(&mut self, sign: TextItem) {
        match sign {
            TextItem::Letter(NOTHING) => self.push_gap(Gap::Value),
            TextItem::Letter(letter) => self.text.push(letter),
            TextItem::Gap(gap) => self.push_gap(gap),
        }
    }

    /// Appends an unknown part.
    pub fn push_gap(&mut self, gap: Gap) {
        self.gaps.push((self.text.len(), gap));
        self.text.push(NOTHING);
    }

    /// Appends text.
    pub fn push_text<'t>(&mut self, text: impl Into<Slice<'t>>) {
        let (slice, before) = (text.into(), self.text.len());
        self.text.push_str(slice.text);
        let known = slice.gaps.iter().map(|(at, gap)| (before + at - slice.start, *gap));
        if slice.gaps.is_empty() && slice.text.contains(NOTHING) {
            let written = slice.text.match_indices(NOTHING).map(|(at, _)| (before + at, Gap::Value));
            self.gaps.extend(written);
        } else {
            self.gaps.extend(known);
        }
    }

    /// Concatenates texts.
    pub fn joined<'t>(parts: impl IntoIterator<Item = Slice<'t>>) -> Self {
        let mut all = Self::default();
        parts.into_iter().for_each(|part| all.push_text(part));
        all
    }

    /// Returns the whole text as a slice.
    pub fn slice(&self) -> Slice<'_> {
        Slice { text: &self.text, gaps: &self.gaps, start: 0 }
    }

    /// Returns the text if it is completely known.
    pub fn known(&self) -> Option<&str> {
        self.slice().known()
    }

    /// Returns the text with NUL for each unknown part, for searches in the known parts.
    pub fn rough(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns its length in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns its size in memory, in bytes.
    pub fn size(&self) -> usize {
        self.text.len() + std::mem::size_of_val(self.gaps.as_slice())
    }

    /// Reports whether it has an unknown part.
    pub fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Reports whether it has an unknown part of this kind.
    pub fn has(&self, gap: Gap) -> bool {
        self.slice().has(gap)
    }

    /// Returns it in lower case.
    pub fn to_lower(&self) -> Self {
        Self { text: self.text.to_ascii_lowercase(), gaps: self.gaps.clone() }
    }
}

impl From<Gap> for Text {
    fn from(gap: Gap) -> Self {
        let mut text = Self::default();
        text.push_gap(gap);
        text
    }
}

impl From<Slice<'_>> for Text {
    fn from(text: Slice<'_>) -> Self {
        Self::joined([text])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Slice::from(text).into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.contains(NOTHING) { text.as_str().into() } else { Self { text, gaps: Vec::new() } }
    }
}

impl FromIterator<TextItem> for Text {
    fn from_iter<I: IntoIterator<Item = TextItem>>(signs: I) -> Self {
        let mut text = Self::default();
        signs.into_iter().for_each(|sign| text.push(sign));
        text
    }
}

impl Extend<TextItem> for Text {
    fn extend<I: IntoIterator<Item = TextItem>>(&mut self, signs: I) {
        signs.into_iter().for_each(|sign| self.push(sign));
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.known() == Some(other)
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.known() == Some(other)
    }
}

/// A part of a [`Text`], or known text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slice<'t> {
    text: &'t str,
    gaps: &'t [(usize, Gap)],
    /// Its start in the text of which it is a part.
    start: usize,
}

impl<'t> Slice<'t> {
    /// Returns the text if it is completely known.
    pub fn known(self) -> Option<&'t str> {
        (!self.has_gaps()).then_some(self.text)
    }

    /// See [`Text::rough`].
    pub fn rough(self) -> &'t str {
        self.text
    }

    pub fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Returns its length in bytes.
    pub fn len(self) -> usize {
        self.text.len()
    }

    /// Reports whether it has an unknown part.
    pub fn has_gaps(self) -> bool {
        !self.gaps.is_empty() || self.text.contains(NOTHING)
    }

    /// Reports whether it has an unknown part of this kind.
    pub fn has(self, gap: Gap) -> bool {
        self.gaps.iter().any(|(_, other)| *other == gap)
    }

    /// Returns the part for a slice of [`Self::rough`]. Another string is treated as known text.
    pub fn part(self, cut: &'t str) -> Self {
        let at = (cut.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let inside = at.filter(|at| at + cut.len() <= self.text.len());
        let Some(start) = inside.map(|at| self.start + at).filter(|_| !cut.is_empty()) else {
            return Self { text: cut, ..Self::default() };
        };
        let from = self.gaps.partition_point(|(at, _)| *at < start);
        let to = self.gaps.partition_point(|(at, _)| *at < start + cut.len());
        Self { text: cut, gaps: self.gaps.get(from..to).unwrap_or_default(), start }
    }

    /// Applies a function to [`Self::rough`] and returns that part.
    pub fn cut(self, cut: impl FnOnce(&'t str) -> &'t str) -> Self {
        self.part(cut(self.text))
    }

    /// Applies a function to [`Self::rough`] and returns that part, if there is one.
    pub fn find(self, cut: impl FnOnce(&'t str) -> Option<&'t str>) -> Option<Self> {
        cut(self.text).map(|cut| self.part(cut))
    }

    /// Splits it in two by a function.
    pub fn two(self, cut: impl FnOnce(&'t str) -> Option<(&'t str, &'t str)>) -> Option<(Self, Self)> {
        cut(self.text).map(|(one, other)| (self.part(one), self.part(other)))
    }

    /// Removes blanks at its ends.
    pub fn trim(self) -> Self {
        self.cut(str::trim)
    }

    /// Returns its lines.
    pub fn lines(self) -> impl Iterator<Item = Self> {
        self.text.lines().map(move |line| self.part(line))
    }

    /// Returns its letters and unknown parts.
    pub fn signs(self) -> impl Iterator<Item = TextItem> {
        let mut gaps = self.gaps.iter();
        self.text.chars().map(move |letter| match letter {
            NOTHING => TextItem::Gap(gaps.next().map_or(Gap::Value, |(_, gap)| *gap)),
            letter => TextItem::Letter(letter),
        })
    }

    /// Returns it reversed.
    pub fn reversed(self) -> Text {
        let signs: Vec<TextItem> = self.signs().collect();
        signs.into_iter().rev().collect()
    }

    /// Converts it to a value.
    pub fn value(self) -> Value {
        if let Some(known) = self.known() {
            return if known.is_empty() { Value::default() } else { Value::text(known) };
        }
        let mut pieces = Vec::new();
        let mut rest = self;
        if let Some((at, _)) = self.gaps.iter().find(|(_, gap)| *gap == Gap::Found) {
            let (start, after) = self.text.split_at(at - self.start);
            let start = self.part(start).known().map(str::to_owned);
            pieces.push(unknown_for(UnknownReason::Found(start), Taint::default()));
            // Any name below a found path is a found path.
            let after = self.part(after.strip_prefix(NOTHING).unwrap_or_default());
            let below = after.signs().all(|sign| matches!(sign, TextItem::Letter('/') | TextItem::Gap(Gap::Name)));
            rest = if below { Self::default() } else { after };
        }
        let mut known = String::new();
        for sign in rest.signs() {
            match sign {
                TextItem::Letter(letter) => known.push(letter),
                TextItem::Gap(gap) => {
                    if !known.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut known)));
                    }
                    pieces.push(gap.piece());
                }
            }
        }
        if !known.is_empty() {
            pieces.push(Piece::Text(known));
        }
        Value::of(pieces)
    }
}

impl<'t> From<&'t str> for Slice<'t> {
    fn from(text: &'t str) -> Self {
        Self { text, ..Self::default() }
    }
}

impl<'t> From<&'t String> for Slice<'t> {
    fn from(text: &'t String) -> Self {
        text.as_str().into()
    }
}

impl<'t> From<&'t Text> for Slice<'t> {
    fn from(text: &'t Text) -> Self {
        text.slice()
    }
}

impl PartialEq<str> for Slice<'_> {
    fn eq(&self, other: &str) -> bool {
        self.known() == Some(other)
    }
}

impl PartialEq<&str> for Slice<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.known() == Some(other)
    }
}

impl Gap {
    /// Converts it to a piece of a value.
    fn piece(self) -> Piece {
        match self {
            Self::Name => Piece::Glob("*".to_owned()),
            Self::Each => unknown_for(UnknownReason::Other(processes::COUNTED), Taint::default()),
            Self::Temporary => unknown_for(UnknownReason::Temporary { variable: false }, Taint::default()),
            Self::Fetched => unknown_for(UnknownReason::Other("what is fetched from the network"), Taint::FETCHED),
            Self::Value | Self::Found => unknown_piece(),
        }
    }
}

fn unknown_for(why: UnknownReason, taint: Taint) -> Piece {
    Piece::Unknown(Unknown { why, taint })
}

pub(super) fn unknown_piece() -> Piece {
    unknown_for(UnknownReason::Other("a value that code works out"), Taint::default())
}

#[cfg(test)]
mod tests;
