//! Reading the record: which rows, and what they say.
//!
//! Rows are numbered in the order in which they were written, so that times ascend with the numbers except where the
//! clock was set back. A search by time finds its first and last row by halving, with a day's grace for such a clock.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params, params_from_iter};
use serde::Serialize;

use super::Store;
use super::chain::{self, Link};
use super::decisions::{ContextEntry, End, FindingEntry};
use super::error::StoreError;
use super::prune::{self, Pruned};
use crate::judge::approved::{Place, Until, What};
use crate::judge::risk::{Reversibility, Tier, Weight};

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A decision before a command ran, or instead of running it.
    Intent,
    /// What came of it.
    Result,
    /// An answer to a host that runs commands itself.
    Advised,
    /// A grant was given.
    Grant,
    /// A grant was taken back.
    Revoked,
    /// The old end of the record was cut off.
    Pruned,
    /// A person answered a request that waited in the queue.
    Answered,
    /// A person let a session be asked about again.
    Resumed,
    /// An answer was used: it serves no second time.
    Taken,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Intent,
        Self::Result,
        Self::Advised,
        Self::Grant,
        Self::Revoked,
        Self::Pruned,
        Self::Answered,
        Self::Resumed,
        Self::Taken,
    ];

    /// The word in the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Result => "result",
            Self::Advised => "advised",
            Self::Grant => "grant",
            Self::Revoked => "revoked",
            Self::Pruned => "pruned",
            Self::Answered => "answered",
            Self::Resumed => "resumed",
            Self::Taken => "taken",
        }
    }
}

/// A row of the record. What a kind of row does not have is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub id: i64,
    pub kind: Kind,
    /// When it was written.
    pub time: Timestamp,
    /// The row that it is about: the intent of a result, the intent of the guard above, the grant that was revoked or is
    /// carried on, the last row that was pruned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<i64>,
    /// The decisions of guards below the command, while guard waited for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<i64>,
    /// Redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Something in the command was hidden.
    pub redacted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The root process of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Weight>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextEntry>,
    /// `allow`, `ask` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Who settled it: a basis or the kind of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<String>,
    /// The grant that allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// A person's words, or what the refusal said beyond its kind, or what a grant covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_ms: Option<i64>,
    /// What came of it, where guard waited.
    #[serde(flatten)]
    pub result: Option<ResultEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<What>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// What was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pruned: Option<Pruned>,
    /// The row's place in the chain.
    pub hash: Link,
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub duration_ms: i64,
}

impl ResultEntry {
    /// How it ended; `None` when the row does not say.
    #[must_use]
    pub fn end(&self) -> Option<End> {
        self.signal.map(End::Signal).or(self.exit.map(End::Exit))
    }
}

/// Which rows are wanted. Results are never among them: they are told with their intents; nor that an answer was used,
/// which the intent says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// The lowest and the highest tier.
    pub tiers: Option<(Tier, Tier)>,
    /// `allow`, `ask` or `deny`.
    pub decision: Option<String>,
    /// A part of the command, small and capital letters being the same.
    pub command: Option<String>,
    /// The folder or one above it.
    pub folder: Option<String>,
    /// A part of anything that is said of the row in words.
    pub text: Option<String>,
    /// Of this session, by its name or its root.
    pub session: Option<String>,
    /// What is hard to undo or cannot be undone, and was run without a person.
    pub unconfirmed: bool,
    /// Only rows after this one.
    pub after: Option<i64>,
    /// At most this many, the newest.
    pub limit: Option<u32>,
}

