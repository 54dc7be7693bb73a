//! The queue: commands that wait for a person, in an SQLite file of their own.
//!
//! Beside the record and not in it: a request changes (it waits, is answered, is used) and what is exact in it is erased
//! when it is settled, while the record's rows do neither; and no plain command reads this schema. There is no
//! write-ahead log either, which would keep what was erased.
//!
//! # On answering once
//!
//! Every change of a request is one transaction that holds the write lock from its beginning and looks at the state
//! first: the first answer wins, and a yes is used by whoever takes it first. The answer's row in the record is written
//! inside that transaction, so that there is no answer here which the record does not know; the other way round (a row
//! in the record and no answer here, when a process was killed in between) nothing was approved.
//!
//! A yes that stands here counts for nothing by itself. Whoever wants to run on it finds the row of the record that it
//! names, whole in the chain, and in it the keyed digest of this very request ([`super::Answered`]); and it is used once,
//! because the record remembers that it was.
//!
//! What may not enter: who may answer, and whether a process is alive: the caller says it.

mod exact;

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use self::exact::Exact;
use super::error::StoreError;
use super::key::Key;
use super::redact::redact;
use super::{Answered, Paths, Store};
use crate::judge::approver::Signed;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Invocation};
use crate::judge::risk::{Risk, Tier, Weight};

/// How long other processes may keep the queue locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A command that nobody answered in time may be approved late for so long.
const LATE_MS: i64 = 24 * 60 * 60 * 1000;

/// A yes that nobody used ends after so long.
const UNUSED_MS: i64 = 60 * 60 * 1000;

/// What is settled is shown for so long.
const SHOWN_MS: i64 = 7 * 24 * 60 * 60 * 1000;

const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS request(
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    filed INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    waiter TEXT,
    digest BLOB NOT NULL,
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    root TEXT NOT NULL,
    origin TEXT NOT NULL,
    agent TEXT,
    tier INTEGER NOT NULL,
    score INTEGER NOT NULL,
    command TEXT NOT NULL,
    redacted INTEGER NOT NULL,
    cwd TEXT NOT NULL,
    why TEXT NOT NULL,
    exact BLOB,
    decided INTEGER,
    decided_by TEXT,
    words TEXT,
    answer INTEGER
  ) STRICT, WITHOUT ROWID";

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for an answer.
    Waiting,
    /// Nobody answered in time, or the caller went away. It may be approved late, but for tier 4.
    Late,
    /// A person said yes, and nobody has used it yet.
    Approved,
    /// A person said no.
    Denied,
    /// It was allowed, and whoever asked has taken the yes.
    Used,
    /// What was asked is not what would run any more.
    Void,
    /// Too old to be answered or used.
    Lapsed,
}

impl State {
    const ALL: [Self; 7] =
        [Self::Waiting, Self::Late, Self::Approved, Self::Denied, Self::Used, Self::Void, Self::Lapsed];

    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Late => "late",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Void => "void",
            Self::Lapsed => "lapsed",
        }
    }

    /// Whether an answer may still be given.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Late)
    }
}

/// A request as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub id: String,
    pub state: State,
    pub filed: Timestamp,
    /// Until when it is waited for.
    pub expires: Timestamp,
    /// The guard that waits, by a name that no other process has.
    #[serde(skip)]
    pub waiter: Option<String>,
    pub user: String,
    pub session: String,
    #[serde(skip)]
    pub root: String,
    pub origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub tier: Tier,
    pub score: Weight,
    /// Redacted.
    pub command: String,
    /// Something in the command was hidden.
    pub redacted: bool,
    pub cwd: String,
    /// The worst finding: rule and reason.
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(skip)]
    digest: Vec<u8>,
    #[serde(skip)]
    answer: Option<i64>,
}

impl Pending {
    /// Whether two are the same command in the same folder under the same environment.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

/// A request as another process of guard's is told of it: with what no list shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    pending: Pending,
    waiter: Option<String>,
    root: String,
    digest: Vec<u8>,
}

impl From<Pending> for Told {
    fn from(pending: Pending) -> Self {
        let (waiter, root, digest) = (pending.waiter.clone(), pending.root.clone(), pending.digest.clone());
        Self { pending, waiter, root, digest }
    }
}

impl From<Told> for Pending {
    fn from(told: Told) -> Self {
        let Told { pending, waiter, root, digest } = told;
        Self { waiter, root, digest, ..pending }
    }
}

