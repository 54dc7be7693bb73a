//! A home and a project that are made for one trial, with guard wired into the agent there.
//!
//! Out of scope: anything of the user's own but programs.

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

/// Variables of the user that go with a program wherever it runs.
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

/// Nobody is asked: what would be asked about is refused at once, however often.
const CONFIG: &str = "breaker_after = 100\n[queue]\nwait = 0\n";

/// The same, but it waits for an answer that nobody gives.
const PATIENT: &str = "breaker_after = 100\n[queue]\nwait = 15\n";

/// Where it stands.
const CONFIG_FILE: &str = "home/.config/guard/config.toml";

/// What a tool finds in a file of which it changes a part: the stand-in for a model fills in the same words.
const FOUND: &str = "# a trial\n";

/// One trial's own home, and how the agent comes to ask guard in it.
#[derive(Debug)]
pub struct TestEnvironment {
    scratch: Scratch,
    pub agent: &'static Agent,
    version: Option<String>,
    caller: Caller,
    /// Where guard is for the trial: a copy, which can be taken away.
    guard: PathBuf,
    /// The agent has no hook: guard stands in for its shell.
    by_shell: bool,
    /// A refusal ends its run in this version.
    is_interrupted: bool,
}

impl TestEnvironment {
    /// Makes one.
    ///
    /// # Errors
    /// Something cannot be written.
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
        // What stands in for shells here would be asked in place of what is tried.
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

    /// guard, as the agent starts it.
    pub fn guard(&self) -> &Path {
        &self.guard
    }

    /// Lets what is asked about wait for an answer.
    ///
    /// # Errors
    /// The configuration cannot be written.
    pub fn let_it_wait(&self) -> io::Result<()> {
        fs::write(self.scratch.path().join(CONFIG_FILE), PATIENT)
    }

    /// Makes a file that a tool can change a part of.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn lay_out(&self, file: &Path) -> io::Result<()> {
        fs::create_dir_all(file.parent().unwrap_or(file))?;
        fs::write(file, FOUND)
    }

    /// What its description knows of a tool of this name.
    pub fn knows(&self, tool: &str) -> Option<&'static KnownToolUse> {
        let tools = &self.agent.hook.as_ref()?.tools;
        let plain = plain_name(tools, tool);
        tools.known.iter().find(|known| known.names.iter().any(|name| name == plain)).map(|known| &known.does)
    }

    /// Whether what is typed with a tool is told to no hook: then it is the start of a shell that is asked about.
    pub fn hears_no_typing(&self, tool: &str) -> bool {
        self.agent.hook.as_ref().is_some_and(|hook| hook.types_unseen) && self.knows(tool) == Some(&KnownToolUse::Typed)
    }

    /// The shell of this trial.
    pub fn shell(&self) -> &str {
        self.caller.env.get("SHELL").unwrap_or("/bin/sh")
    }

    /// Whether guard is told of none of its tools but the shell.
    pub const fn is_by_shell(&self) -> bool {
        self.by_shell
    }

    /// Whether a refusal ends its run, so that each case needs one of its own.
    pub const fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// Whether its description says that a tool only reads, lists or plans.
    pub fn is_harmless(&self, tool: &str) -> bool {
        let Some(hook) = &self.agent.hook else { return false };
        let plain = plain_name(&hook.tools, tool);
        hook.tools.harmless.iter().any(|name| name == plain)
    }

    /// Takes guard away: what is wired to it finds nothing.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn take_guard_away(&self) -> io::Result<()> {
        fs::remove_file(&self.guard)
    }

    /// Writes what the agent must find.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn furnish(&self, live: &LiveSetup, url: &str) -> io::Result<()> {
        for file in &live.file {
            let path = self.home().join(&file.path);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, self.filled(&file.text, url))?;
        }
        Ok(())
    }

    /// A text of a description, with what changes from trial to trial in its places.
    pub fn filled(&self, text: &str, url: &str) -> String {
        text.replace("@URL@", url)
            .replace("@HOME@", &self.home().to_string_lossy())
            .replace("@PROJECT@", &self.project().to_string_lossy())
            .replace("@PATH@", self.caller.env.get("PATH").unwrap_or_default())
    }

    /// Wires guard in as `guard install` does; what opens its shell's entry point is added to the variables.
    ///
    /// # Errors
    /// What stands in its files is not understood, or they cannot be written.
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

    /// The variables of everything that runs here.
    pub fn env(&self, live: &LiveSetup, url: &str) -> Vec<(OsString, OsString)> {
        let mut env = self.caller.env.clone();
        for (name, value) in &live.env {
            env.variables.insert(name.into(), self.filled(value, url).into());
        }
        env.variables.into_iter().collect()
    }

    /// How guard is asked, where that is not by the hook.
    pub const fn by(&self) -> &'static str {
        if self.by_shell { " by its shell" } else { "" }
    }
}

/// The name of a tool without what stands in front of it in some versions.
fn plain_name<'a>(tools: &Tools, tool: &'a str) -> &'a str {
    tools.prefix.iter().find_map(|prefix| tool.strip_prefix(prefix.as_str())).unwrap_or(tool)
}
