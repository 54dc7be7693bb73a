//! Recognises an envelope that matches no template: an `eval` of one literal text among other commands.
//!
//! The commands around the text are judged like any others, and so is the whole string: they need not be harmless. Out
//! of scope: names of programs other than the shell's own `eval`.

use crate::judge::invocation::Line;
use crate::judge::syntax;
use crate::judge::syntax::tree::{Command, Part, Simple, Span};

/// The builtin that executes a text as commands.
const EVAL: &str = "eval";

/// A line that is split into the evaluated command and the rest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// The line with `:` in place of the `eval`.
    pub scaffold: Vec<u8>,
    /// The evaluated command.
    pub inner: Vec<u8>,
}

/// Returns the one command that a line evaluates. `None` if it evaluates none or several, if it consists of nothing
/// else, or if the shell still expands the text.
pub(super) fn split(line: &Line) -> Option<Split> {
    memchr::memmem::find(&line.text, EVAL.as_bytes())?;
    let script = syntax::parse(&line.text, line.dialect).ok()?;
    let mut found = None;
    let mut others = 0_usize;
    for item in &script.items {
        for pipeline in std::iter::once(&item.first).chain(item.rest.iter().map(|(_, pipeline)| pipeline)) {
            let evaluated = pipeline.commands.iter().find_map(|command| match command {
                Command::Simple(simple) if is_eval(simple) => Some(simple),
                _ => None,
            });
            let Some(simple) = evaluated else {
                others += 1;
                continue;
            };
            let is_alone = pipeline.commands.len() == 1 && !item.background && !pipeline.negated && !pipeline.timed;
            if !is_alone || found.replace(simple).is_some() {
                return None;
            }
        }
    }
    let simple = found.filter(|simple| others > 0 && simple.assignments.is_empty())?;
    let [word, command] = simple.words.as_slice() else { return None };
    let inner = command.parts.iter().map(literal).collect::<Option<String>>()?;
    let Span { start, .. } = word.span;
    let Span { end, .. } = command.span;
    let (front, back) = (line.text.get(..start as usize)?, line.text.get(end as usize..)?);
    // Text that is not UTF-8 was replaced when it was parsed.
    let is_whole = std::str::from_utf8(&line.text).is_ok() && !inner.trim().is_empty();
    is_whole.then(|| Split { scaffold: [front, b":", back].concat(), inner: inner.into_bytes() })
}

fn is_eval(simple: &Simple) -> bool {
    simple.words.first().is_some_and(|word| matches!(word.parts.as_slice(), [Part::Literal(name)] if name == EVAL))
}

/// Returns a part of a word as literal text.
fn literal(part: &Part) -> Option<String> {
    match part {
        Part::Single(text) | Part::AnsiC(text) | Part::Escaped(text) => Some(text.clone()),
        Part::Double { parts, localized: false } => parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) | Part::Escaped(text) => Some(text.as_str()),
                _ => None,
            })
            .collect(),
        // Unquoted text may contain nothing that the shell expands.
        Part::Literal(text) => {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '/' | '.');
            text.chars().all(is_plain).then(|| text.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, String)> {
        let Split { scaffold, inner } = split(&Line::of_bash(text))?;
        Some((String::from_utf8(scaffold).unwrap(), String::from_utf8(inner).unwrap()))
    }

    #[test]
    fn one_literal_text_is_told_from_what_stands_around_it() {
        for (text, scaffold, inner) in [
            (
                "source /s 2>/dev/null && eval 'rm -rf src' < /dev/null && pwd -P >| /tmp/x-cwd",
                "source /s 2>/dev/null && : < /dev/null && pwd -P >| /tmp/x-cwd",
                "rm -rf src",
            ),
            ("set -e\neval 'echo '\\''a'\\'\nx=$?\nexit $x", "set -e\n:\nx=$?\nexit $x", "echo 'a'"),
            ("true; eval \"ls -la\"", "true; :", "ls -la"),
            ("true; eval $'a\\nb'", "true; :", "a\nb"),
            ("true; eval ls", "true; :", "ls"),
        ] {
            assert_eq!(read(text), Some((scaffold.to_owned(), inner.to_owned())), "{text}");
        }
    }

    #[test]
    fn whatever_the_shell_still_changes_is_no_literal_text() {
        for text in [
            "rm -rf src",
            "eval 'rm -rf src'",
            "true; eval \"rm $x\"",
            "true; eval \"$(cat x)\"",
            "true; eval 'rm' -rf src",
            "true; eval ~/x",
            "true; eval *",
            "true; eval {a,b}",
            "true; eval 'a'; eval 'b'",
            "true; eval 'a' | sh",
            "true; eval 'a' &",
            "true; ! eval 'a'",
            "true; X=1 eval 'a'",
            "true; \\eval 'a'",
            "true; eval ''",
            "true; eval",
            "if true; then eval 'a'; fi",
            "(eval 'a'); true",
            "true; eval 'a",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(split(&Line::of_bash(b"true; eval 'a\xff'".as_slice())), None);
    }
}
