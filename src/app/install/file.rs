//! Reads and replaces other programs' files: atomically, keeping the mode, through symbolic links, and with a backup in
//! guard's own directory.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The reason why a file is not changed. The message does not contain the name of the file.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("is a dangling symbolic link; remove it, or create its target")]
    Dangling,
    #[error("cannot be opened: {0}")]
    Open(io::Error),
    #[error("cannot be read: {0}")]
    Read(io::Error),
    #[error("cannot be written: {0}")]
    Write(io::Error),
    #[error("cannot remove it: {0}")]
    Remove(io::Error),
    #[error("is not a regular file")]
    Irregular,
    #[error("has {0} bytes, which is too large for a configuration")]
    TooLarge(u64),
    #[error("line {0} is not UTF-8")]
    Encoding(usize),
    #[error("has no directory")]
    NoDirectory,
    #[error("was changed by another program at the same time; try again")]
    Changed,
    #[error("cannot create {}: {error}", .directory.display())]
    Directory { directory: PathBuf, error: io::Error },
    #[error("cannot save a copy in {}: {error}", .directory.display())]
    Copy { directory: PathBuf, error: io::Error },
}

/// The largest configuration file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Returns the text of a file, or `None` if it does not exist.
///
/// # Errors
/// The message does not contain the name of the file.
pub fn read(path: &Path) -> Result<Option<String>, FileError> {
    // Do not block if the path is a pipe.
    let file = match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => Err(FileError::Dangling),
                Err(_) => Ok(None),
            };
        }
        Err(error) => return Err(FileError::Open(error)),
    };
    let about = file.metadata().map_err(FileError::Read)?;
    if !about.is_file() {
        return Err(FileError::Irregular);
    }
    if about.len() > MAX_BYTES {
        return Err(FileError::TooLarge(about.len()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(FileError::Read)?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let line =
            error.as_bytes().iter().take(error.utf8_error().valid_up_to()).filter(|byte| **byte == b'\n').count() + 1;
        FileError::Encoding(line)
    })
}

/// Returns the number of the line that contains a byte.
#[must_use]
pub fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Replaces the content of a file with `new`, if it is still `old`.
///
/// # Errors
/// The message does not contain the name of the file.
pub fn replace(path: &Path, old: Option<&str>, new: &str, executable: bool) -> Result<(), FileError> {
    let cannot = FileError::Write;
    let target = if old.is_some() { fs::canonicalize(path).map_err(cannot)? } else { path.to_owned() };
    let directory = target.parent().ok_or(FileError::NoDirectory)?;
    let about = fs::metadata(&target).ok();
    let mode = about.as_ref().map_or(if executable { 0o755 } else { 0o644 }, |about| about.mode() & 0o7777);
    let temporary = directory.join(format!(".guard-{}.tmp", std::process::id()));
    let made = (|| {
        let first = if about.is_some() { 0o600 } else { mode };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(first).open(&temporary)?;
        file.write_all(new.as_bytes())?;
        if let Some(about) = &about
            && (about.uid(), about.gid()) != (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw())
        {
            std::os::unix::fs::fchown(&file, Some(about.uid()), Some(about.gid()))?;
        }
        if about.is_some() {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()
    })();
    let done = made.map_err(cannot).and_then(|()| {
        if read(path)?.as_deref() != old {
            return Err(FileError::Changed);
        }
        fs::rename(&temporary, &target).map_err(cannot)
    });
    match done {
        Ok(()) => {
            // Sync the directory, so that the new name is on the disk.
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
            Ok(())
        }
        Err(why) => {
            let _ = fs::remove_file(&temporary);
            Err(why)
        }
    }
}

/// Creates the directories above a file and returns the new ones, outermost first.
///
/// # Errors
/// The message does not contain the name of the file.
pub fn make_directories(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let Some(directory) = path.parent() else { return Ok(Vec::new()) };
    let mut missing: Vec<PathBuf> =
        directory.ancestors().take_while(|directory| !directory.exists()).map(Path::to_owned).collect();
    missing.reverse();
    fs::create_dir_all(directory).map_err(|error| FileError::Directory { directory: directory.to_owned(), error })?;
    Ok(missing)
}

/// The backup of a file that guard changed.
#[derive(Debug)]
pub struct Backup {
    /// The old content, or `None` if the file did not exist.
    pub before: Option<String>,
    /// Whether the file is unchanged since guard wrote it.
    pub untouched: bool,
    /// The directories that guard created for it.
    pub directories: Vec<PathBuf>,
}

/// The directory of the backups.
#[derive(Debug)]
pub struct Backups {
    directory: PathBuf,
}

/// Returns the SHA-256 in hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Backups {
    /// Creates it for guard's data directory.
    #[must_use]
    pub fn new(data: &Path) -> Self {
        Self { directory: data.join("installed") }
    }

    /// Returns the path of a file's backup.
    #[must_use]
    pub fn copy(&self, path: &Path) -> PathBuf {
        self.named(path, "before")
    }

    fn named(&self, path: &Path, extension: &str) -> PathBuf {
        let name = digest(path.as_os_str().as_encoded_bytes());
        self.directory.join(format!("{}.{extension}", name.get(..16).unwrap_or_default()))
    }

    /// Returns the backup of a file with the current content `now`, or `None` if guard never changed the file.
    #[must_use]
    pub fn kept(&self, path: &Path, now: &str) -> Option<Backup> {
        let note: Value = serde_json::from_str(&fs::read_to_string(self.named(path, "json")).ok()?).ok()?;
        let before = match note["existed"].as_bool()? {
            true => Some(fs::read_to_string(self.copy(path)).ok()?),
            false => None,
        };
        let directories = note["folders"].as_array().into_iter().flatten().filter_map(Value::as_str).map(PathBuf::from);
        Some(Backup { before, untouched: note["after"] == digest(now.as_bytes()), directories: directories.collect() })
    }

    /// Stores the content of a file before guard's change and the digest of the new content.
    ///
    /// # Errors
    /// The message does not contain the name of the file.
    pub fn keep(
        &self,
        path: &Path,
        before: Option<&str>,
        after: &str,
        directories: &[PathBuf],
    ) -> Result<(), FileError> {
        let cannot = |error| FileError::Copy { directory: self.directory.clone(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(cannot)?;
        let write = |path: &Path, text: &str| {
            let _ = fs::remove_file(path);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text.as_bytes())
        };
        if let Some(before) = before {
            write(&self.copy(path), before).map_err(cannot)?;
        }
        let directories: Vec<String> = directories.iter().map(|directory| directory.display().to_string()).collect();
        let note = json!({
            "file": path.display().to_string(),
            "existed": before.is_some(),
            "after": digest(after.as_bytes()),
            "folders": directories,
        });
        write(&self.named(path, "json"), &note.to_string()).map_err(cannot)
    }

    /// Deletes the backup of a file.
    pub fn forget(&self, path: &Path) {
        let _ = fs::remove_file(self.named(path, "json"));
        let _ = fs::remove_file(self.copy(path));
        // This removes only an empty directory.
        let _ = fs::remove_dir(&self.directory);
    }
}
