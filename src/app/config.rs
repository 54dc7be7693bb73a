//! `guard config`: shows the policy with the source of each value, checks it, and changes the account's own file.
//!
//! Out of scope: loading the configuration, which comes as it holds for the caller.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::approver::sign;
use super::engine::{Engine, judge_here};
use super::failure::{Failure, unless_unread};
use super::screen::WrappedOutput;
use super::{exit, notify};
use crate::config::keys::{ConfigType, KEYS, Key, StrictDirection, nearest};
use crate::config::{ConfigProblem, Loaded, Provenance, Reviewer, ValueSource};
use crate::judge::document::quoted;
use crate::judge::invocation::Request;
use crate::judge::policy::Policy;
use crate::judge::risk::Tier;
use crate::judge::rules::model::SessionNote;

pub(super) mod edit;
mod editor;

/// The arguments of `guard config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Show every key with its value and the file it comes from
    Show {
        /// Only this key or table, with its description
        key: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check all configuration files: exit 0 when they are valid, 1 when not
    Check {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the files that guard reads the configuration from
    Path {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Set a key in your own file; the result is checked and shown first
    Set(edit::SetArgs),
    /// Remove a key from your own file
    Unset(edit::UnsetArgs),
    /// Edit your own file in $VISUAL or $EDITOR; the result is checked and shown before it is saved
    Edit,
    /// Create a commented configuration file
    Init,
}

/// The exit code of `guard config check` if the configuration has a problem.
const WRONG: u8 = 1;

/// Shows, checks or changes the configuration, and returns the exit code.
///
/// # Errors
/// The engine cannot start, or a file cannot be read or written.
pub fn run(args: &ConfigArgs) -> Result<u8, Failure> {
    match &args.command {
        ConfigCommand::Set(args) => edit::set(args),
        ConfigCommand::Unset(args) => edit::unset(args),
        ConfigCommand::Edit => editor::edit(),
        ConfigCommand::Init => edit::init(),
        ConfigCommand::Show { key, json } => {
            printed(*json, |engine, out| show(engine.config(), key.as_deref(), *json, out))
        }
        ConfigCommand::Path { json } => printed(*json, |engine, out| path(engine.config(), *json, out)),
        ConfigCommand::Check { json } => printed(*json, |engine, out| {
            let problems: Vec<_> = engine.broken().iter().cloned().chain(support(engine)).collect();
            let mut odd = approvals(engine);
            odd.extend(
                notify::lacking(engine)
                    .map(|why| format!("queue.notify: {why}; no notification is sent about waiting requests")),
            );
            check(engine.config(), &problems, &odd, *json, out)
        }),
    }
}

/// Prints the configuration of the caller, with every file read.
fn printed(json: bool, print: impl FnOnce(&Engine, &mut dyn Write) -> io::Result<u8>) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let _ = engine.broken();
    let mut out = WrappedOutput::over(io::BufWriter::new(io::stdout().lock()), !json);
    let done = print(&engine, &mut out).and_then(|code| out.flush().map(|()| code));
    unless_unread(done.map_err(Failure::from))
}

/// Returns the support commands of tier 3 or 4. They are asked about like any other command.
fn support(engine: &Engine) -> Vec<String> {
    let mut problems = Vec::new();
    for support in &engine.config().policy.support {
        let request = Request::Argv(support.argv.iter().map(Into::into).collect());
        let invocation = engine.caller.invocation(request);
        let risk = judge_here(&invocation, &engine.catalog, engine.policy()).risk;
        let (tier, command) = (risk.tier, invocation.display());
        if let Some(finding) = risk.findings.iter().find(|finding| finding.approvals > 1) {
            let (command, rule) = (command.escape_debug(), &finding.rule);
            problems.push(format!("support: {command}: rule {rule} needs several approvers; guard asks about it"));
        }
        if tier > Tier::Medium {
            problems.push(format!(
                "support: {} is tier {}, but a support command is tier 2 at most; guard asks about it",
                command.escape_debug(),
                tier.number()
            ));
        }
    }
    problems
}

/// Returns the requirements for approvers that cannot be met.
fn approvals(engine: &Engine) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(why) = sign::lacking(&engine.approvers(), sign::most(engine)) {
        found.push(format!("approvals: {why}; until then guard refuses commands that need several approvers"));
    }
    for id in &engine.policy().disabled_rules {
        if engine.catalog.rule(id).is_some_and(|rule| rule.approvals > 1) {
            found.push(format!("disabled_rules: {id} needs several approvers and cannot be disabled"));
        }
        if engine.catalog.rule(id).is_some_and(|rule| rule.notes.contains(&SessionNote::Decision)) {
            found.push(format!("disabled_rules: {id} needs a person's decision each time and cannot be disabled"));
        }
    }
    found
}

