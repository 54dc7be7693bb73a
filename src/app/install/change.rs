//! Detects guard in an agent's file: whether it is installed, how, and with which command. Input and output are texts.
//!
//! `edit` adds guard to a file and removes it.

mod edit;

use super::hosts::{Form, HookFile, Host, ListEntry};
use super::json::{self, JsonKind, Node, SyntaxError, quoted};
use super::{toml, yaml};

/// An agent and the guard that is installed in it.
#[derive(Debug)]
pub struct Wiring<'a> {
    pub host: &'a Host,
    /// The path of guard.
    pub guard: &'a str,
    /// The agent's major version, if known.
    pub major: Option<usize>,
    /// Whether this version ignores a refusal, so that the hook interrupts it.
    pub interrupts: bool,
}

/// The state of guard in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WiredState {
    Absent,
    /// guard is in the file, but not in the current form: another path, another matcher.
    Outdated,
    Present,
}

/// The command that an agent starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookCommand {
    /// A program and its arguments.
    Argv(Vec<String>),
    /// A line for the shell that the agent uses.
    Line(String),
}

/// Returns the first of these calls that is a line.
#[must_use]
pub fn first_line(calls: &[(String, HookCommand)]) -> Option<&str> {
    calls.iter().find_map(|(_, call)| if let HookCommand::Line(line) = call { Some(line.as_str()) } else { None })
}

/// Quotes a text as a shell word.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn strs(keys: &[String; 2]) -> [&str; 2] {
    [&keys[0], &keys[1]]
}

