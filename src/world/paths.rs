//! Inspects paths, and resolves their symbolic links.
//!
//! Out of scope: opening files, except for bounded reads of regular files.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use super::{FactResult, UnknownFact};
use crate::judge::analysis::question::{PathFacts, PathKind};

/// Maximum length of a path in bytes (the kernel's `PATH_MAX`).
pub const MAX_PATH: usize = 4096;

/// Maximum number of symbolic links that are followed for one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Maximum number of components that are examined for one path, including those of links.
const MAX_COMPONENTS: usize = 4096;

/// A resolved path.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The path without symbolic links; components that do not exist are appended as written.
    pub canonical: PathBuf,
    /// The metadata of its end; `None` if it does not exist.
    pub metadata: Option<Metadata>,
}

/// Returns facts about the file at `path`.
///
/// A symbolic link has the kind of its target; a link without a target is [`PathKind::Other`], because the link itself
/// exists.
///
/// # Errors
///
/// A directory of the path may not be searched, the links form a cycle, or the result is not UTF-8.
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

/// Reports whether an error means that nothing is at the path: there is no entry of that name, or a parent is a file.
pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Resolves every symbolic link of an absolute path. Components that do not exist are kept as written, so that a name
/// below a linked directory is known before it is created.
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

/// Pushes the components of `path` onto the stack, so that the first one is on top.
fn push_components(stack: &mut Vec<OsString>, path: &Path) {
    stack.extend(path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }));
}

/// The result of reading a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Missing,
    Bytes(Vec<u8>),
    /// The file is longer than the limit.
    TooLarge,
    /// It is not a regular file, or there is no permission.
    Unreadable,
}

/// Reads a regular file of at most `limit` bytes, following symbolic links.
///
/// A FIFO or device is never opened; if one replaces the file in between, opening it does not block.
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

/// Opens a regular file for reading; fails for anything else, without blocking.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
    let irregular = || std::io::Error::other("not a regular file");
    if !std::fs::metadata(path)?.is_file() {
        return Err(irregular());
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

/// Returns the canonical path of a directory, so that the hook and the shell use the same name for it.
#[must_use]
pub fn physical(directory: &Path) -> PathBuf {
    std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned())
}

/// Returns the canonical path of an existing directory as text.
#[must_use]
pub fn real(directory: &str) -> Option<String> {
    std::fs::canonicalize(directory).ok()?.into_os_string().into_string().ok()
}

/// Returns the device and inode of a directory, because another one may have taken its name. `None` if it does not
/// exist.
#[must_use]
pub fn directory_identity(directory: &Path) -> Option<(u64, u64)> {
    let facts = std::fs::metadata(directory).ok()?;
    Some((facts.dev(), facts.ino()))
}
