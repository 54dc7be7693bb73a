//! The input of the parser: bytes, with holes for unknown parts.
//!
//! Out of scope: the meaning of a hole. The author of the text knows it; the tree contains the position of each hole
//! ([`super::tree::Part::Hole`]).

use std::collections::BTreeSet;

use super::cursor::HOLE;
use super::tree::HoleId;

/// The maximum number of digits in the word that represents a hole.
const LONGEST: usize = 12;

/// A text composed of known parts and holes. A byte of a known part cannot be confused with a hole, because the
/// positions of the holes are stored separately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub(super) bytes: Vec<u8>,
    pub(super) holes: Vec<(u32, HoleId)>,
}

impl Source {
    /// Appends known text.
    pub fn push_text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends a hole.
    pub fn push_hole(&mut self, hole: HoleId) {
        self.holes.push((super::cursor::offset(self.bytes.len()), hole));
        self.bytes.push(HOLE);
    }

    /// Returns the number of bytes; a hole counts as one.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Translates the text. The translation gets a word for each hole, which does not occur in the text. Where it keeps
    /// the word, the result contains the hole again.
    #[must_use]
    pub fn translated(&self, by: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        const STEM: &[u8] = b"hole";
        let numbers = memchr::memmem::find_iter(&self.bytes, STEM).filter_map(|at| {
            let digits = self.bytes.get(at + STEM.len()..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
            std::str::from_utf8(self.bytes.get(at + STEM.len()..)?.get(..digits.min(LONGEST))?).ok()?.parse().ok()
        });
        let used: BTreeSet<usize> = numbers.collect();
        let free = (0..).zip(&used).find(|(free, used)| free != *used).map_or(used.len(), |(free, _)| free);
        let mark = [STEM, free.to_string().as_bytes(), b"x"].concat();
        let word = |number: usize| [mark.as_slice(), number.to_string().as_bytes(), b"z"].concat();
        let mut plain = Vec::with_capacity(self.bytes.len());
        let mut from = 0;
        for (number, (at, _)) in self.holes.iter().enumerate() {
            let at = usize::try_from(*at).unwrap_or(usize::MAX);
            plain.extend_from_slice(self.bytes.get(from..at).unwrap_or_default());
            plain.extend(word(number));
            from = at.saturating_add(1);
        }
        plain.extend_from_slice(self.bytes.get(from..).unwrap_or_default());
        let translated = by(&plain);
        let mut source = Self::default();
        let mut rest = translated.as_slice();
        while let Some(at) = memchr::memmem::find(rest, &mark) {
            let (before, word) = rest.split_at(at);
            let digits = word.get(mark.len()..).unwrap_or_default();
            let end = digits.iter().position(|byte| *byte == b'z').unwrap_or_default();
            let number = digits.get(..end).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok());
            source.bytes.extend_from_slice(before);
            rest = word.get(mark.len() + end + 1..).unwrap_or_default();
            // A word that the translation damaged does not identify a hole; the replacement does not parse.
            match number.and_then(|number| self.holes.get(number)) {
                Some((_, hole)) => source.push_hole(*hole),
                None => source.push_text(" )"),
            }
        }
        source.bytes.extend_from_slice(rest);
        source
    }

    /// Returns the whole lines before a position; `None` if it is in the first line.
    #[must_use]
    pub fn lines_before(&self, place: u32) -> Option<Self> {
        let bytes = lines_before(&self.bytes, place)?;
        let is_before = |hole: &&(u32, HoleId)| usize::try_from(hole.0).is_ok_and(|at| at < bytes.len());
        let holes = self.holes.iter().filter(is_before).copied().collect();
        Some(Self { bytes: bytes.to_vec(), holes })
    }
}

/// Returns the whole lines of a text before a position; `None` if it is in the first line.
#[must_use]
pub fn lines_before(text: &[u8], place: u32) -> Option<&[u8]> {
    let before = text.get(..usize::try_from(place).ok()?)?;
    before.get(..before.iter().rposition(|byte| *byte == b'\n')?)
}

