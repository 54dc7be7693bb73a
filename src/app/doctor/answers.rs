//! Determines how an agent reacts to a hook's answer, according to the agent's own protocol.

use serde_json::Value;

use crate::app::install::hosts::{AnswerReading, ExitCodes, Reason};
use crate::exec::probe::ProbeOutput;

/// The reaction of an agent to an answer about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentReaction {
    /// The agent does not run it.
    Blocked,
    /// The agent continues with its own permission checks.
    Free,
    /// The agent asks its user.
    Asked,
    /// The agent treats the hook as failed. Most agents then run the command.
    Failed,
}

/// Returns how an agent reacts to an answer to one of its events.
#[must_use]
pub fn agent_reaction(reads: &AnswerReading, event: &str, seen: &ProbeOutput) -> AgentReaction {
    let (out, errors) = (seen.stdout.trim(), seen.stderr.trim());
    let json: Option<Value> = serde_json::from_str(out).ok();
    let Some(code) = seen.code else { return AgentReaction::Failed };
    let otherwise = if code == 0 { AgentReaction::Free } else { AgentReaction::Failed };
    let at = |path: &str| match json.as_ref().and_then(|json| json.pointer(path)) {
        Some(Value::String(text)) => text.clone(),
        Some(is @ (Value::Bool(_) | Value::Object(_))) => is.to_string(),
        _ => String::new(),
    };
    let own = reads.keys.iter().any(|key| key.event == event && !event.is_empty());
    let keys = || reads.keys.iter().filter(|key| key.event == if own { event } else { "" });
    let by_json = || {
        keys().find_map(|key| {
            let word = at(&key.at);
            let taken = match () {
                // Some agents run the command if the answer has no reason.
                () if key.blocks.contains(&word) && !key.with.is_empty() && at(&key.with).is_empty() => {
                    AgentReaction::Failed
                }
                () if key.blocks.contains(&word) => AgentReaction::Blocked,
                () if key.asks.contains(&word) => AgentReaction::Asked,
                () => return None,
            };
            (taken == AgentReaction::Failed || !key.code_0 || code == 0).then_some(taken)
        })
    };
    // An event with keywords of its own ignores exit codes.
    if own {
        return by_json().unwrap_or(otherwise);
    }
    match json.is_some() {
        false if reads.json_alone => return AgentReaction::Failed,
        true if reads.json_first || reads.json_alone => return by_json().unwrap_or(AgentReaction::Free),
        _ => {}
    }
    let has_reason = match reads.reason {
        Reason::None => true,
        Reason::Err => !errors.is_empty(),
        Reason::ErrAlone => !errors.is_empty() && out.is_empty(),
        Reason::Either => !out.is_empty() || !errors.is_empty(),
    };
    let is_denial = match reads.codes {
        ExitCodes::None => false,
        ExitCodes::Two => code == 2,
        ExitCodes::Above => code >= 2,
        ExitCodes::Any => code != 0,
    };
    if is_denial && has_reason {
        return AgentReaction::Blocked;
    }
    by_json().unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::install::hosts::by_name;

    fn seen(code: i32, stdout: &str, stderr: &str) -> ProbeOutput {
        ProbeOutput { code: Some(code), stdout: stdout.into(), stderr: stderr.into(), late: false }
    }

    fn reads(agent: &str) -> &'static AnswerReading {
        &by_name(agent).unwrap().config.reads
    }

    #[test]
    fn exit_2_without_a_reason_blocks_nobody() {
        for agent in ["claude", "gemini", "cursor", "grok"] {
            assert_eq!(
                agent_reaction(reads(agent), "PreToolUse", &seen(2, "", "no")),
                AgentReaction::Blocked,
                "{agent}"
            );
            assert_eq!(agent_reaction(reads(agent), "PreToolUse", &seen(2, "", "")), AgentReaction::Failed, "{agent}");
        }
    }

    #[test]
    fn exit_2_is_nothing_to_those_that_read_json_alone() {
        assert_eq!(agent_reaction(reads("cline"), "PreToolUse", &seen(2, "", "no")), AgentReaction::Failed);
        assert_eq!(agent_reaction(reads("hermes"), "pre_tool_call", &seen(2, "", "no")), AgentReaction::Failed);
        assert_eq!(agent_reaction(reads("claude"), "PermissionRequest", &seen(2, "", "no")), AgentReaction::Failed);
    }

    #[test]
    fn a_shell_that_finds_no_guard_is_a_failed_hook() {
        for agent in ["claude", "hermes", "windsurf", "cline"] {
            assert_eq!(
                agent_reaction(reads(agent), "PreToolUse", &seen(127, "", "sh: not found")),
                AgentReaction::Failed,
                "{agent}"
            );
        }
    }

    #[test]
    fn each_takes_its_own_words() {
        let denied = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"x"}}"#;
        assert_eq!(agent_reaction(reads("claude"), "PreToolUse", &seen(0, denied, "")), AgentReaction::Blocked);
        assert_eq!(
            agent_reaction(reads("claude"), "PreToolUse", &seen(0, &denied.replace('x', ""), "")),
            AgentReaction::Failed
        );
        assert_eq!(agent_reaction(reads("gemini"), "BeforeTool", &seen(2, "{}", "no")), AgentReaction::Free);
        assert_eq!(agent_reaction(reads("cline"), "", &seen(0, r#"{"cancel":true}"#, "")), AgentReaction::Blocked);
        let emptied = r#"{"overrideInput":{},"context":"x"}"#;
        assert_eq!(agent_reaction(reads("cline"), "", &seen(0, emptied, "")), AgentReaction::Blocked);
        assert_eq!(
            agent_reaction(reads("cline"), "", &seen(0, &emptied.replace("{}", r#"{"a":1}"#), "")),
            AgentReaction::Free
        );
        assert_eq!(agent_reaction(reads("copilot"), "", &seen(1, "", "")), AgentReaction::Blocked);
        let forced = seen(0, r#"{"decision":"force_ask"}"#, "");
        assert_eq!(agent_reaction(reads("antigravity"), "", &forced), AgentReaction::Asked);
        let permission = r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"x"}}}"#;
        assert_eq!(
            agent_reaction(reads("claude"), "PermissionRequest", &seen(0, permission, "")),
            AgentReaction::Blocked
        );
    }
}
