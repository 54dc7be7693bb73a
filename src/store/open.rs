//! Where the record lies, and opening it.
//!
//! The file is made with 0600 in a folder with 0700. Making it, bringing an old one up to date and opening one that is
//! ready are one road: whatever was left half done by a process that was killed is completed by the next.

use std::cell::OnceCell;
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

/// Bytes of the write-ahead log from which it is carried over into the file.
///
/// Whoever opens the record after all others have gone reads the log through, and nearly every guard is that one: a long
/// log costs each command. Carrying over waits for the disk: a short log costs one command in many.
const LOG_LIMIT: u64 = 256 << 10;

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
    /// Opens the record, and makes it when there is none. The file itself is opened when it is first needed.
    ///
    /// # Errors
    /// Each with its cause and the remedy; see [`StoreError`].
    pub fn open(paths: &Paths) -> Result<Self, StoreError> {
        if !paths.database().exists() {
            paths.make()?;
        }
        Ok(Self { paths: paths.clone(), shared: OnceCell::new() })
    }

    /// The connection that shares the record with others.
    fn connection(&self) -> Result<&Connection, StoreError> {
        if let Some(connection) = self.shared.get() {
            return Ok(connection);
        }
        let connection = self.persist_on(|| connect(&self.paths))?;
        self.prepare(&connection)?;
        Ok(self.shared.get_or_init(|| connection))
    }

    fn prepare(&self, connection: &Connection) -> Result<(), StoreError> {
        let taken = self.persist_on(|| migrations::taken(connection))?;
        if taken > migrations::KNOWN {
            let path = self.paths.database();
            return Err(StoreError::Newer { path, found: taken, known: migrations::KNOWN });
        }
        if filesystem::is_shared(&self.paths.folder) {
            // A record that came from a local disk still has its log; on a shared one there must be none.
            self.persist_on(|| connection.execute_batch("PRAGMA journal_mode=TRUNCATE;PRAGMA synchronous=FULL"))?;
        } else {
            if taken == 0 {
                self.persist_on(|| connection.execute_batch("PRAGMA journal_mode=WAL"))?;
            }
            self.persist_on(|| connection.execute_batch(RELAXED))?;
        }
        if taken < migrations::KNOWN {
            self.persist_on(|| migrations::take(connection))?;
        }
        Ok(())
    }

    /// Does something with the record, until it is free for it or patience ends.
    pub(super) fn persist<T>(&self, mut work: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.connection()?;
        self.persist_on(|| work(connection))
    }

    /// SQLite itself waits for locks, but not everywhere: not where two processes would wait for each other, and not
    /// while the log is being set up or recovered.
    fn persist_on<T>(&self, mut work: impl FnMut() -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let begun = Instant::now();
        loop {
            match work() {
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
        let connection = self.connection()?;
        let done = self.persist_on(|| transact(connection, &mut work))?;
        self.shorten_log(connection);
        Ok(done)
    }

    /// The same, and waits until it is on the disk.
    pub(super) fn write_durably<T>(
        &self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let before: i64 =
            self.persist(|connection| connection.query_row("PRAGMA synchronous", [], |row| row.get(0)))?;
        self.persist(|connection| connection.execute_batch("PRAGMA synchronous=FULL"))?;
        let done = self.write(work)?;
        self.persist(|connection| connection.execute_batch(&format!("PRAGMA synchronous={before}")))?;
        Ok(done)
    }

    /// The same, as the only thing that this process does with the record: in the fast lane if that is free.
    ///
    /// The lane is SQLite's exclusive locking mode: nobody else has the record open for the moment, so the log's index
    /// need not be shared and is kept in this process's own memory. It is closed at once, so that nobody waits for it.
    pub(super) fn write_alone<T>(
        &self,
        mut work: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if self.shared.get().is_none() && !filesystem::is_shared(&self.paths.folder) {
            let mut lane = || -> rusqlite::Result<Option<T>> {
                let connection = connect(&self.paths)?;
                connection.busy_timeout(Duration::ZERO)?;
                connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |_| Ok(()))?;
                if migrations::taken(&connection)? != migrations::KNOWN {
                    return Ok(None);
                }
                connection.execute_batch(RELAXED)?;
                let done = transact(&connection, &mut work)?;
                self.shorten_log(&connection);
                Ok(Some(done))
            };
            // Whatever is in the way there is waited for, or told, on the shared road.
            if let Ok(Some(done)) = lane() {
                return Ok(done);
            }
        }
        self.write(work)
    }

    /// Carries the log over into the file and empties it, when it has grown long.
    ///
    /// SQLite's own way (`wal_autocheckpoint`) carries over but leaves the emptying to the next writer of the same
    /// process. Here every writer is a new process: the log would grow without end, and each would carry all of it
    /// over again.
    fn shorten_log(&self, connection: &Connection) {
        let Ok(about) = std::fs::metadata(self.paths.beside("-wal")) else { return };
        // While a reader keeps the log from being emptied, only one in many tries.
        if about.len() < LOG_LIMIT || about.len() % LOG_LIMIT > LOG_LIMIT / 8 {
            return;
        }
        // Whoever is at it now may go on: the next command tries again. The row itself is safe already.
        let _ = connection.busy_timeout(Duration::ZERO);
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = connection.busy_timeout(PATIENCE);
    }
}

/// Commits wait for no disk; see the essay on locking.
const RELAXED: &str = "PRAGMA synchronous=NORMAL";

fn transact<T>(
    connection: &Connection,
    work: &mut impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let done = work(&transaction)?;
    transaction.commit()?;
    Ok(done)
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
