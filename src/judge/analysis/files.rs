//! The files that a command writes and the links that it creates, by path.
//!
//! Out of scope: existing files, about which the judge asks questions.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use super::act::{Taint, Value};
use super::place::Place;
use super::progress::edited_file;
use super::replacements::TextChange;
use super::streams::{Sink, SinkId};

/// Maximum number of contents, and of sources of copies, that are stored for a file.
const MAX_ALTERNATIVES: usize = 16;

/// Returns the maximum length that changes may give to a text of this length, in bytes. A longer text is not followed.
fn most_after_changes(before: usize) -> usize {
    before.saturating_mul(4).saturating_add(64 << 10)
}

/// Maximum number of texts of a file that several changes leave.
const MAX_STAGES: usize = 8;

/// The possible contents of a file that the command writes.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenFile {
    pub contents: Vec<SinkId>,
    /// The files of which it is a copy.
    pub copies: Vec<Place>,
    /// Whether it may also have the content that it had before the command.
    pub untouched: bool,
}

impl WrittenFile {
    /// Reports whether it has exactly one possible content, which the command wrote.
    pub fn is_one(&self) -> bool {
        self.contents.len() == 1 && self.copies.is_empty() && !self.untouched
    }
}

/// The content of a file that existed before the command.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExistingText {
    pub place: Place,
    /// What the command changed in it.
    pub changes: Vec<TextChange>,
}

impl ExistingText {
    /// Creates it for a file that is as it was.
    pub fn of(place: Place) -> Self {
        Self { place, changes: Vec::new() }
    }

    /// Returns the text that the file may have, of its text before: lines that are perhaps changed stand beside the old
    /// ones. `None` if the changes cannot be followed.
    pub fn changed<'t>(&self, text: Cow<'t, str>) -> Option<Cow<'t, str>> {
        let most = most_after_changes(text.len());
        self.changes.iter().try_fold(text, |text, change| {
            let changed = change.beside(&text)?;
            (changed.len() <= most).then_some(changed.into())
        })
    }

    /// Returns texts that the file may have, of its text before: with and without the uncertain changes. `None`
    /// if the changes cannot be followed.
    pub fn stages(&self, text: &str) -> Option<Vec<String>> {
        let most = most_after_changes(text.len());
        let mut all = vec![text.to_owned()];
        for change in &self.changes {
            let changed = change.applied(all.last()?).filter(|changed| changed.len() <= most)?;
            if !change.is_uncertain() {
                all.pop();
            }
            if !all.contains(&changed) {
                all.push(changed);
            }
            if all.len() > MAX_STAGES {
                return None;
            }
        }
        Some(all)
    }
}

/// A change of a file that later parts of the command can observe.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FileUpdate {
    /// Data is written to it.
    Write(WrittenData),
    /// It becomes a copy of a file that the command did not write.
    Copy {
        source: Place,
        target: Place,
        /// Whether the previous contents remain possible.
        conditional: bool,
    },
}

/// Data that is written to a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WrittenData {
    pub place: Place,
    pub text: Value,
    pub taint: Taint,
    pub append: bool,
    /// Whether the previous contents remain possible.
    pub conditional: bool,
    /// The changes of the previous content, instead of a text.
    pub edits: Option<Vec<TextChange>>,
}

impl WrittenData {
    /// Creates it for the whole content of a file.
    pub fn of(place: Place, text: Value, taint: Taint, conditional: bool) -> Self {
        Self { place, text, taint, append: false, conditional, edits: None }
    }
}

/// The changes of files that later parts of the command can observe.
#[derive(Clone, Debug, Default)]
pub(super) struct FileModel {
    /// The files that the command writes, by path.
    pub written: BTreeMap<Place, WrittenFile>,
    /// The places in it that stand for several files.
    pub several: Vec<Place>,
    /// The links that the command creates, by path, with their targets.
    pub links: BTreeMap<Place, Place>,
    /// The number of acts that were searched for one that builds a project and so creates any files, and the act that was
    /// found.
    pub builder: Cell<(usize, Option<usize>)>,
}

impl FileModel {
    /// Reports whether the command wrote a file or created a link at this path.
    pub fn holds(&self, place: &Place) -> bool {
        self.written.contains_key(place) || self.links.contains_key(place)
    }

