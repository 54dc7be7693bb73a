//! The progress of the delivery to a destination: a small file for each, locked during a delivery, so that no row is
//! lost between two concurrent senders.
//!
//! The row is stored after it was accepted. A process that is killed in between sends it again: delivery is at least
//! once, and the receiver recognises a repeated row by its number.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The progress of a destination, as stored in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryProgress {
    /// The last accepted row; `None` if there is none yet.
    pub row: Option<i64>,
    /// The last sent row and its hash: the head of the chain that the destination has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<(i64, String)>,
    /// The time at which it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The reason why the next one was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The number of rows that could not be sent, because they were pruned or are unreadable.
    #[serde(default)]
    pub lost: u64,
}

/// The locked progress file of a destination.
#[derive(Debug)]
pub struct ProgressFile {
    file: File,
    pub progress: DeliveryProgress,
}

/// The length of the file, which is constant so that one write replaces its whole content.
const LENGTH: usize = 1024;

impl ProgressFile {
    /// Locks and reads the file, and creates it if it does not exist. `None` if another process has locked it and
    /// `waits` is not set.
    ///
    /// # Errors
    /// The file cannot be created or read, or its content is invalid.
    pub fn take(path: &Path, waits: bool) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = path.parent().unwrap_or_else(|| Path::new("."));
                DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
                options.open(path)?
            }
            other => other?,
        };
        match if waits { file.lock().map_err(TryLockError::Error) } else { file.try_lock() } {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let told = read(&file)?.unwrap_or_default();
        Ok(Some(Self { file, progress: told }))
    }

    /// Reads the progress without a lock.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn peek(path: &Path) -> io::Result<Option<DeliveryProgress>> {
        match File::open(path) {
            Ok(file) => read(&file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores the progress.
    ///
    /// # Errors
    /// The file cannot be written; the same rows are then sent again.
    pub fn keep(&mut self, told: DeliveryProgress) -> io::Result<()> {
        if told == self.progress {
            return Ok(());
        }
        let mut told = told;
        if let Some(trouble) = &mut told.trouble {
            *trouble = trouble.chars().take(LENGTH / 8).collect();
        }
        let mut text = serde_json::to_vec(&told)?;
        text.resize(LENGTH, b' ');
        self.file.write_all_at(&text, 0)?;
        self.progress = told;
        Ok(())
    }
}

fn read(file: &File) -> io::Result<Option<DeliveryProgress>> {
    let mut text = [0; LENGTH];
    match file.read_at(&mut text, 0)? {
        0 => Ok(None),
        length => serde_json::from_slice(text.get(..length).unwrap_or_default())
            .map(Some)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("invalid file ({error}); remove it"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_there_for_the_next_and_only_one_at_a_time_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b.position");
        assert_eq!(ProgressFile::peek(&path).unwrap(), None);
        let mut held = ProgressFile::take(&path, false).unwrap().unwrap();
        assert!(ProgressFile::take(&path, false).unwrap().is_none());
        let trouble = Some("\"".repeat(5000));
        let told = DeliveryProgress {
            row: Some(i64::MAX),
            head: Some((i64::MAX, "f".repeat(64))),
            at: Some(Timestamp::MAX),
            trouble,
            lost: u64::MAX,
        };
        held.keep(told).unwrap();
        let kept = held.progress.clone();
        drop(held);
        assert_eq!(ProgressFile::peek(&path).unwrap(), Some(kept.clone()));
        assert_eq!(ProgressFile::take(&path, true).unwrap().unwrap().progress, kept);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), LENGTH as u64);
        std::fs::write(&path, "{\"row\":").unwrap();
        assert!(ProgressFile::take(&path, false).unwrap_err().to_string().contains("remove it"));
    }
}
