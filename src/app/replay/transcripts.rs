//! Finds the transcripts of agents, and reads the commands and file changes in them.
//!
//! Agents write transcripts for themselves and change the format. Unknown entries are skipped, and broken ones are
//! counted. Out of scope: the names of agents and the formats of their transcripts ([`Transcript`]).

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::{CallSink, PastCall, database, lines};
use crate::app::hook::call::ToolAction;
use crate::app::hook::shape;
use crate::app::install::places;
use crate::judge::agents;
use crate::judge::agents::model::{Agent, Tools, Transcript, TranscriptCall, TranscriptForm};
use crate::judge::invocation::Environment;
use crate::judge::sort;

/// The largest depth of subdirectories that are searched.
const MAX_DEPTH: usize = 8;

/// The largest number of files that are collected per directory.
const MAX_FILES: usize = 100_000;

/// The longest file that is parsed as one JSON value, in bytes.
const MAX_WHOLE: u64 = 128 << 20;

/// The number of bytes that are read to detect the agent of a file.
const HEAD: u64 = 1 << 20;

/// A transcript format of an agent.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptSource {
    agent: &'static Agent,
    form: &'static Transcript,
}

/// Returns all transcript formats of all agents.
fn sources() -> impl Iterator<Item = TranscriptSource> {
    agents::all().flat_map(|agent| agent.transcript.iter().map(move |form| TranscriptSource { agent, form }))
}

/// Finds all transcripts, each with its format, in a fixed order.
#[must_use]
pub fn find(home: &Path, env: &Environment) -> Vec<(TranscriptSource, PathBuf)> {
    let mut found = Vec::new();
    for source in sources() {
        let own = if source.form.below_data {
            places::absolute(env, "XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"))
        } else {
            let Some(config) = &source.agent.config else { continue };
            places::own_directory(config, home, env)
        };
        let wanted = |path: &Path| source.is_named_as(path);
        for directory in &source.form.directories {
            let mut files = Vec::new();
            walk(&own.join(directory), if source.form.shallow { MAX_DEPTH } else { 0 }, &wanted, &mut files);
            sort::sort(&mut files);
            found.extend(files.into_iter().map(|file| (source, file)));
        }
    }
    found
}

fn walk(directory: &Path, depth: usize, wanted: &dyn Fn(&Path) -> bool, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        // Do not follow symbolic links, which could form cycles.
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && depth < MAX_DEPTH {
            walk(&path, depth + 1, wanted, files);
        } else if kind.is_file() && wanted(&path) && files.len() < MAX_FILES {
            files.push(path);
        }
    }
}

/// The calls that were already read. A resumed session can be written again, in another file too.
#[derive(Debug, Default)]
pub struct SeenCalls(HashSet<u64>);

impl SeenCalls {
    /// Reports whether a call is new, and stores it. Some models number their calls from zero in each session, so the
    /// ID alone does not identify a call.
    fn is_new(&mut self, agent: &str, id: &str, tool: &str, input: &Value) -> bool {
        let mut hasher = DefaultHasher::new();
        (agent, id, tool, input.to_string()).hash(&mut hasher);
        self.0.insert(hasher.finish())
    }
}

/// Reads a transcript in this format.
pub fn read(source: TranscriptSource, path: &Path, seen: &mut SeenCalls, sink: &mut dyn CallSink) {
    let mut reader = TranscriptReader { source, cwd: None, seen, sink };
    reader.cwd = source.form.cwd_file.as_ref().and_then(|name| above(path, name));
    if let Some(value) = source.form.beside.as_ref().and_then(|(end, other)| beside(path, end, other)) {
        reader.take_directory(&value);
    }
    let read = match &source.form.form {
        TranscriptForm::Lines => {
            lines::open(path).and_then(|file| lines::each(file, |line| reader.line(line))).map_err(FileError::from)
        }
        TranscriptForm::Whole => whole(path).map(|value| reader.value(&value)),
        TranscriptForm::Rows(query) => database::each(path, query, |row| match row {
            Some(row) => reader.value(&row),
            None => reader.sink.skipped_line(),
        })
        .map_err(FileError::from),
    };
    if let Err(error) = read {
        sink.skipped_file(path, &error.to_string());
    }
}

/// Reports whether a file may be a transcript, by its extension.
#[must_use]
pub fn may_be(path: &Path) -> bool {
    sources().any(|source| source.ends_as(path))
}

/// Reads a transcript of an unknown agent: uses the format that recognizes most of its calls.
pub fn read_any(path: &Path, sink: &mut dyn CallSink) {
    if let Err(error) = lines::open(path) {
        return sink.skipped_file(path, &error.to_string());
    }
    let mut best: Option<((usize, bool), TranscriptSource)> = None;
    for source in sources().filter(|source| source.ends_as(path)) {
        // If two formats recognize equally much, prefer the one whose file names match.
        let known = (source.known_in(path), source.is_named_as(path));
        if best.is_none_or(|(most, _)| known > most) {
            best = Some((known, source));
        }
    }
    if let Some((_, source)) = best {
        read(source, path, &mut SeenCalls::default(), sink);
    }
}

