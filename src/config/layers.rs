//! Merges the layers: built in < machine < user < redirected < project.
//!
//! - The file of the machine or the user replaces single values. Lists accumulate; an entry `!word` removes `word`,
//!   `!*` removes all.
//! - Keys in `locked` of the machine's file can only be made stricter by later layers. A locked table locks its keys, a
//!   locked preset all keys that it sets, and `"*"` everything.
//! - A project, and a home that is not the account's own, can only make values stricter: a single value must be at
//!   least as strict, lists of protected things can grow, and lists of trusted things can shrink. Their preset applies
//!   only to values for which it is stricter. Everything that would be laxer is an error.
//! - Each layer can raise the number of required approvers; none can lower it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::defaults::PRESETS;
use super::document::{Document, SetKey, SetValue};
use super::errors::{ConfigProblem, visible};
use super::keys::{ConfigType, FREE_THRESHOLD, KEYS, Key, StrictDirection};
use super::layer::Layer;
use super::values::{place, preset};
use crate::judge::policy::{Policy, Preset};
use crate::judge::sort::sort_by_key;

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSource {
    pub layer: Layer,
    pub file: Option<Arc<Path>>,
    pub line: Option<u32>,
    /// The preset that set it, if its own key did not.
    pub preset: Option<Preset>,
    /// Whether it replaces a value because the configuration has errors.
    pub failing_closed: bool,
}

impl ValueSource {
    /// The origin of a value that no file sets.
    pub const BUILT_IN: Self =
        Self { layer: Layer::BuiltIn, file: None, line: None, preset: None, failing_closed: false };
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.failing_closed {
            return f.write_str("tightened because the configuration has problems");
        }
        f.write_str(self.layer.name())?;
        if let Some(file) = &self.file {
            write!(f, ", {}", visible(&file.to_string_lossy()))?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
        }
        match self.preset {
            Some(preset) => write!(f, ", preset {}", Key::Preset.entry().show(place(preset))),
            None => Ok(()),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    pub key: Key,
    /// The value in the syntax of a file; for a list, one entry.
    pub value: String,
    pub source: ValueSource,
    /// Whether the machine's file locks it.
    pub locked: bool,
}

/// The merged layers.
#[derive(Clone, Debug)]
pub struct MergedConfig {
    pub policy: Policy,
    /// The origins of single values, by key.
    sources: Vec<ValueSource>,
    /// The origins of entries of lists that are not built in.
    entries: Vec<(Key, String, ValueSource)>,
    locked: Vec<bool>,
}

impl MergedConfig {
    /// Creates it with the built-in policy.
    #[must_use]
    pub fn built_in() -> Self {
        Self {
            policy: Policy::default(),
            sources: vec![ValueSource::BUILT_IN; KEYS.len()],
            entries: Vec::new(),
            locked: vec![false; KEYS.len()],
        }
    }

    /// Reports whether the machine's file locks this key.
    #[must_use]
    pub fn is_locked(&self, key: Key) -> bool {
        self.locked.get(key as usize).copied().unwrap_or(true)
    }

    /// Merges a file.
    pub fn apply(&mut self, document: &Document, problems: &mut Vec<ConfigProblem>) {
        let bound =
            |joined: &Self, key: Key| !document.layer.may_loosen() || joined.is_locked(key) || key.only_tightens();
        // The preset is first, so that other keys override it; yolo precedes the thresholds that require it.
        let order = |entry: &&SetKey| match entry.key {
            Key::Preset => 0,
            Key::Yolo => 1,
            _ => 2,
        };
        let mut entries: Vec<_> = document.entries.iter().collect();
        sort_by_key(&mut entries, order);
        for entry in entries {
            let bound = bound(self, entry.key);
            match &entry.value {
                SetValue::Number(value) if entry.key == Key::Preset => {
                    self.apply_preset(document, entry, *value, bound, problems);
                }
                SetValue::Number(value) => self.apply_number(document, entry, *value, bound, problems),
                SetValue::List(words) if entry.key.entry().kind == ConfigType::Argv => {
                    self.apply_argv(document, entry, words, bound, problems);
                }
                SetValue::List(words) => self.apply_list(document, entry, words, bound, problems),
            }
        }
        for key in &document.locked {
            if let Some(lock) = self.locked.get_mut(*key as usize) {
                *lock = true;
            }
        }
    }

