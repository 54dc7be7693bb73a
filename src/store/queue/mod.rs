//! The queue: commands that wait for a person, in an SQLite file of their own.
//!
//! It is separate from the record, because a request changes (it waits, is answered, is used), and its exact command is
//! erased when it is settled, while the rows of the record do neither. Ordinary commands also need not read this
//! schema. There is no write-ahead log, because it would keep erased data.
//!
//! # On answering once
//!
//! Every change of a request is one transaction that holds the write lock from its beginning and checks the state
//! first: the first answer wins, and the first process that takes an approval uses it. The answer's row in the record
//! is written inside that transaction, so that every answer in the queue is in the record. If the process is killed in
//! between, there is a row in the record and no answer in the queue, and nothing was approved.
//!
//! An approval in the queue alone is not valid. The process that uses it looks up the row in the record that it names,
//! verifies its hash in the chain, and compares the keyed digest in it with that of this request
//! ([`super::RecordedAnswer`]). It is used once, because the record contains its use.
//!
//! Out of scope: who may answer, and whether a process is alive. The caller knows both.

mod answering;
mod exact;
mod reasons;
mod request;
mod rows;

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

pub use self::reasons::{Reason, ReasonContext, Reasons};
pub use self::request::{
    Answer, AnswerOutcome, FilingResult, FullRequest, Justification, NewRequest, Pending, PendingMessage, RequestState,
    WaitState, blank, pack,
};
use self::rows::{COLUMNS, KNOWN, erase_never_late, find, free_name, pending, same, sweep};
use super::Paths;
use super::error::StoreError;
use super::key::DigestKey;
use super::redact::{KnownSecrets, redact, redact_shown};
use crate::judge::invocation::Digest;
use crate::judge::risk::Tier;
use crate::judge::tools::ToolCall;

/// The maximum number of characters that are kept of a requester's justification.
const MOST_SAID: usize = 500;

/// The time for which other processes may keep the queue locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// The interval of attempts after [`Queue::look_again_soon`], while the queue is locked.
const SOON: Duration = Duration::from_millis(1);

/// The queue.
#[derive(Debug)]
pub struct Queue {
    paths: Paths,
    connection: Connection,
}

