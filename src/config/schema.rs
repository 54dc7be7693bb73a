//! Parses a configuration file by the table of keys.
//!
//! All errors of a file are reported at once. Its valid keys are still returned, because the merged values are made
//! stricter afterwards; a file that is not valid TOML has no keys.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::defaults::locks;
use super::document::{Document, SetKey, SetValue, SpannedValue};
use super::errors::ConfigProblem;
use super::keys::{ConfigType, KEYS, Key, KeyRow as Row, TABLES, nearest};
use super::layer::Layer;
use entries::{EntryError, argument, is_program, number, well_formed};

mod entries;
mod grants;
mod reviewer;
mod service;

impl Document {
    /// Parses `text`. Errors are added to `problems`, harmless oddities to `warnings`. `home` is the value of `~/`.
    pub fn read(
        layer: Layer,
        file: &Path,
        text: &str,
        home: Option<&Path>,
        problems: &mut Vec<ConfigProblem>,
        warnings: &mut Vec<ConfigProblem>,
    ) -> Self {
        let mut document = Self::new(layer, file, text);
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let line = document.line(error.span().map_or(0, |span| span.start));
                problems.push(ConfigProblem {
                    line: Some(line),
                    ..ConfigProblem::of_file(layer, file, format!("not valid TOML: {}", error.message().trim()))
                });
                document.service = (layer == Layer::Machine).then(|| super::service::unread(text)).flatten();
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

    fn take(
        &mut self,
        name: &str,
        line: u32,
        value: &SpannedValue<'_>,
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
                    Some(number) => self.entries.push(SetKey { key, value: SetValue::Number(number), line }),
                    None => {
                        problems.push(self.wrong(name, &row.expected(), value));
                        self.take_several(key, line);
                    }
                }
            }
            ConfigType::List(item) => {
                let words = self.words(row, value, |word| well_formed(item, word, home), problems);
                self.entries.push(SetKey { key, value: SetValue::List(words), line });
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
                    _ => self.entries.push(SetKey { key, value: SetValue::List(words), line }),
                }
            }
            ConfigType::Tables(_) => grants::read_tables(self, key, value, problems),
            ConfigType::Table(_) if key == Key::Reviewer => problems.push(self.wrong(name, &row.expected(), value)),
            ConfigType::Table(_) => service::read(self, line, value, problems),
            // `from_name` does not return this type.
            ConfigType::LockOnly => {}
        }
    }

    /// Sets the number of approvers to two if it cannot be parsed, so that a typing error does not result in one.
    fn take_several(&mut self, key: Key, line: u32) {
        if key.only_tightens() {
            self.entries.push(SetKey { key, value: SetValue::Number(2), line });
        }
    }

    fn take_locks(&mut self, row: &Row, line: u32, value: &SpannedValue<'_>, problems: &mut Vec<ConfigProblem>) {
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

    /// Returns the valid strings of an array, and reports the position of each invalid one.
    fn words(
        &self,
        row: &Row,
        value: &SpannedValue<'_>,
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

    /// Reports an unknown key, with the most similar one.
    fn unknown(&self, name: &str, line: u32, value: &SpannedValue<'_>) -> ConfigProblem {
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
