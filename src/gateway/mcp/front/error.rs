//! The reasons why clients of an MCP server are not served.

use std::io;
use std::net::SocketAddr;

use super::{SHORTEST_TOKEN, TOKEN};
use crate::secrets::NoRandomBytes;
use crate::submission::SubmitError;

/// The reason why clients are not served.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// An error of the runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0} is reachable from other machines, which requires TLS; listen on 127.0.0.1 behind a TLS proxy")]
    Plain(SocketAddr),
    #[error("the token in {TOKEN} is shorter than {SHORTEST_TOKEN} characters")]
    ShortToken,
    #[error(transparent)]
    Random(#[from] NoRandomBytes),
    #[error("{address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    #[error(transparent)]
    NoGuard(#[from] SubmitError),
}
