//! Cutting off the old end of the record, so that what stays can still be proved.
//!
//! Rows go from the old end only, and only when they are as they were written: pruning erases no trace of another hand.
//! In the same transaction a `pruned` row is appended, which says what went, why, and the hash of the last row that
//! went. It stands in the chain like every row, and is sealed with the local key besides. The first row that stays
//! continues that hash. Where rows are missing and no such row says so, they were removed by somebody else.
//!
//! Grants that still hold are carried on in new rows; see [`super::grants`]. Marks of a session (denials, secrets read)
//! are not: a session that outlives the retention begins anew.
//!
//! A portion at a time, because other guards wait for the lock meanwhile and do not wait for ever.

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

/// How many rows one transaction prunes.
const PORTION: i64 = 10_000;

/// How long the lock is left to others between two portions.
const BREATH: Duration = Duration::from_millis(20);

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// What was pruned at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// The numbers of the first and the last row that went.
    pub first: i64,
    pub last: i64,
    /// The earliest and the latest time in them.
    pub from: Timestamp,
    pub to: Timestamp,
    /// The earliest time in all that was ever pruned.
    pub since: Timestamp,
    /// What is older than this was to go.
    pub before: Timestamp,
    pub why: PruneReason,
    /// The grants that still held and were carried on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<i64>,
    /// The hash of the last row that went.
    pub head: Link,
}

impl Pruned {
    /// How many rows went.
    #[must_use]
    pub const fn rows(&self) -> i64 {
        self.last - self.first + 1
    }

    /// Whether a row is among them.
    pub(super) fn contains(&self, row: i64) -> bool {
        (self.first..=self.last).contains(&row)
    }

    /// This and what was pruned right after it.
    fn then(self, next: Self) -> Self {
        let carried = self.carried.into_iter().chain(next.carried).collect();
        let (from, to) = (self.from.min(next.from), self.to.max(next.to));
        Self { first: self.first, from, to, carried, ..next }
    }
}

/// What a policy keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Rows of so many days.
    pub days: u32,
    /// As much as so many MiB hold, and what is younger than [`SAFE_DAYS`] whatever its size.
    pub mib: u32,
}

/// Rows of so many days never go because of the record's size: a flood of commands must not wash away what came before.
pub const SAFE_DAYS: u32 = 7;

/// Why rows were pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PruneReason {
    /// The policy keeps rows for so many days.
    Retention { days: u32 },
    /// The policy keeps a record of at most so many MiB.
    Size { mib: u32 },
    /// A person named another age.
    Person,
}

/// What is to be pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Rows older than this.
    pub before: Timestamp,
    pub why: PruneReason,
}

impl Limit {
    /// What a policy that keeps rows for so many days lets go.
    #[must_use]
    pub fn retention(days: u32, now: Timestamp) -> Self {
        let kept = SignedDuration::from_hours(i64::from(days) * 24);
        Self { before: now.checked_sub(kept).unwrap_or(Timestamp::MIN), why: PruneReason::Retention { days } }
    }
}

impl Store {
    /// What [`Store::prune`] would prune. Nothing is written.
    ///
    /// # Errors
    /// The record cannot be read, or what is old in it is not as it was written.
    pub fn would_prune(&self, limit: &Limit, now: Timestamp) -> Result<Option<Pruned>, StoreError> {
        let key = DigestKey::read(&self.paths.key()).ok();
        let survey = self.persist(|connection| survey(connection, limit, now, i64::MAX, key.as_ref()))?;
        survey.wanted()
    }

    /// Prunes all rows older than a limit, from the old end up to the first that is not.
    ///
    /// # Errors
    /// The record cannot be written, or what is old in it is not as it was written; that row stays, and all after it.
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

    /// Prunes all that the policy lets go.
    ///
    /// # Errors
    /// As those of [`Store::prune`], and [`StoreError::Clock`].
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

