//! The transcripts that agents keep: where they lie, and which commands and changes of files they
//! tell of.
//!
//! What is read is what the agents write for themselves, in forms that they change: what is not understood is passed
//! over, and what is broken is counted.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::{Ran, Sink, lines};
use crate::app::hook::call::{What, Wrong};
use crate::app::hook::{hosts, shape};
use crate::judge::invocation::Environment;
use crate::judge::sort;

/// How deep directories are gone into.
const MAX_DEPTH: usize = 8;

/// How many files there may be.
const MAX_FILES: usize = 100_000;

/// The longest file that is one JSON value.
const MAX_WHOLE: u64 = 128 << 20;

/// All transcripts, each with its agent, in a fixed order.
#[must_use]
pub fn find(home: &Path, env: &Environment) -> Vec<(&'static str, PathBuf)> {
    let folder = |variable: &str, below: &str| {
        let set = env.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        set.unwrap_or_else(|| home.join(below))
    };
    let claude = folder("CLAUDE_CONFIG_DIR", ".claude").join("projects");
    let codex = folder("CODEX_HOME", ".codex");
    let gemini = home.join(".gemini/tmp");
    let mut found = Vec::new();
    let mut add = |agent: &'static str, folder: &Path, wanted: &dyn Fn(&Path) -> bool| {
        let mut files = Vec::new();
        walk(folder, 0, wanted, &mut files);
        sort::sort(&mut files);
        found.extend(files.into_iter().map(|file| (agent, file)));
    };
    let ends = |path: &Path, end: &str| path.extension().is_some_and(|extension| extension == end);
    add("claude", &claude, &|path| ends(path, "jsonl"));
    add("codex", &codex.join("sessions"), &|path| ends(path, "jsonl"));
    add("codex", &codex.join("archived_sessions"), &|path| ends(path, "jsonl"));
    add("gemini", &gemini, &|path| ends(path, "json") || ends(path, "jsonl"));
    found
}

fn walk(folder: &Path, depth: usize, wanted: &dyn Fn(&Path) -> bool, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        // Links are not followed: they could lead round in circles.
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, wanted, files);
        } else if kind.is_file() && wanted(&path) && files.len() < MAX_FILES {
            files.push(path);
        }
    }
}

/// Calls that were told already: what is resumed is written down again, in another file too.
#[derive(Debug, Default)]
pub struct Seen(HashSet<u64>);

impl Seen {
    /// Whether this is the first time.
    fn is_new(&mut self, agent: &str, id: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        (agent, id).hash(&mut hasher);
        self.0.insert(hasher.finish())
    }
}

/// Reads one transcript of this agent.
pub fn read(agent: &'static str, path: &Path, seen: &mut Seen, sink: &mut dyn Sink) {
    let file = match lines::open(path) {
        Ok(file) => file,
        Err(error) => return sink.skipped_file(path, &error.to_string()),
    };
    let mut reader = Reader { agent, cwd: None, seen, sink };
    if path.extension().is_some_and(|extension| extension == "json") {
        let mut bytes = Vec::new();
        if let Err(error) = file.take(MAX_WHOLE + 1).read_to_end(&mut bytes) {
            return reader.sink.skipped_file(path, &error.to_string());
        }
        if bytes.len() as u64 > MAX_WHOLE {
            return reader.sink.skipped_file(path, "too long");
        }
        reader.cwd = project_of(path);
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(value) => reader.gemini(&value, None),
            Err(_) => reader.sink.skipped_file(path, "not JSON"),
        }
        return;
    }
    if agent == "gemini" {
        reader.cwd = project_of(path);
    }
    let read = lines::each(file, |line| match line {
        Some(line) => reader.line(line),
        None => reader.sink.skipped_line(),
    });
    if let Err(error) = read {
        sink.skipped_file(path, &error.to_string());
    }
}

/// Reads a transcript of whichever agent wrote it.
pub fn read_any(path: &Path, sink: &mut dyn Sink) {
    let head = lines::open(path).and_then(|file| {
        let mut head = Vec::new();
        file.take(1 << 20).read_to_end(&mut head).map(|_| head)
    });
    let head = match head {
        Ok(head) => String::from_utf8_lossy(&head).into_owned(),
        Err(error) => return sink.skipped_file(path, &error.to_string()),
    };
    let agent = match () {
        () if head.contains("\"run_shell_command\"") => "gemini",
        () if head.contains("\"session_meta\"") || head.contains("\"function_call\"") => "codex",
        () => "claude",
    };
    read(agent, path, &mut Seen::default(), sink);
}

/// Gemini CLI keeps the project's path beside the directory of its chats, in newer versions.
fn project_of(path: &Path) -> Option<PathBuf> {
    let root =
        path.ancestors().skip(1).take(3).map(|folder| folder.join(".project_root")).find(|file| file.is_file())?;
    let text = fs::read_to_string(root).ok()?;
    Some(PathBuf::from(text.trim())).filter(|path| path.is_absolute())
}

/// One file while it is read.
struct Reader<'a> {
    agent: &'static str,
    /// The session's directory, where a line of its own tells it.
    cwd: Option<PathBuf>,
    seen: &'a mut Seen,
    sink: &'a mut dyn Sink,
}

