//! `guard install`: an agent's configuration is changed so that it asks guard before each command, and changed back.
//!
//! What may not enter: what is written for which agent, which is data ([`hosts`]), and how a text is changed
//! ([`change`]). Nothing is written before a person has seen it, unless `--yes` says so in advance.

pub mod change;
pub mod file;
pub mod hosts;
pub mod json;
pub mod manual;
pub mod places;
pub mod shims;
mod toml;
mod yaml;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use self::change::{State, Wiring};
use self::file::{Keeper, Kept};
use self::hosts::{HOSTS, Host, Wire};
use self::json::Trouble;
use self::places::Places;
use super::{exit, road};
use crate::channel::confirm::confirm;
use crate::ui::diff::diff;
use crate::ui::style::{self, Look};
use crate::world::identity::{Caller, IdentityError};

/// The arguments of `guard install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The agent that shall ask guard, or shims for links that stand in front of the shells
    #[arg(value_name = "AGENT", value_parser = names(), required_unless_present = "all")]
    agent: Option<String>,
    /// Every agent that is found: by its folder, or its program on the PATH
    #[arg(long, conflicts_with = "agent")]
    all: bool,
    /// In this project only, where the agent has a file for that
    #[arg(long)]
    project: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Take guard out again; a file that was not changed since is restored exactly
    #[arg(long)]
    uninstall: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// The folder for the links (shims)
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(HOSTS.iter().map(|host| host.name).chain(["shims"]))
}

/// Why nothing is installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] crate::store::StoreError),
    #[error("{0}")]
    Wrong(String),
}

/// What came of one agent.
enum Done {
    Changed,
    Nothing,
    /// A person said no.
    Declined,
}

/// One file and what becomes of it.
struct Change {
    path: PathBuf,
    wire: &'static Wire,
    old: Option<String>,
    /// `None`: the file goes.
    new: Option<String>,
    kept: Option<Kept>,
}

/// Wires agents, or takes guard out, and returns the exit code: 126 when it is refused or a person says no.
///
/// # Errors
/// A configuration is broken or cannot be written; nothing of that agent is changed then.
pub fn run(args: &InstallArgs) -> Result<u8, InstallError> {
    let caller = Caller::of_this_process()?;
    if let Some(why) = refusal(&caller, args) {
        writeln!(io::stderr(), "guard: refused: {why}")?;
        return Ok(exit::REFUSED);
    }
    let places = Places::of(&caller).map_err(InstallError::Wrong)?;
    let data = road::paths()?.folder().to_owned();
    if args.agent.as_deref() == Some("shims") {
        let folder = args.dir.clone().unwrap_or_else(|| data.join("shims"));
        let folder = caller.cwd.join(folder);
        let guard = places.guard().map_err(InstallError::Wrong)?;
        let shims = shims::Shims { caller: &caller, folder: &folder, guard: Path::new(&guard) };
        return shims.run(args.uninstall, args.dry_run).map_err(InstallError::Wrong);
    }
    if args.dir.is_some() {
        return Err(InstallError::Wrong("--dir is for shims, as in: guard install shims --dir FOLDER".to_owned()));
    }
    let shims = data.join("shims");
    let session = Session { args, caller: &caller, places, keeper: Keeper::new(&data), shims, look: look() };
    if args.all { session.all() } else { session.one() }
}

fn look() -> Look {
    Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal())
}

/// Why nothing may be changed from here.
fn refusal(caller: &Caller, args: &InstallArgs) -> Option<String> {
    if args.dry_run {
        return None;
    }
    let behind = || Caller::agent_among(&caller.behind_the_terminal());
    if let Some(agent) = caller.session.agent.as_deref().or_else(behind) {
        return Some(format!(
            "how guard is wired is changed by a person, not from inside a guarded session ({agent}): run this in your own terminal"
        ));
    }
    if caller.terminal.is_person_here() {
        return None;
    }
    if args.uninstall {
        return Some(
            "guard is taken out by a person at their own terminal; --dry-run shows what would change".to_owned(),
        );
    }
    (!args.yes).then(|| {
        format!("{}: give --yes to change without being asked, or --dry-run to see what would", caller.terminal)
    })
}

struct Session<'a> {
    args: &'a InstallArgs,
    caller: &'a Caller,
    places: Places<'a>,
    keeper: Keeper,
    /// The folder of the links that stand for shells.
    shims: PathBuf,
    look: Look,
}

