//! The rows of the queue: their schema, parsing and expiry.
//!
//! Out of scope: locks, and the meaning of an answer.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use super::request::{Pending, RequestState};
use crate::judge::risk::{Tier, Weight};

/// The time in milliseconds in which an expired request may still be approved: a day.
const LATE_MS: i64 = 86_400_000;

/// The time in milliseconds after which an unused approval ends: an hour.
const UNUSED_MS: i64 = 3_600_000;

/// The time in milliseconds for which a settled request is listed: a week.
const SHOWN_MS: i64 = 604_800_000;

/// The migrations from an empty file, in order. They are never edited, only appended.
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
    // The number of approvals that are needed, and the approvals so far: a JSON list of rows of the record and names.
    "ALTER TABLE request ADD COLUMN approvals INTEGER NOT NULL DEFAULT 1;
     ALTER TABLE request ADD COLUMN given TEXT",
    // Whether a person has to decide it every time, whether somebody is in a crisis, and the requester's justification.
    "ALTER TABLE request ADD COLUMN decision INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE request ADD COLUMN crisis INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE request ADD COLUMN said TEXT;
     CREATE TABLE counter(key TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT",
    // The opinion of a reviewer, as JSON.
    "ALTER TABLE request ADD COLUMN review TEXT",
    // Whether its card offers a grant. This is set when the request is filed, not when it is answered.
    "ALTER TABLE request ADD COLUMN may_grant INTEGER NOT NULL DEFAULT 0",
    // The reasons that its card shows, as JSON.
    "ALTER TABLE request ADD COLUMN grounds TEXT",
    // The tool that is called, for a request that is not of a shell command.
    "ALTER TABLE request ADD COLUMN tool TEXT",
    // The number of codes that may be tried if an approval with a passkey has to contain the code that the waiting
    // guard shows.
    "ALTER TABLE request ADD COLUMN codes_left INTEGER NOT NULL DEFAULT 0",
];

/// The number of migrations of this version.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// Returns the number of migrations that were applied to the file.
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Applies the missing migrations. It must be called inside a transaction that holds the write lock.
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

/// Returns the requests for one command in one directory, newest first.
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
        // An unknown state can only come from tampering, so the request cannot be used.
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
        // An invalid number can only come from tampering; the request then needs more approvers than can exist.
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

/// Records the signature counter of a passkey. Returns false if it has not increased, because then a copy of the
/// passkey has signed.
pub(super) fn counts_on(connection: &Connection, key: &str, count: u32) -> rusqlite::Result<bool> {
    let last: Option<u32> = connection
        .prepare("SELECT count FROM counter WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let last = last.unwrap_or(0);
    // Passkeys that are synchronised between devices have no counter: it is always 0.
    if count <= last && (count, last) != (0, 0) {
        return Ok(false);
    }
    connection.prepare("INSERT OR REPLACE INTO counter(key, count) VALUES(?1, ?2)")?.execute((key, count))?;
    Ok(true)
}

/// Parses the approvals so far: rows of the record, and names. An invalid text contains none.
pub(super) fn answers_so_far(text: Option<&str>) -> Vec<(i64, String)> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Marks requests as expired that were not answered or used in time.
pub(super) fn sweep(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let now = now.as_millisecond();
    // The process that waits has priority: it ends the request itself, or takes an answer that was given at the last
    // moment.
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

/// Erases exact commands of expired requests of tier 4 or for several approvers, because these cannot be approved any
/// more.
pub(super) fn erase_never_late(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare("UPDATE request SET exact = NULL WHERE state = 'late' AND (tier >= 4 OR approvals > 1) AND exact IS NOT NULL")?
        .execute([])?;
    Ok(())
}

/// Letters that are not confused when they are read or spoken. There are no vowels, so that names are not words.
const LETTERS: &[u8; 18] = b"bcdfghjkmnpqrstvwx";
const DIGITS: &[u8; 8] = b"23456789";

/// Returns an unused name: letters and digits in turn.
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
