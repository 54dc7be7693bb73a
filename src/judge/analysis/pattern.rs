//! Matches shell patterns with known text: `${x#…}`, `${x/…}`, `case`, and a glob as the command word.
//!
//! Out of scope: paths and the file system.

use std::ops::RangeInclusive;

use super::letter::{self, Letter};

/// Maximum number of steps of one match.
pub(super) const MAX_STEPS: u32 = 100_000;

/// An element of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Element {
    Char(char),
    Any,
    Many,
    Set { negated: bool, members: Vec<(char, char)> },
}

/// A shell pattern with `*`, `?`, `[…]`, and `\c` for a literal character. Extended globs are not supported.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    elements: Vec<Element>,
}

impl Pattern {
    /// Parses a pattern. A malformed bracket expression is text, as in a shell.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut elements = Vec::new();
        let mut at = 0;
        // After one unclosed bracket, no later bracket is closed.
        let mut brackets = true;
        while let Some(&c) = chars.get(at) {
            at += 1;
            match c {
                '*' => {
                    if elements.last() != Some(&Element::Many) {
                        elements.push(Element::Many);
                    }
                }
                '?' => elements.push(Element::Any),
                '\\' => {
                    elements.push(Element::Char(chars.get(at).copied().unwrap_or('\\')));
                    at += 1;
                }
                '[' if brackets => match set(&chars, at) {
                    Some((element, next)) => {
                        elements.push(element);
                        at = next;
                    }
                    None => {
                        brackets = false;
                        elements.push(Element::Char('['));
                    }
                },
                other => elements.push(Element::Char(other)),
            }
        }
        Self { elements }
    }

    /// Returns a pattern that matches only this text.
    pub fn quote(text: &str) -> String {
        let mut quoted = String::with_capacity(text.len());
        for c in text.chars() {
            if "*?[]\\".contains(c) {
                quoted.push('\\');
            }
            quoted.push(c);
        }
        quoted
    }

    /// Reports whether it matches the whole text; `None`: too many steps.
    pub fn matches(&self, text: &str) -> Option<bool> {
        let mut steps = MAX_STEPS;
        self.run(&letter::known(text), &mut steps)
    }

    /// Returns the length of the shortest or longest matching prefix.
    pub fn prefix(&self, text: &[Letter], longest: bool) -> Option<Option<usize>> {
        self.prefix_of(text, longest, &mut { MAX_STEPS })
    }

    /// Returns the beginning of the shortest or longest matching suffix.
    pub fn suffix(&self, text: &[Letter], longest: bool) -> Option<Option<usize>> {
        let mut steps = MAX_STEPS;
        let starts = text.len() - text.len().min(self.most())..=text.len() - text.len().min(self.least());
        Self::first(starts, longest, |start| self.run(text.get(start..)?, &mut steps))
    }

    /// Replaces the first match, or all matches.
    pub fn replace(&self, text: &[Letter], replacement: &[Letter], all: bool) -> Option<Vec<Letter>> {
        let (mut rest, mut steps) = (text, MAX_STEPS);
        let mut result = Vec::with_capacity(text.len());
        while let Some((first, behind)) = rest.split_first() {
            match self.prefix_of(rest, true, &mut steps)? {
                Some(length) if length > 0 => {
                    result.extend_from_slice(replacement);
                    rest = rest.get(length..)?;
                    if !all {
                        break;
                    }
                }
                _ => {
                    result.push(*first);
                    rest = behind;
                }
            }
        }
        result.extend(rest);
        Some(result)
    }

    /// Like [`Self::prefix`], within a limit of steps.
    fn prefix_of(&self, text: &[Letter], longest: bool, steps: &mut u32) -> Option<Option<usize>> {
        let lengths = text.len().min(self.least())..=text.len().min(self.most());
        Self::first(lengths, !longest, |length| self.run(text.get(..length)?, steps))
    }

    /// Returns the first of these, from the smallest or the largest, for which there is a match.
    fn first(
        mut all: RangeInclusive<usize>,
        from_least: bool,
        mut matches: impl FnMut(usize) -> Option<bool>,
    ) -> Option<Option<usize>> {
        while let Some(next) = if from_least { all.next() } else { all.next_back() } {
            if matches(next)? {
                return Some(Some(next));
            }
        }
        Some(None)
    }

    /// Returns the minimum number of characters that it matches.
    fn least(&self) -> usize {
        self.elements.iter().filter(|element| **element != Element::Many).count()
    }

    /// Returns the maximum number of characters that it matches.
    fn most(&self) -> usize {
        if self.elements.contains(&Element::Many) { usize::MAX } else { self.elements.len() }
    }

    /// Matches with backtracking to the last star only, so that the work is at most the product of both lengths.
    fn run(&self, text: &[Letter], steps: &mut u32) -> Option<bool> {
        let (mut p, mut t) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        loop {
            *steps = steps.checked_sub(1)?;
            match (self.elements.get(p), text.get(t)) {
                (None, None) => return Some(true),
                (Some(Element::Many), _) => {
                    star = Some((p + 1, t));
                    p += 1;
                }
                (Some(element), Some(&c)) if element.accepts(c) => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((after, from)) if from < text.len() => {
                        star = Some((after, from + 1));
                        p = after;
                        t = from + 1;
                    }
                    _ => return Some(false),
                },
            }
        }
    }
}

