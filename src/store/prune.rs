//! Prunes the oldest rows of the record, so that the remaining rows can still be verified.
//!
//! Only the oldest rows are removed, and only if they are unchanged, so that pruning erases no evidence of tampering.
//! The same transaction appends a `pruned` row, which contains the range, the reason, and the hash of the last pruned
//! row. It is part of the chain like every row, and is also sealed with the local key. The first remaining row
//! continues that hash. If rows are missing without such a row, guard did not remove them.
//!
//! Valid grants are copied to new rows; see [`super::grants`]. The marks of a session (denials, secrets read) are not:
//! a session that outlives the retention begins without them.
//!
//! Rows are pruned in portions, because other processes wait for the lock meanwhile, and only for a limited time.

mod seals;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use self::seals::PURPOSE;
#[cfg(test)]
pub(super) use self::seals::SEAL;
pub(super) use self::seals::{before, first_row, seal_of, seals};
use super::chain::{self, Draft, Layout, Link, link};
use super::error::StoreError;
use super::key::DigestKey;
use super::{Store, blocks, find, grants};

/// The maximum number of rows that one transaction prunes.
const PORTION: i64 = 10_000;

/// The time between two portions, in which other processes can take the lock.
const BREATH: Duration = Duration::from_millis(20);

/// The number of milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// The rows that were pruned together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// The numbers of the first and the last pruned row.
    pub first: i64,
    pub last: i64,
    /// The earliest and the latest time of these rows.
    pub from: Timestamp,
    pub to: Timestamp,
    /// The earliest time of all rows that were ever pruned.
    pub since: Timestamp,
    /// The limit: older rows were to be pruned.
    pub before: Timestamp,
    pub why: PruneReason,
    /// The grants that were still valid and were copied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<i64>,
    /// The hash of the last pruned row.
    pub head: Link,
}

impl Pruned {
    /// Returns the number of pruned rows.
    #[must_use]
    pub const fn rows(&self) -> i64 {
        self.last - self.first + 1
    }

    /// Reports whether a row is among the pruned ones.
    pub(super) fn contains(&self, row: i64) -> bool {
        (self.first..=self.last).contains(&row)
    }

    /// Merges this with the rows that were pruned immediately after it.
    fn then(self, next: Self) -> Self {
        let carried = self.carried.into_iter().chain(next.carried).collect();
        let (from, to) = (self.from.min(next.from), self.to.max(next.to));
        Self { first: self.first, from, to, carried, ..next }
    }
}

/// The rows that a policy keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The age in days up to which rows are kept.
    pub days: u32,
    /// The size in MiB of the rows that are kept. Rows younger than [`SAFE_DAYS`] are kept whatever the size.
    pub mib: u32,
}

/// The age in days up to which rows are never pruned because of the size of the record; otherwise many commands could
/// remove the evidence of earlier ones.
pub const SAFE_DAYS: u32 = 7;

/// The reason why rows were pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PruneReason {
    /// The policy keeps rows for this number of days.
    Retention { days: u32 },
    /// The policy keeps a record of at most this size.
    Size { mib: u32 },
    /// A person requested it.
    Person,
}

/// The rows that are to be pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Older rows than this are pruned.
    pub before: Timestamp,
    pub why: PruneReason,
}

impl Limit {
    /// Returns the limit of a policy that keeps rows for this number of days.
    #[must_use]
    pub fn retention(days: u32, now: Timestamp) -> Self {
        let kept = SignedDuration::from_hours(i64::from(days) * 24);
        Self { before: now.checked_sub(kept).unwrap_or(Timestamp::MIN), why: PruneReason::Retention { days } }
    }
}

