//! Compiles the regular expressions of rules, and finds the literals that a text must contain to match one.

use std::borrow::Cow;

use regex::Error;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::judge::sort;

/// The maximum memory of one compiled expression, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles an expression. It matches bytes, because the words of commands are ASCII, and the Unicode tables would be
/// loaded at every start, even if no expression is used.
///
/// # Errors
/// The expression is invalid or too large, or contains non-ASCII letters where only bytes are possible: in a class, or
/// under `(?i)`.
pub fn compile(expression: &str) -> Result<Regex, Error> {
    RegexBuilder::new(expression).unicode(false).size_limit(SIZE_LIMIT).build()
}

/// The maximum number of literals of one expression.
const MOST: usize = 48;

/// Returns lower-case texts one of which occurs, ignoring case, in every match of the expression. Searching them first
/// avoids compiling most expressions. Empty: no such texts are known.
#[must_use]
pub fn literals(expression: &str) -> Vec<String> {
    let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(expression);
    let found = parsed.ok().and_then(|hir| needed(&hir)).unwrap_or_default();
    found.into_iter().filter_map(|literal| String::from_utf8(literal).ok()).collect()
}

/// Reports whether one of an expression's [`literals`] occurs in a text, or there are none.
#[must_use]
pub fn may_match(literals: &[String], text: &str) -> bool {
    if literals.is_empty() {
        return true;
    }
    let mut text = Cow::Borrowed(text);
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        text.to_mut().make_ascii_lowercase();
    }
    // Setting up a search costs more than a scan of most texts.
    literals.iter().any(|literal| literal.len() <= text.len() && text.contains(literal.as_str()))
}

type Literals = Vec<Vec<u8>>;

/// Returns literals one of which occurs in every match; of several such lists the most specific one.
fn needed(hir: &Hir) -> Option<Literals> {
    let whole = exact(hir).and_then(useful);
    let inside = match hir.kind() {
        HirKind::Capture(capture) => needed(&capture.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => needed(&repeated.sub),
        HirKind::Alternation(ways) => {
            let each: Option<Vec<Literals>> = ways.iter().map(needed).collect();
            each.and_then(|each| useful(each.concat()))
        }
        HirKind::Concat(parts) => in_row(parts),
        _ => None,
    };
    better(whole, inside)
}

/// Returns the best list among those of the parts, and of consecutive parts whose matches are all known.
fn in_row(parts: &[Hir]) -> Option<Literals> {
    let (mut best, mut row): (Option<Literals>, Literals) = (None, vec![Vec::new()]);
    for part in parts {
        match exact(part).and_then(|next| joined(&row, &next)) {
            Some(longer) => row = longer,
            None => {
                best = better(best, useful(std::mem::replace(&mut row, vec![Vec::new()])));
                best = better(best, needed(part));
            }
        }
    }
    better(best, useful(row))
}

/// Returns everything that a part matches, in lower case, if that is a short list.
fn exact(hir: &Hir) -> Option<Literals> {
    let all = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => vec![Vec::new()],
        HirKind::Literal(literal) => vec![literal.0.to_ascii_lowercase()],
        HirKind::Class(Class::Bytes(class)) => {
            let bytes = class.iter().flat_map(|range| range.start()..=range.end()).take(2 * MOST);
            bytes.map(|byte| vec![byte.to_ascii_lowercase()]).collect()
        }
        HirKind::Capture(capture) => exact(&capture.sub)?,
        HirKind::Repetition(repeated) if (repeated.min, repeated.max) == (0, Some(1)) => {
            let mut all = exact(&repeated.sub)?;
            all.push(Vec::new());
            all
        }
        HirKind::Alternation(ways) => ways.iter().map(exact).collect::<Option<Vec<Literals>>>()?.concat(),
        HirKind::Concat(parts) => {
            parts.iter().try_fold(vec![Vec::new()], |row: Literals, part| joined(&row, &exact(part)?))?
        }
        _ => return None,
    };
    short(all)
}

/// Concatenates each of the first with each of the second.
fn joined(first: &[Vec<u8>], second: &[Vec<u8>]) -> Option<Literals> {
    if first.len() * second.len() > MOST {
        return None;
    }
    let with = |start: &Vec<u8>| second.iter().map(move |end| [start.as_slice(), end].concat()).collect::<Vec<_>>();
    short(first.iter().flat_map(with).collect())
}

fn short(mut all: Literals) -> Option<Literals> {
    sort::sort(&mut all);
    all.dedup();
    (all.len() <= MOST).then_some(all)
}

/// Returns the list if it can exclude a text: an empty literal occurs in every text.
fn useful(all: Literals) -> Option<Literals> {
    short(all).filter(|all| all.iter().all(|literal| !literal.is_empty() && literal.is_ascii()))
}

/// Returns the list whose shortest literal is longer.
fn better(one: Option<Literals>, other: Option<Literals>) -> Option<Literals> {
    let shortest = |all: &[Vec<u8>]| all.iter().map(Vec::len).min().unwrap_or_default();
    match (one, other) {
        (Some(one), Some(other)) => Some(if shortest(&other) > shortest(&one) { other } else { one }),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_literals_of_an_expression_are_those_that_a_match_cannot_be_without() {
        for (expression, expected) in [
            ("abc", &["abc"][..]),
            ("(?i)ABC", &["abc"]),
            ("^(-c)?gc\\.(now|all)$", &["-cgc.all", "-cgc.now", "gc.all", "gc.now"]),
            ("^(--force|-f|\\+.*)$", &["+", "--force", "-f"]),
            ("x.*longer[0-9]+", &["longer"]),
            ("(ab)+c?", &["ab"]),
            ("a|b*", &[]),
            ("[^a]", &[]),
            ("", &[]),
            ("(", &[]),
        ] {
            assert_eq!(literals(expression), expected, "{expression}");
        }
    }

    #[test]
    fn what_matches_holds_one_of_them() {
        let literals = literals("(?i)^(-c)?core\\.(pager|editor)=");
        assert!(may_match(&literals, "-ccore.Pager=x") && may_match(&literals, "CORE.EDITOR="));
        assert!(!may_match(&literals, "status") && !may_match(&literals, ""));
        assert!(may_match(&[], ""));
    }
}
