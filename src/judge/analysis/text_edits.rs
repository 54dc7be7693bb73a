//! Changes of known text by parameter expansions: removal, replacement, conversion of case.

use super::act::{NumberId, Taint, UnknownReason, Value};
use super::arithmetic;
use super::letter::Letter;
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

pub(super) fn replace(
    text: &[Letter],
    pattern: &str,
    replacement: &[Letter],
    anchor: ReplaceAnchor,
) -> Option<Vec<Letter>> {
    // The empty pattern matches only at the beginning and the end.
    if pattern.is_empty() {
        return Some(match anchor {
            ReplaceAnchor::Prefix => [replacement, text].concat(),
            ReplaceAnchor::Suffix => [text, replacement].concat(),
            ReplaceAnchor::First | ReplaceAnchor::All => text.to_vec(),
        });
    }
    let pattern = Pattern::new(pattern);
    match anchor {
        ReplaceAnchor::Prefix => {
            let cut = pattern.prefix(text, true)?;
            Some(cut.and_then(|cut| text.get(cut..)).map_or_else(|| text.to_vec(), |rest| [replacement, rest].concat()))
        }
        ReplaceAnchor::Suffix => {
            let cut = pattern.suffix(text, true)?;
            Some(cut.and_then(|cut| text.get(..cut)).map_or_else(|| text.to_vec(), |rest| [rest, replacement].concat()))
        }
        ReplaceAnchor::First => pattern.replace(text, replacement, false),
        ReplaceAnchor::All => pattern.replace(text, replacement, true),
    }
}

pub(super) fn change_case(text: &[Letter], operator: &str, pattern: &str) -> Option<Vec<Letter>> {
    let pattern = if pattern.is_empty() { None } else { Some(Pattern::new(pattern)) };
    let all = operator.len() == 2;
    let mut changed = Vec::with_capacity(text.len());
    for (index, letter) in text.iter().enumerate() {
        let Letter::Known(c) = *letter else {
            // The letters of the number may have changed.
            changed.push(Letter::Number(NumberId::default()));
            continue;
        };
        let hit = match &pattern {
            Some(pattern) => pattern.matches(c.encode_utf8(&mut [0; 4]))?,
            None => true,
        };
        if !hit || (index > 0 && !all) {
            changed.push(*letter);
            continue;
        }
        match operator.chars().next()? {
            '^' => changed.extend(c.to_uppercase().map(Letter::Known)),
            ',' => changed.extend(c.to_lowercase().map(Letter::Known)),
            _ if c.is_uppercase() => changed.extend(c.to_lowercase().map(Letter::Known)),
            _ => changed.extend(c.to_uppercase().map(Letter::Known)),
        }
    }
    Some(changed)
}

/// Applies an attribute of a variable to a value.
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
    use crate::judge::analysis::letter::known;

    fn shown(letters: Option<Vec<Letter>>) -> String {
        Value::of_letters(letters.unwrap()).rough().into_owned()
    }

    #[test]
    fn substrings_count_from_either_end() {
        assert_eq!(substring("xrmx", 1, Some(Some(2))).as_deref(), Some("rm"));
        assert_eq!(substring("xxrm", -2, None).as_deref(), Some("rm"));
        assert_eq!(substring("rmxx", 0, Some(Some(-2))).as_deref(), Some("rm"));
        assert_eq!(substring("a", 5, None).as_deref(), Some(""));
    }

    #[test]
    fn replacements_follow_the_anchor() {
        assert_eq!(shown(replace(&known("axbx"), "x", &known("-"), ReplaceAnchor::First)), "a-bx");
        assert_eq!(shown(replace(&known("axbx"), "x", &known("-"), ReplaceAnchor::All)), "a-b-");
        assert_eq!(shown(replace(&known("axbx"), "a", &known(""), ReplaceAnchor::Prefix)), "xbx");
        assert_eq!(shown(replace(&known("axbx"), "x", &known(""), ReplaceAnchor::Suffix)), "axb");
        assert_eq!(shown(replace(&known("ab"), "", &known("-"), ReplaceAnchor::Prefix)), "-ab");
        assert_eq!(shown(replace(&known("ab"), "", &known("-"), ReplaceAnchor::Suffix)), "ab-");
        assert_eq!(shown(replace(&known("ab"), "", &known("-"), ReplaceAnchor::First)), "ab");
        assert_eq!(shown(replace(&known("ab"), "", &known("-"), ReplaceAnchor::All)), "ab");
    }

    #[test]
    fn case_is_changed_for_one_or_for_all() {
        assert_eq!(shown(change_case(&known("RM"), ",,", "")), "rm");
        assert_eq!(shown(change_case(&known("rm"), "^", "")), "Rm");
        assert_eq!(shown(change_case(&known("rm"), "^^", "m")), "rM");
        assert_eq!(shown(change_case(&known("rM"), "~~", "")), "Rm");
    }
}
