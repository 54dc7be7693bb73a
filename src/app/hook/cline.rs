//! Cline. It reads JSON alone and never looks at the exit code. Its newer form can put a call to its user (`review`);
//! the older one can only cancel it.

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, first_folder, patch, session, text, words};
use crate::judge::invocation::ChangeKind;

const FILE: &[&str] = &["path", "file_path", "filePath", "absolutePath"];

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let (what, newer) = match text(input, &["hookName", "hook_event_name"]) {
        Some("tool_call") => (newer(input.get("tool_call").unwrap_or(&Value::Null))?, true),
        Some("PreToolUse") => (older(input.get("preToolUse").unwrap_or(&Value::Null))?, false),
        other => return Err(Wrong::event(other)),
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: first_folder(input, "workspaceRoots"),
        session: session(input, &["taskId"]),
        asks: newer,
    })
}

fn newer(call: &Value) -> Result<What, Wrong> {
    let Some(tool) = text(call, &["name"]) else { return Err(Wrong::new("the tool call names no tool")) };
    let input = call.get("input").unwrap_or(&Value::Null);
    match tool {
        "run_commands" | "execute_command" | "bash" => {
            let found = ["commands", "command"].iter().find_map(|name| input.get(name)).unwrap_or(&Value::Null);
            match (found.as_str(), words(found)) {
                (Some(text), _) => Ok(What::Line(text.to_owned())),
                // Each entry is a command of its own.
                (None, Some(commands)) if !commands.is_empty() => Ok(What::Line(commands.join("\n"))),
                _ => Err(Wrong::input(tool, "command")),
            }
        }
        "apply_patch" => match text(input, &["input", "patch"]) {
            Some(text) => patch(tool, text),
            None => Err(Wrong::input(tool, "patch")),
        },
        "write_to_file" | "write_file" => file(tool, input, FILE, ChangeKind::Write),
        "editor" | "edit_file" | "replace_in_file" => file(tool, input, FILE, ChangeKind::Edit),
        _ => Ok(What::Other),
    }
}

fn older(call: &Value) -> Result<What, Wrong> {
    let Some(tool) = text(call, &["toolName", "tool"]) else { return Err(Wrong::new("the tool call names no tool")) };
    let input = call.get("parameters").unwrap_or(&Value::Null);
    match tool {
        "execute_command" => command(tool, input, &["command"]),
        "write_to_file" | "new_rule" => file(tool, input, FILE, ChangeKind::Write),
        "replace_in_file" => file(tool, input, FILE, ChangeKind::Edit),
        "apply_patch" => match text(input, &["input", "patch"]) {
            Some(text) => patch(tool, text),
            None => Err(Wrong::input(tool, "patch")),
        },
        _ => Ok(What::Other),
    }
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    Reply::json(&match answer {
        Answer::NoOpinion | Answer::Allow => json!({}),
        Answer::Ask { reason } => json!({ "review": true, "context": reason }),
        Answer::Deny { reason } => json!({ "cancel": true, "errorMessage": reason }),
    })
}
