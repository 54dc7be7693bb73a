//! Tests that replay reports what guard would have decided for the histories of agents and shells, and changes nothing.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

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
    // A resumed session repeats its earlier messages; a subagent has its own file.
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
    assert_eq!((&found["files"], &found["directory_unknown"]), (&json!(5), &json!(1)));
    // The result is the same each time, and nothing was written or run.
    assert_eq!(replayed(&home, &[]), found);
    assert!(!home.data().exists() && home.ran() == 0);
    let text = home.prints(&["replay"], 0);
    assert!(text.contains("7 commands (claude 3, codex 3, gemini 1), 2026-11-20 to 2026-11-21"), "{text}");
    assert!(text.contains("would have asked about 3 (42.9 %), refused 0 (0.0 %) and allowed 4"), "{text}");
    assert!(text.contains("1.5 prompts a day, at most 2 (2026-11-20)"), "{text}");
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
    let directory = home.path("home/.claude/projects/p");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("a.jsonl"), [text.as_bytes(), b"\xff\xfe tool_use\n"].concat()).unwrap();
    // Opening a file that is not regular could hang, and a link could lead elsewhere.
    nix::unistd::mkfifo(&directory.join("pipe.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/", directory.join("round")).unwrap();
    fs::create_dir_all(home.path("home/.gemini/tmp/h/chats")).unwrap();
    fs::write(home.path("home/.gemini/tmp/h/chats/session-1.json"), "{\"messages\": [").unwrap();
    let found = replayed(&home, &[]);
    assert_eq!(numbers(&found), [2, 2, 0, 0], "{found}");
    assert_eq!(found["skipped"], json!({ "files": 1, "lines": 4 }));
    assert!(home.prints(&["replay"], 0).contains("skipped 4 lines that could not be read"));
}

