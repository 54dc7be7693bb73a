//! The configuration that guard writes for an agent, and its use by the agent.

use serde::{Deserialize, Serialize};

/// The part of an agent's configuration that guard writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The agent's directory below the home.
    pub directory: String,
    /// The variable that names another directory; empty if there is none.
    #[serde(default)]
    pub variable: String,
    /// Whether the directory is below `XDG_CONFIG_HOME` or `~/.config` rather than the home.
    #[serde(default)]
    pub below_config: bool,
    pub file: Vec<HookFile>,
    /// The way in which the agent runs the configured command.
    #[serde(default)]
    pub runs: LaunchMethod,
    /// The input that it passes to guard before it runs a command, with `@COMMAND@`, `@CWD@`, `@SESSION@` and `@EVENT@`
    /// for the variable parts. `guard doctor` passes it in place of the agent.
    pub sample: String,
    /// The way in which it reads the answer.
    pub reads: AnswerReading,
    /// The timeout in seconds that the entries configure for guard; 0 if they keep the default.
    #[serde(default)]
    pub waits: u32,
    /// Whether the configuration counts in milliseconds.
    #[serde(default)]
    pub milliseconds: bool,
    /// The fate of a command if guard fails, exceeds the timeout or does not exist any more.
    #[serde(default)]
    pub on_failure: NoAnswer,
    #[serde(default)]
    pub on_timeout: NoAnswer,
    #[serde(default)]
    pub on_missing: NoAnswer,
    /// The version from which on a failure blocks the command, if older versions run it.
    #[serde(default)]
    pub blocks_from: Option<String>,
    /// The version from which on a denial blocks the command. In older versions the hook interrupts the agent instead
    /// of denying.
    #[serde(default)]
    pub holds_from: Option<String>,
    /// The output if guard fails. `@WRAPPED@` in an entry is a shell command that starts guard and prints this text if
    /// that fails.
    #[serde(default)]
    pub fallback: String,
    /// The remaining steps for the user.
    pub next: String,
    /// The keys that a file may have, if the agent ignores a whole file because of another key, a comment or a trailing
    /// comma.
    #[serde(default)]
    pub strict: Option<Vec<String>>,
    /// The user's trust in hooks, if the agent requires that before it runs one.
    #[serde(default)]
    pub trust: Option<Trust>,
    /// Files of a project that may disable the hooks of the account.
    #[serde(default)]
    pub switches: Vec<String>,
}

/// The fate of a command for which guard did not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoAnswer {
    #[default]
    Unknown,
    Runs,
    Blocked,
    /// It is blocked; in versions before `holds_from` because the hook interrupts the agent.
    Interrupted,
}

/// The place where an agent stores which hooks its user trusts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    pub kept: TrustFormat,
    /// The file below the agent's directory.
    pub file: String,
    /// The name of the event in that file.
    pub event: String,
    /// Switches in that file (below `features`) that disable all hooks.
    #[serde(default)]
    pub switches: Vec<String>,
    /// A key of the configuration that trusts all hooks if it is true.
    #[serde(default)]
    pub automatic: String,
    /// A variable that trusts all hooks if it is 1.
    #[serde(default)]
    pub variable: String,
    /// The steps with which the user trusts a hook.
    pub remedy: String,
    /// The steps with which the user enables a hook again.
    #[serde(default)]
    pub switch_on: String,
}

/// The format in which trusted hooks are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustFormat {
    /// TOML: below `hooks.state`, with a hash of what each hook does.
    Hashes,
    /// JSON: a list of `approvals`, by event and command.
    Lines,
}

/// The way in which an agent runs a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaunchMethod {
    /// As a program with arguments, without a shell.
    Exec,
    /// `sh -c`
    #[default]
    Sh,
    /// `$SHELL -lc`
    Login,
    /// `bash -c`
    Bash,
    /// Split into words like a shell does, but without a shell.
    Words,
    /// The file itself is the program.
    File,
    /// The agent loads the file as a part of itself.
    Plugin,
}

/// The way in which an agent reads guard's answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerReading {
    /// The exit codes that block the command.
    #[serde(default)]
    pub codes: ExitCodes,
    /// The place of the reason that such an exit code needs in order to block.
    #[serde(default)]
    pub reason: Reason,
    /// Whether JSON on standard output takes precedence over the exit code.
    #[serde(default)]
    pub json_first: bool,
    /// The fields that decide in JSON.
    #[serde(default)]
    pub keys: Vec<AnswerField>,
    /// Whether an answer without JSON is a failed hook.
    #[serde(default)]
    pub json_alone: bool,
}

/// A field in the JSON of an answer, and the meaning of its values.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerField {
    /// The only event to which it applies; empty if it applies to all events without fields of their own. At an event
    /// with fields of its own, other exit codes do not block.
    #[serde(default)]
    pub event: String,
    /// The JSON pointer of the field.
    pub at: String,
    #[serde(default)]
    pub blocks: Vec<String>,
    #[serde(default)]
    pub asks: Vec<String>,
    /// The JSON pointer of a text without which a value of `blocks` has no effect.
    #[serde(default)]
    pub with: String,
    /// Whether the value counts only with exit code 0.
    #[serde(default)]
    pub code_0: bool,
}

/// The exit codes that block a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitCodes {
    /// No exit code blocks.
    #[default]
    None,
    /// 2
    Two,
    /// 2 and above.
    Above,
    /// All but 0.
    Any,
}

/// The place in which a reason is required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    #[default]
    None,
    /// On standard error.
    Err,
    /// On standard error, and nothing on standard output.
    ErrAlone,
    /// On standard error or standard output.
    Either,
}

/// A file and what guard writes into it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookFile {
    /// The path below the agent's directory (in a project: below the project's root), or below the home if it begins
    /// with `~/`.
    pub path: String,
    /// Whether it is a file of a project and not of the account.
    #[serde(default)]
    pub project: bool,
    #[serde(default)]
    pub when: WriteCondition,
    pub form: Form,
}

/// The condition under which a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCondition {
    #[default]
    Always,
    /// Only if it exists: the agent then reads it and not the other.
    There,
    /// Only if its directory exists.
    Directory,
    /// Only if the directory two levels above it exists.
    DirectoryAbove,
}

/// The kind of a file. `@GUARD@` is replaced by guard's path and `@LINE@` by the command line, each for use inside
/// quotes. If a shell is sure to read the line, ` || exit 2` after it blocks the command when guard fails or does not
/// exist any more.
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
    /// A plugin of guard for each major version of the agent; the last one is for all later versions. A description
    /// contains names of files beside it, the built data their text.
    Plugin(Vec<String>),
    /// A file that belongs to guard.
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
    /// The entry for versions in which a denial does not block (before `holds_from`): one that interrupts the agent.
    #[serde(default)]
    pub older: Option<String>,
}
