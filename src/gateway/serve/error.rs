//! Why the gateway cannot serve.

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

/// Why it cannot serve.
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
    /// Signals, the runtime, and where this program lies.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the path of the gateway cannot be written in a unit; install it elsewhere")]
    OddPath,
    /// A socket that systemd hands over.
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

/// What to do where the address is taken.
fn another(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::AddrInUse { "; choose another with --listen ADDRESS:PORT" } else { "" }
}
