//! The hooks of an agent: their events, their tools, and the answers that the agent understands.

use serde::{Deserialize, Serialize};

/// The input of an agent's hook, and the answers that the agent understands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The timeout in seconds without a configured one; the shortest one if it depends on the version.
    pub waits: u32,
    /// The longest timeout in seconds, whatever is configured; 0 if no such limit is known.
    #[serde(default)]
    pub most: u32,
    /// Other agents that run its hooks too, each with input in its own form.
    #[serde(default)]
    pub read_by: Vec<String>,
    /// Lists of input fields, each of which identifies the agent's own form if the agent runs another agent's hooks.
    #[serde(default)]
    pub known_by: Vec<Vec<String>>,
    /// Fields that contain the directory of the session; of objects in a list, their `path`.
    #[serde(default)]
    pub cwd: Vec<String>,
    /// Fields of the arguments that contain the directory of a command, relative to that of the session.
    #[serde(default)]
    pub inner: Vec<String>,
    /// Fields that contain the identifier of the session.
    #[serde(default)]
    pub session: Vec<String>,
    /// Fields that are true if the arguments were truncated.
    #[serde(default)]
    pub cut: Vec<String>,
    pub events: Vec<Event>,
    #[serde(default)]
    pub tools: Tools,
    #[serde(default)]
    pub ask: Ask,
    pub say: Replies,
    /// The replies if the input names no event.
    #[serde(default)]
    pub say_unknown: Option<Replies>,
    /// The replies to a request for permission.
    #[serde(default)]
    pub say_permission: Option<Replies>,
    /// The replies for the tools that an event lists as `own`.
    #[serde(default)]
    pub say_own: Option<Replies>,
    /// Whether it calls no hook for what it types into a running process.
    #[serde(default)]
    pub types_unseen: bool,
    /// The tools whose command its shell runs. If guard takes the place of the shell, the hook leaves their command
    /// lines to it, because the model always receives the shell's reason for a denial, but the hook's only in some
    /// versions.
    #[serde(default)]
    pub leaves: Vec<String>,
}

/// A hook event at which an agent queries guard.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Fields that contain the event's name, of which the first that exists counts; empty if the input contains no
    /// name.
    #[serde(default)]
    pub field: Vec<String>,
    #[serde(default)]
    pub names: Vec<String>,
    /// Fields of which the input must have one if it contains no name.
    #[serde(default)]
    pub unnamed: Vec<String>,
    pub kind: HookEvent,
    /// Fields that contain the tool's name.
    #[serde(default)]
    pub tool: Vec<String>,
    /// The tool, if the event is for one tool only.
    #[serde(default)]
    pub only: Option<String>,
    /// Fields that contain the arguments; an empty one is the input itself.
    pub arguments: Vec<String>,
    /// Tools that have replies of their own (`say_own`).
    #[serde(default)]
    pub own: Vec<String>,
}

/// The kind of a hook event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookEvent {
    /// Before the agent uses a tool.
    Tool,
    /// Before the agent would ask its user, or evaluates its own permissions.
    Permission,
}

/// The known tools of an agent. Calls of other tools are judged by the form of their input.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// Prefixes of the names of its own tools in some versions.
    #[serde(default)]
    pub prefix: Vec<String>,
    /// Tools that only read, list, plan or think.
    #[serde(default)]
    pub harmless: Vec<String>,
    /// Tools for which the form of the input does not suffice.
    #[serde(default)]
    pub known: Vec<NamedTool>,
}

/// A tool that is known by its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTool {
    pub names: Vec<String>,
    pub does: KnownToolUse,
    /// The field with the command, code or path, if it is not one of the usual fields.
    #[serde(default)]
    pub field: Option<String>,
    /// An argument and its values with which the tool has this use: `action` and `submit`, `write`. With other values
    /// the tool is harmless.
    #[serde(default)]
    pub when: Option<(String, Vec<String>)>,
    /// Fields that contain the name of the program that is started or typed into.
    #[serde(default)]
    pub to: Vec<String>,
    /// Values of the argument of `when` that end the typed line, whatever it contains.
    #[serde(default)]
    pub ends: Vec<String>,
    /// Notations in the text for the key that ends a line: `{enter}`.
    #[serde(default)]
    pub enter: Vec<String>,
    /// Notations in the text for keys that edit the line or recall another one: `{up}`.
    #[serde(default)]
    pub edits: Vec<String>,
}

/// The use of a known tool's input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnownToolUse {
    /// Runs it as a command of a shell.
    Line,
    /// Runs each element as a command of its own.
    Lines,
    /// Runs it as PowerShell code.
    PowerShell,
    /// Runs it as code of this program, which receives it with `-c`.
    Code(String),
    /// Types it into a running process.
    Typed,
    /// Writes a whole file.
    Write,
    /// Changes a part of a file.
    Edit,
    Delete,
    /// Changes the files that a patch names.
    Patch,
}

/// The conditions under which the agent's own prompt is sure to reach a person.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Events at which it does so in any case.
    #[serde(default)]
    pub at: Vec<HookEvent>,
    /// The field with the agent's mode, and the modes in which it asks.
    #[serde(default)]
    pub mode: Option<(String, Vec<String>)>,
    /// A field that must be true.
    #[serde(default)]
    pub field: Option<String>,
    /// Fields that must exist, and fields that must not exist because other agents read the same settings.
    #[serde(default)]
    pub has: Vec<String>,
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Arguments of its process with which there is no person at its terminal.
    #[serde(default)]
    pub headless: Vec<String>,
}

/// The replies to an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replies {
    /// guard does not object.
    #[serde(default)]
    pub nothing: Words,
    /// The call may run, and nobody has to be asked.
    #[serde(default)]
    pub allow: Words,
    /// The agent should ask its user; an agent without this reply receives `deny`.
    #[serde(default)]
    pub ask: Option<Words>,
    pub deny: Words,
}

/// The output and the exit code of a reply. `@REASON@` is replaced by the reason, in JSON inside quotes.
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
