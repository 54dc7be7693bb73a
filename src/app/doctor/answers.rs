//! What an agent would do with an answer: the agent's own reading of it, not guard's.

use serde_json::Value;

use crate::app::install::hosts::Reads;
use crate::exec::trial::Seen;

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
pub fn taken(reads: Reads, event: &str, seen: &Seen) -> Taken {
    let (out, errors) = (seen.stdout.trim(), seen.stderr.trim());
    let json: Option<Value> = serde_json::from_str(out).ok();
    let at = |path: &str| json.as_ref().and_then(|json| json.pointer(path)).and_then(Value::as_str).unwrap_or_default();
    let word = |word: &str| match word {
        "deny" | "block" => Some(Taken::Blocked),
        "ask" | "force_ask" | "ask_user" => Some(Taken::Asked),
        _ => None,
    };
    let Some(code) = seen.code else { return Taken::Failed };
    let otherwise = if code == 0 { Taken::Free } else { Taken::Failed };
    match reads {
        Reads::Claude if event == "PermissionRequest" => match at("/hookSpecificOutput/decision/behavior") {
            "deny" => Taken::Blocked,
            _ => otherwise,
        },
        Reads::Claude if code == 2 && !errors.is_empty() => Taken::Blocked,
        // Without a reason one of these agents runs the command.
        Reads::Claude => match word(at("/hookSpecificOutput/permissionDecision")) {
            Some(Taken::Blocked) if at("/hookSpecificOutput/permissionDecisionReason").is_empty() => Taken::Failed,
            Some(taken) if code == 0 => taken,
            _ => otherwise,
        },
        Reads::Gemini => match (json.is_some(), code) {
            (true, _) => word(at("/decision")).unwrap_or(Taken::Free),
            (false, 2..) if !out.is_empty() || !errors.is_empty() => Taken::Blocked,
            _ => otherwise,
        },
        Reads::KeyOrCode(..) if code == 2 && !errors.is_empty() && out.is_empty() => Taken::Blocked,
        Reads::Key(key, words) | Reads::KeyOrCode(key, words) => {
            let found = at(&format!("/{key}"));
            if words.contains(&found) { Taken::Blocked } else { word(found).unwrap_or(otherwise) }
        }
        Reads::Copilot if code != 0 => Taken::Blocked,
        Reads::Copilot => word(at("/permissionDecision")).unwrap_or(Taken::Free),
        Reads::Cline => {
            let set = |key: &str| json.as_ref().and_then(|json| json.get(key)).and_then(Value::as_bool) == Some(true);
            match (json.is_some(), set("cancel"), set("review")) {
                (_, true, _) => Taken::Blocked,
                (_, _, true) => Taken::Asked,
                (true, ..) => Taken::Free,
                _ => Taken::Failed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(code: i32, stdout: &str, stderr: &str) -> Seen {
        Seen { code: Some(code), stdout: stdout.into(), stderr: stderr.into(), late: false }
    }

    #[test]
    fn exit_2_without_a_reason_blocks_nobody() {
        for reads in [Reads::Claude, Reads::Gemini, Reads::KeyOrCode("decision", &["deny"])] {
            assert_eq!(taken(reads, "PreToolUse", &seen(2, "", "no")), Taken::Blocked);
            assert_eq!(taken(reads, "PreToolUse", &seen(2, "", "")), Taken::Failed);
        }
    }

    #[test]
    fn exit_2_is_nothing_to_those_that_read_json_alone() {
        assert_eq!(taken(Reads::Cline, "PreToolUse", &seen(2, "", "no")), Taken::Failed);
        assert_eq!(taken(Reads::Key("decision", &["block"]), "pre_tool_call", &seen(2, "", "no")), Taken::Failed);
        assert_eq!(taken(Reads::Claude, "PermissionRequest", &seen(2, "", "no")), Taken::Failed);
    }

    #[test]
    fn a_shell_that_finds_no_guard_is_a_failed_hook() {
        for reads in [Reads::Claude, Reads::Key("decision", &["block"]), Reads::KeyOrCode("", &[]), Reads::Cline] {
            assert_eq!(taken(reads, "PreToolUse", &seen(127, "", "sh: not found")), Taken::Failed);
        }
    }

    #[test]
    fn each_takes_its_own_words() {
        let denied = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"x"}}"#;
        assert_eq!(taken(Reads::Claude, "PreToolUse", &seen(0, denied, "")), Taken::Blocked);
        assert_eq!(taken(Reads::Claude, "PreToolUse", &seen(0, &denied.replace("x", ""), "")), Taken::Failed);
        assert_eq!(taken(Reads::Gemini, "BeforeTool", &seen(2, "{}", "no")), Taken::Free);
        assert_eq!(taken(Reads::Cline, "", &seen(0, r#"{"cancel":true}"#, "")), Taken::Blocked);
        assert_eq!(taken(Reads::Copilot, "", &seen(1, "", "")), Taken::Blocked);
        assert_eq!(
            taken(Reads::Key("decision", &["deny"]), "", &seen(0, r#"{"decision":"force_ask"}"#, "")),
            Taken::Asked
        );
        let permission = r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"x"}}}"#;
        assert_eq!(taken(Reads::Claude, "PermissionRequest", &seen(0, permission, "")), Taken::Blocked);
    }
}
