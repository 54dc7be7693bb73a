//! Matches regular expressions with texts, and compares names of options.
//!
//! Regular expressions are compiled on first use and cached for the thread.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::bytes::Regex;

use super::expression::{compile, may_match};
use super::model::TextTest;

/// The maximum number of compiled expressions in a thread's cache. Then the cache is cleared.
const MAX_KEPT: usize = 4096;

thread_local! {
    static COMPILED: RefCell<HashMap<String, Option<Regex>>> = RefCell::new(HashMap::new());
}

/// Reports whether the expression matches a part of the text. One that does not compile, which loading checks, matches
/// everything: the stricter assumption.
#[must_use]
pub fn found(expression: &str, text: &str) -> bool {
    with(expression, |regex| regex.is_none_or(|regex| regex.is_match(text.as_bytes())))
}

/// Reports whether the expression of a test matches a part of the text. It is compiled only if the text contains one of
/// its literals.
#[must_use]
pub fn matches(test: &TextTest, text: &str) -> bool {
    test.regex.as_deref().is_some_and(|regex| may_match(&test.literals, text) && found(regex, text))
}

/// Returns the first match as byte offsets; the whole text if the expression does not compile.
#[must_use]
pub fn find(expression: &str, text: &str) -> Option<(usize, usize)> {
    with(expression, |regex| match regex {
        Some(regex) => regex.find(text.as_bytes()).map(|found| whole_letters(text, found.start(), found.end())),
        None => Some((0, text.len())),
    })
}

/// Extends a range of a text to character boundaries.
fn whole_letters(text: &str, mut start: usize, mut end: usize) -> (usize, usize) {
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    (start, end)
}

/// Calls `then` with the compiled expression, which is cached.
fn with<T>(expression: &str, then: impl FnOnce(Option<&Regex>) -> T) -> T {
    COMPILED.with_borrow_mut(|compiled| {
        if !compiled.contains_key(expression) {
            if compiled.len() >= MAX_KEPT {
                compiled.clear();
            }
            compiled.insert(expression.to_owned(), compile(expression).ok());
        }
        then(compiled.get(expression).and_then(Option::as_ref))
    })
}

/// Reports whether two flag names are equal; the `=` of a key is ignored.
#[must_use]
pub fn same_flag(one: &str, other: &str) -> bool {
    one.strip_suffix('=').unwrap_or(one) == other.strip_suffix('=').unwrap_or(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_over_bytes_and_what_it_finds_is_whole_letters() {
        assert!(found(r"(?i)\bPASS\w+\s", "my passwort \u{fc}"));
        assert!(found("gr\u{fc}n|blau", "gr\u{fc}n") && !found(r"gr\w+n", "gr\u{fc}n"));
        assert_eq!(find("r.", "gr\u{fc}n"), Some((1, 4)));
        assert_eq!(find("[^a-z]n", "gr\u{fc}n"), Some((2, 5)));
    }

    #[test]
    fn a_broken_expression_counts_as_found() {
        assert!(found("(", "x"));
        assert!(!found("y", "x"));
    }
}
