//! One file, read by the table of keys: what it sets, and everything that is wrong in it.
//!
//! All problems of a file are found at once. What is well-formed beside them is still reported, because the joined
//! values are tightened afterwards; of a file that is no TOML nothing is taken.

use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use toml::de::{DeTable, DeValue};

use super::destination::{Destination, DestinationError};
use super::errors::ConfigProblem;
use super::grants;
use super::keys::{ConfigType, Item, KEYS, Key, KeyRow as Row, TABLES, nearest};
use super::layers::{Layer, locks};
use super::reviewer::{self, Reviewer};
use super::service::{self, Service};
use crate::judge::approved::Grant;
use crate::judge::document::{found, integer};
use crate::judge::policy::Support;

/// What one file says.
#[derive(Clone, Debug)]
pub struct Document {
    pub layer: Layer,
    pub file: Arc<Path>,
    pub entries: Vec<SetKey>,
    pub support: Vec<Support>,
    pub grants: Vec<Grant>,
    /// Who keeps the record, in the machine's file.
    pub service: Option<Service>,
    /// Who gives an opinion, with the line of the table.
    pub reviewer: Option<(Reviewer, u32)>,
    /// Keys that later layers may only tighten.
    pub locked: Vec<Key>,
    /// Where lines begin, as byte offsets.
    lines: Vec<usize>,
}

/// One key that is set.
#[derive(Clone, Debug)]
pub struct SetKey {
    pub key: Key,
    pub given: Given,
    /// Counted from 1.
    pub line: u32,
}

/// A checked value.
#[derive(Clone, Debug)]
pub enum Given {
    /// A place on the line of its key.
    Number(i64),
    /// Entries with their lines.
    List(Vec<(String, u32)>),
}

/// A key and its value with their places, as TOML has them.
pub(super) type Spot<'a> = toml::Spanned<DeValue<'a>>;

