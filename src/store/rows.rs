//! Reads the rows of the record. Out of scope: selecting rows ([`super::find`]).

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use super::Store;
use super::chain::{self, Link};
use super::decisions::ExitStatus;
use super::entries::{ContextEntry, FindingEntry};
use super::error::StoreError;
use super::prune::{self, Pruned};
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::approver::Signed;
use crate::judge::review::Opinion;
use crate::judge::risk::{Reversibility, Tier, Weight};

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// A decision before a command ran, or instead of running it.
    Intent,
    /// The result of a command.
    Result,
    /// The answer to a host that runs commands itself.
    Advised,
    /// A grant.
    Grant,
    /// The revocation of a grant.
    Revoked,
    /// The pruning of the oldest rows.
    Pruned,
    /// A person's answer to a request in the queue.
    Answered,
    /// The resumption of a session by a person.
    Resumed,
    /// The use of an answer, which cannot be used again.
    Taken,
}

impl RowKind {
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

    /// Returns the name in the record.
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

/// A row of the record. Fields that a kind of row does not have are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub id: i64,
    pub kind: RowKind,
    /// The time at which it was written.
    pub time: Timestamp,
    /// The row that it refers to: the intent of a result, the intent of the parent guard, the grant that was revoked or
    /// copied, the last row that was pruned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<i64>,
    /// The decisions of guards that the command started while guard waited for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<i64>,
    /// The command, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The tool that was called, if it is not a shell command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether something in the command was redacted.
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
    /// The reason of the decision: that of an approval, or the kind of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<String>,
    /// The grant that allowed the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// The message of a person, the text of a refusal in addition to its kind, or the description of a grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_ms: Option<i64>,
    /// The approvers whose signatures the answer contains. The signatures are not verified here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signed_by: Vec<String>,
    /// The opinion of a reviewer, if one was consulted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Opinion>,
    /// The result of the command, if guard waited for it.
    #[serde(flatten)]
    pub result: Option<ResultEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<GrantSubject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<GrantPlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<GrantExpiry>,
    /// The rows that were pruned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pruned: Option<Pruned>,
    /// The hash of the row in the chain.
    pub hash: Link,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultEntry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub duration_ms: i64,
}

impl ResultEntry {
    /// Returns how the process ended; `None` if the row does not contain it.
    #[must_use]
    pub fn end(&self) -> Option<ExitStatus> {
        self.signal.map(ExitStatus::Signal).or(self.exit.map(ExitStatus::Exit))
    }
}

impl Store {
    /// Reads a row. An intent includes its result.
    ///
    /// # Errors
    /// There is no such row, or it cannot be read.
    pub fn entry(&self, id: i64) -> Result<Entry, StoreError> {
        self.entries(&[id]).pop().unwrap_or(Err(StoreError::NoSuchRow { row: id, newest: None }))
    }

    /// Reads several rows like [`Self::entry`], in one transaction.
    pub fn entries(&self, ids: &[i64]) -> Vec<Result<Entry, StoreError>> {
        let begun = self.persist(|connection| connection.execute_batch("BEGIN DEFERRED"));
        let all = ids.iter().map(|id| self.entry_now(*id)).collect();
        if begun.is_ok() {
            // The transaction only read; if it cannot end, the next query reports the error.
            let _ = self.persist(|connection| connection.execute_batch("COMMIT"));
        }
        all
    }

    fn entry_now(&self, id: i64) -> Result<Entry, StoreError> {
        let found = self.persist(|connection| {
            let mut statement = connection.prepare_cached("SELECT * FROM record WHERE id = ?1")?;
            let found = statement.query_row([id], |row| Ok(entry(row))).optional()?;
            let Some(Ok(mut entry)) = found else { return Ok(found) };
            if matches!(entry.kind, RowKind::Intent | RowKind::Advised) {
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

/// Returns the error for a row that does not exist.
fn absent(connection: &Connection, row: i64) -> rusqlite::Result<StoreError> {
    let first = prune::first_row(connection)?.unwrap_or(1);
    if (1..first).contains(&row) && prune::seal_of(connection, first - 1)?.is_some() {
        // The row that describes an early pruning may have been pruned itself.
        let seals = prune::seals(connection)?;
        let seal = seals.iter().find(|seal| seal.pruned.as_ref().is_some_and(|pruned| pruned.contains(row)));
        return Ok(StoreError::Pruned { row, by: seal.map(|seal| seal.row) });
    }
    Ok(StoreError::NoSuchRow { row, newest: chain::head(connection)?.map(|head| head.row) })
}

/// Finds the result of an intent.
pub(super) const RESULT: &str =
    "SELECT exit, signal, duration_ms FROM record WHERE about = ?1 AND kind = 'result' LIMIT 1";

/// Finds the decisions that refer to an intent.
pub(super) const NESTED: &str = "SELECT id FROM record WHERE about = ?1 AND kind IN ('intent', 'advised') ORDER BY id";

fn outcome(row: &Row<'_>) -> rusqlite::Result<ResultEntry> {
    Ok(ResultEntry { exit: row.get("exit")?, signal: row.get("signal")?, duration_ms: row.get("duration_ms")? })
}

/// Parses a row. Unknown names are an error, because only tampering or a newer version writes them.
fn entry(row: &Row<'_>) -> Result<Entry, RowError> {
    let text = |column: &str| -> Result<Option<String>, RowError> { Ok(row.get(column)?) };
    let kind = text("kind")?.unwrap_or_default();
    let kind = RowKind::ALL.into_iter().find(|known| known.name() == kind).ok_or(RowError::Word("kind"))?;
    let at: i64 = row.get("at")?;
    let tier: Option<u8> = row.get("tier")?;
    let tier = tier.map(|number| Tier::from_number(number).ok_or(RowError::Word("tier"))).transpose()?;
    let digest: Option<Vec<u8>> = row.get("digest")?;
    Ok(Entry {
        id: row.get("id")?,
        kind,
        time: Timestamp::from_millisecond(at).map_err(|_| RowError::Word("at"))?,
        about: row.get("about")?,
        nested: Vec::new(),
        command: text("command")?,
        // A record of an older guard that cannot be updated does not have this column.
        tool: text("tool").unwrap_or_default(),
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
        signed_by: signed_by(row),
        review: review(row),
        result: if kind == RowKind::Result { Some(outcome(row)?) } else { None },
        what: text("what")?.filter(|_| kind != RowKind::Pruned).map(|what| json(&what)).transpose()?,
        pruned: text("what")?.filter(|_| kind == RowKind::Pruned).map(|what| json(&what)).transpose()?,
        place: text("place")?.map(|place| json(&place)).transpose()?,
        until: text("until")?.map(|until| json(&until)).transpose()?,
        hash: Link(row.get("hash")?),
    })
}

/// Returns the approvers who signed an answer. A record of an older guard that cannot be updated does not have this
/// column.
fn signed_by(row: &Row<'_>) -> Vec<String> {
    let text: Option<String> = row.get("signatures").unwrap_or_default();
    let signed: Vec<Signed> = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    signed.into_iter().map(|signed| signed.approver).collect()
}

/// Returns the opinion of a reviewer. A record of an older guard that cannot be updated does not have this column.
fn review(row: &Row<'_>) -> Option<Opinion> {
    let text: Option<String> = row.get("review").unwrap_or_default();
    serde_json::from_str(&text?).ok()
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, RowError> {
    serde_json::from_str(text).map_err(RowError::Json)
}

/// The reason why a row cannot be parsed.
#[derive(Debug, thiserror::Error)]
enum RowError {
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("unknown {0}")]
    Word(&'static str),
}
