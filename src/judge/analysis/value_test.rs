//! Evaluates the tests of texts in rules and descriptions: exact texts, globs, regular expressions, known or unknown.
//!
//! Out of scope: classes of paths, and everything that needs questions.

use super::act::{Flag, Piece, UnknownReason, Value};
use crate::judge::rules::glob;
use crate::judge::rules::model::{FlagTest, TextTest};
use crate::judge::rules::text::{found, matches, same_flag};

/// Reports whether a value is one number that the shell computes (`$$`, `$!`, `$((…))`).
fn is_number(value: &Value) -> bool {
    matches!(value.pieces(), [Piece::Unknown(unknown)] if matches!(unknown.why, UnknownReason::Number(_)))
}

/// Reports whether a value is a name with a number of the command (`test_$$`), which identifies one object of the
/// command.
fn is_numbered(value: &Value) -> bool {
    let one = |piece: &Piece| match piece {
        Piece::Text(text) => text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)),
        Piece::Unknown(unknown) => matches!(unknown.why, UnknownReason::Number(number) if number.plain),
        Piece::Glob(_) => false,
    };
    value.leading().starts_with(|c: char| c.is_ascii_alphabetic()) && value.pieces().iter().all(one)
}

/// Reports whether a value contains unknown output of a command, or unknown input.
#[must_use]
pub fn is_computed(value: &Value) -> bool {
    let is_it = |piece: &Piece| match piece {
        Piece::Unknown(unknown) => matches!(unknown.why, UnknownReason::CommandOutput | UnknownReason::Input),
        Piece::Text(_) | Piece::Glob(_) => false,
    };
    value.pieces().iter().any(is_it)
}

/// Reports whether arguments match word by word: a glob, a regular expression after `~`, or `...` for any number of
/// words.
#[must_use]
pub fn written(words: &[String], args: &[&Value]) -> bool {
    let fits = |word: &String, arg: &&Value| {
        arg.known().is_some_and(|text| match word.strip_prefix('~') {
            Some(expression) => found(expression, &text),
            None => glob::text(word, &text),
        })
    };
    let (mut word, mut arg) = (0, 0);
    // The index of the last `...`, and the number of arguments that it and the words before it match.
    let mut open: Option<(usize, usize)> = None;
    loop {
        match (words.get(word), args.get(arg)) {
            (None, None) => return true,
            (Some(any), _) if any == "..." => {
                open = Some((word, arg));
                word += 1;
                continue;
            }
            (Some(expected), Some(given)) if fits(expected, given) => {
                (word, arg) = (word + 1, arg + 1);
                continue;
            }
            _ => {}
        }
        match open {
            Some((any, taken)) if taken < args.len() => {
                open = Some((any, taken + 1));
                (word, arg) = (any + 1, taken + 1);
            }
            _ => return false,
        }
    }
}

/// Evaluates the textual conditions of a test: one of the positive patterns (if there are any), none of the negative
/// ones, and whether the text is known. The caller evaluates classes.
#[must_use]
pub fn passes(test: &TextTest, value: &Value) -> bool {
    if test.dynamic.is_some_and(|dynamic| dynamic != (value.is_dynamic() && !is_number(value) && !is_numbered(value))) {
        return false;
    }
    let wants = !(test.exact.is_empty() && test.glob.is_empty() && test.regex.is_none());
    if !wants && test.not_glob.is_empty() && test.not_regex.is_none() {
        return true;
    }
    let text = value.rough();
    let hit = !wants
        || (!value.is_dynamic() && test.exact.iter().any(|exact| *exact == text))
        || test.glob.iter().any(|pattern| glob::text(pattern, &text))
        || matches(test, &text);
    hit && !test.not_glob.iter().any(|pattern| glob::text(pattern, &text))
        && !test.not_regex.as_deref().is_some_and(|regex| found(regex, &text))
}

/// Returns the first given flag that passes a test, including that of its value. An unknown value passes unless its
/// known parts contradict the test.
#[must_use]
pub fn given<'f>(flags: &'f [Flag], test: &FlagTest) -> Option<&'f Flag> {
    flags.iter().find(|flag| {
        test.names.iter().any(|name| same_flag(name, &flag.name))
            && test.value.as_ref().is_none_or(|value| flag.value.as_ref().is_some_and(|given| passes(value, given)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::act::{Taint, Unknown};

    #[test]
    fn arguments_are_held_word_by_word_against_what_is_written() {
        let holds = |written: &str, line: &[&str]| {
            let words: Vec<String> = written.split_whitespace().map(str::to_owned).collect();
            let values: Vec<Value> = line.iter().map(|text| Value::text(*text)).collect();
            super::written(&words, &values.iter().collect::<Vec<_>>())
        };
        assert!(holds("", &[]));
        assert!(!holds("", &["a"]));
        assert!(holds("-n *", &["-n", "1"]));
        assert!(!holds("-n *", &["-n"]));
        assert!(holds("~^-[dD]$ x", &["-D", "x"]));
        assert!(!holds("~^-[dD]$ x", &["-dx", "x"]));
        for line in [&["-d"][..], &["a", "-d"], &["-d", "a"], &["-", "-d", "b", "c"], &["-d", "-d"]] {
            assert!(holds("... -d ...", line), "{line:?}");
        }
        for line in [&[][..], &["a"], &["a", "-D"]] {
            assert!(!holds("... -d ...", line), "{line:?}");
        }
        assert!(holds("... a ... b", &["a", "a", "b", "b"]));
        assert!(!holds("... a ... b", &["b", "a"]));
        assert!(holds("x ...", &["x"]));
        assert!(!holds("x ...", &["a", "x"]));
        assert!(holds("...", &[]));
    }

    #[test]
    fn only_what_a_command_prints_or_is_read_is_computed() {
        let of =
            |why| Value::of(vec![Piece::Text("a:".into()), Piece::Unknown(Unknown { why, taint: Taint::default() })]);
        assert!(is_computed(&of(UnknownReason::CommandOutput)));
        assert!(is_computed(&of(UnknownReason::Input)));
        for why in [
            UnknownReason::Variable("A".into()),
            UnknownReason::Temporary { variable: false },
            UnknownReason::Found(None),
            UnknownReason::Other("a place of an installation"),
            UnknownReason::Installation,
        ] {
            assert!(!is_computed(&of(why.clone())), "{why:?}");
        }
        assert!(!is_computed(&Value::text("a")));
    }

    #[test]
    fn a_negative_pattern_outweighs_a_positive_one() {
        let test = TextTest { glob: vec!["*.key".into()], not_glob: vec!["test*".into()], ..TextTest::default() };
        assert!(passes(&test, &Value::text("a.key")));
        assert!(!passes(&test, &Value::text("test.key")));
    }

    #[test]
    fn an_empty_test_passes_everything() {
        assert!(passes(&TextTest::default(), &Value::text("")));
    }
}
