//! Envelopes: what agents put around a command before they hand it to a shell.
//!
//! An envelope is recognised only when the whole string fits its agent's template; the command in it is then what is
//! judged, shown, granted and recorded, and the whole string is what runs. Whatever does not fit to the last byte is
//! judged as it stands. An envelope never lowers: the command is judged by itself, and once more behind what the
//! envelope does in front of it (a snapshot that is sourced, a directory that is entered), and the findings are joined.
//!
//! What may not enter: reading files. Where a template names a file, its place must be the one that the agent uses.

mod claude;
mod cursor;
mod gemini;
mod hermes;
mod opencode;
mod scan;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::invocation::{Environment, Invocation, Line, Origin, Request};

/// What stood around a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The agent whose template it is.
    pub agent: &'static str,
    /// The string that runs.
    pub whole: Vec<u8>,
    /// The arguments behind that string.
    pub positional: Vec<OsString>,
    /// What it does in front of the command, as commands.
    pub lead: Vec<u8>,
    /// It holds no command: the agent prepares its own files.
    pub is_preparation: bool,
}

/// A template that fits: what it holds.
#[derive(Debug, Default)]
struct Opened {
    inner: Vec<u8>,
    lead: Vec<u8>,
    is_preparation: bool,
}

/// Where an agent may keep its files.
struct Places<'a> {
    /// Home directories: the account's, and the one that the environment names.
    homes: Vec<&'a str>,
    /// Directories for temporary files.
    temporary: Vec<&'a str>,
    environment: &'a Environment,
    /// The agent that asks, as far as its processes tell.
    agent: Option<&'a str>,
}

impl Places<'_> {
    /// Whether a path names a file directly in this directory of a home.
    fn in_home<'p>(&self, folder: &str, path: &'p str) -> Option<&'p str> {
        let below =
            |home: &&str| path.strip_prefix(home.trim_end_matches('/'))?.strip_prefix('/')?.strip_prefix(folder);
        self.homes.iter().find_map(below)?.strip_prefix('/').filter(|name| !name.contains('/'))
    }

    /// The rest of a path that lies among temporary files.
    fn in_temporary<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.temporary.iter().find_map(|folder| path.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/'))
    }
}

type Template = (&'static str, fn(&Line, &Places<'_>) -> Option<Opened>);

const TEMPLATES: &[Template] = &[
    ("claude", claude::open),
    ("claude", claude::snapshot),
    ("claude", claude::environment),
    ("hermes", hermes::open),
    ("hermes", hermes::snapshot),
    ("gemini", gemini::open),
    ("opencode", opencode::open),
    ("cursor", cursor::open),
];

impl Invocation {
    /// The same, with an envelope taken off when there is one. What came in an agent's envelope comes from an agent.
    #[must_use]
    pub fn unwrapped(mut self) -> Self {
        let Request::Line(line) = &self.request else { return self };
        if line.envelope.is_some() || line.text.len() > super::syntax::limits::MAX_BYTES {
            return self;
        }
        let homes = [self.home.as_deref().and_then(std::path::Path::to_str), self.env.get("HOME")];
        let places = Places {
            homes: homes.into_iter().flatten().filter(|home| home.len() > 1).collect(),
            environment: &self.env,
            agent: self.session.agent.as_deref(),
            // The one that is named first: it may lie below the other.
            temporary: self
                .env
                .get("TMPDIR")
                .filter(|dir| dir.len() > 1)
                .into_iter()
                .chain(["/tmp", "/private/tmp"])
                .collect(),
        };
        let opened = TEMPLATES.iter().find_map(|(agent, open)| Some((*agent, open(line, &places)?)));
        if let Some((agent, Opened { inner, lead, is_preparation })) = opened
            && let Request::Line(line) = &mut self.request
        {
            let whole = std::mem::replace(&mut line.text, inner);
            let positional = std::mem::take(&mut line.positional);
            line.envelope = Some(Box::new(Envelope { agent, whole, positional, lead, is_preparation }));
            self.origin = if self.origin.is_guarded() { self.origin } else { Origin::Agent };
            self.session.agent.get_or_insert_with(|| agent.to_owned());
        }
        self
    }

    /// The command behind what its envelope does in front of it, and how long that is.
    pub(super) fn led(&self) -> Option<(Self, usize)> {
        let Request::Line(line) = &self.request else { return None };
        let envelope = line.envelope.as_deref().filter(|envelope| !envelope.lead.is_empty())?;
        let lead = envelope.lead.len() + 1;
        let text = [envelope.lead.as_slice(), b"\n", &line.text].concat();
        let line = Line { text, envelope: None, ..line.clone() };
        Some((Self { request: Request::Line(line), ..self.clone() }, lead))
    }
}

/// A positional parameter as text.
fn positional(line: &Line, at: usize) -> Option<&[u8]> {
    line.positional.get(at).map(|word| word.as_bytes())
}

/// A path as a shell needs it written.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