impl Queue {
    /// Opens the queue beside the record, and creates it if it does not exist.
    ///
    /// # Errors
    /// The queue cannot be used; see [`StoreError`].
    pub fn open(record: &Paths) -> Result<Self, StoreError> {
        let paths = record.queue();
        paths.make()?;
        let open = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(paths.database(), flags)?;
            connection.busy_timeout(PATIENCE)?;
            // Erased data is overwritten, and no journal keeps it.
            connection
                .execute_batch("PRAGMA secure_delete=ON;PRAGMA journal_mode=TRUNCATE;PRAGMA synchronous=NORMAL")?;
            if rows::schema_version(&connection)? < KNOWN {
                let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
                rows::migrate(&transaction)?;
                transaction.commit()?;
            }
            Ok(connection)
        };
        let connection = open().map_err(|error| StoreError::from_sqlite(&paths, error, PATIENCE))?;
        let found = rows::schema_version(&connection).unwrap_or(KNOWN);
        if found > KNOWN {
            return Err(StoreError::Newer { path: paths.database(), found, known: KNOWN });
        }
        Ok(Self { paths, connection })
    }

    /// Makes this connection try a locked queue again in short, constant intervals, and not in growing ones as SQLite
    /// does by default: for processes that show requests while many others file requests.
    ///
    /// # Errors
    /// SQLite rejects the handler.
    pub fn look_again_soon(mut self) -> Result<Self, StoreError> {
        match self.connection.busy_handler(Some(soon)) {
            Ok(()) => Ok(self),
            Err(error) => Err(StoreError::from_sqlite(&self.paths, error, PATIENCE)),
        }
    }

    /// Opens the queue if it exists; does not create one.
    ///
    /// # Errors
    /// The queue exists and cannot be used.
    pub fn existing(record: &Paths) -> Result<Option<Self>, StoreError> {
        if record.queue().database().exists() { Self::open(record).map(Some) } else { Ok(None) }
    }

    /// Returns the path at which the process that waits for a request is woken, and creates its directory.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn wakeup_path(&self, id: &str) -> Result<PathBuf, StoreError> {
        let directory = self.paths.directory().join("queue");
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(|error| StoreError::from_io(&directory, error))?;
        Ok(directory.join(id))
    }

    /// Files a request for a command. Instead of that it takes up an earlier request for which nobody waits (`alive`
    /// reports whether a process is alive), or reports that the command was answered already.
    ///
    /// # Errors
    /// The request is not filed: the command must not run.
    pub fn file(
        &self,
        new: &NewRequest<'_>,
        alive: &dyn Fn(&str) -> bool,
        now: Timestamp,
    ) -> Result<FilingResult, StoreError> {
        let key = DigestKey::read_or_make(&self.paths.key())?;
        let digest = key.seal("request", &new.digest.0);
        let exact = pack(new.invocation, new.digest, new.bindings, new.fresh, &new.above);
        let (command, redacted) = redact_shown(new.invocation);
        let redacted = redacted || new.invocation.hides();
        let known = KnownSecrets::of(new.invocation);
        let risk = &*known.without(new.risk);
        let evidence: Vec<String> = new.evidence.iter().map(|line| known.hide(line)).collect();
        let worst = risk.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
        let why = worst.map_or(String::new(), |finding| format!("{}: {}", finding.rule, finding.reason));
        let reasons = Reasons::of(risk, &evidence, (&new.invocation.display(), &command));
        let reasons = if new.invocation.hides() { reasons.without_input() } else { reasons };
        // Serialisation of texts and numbers cannot fail.
        let reasons = serde_json::to_string(&reasons).unwrap_or_default();
        let said =
            new.justification.said.as_deref().map(|said| redact(&said.chars().take(MOST_SAID).collect::<String>()).0);
        let said = said.map(|said| known.hide(&said));
        let review = new.opinion.and_then(|opinion| serde_json::to_string(opinion).ok());
        let session = &new.invocation.session;
        let tool = new.invocation.tool().map(ToolCall::title);
        self.change(|connection| {
            sweep(connection, now)?;
            let (mut again, mut twins) = (None, false);
            for known in same(connection, &digest)? {
                let waited_for = known.waiter.as_deref().is_some_and(alive);
                let filed_here = known.waiter.is_none() && known.expires > now;
                let waits = known.state == RequestState::Waiting && (waited_for || filed_here);
                twins |= waits && known.root == session.root;
                match known.state {
                    _ if waited_for || known.user != new.invocation.user => {}
                    RequestState::Approved if known.tier.max(new.risk.tier) < Tier::Critical => {
                        return Ok(FilingResult::Answered { id: known.id });
                    }
                    RequestState::Waiting if known.approvals > 1 && known.waiter.is_none() && known.expires > now => {
                        return take_up(connection, new, &known);
                    }
                    // Signatures for one request are not valid for another, which therefore needs another name.
                    RequestState::Waiting | RequestState::Late if known.approvals.max(new.approvals) > 1 => {
                        settle(connection, &known.id, "it was requested again")?;
                    }
                    RequestState::Waiting | RequestState::Late => again = Some(known.id),
                    _ => {}
                }
            }
            let waiting: u32 = connection
                .prepare("SELECT count(*) FROM request WHERE root = ?1 AND state = 'waiting' AND id <> ?2")?
                .query_row(params![session.root, again.as_deref().unwrap_or("")], |row| row.get(0))?;
            if waiting >= new.most {
                return Ok(FilingResult::Crowded { waiting });
            }
            let id = match again {
                Some(id) => id,
                None => free_name(connection)?,
            };
            connection
                .prepare(
                    "INSERT OR REPLACE INTO request(id, state, filed, expires, waiter, digest, user, session, root, origin,
                     agent, tier, score, command, redacted, cwd, why, exact, approvals, decision, crisis, said, review,
                     may_grant, grounds, tool, codes_left)
                     VALUES(?1, 'waiting', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
                            ?20, ?21, ?22, ?23, ?24, ?25, ?26)",
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
                    new.decision,
                    new.justification.crisis,
                    said,
                    review,
                    new.may_grant,
                    reasons,
                    tool,
                    new.codes_left,
                ])?;
            Ok(FilingResult::Waits { id, twins })
        })
        .inspect(|_| self.remove_wakeups())
    }

    /// Removes the files of processes that were killed while they waited.
    fn remove_wakeups(&self) {
        let Ok(wakeups) = std::fs::read_dir(self.paths.directory().join("queue")) else { return };
        for wakeup in wakeups.flatten() {
            let id = wakeup.file_name();
            let open =
                id.to_str().map(|id| self.find(id).is_ok_and(|found| found.is_some_and(|one| one.state.is_open())));
            if open == Some(false) {
                let _ = std::fs::remove_file(wakeup.path());
            }
        }
    }

    /// Reports whether a person approved this command for this account, and the approval is unused.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn is_answered(&self, digest: &Digest, user: &str) -> Result<bool, StoreError> {
        let Ok(key) = DigestKey::read(&self.paths.key()) else { return Ok(false) };
        let digest = key.seal("request", &digest.0);
        let approved = |one: &Pending| one.state == RequestState::Approved && one.user == user;
        self.read(|connection| same(connection, &digest)).map(|found| found.iter().any(approved))
    }

    /// Records that nobody waits for a request any more. Returns false if it was answered first.
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

    /// Ends a request whose bindings are no longer valid, so that it cannot be answered or used.
    ///
    /// # Errors
    /// The queue cannot be written.
    pub fn void(&self, id: &str, what: &str) -> Result<bool, StoreError> {
        self.change(|connection| settle(connection, id, what))
    }

    /// Returns the newest answers since a time: the request, and the row of the record with the answer.
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

    /// Returns all requests: those that need a person's decision first, then in the order of filing. Marks expired
    /// requests.
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
            let mut statement = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM request
                ORDER BY decision DESC, decision AND crisis DESC, filed, id"
            ))?;
            statement.query_map([], pending)?.collect()
        })
    }

    /// Returns a request by its name.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn find(&self, id: &str) -> Result<Option<Pending>, StoreError> {
        self.read(|connection| find(connection, id))
    }

    /// Returns a request with its exact command; `None` if that was erased or cannot be parsed.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn full_request(&self, id: &str) -> Result<Option<FullRequest>, StoreError> {
        self.read(|connection| {
            let Some(pending) = find(connection, id)? else { return Ok(None) };
            let exact: Option<Vec<u8>> =
                connection.prepare("SELECT exact FROM request WHERE id = ?1")?.query_row([id], |row| row.get(0))?;
            Ok(exact.and_then(|bytes| FullRequest::unpack(pending, &bytes)))
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

/// Waits until the next attempt; returns false after the time limit.
fn soon(tries: i32) -> bool {
    std::thread::sleep(SOON);
    SOON.saturating_mul(tries.unsigned_abs()) < PATIENCE
}

/// Lets a new requester wait for an existing request, with the approvals so far. These are bound to what was signed:
/// they are not valid if the bindings of the command have changed.
fn take_up(connection: &Connection, new: &NewRequest<'_>, known: &Pending) -> rusqlite::Result<FilingResult> {
    connection
        .prepare("UPDATE request SET waiter = ?2, expires = ?3, approvals = max(approvals, ?4) WHERE id = ?1")?
        .execute(params![known.id, new.waiter, new.expires.as_millisecond(), new.approvals])?;
    Ok(FilingResult::Waits { id: known.id.clone(), twins: true })
}

/// Ends a request whose bindings are no longer valid. Returns false if it had ended already.
fn settle(connection: &Connection, id: &str, what: &str) -> rusqlite::Result<bool> {
    let voided = connection
        .prepare(
            "UPDATE request SET state = 'void', words = ?2, exact = NULL
             WHERE id = ?1 AND state IN ('waiting', 'late', 'approved')",
        )?
        .execute([id, what])?;
    Ok(voided == 1)
}

#[cfg(test)]
mod tests;
