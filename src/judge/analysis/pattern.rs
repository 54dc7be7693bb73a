//! Shell patterns over known text: what `${x#…}`, `${x/…}`, `case` and a glob in command position match.
//!
//! What may not enter: paths and directories; nothing here looks at a file system.

/// Work that one match may take, in steps.
const MAX_STEPS: u32 = 100_000;

/// One element of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Element {
    Char(char),
    Any,
    Many,
    Set { negated: bool, members: Vec<(char, char)> },
}

/// A shell pattern: `*`, `?`, `[…]`, and `\c` for a plain character. Extended globs are not patterns here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    elements: Vec<Element>,
}

impl Pattern {
    /// Reads a pattern. What is no well-formed bracket expression is text, as in a shell.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut elements = Vec::new();
        let mut at = 0;
        // A bracket that was found not to close never closes later either.
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

    /// Text as a pattern that matches only itself.
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

    /// Whether it matches the whole text; `None` when that takes too much work.
    pub fn matches(&self, text: &str) -> Option<bool> {
        let chars: Vec<char> = text.chars().collect();
        let mut steps = MAX_STEPS;
        self.run(&chars, &mut steps)
    }

    /// The byte length of the shortest or longest prefix that matches.
    pub fn prefix(&self, text: &str, longest: bool) -> Option<Option<usize>> {
        let chars: Vec<char> = text.chars().collect();
        let mut steps = MAX_STEPS;
        let lengths: Box<dyn Iterator<Item = usize>> =
            if longest { Box::new((0..=chars.len()).rev()) } else { Box::new(0..=chars.len()) };
        for length in lengths {
            if self.run(chars.get(..length)?, &mut steps)? {
                return Some(Some(chars.iter().take(length).map(|c| c.len_utf8()).sum()));
            }
        }
        Some(None)
    }

    /// Where the shortest or longest suffix that matches begins, in bytes.
    pub fn suffix(&self, text: &str, longest: bool) -> Option<Option<usize>> {
        let chars: Vec<char> = text.chars().collect();
        let mut steps = MAX_STEPS;
        let starts: Box<dyn Iterator<Item = usize>> =
            if longest { Box::new(0..=chars.len()) } else { Box::new((0..=chars.len()).rev()) };
        for start in starts {
            if self.run(chars.get(start..)?, &mut steps)? {
                return Some(Some(chars.iter().take(start).map(|c| c.len_utf8()).sum()));
            }
        }
        Some(None)
    }

    /// Greedy backtracking to the last star only, so that the work is at most pattern × text.
    fn run(&self, text: &[char], steps: &mut u32) -> Option<bool> {
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
    fn accepts(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::Any => true,
            Self::Many => false,
            Self::Set { negated, members } => members.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated,
        }
    }
}

/// A bracket expression whose text begins at `at`; the position after it.
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
        assert_eq!(star.prefix("a/b/c", false), Some(Some(2)));
        assert_eq!(star.prefix("a/b/c", true), Some(Some(4)));
        let dot = Pattern::new(".*");
        assert_eq!(dot.suffix("a.b.c", false), Some(Some(3)));
        assert_eq!(dot.suffix("a.b.c", true), Some(Some(1)));
        assert_eq!(dot.suffix("abc", true), Some(None));
    }

    #[test]
    fn hard_patterns_give_up_instead_of_hanging() {
        assert!(Pattern::new(&"a*".repeat(500)).matches(&"a".repeat(100_000)).is_none());
        assert_eq!(Pattern::new(&"[".repeat(100_000)).matches("x"), Some(false));
    }
}
