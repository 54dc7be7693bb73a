//! The results of a search: files below its start with the names that it searches.

use super::act::{Flag, Piece, Taint, Unknown, UnknownReason, Value};
use super::arguments::Reading;
use super::state::{Build, unknown};

/// Maximum number of start directories, and of names, with separate results.
const MAX_TOLD: usize = 8;

/// Maximum number of lines of a list that are used one by one.
const MAX_LISTED: usize = 64;

/// Returns the results that a search passes to its commands: one value for each start directory and name.
pub(super) fn found(reading: &Reading) -> Vec<Value> {
    let (starts, names) = if reading.expression {
        (reading.operands.as_slice(), names_of_tests(&reading.flags))
    } else {
        // `fd pattern directory …`
        let pattern = reading.operands.first().and_then(|operand| operand.value.known_text());
        (reading.operands.get(1..).unwrap_or_default(), names_of_extensions(&reading.flags, pattern))
    };
    let start = |value: &Value| {
        // Below a directory that the command created under a generated name.
        if value.pattern().is_none() && value.is_spelled() {
            let mut below = value.clone();
            below.push_text("/");
            return below;
        }
        unknown(UnknownReason::Found(value.pattern().filter(|start| !start.starts_with('-'))), Taint::default())
    };
    let mut starts: Vec<Value> = starts.iter().map(|operand| start(&operand.value)).collect();
    if starts.is_empty() {
        starts.push(unknown(UnknownReason::Found(Some(".".to_owned())), Taint::default()));
    }
    let is_found = |value: &Value| matches!(value.pieces(), [Piece::Unknown(unknown)] if matches!(unknown.why, UnknownReason::Found(_)));
    if starts.len() > MAX_TOLD || names.len() > MAX_TOLD {
        return vec![unknown(UnknownReason::Found(None), Taint::default())];
    }
    let mut all = Vec::new();
    for start in &starts {
        let mut start = start.clone();
        if !is_found(&start) {
            start.push_value(&unknown(UnknownReason::Found(Some(String::new())), Taint::default()));
        }
        for name in &names {
            let mut value = start.clone();
            value.push_text("/");
            super::split::push_globs(name, &mut value);
            all.push(value);
        }
        if names.is_empty() {
            all.push(start);
        }
    }
    all
}

/// Returns the files that a search deletes, one value for each start directory and name; empty if it deletes nothing.
pub(super) fn deleted(reading: &Reading) -> Vec<Value> {
    let deletes = reading.expression && reading.flags.iter().any(|flag| flag.name == "-delete");
    if deletes { found(reading) } else { Vec::new() }
}

