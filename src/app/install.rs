//! `guard install`: changes an agent's configuration so that the agent asks guard before each command, and undoes this.
//!
//! Nothing is written before a person has seen and accepted it, unless `--yes` is given. Out of scope: what is written
//! for which agent, which is data ([`hosts`]), and how a text is changed ([`change`]).

pub mod change;
pub mod consent;
pub mod file;
pub mod hook_installer;
pub mod hosts;
pub mod json;
mod known;
pub mod manual;
pub mod mcp;
pub mod places;
pub mod shims;
mod toml;
mod yaml;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use self::file::Backups;
use self::hook_installer::HookInstaller;
use self::hosts::{HOSTS, Host};
use self::places::{Places, PlacesError};
use self::shims::ShimsError;
use super::{engine, exit, screen};
use crate::prompt::confirm::confirm;
use crate::ui::style::Look;
use crate::world::identity::{Caller, IdentityError};

/// The arguments of `guard install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The agent to configure; shims for links that replace the shells; mcp for the servers of MCP clients. Without it,
    /// lists the agents and which of them are found
    #[arg(value_name = "AGENT", value_parser = names())]
    agent: Option<String>,
    /// The client whose servers run behind guard (mcp)
    #[arg(value_name = "CLIENT", conflicts_with = "all")]
    client: Option<String>,
    /// Every agent whose directory or program is found; with mcp every client that has servers
    #[arg(long)]
    all: bool,
    /// Only in this project, if the agent has a project configuration
    #[arg(long)]
    project: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove guard; restores a file exactly if it was not changed since
    #[arg(long)]
    uninstall: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// The directory for the links (shims)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(HOSTS.iter().map(|host| host.name).chain(["mcp", "shims"]))
}

/// The reason why nothing is installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    #[error(transparent)]
    Places(#[from] PlacesError),
    #[error(transparent)]
    Shims(#[from] ShimsError),
    #[error("{0}")]
    Wrong(String),
}

/// The result for one agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InstallResult {
    Changed,
    Nothing,
    /// The person declined.
    Declined,
}

/// Installs guard in agents, or removes it. Returns the exit code: 126 if it is refused or the person declines.
///
/// # Errors
/// A configuration cannot be parsed or written. Nothing of that agent is changed then.
pub fn run(args: &InstallArgs) -> Result<u8, InstallError> {
    match install(args) {
        // A reader that stops reading the changes is not an error.
        Err(InstallError::Io(error)) if args.dry_run && error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::ALLOW),
        done => done,
    }
}

fn install(args: &InstallArgs) -> Result<u8, InstallError> {
    let caller = Caller::of_this_process()?;
    if args.agent.is_none() && !args.all {
        return known::list(&Places::of(&caller)?);
    }
    if !args.dry_run
        && let Some(why) = refusal(&caller, args.uninstall, args.yes)
    {
        writeln!(io::stderr(), "guard: refused: {why}")?;
        return Ok(exit::REFUSED);
    }
    let places = Places::of(&caller)?;
    let data = engine::paths()?.directory().to_owned();
    let agent = args.agent.as_deref();
    if agent != Some("mcp") {
        if args.client.is_some() {
            return Err(InstallError::Wrong(
                "CLIENT is only valid with mcp, as in: guard install mcp CLIENT".to_owned(),
            ));
        }
        if let Some(agent) = agent.filter(|_| args.all) {
            return Err(InstallError::Wrong(format!("--all cannot be combined with {agent}")));
        }
    }
    if agent == Some("shims") {
        let directory = args.dir.clone().unwrap_or_else(|| shims::directory(&data));
        let directory = caller.cwd.join(directory);
        let guard = places.guard()?;
        let shims = shims::Shims { caller: &caller, directory: &directory, guard: Path::new(&guard) };
        return Ok(shims.run(args.uninstall, args.dry_run)?);
    }
    if args.dir.is_some() {
        return Err(InstallError::Wrong(
            "--dir is only valid with shims, as in: guard install shims --dir DIR".to_owned(),
        ));
    }
    if agent == Some("mcp") {
        let backups = mcp::backups(&data);
        return mcp::Install { args, places: &places, backups, look: look() }.run();
    }
    let shims = shims::directory(&data);
    let installer =
        HookInstaller { places, backups: Backups::new(&data), uninstall: args.uninstall, project: args.project };
    let session = InstallSession { args, caller: &caller, installer, shims, look: look() };
    if args.all { session.all() } else { session.one() }
}

fn look() -> Look {
    Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal())
}

/// Returns why this caller may not change anything, or `None` if it may.
pub(super) fn refusal(caller: &Caller, uninstall: bool, yes: bool) -> Option<String> {
    let behind = || Caller::agent_among(&caller.behind_the_terminal());
    if let Some(agent) = caller.session.agent.as_deref().or_else(behind) {
        return Some(format!(
            "a guarded session ({agent}) cannot change how guard is installed; run this in your own terminal"
        ));
    }
    if caller.terminal.is_person_here() {
        return None;
    }
    if uninstall {
        return Some(
            "only a person at their own terminal can remove guard; --dry-run shows what would change".to_owned(),
        );
    }
    (!yes).then(|| format!("{}: use --yes to change without asking, or --dry-run to see the changes", caller.terminal))
}

