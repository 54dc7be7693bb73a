//! Known agents: the programs that run commands which nobody typed, as data.
//!
//! What belongs here: names of processes and variables. An editor is no agent, though it may hold one: a person's own
//! terminal stands below it.

use crate::judge::invocation::Environment;

/// How an agent is recognised.
#[derive(Debug)]
pub struct Agent {
    /// The name that guard uses for it.
    pub name: &'static str,
    /// What its process is called (at most 15 bytes are known of a longer name).
    pub processes: &'static [&'static str],
    /// What the path of its program contains where the process is called after an interpreter (`node`, `python3`).
    pub packages: &'static [&'static str],
    /// Variables that it sets for the commands that it runs, and their value; an empty one stands for any.
    pub markers: &'static [(&'static str, &'static str)],
    /// The variable that names its session.
    pub session: Option<&'static str>,
}

/// Interpreters whose process name says nothing of what they run.
pub const INTERPRETERS: &[&str] = &["node", "MainThread", "bun", "deno", "python", "python3", "uv", "ruby"];

/// The known agents.
pub const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        processes: &["claude"],
        packages: &["/@anthropic-ai/claude-code/", "/claude-code/cli.js", "/bin/claude"],
        markers: &[("CLAUDECODE", "1"), ("CLAUDE_CODE_CHILD_SESSION", "1")],
        session: Some("CLAUDE_CODE_SESSION_ID"),
    },
    Agent {
        name: "codex",
        processes: &["codex", "codex-cli"],
        packages: &["/@openai/codex/", "/bin/codex"],
        markers: &[("CODEX_SANDBOX", ""), ("CODEX_SANDBOX_NETWORK_DISABLED", "1"), ("CODEX_THREAD_ID", "")],
        session: Some("CODEX_THREAD_ID"),
    },
    Agent {
        name: "gemini",
        processes: &["gemini"],
        packages: &["/@google/gemini-cli/", "/bin/gemini"],
        markers: &[("GEMINI_CLI", "1")],
        session: Some("GEMINI_SESSION_ID"),
    },
    Agent { name: "antigravity", processes: &["agy"], packages: &[], markers: &[], session: None },
    Agent {
        name: "cursor",
        processes: &["cursor-agent"],
        packages: &["/cursor-agent/"],
        markers: &[("CURSOR_AGENT", "1")],
        session: None,
    },
    Agent {
        name: "copilot",
        processes: &["copilot"],
        packages: &["/@github/copilot/", "/bin/copilot"],
        markers: &[("COPILOT_CLI", "1")],
        session: None,
    },
    Agent {
        name: "opencode",
        processes: &["opencode"],
        packages: &["/opencode-ai/", "/bin/opencode"],
        markers: &[("OPENCODE", "1")],
        session: None,
    },
    Agent {
        name: "droid",
        processes: &["droid"],
        packages: &["/@factory/cli/"],
        markers: &[("FACTORY_PROJECT_DIR", "")],
        session: None,
    },
    Agent {
        name: "kimi",
        processes: &["kimi", "kimi-cli"],
        packages: &["/kimi-cli/", "/bin/kimi"],
        markers: &[],
        session: None,
    },
    Agent {
        name: "qwen",
        processes: &["qwen", "qwen-code"],
        packages: &["/@qwen-code/qwen-code/", "/bin/qwen"],
        markers: &[("QWEN_CODE", "1"), ("QWEN_PROJECT_DIR", "")],
        session: None,
    },
    Agent { name: "grok", processes: &["grok"], packages: &["/grok-cli/"], markers: &[], session: None },
    Agent {
        name: "goose",
        processes: &["goose", "goosed"],
        packages: &[],
        markers: &[("GOOSE_TERMINAL", "1"), ("AGENT", "goose")],
        session: None,
    },
    Agent {
        name: "cline",
        processes: &["cline"],
        packages: &["/bin/cline"],
        markers: &[("CLINE_ACTIVE", "true")],
        session: None,
    },
    Agent {
        name: "hermes",
        processes: &["hermes"],
        packages: &["/hermes-agent/", "/bin/hermes"],
        markers: &[],
        session: None,
    },
    Agent {
        name: "amp",
        processes: &["amp"],
        packages: &["/@sourcegraph/amp/", "/bin/amp"],
        markers: &[("AGENT", "amp")],
        session: None,
    },
    Agent { name: "aider", processes: &["aider"], packages: &["/bin/aider", "/aider/"], markers: &[], session: None },
    Agent {
        name: "auggie",
        processes: &["auggie"],
        packages: &["/@augmentcode/auggie/", "/bin/auggie"],
        markers: &[("AUGMENT_AGENT", "1")],
        session: None,
    },
    Agent { name: "crush", processes: &["crush"], packages: &["/@charmland/crush/"], markers: &[], session: None },
    Agent { name: "kiro", processes: &["kiro-cli"], packages: &[], markers: &[], session: None },
];

/// The agent that a process of this name is.
#[must_use]
pub fn by_process(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.processes.contains(&name))
}

/// The agent that an interpreter with these arguments runs.
#[must_use]
pub fn by_program(arguments: &[String]) -> Option<&'static Agent> {
    let program = arguments.iter().skip(1).find(|argument| !argument.starts_with('-'))?;
    AGENTS.iter().find(|agent| {
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
    AGENTS.iter().find(|agent| agent.markers.iter().any(set))
}
