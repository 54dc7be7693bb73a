//! Copilot CLI. Its events come under two spellings with different fields; `toolArgs` may be JSON in a text. The answer
//! is one object at the top level: two of them, or one that is nested, count as none.
//!
//! Its request for permission comes before its own rules: after silence it may well run without asking anyone.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, patch, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let named = text(input, &["hook_event_name", "hookEventName", "hookName"]);
    let event = match named {
        Some("PreToolUse" | "preToolUse") => Event::Tool,
        Some("PermissionRequest" | "permissionRequest") => Event::Permission,
        Some(other) => return Err(Wrong::event(Some(other))),
        // The camelCase spelling names no event; only the request for permission calls the arguments an input.
        None if input.get("toolArgs").is_some() => Event::Tool,
        None if input.get("toolInput").is_some() => Event::Permission,
        None if input.get("toolName").is_some() => Event::Tool,
        None => return Err(Wrong::event(None)),
    };
    let what = what(input).map_err(|wrong| wrong.at(event))?;
    Ok(Call {
        event,
        what,
        cwd: folder(input, &["cwd"]),
        session: session(input, &["sessionId", "session_id"]),
        asks: event == Event::Tool,
    })
}

fn what(input: &Value) -> Result<What, Wrong> {
    let Some(tool) = text(input, &["toolName", "tool_name"]) else {
        return Err(Wrong::new("the input names no tool"));
    };
    let arguments = ["toolArgs", "toolInput", "tool_input"].iter().find_map(|name| input.get(name));
    let arguments = match arguments {
        // Some versions hand over the object as a text.
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => Cow::Owned(object),
            _ => Cow::Owned(Value::String(text.clone())),
        },
        Some(other) => Cow::Borrowed(other),
        None => Cow::Owned(Value::Null),
    };
    let arguments = arguments.as_ref();
    const FILE: &[&str] = &["path", "file_path", "filePath"];
    match tool {
        "bash" | "Bash" | "shell" | "local_shell" => command(tool, arguments, &["command"]),
        "powershell" | "PowerShell" => match text(arguments, &["command"]) {
            Some(code) => Ok(What::PowerShell(code.to_owned())),
            None => Err(Wrong::input(tool, "command")),
        },
        "create" | "Write" => file(tool, arguments, FILE, ChangeKind::Write),
        "edit" | "Edit" | "str_replace_editor" | "str_replace" | "insert" | "apply_patch" => {
            let viewed = tool == "str_replace_editor" && text(arguments, &["command"]) == Some("view");
            let text = text(arguments, &["patch", "input"]).or_else(|| arguments.as_str());
            match text {
                _ if viewed => Ok(What::Other),
                Some(text) if text.contains("*** ") => patch(tool, text),
                _ => file(tool, arguments, FILE, ChangeKind::Edit),
            }
        }
        _ => Ok(What::Other),
    }
}

pub(super) fn say(event: Event, answer: &Answer) -> Reply {
    match (event, answer) {
        (_, Answer::NoOpinion) | (Event::Unknown, Answer::Allow) => Reply::SILENCE,
        (Event::Unknown, Answer::Ask { reason } | Answer::Deny { reason }) => Reply::exit_2(reason),
        (Event::Tool, Answer::Allow) => Reply::json(&json!({ "permissionDecision": "allow" })),
        (Event::Tool, Answer::Ask { reason }) => {
            Reply::json(&json!({ "permissionDecision": "ask", "permissionDecisionReason": reason }))
        }
        (Event::Tool, Answer::Deny { reason }) => {
            Reply::json(&json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
        }
        (Event::Permission, Answer::Allow) => Reply::json(&json!({ "behavior": "allow" })),
        (Event::Permission, Answer::Ask { reason } | Answer::Deny { reason }) => {
            Reply::json(&json!({ "behavior": "deny", "message": reason }))
        }
    }
}
