//! Known agents: how the processes of programs that run commands which nobody typed are recognised.
//!
//! Out of scope: names of agents, which are data (`patterns/agents/`). An editor is no agent, though it may hold one:
//! a person's own terminal stands below it.

pub use crate::judge::agents::RecognisedAgent as Agent;
use crate::judge::agents::known;
use crate::judge::invocation::Environment;

/// Interpreters whose process name says nothing of what they run.
pub const INTERPRETERS: &[&str] = &["node", "MainThread", "bun", "deno", "python", "python3", "uv", "ruby"];

/// The agent that a process of this name is.
#[must_use]
pub fn by_process(name: &str) -> Option<&'static Agent> {
    known().iter().find(|agent| agent.processes.contains(&name))
}

/// The agent that an interpreter with these arguments runs.
#[must_use]
pub fn by_program(arguments: &[String]) -> Option<&'static Agent> {
    let program = arguments.iter().skip(1).find(|argument| !argument.starts_with('-'))?;
    known().iter().find(|agent| {
        agent.packages.iter().any(|package| match package.strip_prefix("/bin/") {
            Some(_) => program.ends_with(package),
            None => program.contains(package),
        })
    })
}

/// The agent whose marks are in the environment.
#[must_use]
pub fn by_marker(env: &Environment) -> Option<&'static Agent> {
    let set = |(name, value): &(&str, &str)| env.get(name).is_some_and(|found| value.is_empty() || found == *value);
    known().iter().find(|agent| agent.markers.iter().any(set))
}
