//! Codex CLI. It takes an answer with any key that it does not know for a failed hook, and runs the command: also after
//! `ask`, a bare `allow` and a denial without a reason. So nothing is said that it does not need.

use serde_json::Value;

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, folder, patch, session, text};
use super::claude;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let event = match text(input, &["hook_event_name"]) {
        Some("PreToolUse") => Event::Tool,
        Some("PermissionRequest") => Event::Permission,
        other => return Err(Wrong::event(other)),
    };
    Ok(Call {
        event,
        what: what(input).map_err(|wrong| wrong.at(event))?,
        cwd: folder(input, &["cwd"]),
        session: session(input, &["session_id"]),
        asks: event == Event::Permission,
    })
}

fn what(input: &Value) -> Result<What, Wrong> {
    let Some(tool) = text(input, &["tool_name"]) else { return Err(Wrong::new("the input names no tool")) };
    used(tool, input.get("tool_input").unwrap_or(&Value::Null))
}

/// What a tool does with these arguments.
pub(in crate::app) fn used(tool: &str, arguments: &Value) -> Result<What, Wrong> {
    match tool {
        "Bash" | "shell" | "shell_command" | "container.exec" | "local_shell" | "exec_command" | "unified_exec" => {
            command(tool, arguments, &["command", "cmd"])
        }
        "apply_patch" => match text(arguments, &["command", "input", "patch"]).or_else(|| arguments.as_str()) {
            Some(text) => patch(tool, text),
            None => Err(Wrong::input(tool, "patch")),
        },
        _ => Ok(What::Other),
    }
}

pub(super) fn say(event: Event, answer: &Answer) -> Reply {
    match (event, answer) {
        (Event::Unknown, Answer::Deny { reason } | Answer::Ask { reason }) => Reply::exit_2(reason),
        (Event::Tool, Answer::Deny { reason } | Answer::Ask { reason }) => claude::decision("deny", Some(reason)),
        (Event::Tool | Event::Unknown, Answer::NoOpinion | Answer::Allow) => Reply::SILENCE,
        (Event::Permission, answer) => claude::permission(answer),
    }
}
