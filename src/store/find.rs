//! Searches for rows.
//!
//! Rows are numbered in the order in which they were written, so that times ascend with the numbers unless the clock
//! was set back. A search by time finds its first and last row by binary search, with a margin of one day for such a
//! clock. Other searches skip the blocks of rows that cannot contain a match ([`super::blocks`]).

use jiff::Timestamp;
use rusqlite::{Connection, ToSql, params, params_from_iter};

use super::blocks::{self, BlockQuery, Blocks, UNCONFIRMED, WORDS};
use super::error::StoreError;
use super::{Paths, Store};
use crate::judge::risk::Tier;

/// The conditions of a search. It never finds the rows of results and of used answers, because the intents already
/// contain this information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The earliest time, inclusive.
    pub since: Option<Timestamp>,
    /// The latest time, exclusive.
    pub until: Option<Timestamp>,
    /// The lowest and the highest tier.
    pub tiers: Option<(Tier, Tier)>,
    /// `allow`, `ask` or `deny`.
    pub decision: Option<String>,
    /// A part of the command, without regard to case.
    pub command: Option<String>,
    /// A glob for the names of tools, without regard to case; `*` for all calls of tools.
    pub tool: Option<String>,
    /// The directory of the command or one above it.
    pub directory: Option<String>,
    /// A part of any text column of the row.
    pub text: Option<String>,
    /// The name or the root of the session.
    pub session: Option<String>,
    /// Whether only commands are found that ran without an approval by a person and are hard or impossible to undo.
    pub unconfirmed: bool,
    /// Only rows after this one are found.
    pub after: Option<i64>,
    /// The maximum number of rows; the newest are kept.
    pub limit: Option<u32>,
}

impl Store {
    /// Returns the numbers of the matching rows in ascending order.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn find(&self, filter: &Filter) -> Result<Vec<i64>, StoreError> {
        self.persist(|connection| find(connection, &self.paths, filter, Order::Newest))
    }

    /// Returns the numbers of the matching rows, of which a limit keeps the oldest instead of the newest. A caller can
    /// thus read many rows in parts, each part after the last row of the previous one.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn find_oldest(&self, filter: &Filter) -> Result<Vec<i64>, StoreError> {
        self.persist(|connection| find(connection, &self.paths, filter, Order::Oldest))
    }
}

/// The time by which a clock may have been set back without a search by time missing a row.
const GRACE_MS: i64 = 24 * 60 * 60 * 1000;

/// The rows that a limit keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Newest,
    Oldest,
}

/// The SQL conditions of the matching rows with their values, and the conditions on their blocks.
struct Conditions {
    sql: String,
    values: Vec<Box<dyn ToSql>>,
    wanted: BlockQuery,
}

impl Conditions {
    fn of(filter: &Filter) -> Self {
        let mut all = Self { sql: String::new(), values: Vec::new(), wanted: BlockQuery::default() };
        if let Some(since) = filter.since {
            all.and("at >= ?", since.as_millisecond());
        }
        if let Some(until) = filter.until {
            all.and("at < ?", until.as_millisecond());
        }
        if let Some((lowest, highest)) = filter.tiers {
            all.and("tier >= ?", lowest.number());
            all.and("tier <= ?", highest.number());
            all.wanted.tiers(lowest.number(), highest.number());
        }
        if let Some(decision) = &filter.decision {
            all.wanted.decision(decision);
            all.and("decision = ?", decision.clone());
        }
        if let Some(part) = &filter.command {
            all.wanted.text(part);
            all.and("instr(lower(command), lower(?)) > 0", part.clone());
        }
        if let Some(glob) = &filter.tool {
            all.and("lower(tool) GLOB ?", glob.to_lowercase());
        }
        if let Some(directory) = &filter.directory {
            let directory = directory.trim_end_matches('/');
            all.wanted.text(directory);
            // With a trailing slash on both sides, because /a/b is below /a and /ab is not.
            all.and("instr(cwd || '/', ?) = 1", format!("{directory}/"));
        }
        if let Some(part) = &filter.text {
            all.wanted.text(part);
            all.and(&format!("instr(lower({WORDS}), lower(?)) > 0"), part.clone());
        }
        if let Some(session) = &filter.session {
            all.wanted.text(session);
            all.and("? IN (session, root)", session.clone());
        }
        if filter.unconfirmed {
            all.wanted.unconfirmed();
            all.sql.push_str(" AND ");
            all.sql.push_str(UNCONFIRMED);
        }
        all
    }

