//! Regular expressions held against a text, and names of options compared.
//!
//! Regular expressions are compiled when they are first needed and kept for the thread.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::bytes::Regex;

use super::expression::{compile, may_match};
use super::model::TextTest;

/// Beyond this many, the compiled expressions of a thread are thrown away and made again when needed.
const MAX_KEPT: usize = 4096;

thread_local! {
    static COMPILED: RefCell<HashMap<String, Option<Regex>>> = RefCell::new(HashMap::new());
}

/// Whether the expression is found in the text. One that does not compile (loading checks that) counts as found:
/// the stricter reading.
#[must_use]
pub fn found(expression: &str, text: &str) -> bool {
    with(expression, |regex| regex.is_none_or(|regex| regex.is_match(text.as_bytes())))
}

/// Whether the expression of a test is found in the text. Few texts hold what it needs, and only for those it is compiled.
#[must_use]
pub fn matches(test: &TextTest, text: &str) -> bool {
    test.regex.as_deref().is_some_and(|regex| may_match(&test.literals, text) && found(regex, text))
}

/// Where the expression is first found, as byte offsets; all of the text when it does not compile.
#[must_use]
pub fn find(expression: &str, text: &str) -> Option<(usize, usize)> {
    with(expression, |regex| match regex {
        Some(regex) => regex.find(text.as_bytes()).map(|found| whole_letters(text, found.start(), found.end())),
        None => Some((0, text.len())),
    })
}

/// A place in a text, widened to the letters that it cuts through.
fn whole_letters(text: &str, mut start: usize, mut end: usize) -> (usize, usize) {
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    (start, end)
}

/// Does something with the compiled expression, which is kept from its first use on.
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

/// Whether two flag names are the same; the `=` of a key is no part of it.
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
