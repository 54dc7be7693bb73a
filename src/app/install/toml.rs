//! Adds and removes guard's table in a TOML file: edits the text, and parses the result as a check.

use std::ops::Range;

use ::toml::de::{DeTable, DeValue};

use super::json::SyntaxError;

/// Returns the ranges of the tables in an array that guard wrote.
///
/// # Errors
/// The text is not TOML.
pub fn found(text: &str, array: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<Vec<Range<usize>>, SyntaxError> {
    count(text, array)?;
    let header = format!("[[{array}]]");
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            open = trimmed == header;
            if open {
                blocks.push(start..end);
                continue;
            }
        }
        // Blank lines and comments after a table belong to the following one.
        if let Some(block) = blocks.last_mut().filter(|_| open && !trimmed.is_empty() && !trimmed.starts_with('#')) {
            block.end = end;
        }
    }
    blocks.retain(|block| text.get(block.clone()).is_some_and(is_ours));
    Ok(blocks)
}

/// Returns the text with a table appended.
///
/// # Errors
/// The text is not TOML, or has the array in another form.
pub fn added(text: &str, array: &str, body: &str) -> Result<String, SyntaxError> {
    let before = count(text, array)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut out = text.to_owned();
    if !out.trim_start_matches('\u{feff}').is_empty() {
        if !out.ends_with('\n') {
            out.push_str(newline);
        }
        out.push_str(newline);
    }
    out.push_str(&format!("[[{array}]]\n{body}").replace('\n', newline));
    match count(&out, array) {
        Ok(after) if after == before + 1 => Ok(out),
        _ => Err(SyntaxError { at: place(text, array), what: format!("{array} is not written as [[{array}]] tables") }),
    }
}

/// Returns the text without a table and the blank line before it.
///
/// # Errors
/// The table cannot be parsed reliably.
pub fn removed(text: &str, array: &str, block: &Range<usize>) -> Result<String, SyntaxError> {
    let before = count(text, array)?;
    let head = text.get(..block.start).unwrap_or_default();
    let head = head.strip_suffix("\r\n\r\n").map(|_| &head[..head.len() - 2]).unwrap_or_else(|| match head {
        "\n" => "",
        _ => head.strip_suffix("\n\n").map_or(head, |_| &head[..head.len() - 1]),
    });
    let out = [head, text.get(block.end..).unwrap_or_default()].concat();
    match count(&out, array) {
        Ok(after) if after + 1 == before => Ok(out),
        _ => Err(SyntaxError { at: block.start, what: "cannot parse this table".to_owned() }),
    }
}

/// Returns the text of a key in the table of this block.
#[must_use]
pub fn value(block: &str, array: &str, key: &str) -> Option<String> {
    let root = DeTable::parse(block).ok()?;
    let DeValue::Array(tables) = root.get_ref().get(array)?.get_ref() else { return None };
    let DeValue::Table(table) = tables.iter().next()?.get_ref() else { return None };
    match table.get(key)?.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// Returns the number of tables in an array.
fn count(text: &str, array: &str) -> Result<usize, SyntaxError> {
    let root = DeTable::parse(text).map_err(|error| SyntaxError {
        at: error.span().map_or(0, |span| span.start),
        what: error.message().trim().replace('\n', " "),
    })?;
    match root.get_ref().get(array).map(::toml::Spanned::get_ref) {
        None => Ok(0),
        Some(DeValue::Array(list)) => Ok(list.len()),
        Some(_) => Err(SyntaxError { at: place(text, array), what: format!("{array} is not an array of tables") }),
    }
}

/// Returns the position where a key first occurs.
fn place(text: &str, array: &str) -> usize {
    text.find(array).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "event = \"PreToolUse\"\ncommand = \"/g/guard hook --agent kimi\"\n";

    fn ours(text: &str) -> bool {
        text.contains("guard hook")
    }

    #[test]
    fn a_table_is_appended_and_cut_out_again() {
        for before in [
            "",
            "a = 1\n",
            "a = 1",
            "# c\r\na = 1\r\n[b]\r\nc = 2\r\n",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\n",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\" # last\n\n",
        ] {
            let text = added(before, "hooks", BODY).unwrap();
            let blocks = found(&text, "hooks", &ours).unwrap();
            assert_eq!(blocks.len(), 1, "{text}");
            let after = removed(&text, "hooks", &blocks[0]).unwrap();
            let ended =
                if before.is_empty() || before.ends_with('\n') { before.to_owned() } else { format!("{before}\n") };
            assert_eq!(after, ended);
        }
    }

    #[test]
    fn what_follows_a_table_stays() {
        let text = format!("[[hooks]]\n{BODY}\n# about b\n[b]\nc = [\n  [1],\n]\n");
        let blocks = found(&text, "hooks", &ours).unwrap();
        assert_eq!(removed(&text, "hooks", &blocks[0]).unwrap(), "\n# about b\n[b]\nc = [\n  [1],\n]\n");
    }

    #[test]
    fn another_form_of_the_array_is_left_alone() {
        assert!(added("hooks = []\n", "hooks", BODY).unwrap_err().what.contains("not written as [[hooks]]"));
        assert!(added("[hooks]\na = 1\n", "hooks", BODY).unwrap_err().what.contains("not an array of tables"));
        let broken = added("a = 1\nb = \n", "hooks", BODY).unwrap_err();
        assert!(broken.at >= 6, "{broken:?}");
    }
}
