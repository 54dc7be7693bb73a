//! Tests tools that are not commands: judged by name and input, and called through guard between a client and its
//! server. The server is `cat`, which answers with its input.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::harness::home::Home;
use super::queue::stage::{apart, approve, approve_with};

/// A client of a server behind guard.
struct Client {
    guard: Child,
    from: BufReader<std::process::ChildStdout>,
}

impl Client {
    /// Starts a client whose requests never wait for a person.
    fn of(home: &Home, server: &[&str]) -> Self {
        Self::waiting(home, server, "0")
    }

    /// Starts a client whose requests wait for this many seconds.
    fn waiting(home: &Home, server: &[&str], seconds: &str) -> Self {
        Self::started(home, &[&["mcp", "--name", "things", "--"], server].concat(), seconds)
    }

    fn started(home: &Home, arguments: &[&str], seconds: &str) -> Self {
        let mut guard = home.guard(arguments);
        if seconds != "0" {
            // A separate session, so that the answering process is not a descendant of the asking one.
            guard = apart(home.program("sh"));
            guard.args(["-c", "\"$0\" \"$@\"; exit $?", env!("CARGO_BIN_EXE_guard")]).args(arguments);
        }
        guard.env("GUARD_WAIT", seconds).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guard = guard.spawn().unwrap();
        let from = BufReader::new(guard.stdout.take().unwrap());
        Self { guard, from }
    }

    fn writes(&mut self, text: &str) {
        self.guard.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn reads(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }

    fn leaves(mut self) -> Option<i32> {
        drop(self.guard.stdin.take());
        self.guard.wait().unwrap().code()
    }
}

/// Waits until this many requests are waiting, and returns their ids.
fn pending(home: &Home, count: usize) -> Vec<String> {
    for _ in 0..600 {
        let text = home.prints(&["pending", "--json"], 0);
        let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if rows.len() == count {
            return rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{count} were to wait")
}

fn call(id: u32, name: &str, arguments: &Value) -> String {
    let params = json!({ "name": name, "arguments": arguments });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
}

#[test]
fn all_that_is_no_call_passes_to_the_byte_and_so_does_a_call_that_may_run() {
    let home = Home::new();
    let mut client = Client::of(&home, &["cat"]);
    for line in [
        "{\"jsonrpc\" : \"2.0\",\"id\":1,  \"method\":\"initialize\", \"params\":{\"x\":1.50}}\r\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
        "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]\n",
        "{\"params\":{\"arguments\":{\"q\":\"\\u00e9 1e3\"},\"name\":\"list_items\"},\"method\":\"tools/call\",\"id\":\"a\"}\n",
    ] {
        client.writes(line);
        assert_eq!(client.reads(), line);
    }
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn a_call_that_nobody_allows_never_reaches_the_server_and_is_answered_as_a_failed_tool() {
    let home = Home::new();
    let mut client = Client::of(&home, &["tee", home.path("heard").to_str().unwrap()]);
    client.writes(&call(7, "delete_item", &json!({ "id": "x" })));
    let answer: Value = serde_json::from_str(&client.reads()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(7), &json!(true)));
    let said = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.starts_with("guard: refused: ") && said.contains("The tool was not called."), "{said}");
    assert_eq!(client.leaves(), Some(0));
    assert_eq!(std::fs::read_to_string(home.path("heard")).unwrap(), "");
    let log = home.prints(&["log"], 0);
    assert!(log.contains("things.delete_item"), "{log}");
}

#[test]
fn secrets_in_what_a_server_answers_are_hidden_where_that_is_asked_for_and_nothing_else_changes() {
    let home = Home::new();
    // `cat` sends the client's answer back.
    let harmless = "{\"jsonrpc\" : \"2.0\",\"id\":1,  \"result\":{\"x\":1.50}}\n";
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----";
    let content =
        json!([{ "type": "text", "text": "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzzz in é" }]);
    let result =
        json!({ "content": content, "structuredContent": { "password": "hunter2hunter2", "files": [key], "n": 3 } });
    let telling = format!("{}\n", json!({ "jsonrpc": "2.0", "id": 2, "result": result }));
    let mut open = Client::of(&home, &["cat"]);
    open.writes(&telling);
    assert_eq!(open.reads(), telling, "nobody asked for it");
    assert_eq!(open.leaves(), Some(0));
    let mut client = Client::started(&home, &["mcp", "--name", "things", "--redact-results", "--", "cat"], "0");
    client.writes(harmless);
    assert_eq!(client.reads(), harmless);
    client.writes(&telling);
    let told = client.reads();
    for secret in ["wJalr", "hunter2", "b3Bl"] {
        assert!(!told.contains(secret), "{told}");
    }
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["id"], &told["result"]["structuredContent"]["n"]), (&json!(2), &json!(3)));
    assert_eq!(told["result"]["content"][0]["text"], "AWS_SECRET_ACCESS_KEY=*** in é");
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn a_tool_that_is_always_allowed_is_offered_as_a_grant_and_one_that_pays_is_not() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "prompts_per_hour = 1000\n").unwrap();
    let mut client = Client::waiting(&home, &["cat"], "60");
    for (number, name) in
        ["update_widget", "pay_invoice"].iter().flat_map(|name| (0..10).map(move |number| (number, name)))
    {
        let runs = call(number, name, &json!({ "widget": format!("w{number}") }));
        client.writes(&runs);
        let request = pending(&home, 1).remove(0);
        approve(&home, &request);
        assert_eq!(client.reads(), runs);
    }
    assert_eq!(client.leaves(), Some(0));
    let offers = home.prints(&["learn"], 0);
    assert!(offers.contains("1. You allowed it 10 times in 30 days"), "{offers}");
    assert!(offers.contains("things.update_widget") && offers.contains("widget"), "{offers}");
    assert!(!offers.contains("pay_invoice"), "{offers}");
}

