//! Provides a home with a guard in it, and hosts that call its hook.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::harness::home::Home;

/// Starts a command, writes this input to it, and returns its output.
pub fn fed(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A command that answers early need not read its whole input.
    let _ = writer.join().unwrap();
    output
}

/// Returns guard's answer to this agent's input, without waiting for a person.
pub fn hook(home: &Home, agent: &str, input: &str) -> Output {
    fed(home.guard(&["hook", "--agent", agent]).env("GUARD_WAIT", "0"), input.as_bytes())
}

/// Returns an input for Claude Code's hook before a shell command.
pub fn bash(home: &Home, command: &str) -> String {
    serde_json::json!({
        "session_id": "s1",
        "transcript_path": home.path("home/t.jsonl"),
        "cwd": home.path("work"),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": command },
        "tool_use_id": "toolu_01",
    })
    .to_string()
}

/// Returns standard output and standard error as text.
pub fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}
