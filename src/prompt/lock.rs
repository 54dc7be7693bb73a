//! A lock that allows one card per terminal at a time.
//!
//! It is an advisory lock on an empty file that is named after the terminal. The kernel releases it when its holder
//! dies. The file is never removed, because two processes could then lock two files with the same name.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use nix::unistd::geteuid;

/// The interval at which a waiting process polls.
const PAUSE: Duration = Duration::from_millis(40);

/// The lock of a terminal, released when it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Opens the lock of a terminal (by its device number) without taking it.
    ///
    /// # Errors
    /// There is no private directory of the user for it, or another file is at its path.
    pub(super) fn open(terminal: u64, runtime: Option<&Path>) -> io::Result<Self> {
        let path = directory(runtime)?.join(format!("tty-{terminal:x}.lock"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(&path)?;
        let found = file.metadata()?;
        if !found.is_file() || found.uid() != geteuid().as_raw() || found.nlink() != 1 {
            return Err(io::Error::other(format!("{} is not a lock file owned by this user", path.display())));
        }
        Ok(Self { file })
    }

    /// Waits for the lock until `stop` returns `true`. Returns whether it was taken.
    ///
    /// # Errors
    /// The file system does not support locks.
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

    /// Releases the lock.
    pub(super) fn release(&self) {
        // A failure cannot be handled, and the end of the process releases it anyway.
        let _ = self.file.unlock();
    }
}

/// Returns a directory that belongs to this user and that nobody else can write.
fn directory(runtime: Option<&Path>) -> io::Result<PathBuf> {
    if let Some(runtime) = runtime
        && runtime.is_absolute()
        && is_own(runtime)
    {
        return make(&runtime.join("guard"));
    }
    make(&PathBuf::from(format!("/tmp/guard-{}", geteuid())))
}

/// Creates a directory that only this user can enter, or verifies an existing one.
fn make(path: &Path) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    if is_own(path) {
        Ok(path.to_path_buf())
    } else {
        Err(io::Error::other(format!("{} is owned by another user; remove it or set XDG_RUNTIME_DIR", path.display())))
    }
}

/// Reports whether a path is a directory of this user that others cannot write.
fn is_own(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::Lock;

    #[test]
    fn a_second_lock_of_the_same_terminal_waits_and_another_terminal_does_not() {
        let runtime = tempfile::tempdir().unwrap();
        let first = Lock::open(0x8801, Some(runtime.path())).unwrap();
        let second = Lock::open(0x8801, Some(runtime.path())).unwrap();
        let other = Lock::open(0x8802, Some(runtime.path())).unwrap();
        assert!(first.take(|| true).unwrap());
        assert!(!second.take(|| true).unwrap());
        assert!(other.take(|| true).unwrap());
        drop(first);
        // A program that another test just started may hold the file for a moment longer.
        let mut looks = 0;
        let mut enough = || {
            looks += 1;
            looks > 200
        };
        assert!(second.take(&mut enough).unwrap());
        second.release();
        let third = Lock::open(0x8801, Some(runtime.path())).unwrap();
        assert!(third.take(|| true).unwrap());
    }

    #[test]
    fn the_lock_file_is_for_this_user_alone() {
        let runtime = tempfile::tempdir().unwrap();
        let _lock = Lock::open(0x8801, Some(runtime.path())).unwrap();
        let directory = runtime.path().join("guard");
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(mode(&directory.join("tty-8801.lock")), 0o600);
    }

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let runtime = tempfile::tempdir().unwrap();
        let target = runtime.path().join("target");
        std::fs::write(&target, "kept").unwrap();
        drop(Lock::open(0x8801, Some(runtime.path())).unwrap());
        let lock = runtime.path().join("guard/tty-8801.lock");
        std::fs::remove_file(&lock).unwrap();
        symlink(&target, &lock).unwrap();
        assert!(Lock::open(0x8801, Some(runtime.path())).is_err());
        std::fs::remove_file(&lock).unwrap();
        std::fs::hard_link(&target, &lock).unwrap();
        assert!(Lock::open(0x8801, Some(runtime.path())).is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_not_followed() {
        let runtime = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), runtime.path().join("guard")).unwrap();
        assert!(Lock::open(0x8801, Some(runtime.path())).is_err());
        assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_not_used() {
        let runtime = tempfile::tempdir().unwrap();
        let directory = runtime.path().join("guard");
        std::fs::create_dir(&directory).unwrap();
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Lock::open(0x8801, Some(runtime.path())).is_err());
    }
}
