//! Reads when files were created and last changed, from the timestamps that no program can set.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::{FactResult, UnknownFact, paths};
use crate::judge::ledger::{FileKind, FileSnapshot, MAX_BELOW, Stat};

/// Returns the file at a path without following links; `None` if there is none.
///
/// # Errors
///
/// A directory of the path may not be searched.
pub(super) fn take(path: &Path) -> FactResult<Option<FileSnapshot>> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if paths::is_absent(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    let whole = !metadata.is_dir() || below(path, &mut found).is_ok();
    Ok(Some(FileSnapshot { stat: stat(&metadata), below: whole.then_some(found) }))
}

/// Adds the entries of a directory recursively.
fn below(directory: &Path, found: &mut Vec<(String, Stat)>) -> FactResult<()> {
    let mut todo = vec![directory.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if found.len() >= MAX_BELOW {
                return Err(UnknownFact);
            }
            let metadata = entry.metadata()?;
            let path = entry.path();
            found.push((path.to_str().ok_or(UnknownFact)?.to_owned(), stat(&metadata)));
            if metadata.is_dir() {
                todo.push(path);
            }
        }
    }
    Ok(())
}

fn stat(metadata: &Metadata) -> Stat {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    };
    let born = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    let born = born.and_then(|born| i64::try_from(born.as_millis()).ok());
    let changed = metadata.ctime().saturating_mul(1000).saturating_add(metadata.ctime_nsec() / 1_000_000);
    Stat { kind, born, changed }
}