impl Store {
    /// Returns what [`Store::prune`] would prune. Nothing is written.
    ///
    /// # Errors
    /// The record cannot be read, or one of the old rows was changed.
    pub fn would_prune(&self, limit: &Limit, now: Timestamp) -> Result<Option<Pruned>, StoreError> {
        let key = DigestKey::read(&self.paths.key()).ok();
        let survey = self.persist(|connection| survey(connection, limit, now, i64::MAX, key.as_ref()))?;
        survey.wanted()
    }

    /// Prunes all rows older than a limit, from the oldest up to the first that is not older.
    ///
    /// # Errors
    /// The record cannot be written, or one of the old rows was changed; that row and all later ones remain.
    pub fn prune(&self, limit: &Limit, user: &str, now: Timestamp) -> Result<Option<Pruned>, StoreError> {
        let mut whole: Option<Pruned> = None;
        while let Some(portion) = self.prune_portion(limit, user, now)? {
            blocks::forget(&self.paths, portion.first, portion.last);
            let is_last = portion.rows() < PORTION;
            whole = Some(match whole {
                Some(before) => before.then(portion),
                None => portion,
            });
            if is_last {
                break;
            }
            std::thread::sleep(BREATH);
        }
        self.empty_log();
        Ok(whole)
    }

    /// Prunes all rows that the policy does not keep.
    ///
    /// # Errors
    /// The same as of [`Store::prune`], and [`StoreError::Clock`].
    pub fn prune_by_policy(&self, days: u32, user: &str, now: Timestamp) -> Result<Option<Pruned>, StoreError> {
        let limit = Limit::retention(days, now);
        if self.would_prune(&limit, now)?.is_none() {
            return Ok(None);
        }
        if !self.persist(|connection| is_witnessed(connection, &limit, days, now))? {
            return Err(StoreError::Clock { days });
        }
        self.prune(&limit, user, now)
    }

    /// Returns the limit for a record that is larger than the policy allows; `None` if it is not. The limit reduces the
    /// record to nine tenths of the allowed size, so that not every new row causes a pruning.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn oversize(&self, mib: u32, now: Timestamp) -> Result<Option<Limit>, StoreError> {
        self.persist(|connection| oversize(connection, mib, now))
    }

    /// Prunes a portion of the rows that the policy does not keep, if they are of more than a day or the record is too
    /// large. It is meant for moments in which nobody waits for guard: if there is nothing to do, it reads only the
    /// oldest row, and if another process is writing, it does nothing.
    ///
    /// # Errors
    /// The same as of [`Store::prune`].
    pub fn keep_to_policy(&self, kept: Retention, user: &str, now: Timestamp) -> Result<Option<Pruned>, StoreError> {
        let days = kept.days;
        let limit = Limit::retention(days, now);
        let old = limit.before.as_millisecond().saturating_sub(slack(days));
        let due = self.persist(|connection| {
            let oldest: Option<i64> = connection.query_row(OLDEST, [], |row| row.get(0)).optional()?;
            Ok(oldest.is_some_and(|oldest| oldest < old) && is_witnessed(connection, &limit, days, now)?)
        })?;
        let limit = if due { Some(limit) } else { self.oversize(kept.mib, now)? };
        let Some(limit) = limit else { return Ok(None) };
        let work = self.portion(&limit, user, now)?;
        let pruned = self.write_if_free(work)?.map_or(Ok(None), Survey::wanted)?;
        if let Some(pruned) = &pruned {
            blocks::forget(&self.paths, pruned.first, pruned.last);
            self.empty_log();
        }
        Ok(pruned)
    }

    /// Returns the space of pruned rows to the file system if it is a quarter of the file or more. Returns the number
    /// of bytes.
    ///
    /// # Errors
    /// The record cannot be rewritten; it is unchanged.
    pub fn compact(&self) -> Result<u64, StoreError> {
        let size = || std::fs::metadata(self.paths.database()).map_or(0, |about| about.len());
        let before = size();
        self.persist(|connection| {
            let pragma = |name: &str| connection.query_row(name, [], |row| row.get::<_, i64>(0));
            let (free, all) = (pragma("PRAGMA freelist_count")?, pragma("PRAGMA page_count")?);
            if free * 4 < all { Ok(()) } else { connection.execute_batch("VACUUM") }
        })?;
        self.empty_log();
        Ok(before.saturating_sub(size()))
    }

    fn prune_portion(&self, limit: &Limit, user: &str, now: Timestamp) -> Result<Option<Pruned>, StoreError> {
        let work = self.portion(limit, user, now)?;
        self.write_durably(work)?.wanted()
    }

    /// Returns the work of one transaction.
    fn portion(
        &self,
        limit: &Limit,
        user: &str,
        now: Timestamp,
    ) -> Result<impl FnMut(&Connection) -> rusqlite::Result<Survey>, StoreError> {
        let key = DigestKey::read_or_make(&self.paths.key())?;
        // Pruned rows are also overwritten in the file.
        self.persist(|connection| connection.query_row("PRAGMA secure_delete=ON", [], |_| Ok(())))?;
        Ok(move |connection: &Connection| {
            let mut survey = survey(connection, limit, now, PORTION, Some(&key))?;
            if let Survey::Old(pruned) = &mut survey {
                remove(connection, pruned, user, now, &key)?;
            }
            Ok(survey)
        })
    }
}

