//! The exact request.
//!
//! An [`Invocation`] is a value: later code does not read the arguments, environment or working directory of the
//! process again.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::envelope::Envelope;
use super::reserved;
use super::sort;
use super::syntax::tree::Dialect;
use super::tools::ToolCall;

/// A command that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    pub request: Request,
    /// The absolute path, as the caller names it (`$PWD` if that is correct, else the physical path).
    pub cwd: PathBuf,
    pub env: Environment,
    /// The home directory of the account, from the account database and independent of `HOME`.
    pub home: Option<PathBuf>,
    pub uid: u32,
    pub user: String,
    pub origin: Origin,
    pub session: Session,
}

/// The command itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Arguments that are passed without a shell.
    Argv(Vec<OsString>),
    /// A string for a shell.
    Line(Line),
    /// Files that an agent changes with its own tool, without a command.
    Files(Vec<FileChange>),
    /// A call of a tool that is not a command.
    Tool(Box<ToolCall>),
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileChange {
    pub kind: ChangeKind,
    /// The path as the tool names it: absolute, or relative to the working directory.
    pub path: String,
}

/// The ways in which a tool changes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Replaces the whole content.
    Write,
    /// Replaces a part of the content.
    Edit,
    Delete,
    /// Moves the file to another path.
    Move,
}

impl ChangeKind {
    /// Returns the word that is displayed before the path: `write`, `edit`, `delete`, `move`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }
}

/// A command string and the shell that executes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub text: Vec<u8>,
    pub dialect: Dialect,
    /// The real shell, as an absolute path; never guard.
    pub shell: PathBuf,
    /// The arguments of the shell before the string (`-c`, `-lc`, `-o pipefail -c`).
    pub options: Vec<OsString>,
    /// The arguments after the string: `$0`, `$1`, …
    pub positional: Vec<OsString>,
    /// The commands that this shell ran before and whose state is still in effect: directories, variables, functions,
    /// aliases. They do not run again and do not affect the risk.
    pub before: Vec<u8>,
    /// The envelope that an agent put around the string. The envelope runs; the string in it is judged and shown.
    pub envelope: Option<Box<Envelope>>,
}

/// A command that gives the commands after it an input with unknown content.
const TYPED: &[u8] = b"exec < <(cat /dev/tty)";

impl Line {
    /// Creates a line for `bash -c`, with no earlier commands and no envelope.
    #[must_use]
    pub fn of_bash(text: impl Into<Vec<u8>>) -> Self {
        Self {
            text: text.into(),
            dialect: Dialect::Bash,
            shell: PathBuf::from("/bin/bash"),
            options: vec![OsString::from("-c")],
            positional: Vec::new(),
            before: Vec::new(),
            envelope: None,
        }
    }
}

/// The environment of the command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    pub variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Returns the value of a variable, if it is set and valid UTF-8.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(OsStr::new(name)).and_then(|value| value.to_str())
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self { variables: sort::map(variables) }
    }
}

/// The origin of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The terminal of a person.
    Cli,
    /// A hook, guard as an agent's shell, or a process below a known agent.
    Agent,
    /// The HTTP interface.
    Api,
    /// A chat on Discord.
    Discord,
    /// A chat on Telegram.
    Telegram,
}

impl Origin {
    /// Returns the origin with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Cli, Self::Agent, Self::Api, Self::Discord, Self::Telegram].into_iter().find(|one| one.name() == name)
    }

    /// Returns the name: `cli`, `agent`, `api`, `discord`, `telegram`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Agent => "agent",
            Self::Api => "api",
            Self::Discord => "discord",
            Self::Telegram => "telegram",
        }
    }

    /// Reports whether the command is from a guarded session, in which no person types the commands.
    #[must_use]
    pub const fn is_guarded(self) -> bool {
        matches!(self, Self::Agent | Self::Api)
    }
}

