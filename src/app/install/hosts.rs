//! The agents that guard can be wired into, as data: where their configuration lies, what is written there, and what
//! each does when guard fails. The installer, the doctor and guard-agents(7) read this one table.

mod table;
mod written;

pub use table::{BLOCKED, HOSTS, OPEN};

use crate::app::hook::plugin::Plugin;

/// An agent that calls guard.
#[derive(Debug)]
pub struct Host {
    /// As `--agent` has it.
    pub name: &'static str,
    pub title: &'static str,
    /// Its programs; one on the PATH shows that it is there.
    pub programs: &'static [&'static str],
    /// Its npm packages, whose `package.json` tells the version.
    pub packages: &'static [&'static str],
    pub folder: Folder,
    /// What is written for the account.
    pub user: &'static [Wire],
    /// What is written in a project, below its top folder; none where the agent has no file there.
    pub project: &'static [Wire],
    /// How the agent runs the command that it finds there.
    pub runs: Runs,
    /// What the agent tells guard before it runs a command: `@COMMAND@`, `@CWD@`, `@SESSION@` and `@EVENT@` stand for
    /// what changes. The doctor says it in the agent's place.
    pub says: &'static str,
    /// How the agent reads the answer.
    pub reads: Reads,
    /// For how many seconds guard is told that the agent waits, as the entries have it; 0 leaves it at guard's own
    /// knowledge of the agent.
    pub waits: u32,
    /// What it does when guard ends in an error, takes too long, or is not there any more.
    pub on_failure: &'static str,
    pub on_timeout: &'static str,
    pub on_missing: &'static str,
    /// The version of the program itself that was seen to refuse, to let through and to miss guard, against a stand-in for
    /// its model; empty where all is from the maker's documents and source.
    pub tried: &'static str,
    /// What the user still has to do.
    pub next: &'static str,
    /// How guard stands in front of its shell, beside the hook.
    pub shell: &'static str,
}

/// A folder below the home.
#[derive(Debug)]
pub struct Folder {
    /// The variable that names another one; empty where there is none.
    pub variable: &'static str,
    /// Below `XDG_CONFIG_HOME` or `~/.config` rather than the home.
    pub config: bool,
    pub path: &'static str,
}

/// How an agent runs a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Program and arguments, no shell.
    Exec,
    /// `sh -c`
    Sh,
    /// `$SHELL -lc`
    LoginShell,
    /// `bash -c`
    Bash,
    /// Split into words like a shell would, no shell.
    Words,
    /// The file itself is the program.
    File,
    /// The agent loads the file as a part of itself.
    Plugin,
}

/// How an agent reads guard's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Exit code 2 with a reason on standard error, or `hookSpecificOutput`.
    Claude,
    /// JSON wherever there is any; else exit code 2 and above with a reason.
    Gemini,
    /// The text at this key of a JSON object is one of these; all else lets the command run.
    Key(&'static str, &'static [&'static str]),
    /// `Key`, or exit code 2.
    KeyOrCode(&'static str, &'static [&'static str]),
    /// Any exit code but 0, or `permissionDecision`.
    Copilot,
    /// `"cancel": true`
    Cline,
}

/// One file and what guard writes there.
#[derive(Debug)]
pub struct Wire {
    /// Below the agent's folder; below the home where it begins with `~/`.
    pub path: &'static str,
    pub when: When,
    pub form: Form,
}

/// Under which circumstances a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// Only when it is there already: the agent then reads it and not the other.
    There,
    /// Only when the folder two levels above it is there.
    FolderThere,
}

/// What kind of file it is. `@GUARD@` stands for guard's path and `@LINE@` for the command line, each inside quotes. Where a
/// shell is sure to read the line, ` || exit 2` behind it blocks the command when guard fails or is gone.
#[derive(Debug)]
pub enum Form {
    /// Entries in lists of a JSON document.
    Json {
        /// Members that the document must have, as compact JSON.
        needs: &'static [(&'static str, &'static str)],
        entries: &'static [Entry],
    },
    /// A table of an array of tables.
    Toml { array: &'static str, body: &'static str },
    /// An item of a list in a YAML document.
    Yaml { keys: [&'static str; 2], item: &'static [&'static str] },
    /// A plugin of guard's, by the agent's major version: one for each, the last for all later ones.
    Plugin(&'static [Plugin]),
    /// A file of guard's own.
    Own { text: &'static str, executable: bool },
}

/// An entry of a list in a JSON document.
#[derive(Debug)]
pub struct Entry {
    /// The keys that lead to the list.
    pub keys: &'static [&'static str],
    /// The entry, as compact JSON.
    pub entry: &'static str,
}

/// The agent of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}
