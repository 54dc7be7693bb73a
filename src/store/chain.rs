//! The chain: each row carries a hash over the row before it and over itself, so that whoever edits, removes or moves
//! a row has to rewrite every row after it.
//!
//! What it proves and what it does not: a row edited, removed or moved within the chain is found by reading it through.
//! A tail that was cut off, or a chain rebuilt from some row to its end, is a whole chain again: only somebody who
//! kept the head (the last row's number and hash) elsewhere can tell.

use std::fmt::Write as _;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use sha2::{Digest as _, Sha256};

/// The hash of a row, and of all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(pub [u8; 32]);

impl Link {
    /// What the first row follows.
    pub(super) const START: Self = Self([0; 32]);
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The end of the chain: what has to be kept elsewhere to prove that nothing was cut off.
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

/// The hash of a row after another.
///
/// Over the hash before, the number, and every column that is not NULL, by name in alphabetical order: name, type and
/// value, each with its length in front, so that no two rows share an encoding and columns that are added to the
/// table later change nothing.
fn link<'a>(before: Link, row: i64, columns: impl Iterator<Item = (&'a str, ValueRef<'a>)>) -> Link {
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

/// The last row, whatever their number.
pub(super) const HEAD: &str = "SELECT id, hash FROM record ORDER BY id DESC LIMIT 1";

/// The end of the chain; `None` when there is no row yet.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<Option<Head>> {
    connection.prepare(HEAD)?.query_row([], |row| Ok(Head { row: row.get(0)?, link: Link(row.get(1)?) })).optional()
}

/// Appends a row and returns its number. To be called inside a transaction that holds the write lock, or two rows
/// could follow the same one.
pub(super) fn append(connection: &Connection, draft: &Draft<'_>) -> rusqlite::Result<i64> {
    let (before, row) = match head(connection)? {
        Some(head) => (head.link, head.row.saturating_add(1)),
        None => (Link::START, 1),
    };
    let mut columns: Vec<&(&'static str, Cell<'_>)> = draft.0.iter().collect();
    columns.sort_by_key(|(name, _)| *name);
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

/// Whether a row is what was written after the row before it.
pub(super) fn is_whole(connection: &Connection, row: i64) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare("SELECT * FROM record WHERE id BETWEEN ?1 - 1 AND ?1 ORDER BY id")?;
    let layout = Layout::of(&statement);
    let mut before = (row == 1).then_some(Link::START);
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

/// In which order the columns of a row are hashed.
struct Layout {
    /// Position and name, by name, without the number and the hash.
    columns: Vec<(usize, String)>,
    id: usize,
    hash: usize,
}

/// A row's number, its hash as written, and its other columns.
type Parts<'a> = (i64, Option<Link>, Vec<(&'a str, ValueRef<'a>)>);

impl Layout {
    fn of(statement: &rusqlite::Statement<'_>) -> Self {
        let mut layout = Self { columns: Vec::new(), id: 0, hash: 0 };
        for (position, name) in statement.column_names().enumerate() {
            match name {
                "id" => layout.id = position,
                "hash" => layout.hash = position,
                _ => layout.columns.push((position, name.to_owned())),
            }
        }
        layout.columns.sort_by(|one, other| one.1.cmp(&other.1));
        layout
    }

    fn read<'a>(&'a self, row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Parts<'a>> {
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

/// Something in the record that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The rows from one number to another, both included, are gone.
    Missing { first: i64, last: i64 },
    /// The row does not continue the one before it: one of the two is not what was written, or stands elsewhere.
    Broken { row: i64 },
    /// SQLite finds the file itself inconsistent.
    File { detail: String },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { first, last } if first == last => write!(f, "row {first} was removed"),
            Self::Missing { first, last } => write!(f, "rows {first} to {last} were removed"),
            Self::Broken { row } => write!(
                f,
                "row {row} does not continue the row before it: it was edited or moved, or the row before it was replaced"
            ),
            Self::File { detail } => write!(f, "the file is inconsistent: {detail}"),
        }
    }
}

/// What reading the chain through has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// How many rows there are.
    pub rows: u64,
    pub head: Option<Head>,
    /// In the order of the rows; at most [`MAX_FAULTS`].
    pub faults: Vec<Fault>,
    /// How many faults there are beyond those.
    pub more: u64,
}

/// How many faults are told one by one.
pub const MAX_FAULTS: usize = 100;

impl Audit {
    fn fault(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }
}

/// Reads the chain through, from the first row to the last.
pub(super) fn audit(connection: &Connection) -> rusqlite::Result<Audit> {
    let mut audit = Audit::default();
    let mut statement = connection.prepare("SELECT * FROM record ORDER BY id")?;
    let layout = Layout::of(&statement);

    let mut before = Head { row: 0, link: Link::START };
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (number, written, columns) = layout.read(row)?;
        let gap = number != before.row.saturating_add(1);
        if gap && number > before.row {
            audit.fault(Fault::Missing { first: before.row.saturating_add(1), last: number.saturating_sub(1) });
        } else if gap {
            audit.fault(Fault::Broken { row: number });
        }
        let computed = link(before.link, number, columns.into_iter());
        // Behind a gap every first row is broken; that is said already.
        if !gap && written != Some(computed) {
            audit.fault(Fault::Broken { row: number });
        }
        before = Head { row: number, link: written.unwrap_or(computed) };
        audit.rows += 1;
        audit.head = Some(before);
    }
    drop(rows);

    let mut statement = connection.prepare("PRAGMA integrity_check(10)")?;
    let mut answers = statement.query([])?;
    while let Some(answer) = answers.next()? {
        let detail: String = answer.get(0)?;
        if detail != "ok" {
            audit.fault(Fault::File { detail });
        }
    }
    Ok(audit)
}