/// The session of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Session {
    /// The ID to which grants apply: the session ID of the host, else the nearest agent ancestor, else the terminal
    /// session.
    pub id: String,
    /// The key for counters and behaviour: the account and the root process. `GUARD_SESSION` does not change it.
    pub root: String,
    /// The name of the known agent that is an ancestor process, if there is one.
    pub agent: Option<String>,
}

/// A SHA-256 digest of the request and of everything on which its meaning depends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// Variables that change the meaning of a command that does not name them. A trailing `*` matches any suffix.
const MATTERS: &[&str] = &[
    "PATH",
    "LD_*",
    "DYLD_*",
    "GIT_*",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "IFS",
    "KUBECONFIG",
    "AWS_*",
    "GOOGLE_*",
    "CLOUDSDK_*",
    "AZURE_*",
    "DOCKER_*",
    "HELM_*",
    "TF_*",
    "PG*",
    "MYSQL_*",
    "NODE_OPTIONS",
    "PYTHON*",
    "PERL5*",
    "RUBYOPT",
    "EDITOR",
    "VISUAL",
    "PAGER",
];

impl Invocation {
    /// Returns the digest of argv or string, the working directory and the relevant environment: a fixed list of
    /// variables, and every variable in `expanded`. Each field is prefixed with its length, so that no two invocations
    /// have the same encoding.
    #[must_use]
    pub fn digest(&self, expanded: &BTreeSet<String>) -> Digest {
        let mut hash = Sha256::new();
        let mut field = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        match &self.request {
            Request::Argv(argv) => {
                field(b"argv");
                argv.iter().for_each(|argument| field(argument.as_bytes()));
            }
            Request::Line(line) => {
                field(b"line");
                field(&line.text);
                field(line.shell.as_os_str().as_bytes());
                line.options.iter().for_each(|option| field(option.as_bytes()));
                field(b"positional");
                line.positional.iter().for_each(|argument| field(argument.as_bytes()));
                // The envelope is not hashed as a whole, because the names of the agent's own files in it change with
                // every call.
                if let Some(envelope) = &line.envelope {
                    field(b"envelope");
                    field(envelope.agent.as_bytes());
                    field(&envelope.lead);
                }
                if !line.before.is_empty() {
                    field(b"before");
                    field(&line.before);
                }
            }
            Request::Files(changes) => {
                field(b"files");
                for change in changes {
                    field(change.kind.word().as_bytes());
                    field(change.path.as_bytes());
                }
            }
            Request::Tool(call) => {
                field(b"tool");
                field(call.name.as_bytes());
                field(call.input.to_string().as_bytes());
                // The server's description of the tool can raise the risk.
                for told in [&call.schema, &call.hints] {
                    field(told.as_ref().map(ToString::to_string).unwrap_or_default().as_bytes());
                }
                field(call.description.as_deref().unwrap_or_default().as_bytes());
                call.marks.iter().for_each(|mark| field(format!("{mark:?}").as_bytes()));
                field(b"servers");
                call.servers.iter().for_each(|server| field(server.as_bytes()));
            }
        }
        field(b"cwd");
        field(self.cwd.as_os_str().as_bytes());
        for (name, value) in &self.env.variables {
            let matters = name.to_str().is_some_and(|name| {
                expanded.contains(name)
                    || MATTERS.iter().any(|known| match known.strip_suffix('*') {
                        Some(prefix) => name.starts_with(prefix),
                        None => name == *known,
                    })
            });
            if matters {
                field(name.as_bytes());
                field(value.as_bytes());
            }
        }
        Digest(hash.finalize().into())
    }

    /// Returns the invocation for a host that does not report the input that is typed later into the programs that it
    /// starts.
    #[must_use]
    pub fn typed_into(&self) -> Self {
        let Request::Line(line) = &self.request else { return self.clone() };
        let line = Line { before: TYPED.to_vec(), ..line.clone() };
        Self { request: Request::Line(line), ..self.clone() }
    }

