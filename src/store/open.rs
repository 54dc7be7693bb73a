//! Where the record lies, and opening it.
//!
//! The file is made with 0600 in a folder with 0700. Making it, bringing an old one up to date and opening one that is
//! ready are one road: whatever was left half done by a process that was killed is completed by the next.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::{Store, filesystem, migrations};

/// How long other processes may keep the record locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// Pages in the write-ahead log from which the next commit carries them over into the file.
///
/// Whoever opens the record first after all others have gone reads the log through, and nearly every guard is that one:
/// a long log costs each command. Carrying over costs two waits for the disk: a short log costs one command in many.
const LOG_PAGES: u32 = 64;

/// The files of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    folder: PathBuf,
}

impl Paths {
    /// The record in this folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The account's own: `$XDG_DATA_HOME/guard`, else the platform's folder for data (`~/.local/share/guard`).
    ///
    /// # Errors
    /// There is no home directory.
    pub fn standard() -> Result<Self, StoreError> {
        let directories = directories::BaseDirs::new().ok_or(StoreError::NoHome)?;
        Ok(Self::new(directories.data_dir().join("guard")))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The SQLite file.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.folder.join("guard.db")
    }

    /// The local key.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.folder.join("guard.key")
    }

    /// A file of SQLite's beside the database.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("guard.db{suffix}"))
    }

    fn make(&self) -> Result<(), StoreError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|error| StoreError::from_io(&self.folder, error))?;
        let path = self.database();
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(StoreError::from_io(&path, error)),
            _ => Ok(()),
        }
    }
}

impl Store {
    /// Opens the record for reading and writing, and makes it when there is none.
    ///
    /// # Errors
    /// Each with its cause and the remedy; see [`StoreError`].
    pub fn open(paths: &Paths) -> Result<Self, StoreError> {
        let connection = match connect(paths) {
            Err(_) if !paths.database().exists() => {
                paths.make()?;
                connect(paths)
            }
            answer => answer,
        };
        let connection = connection.map_err(|error| StoreError::from_sqlite(paths, error, Duration::ZERO))?;
        let mut store = Self { connection, paths: paths.clone() };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        let shared = filesystem::is_shared(&self.paths.folder);
        let taken = self.persist(|connection| migrations::taken(connection))?;
        if taken > migrations::KNOWN {
            let path = self.paths.database();
            return Err(StoreError::Newer { path, found: taken, known: migrations::KNOWN });
        }
        if shared {
            // A record that came from a local disk still has its log; on a shared one there must be none.
            self.persist(|connection| {
                connection.execute_batch("PRAGMA journal_mode=TRUNCATE;PRAGMA synchronous=FULL")
            })?;
        } else {
            if taken == 0 {
                self.persist(|connection| connection.execute_batch("PRAGMA journal_mode=WAL"))?;
            }
            self.persist(|connection| {
                connection.execute_batch("PRAGMA synchronous=NORMAL")?;
                connection.execute_batch(&format!("PRAGMA wal_autocheckpoint={LOG_PAGES}"))
            })?;
        }
        if taken < migrations::KNOWN {
            self.persist(migrations::take)?;
        }
        Ok(())
    }

    /// Does something until the record is free for it, or patience ends.
    ///
    /// SQLite itself waits for locks, but not everywhere: not where two processes would wait for each other, and not
    /// while the log is being set up or recovered.
    pub(super) fn persist<T>(&self, mut work: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let begun = Instant::now();
        loop {
            match work(&self.connection) {
                Ok(done) => return Ok(done),
                Err(error) if is_passing(&error) && begun.elapsed() < PATIENCE => {
                    // Unequal for each process, so that they do not meet again.
                    thread::sleep(Duration::from_micros(500 + u64::from(std::process::id() % 64) * 50));
                }
                Err(error) => return Err(StoreError::from_sqlite(&self.paths, error, begun.elapsed())),
            }
        }
    }

    /// Does something in one transaction that holds the write lock from its beginning.
    pub(super) fn write<T>(&self, mut work: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.persist(|connection| {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }
}

fn connect(paths: &Paths) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(paths.database(), flags)?;
    connection.busy_timeout(PATIENCE)?;
    // Closing carries the log over into the file and waits for the disk; the log's own limit does that often enough.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Whether an error says that somebody else is at it right now.
fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
    )
}
