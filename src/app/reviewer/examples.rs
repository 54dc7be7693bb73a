//! `guard reviewer examples`: decisions in which people disagreed with the reviewer, and the examples made from them.
//!
//! A disagreement becomes an example only if a person at a terminal adds it with an explanation. Out of scope: adding
//! examples automatically.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::app::engine::Engine;
use crate::app::exit;
use crate::app::failure::Failure;
use crate::judge::review::OpinionVerdict;
use crate::prompt::line;
use crate::store::{Entry, Filter, Store, is_probe};
use crate::ui::visible;

/// The number of examples that a model gets, and the longest command in one.
const MOST: usize = 40;
const MAX_COMMAND: usize = 500;

/// The number of rows that are read at once.
const PART: u32 = 500;

/// The arguments of `guard reviewer examples`.
#[derive(Debug, Args)]
pub struct ExamplesArgs {
    #[command(subcommand)]
    command: Option<ExamplesCommand>,
    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ExamplesCommand {
    /// Add a row as an example, with your explanation
    Accept {
        /// The row of the record
        row: i64,
    },
    /// Remove an example
    Remove {
        /// The row of the example
        row: i64,
    },
}

/// A person's decision about a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub row: i64,
    /// The redacted command.
    pub command: String,
    pub rules: Vec<String>,
    /// The reviewer's verdict and the person's decision: `allow` or `deny`.
    pub said: String,
    pub decided: String,
    /// The lesson for the reviewer, in the person's words.
    pub why: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    example: Vec<Example>,
}

/// A row in which a person disagreed with the reviewer.
#[derive(Debug, Serialize)]
struct Disagreement {
    row: i64,
    time: Timestamp,
    command: String,
    said: &'static str,
    reason: String,
    decided: String,
    /// The person's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<String>,
    accepted: bool,
}

/// The reason why the accepted examples cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ExamplesError {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}: {message}", path.display())]
    Format { path: PathBuf, message: String },
}

/// Returns the accepted examples.
///
/// # Errors
/// They cannot be read. The reviewer is then not asked, because it would lack what a person wanted it to know.
pub fn accepted(engine: &Engine) -> Result<Vec<Example>, ExamplesError> {
    let Some(path) = path(engine) else { return Ok(Vec::new()) };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let file: File = toml::from_str(&text)
                .map_err(|error| ExamplesError::Format { path, message: error.message().to_owned() })?;
            let first = file.example.len().saturating_sub(MOST);
            Ok(file.example.into_iter().skip(first).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ExamplesError::Unreadable { path, error }),
    }
}

/// Returns the path of the examples, which is beside the configuration in use. If they were always in the account's own
/// directory, guard would take that directory for the one with the configuration and record.
fn path(engine: &Engine) -> Option<PathBuf> {
    Some(engine.config().own_file()?.with_file_name("reviewer-examples.toml"))
}

/// Lists, adds or removes examples.
///
/// # Errors
/// The record or the file cannot be used.
pub fn run(args: &ExamplesArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    match &args.command {
        None => list(&engine, args.json),
        Some(ExamplesCommand::Accept { row }) => accept(&engine, *row),
        Some(ExamplesCommand::Remove { row }) => remove(&engine, *row),
    }
}

/// Reports whether a person disagreed with the reviewer in this row. `None` if either gave no answer.
pub(super) fn disagrees(entry: &Entry) -> Option<bool> {
    let opinion = entry.review.as_ref().filter(|_| !is_probe(&entry.findings))?;
    let decided = match (entry.decision.as_deref()?, entry.settled_by.as_deref()?) {
        ("allow", "person") => true,
        ("deny", "person") => false,
        _ => return None,
    };
    match opinion.says {
        OpinionVerdict::Approve => Some(!decided),
        OpinionVerdict::Deny => Some(decided),
        OpinionVerdict::Escalate | OpinionVerdict::Nothing => None,
    }
}

/// Returns all rows with an opinion since a time, oldest first.
pub(super) fn reviewed(store: &Store, since: Option<Timestamp>) -> Result<Vec<Entry>, Failure> {
    let mut filter = Filter { since, limit: Some(PART), ..Filter::default() };
    let mut all = Vec::new();
    loop {
        let found = store.find_oldest(&filter)?;
        let entries = store.entries(&found).into_iter().filter_map(Result::ok);
        all.extend(entries.filter(|entry| entry.review.is_some() || entry.settled_by.as_deref() == Some("person")));
        let Some(last) = found.last() else { return Ok(all) };
        filter.after = Some(*last);
    }
}

/// Returns the accepted examples, for a verb.
fn known(engine: &Engine) -> Result<Vec<Example>, Failure> {
    accepted(engine).map_err(|error| Failure::Message(error.to_string()))
}