/// Escapes a text for double quotes in JSON, TOML and YAML.
fn inside_quotes(text: &str) -> String {
    let quoted = quoted(text);
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

impl<'a> Wiring<'a> {
    /// Creates it for an agent of this version and guard at this path.
    #[must_use]
    pub fn of(host: &'a Host, guard: &'a str, version: Option<&str>) -> Self {
        let major = version.and_then(|version| version.split('.').next()?.parse().ok());
        Self { host, guard, major, interrupts: host.interrupts_before(version).is_some() }
    }

    /// Returns an entry in the form of the agent's version.
    fn entry(&self, entry: &ListEntry) -> String {
        self.filled(entry.older.as_ref().filter(|_| self.interrupts).unwrap_or(&entry.entry), false)
    }

    /// Returns the command line that calls guard.
    #[must_use]
    pub fn line(&self) -> String {
        let waits =
            if self.host.config.waits > 0 { format!(" --timeout {}", self.host.config.waits) } else { String::new() };
        format!("{} hook --agent {}{waits}", shell_word(self.guard), self.host.name)
    }

    /// Returns the plugin for the agent's version, or the newest if the version is unknown.
    fn plugin(&self, plugins: &[String]) -> String {
        let index = self.major.map_or(usize::MAX, |major| major.saturating_sub(1)).min(plugins.len().saturating_sub(1));
        let named = format!("const GUARD = {};", quoted(self.guard));
        plugins.get(index).map(|plugin| plugin.replacen("const GUARD = \"guard\";", &named, 1)).unwrap_or_default()
    }

    fn filled(&self, template: &str, plain: bool) -> String {
        let inside = |text: String| if plain { text } else { inside_quotes(&text) };
        let line = self.line();
        // If the agent does not use a shell for the line, start one that denies if guard fails.
        let wrapped =
            || format!("sh -c {}", shell_word(&format!("{line} || echo {}", shell_word(&self.host.config.fallback))));
        let text = template.replace("@GUARD@", &inside(self.guard.to_owned())).replace("@LINE@", &inside(line.clone()));
        if text.contains("@WRAPPED@") { text.replace("@WRAPPED@", &inside(wrapped())) } else { text }
    }

    /// Reports whether a text calls guard for this agent.
    fn calls_guard(&self, text: &str) -> bool {
        let call = format!("hook --agent {}", self.host.name);
        text.match_indices(&call).any(|(at, _)| {
            let after = text.get(at + call.len()..).unwrap_or_default();
            let program = text.get(..at).unwrap_or_default().trim_end_matches([' ', '\'', '"', '\\']);
            let ends = !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
            ends && (program.ends_with("guard") || program.ends_with(self.guard))
        })
    }

    fn is_ours(&self, node: &Node) -> bool {
        let mut texts = Vec::new();
        node.texts(&mut texts);
        // Keys can be in any order, so the arguments may come before the program.
        let arguments = ["hook", "--agent", self.host.name];
        let by_arguments = texts.windows(3).any(|words| words == arguments)
            && texts.iter().any(|text| text.ends_with("guard") || *text == self.guard);
        by_arguments || texts.iter().any(|text| self.calls_guard(text))
    }

    /// Returns what a person must write if guard does not.
    #[must_use]
    pub fn by_hand(&self, wire: &HookFile) -> String {
        match &wire.form {
            Form::Own { text, .. } => self.filled(text, true),
            Form::Plugin(plugins) => self.plugin(plugins),
            Form::Json { entries, .. } => {
                let one = |entry: &ListEntry| format!("  {}: {}\n", entry.keys.join("."), self.entry(entry));
                entries.iter().map(one).collect()
            }
            Form::Toml { array, body } => format!("[[{array}]]\n{}", self.filled(body, false)),
            Form::Yaml { keys, item } => {
                let lines = item.iter().map(|line| self.filled(line, false)).collect::<Vec<_>>().join("\n      ");
                format!("{}:\n  {}:\n    - {lines}\n", keys[0], keys[1])
            }
        }
    }

    /// Returns the calls of guard in a file, each with its event, as the agent would make them.
    #[must_use]
    pub fn calls(&self, wire: &HookFile, text: &str, path: &std::path::Path) -> Vec<(String, HookCommand)> {
        match &wire.form {
            Form::Plugin(_) => {
                let line = text.lines().find_map(|line| line.strip_prefix("const GUARD = ")?.strip_suffix(';'));
                let guard: Option<String> = line.and_then(|quoted| serde_json::from_str(quoted).ok());
                let argv = |guard: String| [guard, "hook".into(), "--agent".into(), self.host.name.to_owned()].to_vec();
                guard.map(|guard| ("plugin".to_owned(), HookCommand::Argv(argv(guard)))).into_iter().collect()
            }
            Form::Own { .. } => vec![("PreToolUse".to_owned(), HookCommand::Argv(vec![path.display().to_string()]))],
            Form::Json { entries, .. } => {
                let Ok(root) = root(text) else { return Vec::new() };
                let mut calls = Vec::new();
                for entry in entries {
                    let event = entry.keys.last().map(String::as_str).unwrap_or_default();
                    let mine = list(&root, &entry.keys).map(Node::items).unwrap_or_default();
                    for node in mine.iter().filter(|node| self.is_ours(node)) {
                        calls.extend(self.call_in(node).map(|call| (event.to_owned(), call)));
                    }
                }
                calls
            }
            Form::Toml { array, .. } => {
                let mine = toml::found(text, array, &|text| self.calls_guard(text)).unwrap_or_default();
                let calls = mine.iter().filter_map(|block| toml::value(text.get(block.clone())?, array, "command"));
                calls.map(|line| ("PreToolUse".to_owned(), HookCommand::Line(line))).collect()
            }
            Form::Yaml { keys, .. } => {
                let mine = yaml::found(text, strs(keys), &|text| self.calls_guard(text)).unwrap_or_default();
                let lines = mine.iter().filter_map(|item| yaml::value(text.get(item.clone())?, "command"));
                lines.map(|line| (keys[1].clone(), HookCommand::Line(line))).collect()
            }
        }
    }

    /// Returns how many seconds the agent waits for guard according to a file: the smallest number in it.
    #[must_use]
    pub fn waits(&self, wire: &HookFile, text: &str) -> Option<u32> {
        let named = match &wire.form {
            Form::Own { .. } | Form::Plugin(_) => Vec::new(),
            Form::Json { entries, .. } => {
                let root = root(text).ok()?;
                let lists = entries.iter().filter_map(|entry| list(&root, &entry.keys));
                let mine = lists.flat_map(Node::items).filter(|node| self.is_ours(node));
                let calls = mine.flat_map(|node| match node.get("hooks").map(Node::items) {
                    Some(inner) => inner.iter().filter(|inner| self.is_ours(inner)).collect(),
                    None => vec![node],
                });
                let time = |node: &Node| {
                    ["timeout", "timeoutSec"].iter().find_map(|key| node.get(key)).map(|at| at.span.clone())
                };
                calls.filter_map(time).filter_map(|span| text.get(span).map(str::to_owned)).collect()
            }
            Form::Toml { array, .. } => {
                let mine = toml::found(text, array, &|text| self.calls_guard(text)).unwrap_or_default();
                mine.iter().filter_map(|block| toml::value(text.get(block.clone())?, array, "timeout")).collect()
            }
            Form::Yaml { keys, .. } => {
                let mine = yaml::found(text, strs(keys), &|text| self.calls_guard(text)).unwrap_or_default();
                mine.iter().filter_map(|item| yaml::value(text.get(item.clone())?, "timeout")).collect()
            }
        };
        // A number that is too large for seconds is in milliseconds, if the agent uses them.
        let seconds =
            |number: u32| if self.host.config.milliseconds && number >= 1000 { number / 1000 } else { number };
        named.iter().filter_map(|number| number.trim().parse().ok()).map(seconds).min()
    }

    /// Returns the call in an entry: the innermost object with a program.
    fn call_in(&self, node: &Node) -> Option<HookCommand> {
        let inner = node.get("hooks").map(Node::items).unwrap_or_default();
        if let Some(call) = inner.iter().filter(|inner| self.is_ours(inner)).find_map(|inner| self.call_in(inner)) {
            return Some(call);
        }
        let program = node.get("exec").or_else(|| node.get("command"))?.text()?.to_owned();
        Some(match node.get("args") {
            Some(args) => {
                let args = args.items().iter().filter_map(Node::text).map(str::to_owned);
                HookCommand::Argv([program].into_iter().chain(args).collect())
            }
            None => HookCommand::Line(program),
        })
    }

    /// Returns whether and how guard is in a file. `text` is `None` for a file that does not exist.
    ///
    /// # Errors
    /// The file cannot be parsed reliably.
    pub fn state(&self, wire: &HookFile, text: Option<&str>) -> Result<WiredState, SyntaxError> {
        let Some(text) = text else { return Ok(WiredState::Absent) };
        let there = match &wire.form {
            Form::Own { .. } | Form::Plugin(_) => true,
            Form::Json { entries, .. } => {
                let root = root(text)?;
                entries.iter().any(|entry| list(&root, &entry.keys).is_some_and(|list| !self.ours(list).is_empty()))
            }
            Form::Toml { array, .. } => !toml::found(text, array, &|text| self.calls_guard(text))?.is_empty(),
            Form::Yaml { keys, .. } => !yaml::found(text, strs(keys), &|text| self.calls_guard(text))?.is_empty(),
        };
        let current = self.installed(wire, Some(text))? == text;
        Ok(match (there, current) {
            (_, true) => WiredState::Present,
            (true, false) => WiredState::Outdated,
            (false, false) => WiredState::Absent,
        })
    }

    /// Returns the indices of guard in a list: of the element, and of the one inside it if others share the element.
    fn ours(&self, list: &Node) -> Vec<(usize, Option<usize>)> {
        let mut found = Vec::new();
        for (index, item) in list.items().iter().enumerate().filter(|(_, item)| self.is_ours(item)) {
            let inner = item.get("hooks").map(Node::items).unwrap_or_default();
            if inner.len() > 1 && !inner.iter().all(|inner| self.is_ours(inner)) {
                let mine = inner.iter().enumerate().filter(|(_, inner)| self.is_ours(inner));
                found.extend(mine.map(|(at, _)| (index, Some(at))));
            } else {
                found.push((index, None));
            }
        }
        found
    }
}

fn root(text: &str) -> Result<Node, SyntaxError> {
    let root = json::parse(text)?;
    if let JsonKind::Object(_) = root.kind { Ok(root) } else { Err(wrong_kind(&root, "expected an object")) }
}

fn at<'a>(root: &'a Node, keys: &[String]) -> Option<&'a Node> {
    keys.iter().try_fold(root, |node, key| node.get(key))
}

/// Returns the list at these keys, or `None` if there is none.
fn list<'a>(root: &'a Node, keys: &[String]) -> Option<&'a Node> {
    at(root, keys).filter(|node| matches!(node.kind, JsonKind::Array(_)))
}

fn wrong_kind(node: &Node, what: &str) -> SyntaxError {
    SyntaxError { at: node.span.start, what: what.to_owned() }
}
