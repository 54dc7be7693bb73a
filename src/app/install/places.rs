//! The paths of an account's agents on this machine, and of guard itself.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::file;
use super::hosts::{HookFile, Host, WriteCondition};
use crate::app::scratch::Scratch;
use crate::exec::probe::Probe;
use crate::judge::agents::model::{Agent, Config};
use crate::judge::invocation::Environment;
use crate::world::identity::Caller;
use crate::world::programs::ProgramSearch;

/// The reason why a path that a configuration needs is unknown.
#[derive(Debug, Error)]
pub enum PlacesError {
    #[error("there is no home directory; set HOME")]
    NoHome,
    #[error("cannot find the path of guard: {0}")]
    Own(std::io::Error),
    #[error("guard's program file was removed or replaced; start the new one")]
    Replaced,
    #[error("the path {} cannot be written in a configuration; move guard", .0.display())]
    Unwritable(PathBuf),
}

/// The directories to which the paths of the agents' descriptions are relative.
#[derive(Debug)]
pub struct Places<'a> {
    caller: &'a Caller,
    home: PathBuf,
    /// The path of guard, if it is not this program.
    guard: Option<PathBuf>,
}

impl<'a> Places<'a> {
    /// Creates it for a caller: uses `HOME` as the agents do, or else the account's home.
    ///
    /// # Errors
    /// There is neither.
    pub fn of(caller: &'a Caller) -> Result<Self, PlacesError> {
        let named = caller.env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = named.or_else(|| caller.account.home.clone()).ok_or(PlacesError::NoHome)?;
        Ok(Self { caller, home, guard: None })
    }

    /// Changes the path of guard.
    #[must_use]
    pub fn served_by(self, guard: &Path) -> Self {
        Self { guard: Some(guard.to_owned()), ..self }
    }

    /// Returns the environment of the agents.
    #[must_use]
    pub const fn env(&self) -> &Environment {
        &self.caller.env
    }

    /// Returns the home directory that agents use.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the directory of an agent.
    #[must_use]
    pub fn directory(&self, host: &Host) -> PathBuf {
        own_directory(host.config, &self.home, &self.caller.env)
    }

    /// Returns the root of the project: the nearest directory with a repository, or else the working directory.
    #[must_use]
    pub fn project(&self) -> &Path {
        let cwd = &self.caller.cwd;
        cwd.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(cwd)
    }

