//! Indexes the text of a pattern file without parsing it: the names by which its programs and rules are looked up.
//!
//! The files of users are read at every start, and most of them do not concern the command. Building the index costs a
//! fraction of parsing a file, and tells whether the file has to be parsed.
//!
//! The index contains too many names rather than too few. If a file uses syntax that this module does not fully
//! understand, or contains anything other than named programs and effects, there is no index, and the file is parsed.
//! Out of scope: validating a file, which happens when it is parsed.

use std::collections::HashSet;

// These searchers do not detect CPU features. In a virtual machine, the detection costs more than scanning a pattern
// file.
use memchr::arch::all::memchr::{One, Three};

use super::glob;
use super::source::{WRITE, WRITE_STANDS_FOR};

/// The names of a file's programs, and the programs and effects of its rules.
#[derive(Debug)]
pub struct Index {
    names: HashSet<Box<str>>,
}

impl Index {
    /// Scans the text of a file. `None` if only parsing it determines its names.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut look = IndexReader { rest: text.as_bytes(), names: HashSet::new() };
        look.file()?;
        Some(Self { names: look.names })
    }

    /// Reports whether a program or rule of the file has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// The table that contains a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    Top,
    Rule,
    Program,
    /// A table inside a rule or program, whose keys contain no names for lookups.
    Inner,
}

/// Creates a set of bytes, as a table.
const fn set(bytes: &[u8]) -> [bool; 256] {
    let mut set = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        set[bytes[at] as usize] = true;
        at += 1;
    }
    set
}

/// The bytes in a value that change the meaning of the bytes after them.
static TURNS: [bool; 256] = set(b"\"'[]{}#\n");
/// The bytes of a bare key.
static BARE: [bool; 256] = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

/// A scanner over the rest of the text. Each step returns `None` for syntax that it does not understand.
struct IndexReader<'a> {
    rest: &'a [u8],
    names: HashSet<Box<str>>,
}

impl<'a> IndexReader<'a> {
    fn file(&mut self) -> Option<()> {
        let mut table = Table::Top;
        loop {
            self.blanks();
            match self.rest.first() {
                None => return Some(()),
                Some(b'\n') => self.rest = &self.rest[1..],
                Some(b'\r' | b'#') => self.line_end()?,
                Some(b'[') => table = self.header()?,
                Some(_) => self.entry(table)?,
            }
        }
    }

    fn blanks(&mut self) {
        let len = self.rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.rest = self.rest.get(len..).unwrap_or_default();
    }

    /// Consumes the end of a line, which may be preceded only by a comment.
    fn line_end(&mut self) -> Option<()> {
        self.blanks();
        let len = One::new(b'\n').find(self.rest).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(len);
        self.rest = rest.get(1..).unwrap_or_default();
        matches!(line, [] | [b'\r'] | [b'#', ..]).then_some(())
    }

    /// Parses `[[rule]]`, `[rule.operand]` and similar headers. Lists of paths and hosts concern every command, so they
    /// have no index.
    fn header(&mut self) -> Option<Table> {
        let end = self.rest.iter().position(|byte| *byte == b']')?;
        let (open, rest) = self.rest.split_at(end);
        let (table, close) = match open {
            b"[[rule" => (Table::Rule, 2),
            b"[[program" => (Table::Program, 2),
            b"[[exception" => (Table::Inner, 2),
            // For a tool call, all files are parsed anyway.
            b"[[tool" => (Table::Inner, 2),
            [b'[', b'[', inner @ ..] if is_inner(inner) => (Table::Inner, 2),
            [b'[', inner @ ..] if is_inner(inner) => (Table::Inner, 1),
            _ => return None,
        };
        self.rest = rest.strip_prefix(if close == 2 { b"]]".as_slice() } else { b"]" })?;
        self.line_end()?;
        Some(table)
    }

    /// Parses `key = value`.
    fn entry(&mut self, table: Table) -> Option<()> {
        let key = self.bare_key()?;
        self.blanks();
        self.rest = self.rest.strip_prefix(b"=")?;
        self.blanks();
        match (table, key) {
            (Table::Top, b"family" | b"about") | (Table::Inner, _) => self.value(),
            (Table::Top, _) => None,
            (Table::Rule, b"program") | (Table::Program, b"name") => {
                self.named()?;
                self.line_end()
            }
            (Table::Rule | Table::Program, _) => self.value(),
        }
    }

