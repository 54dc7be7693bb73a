//! The state of files with respect to the index and HEAD. It is determined quickly, mostly from timestamps that no
//! program can set. It is shown to a person, and determines whether reverting changes would affect anything but a
//! session's own edits.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::index::entry::{Flags, Stage, Stat};
use gix::objs::tree::EntryMode;

use super::facts;
use super::objects::Entries;
use super::open::Repository;
use crate::world::git::ignore;
use crate::world::{FactResult, UnknownFact};

/// Maximum size of a file whose bytes are compared if its timestamps and size are not sufficient.
const MAX_HASHED: u64 = 4 * 1024 * 1024;

/// Maximum number of entries of an index that are examined.
const MAX_ENTRIES: usize = 20_000;

/// Maximum number of changed files that are returned.
const MAX_CHANGED: usize = 64;

/// The state of a file in its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The file is the same as in HEAD.
    Committed,
    /// The file is tracked and has changes that are in no commit: edited, staged or in conflict.
    Changed,
    /// The file is neither tracked nor ignored.
    Untracked,
    Ignored,
}

/// A source of file states, with a cache of the trees of HEAD that it read.
#[derive(Debug)]
pub struct Status {
    pub repository: Rc<Repository>,
    trees: RefCell<HashMap<PathBuf, Option<Rc<Entries>>>>,
}

impl Status {
    /// Creates the source for one repository.
    #[must_use]
    pub fn new(repository: Rc<Repository>) -> Self {
        Self { repository, trees: RefCell::default() }
    }

    /// Returns the state of the file at `relative` in the work tree. A tracked file that does not exist on disk is
    /// changed only if its index entry is, because there is nothing on disk to lose.
    ///
    /// # Errors
    ///
    /// A part of the repository cannot be read.
    pub fn of(&self, relative: &Path) -> FactResult<FileState> {
        let index = self.repository.index()?;
        let name = relative.as_os_str().as_bytes().as_bstr();
        if let Some(entry) = index.entry_by_path_and_stage(name, Stage::Unconflicted) {
            let staged = self.head(relative)? != Some((entry.mode.bits(), entry.id));
            let changed = staged || self.is_edited(index, entry, relative)?;
            return Ok(if changed { FileState::Changed } else { FileState::Committed });
        }
        if index.entry_range(name).is_some() {
            return Ok(FileState::Changed);
        }
        let ignored = ignore::is_ignored(&self.repository, relative, false)?;
        Ok(if ignored { FileState::Ignored } else { FileState::Untracked })
    }

    /// Returns the tracked files on disk that differ from HEAD, as absolute paths.
    ///
    /// # Errors
    ///
    /// As for [`Status::of`]; or there are too many, or git is configured to ignore changes of one.
    pub fn changed(&self) -> FactResult<Vec<String>> {
        let root = self.repository.root.as_ref().ok_or(UnknownFact)?;
        let index = self.repository.index()?;
        if index.entries().len() > MAX_ENTRIES {
            return Err(UnknownFact);
        }
        let mut changed: Vec<String> = Vec::new();
        for entry in index.entries() {
            let relative = Path::new(OsStr::from_bytes(entry.path(index)));
            let is_hidden = entry.flags.intersects(Flags::ASSUME_VALID | Flags::SKIP_WORKTREE);
            if is_hidden || self.of(relative)? == FileState::Changed && root.join(relative).symlink_metadata().is_ok() {
                if is_hidden || changed.len() >= MAX_CHANGED {
                    return Err(UnknownFact);
                }
                changed.push(root.join(relative).to_str().ok_or(UnknownFact)?.to_owned());
            }
        }
        Ok(changed)
    }

    /// Reports whether the file on disk differs from the index: by its timestamps and size, and if these differ by its
    /// bytes.
    fn is_edited(&self, index: &gix::index::State, entry: &gix::index::Entry, relative: &Path) -> FactResult<bool> {
        let path = self.repository.root.as_ref().ok_or(UnknownFact)?.join(relative);
        let Ok(metadata) = gix::index::fs::Metadata::from_path_no_follow(&path) else { return Ok(false) };
        if entry.mode.is_submodule() && metadata.is_dir() {
            return Ok(false);
        }
        let options = gix::index::entry::stat::Options::default();
        let stat = Stat::from_fs(&metadata).map_err(|_| UnknownFact)?;
        if entry.stat.matches(&stat, options) && !entry.stat.is_racy(index.timestamp(), options) {
            return Ok(false);
        }
        if metadata.len() > MAX_HASHED {
            return Ok(true);
        }
        facts::is_as_in_index(&path, &path.symlink_metadata()?, entry).map(|same| !same)
    }

    /// Returns the mode and object of a path in HEAD.
    fn head(&self, relative: &Path) -> FactResult<Option<(u32, ObjectId)>> {
        let dir = relative.parent().unwrap_or(Path::new(""));
        let name = relative.file_name().ok_or(UnknownFact)?;
        let Some(tree) = self.tree(dir)? else { return Ok(None) };
        Ok(tree.get(name).map(|(mode, id)| (u32::from(EntryMode::value(*mode)), *id)))
    }

    /// Returns the tree of a directory in HEAD.
    fn tree(&self, dir: &Path) -> FactResult<Option<Rc<Entries>>> {
        if let Some(known) = self.trees.borrow().get(dir) {
            return Ok(known.clone());
        }
        let id = match (dir.parent(), dir.file_name()) {
            (Some(parent), Some(name)) => {
                let parent = self.tree(parent)?;
                parent.and_then(|tree| tree.get(name).filter(|(mode, _)| mode.is_tree()).map(|(_, id)| *id))
            }
            _ => self.repository.head_tree()?,
        };
        let tree = id.map(|id| self.repository.objects()?.tree(id)).transpose()?.map(Rc::new);
        self.trees.borrow_mut().insert(dir.to_owned(), tree.clone());
        Ok(tree)
    }
}
