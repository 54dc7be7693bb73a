//! Edits JSON text: adds, replaces or removes an element, and leaves everything else as it was written.

use super::{JsonKind, JsonReader, Member, Node, SyntaxError, parse};

/// The formatting of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// One step of indentation.
    unit: String,
    newline: &'static str,
}

impl Layout {
    /// Detects the formatting of a text. The default is two spaces and a line feed.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indents = text.lines().skip(1).map(|line| line.get(..line.len() - line.trim_start().len()));
        let unit = indents.flatten().find(|indent| !indent.is_empty()).unwrap_or("  ").to_owned();
        Self { unit, newline }
    }

    /// Formats a value over several lines, the first without indentation.
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
            // An array of simple values stays on one line.
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

/// Formats a text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the text before this byte on its line, if it is blank.
fn indent_at(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..)?;
    line.chars().all(|c| c == ' ' || c == '\t').then_some(line)
}

/// Returns the indentation of the line with this byte.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = text.get(before.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// Returns the text with `value` (compact JSON) added at the end of a container: as a member with `key`, or as an
/// element.
///
/// # Errors
/// `value` is not JSON.
pub fn added(text: &str, container: &Node, key: Option<&str>, value: &str) -> Result<String, SyntaxError> {
    let layout = Layout::of(text);
    let node = parse(value)?;
    let children = container.children();
    let open = container.span.start + 1;
    let close = container.span.end - 1;
    let inside = text.get(open..close).unwrap_or_default();
    // A file of one line stays one line; in other files an empty container is split over lines.
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
    // Insert it after the last text that is not blank, so that a comment there stays with its element.
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

/// Reports whether a comma is the first token in this text.
fn after_comma(text: &str) -> bool {
    let mut reader = JsonReader { text, at: 0 };
    reader.skip().is_ok() && reader.peek() == Some(b',')
}

/// Returns the text with a value replaced by another (compact JSON), formatted like the old one.
///
/// # Errors
/// `value` is not JSON.
pub fn replaced(text: &str, old: &Node, value: &str) -> Result<String, SyntaxError> {
    let layout = Layout::of(text);
    let node = parse(value)?;
    let lines = text.get(old.span.clone()).unwrap_or_default().contains('\n');
    let value = if lines { layout.pretty(value, &node, line_indent(text, old.span.start)) } else { value.to_owned() };
    let (before, after) = (text.get(..old.span.start), text.get(old.span.end..));
    Ok([before.unwrap_or_default(), &value, after.unwrap_or_default()].concat())
}

/// Returns the text without the element or member at `index` of a container, its comma and its line.
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
        // Removing the last one also removes the comma before it; comments in between stay.
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
