//! The files that a command writes and the links that it creates, by path.
//!
//! Out of scope: existing files, about which the judge asks questions.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::act::{Taint, Value};
use super::place::Place;
use super::replacements::Replacement;
use super::streams::{Sink, SinkId};

/// Maximum number of contents, and of sources of copies, that are stored for a file.
const MAX_ALTERNATIVES: usize = 16;

/// The possible contents of a file that the command writes.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenFile {
    pub contents: Vec<SinkId>,
    /// The files of which it is a copy.
    pub copies: Vec<Place>,
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
    /// Whether the content of an existing file precedes it.
    pub older: bool,
    /// The changes of that content.
    pub replaced: Vec<Replacement>,
}

impl WrittenData {
    /// Creates it for the whole content of a file.
    pub fn of(place: Place, text: Value, taint: Taint, conditional: bool) -> Self {
        Self { place, text, taint, append: false, conditional, older: false, replaced: Vec::new() }
    }
}

/// The changes of files that later parts of the command can observe.
#[derive(Clone, Debug, Default)]
pub(super) struct FileModel {
    /// The files that the command writes, by path.
    pub written: BTreeMap<Place, WrittenFile>,
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

    /// Stores a change.
    pub fn apply(&mut self, sinks: &mut Vec<Sink>, change: FileUpdate) {
        match change {
            FileUpdate::Write(data) => {
                let sink = self.open(sinks, data.place, data.append, data.conditional);
                if let Some(sink) = sinks.get_mut(sink) {
                    sink.write(&data.text, data.taint, false);
                    sink.older |= data.older;
                    sink.replaced.extend(data.replaced);
                }
            }
            FileUpdate::Copy { source, target, conditional } => self.copy(source, target, conditional),
        }
    }

    /// Creates a sink for the data that is written to a file from now on. `conditional`: the write may not happen, so
    /// that the previous contents remain possible.
    #[inline(never)]
    pub fn open(&mut self, sinks: &mut Vec<Sink>, place: Place, append: bool, conditional: bool) -> SinkId {
        let old = self.written.get(&place).and_then(|written| written.contents.last());
        let mut new = Sink::default();
        if append {
            match old.and_then(|old| sinks.get(*old)) {
                Some(old) => {
                    new.write(&old.text, old.taint, old.decoded);
                    new.older = old.older;
                    new.replaced.clone_from(&old.replaced);
                }
                // The previous content of an existing file is not read.
                None => new.older = true,
            }
        }
        sinks.push(new);
        let sink = sinks.len() - 1;
        let written = self.entry(place, conditional);
        if written.contents.len() < MAX_ALTERNATIVES {
            written.contents.push(sink);
        }
        sink
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
        let written = self.written.entry(place).or_default();
        if !conditional {
            written.contents.clear();
            written.copies.clear();
        }
        written
    }
}

#[cfg(test)]
mod tests;
