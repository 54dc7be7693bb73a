//! Edits guard's item in a list of a YAML file: `keys[0]: keys[1]: - item`. Only plain block style is edited; anything
//! else is rejected, because this is not a YAML parser.

use std::ops::Range;

use super::json::SyntaxError;

/// A line: its byte range, its indentation, and its text.
struct Row<'a> {
    span: Range<usize>,
    indent: usize,
    text: &'a str,
}

/// The position of the list, as far as it exists.
struct ListPosition {
    /// The line with the first key.
    outer: Option<usize>,
    /// The line with the second key.
    inner: Option<usize>,
    /// The lines at which items begin.
    items: Vec<usize>,
    /// The indentation of the keys below the first one.
    indent: usize,
    /// The line after the first key's block.
    end_outer: usize,
    /// The line after the list.
    end_inner: usize,
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            let plain = line.trim_end();
            let indent = plain.len() - plain.trim_start_matches(' ').len();
            Row { span: start..at, indent, text: plain.get(indent..).unwrap_or_default() }
        })
        .collect()
}

fn is_content(row: &Row) -> bool {
    !row.text.is_empty() && !row.text.starts_with('#')
}

/// Returns the line after the last line with content that is indented deeper than `row`, or equally deep if it is an
/// item and `items_too` is set.
fn end_of_block(rows: &[Row], row: usize, items_too: bool) -> usize {
    let indent = rows.get(row).map_or(0, |row| row.indent);
    let mut end = row + 1;
    for (index, next) in rows.iter().enumerate().skip(row + 1).filter(|(_, next)| is_content(next)) {
        let item = items_too && next.indent == indent && next.text.starts_with("- ");
        if next.indent <= indent && !item {
            break;
        }
        end = index + 1;
    }
    end
}

/// Returns the value of `key:` on a line, without a trailing comment.
fn value_of<'a>(row: &Row<'a>, key: &str) -> Option<&'a str> {
    let rest = row.text.strip_prefix(key)?.strip_prefix(':')?;
    let value = rest.split_once(" #").map_or(rest, |(value, _)| value);
    (rest.is_empty() || rest.starts_with(' ')).then(|| value.trim())
}

/// The quote or brackets that are open at a position of the text.
#[derive(Default)]
struct Opened {
    quote: Option<char>,
    brackets: usize,
    /// The line on which the quote or bracket was opened.
    row: usize,
}

impl Opened {
    fn is_any(&self) -> bool {
        self.quote.is_some() || self.brackets > 0
    }

    /// Reads the line `number`, and reports whether it ends with the header of a block scalar.
    fn read(&mut self, number: usize, text: &str) -> bool {
        // A quote or a bracket has a meaning only where a value or a key can begin.
        let (mut begins, mut before) = (true, ' ');
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match (self.quote, letter) {
                (Some('"'), '\\') => drop(letters.next()),
                (Some('\''), '\'') if letters.peek() == Some(&'\'') => drop(letters.next()),
                (Some(quote), _) if quote == letter => self.quote = None,
                (Some(_), _) => {}
                (None, '#') if before == ' ' => return false,
                (None, '|' | '>') if begins && self.brackets == 0 => return true,
                (None, '"' | '\'' | '[' | '{') if begins => {
                    if !self.is_any() {
                        self.row = number;
                    }
                    match letter {
                        '[' | '{' => self.brackets += 1,
                        quote => (self.quote, begins) = (Some(quote), false),
                    }
                }
                (None, ']' | '}') => (self.brackets, begins) = (self.brackets.saturating_sub(1), false),
                (None, ',') => begins |= self.brackets > 0,
                (None, ':' | '-') if letters.peek().is_none_or(|next| *next == ' ') => begins = true,
                (None, ' ') => {}
                (None, _) => begins = false,
            }
            before = letter;
        }
        false
    }
}

/// Returns the line of a quote or a bracket that is never closed. Everything after it would be part of it.
fn unclosed(rows: &[Row]) -> Option<usize> {
    let mut opened = Opened::default();
    let mut block = None;
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| !row.text.is_empty()) {
        if block.is_some_and(|indent| row.indent > indent) {
            continue;
        }
        block = opened.read(number, row.text).then_some(row.indent);
    }
    opened.is_any().then_some(opened.row)
}

