//! What a description of an agent holds: the format of `patterns/agents/*.toml`.
//!
//! What may not enter: what is done with it. The build script reads the same types, so that there is one format.

mod live;
mod template;
mod transcript;

use serde::{Deserialize, Serialize};

pub use live::{FileText, Live};
pub use template::{Hole, Part, Stands, Template};
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
    pub live: Option<Live>,
    /// What it keeps of what it did.
    #[serde(default)]
    pub transcript: Vec<Transcript>,
    /// With which versions all this was seen to hold.
    #[serde(default)]
    pub tried: Vec<Tried>,
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
    pub files: Vec<Loaded>,
}

/// A file of guard's that an agent loads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
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
pub struct Tried {
    pub version: String,
    pub on: String,
}

/// How it calls a hook, and what it understands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// Seconds for which it waits where its configuration says nothing, or the least of what its versions wait.
    pub waits: u32,
    /// Seconds beyond which it does not wait, whatever its configuration says; 0 where no such limit was seen.
    #[serde(default)]
    pub most: u32,
    /// Its hooks are run by these agents too, each in its own form.
    #[serde(default)]
    pub read_by: Vec<String>,
    /// Fields of an input by which its own form is known, where it runs another agent's hooks.
    #[serde(default)]
    pub known_by: Vec<Vec<String>>,
    /// Names of fields that hold the directory of the session; of objects in a list, their `path`.
    #[serde(default)]
    pub cwd: Vec<String>,
    /// Fields of the arguments that name the directory of a command, seen from the session's.
    #[serde(default)]
    pub inner: Vec<String>,
    /// Fields that name the session.
    #[serde(default)]
    pub session: Vec<String>,
    /// Fields that say, when they are true, that the arguments were cut.
    #[serde(default)]
    pub cut: Vec<String>,
    pub events: Vec<Event>,
    #[serde(default)]
    pub tools: Tools,
    #[serde(default)]
    pub ask: Ask,
    pub say: Say,
    /// What it says when the input tells no event.
    #[serde(default)]
    pub say_unknown: Option<Say>,
    /// What it says where permission is asked for.
    #[serde(default)]
    pub say_permission: Option<Say>,
    /// What it says of the tools that an event names as `own`.
    #[serde(default)]
    pub say_own: Option<Say>,
    /// What it types into a process that runs already is told to no hook.
    #[serde(default)]
    pub types_unseen: bool,
}

/// A moment at which it asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Fields that name the event, of which the first that is there counts; none where the input names none.
    #[serde(default)]
    pub field: Vec<String>,
    #[serde(default)]
    pub names: Vec<String>,
    /// Without a name, the input must have one of these fields.
    #[serde(default)]
    pub unnamed: Vec<String>,
    pub kind: HookEvent,
    /// Fields that name the tool.
    #[serde(default)]
    pub tool: Vec<String>,
    /// The tool, where the event is for one alone.
    #[serde(default)]
    pub only: Option<String>,
    /// Fields that hold the arguments; an empty one is the input itself.
    pub arguments: Vec<String>,
    /// Tools that are answered in words of their own (`say_own`).
    #[serde(default)]
    pub own: Vec<String>,
}

/// What kind of moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookEvent {
    /// Before a tool is used.
    Tool,
    /// Before it would ask its user, or weighs its own permissions.
    Permission,
}

/// What is known of its tools. What is not known is judged by the shape of its input.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// What stands in front of the names of its own tools in some versions.
    #[serde(default)]
    pub prefix: Vec<String>,
    /// Tools that only read, list, plan or think.
    #[serde(default)]
    pub harmless: Vec<String>,
    /// Tools whose input says more than its shape: the name, what it is, and the field where that is not the usual.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// A tool that is known by its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    pub names: Vec<String>,
    pub does: Does,
    /// The field that holds it, where the usual ones do not.
    #[serde(default)]
    pub field: Option<String>,
    /// Words of an argument with which it does it: `action` and `submit`, `write`. Otherwise it is harmless.
    #[serde(default)]
    pub when: Option<(String, Vec<String>)>,
    /// Fields that name the program that is started, or typed into.
    #[serde(default)]
    pub to: Vec<String>,
    /// Words of the argument of `when` with which the line that is typed ends, whatever stands in it.
    #[serde(default)]
    pub ends: Vec<String>,
    /// How the text writes the key that ends a line: `{enter}`.
    #[serde(default)]
    pub enter: Vec<String>,
    /// How the text writes keys that change the line or bring back another: `{up}`.
    #[serde(default)]
    pub edits: Vec<String>,
}

