//! `guard complete`: the candidates at the cursor, for the completion scripts of the shells. They pass the words of the
//! line and show the output: one candidate per line, with a tab before its description.
//!
//! The candidates are read from the definition of the command line ([`Cli`]), so that new subcommands and options are
//! completed at once. Out of scope: what only one shell needs, and output on standard error.

use std::io::{self, Write as _};
use std::process::Stdio;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Args, Command, CommandFactory as _};
use jiff::Timestamp;
use serde::Deserialize;

use super::doctor::CHECKS;
use super::engine::{self, Engine};
use super::failure::Failure;
use super::install::hosts::HOSTS;
use super::man::PAGES;
use super::{exit, gateway, session};
use crate::cli::{Cli, topics};
use crate::config::keys::{ConfigType, KEYS};
use crate::exec::tool::Tool;
use crate::judge::approved::GrantId;
use crate::store::queue::RequestState;
use crate::ui::visible;

/// The arguments of `guard complete`.
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The words after guard; the last one is being typed
    #[arg(last = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The candidates at the cursor.
#[derive(Debug, PartialEq, Eq)]
enum Completion {
    /// One of these words, each with its description.
    Words(Vec<(String, String)>),
    Files,
    Directories,
    /// Another command begins at the word with this index.
    Command(usize),
}

/// Prints the candidates. Candidates that cannot be determined are left out.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &CompleteArgs) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    match wanted(&args.words, &known, &described) {
        Completion::Files => writeln!(out, ":files")?,
        Completion::Directories => writeln!(out, ":directories")?,
        Completion::Command(word) => writeln!(out, ":command {word}")?,
        Completion::Words(words) => {
            for (word, about) in words {
                let about = visible::text(about.lines().next().unwrap_or_default()).replace('\t', " ");
                writeln!(out, "{word}\t{about}")?;
            }
        }
    }
    Ok(exit::ALLOW)
}

/// A kind of name that only the running system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Requests,
    Sessions,
    Rules,
    Grants,
    Agents,
    Shells,
    Keys,
    Pages,
    Checks,
}

/// Returns the candidates for the last of these words. `described` returns the gateway's own verbs, which guard passes
/// on to it.
fn wanted(
    words: &[String],
    known: &dyn Fn(Names) -> Vec<(String, String)>,
    described: &dyn Fn() -> Option<Described>,
) -> Completion {
    // bash splits a word at `=` into three.
    let split = words.iter().any(|word| word == "=");
    let words = joined(words);
    let Some((typed, before)) = words.split_last() else { return Completion::Words(Vec::new()) };
    let mut root = Cli::command();
    if let Some(verb) = before.first().filter(|verb| gateway::PASSED_ON.contains(&verb.as_str()))
        && let Some(found) = described().and_then(|all| all.verbs.into_iter().find(|one| one.name == *verb))
    {
        root = root.mut_subcommand(verb, |_| found.command());
    }
    root.build();
    let mut command = &root;
    let mut path: Vec<&str> = Vec::new();
    let (mut places, mut value_of): (usize, Option<&Arg>) = (0, None);
    for (number, word) in before.iter().enumerate() {
        if value_of.take().is_some() {
            continue;
        }
        // Another command follows, for guard itself and for verbs that judge one.
        if word == "--" || (path.is_empty() && word == "-c") {
            let takes_one = path.is_empty() || matches!(path.as_slice(), ["check" | "explain"]);
            return if takes_one && word == "--" { Completion::Command(number + 2) } else { Completion::Files };
        }
        if word.starts_with('-') && word.len() > 1 {
            value_of = option(command, word).filter(|arg| arg.get_action().takes_values() && !word.contains('='));
        } else if let Some(inner) = command.find_subcommand(word).filter(|_| places == 0) {
            path.push(inner.get_name());
            command = inner;
        } else {
            places += 1;
        }
    }
    let context = path.first().copied().unwrap_or_default();
    if let Some(arg) = value_of {
        return values(arg, context, "", known);
    }
    if let Some((name, _)) = typed.split_once('=').filter(|_| typed.starts_with("--")) {
        let lead = if split { String::new() } else { format!("{name}=") };
        return option(command, name).map_or(Completion::Words(Vec::new()), |arg| values(arg, context, &lead, known));
    }
    if typed.starts_with('-') {
        return Completion::Words(options(command));
    }
    let mut all: Vec<(String, String)> = Vec::new();
    if places == 0 {
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        all.extend(verbs.map(|verb| (verb.get_name().to_owned(), text(verb.get_about()))));
        if path == ["help"] {
            all.extend(topics().map(|(name, what)| (name.to_owned(), what.to_owned())));
        }
    }
    if let (["config", "set"], 1, Some(key)) = (path.as_slice(), places, before.last()) {
        return Completion::Words(values_of(key));
    }
    // The operands of guard itself are a command and its arguments, which follow `--`.
    let place = if path.is_empty() { None } else { positional(command, places) };
    match place.map(|arg| values(arg, context, "", known)) {
        Some(Completion::Words(words)) => all.extend(words),
        Some(other) if all.is_empty() => return other,
        _ => {}
    }
    Completion::Words(all)
}