    /// Returns the content of a file that existed before the command, with what the command may have changed in it as in
    /// one of several files.
    pub fn existing(&self, sinks: &[Sink], place: Place) -> ExistingText {
        let mut changes = Vec::new();
        for several in self.several.iter().filter(|several| several.covers(&place)) {
            let written = self.written.get(several).and_then(|written| sinks.get(*written.contents.last()?));
            let Some(sink) = written else { continue };
            changes.extend(sink.base.iter().flat_map(|base| &base.changes).map(TextChange::perhaps));
            let text = sink.text.known().filter(|text| !text.is_empty());
            changes.extend(text.map(|text| TextChange::Line(text.into_owned())));
        }
        ExistingText { place, changes }
    }

    /// Stores a change.
    pub fn apply(&mut self, sinks: &mut Vec<Sink>, change: FileUpdate) {
        match change {
            FileUpdate::Write(data) => {
                let continues = data.append || data.edits.is_some();
                let conditional = data.conditional || data.edits.iter().flatten().any(TextChange::is_uncertain);
                let sink = self.open(sinks, data.place, continues, conditional);
                match (sinks.get_mut(sink), data.edits) {
                    (Some(sink), Some(edits)) => sink.edit(&edits, data.taint),
                    (Some(sink), None) => sink.write(&data.text, data.taint, false),
                    (None, _) => {}
                }
            }
            FileUpdate::Copy { source, target, conditional } => self.copy(source, target, conditional),
        }
    }

    /// Creates a sink for the data that is written to a file from now on. `continues`: the previous content stays before
    /// it. `conditional`: the write may not happen, so that the previous contents remain possible.
    #[inline(never)]
    pub fn open(&mut self, sinks: &mut Vec<Sink>, place: Place, continues: bool, conditional: bool) -> SinkId {
        let (new, several) = if continues { self.last(sinks, &place) } else { (Sink::default(), false) };
        sinks.push(new);
        let sink = sinks.len() - 1;
        // Of several contents, the last one is continued, and the others remain.
        let written = self.entry(place, conditional || several);
        if written.contents.len() < MAX_ALTERNATIVES {
            written.contents.push(sink);
        }
        sink
    }

    /// Returns a copy of the last content of a file, and whether there are others.
    fn last(&self, sinks: &[Sink], place: &Place) -> (Sink, bool) {
        let Some(written) = self.written.get(place) else {
            return (Sink::behind(self.existing(sinks, place.clone())), false);
        };
        let count = written.contents.len() + written.copies.len() + usize::from(written.untouched);
        let last = written.contents.last().and_then(|last| sinks.get(*last));
        let new = last.map_or_else(
            || Sink::behind(self.existing(sinks, written.copies.first().unwrap_or(place).clone())),
            |last| {
                // The output of an editor is the existing file that it read, with the changes.
                let edited = edited_file(&last.text);
                let (base, text) = edited.map_or((last.base.clone(), None), |(base, text)| (Some(base), Some(text)));
                let mut new = Sink::default();
                new.base = base;
                new.write(text.as_ref().unwrap_or(&last.text), last.taint, last.decoded);
                new
            },
        );
        (new, count > 1)
    }

    /// Stores that a file is a copy of one that the command did not write.
    pub fn copy(&mut self, source: Place, target: Place, conditional: bool) {
        // A copy of a copy is a copy of the original.
        let first = self.written.get(&source).map(|written| written.copies.clone()).filter(|copies| !copies.is_empty());
        let written = self.entry(target, conditional);
        for path in first.unwrap_or_else(|| vec![source]) {
            if written.copies.len() < MAX_ALTERNATIVES && !written.copies.contains(&path) {
                written.copies.push(path);
            }
        }
    }

    /// Returns the entry of a file that is being written.
    fn entry(&mut self, place: Place, conditional: bool) -> &mut WrittenFile {
        if place.is_several() && !self.written.contains_key(&place) {
            self.several.push(place.clone());
        }
        let new = || WrittenFile { untouched: true, ..WrittenFile::default() };
        let written = self.written.entry(place).or_insert_with(new);
        if !conditional {
            *written = WrittenFile::default();
        }
        written
    }
}

#[cfg(test)]
mod tests;
