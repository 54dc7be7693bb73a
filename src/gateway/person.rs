//! Checks whether a person runs this process: only a person at their own terminal may change who can answer, not an
//! agent that would make itself an approver. guard decides this, from what it knows of agents, terminals and parent
//! processes.
//!
//! Out of scope: the change itself.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::submission::{self, SubmitError};

/// The exit code of a refusal. Its reason is printed on standard error.
pub const REFUSED: u8 = 126;

/// The reason why it is unknown whether a person runs this process.
#[derive(Debug, thiserror::Error)]
pub enum PersonError {
    #[error(transparent)]
    NoGuard(#[from] SubmitError),
    #[error("cannot start {}: {error}", guard.display())]
    Start { guard: PathBuf, error: io::Error },
    #[error("{} person: {status}", guard.display())]
    Failed { guard: PathBuf, status: ExitStatus },
}

/// Reports whether a person runs this process. If not, guard has printed the reason and recorded the attempt.
///
/// # Errors
/// Returns an error if guard cannot be run. The caller must treat it as a refusal.
pub fn is_here(doing: &str) -> Result<bool, PersonError> {
    let guard = submission::guard()?;
    let status = Command::new(&guard).args(["person", "--"]).args(doing.split(' ')).status();
    let status = match status {
        Ok(status) => status,
        Err(error) => return Err(PersonError::Start { guard, error }),
    };
    match status.code() {
        Some(0) => Ok(true),
        Some(code) if code == i32::from(REFUSED) => Ok(false),
        _ => Err(PersonError::Failed { guard, status }),
    }
}
