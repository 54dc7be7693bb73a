//! Shell globs for names, texts and paths.
//!
//! `*` matches any sequence of characters, `?` one character, `[a-z]` and `[!a-z]` one of a set, and `\` escapes the
//! next character. In paths, `*` does not match a slash and `**` matches any directories. Nothing is compiled or
//! allocated, and the work is limited by the product of the lengths of pattern and text.
//!
//! The globs of the crate globset differ: `?` and sets match one byte, so that `[!a-c]` does not match `é`; braces are
//! special; `/etc/**` does not match `/etc`; and an unclosed bracket is an error.

/// Reports whether `pattern` matches all of `text`. `*` matches slashes too.
#[must_use]
pub fn text(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    // A quick check: most texts differ from most patterns in the last letter.
    if let Some(last) = pattern.last().filter(|last| !b"*?]}".contains(last))
        && text.last() != Some(last)
    {
        return false;
    }
    let (mut p, mut t) = (0, 0);
    // The positions at which to resume after the last star: after it in the pattern, and at the text that it has not
    // consumed yet.
    let mut resume: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            let Some(next) = next_place(pattern, p, text, t) else { return p == pattern.len() };
            resume = Some((p, next));
            t = next;
            continue;
        }
        let width = char_width(text, t);
        if let Some(next) = one(pattern, p, text.get(t..t + width).unwrap_or_default()) {
            p = next;
            t += width;
        } else if let Some((after, eaten)) = resume {
            let Some(next) = next_place(pattern, after, text, eaten + char_width(text, eaten)) else { return false };
            resume = Some((after, next));
            p = after;
            t = next;
        } else {
            return false;
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

/// Returns the first position from `from` on at which the pattern after a star, at `p`, could match. `None`: there is
/// none, or the star is at the end and matches the rest.
fn next_place(pattern: &[u8], p: usize, text: &[u8], from: usize) -> Option<usize> {
    let rest = pattern.get(p..).filter(|rest| !rest.is_empty())?;
    let plain = rest.iter().position(|byte| b"*?[\\".contains(byte)).unwrap_or(rest.len());
    Some(from + memchr::memmem::find(text.get(from..)?, &rest[..plain])?)
}

/// Reports whether `pattern` matches all of `path`, component by component. A `**` component matches any number of
/// components, including none.
#[must_use]
pub fn path(pattern: &str, path: &str) -> bool {
    let mut pattern = pattern.split('/');
    let mut path = path.split('/');
    let mut resume: Option<(std::str::Split<'_, char>, std::str::Split<'_, char>)> = None;
    loop {
        let here = path.clone();
        match (pattern.next(), path.next()) {
            (Some("**"), _) => {
                path = here;
                resume = Some((pattern.clone(), path.clone()));
            }
            (None, None) => return true,
            (Some(glob), Some(name)) if text(glob, name) => {}
            _ => {
                // The last `**` consumes one more component.
                let Some((after, mut eaten)) = resume.take() else { return false };
                if eaten.next().is_none() {
                    return false;
                }
                pattern = after.clone();
                path = eaten.clone();
                resume = Some((after, eaten));
            }
        }
    }
}

/// Reports whether a pattern contains a wildcard.
#[must_use]
pub fn is_glob(pattern: &str) -> bool {
    pattern.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Appends a text with its special characters escaped.
pub fn escape(text: &str, pattern: &mut String) {
    for character in text.chars() {
        if "*?[]\\".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
}

/// Matches one character with the pattern at `p`. Returns the position after it, or `None`.
fn one(pattern: &[u8], p: usize, character: &[u8]) -> Option<usize> {
    match *pattern.get(p)? {
        b'?' => Some(p + 1),
        b'[' => match class(pattern, p, character) {
            Some((true, next)) => Some(next),
            Some((false, _)) => None,
            // Without a closing bracket, the bracket is a literal character.
            None => (character == b"[").then_some(p + 1),
        },
        b'\\' if p + 1 < pattern.len() => literal(pattern, p + 1, character),
        _ => literal(pattern, p, character),
    }
}

fn literal(pattern: &[u8], p: usize, character: &[u8]) -> Option<usize> {
    let end = p + character.len();
    (pattern.get(p..end)? == character).then_some(end)
}

/// Parses the bracket expression at `p`. Returns whether it contains the character, and the position after it.
fn class(pattern: &[u8], p: usize, character: &[u8]) -> Option<(bool, usize)> {
    let mut at = p + 1;
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    at += usize::from(negated);
    let mut found = false;
    let mut first = true;
    loop {
        if *pattern.get(at)? == b']' && !first {
            return Some((found != negated, at + 1));
        }
        first = false;
        let width = char_width(pattern, at);
        let low = pattern.get(at..at + width)?;
        at += width;
        if pattern.get(at) == Some(&b'-') && pattern.get(at + 1).is_some_and(|next| *next != b']') {
            let width = char_width(pattern, at + 1);
            let high = pattern.get(at + 1..at + 1 + width)?;
            at += 1 + width;
            // UTF-8 sorts by code point, and shorter encodings first.
            let rank = |bytes: &[u8]| (bytes.len(), bytes.to_vec());
            found |= rank(low) <= rank(character) && rank(character) <= rank(high);
        } else {
            found |= low == character;
        }
    }
}

/// Returns the width of the UTF-8 character at `at`, at least 1.
fn char_width(bytes: &[u8], at: usize) -> usize {
    let width = match bytes.get(at) {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    width.min(bytes.len().saturating_sub(at)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_crosses_slashes_in_texts_and_stops_at_them_in_paths() {
        assert!(text("a*c", "a/b/c"));
        assert!(path("/etc/*.conf", "/etc/x.conf"));
        assert!(!path("/etc/*.conf", "/etc/a/x.conf"));
        assert!(path("/etc/**/x.conf", "/etc/a/b/x.conf"));
        assert!(path("/etc/**/x.conf", "/etc/x.conf"));
    }

    #[test]
    fn a_double_star_at_the_end_covers_the_directory_and_all_below_it() {
        assert!(path("/etc/**", "/etc"));
        assert!(path("/etc/**", "/etc/a/b"));
        assert!(!path("/etc/**", "/etcetera"));
        assert!(path("**/.git/hooks/*", "/a/b/.git/hooks/pre-commit"));
        assert!(!path("**/.git/hooks/*", "/a/b/.git/config"));
    }

    #[test]
    fn sets_ranges_and_escapes_match_one_character() {
        assert!(text("[a-c]?", "bü"));
        assert!(!text("[!a-c]", "b"));
        assert!(text("[!a-c]", "é"));
        assert!(text(r"\*", "*"));
        assert!(!text(r"\*", "x"));
        assert!(text("[x", "[x"));
        assert!(text("[]]", "]"));
    }

    #[test]
    fn a_pattern_covers_the_whole_text() {
        assert!(text("*.pem", "a.pem"));
        assert!(!text("*.pem", "a.pem.txt"));
        assert!(text("", ""));
        assert!(!text("", "a"));
        assert!(text("**", "anything"));
        assert!(text("*a*b", "xxaxxaxb"));
    }

    /// Returns all words of at most `most` of these letters.
    fn words(letters: &[&str], most: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..most {
            let end = all.len();
            for at in from..end {
                all.extend(letters.iter().map(|letter| format!("{}{letter}", all[at])).collect::<Vec<_>>());
            }
            from = end;
        }
        all
    }

    #[test]
    fn every_short_pattern_covers_what_its_meaning_covers() {
        fn covers(pattern: &[char], text: &[char]) -> bool {
            match (pattern.split_first(), text.split_first()) {
                (None, _) => text.is_empty(),
                (Some(('*', rest)), _) => (0..=text.len()).any(|taken| covers(rest, &text[taken..])),
                (Some(('?', rest)), Some((_, others))) => covers(rest, others),
                (Some((letter, rest)), Some((other, others))) => letter == other && covers(rest, others),
                (Some(_), None) => false,
            }
        }
        let texts = words(&["a", "b", "é"], 4);
        for pattern in words(&["a", "é", "*", "?"], 5) {
            let letters: Vec<char> = pattern.chars().collect();
            for known in &texts {
                let meant = covers(&letters, &known.chars().collect::<Vec<_>>());
                assert_eq!(text(&pattern, known), meant, "{pattern:?} over {known:?}");
            }
        }
    }
}
