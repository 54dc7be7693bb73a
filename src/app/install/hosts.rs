//! The agents that guard can be installed in: the location of their configuration, what guard writes to it, and what
//! each agent does if guard fails. The installer, the doctor and guard-agents(7) share this view of the agents'
//! descriptions (`patterns/agents/`).

use std::sync::LazyLock;

use crate::judge::agents;
use crate::judge::agents::model::Agent;
pub use crate::judge::agents::model::{
    AnswerField, AnswerReading, Config, ExitCodes, Form, HookFile, LaunchMethod, ListEntry, NoAnswer, Reason, Trust,
    TrustFormat, WriteCondition,
};

/// An agent that calls guard.
#[derive(Debug)]
pub struct Host {
    /// The name for `--agent`.
    pub name: &'static str,
    pub title: &'static str,
    pub agent: &'static Agent,
    pub config: &'static Config,
    /// The files that guard writes for the account.
    pub user: Vec<&'static HookFile>,
    /// The files that guard writes in a project, relative to its root; empty if the agent has no project file.
    pub project: Vec<&'static HookFile>,
}

/// The agents, ordered by name.
pub static HOSTS: LazyLock<Vec<Host>> = LazyLock::new(|| agents::all().filter_map(of).collect());

fn of(agent: &'static Agent) -> Option<Host> {
    let config = agent.config.as_ref()?;
    let files = |project: bool| config.file.iter().filter(|wire| wire.project == project).collect();
    Some(Host { name: &agent.name, title: &agent.title, agent, config, user: files(false), project: files(true) })
}

/// Returns the agent with this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}

/// Splits a version into numbers for comparison: `2.1.330`, `v1.2`, `2026.10.08-abc`.
#[must_use]
pub fn numbers(version: &str) -> Vec<u32> {
    version.trim_start_matches('v').split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

impl Host {
    /// Reports whether this version blocks a command for which guard gave no answer. Returns `true` if this does not
    /// depend on the version, or if the version is unknown.
    #[must_use]
    pub fn blocks(&self, version: Option<&str>) -> bool {
        match (&self.config.blocks_from, version) {
            (Some(from), Some(version)) => numbers(version) >= numbers(from),
            _ => true,
        }
    }

    /// Returns the first version whose hook can refuse every call, if this version is older. In older versions the hook
    /// interrupts the agent, which does not pass the reason to its model.
    #[must_use]
    pub fn interrupts_before(&self, version: Option<&str>) -> Option<&'static str> {
        self.config.holds_from.as_deref().filter(|_| !self.blocks(version))
    }

    /// Describes what happens to a command if guard fails.
    #[must_use]
    pub fn fate(&self, fate: NoAnswer) -> String {
        match (fate, &self.config.blocks_from) {
            (NoAnswer::Unknown, _) => "not known".to_owned(),
            (NoAnswer::Runs, _) => "the command runs".to_owned(),
            (NoAnswer::Interrupted, Some(from)) => {
                format!("the command is blocked; before {from} because {} is interrupted", self.title)
            }
            (NoAnswer::Blocked, Some(from)) => format!("the command is blocked from {from} on; before that it runs"),
            (NoAnswer::Blocked, None) if self.config.runs == LaunchMethod::Plugin => {
                "the command is blocked; if the plugin is not loaded, guard is not asked".to_owned()
            }
            (NoAnswer::Blocked | NoAnswer::Interrupted, None) => "the command is blocked".to_owned(),
        }
    }
}
