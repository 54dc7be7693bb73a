//! Recognises the processes of known agents, which are programs that run commands that no person typed.
//!
//! Out of scope: names of agents, which are data (`patterns/agents/`). An editor is not an agent even if it contains
//! one, because a person's own terminal may be below it.

pub use crate::judge::agents::RecognisedAgent as Agent;
use crate::judge::agents::known;
use crate::judge::invocation::Environment;

/// Interpreters whose process name does not identify the program that they run.
pub const INTERPRETERS: &[&str] = &["node", "MainThread", "bun", "deno", "python", "python3", "uv", "ruby"];

/// Returns the agent whose process has this name.
#[must_use]
pub fn by_process(name: &str) -> Option<&'static Agent> {
    known().iter().find(|agent| agent.processes.contains(&name))
}

/// Returns the agent that an interpreter with these arguments runs.
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

/// Returns the agent whose variables are in the environment.
#[must_use]
pub fn by_marker(env: &Environment) -> Option<&'static Agent> {
    let set = |(name, value): &(&str, &str)| env.get(name).is_some_and(|found| value.is_empty() || found == *value);
    known().iter().find(|agent| agent.markers.iter().any(set))
}