impl Session<'_> {
    fn one(&self) -> Result<u8, InstallError> {
        let name = self.args.agent.as_deref().unwrap_or_default();
        let host = hosts::by_name(name).ok_or_else(|| InstallError::Wrong(format!("no agent is called {name}")))?;
        Ok(match self.host(host)? {
            Done::Declined => {
                writeln!(io::stderr(), "guard: refused: not changed")?;
                exit::REFUSED
            }
            Done::Changed | Done::Nothing => exit::ALLOW,
        })
    }

    /// Every agent that is there, each on its own: a broken one does not keep guard from the others.
    fn all(&self) -> Result<u8, InstallError> {
        let mut code = exit::ALLOW;
        let mut found = 0;
        for host in HOSTS.iter() {
            if !self.places.is_there(host) || (self.args.project && host.project.is_empty()) {
                continue;
            }
            found += 1;
            match self.host(host) {
                Ok(Done::Declined) => {
                    writeln!(io::stdout(), "{}: not changed", host.title)?;
                    code = code.max(exit::REFUSED);
                }
                Ok(Done::Changed | Done::Nothing) => {}
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
            writeln!(io::stdout(), "No agent was found; guard knows {}.", names.join(", "))?;
        }
        Ok(code)
    }

    /// One agent: shows what changes, asks, changes it, and says what is left to do.
    fn host(&self, host: &'static Host) -> Result<Done, InstallError> {
        let guard = self.places.guard().map_err(InstallError::Wrong)?;
        let version = self.places.version(host);
        let major = version.as_deref().and_then(|version| version.split('.').next()?.parse().ok());
        let wiring = Wiring { host, guard: &guard, major };
        if let Some(from) = host.by_shell_before(version.as_deref()).filter(|_| !self.args.uninstall) {
            return self.by_shell(host, version.as_deref().unwrap_or_default(), from, Path::new(&guard));
        }
        let files = self.places.files(host, self.args.project);
        if files.is_empty() {
            let what = format!("{} has no configuration of a project: leave --project out", host.title);
            return Err(InstallError::Wrong(what));
        }
        let mut changes = Vec::new();
        for (path, wire) in files {
            let old = file::read(&path).map_err(|why| InstallError::Wrong(format!("{}: {why}", path.display())))?;
            let kept = old.as_deref().and_then(|text| self.keeper.kept(&path, text));
            let change = if self.args.uninstall {
                self.taken_out(&wiring, path, wire, old, kept)?
            } else {
                let new = wiring.installed(wire, old.as_deref());
                let new = new.map_err(|trouble| broken(&path, old.as_deref(), &trouble, &wiring, wire))?;
                (old.as_deref() != Some(new.as_str())).then_some(Change { path, wire, old, new: Some(new), kept })
            };
            changes.extend(change);
        }
        let mut out = io::stdout().lock();
        if changes.is_empty() {
            let what = if self.args.uninstall { "not installed" } else { "already installed" };
            writeln!(out, "{}: {what}", host.title)?;
            return Ok(Done::Nothing);
        }
        let shown = self.shown(host, &changes);
        if self.args.dry_run {
            write!(out, "{shown}")?;
            writeln!(out, "{}: nothing was changed (--dry-run)", host.title)?;
            return Ok(Done::Nothing);
        }
        if self.args.yes {
            write!(out, "{shown}")?;
        } else {
            let question = if self.args.uninstall { "Take guard out?" } else { "Change it so?" };
            if !confirm(&shown, question)? {
                return Ok(Done::Declined);
            }
        }
        if self.args.uninstall {
            // What was made last goes first, so that folders are empty when their turn comes.
            changes.reverse();
        }
        for change in &changes {
            self.carry_out(&wiring, change)
                .map_err(|why| InstallError::Wrong(format!("{}: {why}", change.path.display())))?;
        }
        if self.args.uninstall {
            writeln!(out, "{}: guard is taken out", host.title)?;
        } else {
            writeln!(out, "{}: installed. {}", host.title, host.config.next)?;
            if !self.places.is_here(host) {
                writeln!(out, "  No program of {} is on the PATH: it takes effect once there is one.", host.title)?;
            }
            for change in changes.iter().filter(|change| change.old.is_some()) {
                writeln!(out, "  {} as it was: {}", change.path.display(), self.keeper.copy(&change.path).display())?;
            }
        }
        Ok(Done::Changed)
    }

    /// An agent whose hook cannot refuse anything in this version: guard stands in for its shell, which it can.
    fn by_shell(&self, host: &Host, version: &str, from: &str, guard: &Path) -> Result<Done, InstallError> {
        let title = host.title;
        let folder = self.shims.as_path();
        let shims = shims::Shims { caller: self.caller, folder, guard };
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{title} {version} runs what its hook refuses; {from} and later do not. So guard stands in for its shell, and the hook \
             is left out:"
        )?;
        let made = shims.make(self.args.dry_run).map_err(InstallError::Wrong)?;
        for line in &made.changed {
            writeln!(out, "  {line}")?;
        }
        if let Some(door) = shims.door(host.agent, &made.names) {
            writeln!(out, "  {door}")?;
        }
        writeln!(
            out,
            "  What its own tools write and edit is asked about from {from} on: update it, then guard install {} again.",
            host.name
        )?;
        Ok(if made.changed.is_empty() || self.args.dry_run { Done::Nothing } else { Done::Changed })
    }

    /// What becomes of a file when guard is taken out; `None` when guard is not in it.
    fn taken_out(
        &self,
        wiring: &Wiring,
        path: PathBuf,
        wire: &'static Wire,
        old: Option<String>,
        kept: Option<Kept>,
    ) -> Result<Option<Change>, InstallError> {
        let Some(text) = old else { return Ok(None) };
        if let Some(kept) = kept.as_ref().filter(|kept| kept.untouched) {
            let new = kept.before.clone();
            let same = new.as_ref() == Some(&text);
            return Ok((!same).then_some(Change { path, wire, new, old: Some(text), kept: None }));
        }
        let trouble = |trouble: Trouble| broken(&path, Some(&text), &trouble, wiring, wire);
        if let hosts::Form::Own { .. } | hosts::Form::Plugin(_) = wire.form {
            if wiring.installed(wire, Some(&text)).is_err() {
                return Ok(None);
            }
        } else if wiring.state(wire, Some(&text)).map_err(trouble)? == State::Absent {
            return Ok(None);
        }
        let before = kept.as_ref().map(|kept| kept.before.as_deref());
        let new = wiring.uninstalled(wire, &text, before).map_err(trouble)?;
        let same = new.as_ref() == Some(&text);
        Ok((!same).then_some(Change { path, wire, old: Some(text), new, kept: None }))
    }

    fn shown(&self, host: &Host, changes: &[Change]) -> String {
        let mut text = String::new();
        for change in changes {
            let what = match (&change.old, &change.new) {
                (None, _) => " (new)",
                (_, None) => " (removed)",
                _ => "",
            };
            text.push_str(&format!("{}: {}{what}\n", host.title, change.path.display()));
            let (old, new) = (change.old.as_deref().unwrap_or_default(), change.new.as_deref().unwrap_or_default());
            text.push_str(&style::render(&diff(old, new), &self.look));
        }
        text
    }

    fn carry_out(&self, wiring: &Wiring, change: &Change) -> Result<(), String> {
        let Change { path, wire, old, new, kept } = change;
        let Some(new) = new else {
            std::fs::remove_file(path).map_err(|error| format!("cannot be removed: {error}"))?;
            return self.forget(path, old.as_deref());
        };
        if self.args.uninstall {
            file::replace(path, old.as_deref(), new, false)?;
            return self.forget(path, old.as_deref());
        }
        let folders = file::make_folders(path)?;
        // What the file was before guard: the copy where only guard changed it since, else what it is now without guard.
        let (before, folders) = match (kept, old) {
            (Some(kept), _) if kept.untouched => (kept.before.clone(), kept.folders.clone()),
            (_, Some(text)) => {
                let before = kept.as_ref().map(|kept| kept.before.as_deref());
                let own = matches!(wire.form, hosts::Form::Own { .. } | hosts::Form::Plugin(_));
                let without = match wiring.state(wire, Some(text)) {
                    Ok(State::Outdated) if !own => wiring.uninstalled(wire, text, before).ok().flatten(),
                    Ok(State::Outdated) => None,
                    _ => Some(text.clone()),
                };
                (without, folders)
            }
            (_, None) => (None, folders),
        };
        self.keeper.keep(path, before.as_deref(), new, &folders)?;
        let executable = matches!(wire.form, hosts::Form::Own { executable: true, .. });
        file::replace(path, old.as_deref(), new, executable)
    }

    /// Forgets a file that guard is out of, and the folders that were made for it.
    fn forget(&self, path: &Path, old: Option<&str>) -> Result<(), String> {
        if !path.exists() {
            let folders = self.keeper.kept(path, old.unwrap_or_default()).map(|kept| kept.folders).unwrap_or_default();
            for folder in folders.iter().rev() {
                // Only an empty one goes.
                let _ = std::fs::remove_dir(folder);
            }
        }
        self.keeper.forget(path);
        Ok(())
    }
}

/// A file that guard does not touch, where it is wrong, and how to do it by hand.
fn broken(path: &Path, text: Option<&str>, trouble: &Trouble, wiring: &Wiring, wire: &Wire) -> InstallError {
    let line = file::line_of(text.unwrap_or_default(), trouble.at);
    let by_hand = wiring.by_hand(wire);
    InstallError::Wrong(format!(
        "{}:{line}: {}; nothing was changed. Put it right, or write this by hand:\n{by_hand}",
        path.display(),
        trouble.what
    ))
}