struct InstallSession<'a> {
    args: &'a InstallArgs,
    caller: &'a Caller,
    installer: HookInstaller<'a>,
    /// The directory of the links named after shells.
    shims: PathBuf,
    look: Look,
}

impl InstallSession<'_> {
    fn one(&self) -> Result<u8, InstallError> {
        let name = self.args.agent.as_deref().unwrap_or_default();
        let host = hosts::by_name(name).ok_or_else(|| InstallError::Wrong(format!("unknown agent {name}")))?;
        Ok(match self.host(host)? {
            InstallResult::Declined => {
                writeln!(io::stderr(), "guard: not changed")?;
                exit::REFUSED
            }
            InstallResult::Changed | InstallResult::Nothing => exit::ALLOW,
        })
    }

    /// Handles every installed agent separately: a broken configuration does not affect the others.
    fn all(&self) -> Result<u8, InstallError> {
        let mut code = exit::ALLOW;
        let mut found = 0;
        for host in HOSTS.iter() {
            if !self.installer.places.is_there(host) || (self.args.project && host.project.is_empty()) {
                continue;
            }
            found += 1;
            match self.host(host) {
                Ok(InstallResult::Declined) => {
                    writeln!(io::stdout(), "{}: not changed", host.title)?;
                    code = code.max(exit::REFUSED);
                }
                Ok(InstallResult::Changed | InstallResult::Nothing) => {}
                Err(InstallError::Io(error)) => return Err(error.into()),
                Err(error) => {
                    writeln!(io::stdout(), "{}: failed", host.title)?;
                    writeln!(io::stderr(), "guard: {error}")?;
                    code = exit::FAILED;
                }
            }
        }
        if found == 0 {
            let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
            writeln!(io::stdout(), "No agent found; known agents: {}.", names.join(", "))?;
        }
        Ok(code)
    }

    /// Handles one agent: shows the changes, asks, makes them, and prints what is left to do.
    fn host(&self, host: &'static Host) -> Result<InstallResult, InstallError> {
        let version = self.installer.places.version(host);
        let done = self.hook(host, version.as_deref())?;
        match host.interrupts_before(version.as_deref()) {
            Some(from) if !self.args.uninstall && done != InstallResult::Declined => {
                let links = self.shell(host, version.as_deref().unwrap_or_default(), from)?;
                Ok(if done == InstallResult::Nothing { links } else { done })
            }
            _ => Ok(done),
        }
    }

    /// Handles the files of one agent.
    fn hook(&self, host: &'static Host, version: Option<&str>) -> Result<InstallResult, InstallError> {
        let installer = &self.installer;
        let planned = installer.planned(host, version)?;
        let changes = &planned.changes;
        let mut out = io::stdout().lock();
        if changes.is_empty() {
            let what = if self.args.uninstall { "not installed" } else { "already installed" };
            writeln!(out, "{}: {what}", host.title)?;
            return Ok(InstallResult::Nothing);
        }
        let shown = planned.render(&self.look);
        if self.args.dry_run {
            write!(out, "{shown}")?;
            writeln!(out, "{}: not changed (--dry-run)", host.title)?;
            return Ok(InstallResult::Nothing);
        }
        if self.args.yes {
            write!(out, "{shown}")?;
        } else {
            let question = if self.args.uninstall { "Remove guard?" } else { "Make this change?" };
            if !confirm(&shown, question)? {
                return Ok(InstallResult::Declined);
            }
        }
        installer.carry_out(&planned)?;
        if self.args.uninstall {
            writeln!(out, "{}: guard removed", host.title)?;
        } else {
            let said = screen::fitted(&format!("{}: installed. {}\n", host.title, host.config.next));
            out.write_all(said.as_bytes())?;
            if !self.installer.places.is_here(host) {
                let title = host.title;
                let said = format!("  {title} is not on the PATH; guard takes effect once it is installed.\n");
                out.write_all(screen::fitted(&said).as_bytes())?;
            }
            for change in changes.iter().filter(|change| change.old.is_some()) {
                writeln!(
                    out,
                    "  {} before the change: {}",
                    change.path.display(),
                    self.installer.backups.copy(&change.path).display()
                )?;
            }
        }
        Ok(InstallResult::Changed)
    }

    /// Handles a version of an agent that the hook interrupts instead of refusing: if guard also replaces its shell,
    /// the model gets the reason.
    fn shell(&self, host: &Host, version: &str, from: &str) -> Result<InstallResult, InstallError> {
        let title = host.title;
        let directory = self.shims.as_path();
        let guard = self.installer.places.guard()?;
        let shims = shims::Shims { caller: self.caller, directory, guard: Path::new(&guard) };
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{title} {version} does not act on a refusal of its hook; {from} and later do. So guard interrupts {title} \
             instead, and the model is not told why. To let the model read why guard refused a command, let guard \
             replace its shell too:"
        )?;
        let made = shims.make(self.args.dry_run)?;
        for line in &made.changed {
            writeln!(out, "  {line}")?;
        }
        if let Some(line) = shims.entry_point(host.agent, &made.names) {
            writeln!(out, "  {line}")?;
        }
        writeln!(out, "  Update {title} to {from} or later, then: guard install {}", host.name)?;
        Ok(if made.changed.is_empty() || self.args.dry_run { InstallResult::Nothing } else { InstallResult::Changed })
    }
}
