//! Facts about one path in a repository: whether it is tracked, clean or ignored, and what a directory contains.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::Mode;

use super::open::Repository;
use crate::judge::analysis::question::GitFacts;
use crate::world::git::ignore;
use crate::world::paths;
use crate::world::{FactResult, UnknownFact};

/// Maximum size of a file whose bytes are compared with the repository's; a larger one does not count as clean.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Maximum number of entries of a directory tree that are searched for repositories.
const MAX_ENTRIES: usize = 5_000;

/// The same limit below an ignored directory: directories of dependencies and build output are large and deleted often,
/// and deleting them takes far longer than the search.
const MAX_IGNORED_ENTRIES: usize = 200_000;

/// A path in a question: its parents with symbolic links resolved, itself unresolved.
#[derive(Debug)]
pub struct Subject {
    path: PathBuf,
    /// The metadata of the path itself and not of a link's target; `None` if it does not exist.
    metadata: Option<Metadata>,
}

impl Subject {
    /// Resolves the parents of a path.
    ///
    /// # Errors
    ///
    /// A directory of the path may not be searched.
    pub fn new(path: &Path) -> FactResult<Self> {
        let path = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => paths::resolve(parent)?.canonical.join(name),
            _ => PathBuf::from("/"),
        };
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => Some(metadata),
            Err(error) if paths::is_absent(&error) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path, metadata })
    }

    fn is_dir(&self) -> bool {
        self.metadata.as_ref().is_some_and(Metadata::is_dir)
    }

    /// Returns the directory in which the search for the repository starts. A directory may itself be the root of one.
    #[must_use]
    pub fn start(&self) -> &Path {
        if self.is_dir() { &self.path } else { self.path.parent().unwrap_or(&self.path) }
    }

    /// Returns the facts of a path that is in no repository.
    ///
    /// # Errors
    ///
    /// Never; the signature is that of [`Subject::inside`].
    pub fn outside(&self) -> FactResult<GitFacts> {
        Ok(GitFacts { holds_repository: self.holds_repository(MAX_ENTRIES), ..GitFacts::default() })
    }

    /// Returns the facts of a path that is in `repository`.
    ///
    /// # Errors
    ///
    /// A part of the repository cannot be read.
    pub fn inside(&self, repository: &Repository) -> FactResult<GitFacts> {
        let root = repository.root.as_ref().unwrap_or(&repository.git_dir);
        let mut facts = GitFacts { root: Some(root.to_str().ok_or(UnknownFact)?.to_owned()), ..GitFacts::default() };
        let of_data = self.path.starts_with(&repository.git_dir) || self.path.starts_with(&repository.common_dir);
        let relative = repository.root.as_ref().and_then(|root| self.path.strip_prefix(root).ok());
        let Some(relative) = relative.filter(|_| !of_data) else {
            facts.holds_repository = of_data || self.holds_repository(MAX_ENTRIES);
            return Ok(facts);
        };
        let index = repository.index()?;
        let name: &BStr = relative.as_os_str().as_bytes().as_bstr();
        facts.tracked = !name.is_empty() && index.entry_range(name).is_some();
        facts.clean = facts.tracked && self.is_clean(repository, relative)?;
        facts.holds_tracked = holds_tracked(index, name);
        facts.ignored = !facts.tracked
            && !facts.holds_tracked
            && !name.is_empty()
            && ignore::is_ignored(repository, relative, self.is_dir())?;
        facts.holds_repository = self.holds_repository(if facts.ignored { MAX_IGNORED_ENTRIES } else { MAX_ENTRIES });
        Ok(facts)
    }

    /// Reports whether the file is in the index without a conflict, the same in HEAD, and the same on disk, in content,
    /// type and mode.
    fn is_clean(&self, repository: &Repository, relative: &Path) -> FactResult<bool> {
        let index = repository.index()?;
        let name = relative.as_os_str().as_bytes().as_bstr();
        let Some(entry) = index.entry_by_path_and_stage(name, gix::index::entry::Stage::Unconflicted) else {
            return Ok(false);
        };
        let (Some(metadata), Some(tree)) = (&self.metadata, repository.head_tree()?) else { return Ok(false) };
        let Some((mode, id)) = repository.objects()?.entry(tree, relative)? else { return Ok(false) };
        if id != entry.id || u32::from(mode.value()) != entry.mode.bits() || !repository.objects()?.has(id)? {
            return Ok(false);
        }
        if metadata.len() > MAX_FILE {
            return Ok(false);
        }
        is_as_in_index(&self.path, metadata, entry)
    }

    /// Reports whether this directory contains a repository or work tree. A directory that cannot be searched
    /// completely counts as containing one.
    fn holds_repository(&self, limit: usize) -> bool {
        self.is_dir() && !holds_none(&self.path, limit).unwrap_or(false)
    }
}

