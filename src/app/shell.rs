//! The command line of a shell, for a caller that runs guard as its shell.
//!
//! Out of scope: judging and running. The arguments are kept as they were, so that the real shell gets the same. An
//! unknown option is an error, because it is then unknown which argument is the command.

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

/// A parsed command line of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// All arguments before the command source, as given, including `-c`.
    pub options: Vec<OsString>,
    pub reads: CommandSource,
    /// The arguments after it: `$0`, `$1`, … for a command string, `$1`, … for anything else.
    pub positional: Vec<OsString>,
    /// Whether `-i` was given.
    pub interactive: bool,
    /// Whether `-l` or `--login` was given.
    pub login: bool,
}

/// The source of the shell's commands.
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

/// The reason why arguments are not a valid call of a shell.
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
    /// Parses the arguments after the shell's name as bash 5.2, dash 0.5.12 or zsh 5.9 does.
    ///
    /// # Errors
    /// [`ShellCallError`] if an option is unknown or lacks its value.
    pub fn read(dialect: Dialect, arguments: &[OsString]) -> Result<Self, ShellCallError> {
        options::read(dialect, arguments)
    }
}