    /// What goes because the record is larger than a policy keeps it; `None` when it is not. Then it goes down to nine
    /// tenths of that, so that not every row costs another.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn oversize(&self, mib: u32, now: Timestamp) -> Result<Option<Limit>, StoreError> {
        self.persist(|connection| oversize(connection, mib, now))
    }

    /// Prunes a portion of what the policy lets go, when there is a day's worth of it or the record is too large. Meant for moments in which nobody
    /// waits for guard; costs one look at the oldest row when there is nothing to do, and is left for another day while
    /// somebody else writes.
    ///
    /// # Errors
    /// As those of [`Store::prune`].
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

    /// Gives the room of pruned rows back to the disk, when it is worth it. Returns the bytes that were given back.
    ///
    /// # Errors
    /// The record cannot be rewritten; it stays as it was.
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

    /// What is to be done in one transaction.
    fn portion(
        &self,
        limit: &Limit,
        user: &str,
        now: Timestamp,
    ) -> Result<impl FnMut(&Connection) -> rusqlite::Result<Survey>, StoreError> {
        let key = DigestKey::read_or_make(&self.paths.key())?;
        // What is pruned is gone from the file too, not only from its index.
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
    // Rows are much of a size.
    let rows = i128::from(last) - i128::from(first) + 1;
    let gone = i64::try_from(rows * (used - most * 9 / 10) / used).unwrap_or(0);
    let mut oldest = connection.prepare("SELECT at FROM record WHERE id >= ?1 ORDER BY id LIMIT 1")?;
    let kept: Option<i64> = oldest.query_row([first.saturating_add(gone)], |row| row.get(0)).optional()?;
    let safe = now.as_millisecond().saturating_sub(i64::from(SAFE_DAYS) * DAY);
    let before = time(kept.unwrap_or(i64::MIN).min(safe));
    Ok(Some(Limit { before, why: PruneReason::Size { mib } }))
}

/// When the oldest row was written.
pub(super) const OLDEST: &str = "SELECT at FROM record ORDER BY id LIMIT 1";

/// Milliseconds that a row may be too old before it is worth a transaction, and that must have passed within the time
/// that is kept.
fn slack(days: u32) -> i64 {
    DAY.min(i64::from(days) * DAY / 2)
}

/// Whether the record itself bears out the clock: within the time that is kept, a day has passed in it. A clock that
/// jumped ahead must not cost the record.
fn is_witnessed(connection: &Connection, limit: &Limit, days: u32, now: Timestamp) -> rusqlite::Result<bool> {
    let before = limit.before.as_millisecond();
    let from = find::first_from(connection, before)?;
    // Not that row alone: it may have been written by a clock that was wrong then.
    let mut witness = connection.prepare("SELECT 1 FROM record WHERE id >= ?1 AND at BETWEEN ?2 AND ?3 LIMIT 1")?;
    witness.exists([from, before, now.as_millisecond().saturating_sub(slack(days))])
}

/// What is old.
enum Survey {
    Nothing,
    Old(Pruned),
    /// A row that is not as it was written stands among what is old.
    Altered {
        row: i64,
    },
    /// What was pruned before is not proved to have been pruned by guard: the first row that is there.
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

/// Reads from the old end up to the first row that is not older than the limit, or so many rows.
///
/// A row from the future was written by a wrong clock and neither goes by itself nor keeps the rows around it.
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

/// Takes the rows out, and says so in rows of their own.
fn remove(
    connection: &Connection,
    pruned: &mut Pruned,
    user: &str,
    now: Timestamp,
    key: &DigestKey,
) -> rusqlite::Result<()> {
    let held = grants::still_held(connection, pruned.last, now)?;
    pruned.carried = held.iter().map(|(_, number)| *number).collect();
    // These types have only text keys, so that this cannot fail; an empty text would be told as a broken seal.
    let what = serde_json::to_string(&pruned).unwrap_or_default();
    let seal = key.seal(PURPOSE, what.as_bytes());
    let mut draft = Draft::default();
    draft.text("kind", Some("pruned"));
    draft.integer("at", now.as_millisecond());
    draft.integer("about", pruned.last);
    draft.text("what", Some(what));
    draft.blob("digest", &seal);
    draft.text("user", Some(user));
    // Appended first, so that even a record of which nothing stays goes on where it ended.
    chain::append(connection, &draft)?;
    for (row, _) in held {
        grants::carry(connection, row, now)?;
    }
    connection.execute("DELETE FROM record WHERE id <= ?1", [pruned.last])?;
    Ok(())
}

/// A time in milliseconds; what no calendar holds is its nearest end.
fn time(at: i64) -> Timestamp {
    Timestamp::from_millisecond(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX })
}