#[test]
fn a_call_that_nobody_answers_in_time_may_be_made_again_once_it_is_approved() {
    let home = Home::new();
    let mut client = Client::waiting(&home, &["cat"], "1");
    client.writes(&call(1, "delete_item", &json!({ "id": "x" })));
    let said = client.reads();
    assert!(said.contains("nobody answered") && said.contains("the same call runs once"), "{said}");
    assert!(!said.contains("command") && !said.contains("directory"), "{said}");
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn what_is_written_right_before_the_input_ends_is_answered() {
    let home = Home::new();
    let mut client = Client::of(&home, &["cat"]);
    let runs = call(1, "list_items", &json!({}));
    client.writes(&format!("{runs}{}", call(2, "delete_item", &json!({}))));
    drop(client.guard.stdin.take());
    let answers = [client.reads(), client.reads()];
    assert!(answers.contains(&runs), "{answers:?}");
    assert!(answers.iter().any(|text| text.contains("guard: refused: ") && text.contains("\"id\":2")), "{answers:?}");
    assert_eq!((client.reads(), client.leaves()), (String::new(), Some(0)));
}

#[test]
fn a_client_that_leaves_while_a_call_waits_for_a_person_is_not_waited_for() {
    let home = Home::new();
    let heard = home.path("heard");
    let mut client = Client::waiting(&home, &["tee", heard.to_str().unwrap()], "600");
    client.writes(&call(1, "delete_item", &json!({})));
    let request = pending(&home, 1).remove(0);
    assert_eq!(client.leaves(), Some(0));
    // The answer is for a later request of the same call.
    approve(&home, &request);
    assert_eq!(std::fs::read_to_string(heard).unwrap(), "");
}

#[test]
fn a_yes_for_the_session_holds_for_the_same_call_in_it_alone() {
    let home = Home::new();
    let mut client = Client::waiting(&home, &["cat"], "60");
    let wanted = |id: u32| call(id, "create_item", &json!({ "title": "x" }));
    client.writes(&wanted(1));
    let request = pending(&home, 1).remove(0);
    approve_with(&home, &request, &["--session"]);
    assert_eq!(client.reads(), wanted(1));
    // The same call runs without a question, but not with another input.
    client.writes(&wanted(2));
    assert_eq!(client.reads(), wanted(2));
    client.writes(&call(3, "create_item", &json!({ "title": "y" })));
    let other = pending(&home, 1).remove(0);
    assert_ne!(other, request);
    assert_eq!(client.leaves(), Some(0));
    let mut later = Client::waiting(&home, &["cat"], "60");
    later.writes(&wanted(4));
    // The first client's request can still be answered; the call of this client is another request.
    let both = pending(&home, 2);
    assert!(both.contains(&other) && !both.contains(&request), "of another session: {both:?}");
    assert_eq!(later.leaves(), Some(0));
}

#[test]
fn what_cannot_be_read_for_sure_is_an_error_and_is_not_passed_on() {
    let home = Home::new();
    let mut client = Client::of(&home, &["tee", home.path("heard").to_str().unwrap()]);
    let twice = "{\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\",\"params\":{\"name\":\"delete_item\"}}\n";
    for line in ["nonsense\n", twice, "{\"id\":1,\"method\":\"tools/call\"}\n"] {
        client.writes(line);
        let answer: Value = serde_json::from_str(&client.reads()).unwrap();
        assert_eq!(answer["error"]["code"], -32600, "{line}");
    }
    assert_eq!(client.leaves(), Some(0));
    assert_eq!(std::fs::read_to_string(home.path("heard")).unwrap(), "");
}

#[test]
fn one_refused_call_holds_back_its_batch() {
    let home = Home::new();
    let mut client = Client::of(&home, &["tee", home.path("heard").to_str().unwrap()]);
    let (one, other) = (call(1, "list_items", &json!({})), call(2, "delete_item", &json!({})));
    client.writes(&format!("[{},{}]\n", one.trim(), other.trim()));
    let mut ids: Vec<Value> =
        (0..2).map(|_| serde_json::from_str::<Value>(&client.reads()).unwrap()["id"].clone()).collect();
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(1), json!(2)]);
    assert_eq!(client.leaves(), Some(0));
    assert_eq!(std::fs::read_to_string(home.path("heard")).unwrap(), "");
}