fn locate(rows: &[Row], keys: [&str; 2]) -> Result<ListPosition, SyntaxError> {
    let error = |row: &Row, what: &str| SyntaxError { at: row.span.start, what: what.to_owned() };
    if let Some(row) = unclosed(rows).and_then(|row| rows.get(row)) {
        return Err(error(row, "a quote or a bracket is not closed"));
    }
    let mut outer = None;
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| is_content(row)) {
        if row.text.starts_with('\t') {
            return Err(error(row, "tab in the indentation"));
        }
        if row.indent > 0 {
            continue;
        }
        let first = row.text.trim_start_matches('\u{feff}');
        if first.starts_with(['{', '[', '%', '&', '!', '?', '|', '>'])
            || (first.starts_with("---") && index > 0 && rows.iter().take(index).any(is_content))
            || first.starts_with("...")
        {
            return Err(error(row, "only plain YAML in block style is supported"));
        }
        if first.starts_with(&format!("\"{}\"", keys[0])) || first.starts_with(&format!("'{}'", keys[0])) {
            return Err(error(row, "quoted keys are not supported"));
        }
        if let Some(value) = value_of(row, keys[0]) {
            if outer.is_some() {
                return Err(error(row, "duplicate key"));
            }
            if !matches!(value, "" | "{}" | "null" | "~") {
                return Err(error(row, "the value is not in block style"));
            }
            outer = Some(index);
        }
    }
    let mut place =
        ListPosition { outer, inner: None, items: Vec::new(), indent: 2, end_outer: rows.len(), end_inner: 0 };
    let Some(outer) = outer else { return Ok(place) };
    place.end_outer = end_of_block(rows, outer, false);
    let next = rows.iter().skip(outer + 1).find(|row| is_content(row));
    if let Some(next) = next.filter(|row| row.indent == 0 && row.text.starts_with('-')) {
        return Err(error(next, "expected an indented key"));
    }
    let below = || rows.iter().enumerate().take(place.end_outer).skip(outer + 1).filter(|(_, row)| is_content(row));
    let Some((_, first)) = below().next() else { return Ok(place) };
    let indent = first.indent;
    for (index, row) in below().filter(|(_, row)| row.indent <= indent) {
        if row.indent < indent {
            return Err(error(row, "inconsistent indentation"));
        }
        if row.text.starts_with(['<', '*', '&', '!', '{', '[']) {
            return Err(error(row, "only plain YAML in block style is supported"));
        }
        if let Some(value) = value_of(row, keys[1]) {
            if !matches!(value, "" | "[]" | "null" | "~") {
                return Err(error(row, "the value is not in block style"));
            }
            place.inner = Some(index);
        }
    }
    place.indent = indent;
    if let Some(inner) = place.inner {
        place.end_inner = end_of_block(rows, inner, true);
        let below = || rows.iter().enumerate().take(place.end_inner).skip(inner + 1).filter(|(_, row)| is_content(row));
        let depth = below().next().map(|(_, row)| row.indent);
        for (index, row) in below().filter(|(_, row)| Some(row.indent) <= depth) {
            if !row.text.starts_with("- ") || Some(row.indent) != depth {
                return Err(error(row, "expected a list item beginning with -"));
            }
            place.items.push(index);
        }
    }
    Ok(place)
}

/// Returns the items that guard wrote, as ranges of whole lines.
///
/// # Errors
/// The file cannot be parsed reliably.
pub fn found(text: &str, keys: [&str; 2], is_ours: &dyn Fn(&str) -> bool) -> Result<Vec<Range<usize>>, SyntaxError> {
    let rows = rows(text);
    let place = locate(&rows, keys)?;
    let items = place.items.iter().filter_map(|item| {
        let last = end_of_block(&rows, *item, false) - 1;
        Some(rows.get(*item)?.span.start..rows.get(last)?.span.end)
    });
    Ok(items.filter(|span| text.get(span.clone()).is_some_and(is_ours)).collect())
}

