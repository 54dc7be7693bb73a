//! The content of a configuration file: the keys that it sets, with their lines. [`super::schema`] parses it.

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

/// The content of a configuration file.
#[derive(Clone, Debug)]
pub struct Document {
    pub layer: Layer,
    pub file: Arc<Path>,
    pub entries: Vec<SetKey>,
    pub support: Vec<Support>,
    pub grants: Vec<Grant>,
    /// The system service that keeps the record, in the machine's file.
    pub service: Option<Service>,
    /// The reviewer, with the line of its table.
    pub reviewer: Option<(Reviewer, u32)>,
    /// The keys that later layers can only make stricter.
    pub locked: Vec<Key>,
    /// The byte offsets of the beginnings of lines.
    lines: Vec<usize>,
}

/// A key that the file sets.
#[derive(Clone, Debug)]
pub struct SetKey {
    pub key: Key,
    pub value: SetValue,
    /// The line, counted from 1.
    pub line: u32,
}

/// A checked value.
#[derive(Clone, Debug)]
pub enum SetValue {
    /// A number on the scale of its key.
    Number(i64),
    /// The entries with their lines.
    List(Vec<(String, u32)>),
}

/// A key and its value, with their positions in the TOML file.
pub(super) type SpannedValue<'a> = toml::Spanned<DeValue<'a>>;

impl Document {
    /// Creates it for an empty file.
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

    /// Returns the line of a byte offset, counted from 1.
    pub(super) fn line(&self, offset: usize) -> u32 {
        u32::try_from(self.lines.partition_point(|newline| *newline < offset) + 1).unwrap_or(u32::MAX)
    }

    /// Creates a problem at a line of this file.
    pub(super) fn problem(&self, line: u32, key: &str, message: impl Into<String>) -> ConfigProblem {
        ConfigProblem {
            line: Some(line),
            key: Some(key.to_owned()),
            ..ConfigProblem::of_file(self.layer, &*self.file, message)
        }
    }

    /// Creates the problem of a value with the wrong type or out of range.
    pub(super) fn wrong(&self, key: &str, expected: &str, value: &SpannedValue<'_>) -> ConfigProblem {
        let line = self.line(value.span().start);
        self.problem(line, key, format!("expected {expected}, found {}", found(value.get_ref())))
    }
}
