//! What a description of an agent holds: the format of `patterns/agents/*.toml`.
//!
//! Out of scope: what is done with it. The build script reads the same types, so that there is one format.

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

/// An agent: a program that runs commands which nobody typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// As `--agent` has it and the record keeps it.
    pub name: String,
    /// Other names that `--agent` takes for it.
    #[serde(default)]
    pub also: Vec<String>,
    /// As its maker writes it.
    pub title: String,
    /// Its programs; one on the PATH shows that it is there.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Its packages (npm, PyPI), whose metadata tells the version.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Its program is asked for the version where no package tells it.
    #[serde(default)]
    pub asks_version: bool,
    /// It lives in an editor too, and need not have a program.
    #[serde(default)]
    pub in_editor: bool,
    /// Where it keeps plans, to-do lists and memory for itself, as globs; what it is told and may do lies elsewhere.
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub process: Process,
    /// What it says to a hook and understands; `None` where it has none.
    #[serde(default)]
    pub hook: Option<Hook>,
    /// What is written into its configuration; `None` where there is nothing to write.
    #[serde(default)]
    pub config: Option<Config>,
    /// How guard stands in front of its shell, beside the hook.
    #[serde(default)]
    pub shell: ShellEntry,
    /// The forms of what it hands to a shell; kept apart when guard is built.
    #[serde(default)]
    pub template: Vec<Template>,
    /// How it is tried without its user; `None` where that was never seen to work.
    #[serde(default)]
    pub live: Option<LiveSetup>,
    /// What it keeps of what it did.
    #[serde(default)]
    pub transcript: Vec<Transcript>,
    /// With which versions all this was seen to hold.
    #[serde(default)]
    pub tried: Vec<TestedVersion>,
}

/// How its processes are recognised.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// What its process is called (at most 15 bytes are known of a longer name).
    #[serde(default)]
    pub names: Vec<String>,
    /// What the path of its program contains where the process is called after an interpreter (`node`, `python3`).
    #[serde(default)]
    pub paths: Vec<String>,
    /// Variables that it sets for the commands that it runs, and their value; an empty one stands for any.
    #[serde(default)]
    pub markers: Vec<(String, String)>,
    /// The variable that names its session.
    #[serde(default)]
    pub session: Option<String>,
}

/// Its shell.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellEntry {
    /// How guard stands in front of it, for people; `DIR` is the directory of the links.
    #[serde(default)]
    pub how: String,
    /// What does not pass there, for people.
    #[serde(default)]
    pub note: String,
    /// Variables that name the shell for which a command of the hook is meant, the first that is set; `passwd` is the
    /// account's own shell.
    #[serde(default)]
    pub from: Vec<String>,
    /// A file below its directory, and the keys in it that name the shell.
    #[serde(default)]
    pub settings: Option<(String, Vec<String>)>,
    /// Its path must contain one of these, or it is passed over.
    #[serde(default)]
    pub named: Vec<String>,
    /// Variables that tell after how many milliseconds it ends a command: its usual limit, and the longest one.
    #[serde(default)]
    pub limits: Vec<String>,
    /// What it loads to start guard in place of a shell of its own, beside the scripts that stand for the links.
    #[serde(default)]
    pub files: Vec<PluginFile>,
}

/// A file of guard's that an agent loads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginFile {
    pub name: String,
    pub text: String,
    /// A directory beside it in which the agent's language keeps what it made of it, and how the name of that begins;
    /// both go when the file goes.
    #[serde(default)]
    pub kept: Option<(String, String)>,
}

/// A version and the day on which it was tried (`2026-11-22`).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestedVersion {
    pub version: String,
    pub on: String,
}