/// A command that is to wait.
#[derive(Clone, Debug)]
pub struct NewRequest<'a> {
    pub invocation: &'a Invocation,
    pub digest: &'a Digest,
    pub risk: &'a Risk,
    pub bindings: &'a Bindings,
    /// The guard that waits; `None` when nobody does.
    pub waiter: Option<&'a str>,
    /// The processes between that guard and the root of its session.
    pub above: Vec<String>,
    pub expires: Timestamp,
    /// How many of the session may wait at once.
    pub most: u32,
}

/// What became of filing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filed {
    /// It waits, under this name.
    Waits { id: String },
    /// It was answered before, and the answer may be used now.
    Answered { id: String },
    /// So many of the session wait already.
    Crowded { waiting: u32 },
}

/// What the one who waits finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    /// Nothing yet.
    Waiting,
    /// A yes, which is now used up.
    Yes(Answered),
    /// A no, with words.
    No { by: String, words: Option<String> },
    /// It holds no more, and why.
    Void { what: String },
    /// Nobody answered in time.
    Late,
}

/// A person's answer.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// What the yes is bound to; `None`: no.
    pub yes: Option<(&'a Digest, &'a Bindings)>,
    pub by: &'a str,
    pub words: Option<&'a str>,
    /// Of approvers, over the request.
    pub signatures: &'a [Signed],
    /// The guard that asked is there and waits.
    pub waited_for: bool,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It counts; it is `late` when nobody waits for it any more.
    Done { late: bool },
    /// Somebody was first, or it is over.
    Settled(Box<Pending>),
    /// It is of tier 4, and nobody waits for it any more.
    TooLate,
    /// It was asked anew since it was shown.
    AskedAnew,
    /// There is no such request.
    Unknown,
}

/// A request with what it would run.
#[derive(Clone, Debug)]
pub struct Whole {
    pub pending: Pending,
    pub invocation: Invocation,
    /// Of the invocation, as whoever asked worked it out.
    pub digest: Digest,
    pub bindings: Bindings,
    /// The processes between the guard that waits and the root of its session.
    pub above: Vec<String>,
}

impl Whole {
    /// A request and the bytes of [`pack`]; `None` when they are none.
    #[must_use]
    pub fn unpack(pending: Pending, bytes: &[u8]) -> Option<Self> {
        let exact = postcard::from_bytes::<Exact>(bytes).ok()?;
        let digest = Digest(exact.digest);
        let (invocation, bindings, above) = exact.into_parts();
        Some(Self { pending, invocation, digest, bindings, above })
    }
}

/// A command as it waits, in bytes.
#[must_use]
pub fn pack(invocation: &Invocation, digest: &Digest, bindings: &Bindings, above: &[String]) -> Vec<u8> {
    let exact = Exact::of(invocation, *digest, bindings.clone(), above.to_vec());
    // A vector grows without an error; this cannot fail, and an empty one could not be approved.
    postcard::to_allocvec(&exact).unwrap_or_default()
}

/// The queue.
#[derive(Debug)]
pub struct Queue {
    paths: Paths,
    connection: Connection,
}

