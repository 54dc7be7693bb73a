//! The rows of the queue: their schema, how they are read, and what becomes of them as time passes.
//!
//! Out of scope: who holds the lock, and what an answer means.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use super::request::{Pending, RequestState};
use crate::judge::risk::{Tier, Weight};

/// A command that nobody answered in time may be approved late for a day.
const LATE_MS: i64 = 86_400_000;

/// A yes that nobody used ends after an hour.
const UNUSED_MS: i64 = 3_600_000;

/// What is settled is shown for a week.
const SHOWN_MS: i64 = 604_800_000;

/// What has to be done to an empty file, in order. Never edited, only added to.
const STEPS: [&str; 8] = [
    "CREATE TABLE IF NOT EXISTS request(
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
  ) STRICT, WITHOUT ROWID",
    // How many approvers are wanted, and the yeses so far: JSON, a list of rows of the record and names.
    "ALTER TABLE request ADD COLUMN approvals INTEGER NOT NULL DEFAULT 1;
     ALTER TABLE request ADD COLUMN given TEXT",
    // Whether a person decides it every time, whether somebody is in a crisis, and why whoever asked says they do.
    "ALTER TABLE request ADD COLUMN decision INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE request ADD COLUMN crisis INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE request ADD COLUMN said TEXT;
     CREATE TABLE counter(key TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT",
    // What a reviewer thinks of it: JSON.
    "ALTER TABLE request ADD COLUMN review TEXT",
    // Whether its card offers a grant: said when it is filed, and by nobody who answers.
    "ALTER TABLE request ADD COLUMN may_grant INTEGER NOT NULL DEFAULT 0",
    // Why it is asked about, as its card shows it: JSON.
    "ALTER TABLE request ADD COLUMN grounds TEXT",
    // The tool that is called, where it is no command.
    "ALTER TABLE request ADD COLUMN tool TEXT",
    // How many codes may be tried, where a passkey's yes must carry the one that the waiting guard shows.
    "ALTER TABLE request ADD COLUMN codes_left INTEGER NOT NULL DEFAULT 0",
];

/// How many steps this version knows.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// How many steps the file has seen.
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing. To be called inside a transaction that holds the write lock.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let seen = usize::try_from(schema_version(connection)?).unwrap_or(0);
    STEPS.iter().skip(seen).try_for_each(|step| connection.execute_batch(step))?;
    if seen < STEPS.len() {
        connection.pragma_update(None, "user_version", KNOWN)?;
    }
    Ok(())
}
pub(super) const COLUMNS: &str =
    "id, state, filed, expires, waiter, user, session, root, origin, agent, tier, score, command,
    redacted, cwd, why, decided, decided_by, words, digest, answer, approvals, given, decision, crisis, said, review,
    may_grant, grounds, tool, codes_left";

pub(super) fn find(connection: &Connection, id: &str) -> rusqlite::Result<Option<Pending>> {
    connection.prepare(&format!("SELECT {COLUMNS} FROM request WHERE id = ?1"))?.query_row([id], pending).optional()
}

/// Requests of one command in one directory, the newest first.
pub(super) fn same(connection: &Connection, digest: &[u8; 32]) -> rusqlite::Result<Vec<Pending>> {
    let sql = format!("SELECT {COLUMNS} FROM request WHERE digest = ?1 AND exact IS NOT NULL ORDER BY filed DESC");
    connection.prepare(&sql)?.query_map([digest], pending)?.collect()
}

pub(super) fn pending(row: &Row<'_>) -> rusqlite::Result<Pending> {
    let time = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    let state: String = row.get(1)?;
    let given = answers_so_far(row.get::<_, Option<String>>(22)?.as_deref());
    let (given, approved_by) = given.into_iter().unzip();
    Ok(Pending {
        id: row.get(0)?,
        // An unknown word is somebody else's hand: nothing can be done with it.
        state: RequestState::ALL.into_iter().find(|known| known.name() == state).unwrap_or(RequestState::Lapsed),
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
        // What is no such number is somebody else's hand: more than anybody can be.
        approvals: u8::try_from(row.get::<_, i64>(21)?).unwrap_or(u8::MAX),
        approved_by,
        given,
        decision: row.get(23)?,
        crisis: row.get(24)?,
        said: row.get(25)?,
        review: row.get::<_, Option<String>>(26)?.and_then(|text| serde_json::from_str(&text).ok()),
        may_grant: row.get(27)?,
        reasons: row.get::<_, Option<String>>(28)?.and_then(|text| serde_json::from_str(&text).ok()),
        tool: row.get(29)?,
        codes_left: u8::try_from(row.get::<_, i64>(30)?).unwrap_or_default(),
    })
}

/// Takes down how far a passkey has counted. False when it was as far before: one of two that are alike has signed.
pub(super) fn counts_on(connection: &Connection, key: &str, count: u32) -> rusqlite::Result<bool> {
    let last: Option<u32> = connection
        .prepare("SELECT count FROM counter WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let last = last.unwrap_or(0);
    // Those that are kept on several devices do not count at all.
    if count <= last && (count, last) != (0, 0) {
        return Ok(false);
    }
    connection.prepare("INSERT OR REPLACE INTO counter(key, count) VALUES(?1, ?2)")?.execute((key, count))?;
    Ok(true)
}

/// The yeses so far: rows of the record, and names. What cannot be read is none.
pub(super) fn answers_so_far(text: Option<&str>) -> Vec<(i64, String)> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// What was not answered or used in time.
pub(super) fn sweep(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let now = now.as_millisecond();
    // The one who waits comes first: it gives up by itself, or takes the answer that came in the last moment.
    connection
        .prepare("UPDATE request SET state = 'late' WHERE state = 'waiting' AND expires + 5000 < ?1")?
        .execute([now])?;
    erase_never_late(connection)?;
    connection
        .prepare(
            "UPDATE request SET state = 'lapsed', exact = NULL
             WHERE (state = 'late' AND filed < ?1) OR (state = 'approved' AND decided < ?2)",
        )?
        .execute([now - LATE_MS, now - UNUSED_MS])?;
    connection.prepare("DELETE FROM request WHERE exact IS NULL AND filed < ?1")?.execute([now - SHOWN_MS])?;
    Ok(())
}

/// Of tier 4, and of what wants several approvers, nothing is approved late, so nothing need be kept.
pub(super) fn erase_never_late(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare("UPDATE request SET exact = NULL WHERE state = 'late' AND (tier >= 4 OR approvals > 1) AND exact IS NOT NULL")?
        .execute([])?;
    Ok(())
}

/// Letters that are told apart when read and when said, without vowels, so that they make no words.
const LETTERS: &[u8; 18] = b"bcdfghjkmnpqrstvwx";
const DIGITS: &[u8; 8] = b"23456789";

/// A name that no request bears: a letter, a digit, a letter, a digit.
pub(super) fn free_name(connection: &Connection) -> rusqlite::Result<String> {
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
