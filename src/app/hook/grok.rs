//! Grok CLI. A denial is honoured at any exit code. It asks only where it draws on a terminal, which the input does not
//! tell, so nobody is asked through it.

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    match text(input, &["hookEventName", "hook_event_name", "event"]) {
        None | Some("PreToolUse" | "preToolUse" | "pre_tool_use") => {}
        other => return Err(Wrong::event(other)),
    }
    let Some(tool) = text(input, &["toolName", "tool_name"]) else {
        return Err(Wrong::new("the input names no tool"));
    };
    let arguments = input.get("toolInput").or_else(|| input.get("tool_input")).unwrap_or(&Value::Null);
    const FILE: &[&str] = &["path", "file_path", "filePath", "target_file"];
    let what = match tool {
        "run_terminal_command" | "run_terminal_cmd" | "Bash" | "bash" => command(tool, arguments, &["command"])?,
        "write_file" | "create_file" | "Write" => file(tool, arguments, FILE, ChangeKind::Write)?,
        "search_replace" | "str_replace_editor" | "edit_file" | "Edit" => {
            file(tool, arguments, FILE, ChangeKind::Edit)?
        }
        _ => What::Other,
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(input, &["cwd", "workspaceRoot"]),
        session: session(input, &["sessionId", "session_id"]),
        asks: false,
    })
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
