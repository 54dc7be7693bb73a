//! The agents that have hooks: how each is named, how long it waits, and which dialect it speaks.

use std::time::Duration;

use serde_json::Value;

use super::call::{Answer, Call, Event, Reply, Wrong};
use super::{
    antigravity, claude, cline, codex, copilot, cursor, droid, gemini, goose, grok, hermes, kimi, plugin, qwen,
    windsurf,
};

/// An agent with hooks.
pub struct Host {
    /// As `--agent` has it and the record keeps it.
    pub name: &'static str,
    /// Seconds for which the agent waits where its configuration says nothing, or the least of what its versions wait.
    pub waits: u32,
    /// Reads its input.
    pub read: fn(&Value) -> Result<Call, Wrong>,
    /// Writes an answer.
    pub say: fn(Event, &Answer) -> Reply,
}

/// All of them.
pub const HOSTS: &[Host] = &[
    Host { name: "claude", waits: 600, read: claude::read, say: claude::say },
    Host { name: "codex", waits: 600, read: codex::read, say: codex::say },
    Host { name: "gemini", waits: 60, read: gemini::read, say: gemini::say },
    Host { name: "antigravity", waits: 30, read: antigravity::read, say: antigravity::say },
    Host { name: "cursor", waits: 30, read: cursor::read, say: cursor::say },
    Host { name: "copilot", waits: 30, read: copilot::read, say: copilot::say },
    Host { name: "opencode", waits: 600, read: plugin::read, say: plugin::say },
    Host { name: "windsurf", waits: 30, read: windsurf::read, say: windsurf::say },
    Host { name: "droid", waits: 60, read: droid::read, say: droid::say },
    Host { name: "kimi", waits: 30, read: kimi::read, say: kimi::say },
    Host { name: "qwen", waits: 60, read: qwen::read, say: qwen::say },
    Host { name: "grok", waits: 5, read: grok::read, say: grok::say },
    Host { name: "goose", waits: 30, read: goose::read, say: goose::say },
    Host { name: "cline", waits: 30, read: cline::read, say: cline::say },
    Host { name: "hermes", waits: 60, read: hermes::read, say: hermes::say },
    Host { name: "amp", waits: 600, read: plugin::read, say: plugin::say },
];

/// The agent of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Host> {
    let name = if name == "agy" { "antigravity" } else { name };
    HOSTS.iter().find(|host| host.name == name)
}

/// All names, for people.
#[must_use]
pub fn names() -> String {
    HOSTS.iter().map(|host| host.name).collect::<Vec<_>>().join(", ")
}

impl Host {
    /// Who really asks: some agents run the hooks that were set up for Claude Code, each in its own form.
    #[must_use]
    pub fn in_truth(&'static self, input: &Value) -> &'static Self {
        if self.name != "claude" {
            return self;
        }
        let has = |name: &str| input.get(name).is_some();
        let name = match () {
            () if has("cursor_version") => "cursor",
            () if has("toolInput") && has("workspaceRoot") => "grok",
            () if has("toolName") && (has("toolArgs") || has("toolInput")) => "copilot",
            () => return self,
        };
        named(name).unwrap_or(self)
    }

    /// When guard says no by itself, for an agent that waits for so many seconds: a tenth before it gives up, at least
    /// one second and at most five.
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
    use super::*;
    use crate::world::agents;

    #[test]
    fn every_host_is_an_agent_that_guard_knows() {
        for host in HOSTS.iter().filter(|host| host.name != "windsurf") {
            assert!(agents::AGENTS.iter().any(|agent| agent.name == host.name), "{}", host.name);
        }
    }

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
        let deny = Answer::Deny { reason: "because".to_owned() };
        for host in HOSTS {
            for event in [Event::Tool, Event::Permission, Event::Unknown] {
                let reply = (host.say)(event, &deny);
                let said = format!("{}{}", reply.stdout, reply.stderr);
                assert!(said.contains("because"), "{} {event:?}: {reply:?}", host.name);
                assert!(reply.code == 2 && reply.stdout.is_empty() || reply.code == 0, "{}: {reply:?}", host.name);
                assert!(!reply.stdout.contains("\"allow\""), "{}: {reply:?}", host.name);
            }
        }
    }
}
