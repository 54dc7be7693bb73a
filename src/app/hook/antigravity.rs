//! Antigravity (`agy`). Every answer must hold a decision: `allow` only hands it on, `auto_approve` grants, `force_ask`
//! always asks.

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, first_folder, folder, session, text};
use crate::judge::invocation::ChangeKind;

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let Some(call) = input.get("toolCall") else { return Err(Wrong::new("the input holds no tool call")) };
    let Some(tool) = text(call, &["name"]) else { return Err(Wrong::new("the tool call names no tool")) };
    let arguments = call.get("args").unwrap_or(&Value::Null);
    const FILE: &[&str] = &["TargetFile", "AbsolutePath", "FilePath"];
    let what = match tool {
        "run_command" => command(tool, arguments, &["CommandLine", "Command"])?,
        "write_to_file" => file(tool, arguments, FILE, ChangeKind::Write)?,
        "replace_file_content" | "multi_replace_file_content" => file(tool, arguments, FILE, ChangeKind::Edit)?,
        _ => What::Other,
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(arguments, &["Cwd"]).or_else(|| first_folder(input, "workspacePaths")),
        session: session(input, &["conversationId"]),
        asks: true,
    })
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    Reply::json(&match answer {
        Answer::NoOpinion => json!({ "decision": "allow" }),
        Answer::Allow => json!({ "decision": "auto_approve" }),
        Answer::Ask { reason } => json!({ "decision": "force_ask", "reason": reason }),
        Answer::Deny { reason } => json!({ "decision": "deny", "reason": reason }),
    })
}
