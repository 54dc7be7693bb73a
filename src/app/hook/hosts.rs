//! The agents that have hooks: which one calls, and how long it waits.

use std::time::Duration;

use serde_json::Value;

use crate::judge::agents;
use crate::judge::agents::model::{Agent, Hook};

/// An agent with hooks.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    pub agent: &'static Agent,
    pub hook: &'static Hook,
}

/// Returns all agents with hooks, by name.
#[must_use]
pub fn all() -> Vec<Host> {
    agents::all().filter_map(of).collect()
}

fn of(agent: &'static Agent) -> Option<Host> {
    Some(Host { agent, hook: agent.hook.as_ref()? })
}

/// Returns the agent with this name.
#[must_use]
pub fn named(name: &str) -> Option<Host> {
    agents::named(name).and_then(of)
}

/// Returns all names, for a message.
#[must_use]
pub fn names() -> String {
    all().iter().map(Host::name).collect::<Vec<_>>().join(", ")
}

impl Host {
    /// Returns the name, as in `--agent` and the record.
    #[must_use]
    pub fn name(&self) -> &'static str {
        &self.agent.name
    }

    /// Returns the agent that really calls: some agents run the hooks that were installed for another one, in their own
    /// format.
    #[must_use]
    pub fn in_truth(self, input: &Value) -> Self {
        let other = self.hook.read_by.iter().filter_map(|name| named(name));
        let is_of = |host: &Self| {
            let fields = |fields: &Vec<String>| fields.iter().all(|field| input.get(field).is_some());
            host.hook.known_by.iter().any(fields)
        };
        other.into_iter().find(is_of).unwrap_or(self)
    }

    /// Returns how many seconds the agent really waits for this configured number.
    #[must_use]
    pub fn waits(&self, configured: u32) -> u32 {
        if self.hook.most > 0 { configured.min(self.hook.most) } else { configured }
    }

    /// Returns the time after which guard denies by itself, for an agent that waits this many seconds: a tenth of the
    /// time before the agent gives up, at least one second and at most five.
    #[must_use]
    pub const fn deadline(waits: u32) -> Duration {
        let tenth = waits / 10;
        let margin = if tenth < 1 {
            1
        } else if tenth > 5 {
            5
        } else {
            tenth
        };
        let left = waits.saturating_sub(margin);
        if left == 0 { Duration::from_millis(500) } else { Duration::from_secs(left as u64) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::{HookReply, HookStage};
    use super::super::dialect;
    use super::*;

    #[test]
    fn guard_answers_before_the_host_gives_up() {
        for waits in 1..4000 {
            assert!(Host::deadline(waits) < Duration::from_secs(waits.into()), "{waits}");
        }
        assert_eq!(Host::deadline(600), Duration::from_secs(595));
        assert_eq!(Host::deadline(5), Duration::from_secs(4));
    }

    #[test]
    fn a_denial_always_says_why_and_never_looks_like_consent() {
        let deny = HookReply::Deny { reason: "because \"so\"".to_owned() };
        for host in all() {
            for event in [HookStage::Tool, HookStage::OwnTool, HookStage::Permission, HookStage::Unknown] {
                let reply = dialect::say(host, event, &deny);
                let said = format!("{}{}", reply.stdout, reply.stderr);
                assert!(said.contains("because"), "{} {event:?}: {reply:?}", host.name());
                assert!(reply.code == 2 && reply.stdout.is_empty() || reply.code == 0, "{}: {reply:?}", host.name());
                assert!(!reply.stdout.contains("\"allow\""), "{}: {reply:?}", host.name());
                if !reply.stdout.is_empty() {
                    serde_json::from_str::<Value>(&reply.stdout).unwrap();
                }
            }
        }
    }
}
