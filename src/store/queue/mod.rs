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
mod request;
mod rows;

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

pub use self::request::{Answer, Filed, Found, NewRequest, Outcome, Pending, State, Told, Whole, blank, pack};
use self::rows::{COLUMNS, KNOWN, erase_never_late, find, free_name, pending, same, sweep};
use super::error::StoreError;
use super::key::Key;
use super::redact::redact;
use super::{Answered, Paths, Store};
use crate::judge::approver::Signed;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::Digest;
use crate::judge::risk::Tier;

/// How long other processes may keep the queue locked.
const PATIENCE: Duration = Duration::from_secs(5);

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
            if rows::taken(&connection)? < KNOWN {
                let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
                rows::take(&transaction)?;
                transaction.commit()?;
            }
            Ok(connection)
        };
        let connection = open().map_err(|error| StoreError::from_sqlite(&paths, error, PATIENCE))?;
        let found = rows::taken(&connection).unwrap_or(KNOWN);
        if found > KNOWN {
            return Err(StoreError::Newer { path: paths.database(), found, known: KNOWN });
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
            let (mut again, mut twins) = (None, false);
            for known in same(connection, &digest)? {
                let waited_for = known.waiter.as_deref().is_some_and(alive);
                let filed_here = known.waiter.is_none() && known.expires > now;
                let waits = known.state == State::Waiting && (waited_for || filed_here);
                twins |= waits && known.root == session.root;
                match known.state {
                    _ if waited_for || known.user != new.invocation.user => {}
                    State::Approved if known.tier.max(new.risk.tier) < Tier::Critical => {
                        return Ok(Filed::Answered { id: known.id });
                    }
                    State::Waiting if known.approvals > 1 && known.waiter.is_none() && known.expires > now => {
                        return take_up(connection, new, &known);
                    }
                    // What was signed for one asking is not for another, which therefore bears another name.
                    State::Waiting | State::Late if known.approvals.max(new.approvals) > 1 => {
                        settle(connection, &known.id, "it was asked anew")?;
                    }
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
                     agent, tier, score, command, redacted, cwd, why, exact, approvals)
                     VALUES(?1, 'waiting', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
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
                    new.approvals,
                ])?;
            Ok(Filed::Waits { id, twins })
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
                let last = now.answer.unwrap_or(0);
                let rows = if now.given.is_empty() { vec![last] } else { now.given };
                let Some(answered) = answered(store, &rows, id, digest, bindings)? else {
                    let what = "the answer was not written by guard, or was given for another command";
                    self.void(id, what)?;
                    return Ok(Found::Void { what: what.to_owned() });
                };
                let taken = self.change(|connection| {
                    connection
                        .prepare("UPDATE request SET state = 'used', exact = NULL WHERE id = ?1 AND state = 'approved' AND answer = ?2")?
                        .execute(params![id, last])
                })?;
                // Of the queue's rows the last word is with whoever can write them; of the record's, with the chain.
                let first = taken == 1 && store.use_answers(&rows, Timestamp::now())?;
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
            erase_never_late(connection)?;
            Ok(given_up == 1)
        })
    }

    /// A request whose bindings do not hold any more can not be answered or used.
    ///
    /// # Errors
    /// The queue cannot be written.
    pub fn void(&self, id: &str, what: &str) -> Result<bool, StoreError> {
        self.change(|connection| settle(connection, id, what))
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
            let wanted = answer.approvals.max(pending.approvals);
            let never_late = pending.is_never_late() || wanted > 1;
            if late && answer.yes.is_some() && never_late {
                return Ok(Outcome::TooLate);
            }
            let mut given: Vec<(i64, &str)> =
                pending.given.iter().copied().zip(pending.approved_by.iter().map(String::as_str)).collect();
            let several = wanted > 1 && answer.yes.is_some();
            if several {
                if answer.signer.is_empty() || answer.signatures.is_empty() {
                    return Ok(Outcome::Unsigned);
                }
                if let Some((_, by)) = given.iter().find(|(_, by)| answer.signer.iter().any(|name| name == by)) {
                    return Ok(Outcome::SignedAlready { by: (*by).to_owned() });
                }
            }
            let row = match store.write_answer(&pending, answer, now) {
                Ok(row) => row,
                Err(error) => {
                    failed = Some(error);
                    return Err(rusqlite::Error::QueryReturnedNoRows);
                }
            };
            let mut by = answer.by.to_owned();
            if several {
                given.extend(answer.signer.first().map(|name| (row, name.as_str())));
                let names: Vec<String> = given.iter().map(|(_, name)| (*name).to_owned()).collect();
                let list = serde_json::to_string(&given).unwrap_or_default();
                connection
                    .prepare("UPDATE request SET given = ?2, approvals = ?3 WHERE id = ?1")?
                    .execute(params![pending.id, list, wanted])?;
                if names.len() < usize::from(wanted) {
                    return Ok(Outcome::Partly { by: names });
                }
                by = names.join(" and ");
            }
            let (state, erase) = if answer.yes.is_some() { ("approved", false) } else { ("denied", true) };
            connection
                .prepare(
                    "UPDATE request SET state = ?2, decided = ?3, decided_by = ?4, words = ?5, answer = ?6,
                     exact = iif(?7, NULL, exact) WHERE id = ?1",
                )?
                .execute(params![pending.id, state, now.as_millisecond(), by, answer.words, row, erase])?;
            Ok(Outcome::Done { late })
        });
        match failed {
            Some(error) => Err(error),
            None => done,
        }
    }

    /// The signatures under the yeses so far, for a request that wants several. `None` when one of them was not written
    /// by guard for this command.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn given(
        &self,
        store: &Store,
        id: &str,
        digest: &Digest,
        bindings: &Bindings,
    ) -> Result<Option<Vec<Signed>>, StoreError> {
        let Some(pending) = self.find(id)?.filter(|pending| !pending.given.is_empty()) else {
            return Ok(Some(Vec::new()));
        };
        let found = answered(store, &pending.given, &pending.id, digest, bindings)?;
        Ok(found.map(|answered| answered.signatures))
    }

    /// The newest answers that were given since a time, by request, and the rows of the record that tell of them.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub(super) fn answered_since(&self, since: i64) -> Result<Vec<(String, i64)>, StoreError> {
        const ANSWERED: &str = "SELECT id, answer FROM request WHERE answer IS NOT NULL AND decided > ?1
            ORDER BY decided DESC LIMIT 64";
        self.read(|connection| {
            connection.prepare(ANSWERED)?.query_map([since], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
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

/// The yeses of these rows as one: the last, with the signatures of all. `None` when any was not written by guard for
/// this command.
fn answered(
    store: &Store,
    rows: &[i64],
    id: &str,
    digest: &Digest,
    bindings: &Bindings,
) -> Result<Option<Answered>, StoreError> {
    let mut all: Option<Answered> = None;
    for row in rows {
        let Some(mut one) = store.read_answer(*row, id, digest, bindings)? else { return Ok(None) };
        if let Some(before) = all {
            one.signatures.splice(0..0, before.signatures);
        }
        all = Some(one);
    }
    Ok(all)
}

/// Lets whoever asks anew have what waits under a name already, with the yeses so far. They are bound to what was signed:
/// for a command that rests on something else by now they do not hold.
fn take_up(connection: &Connection, new: &NewRequest<'_>, known: &Pending) -> rusqlite::Result<Filed> {
    connection
        .prepare("UPDATE request SET waiter = ?2, expires = ?3, approvals = max(approvals, ?4) WHERE id = ?1")?
        .execute(params![known.id, new.waiter, new.expires.as_millisecond(), new.approvals])?;
    Ok(Filed::Waits { id: known.id.clone(), twins: true })
}

/// Ends a request whose bindings do not hold any more. False when it had ended.
fn settle(connection: &Connection, id: &str, what: &str) -> rusqlite::Result<bool> {
    let voided = connection
        .prepare(
            "UPDATE request SET state = 'void', words = ?2, exact = NULL
             WHERE id = ?1 AND state IN ('waiting', 'late', 'approved')",
        )?
        .execute([id, what])?;
    Ok(voided == 1)
}
