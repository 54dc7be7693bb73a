//! Tests that keys typed into a program that an agent started are judged as that program interprets them.

use serde_json::{Value, json};

use super::stage::{hook, said};
use crate::harness::home::Home;

/// Returns the answer to a Hermes tool call in a session.
fn hermes(home: &Home, session: &str, tool: &str, input: &Value) -> String {
    let call = json!({ "hook_event_name": "pre_tool_call", "tool_name": tool, "tool_input": input, "session_id": session,
        "cwd": home.path("work"), "extra": {} });
    said(&hook(home, "hermes", &call.to_string())).0
}

fn copilot(home: &Home, tool: &str, input: &Value) -> String {
    let call =
        json!({ "sessionId": "c", "timestamp": 1, "cwd": home.path("work"), "toolName": tool, "toolArgs": input });
    said(&hook(home, "copilot", &call.to_string())).0
}

fn starts(home: &Home, session: &str, command: &str) {
    let answer = hermes(home, session, "terminal", &json!({ "command": command, "background": true, "pty": true }));
    assert!(!answer.contains("block"), "{command}: {answer}");
}

fn types(home: &Home, session: &str, action: &str, data: &str) -> String {
    hermes(home, session, "process", &json!({ "action": action, "session_id": "p1", "data": data }))
}

#[test]
fn pieces_of_a_line_are_judged_as_one() {
    let home = Home::new();
    starts(&home, "s", "bash");
    assert_eq!(types(&home, "s", "submit", "ls -l"), "");
    assert_eq!(types(&home, "s", "write", "git push --fo"), "");
    let answer = types(&home, "s", "write", "rce origin main");
    assert!(answer.contains("block") && answer.contains("git.push-force"), "{answer}");
    // The refused text was not typed, so the line still contains only the first piece.
    let answer = types(&home, "s", "submit", "rce origin main");
    assert!(answer.contains("git.push-force"), "{answer}");
    // A discarded line is not part of the next one.
    assert_eq!(types(&home, "s", "write", "\u{3}"), "");
    assert_eq!(types(&home, "s", "submit", "echo rce"), "");
}

#[test]
fn a_piece_that_ended_its_line_is_no_part_of_the_next() {
    let home = Home::new();
    starts(&home, "s", "bash");
    assert_eq!(types(&home, "s", "write", "git push --fo\n"), "");
    assert_eq!(types(&home, "s", "submit", "echo rce origin main"), "");
    assert_eq!(copilot(&home, "bash", &json!({ "command": "bash", "mode": "async", "shellId": "1" })), "");
    assert_eq!(copilot(&home, "write_bash", &json!({ "shellId": "1", "input": "git push --fo" })), "");
    let answer = copilot(&home, "write_bash", &json!({ "shellId": "1", "input": "rce origin main{enter}" }));
    assert!(answer.contains("deny") && answer.contains("git.push-force"), "{answer}");
    let answer = copilot(&home, "write_bash", &json!({ "shellId": "1", "input": "{up}{enter}" }));
    assert!(answer.contains("tools.typed-unread"), "{answer}");
}

#[test]
fn what_is_typed_is_read_in_the_language_of_what_listens() {
    let home = Home::new();
    for (program, harmless, grave, rule) in [
        ("mysql shop", "SELECT name FROM users;", "DROP TABLE users;", "databases.drop"),
        ("redis-cli", "GET a", "FLUSHALL", "databases."),
        ("python3", "print(\"hi\")", "import shutil; shutil.rmtree('/home')", "effects.delete"),
        (
            "python3 -m pdb x.py",
            "print(\"hi\")",
            "import os; os.system('git push --force origin main')",
            "git.push-force",
        ),
        ("node", "console.log(1)", "require('fs').rmSync('/home', { recursive: true })", "effects.delete"),
    ] {
        starts(&home, program, program);
        assert_eq!(types(&home, program, "submit", harmless), "", "{program}");
        let answer = types(&home, program, "submit", grave);
        assert!(answer.contains("block") && answer.contains(rule), "{program}: {answer}");
    }
}

#[test]
fn what_nobody_knows_the_reader_of_is_asked_about() {
    let home = Home::new();
    let answer = types(&home, "none", "submit", "yes");
    assert!(answer.contains("tools.typed-unread"), "{answer}");
    starts(&home, "two", "bash");
    starts(&home, "two", "mysql shop");
    let answer = types(&home, "two", "submit", "SELECT 1;");
    assert!(answer.contains("tools.typed-unread"), "{answer}");
    // On an empty line, a line end and an interrupt have no effect.
    assert_eq!(types(&home, "none", "submit", ""), "");
    assert_eq!(types(&home, "none", "write", "\u{3}"), "");
}
