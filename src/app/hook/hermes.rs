//! Hermes. It reads JSON alone; the exit code says nothing. It has no question to hand on.

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, patch, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    match text(input, &["hook_event_name"]) {
        Some("pre_tool_call") => {}
        other => return Err(Wrong::event(other)),
    }
    let Some(tool) = text(input, &["tool_name"]) else { return Err(Wrong::new("the input names no tool")) };
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    let what = match tool {
        "terminal" => command(tool, arguments, &["command"])?,
        "write_file" => file(tool, arguments, &["path", "file_path"], ChangeKind::Write)?,
        "patch" | "edit_file" => match text(arguments, &["patch"]) {
            Some(text) if text.contains("*** ") => patch(tool, text)?,
            _ => file(tool, arguments, &["path", "file_path"], ChangeKind::Edit)?,
        },
        _ => What::Other,
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(arguments, &["workdir"]).or_else(|| folder(input, &["cwd"])),
        session: session(input, &["session_id"]),
        asks: false,
    })
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    match answer {
        Answer::NoOpinion | Answer::Allow => Reply::SILENCE,
        Answer::Ask { reason } | Answer::Deny { reason } => {
            Reply::json(&json!({ "decision": "block", "reason": reason }))
        }
    }
}
