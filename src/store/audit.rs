//! Verifies the chain.
//!
//! The verification detects rows that were edited, removed or moved, and missing rows at the beginning unless a sealed
//! row says that they were pruned ([`super::prune`]). It does not detect a truncated end, or a chain that was rebuilt
//! from some row on. These can be detected with a head (the number and the hash of the last row) that is kept elsewhere
//! or, for a week, with the queue if the missing rows are answers to its requests.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior};

use super::chain::{Head, Layout, Link, link};
use super::key::DigestKey;
use super::prune::{self, Pruned};

/// A difference between the record and what guard wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// The rows from one number to another, both included, are missing.
    Missing { first: i64, last: i64 },
    /// The row does not continue the one before it: one of the two was changed or moved.
    Broken { row: i64 },
    /// The row says that rows up to another were pruned, but its seal is not of the local key.
    Unsealed { row: i64, last: Option<i64> },
    /// The row says that rows up to another were pruned, but they exist.
    NotPruned { row: i64, last: i64 },
    /// The rows from one number to another, or to the end, cannot be read because the file is damaged.
    Damaged { first: i64, last: Option<i64>, detail: String },
    /// The row of an answer that the queue still contains is missing.
    Lost { row: i64 },
    /// SQLite reports that the file is inconsistent.
    File { detail: String },
}

impl std::fmt::Display for RecordFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { first, last } if first == last => write!(f, "row {first} was removed"),
            Self::Missing { first, last } => write!(f, "rows {first} to {last} were removed"),
            Self::Broken { row } => write!(
                f,
                "row {row} does not match the hash chain: it was edited or moved, or the previous row was replaced"
            ),
            Self::Unsealed { row, last } => {
                let last = last.map_or_else(|| "others".to_owned(), |last| format!("all rows up to {last}"));
                write!(f, "row {row} says that {last} were pruned, but is not sealed with the key of this record")
            }
            Self::NotPruned { row, last } => {
                write!(f, "row {row} says that all rows up to {last} were pruned, but some of them exist")
            }
            Self::Damaged { first, last: None, detail } => {
                write!(f, "the file is damaged: rows from {first} on cannot be read ({detail})")
            }
            Self::Damaged { first, last: Some(last), detail } => {
                write!(f, "the file is damaged: rows {first} to {last} cannot be read ({detail})")
            }
            Self::Lost { row } => write!(
                f,
                "row {row}, an answer that the queue still refers to, is missing: the end of the record was removed"
            ),
            Self::File { detail } => write!(f, "the file is inconsistent: {detail}"),
        }
    }
}

/// The result of the verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// The number of rows.
    pub rows: u64,
    pub head: Option<Head>,
    /// The rows that were pruned before the first row.
    pub pruned: Option<PrunedEnd>,
    /// The faults in the order of the rows; at most [`MAX_FAULTS`].
    pub faults: Vec<RecordFault>,
    /// The number of further faults.
    pub more: u64,
}

/// The pruning that the newest sealed row describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedEnd {
    /// The number of the sealed row.
    pub row: i64,
    /// The time at which it was written.
    pub at: Timestamp,
    /// The last pruning. All rows before it were pruned earlier.
    pub pruned: Pruned,
}

/// Maximum number of faults that are returned.
pub const MAX_FAULTS: usize = 100;

impl Audit {
    pub(super) fn fault(&mut self, fault: RecordFault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }
}

