//! Tests guard's own tools for agents, and the clients for programs: what they can do, and what they must never do.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::harness::home::Home;
use super::harness::tools;

/// Sends these messages to `guard mcp-serve`, and returns its answers.
fn served(home: &Home, messages: &[Value]) -> Vec<Value> {
    let mut serve = home.guard(&["mcp-serve"]);
    let mut serve = serve.env("GUARD_WAIT", "60").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = serve.stdin.take().unwrap();
    for message in messages {
        writeln!(stdin, "{message}").unwrap();
    }
    drop(stdin);
    let answers = BufReader::new(serve.stdout.take().unwrap()).lines();
    let answers = answers.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(serve.wait().unwrap().success());
    answers
}

fn call(id: u32, name: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

#[test]
fn an_agent_judges_sees_and_asks() {
    let home = Home::new();
    let batch = json!({ "items": [
        { "command": "ls", "reason": "to look" },
        { "tool": "calendar.delete_event", "input": { "id": "7", "password": "needle-4711" }, "reason": "it is over" },
        { "command": "rm -rf /" },
        { "tool": "x", "command": "y" },
    ] });
    let answers = served(
        &home,
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            call(2, "check_command", &json!({ "command": "git push --force" })),
            call(3, "submit_batch", &batch),
            call(4, "list_waiting", &json!({})),
        ],
    );
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[1]["result"]["structuredContent"]["decision"], "ask", "{}", answers[1]);
    let results = &answers[2]["result"]["structuredContent"]["results"];
    let status = |number: usize| results[number]["status"].as_str().unwrap_or_default();
    assert_eq!([status(0), status(1), status(2), status(3)], ["allow", "waiting", "deny", "error"], "{results}");
    let waiting = &answers[3]["result"]["structuredContent"]["requests"];
    assert_eq!(waiting[0]["said"], "it is over", "{waiting}");
    assert!(!answers.iter().any(|answer| answer.to_string().contains("needle-4711")));
    // No request was answered, and no command that needs a person's approval was allowed.
    let log = home.prints(&["log", "--json", "-n", "0"], 0);
    assert!(!log.contains("\"allow\""), "{log}");
}

#[test]
fn the_version_without_sessions_is_spoken_beside_those_with_them() {
    let home = Home::new();
    let named = |id: u32, method: &str, version: &str, mut params: Value| {
        params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {} });
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    };
    let check = json!({ "name": "check_command", "arguments": { "command": "git push --force" } });
    let newest = "2026-07-28";
    let answers = served(
        &home,
        &[
            named(1, "server/discover", newest, json!({})),
            named(2, "tools/list", newest, json!({})),
            named(3, "tools/call", newest, check.clone()),
            named(4, "tools/call", "2031-01-01", check.clone()),
            call(5, "check_command", &check["arguments"]),
            named(6, "server/discover", "2031-01-01", json!({})),
        ],
    );
    let result = |at: usize| &answers[at]["result"];
    assert_eq!(result(0)["supportedVersions"][0], newest, "{}", answers[0]);
    assert!(result(0)["supportedVersions"].as_array().unwrap().contains(&json!("2025-06-18")));
    assert!(result(0)["capabilities"]["tools"].is_object() && result(5)["supportedVersions"].is_array());
    assert_eq!(result(1)["tools"].as_array().unwrap().len(), 3);
    for answer in &answers[..2] {
        assert!(answer["result"]["ttlMs"].is_u64() && answer["result"]["cacheScope"] == "public", "{answer}");
    }
    for answer in &answers[..3] {
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "guard");
    }
    assert_eq!((&result(2)["structuredContent"]["decision"], &result(2)["ttlMs"]), (&json!("ask"), &Value::Null));
    let error = &answers[3]["error"];
    assert_eq!((&error["code"], &error["data"]["requested"]), (&json!(-32022), &json!("2031-01-01")));
    assert_eq!(error["data"]["supported"][0], newest);
    // Within a session a result contains only fields that its protocol version knows.
    assert_eq!((&result(4)["resultType"], &result(4)["_meta"]), (&Value::Null, &Value::Null));
}

#[test]
fn the_setting_under_which_nothing_waits_is_named_as_the_cause() {
    let home = Home::new();
    let batch = json!({ "items": [{ "tool": "calendar.delete_event", "input": { "id": "7" } }] });
    let mut serve = home.guard(&["mcp-serve"]);
    let mut serve = serve.env("GUARD_WAIT", "0").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(serve.stdin.take().unwrap(), "{}", call(1, "submit_batch", &batch)).unwrap();
    let told = String::from_utf8(serve.wait_with_output().unwrap().stdout).unwrap();
    assert!(told.contains("GUARD_WAIT is 0") && !told.contains("queue.wait"), "{told}");
}

