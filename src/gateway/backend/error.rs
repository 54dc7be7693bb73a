//! The reasons why stored data cannot be read or written.
//!
//! Out of scope: why an answer does not count, which is an outcome.

use std::io;
use std::path::PathBuf;

use super::remote::ELSEWHERE;
use crate::push::PushError;
use crate::store::StoreError;

/// The reason why stored data cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// An error of the gateway's own database.
    #[error("gateway.db: {0}")]
    Base(#[from] rusqlite::Error),
    /// The gateway's own key has the wrong length.
    #[error("gateway.db: its key is damaged")]
    DamagedKey,
    /// The name of a submission is already in use.
    #[error("gateway.db: duplicate action name")]
    DuplicateAction,
    /// A token with this name already exists.
    #[error("the token {name} already exists; remove it first: guard token remove {name}")]
    TokenExists { name: String },
    /// A file cannot be opened or created.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// The file of the key that encrypts submissions contains no key.
    #[error("{}: not a key of 32 bytes", path.display())]
    NoKey { path: PathBuf },
    /// The text is too long to be encrypted.
    #[error("too long to encrypt")]
    TooLong,
    /// The text is damaged, or was encrypted under another name or with another key.
    #[error("the submission can no longer be decrypted")]
    Sealed,
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// The key for push services is invalid.
    #[error(transparent)]
    Vapid(#[from] PushError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// An error of the record, the queue, or the service that keeps them.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The service does not give the gateway access.
    #[error("{ELSEWHERE}")]
    Elsewhere,
    /// The thread of the backend cannot be started.
    #[error(transparent)]
    Thread(io::Error),
    /// The thread of the backend has ended.
    #[error("the gateway's files are closed")]
    Closed,
}
