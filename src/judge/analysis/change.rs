//! Changes of known text: what parameter expansions cut, replace and convert.

use super::act::{NumberId, Taint, UnknownReason, Value};
use super::arithmetic;
use super::pattern::Pattern;
use super::state::{Attribute, unknown};
use crate::judge::syntax::tree::ReplaceAnchor;

pub(super) fn substring(text: &str, offset: i64, length: Option<Option<i64>>) -> Option<String> {
    let count = text.chars().count() as i64;
    let from = if offset < 0 { count + offset } else { offset };
    if from < 0 || from > count {
        return Some(String::new());
    }
    let take = match length {
        None => count,
        Some(length) => {
            let length = length?;
            if length < 0 { (count + length - from).max(0) } else { length }
        }
    };
    Some(text.chars().skip(from as usize).take(take as usize).collect())
}

pub(super) fn replace(text: &str, pattern: &str, replacement: &str, anchor: ReplaceAnchor) -> Option<String> {
    // The empty pattern is found at the ends alone.
    if pattern.is_empty() {
        return Some(match anchor {
            ReplaceAnchor::Prefix => format!("{replacement}{text}"),
            ReplaceAnchor::Suffix => format!("{text}{replacement}"),
            ReplaceAnchor::First | ReplaceAnchor::All => text.to_owned(),
        });
    }
    let pattern = Pattern::new(pattern);
    match anchor {
        ReplaceAnchor::Prefix => {
            let cut = pattern.prefix(text, true)?;
            Some(cut.map_or_else(|| text.to_owned(), |cut| format!("{replacement}{}", &text.get(cut..).unwrap_or(""))))
        }
        ReplaceAnchor::Suffix => {
            let cut = pattern.suffix(text, true)?;
            Some(cut.map_or_else(|| text.to_owned(), |cut| format!("{}{replacement}", &text.get(..cut).unwrap_or(""))))
        }
        ReplaceAnchor::First => pattern.replace(text, replacement, false),
        ReplaceAnchor::All => pattern.replace(text, replacement, true),
    }
}

pub(super) fn change_case(text: &str, operator: &str, pattern: &str) -> Option<String> {
    let pattern = if pattern.is_empty() { None } else { Some(Pattern::new(pattern)) };
    let all = operator.len() == 2;
    let mut changed = String::with_capacity(text.len());
    for (index, c) in text.chars().enumerate() {
        let hit = match &pattern {
            Some(pattern) => pattern.matches(c.encode_utf8(&mut [0; 4]))?,
            None => true,
        };
        if !hit || (index > 0 && !all) {
            changed.push(c);
            continue;
        }
        match operator.chars().next()? {
            '^' => changed.extend(c.to_uppercase()),
            ',' => changed.extend(c.to_lowercase()),
            _ if c.is_uppercase() => changed.extend(c.to_lowercase()),
            _ => changed.extend(c.to_uppercase()),
        }
    }
    Some(changed)
}

/// A value as an attribute of its variable makes it.
pub(super) fn with_attribute(value: Value, attribute: Attribute) -> Value {
    match (attribute, value.known()) {
        (Attribute::Lower, Some(text)) => Value::text(text.to_lowercase()),
        (Attribute::Upper, Some(text)) => Value::text(text.to_uppercase()),
        (Attribute::Integer, Some(text)) => arithmetic::evaluate(&text, &|_| None).map_or_else(
            || unknown(UnknownReason::Number(NumberId::default()), Taint::default()),
            |number| Value::text(number.to_string()),
        ),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substrings_count_from_either_end() {
        assert_eq!(substring("xrmx", 1, Some(Some(2))).as_deref(), Some("rm"));
        assert_eq!(substring("xxrm", -2, None).as_deref(), Some("rm"));
        assert_eq!(substring("rmxx", 0, Some(Some(-2))).as_deref(), Some("rm"));
        assert_eq!(substring("a", 5, None).as_deref(), Some(""));
    }

    #[test]
    fn replacements_follow_the_anchor() {
        assert_eq!(replace("axbx", "x", "-", ReplaceAnchor::First).as_deref(), Some("a-bx"));
        assert_eq!(replace("axbx", "x", "-", ReplaceAnchor::All).as_deref(), Some("a-b-"));
        assert_eq!(replace("axbx", "a", "", ReplaceAnchor::Prefix).as_deref(), Some("xbx"));
        assert_eq!(replace("axbx", "x", "", ReplaceAnchor::Suffix).as_deref(), Some("axb"));
        assert_eq!(replace("ab", "", "-", ReplaceAnchor::Prefix).as_deref(), Some("-ab"));
        assert_eq!(replace("ab", "", "-", ReplaceAnchor::Suffix).as_deref(), Some("ab-"));
        assert_eq!(replace("ab", "", "-", ReplaceAnchor::First).as_deref(), Some("ab"));
        assert_eq!(replace("ab", "", "-", ReplaceAnchor::All).as_deref(), Some("ab"));
    }

    #[test]
    fn case_is_changed_for_one_or_for_all() {
        assert_eq!(change_case("RM", ",,", "").as_deref(), Some("rm"));
        assert_eq!(change_case("rm", "^", "").as_deref(), Some("Rm"));
        assert_eq!(change_case("rm", "^^", "m").as_deref(), Some("rM"));
        assert_eq!(change_case("rM", "~~", "").as_deref(), Some("Rm"));
    }
}