/// Returns the names that pass the tests of `find`; empty if a file with another name may pass.
fn names_of_tests(flags: &[Flag]) -> Vec<String> {
    let mut names = Vec::new();
    let mut here: Option<String> = None;
    let (mut not, mut depth, mut pruned) = (false, 0, false);
    for flag in flags {
        match flag.name.as_str() {
            "!" | "-not" => not = !not,
            // A negated bracket is not evaluated.
            "(" if not => return Vec::new(),
            "(" => depth += 1,
            ")" => depth -= 1,
            // Pruned names are not found, unless brackets contain both.
            "-or" | "-o" if depth == 0 && std::mem::take(&mut pruned) => here = None,
            "-or" | "-o" | "," => match here.take() {
                Some(name) => names.push(name),
                None => return Vec::new(),
            },
            "-prune" => pruned = depth == 0,
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" => {
                let of_path = !flag.name.ends_with("-name") && !flag.name.ends_with("-iname");
                let name = flag.value.as_ref().and_then(Build::known_text).map(|name| {
                    let below = name.strip_prefix("./").or_else(|| name.trim_start_matches('*').strip_prefix('/'));
                    if of_path { below.unwrap_or("/").to_owned() } else { name }
                });
                match name.filter(|name| of_path && !name.starts_with('/') || !name.contains('/')) {
                    // A name is more specific than a path.
                    Some(name) if !(not || of_path && here.is_some()) => here = Some(name),
                    None if !of_path => return Vec::new(),
                    _ => {}
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

/// Returns the names for `fd -e EXTENSION`.
fn names_of_extensions(flags: &[Flag], pattern: Option<String>) -> Vec<String> {
    let extensions = flags.iter().filter(|flag| matches!(flag.name.as_str(), "-e" | "--extension"));
    let names: Option<Vec<String>> =
        extensions.map(|flag| Some(format!("*.{}", flag.value.as_ref()?.known_text()?))).collect();
    let names = names.unwrap_or_default();
    // The pattern may occur anywhere in a name; a name that begins with it is the most specific.
    let is_plain =
        |text: &String| text.len() > 2 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if names.is_empty() { pattern.filter(is_plain).map(|name| format!("{name}*")).into_iter().collect() } else { names }
}

/// Returns the lines of a text if each is a name: known, a glob, or a result of a search. `None` otherwise.
pub(super) fn listed(text: &Value) -> Option<Vec<Value>> {
    let is_name = |unknown: &Unknown| {
        matches!(unknown.why, UnknownReason::Temporary { variable: false } | UnknownReason::Number(_))
    };
    // The words of a line may be separate names.
    let is_worded =
        text.pieces().iter().filter_map(Piece::as_text).any(|text| text.contains([' ', '\t', '\'', '"', '\\']));
    let mut all = vec![Value::default()];
    for piece in text.pieces() {
        match piece {
            Piece::Text(text) => {
                for (at, part) in text.split(['\n', '\0']).enumerate() {
                    if at > 0 {
                        all.push(Value::default());
                    }
                    all.last_mut()?.push_text(part);
                }
            }
            Piece::Glob(_) => all.last_mut()?.push_piece(piece),
            Piece::Unknown(unknown) if matches!(unknown.why, UnknownReason::Found(_)) => {
                all.last_mut()?.push_piece(piece);
            }
            Piece::Unknown(unknown) if is_name(unknown) && !is_worded => all.last_mut()?.push_piece(piece),
            Piece::Unknown(_) => return None,
        }
    }
    all.retain(|value| !value.is_empty());
    (!all.is_empty() && all.len() <= MAX_LISTED).then_some(all)
}

/// Returns the output of `find`.
pub(super) fn printed(reading: &Reading) -> Option<Value> {
    let other = |flag: &&Flag| {
        matches!(flag.name.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-printf" | "-fprintf" | "-ls" | "-fls")
    };
    if !reading.expression || reading.flags.iter().any(|flag| other(&flag)) {
        return None;
    }
    let mut text = Value::default();
    for value in found(reading) {
        text.push_value(&value);
        text.push_text("\n");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::super::testing::runs;

    #[test]
    fn what_is_looked_for_by_name_is_found_by_name() {
        runs("find src -name '*.x' -exec rm {} +", "rm ?/*.x");
        runs("find src -type d -name x -prune -exec rm -r {} \\;", "rm -r ?/x");
        runs("find src -name '*.x' | xargs rm", "rm ?/*.x");
        runs("find src -name a -o -name b | xargs rm", "rm ?/a ?/b");
        runs("find a b -name x -exec rm {} +", "rm ?/x ?/x");
        runs("find src -path '*/.x/*' -exec rm {} +", "rm ?/.x/*");
        runs("fd name src -x rm", "rm ?/name*");
    }

    #[test]
    fn what_is_left_out_is_not_found() {
        runs("find src -name y -prune -o -name x -exec rm {} +", "rm ?/x");
        runs("find src -path ./y -prune -o -name x -print | xargs rm", "rm ?/x");
        runs("find src -name y -prune -o -type f -exec rm {} +", "rm ?");
        runs("find src '(' -name y -prune -o -name x ')' -exec rm {} +", "rm ?/y ?/x");
    }

    #[test]
    fn a_list_of_names_is_handed_on_by_name() {
        for line in [
            "ls /x/* | xargs rm",
            "ls -d /x/* | while read f; do rm \"$f\"; done",
            "rm $(ls /x/*)",
            "for f in $(ls -t /x/* | head -1); do rm $f; done",
            "f=$(ls /x/* | sort | tail -n 1); rm $f",
        ] {
            runs(line, "rm /x/*");
        }
        runs("ls -d x y | xargs rm", "rm x y");
        runs("find src -name x | grep -v y | xargs rm", "rm ?/x");
        runs("ls /x | xargs rm", "rm ?");
        runs("ls -l /x/* | xargs rm", "rm ?");
        runs("ls /x/* | grep -c y | xargs rm", "rm ?");
    }

    #[test]
    fn a_name_that_is_denied_or_only_one_way_of_several_says_nothing() {
        runs("find src ! -name x -exec rm {} +", "rm ?");
        runs("find src -name x -o -type f -exec rm {} +", "rm ?");
        runs("find src -not '(' -name x ')' -exec rm {} +", "rm ?");
    }
}
