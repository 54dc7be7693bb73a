//! A directory of guard's own to try something in, removed when it is dropped.
//!
//! Out of scope: what is tried there.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// An empty directory that only this account may enter, in the directory for temporary files.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one whose name begins with `guard-`, what it is for, and a dash.
    ///
    /// # Errors
    /// It cannot be made, or there is no randomness to name it by.
    pub(super) fn new(purpose: &str) -> io::Result<Self> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("guard-{purpose}-{random:016x}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// One that a process made which became this one.
    pub(super) fn adopt(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a directory that cannot be removed, and it holds nothing of value.
        let _ = fs::remove_dir_all(&self.0);
    }
}
