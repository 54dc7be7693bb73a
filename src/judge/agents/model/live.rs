//! How an agent is started without its user, against a stand-in for its model: for `guard doctor --live`.

use serde::{Deserialize, Serialize};

/// In all texts `@URL@` stands for where the stand-in listens, `@HOME@`, `@PROJECT@` and `@PATH@` for the home, the directory
/// and the programs of the trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveSetup {
    /// Its program and arguments, with which it does one thing and ends.
    pub argv: Vec<String>,
    /// Variables that name the stand-in and whatever else it needs.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// Files that it must find in its home.
    #[serde(default)]
    pub file: Vec<FileText>,
    /// A command that sets it up, before guard is wired into it.
    #[serde(default)]
    pub first: Vec<String>,
    /// It has no tools and finds commands in what its model says: how one is said there, with `@COMMAND@` in it.
    #[serde(default)]
    pub says: String,
    /// What a tool of its that takes code is given to run a command, with `@COMMAND@` in it.
    #[serde(default)]
    pub code: String,
    /// Its tools that run a command, where it has no hook of which that is said.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Its tools that write a file, where its hook's description does not name them.
    #[serde(default)]
    pub writes: Vec<String>,
    /// Keys with which somebody at its terminal answers it, again and again; without them it has no terminal.
    #[serde(default)]
    pub keys: String,
}

/// A file and what stands in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    /// Below its home.
    pub path: String,
    pub text: String,
}
