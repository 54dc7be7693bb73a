//! OpenCode: the user's start-up file is read, the directory entered, and the command evaluated from double quotes.

use super::{Opened, Places, positional, quoted};
use crate::judge::invocation::Line;
use crate::judge::syntax;
use crate::judge::syntax::tree::{Command, Part};

/// What stands in front of the directory and the command.
const PREAMBLE: &[&str] = &[
    "shopt -s expand_aliases",
    "[[ -f ~/.bashrc ]] && source ~/.bashrc >/dev/null 2>&1 || true",
    "[[ -f ~/.zshenv ]] && source ~/.zshenv >/dev/null 2>&1 || true",
    "[[ -f \"${ZDOTDIR:-$HOME}/.zshrc\" ]] && source \"${ZDOTDIR:-$HOME}/.zshrc\" >/dev/null 2>&1 || true",
];

pub(super) fn open(line: &Line, _places: &Places<'_>) -> Option<Opened> {
    let text = std::str::from_utf8(&line.text).ok()?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut preamble = 0;
    let mut next = lines.next()?;
    while PREAMBLE.contains(&next) {
        preamble += 1;
        next = lines.next()?;
    }
    (preamble >= 2).then_some(())?;
    let mut lead = String::new();
    if next == "cd -- \"$1\"" {
        (positional(line, 0)? == b"opencode" && line.positional.len() == 2).then_some(())?;
        lead = format!("cd -- {}", quoted(std::str::from_utf8(positional(line, 1)?).ok()?));
        next = lines.next()?;
    }
    lines.next().is_none().then_some(())?;
    // JSON writes line ends as escapes, so that the command is one line; the shell expands what stands in it.
    let script = syntax::parse(next.as_bytes(), line.dialect).ok()?;
    let [item] = script.items.as_slice() else { return None };
    let [Command::Simple(simple)] = item.first.commands.as_slice() else { return None };
    let [eval, command] = simple.words.as_slice() else { return None };
    let is_alone = item.rest.is_empty()
        && !item.background
        && !item.first.negated
        && !item.first.timed
        && simple.redirects.is_empty()
        && simple.assignments.is_empty();
    let is_eval = matches!(eval.parts.as_slice(), [Part::Literal(name)] if name == "eval");
    let [Part::Double { parts, localized: false }] = command.parts.as_slice() else { return None };
    (is_alone && is_eval).then_some(())?;
    let inner = match parts.as_slice() {
        [Part::Literal(text)] if !next.contains('\\') => text.clone(),
        _ => next.to_owned(),
    };
    Some(Opened { inner: inner.into_bytes(), lead: lead.into_bytes(), is_preparation: false })
}