/// Verifies the chain from the first row to the last.
pub(super) fn read_through(connection: &Connection, key: Option<&DigestKey>) -> rusqlite::Result<Audit> {
    // All queries use one snapshot; otherwise rows that are pruned in the meantime would seem to be missing.
    let _view = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
    let mut audit = Audit::default();
    let (mut before, seals) = beginning(connection, key, &mut audit)?;
    let mut statement = connection.prepare("SELECT * FROM record WHERE id >= ?1 ORDER BY id")?;
    let layout = Layout::of(&statement);

    let mut from = i64::MIN;
    loop {
        let mut rows = statement.query([from])?;
        let ended = loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break None,
                Err(error) if is_damage(&error) && audit.rows > 0 => break Some(error.to_string()),
                Err(error) => return Err(error),
            };
            let (number, written, columns) = layout.read(row)?;
            // The break after a damaged part is reported with the damage.
            let resumed = number == from;
            let gap = number != before.row.saturating_add(1);
            if gap && number > before.row && !resumed {
                audit.fault(RecordFault::Missing {
                    first: before.row.saturating_add(1),
                    last: number.saturating_sub(1),
                });
            } else if gap && !resumed {
                audit.fault(RecordFault::Broken { row: number });
            }
            let computed = link(before.link, number, columns.into_iter());
            // The first row after a gap never matches; the gap is reported already.
            if !gap && !resumed && written != Some(computed) {
                audit.fault(RecordFault::Broken { row: number });
            }
            if let Some(fault) = seals.get(&number) {
                audit.fault(fault.clone());
            }
            before = Head { row: number, link: written.unwrap_or(computed) };
            audit.rows += 1;
            audit.head = Some(before);
        };
        drop(rows);
        let Some(detail) = ended else { break };
        let first = before.row.saturating_add(1);
        let next = next_readable(connection, first)?;
        audit.fault(RecordFault::Damaged { first, last: next.map(|next| next.saturating_sub(1)), detail });
        match next {
            Some(next) => from = next,
            None => break,
        }
    }

    let mut statement = connection.prepare("PRAGMA integrity_check(10)")?;
    let mut answers = statement.query([])?;
    loop {
        let detail: String = match answers.next() {
            Ok(Some(answer)) => answer.get(0)?,
            Ok(None) => break,
            // For some damage SQLite does not say where it is.
            Err(error) if is_damage(&error) && audit.rows > 0 => {
                if audit.faults.is_empty() {
                    audit.fault(RecordFault::File { detail: error.to_string() });
                }
                break;
            }
            Err(error) => return Err(error),
        };
        if detail != "ok" {
            audit.fault(RecordFault::File { detail });
        }
    }
    Ok(audit)
}

fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::SystemIoFailure | ErrorCode::NotADatabase))
}

/// Returns the first readable row from a row on, after an unreadable page; `None` if there is none.
pub(super) fn next_readable(connection: &Connection, from: i64) -> rusqlite::Result<Option<i64>> {
    let mut probe = connection.prepare("SELECT id, length(hash) FROM record WHERE id >= ?1 ORDER BY id LIMIT 1")?;
    let mut look = |from: i64| match probe.query_row([from], |row| row.get::<_, i64>(0)).optional() {
        Err(error) if is_damage(&error) => Ok(None),
        found => found.map(|found| Some(found.unwrap_or(i64::MAX))),
    };
    let (mut step, mut low) = (1_i64, from);
    let mut high = loop {
        let at = low.saturating_add(step);
        match look(at)? {
            Some(i64::MAX) => return Ok(None),
            Some(found) => break found,
            None if at == i64::MAX => return Ok(None),
            None => (low, step) = (at, step.saturating_mul(2)),
        }
    };
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        match look(middle)? {
            Some(found) if found < high => high = found,
            // The readable rows begin there.
            Some(_) => break,
            None => low = middle,
        }
    }
    Ok(Some(high))
}

