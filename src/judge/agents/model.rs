//! The format of the descriptions of agents, `patterns/agents/*.toml`.
//!
//! The build script reads the same types, so that there is one format. Out of scope: the use of the descriptions.

mod config;
mod hook;
mod live;
mod template;
mod transcript;

use serde::{Deserialize, Serialize};

pub use config::{
    AnswerField, AnswerReading, Config, ExitCodes, Form, HookFile, LaunchMethod, ListEntry, NoAnswer, Reason, Trust,
    TrustFormat, WriteCondition,
};
pub use hook::{Ask, Event, Hook, HookEvent, KnownToolUse, NamedTool, Replies, Tools, Words};
pub use live::{FileText, LiveSetup};
pub use template::{CommandPosition, Hole, Template, TemplatePart};
pub use transcript::{CallForm as TranscriptCall, Form as TranscriptForm, Transcript};

/// An agent: a program that runs commands which no person typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The name for `--agent` and in the record.
    pub name: String,
    /// Other names that `--agent` accepts for it.
    #[serde(default)]
    pub also: Vec<String>,
    /// The name as its maker writes it.
    pub title: String,
    /// Its programs. One of them on the PATH shows that the agent is installed.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Its packages (npm, PyPI), whose metadata contains the version.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Whether its program is queried for the version if no package contains it.
    #[serde(default)]
    pub asks_version: bool,
    /// Whether it also runs in an editor, so that it need not have a program.
    #[serde(default)]
    pub in_editor: bool,
    /// Globs of its own plans, to-do lists and memory, without the files that contain its instructions or permissions.
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub process: Process,
    /// Its hook: how it is called and which answers the agent understands; `None` if it has no hooks.
    #[serde(default)]
    pub hook: Option<Hook>,
    /// The configuration that guard writes; `None` if there is none.
    #[serde(default)]
    pub config: Option<Config>,
    /// Its shell, and the place that guard takes in front of it in addition to the hook.
    #[serde(default)]
    pub shell: ShellEntry,
    /// The forms of its command lines for a shell; stored separately when guard is built.
    #[serde(default)]
    pub template: Vec<Template>,
    /// The setup of a test without its user; `None` if no such test is known to work.
    #[serde(default)]
    pub live: Option<LiveSetup>,
    /// The records that it keeps of its actions.
    #[serde(default)]
    pub transcript: Vec<Transcript>,
    /// The versions with which this description was tested.
    #[serde(default)]
    pub tried: Vec<TestedVersion>,
}

/// The marks by which its processes are recognised.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// The names of its process; of a longer name at most 15 bytes are known.
    #[serde(default)]
    pub names: Vec<String>,
    /// Parts of its program's path, for a process that is named after an interpreter (`node`, `python3`).
    #[serde(default)]
    pub paths: Vec<String>,
    /// Variables that it sets for the commands that it runs, with their values; an empty one matches any value.
    #[serde(default)]
    pub markers: Vec<(String, String)>,
    /// The variable that names its session.
    #[serde(default)]
    pub session: Option<String>,
}

/// The shell of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellEntry {
    /// The way in which guard takes the place of the shell, as text for people; `DIR` is the directory of the links.
    #[serde(default)]
    pub how: String,
    /// The limits of that way, as text for people.
    #[serde(default)]
    pub note: String,
    /// Variables that name the shell for which a command of the hook is meant, of which the first that is set counts;
    /// `passwd` is the account's own shell.
    #[serde(default)]
    pub from: Vec<String>,
    /// A file below the agent's directory, and the keys in it that lead to the shell's path.
    #[serde(default)]
    pub settings: Option<(String, Vec<String>)>,
    /// Texts of which the shell's path must contain one, if the agent ignores other shells.
    #[serde(default)]
    pub named: Vec<String>,
    /// Variables with its timeouts for a command in milliseconds: the usual one, and the longest one.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Files that it loads to start guard in place of a shell of its own, in addition to the scripts that replace the
    /// links.
    #[serde(default)]
    pub files: Vec<PluginFile>,
}

/// A file of guard that an agent loads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginFile {
    pub name: String,
    pub text: String,
    /// The name of a directory beside the file in which the agent's language caches the compiled file, and the prefix
    /// of the cached file's name. Both are removed with the file.
    #[serde(default)]
    pub kept: Option<(String, String)>,
}

/// A version and the day on which it was tested (`2026-11-22`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestedVersion {
    pub version: String,
    pub on: String,
}