/// A command of the gateway, as the gateway describes it.
#[derive(Debug, Deserialize)]
struct Described {
    name: String,
    about: Option<String>,
    arguments: Vec<DescribedArg>,
    verbs: Vec<Described>,
}

/// An option or argument of such a command.
#[derive(Debug, Deserialize)]
struct DescribedArg {
    name: String,
    long: Option<String>,
    help: Option<String>,
    takes: bool,
    value: Option<String>,
    values: Vec<String>,
    last: bool,
}

impl Described {
    /// Converts it to a command of this program's parser. The names live as long as the process.
    fn command(self) -> Command {
        let mut command = Command::new(&*self.name.leak()).disable_help_subcommand(true).disable_help_flag(true);
        if let Some(about) = self.about {
            command = command.about(about);
        }
        command
            .args(self.arguments.into_iter().map(DescribedArg::arg))
            .subcommands(self.verbs.into_iter().map(Self::command))
    }
}

impl DescribedArg {
    fn arg(self) -> Arg {
        let mut arg = Arg::new(&*self.name.leak()).last(self.last && self.long.is_none());
        if let Some(long) = self.long {
            arg = arg.long(&*long.leak());
        }
        if let Some(help) = self.help {
            arg = arg.help(help);
        }
        if !self.takes {
            return arg.action(ArgAction::SetTrue);
        }
        if let Some(name) = self.value {
            arg = arg.value_name(&*name.leak());
        }
        if self.values.is_empty() {
            return arg;
        }
        arg.value_parser(PossibleValuesParser::new(
            self.values.into_iter().map(|value| -> &'static str { value.leak() }),
        ))
    }
}

/// Asks the gateway for its description. Without a gateway its verbs have no candidates.
fn described() -> Option<Described> {
    let output = Tool::at(gateway::find().ok()?).ok()?.arg("describe").stdin(Stdio::null()).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Joins words that a shell has split at `=`.
fn joined(words: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut open = false;
    for word in words {
        match all.last_mut() {
            Some(last) if word == "=" && last.starts_with("--") => {
                last.push('=');
                open = true;
            }
            Some(last) if open => {
                last.push_str(word);
                open = false;
            }
            _ => all.push(word.clone()),
        }
    }
    all
}

fn text(about: Option<&clap::builder::StyledStr>) -> String {
    about.map(ToString::to_string).unwrap_or_default()
}

/// Returns the option of a command that a word names.
fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    command.get_arguments().find(|arg| match name.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => name
            .strip_prefix('-')
            .and_then(|rest| rest.chars().next())
            .is_some_and(|short| arg.get_short() == Some(short)),
    })
}

fn options(command: &Command) -> Vec<(String, String)> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), text(arg.get_help())))).collect()
}

/// Returns the argument at an index. A last argument that takes several values also takes the following words.
fn positional(command: &Command, place: usize) -> Option<&Arg> {
    let all: Vec<&Arg> = command.get_positionals().filter(|arg| !arg.is_last_set()).collect();
    let several = |arg: &&&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    all.get(place).or_else(|| all.last().filter(several)).copied()
}