    fn and(&mut self, condition: &str, value: impl ToSql + 'static) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.push(Box::new(value));
    }
}

fn find(connection: &Connection, paths: &Paths, filter: &Filter, order: Order) -> rusqlite::Result<Vec<i64>> {
    let (mut first, mut last): (i64, i64) = connection.query_row(EDGES, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    first = first.max(filter.after.map_or(first, |after| after.saturating_add(1)));
    if let Some(since) = filter.since.map(Timestamp::as_millisecond) {
        first = first.max(first_from(connection, since.saturating_sub(GRACE_MS))?);
    }
    if let Some(until) = filter.until.map(Timestamp::as_millisecond) {
        last = last.min(first_from(connection, until.saturating_add(GRACE_MS))?);
    }
    let conditions = Conditions::of(filter);
    let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
    let direction = if order == Order::Newest { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT id FROM record WHERE id BETWEEN ? AND ? AND kind NOT IN ('result', 'taken'){} ORDER BY id {direction} LIMIT ?",
        conditions.sql
    );
    let mut statement = connection.prepare(&sql)?;
    let mut ids = Vec::new();
    let mut look = |first: i64, last: i64, ids: &mut Vec<i64>| -> rusqlite::Result<()> {
        let left = i64::try_from(limit - ids.len()).unwrap_or(i64::MAX);
        let edges: [&dyn ToSql; 2] = [&first, &last];
        let values = conditions.values.iter().map(|value| &**value);
        let all = edges.into_iter().chain(values).chain(std::iter::once::<&dyn ToSql>(&left));
        let mut rows = statement.query(params_from_iter(all))?;
        while let Some(row) = rows.next()? {
            ids.push(row.get(0)?);
        }
        Ok(())
    };
    let blocks = if conditions.wanted.is_selective() && blocks::of_row(first) < blocks::of_row(last) {
        Blocks::open(paths, connection)
    } else {
        None
    };
    if let Some(mut blocks) = blocks {
        let (from, to) = (blocks::of_row(first), blocks::of_row(last));
        for step in 0..=to - from {
            let number = if order == Order::Newest { to - step } else { from + step };
            if ids.len() >= limit {
                break;
            }
            if blocks.may_hold(number, &conditions.wanted)? {
                let (begin, end) = blocks::bounds(number);
                look(begin.max(first), end.min(last), &mut ids)?;
            }
        }
    } else {
        look(first, last, &mut ids)?;
    }
    if order == Order::Newest {
        ids.reverse();
    }
    Ok(ids)
}

/// Finds the first and the last number. Two subqueries are used because a query for both would read every row.
pub(super) const EDGES: &str = "SELECT coalesce((SELECT id FROM record ORDER BY id LIMIT 1), 1),
    coalesce((SELECT id FROM record ORDER BY id DESC LIMIT 1), 0)";

/// Returns the first row that is not older than a time; the number after the last row if all are older.
pub(super) fn first_from(connection: &Connection, at: i64) -> rusqlite::Result<i64> {
    let (mut low, last): (i64, i64) = connection.query_row(EDGES, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut high = last.saturating_add(1);
    let mut probe = connection.prepare("SELECT id, at FROM record WHERE id >= ?1 ORDER BY id LIMIT 1")?;
    while low < high {
        let middle = low + (high - low) / 2;
        let (found, time): (i64, i64) = probe.query_row(params![middle], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if time >= at {
            high = middle;
        } else {
            low = found.saturating_add(1);
        }
    }
    Ok(low)
}