/// Returns the text with an item added at the end of the list; each line of `item` is one `key: value`.
///
/// # Errors
/// The file cannot be parsed reliably.
pub fn added(text: &str, keys: [&str; 2], item: &[String]) -> Result<String, SyntaxError> {
    let rows = rows(text);
    let place = locate(&rows, keys)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let at_end_of = |row: usize| row.checked_sub(1).and_then(|row| rows.get(row)).map_or(0, |row| row.span.end);
    let mut lines = Vec::new();
    // A key without a list, or with an empty one in brackets, is rewritten with its comment.
    let rewritten = |row: usize| {
        let row = rows.get(row)?;
        let line = text.get(row.span.clone())?;
        let colon = line.find(':')?;
        let rest = line.get(colon + 1..)?.trim_end();
        let comment = rest.find(" #").and_then(|at| rest.get(at..)).unwrap_or_default();
        Some((row.span.clone(), format!("{}:{comment}", line.get(..colon)?)))
    };
    let (span, item_indent) = match (place.outer, place.inner, place.items.last()) {
        (_, Some(_), Some(last)) => {
            let indent = rows.get(*last).map_or(2, |row| row.indent);
            let at = at_end_of(place.end_inner);
            (at..at, indent)
        }
        (_, Some(inner), None) => {
            let (span, line) = rewritten(inner).unwrap_or_default();
            lines.push(line);
            (span, place.indent + 2)
        }
        (Some(outer), None, _) if place.end_outer > outer + 1 => {
            let at = at_end_of(place.end_outer);
            lines.push(format!("{}{}:", " ".repeat(place.indent), keys[1]));
            (at..at, place.indent + 2)
        }
        (Some(outer), None, _) => {
            let (span, line) = rewritten(outer).unwrap_or_default();
            lines.push(line);
            lines.push(format!("  {}:", keys[1]));
            (span, 4)
        }
        (None, ..) => {
            lines.push(format!("{}:", keys[0]));
            lines.push(format!("  {}:", keys[1]));
            (text.len()..text.len(), 4)
        }
    };
    for (index, line) in item.iter().enumerate() {
        let dash = if index == 0 { "- " } else { "  " };
        lines.push(format!("{}{dash}{line}", " ".repeat(item_indent)));
    }
    let mut out = text.get(..span.start).unwrap_or_default().to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(newline);
    }
    for line in lines {
        out.push_str(&line);
        out.push_str(newline);
    }
    out.push_str(text.get(span.end..).unwrap_or_default());
    Ok(out)
}

/// Returns the text without an item. Keys that have no value after that are removed too, unless `kept` marks them as
/// present before guard.
///
/// # Errors
/// The file cannot be parsed reliably.
pub fn removed(text: &str, keys: [&str; 2], item: &Range<usize>, kept: [bool; 2]) -> Result<String, SyntaxError> {
    let cut = |text: &str, span: Range<usize>| {
        [text.get(..span.start).unwrap_or_default(), text.get(span.end..).unwrap_or_default()].concat()
    };
    let mut out = cut(text, item.clone());
    for (level, kept) in [(1, kept[1]), (0, kept[0])] {
        let rows = rows(&out);
        let place = locate(&rows, keys)?;
        let bare = match (level, place.inner, place.outer) {
            (1, Some(inner), _) if place.items.is_empty() => Some(inner),
            (0, None, Some(outer)) if place.end_outer == outer + 1 => Some(outer),
            _ => None,
        };
        let Some(span) = bare.and_then(|row| rows.get(row)).map(|row| row.span.clone()) else { continue };
        if kept {
            // A key that had an empty list gets one again: without a value it would be null.
            let line = out.get(span.clone()).unwrap_or_default();
            let empty = if level == 1 { ": []" } else { ": {}" };
            let line = line.replacen(':', empty, 1);
            out = [out.get(..span.start).unwrap_or_default(), &line, out.get(span.end..).unwrap_or_default()].concat();
        } else {
            out = cut(&out, span);
        }
    }
    Ok(out)
}

/// Returns the value of a key of an item, if it is plain or in single or double quotes.
#[must_use]
pub fn value(item: &str, key: &str) -> Option<String> {
    let lines = item.lines().map(|line| line.trim_start_matches([' ', '-']).trim_end());
    let value = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(':')).next()?.trim();
    if value.starts_with('"') {
        return serde_json::from_str(value).ok();
    }
    match value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) {
        Some(single) => Some(single.replace("''", "'")),
        None => Some(value.split(" #").next().unwrap_or_default().trim_end().to_owned()),
    }
}