    fn bare_key(&mut self) -> Option<&'a [u8]> {
        let len = self.rest.iter().position(|byte| !BARE[usize::from(*byte)])?;
        let (key, rest) = self.rest.split_at(len);
        self.rest = rest;
        (len > 0).then_some(key)
    }

    /// Parses a name or an array of names.
    fn named(&mut self) -> Option<()> {
        if self.rest.first() != Some(&b'[') {
            return self.name();
        }
        self.rest = &self.rest[1..];
        loop {
            self.blanks();
            match self.rest.first()? {
                b']' => {
                    self.rest = &self.rest[1..];
                    return Some(());
                }
                b',' | b'\n' => self.rest = &self.rest[1..],
                b'\r' | b'#' => self.line_end()?,
                _ => self.name()?,
            }
        }
    }

    /// Parses a quoted name and adds all of its spellings.
    fn name(&mut self) -> Option<()> {
        let (quote, rest) = self.rest.split_first()?;
        if !matches!(quote, b'"' | b'\'') {
            return None;
        }
        let end = rest.iter().position(|byte| byte == quote || matches!(byte, b'\n' | b'\\'))?;
        let (name, rest) = rest.split_at(end);
        self.rest = rest.strip_prefix(&[*quote])?;
        let name = std::str::from_utf8(name).ok()?;
        for name in name.split('|') {
            if name.is_empty() || glob::is_glob(name) || name.contains(['{', '}', '\\']) {
                return None;
            }
            let both = WRITE_STANDS_FOR.into_iter().filter(|_| name == WRITE);
            for name in both.chain(std::iter::once(name)) {
                if !self.names.contains(name) {
                    self.names.insert(name.into());
                }
            }
        }
        Some(())
    }

    /// Skips a value, to the end of its last line.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            let Some(at) = self.rest.iter().position(|byte| TURNS[usize::from(*byte)]) else {
                self.rest = &[];
                return (depth == 0).then_some(());
            };
            let (byte, rest) = (self.rest[at], &self.rest[at + 1..]);
            match byte {
                b'"' | b'\'' => {
                    self.rest = &self.rest[at..];
                    self.string(byte)?;
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.checked_sub(1)?,
                b'#' => {
                    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                    self.rest = &rest[end..];
                    continue;
                }
                _ if depth == 0 => {
                    self.rest = rest;
                    return Some(());
                }
                _ => {}
            }
            self.rest = rest;
        }
    }

    /// Skips a string of any of the four kinds.
    fn string(&mut self, quote: u8) -> Option<()> {
        let triple = [quote; 3];
        let is_long = self.rest.starts_with(&triple);
        let mut at = if is_long { 3 } else { 1 };
        loop {
            at += Three::new(quote, b'\\', b'\n').find(self.rest.get(at..)?)?;
            match self.rest[at] {
                b'\\' if quote == b'"' => at += 2,
                b'\n' if !is_long => return None,
                byte if byte == quote && !is_long => break at += 1,
                byte if byte == quote && self.rest[at..].starts_with(&triple) => {
                    // Up to two quotes may precede the three that end the string.
                    at += 3;
                    at += self.rest[at..].iter().take(2).take_while(|byte| **byte == quote).count();
                    break;
                }
                _ => at += 1,
            }
        }
        self.rest = self.rest.get(at..)?;
        Some(())
    }
}

