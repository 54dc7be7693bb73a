//! A temporary home and project for one run, in which the agent asks guard.
//!
//! Out of scope: any files of the user except programs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::CheckContext;
use crate::app::install::file::Backups;
use crate::app::install::hook_installer::HookInstaller;
use crate::app::install::hosts;
use crate::app::install::places::Places;
use crate::app::install::shims::Shims;
use crate::app::scratch::Scratch;
use crate::judge::agents::model::{Agent, KnownToolUse, LiveSetup, Tools};
use crate::judge::invocation::Environment;
use crate::world::identity::{Account, Caller};

/// Variables of the user that programs need wherever they run.
const KEPT: [&str; 10] = [
    "USER",
    "LOGNAME",
    "TZ",
    "PYENV_ROOT",
    "NVM_DIR",
    "ASDF_DATA_DIR",
    "VOLTA_HOME",
    "NIX_SSL_CERT_FILE",
    "SSL_CERT_FILE",
    "LD_LIBRARY_PATH",
];

/// A configuration in which nobody is asked: guard immediately refuses every command that it would ask about.
const CONFIG: &str = "breaker_after = 100\n[queue]\nwait = 0\n";

/// A configuration in which guard waits for an answer that never comes.
const PATIENT: &str = "breaker_after = 100\n[queue]\nwait = 15\n";

/// The path of the configuration.
const CONFIG_FILE: &str = "home/.config/guard/config.toml";

/// The content of a file of which a tool changes a part. The stand-in model uses the same text.
const FOUND: &str = "# a trial\n";

/// The temporary home of one run, and how the agent asks guard in it.
#[derive(Debug)]
pub struct TestEnvironment {
    scratch: Scratch,
    pub agent: &'static Agent,
    version: Option<String>,
    caller: Caller,
    /// The copy of guard for this run, which can be removed.
    guard: PathBuf,
    /// Whether the agent has no hook, so that guard replaces its shell.
    by_shell: bool,
    /// Whether a refusal ends the run of this version of the agent.
    is_interrupted: bool,
}