/// Reports for each key whether the text has it.
#[must_use]
pub fn keys_of(text: &str, keys: [&str; 2]) -> [bool; 2] {
    locate(&rows(text), keys).map_or([true, true], |place| [place.outer.is_some(), place.inner.is_some()])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 2] = ["hooks", "pre_tool_call"];

    fn item() -> Vec<String> {
        ["matcher: \"terminal\"", "command: \"/g/guard hook --agent hermes\""].map(str::to_owned).to_vec()
    }

    #[test]
    fn an_item_is_added_wherever_the_list_is_or_is_not() {
        let block = "    - matcher: \"terminal\"\n      command: \"/g/guard hook --agent hermes\"\n";
        for (before, after) in [
            ("", format!("hooks:\n  pre_tool_call:\n{block}")),
            ("a: 1", format!("a: 1\nhooks:\n  pre_tool_call:\n{block}")),
            ("hooks: {} # none\nb: 2\n", format!("hooks: # none\n  pre_tool_call:\n{block}b: 2\n")),
            ("hooks:\n  stop:\n    - x: 1\n\n# b\nb: 2\n", format!("hooks:\n  stop:\n    - x: 1\n  pre_tool_call:\n{block}\n# b\nb: 2\n")),
            ("hooks:\n  pre_tool_call: []\nb: 2\n", format!("hooks:\n  pre_tool_call:\n{block}b: 2\n")),
            (
                "hooks:\n  pre_tool_call:\n    - matcher: x\n      command: y\n  stop: []\n",
                format!("hooks:\n  pre_tool_call:\n    - matcher: x\n      command: y\n{block}  stop: []\n"),
            ),
            (
                "hooks:\n    pre_tool_call:\n    - {matcher: x, command: y}\n",
                "hooks:\n    pre_tool_call:\n    - {matcher: x, command: y}\n    - matcher: \"terminal\"\n      command: \"/g/guard hook --agent hermes\"\n".to_owned(),
            ),
            (
                "hooks:\n  pre_tool_call:\n  - matcher: x\n    command: y\n  stop: []\n",
                "hooks:\n  pre_tool_call:\n  - matcher: x\n    command: y\n  - matcher: \"terminal\"\n    command: \"/g/guard hook --agent hermes\"\n  stop: []\n".to_owned(),
            ),
            ("list:\n- a\n- b\n", format!("list:\n- a\n- b\nhooks:\n  pre_tool_call:\n{block}")),
        ] {
            let text = added(before, KEYS, &item()).unwrap();
            assert_eq!(text, after);
            let ours = found(&text, KEYS, &|text| text.contains("guard hook")).unwrap();
            assert_eq!(ours.len(), 1, "{text}");
            let ended = if before.is_empty() || before.ends_with('\n') { before.to_owned() } else { format!("{before}\n") };
            let restored = removed(&text, KEYS, &ours[0], keys_of(before, KEYS)).unwrap();
            assert_eq!(restored.replace(": {}", ":").replace(": []", ":"), ended.replace(": {}", ":").replace(": []", ":"));
        }
    }

    #[test]
    fn a_quote_or_a_bracket_inside_of_a_value_is_text() {
        for text in [
            "a: it's [x\n",
            "a: \"x [ \\\" '\"\n",
            "a: 'it''s'\n",
            "a: 1 # \"\n",
            "a: |\n  \"x\n  [y\nb: >-\n  'z\n",
            "a: [1,\n  'x', {b: \"c\"}\n]\n",
            "a: \"x\n  y\"\n",
            "- url: http://x/[\n",
        ] {
            assert!(unclosed(&rows(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn what_is_not_plain_block_style_is_left_alone() {
        for text in [
            "{hooks: {}}\n",
            "hooks: {pre_tool_call: []}\n",
            "hooks: &x\n  a: 1\n",
            "hooks:\n  <<: *x\n",
            "hooks:\n  pre_tool_call: [{a: 1}]\n",
            "hooks:\n\tpre_tool_call: []\n",
            "\"hooks\":\n  a: 1\n",
            "a: 1\n---\nhooks:\n",
            "hooks:\na: 1\nhooks:\n",
            "hooks:\n- a\n",
            "hooks:\n    a: 1\n  b: 2\n",
            "hooks:\n  pre_tool_call:\n    a: 1\n",
            "a: [1\nb: 2\n",
            "a: \"x\nb: 2\n",
            "a:\n- 'x\n",
            "a: {b: [1}\n",
        ] {
            assert!(added(text, KEYS, &item()).is_err(), "{text}");
        }
    }
}
