//! Ignore files: which paths a repository's own committed `.gitignore` files ignore.
//!
//! Only a `.gitignore` that is committed and unchanged has a say: whoever runs the command could have written any
//! other (`.git/info/exclude`, `core.excludesFile`, a `.gitignore` of today) for the purpose.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gix::bstr::ByteSlice;
use gix::glob::pattern::Case;
use gix::glob::search::pattern::List;
use gix::ignore::search::{Ignore, pattern_matching_relative_path};

use super::facts;
use super::open::Repository;
use crate::world::paths::{self, Content};
use crate::world::{FactResult, UnknownFact};

/// The longest ignore file that is read.
const MAX_FILE: usize = 1024 * 1024;

/// How deep a path may lie in its repository.
const MAX_DEPTH: usize = 256;

/// The ignore files of one repository that were read already.
#[derive(Debug, Default)]
pub struct IgnoreFiles {
    read: RefCell<HashMap<PathBuf, FactResult<Option<Rc<IgnoreFile>>>>>,
}

#[derive(Debug)]
struct IgnoreFile {
    patterns: List<Ignore>,
    /// It is in HEAD as it is on disk.
    committed: bool,
}

/// Whether the path `relative` to the root of a work tree is ignored by committed, unchanged ignore files, and no
/// other ignore file takes that back.
///
/// # Errors
///
/// An ignore file on the way cannot be read, or the path is too deep.
pub fn is_ignored(repository: &Repository, relative: &Path, is_dir: bool) -> FactResult<bool> {
    let mut files: Vec<Rc<IgnoreFile>> = Vec::new();
    let mut by_committed = false;
    let prefixes = prefixes(relative)?;
    for (position, prefix) in prefixes.iter().enumerate() {
        files.extend(repository.ignore_files.of(repository, prefix.parent().unwrap_or(Path::new("")))?);
        let is_dir = is_dir || position + 1 < prefixes.len();
        by_committed |= verdict(files.iter().filter(|file| file.committed), prefix, is_dir);
        // git looks no further once a directory is ignored: nothing below can take that back.
        if verdict(files.iter(), prefix, is_dir) {
            return Ok(by_committed);
        }
    }
    Ok(false)
}

impl IgnoreFiles {
    /// The ignore file in the directory `dir` of a work tree.
    fn of(&self, repository: &Repository, dir: &Path) -> FactResult<Option<Rc<IgnoreFile>>> {
        if let Some(known) = self.read.borrow().get(dir) {
            return known.clone();
        }
        let file = read(repository, dir).map(|file| file.map(Rc::new));
        self.read.borrow_mut().insert(dir.to_owned(), file.clone());
        file
    }
}

fn read(repository: &Repository, dir: &Path) -> FactResult<Option<IgnoreFile>> {
    let root = repository.root.as_deref().ok_or(UnknownFact)?;
    let name = dir.join(".gitignore");
    let Some(bytes) = content(&root.join(&name))? else { return Ok(None) };
    let patterns = List::from_bytes(&bytes, root.join(&name), Some(root), Ignore::default())?;
    Ok(Some(IgnoreFile { patterns, committed: facts::is_clean(repository, &name)? }))
}

/// `a`, `a/b`, `a/b/c`.
fn prefixes(relative: &Path) -> FactResult<Vec<PathBuf>> {
    let mut prefixes = Vec::new();
    let mut prefix = PathBuf::new();
    for name in relative {
        prefix.push(name);
        prefixes.push(prefix.clone());
        if prefixes.len() > MAX_DEPTH {
            return Err(UnknownFact);
        }
    }
    Ok(prefixes)
}

/// The content of an ignore file. As git does, one that is a link is not followed.
fn content(path: &Path) -> FactResult<Option<Vec<u8>>> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.file_type().is_symlink() || metadata.is_dir() => return Ok(None),
        Ok(_) => {}
        Err(error) if paths::is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    match paths::read(path, MAX_FILE) {
        Content::Missing => Ok(None),
        Content::Bytes(bytes) => Ok(Some(bytes)),
        Content::TooLarge | Content::Unreadable => Err(UnknownFact),
    }
}

/// What the files say of one path, the nearest first: the last pattern that matches decides.
fn verdict<'a>(files: impl DoubleEndedIterator<Item = &'a Rc<IgnoreFile>>, path: &Path, is_dir: bool) -> bool {
    let path = path.as_os_str().as_bytes().as_bstr();
    let base = path.rfind_byte(b'/').map(|position| position + 1);
    let mut found = files
        .rev()
        .filter_map(|file| pattern_matching_relative_path(&file.patterns, path, base, Some(is_dir), Case::Sensitive));
    found.next().is_some_and(|found| !found.pattern.is_negative())
}