/// Returns the candidates for an argument.
fn values(arg: &Arg, context: &str, lead: &str, known: &dyn Fn(Names) -> Vec<(String, String)>) -> Completion {
    let with = |all: Vec<(String, String)>| {
        Completion::Words(all.into_iter().map(|(word, about)| (format!("{lead}{word}"), about)).collect())
    };
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return with(shown.map(|value| (value.get_name().to_owned(), text(value.get_help()))).collect());
    }
    let names = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    let kind = match (names.as_str(), context) {
        ("REQUEST", _) => Names::Requests,
        ("SESSION", _) => Names::Sessions,
        ("RULE", _) | ("ID", "patterns") => Names::Rules,
        ("ID", "allow") => Names::Grants,
        ("AGENT" | "AGENTS", _) => Names::Agents,
        ("SHELLS", _) => Names::Shells,
        ("KEY", "config") => Names::Keys,
        ("PAGE", "man") => Names::Pages,
        ("CHECK", "doctor") => Names::Checks,
        ("FILE", _) => return Completion::Files,
        ("DIR", _) => return Completion::Directories,
        _ => return Completion::Words(Vec::new()),
    };
    with(known(kind))
}

/// Returns the words that a configuration key accepts, if it accepts words.
fn values_of(key: &str) -> Vec<(String, String)> {
    let words: &[&str] = match KEYS.iter().find(|row| row.name == key).map(|row| row.kind) {
        Some(ConfigType::Word(words)) => words,
        Some(ConfigType::Flag) => &["true", "false"],
        _ => &[],
    };
    words.iter().map(|word| ((*word).to_owned(), String::new())).collect()
}

/// Returns the names of this kind on this machine.
fn known(names: Names) -> Vec<(String, String)> {
    match names {
        Names::Agents => HOSTS.iter().map(|host| (host.name.to_owned(), host.title.to_owned())).collect(),
        Names::Shells => ["bash", "zsh", "fish"].map(|shell| (shell.to_owned(), String::new())).into(),
        Names::Keys => KEYS.iter().map(|row| (row.name.to_owned(), row.what.to_owned())).collect(),
        Names::Pages => PAGES.iter().map(|(name, about, _)| ((*name).to_owned(), (*about).to_owned())).collect(),
        Names::Checks => {
            let agents = HOSTS.iter().map(|host| (format!("agent.{}", host.name), host.title.to_owned()));
            CHECKS.iter().map(|name| ((*name).to_owned(), String::new())).chain(agents).collect()
        }
        Names::Requests => requests().unwrap_or_default(),
        Names::Sessions => session::known().unwrap_or_default(),
        Names::Grants => grants().unwrap_or_default(),
        Names::Rules => Engine::open().map_or_else(
            |_| Vec::new(),
            |engine| {
                let catalog = &engine.catalog;
                let rules = catalog.all_rules().map(|rule| (rule.id.clone(), catalog.explanation(rule).reason));
                let tools = catalog.tools().map(|(_, tool)| (tool.id.clone(), tool.reason.clone()));
                rules.chain(tools).collect()
            },
        ),
    }
}

/// Returns the waiting requests, each with its command as redacted in the queue.
fn requests() -> Result<Vec<(String, String)>, Failure> {
    let Some(queue) = engine::requests()? else { return Ok(Vec::new()) };
    let mut all = queue.list(Timestamp::now())?;
    all.retain(|pending| pending.state == RequestState::Waiting);
    Ok(all.into_iter().map(|pending| (pending.id, pending.command)).collect())
}

fn grants() -> Result<Vec<(String, String)>, Failure> {
    let Some(store) = Engine::open()?.existing()? else { return Ok(Vec::new()) };
    let all = store.grants(Timestamp::now())?.into_iter().filter(|listed| listed.ended.is_none());
    let stored = all.filter_map(|listed| match listed.grant.id {
        GrantId::Stored(number) => Some((number.to_string(), listed.grant.words)),
        GrantId::Configured(_) => None,
    });
    Ok(stored.collect())
}

#[cfg(test)]
mod tests {
    use super::{Completion, Described, Names, wanted};

    fn names(kind: Names) -> Vec<(String, String)> {
        vec![(format!("{kind:?}"), "one".to_owned())]
    }

