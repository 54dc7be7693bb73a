//! Kimi CLI. Exit code 2 with a reason on standard error blocks; it knows neither `allow` nor `ask`.

use serde_json::Value;

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    match text(input, &["hook_event_name"]) {
        Some("PreToolUse") => {}
        other => return Err(Wrong::event(other)),
    }
    let Some(tool) = text(input, &["tool_name"]) else { return Err(Wrong::new("the input names no tool")) };
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    let what = match tool {
        "Shell" | "Bash" => command(tool, arguments, &["command"])?,
        "WriteFile" => file(tool, arguments, &["path", "file_path"], ChangeKind::Write)?,
        "StrReplaceFile" => file(tool, arguments, &["path", "file_path"], ChangeKind::Edit)?,
        _ => What::Other,
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(input, &["cwd"]),
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
