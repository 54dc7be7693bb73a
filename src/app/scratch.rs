//! Temporary directories of guard, removed when they are dropped.
//!
//! Out of scope: their contents.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// An empty temporary directory that only this account may enter.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Creates a directory whose name begins with `guard-`, the purpose, and a dash.
    ///
    /// # Errors
    /// The directory cannot be created, or there is no randomness for its name.
    pub(super) fn new(purpose: &str) -> io::Result<Self> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("guard-{purpose}-{random:016x}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// Takes over the directory of an earlier process, so that this process removes it.
    pub(super) fn adopt(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Ignore an error: the contents have no value.
        let _ = fs::remove_dir_all(&self.0);
    }
}
