//! The identity of the caller: account, working directory, environment, origin and session of this process.
//!
//! Out of scope: judging by it. Anyone can set variables in the environment, so they only ever make a caller an agent,
//! never a person.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

pub use guard_system::Process;
use nix::unistd;

pub use super::account::Account;
use super::agents::{self, Agent};
use super::system;
use super::terminal::{self, TerminalState};
use crate::judge::invocation::{Environment, Invocation, Origin, Request, Session};

/// Maximum number of ancestors that are examined.
const MAX_ANCESTORS: usize = 64;

/// The reason why the caller cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The working directory was removed, or may not be read.
    #[error("cannot determine the working directory ({0}); change to a directory that exists")]
    WorkingDirectory(#[source] std::io::Error),
}

/// The caller of an [`Invocation`], with additional facts about it.
#[derive(Clone, Debug)]
pub struct Caller {
    pub cwd: PathBuf,
    pub env: Environment,
    pub account: Account,
    pub origin: Origin,
    pub session: Session,
    /// Whether a person can be asked on this process's terminal.
    pub terminal: TerminalState,
    /// This process's ancestors, the parent first.
    pub ancestors: Vec<Process>,
}

impl Caller {
    /// Describes the caller of this process.
    ///
    /// # Errors
    ///
    /// The working directory cannot be determined.
    pub fn of_this_process() -> Result<Self, IdentityError> {
        let env: Environment = std::env::vars_os().collect();
        let account = Account::of(unistd::geteuid().as_raw());
        let ancestors = ancestors(unistd::getppid().as_raw());
        let above = agent_above(&ancestors);
        let agent = above.as_ref().map(|(agent, _)| *agent).or_else(|| agents::by_marker(&env));
        let terminal = agent.map_or_else(terminal::detect, |agent| TerminalState::AgentAbove(agent.name));
        let origin = if terminal.is_person_here() { Origin::Cli } else { Origin::Agent };
        let session = session(&env, account.uid, agent, above.map(|(_, process)| process), &ancestors);
        Ok(Self { cwd: working_directory(&env)?, env, account, origin, session, terminal, ancestors })
    }

    /// Returns the invocation of `request` by this caller.
    #[must_use]
    pub fn invocation(&self, request: Request) -> Invocation {
        Invocation {
            request,
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            home: self.account.home.clone(),
            uid: self.account.uid,
            user: self.account.name.clone(),
            origin: self.origin,
            session: self.session.clone(),
        }
    }

    /// Returns a name of this process that no other has: pid, start time and boot.
    #[must_use]
    pub fn unique_name() -> Option<String> {
        system::process(unistd::getpid().as_raw())?.unique_name()
    }

    /// Reports whether a known agent is among the ancestors; variables in the environment do not count.
    #[must_use]
    pub fn has_agent_above(&self) -> bool {
        agent_above(&self.ancestors).is_some()
    }

    /// Reports whether the nearest ancestor shell with one of these names loaded the output of `guard init`, which sets
    /// `__guard_shell` to the shell's pid. `None` if there is no such shell, or it was started with a command. Anyone
    /// may set the variable: the result is shown to a person, and no decision depends on it.
    #[must_use]
    pub fn is_shell_guarded(&self, names: &[&str]) -> Option<bool> {
        let shell = self.ancestors.iter().find(|process| names.contains(&process.name.as_str()))?;
        let short = |word: &String| word.starts_with('-') && !word.starts_with("--");
        let given = |word: &String| short(word) && word.contains('c');
        if system::arguments(shell.pid).iter().skip(1).any(given) {
            return None;
        }
        let named = self.env.get("__guard_shell").and_then(|pid| pid.parse().ok());
        Some(named == Some(shell.pid))
    }

    /// Reports whether a person may be at the nearest agent above: it is in the foreground of a terminal, and was
    /// started without one of these arguments, with which it asks nobody.
    #[must_use]
    pub fn is_person_at_agent(&self, headless: &[String]) -> bool {
        let Some((_, process)) = agent_above(&self.ancestors) else { return false };
        let seated = system::seat(process.pid, self.account.uid).is_some_and(|seat| seat.terminal);
        let named = |argument: &String| headless.iter().any(|word| argument.split('=').next() == Some(word.as_str()));
        seated && !system::arguments(process.pid).iter().skip(1).any(named)
    }

    /// Returns a unique name of the nearest known agent among the ancestors.
    #[must_use]
    pub fn agent_process(&self) -> Option<String> {
        agent_above(&self.ancestors)?.1.unique_name()
    }

