//! Databases in code: files that a client opens, and tables that the code created.

use super::expression::Expression;
use super::sql;
use super::statements::CallReader;
use super::{Language, Slice};
use crate::judge::analysis::act::Value;
use crate::judge::rules::word_lists;

/// Reports whether a call passes a statement to a database client, or a command to another machine. The arguments of
/// the connection are not part of it.
pub(super) fn is_statement(callee: &str) -> bool {
    let Some((before, last)) = callee.rsplit_once('.') else { return false };
    // A program that runs here, or on another machine.
    let runs = !matches!(last, "run" | "sudo") || before.ends_with("Connection") || is_of_file(before);
    let runs = runs && !before.starts_with("boto3");
    word_lists::STATEMENT_CALLS.contains(&last) && runs
}

/// Reports whether a call is a method of a repository. The arguments with which that was opened are not part of the
/// call.
pub(super) fn is_of_repository(callee: &str) -> bool {
    let before = callee.rsplit_once('.').map_or("", |(before, _)| before);
    ["git.", "simple-git", "Git."].iter().any(|library| before.starts_with(library))
}

/// Reports whether a name is that of a client of databases in files.
fn is_of_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["sqlite", "duckdb", "sequel"].iter().any(|client| name.contains(client))
}

/// Returns the file that the client of a call opened, or `:memory:`; `None` if it is not a database in a file.
pub(super) fn of_client(of: &Expression) -> Option<Value> {
    let name = of.name.as_deref()?;
    let first = of.carried.first();
    let leading = first.map(|first| first.leading().to_ascii_lowercase()).unwrap_or_default();
    let scheme = word_lists::DATABASE_SCHEMES
        .iter()
        .find(|scheme| leading.starts_with(**scheme))
        .map_or(0, |scheme| scheme.len());
    let lower = name.to_ascii_lowercase();
    if scheme == 0 && !is_of_file(name) {
        return None;
    }
    let first = match first {
        // An argument that is not a path is an option.
        Some(first) if !first.is_option() => first.without_leading(scheme),
        _ if word_lists::IN_MEMORY_DATABASES.iter().any(|client| lower.starts_with(client)) => Value::text(":memory:"),
        _ => return None,
    };
    let leading = first.leading();
    let key = ["dbname=", "database="].iter().find(|key| leading.starts_with(**key)).map_or(0, |key| key.len());
    let file = first.without_leading(key);
    let leading = file.leading();
    let in_memory = file.is_empty() || leading.starts_with(":memory:") || leading.starts_with("file::memory:");
    Some(if in_memory { Value::text(":memory:") } else { file })
}

impl CallReader<'_> {
    /// Returns the tables that the code created before this statement, if creating an existing one would have failed,
    /// and stores those that the statement creates.
    pub(super) fn tables_made(&mut self, statement: Option<Slice<'_>>) -> Option<Value> {
        if !matches!(self.language, Language::Python | Language::Ruby) || self.goes_on {
            return None;
        }
        let made = Value::text(format!("--made={}", self.tables.join(",")));
        self.tables.extend(statement.map(sql::read).unwrap_or_default().iter().filter_map(sql::makes));
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(name: &str, file: &[&str]) -> Option<String> {
        let carried = file.iter().map(|file| Value::text(*file)).collect();
        let of = Expression { carried, ..Expression::of_name(name.to_owned()) };
        of_client(&of).and_then(|value| Some(value.known()?.into_owned()))
    }

    #[test]
    fn the_file_of_a_database_is_told_from_its_address() {
        assert_eq!(opened("sqlite3.connect", &["a.db"]).as_deref(), Some("a.db"));
        assert_eq!(opened("sqlalchemy.create_engine", &["sqlite:///a.db"]).as_deref(), Some("a.db"));
        assert_eq!(opened("sqlalchemy.create_engine", &["sqlite:////tmp/a.db"]).as_deref(), Some("/tmp/a.db"));
        assert_eq!(opened("sqlalchemy.create_engine", &["sqlite://"]).as_deref(), Some(":memory:"));
        assert_eq!(opened("PDO", &["sqlite::memory:"]).as_deref(), Some(":memory:"));
        assert_eq!(opened("DBI.connect", &["dbi:SQLite:dbname=a.db"]).as_deref(), Some("a.db"));
        assert_eq!(opened("duckdb.connect", &[]).as_deref(), Some(":memory:"));
    }

    #[test]
    fn a_server_is_no_file() {
        assert_eq!(opened("sqlalchemy.create_engine", &["postgresql://db/app"]), None);
        assert_eq!(opened("psycopg2.connect", &["dbname=app"]), None);
        assert_eq!(opened("sqlite_pool", &[]), None);
    }
}
