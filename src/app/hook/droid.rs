//! Factory Droid: Claude Code's form with tools of its own.

use serde_json::Value;

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, patch, session, text};
use super::claude;
use crate::judge::invocation::ChangeKind;

/// Modes in which a question is put to a person; of the highest it is not known.
const ASKING: &[&str] = &["off", "spec", "auto-low", "auto-medium"];

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    match text(input, &["hook_event_name"]) {
        Some("PreToolUse") => {}
        other => return Err(Wrong::event(other)),
    }
    let Some(tool) = text(input, &["tool_name"]) else { return Err(Wrong::new("the input names no tool")) };
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    const FILE: &[&str] = &["file_path", "path"];
    let what = match tool {
        "Execute" | "Bash" => command(tool, arguments, &["command"])?,
        "Create" | "Write" => file(tool, arguments, FILE, ChangeKind::Write)?,
        "Edit" | "MultiEdit" => file(tool, arguments, FILE, ChangeKind::Edit)?,
        "ApplyPatch" => match text(arguments, &["input", "patch"]) {
            Some(text) => patch(tool, text)?,
            None => return Err(Wrong::input(tool, "patch")),
        },
        _ => What::Other,
    };
    let mode = text(input, &["permission_mode"]);
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(input, &["cwd"]),
        session: session(input, &["session_id"]),
        asks: mode.is_some_and(|mode| ASKING.contains(&mode)),
    })
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    match answer {
        Answer::NoOpinion => Reply::SILENCE,
        Answer::Allow => claude::decision("allow", None),
        Answer::Ask { reason } => claude::decision("ask", Some(reason)),
        Answer::Deny { reason } => Reply::exit_2(reason),
    }
}
