//! Paths: what is there, and where its symbolic links lead.
//!
//! Out of scope: opening a file other than for bounded reading of a regular one.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use super::{FactResult, UnknownFact};
use crate::judge::analysis::question::{PathFacts, PathKind};

/// The longest path that is looked at, in bytes (the kernel's `PATH_MAX`).
pub const MAX_PATH: usize = 4096;

/// How many symbolic links are followed for one path, as the kernel does.
const MAX_LINKS: usize = 40;

/// How many components are looked at for one path, links included.
const MAX_COMPONENTS: usize = 4096;

/// Where a path leads.
#[derive(Debug)]
pub(super) struct Resolved {
    /// Without symbolic links; what does not exist is appended as written.
    pub canonical: PathBuf,
    /// Of the end of it; `None` when it does not exist.
    pub metadata: Option<Metadata>,
}

/// What is at `path`.
///
/// A symbolic link is described by what it leads to; one that leads nowhere is [`PathKind::Other`], since the link
/// itself is there.
///
/// # Errors
///
/// A directory on the way may not be searched, the links go in circles, or the result is no UTF-8.
pub fn facts(path: &Path) -> FactResult<PathFacts> {
    let symlink = match path.symlink_metadata() {
        Ok(metadata) => metadata.file_type().is_symlink(),
        Err(error) if is_absent(&error) => false,
        Err(error) => return Err(error.into()),
    };
    let resolved = resolve(path)?;
    let kind = match &resolved.metadata {
        None if symlink => PathKind::Other,
        None => PathKind::Missing,
        Some(metadata) => kind(metadata),
    };
    let bytes = resolved.metadata.as_ref().filter(|metadata| metadata.is_file()).map_or(0, Metadata::len);
    let canonical = resolved.canonical.into_os_string().into_string().map_err(|_| UnknownFact)?;
    Ok(PathFacts { kind, canonical, symlink, bytes })
}

fn kind(metadata: &Metadata) -> PathKind {
    let kind = metadata.file_type();
    if kind.is_file() {
        PathKind::File
    } else if kind.is_dir() {
        PathKind::Directory
    } else if kind.is_block_device() || kind.is_char_device() {
        PathKind::Device
    } else {
        PathKind::Other
    }
}

/// Nothing is there: no entry of that name, or what should be a directory on the way is a file.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Follows every symbolic link of an absolute path. What does not exist is kept as written, so that a name below a
/// linked directory is known before it is made.
pub(super) fn resolve(path: &Path) -> FactResult<Resolved> {
    let mut canonical = PathBuf::from("/");
    let mut metadata = None;
    let mut missing = false;
    let mut links = 0;
    let mut looked_at = 0;
    let mut todo: Vec<OsString> = Vec::new();
    push_components(&mut todo, path);
    while let Some(name) = todo.pop() {
        looked_at += 1;
        if looked_at > MAX_COMPONENTS {
            return Err(UnknownFact);
        }
        if name == ".." {
            canonical.pop();
            metadata = None;
            continue;
        }
        canonical.push(name);
        if missing {
            continue;
        }
        match canonical.symlink_metadata() {
            Ok(found) if found.file_type().is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(UnknownFact);
                }
                let target = canonical.read_link()?;
                canonical.pop();
                if target.is_absolute() {
                    canonical = PathBuf::from("/");
                }
                push_components(&mut todo, &target);
                metadata = None;
            }
            Ok(found) => metadata = Some(found),
            Err(error) if is_absent(&error) => {
                missing = true;
                metadata = None;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if metadata.is_none() && !missing {
        metadata = Some(canonical.symlink_metadata()?);
    }
    Ok(Resolved { canonical, metadata })
}

/// Puts the components of `path` on the stack, the first on top.
fn push_components(stack: &mut Vec<OsString>, path: &Path) {
    stack.extend(path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }));
}

/// What reading a file gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Missing,
    Bytes(Vec<u8>),
    /// Longer than asked for.
    TooLarge,
    /// No regular file, or no permission.
    Unreadable,
}

/// The content of a regular file of at most `limit` bytes, symbolic links followed.
///
/// A FIFO or device is never opened; should one take the file's place in between, opening it does not wait.
pub(super) fn read(path: &Path, limit: usize) -> Content {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Content::Missing,
        Err(_) => return Content::Unreadable,
    };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let expected = usize::try_from(length).unwrap_or(usize::MAX).min(limit);
    let mut bytes = Vec::with_capacity(expected.saturating_add(1));
    match file.take(limit as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() > limit => Content::TooLarge,
        Ok(_) => Content::Bytes(bytes),
        Err(_) => Content::Unreadable,
    }
}

/// Opens a regular file for reading; anything else is an error, without waiting for it.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    let irregular = || std::io::Error::other("not a regular file");
    if !std::fs::metadata(path)?.is_file() {
        return Err(irregular());
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// A directory as the hook and the shell both name it, whatever links lead to it.
#[must_use]
pub fn physical(directory: &Path) -> PathBuf {
    std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned())
}

/// The same, of a directory that must be there, as a text.
#[must_use]
pub fn real(directory: &str) -> Option<String> {
    std::fs::canonicalize(directory).ok()?.into_os_string().into_string().ok()
}

/// Device and inode of a directory: another one may have taken its name. `None` where there is none.
#[must_use]
pub fn directory_identity(directory: &Path) -> Option<(u64, u64)> {
    let facts = std::fs::metadata(directory).ok()?;
    Some((facts.dev(), facts.ino()))
}