/// Reports whether the index contains a file below `name`. A sparse index may contain only a directory above it.
fn holds_tracked(index: &gix::index::State, name: &BStr) -> bool {
    if name.is_empty() {
        return !index.entries().is_empty();
    }
    let below = [name.as_bytes(), b"/"].concat();
    let first = index.entries().partition_point(|entry| entry.path(index) < below.as_bstr());
    let inside = index.entries().get(first).is_some_and(|entry| entry.path(index).starts_with(&below));
    inside
        || index.is_sparse()
            && index.entries().iter().any(|entry| entry.mode.is_sparse() && below.starts_with(entry.path(index)))
}

/// Reports whether the file at `path` has the type, the mode and the content of the index entry.
pub(super) fn is_as_in_index(path: &Path, metadata: &Metadata, entry: &gix::index::Entry) -> FactResult<bool> {
    let kind = metadata.file_type();
    let executable = metadata.permissions().mode() & 0o100 != 0;
    let hash = if entry.mode == Mode::SYMLINK && kind.is_symlink() {
        hash_link(path)?
    } else if kind.is_file() && entry.mode == (if executable { Mode::FILE_EXECUTABLE } else { Mode::FILE }) {
        hash_file(path)?
    } else {
        return Ok(false);
    };
    Ok(hash == entry.id)
}

/// Hashes a file as git stores it, without filters. The length is hashed first, so that a file that changes meanwhile
/// has another hash.
fn hash_file(path: &Path) -> FactResult<gix::ObjectId> {
    let mut file = paths::open(path)?;
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(&gix::objs::encode::loose_header(gix::objs::Kind::Blob, file.metadata()?.len()));
    let mut left = MAX_FILE + 1;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        left = left.checked_sub(count as u64).ok_or(UnknownFact)?;
        hasher.update(buffer.get(..count).ok_or(UnknownFact)?);
    }
    hasher.try_finalize().map_err(|_| UnknownFact)
}

fn hash_link(path: &Path) -> FactResult<gix::ObjectId> {
    let target = path.read_link()?;
    let bytes = target.as_os_str().as_bytes();
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes).map_err(|_| UnknownFact)
}

/// Searches a directory tree breadth-first, without following symbolic links. Returns `Ok(false)` if it contains a
/// repository or the limit is reached.
fn holds_none(top: &Path, limit: usize) -> FactResult<bool> {
    let mut todo = VecDeque::from([top.to_owned()]);
    let mut seen = 0;
    while let Some(dir) = todo.pop_front() {
        // A bare repository has no `.git`, but these three entries.
        let mut bare = [("HEAD", false), ("objects", false), ("refs", false)];
        for entry in dir.read_dir()? {
            let entry = entry?;
            seen += 1;
            let name = entry.file_name();
            if seen > limit || name == ".git" {
                return Ok(false);
            }
            bare.iter_mut().filter(|(part, _)| name == *part).for_each(|(_, found)| *found = true);
            if entry.file_type()?.is_dir() {
                todo.push_back(entry.path());
            }
        }
        if bare.iter().all(|(_, found)| *found) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reports whether a file of the repository is tracked and unchanged since HEAD.
///
/// # Errors
///
/// A part of the repository cannot be read.
pub fn is_clean(repository: &Repository, relative: &Path) -> FactResult<bool> {
    let Some(root) = &repository.root else { return Ok(false) };
    Subject::new(&root.join(relative))?.is_clean(repository, relative)
}