#[test]
fn where_the_directory_is_gone_nothing_is_looked_up() {
    let home = Home::new();
    let git = |directory: &Path| {
        fs::create_dir_all(directory.join(".git")).unwrap();
        fs::write(directory.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(directory.join(".git/objects")).unwrap();
        fs::create_dir_all(directory.join(".git/refs")).unwrap();
    };
    git(&home.path("work"));
    // A file that does not exist cannot be lost; the former content of a missing directory is unknown.
    let there = claude(&home, "toolu_1", "2026-11-20T10:00:00Z", "rm -rf not-there");
    let mut gone = claude(&home, "toolu_2", "2026-11-20T10:00:00Z", "rm -rf not-there");
    gone["cwd"] = json!(home.path("gone"));
    write(&home, ".claude/projects/p/a.jsonl", &[there, gone]);
    let found = replayed(&home, &[]);
    assert_eq!(numbers(&found), [2, 1, 1, 0], "{found}");
    assert_eq!(found["directory_gone"], 1);
    assert!(home.prints(&["replay"], 0).contains("1 ran in directories that no longer exist"));
}

#[test]
fn a_batch_takes_a_directory_that_is_not_there_or_relative_for_unknown() {
    let home = Home::new();
    let work = home.path("work");
    let decision = |cwd: Value| {
        let mut check = home.guard(&["check", "--batch"]);
        let mut check = check.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let row = json!({ "command": "rm -rf \"$PWD/not-there\"", "cwd": cwd });
        check.stdin.take().unwrap().write_all(row.to_string().as_bytes()).unwrap();
        let verdict: Value = serde_json::from_slice(&check.wait_with_output().unwrap().stdout).unwrap();
        verdict["decision"].clone()
    };
    assert_eq!(decision(json!(work)), "allow");
    assert_eq!(decision(json!(home.path("gone"))), "ask");
    assert_eq!(decision(json!(".")), "ask");
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
        assert_eq!((&found["by"], &found["directory_unknown"]), (&json!({ "history": 2 }), &json!(2)), "{name}");
        assert_eq!(found["days"].as_array().unwrap().len(), usize::from(name != "list"), "{name}");
    }
    // guard asks about tier 2 if an agent runs the command, but not if a person does.
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
    let said = home.prints(&["replay"], 0);
    let wanted = "No commands to judge.\nNo sessions of agents were found in your home directory. To judge a shell ";
    assert!(said.starts_with(wanted), "{said}");
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

/// Checks that a history contains the same three calls, whichever format the agent uses, besides irrelevant ones.
fn three(found: &Value, agent: &str) {
    assert_eq!(numbers(found), [3, 2, 1, 0], "{agent}: {found}");
    assert_eq!(found["by"], json!({ agent: 3 }), "{found}");
    assert_eq!((&found["commands"], &found["file_changes"]), (&json!(2), &json!(1)), "{agent}: {found}");
    assert_eq!(found["skipped"], json!({ "files": 0, "lines": 0 }), "{agent}: {found}");
    assert_eq!((&found["directory_unknown"], &found["directory_gone"]), (&json!(0), &json!(0)), "{agent}: {found}");
    let days: Vec<_> = found["days"].as_array().unwrap().iter().map(|day| day["day"].as_str().unwrap()).collect();
    assert_eq!(days, ["2026-11-20"], "{agent}: {found}");
}

/// Returns the names and contents of all files below a directory.
fn kept(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(kept(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

fn found_alone(home: &Home, agent: &str, file: &str) {
    let before = kept(&home.path("home"));
    three(&replayed(home, &[]), agent);
    three(&replayed(home, &[home.path("home").join(file).to_str().unwrap()]), agent);
    assert_eq!(kept(&home.path("home")), before, "{agent}");
}

const AT: [&str; 4] = ["2026-11-20T10:00:00Z", "2026-11-20T10:00:01Z", "2026-11-20T10:00:02Z", "2026-11-20T10:00:03Z"];

/// 2026-11-20T10:00:00Z
const SECONDS: i64 = 1_795_168_800;

#[test]
fn lines_with_calls_among_the_parts_of_a_message_are_read() {
    let home = Home::new();
    let call = |number: usize, name: &str, arguments: Value| {
        json!({
            "uuid": "u", "type": "assistant", "timestamp": AT[number], "cwd": home.path("work"),
            "message": { "role": "model", "parts": [
                { "text": "functionCall" },
                { "functionCall": { "id": format!("call_{number}"), "name": name, "args": arguments } },
            ] },
        })
    };
    let telemetry = json!({ "type": "system", "timestamp": AT[0], "systemPayload": { "uiEvent":
        { "call_id": "call_0", "function_name": "run_shell_command", "function_args": { "command": "ls" } } } });
    let answer = json!({ "type": "tool_result", "message": { "role": "user", "parts": [
        { "functionResponse": { "id": "call_0", "name": "run_shell_command", "response": { "output": "functionCall" } } } ] } });
    let lines = [
        call(0, "run_shell_command", json!({ "command": "ls" })),
        telemetry,
        answer,
        call(1, "run_shell_command", json!({ "command": "git push --force origin main" })),
        call(2, "write_file", json!({ "file_path": home.path("work/a.rs"), "content": "x" })),
        call(3, "read_file", json!({ "path": "a.rs" })),
    ];
    write(&home, ".qwen/projects/-work/chats/s.jsonl", &lines);
    found_alone(&home, "qwen", ".qwen/projects/-work/chats/s.jsonl");
}

#[test]
fn lines_whose_first_tells_the_directory_are_read() {
    let home = Home::new();
    let call = |number: usize, name: &str, input: Value| {
        json!({ "type": "message", "id": "m", "timestamp": AT[number], "message": { "role": "assistant", "content": [
            { "type": "tool_use", "id": format!("call_{number}"), "name": name, "input": input } ] } })
    };
    let lines = [
        json!({ "type": "session_start", "id": "s", "version": 2, "cwd": home.path("work") }),
        call(0, "Execute", json!({ "command": "ls", "summary": "s", "riskLevel": "low" })),
        json!({ "type": "message", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "call_0", "is_error": false, "content": "a" } ] } }),
        call(1, "Execute", json!({ "command": "git push --force origin main" })),
        call(2, "Create", json!({ "file_path": home.path("work/a.rs"), "content": "x" })),
        call(3, "Read", json!({ "file_path": "a.rs" })),
    ];
    write(&home, ".factory/sessions/-work/s.jsonl", &lines);
    found_alone(&home, "droid", ".factory/sessions/-work/s.jsonl");
}

#[test]
fn lines_of_events_are_read_and_each_call_counts_when_it_begins() {
    let home = Home::new();
    let event = |number: usize, kind: &str, data: Value| json!({ "type": kind, "data": data, "id": "e", "timestamp": AT[number] });
    let call = |number: usize, name: &str, arguments: Value| {
        let id = format!("call_{number}");
        let asked =
            json!({ "content": "", "toolRequests": [{ "toolCallId": id, "name": name, "arguments": arguments }] });
        let begun = json!({ "toolCallId": id, "toolName": name, "arguments": arguments, "turnId": "0" });
        [
            event(number, "assistant.message", asked),
            event(number, "tool.execution_start", begun),
            event(number, "tool.execution_complete", json!({ "toolCallId": id, "success": true })),
        ]
    };
    let start = json!({ "sessionId": "s", "context": { "cwd": home.path("work"), "branch": "main" } });
    let calls = [
        call(0, "bash", json!({ "command": "ls", "description": "d" })),
        call(1, "bash", json!({ "command": "git push --force origin main" })),
        call(2, "create", json!({ "path": home.path("work/a.rs"), "file_text": "x" })),
        call(3, "view", json!({ "path": "a.rs" })),
    ];
    let lines: Vec<Value> = [event(0, "session.start", start)].into_iter().chain(calls.concat()).collect();
    write(&home, ".copilot/session-state/s/events.jsonl", &lines);
    found_alone(&home, "copilot", ".copilot/session-state/s/events.jsonl");
}

#[test]
fn a_file_of_messages_is_read_with_the_one_beside_it() {
    let home = Home::new();
    let call = |number: i64, name: &str, input: Value| {
        json!({ "id": "m", "role": "assistant", "ts": (SECONDS + number) * 1000, "content": [
            { "type": "text", "text": "so" },
            { "type": "tool_use", "id": format!("call_{number}"), "name": name, "input": input } ] })
    };
    let messages = json!({ "version": 1, "updated_at": AT[0], "messages": [
        { "role": "user", "content": [{ "type": "text", "text": "do it" }], "ts": SECONDS * 1000 },
        call(0, "run_commands", json!({ "commands": ["ls"] })),
        { "role": "user", "ts": SECONDS * 1000, "content": [
            { "type": "tool_result", "tool_use_id": "call_0", "name": "run_commands", "content": [{ "query": "ls" }] } ] },
        call(1, "run_commands", json!({ "commands": ["git push --force origin main"] })),
        call(2, "editor", json!({ "path": home.path("work/a.rs"), "new_text": "x" })),
        call(3, "read_files", json!({ "paths": ["a.rs"] })),
    ] });
    write(&home, ".cline/data/sessions/7_a/7_a.messages.json", &[messages]);
    write(&home, ".cline/data/sessions/7_a/7_a.json", &[json!({ "session_id": "7_a", "cwd": home.path("work") })]);
    found_alone(&home, "cline", ".cline/data/sessions/7_a/7_a.messages.json");
}

/// Creates a database below the home that an agent has open, with these tables.
fn database(home: &Home, file: &str, tables: &str) -> rusqlite::Connection {
    let path = home.path("home").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let own = rusqlite::Connection::open(&path).unwrap();
    own.execute_batch(tables).unwrap();
    own
}

/// Creates a database of message parts, as two agents use it.
fn database_of_parts(home: &Home, file: &str) -> rusqlite::Connection {
    let own = database(
        home,
        file,
        "PRAGMA journal_mode = wal; CREATE TABLE session (id text PRIMARY KEY, directory text NOT NULL); \
         CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text);",
    );
    own.execute("INSERT INTO session VALUES ('s', ?1)", [home.path("work").to_str().unwrap()]).unwrap();
    let state = |status: &str, input: Value| json!({ "status": status, "input": input, "output": "o" });
    let parts = [
        json!({ "type": "text", "text": "do it" }),
        json!({ "type": "tool", "tool": "bash", "callID": "c0", "state": state("completed", json!({ "command": "ls" })) }),
        json!({ "type": "step-finish", "reason": "tool-calls", "tokens": {} }),
        json!({ "type": "tool", "tool": "bash", "callID": "c1",
            "state": state("error", json!({ "command": "git push --force origin main" })) }),
        json!({ "type": "tool", "tool": "write", "callID": "c2",
            "state": state("completed", json!({ "filePath": home.path("work/a.rs"), "content": "x" })) }),
        json!({ "type": "tool", "tool": "read", "callID": "c3", "state": state("completed", json!({ "filePath": "a.rs" })) }),
        json!({ "type": "tool", "tool": "bash", "callID": "c4", "state": { "status": "pending", "input": {}, "raw": "" } }),
    ];
    for (number, part) in parts.iter().enumerate() {
        let at = (SECONDS + i64::try_from(number).unwrap()) * 1000;
        let values = (number.to_string(), at, part.to_string());
        own.execute("INSERT INTO part VALUES (?1, 'm', 's', ?2, ?3)", values).unwrap();
    }
    own
}

#[test]
fn a_database_is_read_part_by_part() {
    let home = Home::new();
    let own = database_of_parts(&home, ".local/share/opencode/opencode.db");
    // While the agent has it open, the last rows are only in the write-ahead log.
    three(&replayed(&home, &[]), "opencode");
    drop(own);
    found_alone(&home, "opencode", ".local/share/opencode/opencode.db");
    let elsewhere = home.path("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::rename(home.path("home/.local/share/opencode"), elsewhere.join("opencode")).unwrap();
    let text = home.guard(&["replay", "--json"]).env("XDG_DATA_HOME", &elsewhere).output().unwrap().stdout;
    three(&serde_json::from_slice(&text).unwrap(), "opencode");
}

#[test]
fn of_two_agents_that_keep_the_same_the_name_of_the_file_tells() {
    let home = Home::new();
    drop(database_of_parts(&home, ".local/share/kilo/kilo.db"));
    found_alone(&home, "kilo", ".local/share/kilo/kilo.db");
}

#[test]
fn lines_of_events_with_the_directory_in_a_file_above_are_read() {
    let home = Home::new();
    let event = |number: i64, event: Value| json!({ "type": "context.append_loop_event", "agentId": "main", "event": event, "time": (SECONDS + number) * 1000 });
    let call = |number: i64, name: &str, args: Value| {
        event(
            number,
            json!({ "type": "tool.call", "uuid": "u", "turnId": "0", "step": number, "toolCallId": format!("call_{number}"),
                "name": name, "args": args, "display": { "kind": "command" } }),
        )
    };
    let said = json!({ "type": "agent.message.appended", "message": { "message": { "role": "assistant", "toolCalls": [
        { "type": "function", "id": "call_0", "name": "Bash", "arguments": "{\"command\":\"ls\"}" } ] } } });
    let lines = [
        json!({ "type": "metadata", "protocol_version": "1.5" }),
        call(0, "Bash", json!({ "command": "ls", "description": "d" })),
        event(0, json!({ "type": "tool.result", "toolCallId": "call_0", "result": { "output": "tool.call" } })),
        said,
        call(1, "Bash", json!({ "command": "git push --force origin main" })),
        call(2, "Write", json!({ "path": "a.rs", "content": "x" })),
        call(3, "Read", json!({ "path": "a.rs" })),
    ];
    let session = ".kimi-code/sessions/wd_1/session_1";
    write(&home, &format!("{session}/agents/main/wire.jsonl"), &lines);
    write(&home, &format!("{session}/state.json"), &[json!({ "id": "session_1", "cwd": home.path("work") })]);
    found_alone(&home, "kimi", &format!("{session}/agents/main/wire.jsonl"));
}

#[test]
fn updates_of_a_session_are_read_and_each_call_counts_when_it_is_announced() {
    let home = Home::new();
    let update = |number: i64, update: Value| json!({ "timestamp": SECONDS + number, "method": "session/update", "params": { "sessionId": "s", "update": update } });
    let call = |number: i64, name: &str, input: Value| {
        let id = format!("call_{number}");
        let meta = json!({ "x.ai/tool": { "version": 1, "name": name, "namespace": "n" } });
        let begun =
            json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": name, "rawInput": input, "_meta": meta });
        let done = json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "title": "t", "rawInput": input, "_meta": meta });
        [update(number, begun), update(number, done)]
    };
    let calls = [
        call(0, "run_terminal_command", json!({ "command": "ls", "description": "d" })),
        call(1, "run_terminal_command", json!({ "command": "git push --force origin main" })),
        call(2, "write", json!({ "file_path": "a.rs", "content": "x" })),
        call(3, "read_file", json!({ "target_file": "a.rs" })),
    ];
    let lines: Vec<Value> = calls.into_iter().flatten().collect();
    let session = ".grok/sessions/%2Fwork/1";
    write(&home, &format!("{session}/updates.jsonl"), &lines);
    write(&home, &format!("{session}/summary.json"), &[json!({ "info": { "id": "1", "cwd": home.path("work") } })]);
    found_alone(&home, "grok", &format!("{session}/updates.jsonl"));
}

