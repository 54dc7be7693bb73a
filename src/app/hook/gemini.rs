//! Gemini CLI. It reads JSON before it looks at the exit code, and takes exit 2 without a text for consent. That it
//! knows `ask` is not documented, so nobody is asked through it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    match text(input, &["hook_event_name"]) {
        Some("BeforeTool") => {}
        other => return Err(Wrong::event(other)),
    }
    let Some(tool) = text(input, &["tool_name"]) else { return Err(Wrong::new("the input names no tool")) };
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    let cwd = folder(input, &["cwd"]);
    // The tool runs in a folder of its own, seen from the session's.
    let inner = if tool == "run_shell_command" { folder(arguments, &["dir_path", "directory"]) } else { None };
    Ok(Call {
        event: Event::Tool,
        what: used(tool, arguments)?,
        cwd: match inner {
            Some(inner) => Some(cwd.unwrap_or_else(|| PathBuf::from(".")).join(inner)),
            None => cwd,
        },
        session: session(input, &["session_id"]),
        asks: false,
    })
}

/// What a tool of Gemini CLI and its descendants does.
pub(in crate::app) fn used(tool: &str, arguments: &Value) -> Result<What, Wrong> {
    match tool {
        "run_shell_command" => command(tool, arguments, &["command"]),
        "write_file" => file(tool, arguments, &["file_path", "path"], ChangeKind::Write),
        "replace" | "edit" | "edit_file" => file(tool, arguments, &["file_path", "path"], ChangeKind::Edit),
        _ => Ok(What::Other),
    }
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    match answer {
        Answer::NoOpinion => Reply::SILENCE,
        Answer::Allow => Reply::json(&json!({ "decision": "allow" })),
        Answer::Ask { reason } | Answer::Deny { reason } => {
            Reply::json(&json!({ "decision": "deny", "reason": reason }))
        }
    }
}
