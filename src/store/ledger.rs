//! The changes of files by sessions, stored in the rows of their commands and read back as a [`Ledger`].
//!
//! The part of each row is sealed with the local key together with the session and the time, so that a row that was
//! inserted or changed by hand cannot lower a risk: a ledger with such a part is rejected. The chain shows whether a
//! row was removed. Nothing is read here unless the risk assessment needs it.

use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::Store;
use super::error::StoreError;
use super::intent_row::{IntentRow, RecordedDecision};
use super::key::DigestKey;
use super::redact::redact;
use crate::judge::ledger::{
    BroughtContent, CommandChanges, Ledger, LedgerEntry, NamedObject, PathChange, PathChangeKind,
};

/// The maximum number of a session's commands that are read.
const COMMANDS: i64 = 2000;

/// The maximum number of rows that are read to find copied or moved content. If there are more, the content may be
/// anywhere.
const BRINGING: i64 = 4096;

/// An entry with the number of its row.
type NumberedEntry = (i64, LedgerEntry);

/// The maximum number of bytes of rows that are read.
const MOST: usize = 4 << 20;

/// Finds the commands of a session that changed files, with the times at which they ended if these are known, newest
/// first.
pub(super) const OF_SESSION: &str = "SELECT at, made, session, user, id,
      (SELECT max(ended.at) FROM record AS ended WHERE ended.about = record.id AND ended.kind = 'result')
    FROM record WHERE session = ?1 AND made IS NOT NULL ORDER BY id DESC LIMIT ?2";

/// Finds all commands that copied or moved content to a place whose files are generated or discarded, newest first.
pub(super) const BROUGHT: &str =
    "SELECT at, made, session, user, id, NULL FROM record INDEXED BY keeping WHERE kept = 1 ORDER BY id DESC LIMIT ?1";

/// Returns the sealed text of a row about the command's changes of files, and whether it copies or moves content to a
/// place whose files are discarded. `None` if the command does not run or changes nothing. Paths that the record must
/// not contain are left out.
pub(super) fn part(row: &IntentRow<'_>, key: &DigestKey) -> Option<(String, bool)> {
    if matches!(row.settled, RecordedDecision::Refused(_)) || row.changes.is_empty() {
        return None;
    }
    let shown = |text: &str| !redact(text).1;
    let may_show = |change: &PathChange| match &change.done {
        PathChangeKind::Moved { from, .. } => shown(&change.path) && shown(from),
        PathChangeKind::Made(_) | PathChangeKind::Gone => shown(&change.path),
    };
    let changes = CommandChanges {
        done: row.changes.done.iter().filter(|change| may_show(change)).cloned().collect(),
        ran: row.changes.ran,
        brought: row.changes.brought.clone(),
        copied: row.changes.copied.iter().filter(|copied| shown(&copied.to) && shown(&copied.from)).cloned().collect(),
        fetched: row.changes.fetched.iter().filter(|path| shown(path)).cloned().collect(),
        named: row.changes.named.iter().filter_map(|named| shown_of(named, shown)).collect(),
    };
    let text = serde_json::to_string(&changes).ok()?;
    let invocation = row.invocation;
    let seal = seal(key, &invocation.session.id, &invocation.user, row.at.as_millisecond(), &text);
    Some((seal + &text, !changes.brought.is_empty()))
}

/// Returns an object that was created by name without what must not be recorded: secret values of options are left out.
/// `None` if an operand is secret.
fn shown_of(named: &NamedObject, shown: impl Fn(&str) -> bool) -> Option<NamedObject> {
    let mut named = named.clone();
    for (_, value) in &mut named.flags {
        *value = value.take().filter(|value| shown(value));
    }
    named.operands.iter().all(|operand| shown(operand)).then_some(named)
}

