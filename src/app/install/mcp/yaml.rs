//! Finds the servers in an MCP client's YAML configuration. It parses only plain block style, and never changes the
//! file.

/// The indentation of a line, and its text.
type Row<'a> = (usize, &'a str);

/// Returns the names of the entries below a top-level key that have one of the keys of `starts` and do not start guard.
/// Returns `None` if the content below that key cannot be parsed reliably.
pub(super) fn servers(text: &str, key: &str, starts: &[String]) -> Option<Vec<String>> {
    let rows: Vec<Row> = text.lines().filter_map(row).collect();
    // Without this line the key is absent, or is written in another form, or all of it is on one line.
    let Some(at) = rows.iter().position(|(indent, says)| *indent == 0 && value(says, key).is_some()) else {
        let is_odd = |says: &str| says.starts_with(['{', '"', '\'', '?']) && says.contains(key);
        return if rows.iter().any(|(indent, says)| *indent == 0 && is_odd(says)) { None } else { Some(Vec::new()) };
    };
    match rows.get(at).and_then(|(_, says)| value(says, key))? {
        "" => {}
        "{}" | "null" | "~" => return Some(Vec::new()),
        _ => return None,
    }
    let below: Vec<Row> = rows.iter().skip(at + 1).take_while(|(indent, _)| *indent > 0).copied().collect();
    let Some(depth) = below.first().map(|(indent, _)| *indent) else {
        let is_list = rows.get(at + 1).is_some_and(|(_, says)| says.starts_with('-'));
        return if is_list { None } else { Some(Vec::new()) };
    };
    let mut names = Vec::new();
    for (number, (indent, says)) in below.iter().enumerate() {
        if *indent < depth || says.starts_with(['<', '&', '*', '!', '-', '?']) && *indent == depth {
            return None;
        }
        if *indent > depth {
            continue;
        }
        let (name, rest) = says.split_once(':')?;
        // The content of an entry in flow style or behind an alias is not parsed, so report its name in any case.
        if !rest.trim().is_empty() {
            names.push(unquoted(name).to_owned());
            continue;
        }
        let own = || below.iter().skip(number + 1).take_while(|(indent, _)| *indent > depth);
        let started = own().find_map(|(_, says)| starts.iter().find_map(|key| value(says, key)));
        if started.is_some_and(|program| unquoted(program).rsplit('/').next() != Some("guard")) {
            names.push(unquoted(name).to_owned());
        }
    }
    Some(names)
}

fn row(line: &str) -> Option<Row<'_>> {
    let plain = line.trim_end();
    let says = plain.trim_start_matches(' ');
    (!says.is_empty() && !says.starts_with('#')).then_some((plain.len() - says.len(), says))
}

/// Returns the value of `key:` on a line, without a trailing comment.
fn value<'a>(says: &'a str, key: &str) -> Option<&'a str> {
    let rest = says.strip_prefix(key)?.strip_prefix(':')?;
    let value = rest.split_once(" #").map_or(rest, |(value, _)| value);
    (rest.is_empty() || rest.starts_with(' ')).then(|| value.trim())
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Vec<String>> {
        servers(text, "extensions", &["cmd".to_owned(), "uri".to_owned()])
    }

    #[test]
    fn servers_are_told_from_other_entries_and_from_those_behind_guard() {
        let text = "model: x\nextensions: # mine\n  # a\n  developer:\n    type: builtin\n  \"git hub\":\n    args:\n    - -y\n    cmd: npx\n  far:\n    uri: https://x.example\n  safe:\n    cmd: /usr/bin/guard\nother:\n  y:\n    cmd: z\n";
        assert_eq!(found(text), Some(vec!["git hub".to_owned(), "far".to_owned()]));
        for none in ["", "a: 1\n", "extensions: {}\n", "extensions:\n", "extensions:\n  d:\n    type: builtin\n"] {
            assert_eq!(found(none), Some(Vec::new()), "{none}");
        }
    }

    #[test]
    fn what_is_not_understood_is_not_taken_for_nothing() {
        assert_eq!(found("extensions:\n  a: {cmd: x}\n"), Some(vec!["a".to_owned()]));
        for odd in [
            "extensions: {a: {cmd: x}}\n",
            "{extensions: {}}\n",
            "\"extensions\":\n  a:\n    cmd: x\n",
            "extensions: &a\n",
            "extensions:\n- cmd: x\n",
            "extensions:\n  <<: *a\n",
        ] {
            assert_eq!(found(odd), None, "{odd}");
        }
    }
}