#[test]
fn a_database_is_read_request_by_request() {
    let home = Home::new();
    let own = database(
        &home,
        ".local/share/goose/sessions/sessions.db",
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT NOT NULL); CREATE TABLE messages (id INTEGER PRIMARY \
         KEY AUTOINCREMENT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);",
    );
    own.execute("INSERT INTO sessions VALUES ('s', ?1)", [home.path("work").to_str().unwrap()]).unwrap();
    let call = |number: i64, name: &str, arguments: Value| {
        json!({ "type": "toolRequest", "id": format!("call_{number}"),
            "toolCall": { "status": "success", "value": { "name": name, "arguments": arguments } } })
    };
    let rows = [
        ("user", json!([{ "type": "text", "text": "do it" }])),
        ("assistant", json!([{ "type": "text", "text": "so" }, call(0, "shell", json!({ "command": "ls" }))])),
        ("user", json!([{ "type": "toolResponse", "id": "call_0", "toolResult": { "status": "success" } }])),
        ("assistant", json!([call(1, "shell", json!({ "command": "git push --force origin main" }))])),
        (
            "assistant",
            json!([
                call(2, "write", json!({ "path": "a.rs", "content": "x" })),
                call(3, "tree", json!({ "path": "." }))
            ]),
        ),
    ];
    for (number, (role, content)) in rows.iter().enumerate() {
        let at = SECONDS + i64::try_from(number).unwrap();
        let row = "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s', ?1, ?2, ?3)";
        own.execute(row, (role, content.to_string(), at)).unwrap();
    }
    drop(own);
    found_alone(&home, "goose", ".local/share/goose/sessions/sessions.db");
}

