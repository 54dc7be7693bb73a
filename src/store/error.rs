//! What can go wrong with the record, in words that name the file and the remedy.
//!
//! SQLite answers every trouble with a number. Most numbers have several causes (`SQLITE_CANTOPEN` is a missing
//! directory, a read-only disk or a file of root's), so the cause is looked up in the file system after the fact, on
//! the way to the error only.

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

/// Why the record cannot be read or written.
#[derive(Debug)]
pub enum StoreError {
    /// No home directory: neither `XDG_DATA_HOME` nor `HOME` nor the account database names one.
    NoHome,
    /// The directory or the disk does not take writes.
    ReadOnly { path: PathBuf },
    /// A file or directory that another account owns, and that this one may not use.
    NotOurs { path: PathBuf, owner: String },
    /// The permissions forbid it.
    Denied { path: PathBuf },
    /// It is no plain file: a directory, a link, a device.
    NotAFile { path: PathBuf },
    /// Something else stands where a directory should be.
    NotADirectory { path: PathBuf },
    /// No space is left, or a quota is used up.
    Full { path: PathBuf },
    /// The process may not write so large a file (`ulimit -f`).
    TooLarge { path: PathBuf },
    /// Other processes kept it locked.
    Locked { path: PathBuf, waited: Duration },
    /// Written by a newer guard.
    Newer { path: PathBuf, found: i64, known: i64 },
    /// The file is damaged.
    Corrupt { path: PathBuf, detail: String },
    /// The file is something else than guard's record.
    NotARecord { path: PathBuf },
    /// The key beside the record is damaged.
    BadKey { path: PathBuf },
    /// A row does not exist; the newest that does.
    NoSuchRow { row: i64, newest: Option<i64> },
    /// A row was pruned; the row that tells of it, while it is there.
    Pruned { row: i64, by: Option<i64> },
    /// Nothing in the record bears out that the clock is right; it keeps rows for so many days.
    Clock { days: u32 },
    /// No row proves that guard pruned what stood before the first row that is there.
    Unproved { row: i64 },
    /// A row that was to be pruned is not as it was written.
    Altered { row: i64 },
    /// A row says something that this version cannot read.
    Unreadable { row: i64, detail: String },
    /// The record is kept by another account, and could not be reached or did not take it.
    Elsewhere { why: String },
    /// A grant that may not be given.
    Refused { why: String },
    /// Anything else that the system reported.
    Io { path: PathBuf, source: io::Error },
    /// Anything else that SQLite reported.
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
    /// What a failed file operation means.
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

    /// What an answer of SQLite's means for this record.
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

    /// What stands where a directory above a path should be.
    fn in_the_way(path: &Path) -> Self {
        let above = path.ancestors().skip(1).find(|above| std::fs::metadata(above).is_ok_and(|about| !about.is_dir()));
        Self::NotADirectory { path: above.unwrap_or(path).to_owned() }
    }

    /// That a path may not be used: by whose fault.
    fn barred(path: &Path) -> Self {
        // The file may be out of sight because a directory above it is somebody else's.
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
    /// What stands in the way of using the record, as the file system tells it; `None` when it shows nothing.
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

    /// What keeps files from growing: a limit of the process or a full disk (SQLite tells both, and an exhausted quota,
    /// as one and the same failed write).
    fn no_room(&self) -> Option<StoreError> {
        /// SQLite grows its files by less than this at a time.
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

/// The name of an account, or its number. Only the file is read: a program that is linked statically cannot ask
/// further.
fn name_of(uid: u32) -> String {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("account {uid}"))
}
