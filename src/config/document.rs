//! What one file says: the keys that it sets, with their lines. [`super::schema`] reads it.

use std::path::Path;
use std::sync::Arc;

use toml::de::DeValue;

use super::errors::ConfigProblem;
use super::keys::Key;
use super::layer::Layer;
use super::reviewer::Reviewer;
use super::service::Service;
use crate::judge::approved::Grant;
use crate::judge::document::found;
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
    pub value: SetValue,
    /// Counted from 1.
    pub line: u32,
}

/// A checked value.
#[derive(Clone, Debug)]
pub enum SetValue {
    /// A place on the line of its key.
    Number(i64),
    /// Entries with their lines.
    List(Vec<(String, u32)>),
}

/// A key and its value with their places, as TOML has them.
pub(super) type SpannedValue<'a> = toml::Spanned<DeValue<'a>>;

impl Document {
    /// A file that says nothing yet.
    pub(super) fn new(layer: Layer, file: &Path, text: &str) -> Self {
        Self {
            layer,
            file: file.into(),
            entries: Vec::new(),
            support: Vec::new(),
            grants: Vec::new(),
            service: None,
            reviewer: None,
            locked: Vec::new(),
            lines: text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect(),
        }
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
    pub(super) fn wrong(&self, key: &str, expected: &str, value: &SpannedValue<'_>) -> ConfigProblem {
        let line = self.line(value.span().start);
        self.problem(line, key, format!("expected {expected}, found {}", found(value.get_ref())))
    }
}