#[test]
fn an_agent_never_answers_gives_grants_or_changes_settings() {
    let home = Home::new();
    let listed = served(&home, &[json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })]);
    let tools = listed[0]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["check_command", "list_waiting", "submit_batch"]);

    let batch = json!({ "items": [{ "tool": "calendar.delete_event", "input": { "id": "7" } }] });
    let first = served(&home, &[call(1, "submit_batch", &batch)]);
    let id = first[0]["result"]["structuredContent"]["results"][0]["request"].as_str().unwrap().to_owned();
    let mut tries = Vec::new();
    for name in
        ["approve", "deny", "allow", "grant", "trust", "config", "config_set", "review", "answer", "pins", "run"]
    {
        tries.push(call(2, name, &json!({ "id": id, "request": id, "yes": true })));
    }
    for more in
        [json!({ "yes": true }), json!({ "answer": "yes" }), json!({ "approve": id }), json!({ "grant": "always" })]
    {
        let mut arguments = json!({ "command": format!("guard approve {id}") });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tries.push(call(3, "check_command", &arguments));
        let mut one = json!({ "items": [{ "command": "ls" }] });
        one.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tries.push(call(4, "submit_batch", &one));
    }
    for answer in served(&home, &tries) {
        let refused = answer["error"]["code"].is_number() || answer["result"]["isError"] == true;
        assert!(refused, "{answer}");
    }
    // Commands that would answer are not allowed either, and no person is asked about them.
    let items = [format!("guard approve {id}"), "guard allow add ls --always".to_owned(), "guard trust".to_owned()];
    let items: Vec<Value> = items.iter().map(|command| json!({ "command": command })).collect();
    let told = served(&home, &[call(5, "submit_batch", &json!({ "items": items }))]);
    for result in told[0]["result"]["structuredContent"]["results"].as_array().unwrap() {
        assert_eq!(result["status"], "deny", "{result}");
    }
    let pending = home.prints(&["pending", "--all", "--json"], 0);
    assert!(pending.lines().all(|row| !row.contains("\"approved\"")), "{pending}");
    assert_eq!(home.prints(&["allow", "list", "--json"], 0), "");
}

#[test]
fn nonsense_is_answered_by_errors_and_by_nothing_else() {
    let home = Home::new();
    let mut serve = home.guard(&["mcp-serve"]);
    let mut serve = serve.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = serve.stdin.take().unwrap();
    for line in
        ["nonsense", "[]", "{}", "\u{fffd}", "{\"id\":1,\"method\":7}", "{\"id\":2,\"method\":\"no/such\"}", "[[[[[["]
    {
        writeln!(stdin, "{line}").unwrap();
    }
    writeln!(stdin, "{}", call(3, "check_command", &json!({ "command": 7 }))).unwrap();
    writeln!(stdin, "{}", call(4, "check_command", &json!({ "command": "ls" }))).unwrap();
    drop(stdin);
    let answers: Vec<Value> = BufReader::new(serve.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert!(serve.wait().unwrap().success());
    let last = answers.last().unwrap();
    assert_eq!((&last["id"], &last["result"]["structuredContent"]["decision"]), (&json!(4), &json!("allow")));
    for answer in answers.iter().rev().skip(1) {
        assert!(answer["error"]["code"].is_number() || answer["result"]["isError"] == true, "{answer}");
    }
}

const PYTHON: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
from guard_client import guarded, Refused

ran = []

@guarded("calendar.list_events")
def events(calendar, day="today"):
    ran.append((calendar, day))
    return 3

@guarded("calendar.delete_event", timeout=0)
def delete(id, password):
    ran.append(id)

@guarded("calendar.get_event")
def broken(id):
    raise KeyError(id)

assert events("work") == 3
try:
    delete("7", password="needle-4711")
    raise SystemExit("it ran")
except Refused as refused:
    assert refused.reason.startswith("guard: refused: "), refused.reason
    assert refused.verdict["tier"] >= 2
try:
    broken("9")
except KeyError:
    pass
assert ran == [("work", "today")], ran
"#;

#[test]
fn the_python_client_asks_the_real_guard_and_reports_how_it_ended() {
    if !tools::is_installed("python3") {
        return tools::skip("python3");
    }
    let home = Home::new();
    let script = home.path("try.py");
    std::fs::write(&script, PYTHON).unwrap();
    let clients = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/clients");
    let mut python = home.program("python3");
    python.arg("-B").arg(&script).arg(clients);
    let out = python.env("GUARD_BIN", env!("CARGO_BIN_EXE_guard")).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    the_calls_are_in_the_record(&home);
}

#[test]
fn a_guard_that_writes_many_errors_does_not_stop_the_python_client() {
    const PROGRAM: &str = "import signal, sys\nsignal.alarm(20)\nsys.path.insert(0, sys.argv[1])\nimport guard_client\n\
                           try:\n guard_client.ask('calendar.list_events')\n\
                           except guard_client.Refused as refused: print(refused.reason)\n";
    if !tools::is_installed("python3") {
        return tools::skip("python3");
    }
    let home = Home::new();
    home.stand_in(
        "noisy",
        "read -r wanted; head -c 300000 /dev/zero | tr '\\0' e >&2; echo '{\"status\":\"deny\",\"reason\":\"told\"}'",
    );
    let clients = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/clients");
    let mut python = home.program("python3");
    let out = python.args(["-B", "-c", PROGRAM, clients]).env("GUARD_BIN", "noisy").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "told\n", "{}", out.status);
}

