//! Ignore files: which paths a repository's own committed `.gitignore` files ignore.
//!
//! Only a `.gitignore` that is committed and unchanged has a say: whoever runs the command could have written any
//! other (`.git/info/exclude`, `core.excludesFile`, a `.gitignore` of today) for the purpose.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::ignore::search::Ignore;

use super::git::facts;
use super::git::open::Repository;
use super::paths::{self, Content};
use super::{Known, Unanswered};

/// The longest ignore file that is read.
const MAX_FILE: usize = 1024 * 1024;

/// How deep a path may lie in its repository.
const MAX_DEPTH: usize = 256;

/// Whether the path `relative` to the root of a work tree is ignored by committed, unchanged ignore files, and no
/// other ignore file takes that back.
///
/// # Errors
///
/// An ignore file on the way cannot be read, or the path is too deep.
pub fn is_ignored(repository: &Repository, relative: &Path, is_dir: bool) -> Known<bool> {
    let root = repository.root.as_deref().ok_or(Unanswered)?;
    let prefixes = prefixes(relative)?;
    let mut committed = gix::ignore::Search::default();
    let mut present = gix::ignore::Search::default();
    let mut by_committed = false;
    for (position, prefix) in prefixes.iter().enumerate() {
        let parent = prefix.parent().unwrap_or(Path::new(""));
        if let Some((name, bytes)) = ignore_file(root, parent)? {
            let source = root.join(&name);
            let add = |search: &mut gix::ignore::Search| {
                search.add_patterns_buffer(&bytes, &source, Some(root), Ignore::default()).map_err(Unanswered::from)
            };
            add(&mut present)?;
            if facts::is_clean(repository, &name)? {
                add(&mut committed)?;
            }
        }
        let last = position + 1 == prefixes.len();
        by_committed |= verdict(&committed, prefix, is_dir || !last);
        // git looks no further once a directory is ignored: nothing below can take that back.
        if verdict(&present, prefix, is_dir || !last) {
            return Ok(by_committed);
        }
    }
    Ok(false)
}

/// `a`, `a/b`, `a/b/c`.
fn prefixes(relative: &Path) -> Known<Vec<PathBuf>> {
    let mut prefixes = Vec::new();
    let mut prefix = PathBuf::new();
    for name in relative {
        prefix.push(name);
        prefixes.push(prefix.clone());
        if prefixes.len() > MAX_DEPTH {
            return Err(Unanswered);
        }
    }
    Ok(prefixes)
}

/// The ignore file of a directory, by its path in the work tree. As git does, one that is a link is not followed.
fn ignore_file(root: &Path, dir: &Path) -> Known<Option<(PathBuf, Vec<u8>)>> {
    let name = dir.join(".gitignore");
    let path = root.join(&name);
    match path.symlink_metadata() {
        Ok(metadata) if metadata.file_type().is_symlink() || metadata.is_dir() => return Ok(None),
        Ok(_) => {}
        Err(error) if paths::is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    match paths::read(&path, MAX_FILE) {
        Content::Missing => Ok(None),
        Content::Bytes(bytes) => Ok(Some((name, bytes))),
        Content::TooLarge | Content::Unreadable => Err(Unanswered),
    }
}

fn verdict(search: &gix::ignore::Search, path: &Path, is_dir: bool) -> bool {
    let path = path.as_os_str().as_bytes().as_bstr();
    search
        .pattern_matching_relative_path(path, Some(is_dir), gix::glob::pattern::Case::Sensitive)
        .is_some_and(|found| !found.pattern.is_negative())
}
