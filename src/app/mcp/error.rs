//! The errors of `guard mcp`: a server is not started, or a call is not passed on to it.

use std::io;
use std::path::PathBuf;

use crate::app::engine::EngineError;
use crate::app::failure::Failure;
use crate::app::gateway::GatewayError;
use crate::store::StoreError;
use crate::ui::visible;

/// The reason why `guard mcp` does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("no server given, as in: guard mcp -- COMMAND")]
    NoServer,
    #[error("--header-env {0}: expected NAME=VARIABLE")]
    HeaderEnv(String),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error(transparent)]
    Record(#[from] StoreError),
    #[error("cannot start {}: {error}", program.display())]
    Listen { program: PathBuf, error: io::Error },
    #[error("{program}: {error}")]
    Start { program: String, error: io::Error },
    #[error("cannot open the server's standard input and output")]
    NoPipes,
    #[error("cannot read from the server")]
    Server,
    #[error(transparent)]
    End(io::Error),
    #[error("connection between client and server: {0}")]
    Connection(io::Error),
    #[error(transparent)]
    Pins(#[from] Failure),
}

/// The reason why a call was not passed on, in words for a model.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("guard: refused: cannot start a thread to judge the call: {0}")]
    Thread(io::Error),
    #[error("guard: refused: guard failed")]
    Failed,
    #[error("guard: refused: {}", visible::text(&.0.to_string()))]
    Engine(EngineError),
    /// A refusal by a person or the policy, in whole sentences.
    #[error("{0}")]
    Refused(String),
}
