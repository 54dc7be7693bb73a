//! What a search finds: something below where it starts, of a name that it looks for.

use super::act::{Flag, Piece, Taint, Unknown, UnknownReason, Value};
use super::arguments::Reading;
use super::state::{Build, unknown};

/// The most places, and the most names, that are told apart.
const MAX_TOLD: usize = 8;

/// Whether a program of this name searches by tests (`find`), not by a pattern (`fd`).
pub(super) fn is_find(name: &str) -> bool {
    matches!(name, "find" | "gfind" | "bfs")
}

/// What a search hands on to the commands that it runs: one value for each place and name.
pub(super) fn found(program: &str, reading: &Reading) -> Vec<Value> {
    let (starts, names) = if is_find(program) {
        (reading.operands.as_slice(), names_of_tests(&reading.flags))
    } else {
        // `fd pattern place …`
        (reading.operands.get(1..).unwrap_or_default(), names_of_extensions(&reading.flags))
    };
    let start = |value: &Value| value.pattern().filter(|start| !start.starts_with('-'));
    let mut starts: Vec<Option<String>> = starts.iter().map(|operand| start(&operand.value)).collect();
    if starts.is_empty() {
        starts.push(Some(".".to_owned()));
    }
    if starts.len() > MAX_TOLD || names.len() > MAX_TOLD {
        return vec![unknown(UnknownReason::Found(None), Taint::default())];
    }
    let mut all = Vec::new();
    for start in &starts {
        if names.is_empty() {
            all.push(unknown(UnknownReason::Found(start.clone()), Taint::default()));
        }
        for name in &names {
            let mut value = unknown(UnknownReason::Found(start.clone()), Taint::default());
            value.push_text("/");
            super::split::push_globs(name, &mut value);
            all.push(value);
        }
    }
    all
}

/// The names that the tests of `find` let pass; none where something of another name may pass.
fn names_of_tests(flags: &[Flag]) -> Vec<String> {
    let mut names = Vec::new();
    let mut here: Option<String> = None;
    let mut not = false;
    for flag in flags {
        match flag.name.as_str() {
            "!" | "-not" => not = !not,
            // What is denied in brackets is not followed.
            "(" if not => return Vec::new(),
            "(" | ")" => {}
            "-or" | "-o" | "," => match here.take() {
                Some(name) => names.push(name),
                None => return Vec::new(),
            },
            "-name" | "-iname" => {
                let name = flag.value.as_ref().and_then(Build::known_text).filter(|name| !name.contains('/'));
                match name {
                    Some(name) if !not => here = Some(name),
                    None => return Vec::new(),
                    Some(_) => {}
                }
                not = false;
            }
            _ => not = false,
        }
    }
    match here {
        Some(name) => names.push(name),
        None => return Vec::new(),
    }
    names
}

/// The names of `fd -e EXTENSION`.
fn names_of_extensions(flags: &[Flag]) -> Vec<String> {
    let extensions = flags.iter().filter(|flag| matches!(flag.name.as_str(), "-e" | "--extension"));
    let names: Option<Vec<String>> =
        extensions.map(|flag| Some(format!("*.{}", flag.value.as_ref()?.known_text()?))).collect();
    names.unwrap_or_default()
}

/// What a list of found names on standard input holds, when it holds nothing else.
pub(super) fn listed(text: &Value) -> Option<Vec<Value>> {
    let is_found = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Found(_), .. }));
    if !text.pieces.first().is_some_and(is_found) {
        return None;
    }
    let mut all: Vec<Value> = Vec::new();
    for piece in &text.pieces {
        match piece {
            piece if is_found(piece) => all.push(Value { pieces: vec![piece.clone()] }),
            Piece::Text(text) if text.trim_end_matches(['\n', '\0']).is_empty() => {}
            Piece::Text(text) => all.last_mut()?.push_text(text.trim_end_matches(['\n', '\0'])),
            piece => all.last_mut()?.push_piece(piece),
        }
    }
    Some(all)
}

/// What `find` prints when it prints what it finds.
pub(super) fn printed(program: &str, reading: &Reading) -> Option<Value> {
    let other = |flag: &&Flag| {
        matches!(flag.name.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-printf" | "-fprintf" | "-ls" | "-fls")
    };
    if !is_find(program) || reading.flags.iter().any(|flag| other(&flag)) {
        return None;
    }
    let mut text = Value::default();
    for value in found(program, reading) {
        text.push_value(&value);
        text.push_text("\n");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dump, facts, programs};

    #[track_caller]
    fn runs(command: &str, expected: &str) {
        let facts = facts(command);
        assert!(programs(&facts).iter().any(|program| program == expected), "{command}\n{}", dump(&facts));
    }

    #[test]
    fn what_is_looked_for_by_name_is_found_by_name() {
        runs("find src -name '*.x' -exec rm {} +", "rm ?/*.x");
        runs("find src -type d -name x -prune -exec rm -r {} \\;", "rm -r ?/x");
        runs("find src -name '*.x' | xargs rm", "rm ?/*.x");
        runs("find src -name a -o -name b | xargs rm", "rm ?/a ?/b");
        runs("find a b -name x -exec rm {} +", "rm ?/x ?/x");
    }

    #[test]
    fn a_name_that_is_denied_or_only_one_way_of_several_says_nothing() {
        runs("find src ! -name x -exec rm {} +", "rm ?");
        runs("find src -name x -o -type f -exec rm {} +", "rm ?");
        runs("find src -not '(' -name x ')' -exec rm {} +", "rm ?");
    }
}
