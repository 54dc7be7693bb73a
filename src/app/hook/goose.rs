//! Goose. Exit code 2 with a reason on standard error blocks; there is no question to hand on.

use serde_json::Value;

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    match text(input, &["event", "hook_event_name"]) {
        Some("PreToolUse" | "BeforeShellExecution") => {}
        other => return Err(Wrong::event(other)),
    }
    let Some(tool) = text(input, &["tool_name", "matcher_context"]) else {
        return Err(Wrong::new("the input names no tool"));
    };
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    // Tools are named after the extension that brings them.
    let plain = tool.rsplit("__").next().unwrap_or(tool);
    let what = match plain {
        "shell" => command(tool, arguments, &["command"])?,
        "text_editor" => match text(arguments, &["command"]) {
            Some("view" | "undo_edit") => What::Other,
            Some("write" | "create") => file(tool, arguments, &["path"], ChangeKind::Write)?,
            _ => file(tool, arguments, &["path"], ChangeKind::Edit)?,
        },
        "write" => file(tool, arguments, &["path"], ChangeKind::Write)?,
        "edit" => file(tool, arguments, &["path"], ChangeKind::Edit)?,
        _ => What::Other,
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(input, &["working_dir", "cwd"]),
        session: session(input, &["session_id"]),
        asks: false,
    })
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    match answer {
        Answer::NoOpinion | Answer::Allow => Reply::SILENCE,
        Answer::Ask { reason } | Answer::Deny { reason } => Reply::exit_2(reason),
    }
}
