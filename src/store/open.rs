//! Opens the record and writes to it in transactions.
//!
//! Creating a record, updating an old one and opening a current one are one procedure, so that a process completes what
//! another that was killed left unfinished.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::{Paths, Store, migrations};

/// The time for which other processes may keep the record locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// The size of the write-ahead log, in bytes, from which on it is copied into the file.
///
/// A process that opens the record when no other has it open reads the whole log, and nearly every guard does: a long
/// log slows down each command. Copying waits for the disk: with a short limit it would slow down many commands.
const LOG_LIMIT: u64 = 256 << 10;

impl Store {
    /// Opens the record, and creates it if it does not exist. The database is opened on first use.
    ///
    /// # Errors
    /// The record cannot be created; see [`StoreError`].
    pub fn open(paths: &Paths) -> Result<Self, StoreError> {
        if !paths.database().exists() {
            paths.make()?;
        }
        // The write-ahead log has an index in memory that all processes share. Network file systems and many file
        // systems in user space do not offer such memory; on these a rollback journal is used.
        let log = !guard_system::is_shared(paths.directory());
        Ok(Self { paths: paths.clone(), log, shared: OnceCell::new(), whole: RefCell::default() })
    }

    /// Opens the record if it exists; does not create one.
    ///
    /// # Errors
    /// The file exists and cannot be used.
    pub fn open_existing(paths: &Paths) -> Result<Option<Self>, StoreError> {
        match std::fs::symlink_metadata(paths.database()) {
            Ok(_) => Self::open(paths).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::from_io(&paths.database(), error)),
        }
    }

    /// Returns the connection that shares the record with other processes.
    fn connection(&self) -> Result<&Connection, StoreError> {
        if let Some(connection) = self.shared.get() {
            return Ok(connection);
        }
        let connection = self.persist_on(|| connect(&self.paths))?;
        self.prepare(&connection)?;
        Ok(self.shared.get_or_init(|| connection))
    }

    fn prepare(&self, connection: &Connection) -> Result<(), StoreError> {
        let taken = self.persist_on(|| migrations::schema_version(connection))?;
        if taken > migrations::KNOWN {
            let path = self.paths.database();
            return Err(StoreError::Newer { path, found: taken, known: migrations::KNOWN });
        }
        if self.log {
            let log = || connection.execute_batch("PRAGMA journal_mode=WAL");
            if taken == 0 {
                self.persist_on(log)?;
            } else {
                // A record already has its log unless it comes from a network file system; then it works without one
                // too.
                let _ = log();
            }
            self.persist_on(|| connection.execute_batch(RELAXED))?;
        } else {
            // A record that comes from a local disk still has its log, which must not be used on a network file system.
            self.persist_on(|| connection.execute_batch("PRAGMA journal_mode=TRUNCATE;PRAGMA synchronous=FULL"))?;
        }
        if taken < migrations::KNOWN {
            self.persist_on(|| migrations::migrate(connection))?;
        }
        Ok(())
    }

    /// Uses the record, and tries again while it is locked, until the time limit.
    pub(super) fn persist<T>(&self, mut work: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.connection()?;
        self.persist_on(|| work(connection))
    }

    /// Calls a function again while the record is locked. SQLite itself waits for locks, but not if two processes would
    /// wait for each other, and not while the log is created or recovered.
    fn persist_on<T>(&self, mut work: impl FnMut() -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let begun = Instant::now();
        loop {
            match work() {
                Ok(done) => return Ok(done),
                Err(error) if is_passing(&error) && begun.elapsed() < PATIENCE => {
                    // The interval differs between processes, so that they do not collide again.
                    thread::sleep(Duration::from_micros(500 + u64::from(std::process::id() % 64) * 50));
                }
                Err(error) => return Err(StoreError::from_sqlite(&self.paths, error, begun.elapsed())),
            }
        }
    }

    /// Uses the record in one transaction, which holds the write lock from its beginning.
    pub(super) fn write<T>(&self, mut work: impl FnMut(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.connection()?;
        let done = self.persist_on(|| transact(connection, &mut work))?;
        self.shorten_log(connection);
        Ok(done)
    }

    /// Does the same as [`Self::write`], and waits until the transaction is on the disk.
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

    /// Does the same as [`Self::write_durably`], but nothing if another process is writing: for work that can be done
    /// later.
    pub(super) fn write_if_free<T>(
        &self,
        mut work: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let connection = self.connection()?;
        let mut alone = || -> rusqlite::Result<T> {
            connection.execute_batch("PRAGMA synchronous=FULL")?;
            connection.busy_timeout(Duration::ZERO)?;
            transact(connection, &mut work)
        };
        let done = alone();
        // Later uses of the connection wait as usual.
        let _ = connection.busy_timeout(PATIENCE);
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(StoreError::from_sqlite(&self.paths, error, Duration::ZERO)),
        }
    }

    /// Does the same as [`Self::write`] in the exclusive locking mode if possible: for processes that use the record
    /// only once.
    ///
    /// In SQLite's exclusive locking mode no other process has the record open, so that the index of the log is in the
    /// memory of this process. The connection is closed at once, so that no other process waits for it.
    pub(super) fn write_alone<T>(
        &self,
        mut work: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if self.shared.get().is_none() && self.log {
            let mut lane = || -> rusqlite::Result<Option<T>> {
                let connection = connect(&self.paths)?;
                connection.busy_timeout(Duration::ZERO)?;
                connection.query_row("PRAGMA locking_mode=EXCLUSIVE", [], |_| Ok(()))?;
                if migrations::schema_version(&connection)? != migrations::KNOWN {
                    return Ok(None);
                }
                connection.execute_batch(RELAXED)?;
                let done = transact(&connection, &mut work)?;
                self.shorten_log(&connection);
                Ok(Some(done))
            };
            // If that fails for any reason, the shared procedure waits or reports the error.
            if let Ok(Some(done)) = lane() {
                return Ok(done);
            }
        }
        self.write(work)
    }

    /// Copies the log into the file and truncates it if it is long.
    ///
    /// SQLite's automatic checkpoint (`wal_autocheckpoint`) copies the log but lets the next writer of the same process
    /// truncate it. Here every writer is a new process: the log would grow without limit, and each process would copy
    /// all of it again.
    fn shorten_log(&self, connection: &Connection) {
        let Ok(about) = std::fs::metadata(self.paths.beside("-wal")) else { return };
        // If a reader prevents the truncation, only few of the processes try it again.
        if about.len() < LOG_LIMIT || about.len() % LOG_LIMIT > LOG_LIMIT / 8 {
            return;
        }
        carry_over(connection);
    }

    /// Copies the log into the file and truncates it, whatever its size.
    pub(super) fn empty_log(&self) {
        if let (true, Some(connection)) = (self.log, self.shared.get()) {
            carry_over(connection);
        }
    }
}

