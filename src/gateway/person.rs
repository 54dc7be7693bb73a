//! Whether a person stands here: who answers is changed by one at their own terminal alone, never by an agent that would
//! make itself an approver. guard tells it, with its own knowledge of agents, terminals and what stands above.
//!
//! Out of scope: what is changed.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::submission::{self, SubmitError};

/// Exit code of what was refused; why stands on standard error.
pub const REFUSED: u8 = 126;

/// Why it is not known whether a person is here.
#[derive(Debug, thiserror::Error)]
pub enum PersonError {
    #[error(transparent)]
    NoGuard(#[from] SubmitError),
    #[error("cannot start {}: {error}", guard.display())]
    Start { guard: PathBuf, error: io::Error },
    #[error("{} person: {status}", guard.display())]
    Failed { guard: PathBuf, status: ExitStatus },
}

/// True where a person stands here. Where not, guard has said why and has written the attempt down.
///
/// # Errors
/// guard cannot be asked, which is no yes.
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
