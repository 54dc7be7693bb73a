//! The start of an agent without its user and with a simulated model, for `guard doctor --live`.

use serde::{Deserialize, Serialize};

/// The start of an agent for a test. In all texts `@URL@` is the address of the simulated model, and `@HOME@`,
/// `@PROJECT@` and `@PATH@` are the home, the directory and the search path of the test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveSetup {
    /// The program and arguments with which it performs one task and exits.
    pub argv: Vec<String>,
    /// Variables that name the simulated model, and others that the agent needs.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Files that must exist in its home.
    #[serde(default)]
    pub file: Vec<FileText>,
    /// A command that sets it up before guard is installed.
    #[serde(default)]
    pub first: Vec<String>,
    /// The notation of a command in the model's text, with `@COMMAND@` in it, for an agent without tools.
    #[serde(default)]
    pub says: String,
    /// The input with which a tool for code runs a command, with `@COMMAND@` in it.
    #[serde(default)]
    pub code: String,
    /// The tools that run a command, if no description of a hook names them.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The tools that write a file, if the description of the hook does not name them.
    #[serde(default)]
    pub writes: Vec<String>,
    /// Keys that are typed repeatedly at its terminal as answers; if empty, it has no terminal.
    #[serde(default)]
    pub keys: String,
}

/// A file and its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    /// The path below the agent's home.
    pub path: String,
    pub text: String,
}