impl TranscriptSource {
    /// Reports whether the file name matches the names of these transcripts.
    fn is_named_as(&self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        self.form.names.iter().any(|end| name.ends_with(end.as_str()))
    }

    /// Reports whether the file name has the extension of these transcripts.
    fn ends_as(&self, path: &Path) -> bool {
        let extension = |name: &str| name.rsplit('.').next().map(str::to_owned);
        let own = path.extension().map(|own| own.to_string_lossy().into_owned());
        self.form.names.iter().any(|name| extension(name) == own)
    }

    /// Scores how much of the beginning of a file matches this format: 1 for each call, 3 if its tool is known, and 1
    /// more for each line with a working directory.
    fn known_in(&self, path: &Path) -> usize {
        let mut values = Vec::new();
        match &self.form.form {
            TranscriptForm::Lines => {
                let Ok(file) = lines::open(path) else { return 0 };
                let read = lines::each(file.take(HEAD), |line| {
                    values.extend(line.and_then(|line| serde_json::from_slice::<Value>(line).ok()));
                });
                if read.is_err() {
                    return 0;
                }
            }
            TranscriptForm::Whole => values.extend(whole(path).ok()),
            TranscriptForm::Rows(query) => return usize::from(database::answers(path, query)),
        }
        let tools = self.tools();
        let described = |tool: &str| {
            tools.harmless.iter().any(|name| name == tool)
                || tools.known.iter().any(|known| known.names.iter().any(|name| name == tool))
        };
        let calls = values.iter().flat_map(|value| calls_of(self.form, value));
        let settled = values.iter().filter(|value| first(value, &self.form.cwd).is_some()).count();
        calls.map(|call| if described(call.tool) { 3 } else { 1 }).sum::<usize>() + settled
    }

    fn tools(&self) -> &'static Tools {
        static NONE: Tools = Tools { prefix: Vec::new(), harmless: Vec::new(), known: Vec::new() };
        self.agent.hook.as_ref().map_or(&NONE, |hook| &hook.tools)
    }

    /// Returns the fields of an input that contain the directory of a command.
    fn inner(&self) -> &'static [String] {
        match (&self.form.inner, &self.agent.hook) {
            (own, Some(hook)) if own.is_empty() => &hook.inner,
            (own, _) => own,
        }
    }
}

/// The reason why a file cannot be read as a transcript.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error(transparent)]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Database(#[from] database::DatabaseError),
    #[error("too long")]
    TooLong,
    #[error("not JSON")]
    NotJson,
}

/// Reads a file that is one JSON value.
fn whole(path: &Path) -> Result<Value, FileError> {
    let mut bytes = Vec::new();
    lines::open(path).and_then(|file| file.take(MAX_WHOLE + 1).read_to_end(&mut bytes))?;
    if bytes.len() as u64 > MAX_WHOLE {
        return Err(FileError::TooLong);
    }
    serde_json::from_slice(&bytes).map_err(|_| FileError::NotJson)
}

/// Reads the directory from a file with this name, beside the transcript or up to two levels above.
fn above(path: &Path, name: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(in_or_above(path, name)?).ok()?;
    Some(PathBuf::from(text.trim())).filter(|path| path.is_absolute())
}

/// Reads the JSON file whose name has the ending `other` instead of `end`, beside the transcript or up to two levels
/// above.
fn beside(path: &Path, end: &str, other: &str) -> Option<Value> {
    let name = path.file_name()?.to_str()?.strip_suffix(end)?;
    whole(&in_or_above(path, &format!("{name}{other}"))?).ok()
}

/// Returns the file with this name in the directory of `path`, or in one of the two above it.
fn in_or_above(path: &Path, name: &str) -> Option<PathBuf> {
    path.ancestors().skip(1).take(3).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// A tool call in a transcript.
struct ToolUse<'a> {
    tool: &'a str,
    input: &'a Value,
    id: Option<&'a str>,
    at: Option<Timestamp>,
}

/// Returns all tool calls in a line, a file or a row.
fn calls_of<'a>(form: &'a Transcript, value: &'a Value) -> Vec<ToolUse<'a>> {
    let mut found = Vec::new();
    for call in &form.call {
        for way in &call.at {
            let steps: Vec<&str> = way.split('/').skip(1).collect();
            search(form, call, &steps, value, None, &mut found);
        }
    }
    found
}

