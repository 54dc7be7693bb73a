//! Errors of the service itself, with their remedies.

use std::path::PathBuf;

use super::place::PlaceError;
use crate::app::gateway::GatewayError;
use crate::config::ConfigProblem;
use crate::store::StoreError;

/// The reason why the service does not start, or stops.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("only log, stats, verify and export can follow --")]
    Verb,
    #[error("cannot find the path of guard: {0}")]
    Own(std::io::Error),
    #[error("the path of guard cannot be written in a unit; install it elsewhere")]
    Unwritable,
    #[error(transparent)]
    Print(std::io::Error),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error("guard must not be setuid or setgid")]
    Setuid,
    #[error("{0}")]
    Config(ConfigProblem),
    #[error("{} has no table [service]; see guard serve --help", .0.display())]
    NoTable(PathBuf),
    #[error("account {0} does not exist; create it: useradd --system {0}")]
    NoAccount(String),
    #[error("running as {own}, but {} requires {name}; run it as {name}", file.display())]
    WrongAccount { own: String, file: PathBuf, name: String },
    #[error("the service must not run as root; configure a dedicated account")]
    Root,
    #[error("{} has no approvers, so nobody could answer", .0.display())]
    NoApprovers(PathBuf),
    #[error("account {name} does not exist, but {} lists it as an approver", file.display())]
    UnknownApprover { name: String, file: PathBuf },
    #[error(
        "account {name} does not exist, but {} names it for the gateway; create it: useradd --system {name}",
        file.display()
    )]
    UnknownGateway { name: String, file: PathBuf },
    #[error("{} names {name} for the gateway, but it has the uid of root, of this service or of an approver", file.display())]
    SharedGateway { name: String, file: PathBuf },
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Record(#[from] StoreError),
    #[error(transparent)]
    Signals(#[from] nix::errno::Errno),
    #[error("{}: {error}", socket.display())]
    Listen { socket: PathBuf, error: std::io::Error },
    #[error("NOTIFY_SOCKET: {0}")]
    Notify(std::io::Error),
}

/// The error if an account has reached its hourly limit of recorded bytes.
#[derive(Debug, thiserror::Error)]
#[error("this account has recorded {mib} MiB within the hour, which is the limit")]
pub struct RecordLimit {
    /// The limit in MiB.
    pub mib: usize,
}
