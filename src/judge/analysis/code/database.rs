//! The databases of code: files that a client of it opens, and tables that it made itself.

use super::expression::Expression;
use super::sql;
use super::statements::CallReader;
use super::{Language, Slice};
use crate::judge::analysis::act::Value;
use crate::judge::rules::word_lists;

/// Whether a call hands a statement to a client of databases, or a command to one of another machine: what the
/// connection was made with is no part of it.
pub(super) fn is_statement(callee: &str) -> bool {
    let Some((before, last)) = callee.rsplit_once('.') else { return false };
    // A program that is run, and what is run on another machine.
    let runs = !matches!(last, "run" | "sudo") || before.ends_with("Connection") || is_of_file(before);
    let runs = runs && !before.starts_with("boto3");
    word_lists::STATEMENT_CALLS.contains(&last) && runs
}

/// Whether a call is made on a repository: what that was opened with is its place, and no part of the call.
pub(super) fn is_of_repository(callee: &str) -> bool {
    let before = callee.rsplit_once('.').map_or("", |(before, _)| before);
    ["git.", "simple-git", "Git."].iter().any(|library| before.starts_with(library))
}

/// Whether a name is that of a client of databases in files.
fn is_of_file(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["sqlite", "duckdb", "sequel"].iter().any(|client| name.contains(client))
}

/// The file that the client of a call was opened on, `:memory:` for none; `None` where it is no database in a file.
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
        // What is no path is a setting.
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
    /// The tables that the code made before this statement, where making one that is there stops it; those that this
    /// one makes are noted.
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
