//! OpenCode and Amp have no hooks that are commands, but plugins. guard's own (beside this file) hand over each tool
//! call in one form, and take anything but a clear answer for a denial.
//!
//! In: `{"tool": …, "args": {…}, "cwd": …, "session": …, "asks": false}`. Out: `{"decision": "none" | "allow" | "ask" |
//! "deny", "reason": …}`.

use serde_json::{Value, json};

use super::call::{Answer, Call, Event, Reply, What, Wrong, command, file, folder, patch, session, text};
use crate::judge::invocation::ChangeKind;

/// A plugin as guard brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// For OpenCode 1.x.
    OpenCode,
    /// For OpenCode 2.x.
    OpenCode2,
    /// For Amp.
    Amp,
}

impl Plugin {
    /// The source, which starts this guard by its path. How guard is asked is the same in all of them.
    #[must_use]
    pub fn source(self, guard: &str) -> String {
        let (source, agent) = match self {
            Self::OpenCode => (include_str!("plugins/opencode.js"), "opencode"),
            Self::OpenCode2 => (include_str!("plugins/opencode-2.js"), "opencode"),
            Self::Amp => (include_str!("plugins/amp.ts"), "amp"),
        };
        let ask = include_str!("plugins/ask.js").replace("@AGENT@", agent);
        let path = Value::from(guard).to_string();
        source.replacen("// @ASK@\n", &ask, 1).replacen(
            "const GUARD = \"guard\";",
            &format!("const GUARD = {path};"),
            1,
        )
    }
}

pub(super) fn read(input: &Value) -> Result<Call, Wrong> {
    let Some(tool) = text(input, &["tool"]) else { return Err(Wrong::new("the input names no tool")) };
    let arguments = input.get("args").unwrap_or(&Value::Null);
    const FILE: &[&str] = &["filePath", "file_path", "path"];
    let what = match tool {
        "bash" | "Bash" | "shell" | "shell_command" => command(tool, arguments, &["command", "cmd"])?,
        "write" | "create_file" => file(tool, arguments, FILE, ChangeKind::Write)?,
        "edit" | "multiedit" | "edit_file" | "undo_edit" => file(tool, arguments, FILE, ChangeKind::Edit)?,
        "patch" | "apply_patch" => match text(arguments, &["patchText", "patch", "input"]) {
            Some(text) => patch(tool, text)?,
            None => return Err(Wrong::input(tool, "patch")),
        },
        _ => What::Other,
    };
    Ok(Call {
        event: Event::Tool,
        what,
        cwd: folder(arguments, &["workdir", "cwd"]).or_else(|| folder(input, &["cwd"])),
        session: session(input, &["session"]),
        asks: input.get("asks").and_then(Value::as_bool).unwrap_or(false),
    })
}

pub(super) fn say(_: Event, answer: &Answer) -> Reply {
    Reply::json(&match answer {
        Answer::NoOpinion => json!({ "decision": "none" }),
        Answer::Allow => json!({ "decision": "allow" }),
        Answer::Ask { reason } => json!({ "decision": "ask", "reason": reason }),
        Answer::Deny { reason } => json!({ "decision": "deny", "reason": reason }),
    })
}
