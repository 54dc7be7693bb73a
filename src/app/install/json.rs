//! Parses JSON with comments and trailing commas, and records the position of each part. Edits preserve comments, tabs
//! and line ends.
//!
//! Out of scope: files, and the meaning of keys. A text is edited by cutting and inserting, and is never reformatted.
//!
//! The syntax tree of jsonc-parser is not used because it does not restore the original bytes: it splits `{"a": [0]}`
//! over several lines to add an element, and leaves the line end when it removes the element again. It also moves
//! comments at the end of a list, and accepts duplicate keys.

mod edit;

pub use edit::{Layout, added, quoted, removed, replaced};

use std::ops::Range;

/// The deepest nesting that is parsed.
const MAX_DEPTH: usize = 64;

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub span: Range<usize>,
    pub kind: JsonKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JsonKind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Text(String),
    /// A number, `true`, `false` or `null`, as written.
    Bare(String),
}

/// One `"key": value` of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub key: String,
    /// The position of the key.
    pub start: usize,
    pub value: Node,
}

/// The reason why a configuration file cannot be parsed or edited, with the byte position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    pub at: usize,
    pub what: String,
}

impl Node {
    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// Returns the members of an object; empty for anything else.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        if let JsonKind::Object(members) = &self.kind { members } else { &[] }
    }

    /// Returns the elements of an array; empty for anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let JsonKind::Array(items) = &self.kind { items } else { &[] }
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        if let JsonKind::Text(text) = &self.kind { Some(text) } else { None }
    }

    /// Collects every string in it, in order.
    pub fn texts<'a>(&'a self, into: &mut Vec<&'a str>) {
        match &self.kind {
            JsonKind::Object(members) => members.iter().for_each(|member| member.value.texts(into)),
            JsonKind::Array(items) => items.iter().for_each(|item| item.texts(into)),
            JsonKind::Text(text) => into.push(text),
            JsonKind::Bare(_) => {}
        }
    }

    /// Reports whether two values are equal, ignoring the order of keys.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (JsonKind::Object(a), JsonKind::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|member| other.get(&member.key).is_some_and(|value| member.value.same(value)))
            }
            (JsonKind::Array(a), JsonKind::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (a, b) => a == b,
        }
    }

    /// Returns the ranges of the elements or members.
    fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            JsonKind::Object(members) => members.iter().map(|member| member.start..member.value.span.end).collect(),
            JsonKind::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
            _ => Vec::new(),
        }
    }
}