/// Makes commits not wait for the disk; see the section on locking in [`super`].
const RELAXED: &str = "PRAGMA synchronous=NORMAL";

fn carry_over(connection: &Connection) {
    // If another process uses the record, the next command tries again; the rows are safe already.
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(PATIENCE);
}

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
    // A checkpoint on closing would wait for the disk; the limit of the log's size causes enough checkpoints.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Reports whether an error is temporary because another process uses the record.
fn is_passing(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;
    use crate::store::chain::{self, Draft};
    use crate::store::{advised, behaviour, decisions, grants, prune, rows};

    fn row() -> Draft<'static> {
        let mut draft = Draft::default();
        draft.text("kind", Some("intent"));
        draft.integer("at", 1);
        draft
    }

    fn journal(connection: &Connection) -> String {
        connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_is_made_belongs_to_the_account_alone() {
        let directory = tempfile::tempdir().unwrap();
        let paths = Paths::new(directory.path().join("a/guard"));
        let store = Store::open(&paths).unwrap();
        store.write(|connection| chain::append(connection, &row())).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(paths.directory()), 0o700);
        for file in [paths.database(), paths.beside("-wal"), paths.beside("-shm")] {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }

    #[test]
    fn can_handle_future_schema() {
        let directory = tempfile::tempdir().unwrap();
        let paths = Paths::new(directory.path());
        let store = Store::open(&paths).unwrap();
        store.write(|connection| chain::append(connection, &row())).unwrap();
        store.write(|connection| connection.pragma_update(None, "user_version", 99)).unwrap();
        drop(store);
        let fresh = Store::open(&paths).unwrap();
        let newer = |error: &StoreError| matches!(error, StoreError::Newer { found: 99, known: migrations::KNOWN, .. });
        assert!(newer(&fresh.write(|connection| chain::append(connection, &row())).unwrap_err()));
        assert!(newer(&fresh.write_alone(|connection| chain::append(connection, &row())).unwrap_err()));
        assert!(newer(&fresh.head().unwrap_err()));
    }

    #[test]
    fn a_record_that_comes_to_a_shared_disk_loses_its_log_and_no_row() {
        let directory = tempfile::tempdir().unwrap();
        let paths = Paths::new(directory.path());
        let local = Store::open(&paths).unwrap();
        local.write_alone(|connection| chain::append(connection, &row())).unwrap();
        assert_eq!(journal(local.connection().unwrap()), "wal");
        drop(local);
        let shared = Store { paths: paths.clone(), log: false, shared: OnceCell::new(), whole: RefCell::default() };
        shared.write_alone(|connection| chain::append(connection, &row())).unwrap();
        shared.write_durably(|connection| chain::append(connection, &row())).unwrap();
        assert_eq!(journal(shared.connection().unwrap()), "truncate");
        assert_eq!(shared.persist(|c| c.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0))).unwrap(), 2);
        drop(shared);
        let local = Store::open(&paths).unwrap();
        local.write_alone(|connection| chain::append(connection, &row())).unwrap();
        let audit = local.verify().unwrap();
        assert_eq!((audit.rows, audit.faults.len()), (4, 0));
        assert_eq!(journal(local.connection().unwrap()), "wal");
    }

    #[test]
    fn the_log_stays_short_though_every_writer_is_new() {
        let directory = tempfile::tempdir().unwrap();
        let paths = Paths::new(directory.path());
        for _ in 0..300 {
            Store::open(&paths).unwrap().write_alone(|connection| chain::append(connection, &row())).unwrap();
            assert!(std::fs::metadata(paths.beside("-wal")).unwrap().len() < LOG_LIMIT + (64 << 10));
        }
        assert_eq!(Store::open(&paths).unwrap().verify().unwrap().rows, 300);
    }

    #[test]
    fn the_lane_is_left_when_somebody_shares_the_record_and_the_row_is_written_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let paths = Paths::new(directory.path());
        let other = Store::open(&paths).unwrap();
        other.write(|connection| chain::append(connection, &row())).unwrap();
        let alone = Store::open(&paths).unwrap();
        alone.write_alone(|connection| chain::append(connection, &row())).unwrap();
        assert!(alone.shared.get().is_some());
        assert_eq!(other.head().unwrap().unwrap().row, 2);
    }

    #[test]
    fn what_is_asked_on_the_way_is_answered_by_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&Paths::new(directory.path())).unwrap();
        let in_scope = grants::in_scope();
        for question in [
            chain::HEAD,
            behaviour::HIGHEST,
            behaviour::LAST_OF,
            behaviour::FINDINGS,
            behaviour::TIMES,
            rows::RESULT,
            rows::NESTED,
            prune::SEAL,
            decisions::WAITING,
            advised::NEWEST,
            advised::USED,
            &in_scope,
        ] {
            let plan: Vec<String> = store
                .persist(|connection| {
                    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {question}"))?;
                    let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
                    statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3))?.collect()
                })
                .unwrap();
            let scans = plan.iter().any(|step| step.starts_with("SCAN") && question.contains("WHERE"));
            assert!(!scans, "{question}: {plan:?}");
        }
    }
}