impl Queue {
    /// Opens the queue beside the record, and makes it when there is none.
    ///
    /// # Errors
    /// Each with its cause and the remedy; see [`StoreError`].
    pub fn open(record: &Paths) -> Result<Self, StoreError> {
        let paths = record.queue();
        paths.make()?;
        let open = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(paths.database(), flags)?;
            connection.busy_timeout(PATIENCE)?;
            // What is erased is overwritten, and no journal keeps it.
            connection
                .execute_batch("PRAGMA secure_delete=ON;PRAGMA journal_mode=TRUNCATE;PRAGMA synchronous=NORMAL")?;
            let known: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if known == 0 {
                connection.execute_batch(&format!("BEGIN IMMEDIATE;{SCHEMA};PRAGMA user_version=1;COMMIT"))?;
            }
            Ok(connection)
        };
        let connection = open().map_err(|error| StoreError::from_sqlite(&paths, error, PATIENCE))?;
        let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap_or(1);
        if found > 1 {
            return Err(StoreError::Newer { path: paths.database(), found, known: 1 });
        }
        Ok(Self { paths, connection })
    }

    /// Opens the queue where there is one, and makes none.
    ///
    /// # Errors
    /// Something is there and cannot be used.
    pub fn existing(record: &Paths) -> Result<Option<Self>, StoreError> {
        if record.queue().database().exists() { Self::open(record).map(Some) } else { Ok(None) }
    }

    /// Where the one who waits for a request is woken; its folder is made.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn bell(&self, id: &str) -> Result<PathBuf, StoreError> {
        let folder = self.paths.folder().join("queue");
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| StoreError::from_io(&folder, error))?;
        Ok(folder.join(id))
    }

    /// Files a command, or takes up one that was filed before and that nobody waits for (`alive` says who lives), or
    /// tells that it was answered already.
    ///
    /// # Errors
    /// It is not filed: the command must not run.
    pub fn file(
        &self,
        new: &NewRequest<'_>,
        alive: &dyn Fn(&str) -> bool,
        now: Timestamp,
    ) -> Result<Filed, StoreError> {
        let key = Key::read_or_make(&self.paths.key())?;
        let digest = key.seal("request", &new.digest.0);
        let exact = pack(new.invocation, new.digest, new.bindings, &new.above);
        let (command, redacted) = redact(&new.invocation.display());
        let worst = new.risk.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
        let why = worst.map_or(String::new(), |finding| format!("{}: {}", finding.rule, finding.reason));
        let session = &new.invocation.session;
        self.change(|connection| {
            sweep(connection, now)?;
            let mut again = None;
            for known in same(connection, &digest)? {
                let waited_for = known.waiter.as_deref().is_some_and(alive);
                match known.state {
                    _ if waited_for || known.user != new.invocation.user => {}
                    State::Approved if known.tier.max(new.risk.tier) < Tier::Critical => return Ok(Filed::Answered { id: known.id }),
                    State::Waiting | State::Late => again = Some(known.id),
                    _ => {}
                }
            }
            let waiting: u32 = connection
                .prepare("SELECT count(*) FROM request WHERE root = ?1 AND state = 'waiting' AND id <> ?2")?
                .query_row(params![session.root, again.as_deref().unwrap_or("")], |row| row.get(0))?;
            if waiting >= new.most {
                return Ok(Filed::Crowded { waiting });
            }
            let id = match again {
                Some(id) => id,
                None => free_name(connection)?,
            };
            connection
                .prepare(
                    "INSERT OR REPLACE INTO request(id, state, filed, expires, waiter, digest, user, session, root, origin,
                     agent, tier, score, command, redacted, cwd, why, exact)
                     VALUES(?1, 'waiting', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
                )?
                .execute(params![
                    id,
                    now.as_millisecond(),
                    new.expires.as_millisecond(),
                    new.waiter,
                    digest,
                    new.invocation.user,
                    session.id,
                    session.root,
                    new.invocation.origin.name(),
                    session.agent,
                    new.risk.tier.number(),
                    new.risk.score.0,
                    command,
                    redacted,
                    new.invocation.cwd.to_string_lossy(),
                    why,
                    exact,
                ])?;
            Ok(Filed::Waits { id })
        })
        .inspect(|_| self.take_down_bells())
    }

    /// Removes what those left who were killed while they waited.
    fn take_down_bells(&self) {
        let Ok(bells) = std::fs::read_dir(self.paths.folder().join("queue")) else { return };
        for bell in bells.flatten() {
            let id = bell.file_name();
            let open =
                id.to_str().map(|id| self.find(id).is_ok_and(|found| found.is_some_and(|one| one.state.is_open())));
            if open == Some(false) {
                let _ = std::fs::remove_file(bell.path());
            }
        }
    }

    /// Looks whether a request was answered, and uses a yes up. A yes counts only where the record bears it out.
    ///
    /// # Errors
    /// It cannot be told: the command must not run.
    pub fn take(&self, store: &Store, id: &str, digest: &Digest, bindings: &Bindings) -> Result<Found, StoreError> {
        let Some(now) = self.find(id)? else {
            return Ok(Found::Void { what: "the request is gone from the queue".to_owned() });
        };
        match now.state {
            State::Waiting => Ok(Found::Waiting),
            State::Late => Ok(Found::Late),
            State::Denied => Ok(Found::No { by: now.decided_by.unwrap_or_default(), words: now.words }),
            State::Used | State::Lapsed => Ok(Found::Void { what: format!("the answer to {id} is used up") }),
            State::Void => Ok(Found::Void { what: now.words.unwrap_or_default() }),
            State::Approved => {
                let row = now.answer.unwrap_or(0);
                let Some(answered) = store.read_answer(row, id, digest, bindings)? else {
                    let what = "the answer was not written by guard, or was given for another command";
                    self.void(id, what)?;
                    return Ok(Found::Void { what: what.to_owned() });
                };
                let taken = self.change(|connection| {
                    connection
                        .prepare("UPDATE request SET state = 'used', exact = NULL WHERE id = ?1 AND state = 'approved' AND answer = ?2")?
                        .execute(params![id, row])
                })?;
                // Of the queue's rows the last word is with whoever can write them; of the record's, with the chain.
                let first = taken == 1 && store.use_answer(row, Timestamp::now())?;
                Ok(match first {
                    true => Found::Yes(answered),
                    false => Found::Void { what: format!("the answer to {id} is used up") },
                })
            }
        }
    }

    /// Nobody waits for a request any more. True when that was so; false when it was answered first.
    ///
    /// # Errors
    /// The queue cannot be written.
    pub fn give_up(&self, id: &str) -> Result<bool, StoreError> {
        self.change(|connection| {
            let given_up = connection
                .prepare("UPDATE request SET state = 'late', waiter = NULL WHERE id = ?1 AND state = 'waiting'")?
                .execute([id])?;
            erase_critical(connection)?;
            Ok(given_up == 1)
        })
    }

    /// A request whose bindings do not hold any more can not be answered or used.
    ///
    /// # Errors
    /// The queue cannot be written.
    pub fn void(&self, id: &str, what: &str) -> Result<bool, StoreError> {
        self.change(|connection| {
            let voided = connection
                .prepare(
                    "UPDATE request SET state = 'void', words = ?2, exact = NULL
                     WHERE id = ?1 AND state IN ('waiting', 'late', 'approved')",
                )?
                .execute([id, what])?;
            Ok(voided == 1)
        })
    }

    /// Gives a person's answer to a request as it was shown: the first one wins.
    ///
    /// # Errors
    /// It does not count, because it could not be written down.
    pub fn answer(
        &self,
        store: &Store,
        shown: &Pending,
        answer: &Answer<'_>,
        now: Timestamp,
    ) -> Result<Outcome, StoreError> {
        // The record is brought up to date before the lock is taken.
        store.head()?;
        let mut failed = None;
        let done = self.change(|connection| {
            sweep(connection, now)?;
            let Some(pending) = find(connection, &shown.id)? else { return Ok(Outcome::Unknown) };
            if !pending.state.is_open() {
                return Ok(Outcome::Settled(Box::new(pending)));
            }
            if pending.filed != shown.filed || pending.digest != shown.digest {
                return Ok(Outcome::AskedAnew);
            }
            let late = pending.state == State::Late || !answer.waited_for;
            if late && answer.yes.is_some() && pending.tier == Tier::Critical {
                return Ok(Outcome::TooLate);
            }
            let row = match store.write_answer(&pending, answer, now) {
                Ok(row) => row,
                Err(error) => {
                    failed = Some(error);
                    return Err(rusqlite::Error::QueryReturnedNoRows);
                }
            };
            let (state, erase) = if answer.yes.is_some() { ("approved", false) } else { ("denied", true) };
            connection
                .prepare(
                    "UPDATE request SET state = ?2, decided = ?3, decided_by = ?4, words = ?5, answer = ?6,
                     exact = iif(?7, NULL, exact) WHERE id = ?1",
                )?
                .execute(params![pending.id, state, now.as_millisecond(), answer.by, answer.words, row, erase])?;
            Ok(Outcome::Done { late })
        });
        match failed {
            Some(error) => Err(error),
            None => done,
        }
    }

    /// All that is shown, the oldest first. What has become too old is so from now on.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn list(&self, now: Timestamp) -> Result<Vec<Pending>, StoreError> {
        let due: bool = self.read(|connection| {
            connection
                .prepare("SELECT 1 FROM request WHERE state = 'waiting' AND expires + 5000 < ?1")?
                .exists([now.as_millisecond()])
        })?;
        if due {
            self.change(|connection| sweep(connection, now))?;
        }
        self.read(|connection| {
            let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM request ORDER BY filed, id"))?;
            statement.query_map([], pending)?.collect()
        })
    }

    /// A request by its name.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn find(&self, id: &str) -> Result<Option<Pending>, StoreError> {
        self.read(|connection| find(connection, id))
    }

    /// A request with what it would run; `None` when that is erased, or cannot be read.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn whole(&self, id: &str) -> Result<Option<Whole>, StoreError> {
        self.read(|connection| {
            let Some(pending) = find(connection, id)? else { return Ok(None) };
            let exact: Option<Vec<u8>> =
                connection.prepare("SELECT exact FROM request WHERE id = ?1")?.query_row([id], |row| row.get(0))?;
            Ok(exact.and_then(|bytes| Whole::unpack(pending, &bytes)))
        })
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        work(&self.connection).map_err(|error| StoreError::from_sqlite(&self.paths, error, PATIENCE))
    }

    fn change<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.read(|connection| {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }
}