/// Parses a text.
///
/// # Errors
/// It is not JSON, even with comments and trailing commas allowed, or a key occurs twice in one object.
pub fn parse(text: &str) -> Result<Node, SyntaxError> {
    let mut reader = JsonReader { text, at: if text.starts_with('\u{feff}') { 3 } else { 0 } };
    reader.skip()?;
    let node = reader.value(0)?;
    reader.skip()?;
    if reader.at < text.len() { Err(reader.error("unexpected text after the end of the value")) } else { Ok(node) }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, what: &str) -> SyntaxError {
        SyntaxError { at: self.at, what: what.to_owned() }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            if rest.starts_with(['\u{20}', '\t', '\r', '\n']) {
                self.at += 1;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let end = rest.find("*/").ok_or_else(|| self.error("unclosed comment"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => JsonKind::Text(self.string()?),
            _ => self.bare()?,
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<JsonKind, SyntaxError> {
        let mut members: Vec<Member> = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            if self.peek() == Some(b'}') {
                break;
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes, or }"));
            }
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                return Err(SyntaxError { at: start, what: format!("duplicate key {key:?}") });
            }
            self.skip()?;
            if self.peek() != Some(b':') {
                return Err(self.error("expected :"));
            }
            self.at += 1;
            self.skip()?;
            let value = self.value(depth + 1)?;
            members.push(Member { key, start, value });
            if !self.comma(b'}')? {
                break;
            }
        }
        self.at += 1;
        Ok(JsonKind::Object(members))
    }

    fn array(&mut self, depth: usize) -> Result<JsonKind, SyntaxError> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            if self.peek() == Some(b']') {
                break;
            }
            items.push(self.value(depth + 1)?);
            if !self.comma(b']')? {
                break;
            }
        }
        self.at += 1;
        Ok(JsonKind::Array(items))
    }

    /// Consumes a comma and returns `true`, or returns `false` if `end` follows.
    fn comma(&mut self, end: u8) -> Result<bool, SyntaxError> {
        self.skip()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(found) if found == end => Ok(false),
            _ => Err(self.error(&format!("expected a comma or {}", char::from(end)))),
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(byte) if *byte >= 0x20 => end += 1,
                _ => return Err(self.error("unclosed string")),
            }
        }
        let quoted = self.text.get(self.at..=end).unwrap_or_default();
        let text = serde_json::from_str(quoted).map_err(|_| self.error("invalid JSON string"))?;
        self.at = end + 1;
        Ok(text)
    }

    fn bare(&mut self) -> Result<JsonKind, SyntaxError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        if serde_json::from_str::<serde_json::Value>(word).is_err() {
            return Err(self.error(if word.is_empty() { "expected a value" } else { "invalid JSON value" }));
        }
        let word = word.to_owned();
        self.at += end;
        Ok(JsonKind::Bare(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Node {
        parse(text).unwrap()
    }

    #[test]
    fn comments_trailing_commas_and_a_byte_order_mark_are_read() {
        let text = "\u{feff}// a\n{ /* b */ \"k\": [1, true, \"x\\n\", ], // c\n}\n";
        let root = root(text);
        let list = root.get("k").unwrap();
        assert_eq!(list.items().len(), 3);
        assert_eq!(list.items()[2].text(), Some("x\n"));
        assert_eq!(&text[list.span.clone()], "[1, true, \"x\\n\", ]");
    }

    #[test]
    fn what_is_no_json_is_named_with_its_place() {
        for (text, at, what) in [
            ("{\"a\": 1 \"b\": 2}", 8, "expected a comma or }"),
            ("{a: 1}", 1, "expected a key in double quotes, or }"),
            ("{\"a\": tru}", 6, "invalid JSON value"),
            ("{\"a\": }", 6, "expected a value"),
            ("{\"a\": 1, \"a\": 2}", 9, "duplicate key \"a\""),
            ("{\"a\": \"x\n\"}", 6, "unclosed string"),
            ("{} x", 3, "unexpected text after the end of the value"),
            ("{ /* x", 2, "unclosed comment"),
            ("{\"a\": \"\\q\"}", 6, "invalid JSON string"),
            ("{\"a\"", 4, "expected :"),
            ("\"abc\\", 0, "unclosed string"),
        ] {
            assert_eq!(parse(text), Err(SyntaxError { at, what: what.to_owned() }), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn an_element_is_added_in_the_layout_of_its_neighbours() {
        for (before, after) in [
            ("{\"a\": []}", "{\"a\": [{\"n\":1}]}"),
            ("{\"a\": [0]}", "{\"a\": [0, {\"n\":1}]}"),
            ("{\n\t\"a\": [\n\t\t0\n\t]\n}\n", "{\n\t\"a\": [\n\t\t0,\n\t\t{\n\t\t\t\"n\": 1\n\t\t}\n\t]\n}\n"),
            (
                "{\r\n  \"a\": [\r\n    0,\r\n  ],\r\n}",
                "{\r\n  \"a\": [\r\n    0,\r\n    {\r\n      \"n\": 1\r\n    },\r\n  ],\r\n}",
            ),
            (
                "{\n \"a\": [\n  0 // zero\n  // end\n ]\n}",
                "{\n \"a\": [\n  0, // zero\n  // end\n  {\n   \"n\": 1\n  }\n ]\n}",
            ),
            ("{\n  \"a\": []\n}", "{\n  \"a\": [\n    {\n      \"n\": 1\n    }\n  ]\n}"),
            ("{\n  \"a\": [ // none\n  ]\n}", "{\n  \"a\": [ // none\n    {\n      \"n\": 1\n    }\n  ]\n}"),
        ] {
            let node = root(before);
            let text = added(before, node.get("a").unwrap(), None, "{\"n\":1}").unwrap();
            assert_eq!(text, after);
            let node = root(&text);
            let list = node.get("a").unwrap();
            let last = list.items().len() - 1;
            assert_eq!(root(&removed(&text, list, last)).get("a").unwrap().items().len(), last, "{text}");
        }
    }

    #[test]
    fn what_was_added_last_is_removed_without_a_trace() {
        for before in [
            "{\"a\": []}",
            "{\"a\": [0]}",
            "{\n\t\"a\": [\n\t\t0\n\t]\n}\n",
            "{\r\n  \"a\": [\r\n    0,\r\n  ],\r\n}",
            "{\n \"a\": [\n  0 // zero\n  // end\n ]\n}",
        ] {
            let text = added(before, root(before).get("a").unwrap(), None, "{\"n\":1}").unwrap();
            let node = root(&text);
            let list = node.get("a").unwrap();
            assert_eq!(removed(&text, list, list.items().len() - 1), before);
        }
    }

    #[test]
    fn removing_leaves_the_neighbours_and_their_comments() {
        let text = "[\n  1, // one\n  2, // two\n  3 // three\n]";
        let list = root(text);
        assert_eq!(removed(text, &list, 0), "[ // one\n  2, // two\n  3 // three\n]");
        assert_eq!(removed(text, &list, 2), "[\n  1, // one\n  2 // two // three\n]");
        assert_eq!(removed("[1]", &root("[1]"), 0), "[]");
        assert_eq!(removed("[1,]", &root("[1,]"), 0), "[]");
    }

    #[test]
    fn two_values_with_their_keys_in_another_order_are_the_same() {
        assert!(root("{\"a\":1,\"b\":[2]}").same(&root("{ \"b\": [2], /* x */ \"a\": 1 }")));
        assert!(!root("{\"a\":1}").same(&root("{\"a\":1,\"b\":2}")));
        assert!(!root("[1,2]").same(&root("[2,1]")));
    }
}