impl TestEnvironment {
    /// Creates the environment.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn new(context: &CheckContext, agent: &'static Agent, version: Option<&str>) -> io::Result<Self> {
        let scratch = Scratch::new("live")?;
        let at = |name: &str| scratch.path().join(name);
        for directory in ["home/.config/guard", "project", "tmp", "run", "bin"] {
            fs::create_dir_all(at(directory))?;
        }
        fs::write(at(CONFIG_FILE), CONFIG)?;
        let guard = at("bin/guard");
        fs::copy(&context.guard, &guard)?;
        let own = &context.engine.caller;
        let searched = std::env::split_paths(own.env.get("PATH").unwrap_or("/usr/bin:/bin"));
        // Programs that already replace shells here would be asked instead of the copy.
        let others =
            searched.filter(|directory| !["bash", "sh"].iter().any(|name| context.is_guard(&directory.join(name))));
        let path = std::env::join_paths([at("bin")].into_iter().chain(others)).map_err(io::Error::other)?;
        let shells = ["/bin/bash", "/usr/bin/bash", "/bin/zsh"];
        let shell = shells.into_iter().find(|shell| Path::new(shell).exists() && !context.is_guard(Path::new(shell)));
        let kept = KEPT.iter().filter_map(|name| Some(((*name).into(), own.env.get(name)?.into())));
        let mut variables: Vec<(OsString, OsString)> = kept.collect();
        for (name, value) in [("HOME", at("home")), ("TMPDIR", at("tmp")), ("XDG_RUNTIME_DIR", at("run"))] {
            variables.push((name.into(), value.into()));
        }
        for (name, value) in
            [("LANG", "C.UTF-8"), ("TERM", "xterm-256color"), ("NO_COLOR", "1"), ("SHELL", shell.unwrap_or("/bin/sh"))]
        {
            variables.push((name.into(), value.into()));
        }
        variables.push(("PATH".into(), path));
        let account = Account { home: Some(at("home")), ..own.account.clone() };
        let env: Environment = variables.into_iter().collect();
        let caller = Caller { cwd: at("project"), env, account, ..own.clone() };
        Ok(Self {
            scratch,
            agent,
            version: version.map(str::to_owned),
            caller,
            guard,
            by_shell: false,
            is_interrupted: false,
        })
    }

    pub fn project(&self) -> &Path {
        &self.caller.cwd
    }

    pub fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Returns the path of guard that the agent starts.
    pub fn guard(&self) -> &Path {
        &self.guard
    }

    /// Changes the configuration so that guard waits for an answer.
    ///
    /// # Errors
    /// The configuration cannot be written.
    pub fn let_it_wait(&self) -> io::Result<()> {
        fs::write(self.scratch.path().join(CONFIG_FILE), PATIENT)
    }

    /// Creates a file of which a tool can change a part.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn lay_out(&self, file: &Path) -> io::Result<()> {
        fs::create_dir_all(file.parent().unwrap_or(file))?;
        fs::write(file, FOUND)
    }

    /// Returns what the agent's description says about a tool of this name.
    pub fn knows(&self, tool: &str) -> Option<&'static KnownToolUse> {
        let tools = &self.agent.hook.as_ref()?.tools;
        let plain = plain_name(tools, tool);
        tools.known.iter().find(|known| known.names.iter().any(|name| name == plain)).map(|known| &known.does)
    }

    /// Reports whether the agent tells no hook what it types with a tool. Then guard is asked about the start of the
    /// shell.
    pub fn hears_no_typing(&self, tool: &str) -> bool {
        self.agent.hook.as_ref().is_some_and(|hook| hook.types_unseen) && self.knows(tool) == Some(&KnownToolUse::Typed)
    }

    /// Returns the shell of this run.
    pub fn shell(&self) -> &str {
        self.caller.env.get("SHELL").unwrap_or("/bin/sh")
    }

    /// Reports whether guard sees only the agent's shell and none of its other tools.
    pub const fn is_by_shell(&self) -> bool {
        self.by_shell
    }

    /// Reports whether a refusal ends the agent's run, so that each case needs a run of its own.
    pub const fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Reports whether the agent's description says that a tool only reads, lists or plans.
    pub fn is_harmless(&self, tool: &str) -> bool {
        let Some(hook) = &self.agent.hook else { return false };
        let plain = plain_name(&hook.tools, tool);
        hook.tools.harmless.iter().any(|name| name == plain)
    }

    /// Removes the copy of guard, so that the agent's hook finds no program.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn take_guard_away(&self) -> io::Result<()> {
        fs::remove_file(&self.guard)
    }

    /// Writes the files that the agent needs.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn furnish(&self, live: &LiveSetup, url: &str) -> io::Result<()> {
        for file in &live.file {
            let path = self.home().join(&file.path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, self.filled(&file.text, url))?;
        }
        Ok(())
    }

    /// Fills in the placeholders of a text of the agent's description.
    pub fn filled(&self, text: &str, url: &str) -> String {
        text.replace("@URL@", url)
            .replace("@HOME@", &self.home().to_string_lossy())
            .replace("@PROJECT@", &self.project().to_string_lossy())
            .replace("@PATH@", self.caller.env.get("PATH").unwrap_or_default())
    }

    /// Installs guard as `guard install` does. Adds the variables that make guard the agent's shell.
    ///
    /// # Errors
    /// The agent's files cannot be parsed or written.
    pub fn wire(&mut self) -> io::Result<()> {
        let data = self.home().join(".local/share/guard");
        let host = hosts::by_name(&self.agent.name);
        let version = self.version.as_deref();
        self.by_shell = host.is_none();
        self.is_interrupted = host.is_some_and(|host| host.interrupts_before(version).is_some());
        if let Some(host) = host {
            let places = Places::of(&self.caller).map_err(io::Error::other)?.served_by(&self.guard);
            let installer = HookInstaller { places, backups: Backups::new(&data), uninstall: false, project: false };
            let planned = installer.planned(host, version).map_err(io::Error::other)?;
            return installer.carry_out(&planned).map_err(io::Error::other);
        }
        let directory = data.join("shims");
        let shims = Shims { caller: &self.caller, directory: &directory, guard: &self.guard };
        shims.make(false).map_err(io::Error::other)?;
        if let Some((name, value)) = shims.variable(self.agent) {
            self.caller.env.variables.insert(name.into(), value.into());
        }
        Ok(())
    }

    /// Returns the environment of every process of the run.
    pub fn env(&self, live: &LiveSetup, url: &str) -> Vec<(OsString, OsString)> {
        let mut env = self.caller.env.clone();
        for (name, value) in &live.env {
            env.variables.insert(name.into(), self.filled(value, url).into());
        }
        env.variables.into_iter().collect()
    }

    /// Returns how the agent asks guard, if not through a hook.
    pub const fn by(&self) -> &'static str {
        if self.by_shell { " by its shell" } else { "" }
    }
}

/// Returns the name of a tool without the prefix that some versions add.
fn plain_name<'a>(tools: &Tools, tool: &'a str) -> &'a str {
    tools.prefix.iter().find_map(|prefix| tool.strip_prefix(prefix.as_str())).unwrap_or(tool)
}
