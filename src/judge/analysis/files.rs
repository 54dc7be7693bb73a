//! The files that a line writes and the links that it makes, by path.
//!
//! Out of scope: what lies in the world, which answers say.

use std::collections::BTreeMap;

use super::place::Place;
use super::streams::{Sink, SinkId};

/// The most contents, and the most origins, that are kept for a file.
const MAX_ALTERNATIVES: usize = 16;

/// What is known of a file that the line writes: what it may hold.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenFile {
    pub contents: Vec<SinkId>,
    /// Files that it is a copy of.
    pub copies: Vec<Place>,
}

/// What the line changed among files, as far as later commands can tell.
#[derive(Clone, Debug, Default)]
pub(super) struct FileModel {
    /// Files that the line writes, by path.
    pub written: BTreeMap<Place, WrittenFile>,
    /// Links that the line makes, by path, with the path that each leads to.
    pub links: BTreeMap<Place, Place>,
}

impl FileModel {
    /// Whether the line wrote a file or made a link by this path.
    pub fn holds(&self, place: &Place) -> bool {
        self.written.contains_key(place) || self.links.contains_key(place)
    }

    /// A new place for what is written to a file from here on. `conditional`: it may not be written, and then holds what
    /// it held.
    #[inline(never)]
    pub fn open(&mut self, sinks: &mut Vec<Sink>, place: Place, append: bool, conditional: bool) -> SinkId {
        let old = self.written.get(&place).and_then(|written| written.contents.last());
        let mut new = Sink::default();
        if append {
            match old.and_then(|old| sinks.get(*old)) {
                Some(old) => new.write(&old.text, old.taint, old.decoded),
                // What the file held before is not looked at.
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

    /// Remembers that a file is a copy of one that the line did not write.
    pub fn copy(&mut self, source: Place, target: Place, conditional: bool) {
        // A copy of a copy is one of what that is a copy of.
        let first = self.written.get(&source).map(|written| written.copies.clone()).filter(|copies| !copies.is_empty());
        let written = self.entry(target, conditional);
        for path in first.unwrap_or_else(|| vec![source]) {
            if written.copies.len() < MAX_ALTERNATIVES && !written.copies.contains(&path) {
                written.copies.push(path);
            }
        }
    }

    /// What is known of a file that is written now.
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
