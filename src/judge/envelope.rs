//! The envelope that an agent puts around a command before it passes it to a shell.

use std::ffi::OsString;

/// The envelope of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The agent that uses it.
    pub agent: &'static str,
    /// The string that runs.
    pub whole: Vec<u8>,
    /// The arguments after that string.
    pub positional: Vec<OsString>,
    /// The commands that it runs before the command.
    pub lead: Vec<u8>,
    /// Whether it contains no command, because the agent prepares its own files.
    pub is_preparation: bool,
    /// Whether a template describes it.
    pub is_known: bool,
}