    /// Returns the original invocation, if [`Self::typed_into`] created this one.
    #[must_use]
    pub fn untyped(&self) -> Option<Self> {
        let Request::Line(line) = &self.request else { return None };
        let plain = || Line { before: Vec::new(), ..line.clone() };
        (line.before == TYPED).then(|| Self { request: Request::Line(plain()), ..self.clone() })
    }

    /// Returns the invocation without the characters that are reserved for the judge. The length of each part is
    /// unchanged.
    #[must_use]
    pub fn taken_in(&self) -> Cow<'_, Self> {
        fn plain(text: &OsStr) -> OsString {
            OsString::from_vec(reserved::taken_in_bytes(text.as_bytes()).into_owned())
        }
        let may_hold = |text: &OsStr| reserved::may_hold(text.as_bytes());
        let is_plain = match &self.request {
            Request::Argv(argv) => !argv.iter().any(|word| may_hold(word)),
            Request::Line(line) => {
                let texts = [&line.text, &line.before];
                !texts.into_iter().any(|text| reserved::may_hold(text))
                    && !line.positional.iter().any(|word| may_hold(word))
            }
            Request::Files(changes) => !changes.iter().any(|change| reserved::may_hold(change.path.as_bytes())),
            // Only the values in the input are read, and they are converted when they are read.
            Request::Tool(_) => true,
        };
        if is_plain && !may_hold(self.cwd.as_os_str()) {
            return Cow::Borrowed(self);
        }
        let request = match &self.request {
            Request::Argv(argv) => Request::Argv(argv.iter().map(|word| plain(word)).collect()),
            Request::Line(line) => Request::Line(Line {
                text: reserved::taken_in_bytes(&line.text).into_owned(),
                positional: line.positional.iter().map(|word| plain(word)).collect(),
                before: reserved::taken_in_bytes(&line.before).into_owned(),
                ..line.clone()
            }),
            Request::Files(changes) => {
                let change = |change: &FileChange| FileChange {
                    kind: change.kind,
                    path: reserved::taken_in(&change.path).into_owned(),
                };
                Request::Files(changes.iter().map(change).collect())
            }
            Request::Tool(call) => Request::Tool(call.clone()),
        };
        let cwd = PathBuf::from(plain(self.cwd.as_os_str()));
        if request == self.request && cwd == self.cwd {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { request, cwd, ..self.clone() })
    }

    /// Returns the tool call, if it is one.
    #[must_use]
    pub fn tool(&self) -> Option<&ToolCall> {
        match &self.request {
            Request::Tool(call) => Some(call),
            Request::Argv(_) | Request::Line(_) | Request::Files(_) => None,
        }
    }

    /// Reports whether a part of it is neither shown nor stored.
    #[must_use]
    pub fn hides(&self) -> bool {
        self.tool().is_some_and(|call| !call.hidden.is_empty())
    }

    /// Reports whether such a part is missing here, because it was not stored and the invocation was read from the
    /// queue.
    #[must_use]
    pub fn hides_here(&self) -> bool {
        self.tool().is_some_and(|call| !call.hidden.is_empty() && call.shown().as_ref() == &call.input)
    }

    /// Returns the command as one string for display: the string itself; the arguments, quoted for a shell; for a tool
    /// that changes files, the changes (`write ~/notes.txt; delete old.txt`); for any other tool, its name and its
    /// input as JSON (`calendar.delete_event {"id":"1"}`).
    #[must_use]
    pub fn display(&self) -> String {
        match &self.request {
            Request::Line(line) => String::from_utf8_lossy(&line.text).into_owned(),
            Request::Argv(argv) => argv.iter().map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" "),
            Request::Files(changes) => {
                let said = |change: &FileChange| format!("{} {}", change.kind.word(), quote(&change.path));
                changes.iter().map(said).collect::<Vec<_>>().join("; ")
            }
            Request::Tool(call) => call.display(),
        }
    }
}

/// Quotes a word for a shell, if it is necessary.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
