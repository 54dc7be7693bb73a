//! Determines the names of the programs for which a command word may stand.
//!
//! Out of scope: the path of a program ([`super::lookup`]), and its effects.

use super::act::{Disguise, Piece, Unknown, UnknownReason, Value};
use super::disguise;
use super::expand::Field;
use super::pattern::Pattern;
use super::progress::WalkProgress;
use super::state::State;

/// Maximum number of programs that are tried for a glob as the command word.
const MAX_CANDIDATES: usize = 8;

/// The way in which a command word is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// By a shell: functions, builtins, programs.
    Shell,
    /// By a shell, without functions (`command`).
    NoFunctions,
    /// By another program: only programs.
    Programs,
}

/// The result for a command word.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// Names, each with its path if one was given, and its obfuscation.
    Names(Vec<(String, Option<Value>, Option<Disguise>)>),
    Nothing,
    Unknown,
}

/// Resolves a command word.
#[inline(never)]
pub(super) fn names(progress: WalkProgress<'_, '_>, state: &State, word: &Field) -> Resolved {
    let value = &word.value;
    if let Some(text) = value.known() {
        return plain(state, &text, word.disguise);
    }
    // The last component is the name of the program.
    let tail = match value.pieces().last() {
        Some(Piece::Text(text)) => text.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty()),
        _ => None,
    };
    // A file that a search finds is known by its name, if that is the name of a program.
    let is_found =
        |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if matches!(unknown.why, UnknownReason::Found(_)));
    let is_program =
        |name: &&str| !value.pieces().iter().any(is_found) || progress.input.catalog.program(name).is_some();
    if let Some(name) = tail.filter(is_program) {
        return Resolved::Names(vec![(name.to_owned(), Some(value.clone()), word.disguise)]);
    }
    // A file that the command itself wrote under a name with an unknown number.
    if let Some(name) = progress.made_here(state, value) {
        return Resolved::Names(vec![(name, Some(value.clone()), word.disguise)]);
    }
    if value.is_dynamic() {
        let is_unset =
            |piece: &&Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Variable(_), .. }));
        let left = Value::of(value.pieces().iter().filter(|piece| !is_unset(piece)).cloned().collect());
        if left.pieces().is_empty() || left.pieces().len() == value.pieces().len() {
            return Resolved::Unknown;
        }
        let left = Field { value: left, disguise: Some(Disguise::Assembly), ..word.clone() };
        return names(progress, state, &left);
    }
    let Some(pattern) = value.pattern() else { return Resolved::Unknown };
    let (dir, base) = pattern.rsplit_once('/').map_or((None, pattern.as_str()), |(dir, base)| (Some(dir), base));
    if base.contains('(') || base.chars().all(|c| c == '*') {
        return Resolved::Unknown;
    }
    let pattern = Pattern::new(base);
    let mut names: Vec<String> = Vec::new();
    for program in progress.input.catalog.all_programs() {
        for name in &program.names {
            if !name.contains(['*', '?', '[', ':']) && pattern.matches(name) == Some(true) && !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    if names.is_empty() || names.len() > MAX_CANDIDATES {
        return Resolved::Unknown;
    }
    let path = |name: &str| dir.map(|dir| Value::text(format!("{dir}/{name}")));
    Resolved::Names(names.into_iter().map(|n| (n.clone(), path(&n), Some(Disguise::Assembly))).collect())
}

/// Resolves a completely known command word.
#[inline(never)]
fn plain(state: &State, text: &str, disguise: Option<Disguise>) -> Resolved {
    // History expansion, or a shell escape of an enclosing program.
    if text.len() > 1 && text.starts_with('!') {
        return Resolved::Unknown;
    }
    if let Some(path) = state.hashed.get(text) {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        return Resolved::Names(vec![(name, Some(Value::text(path.as_str())), Some(Disguise::Assembly))]);
    }
    let named = |text: &str, disguise| {
        let (name, path) = match text.rsplit_once('/') {
            Some((_, name)) => (name, Some(Value::text(text))),
            None => (text, None),
        };
        (!name.is_empty()).then(|| (name.to_owned(), path, disguise))
    };
    // The name as it is displayed, in addition to the one that the shell searches.
    let plain_names = disguise::plain_characters(text).filter(|plain| !plain.is_empty() && !plain.ends_with('/'));
    let plain_names = plain_names.and_then(|plain| named(&plain, Some(Disguise::Characters)));
    let disguise = if plain_names.is_some() { Some(Disguise::Characters) } else { disguise };
    let names: Vec<_> = plain_names.into_iter().chain(named(text, disguise)).collect();
    if names.is_empty() { Resolved::Nothing } else { Resolved::Names(names) }
}

#[cfg(test)]
mod tests;
