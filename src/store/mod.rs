//! The record: decisions, results and grants as a hash chain in one SQLite file.
//!
//! Out of scope: taking decisions, the terminal, and changing a row after it was written. The current time is always a
//! parameter.
//!
//! # On locking
//!
//! Many guard processes write at the same time, most of them run for a millisecond, and none may wait for a reader.
//! Therefore the record has a write-ahead log: readers never block the writer, and a commit is one append to one file.
//!
//! A transaction takes the write lock when it begins (`BEGIN IMMEDIATE`), because it reads the end of the chain in
//! order to continue it. If it began with a read, two processes could see the same end, and one of them would have to
//! start again. With the lock, they wait for each other, and the chain cannot fork.
//!
//! With `synchronous=NORMAL` a commit does not wait for the disk. With a write-ahead log this never damages the file:
//! after a power failure the last rows may be missing, as if the machine had stopped a moment earlier. The end of a
//! process, even by kill -9, loses nothing that was committed. Rows of tier 3 and above are on the disk before the
//! command runs, because such a command may crash the machine, and the time is negligible compared with a person's
//! answer.
//!
//! A network file system has no shared memory for the log. There guard uses a rollback journal and waits for the disk,
//! which is slower but correct.
//!
//! Most guard processes write one row and then execute another program. They lock the record exclusively for that
//! moment (`write_alone`), so that no shared memory is needed. If another process has the record open, they share it.
//!
//! The queue is a separate file ([`queue`]): its rows change, and exact commands are erased from them, neither of which
//! is allowed in the record. It also keeps the schema of the record, which every command reads, short.
//!
//! guard does not copy the log into the file when it closes the record, because that waits for the disk. It does so
//! only if the log is long, and then also truncates it, because every process that opens the record reads the whole
//! log.

mod advised;
mod answers;
mod attempt;
mod audit;
mod behaviour;
mod blocks;
mod chain;
mod decisions;
mod edited;
mod entries;
mod error;
mod find;
mod grants;
mod intent_row;
mod key;
mod learn;
mod ledger;
mod migrations;
mod open;
mod paths;
mod probe;
mod prune;
pub mod queue;
mod redact;
mod rows;
#[cfg(test)]
mod sample;
mod stats;

use std::cell::{OnceCell, RefCell};

use self::key::DigestKey;

pub use advised::HandedCommand;
pub use answers::RecordedAnswer;
pub use attempt::attempted;
pub use audit::{Audit, MAX_FAULTS, PrunedEnd, RecordFault};
pub use chain::{Head, Link};
pub use decisions::{CommandResult, ExitStatus};
pub use entries::{ContextEntry, FindingEntry, context, findings, is_probe};
pub use error::StoreError;
pub use find::Filter;
pub use grants::{GrantEnd, GrantListing, NewGrant};
pub use intent_row::{IntentRow, RecordedDecision};
pub use learn::ShapeAnswers;
pub use paths::Paths;
pub use prune::{Limit, PruneReason, Pruned, Retention, SAFE_DAYS};
pub use redact::{redact, redact_shown};
pub use rows::{Entry, ResultEntry, RowKind};
pub use stats::{HASTY_MS, Stats};

/// Returns the HMAC of bytes with the key of the record in this directory, for one purpose, in hexadecimal digits. If
/// there is no record yet, its key is created.
///
/// # Errors
/// The key cannot be read or created.
pub fn seal_beside(directory: &std::path::Path, purpose: &str, bytes: &[u8]) -> Result<String, StoreError> {
    let seal = key::DigestKey::read_or_make(&Paths::new(directory).key())?.seal(purpose, bytes);
    Ok(seal.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The record, opened for reading and writing.
pub struct Store {
    paths: Paths,
    /// Whether the file is on a local file system, so that a write-ahead log is possible.
    log: bool,
    /// The connection, opened on first use.
    shared: OnceCell<rusqlite::Connection>,
    /// The session for which the record was last verified, and the head at that time.
    whole: RefCell<Option<Box<(String, Head)>>>,
}

impl Store {
    /// Verifies the whole chain and returns every fault.
    ///
    /// # Errors
    /// The record cannot be read to its end.
    pub fn verify(&self) -> Result<Audit, StoreError> {
        let key = DigestKey::read(&self.paths.key());
        let mut audit = self.persist(|connection| audit::read_through(connection, key.as_ref().ok()))?;
        self.lost_answers(0)?.into_iter().for_each(|row| audit.fault(RecordFault::Lost { row }));
        let unsealed = audit.faults.iter().any(|fault| matches!(fault, RecordFault::Unsealed { .. }));
        // Without the key no seal can be verified. An inaccessible key is a different fault than an invalid seal.
        match key {
            Err(error @ (StoreError::Denied { .. } | StoreError::NotOurs { .. })) if unsealed => Err(error),
            _ => Ok(audit),
        }
    }

    /// Reports whether a head that was kept elsewhere is part of the chain; `None` if its row was pruned together with
    /// later rows, so that this is unknown. It is a proof only if [`Store::verify`] finds no fault.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn holds(&self, head: &Head) -> Result<Option<bool>, StoreError> {
        self.persist(|connection| edited::holds(connection, head))
    }

    /// Returns the number of the first row; `None` if the record is empty.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn first_row(&self) -> Result<Option<i64>, StoreError> {
        self.persist(prune::first_row)
    }

    /// Returns the first readable row from a row on, in a damaged file; `None` if there is none.
    ///
    /// # Errors
    /// The record cannot be read at all.
    pub fn next_readable(&self, from: i64) -> Result<Option<i64>, StoreError> {
        self.persist(|connection| audit::next_readable(connection, from))
    }

    /// Returns the end of the chain; `None` if the record is empty.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn head(&self) -> Result<Option<Head>, StoreError> {
        self.persist(chain::head)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("paths", &self.paths).finish_non_exhaustive()
    }
}