/// Reports whether this is the name of a table inside a rule, program or tool.
fn is_inner(name: &[u8]) -> bool {
    let below = [b"rule.".as_slice(), b"program.", b"tool."].iter().find_map(|table| name.strip_prefix(*table));
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    below.is_some_and(|below| !below.is_empty() && below.iter().all(plain))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::source::{NoLayers, read};
    use super::*;

    const HEAD: &str = "family = 'own'\nabout = \"of our own\" # x\n";

    fn names(text: &str) -> Option<Vec<String>> {
        let mut names: Vec<String> = Index::of(text)?.names.iter().map(ToString::to_string).collect();
        names.sort_unstable();
        Some(names)
    }

    fn with(body: &str) -> Option<Vec<String>> {
        names(&format!("{HEAD}{body}"))
    }

    #[test]
    fn programs_and_rules_are_named_with_all_spellings() {
        let text = "[[program]]\nname = [\"a\", 'b|c', # the last\n  \"d\",\n]\n[[program.sub]]\nname = \"x\"\n\
                    [[rule]]\nid = 'own.x'\nprogram = \":delete\"\nbad = [\"rm # x\", '''[[rule]]\nprogram = \"no\"''']\n\
                    [rule.operand]\nwhich = 'any'\n[[rule]]\nprogram=['e',\"python:os.remove\"]\r\n";
        assert_eq!(with(text).unwrap(), [":delete", "a", "b", "c", "d", "e", "python:os.remove"]);
        let exception = "[[exception]]\nname = 'x'\nno_flags = ['-n']\n";
        assert_eq!(with(exception).unwrap(), [""; 0]);
        assert_eq!(names("").unwrap(), [""; 0]);
    }

    #[test]
    fn what_concerns_every_command_or_is_written_in_an_unusual_way_gives_no_index() {
        for body in [
            "[[paths]]\nclass = 'secret'\nglobs = ['x']\n",
            "[[hosts]]\nclass = 'known'\nnames = ['x']\n",
            "[[rule]]\nprogram = '*'\n",
            "[[rule]]\nprogram = 'python3*'\n",
            "[[rule]]\nprogram = \"r\\u006d\"\n",
            "[[rule]]\nprogram = '''rm'''\n",
            "[[rule]]\n\"program\" = 'rm'\n",
            "[[rule]]\n'program' = 'rm'\n",
            "[[rule]]\nprogram.x = 'rm'\n",
            "[[ rule ]]\nprogram = 'rm'\n",
            "[[\"rule\"]]\nprogram = 'rm'\n",
            "rule = [{ program = 'rm' }]\n",
            "[[rule]]\nprogram = [['rm']]\n",
            "[[rule]]\nreason = 'x\n",
            "[[rule]]\nreason = \"\"\"x\n",
            "[[rule]]\nbad = [\n",
            "[[rule]] x\n",
        ] {
            assert_eq!(with(body), None, "{body}");
        }
    }

    /// Generates a value as a careless author may write it.
    fn value() -> impl Strategy<Value = String> {
        let text = "[ -~]{0,12}";
        prop_oneof![
            text.prop_map(|text| format!("{text:?}")),
            "[ -&(-~]{0,12}".prop_map(|text| format!("'{text}'")),
            "[ -!#-\\[\\]-~\n]{0,12}\"{0,2}".prop_map(|text| format!("\"\"\"{text}\"\"\"")),
            "[ -&(-~\n]{0,12}'{0,2}".prop_map(|text| format!("'''{text}'''")),
            (text, text).prop_map(|(one, two)| format!("[{one:?}, # ]\n {two:?}\n]")),
            text.prop_map(|text| format!("{{ x = {text:?} }} # \"")),
        ]
    }

    fn program() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c:]{1,2}".prop_map(|name| format!("'{name}'")),
            "[a-c]{1,2}".prop_map(|name| format!("[\"{name}\",\n'x' ]"))
        ]
    }

    proptest! {
        #[test]
        fn no_name_that_toml_sees_is_missed(parts in prop::collection::vec((value(), program(), any::<bool>()), 0..5)) {
            let mut text = HEAD.to_owned();
            for (value, program, rule) in &parts {
                let (table, key) = if *rule { ("rule", "program") } else { ("program", "name") };
                text.push_str(&format!("[[{table}]]\nreason = {value}\n{key} = {program}\nextra = {value}\n"));
            }
            let table: Option<toml::Table> = toml::from_str(&text).ok();
            let index = Index::of(&text);
            if let (Some(table), Some(index)) = (table, index) {
                for (list, key) in [("rule", "program"), ("program", "name")] {
                    for entry in table.get(list).and_then(|list| list.as_array()).into_iter().flatten() {
                        let named = &entry[key];
                        let names: Vec<&str> = match named.as_array() {
                            Some(names) => names.iter().filter_map(|name| name.as_str()).collect(),
                            None => named.as_str().into_iter().collect(),
                        };
                        prop_assert!(!names.is_empty() && names.iter().all(|name| index.has(name)), "{text}");
                    }
                }
            }
        }

        #[test]
        fn no_text_makes_it_fail(text in "([\\[\\]{}\"'#=\\\\ \na-c]|rule|program|name){0,60}") {
            let _ = Index::of(&text);
        }
    }

    #[test]
    fn the_built_in_files_lose_no_name() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../patterns");
        let (mut indexed, mut all) = (0, 0);
        for file in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            let Some("toml") = file.extension().and_then(|end| end.to_str()) else { continue };
            let text = std::fs::read_to_string(&file).unwrap();
            all += 1;
            let (Some(index), Ok(contents)) = (Index::of(&text), read("x", &text, &NoLayers)) else { continue };
            indexed += 1;
            let verbs = contents.rules.iter().flat_map(|rule| &rule.when.verbs);
            let names = contents.programs.iter().flat_map(|program| &program.names);
            // The other spellings of a rule's program are found through the program's description.
            assert!(names.clone().all(|name| index.has(name)), "{file:?}");
            for verb in verbs.filter(|verb| !names.clone().any(|name| name == *verb)) {
                assert!(index.has(verb), "{file:?}: {verb}");
            }
        }
        assert!(indexed * 3 > all, "only {indexed} of {all} files have an index");
    }
}