/// What a known tool does with its input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Does {
    /// It is a command for a shell.
    Line,
    /// Each is a command of its own.
    Lines,
    /// It is code for PowerShell.
    PowerShell,
    /// It is code for this program, which is handed to it with `-c`.
    Code(String),
    /// It is typed into whatever runs already.
    Typed,
    /// A whole file is written.
    Write,
    /// A part of a file is changed.
    Edit,
    Delete,
    /// The files that a patch names are changed.
    Patch,
}

/// Where its own prompt is sure to reach a person.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// At these moments, whatever else is said.
    #[serde(default)]
    pub at: Vec<HookEvent>,
    /// The field that names its mode, and the modes in which it asks.
    #[serde(default)]
    pub mode: Option<(String, Vec<String>)>,
    /// A field that must be true.
    #[serde(default)]
    pub field: Option<String>,
    /// Fields that must be there, and fields that must not: others read the same settings.
    #[serde(default)]
    pub has: Vec<String>,
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Arguments of its process with which nobody sits at it.
    #[serde(default)]
    pub headless: Vec<String>,
    /// It is an editor's, whose prompt needs no terminal.
    #[serde(default)]
    pub without_terminal: bool,
}

/// What it is told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Say {
    /// guard has nothing against it.
    #[serde(default)]
    pub nothing: Words,
    /// It may run, and nobody need be asked.
    #[serde(default)]
    pub allow: Words,
    /// It is to ask its user; where it cannot, it is told what `deny` says.
    #[serde(default)]
    pub ask: Option<Words>,
    pub deny: Words,
}

/// What is printed, and the exit code. `@REASON@` stands for the reason, inside quotes where JSON is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    #[serde(default)]
    pub out: String,
    #[serde(default)]
    pub err: String,
    #[serde(default)]
    pub code: u8,
}

/// What is written into its configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Its directory below the home.
    #[serde(rename = "folder")]
    pub directory: String,
    /// The variable that names another one; empty where there is none.
    #[serde(default)]
    pub variable: String,
    /// The directory is below `XDG_CONFIG_HOME` or `~/.config` rather than the home.
    #[serde(default)]
    pub below_config: bool,
    pub file: Vec<Wire>,
    /// How it runs the command that it finds there.
    #[serde(default)]
    pub runs: Runs,
    /// What it tells guard before it runs a command: `@COMMAND@`, `@CWD@`, `@SESSION@` and `@EVENT@` stand for what
    /// changes. The doctor says it in its place.
    pub sample: String,
    /// How it reads the answer.
    pub reads: Reads,
    /// For how many seconds guard is told that it waits, as the entries have it; 0 leaves it at what it waits by
    /// itself.
    #[serde(default)]
    pub waits: u32,
    /// Its configuration counts in milliseconds.
    #[serde(default)]
    pub milliseconds: bool,
    /// What it does when guard ends in an error, takes too long, or is not there any more.
    #[serde(default)]
    pub on_failure: Fate,
    #[serde(default)]
    pub on_timeout: Fate,
    #[serde(default)]
    pub on_missing: Fate,
    /// The version from which on a failure blocks, where that has changed.
    #[serde(default)]
    pub blocks_from: Option<String>,
    /// The version from which on a refusal blocks at all.
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
pub enum Fate {
    #[default]
    Unknown,
    Runs,
    Blocked,
}

/// How it keeps which hooks its user trusts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    pub kept: Kept,
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
pub enum Kept {
    /// TOML: under `hooks.state`, with a hash of what each does.
    Hashes,
    /// JSON: a list of `approvals`, by event and command.
    Lines,
}

/// How it runs a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runs {
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
pub struct Reads {
    /// Exit codes that block.
    #[serde(default)]
    pub codes: Codes,
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
pub enum Codes {
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
pub struct Wire {
    /// Below its directory (of a project: below the project's top); below the home where it begins with `~/`.
    pub path: String,
    /// It is a file of a project's, not of the account.
    #[serde(default)]
    pub project: bool,
    #[serde(default)]
    pub when: When,
    pub form: Form,
}

/// Under which circumstances a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    #[default]
    Always,
    /// Only when it is there already: the agent then reads it and not the other.
    There,
    /// Only when its directory is there.
    #[serde(rename = "folder")]
    Directory,
    /// Only when the directory two levels above it is there.
    #[serde(rename = "folder-above")]
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
}