    /// Returns the files of an agent that guard writes, each with its description.
    #[must_use]
    pub fn files(&self, host: &'static Host, project: bool) -> Vec<(PathBuf, &'static HookFile)> {
        let wires = if project { &host.project } else { &host.user };
        let directory = self.directory(host);
        let place = |wire: &'static HookFile| {
            let path = match wire.path.strip_prefix("~/") {
                Some(path) => self.home.join(path),
                None if project => self.project().join(&wire.path),
                None => directory.join(&wire.path),
            };
            let wanted = match wire.when {
                WriteCondition::Always => true,
                WriteCondition::There => path.exists(),
                WriteCondition::Directory => path.parent().is_some_and(Path::is_dir),
                WriteCondition::DirectoryAbove => path.parent().and_then(Path::parent).is_some_and(Path::is_dir),
            };
            wanted.then_some((path, wire))
        };
        wires.iter().copied().filter_map(place).collect()
    }

    /// Reports whether a file of the project is also one of the account, as in the home directory.
    #[must_use]
    pub fn is_the_accounts(&self, host: &'static Host, path: &Path) -> bool {
        let real = |path: &Path| {
            let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
            directory.zip(path.file_name()).map_or_else(|| path.to_owned(), |(directory, name)| directory.join(name))
        };
        self.files(host, false).iter().any(|(own, _)| own == path || real(own) == real(path))
    }

    /// Returns the first of an agent's programs in `PATH`.
    #[must_use]
    pub fn program(&self, host: &Host) -> Option<PathBuf> {
        self.program_of(host.agent)
    }

    /// Like [`Self::program`], for an agent that may have no hook.
    #[must_use]
    pub fn program_of(&self, agent: &Agent) -> Option<PathBuf> {
        let search = ProgramSearch::new(&self.caller.env, &self.caller.cwd);
        agent.programs.iter().find_map(|name| search.find(name).ok().flatten()).map(PathBuf::from)
    }

    /// Reports whether one of an agent's programs is in `PATH`, or the agent is an editor's extension, which has none.
    #[must_use]
    pub fn is_here(&self, host: &Host) -> bool {
        host.agent.in_editor || self.program(host).is_some()
    }

    /// Returns the version of an agent: from the package of its program, or else from the program itself.
    #[must_use]
    pub fn version(&self, host: &Host) -> Option<String> {
        self.version_of(host.agent)
    }

    /// Like [`Self::version`], for an agent that may have no hook.
    #[must_use]
    pub fn version_of(&self, agent: &Agent) -> Option<String> {
        let program = self.program_of(agent)?;
        let real = program.canonicalize().ok()?;
        let packaged = real.ancestors().take(6).find_map(|directory| {
            let package: Value = serde_json::from_str(&file::read(&directory.join("package.json")).ok()??).ok()?;
            let named = agent.packages.iter().any(|name| package["name"] == **name);
            named.then(|| package["version"].as_str().map(str::to_owned)).flatten()
        });
        // `…/versions/2.1.302`, and `…/versions/2026.10.08-abc/program`.
        let mut parts = real.iter().skip_while(|part| *part != "versions").skip(1);
        let installed =
            parts.next().and_then(|part| part.to_str()).filter(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        let found = packaged.or_else(|| distributed(&program, &real, agent)).or_else(|| installed.map(str::to_owned));
        if found.is_some() || !agent.asks_version {
            return found;
        }
        // Run it in a temporary home: some programs write logs and settings whenever they start.
        let scratch = Scratch::new("version").ok()?;
        let argv = [program.into_os_string(), "--version".into()];
        let own = |name: &OsString| {
            let name = name.to_string_lossy();
            name == "HOME"
                || name.starts_with("XDG_")
                || agent.config.as_ref().is_some_and(|config| name == config.variable)
        };
        let env = self.caller.env.variables.iter().filter(|(name, _)| !own(name));
        let env: Vec<_> = env
            .map(|(name, value)| (name.clone(), value.clone()))
            .chain([("HOME".into(), scratch.path().into())])
            .collect();
        let probe = Probe { argv: &argv, env: &env, cwd: Path::new("/"), limit: Duration::from_secs(5) };
        let said = probe.with_input("").ok().filter(|seen| seen.code == Some(0))?.stdout;
        let version = said.trim().trim_start_matches('v');
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
    }

    /// Reports whether an agent is installed: its directory or one of its programs exists.
    #[must_use]
    pub fn is_there(&self, host: &Host) -> bool {
        self.directory(host).is_dir() || self.program(host).is_some()
    }

    /// Returns the path of guard: the one in `PATH` if it leads to this program, so that an update through a link takes
    /// effect, or else the real path.
    ///
    /// # Errors
    /// It cannot be determined, or cannot be written to a configuration.
    pub fn guard(&self) -> Result<String, PlacesError> {
        if let Some(guard) = &self.guard {
            return Ok(guard.display().to_string());
        }
        let own = std::env::current_exe().map_err(PlacesError::Own)?;
        let file = |path: &Path| path.metadata().ok().map(|about| (about.dev(), about.ino()));
        let identity = file(&own).ok_or(PlacesError::Replaced)?;
        let named =
            ProgramSearch::new(&self.caller.env, &self.caller.cwd).find("guard").ok().flatten().map(PathBuf::from);
        let path = named.filter(|path| file(path) == Some(identity)).unwrap_or(own);
        let text = path.to_str().filter(|text| !text.chars().any(char::is_control)).map(str::to_owned);
        text.ok_or(PlacesError::Unwritable(path))
    }
}

/// Returns an agent's directory for an account with this home.
#[must_use]
pub fn own_directory(config: &Config, home: &Path, env: &Environment) -> PathBuf {
    if let Some(named) = absolute(env, &config.variable) {
        return named;
    }
    if config.below_config {
        return absolute(env, "XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join(&config.directory);
    }
    home.join(&config.directory)
}

/// Returns the value of a variable if it is an absolute path.
#[must_use]
pub fn absolute(env: &Environment, name: &str) -> Option<PathBuf> {
    env.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the version of a Python package, from its metadata directory beside the program.
fn distributed(program: &Path, real: &Path, agent: &Agent) -> Option<String> {
    let near = [program, real].into_iter().filter_map(|path| path.parent()?.parent());
    let libraries = near.filter_map(|root| std::fs::read_dir(root.join("lib")).ok()).flatten().flatten();
    let described =
        libraries.filter_map(|library| std::fs::read_dir(library.path().join("site-packages")).ok()).flatten();
    described.flatten().find_map(|entry| {
        let name = entry.file_name();
        let (package, version) = name.to_str()?.strip_suffix(".dist-info")?.rsplit_once('-')?;
        let is_of = |known: &String| known.replace(['-', '.'], "_").eq_ignore_ascii_case(package);
        agent.packages.iter().any(is_of).then(|| version.to_owned())
    })
}