fn list(engine: &Engine, as_json: bool) -> Result<u8, Failure> {
    let known = known(engine)?;
    let entries = engine.existing()?.map(|store| reviewed(&store, None)).transpose()?.unwrap_or_default();
    let found: Vec<Disagreement> = entries
        .into_iter()
        .filter(|entry| disagrees(entry) == Some(true))
        .filter_map(|entry| {
            let opinion = entry.review?;
            Some(Disagreement {
                row: entry.id,
                time: entry.time,
                command: entry.command.unwrap_or_default(),
                said: opinion.says.name(),
                reason: opinion.reason,
                decided: entry.decision.unwrap_or_default(),
                words: entry.words,
                accepted: known.iter().any(|example| example.row == entry.id),
            })
        })
        .collect();
    let text = if as_json {
        let value = serde_json::json!({ "disagreements": found, "examples": known });
        format!("{value}\n")
    } else if found.is_empty() && known.is_empty() {
        "No person has disagreed with the reviewer yet.\n".to_owned()
    } else {
        let mut text = String::new();
        for one in &found {
            let mark = if one.accepted { "  (accepted)" } else { "" };
            let Disagreement { row, said, decided, reason, words, command, .. } = one;
            let line = format!("row {row}: {command}{mark}");
            text.push_str(&format!("{}\n", visible::text(&line)));
            text.push_str(&format!("      reviewer {}\n", visible::text(&with_words(said, Some(reason)))));
            text.push_str(&format!("      person {}\n", visible::text(&with_words(decided, words.as_deref()))));
        }
        for example in &known {
            let line = format!("row {}, example: {} ({})", example.row, example.command, example.why);
            text.push_str(&format!("{}\n", visible::text(&line)));
        }
        text.push_str("To add one: guard reviewer examples accept ROW\n");
        text
    };
    Ok(exit::after(io::stdout().write_all(text.as_bytes()), exit::ALLOW)?)
}

/// Formats a decision and its reason.
fn with_words(decided: &str, words: Option<&str>) -> String {
    match words.filter(|words| !words.is_empty()) {
        Some(words) => format!("{decided}: {words}"),
        None => decided.to_owned(),
    }
}

fn accept(engine: &Engine, row: i64) -> Result<u8, Failure> {
    person(engine)?;
    let none = || Failure::Message(format!("no person disagreed with the reviewer in row {row}"));
    let entry = engine.existing()?.ok_or_else(none)?.entry(row)?;
    if disagrees(&entry) != Some(true) {
        return Err(none());
    }
    let (Some(opinion), Some(command), Some(decided)) = (entry.review, entry.command, entry.decision) else {
        return Err(none());
    };
    let mut file = File { example: known(engine)? };
    if file.example.iter().any(|example| example.row == row) {
        return Err(Failure::Message(format!("row {row} is already an example")));
    }
    let shown = format!(
        "{}\nreviewer {}\nperson {}\n",
        visible::text(&command),
        visible::text(&with_words(opinion.says.name(), Some(&opinion.reason))),
        visible::text(&with_words(&decided, entry.words.as_deref()))
    );
    let why = line::ask(&shown, "What should the reviewer learn from it? (Empty: cancel)")?;
    let why = why.trim().to_owned();
    if why.is_empty() {
        return Err(Failure::Message("not added".to_owned()));
    }
    let command = command.chars().take(MAX_COMMAND).collect();
    let rules = entry.findings.into_iter().map(|finding| finding.rule).collect();
    let said = opinion.says.name().to_owned();
    file.example.push(Example { row, command, rules, said, decided, why });
    write(engine, &file)?;
    writeln!(io::stdout(), "Row {row} is now an example.")?;
    Ok(exit::ALLOW)
}

fn remove(engine: &Engine, row: i64) -> Result<u8, Failure> {
    person(engine)?;
    let mut file = File { example: known(engine)? };
    let before = file.example.len();
    file.example.retain(|example| example.row != row);
    if file.example.len() == before {
        return Err(Failure::Message(format!("row {row} is not an example")));
    }
    write(engine, &file)?;
    writeln!(io::stdout(), "Row {row} is no longer an example.")?;
    Ok(exit::ALLOW)
}

/// Checks that a person is at the terminal.
fn person(engine: &Engine) -> Result<(), Failure> {
    let terminal = &engine.caller.terminal;
    if terminal.is_person_here() {
        Ok(())
    } else {
        Err(Failure::Message(format!("only a person can do this: {terminal}")))
    }
}

fn write(engine: &Engine, file: &File) -> Result<(), Failure> {
    let path = path(engine).ok_or_else(|| Failure::Message("the account has no home directory".to_owned()))?;
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let text = toml::to_string(file).map_err(|error| Failure::Message(error.to_string()))?;
    let draft = path.with_extension("new");
    std::fs::write(&draft, text)?;
    Ok(std::fs::rename(&draft, &path)?)
}
