//! `guard config set|unset|init`, and the writing part of `edit`: changes one key of a person's own configuration file
//! and preserves the rest.
//!
//! The loader checks the changed text before it is written, and a text that it rejects is not written. Out of scope:
//! files of other layers, and changes that no person at the terminal has accepted.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use toml_edit::{DocumentMut, Item, Table, Value};

use crate::app::approvals::Approvals;
use crate::app::engine::Engine;
use crate::app::exit;
use crate::app::failure::Failure;
use crate::app::install::file;
use crate::app::scratch::Scratch;
use crate::config::keys::{ConfigType, KEYS, nearest};
use crate::config::{self, Layer, PolicyOverride, Roots};
use crate::prompt::confirm::confirm;
use crate::ui::diff::diff;
use crate::ui::style::{self, Look};
use crate::ui::visible;

/// The arguments of `guard config set`.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// The key, as guard config show lists it: `thresholds.agent`
    key: String,
    /// The value: a number, true, false, a word, or a list as TOML writes it
    value: String,
}

/// The arguments of `guard config unset`.
#[derive(Debug, Args)]
pub struct UnsetArgs {
    /// The key; afterwards the value of another layer, or the default, applies
    key: String,
}

/// The content of a file that `guard config init` creates.
pub const TEMPLATE: &str = "\
# The configuration of guard. guard config show lists all keys, and
# guard config show KEY explains one. guard config check checks the file.
# A key that is not set has its default value.

# How strict guard is: relaxed, balanced, strict or paranoid.
preset = \"balanced\"

# The scores from which guard asks about your own commands and about an
# agent's commands. Lower is stricter.
# [thresholds]
# cli = 3.0
# agent = 2.0

# How many seconds a command waits for an answer if there is no person at its
# terminal, and the program that is told about it.
# [queue]
# wait = 300
# notify = [\"notify-send\", \"guard\", \"{summary}\"]
";

/// The reason why a configuration file is not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("the file exists; use guard config set")]
    Exists,
    #[error("unknown key {key}{}", near.map_or_else(String::new, |near| format!("; did you mean {near}?")))]
    UnknownKey { key: String, near: Option<&'static str> },
    #[error("{0} is a list of tables; edit the file by hand")]
    Tables(String),
    #[error("{0} is not a table in the file; edit it by hand")]
    NoTable(String),
    #[error("{0} is not set in the file")]
    Absent(String),
    #[error("not valid TOML in line {line}: {what}")]
    NotToml { line: usize, what: String },
    #[error("the change cannot be tested: {0}")]
    Untested(#[source] io::Error),
    /// The loader's error about the changed file.
    #[error("{0}")]
    Refused(String),
}

impl EditError {
    fn not_toml(text: &str, error: &toml_edit::TomlError) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        Self::NotToml { line: before.matches('\n').count() + 1, what: error.message().to_owned() }
    }
}

/// Sets a key.
///
/// # Errors
/// The file cannot be read or written, or there is no terminal.
pub fn set(args: &SetArgs) -> Result<u8, Failure> {
    changed(&["set", &args.key, &args.value], |text| with(text, &args.key, Some(value(&args.key, &args.value)?)))
}

/// Removes a key.
///
/// # Errors
/// The file cannot be read or written, or there is no terminal.
pub fn unset(args: &UnsetArgs) -> Result<u8, Failure> {
    changed(&["unset", &args.key], |text| with(text, &args.key, None))
}

/// Creates a commented file if there is none.
///
/// # Errors
/// The file cannot be read or written, or there is no terminal.
pub fn init() -> Result<u8, Failure> {
    changed(&["init"], |text| if text.trim().is_empty() { Ok(TEMPLATE.to_owned()) } else { Err(EditError::Exists) })
}

/// Returns the text with a key set to a value as a person types it.
///
/// # Errors
/// There is no such key, or the text is not valid TOML.
pub fn set_in(text: &str, key: &str, typed: &str) -> Result<String, EditError> {
    with(text, key, Some(value(key, typed)?))
}

/// The account's own file, which the person at the terminal may change.
pub(super) struct OwnConfig {
    approvals: Approvals,
    pub path: PathBuf,
    /// The content of the file, or `None` if it does not exist.
    pub old: Option<String>,
}

