//! The record: decisions, results and grants, chained in one SQLite file.
//!
//! Out of scope: policy (what a decision should be), the terminal, and any row that is changed after it was
//! written. `now` is always a parameter.
//!
//! # On locking
//!
//! Many guards write at once, most of them live for a millisecond, and none may wait for a reader. Hence the
//! write-ahead log: readers never block the writer, and a commit is one append to one file.
//!
//! A row takes the write lock from its beginning (`BEGIN IMMEDIATE`), because it reads the end of the chain in order to
//! continue it. A transaction that began by reading would let two guards see the same end, and one of them would have
//! to start over; with the lock taken first they queue up, and the chain cannot fork.
//!
//! `synchronous=NORMAL` means that a commit waits for no disk. In the log's mode this never damages the file: a loss of
//! power may take the last rows, whole ones and from the end, as if the machine had stopped a moment earlier. The end
//! of a process, kill -9 included, takes nothing that was committed. Rows of tier 3 and above are the exception: they
//! are on the disk before the command runs, because such a command may be what ends the machine, and because a person's
//! answer has cost seconds already.
//!
//! On file systems that several machines share, the log's shared memory does not exist; there a rollback journal
//! and full waits for the disk are used, which is slower and right.
//!
//! Most guards write one row and become another program. They take the record for themselves for that moment
//! (`write_alone`), which spares the shared memory; where somebody else has it open, they share it like everybody.
//!
//! The queue is another file ([`queue`]): its rows change, and what was exact in them is erased, while rows of the
//! record do neither; and the schema of the record, which every command reads, stays as short as it is.
//!
//! The log is not carried over into the file when the record is closed, because that waits for the disk: only once the
//! log is long, and then it is emptied too, because every opening reads it through.

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

/// The HMAC of some bytes under the key of the record in this directory, for one purpose, in hexadecimal digits. Where there
/// is no record yet, its key is made.
///
/// # Errors
/// The key cannot be read or made.
pub fn seal_beside(directory: &std::path::Path, purpose: &str, bytes: &[u8]) -> Result<String, StoreError> {
    let seal = key::DigestKey::read_or_make(&Paths::new(directory).key())?.seal(purpose, bytes);
    Ok(seal.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The record, for reading and writing.
pub struct Store {
    paths: Paths,
    /// The disk is this machine's own, so that there can be a write-ahead log.
    log: bool,
    /// Opened when it is first needed.
    shared: OnceCell<rusqlite::Connection>,
    /// For which session the record was last found as it was written, and its head then.
    whole: RefCell<Option<Box<(String, Head)>>>,
}

impl Store {
    /// Reads the chain through and tells every fault in it.
    ///
    /// # Errors
    /// The record cannot be read to its end.
    pub fn verify(&self) -> Result<Audit, StoreError> {
        let key = DigestKey::read(&self.paths.key());
        let mut audit = self.persist(|connection| audit::read_through(connection, key.as_ref().ok()))?;
        self.lost_answers(0)?.into_iter().for_each(|row| audit.fault(RecordFault::Lost { row }));
        let unsealed = audit.faults.iter().any(|fault| matches!(fault, RecordFault::Unsealed { .. }));
        // Without the key no seal can be proved; that the key is out of reach is another trouble than a false seal.
        match key {
            Err(error @ (StoreError::Denied { .. } | StoreError::NotOurs { .. })) if unsealed => Err(error),
            _ => Ok(audit),
        }
    }

    /// Whether a head that was kept elsewhere is still part of the chain; `None` when its row was pruned together with
    /// rows after it, so that it cannot be told. Only a chain that [`Store::verify`] finds whole makes this a proof.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn holds(&self, head: &Head) -> Result<Option<bool>, StoreError> {
        self.persist(|connection| edited::holds(connection, head))
    }

    /// The number of the first row that is there; `None` while the record is empty.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn first_row(&self) -> Result<Option<i64>, StoreError> {
        self.persist(prune::first_row)
    }

    /// The first row that can be read from some row on, in a damaged file; `None` when none can.
    ///
    /// # Errors
    /// The record cannot be read at all.
    pub fn next_readable(&self, from: i64) -> Result<Option<i64>, StoreError> {
        self.persist(|connection| audit::next_readable(connection, from))
    }

    /// The end of the chain; `None` while the record is empty.
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