    fn source(document: &Document, line: u32) -> ValueSource {
        ValueSource {
            layer: document.layer,
            file: Some(document.file.clone()),
            line: Some(line),
            ..ValueSource::BUILT_IN
        }
    }

    fn set(&mut self, key: Key, value: i64, source: ValueSource) {
        key.set(&mut self.policy, value);
        if let Some(place) = self.sources.get_mut(key as usize) {
            *place = source;
        }
    }

    fn apply_number(
        &mut self,
        document: &Document,
        entry: &SetKey,
        value: i64,
        bound: bool,
        problems: &mut Vec<ConfigProblem>,
    ) {
        let row = entry.key.entry();
        let now = entry.key.get(&self.policy).unwrap_or_default();
        if bound && row.loosens(now, value) {
            problems.push(self.loosening(document, entry, &row.show(value), &row.show(now)));
            return;
        }
        if is_threshold(entry.key) && value > i64::from(FREE_THRESHOLD) && !self.policy.yolo {
            problems.push(
                document
                    .problem(entry.line, row.name, format!("{} is above 3.0", row.show(value)))
                    .with_remedy("lower it, or set `yolo = true` if that is intended"),
            );
            return;
        }
        self.set(entry.key, value, Self::source(document, entry.line));
        if entry.key == Key::Yolo && value == 0 {
            self.take_back_yolo(document, entry.line);
        }
    }

    /// Lowers thresholds above 3.0 if a layer disables yolo.
    fn take_back_yolo(&mut self, document: &Document, line: u32) {
        for row in KEYS.iter().filter(|row| is_threshold(row.key)) {
            if row.key.get(&self.policy).is_some_and(|value| value > i64::from(FREE_THRESHOLD)) {
                self.set(row.key, FREE_THRESHOLD.into(), Self::source(document, line));
            }
        }
    }

    fn apply_preset(
        &mut self,
        document: &Document,
        entry: &SetKey,
        place: i64,
        bound: bool,
        problems: &mut Vec<ConfigProblem>,
    ) {
        let row = Key::Preset.entry();
        let now = Key::Preset.get(&self.policy).unwrap_or_default();
        if bound && row.loosens(now, place) {
            problems.push(self.loosening(document, entry, &row.show(place), &row.show(now)));
            return;
        }
        self.set(Key::Preset, place, Self::source(document, entry.line));
        for (key, values) in PRESETS {
            let Some(value) = usize::try_from(place).ok().and_then(|at| values.get(at)).copied() else { continue };
            let now = key.get(&self.policy).unwrap_or(value);
            let only_tighten = !document.layer.may_loosen() || self.is_locked(*key);
            if !only_tighten || key.entry().loosens(value, now) {
                let source = ValueSource { preset: Some(preset(place)), ..Self::source(document, entry.line) };
                self.set(*key, value, source);
            }
        }
    }

    /// Replaces a program and its arguments.
    fn apply_argv(
        &mut self,
        document: &Document,
        entry: &SetKey,
        words: &[(String, u32)],
        bound: bool,
        problems: &mut Vec<ConfigProblem>,
    ) {
        if bound {
            let why = self.why_bound(document, entry.key);
            let problem = document.problem(entry.line, entry.key.entry().name, why);
            problems.push(problem.with_remedy("remove the line"));
            return;
        }
        let Some(list) = entry.key.list_mut(&mut self.policy) else { return };
        list.clear();
        list.extend(words.iter().map(|(word, _)| word.clone()));
        self.entries.retain(|(key, ..)| *key != entry.key);
        for (word, line) in words {
            self.entries.push((entry.key, word.clone(), Self::source(document, *line)));
        }
    }