impl OwnConfig {
    /// Finds and reads the file. Returns the exit code if the caller may not change it.
    pub fn open(words: &[&str]) -> Result<Result<Self, u8>, Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let approvals = match Approvals::open("config", &words)? {
            Ok(approvals) => approvals,
            Err(code) => return Ok(Err(code)),
        };
        let place = approvals.engine.config().places.iter().rfind(|place| place.layer == Layer::User);
        let path = place
            .map(|place| place.file.clone())
            .ok_or_else(|| Failure::Message("there is no home directory".into()))?;
        let old = file::read(&path).map_err(|why| Failure::Message(format!("{}: {why}", path.display())))?;
        Ok(Ok(Self { approvals, path, old }))
    }

    /// Checks whether the loader accepts this text as the account's own file.
    pub fn in_order(&self, text: &str) -> Result<(), EditError> {
        in_order(&self.approvals.engine, &self.path, text)
    }

    /// Shows the change, asks the person, and writes the file.
    pub fn write(&self, after: &str) -> Result<u8, Failure> {
        let before = self.old.as_deref().unwrap_or_default();
        let look = Look::from_environment(|name| std::env::var(name).ok(), true);
        let shown = format!("{}\n{}", self.path.display(), style::render(&diff(before, after), &look));
        if !confirm(&shown, "Save this change?")? {
            writeln!(io::stderr(), "guard: not changed")?;
            return Ok(exit::REFUSED);
        }
        let said = |why: &dyn Display| Failure::Message(format!("{}: {why}", self.path.display()));
        file::make_directories(&self.path).map_err(|why| said(&why))?;
        file::replace(&self.path, self.old.as_deref(), after, false).map_err(|why| said(&why))?;
        writeln!(io::stdout(), "Changed {}.", self.path.display())?;
        Ok(exit::ALLOW)
    }
}

/// Changes the account's own file if the loader accepts the result and the person agrees.
fn changed(words: &[&str], change: impl FnOnce(&str) -> Result<String, EditError>) -> Result<u8, Failure> {
    let own = match OwnConfig::open(words)? {
        Ok(own) => own,
        Err(code) => return Ok(code),
    };
    let before = own.old.clone().unwrap_or_default();
    let after = change(&before).map_err(|why| Failure::Message(format!("{}: {why}", own.path.display())))?;
    if after == before {
        writeln!(io::stdout(), "{} already has this value.", own.path.display())?;
        return Ok(exit::ALLOW);
    }
    own.in_order(&after).map_err(|why| Failure::Message(format!("not changed: {why}")))?;
    own.write(&after)
}

/// Checks whether the loader accepts this text as the account's own file.
fn in_order(engine: &Engine, path: &Path, text: &str) -> Result<(), EditError> {
    let directory = Scratch::new("config").map_err(EditError::Untested)?;
    let tried = directory.path().join("config.toml");
    std::fs::write(&tried, text).map_err(EditError::Untested)?;
    let caller = &engine.caller;
    let roots = Roots::of(&caller.env, caller.account.home.as_deref(), caller.account.uid, &caller.cwd);
    let instead = PolicyOverride { file: Some(tried.clone()), patterns: None };
    let loaded = config::load_with(&roots, Some(&instead));
    match loaded.problems.iter().find(|problem| problem.file == tried) {
        Some(problem) => {
            let problem = problem.to_string().replace(&tried.display().to_string(), &path.display().to_string());
            Err(EditError::Refused(visible::text(&problem).to_string()))
        }
        None => Ok(()),
    }
}

/// Parses a value as it was typed: as TOML if it is valid TOML, or as a word if the key takes words.
fn value(key: &str, typed: &str) -> Result<Value, EditError> {
    let Some(row) = KEYS.iter().find(|row| row.name == key) else {
        let near = nearest(key, KEYS.iter().map(|row| row.name));
        return Err(EditError::UnknownKey { key: visible::text(key).to_string(), near });
    };
    if matches!(row.kind, ConfigType::Tables(_) | ConfigType::LockOnly) {
        return Err(EditError::Tables(key.to_owned()));
    }
    Ok(match typed.parse::<Value>() {
        Ok(value) if !matches!(row.kind, ConfigType::Word(_)) => value,
        _ => Value::from(typed.trim_matches('"')),
    })
}