const COLUMNS: &str = "id, state, filed, expires, waiter, user, session, root, origin, agent, tier, score, command,
    redacted, cwd, why, decided, decided_by, words, digest, answer";

fn find(connection: &Connection, id: &str) -> rusqlite::Result<Option<Pending>> {
    connection.prepare(&format!("SELECT {COLUMNS} FROM request WHERE id = ?1"))?.query_row([id], pending).optional()
}

/// Requests of one command in one folder, the newest first.
fn same(connection: &Connection, digest: &[u8; 32]) -> rusqlite::Result<Vec<Pending>> {
    let sql = format!("SELECT {COLUMNS} FROM request WHERE digest = ?1 AND exact IS NOT NULL ORDER BY filed DESC");
    connection.prepare(&sql)?.query_map([digest], pending)?.collect()
}

fn pending(row: &Row<'_>) -> rusqlite::Result<Pending> {
    let time = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    let state: String = row.get(1)?;
    Ok(Pending {
        id: row.get(0)?,
        // An unknown word is somebody else's hand: nothing can be done with it.
        state: State::ALL.into_iter().find(|known| known.name() == state).unwrap_or(State::Lapsed),
        filed: time(row.get(2)?),
        expires: time(row.get(3)?),
        waiter: row.get(4)?,
        user: row.get(5)?,
        session: row.get(6)?,
        root: row.get(7)?,
        origin: row.get(8)?,
        agent: row.get(9)?,
        tier: Tier::from_number(row.get(10)?).unwrap_or(Tier::Critical),
        score: Weight(row.get(11)?),
        command: row.get(12)?,
        redacted: row.get(13)?,
        cwd: row.get(14)?,
        why: row.get(15)?,
        decided: row.get::<_, Option<i64>>(16)?.map(time),
        decided_by: row.get(17)?,
        words: row.get(18)?,
        digest: row.get(19)?,
        answer: row.get(20)?,
    })
}

