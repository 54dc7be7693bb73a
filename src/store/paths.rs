//! Finds the directory of the record.
//!
//! The file is created with mode 0600 in a directory with mode 0700. Out of scope: SQLite.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use guard_system::{DATA, data_directory};

use super::error::StoreError;

/// The files of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    directory: PathBuf,
    /// The name of the SQLite file.
    name: &'static str,
}

impl Paths {
    /// Returns the paths of the record in this directory.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), name: "guard.db" }
    }

    /// Returns the paths of the queue beside the record.
    #[must_use]
    pub fn queue(&self) -> Self {
        Self { directory: self.directory.clone(), name: "queue.db" }
    }

    /// Returns the paths of the account's record: `$XDG_DATA_HOME/guard`, or else the platform's data directory
    /// (`~/.local/share/guard`).
    ///
    /// `home` is the account's home directory according to the account database. If it contains a configuration of
    /// guard, the record is in this home directory whatever the environment variables are; otherwise somebody could set
    /// a variable to begin a record without history. The same applies under sudo; otherwise root would create files in
    /// the home directory of the account that called it.
    ///
    /// # Errors
    /// There is no home directory.
    pub fn standard(home: Option<&Path>) -> Result<Self, StoreError> {
        if let Some(home) = home
            && (std::env::var_os("SUDO_UID").is_some() || home.join(".config/guard").exists())
        {
            return Ok(Self::new(home.join(DATA).join("guard")));
        }
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if set("HOME").is_none() {
            // The account's home directory is a parameter here, and unknown to `data_directory`.
            let data = set("XDG_DATA_HOME").map(PathBuf::from).filter(|data| data.is_absolute());
            let data = data.or_else(|| home.map(|home| home.join(DATA))).ok_or(StoreError::NoHome)?;
            return Ok(Self::new(data.join("guard")));
        }
        Ok(Self::new(data_directory().ok_or(StoreError::NoHome)?.join("guard")))
    }

    /// Returns the directory of the record.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the SQLite file.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.directory.join(self.name)
    }

    /// Returns the path of the local key.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.directory.join("guard.key")
    }

    /// Returns the path of one of SQLite's files beside the database.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        self.directory.join(format!("{}{suffix}", self.name))
    }

    /// Creates the directory and an empty file.
    pub(super) fn make(&self) -> Result<(), StoreError> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(|error| match error.kind() {
            // The path exists and is not a directory.
            io::ErrorKind::AlreadyExists => StoreError::NotADirectory { path: self.directory.clone() },
            _ => StoreError::from_io(&self.directory, error),
        })?;
        let path = self.database();
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(StoreError::from_io(&path, error)),
            _ => Ok(()),
        }
    }
}
