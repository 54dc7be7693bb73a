//! Windsurf (Cascade). It looks at the exit code alone: 2 blocks, and its standard error is shown to the model.

use serde_json::Value;

use super::call::{Answer, Call, Event, Reply, Wrong, command, file, folder, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let about = input.get("tool_info").unwrap_or(&Value::Null);
    let what = match text(input, &["agent_action_name"]) {
        Some(event @ "pre_run_command") => command(event, about, &["command_line", "command"])?,
        Some(event @ "pre_write_code") => file(event, about, &["file_path", "path"], ChangeKind::Edit)?,
        other => return Err(Wrong::event(other)),
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(about, &["cwd"]),
        session: session(input, &["trajectory_id"]),
        asks: false,
    })
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    match answer {
        Answer::NoOpinion | Answer::Allow => Reply::SILENCE,
        Answer::Ask { reason } | Answer::Deny { reason } => Reply::exit_2(reason),
    }
}
