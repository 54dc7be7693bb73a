//! Globs in code, and the files for which they stand.

use super::{Gap, Language, Slice, Text};
use crate::judge::analysis::act::{Piece, Taint, Unknown, UnknownReason, Value};
use crate::judge::rules::word_lists;

/// Maximum number of patterns to which braces expand.
const MAX_PATTERNS: usize = 64;

/// Reports whether a call returns the files that match a pattern.
pub(super) fn finds(language: Language, callee: &str) -> bool {
    word_lists::GLOB_CALLS.contains(&callee)
        && (callee != "glob" || matches!(language, Language::Php | Language::Perl | Language::Js | Language::Mongo))
}

/// Reports whether the arguments of a call are patterns and not names.
pub(super) fn takes(callee: &str) -> bool {
    word_lists::PATTERN_TAKING_CALLS.contains(&callee)
}

/// Returns a value for each pattern, after expansion of braces.
pub(super) fn found<'v>(patterns: impl IntoIterator<Item = &'v Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for pattern in patterns {
        match pattern.known() {
            Some(pattern) => all.extend(written_out(&pattern).iter().map(globbed)),
            None => all.push(pattern.clone()),
        }
    }
    all
}

/// Converts a pattern to a value. One with `**` is a search for its last part.
pub(super) fn globbed<'t>(pattern: impl Into<Slice<'t>>) -> Value {
    let (pattern, mut all) = (pattern.into(), Value::default());
    let parted = pattern.two(|pattern| pattern.split_once("**"));
    let parted = parted.and_then(|(start, rest)| Some((start.known()?, rest)));
    let Some((start, rest)) = parted.filter(|(start, _)| start.is_empty() || start.ends_with('/')) else {
        push_pattern(pattern, &mut all);
        return all;
    };
    let start = match start.trim_end_matches('/') {
        "" if start.is_empty() => ".",
        "" => "/",
        start => start,
    };
    let why = UnknownReason::Found(Some(start.to_owned()));
    all.push(Piece::Unknown(Unknown { why, taint: Taint::default() }));
    let last = rest.cut(|rest| rest.rsplit('/').next().unwrap_or_default());
    if !matches!(last.rough(), "" | "*" | "**" | "*.*") {
        all.push(Piece::Text("/".to_owned()));
        push_pattern(last, &mut all);
    }
    all
}

/// Appends a pattern in one directory. Its unknown parts are not patterns.
fn push_pattern(pattern: Slice<'_>, all: &mut Value) {
    for piece in pattern.value().into_pieces() {
        match piece {
            Piece::Text(text) => crate::judge::analysis::split::push_globs(&text, all),
            other => all.push(other),
        }
    }
}

/// Expands `{a,b}` in a pattern.
fn written_out(pattern: &str) -> Vec<Text> {
    let mut all = vec![pattern.to_owned()];
    for _ in 0..MAX_PATTERNS {
        let pair = |text: &String| {
            let open = text.rfind('{')?;
            let close = open + text.get(open..)?.find('}')?;
            text.get(open..close)?.contains(',').then_some((open, close))
        };
        let Some((at, (open, close))) = all.iter().enumerate().find_map(|(at, text)| Some((at, pair(text)?))) else {
            break;
        };
        let text = all.swap_remove(at);
        let (before, inner) = (text.get(..open).unwrap_or_default(), text.get(open + 1..close).unwrap_or_default());
        let after = text.get(close + 1..).unwrap_or_default();
        all.extend(inner.split(',').map(|part| format!("{before}{part}{after}")));
        if all.len() > MAX_PATTERNS {
            return vec![Gap::Value.into()];
        }
    }
    all.sort();
    all.dedup();
    all.into_iter().map(Text::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pattern: &str) -> Vec<String> {
        let mut all: Vec<String> = found([&Value::text(pattern)])
            .iter()
            .map(|value| {
                let text = |piece: &Piece| match piece {
                    Piece::Text(text) | Piece::Glob(text) => text.clone(),
                    Piece::Unknown(unknown) => match &unknown.why {
                        UnknownReason::Found(Some(start)) => format!("<{start}>"),
                        _ => "?".to_owned(),
                    },
                };
                value.pieces().iter().map(text).collect()
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_pattern_through_directories_is_a_search() {
        assert_eq!(shown("src/**/*"), ["<src>"]);
        assert_eq!(shown("**/*.x"), ["<.>/*.x"]);
        assert_eq!(shown("/**"), ["</>"]);
        assert_eq!(shown("src/*"), ["src/*"]);
        assert_eq!(shown("a**"), ["a**"]);
    }

    #[test]
    fn braces_of_a_pattern_are_written_out() {
        assert_eq!(shown("{a,b}/**/*"), ["<a>", "<b>"]);
        assert_eq!(shown("x.{a,b{c,d}}"), ["x.a", "x.bc", "x.bd"]);
        assert_eq!(shown("{a}"), ["{a}"]);
    }
}
