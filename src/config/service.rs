//! The table `[service]` of the machine's file: the account that keeps the record and the queue, and the accounts that
//! may answer.
//!
//! Only root can write it. If it has errors, the service is still required, and nothing is recorded elsewhere instead:
//! a command that has to be recorded does not run.

use std::io;
use std::path::PathBuf;

/// The default path of the socket.
pub const SOCKET: &str = "/run/guard/guard.sock";

/// The system service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The name of the account that keeps the record.
    pub account: String,
    pub socket: PathBuf,
    /// The names of the accounts that may answer.
    pub approvers: Vec<String>,
    /// Whether an approver may answer requests of their own account.
    pub own_requests: bool,
    /// The name of the account of the gateway, which sees all requests and passes answers on.
    pub gateway: Option<String>,
    /// The highest tier that the gateway approves without the signature of an approver.
    pub gateway_unsigned_tier: u8,
    /// The error in the table, due to which the service cannot be used.
    pub broken: Option<String>,
}

impl Service {
    fn broken(why: String) -> Self {
        Self { broken: Some(why), ..Self::default() }
    }

    /// Reports whether an account with this name may answer.
    #[must_use]
    pub fn approves(&self, account: &str) -> bool {
        self.approvers.iter().any(|name| name == account)
    }
}

/// Returns a broken service for a file that is not valid TOML or not trusted, if it mentions a service.
pub(super) fn unread(text: &str) -> Option<Service> {
    text.contains("service").then(|| Service::broken("the machine's configuration is invalid".to_owned()))
}

/// Returns a broken service for an existing file that cannot be read.
pub(super) fn unreadable(error: io::Error) -> Option<Service> {
    // A file that is not text may contain the table.
    (error.kind() != io::ErrorKind::NotFound)
        .then(|| Service::broken(format!("cannot read the machine's configuration: {error}")))
}