#[test]
fn many_calls_at_once_are_all_answered() {
    let home = Home::new();
    let mut client = Client::of(&home, &["cat"]);
    for id in 0..64 {
        client.writes(&call(id, if id % 2 == 0 { "list_items" } else { "delete_item" }, &json!({})));
    }
    let mut refused = 0;
    let mut seen: Vec<u64> = (0..64)
        .map(|_| {
            let answer: Value = serde_json::from_str(&client.reads()).unwrap();
            refused += usize::from(answer["result"]["isError"] == true);
            answer["id"].as_u64().unwrap()
        })
        .collect();
    seen.sort_unstable();
    assert_eq!((seen, refused), ((0..64).collect(), 32));
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn when_one_side_is_killed_the_other_ends() {
    let home = Home::new();
    let mut client = Client::of(&home, &["sh", "-c", "kill -9 $$"]);
    assert_eq!(client.reads(), "");
    assert_ne!(client.leaves(), Some(0));
    let mut client = Client::of(
        &home,
        &["sh", "-c", "echo begun; cat > /dev/null; echo ended > \"$0\"", home.path("end").to_str().unwrap()],
    );
    assert_eq!(client.reads(), "begun\n");
    client.guard.kill().unwrap();
    client.guard.wait().unwrap();
    let ended = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        home.path("end").exists()
    });
    assert!(ended, "the server did not hear that guard had gone");
}

#[test]
fn a_call_that_its_client_takes_back_never_reaches_the_server() {
    let home = Home::new();
    let mut client = Client::waiting(&home, &["tee", home.path("heard").to_str().unwrap()], "50");
    client.writes(&call(7, "delete_item", &json!({ "id": "x" })));
    let id = pending(&home, 1).remove(0);
    client.writes("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}\n");
    // No request is waiting any more, and an answer does not count.
    let _ = pending(&home, 0);
    let answered = home.guard(&["deny", &id]).output().unwrap();
    assert_ne!(answered.status.code(), Some(0), "{answered:?}");
    client.writes(&call(7, "list_items", &json!({})));
    assert!(client.reads().contains("list_items"), "its id is free again");
    assert_eq!(client.leaves(), Some(0));
    let log = home.prints(&["log", "--tool"], 0);
    assert!(log.contains("deny") && log.contains("was cancelled"), "{log}");
    let heard = std::fs::read_to_string(home.path("heard")).unwrap();
    assert!(!heard.contains("delete_item") && !heard.contains("cancelled"), "{heard}");
}

#[test]
fn a_call_that_is_taken_back_keeps_its_batch_back() {
    let home = Home::new();
    let mut client = Client::waiting(&home, &["tee", home.path("heard").to_str().unwrap()], "50");
    let (one, other) = (call(1, "delete_item", &json!({})), call(2, "list_items", &json!({})));
    client.writes(&format!("[{},{}]\n", one.trim(), other.trim()));
    let _ = pending(&home, 1);
    client.writes("{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n");
    let answer: Value = serde_json::from_str(&client.reads()).unwrap();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(true)), "{answer}");
    assert_eq!(client.leaves(), Some(0));
    assert_eq!(std::fs::read_to_string(home.path("heard")).unwrap(), "");
}

#[test]
fn an_id_that_waits_is_not_used_for_another_call() {
    let home = Home::new();
    let mut client = Client::waiting(&home, &["tee", home.path("heard").to_str().unwrap()], "50");
    client.writes(&call(7, "delete_item", &json!({ "id": "x" })));
    let id = pending(&home, 1).remove(0);
    client.writes(&call(7, "delete_item", &json!({ "id": "y" })));
    let answer: Value = serde_json::from_str(&client.reads()).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    let (one, other) = (call(3, "list_items", &json!({})), call(3, "list_items", &json!({})));
    client.writes(&format!("[{},{}]\n", one.trim(), other.trim()));
    assert!(client.reads().contains("-32600"));
    assert!(approve(&home, &id).contains("approved"));
    let passed: Value = serde_json::from_str(&client.reads()).unwrap();
    assert_eq!(passed["params"]["arguments"]["id"], "x", "what was shown, and nothing else");
    client.writes(&call(7, "list_items", &json!({})));
    assert!(client.reads().contains("list_items"), "it is free again");
    assert_eq!(client.leaves(), Some(0));
    assert_eq!(std::fs::read_to_string(home.path("heard")).unwrap().lines().count(), 2);
}