impl Store {
    /// The numbers of the rows that are wanted, in ascending order.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn find(&self, filter: &Filter) -> Result<Vec<i64>, StoreError> {
        self.persist(|connection| find(connection, filter, Order::Newest))
    }

    /// The same, with a limit that lets through the oldest instead of the newest: for going through many rows part by
    /// part, each part after the last row of the one before.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn find_oldest(&self, filter: &Filter) -> Result<Vec<i64>, StoreError> {
        self.persist(|connection| find(connection, filter, Order::Oldest))
    }

    /// A row, an intent together with its result.
    ///
    /// # Errors
    /// There is no such row, or it cannot be read.
    pub fn entry(&self, id: i64) -> Result<Entry, StoreError> {
        let found = self.persist(|connection| {
            let mut statement = connection.prepare_cached("SELECT * FROM record WHERE id = ?1")?;
            let found = statement.query_row([id], |row| Ok(entry(row))).optional()?;
            let Some(Ok(mut entry)) = found else { return Ok(found) };
            if matches!(entry.kind, Kind::Intent) {
                entry.result = connection.prepare_cached(RESULT)?.query_row([id], outcome).optional()?;
                let mut nested = connection.prepare_cached(NESTED)?;
                entry.nested = nested.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            }
            Ok(Some(Ok(entry)))
        })?;
        match found {
            Some(Ok(entry)) => Ok(entry),
            Some(Err(error)) => Err(StoreError::Unreadable { row: id, detail: error.to_string() }),
            None => Err(self.persist(|connection| absent(connection, id))?),
        }
    }
}

/// Why a row is not there.
fn absent(connection: &Connection, row: i64) -> rusqlite::Result<StoreError> {
    let first = prune::first_row(connection)?.unwrap_or(1);
    if (1..first).contains(&row) && prune::seal_of(connection, first - 1)?.is_some() {
        // What tells of an early pruning may have been pruned itself.
        let seals = prune::seals(connection)?;
        let seal = seals.iter().find(|seal| seal.pruned.as_ref().is_some_and(|pruned| pruned.contains(row)));
        return Ok(StoreError::Pruned { row, by: seal.map(|seal| seal.row) });
    }
    Ok(StoreError::NoSuchRow { row, newest: chain::head(connection)?.map(|head| head.row) })
}

/// The result of an intent.
pub(super) const RESULT: &str =
    "SELECT exit, signal, duration_ms FROM record WHERE about = ?1 AND kind = 'result' LIMIT 1";

/// The decisions below an intent.
pub(super) const NESTED: &str = "SELECT id FROM record WHERE about = ?1 AND kind IN ('intent', 'advised') ORDER BY id";

/// How far a clock may have been set back without a search by time missing a row.
const GRACE_MS: i64 = 24 * 60 * 60 * 1000;

/// Which rows a limit lets through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Newest,
    Oldest,
}