/// What was not answered or used in time.
fn sweep(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let now = now.as_millisecond();
    // The one who waits comes first: it gives up by itself, or takes the answer that came in the last moment.
    connection
        .prepare("UPDATE request SET state = 'late' WHERE state = 'waiting' AND expires + 5000 < ?1")?
        .execute([now])?;
    erase_critical(connection)?;
    connection
        .prepare(
            "UPDATE request SET state = 'lapsed', exact = NULL
             WHERE (state = 'late' AND filed < ?1) OR (state = 'approved' AND decided < ?2)",
        )?
        .execute([now - LATE_MS, now - UNUSED_MS])?;
    connection.prepare("DELETE FROM request WHERE exact IS NULL AND filed < ?1")?.execute([now - SHOWN_MS])?;
    Ok(())
}

/// Of tier 4 nothing is approved late, so nothing need be kept.
fn erase_critical(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare("UPDATE request SET exact = NULL WHERE state = 'late' AND tier >= 4 AND exact IS NOT NULL")?
        .execute([])?;
    Ok(())
}

/// Letters that are told apart when read and when said, without vowels, so that they make no words.
const LETTERS: &[u8; 18] = b"bcdfghjkmnpqrstvwx";
const DIGITS: &[u8; 8] = b"23456789";

/// A name that no request bears: a letter, a digit, a letter, a digit.
fn free_name(connection: &Connection) -> rusqlite::Result<String> {
    let mut taken = connection.prepare("SELECT 1 FROM request WHERE id = ?1")?;
    let mut length = 4;
    loop {
        let mut random = [0; 8];
        if getrandom::fill(&mut random).is_err() {
            return Err(rusqlite::Error::InvalidQuery);
        }
        let name: String = random
            .iter()
            .take(length)
            .enumerate()
            .map(|(at, byte)| {
                let from: &[u8] = if at % 2 == 0 { LETTERS } else { DIGITS };
                from.get(usize::from(*byte) % from.len()).map_or('b', |letter| char::from(*letter))
            })
            .collect();
        if !taken.exists([&name])? {
            return Ok(name);
        }
        length = 8;
    }
}