/// Returns the text with a key set to a value, or without the key. All other bytes are preserved.
fn with(text: &str, key: &str, value: Option<Value>) -> Result<String, EditError> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| EditError::not_toml(text, &error))?;
    let (table, name) = match key.split_once('.') {
        Some((table, name)) => (Some(table), name),
        None => (None, key),
    };
    if let (Some(table), Some(value)) = (table, &value)
        && !document.contains_key(table)
    {
        // toml_edit would insert the table before the comments at the end of the file.
        let gap = if text.is_empty() { "" } else { "\n" };
        let ended = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{ended}{gap}[{table}]\n{name} = {value}\n"));
    }
    let inner = match table {
        None => document.as_table_mut(),
        Some(table) if value.is_none() && !document.contains_key(table) => return absent(key),
        Some(table) => document
            .entry(table)
            .or_insert_with(|| Item::Table(Table::new()))
            .as_table_mut()
            .ok_or_else(|| EditError::NoTable(table.to_owned()))?,
    };
    match value {
        None => {
            if !inner.contains_key(name) {
                return absent(key);
            }
            // toml_edit would also remove the comments above the key, even those about the whole file.
            if let Some(text) = without(text, table, name) {
                return Ok(text);
            }
            inner.remove(name);
        }
        Some(value) => match inner.get_mut(name).and_then(Item::as_value_mut) {
            Some(old) => {
                let around = old.decor().clone();
                *old = value;
                *old.decor_mut() = around;
            }
            None => {
                inner.insert(name, toml_edit::value(value));
            }
        },
    }
    Ok(document.to_string())
}

/// Returns the text without the lines of a key, or `None` if those lines cannot be determined.
fn without(text: &str, table: Option<&str>, name: &str) -> Option<String> {
    let document = toml_edit::Document::parse(text).ok()?;
    let inner = match table {
        None => document.as_table(),
        Some(table) => document.get(table)?.as_table()?,
    };
    let (key, item) = inner.get_key_value(name)?;
    let (start, end) = (key.span()?.start, item.span()?.end);
    let before = text.get(..start)?;
    let before = before.get(..before.rfind('\n').map_or(0, |at| at + 1))?;
    let after = text.get(end..)?;
    let after = after.find('\n').and_then(|at| after.get(at + 1..)).unwrap_or_default();
    let before = table.and_then(|table| without_header(before, table, after)).unwrap_or(before);
    Some(format!("{before}{after}"))
}

/// Returns the text before a removed key without the header of its table, or `None` if the table has other content.
fn without_header<'a>(before: &'a str, table: &str, after: &str) -> Option<&'a str> {
    let next = after.trim_start();
    let (above, header) = before.trim_end().rsplit_once('\n').unwrap_or(("", before.trim_end()));
    let is_alone = header == format!("[{table}]") && (next.is_empty() || next.starts_with('['));
    // Also remove the blank line above if another one or the end of the file follows.
    let is_apart = next.is_empty() || after.starts_with(['\r', '\n']);
    let above = if is_apart { above.trim_end() } else { above };
    let end = if above.is_empty() { 0 } else { above.len() + before.get(above.len()..)?.find('\n')? + 1 };
    before.get(..end).filter(|_| is_alone)
}

