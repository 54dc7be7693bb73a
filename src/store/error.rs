//! Errors of the record, in messages that name the file and the remedy.
//!
//! SQLite reports every error as a number. Most numbers have several causes (`SQLITE_CANTOPEN` is a missing directory,
//! a read-only disk or a file owned by root), so the cause is determined from the file system afterwards, only for
//! errors.

use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{AccessFlags, Uid, access};
use rusqlite::ErrorCode;
use rusqlite::ffi;

use super::Paths;

/// The reason why the record cannot be read or written.
#[derive(Debug)]
pub enum StoreError {
    /// There is no home directory: none of `XDG_DATA_HOME`, `HOME` and the account database names one.
    NoHome,
    /// The directory or the disk is read-only.
    ReadOnly { path: PathBuf },
    /// A file or directory is owned by another account, and this one may not use it.
    NotOurs { path: PathBuf, owner: String },
    /// The permissions forbid the access.
    Denied { path: PathBuf },
    /// The path is not a regular file, but a directory, a link or a device.
    NotAFile { path: PathBuf },
    /// The path is not a directory.
    NotADirectory { path: PathBuf },
    /// No space is left, or the quota is exhausted.
    Full { path: PathBuf },
    /// The process may not write a file of this size (`ulimit -f`).
    TooLarge { path: PathBuf },
    /// Other processes kept the record locked.
    Locked { path: PathBuf, waited: Duration },
    /// The record was written by a newer guard.
    Newer { path: PathBuf, found: i64, known: i64 },
    /// The file is damaged.
    Corrupt { path: PathBuf, detail: String },
    /// The file is not a record of guard.
    NotARecord { path: PathBuf },
    /// The key beside the record is damaged.
    BadKey { path: PathBuf },
    /// The row does not exist. `newest` is the newest row that exists.
    NoSuchRow { row: i64, newest: Option<i64> },
    /// The row was pruned. `by` is the row that describes the pruning, if it still exists.
    Pruned { row: i64, by: Option<i64> },
    /// The record contains no evidence that the clock is correct. It keeps rows for this number of days.
    Clock { days: u32 },
    /// No row proves that guard pruned the rows before the first one.
    Unproved { row: i64 },
    /// A row that was to be pruned has been changed.
    Altered { row: i64 },
    /// The row contains something that this version cannot parse.
    Unreadable { row: i64, detail: String },
    /// The record is kept by another account, and the service could not be reached or refused the row.
    Elsewhere { why: String },
    /// The grant is not allowed.
    Refused { why: String },
    /// Another error of the operating system.
    Io { path: PathBuf, source: io::Error },
    /// Another error of SQLite.
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome => f.write_str("there is no home directory to keep the record in: set HOME or XDG_DATA_HOME"),
            Self::ReadOnly { path } => {
                write!(f, "{} cannot be written: its file system is read-only; make it writable", path.display())
            }
            Self::NotOurs { path, owner } => {
                let path = path.display();
                write!(f, "{path} is owned by {owner} (perhaps created as another account); chown it back")
            }
            Self::Denied { path } => {
                write!(f, "permission denied for {}; correct its permissions (chmod u+rwX)", path.display())
            }
            Self::NotAFile { path } => write!(f, "{} is not a regular file; move it away", path.display()),
            Self::NotADirectory { path } => write!(f, "{} is not a directory; move it away", path.display()),
            Self::Full { path } => write!(f, "no space left for {}; free some", path.display()),
            Self::TooLarge { path } => {
                write!(f, "{} cannot grow; raise the file size limit (ulimit -f)", path.display())
            }
            Self::Locked { path, waited } => {
                let (path, waited) = (path.display(), waited.as_secs_f32());
                write!(f, "{path} was locked for {waited:.1} s; find the process (fuser {path}) and try again")
            }
            Self::Newer { path, found, known } => write!(
                f,
                "{} was written by a newer guard (schema {found}, this version supports {known}); use that version",
                path.display()
            ),
            Self::Corrupt { path, detail } => {
                let path = path.display();
                write!(
                    f,
                    "{path} is damaged ({detail}): guard verify says which rows can still be read, and guard export \
                     prints them; move it and {path}-wal away to begin a new record"
                )
            }
            Self::NotARecord { path } => {
                write!(f, "{} is not a record of guard; move it away to begin a new one", path.display())
            }
            Self::BadKey { path } => {
                write!(f, "{} is not a key of guard; move it away to begin with a new one", path.display())
            }
            Self::NoSuchRow { row, newest: None } => {
                write!(f, "the record has no row {row}; it is empty")
            }
            Self::NoSuchRow { row, newest: Some(newest) } => {
                write!(f, "the record has no row {row}; the newest is {newest} (guard log lists the rows)")
            }
            Self::Pruned { row, by: Some(by) } => write!(f, "row {row} was pruned; see guard log show {by}"),
            Self::Pruned { row, by: None } => write!(f, "row {row} was pruned; see guard verify"),
            Self::Clock { days } => write!(
                f,
                "nothing was pruned, because all rows but those of the last day are older than {days} days: is the \
                 clock right? If so, guard log prune --older-than {days}d"
            ),
            Self::Unproved { row } => write!(
                f,
                "nothing was pruned, because all rows before row {row} are missing without a sealed row that \
                 explains it; see guard verify, and keep a copy before you begin a new record"
            ),
            Self::Altered { row } => write!(
                f,
                "row {row} was changed after it was written, so it and later rows were not pruned; see guard verify, \
                 and keep a copy before you begin a new record"
            ),
            Self::Unreadable { row, detail } => write!(f, "row {row} of the record cannot be read: {detail}"),
            Self::Refused { why } | Self::Elsewhere { why } => f.write_str(why),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Sqlite { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Sqlite { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl StoreError {
    /// Returns the error for a failed file operation.
    pub(super) fn from_io(path: &Path, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::EROFS) => Self::ReadOnly { path: path.to_owned() },
            Some(libc::ENOSPC | libc::EDQUOT) => Self::Full { path: path.to_owned() },
            Some(libc::EFBIG) => Self::TooLarge { path: path.to_owned() },
            Some(libc::EACCES | libc::EPERM) => Self::barred(path),
            Some(libc::ENOTDIR) => Self::in_the_way(path),
            Some(libc::ELOOP | libc::EISDIR) => Self::NotAFile { path: path.to_owned() },
            _ => Self::Io { path: path.to_owned(), source },
        }
    }

    /// Returns the error for an error of SQLite.
    pub(super) fn from_sqlite(paths: &Paths, source: rusqlite::Error, waited: Duration) -> Self {
        let path = paths.database();
        let rusqlite::Error::SqliteFailure(failure, message) = &source else {
            return Self::Sqlite { path, source };
        };
        let detail = || message.clone().unwrap_or_else(|| failure.to_string());
        match (failure.code, failure.extended_code) {
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed, _) => {
                Self::Locked { path, waited }
            }
            (ErrorCode::DatabaseCorrupt, _) => Self::Corrupt { path, detail: detail() },
            (ErrorCode::NotADatabase, _) => Self::NotARecord { path },
            (ErrorCode::DiskFull, _) => Self::Full { path },
            (_, ffi::SQLITE_IOERR_SHORT_READ) => Self::Corrupt { path, detail: detail() },
            (
                ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure,
                _,
            ) => paths.trouble().unwrap_or(Self::Sqlite { path, source }),
            _ => Self::Sqlite { path, source },
        }
    }

