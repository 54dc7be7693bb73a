//! Executes exactly what was approved.
//!
//! This is the only module that executes commands, and it accepts only an [`Approved`] and a [`Receipt`]. A command
//! that runs without a prompt replaces guard ([`replace()`]). guard waits for one that it asked about ([`wait()`]), so
//! that its result can be recorded. In both cases the process state is that with which guard was started
//! ([`preserve`]). [`tool`] starts the programs that guard itself needs, [`program_query`] those that answer a
//! question, and [`probe`] those that are tested; a test finds every other place that starts a process.
//!
//! Out of scope: decisions, prompts, the record.

use std::ffi::OsString;
use std::fmt;
use std::io;

pub mod stdin_feed;

mod grouped;
pub mod notice;
mod prepare;
pub mod preserve;
pub mod probe;
pub mod program_query;
mod relay;
mod replace;
pub mod subreaper;
pub mod tool;
mod wait;

pub use preserve::Inherited;
pub use replace::replace;
pub use wait::{ExecutionResult, ProcessStatus, leave, until_ended, wait};

#[cfg(doc)]
use crate::judge::approved::{Approved, Receipt};

/// The reason why a command could not be started.
#[derive(Debug)]
pub enum ExecError {
    /// The program or its interpreter does not exist: exit code 127.
    NotFound { program: OsString, source: io::Error },
    /// The program exists and cannot be executed: exit code 126.
    NotExecutable { program: OsString, source: io::Error },
    /// An argument or a variable contains a NUL byte, which cannot be passed to a program: exit code 126.
    Nul { place: String },
    /// guard could not create the process: exit code 125.
    Spawn { what: &'static str, source: io::Error },
}

impl ExecError {
    /// Returns the exit code of guard, which is that of `env(1)` and of shells.
    #[must_use]
    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } | Self::Nul { .. } => 126,
            Self::Spawn { .. } => 125,
        }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { program, source } | Self::NotExecutable { program, source } => {
                write!(f, "{}: {}", program.display(), plain(source))
            }
            Self::Nul { place } => write!(f, "{place} holds a NUL byte"),
            Self::Spawn { what, source } => write!(f, "{what}: {}", plain(source)),
        }
    }
}

impl std::error::Error for ExecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotFound { source, .. } | Self::NotExecutable { source, .. } | Self::Spawn { source, .. } => {
                Some(source)
            }
            Self::Nul { .. } => None,
        }
    }
}

/// Returns the message of the error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}
