//! Running exactly what was approved.
//!
//! The only module that runs anything, and it takes nothing but an [`Approved`] and a [`Receipt`]. A command that nobody
//! was asked about replaces guard ([`replace()`]); one that somebody was asked about is waited for ([`wait()`]), so that its
//! result can be written down. Either way it finds its surroundings as guard found them ([`preserve`]). Programs that guard
//! itself needs are started by [`tool`], those that answer a question by [`program_query`], those that are tried out by
//! [`probe`]; a test finds every other place that starts a process.
//!
//! Out of scope: decisions, questions, the record.

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

/// Why a command could not be started.
#[derive(Debug)]
pub enum ExecError {
    /// There is no such program, or its interpreter is missing: exit code 127.
    NotFound { program: OsString, source: io::Error },
    /// It is there and cannot be run: exit code 126.
    NotExecutable { program: OsString, source: io::Error },
    /// An argument or a variable holds a NUL byte, which no program can be handed: exit code 126.
    Nul { place: String },
    /// Guard could not make the process: exit code 125.
    Spawn { what: &'static str, source: io::Error },
}

impl ExecError {
    /// The exit code of guard, as `env(1)` and the shells have it.
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

/// The error in words, without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}