fn oversize(connection: &Connection, mib: u32, now: Timestamp) -> rusqlite::Result<Option<Limit>> {
    let pragma = |name: &str| connection.query_row(name, [], |row| row.get::<_, i64>(0));
    let pages = pragma("PRAGMA page_count")?.saturating_sub(pragma("PRAGMA freelist_count")?);
    let used = i128::from(pages) * i128::from(pragma("PRAGMA page_size")?);
    let most = i128::from(mib) << 20;
    if used <= most {
        return Ok(None);
    }
    let (first, last): (i64, i64) = connection.query_row(find::EDGES, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // The rows are assumed to be of similar size.
    let rows = i128::from(last) - i128::from(first) + 1;
    let gone = i64::try_from(rows * (used - most * 9 / 10) / used).unwrap_or(0);
    let mut oldest = connection.prepare("SELECT at FROM record WHERE id >= ?1 ORDER BY id LIMIT 1")?;
    let kept: Option<i64> = oldest.query_row([first.saturating_add(gone)], |row| row.get(0)).optional()?;
    let safe = now.as_millisecond().saturating_sub(i64::from(SAFE_DAYS) * DAY);
    let before = time(kept.unwrap_or(i64::MIN).min(safe));
    Ok(Some(Limit { before, why: PruneReason::Size { mib } }))
}

/// Finds the time of the oldest row.
pub(super) const OLDEST: &str = "SELECT at FROM record ORDER BY id LIMIT 1";

/// Returns the milliseconds by which the oldest row has to exceed the retention before rows are pruned, and which must
/// have passed in the kept part of the record.
fn slack(days: u32) -> i64 {
    DAY.min(i64::from(days) * DAY / 2)
}

/// Reports whether the record itself confirms the clock: it contains a row within the retention that is older than
/// [`slack`]. A clock that jumped ahead must not cause the loss of the record.
fn is_witnessed(connection: &Connection, limit: &Limit, days: u32, now: Timestamp) -> rusqlite::Result<bool> {
    let before = limit.before.as_millisecond();
    let from = find::first_from(connection, before)?;
    // Later rows count too, because a wrong clock may have written that row.
    let mut witness = connection.prepare("SELECT 1 FROM record WHERE id >= ?1 AND at BETWEEN ?2 AND ?3 LIMIT 1")?;
    witness.exists([from, before, now.as_millisecond().saturating_sub(slack(days))])
}

/// The state of the old rows.
enum Survey {
    Nothing,
    Old(Pruned),
    /// One of the old rows was changed.
    Altered {
        row: i64,
    },
    /// There is no proof that guard pruned the rows before the first row.
    Unproved {
        row: i64,
    },
}

impl Survey {
    fn wanted(self) -> Result<Option<Pruned>, StoreError> {
        match self {
            Self::Nothing => Ok(None),
            Self::Old(pruned) => Ok(Some(pruned)),
            Self::Altered { row } => Err(StoreError::Altered { row }),
            Self::Unproved { row } => Err(StoreError::Unproved { row }),
        }
    }
}

/// Reads from the oldest row up to the first that is not older than the limit, or `most` rows.
///
/// A row with a time in the future was written with a wrong clock. It does not end the survey, and is pruned only if a
/// row older than the limit follows it.
fn survey(
    connection: &Connection,
    limit: &Limit,
    now: Timestamp,
    most: i64,
    key: Option<&DigestKey>,
) -> rusqlite::Result<Survey> {
    let (limit_at, now) = (limit.before.as_millisecond(), now.as_millisecond());
    let Some(first) = first_row(connection)? else { return Ok(Survey::Nothing) };
    let mut since = None;
    let mut before = Link::START;
    if first != 1 {
        match seal_of(connection, first - 1)?.filter(|seal| seal.holds(key)).and_then(|seal| seal.pruned) {
            Some(earlier) => (before, since) = (earlier.head, Some(earlier.since)),
            None => return Ok(Survey::Unproved { row: first }),
        }
    }

    let mut statement = connection.prepare("SELECT * FROM record ORDER BY id")?;
    let layout = Layout::of(&statement);
    let mut found: Option<Pruned> = None;
    let (mut from, mut to) = (i64::MAX, i64::MIN);
    let mut expected = first;
    let mut read = statement.query([])?;
    while let Some(row) = read.next()? {
        let at: i64 = row.get("at")?;
        if (limit_at..=now).contains(&at) {
            break;
        }
        let (number, written, columns) = layout.read(row)?;
        let computed = link(before, number, columns.into_iter());
        if number != expected || written != Some(computed) {
            return Ok(Survey::Altered { row: number });
        }
        (before, expected) = (computed, number.saturating_add(1));
        (from, to) = (from.min(at), to.max(at));
        if at < limit_at {
            let (from, to) = (time(from), time(to));
            let since = since.unwrap_or(from).min(from);
            let (before, why, carried) = (limit.before, limit.why, Vec::new());
            found = Some(Pruned { first, last: number, from, to, since, before, why, carried, head: computed });
        }
        if number - first + 1 >= most {
            break;
        }
    }
    Ok(found.map_or(Survey::Nothing, Survey::Old))
}

/// Removes the rows, and appends rows that describe this.
fn remove(
    connection: &Connection,
    pruned: &mut Pruned,
    user: &str,
    now: Timestamp,
    key: &DigestKey,
) -> rusqlite::Result<()> {
    let held = grants::still_held(connection, pruned.last, now)?;
    pruned.carried = held.iter().map(|(_, number)| *number).collect();
    // These types have only text keys, so this cannot fail; an empty text would be reported as an invalid seal.
    let what = serde_json::to_string(&pruned).unwrap_or_default();
    let seal = key.seal(PURPOSE, what.as_bytes());
    let mut draft = Draft::default();
    draft.text("kind", Some("pruned"));
    draft.integer("at", now.as_millisecond());
    draft.integer("about", pruned.last);
    draft.text("what", Some(what));
    draft.blob("digest", &seal);
    draft.text("user", Some(user));
    // It is appended first, so that a record continues its chain even if all other rows are removed.
    chain::append(connection, &draft)?;
    for (row, _) in held {
        grants::carry(connection, row, now)?;
    }
    connection.execute("DELETE FROM record WHERE id <= ?1", [pruned.last])?;
    Ok(())
}

/// Returns a time in milliseconds as a timestamp; a value out of range is clamped.
fn time(at: i64) -> Timestamp {
    Timestamp::from_millisecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX })
}