#[test]
fn whatever_a_client_writes_no_call_slips_through() {
    let home = Home::new();
    let mut client = Client::of(&home, &["tee", home.path("heard").to_str().unwrap()]);
    let base = call(1, "delete_item", &json!({ "id": "x", "n": [1, {"a": null}] }));
    let mut seed: u64 = 0x2545_f491_4f6c_dd1d;
    let mut below = |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % u64::try_from(most).unwrap()).unwrap()
    };
    let pieces: [&[u8]; 12] =
        [b"\"", b"{", b"}", b"[", b",", b":", b"\\u0074", b"\0", b"\xff", b"\"method\":\"ping\",", b"\r", b"\"id\":2,"];
    for _ in 0..400 {
        let mut line = base.trim().as_bytes().to_vec();
        for _ in 0..=below(3) {
            let at = below(line.len());
            match below(3) {
                0 => line[at] = b' ' + u8::try_from(below(95)).unwrap(),
                1 => drop(line.remove(at)),
                _ => drop(line.splice(at..at, pieces[below(pieces.len())].iter().copied())),
            }
        }
        line.push(b'\n');
        client.guard.stdin.as_mut().unwrap().write_all(&line).unwrap();
    }
    client.writes("{\"id\":\"last\",\"method\":\"ping\"}\n");
    while !client.reads().contains("\"last\"") {}
    assert_eq!(client.leaves(), Some(0));
    // Nothing that the server received is a call of that tool to any parser, however lenient.
    let heard = std::fs::read(home.path("heard")).unwrap();
    for line in heard.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line).into_owned();
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let text = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default().to_lowercase();
        let member = |value: &Value, name: &str| {
            let mut members = value.as_object().into_iter().flatten();
            members.find(|(known, _)| known.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        let params = member(&message, "params").unwrap_or_default();
        let called = text(member(&message, "method").as_ref()).trim_matches(['"', ' ']) == "tools/call";
        assert!(!(called && text(member(&params, "name").as_ref()).contains("delete_item")), "{line}");
    }
}

#[test]
fn a_message_of_a_client_that_is_too_long_is_an_error_and_the_next_is_read() {
    let home = Home::new();
    let mut client = Client::of(&home, &["cat"]);
    let mut stdin = client.guard.stdin.take().unwrap();
    let writing = std::thread::spawn(move || {
        stdin
            .write_all(b"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"a\":\"")
            .unwrap();
        (0..100).for_each(|_| stdin.write_all(&vec![b'a'; 1_000_000]).unwrap());
        stdin.write_all(b"\"}}}\n{\"id\":2,\"method\":\"ping\"}\n").unwrap();
        stdin
    });
    assert!(client.reads().contains("too long to judge"));
    assert_eq!(client.reads(), "{\"id\":2,\"method\":\"ping\"}\n");
    client.guard.stdin = Some(writing.join().unwrap());
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn a_call_is_judged_by_what_its_input_holds() {
    let home = Home::new();
    for (tool, input, code) in [
        ("run_command", json!({ "command": "ls -la" }), 0),
        ("run_command", json!({ "command": ["git", "status"] }), 0),
        ("run_command", json!({ "command": "rm -rf ~" }), 1),
        ("invoke", json!({ "cliCommand": "ls -la" }), 0),
        ("invoke", json!({ "cliCommand": "rm -rf ~" }), 1),
        ("get_rows", json!({ "raw_sql": "drop table users" }), 1),
        ("execute_sql", json!({ "sql": "select 1" }), 0),
        ("execute_sql", json!({ "sql": "drop table users" }), 1),
        ("read_file", json!({ "path": "~/.ssh/id_rsa" }), 1),
        ("payment.send", json!({ "amount": 1 }), 1),
        ("calendar.list_events", json!({}), 0),
        ("calendar.delete_event", json!({ "id": "1" }), 1),
        ("mcp__github__list_issues", json!({}), 0),
        ("mcp__github__merge_pull_request", json!({}), 1),
    ] {
        let said = home.guard(&["check", "--tool", tool, "--input", &input.to_string()]).output().unwrap();
        assert_eq!(said.status.code(), Some(code), "{tool} {input}: {}", String::from_utf8_lossy(&said.stdout));
    }
}
