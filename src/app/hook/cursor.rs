//! Cursor. With `failClosed` an empty answer blocks, so there always is one. `ask` blocks without asking or is not
//! enforced, so nobody is asked through it. A working directory may be empty: then it is the first workspace root.

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, first_folder, folder, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    let what = match text(input, &["hook_event_name"]) {
        Some("beforeShellExecution") => command("beforeShellExecution", input, &["command"])?,
        Some("preToolUse" | "PreToolUse") => match text(input, &["tool_name"]) {
            Some(tool @ ("Shell" | "Bash")) => command(tool, arguments, &["command"])?,
            Some(tool @ "Write") => file(tool, arguments, FILE, ChangeKind::Write)?,
            Some(tool @ ("Edit" | "StrReplace" | "MultiEdit" | "EditNotebook")) => {
                file(tool, arguments, FILE, ChangeKind::Edit)?
            }
            Some(tool @ "Delete") => file(tool, arguments, FILE, ChangeKind::Delete)?,
            Some(_) => What::Other,
            None => return Err(Wrong::new("the input names no tool")),
        },
        other => return Err(Wrong::event(other)),
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(input, &["cwd"])
            .or_else(|| folder(arguments, &["cwd", "working_directory"]))
            .or_else(|| first_folder(input, "workspace_roots")),
        session: session(input, &["conversation_id", "session_id"]),
        asks: false,
    })
}

/// The names under which a tool may name its file.
const FILE: &[&str] = &["file_path", "path", "target_file", "target_notebook"];

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    Reply::json(&match answer {
        Answer::NoOpinion | Answer::Allow => json!({ "permission": "allow" }),
        // Which of the two texts reaches the model has changed between versions.
        Answer::Ask { reason } | Answer::Deny { reason } => {
            json!({ "permission": "deny", "user_message": reason, "agent_message": reason })
        }
    })
}
