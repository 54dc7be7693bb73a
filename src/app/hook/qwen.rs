//! Qwen Code: Claude Code's form with Gemini CLI's tools. `ask` prompts even where everything is allowed, and is a
//! denial where nobody can be prompted.

use std::path::PathBuf;

use serde_json::Value;

use super::call::{Answer, Call, Event, Reply, Wrong, folder, session, text};
use super::{claude, gemini};

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    match text(input, &["hook_event_name"]) {
        Some("PreToolUse") => {}
        other => return Err(Wrong::event(other)),
    }
    let Some(tool) = text(input, &["tool_name"]) else { return Err(Wrong::new("the input names no tool")) };
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    let cwd = folder(input, &["cwd"]);
    let inner = if tool == "run_shell_command" { folder(arguments, &["directory", "dir_path"]) } else { None };
    Ok(Call {
        event: Event::Tool,
        what: gemini::used(tool, arguments)?,
        cwd: match inner {
            Some(inner) => Some(cwd.unwrap_or_else(|| PathBuf::from(".")).join(inner)),
            None => cwd,
        },
        session: session(input, &["session_id"]),
        asks: true,
    })
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    match answer {
        Answer::NoOpinion => Reply::SILENCE,
        Answer::Allow => claude::decision("allow", Some("guard has nothing against it")),
        Answer::Ask { reason } => claude::decision("ask", Some(reason)),
        Answer::Deny { reason } => claude::decision("deny", Some(reason)),
    }
}
