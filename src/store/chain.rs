//! The hash chain: each row contains a hash of the row before it and of itself, so that whoever edits, removes or moves
//! a row has to rewrite every later row.
//!
//! Out of scope: the meaning of a row. [`super::edited`] compares single rows with their hashes, [`super::audit`]
//! verifies the whole chain, and [`super::prune`] determines what the first row continues after older rows were pruned.

use std::fmt::Write as _;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use sha2::{Digest as _, Sha256};

use crate::judge::sort;

/// The hash of a row and of all rows before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(pub [u8; 32]);

impl Link {
    /// The hash that the first row continues.
    pub(super) const START: Self = Self([0; 32]);

    /// Parses the text that `Display` writes; `None` if it is not valid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| pair.get(at).and_then(|digit| char::from(*digit).to_digit(16));
            *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
        }
        Some(Self(bytes))
    }
}

impl serde::Serialize for Link {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Link {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("64 hexadecimal digits are expected"))
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The end of the chain. A copy that is kept elsewhere proves that no row was truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last row.
    pub row: i64,
    pub link: Link,
}

/// The columns of a row that has no number yet. Absent values are left out.
#[derive(Default)]
pub(super) struct Draft<'a>(Vec<(&'static str, Cell<'a>)>);

/// A value of one column.
pub(super) enum Cell<'a> {
    Integer(i64),
    Text(std::borrow::Cow<'a, str>),
    Blob(&'a [u8]),
}

impl<'a> Draft<'a> {
    pub(super) fn integer(&mut self, column: &'static str, value: impl Into<Option<i64>>) {
        self.0.extend(value.into().map(|value| (column, Cell::Integer(value))));
    }

    pub(super) fn text<T: Into<std::borrow::Cow<'a, str>>>(&mut self, column: &'static str, value: Option<T>) {
        self.0.extend(value.map(|value| (column, Cell::Text(value.into()))));
    }

    pub(super) fn blob(&mut self, column: &'static str, value: &'a [u8]) {
        self.0.push((column, Cell::Blob(value)));
    }
}

impl Cell<'_> {
    fn value(&self) -> ValueRef<'_> {
        match self {
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.value()))
    }
}

/// Returns the hash of a row that follows another.
///
/// The hash is over the previous hash, the number, and every column that is not NULL, in alphabetical order of the
/// names: name, type and value, each preceded by its length. Therefore no two rows have the same encoding, and columns
/// that are added to the table later change no hash.
pub(super) fn link<'a>(before: Link, row: i64, columns: impl Iterator<Item = (&'a str, ValueRef<'a>)>) -> Link {
    let mut hash = Sha256::new();
    hash.update(before.0);
    hash.update(row.to_le_bytes());
    let mut field = |kind: u8, bytes: &[u8]| {
        hash.update([kind]);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for (name, value) in columns {
        match value {
            ValueRef::Null => continue,
            _ => field(b'n', name.as_bytes()),
        }
        match value {
            ValueRef::Null => {}
            ValueRef::Integer(number) => field(b'i', &number.to_le_bytes()),
            ValueRef::Real(number) => field(b'r', &number.to_le_bytes()),
            ValueRef::Text(text) => field(b't', text),
            ValueRef::Blob(bytes) => field(b'b', bytes),
        }
    }
    Link(hash.finalize().into())
}

/// Finds the last row without a scan of the table.
pub(super) const HEAD: &str = "SELECT id, hash FROM record ORDER BY id DESC LIMIT 1";

/// Returns the end of the chain; `None` if there is no row yet.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    connection.prepare(HEAD)?.query_row([], |row| Ok(Head { row: row.get(0)?, link: Link(row.get(1)?) })).optional()
}

/// Appends a row and returns its number. It must be called inside a transaction that holds the write lock; otherwise
/// two rows could follow the same one.
pub(super) fn append(connection: &Connection, draft: &Draft<'_>) -> rusqlite::Result<i64> {
    append_about(connection, draft, None)
}

/// Appends a row that refers to another, which can be known only inside the transaction.
pub(super) fn append_about(connection: &Connection, draft: &Draft<'_>, about: Option<i64>) -> rusqlite::Result<i64> {
    let (before, row) = match head(connection)? {
        Some(head) => (head.link, head.row.saturating_add(1)),
        None => (Link::START, 1),
    };
    let about = about.map(|row| ("about", Cell::Integer(row)));
    let mut columns: Vec<&(&'static str, Cell<'_>)> = draft.0.iter().chain(&about).collect();
    sort::sort_by_key(&mut columns, |(name, _)| *name);
    let hash = link(before, row, columns.iter().map(|(name, cell)| (*name, cell.value())));

    let mut sql = String::from("INSERT INTO record(id,hash");
    columns.iter().for_each(|(name, _)| {
        let _ = write!(sql, ",{name}");
    });
    sql.push_str(")VALUES(?,?");
    columns.iter().for_each(|_| sql.push_str(",?"));
    sql.push(')');
    let fixed = [Cell::Integer(row), Cell::Blob(&hash.0)];
    connection.prepare(&sql)?.execute(params_from_iter(fixed.iter().chain(columns.iter().map(|(_, cell)| cell))))?;
    Ok(row)
}

/// The order in which the columns of a row are hashed.
pub(super) struct Layout {
    /// The positions and names of the columns except the number and the hash, sorted by name.
    columns: Vec<(usize, String)>,
    id: usize,
    hash: usize,
}

/// The number of a row, its stored hash, and its other columns.
pub(super) type Parts<'a> = (i64, Option<Link>, Vec<(&'a str, ValueRef<'a>)>);

impl Layout {
    pub(super) fn of(statement: &rusqlite::Statement<'_>) -> Self {
        let mut layout = Self { columns: Vec::new(), id: 0, hash: 0 };
        for (position, name) in statement.column_names().enumerate() {
            match name {
                "id" => layout.id = position,
                "hash" => layout.hash = position,
                _ => layout.columns.push((position, name.to_owned())),
            }
        }
        sort::sort_by(&mut layout.columns, |one, other| one.1.cmp(&other.1));
        layout
    }

    pub(super) fn read<'a>(&'a self, row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Parts<'a>> {
        let written = match row.get_ref(self.hash)? {
            ValueRef::Blob(bytes) => <[u8; 32]>::try_from(bytes).ok().map(Link),
            _ => None,
        };
        let mut columns = Vec::with_capacity(self.columns.len());
        for (position, name) in &self.columns {
            columns.push((name.as_str(), row.get_ref(*position)?));
        }
        Ok((row.get(self.id)?, written, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_never_share_an_encoding() {
        let hash = |columns: &[(&'static str, ValueRef<'static>)]| link(Link::START, 1, columns.iter().copied()).0;
        let text = |text: &'static str| ValueRef::Text(text.as_bytes());
        let different = [
            hash(&[("a", text("b")), ("c", text("d"))]),
            hash(&[("a", text("bc")), ("c", text("d"))]),
            hash(&[("a", text("b"))]),
            hash(&[("a", ValueRef::Blob(b"b"))]),
            hash(&[("ab", text(""))]),
            hash(&[("a", ValueRef::Integer(98))]),
            link(Link::START, 2, [("a", text("b"))].into_iter()).0,
        ];
        assert_eq!(different.iter().collect::<std::collections::BTreeSet<_>>().len(), different.len());
        assert_eq!(hash(&[("a", text("b")), ("z", ValueRef::Null)]), hash(&[("a", text("b"))]));
    }
}
