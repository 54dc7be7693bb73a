//! Stores the data of the gateway itself: tokens, submitted commands and sent messages, in `gateway.db` beside the
//! record.
//!
//! Losing it loses no answer. Out of scope: answers.

mod devices;
mod escalations;
mod offers;
mod pages;
mod sealing;

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use self::sealing::Sealing;
use super::BackendError;
use super::memory::{Memory, Scope, Submission, Submissions, Token, Tokens};
use crate::judge::invocation::Origin;
use crate::secrets::GatewayKey;

/// The migrations of an empty file, in order. Existing ones are never edited; new ones are appended.
const STEPS: [&str; 7] = [
    "
  CREATE TABLE own(what TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
  CREATE TABLE token(
    name TEXT PRIMARY KEY, hash BLOB NOT NULL, scopes TEXT NOT NULL, folders TEXT NOT NULL, max_tier INTEGER NOT NULL,
    created INTEGER NOT NULL, used INTEGER
  ) STRICT;
  CREATE TABLE submission(
    action TEXT PRIMARY KEY, request TEXT, client TEXT NOT NULL, body TEXT NOT NULL, idempotency TEXT,
    body_hash BLOB NOT NULL, created INTEGER NOT NULL, result TEXT, once BLOB, reported INTEGER NOT NULL DEFAULT 0,
    UNIQUE(client, idempotency)
  ) STRICT;
  CREATE TABLE offer(
    action TEXT NOT NULL, channel TEXT NOT NULL, message TEXT, nonce BLOB NOT NULL UNIQUE,
    closed INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL, PRIMARY KEY(action, channel)
  ) STRICT;
",
    "
  ALTER TABLE token ADD COLUMN origin TEXT NOT NULL DEFAULT 'api';
  ALTER TABLE submission ADD COLUMN callback TEXT;
",
    "
  CREATE TABLE device(
    endpoint TEXT PRIMARY KEY, name TEXT NOT NULL, token TEXT, keys TEXT NOT NULL, created INTEGER NOT NULL
  ) STRICT;
  ALTER TABLE offer ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
",
    "
  CREATE TABLE escalated(action TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT;
",
    "
  ALTER TABLE offer ADD COLUMN yes INTEGER NOT NULL DEFAULT 0;
",
    // The owners of the buttons of earlier messages are unknown, so pending requests are sent again.
    "
  DROP TABLE offer;
  CREATE TABLE offer(
    action TEXT NOT NULL, channel TEXT NOT NULL, message TEXT, yes INTEGER NOT NULL, closed INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL, PRIMARY KEY(action, channel)
  ) STRICT;
  CREATE TABLE button(
    nonce BLOB PRIMARY KEY, action TEXT NOT NULL, channel TEXT NOT NULL, approver TEXT NOT NULL,
    used INTEGER NOT NULL DEFAULT 0
  ) STRICT;
",
    "
  CREATE TABLE page(hash BLOB PRIMARY KEY, caller TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
",
];

/// The number of migrations that this version knows.
const KNOWN: u32 = 7;

/// The time for which a submission is kept, in milliseconds.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

/// The database of the gateway.
#[derive(Debug)]
pub struct Base {
    connection: Connection,
    sealing: Sealing,
}

impl Base {
    /// Opens the database, and creates it if it does not exist.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn open(path: &Path) -> Result<Self, BackendError> {
        let made = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        made.map_err(|error| BackendError::File { path: path.to_owned(), error })?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        let base = Self { connection, sealing: Sealing::new(path.with_extension("key")) };
        base.take_steps()?;
        Ok(base)
    }

    fn take_steps(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA secure_delete=ON")?;
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let seen: u32 = self.connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        for step in STEPS.iter().skip(seen as usize) {
            self.connection.execute_batch(step)?;
        }
        self.connection.pragma_update(None, "user_version", seen.max(KNOWN))?;
        self.connection.execute_batch("COMMIT")
    }
}

impl Tokens for Base {
    fn add_token(&self, token: &Token) -> Result<(), BackendError> {
        let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
        let directories = serde_json::to_string(&token.directories)?;
        let done = self.connection.execute(
            "INSERT OR IGNORE INTO token(name, hash, scopes, folders, max_tier, created, origin)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                token.name,
                &token.hash[..],
                scopes.join(","),
                directories,
                token.max_tier,
                token.created.as_millisecond(),
                token.origin.name()
            ],
        );
        match done? {
            1 => Ok(()),
            _ => Err(BackendError::TokenExists { name: token.name.clone() }),
        }
    }

    fn tokens(&self) -> Result<Vec<Token>, BackendError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT name, hash, scopes, folders, max_tier, created, used, origin FROM token ORDER BY name",
            )?;
            statement.query_map([], token)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(BackendError::from)
    }

    fn remove_token(&self, name: &str) -> Result<bool, BackendError> {
        let done = self.connection.execute("DELETE FROM token WHERE name = ?1", [name]);
        done.map(|count| count == 1).map_err(BackendError::from)
    }

    fn used_token(&self, name: &str, now: Timestamp) -> Result<(), BackendError> {
        let now = now.as_millisecond();
        let put = "UPDATE token SET used = ?2 WHERE name = ?1 AND (used IS NULL OR used < ?2 - 60000)";
        self.connection.execute(put, params![name, now]).map(drop).map_err(BackendError::from)
    }
}