    /// Reports whether a known agent is the parent of this process.
    #[must_use]
    pub fn is_child_of_agent(&self) -> bool {
        self.ancestors.first().is_some_and(|parent| agent_above(std::slice::from_ref(parent)).is_some())
    }

    /// Reports whether a known agent itself started this process: directly, or by a shell that runs nothing else. A
    /// command of the agent that starts guard in a script or a pipe does not count.
    #[must_use]
    pub fn is_called_by_agent(&self) -> bool {
        let is_agent = |process: &Process| agent_above(std::slice::from_ref(process)).is_some();
        match self.ancestors.as_slice() {
            _ if self.is_child_of_agent() => true,
            [shell, agent, ..] if is_agent(agent) => {
                let arguments = system::arguments(shell.pid);
                let plain = |command: &String| {
                    let call = command.split(" || ").next().unwrap_or_default();
                    let or = command.get(call.len()..).unwrap_or_default();
                    // The replacement of guard's answer if guard fails may only be an exit code or one text.
                    let says = |rest: &str| !rest.trim_matches('\'').contains(['\'', '$', '`', '\n']);
                    let alone = or.is_empty() || or == " || exit 2" || or.strip_prefix(" || echo ").is_some_and(says);
                    call.contains(" hook ") && alone && !call.contains([';', '|', '&', '<', '>', '(', '`', '$', '\n'])
                };
                arguments.len() >= 3 && arguments.last().is_some_and(plain)
            }
            _ => false,
        }
    }

    /// Returns a name of this process for [`Self::lives`], with as many parts as the system reports.
    #[must_use]
    pub fn name_of_this() -> String {
        Self::unique_name().unwrap_or_else(|| format!("{}..", unistd::getpid()))
    }

    /// Returns unique names of the ancestors up to the root of the session.
    #[must_use]
    pub fn above(&self) -> Vec<String> {
        let root = self.session.root.split_once('@').map_or("", |(_, root)| root);
        let mut names = Vec::new();
        for name in self.ancestors.iter().filter_map(Process::unique_name) {
            let last = name == root;
            names.push(name);
            if last {
                return names;
            }
        }
        // The root is not an ancestor: the session's leader has ended, or is this process itself. A program that leads
        // the session of a terminal was started by the terminal, so that no ancestor counts.
        let leads = self.terminal.is_person_here() && Self::unique_name().as_deref() == Some(root);
        names.truncate(usize::from(!leads));
        names.push(root.to_owned());
        names
    }

    /// Returns all processes that may be typing at this process's terminal: its ancestors, the leader of its session,
    /// the processes that hold the other end of the terminal, and their ancestors. A process that its parent abandoned
    /// is still known by its terminal.
    #[must_use]
    pub fn behind_the_terminal(&self) -> Vec<Process> {
        let leader = unistd::getsid(None).ok().map(unistd::Pid::as_raw);
        let holders = terminal::device().map_or_else(Vec::new, system::holders);
        let mut all = self.ancestors.clone();
        for pid in holders.into_iter().chain(leader).filter(|pid| *pid != unistd::getpid().as_raw()) {
            for process in ancestors(pid) {
                if !all.contains(&process) {
                    all.push(process);
                }
            }
        }
        all
    }

    /// Returns the agent that one of these processes is, or in whose environment it was started, whatever the current
    /// environment of this process contains.
    #[must_use]
    pub fn agent_among(processes: &[Process]) -> Option<&'static str> {
        let marked = |process: &Process| agents::by_marker(&Environment::from_iter(system::environment(process.pid)));
        let agent = agent_above(processes).map(|(agent, _)| agent);
        agent.or_else(|| processes.iter().find_map(marked)).map(|agent| agent.name)
    }

    /// Reports whether one of these processes is guard, because it runs the same file.
    #[must_use]
    pub fn guard_among(processes: &[Process]) -> bool {
        let own = system::executable(unistd::getpid().as_raw());
        own.is_some() && processes.iter().any(|process| system::executable(process.pid) == own)
    }

    /// Returns the start time of the root process of a session, by [`Session::root`]; `None` if the system does not
    /// report it.
    #[must_use]
    pub fn began(root: &str) -> Option<SystemTime> {
        let mut parts = root.split_once('@')?.1.split('.');
        let started: u64 = parts.nth(1)?.parse().ok()?;
        let of_this_boot = parts.next().is_some_and(|boot| !boot.is_empty() && boot == system::boot());
        of_this_boot.then(|| system::time_of(started)).flatten()
    }

    /// Reports whether a process with this [`Self::unique_name`] is alive.
    #[must_use]
    pub fn lives(name: &str) -> bool {
        system::lives(name)
    }

    /// Reports whether a known agent is between this process and the nearest guard above it. A person who approved the
    /// command there approved the agent, and not everything that the agent then runs.
    #[must_use]
    pub fn is_agent_between(&self) -> bool {
        let guard = self.guard_above().map(|guard| guard.pid);
        let between: Vec<Process> =
            self.ancestors.iter().take_while(|process| Some(process.pid) != guard).cloned().collect();
        agent_above(&between).is_some()
    }

    /// Returns the nearest ancestor that is guard: the same file, by device and inode.
    #[must_use]
    pub fn guard_above(&self) -> Option<&Process> {
        let own = system::executable(unistd::getpid().as_raw())?;
        self.ancestors.iter().find(|process| system::executable(process.pid) == Some(own))
    }
}

