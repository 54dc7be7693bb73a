//! Determines which paths a repository's own committed `.gitignore` files ignore.
//!
//! Only a committed and unchanged `.gitignore` counts: whoever runs the command could have written any other
//! (`.git/info/exclude`, `core.excludesFile`, a new `.gitignore`) for the purpose.

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

/// Maximum length of an ignore file.
const MAX_FILE: usize = 1024 * 1024;

/// Maximum depth of a path in its repository.
const MAX_DEPTH: usize = 256;

/// The ignore files of a repository that were already read.
#[derive(Debug, Default)]
pub struct IgnoreFiles {
    read: RefCell<HashMap<PathBuf, FactResult<Option<Rc<IgnoreFile>>>>>,
}

#[derive(Debug)]
struct IgnoreFile {
    patterns: List<Ignore>,
    /// Whether it is the same in HEAD and on disk.
    committed: bool,
}

/// Reports whether committed and unchanged ignore files ignore the path `relative` to the root of a work tree, and no
/// other ignore file negates that.
///
/// # Errors
///
/// An ignore file of a parent directory cannot be read, or the path is too deep.
pub fn is_ignored(repository: &Repository, relative: &Path, is_dir: bool) -> FactResult<bool> {
    let mut files: Vec<Rc<IgnoreFile>> = Vec::new();
    let mut by_committed = false;
    let prefixes = prefixes(relative)?;
    for (position, prefix) in prefixes.iter().enumerate() {
        files.extend(repository.ignore_files.of(repository, prefix.parent().unwrap_or(Path::new("")))?);
        let is_dir = is_dir || position + 1 < prefixes.len();
        by_committed |= verdict(files.iter().filter(|file| file.committed), prefix, is_dir);
        // git stops at an ignored directory: no pattern below can negate that.
        if verdict(files.iter(), prefix, is_dir) {
            return Ok(by_committed);
        }
    }
    Ok(false)
}

impl IgnoreFiles {
    /// Returns the ignore file in the directory `dir` of a work tree.
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

/// Returns the path and its parents: `a`, `a/b`, `a/b/c`.
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

/// Reads an ignore file. As in git, a symbolic link is not followed.
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

/// Reports whether the files ignore a path. The nearest file has precedence, and in it the last pattern that matches.
fn verdict<'a>(files: impl DoubleEndedIterator<Item = &'a Rc<IgnoreFile>>, path: &Path, is_dir: bool) -> bool {
    let path = path.as_os_str().as_bytes().as_bstr();
    let base = path.rfind_byte(b'/').map(|position| position + 1);
    let mut found = files
        .rev()
        .filter_map(|file| pattern_matching_relative_path(&file.patterns, path, base, Some(is_dir), Case::Sensitive));
    found.next().is_some_and(|found| !found.pattern.is_negative())
}