    fn apply_list(
        &mut self,
        document: &Document,
        entry: &SetKey,
        words: &[(String, u32)],
        bound: bool,
        problems: &mut Vec<ConfigProblem>,
    ) {
        let row = entry.key.entry();
        // A layer that can only make values stricter cannot add programs that are notified.
        let may_add = !bound || (row.stricter == StrictDirection::Higher && entry.key != Key::ExportTo);
        let may_take = !bound || row.stricter == StrictDirection::Lower;
        for (word, line) in words {
            let Some(list) = entry.key.list_mut(&mut self.policy) else { return };
            let (allowed, does) = match word.strip_prefix('!') {
                Some(_) => (may_take, "removes"),
                None => (may_add || list.contains(word), "adds"),
            };
            if !allowed {
                let why = self.why_bound(document, entry.key);
                let bare = word.strip_prefix('!').unwrap_or(word);
                problems.push(
                    document
                        .problem(*line, row.name, format!("{does} \"{bare}\", but {why}"))
                        .with_remedy("remove the entry"),
                );
                continue;
            }
            match word.strip_prefix('!') {
                Some("*") => {
                    list.clear();
                    self.entries.retain(|(key, ..)| *key != entry.key);
                }
                Some(taken) => {
                    list.retain(|word| word != taken);
                    self.entries.retain(|(key, word, _)| !(*key == entry.key && word == taken));
                }
                None if list.contains(word) => {}
                None => {
                    list.push(word.clone());
                    self.entries.push((entry.key, word.clone(), Self::source(document, *line)));
                }
            }
        }
    }

    /// Returns why a layer can only make this key stricter.
    fn why_bound(&self, document: &Document, key: Key) -> String {
        if self.is_locked(key) && document.layer != Layer::Machine {
            return "the machine's configuration locks it".to_owned();
        }
        match document.layer {
            Layer::Redirected => "HOME or XDG_CONFIG_HOME does not point to the account's own configuration, so what \
                                  is there can only tighten it"
                .to_owned(),
            layer => format!("a {} file can only tighten the policy", layer.name()),
        }
    }

    fn loosening(&self, document: &Document, entry: &SetKey, new: &str, now: &str) -> ConfigProblem {
        let why = self.why_bound(document, entry.key);
        let row = entry.key.entry();
        document
            .problem(entry.line, row.name, format!("{new} is less strict than {now}, and {why}"))
            .with_remedy("remove the line, or make it stricter")
    }

    /// Replaces the policy by the fail-closed one.
    pub fn fail_closed(&mut self) {
        let before = self.policy.clone();
        super::defaults::fail_closed(&mut self.policy);
        for (row, source) in KEYS.iter().zip(&mut self.sources) {
            if row.key.get(&before) != row.key.get(&self.policy) {
                *source = ValueSource { failing_closed: true, ..ValueSource::BUILT_IN };
            }
        }
    }

    /// Returns the origin of a single value.
    #[must_use]
    pub fn source_of(&self, key: Key) -> ValueSource {
        self.sources.get(key as usize).cloned().unwrap_or(ValueSource::BUILT_IN)
    }

    /// Returns the origin of an entry of a list.
    #[must_use]
    pub fn entry_source(&self, key: Key, word: &str) -> ValueSource {
        let set = self.entries.iter().find(|(set, entry, _)| *set == key && entry == word);
        set.map_or(ValueSource::BUILT_IN, |(.., source)| source.clone())
    }

    /// Returns every value with its origin, in the order of the table; a list has one row for each entry.
    #[must_use]
    pub fn sources(&self) -> Vec<Provenance> {
        let mut rows = Vec::new();
        for (row, source) in KEYS.iter().zip(&self.sources) {
            let locked = self.is_locked(row.key);
            if let Some(value) = row.key.get(&self.policy) {
                rows.push(Provenance { key: row.key, value: row.show(value), source: source.clone(), locked });
            }
            for word in row.key.list(&self.policy).into_iter().flatten() {
                let source = self.entry_source(row.key, word);
                rows.push(Provenance { key: row.key, value: word.clone(), source, locked });
            }
        }
        rows
    }
}

const fn is_threshold(key: Key) -> bool {
    use Key::{ThresholdAgent, ThresholdApi, ThresholdCli, ThresholdDiscord, ThresholdTelegram};
    matches!(key, ThresholdCli | ThresholdAgent | ThresholdApi | ThresholdDiscord | ThresholdTelegram)
}

/// A pattern file with its rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternFile {
    pub layer: Layer,
    pub path: PathBuf,
    /// Whether it can only add rules, and make them stricter.
    pub only_tightens: bool,
}