impl Element {
    fn accepts(&self, letter: Letter) -> bool {
        match (self, letter) {
            (Self::Char(own), letter) => letter == Letter::Known(*own),
            (Self::Any, _) => true,
            (Self::Many, _) => false,
            (Self::Set { negated, members }, Letter::Known(c)) => {
                members.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated
            }
            (Self::Set { negated, .. }, _) => *negated,
        }
    }
}

/// Parses a bracket expression whose text begins at `at`, and returns the position after it.
fn set(chars: &[char], mut at: usize) -> Option<(Element, usize)> {
    let negated = matches!(chars.get(at), Some('!' | '^'));
    at += usize::from(negated);
    let start = at;
    let mut members = Vec::new();
    loop {
        let c = *chars.get(at)?;
        if c == ']' && at > start {
            return Some((Element::Set { negated, members }, at + 1));
        }
        if c == '[' && chars.get(at + 1) == Some(&':') {
            let rest = chars.get(at + 2..)?;
            let end = rest.iter().take(16).position(|c| *c == ':')?;
            let name: String = rest.iter().take(end).collect();
            if rest.get(end + 1) == Some(&']') {
                members.extend_from_slice(class(&name)?);
                at += end + 4;
                continue;
            }
        }
        let (c, width) = if c == '\\' { (*chars.get(at + 1)?, 2) } else { (c, 1) };
        at += width;
        if chars.get(at) == Some(&'-') && !matches!(chars.get(at + 1), None | Some(']')) {
            let high = *chars.get(at + 1)?;
            members.push((c, high));
            at += 2;
        } else {
            members.push((c, c));
        }
    }
}

fn class(name: &str) -> Option<&'static [(char, char)]> {
    Some(match name {
        "alpha" => &[('a', 'z'), ('A', 'Z')],
        "digit" => &[('0', '9')],
        "alnum" | "word" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
        "lower" => &[('a', 'z')],
        "upper" => &[('A', 'Z')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "xdigit" => &[('0', '9'), ('a', 'f'), ('A', 'F')],
        "print" => &[(' ', '~')],
        "graph" => &[('!', '~')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::act::Value;

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).matches(text).unwrap()
    }

    #[test]
    fn patterns_match_as_in_a_shell() {
        assert!(matches("r?", "rm") && matches("*", "") && matches("a*c*e", "abcde") && matches("[a-c]x", "bx"));
        assert!(matches("[!a]x", "bx") && matches("[]]", "]") && matches("[[:alpha:]]m", "rm") && matches("\\*", "*"));
        assert!(!matches("r?", "r") && !matches("[!a]x", "ax") && !matches("\\*", "a") && !matches("a*b", "ac"));
        assert!(matches("[a", "[a"), "a bracket that does not close is text");
    }

    #[test]
    fn prefixes_and_suffixes_are_shortest_or_longest() {
        let star = Pattern::new("*/");
        assert_eq!(star.prefix(&letter::known("a/b/c"), false), Some(Some(2)));
        assert_eq!(star.prefix(&letter::known("a/b/c"), true), Some(Some(4)));
        let dot = Pattern::new(".*");
        assert_eq!(dot.suffix(&letter::known("a.b.c"), false), Some(Some(3)));
        assert_eq!(dot.suffix(&letter::known("a.b.c"), true), Some(Some(1)));
        assert_eq!(dot.suffix(&letter::known("abc"), true), Some(None));
        // A pattern of a fixed length.
        let two = Pattern::new("é?");
        assert_eq!(
            (two.prefix(&letter::known("éab"), true), two.suffix(&letter::known("aéb"), false)),
            (Some(Some(2)), Some(Some(1)))
        );
        assert_eq!(
            (
                two.prefix(&letter::known("é"), true),
                two.suffix(&letter::known("b"), true),
                two.prefix(&letter::known("aé"), false)
            ),
            (Some(None), Some(None), Some(None))
        );
    }

    #[test]
    fn matches_are_replaced_as_in_a_shell() {
        let dash = letter::known("-");
        let replaced = |pattern: &str, text: &str, all| {
            let letters = Pattern::new(pattern).replace(&letter::known(text), &dash, all).unwrap();
            Value::of_letters(letters).rough().into_owned()
        };
        assert_eq!((replaced("a?", "xabyac", true), replaced("a?", "xabyac", false)), ("x-y-".into(), "x-yac".into()));
        assert_eq!((replaced("b*", "abcb", true), replaced("c", "ab", true)), ("a-".into(), "ab".into()));
        assert_eq!((replaced("*", "", true), replaced("é", "éé", true)), (String::new(), "--".into()));
        assert!(
            Pattern::new("*b").replace(&letter::known(&"a".repeat(4_000)), &[], true).is_none(),
            "that takes too much work"
        );
    }

    #[test]
    fn hard_patterns_give_up_instead_of_hanging() {
        assert!(Pattern::new(&"a*".repeat(500)).matches(&"a".repeat(100_000)).is_none());
        assert_eq!(Pattern::new(&"[".repeat(100_000)).matches("x"), Some(false));
    }
}
