//! The state of files against index and HEAD, told quickly: the times that no program sets settle it for most. For what a
//! person is shown, and for whether anything but a session's own edits would be taken back.

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

/// The largest file whose bytes are compared, where times and size do not settle it.
const MAX_HASHED: u64 = 4 * 1024 * 1024;

/// The most entries of an index that are gone through.
const MAX_ENTRIES: usize = 20_000;

/// The most changed files that are told.
const MAX_CHANGED: usize = 64;

/// How a file stands to its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// As in HEAD.
    Committed,
    /// Tracked, with something that is in no commit: edited, staged, in conflict.
    Changed,
    /// Neither tracked nor ignored.
    Untracked,
    Ignored,
}

/// Tells states, and keeps the trees of HEAD that it read for that.
#[derive(Debug)]
pub struct Status {
    pub repository: Rc<Repository>,
    trees: RefCell<HashMap<PathBuf, Option<Rc<Entries>>>>,
}

impl Status {
    /// Of the files of one repository.
    #[must_use]
    pub fn new(repository: Rc<Repository>) -> Self {
        Self { repository, trees: RefCell::default() }
    }

    /// The state of the file at `relative` in the work tree. A tracked file that is gone from disk counts as changed
    /// only by its index entry: there is nothing on disk to lose.
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

    /// The tracked files on the disk that are not as in HEAD: absolute paths, all of them or none.
    ///
    /// # Errors
    ///
    /// As [`Status::of`]; or there are too many, or one that git is told not to look at.
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

    /// Whether the file on disk is another than the one in the index: by its times and size, and where these differ
    /// by its bytes.
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

    /// The mode and object of a path in HEAD.
    fn head(&self, relative: &Path) -> FactResult<Option<(u32, ObjectId)>> {
        let dir = relative.parent().unwrap_or(Path::new(""));
        let name = relative.file_name().ok_or(UnknownFact)?;
        let Some(tree) = self.tree(dir)? else { return Ok(None) };
        Ok(tree.get(name).map(|(mode, id)| (u32::from(EntryMode::value(*mode)), *id)))
    }

    /// The tree of a directory in HEAD.
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