fn absent(key: &str) -> Result<String, EditError> {
    Err(EditError::Absent(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\nmode = \"manual\" # why\n\n[thresholds]\n# low\ncli = 2.5\n\n[queue]\nwait = 5\n";

    fn set(text: &str, key: &str, typed: &str) -> Result<String, EditError> {
        with(text, key, Some(value(key, typed)?))
    }

    #[test]
    fn one_value_changes_and_everything_beside_it_stays() {
        assert_eq!(set(TEXT, "thresholds.cli", "2.0").unwrap(), TEXT.replace("2.5", "2.0"));
        assert_eq!(set(TEXT, "mode", "off").unwrap(), TEXT.replace("\"manual\"", "\"off\""));
        assert_eq!(set(TEXT, "mode", "\"off\"").unwrap(), TEXT.replace("\"manual\"", "\"off\""));
        assert_eq!(set(TEXT, "thresholds.agent", "1.5").unwrap(), TEXT.replace("2.5\n", "2.5\nagent = 1.5\n"));
        assert_eq!(set("", "timeouts.high", "20").unwrap(), "[timeouts]\nhigh = 20\n");
        let noted = "mode = \"off\"\n\n# [queue]\n# wait = 9";
        assert_eq!(set(noted, "queue.wait", "5").unwrap(), format!("{noted}\n\n[queue]\nwait = 5\n"));
        assert_eq!(set("", "known_hosts", "[\"a.example\"]").unwrap(), "known_hosts = [\"a.example\"]\n");
    }

    #[test]
    fn a_key_of_the_top_stays_in_front_of_the_tables() {
        let new = set("[queue]\nwait = 5\n", "retention_days", "30").unwrap();
        assert_eq!(new, "retention_days = 30\n[queue]\nwait = 5\n");
    }

    #[test]
    fn a_key_is_taken_out_and_one_that_is_not_there_is_told() {
        assert_eq!(with(TEXT, "mode", None).unwrap(), TEXT.replace("mode = \"manual\" # why\n", ""));
        assert_eq!(with(TEXT, "thresholds.cli", None).unwrap(), TEXT.replace("cli = 2.5\n", ""));
        let lines = "known_hosts = [\n  \"a\", # one\n]\nmode = \"off\"";
        assert_eq!(with(lines, "known_hosts", None).unwrap(), "mode = \"off\"");
        assert_eq!(with(lines, "mode", None).unwrap(), "known_hosts = [\n  \"a\", # one\n]\n");
        assert_eq!(with("queue.wait = 5\n", "queue.wait", None).unwrap(), "");
        assert!(!with(TEMPLATE, "preset", None).unwrap().contains("balanced\""));
        assert!(with(TEMPLATE, "preset", None).unwrap().starts_with("# The configuration of guard."));
        for key in ["queue.pending", "timeouts.high", "preset"] {
            assert_eq!(with(TEXT, key, None).unwrap_err().to_string(), format!("{key} is not set in the file"));
        }
    }

    #[test]
    fn a_table_goes_with_its_last_key_unless_something_else_stands_in_it() {
        let unset = |text: &str, key: &str| with(text, key, None).unwrap();
        assert_eq!(unset(TEXT, "queue.wait"), TEXT.replace("\n[queue]\nwait = 5\n", ""));
        assert_eq!(unset("[queue]\nwait = 5\n", "queue.wait"), "");
        let two = "mode = \"off\"\n\n[queue]\nwait = 5\n\n[timeouts]\nhigh = 9\n";
        assert_eq!(unset(two, "queue.wait"), two.replace("\n[queue]\nwait = 5\n", ""));
        let dense = two.replace("\n\n", "\n");
        assert_eq!(unset(&dense, "queue.wait"), dense.replace("[queue]\nwait = 5\n", ""));
        assert_eq!(unset("[queue]\nwait = 5\n[timeouts]\nhigh = 9\n", "queue.wait"), "[timeouts]\nhigh = 9\n");
        assert_eq!(unset("[queue]\nwait = 5\n# why\n", "queue.wait"), "[queue]\n# why\n");
        assert_eq!(unset("[queue]\nwait = 5\npending = 3\n", "queue.wait"), "[queue]\npending = 3\n");
    }

    #[test]
    fn what_is_no_key_or_no_toml_is_told() {
        assert_eq!(value("modes", "off").unwrap_err().to_string(), "unknown key modes; did you mean mode?");
        assert!(value("grant", "x").unwrap_err().to_string().contains("by hand"));
        assert!(set("a = 1\nb = [", "mode", "off").unwrap_err().to_string().starts_with("not valid TOML in line 2: "));
        assert!(set("queue = 3\n", "queue.wait", "3").unwrap_err().to_string().contains("by hand"));
    }

    #[test]
    fn the_first_file_is_in_order() {
        let table: toml::Table = TEMPLATE.parse().unwrap();
        assert_eq!(table["preset"].as_str(), Some("balanced"));
    }
}
