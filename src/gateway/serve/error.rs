//! Errors of starting the gateway.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::account::AccountError;
use crate::backend::BackendError;
use crate::config::ConfigError;
use crate::logging::LogError;
use crate::secrets::NoRandomBytes;
use crate::submission::SubmitError;
use crate::tls::TlsError;

/// Why the gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    NoGuard(#[from] SubmitError),
    #[error(transparent)]
    Random(#[from] NoRandomBytes),
    /// An error of signals, of the runtime, or of determining the path of this program.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the path of the gateway cannot be written in a unit; install it elsewhere")]
    OddPath,
    /// A socket from systemd cannot be used.
    #[error("socket {at} of systemd's: {error}")]
    Passed { at: usize, error: io::Error },
    #[error("systemd's socket: {0}")]
    PassedPlain(ConfigError),
    #[error("cannot listen at {address}: {error}{}", another(error))]
    Listen { address: SocketAddr, error: io::Error },
    #[error("{}: {error}", path.display())]
    Socket { path: PathBuf, error: io::Error },
    #[error("a gateway already listens at {}; see guard serve --status", .0.display())]
    Runs(PathBuf),
}

/// Returns the remedy if the address is in use.
fn another(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::AddrInUse { "; choose another with --listen ADDRESS:PORT" } else { "" }
}