/// Follows the remaining steps of a path, and collects the calls at its end.
fn search<'a>(
    form: &'a Transcript,
    call: &'a TranscriptCall,
    steps: &[&str],
    value: &'a Value,
    at: Option<Timestamp>,
    found: &mut Vec<ToolUse<'a>>,
) {
    let at = first(value, &form.time).and_then(time).or(at);
    match steps {
        [] => found.extend(is_call(call, value, at)),
        ["**"] => match (is_call(call, value, at), value) {
            (Some(call), _) => found.push(call),
            (None, Value::Array(items)) => items.iter().for_each(|item| search(form, call, steps, item, at, found)),
            (None, Value::Object(fields)) => {
                fields.values().for_each(|item| search(form, call, steps, item, at, found))
            }
            _ => {}
        },
        ["*", rest @ ..] => {
            for item in value.as_array().into_iter().flatten() {
                search(form, call, rest, item, at, found);
            }
        }
        [name, rest @ ..] => {
            if let Some(inner) = value.get(name) {
                search(form, call, rest, inner, at, found);
            }
        }
    }
}

fn is_call<'a>(call: &'a TranscriptCall, value: &'a Value, at: Option<Timestamp>) -> Option<ToolUse<'a>> {
    if let Some((place, words)) = &call.when {
        let word = value.pointer(place)?.as_str()?;
        words.iter().find(|known| *known == word)?;
    }
    let tool = match &call.only {
        Some(only) => only.as_str(),
        None => value.pointer(&call.tool)?.as_str()?,
    };
    let input = first(value, &call.input).filter(|input| input.is_object() || input.is_string())?;
    Some(ToolUse { tool, input, id: first(value, &call.id).and_then(Value::as_str), at })
}

/// Returns the first non-null value at one of these JSON pointers.
fn first<'a>(value: &'a Value, places: &[String]) -> Option<&'a Value> {
    places.iter().find_map(|place| value.pointer(place)).filter(|value| !value.is_null())
}

/// Parses a time: a text, or a number since 1970, in milliseconds if it is at least 10¹¹ (as seconds, beyond the year
/// 5000).
fn time(value: &Value) -> Option<Timestamp> {
    const MILLISECONDS: f64 = 1e11;
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => {
            let number = number.as_f64()?;
            let seconds = if number.abs() >= MILLISECONDS { number / 1000.0 } else { number };
            Timestamp::from_duration(jiff::SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
        }
        _ => None,
    }
}

/// The state of reading one file.
struct TranscriptReader<'a> {
    source: TranscriptSource,
    /// The session's directory, if a previous value contained it.
    cwd: Option<PathBuf>,
    seen: &'a mut SeenCalls,
    sink: &'a mut dyn CallSink,
}

impl TranscriptReader<'_> {
    fn line(&mut self, line: Option<&[u8]>) {
        let Some(line) = line else { return self.sink.skipped_line() };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let Ok(text) = std::str::from_utf8(line) else { return self.sink.skipped_line() };
        // Skip lines without a marker of a call: most lines contain none, and they are long.
        let marks = &self.source.form.marks;
        let tells = marks.is_empty() || marks.iter().any(|mark| text.contains(mark.as_str()));
        if text.trim_end().ends_with('}') && !tells {
            return;
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.value(&value),
            Err(_) => self.sink.skipped_line(),
        }
    }

    /// Stores the session's directory if this value contains it.
    fn take_directory(&mut self, value: &Value) {
        if let Some(cwd) = first(value, &self.source.form.cwd).and_then(Value::as_str) {
            self.cwd = Some(PathBuf::from(cwd)).filter(|cwd| !cwd.as_os_str().is_empty());
        }
    }

    fn value(&mut self, value: &Value) {
        self.take_directory(value);
        for call in calls_of(self.source.form, value) {
            self.call(&call);
        }
    }

    /// Passes on the action of a tool call, determined by the agent's description. Each call is passed on once.
    fn call(&mut self, call: &ToolUse<'_>) {
        let action = shape::used(self.source.tools(), call.tool, call.input);
        let agent = self.source.agent.name.as_str();
        let is_new = |seen: &mut SeenCalls| call.id.is_none_or(|id| seen.is_new(agent, id, call.tool, call.input));
        if action == Ok(ToolAction::Other) || !is_new(self.seen) {
            return;
        }
        let action = match action {
            Ok(ToolAction::Argv(words)) => unwrapped(words),
            Ok(action) => action,
            Err(_) => return self.sink.skipped_line(),
        };
        let object = call.input.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let input = object.as_ref().unwrap_or(call.input);
        let own = self.source.inner().iter().find_map(|name| input.get(name)?.as_str());
        let cwd = match (own.filter(|own| !own.is_empty()), &self.cwd) {
            (Some(own), Some(session)) => Some(session.join(own)),
            (Some(own), None) => Some(PathBuf::from(own)).filter(|own| own.is_absolute()),
            (None, session) => session.clone(),
        };
        self.sink.add(PastCall { action, cwd, at: call.at, by: agent });
    }
}

/// Replaces `bash -lc TEXT` by the text.
fn unwrapped(words: Vec<String>) -> ToolAction {
    match words.as_slice() {
        [shell, option, text] if matches!(option.as_str(), "-c" | "-lc") => match shell.rsplit('/').next() {
            Some("bash" | "sh" | "zsh") => ToolAction::Line(text.clone()),
            _ => ToolAction::Argv(words),
        },
        _ => ToolAction::Argv(words),
    }
}