#[test]
fn a_database_is_read_message_by_message() {
    let home = Home::new();
    let path = home.path("home/.hermes/state.db");
    let own = database(
        &home,
        ".hermes/state.db",
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL, cwd TEXT); CREATE TABLE messages (id \
         INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT, \
         tool_name TEXT, timestamp REAL);",
    );
    own.execute("INSERT INTO sessions VALUES ('s', 'cli', 1, ?1)", [home.path("work").to_str().unwrap()]).unwrap();
    let call = |id: &str, name: &str, arguments: &Value| json!({ "id": id, "call_id": id, "type": "function", "function": { "name": name, "arguments": arguments.to_string() } });
    let both = json!([
        call("c0", "terminal", &json!({ "command": "ls" })),
        call("c1", "terminal", &json!({ "command": "git push --force origin main" })),
    ]);
    let others = json!([
        call("c2", "write_file", &json!({ "path": home.path("work/a.rs"), "content": "x" })),
        call("c3", "read_file", &json!({ "path": "a.rs" })),
    ]);
    for (number, calls) in [both, others].iter().enumerate() {
        let at = SECONDS as f64 + number as f64 + 0.5;
        let row = "INSERT INTO messages (session_id, role, tool_calls, timestamp) VALUES ('s', 'assistant', ?1, ?2)";
        own.execute(row, (calls.to_string(), at)).unwrap();
    }
    own.execute_batch(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'tool', '{\"output\":1}', 2)",
    )
    .unwrap();
    drop(own);
    found_alone(&home, "hermes", ".hermes/state.db");
    // A newer version with other tables is reported, and the rest is read.
    rusqlite::Connection::open(&path).unwrap().execute_batch("ALTER TABLE messages RENAME TO other").unwrap();
    let found = replayed(&home, &[]);
    assert_eq!((numbers(&found)[0], &found["skipped"]), (0, &json!({ "files": 1, "lines": 0 })), "{found}");
}

#[test]
fn calls_of_the_same_name_in_two_sessions_are_two() {
    let home = Home::new();
    for (session, command) in [("a", "ls"), ("b", "make"), ("c", "ls")] {
        let call = json!({ "type": "tool_use", "id": "call_0", "name": "Execute", "input": { "command": command } });
        let line = json!({ "timestamp": AT[0], "message": { "role": "assistant", "content": [call] } });
        write(&home, &format!(".factory/sessions/-work/{session}.jsonl"), &[line]);
    }
    assert_eq!(numbers(&replayed(&home, &[]))[0], 2);
}