fn find(connection: &Connection, filter: &Filter, order: Order) -> rusqlite::Result<Vec<i64>> {
    let mut sql = String::from("SELECT id FROM record WHERE kind NOT IN ('result', 'taken')");
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut and = |condition: &str, value: Box<dyn ToSql>| {
        sql.push_str(" AND ");
        sql.push_str(condition);
        values.push(value);
    };
    if let Some(since) = filter.since.map(Timestamp::as_millisecond) {
        and("id >= ?", Box::new(first_from(connection, since.saturating_sub(GRACE_MS))?));
        and("at >= ?", Box::new(since));
    }
    if let Some(until) = filter.until.map(Timestamp::as_millisecond) {
        and("id <= ?", Box::new(first_from(connection, until.saturating_add(GRACE_MS))?));
        and("at < ?", Box::new(until));
    }
    if let Some((lowest, highest)) = filter.tiers {
        and("tier >= ?", Box::new(lowest.number()));
        and("tier <= ?", Box::new(highest.number()));
    }
    if let Some(decision) = &filter.decision {
        and("decision = ?", Box::new(decision.clone()));
    }
    if let Some(part) = &filter.command {
        and("instr(lower(command), lower(?)) > 0", Box::new(part.clone()));
    }
    if let Some(folder) = &filter.folder {
        // With a slash at both ends, so that /a/b is below /a and /ab is not.
        let folder = format!("{}/", folder.trim_end_matches('/'));
        and("instr(cwd || '/', ?) = 1", Box::new(folder));
    }
    if let Some(part) = &filter.text {
        const WORDS: &str =
            "concat_ws(char(10), command, findings, settled, words, cwd, user, session, agent, what, place)";
        and(&format!("instr(lower({WORDS}), lower(?)) > 0"), Box::new(part.clone()));
    }
    if let Some(session) = &filter.session {
        and("? IN (session, root)", Box::new(session.clone()));
    }
    if let Some(after) = filter.after {
        and("id > ?", Box::new(after));
    }
    if filter.unconfirmed {
        sql.push_str(
            " AND kind = 'intent' AND decision = 'allow' AND provenance = 'rule'
             AND reversibility IN ('hard', 'irreversible')",
        );
    }
    sql.push_str(if order == Order::Newest { " ORDER BY id DESC" } else { " ORDER BY id" });
    if let Some(limit) = filter.limit {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    let mut statement = connection.prepare(&sql)?;
    let mut ids = Vec::new();
    let mut rows = statement.query(params_from_iter(values.iter()))?;
    while let Some(row) = rows.next()? {
        ids.push(row.get(0)?);
    }
    if order == Order::Newest {
        ids.reverse();
    }
    Ok(ids)
}

/// The first and the last number. Asked for one by one, because both at once would read every row.
pub(super) const EDGES: &str = "SELECT coalesce((SELECT id FROM record ORDER BY id LIMIT 1), 1),
    coalesce((SELECT id FROM record ORDER BY id DESC LIMIT 1), 0)";

/// The first row that is not from before a time; the one after the last when all are.
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

fn outcome(row: &Row<'_>) -> rusqlite::Result<ResultEntry> {
    Ok(ResultEntry { exit: row.get("exit")?, signal: row.get("signal")?, duration_ms: row.get("duration_ms")? })
}

/// What a row says. Unknown words are an error: only somebody else's hand or a newer version writes them.
fn entry(row: &Row<'_>) -> Result<Entry, Unclear> {
    let text = |column: &str| -> Result<Option<String>, Unclear> { Ok(row.get(column)?) };
    let kind = text("kind")?.unwrap_or_default();
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind).ok_or(Unclear::Word("kind"))?;
    let at: i64 = row.get("at")?;
    let tier: Option<u8> = row.get("tier")?;
    let tier = tier.map(|number| Tier::from_number(number).ok_or(Unclear::Word("tier"))).transpose()?;
    let digest: Option<Vec<u8>> = row.get("digest")?;
    Ok(Entry {
        id: row.get("id")?,
        kind,
        time: Timestamp::from_millisecond(at).map_err(|_| Unclear::Word("at"))?,
        about: row.get("about")?,
        nested: Vec::new(),
        command: text("command")?,
        redacted: row.get::<_, Option<i64>>("redacted")? == Some(1),
        digest: digest.map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        cwd: text("cwd")?,
        user: text("user")?,
        session: text("session")?,
        root: text("root")?,
        origin: text("origin")?,
        agent: text("agent")?,
        tier,
        score: row.get::<_, Option<i32>>("score")?.map(Weight),
        reversibility: text("reversibility")?.map(|name| json(&format!("\"{name}\""))).transpose()?,
        findings: text("findings")?.map(|list| json(&list)).transpose()?.unwrap_or_default(),
        context: text("context")?.map(|list| json(&list)).transpose()?.unwrap_or_default(),
        decision: text("decision")?,
        settled_by: text("settled")?,
        grant: text("granted")?,
        words: text("words")?,
        provenance: text("provenance")?,
        answer_ms: row.get("answer_ms")?,
        result: if kind == Kind::Result { Some(outcome(row)?) } else { None },
        what: text("what")?.filter(|_| kind != Kind::Pruned).map(|what| json(&what)).transpose()?,
        pruned: text("what")?.filter(|_| kind == Kind::Pruned).map(|what| json(&what)).transpose()?,
        place: text("place")?.map(|place| json(&place)).transpose()?,
        until: text("until")?.map(|until| json(&until)).transpose()?,
        hash: Link(row.get("hash")?),
    })
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Unclear> {
    serde_json::from_str(text).map_err(Unclear::Json)
}

/// What cannot be understood in a row.
#[derive(Debug, thiserror::Error)]
enum Unclear {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("unknown {0}")]
    Word(&'static str),
}
