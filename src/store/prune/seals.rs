//! The rows that describe prunings: their seals, and the hash that the first remaining row continues.

use rusqlite::{Connection, OptionalExtension};

use super::Pruned;
use crate::store::chain::Link;
use crate::store::key::DigestKey;

/// The purpose of the seals of these rows.
pub(super) const PURPOSE: &str = "pruned";

/// A `pruned` row.
pub(in crate::store) struct Seal {
    pub row: i64,
    pub at: i64,
    /// The last pruned row.
    pub last: Option<i64>,
    what: String,
    mac: Option<[u8; 32]>,
    /// The description of the pruning; `None` if this version cannot parse it.
    pub pruned: Option<Pruned>,
}

impl Seal {
    /// Reports whether the row is sealed with this key, and both of its fields name the same last row.
    pub(in crate::store) fn holds(&self, key: Option<&DigestKey>) -> bool {
        let sealed = key.is_some_and(|key| self.mac == Some(key.seal(PURPOSE, self.what.as_bytes())));
        sealed && self.pruned.as_ref().is_some_and(|pruned| Some(pruned.last) == self.last)
    }
}

/// Finds the row that says that all rows up to another were pruned.
pub(in crate::store) const SEAL: &str = "SELECT id, at, about, what, digest FROM record
     WHERE about = ?1 AND kind = 'pruned' ORDER BY id DESC LIMIT 1";

/// Finds all rows that describe prunings, oldest first.
const SEALS: &str = "SELECT id, at, about, what, digest FROM record WHERE kind = 'pruned' ORDER BY id";

fn seal(row: &rusqlite::Row<'_>) -> rusqlite::Result<Seal> {
    let what: String = row.get::<_, Option<String>>(3)?.unwrap_or_default();
    let mac = row.get_ref(4)?.as_blob().ok().and_then(|bytes| bytes.try_into().ok());
    let pruned = serde_json::from_str(&what).ok();
    Ok(Seal { row: row.get(0)?, at: row.get(1)?, last: row.get(2)?, what, mac, pruned })
}

pub(in crate::store) fn seal_of(connection: &Connection, last: i64) -> rusqlite::Result<Option<Seal>> {
    connection.prepare(SEAL)?.query_row([last], seal).optional()
}

pub(in crate::store) fn seals(connection: &Connection) -> rusqlite::Result<Vec<Seal>> {
    connection.prepare(SEALS)?.query_map([], seal)?.collect()
}

/// Returns the number of the first row that exists.
pub(in crate::store) fn first_row(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection.query_row("SELECT id FROM record ORDER BY id LIMIT 1", [], |row| row.get(0)).optional()
}

/// Returns the hash that a row continues if it is the first one: the start of the chain, or the last pruned row. `None`
/// if there is a row before it.
pub(in crate::store) fn before(connection: &Connection, row: i64) -> rusqlite::Result<Option<Link>> {
    if row == 1 {
        return Ok(Some(Link::START));
    }
    if first_row(connection)? != Some(row) {
        return Ok(None);
    }
    Ok(seal_of(connection, row - 1)?.and_then(|seal| seal.pruned).map(|pruned| pruned.head))
}
