//! The options of a shell: what a caller that takes guard for a shell has asked for.
//!
//! Out of scope: judging and running. This reads arguments and keeps them as they were, so that
//! the real shell gets the same. An option that is not known is an error: which argument is the command then
//! cannot be known either.

pub mod dispatch;
mod interactive;
mod options;
pub mod request;
pub mod shell_name;
mod state;
mod stdin;

use std::ffi::OsString;

use thiserror::Error;

use crate::judge::syntax::tree::Dialect;

/// A shell's command line, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// Everything in front of what is read, as given, `-c` included.
    pub options: Vec<OsString>,
    pub reads: CommandSource,
    /// What follows: `$0`, `$1`, … of a command string, `$1`, … of anything else.
    pub positional: Vec<OsString>,
    /// `-i` was given.
    pub interactive: bool,
    /// `-l` or `--login` was given.
    pub login: bool,
}

/// Where the shell reads its commands from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandSource {
    /// A command string.
    Text(OsString),
    /// A script file.
    Script(OsString),
    /// Standard input.
    Stdin,
    /// Nothing: `--version`, `--help`, `-o` alone.
    Nothing,
}

/// Why arguments are no call of a shell.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShellCallError {
    #[error("-c: option requires an argument")]
    NoCommand,
    #[error("{0}: option requires an argument")]
    NoValue(String),
    #[error("{0}: unknown option of the shell, so guard cannot judge what it would run")]
    UnknownOption(String),
}

impl ShellCall {
    /// Reads the arguments after the shell's name as bash 5.2, dash 0.5.12 or zsh 5.9 reads them.
    ///
    /// # Errors
    /// [`ShellCallError`] when an option is not known or lacks its value.
    pub fn read(dialect: Dialect, arguments: &[OsString]) -> Result<Self, ShellCallError> {
        options::read(dialect, arguments)
    }
}