/// Returns `$PWD` if it names the working directory, and else the physical path.
fn working_directory(env: &Environment) -> Result<PathBuf, IdentityError> {
    let here = Path::new(".").metadata().map_err(IdentityError::WorkingDirectory)?;
    let named = env.variables.get(OsStr::new("PWD")).map(PathBuf::from).filter(|pwd| {
        let normal = |component| matches!(component, Component::RootDir | Component::Normal(_));
        // `components` skips `.`, so that the text is searched for it.
        let dotted = pwd.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/').any(|part| part == b".");
        let same = |found: std::fs::Metadata| (found.dev(), found.ino()) == (here.dev(), here.ino());
        pwd.is_absolute() && pwd.components().all(normal) && !dotted && pwd.metadata().is_ok_and(same)
    });
    match named {
        Some(pwd) => Ok(pwd.components().collect()),
        None => std::env::current_dir().map_err(IdentityError::WorkingDirectory),
    }
}

/// Returns the ancestors, starting with `parent`.
pub(super) fn ancestors(parent: i32) -> Vec<Process> {
    let mut ancestors: Vec<Process> = Vec::new();
    let mut next = parent;
    while next > 0 && ancestors.len() < MAX_ANCESTORS {
        let Some(process) = system::process(next) else { break };
        next = process.parent;
        ancestors.push(process);
    }
    ancestors
}

/// Returns the nearest known agent among the ancestors.
pub(super) fn agent_above(ancestors: &[Process]) -> Option<(&'static Agent, &Process)> {
    ancestors.iter().find_map(|process| {
        let agent = agents::by_process(&process.name).or_else(|| {
            let interpreter = agents::INTERPRETERS.iter().any(|name| process.name.starts_with(name));
            interpreter.then(|| agents::by_program(&system::arguments(process.pid))).flatten()
        })?;
        Some((agent, process))
    })
}

/// Returns the session: the host's own name for it, else the agent's process, else the terminal, else the process group
/// that a daemon or job leads.
fn session(
    env: &Environment,
    uid: u32,
    agent: Option<&'static Agent>,
    above: Option<&Process>,
    ancestors: &[Process],
) -> Session {
    let leader = || {
        let pid = unistd::getsid(None).map_or(0, unistd::Pid::as_raw);
        let known = ancestors.iter().find(|process| process.pid == pid).cloned();
        (pid, known.or_else(|| system::process(pid)).map_or(0, |process| process.started))
    };
    let (pid, started) = above.map_or_else(leader, |process| (process.pid, process.started));
    let process = format!("{pid}.{started}.{}", system::boot());
    let given = agent.and_then(|agent| agent.session).and_then(|name| env.get(name)).filter(|id| !id.is_empty());
    let mut id = match (agent, given) {
        (Some(agent), Some(given)) => format!("{}:{given}", agent.name),
        (Some(agent), None) => format!("{}@{process}", agent.name),
        (None, _) => match terminal::device() {
            Some(device) => format!("tty{device}@{process}"),
            None => format!("process@{process}"),
        },
    };
    // An added part can only select a narrower session.
    if let Some(part) = env.get("GUARD_SESSION").filter(|part| !part.is_empty()) {
        id = format!("{id}/{part}");
    }
    Session { id, root: format!("{uid}@{process}"), agent: agent.map(|agent| agent.name.to_owned()) }
}

#[cfg(test)]
mod tests;