/// Checks that each call is recorded with its result and without the redacted texts.
fn the_calls_are_in_the_record(home: &Home) {
    let log = home.prints(&["log", "--tool", "--json"], 0);
    let rows: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, &str, Option<i64>)> = rows
        .iter()
        .map(|row| (row["tool"].as_str().unwrap(), row["decision"].as_str().unwrap(), row["exit"].as_i64()))
        .collect();
    assert_eq!(
        told,
        [
            ("calendar.list_events", "allow", Some(0)),
            ("calendar.delete_event", "deny", None),
            ("calendar.get_event", "allow", Some(1)),
        ]
    );
    assert!(!log.contains("needle-4711"), "{log}");
}

const TYPESCRIPT: &str = r#"
const { guarded, guard, Refused } = await import(process.argv[2]);
const ran = [];
const events = guarded("calendar.list_events", async (input) => { ran.push(input.calendar); return 3; });
const remove = guarded("calendar.delete_event", async (input) => { ran.push(input.id); }, { timeout: 0 });
const broken = guard("calendar.get_event")(async () => { throw new RangeError("x"); });
const check = (good, what) => { if (!good) throw new Error(what); };
check((await events({ calendar: "work" })) === 3, "its result");
const no = await remove({ id: "7", password: "needle-4711" }).then(() => null, (error) => error);
check(no instanceof Refused && no.reason.startsWith("guard: refused: ") && no.verdict.tier >= 2, String(no));
const failed = await broken({ id: "9" }).then(() => null, (error) => error);
check(failed instanceof RangeError, String(failed));
check(ran.join() === "work", ran.join());
process.env.GUARD_BIN = "/no/such/program";
const none = await events({ calendar: "x" }).then(() => null, (error) => error);
check(none instanceof Refused && ran.length === 1, String(none));
"#;

#[test]
fn the_typescript_client_asks_the_real_guard_and_reports_how_it_ended() {
    let Some(node) = tools::node_of_typescript() else {
        return;
    };
    let home = Home::new();
    let script = home.path("try.mjs");
    std::fs::write(&script, TYPESCRIPT).unwrap();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/clients/guardClient.ts");
    let mut command = home.program(node.to_str().unwrap());
    command.arg("--experimental-strip-types").arg(&script).arg(client).env("GUARD_BIN", env!("CARGO_BIN_EXE_guard"));
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    the_calls_are_in_the_record(&home);
}

#[test]
fn the_examples_of_agent_frameworks_run() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    // `.ci/run` installs the frameworks there.
    let modules = std::env::join_paths([root.join("docs/clients"), root.join("target/frameworks")]).unwrap();
    for (name, module) in [("langchain_tools.py", "langchain_core"), ("openai_agents_tools.py", "agents")] {
        let python = tools::find("python3").filter(|python| {
            let mut command = std::process::Command::new(python);
            command.env("PYTHONPATH", &modules).args(["-c", &format!("import {module}")]);
            command.output().is_ok_and(|out| out.status.success())
        });
        let Some(python) = python else {
            let remedy = "pip install --target target/frameworks langchain-core openai-agents";
            tools::skip(&format!("there is no python3 with {module} ({remedy})"));
            continue;
        };
        let home = Home::new();
        let example = root.join("docs/examples/programs").join(name);
        // No person can answer, so the timeout is zero.
        let text = std::fs::read_to_string(example).unwrap().replace("timeout=50", "timeout=0");
        std::fs::write(home.path(name), text).unwrap();
        let mut command = home.program(python.to_str().unwrap());
        command.arg("-B").arg(home.path(name)).env("GUARD_BIN", env!("CARGO_BIN_EXE_guard"));
        let out = command.env("PYTHONPATH", &modules).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        assert!(said.contains("list_events: 7: Dentist\n"), "{said}");
        assert!(said.contains("delete_event: guard: refused: ") && said.contains("events: {'7': 'Dentist'}"), "{said}");
    }
}
