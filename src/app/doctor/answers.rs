//! What an agent would do with an answer: the agent's own reading of it, not guard's.

use serde_json::Value;

use crate::app::install::hosts::{Codes, Reads, Reason};
use crate::exec::probe::Seen;

/// What becomes of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The agent does not run it.
    Blocked,
    /// The agent goes on to its own permissions.
    Free,
    /// The agent asks its user.
    Asked,
    /// The agent takes the hook for a failed one; most run the command then.
    Failed,
}

/// How an agent takes an answer at one of its events.
#[must_use]
pub fn taken(reads: &Reads, event: &str, seen: &Seen) -> Taken {
    let (out, errors) = (seen.stdout.trim(), seen.stderr.trim());
    let json: Option<Value> = serde_json::from_str(out).ok();
    let Some(code) = seen.code else { return Taken::Failed };
    let otherwise = if code == 0 { Taken::Free } else { Taken::Failed };
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
                // Without a reason some agents run the command.
                () if key.blocks.contains(&word) && !key.with.is_empty() && at(&key.with).is_empty() => Taken::Failed,
                () if key.blocks.contains(&word) => Taken::Blocked,
                () if key.asks.contains(&word) => Taken::Asked,
                () => return None,
            };
            (taken == Taken::Failed || !key.code_0 || code == 0).then_some(taken)
        })
    };
    // What has words of its own for an event does not heed exit codes there.
    if own {
        return by_json().unwrap_or(otherwise);
    }
    match json.is_some() {
        false if reads.json_alone => return Taken::Failed,
        true if reads.json_first || reads.json_alone => return by_json().unwrap_or(Taken::Free),
        _ => {}
    }
    let has_reason = match reads.reason {
        Reason::None => true,
        Reason::Err => !errors.is_empty(),
        Reason::ErrAlone => !errors.is_empty() && out.is_empty(),
        Reason::Either => !out.is_empty() || !errors.is_empty(),
    };
    let is_denial = match reads.codes {
        Codes::None => false,
        Codes::Two => code == 2,
        Codes::Above => code >= 2,
        Codes::Any => code != 0,
    };
    if is_denial && has_reason {
        return Taken::Blocked;
    }
    by_json().unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::install::hosts::by_name;

    fn seen(code: i32, stdout: &str, stderr: &str) -> Seen {
        Seen { code: Some(code), stdout: stdout.into(), stderr: stderr.into(), late: false }
    }

    fn reads(agent: &str) -> &'static Reads {
        &by_name(agent).unwrap().config.reads
    }

    #[test]
    fn exit_2_without_a_reason_blocks_nobody() {
        for agent in ["claude", "gemini", "cursor", "grok"] {
            assert_eq!(taken(reads(agent), "PreToolUse", &seen(2, "", "no")), Taken::Blocked, "{agent}");
            assert_eq!(taken(reads(agent), "PreToolUse", &seen(2, "", "")), Taken::Failed, "{agent}");
        }
    }

    #[test]
    fn exit_2_is_nothing_to_those_that_read_json_alone() {
        assert_eq!(taken(reads("cline"), "PreToolUse", &seen(2, "", "no")), Taken::Failed);
        assert_eq!(taken(reads("hermes"), "pre_tool_call", &seen(2, "", "no")), Taken::Failed);
        assert_eq!(taken(reads("claude"), "PermissionRequest", &seen(2, "", "no")), Taken::Failed);
    }

    #[test]
    fn a_shell_that_finds_no_guard_is_a_failed_hook() {
        for agent in ["claude", "hermes", "windsurf", "cline"] {
            assert_eq!(taken(reads(agent), "PreToolUse", &seen(127, "", "sh: not found")), Taken::Failed, "{agent}");
        }
    }

    #[test]
    fn each_takes_its_own_words() {
        let denied = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"x"}}"#;
        assert_eq!(taken(reads("claude"), "PreToolUse", &seen(0, denied, "")), Taken::Blocked);
        assert_eq!(taken(reads("claude"), "PreToolUse", &seen(0, &denied.replace('x', ""), "")), Taken::Failed);
        assert_eq!(taken(reads("gemini"), "BeforeTool", &seen(2, "{}", "no")), Taken::Free);
        assert_eq!(taken(reads("cline"), "", &seen(0, r#"{"cancel":true}"#, "")), Taken::Blocked);
        let emptied = r#"{"overrideInput":{},"context":"x"}"#;
        assert_eq!(taken(reads("cline"), "", &seen(0, emptied, "")), Taken::Blocked);
        assert_eq!(taken(reads("cline"), "", &seen(0, &emptied.replace("{}", r#"{"a":1}"#), "")), Taken::Free);
        assert_eq!(taken(reads("copilot"), "", &seen(1, "", "")), Taken::Blocked);
        let forced = seen(0, r#"{"decision":"force_ask"}"#, "");
        assert_eq!(taken(reads("antigravity"), "", &forced), Taken::Asked);
        let permission = r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"x"}}}"#;
        assert_eq!(taken(reads("claude"), "PermissionRequest", &seen(0, permission, "")), Taken::Blocked);
    }
}