/// A segment of a text: bytes, or a hole between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceSegment<'t> {
    Bytes(&'t [u8]),
    Hole(HoleId),
}

/// Returns the hole at a position of the original text.
pub(super) fn hole_at(holes: &[(u32, HoleId)], place: u32) -> Option<HoleId> {
    let at = holes.binary_search_by_key(&place, |(at, _)| *at).ok()?;
    holes.get(at).map(|(_, hole)| *hole)
}

/// Splits a text into segments. `place` returns the original position of a byte.
pub(super) fn stretches<'t>(
    text: &'t [u8],
    holes: &[(u32, HoleId)],
    place: impl Fn(usize) -> u32,
) -> impl Iterator<Item = SourceSegment<'t>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let left = text.get(rest..).filter(|left| !left.is_empty())?;
        let is_hole = |at: usize| hole_at(holes, place(rest + at));
        let next =
            left.iter().enumerate().filter(|(_, byte)| **byte == HOLE).find_map(|(at, _)| Some((at, is_hole(at)?)));
        match next {
            Some((0, hole)) => {
                rest += 1;
                Some(SourceSegment::Hole(hole))
            }
            Some((at, _)) => {
                rest += at;
                Some(SourceSegment::Bytes(left.get(..at).unwrap_or_default()))
            }
            None => {
                rest = text.len();
                Some(SourceSegment::Bytes(left))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse_source;
    use super::super::tree::{Command, Dialect, Part, RedirectTarget, Script};
    use super::*;

    fn source(parts: &[Option<&str>]) -> Source {
        let mut source = Source::default();
        for (index, part) in parts.iter().enumerate() {
            match part {
                Some(text) => source.push_text(text),
                None => source.push_hole(HoleId(index as u32)),
            }
        }
        source
    }

    fn read(parts: &[Option<&str>]) -> Script {
        parse_source(&source(parts), Dialect::Bash).unwrap()
    }

    fn words(parts: &[Option<&str>]) -> Vec<Vec<Part>> {
        match &read(parts).items[0].first.commands[0] {
            Command::Simple(simple) => simple.words.iter().map(|word| word.parts.clone()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_translation_keeps_the_holes_and_takes_no_word_of_the_text_for_one() {
        let parts = [Some("if a hole0x0z"), None, Some("; b "), None, Some("hole1x1z hole; end")];
        let held = source(&parts);
        assert_eq!(held.translated(<[u8]>::to_vec), held);
        let doubled = held.translated(|text| [text, text].concat());
        assert_eq!(doubled.holes.iter().map(|(_, hole)| hole.0).collect::<Vec<_>>(), [1, 3, 1, 3]);
        assert_eq!(doubled.bytes, [held.bytes.as_slice(), &held.bytes].concat());
        // The holes in reverse order, with one of them removed.
        let swapped = held.translated(|text| {
            let text = String::from_utf8(text.to_vec()).unwrap();
            let words: Vec<&str> = text.split("; ").collect();
            [words[1], words[0]].join("; ").into_bytes()
        });
        assert_eq!(swapped.holes.iter().map(|(_, hole)| hole.0).collect::<Vec<_>>(), [3, 1]);
        // A damaged word makes the text invalid in every shell.
        let broken = held.translated(|text| text.iter().filter(|byte| !byte.is_ascii_digit()).copied().collect());
        assert!(broken.holes.is_empty() && parse_source(&broken, Dialect::Bash).is_err());
    }

    fn literal(text: &str) -> Part {
        Part::Literal(text.into())
    }

    fn hole(id: u32) -> Part {
        Part::Hole(HoleId(id))
    }

    #[test]
    fn the_lines_before_a_place_are_whole_and_keep_their_holes() {
        let whole = source(&[Some("ls "), None, Some("\nrm "), None, Some(" (\nend")]);
        let first = source(&[Some("ls "), None]);
        assert_eq!(whole.lines_before(3), None);
        assert_eq!(whole.lines_before(4), None, "a line ends behind its last byte");
        assert_eq!(whole.lines_before(5), Some(first.clone()));
        assert_eq!(whole.lines_before(10), Some(first));
        let both = Source { bytes: whole.bytes[..11].to_vec(), holes: vec![(3, HoleId(1)), (8, HoleId(3))] };
        assert_eq!(whole.lines_before(14), Some(both));
        assert_eq!(whole.lines_before(99), None);
    }

    #[test]
    fn a_hole_stands_where_it_was_put() {
        assert_eq!(
            words(&[Some("rm a"), None, Some("b "), None]),
            [vec![literal("rm")], vec![literal("a"), hole(1), literal("b")], vec![hole(3)],]
        );
        let double = Part::Double { parts: vec![literal("a"), hole(1), literal("b")], localized: false };
        assert_eq!(words(&[Some("\"a"), None, Some("b\"")]), [[double]]);
        let single = |text: &str| Part::Single(text.into());
        assert_eq!(words(&[Some("'a"), None, Some("b'")]), [[single("a"), hole(1), single("b")]]);
        assert_eq!(words(&[Some("'"), None, Some("'")]), [[single(""), hole(1)]]);
        assert_eq!(
            words(&[Some("$'\\x41"), None, Some("\\x42'")]),
            [[Part::AnsiC("A".into()), hole(1), Part::AnsiC("B".into())]]
        );
        assert_eq!(words(&[Some("\\"), None]), [[hole(1)]]);
    }

    #[test]
    fn a_byte_that_stands_for_holes_is_none_where_none_is() {
        let script = super::super::parse(b"rm \xff'\xff'\"\xff\"$'\xff'", Dialect::Bash).unwrap();
        assert!(!format!("{script:?}").contains("Hole"), "{script:?}");
        assert!(format!("{script:?}").contains('\u{fffd}'));
        // An escape that decodes to this byte is not a hole.
        assert!(!format!("{:?}", words(&[Some("$'\\xff' "), None])[0]).contains("Hole"));
    }

    #[test]
    fn holes_are_found_again_in_texts_that_are_rewritten() {
        let all = |parts: &[Option<&str>]| format!("{:?}", read(parts));
        for parts in [
            &[Some("echo `rm \\`ls "), None, Some("\\``")][..],
            &[Some("cat <<E\na"), None, Some("b\nE\n")],
            &[Some("cat <<'E'\na"), None, Some("b\nE\n")],
            &[Some("cat <<-E\n\ta"), None, Some("b\n\tE\n")],
            &[Some("cat <<-'E'\n\ta"), None, Some("b\n\tE\n")],
            &[Some("for x in "), None, Some("; do :; done")],
            &[Some("case "), None, Some(" in x) :;; esac")],
            &[Some("[[ "), None, Some(" == x ]]")],
            &[Some("echo $(( "), None, Some(" + 1 ))")],
            &[Some("echo ${x:-"), None, Some("}")],
            &[Some("x="), None],
            &[Some("echo > "), None],
        ] {
            assert!(all(parts).contains("Hole(HoleId(1))"), "{parts:?}: {}", all(parts));
            assert!(!all(parts).contains('\u{fffd}'), "{parts:?}");
        }
        let Command::Simple(simple) =
            read(&[Some("cat <<-'E'\n\ta"), None, Some("b\n\tE\n")]).items.remove(0).first.commands.remove(0)
        else {
            panic!("no simple command")
        };
        let RedirectTarget::Heredoc(heredoc) = &simple.redirects[0].target else { panic!("no here-document") };
        assert_eq!(heredoc.body.parts, [literal("a"), hole(1), literal("b\n")]);
    }

    #[test]
    fn a_name_is_no_hole() {
        for parts in [
            &[Some("f"), None, Some("() { :; }")][..],
            &[Some("function "), None, Some(" { :; }")],
            &[Some("cat <<"), None, Some("\na\n")],
            &[Some("for "), None, Some(" in a; do :; done")],
        ] {
            assert!(parse_source(&source(parts), Dialect::Bash).is_err(), "{parts:?}");
        }
    }
}
