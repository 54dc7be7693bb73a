//! Why what is kept cannot be read or written.
//!
//! Out of scope: why an answer does not count, which is an outcome.

use std::io;
use std::path::PathBuf;

use super::remote::ELSEWHERE;
use crate::push::PushError;
use crate::store::StoreError;

/// Why what is kept cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// Of the gateway's own file.
    #[error("gateway.db: {0}")]
    Base(#[from] rusqlite::Error),
    /// The gateway's own key is none.
    #[error("gateway.db: its key is damaged")]
    DamagedKey,
    /// What was handed in has the name of something else.
    #[error("gateway.db: duplicate action name")]
    DuplicateAction,
    /// A token of this name is there.
    #[error("the token {name} already exists; remove it first: guard token remove {name}")]
    TokenExists { name: String },
    /// A file cannot be opened or made.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// The key that what was handed in is sealed with.
    #[error("{}: not a key of 32 bytes", path.display())]
    NoKey { path: PathBuf },
    /// More than can be sealed.
    #[error("too long to encrypt")]
    TooLong,
    /// Damaged, of another name, or of another key.
    #[error("the submission can no longer be decrypted")]
    Sealed,
    /// The system gives none.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// A key for push services.
    #[error(transparent)]
    Vapid(#[from] PushError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Of the record, the queue, or the service that keeps them.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The service keeps it to itself.
    #[error("{ELSEWHERE}")]
    Elsewhere,
    /// The thread of the backend cannot be started.
    #[error(transparent)]
    Thread(io::Error),
    /// The thread of the backend is gone.
    #[error("the gateway's files are closed")]
    Closed,
}
