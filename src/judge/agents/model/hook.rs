//! How an agent calls a hook: its events, its tools, and what it understands as an answer.

use serde::{Deserialize, Serialize};

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
    pub say: Replies,
    /// What it says when the input tells no event.
    #[serde(default)]
    pub say_unknown: Option<Replies>,
    /// What it says where permission is asked for.
    #[serde(default)]
    pub say_permission: Option<Replies>,
    /// What it says of the tools that an event names as `own`.
    #[serde(default)]
    pub say_own: Option<Replies>,
    /// What it types into a process that runs already is told to no hook.
    #[serde(default)]
    pub types_unseen: bool,
    /// Its tools whose command its shell runs. What guard refuses there is explained to its model, what the hook refuses is
    /// not in every version: where guard stands in for the shell, the hook leaves their command lines to it.
    #[serde(default)]
    pub leaves: Vec<String>,
}

/// A hook event at which it asks.
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

/// What kind of event.
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
    pub known: Vec<NamedTool>,
}

/// A tool that is known by its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTool {
    pub names: Vec<String>,
    pub does: KnownToolUse,
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
pub enum KnownToolUse {
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
    /// At these events, whatever else is said.
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
pub struct Replies {
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
