//! One card per terminal at a time.
//!
//! The lock is an advisory lock on an empty file, named after the terminal. The kernel frees it when its holder dies,
//! so no holder has to be trusted to clean up, and the file is never removed: removing it would let two processes
//! lock two files of one name.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use nix::unistd::geteuid;

/// How often a waiting process looks whether the terminal is free.
const PAUSE: Duration = Duration::from_millis(40);

/// The lock of one terminal, freed when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Opens the lock of a terminal (by its device number) without taking it.
    ///
    /// # Errors
    /// When there is no folder of the user's own for it, or something else stands at its place.
    pub(super) fn open(terminal: u64, runtime: Option<&Path>) -> io::Result<Self> {
        let path = folder(runtime)?.join(format!("tty-{terminal:x}.lock"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(&path)?;
        let found = file.metadata()?;
        if !found.is_file() || found.uid() != geteuid().as_raw() || found.nlink() != 1 {
            return Err(io::Error::other(format!("{} is not a lock file of this user", path.display())));
        }
        Ok(Self { file })
    }

    /// Waits for the lock until `stop` says so. True when it was taken.
    ///
    /// # Errors
    /// When the file system knows no locks.
    pub(super) fn take(&self, mut stop: impl FnMut() -> bool) -> io::Result<bool> {
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(true),
                Err(TryLockError::WouldBlock) if stop() => return Ok(false),
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Lets another process take it.
    pub(super) fn release(&self) {
        // Nothing can be done about a failure, and the end of the process frees it anyway.
        let _ = self.file.unlock();
    }
}

/// A folder that belongs to this user and that nobody else can write to.
fn folder(runtime: Option<&Path>) -> io::Result<PathBuf> {
    if let Some(runtime) = runtime
        && runtime.is_absolute()
        && is_own(runtime)
    {
        return make(&runtime.join("guard"));
    }
    make(&PathBuf::from(format!("/tmp/guard-{}", geteuid())))
}

/// Makes a folder that only this user may enter, or finds that it is one.
fn make(path: &Path) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    if is_own(path) {
        Ok(path.to_path_buf())
    } else {
        Err(io::Error::other(format!("{} belongs to someone else; remove it or set XDG_RUNTIME_DIR", path.display())))
    }
}

/// A real folder of this user's, closed to writing by others.
fn is_own(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0)
}
