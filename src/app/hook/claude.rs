//! Claude Code. `PreToolUse` before each tool; `PermissionRequest` when it would ask its user.
//!
//! A denial of a tool's use is exit code 2 and the reason on standard error: that holds in every mode, and with the
//! other agents that read Claude Code's settings. `PermissionRequest` does not heed exit codes, so there it is JSON.

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, session, text};
use crate::judge::invocation::ChangeKind;

/// Modes in which `ask` is put to a person. The others decide without one, or nothing says that they do not.
const ASKING: &[&str] = &["default", "plan", "acceptEdits"];

/// The names under which a tool may name its file.
const FILE: &[&str] = &["file_path", "filePath", "path"];

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let event = match text(input, &["hook_event_name", "hookEventName"]) {
        Some("PreToolUse") => Event::Tool,
        Some("PermissionRequest") => Event::Permission,
        other => return Err(Wrong::event(other)),
    };
    // Other agents read the same settings and would not understand the question.
    let own = input.get("transcript_path").is_some() && input.get("turn_id").is_none();
    let mode = text(input, &["permission_mode"]);
    Ok(Call {
        event,
        what: what(input).map_err(|wrong| wrong.at(event))?,
        cwd: folder(input, &["cwd"]),
        session: session(input, &["session_id", "sessionId"]),
        // At a permission request the user is about to be asked, whatever the mode.
        asks: event == Event::Permission || own && mode.is_some_and(|mode| ASKING.contains(&mode)),
    })
}

fn what(input: &Value) -> Result<What, Wrong> {
    let Some(tool) = text(input, &["tool_name"]) else { return Err(Wrong::new("the input names no tool")) };
    used(tool, input.get("tool_input").unwrap_or(&Value::Null))
}

/// What a tool does with these arguments.
pub(in crate::app) fn used(tool: &str, arguments: &Value) -> Result<What, Wrong> {
    match tool {
        // The second half are those of editors that run the same hooks.
        "Bash" | "Monitor" | "run_in_terminal" | "runInTerminal" | "runTerminalCommand" => {
            command(tool, arguments, &["command"])
        }
        "PowerShell" => match text(arguments, &["command"]) {
            Some(code) => Ok(What::PowerShell(code.to_owned())),
            None => Err(Wrong::input(tool, "command")),
        },
        "Write" | "create_file" => file(tool, arguments, FILE, ChangeKind::Write),
        "Edit" | "MultiEdit" | "Update" | "replace_string_in_file" => file(tool, arguments, FILE, ChangeKind::Edit),
        "NotebookEdit" => file(tool, arguments, &["notebook_path", "file_path"], ChangeKind::Edit),
        _ => Ok(What::Other),
    }
}

pub(super) fn say(event: Event, answer: &Answer) -> Reply {
    match event {
        Event::Tool | Event::Unknown => match answer {
            Answer::NoOpinion => Reply::SILENCE,
            Answer::Allow => decision("allow", None),
            Answer::Ask { reason } => decision("ask", Some(reason)),
            Answer::Deny { reason } => Reply::exit_2(reason),
        },
        Event::Permission => permission(answer),
    }
}

/// The decision on a tool's use that several agents take from Claude Code.
pub(super) fn decision(word: &str, reason: Option<&str>) -> Reply {
    let mut output = json!({ "hookEventName": "PreToolUse", "permissionDecision": word });
    if let (Some(reason), Some(fields)) = (reason, output.as_object_mut()) {
        fields.insert("permissionDecisionReason".to_owned(), reason.into());
    }
    Reply::json(&json!({ "hookSpecificOutput": output }))
}

/// The decision on a request for permission. Silence lets the host go on and ask.
pub(super) fn permission(answer: &Answer) -> Reply {
    let decision = match answer {
        Answer::NoOpinion | Answer::Ask { .. } => return Reply::SILENCE,
        Answer::Allow => json!({ "behavior": "allow" }),
        Answer::Deny { reason } => json!({ "behavior": "deny", "message": reason }),
    };
    Reply::json(&json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } }))
}
