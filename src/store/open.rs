//! Opening the record, and writing to it in transactions.
//!
//! Making it, bringing an old one up to date and opening one that is ready are one procedure: whatever was left half done by a
//! process that was killed is completed by the next.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::{Paths, Store, migrations};

/// How long other processes may keep the record locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of the write-ahead log from which it is carried over into the file.
///
/// Whoever opens the record after all others have gone reads the log through, and nearly every guard is that one: a long
/// log costs each command. Carrying over waits for the disk: a short log costs one command in many.
const LOG_LIMIT: u64 = 256 << 10;

impl Store {
    /// Opens the record, and makes it when there is none. The file itself is opened when it is first needed.
    ///
    /// # Errors
    /// Each with its cause and the remedy; see [`StoreError`].
    pub fn open(paths: &Paths) -> Result<Self, StoreError> {
        if !paths.database().exists() {
            paths.make()?;
        }
        // The write-ahead log keeps an index in memory that all processes share. Across machines there is no such memory, and
        // many file systems in user space do not offer it either: there, a rollback journal is used.
        let log = !guard_system::is_shared(paths.directory());
        Ok(Self { paths: paths.clone(), log, shared: OnceCell::new(), whole: RefCell::default() })
    }

    /// Opens the record where there is one, and makes none.
    ///
    /// # Errors
    /// Something is there and cannot be used.
    pub fn open_existing(paths: &Paths) -> Result<Option<Self>, StoreError> {
        match std::fs::symlink_metadata(paths.database()) {
            Ok(_) => Self::open(paths).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::from_io(&paths.database(), error)),
        }
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
                // It has its log but for one that comes from a shared disk; that one works without it too.
                let _ = log();
            }
            self.persist_on(|| connection.execute_batch(RELAXED))?;
        } else {
            // A record that came from a local disk still has its log; on a shared one there must be none.
            self.persist_on(|| connection.execute_batch("PRAGMA journal_mode=TRUNCATE;PRAGMA synchronous=FULL"))?;
        }
        if taken < migrations::KNOWN {
            self.persist_on(|| migrations::migrate(connection))?;
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

    /// The same, or nothing where somebody else is writing: for what can wait until another day.
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
        // The next to use it waits as usual.
        let _ = connection.busy_timeout(PATIENCE);
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(StoreError::from_sqlite(&self.paths, error, Duration::ZERO)),
        }
    }

    /// The same, as the only thing that this process does with the record: in the fast lane if that is free.
    ///
    /// The lane is SQLite's exclusive locking mode: nobody else has the record open for the moment, so the log's index
    /// need not be shared and is kept in this process's own memory. It is closed at once, so that nobody waits for it.
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
            // Whatever is in the way there is waited for, or told, by the shared procedure.
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
        carry_over(connection);
    }

    /// Carries the log over into the file and empties it, however short it is.
    pub(super) fn empty_log(&self) {
        if let (true, Some(connection)) = (self.log, self.shared.get()) {
            carry_over(connection);
        }
    }
}

/// Commits wait for no disk; see the essay on locking.
const RELAXED: &str = "PRAGMA synchronous=NORMAL";

fn carry_over(connection: &Connection) {
    // Whoever is at it now may go on: the next command tries again. The rows themselves are safe already.
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