    fn at(line: &[&str]) -> Completion {
        wanted(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), &names, &gateway)
    }

    /// Returns a gateway with one verb of its own.
    fn gateway() -> Option<Described> {
        let arg = |name: &str, long: bool, value: &str, values: &[&str]| {
            serde_json::json!({ "name": name, "long": long.then_some(name), "help": "what it is", "takes": true,
                "value": value, "values": values, "last": false })
        };
        let add = serde_json::json!({ "name": "add", "about": "Adds one", "verbs": [], "arguments":
            [arg("kind", false, "KIND", &["telegram", "ntfy"]), arg("secret-command", true, "COMMAND", &[]),
             arg("secret-file", true, "FILE", &[])] });
        let channel = serde_json::json!({ "name": "channel", "about": null, "arguments": [], "verbs": [add] });
        let all = serde_json::json!({ "name": "guard-gateway", "about": null, "arguments": [], "verbs": [channel] });
        serde_json::from_value(all).ok()
    }

    fn words(line: &[&str]) -> Vec<String> {
        match at(line) {
            Completion::Words(words) => words.into_iter().map(|(word, _)| word).collect(),
            other => panic!("{line:?}: {other:?}"),
        }
    }

    #[test]
    fn verbs_and_their_verbs_stand_first() {
        let verbs = words(&[""]);
        assert!(verbs.contains(&"approve".to_owned()) && !verbs.contains(&"complete".to_owned()), "{verbs:?}");
        assert!(words(&["config", "s"]).contains(&"set".to_owned()));
        assert!(!words(&["log", "--json", ""]).contains(&"approve".to_owned()));
    }

    #[test]
    fn names_stand_where_they_are_meant() {
        assert_eq!(words(&["approve", ""]), ["Requests"]);
        assert_eq!(words(&["approve", "k7m2", ""]), ["Requests"], "several may be named");
        assert_eq!(words(&["deny", "-r", "no", ""]), ["Requests"]);
        assert_eq!(words(&["deny", "-r", ""]), [""; 0]);
        assert_eq!(words(&["wait", "k7m2", ""]), [""; 0], "only one may be named");
        assert_eq!(words(&["session", "resume", ""]), ["Sessions"]);
        assert_eq!(words(&["patterns", "show", ""]), ["Rules"]);
        assert_eq!(words(&["config", "set", ""]), ["Keys"]);
        assert_eq!(words(&["config", "set", "mode", ""]), ["off", "smart", "manual"]);
        assert_eq!(words(&["config", "set", "thresholds.cli", ""]), [""; 0]);
        assert_eq!(words(&["config", "unset", "mode", ""]), [""; 0]);
        assert_eq!(words(&["man", ""]), ["Pages"]);
        assert_eq!(words(&["doctor", "ag"]), ["Checks"]);
        let helped = words(&["help", ""]);
        assert!(helped.contains(&"tiers".to_owned()) && helped.contains(&"log".to_owned()), "{helped:?}");
        assert!(words(&["install", ""]).contains(&"claude".to_owned()));
        assert_eq!(words(&["log", "--session", ""]), ["Sessions"]);
        assert_eq!(words(&["setup", "--preset", ""]), ["relaxed", "balanced", "strict", "paranoid"]);
    }

    #[test]
    fn a_value_behind_an_equals_sign_is_completed_whether_or_not_the_shell_split_it() {
        assert_eq!(words(&["log", "--session=x"]), ["--session=Sessions"]);
        assert_eq!(words(&["log", "--session", "=", "x"]), ["Sessions"]);
        assert_eq!(words(&["log", "--session", "="]), ["Sessions"]);
    }

    #[test]
    fn verbs_of_the_gateway_are_completed_as_it_describes_them() {
        assert_eq!(words(&["channel", ""]), ["add"]);
        assert_eq!(words(&["channel", "add", ""]), ["telegram", "ntfy"]);
        assert_eq!(words(&["channel", "add", "telegram", "--"]), ["--secret-command", "--secret-file"]);
        assert_eq!(at(&["channel", "add", "telegram", "--secret-file", ""]), Completion::Files);
        assert_eq!(words(&["channel", "add", "--secret-command", ""]), [""; 0]);
        // The verb is not described, or there is no gateway.
        assert_eq!(words(&["token", ""]), [""; 0]);
        let line = ["channel", ""].map(str::to_owned);
        assert_eq!(wanted(&line, &names, &|| None), Completion::Words(Vec::new()));
    }

    #[test]
    fn options_files_and_commands_are_told_apart() {
        assert!(words(&["log", "--s"]).contains(&"--since".to_owned()));
        assert!(words(&["-"]).contains(&"--yes".to_owned()));
        assert_eq!(at(&["patterns", "test", ""]), Completion::Files);
        assert_eq!(at(&["trust", "x"]), Completion::Directories);
        assert_eq!(at(&["--", ""]), Completion::Command(2));
        assert_eq!(at(&["--yes", "--", "git", "pu"]), Completion::Command(3));
        assert_eq!(at(&["check", "--", ""]), Completion::Command(3));
        assert_eq!(wanted(&[], &names, &gateway), Completion::Words(Vec::new()));
    }
}