impl Document {
    /// Reads `text`; what is wrong goes to `problems`, what is odd but harmless to `warnings`. `home` is what `~/`
    /// stands for.
    pub fn read(
        layer: Layer,
        file: &Path,
        text: &str,
        home: Option<&Path>,
        problems: &mut Vec<ConfigProblem>,
        warnings: &mut Vec<ConfigProblem>,
    ) -> Self {
        let lines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        let mut document = Self {
            layer,
            file: file.into(),
            entries: Vec::new(),
            support: Vec::new(),
            grants: Vec::new(),
            service: None,
            reviewer: None,
            locked: Vec::new(),
            lines,
        };
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let line = document.line(error.span().map_or(0, |span| span.start));
                problems.push(ConfigProblem {
                    line: Some(line),
                    ..ConfigProblem::of_file(layer, file, format!("not valid TOML: {}", error.message().trim()))
                });
                document.service = (layer == Layer::Machine).then(|| service::unread(text)).flatten();
                if text.contains("approvals") {
                    KEYS.iter().for_each(|row| document.take_several(row.key, line));
                }
                return document;
            }
        };
        for (name, value) in table.get_ref() {
            let line = document.line(name.span().start);
            match value.get_ref() {
                DeValue::Table(inner) if TABLES.contains(&&**name.get_ref()) => {
                    for (key, value) in inner {
                        let full = format!("{}.{}", name.get_ref(), key.get_ref());
                        let line = document.line(key.span().start);
                        document.take(&full, line, value, home, problems, warnings);
                    }
                }
                DeValue::Table(_) if *name.get_ref() == Key::Reviewer.entry().name => {
                    reviewer::read(&mut document, line, text, home, problems, warnings);
                }
                _ => document.take(name.get_ref(), line, value, home, problems, warnings),
            }
        }
        document
    }

    /// The line of a byte offset, counted from 1.
    pub(super) fn line(&self, offset: usize) -> u32 {
        u32::try_from(self.lines.partition_point(|newline| *newline < offset) + 1).unwrap_or(u32::MAX)
    }

    /// A problem at a place in this file.
    pub(super) fn problem(&self, line: u32, key: &str, message: impl Into<String>) -> ConfigProblem {
        ConfigProblem {
            line: Some(line),
            key: Some(key.to_owned()),
            ..ConfigProblem::of_file(self.layer, &*self.file, message)
        }
    }

    /// A value of the wrong type or out of range.
    pub(super) fn wrong(&self, key: &str, expected: &str, value: &Spot<'_>) -> ConfigProblem {
        let line = self.line(value.span().start);
        self.problem(line, key, format!("expected {expected}, found {}", found(value.get_ref())))
    }

    fn take(
        &mut self,
        name: &str,
        line: u32,
        value: &Spot<'_>,
        home: Option<&Path>,
        problems: &mut Vec<ConfigProblem>,
        warnings: &mut Vec<ConfigProblem>,
    ) {
        if TABLES.contains(&name) {
            problems.push(self.wrong(name, &format!("a table headed [{name}]"), value));
            return;
        }
        let Some(key) = Key::from_name(name) else {
            problems.push(self.unknown(name, line, value));
            return;
        };
        let row = key.entry();
        match row.kind {
            ConfigType::Word(_) | ConfigType::Weight(..) | ConfigType::Whole(..) | ConfigType::Flag => {
                match number(row.kind, value.get_ref()) {
                    Some(number) => self.entries.push(SetKey { key, given: Given::Number(number), line }),
                    None => {
                        problems.push(self.wrong(name, &row.expected(), value));
                        self.take_several(key, line);
                    }
                }
            }
            ConfigType::List(item) => {
                let words = self.words(row, value, |word| well_formed(item, word, home), problems);
                self.entries.push(SetKey { key, given: Given::List(words), line });
            }
            ConfigType::Names => self.take_locks(row, line, value, problems),
            ConfigType::Tables(_) | ConfigType::Argv if self.layer == Layer::Redirected => {
                let message = "ignored: HOME or XDG_CONFIG_HOME does not point to the account's own configuration";
                warnings.push(self.problem(line, name, message));
            }
            ConfigType::Tables(_) | ConfigType::Argv if !self.layer.may_loosen() => {
                let problem =
                    self.problem(line, name, format!("a {} file can only tighten the policy", self.layer.name()));
                problems.push(problem.with_remedy("move it to the user's or the machine's file"));
            }
            ConfigType::Argv => {
                let words = self.words(row, value, argument, problems);
                match words.first() {
                    Some((program, line)) if !is_program(program) => problems.push(self.problem(
                        *line,
                        name,
                        format!("\"{program}\": expected a program name, or a path that begins with `/` or `~/`"),
                    )),
                    _ => self.entries.push(SetKey { key, given: Given::List(words), line }),
                }
            }
            ConfigType::Tables(_) => grants::read_tables(self, key, value, problems),
            ConfigType::Table(_) if key == Key::Reviewer => problems.push(self.wrong(name, &row.expected(), value)),
            ConfigType::Table(_) => service::read(self, line, value, problems),
            // `from_name` does not return it.
            ConfigType::LockOnly => {}
        }
    }

    /// Somebody wants several approvers, and how many cannot be read: two, so that a slip of the pen does not leave
    /// one.
    fn take_several(&mut self, key: Key, line: u32) {
        if key.only_tightens() {
            self.entries.push(SetKey { key, given: Given::Number(2), line });
        }
    }

    fn take_locks(&mut self, row: &Row, line: u32, value: &Spot<'_>, problems: &mut Vec<ConfigProblem>) {
        if self.layer != Layer::Machine {
            let problem = self.problem(line, row.name, "only the machine's file can lock keys");
            problems.push(problem.with_remedy("remove it"));
            return;
        }
        let known = |name: &str| match locks(name) {
            keys if keys.is_empty() => Err(EntryError::NoSuchKey),
            _ => Ok(name.to_owned()),
        };
        for (name, _) in self.words(row, value, known, problems) {
            self.locked.extend(locks(&name));
        }
    }

    /// The strings of an array, each checked; the place of each that is not as it should be is reported.
    fn words(
        &self,
        row: &Row,
        value: &Spot<'_>,
        check: impl Fn(&str) -> Result<String, EntryError>,
        problems: &mut Vec<ConfigProblem>,
    ) -> Vec<(String, u32)> {
        let DeValue::Array(array) = value.get_ref() else {
            problems.push(self.wrong(row.name, &row.expected(), value));
            return Vec::new();
        };
        let mut words = Vec::new();
        for item in array {
            let line = self.line(item.span().start);
            match item.get_ref() {
                DeValue::String(word) => match check(word) {
                    Ok(word) => words.push((word, line)),
                    Err(why) => problems.push(self.problem(line, row.name, format!("\"{word}\": {why}"))),
                },
                _ => problems.push(self.wrong(row.name, "a string", item)),
            }
        }
        words
    }

    /// An unknown key, with the nearest that exists.
    fn unknown(&self, name: &str, line: u32, value: &Spot<'_>) -> ConfigProblem {
        let is_table = matches!(value.get_ref(), DeValue::Table(_));
        let near = match is_table {
            true => nearest(name, TABLES.iter().copied()).map(|table| format!("[{table}]")),
            false => None,
        };
        let near = near.or_else(|| nearest(name, KEYS.iter().map(|row| row.name)).map(str::to_owned));
        let what = if is_table { "unknown table" } else { "unknown key" };
        let problem = self.problem(line, name, what);
        match near {
            Some(near) => problem.with_remedy(format!("did you mean {near}?")),
            None => problem.with_remedy("`guard config show` lists all keys"),
        }
    }
}

