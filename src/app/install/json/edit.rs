//! Changing a text of JSON: an element is added, replaced or taken out, and everything else stays as a person wrote it.

use super::{JsonKind, JsonReader, Member, Node, SyntaxError, parse};

/// How a text is laid out, found out once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// One step of indentation.
    unit: String,
    newline: &'static str,
}

impl Layout {
    /// The layout of a text; two blanks and a line feed where it does not say.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().skip(1).map(|line| line.get(..line.len() - line.trim_start().len()));
        let unit = indents.flatten().find(|indent| !indent.is_empty()).unwrap_or("  ").to_owned();
        Self { unit, newline }
    }

    /// A value over several lines, the first without indentation.
    fn pretty(&self, text: &str, node: &Node, indent: &str) -> String {
        let deeper = format!("{indent}{}", self.unit);
        let many = |open: char, parts: Vec<String>, close: char| {
            let newline = self.newline;
            let parts = parts.join(&format!(",{newline}{deeper}"));
            format!("{open}{newline}{deeper}{parts}{newline}{indent}{close}")
        };
        match &node.kind {
            JsonKind::Object(members) if !members.is_empty() => {
                let part =
                    |member: &Member| format!("{}: {}", quoted(&member.key), self.pretty(text, &member.value, &deeper));
                many('{', members.iter().map(part).collect(), '}')
            }
            // A list of words stays on its line.
            JsonKind::Array(items) if items.iter().any(|item| !item.members().is_empty()) => {
                many('[', items.iter().map(|item| self.pretty(text, item, &deeper)).collect(), ']')
            }
            JsonKind::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.pretty(text, item, &deeper)).collect();
                format!("[{}]", items.join(", "))
            }
            _ => text.get(node.span.clone()).unwrap_or_default().to_owned(),
        }
    }
}

/// A text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What comes before this byte on its line, if that is blank.
fn indent_at(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..)?;
    line.chars().all(|c| c == ' ' || c == '\t').then_some(line)
}

/// The indentation of the line that holds this byte.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = text.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// The text with `value` (compact JSON) added at the end of a container: as a member with `key`, or as an element.
///
/// # Errors
/// `value` is no JSON.
pub fn added(text: &str, container: &Node, key: Option<&str>, value: &str) -> Result<String, SyntaxError> {
    let layout = Layout::of(text);
    let node = parse(value)?;
    let children = container.children();
    let open = container.span.start + 1;
    let close = container.span.end - 1;
    let inside = text.get(open..close).unwrap_or_default();
    // A file of one line stays one line; an empty container in a file of several is opened up.
    let lines =
        inside.contains('\n') || (children.is_empty() && (text.trim_end().contains('\n') || text.trim() == "{}"));
    let name = key.map_or_else(String::new, |key| format!("{}: ", quoted(key)));
    let indent = match children.first() {
        Some(first) => indent_at(text, first.start).map(str::to_owned),
        None => None,
    };
    let outer = line_indent(text, container.span.start);
    let indent = indent.unwrap_or_else(|| format!("{outer}{}", layout.unit));
    let value =
        if lines { format!("{name}{}", layout.pretty(value, &node, &indent)) } else { format!("{name}{value}") };
    // It goes behind the last thing that is not blank, so that a comment there stays with what it is about.
    let end = open + inside.trim_end().len();
    let last = children.last().map_or(open, |last| last.end);
    let comma_there = children.is_empty() || after_comma(text.get(last..close).unwrap_or_default());
    let mut out = String::with_capacity(text.len() + value.len() + 64);
    out.push_str(text.get(..last).unwrap_or_default());
    if !comma_there {
        out.push(',');
    }
    out.push_str(text.get(last..end).unwrap_or_default());
    if lines {
        out.push_str(layout.newline);
        out.push_str(&indent);
    } else if !children.is_empty() {
        out.push(' ');
    }
    out.push_str(&value);
    if comma_there && !children.is_empty() {
        out.push(',');
    }
    if lines && !text.get(end..close).unwrap_or_default().contains('\n') {
        out.push_str(layout.newline);
        out.push_str(outer);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Ok(out)
}

/// Whether a comma comes in this text before anything else but blanks and comments.
fn after_comma(text: &str) -> bool {
    let mut reader = JsonReader { text, at: 0 };
    reader.skip().is_ok() && reader.peek() == Some(b',')
}

/// The text with a value replaced by another (compact JSON), laid out as the one before was.
///
/// # Errors
/// `value` is no JSON.
pub fn replaced(text: &str, old: &Node, value: &str) -> Result<String, SyntaxError> {
    let layout = Layout::of(text);
    let node = parse(value)?;
    let lines = text.get(old.span.clone()).unwrap_or_default().contains('\n');
    let value = if lines { layout.pretty(value, &node, line_indent(text, old.span.start)) } else { value.to_owned() };
    let (before, after) = (text.get(..old.span.start), text.get(old.span.end..));
    Ok([before.unwrap_or_default(), &value, after.unwrap_or_default()].concat())
}

/// The text without the element or member at `index` of a container, its comma and its line.
#[must_use]
pub fn removed(text: &str, container: &Node, index: usize) -> String {
    let children = container.children();
    let Some(child) = children.get(index) else { return text.to_owned() };
    let close = container.span.end - 1;
    let behind = text.get(child.end..close).unwrap_or_default();
    let mut reader = JsonReader { text: behind, at: 0 };
    let comma = reader.skip().is_ok() && reader.peek() == Some(b',');
    let blank_before = |at: usize| text.get(..at).unwrap_or_default().trim_end().len();
    let (start, end) = if comma {
        (blank_before(child.start), child.end + reader.at + 1)
    } else if let Some(previous) = index.checked_sub(1).and_then(|index| children.get(index)) {
        // The last one takes the comma before it along; comments between stay.
        let between = text.get(previous.end..child.start).unwrap_or_default();
        let mut reader = JsonReader { text: between, at: 0 };
        let comma = if reader.skip().is_ok() { previous.end + reader.at } else { previous.end };
        let kept = text.get(comma + 1..child.start).unwrap_or_default();
        let rest = text.get(child.end..).unwrap_or_default();
        return [text.get(..comma).unwrap_or_default(), kept.trim_end(), rest].concat();
    } else if behind.trim().is_empty()
        && text.get(container.span.start + 1..child.start).is_some_and(|t| t.trim().is_empty())
    {
        (container.span.start + 1, close)
    } else {
        (blank_before(child.start), child.end)
    };
    [text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default()].concat()
}