impl Reader<'_> {
    fn line(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let Ok(text) = std::str::from_utf8(line) else { return self.sink.skipped_line() };
        // Most lines tell of no command, and are long.
        let marks: &[&str] = match self.agent {
            "claude" => &["\"tool_use\""],
            "codex" => &["_call\"", "\"cwd\""],
            _ => &["\"run_shell_command\"", "\"write_file\"", "\"replace\""],
        };
        let ends = text.trim_end().ends_with('}');
        if ends && !marks.iter().any(|mark| text.contains(mark)) {
            return;
        }
        let Ok(value) = serde_json::from_str::<Value>(text) else { return self.sink.skipped_line() };
        match self.agent {
            "claude" => self.claude(&value),
            "codex" => self.codex(&value),
            _ => self.gemini(&value, None),
        }
    }

    /// What a tool does, by the description of its agent.
    fn used(&self, tool: &str, arguments: &Value) -> Result<What, Wrong> {
        match hosts::named(self.agent) {
            Some(host) => shape::used(&host.hook.tools, tool, arguments),
            None => Ok(What::Other),
        }
    }

    /// What a tool did, once for each call.
    fn ran(&mut self, id: Option<&str>, what: Result<What, Wrong>, cwd: Option<PathBuf>, at: Option<Timestamp>) {
        if what == Ok(What::Other) || id.is_some_and(|id| !self.seen.is_new(self.agent, id)) {
            return;
        }
        match what {
            Ok(what) => self.sink.ran(Ran { what, cwd, at, by: self.agent }),
            Err(_) => self.sink.skipped_line(),
        }
    }

    /// `{"type":"assistant","cwd":…,"timestamp":…,"message":{"content":[{"type":"tool_use","name":"Bash",…}]}}`
    fn claude(&mut self, value: &Value) {
        let Some(content) = value.pointer("/message/content").and_then(Value::as_array) else { return };
        let cwd = value.get("cwd").and_then(Value::as_str).map(PathBuf::from);
        let at = time(value);
        for item in content.iter().filter(|item| item.get("type").is_some_and(|kind| kind == "tool_use")) {
            let Some(tool) = item.get("name").and_then(Value::as_str) else { continue };
            let what = self.used(tool, item.get("input").unwrap_or(&Value::Null));
            self.ran(item.get("id").and_then(Value::as_str), what, cwd.clone(), at);
        }
    }

    /// `{"timestamp":…,"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{…}"}}`;
    /// the directory stands in lines of its own. Old files have no `payload` around it.
    fn codex(&mut self, value: &Value) {
        let payload = value.get("payload").unwrap_or(value);
        if let Some(cwd) = payload.get("cwd").and_then(Value::as_str) {
            self.cwd = Some(PathBuf::from(cwd));
        }
        let name = payload.get("name").and_then(Value::as_str).unwrap_or_default();
        let (tool, arguments) = match payload.get("type").and_then(Value::as_str) {
            Some("function_call") => {
                let Some(text) = payload.get("arguments").and_then(Value::as_str) else { return };
                match serde_json::from_str::<Value>(text) {
                    Ok(arguments) => (name, arguments),
                    // Tools of no interest may take anything.
                    Err(_) if self.used(name, &Value::Null) == Ok(What::Other) => return,
                    Err(_) => return self.sink.skipped_line(),
                }
            }
            Some("custom_tool_call") => (name, payload.get("input").cloned().unwrap_or_default()),
            Some("local_shell_call") => ("local_shell", payload.get("action").cloned().unwrap_or_default()),
            _ => return,
        };
        let what = match self.used(tool, &arguments) {
            Ok(What::Argv(words)) => Ok(unwrapped(words)),
            what => what,
        };
        let own = ["workdir", "working_directory"].iter().find_map(|name| arguments.get(name)?.as_str());
        let cwd = match (own.filter(|own| !own.is_empty()).map(PathBuf::from), &self.cwd) {
            (Some(own), Some(session)) => Some(session.join(own)),
            (own, session) => own.or_else(|| session.clone()),
        };
        let id = ["call_id", "id"].iter().find_map(|name| payload.get(name)?.as_str()).map(ToOwned::to_owned);
        self.ran(id.as_deref(), what, cwd, time(value));
    }

    /// Calls of tools, wherever they stand: `{"name":"run_shell_command","args":{"command":…}}`.
    fn gemini(&mut self, value: &Value, at: Option<Timestamp>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.gemini(item, at)),
            Value::Object(fields) => {
                let at = time(value).or(at);
                let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
                let arguments = fields.get("args").or_else(|| fields.get("arguments")).filter(|it| it.is_object());
                if let Some(arguments) = arguments {
                    let own = ["directory", "dir_path"].iter().find_map(|name| arguments.get(name)?.as_str());
                    let cwd = match (own.filter(|own| !own.is_empty()), &self.cwd) {
                        (Some(own), Some(project)) => Some(project.join(own)),
                        (Some(own), None) => Some(PathBuf::from(own)).filter(|own| own.is_absolute()),
                        (None, project) => project.clone(),
                    };
                    let what = self.used(name, arguments);
                    return self.ran(fields.get("id").and_then(Value::as_str), what, cwd, at);
                }
                fields.values().for_each(|inner| self.gemini(inner, at));
            }
            _ => {}
        }
    }
}

/// `bash -lc TEXT` is the text.
fn unwrapped(words: Vec<String>) -> What {
    match words.as_slice() {
        [shell, option, text] if matches!(option.as_str(), "-c" | "-lc") => match shell.rsplit('/').next() {
            Some("bash" | "sh" | "zsh") => What::Line(text.clone()),
            _ => What::Argv(words),
        },
        _ => What::Argv(words),
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.get("timestamp").and_then(Value::as_str).and_then(|text| text.parse().ok())
}
