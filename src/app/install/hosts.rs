//! The agents that guard can be wired into: where their configuration lies, what is written there, and what each does
//! when guard fails. The installer, the doctor and guard-agents(7) read this one view of their descriptions
//! (`patterns/agents/`).

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
    /// As `--agent` has it.
    pub name: &'static str,
    pub title: &'static str,
    pub agent: &'static Agent,
    pub config: &'static Config,
    /// What is written for the account.
    pub user: Vec<&'static HookFile>,
    /// What is written in a project, below its top directory; none where the agent has no file there.
    pub project: Vec<&'static HookFile>,
}

/// The agents, by name.
pub static HOSTS: LazyLock<Vec<Host>> = LazyLock::new(|| agents::all().filter_map(of).collect());

fn of(agent: &'static Agent) -> Option<Host> {
    let config = agent.config.as_ref()?;
    let files = |project: bool| config.file.iter().filter(|wire| wire.project == project).collect();
    Some(Host { name: &agent.name, title: &agent.title, agent, config, user: files(false), project: files(true) })
}

/// The agent of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}

/// A version as numbers, for comparing: `2.1.330`, `v1.2`, `2026.10.08-abc`.
#[must_use]
pub fn numbers(version: &str) -> Vec<u32> {
    version.trim_start_matches('v').split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

impl Host {
    /// Whether this version blocks what guard could not answer for; where that has not changed between versions, any
    /// does.
    #[must_use]
    pub fn blocks(&self, version: Option<&str>) -> bool {
        match (&self.config.blocks_from, version) {
            (Some(from), Some(version)) => numbers(version) >= numbers(from),
            _ => true,
        }
    }

    /// The version from which on its hook can refuse anything, where this one is older: until then the hook interrupts
    /// the agent, which does not tell its model why.
    #[must_use]
    pub fn interrupts_before(&self, version: Option<&str>) -> Option<&'static str> {
        self.config.holds_from.as_deref().filter(|_| !self.blocks(version))
    }

    /// What becomes of a command when guard fails, in words.
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
