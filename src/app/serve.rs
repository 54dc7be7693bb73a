//! `guard serve --system`: the record and the queue of a machine, under a separate account.
//!
//! Accounts that run commands cannot access the files. They send over a socket what is to be recorded. Out of scope:
//! judging, asking and running, which happen in the client.

mod connection;
pub mod error;
mod place;
mod server;
mod show;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;

use self::error::ServeError;
use self::server::Server;
use super::record_backend::DIRECTORY;
use super::{exit, gateway};
use crate::service::UNIT;

pub use self::show::passed_on;

/// The setup instructions in `--help`.
const SETUP: &str = "\
Setup, as root:
  useradd --system --home-dir /var/lib/guard --shell /usr/sbin/nologin guard
  guard serve --unit > /etc/systemd/system/guard.service
  mkdir -p /etc/guard
  add to /etc/guard/config.toml, which only root must be able to write:
    [service]
    account = \"guard\"
    approvers = [\"ada\"]
  systemctl enable --now guard

From then on every guard of the machine writes to this record. While it cannot,
it refuses commands of tier 2 and above. Only the approvers can answer, and not
from the account that asked; they also read the record with guard log, stats and
verify. To answer from a phone: guard-gateway(8), under A MACHINE.";

/// The arguments of `guard serve`.
#[derive(Debug, Args)]
#[command(after_help = SETUP)]
pub struct ServeArgs {
    #[allow(rustdoc::broken_intra_doc_links, reason = "the text of the help, where a section of TOML is no link")]
    /// Run the record service of this machine, with the accounts and approvers of [service] in /etc/guard/config.toml
    #[arg(long)]
    system: bool,
    /// The directory of the record and the queue
    #[arg(long, alias = "folder", value_name = "DIR", default_value = "/var/lib/guard")]
    directory: PathBuf,
    /// The socket to listen on (default: from the configuration)
    #[arg(long, value_name = "SOCKET", requires = "system")]
    socket: Option<PathBuf>,
    /// Print its systemd unit
    #[arg(long, conflicts_with_all = ["system", "verb"])]
    unit: bool,
    /// Show whether a gateway runs, its address and the state of its channels
    #[arg(long, conflicts_with_all = ["system", "unit", "verb"])]
    status: bool,
    /// The gateway's address, instead of the one in its configuration
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["system", "unit", "verb", "status"])]
    listen: Option<String>,
    /// Run log, stats, verify or export on the directory, as the account that owns it
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "system")]
    verb: Vec<OsString>,
}

impl ServeArgs {
    /// Returns the verb to run on the directory, and makes this directory that of the process's record.
    ///
    /// # Errors
    /// The verb does not only read.
    pub fn verb(&self) -> Option<Result<&[OsString], ServeError>> {
        let first = self.verb.first()?;
        if !["log", "stats", "verify", "export"].iter().any(|known| first == known) {
            return Some(Err(ServeError::Verb));
        }
        // This cannot fail: no other verb sets it.
        let _ = DIRECTORY.set(self.directory.clone());
        Some(Ok(&self.verb))
    }
}

/// Serves until it is terminated, or prints the systemd unit.
///
/// # Errors
/// The service cannot start. The error names the remedy.
pub fn run(args: &ServeArgs) -> Result<u8, ServeError> {
    if args.unit {
        let program = std::env::current_exe().map_err(ServeError::Own)?;
        let program = program.to_str().filter(|path| !path.contains(['"', '\\', '%', '$']));
        let program = program.ok_or(ServeError::Unwritable)?;
        let program = if program.contains(' ') { format!("\"{program}\"") } else { program.to_owned() };
        if ["/home/", "/root/", "/tmp/", "/run/user/"]
            .iter()
            .any(|hidden| program.trim_start_matches('"').starts_with(hidden))
        {
            let text = "guard: warning: the unit cannot access this guard; copy it to /usr/local/bin first\n";
            let _ = io::stderr().write_all(text.as_bytes());
        }
        let written = io::stdout().write_all(UNIT.replace("@PROGRAM@", &program).as_bytes());
        return exit::after(written, exit::ALLOW).map_err(ServeError::Print);
    }
    if !args.system {
        let mut words: Vec<OsString> = Vec::new();
        words.extend(args.status.then(|| "--status".into()));
        words.extend(args.listen.iter().flat_map(|address| ["--listen".into(), address.into()]));
        return Ok(gateway::run("serve", &gateway::Words { words })?);
    }
    Server::open(&args.directory, args.socket.as_deref()).and_then(|server| server.serve())
}
