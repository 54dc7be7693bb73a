//! Errors of verbs.

use std::io;

use super::engine::EngineError;
use super::gateway::GatewayError;
use super::install::places::PlacesError;
use crate::prompt::answer::PromptClosed;
use crate::store::StoreError;

/// The reason why a verb failed, as printed in one line.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Places(#[from] PlacesError),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// An invalid argument, or something that does not exist.
    #[error("{0}")]
    Message(String),
}

/// The reason why an interactive view ended early.
pub(super) enum ViewStopped {
    /// The person quit.
    Enough,
    /// The terminal ended it.
    Closed(PromptClosed),
    Failed(Failure),
}

impl From<PromptClosed> for ViewStopped {
    fn from(closed: PromptClosed) -> Self {
        Self::Closed(closed)
    }
}

impl<E: Into<Failure>> From<E> for ViewStopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Returns the result of a verb that prints. A reader that stops reading is not an error.
///
/// # Errors
/// The verb failed for another reason.
pub fn unless_unread(done: Result<u8, Failure>) -> Result<u8, Failure> {
    match done {
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(super::exit::ALLOW),
        other => other,
    }
}