/// Returns the hash that the first row has to continue, and the faults of the rows that describe prunings.
fn beginning(
    connection: &Connection,
    key: Option<&DigestKey>,
    audit: &mut Audit,
) -> rusqlite::Result<(Head, BTreeMap<i64, RecordFault>)> {
    let first = prune::first_row(connection)?.unwrap_or(1);
    let mut before = Head { row: 0, link: Link::START };
    let mut faults = BTreeMap::new();
    let seals = match prune::seals(connection) {
        // If not all of them can be read, only the one before the first row is looked up.
        Err(error) if is_damage(&error) => prune::seal_of(connection, first - 1)?.into_iter().collect(),
        seals => seals?,
    };
    for seal in seals {
        let sealed = seal.holds(key);
        if !sealed {
            faults.insert(seal.row, RecordFault::Unsealed { row: seal.row, last: seal.last });
        } else if let Some(last) = seal.last.filter(|last| *last >= first) {
            faults.insert(seal.row, RecordFault::NotPruned { row: seal.row, last });
        }
        // The newest valid one: missing rows after those that it names were not pruned.
        let Some(pruned) = seal.pruned.filter(|pruned| sealed && pruned.last < first) else { continue };
        before = Head { row: pruned.last, link: pruned.head };
        let at = Timestamp::from_millisecond(seal.at).unwrap_or_default();
        audit.pruned = Some(PrunedEnd { row: seal.row, at, pruned });
    }
    Ok((before, faults))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{Sample, risk};
    use super::super::{Paths, RecordedDecision, Store};
    use super::*;
    use crate::judge::policy::{ApprovalReason, Refusal};
    use crate::judge::risk::Tier;

    /// Returns a record of five rows.
    fn five() -> Sample {
        let sample = Sample::new();
        for at in 1..=5 {
            let risk = risk(&format!("x.{at}"), Tier::Low, &[]);
            sample.decide("r", at, &risk, RecordedDecision::Allowed(&ApprovalReason::Score), None);
        }
        sample
    }

    fn faults(sample: &Sample) -> Vec<RecordFault> {
        sample.store.verify().unwrap().faults
    }

    #[test]
    fn a_record_as_it_was_written_has_no_fault() {
        let sample = five();
        let audit = sample.store.verify().unwrap();
        assert_eq!((audit.rows, audit.faults.len(), audit.head), (5, 0, sample.store.head().unwrap()));
    }

    #[test]
    fn a_removed_row_is_named() {
        let sample = five();
        sample.tamper("DELETE FROM record WHERE id IN (1, 3, 4)");
        assert_eq!(
            faults(&sample),
            [RecordFault::Missing { first: 1, last: 1 }, RecordFault::Missing { first: 3, last: 4 }]
        );
    }

    #[test]
    fn a_removed_row_is_found_when_the_others_are_renumbered() {
        let sample = five();
        sample.tamper(
            "DELETE FROM record WHERE id = 3; UPDATE record SET id = 3 WHERE id = 4;
            UPDATE record SET id = 4 WHERE id = 5",
        );
        assert_eq!(faults(&sample), [RecordFault::Broken { row: 3 }, RecordFault::Broken { row: 4 }]);
    }

    #[test]
    fn rows_that_changed_places_are_found() {
        let sample = five();
        sample.tamper(
            "UPDATE record SET id = 9 WHERE id = 2; UPDATE record SET id = 2 WHERE id = 3;
            UPDATE record SET id = 3 WHERE id = 9",
        );
        assert_eq!(faults(&sample), [2, 3, 4].map(|row| RecordFault::Broken { row }));
    }

    #[test]
    fn a_row_put_in_front_or_between_is_found() {
        let sample = five();
        sample.tamper("INSERT INTO record(id, hash, kind, at) VALUES(0, zeroblob(32), 'intent', 1)");
        assert!(faults(&sample).contains(&RecordFault::Broken { row: 0 }));
    }

    #[test]
    fn an_index_that_leaves_out_a_row_is_found() {
        let sample = five();
        let denied = Refusal::Person { words: None };
        sample.decide("r", 6, &risk("x.y", Tier::High, &[]), RecordedDecision::Refused(&denied), Some(9));
        // The rows are unchanged, but the index is declared for other rows.
        sample.tamper(
            "PRAGMA writable_schema = 1; UPDATE sqlite_schema
             SET sql = replace(sql, 'mark IS NOT NULL', 'mark IS NULL') WHERE name = 'marked'",
        );
        let fresh = Store::open(&Paths::new(sample.directory.path())).unwrap();
        assert!(matches!(fresh.verify().unwrap().faults[..], [RecordFault::File { .. }, ..]));
    }

    #[test]
    fn a_tail_that_was_cut_leaves_a_whole_chain_with_another_head() {
        let sample = five();
        let kept = sample.store.head().unwrap();
        sample.tamper("DELETE FROM record WHERE id > 3");
        assert_eq!(faults(&sample), []);
        assert_ne!(sample.store.head().unwrap(), kept);
    }

    #[test]
    fn a_great_many_faults_are_counted_and_not_all_told() {
        let sample = Sample::new();
        let count = MAX_FAULTS + 20;
        for _ in 0..count {
            sample.decide(
                "r",
                1,
                &risk("x.y", Tier::Low, &[]),
                RecordedDecision::Allowed(&ApprovalReason::Score),
                None,
            );
        }
        sample.tamper("UPDATE record SET hash = zeroblob(32)");
        let audit = sample.store.verify().unwrap();
        assert_eq!((audit.faults.len(), audit.more), (MAX_FAULTS, 20));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_edit_of_any_column_is_found(row in 1_i64..=5, column in 0_usize..64, text in "[a-z]{2,8}x", number in 1000_i64..) {
            let sample = five();
            let columns: Vec<(String, String)> = sample.store.persist(|connection| {
                let mut statement = connection.prepare("SELECT name, type FROM pragma_table_info('record') WHERE name <> 'id'")?;
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            }).unwrap();
            let (name, kind) = &columns[column % columns.len()];
            let value = match kind.as_str() {
                "INTEGER" => number.to_string(),
                "TEXT" => format!("'{text}'"),
                _ => format!("CAST('{text}' AS BLOB)"),
            };
            sample.tamper(&format!("UPDATE record SET {name} = {value} WHERE id = {row}"));
            let found = faults(&sample);
            let broken = |wanted: i64| found.contains(&RecordFault::Broken { row: wanted });
            prop_assert!(broken(row), "{name} of {row}: {found:?}");
        }
    }
}