impl Submissions for Base {
    fn begin(&self, new: &Submission) -> Result<Option<Submission>, BackendError> {
        let body = self.sealing.seal(&new.action, &new.body)?;
        let old = "DELETE FROM submission WHERE created < ?1";
        self.connection.execute(old, [new.created.as_millisecond() - KEPT_MS])?;
        let done = self.connection.execute(
            "INSERT OR IGNORE INTO submission(action, client, body, idempotency, body_hash, created, callback)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                new.action,
                new.client,
                body,
                new.idempotency,
                &new.body_hash[..],
                new.created.as_millisecond(),
                new.callback
            ],
        );
        if done? == 1 {
            return Ok(None);
        }
        let sql = format!("SELECT {SUBMISSION} FROM submission WHERE client = ?1 AND idempotency = ?2");
        let found = self.connection.query_row(&sql, params![new.client, new.idempotency], submission).optional();
        found?.ok_or(BackendError::DuplicateAction).map(Some)
    }

    fn filed(&self) -> Result<Vec<(String, String, String, Timestamp)>, BackendError> {
        let read = || {
            let sql =
                "SELECT request, action, client, created FROM submission WHERE request IS NOT NULL ORDER BY created";
            let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, time(row.get(3)?)));
            self.connection.prepare(sql)?.query_map([], row)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(BackendError::from)
    }

    fn waits(&self, action: &str, request: &str) -> Result<(), BackendError> {
        self.forget_ended(action)?;
        let put = "UPDATE submission SET request = ?2 WHERE action = ?1";
        self.connection.execute(put, [action, request]).map(drop).map_err(BackendError::from)
    }

    fn end(&self, action: &str, result: &str, once: Option<&[u8; 32]>) -> Result<(), BackendError> {
        let put = "UPDATE submission SET result = ?2, once = ?3, body = '' WHERE action = ?1";
        let once = once.map(|hash| &hash[..]);
        self.connection.execute(put, params![action, result, once]).map(drop).map_err(BackendError::from)
    }

    fn use_once(&self, action: &str) -> Result<bool, BackendError> {
        let put = "UPDATE submission SET reported = 1 WHERE action = ?1 AND reported = 0 AND once IS NOT NULL";
        self.connection.execute(put, [action]).map(|count| count == 1).map_err(BackendError::from)
    }

    fn submission(&self, action: &str) -> Result<Option<Submission>, BackendError> {
        let sql = format!("SELECT {SUBMISSION} FROM submission WHERE action = ?1");
        self.connection.query_row(&sql, [action], submission).optional().map_err(BackendError::from)
    }

    fn unfinished(&self) -> Result<Vec<Submission>, BackendError> {
        let read = || {
            let sql = format!("SELECT {SUBMISSION} FROM submission WHERE result IS NULL ORDER BY created");
            let mut statement = self.connection.prepare(&sql)?;
            statement.query_map([], submission)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut all = read()?;
        for one in &mut all {
            // A body that cannot be decrypted becomes empty, and is therefore denied.
            one.body = self.sealing.open(&one.action, &one.body).unwrap_or_default();
        }
        Ok(all)
    }

    fn untold(&self) -> Result<Vec<String>, BackendError> {
        let read = || {
            let sql = "SELECT action FROM submission WHERE result IS NOT NULL AND callback IS NOT NULL";
            self.connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(BackendError::from)
    }

    fn called_back(&self, action: &str) -> Result<(), BackendError> {
        let put = "UPDATE submission SET callback = NULL WHERE action = ?1";
        self.connection.execute(put, [action]).map(drop).map_err(BackendError::from)
    }
}

impl Memory for Base {
    fn key(&self) -> Result<GatewayKey, BackendError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(BackendError::Random)?;
        let put = "INSERT OR IGNORE INTO own(what, value) VALUES('key', ?1)";
        self.connection.execute(put, [&bytes[..]])?;
        let get = "SELECT value FROM own WHERE what = 'key'";
        let kept: Vec<u8> = self.connection.query_row(get, [], |row| row.get(0))?;
        kept.try_into().map(GatewayKey).map_err(|_| BackendError::DamagedKey)
    }
}

const SUBMISSION: &str =
    "action, request, client, body, idempotency, body_hash, created, result, once, reported, callback";

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Converts a hash; a value of another length becomes a hash that nothing has.
fn hash(bytes: Vec<u8>) -> [u8; 32] {
    bytes.try_into().unwrap_or([0; 32])
}

fn submission(row: &Row<'_>) -> rusqlite::Result<Submission> {
    Ok(Submission {
        action: row.get(0)?,
        request: row.get(1)?,
        client: row.get(2)?,
        body: row.get(3)?,
        idempotency: row.get(4)?,
        body_hash: hash(row.get(5)?),
        created: time(row.get(6)?),
        result: row.get(7)?,
        once: row.get::<_, Option<Vec<u8>>>(8)?.map(hash),
        reported: row.get(9)?,
        callback: row.get(10)?,
    })
}

fn token(row: &Row<'_>) -> rusqlite::Result<Token> {
    let (scopes, directories): (String, String) = (row.get(2)?, row.get(3)?);
    Ok(Token {
        name: row.get(0)?,
        hash: hash(row.get(1)?),
        scopes: scopes.split(',').filter_map(Scope::named).collect(),
        // An unreadable list becomes a directory that does not exist, because an empty list would mean every directory.
        directories: serde_json::from_str(&directories).unwrap_or_else(|_| vec![String::new()]),
        max_tier: row.get(4)?,
        created: time(row.get(5)?),
        used: row.get::<_, Option<i64>>(6)?.map(time),
        // An unknown origin is read as the strictest one.
        origin: Origin::named(&row.get::<_, String>(7)?).unwrap_or(Origin::Api),
    })
}