    /// Returns an error that names the ancestor of a path that is not a directory.
    fn in_the_way(path: &Path) -> Self {
        let above = path.ancestors().skip(1).find(|above| std::fs::metadata(above).is_ok_and(|about| !about.is_dir()));
        Self::NotADirectory { path: above.unwrap_or(path).to_owned() }
    }

    /// Returns an error for a path that may not be accessed: [`Self::NotOurs`] or [`Self::Denied`].
    fn barred(path: &Path) -> Self {
        // The file may be inaccessible because a directory above it is owned by another account.
        let nearest = path.ancestors().find_map(|near| std::fs::symlink_metadata(near).ok().map(|about| (near, about)));
        match nearest {
            Some((near, about)) if about.uid() != Uid::effective().as_raw() => {
                Self::NotOurs { path: near.to_owned(), owner: name_of(about.uid()) }
            }
            Some((near, _)) => Self::Denied { path: near.to_owned() },
            None => Self::Denied { path: path.to_owned() },
        }
    }
}

impl Paths {
    /// Determines from the file system why the record cannot be used; `None` if no reason is found.
    fn trouble(&self) -> Option<StoreError> {
        let directory = self.directory();
        if let Ok(about) = statvfs(directory)
            && about.flags().contains(FsFlags::ST_RDONLY)
        {
            return Some(StoreError::ReadOnly { path: directory.to_owned() });
        }
        let wanted = AccessFlags::R_OK | AccessFlags::W_OK;
        if access(directory, wanted | AccessFlags::X_OK).is_err() {
            return Some(StoreError::barred(directory));
        }
        let files = [self.database(), self.beside("-wal"), self.beside("-shm"), self.beside("-journal")];
        for file in files {
            let Ok(about) = std::fs::symlink_metadata(&file) else { continue };
            if !about.is_file() {
                return Some(StoreError::NotAFile { path: file });
            }
            if access(&file, wanted).is_err() {
                return Some(StoreError::barred(&file));
            }
        }
        self.no_room()
    }

    /// Determines why files cannot grow: a limit of the process or a full disk. SQLite reports both, and an exhausted
    /// quota, as the same failed write.
    fn no_room(&self) -> Option<StoreError> {
        /// The maximum number of bytes by which SQLite grows its files at a time.
        const STEP: u64 = 1 << 16;
        let path = self.database();
        if let Ok((limit, _)) = getrlimit(Resource::RLIMIT_FSIZE)
            && limit != RLIM_INFINITY
        {
            let largest = [&path, &self.beside("-wal"), &self.beside("-shm"), &self.beside("-journal")]
                .into_iter()
                .filter_map(|file| std::fs::metadata(file).ok())
                .map(|about| about.len())
                .max();
            if largest.unwrap_or(0).saturating_add(STEP) > limit {
                return Some(StoreError::TooLarge { path });
            }
        }
        let room = statvfs(self.directory()).ok()?;
        #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
        let left = u64::from(room.blocks_available()).saturating_mul(u64::from(room.fragment_size()));
        (left < STEP).then_some(StoreError::Full { path })
    }
}

/// Returns the name of an account, or its number. Only the file is read, because a statically linked program cannot use
/// other sources of the name service.
fn name_of(uid: u32) -> String {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("account {uid}"))
}
