//! What guard writes into the configuration of an agent, and how the agent reads it.

use serde::{Deserialize, Serialize};

/// What is written into its configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Its directory below the home.
    pub directory: String,
    /// The variable that names another one; empty where there is none.
    #[serde(default)]
    pub variable: String,
    /// The directory is below `XDG_CONFIG_HOME` or `~/.config` rather than the home.
    #[serde(default)]
    pub below_config: bool,
    pub file: Vec<HookFile>,
    /// How it runs the command that it finds there.
    #[serde(default)]
    pub runs: LaunchMethod,
    /// What it tells guard before it runs a command: `@COMMAND@`, `@CWD@`, `@SESSION@` and `@EVENT@` stand for what
    /// changes. The doctor says it in its place.
    pub sample: String,
    /// How it reads the answer.
    pub reads: AnswerReading,
    /// For how many seconds guard is told that it waits, as the entries have it; 0 leaves it at what it waits by
    /// itself.
    #[serde(default)]
    pub waits: u32,
    /// Its configuration counts in milliseconds.
    #[serde(default)]
    pub milliseconds: bool,
    /// What it does when guard ends in an error, takes too long, or is not there any more.
    #[serde(default)]
    pub on_failure: NoAnswer,
    #[serde(default)]
    pub on_timeout: NoAnswer,
    #[serde(default)]
    pub on_missing: NoAnswer,
    /// The version from which on a failure blocks, where that has changed.
    #[serde(default)]
    pub blocks_from: Option<String>,
    /// The version from which on a refusal blocks at all. Before it the hook interrupts the agent in place of refusing.
    #[serde(default)]
    pub holds_from: Option<String>,
    /// What is printed in guard's place when it fails, where `@WRAPPED@` stands for a shell that starts guard.
    #[serde(default)]
    pub fallback: String,
    /// What the user still has to do.
    pub next: String,
    /// Files that pass over the whole of themselves for a comment, a trailing comma, or a key that is not among these.
    #[serde(default)]
    pub strict: Option<Vec<String>>,
    /// What its user must say before it runs a hook; `None` where nothing.
    #[serde(default)]
    pub trust: Option<Trust>,
    /// Files of a project in which the hooks of the account may be switched off.
    #[serde(default)]
    pub switches: Vec<String>,
}

/// What becomes of a command that guard did not answer for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoAnswer {
    #[default]
    Unknown,
    Runs,
    Blocked,
    /// It is blocked; before `holds_from` because the hook interrupts the agent.
    Interrupted,
}

/// How it keeps which hooks its user trusts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    pub kept: TrustFormat,
    /// The file below its directory.
    pub file: String,
    /// What that file calls the event.
    pub event: String,
    /// Switches in that file (below `features`) that turn all hooks off.
    #[serde(default)]
    pub switches: Vec<String>,
    /// A key of its configuration that, when it is true, trusts all hooks.
    #[serde(default)]
    pub automatic: String,
    /// A variable that, when it is 1, does the same.
    #[serde(default)]
    pub variable: String,
    /// How its user trusts a hook.
    pub remedy: String,
    /// How a hook is switched on again.
    #[serde(default)]
    pub switch_on: String,
}

/// In which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustFormat {
    /// TOML: under `hooks.state`, with a hash of what each does.
    Hashes,
    /// JSON: a list of `approvals`, by event and command.
    Lines,
}

/// How it runs a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaunchMethod {
    /// Program and arguments, no shell.
    Exec,
    /// `sh -c`
    #[default]
    Sh,
    /// `$SHELL -lc`
    Login,
    /// `bash -c`
    Bash,
    /// Split into words like a shell would, no shell.
    Words,
    /// The file itself is the program.
    File,
    /// It loads the file as a part of itself.
    Plugin,
}

/// How it reads guard's answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerReading {
    /// Exit codes that block.
    #[serde(default)]
    pub codes: ExitCodes,
    /// Such a code needs a reason to block: on standard error, or on either.
    #[serde(default)]
    pub reason: Reason,
    /// JSON on standard output decides whatever the exit code says.
    #[serde(default)]
    pub json_first: bool,
    /// What it must find where anything decides in JSON.
    #[serde(default)]
    pub keys: Vec<AnswerField>,
    /// An answer without JSON is a failed hook.
    #[serde(default)]
    pub json_alone: bool,
}

/// A place in the JSON of an answer and what its words mean.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerField {
    /// At this event alone; empty at all others.
    #[serde(default)]
    pub event: String,
    /// A JSON pointer.
    pub at: String,
    #[serde(default)]
    pub blocks: Vec<String>,
    #[serde(default)]
    pub asks: Vec<String>,
    /// A word counts only with a text at this place.
    #[serde(default)]
    pub with: String,
    /// Exit codes do not count at this event, or JSON only with code 0.
    #[serde(default)]
    pub code_0: bool,
}

/// Exit codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitCodes {
    /// None blocks.
    #[default]
    None,
    /// 2
    Two,
    /// 2 and above.
    Above,
    /// All but 0.
    Any,
}

/// Where a reason must stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    #[default]
    None,
    /// On standard error.
    Err,
    /// On standard error, and nothing on standard output.
    ErrAlone,
    /// On either.
    Either,
}

/// One file and what guard writes there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookFile {
    /// Below its directory (of a project: below the project's top); below the home where it begins with `~/`.
    pub path: String,
    /// It is a file of a project's, not of the account.
    #[serde(default)]
    pub project: bool,
    #[serde(default)]
    pub when: WriteCondition,
    pub form: Form,
}

/// Under which circumstances a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCondition {
    #[default]
    Always,
    /// Only when it is there already: the agent then reads it and not the other.
    There,
    /// Only when its directory is there.
    Directory,
    /// Only when the directory two levels above it is there.
    DirectoryAbove,
}

/// What kind of file it is. `@GUARD@` stands for guard's path and `@LINE@` for the command line, each inside quotes.
/// Where a shell is sure to read the line, ` || exit 2` behind it blocks the command when guard fails or is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Entries in lists of a JSON document.
    Json {
        /// Members that the document must have, as compact JSON.
        #[serde(default)]
        needs: Vec<(String, String)>,
        entries: Vec<ListEntry>,
    },
    /// A table of an array of tables.
    Toml { array: String, body: String },
    /// An item of a list in a YAML document.
    Yaml { keys: [String; 2], item: Vec<String> },
    /// A plugin of guard's, by the agent's major version: one for each, the last for all later ones. The description
    /// names files beside it; what was built holds their text.
    Plugin(Vec<String>),
    /// A file of guard's own.
    Own {
        text: String,
        #[serde(default)]
        executable: bool,
    },
}

/// An entry of a list in a JSON document.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListEntry {
    /// The keys that lead to the list.
    pub keys: Vec<String>,
    /// The entry, as compact JSON.
    pub entry: String,
    /// The entry for versions in which a refusal blocks nothing (before `holds_from`): one that interrupts the agent.
    #[serde(default)]
    pub older: Option<String>,
}
