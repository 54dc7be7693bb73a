//! What an agent puts around a command before it hands it to a shell.

use std::ffi::OsString;

/// What stood around a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The agent whose template it is.
    pub agent: &'static str,
    /// The string that runs.
    pub whole: Vec<u8>,
    /// The arguments behind that string.
    pub positional: Vec<OsString>,
    /// What it does in front of the command, as commands.
    pub lead: Vec<u8>,
    /// It holds no command: the agent prepares its own files.
    pub is_preparation: bool,
    /// A template describes it.
    pub is_known: bool,
}