/// The place on the line of its key; `None` when it is of another type or out of range.
fn number(kind: ConfigType, value: &DeValue<'_>) -> Option<i64> {
    match (kind, value) {
        (ConfigType::Word(words), DeValue::String(word)) => {
            words.iter().position(|known| known == word).and_then(|at| i64::try_from(at).ok())
        }
        (ConfigType::Weight(low, high), DeValue::Integer(_) | DeValue::Float(_)) => {
            let value = match value {
                DeValue::Integer(whole) => {
                    #[expect(clippy::cast_precision_loss, reason = "what is large enough to lose any is out of range")]
                    {
                        integer(whole)? as f64
                    }
                }
                DeValue::Float(float) => float.as_str().parse().ok()?,
                _ => return None,
            };
            let hundredths = value * 100.0;
            // NaN is in no range.
            if !(f64::from(low)..=f64::from(high)).contains(&hundredths) {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "it lies within the range, which is small")]
            Some(hundredths.round() as i64)
        }
        (ConfigType::Whole(low, high, _), DeValue::Integer(whole)) => {
            integer(whole).filter(|value| (i64::from(low)..=i64::from(high)).contains(value))
        }
        (ConfigType::Flag, DeValue::Boolean(flag)) => Some(i64::from(*flag)),
        _ => None,
    }
}

/// Why an entry of a list is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum EntryError {
    #[error("an entry must not be empty")]
    Empty,
    #[error("an entry must not begin or end with spaces or contain control characters")]
    Blanks,
    #[error("expected a host name without scheme, user or path")]
    Host,
    #[error("unknown key")]
    NoSuchKey,
    #[error("an argument must not contain a NUL byte")]
    Nul,
    #[error("the path of the home directory is not UTF-8; use an absolute path")]
    HomeEncoding,
    #[error("the account has no home directory; use an absolute path")]
    NoHome,
    #[error("a directory must be absolute, or begin with `~/`")]
    Relative,
    #[error("a directory must not contain `..`")]
    Parent,
    #[error("it matches every directory")]
    Everything,
    #[error(transparent)]
    Destination(#[from] DestinationError),
}

/// An entry of a list in the form that the policy holds, or why it is none. `!` in front takes an entry away.
fn well_formed(item: Item, word: &str, home: Option<&Path>) -> Result<String, EntryError> {
    let (mark, bare) = match word.strip_prefix('!') {
        Some("*") => return Ok(word.to_owned()),
        Some(bare) => ("!", bare),
        None => ("", word),
    };
    if bare.trim().is_empty() {
        return Err(EntryError::Empty);
    }
    if bare.trim() != bare || bare.chars().any(char::is_control) {
        return Err(EntryError::Blanks);
    }
    match item {
        Item::Directory => directory(bare, home).map(|directory| format!("{mark}{directory}")),
        Item::Host if bare.contains(['/', '@', ' ']) || bare == "*" => Err(EntryError::Host),
        Item::Host => Ok(format!("{mark}{}", bare.to_ascii_lowercase())),
        Item::Destination => Ok(Destination::parse(bare).map(|_| word.to_owned())?),
        Item::Branch | Item::Word | Item::Rule => Ok(word.to_owned()),
    }
}

/// An argument as a program can be handed it.
fn argument(word: &str) -> Result<String, EntryError> {
    if word.contains('\0') { Err(EntryError::Nul) } else { Ok(word.to_owned()) }
}

fn is_program(word: &str) -> bool {
    !word.is_empty() && (!word.contains('/') || word.starts_with('/') || word.starts_with("~/"))
}

/// An absolute directory without a slash at its end, `~/` resolved.
pub(super) fn directory(text: &str, home: Option<&Path>) -> Result<String, EntryError> {
    let absolute = match (text.strip_prefix("~/").or_else(|| (text == "~").then_some("")), home) {
        (Some(rest), Some(home)) => match home.to_str() {
            Some(home) => format!("{}/{rest}", home.trim_end_matches('/')),
            None => return Err(EntryError::HomeEncoding),
        },
        (Some(_), None) => return Err(EntryError::NoHome),
        (None, _) => text.to_owned(),
    };
    if !absolute.starts_with('/') {
        return Err(EntryError::Relative);
    }
    if absolute.split('/').any(|part| part == "..") {
        return Err(EntryError::Parent);
    }
    let bare = absolute.trim_end_matches('/');
    if bare.is_empty() || bare.trim_start_matches('/').chars().all(|c| c == '*') {
        return Err(EntryError::Everything);
    }
    Ok(bare.to_owned())
}
