//! The table `[service]` of the machine's file: who keeps the record and the queue, and who may answer.
//!
//! Only root can say it. Where it is said and cannot be understood, there still is a service, and nothing is recorded
//! elsewhere instead: a command that has to be recorded does not run then.

use std::io;
use std::path::PathBuf;

/// Where the service is spoken to, where the file names no other place.
pub const SOCKET: &str = "/run/guard/guard.sock";

/// The service of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The name of the account that keeps the record.
    pub account: String,
    pub socket: PathBuf,
    /// The names of the accounts that may answer.
    pub approvers: Vec<String>,
    /// An approver may answer what their own account asked for.
    pub own_requests: bool,
    /// The name of the account that the gateway runs as, which sees all requests and carries answers.
    pub gateway: Option<String>,
    /// The highest tier that the gateway approves without the signature of an approver.
    pub gateway_unsigned_tier: u8,
    /// Why it cannot be spoken to: the file does not say it as it should.
    pub broken: Option<String>,
}

impl Service {
    fn broken(why: String) -> Self {
        Self { broken: Some(why), ..Self::default() }
    }

    /// Whether an account of this name may answer.
    #[must_use]
    pub fn approves(&self, account: &str) -> bool {
        self.approvers.iter().any(|name| name == account)
    }
}

/// The service of a file that is no TOML or may not be believed, where it speaks of one.
pub(super) fn unread(text: &str) -> Option<Service> {
    text.contains("service").then(|| Service::broken("the machine's configuration is invalid".to_owned()))
}

/// The service of a file that is there and cannot be read.
pub(super) fn unreadable(error: io::Error) -> Option<Service> {
    // What is no text may say anything.
    (error.kind() != io::ErrorKind::NotFound)
        .then(|| Service::broken(format!("cannot read the machine's configuration: {error}")))
}
