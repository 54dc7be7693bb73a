//! Detects rows that were edited: one row, or the last ones. [`super::audit`] verifies all of them.

use rusqlite::{Connection, OptionalExtension};

use super::chain::{Head, Layout, head, link};
use super::prune;

/// Reports whether a row has this hash; `None` if it was pruned together with later rows.
pub(super) fn holds(connection: &Connection, head: &Head) -> rusqlite::Result<Option<bool>> {
    let mut statement = connection.prepare("SELECT hash FROM record WHERE id = ?1")?;
    let written: Option<Option<[u8; 32]>> = statement.query_row([head.row], |row| row.get(0)).optional()?;
    if let Some(written) = written {
        return Ok(Some(written == Some(head.link.0)));
    }
    let first = prune::first_row(connection)?.unwrap_or(1);
    if head.row >= first {
        return Ok(Some(false));
    }
    let last = prune::seal_of(connection, first - 1)?.and_then(|seal| seal.pruned);
    Ok(match last {
        Some(pruned) if pruned.last == head.row => Some(pruned.head == head.link),
        Some(_) => None,
        None => Some(false),
    })
}

/// Reports whether the hash of a row is correct, which continues that of the row before it.
pub(super) fn is_whole(connection: &Connection, row: i64) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare("SELECT * FROM record WHERE id BETWEEN ?1 - 1 AND ?1 ORDER BY id")?;
    let layout = Layout::of(&statement);
    let mut before = prune::before(connection, row)?;
    let mut rows = statement.query([row])?;
    while let Some(found) = rows.next()? {
        let (number, written, columns) = layout.read(found)?;
        if number == row {
            return Ok(before.is_some_and(|before| written == Some(link(before, number, columns.into_iter()))));
        }
        before = written;
    }
    Ok(false)
}

/// Returns the first row from a number on with an incorrect hash or after a gap. If there are more than `most` rows,
/// only the last ones are verified.
pub(super) fn first_edited(connection: &Connection, from: i64, most: i64) -> rusqlite::Result<Option<i64>> {
    let Some(head) = head(connection)? else { return Ok(None) };
    let first = from.max(head.row.saturating_sub(most)).max(prune::first_row(connection)?.unwrap_or(1));
    let mut statement = connection.prepare("SELECT * FROM record WHERE id >= ?1 - 1 ORDER BY id")?;
    let layout = Layout::of(&statement);
    let mut before = prune::before(connection, first)?;
    let mut expected = first;
    let mut rows = statement.query([first])?;
    while let Some(found) = rows.next()? {
        let (number, written, columns) = layout.read(found)?;
        if number >= first {
            let follows = before.is_some_and(|before| written == Some(link(before, number, columns.into_iter())));
            if number != expected || !follows {
                return Ok(Some(number));
            }
            expected = number.saturating_add(1);
        }
        before = written;
    }
    Ok(None)
}
