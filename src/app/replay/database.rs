//! Reads rows of another program's SQLite database without changing it or any file beside it.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};
use serde_json::{Map, Value};
use thiserror::Error;

use super::lines;

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 16 << 20;

/// The time limit for reading one database, including the processing of its rows. An endless view can have the name of
/// a table.
const MAX_TIME: Duration = Duration::from_secs(120);

/// The number of query steps between two checks of the time.
const STEPS: i32 = 1000;

/// The reason why a database could not be read, or not completely.
#[derive(Debug, Error)]
pub enum DatabaseError {
    #[error("reading it takes longer than {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Sqlite(rusqlite::Error),
}

/// Passes each row to `take`, as an object of its columns, or `None` if it is too long or contains invalid JSON. A text
/// that begins like an object or an array is parsed as JSON.
///
/// # Errors
/// The file is not a database, its tables do not match the query, or reading takes too long. Rows passed until then
/// remain valid.
pub fn each(path: &Path, query: &str, take: impl FnMut(Option<Value>)) -> Result<(), DatabaseError> {
    each_within(MAX_TIME, path, query, take)
}

fn each_within(
    limit: Duration,
    path: &Path,
    query: &str,
    mut take: impl FnMut(Option<Value>),
) -> Result<(), DatabaseError> {
    let connection = open(limit, path)?;
    let told = |error| told(limit, error);
    let mut statement = connection.prepare(query).map_err(told)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([]).map_err(told)?;
    while let Some(row) = rows.next().map_err(told)? {
        take(object(row, &names));
    }
    Ok(())
}

/// Reports whether a database has the tables and columns of a query.
#[must_use]
pub fn answers(path: &Path, query: &str) -> bool {
    open(MAX_TIME, path).is_ok_and(|connection| connection.prepare(query).is_ok())
}

fn told(limit: Duration, error: rusqlite::Error) -> DatabaseError {
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return DatabaseError::TooSlow(limit);
    }
    DatabaseError::Sqlite(error)
}

/// Opens a connection whose queries are interrupted after this time.
fn open(limit: Duration, path: &Path) -> Result<Connection, DatabaseError> {
    // Reject a pipe or a device, which could block.
    drop(lines::open(path)?);
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // Without a write-ahead log, `immutable` prevents SQLite from creating files beside the database. With one, the log
    // must be read too.
    let has_log = fs::metadata(log).is_ok_and(|log| log.len() > 0);
    let how = if has_log { "mode=ro" } else { "mode=ro&immutable=1" };
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' => address.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => address.push(char::from(*byte)),
            byte => address.push_str(&format!("%{byte:02x}")),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let mut connection = Connection::open_with_flags(format!("{address}?{how}"), flags)?;
        let begun = Instant::now();
        connection.progress_handler(STEPS, Some(move || begun.elapsed() >= limit))?;
        connection.busy_timeout(Duration::from_secs(2))?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(connection)
    };
    open().map_err(|error| told(limit, error))
}

fn object(row: &Row<'_>, names: &[String]) -> Option<Value> {
    let mut object = Map::new();
    for (number, name) in names.iter().enumerate() {
        let value = match row.get_ref(number).ok()? {
            ValueRef::Text(text) | ValueRef::Blob(text) if text.len() > MAX_TEXT => return None,
            ValueRef::Text(text) if matches!(text.first(), Some(b'{' | b'[')) => serde_json::from_slice(text).ok()?,
            ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
            ValueRef::Integer(number) => Value::from(number),
            ValueRef::Real(number) => Value::from(number),
            ValueRef::Null | ValueRef::Blob(_) => continue,
        };
        object.insert(name.clone(), value);
    }
    Some(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all(path: &Path, query: &str) -> Result<Vec<Option<Value>>, DatabaseError> {
        let mut found = Vec::new();
        each(path, query, |row| found.push(row)).map(|()| found)
    }

    #[test]
    fn each_row_is_an_object_and_nothing_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a b?%#.db");
        let own = Connection::open(&path).unwrap();
        own.execute_batch(
            "PRAGMA journal_mode = wal; CREATE TABLE t (a, b); INSERT INTO t VALUES (1, '{\"x\": [2]}'), (1.5, 'text'), \
             (NULL, x'00'), (4, '{broken');",
        )
        .unwrap();
        let expected =
            [Some(json!({ "a": 1, "b": { "x": [2] } })), Some(json!({ "a": 1.5, "b": "text" })), Some(json!({})), None];
        let kept = |name: &str| fs::read(directory.path().join(name)).unwrap();
        // While the database is open for writing, the latest rows are only in the write-ahead log.
        let log = kept("a b?%#.db-wal");
        assert!(!log.is_empty());
        assert_eq!(all(&path, "SELECT a, b FROM t").unwrap(), expected);
        assert_eq!(kept("a b?%#.db-wal"), log);
        drop(own);
        let before = kept("a b?%#.db");
        assert_eq!(all(&path, "SELECT a, b FROM t").unwrap(), expected);
        assert_eq!(kept("a b?%#.db"), before);
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a b?%#.db"]);
        assert!(all(&path, "DELETE FROM t").is_err());
        assert!(all(&path, "SELECT a FROM other").unwrap_err().to_string().contains("other"));
        assert!(answers(&path, "SELECT a FROM t") && !answers(&path, "SELECT c FROM t"));
    }

    #[test]
    fn a_view_without_an_end_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let numbers = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT a FROM n";
        Connection::open(&path)
            .unwrap()
            .execute_batch(&format!(
                "CREATE VIEW rows AS {numbers}; CREATE VIEW silent AS {numbers} WHERE a < 0; CREATE TABLE t (a); \
                 INSERT INTO t VALUES (7);"
            ))
            .unwrap();
        let within = |limit, query: &str| {
            let mut found = Vec::new();
            (each_within(limit, &path, query, |row| found.push(row)), found)
        };
        // The limit applies whether the endless view returns rows or not.
        let (told, found) = within(Duration::from_millis(20), "SELECT a FROM rows");
        assert_eq!(told.unwrap_err().to_string(), "reading it takes longer than 0 s");
        assert_eq!(found.first(), Some(&Some(json!({ "a": 1 }))));
        let (told, found) = within(Duration::from_millis(20), "SELECT a FROM silent");
        assert_eq!((told.unwrap_err().to_string().as_str(), found), ("reading it takes longer than 0 s", Vec::new()));
        let (told, found) = within(MAX_TIME, "SELECT a FROM t");
        assert_eq!((told.map_err(|error| error.to_string()), found), (Ok(()), vec![Some(json!({ "a": 7 }))]));
    }

    #[test]
    fn what_is_no_database_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        assert!(all(&path, "SELECT 1").is_err());
        assert!(!path.exists());
        fs::write(&path, "no database at all, but long enough to be looked at as one".repeat(20)).unwrap();
        assert!(all(&path, "SELECT a FROM t").is_err());
        assert!(all(directory.path(), "SELECT 1").is_err());
    }
}