/// Returns the seal in hexadecimal digits.
fn seal(key: &DigestKey, session: &str, user: &str, at: i64, text: &str) -> String {
    let mut bytes = at.to_le_bytes().to_vec();
    for field in [session, user, text] {
        bytes.extend_from_slice(&(field.len() as u64).to_le_bytes());
        bytes.extend_from_slice(field.as_bytes());
    }
    key.seal("deeds", &bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of digits of a seal.
const SEAL: usize = 64;

impl Store {
    /// Returns the changes of files by a session of an account, and the content that any session of the account copied
    /// or moved.
    ///
    /// # Errors
    /// The record cannot be read, or its data about files was not written by guard.
    pub fn ledger(&self, session: &str, user: &str) -> Result<Ledger, StoreError> {
        let key = DigestKey::read_or_make(&self.paths.key())?;
        let (own, brought) = self.persist(|connection| {
            let mut own = read(connection, OF_SESSION, params![session, COMMANDS], &key, user)?;
            if let Some((entries, _)) = &mut own {
                find_next(connection, session, entries, Timestamp::now().as_millisecond())?;
            }
            Ok((own, read(connection, BROUGHT, params![BRINGING], &key, user)?))
        })?;
        let altered = || StoreError::Refused { why: "the file entries of the record were changed by hand".to_owned() };
        let mut entries: Vec<_> = own.ok_or_else(altered)?.0.into_iter().map(|(_, entry)| entry).collect();
        let (bringing, rows) = brought.ok_or_else(altered)?;
        entries.reverse();
        let brought =
            bringing.into_iter().flat_map(|(_, entry)| entry.changes.brought).collect::<Vec<BroughtContent>>();
        Ok(Ledger { entries, brought, unknown: rows >= BRINGING })
    }
}

/// Finds the first of the rows after a command that belongs to a call of the same session, and counts the rows that
/// were read.
pub(super) const NEXT: &str = "SELECT min(at) FILTER (WHERE session = ?2 AND kind IN ('intent', 'advised')), count(*)
    FROM (SELECT at, session, kind FROM record WHERE id > ?1 ORDER BY id LIMIT ?3)";

/// The maximum number of rows after that of a command that are read to find the next call of its session.
const FOLLOWING: i64 = 32;

/// The maximum number of a session's commands for which the next call is determined.
const FOLLOWED: usize = 256;

/// Adds the time of the session's next call to commands that changed files and whose end is unknown.
fn find_next(connection: &Connection, session: &str, entries: &mut [NumberedEntry], now: i64) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(NEXT)?;
    let unseen = |entry: &LedgerEntry| entry.until.is_none() && !entry.changes.done.is_empty();
    for (id, entry) in entries.iter_mut().filter(|(_, entry)| unseen(entry)).take(FOLLOWED) {
        let (next, looked): (Option<i64>, i64) =
            statement.query_row(params![*id, session, FOLLOWING], |row| Ok((row.get(0)?, row.get(1)?)))?;
        // If all rows that were read are of other sessions, the time is unknown.
        entry.next = next.or_else(|| (looked < FOLLOWING).then_some(now));
    }
    Ok(())
}

/// Returns rows with their numbers in the order of the query, and the number of rows; `None` if guard did not write one
/// of them.
fn read(
    connection: &Connection,
    query: &str,
    with: impl rusqlite::Params,
    key: &DigestKey,
    user: &str,
) -> rusqlite::Result<Option<(Vec<NumberedEntry>, i64)>> {
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query(with)?;
    let (mut entries, mut bytes, mut count) = (Vec::new(), 0, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        let of: Option<String> = row.get(3)?;
        if of.as_deref() != Some(user) {
            continue;
        }
        let Some((entry, length)) = entry(row, key, user)? else { return Ok(None) };
        bytes += length;
        if bytes > MOST {
            break;
        }
        entries.push((row.get(4)?, entry));
    }
    Ok(Some((entries, count)))
}

fn entry(row: &Row<'_>, key: &DigestKey, user: &str) -> rusqlite::Result<Option<(LedgerEntry, usize)>> {
    let (at, made, session): (i64, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let Some((written, text)) = made.split_at_checked(SEAL) else { return Ok(None) };
    if seal(key, &session.unwrap_or_default(), user, at, text) != written {
        return Ok(None);
    }
    let Ok(changes) = serde_json::from_str(text) else { return Ok(None) };
    Ok(Some((LedgerEntry { at, until: row.get(5)?, next: None, changes }, made.len())))
}