fn show(config: &Loaded, key: Option<&str>, as_json: bool, out: &mut dyn Write) -> io::Result<u8> {
    let wanted = |name: &str| {
        key.is_none_or(|key| name == key || name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
    };
    let keys: Vec<_> = KEYS.iter().filter(|row| row.kind != ConfigType::LockOnly && wanted(row.name)).collect();
    if keys.is_empty() {
        let wrong = key.unwrap_or_default();
        let near = nearest(wrong, KEYS.iter().map(|row| row.name));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        writeln!(io::stderr(), "guard: unknown key {}{hint}", wrong.escape_debug())?;
        return Ok(exit::FAILED);
    }
    let sources = config.sources();
    if as_json {
        let keys: Vec<_> = keys.iter().map(|row| key_json(row.key, config, &sources)).collect();
        writeln!(out, "{}", json!({ "keys": keys, "problems": problems(&config.problems) }))?;
        return Ok(0);
    }
    let rows: Vec<(String, String, String)> = keys
        .iter()
        .flat_map(|row| {
            lines(row.key, config, &sources).into_iter().map(|(value, source)| (row.name.to_owned(), value, source))
        })
        .collect();
    let names = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let values = rows.iter().map(|(_, value, _)| value.chars().count()).max().unwrap_or(0).min(40);
    for (name, value, source) in &rows {
        writeln!(out, "{name:names$} = {value:values$}  # {source}")?;
    }
    if key.is_some() {
        for row in &keys {
            let way = match (row.kind, row.stricter) {
                (ConfigType::Tables(_) | ConfigType::Table(_) | ConfigType::Names | ConfigType::Argv, _) => {
                    String::new()
                }
                (ConfigType::List(_), StrictDirection::Higher) => "; more is stricter".to_owned(),
                (ConfigType::List(_), StrictDirection::Lower) => "; fewer is stricter".to_owned(),
                (ConfigType::Word(words), _) => format!("; {} is the strictest", words.last().unwrap_or(&"")),
                (ConfigType::Flag, _) => "; false is stricter".to_owned(),
                (_, StrictDirection::Higher) => "; higher is stricter".to_owned(),
                (_, StrictDirection::Lower) => "; lower is stricter".to_owned(),
            };
            writeln!(out, "\n{}: {}", row.name, row.what)?;
            writeln!(out, "  {}; default {}{way}", row.expected(), default(row.key))?;
            if let ConfigType::Tables(fields) | ConfigType::Table(fields) = row.kind {
                for field in fields {
                    writeln!(out, "  {}: {} ({})", field.name, field.what, field.kind)?;
                }
            }
        }
    }
    Ok(0)
}

/// Returns the values of a key in the syntax of a file, each with its source.
fn lines(key: Key, config: &Loaded, sources: &[Provenance]) -> Vec<(String, String)> {
    let row = key.entry();
    let of_key: Vec<_> = sources.iter().filter(|source| source.key == key).collect();
    let marked = |source: &Provenance| {
        let lock = if source.locked { ", locked" } else { "" };
        format!("{}{lock}", source.source)
    };
    match row.kind {
        ConfigType::List(_) | ConfigType::Argv if of_key.is_empty() => {
            vec![("[]".to_owned(), ValueSource::BUILT_IN.to_string())]
        }
        // A list has one line for each entry, because each may come from another file.
        ConfigType::List(_) | ConfigType::Argv => {
            of_key.iter().map(|source| (quoted(&source.value), marked(source))).collect()
        }
        ConfigType::Word(_) => of_key.iter().map(|source| (quoted(&source.value), marked(source))).collect(),
        ConfigType::Tables(_) => {
            let entries: Vec<String> = match key {
                Key::Support => config.policy.support.iter().map(|entry| entry.argv.join(" ")).collect(),
                _ => config.grants.iter().map(|grant| format!("{}: {}", grant.id, grant.words)).collect(),
            };
            entries.into_iter().map(|entry| (quoted(&entry), "user or machine".to_owned())).collect()
        }
        ConfigType::Table(_) if key == Key::Reviewer => {
            let of = |(reviewer, source): &(Reviewer, ValueSource)| {
                reviewer.lines().into_iter().map(|line| (line, source.to_string())).collect()
            };
            config.reviewer.as_ref().map(of).unwrap_or_default()
        }
        ConfigType::Names | ConfigType::LockOnly => Vec::new(),
        _ => of_key.iter().map(|source| (source.value.clone(), marked(source))).collect(),
    }
}

/// Returns the default of a key.
fn default(key: Key) -> String {
    let policy = Policy::default();
    match (key.get(&policy), key.list(&policy)) {
        (Some(value), _) => key.entry().show(value),
        (None, Some(list)) => format!("{list:?}"),
        (None, None) => "none".to_owned(),
    }
}

fn key_json(key: Key, config: &Loaded, sources: &[Provenance]) -> Value {
    let row = key.entry();
    let of_key = || sources.iter().filter(|source| source.key == key);
    let source = |source: &ValueSource| {
        json!({
            "layer": source.layer.name(),
            "file": source.file.as_ref().map(|file| file.display().to_string()),
            "line": source.line,
            "preset": source.preset,
            "tightened": source.failing_closed,
        })
    };
    let mut value = json!({
        "key": row.name,
        "type": row.expected(),
        "default": default(key),
        "what": row.what,
        "locked": config.is_locked(key),
    });
    match row.kind {
        ConfigType::List(_) | ConfigType::Argv => {
            value["value"] = of_key().map(|row| json!({ "entry": row.value, "source": source(&row.source) })).collect();
        }
        ConfigType::Tables(_) if key == Key::Support => value["value"] = json!(config.policy.support),
        ConfigType::Table(_) if key == Key::Reviewer => {
            if let Some((reviewer, from)) = &config.reviewer {
                value["value"] = json!(reviewer.lines());
                value["source"] = source(from);
            }
        }
        ConfigType::Tables(_) => value["value"] = json!(config.grants),
        _ => {
            if let Some(row) = of_key().next() {
                value["value"] = json!(row.value);
                value["source"] = source(&row.source);
            }
        }
    }
    value
}

fn problems(problems: &[ConfigProblem]) -> Vec<Value> {
    let one = |problem: &ConfigProblem| {
        json!({
            "layer": problem.layer.name(),
            "file": problem.file.display().to_string(),
            "line": problem.line,
            "key": problem.key,
            "message": problem.message,
            "remedy": problem.remedy,
        })
    };
    problems.iter().map(one).collect()
}

fn check(config: &Loaded, others: &[String], odd: &[String], as_json: bool, out: &mut dyn Write) -> io::Result<u8> {
    let code = if config.problems.is_empty() && others.is_empty() { 0 } else { WRONG };
    if as_json {
        let value = json!({
            "ok": code == 0,
            "problems": problems(&config.problems),
            "others": others,
            "warnings": problems(&config.warnings),
            "odd": odd,
        });
        writeln!(out, "{value}")?;
        return Ok(code);
    }
    for problem in &config.problems {
        writeln!(out, "problem: {problem}")?;
    }
    for problem in others {
        writeln!(out, "problem: {problem}")?;
    }
    for warning in &config.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for warning in odd {
        writeln!(out, "warning: {warning}")?;
    }
    if code != 0 {
        writeln!(out, "Until this is fixed, thresholds are at most 1.01, grants are ignored and guard asks a person.")?;
    } else {
        let files = config.places.iter().filter(|place| place.found).count();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let patterns = config.pattern_files.len();
        writeln!(out, "OK: {files} configuration file{}, {patterns} pattern file{}.", plural(files), plural(patterns))?;
    }
    Ok(code)
}

fn path(config: &Loaded, as_json: bool, out: &mut dyn Write) -> io::Result<u8> {
    if as_json {
        let places: Vec<_> = config
            .places
            .iter()
            .map(|place| {
                json!({
                    "layer": place.layer.name(),
                    "file": place.file.display().to_string(),
                    "found": place.found,
                    "patterns": place.patterns.display().to_string(),
                })
            })
            .collect();
        writeln!(out, "{}", json!({ "places": places }))?;
        return Ok(0);
    }
    for place in &config.places {
        let found = if place.found { "" } else { "  (none)" };
        writeln!(out, "{:10} {}{found}", place.layer.name(), place.file.display())?;
        for file in config.pattern_files.iter().filter(|file| file.path.parent() == Some(&place.patterns)) {
            writeln!(out, "{:10} {}", "", file.path.display())?;
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
