//! Tests the Python and TypeScript clients of the gateway's API with the real gateway and the real guard.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::test_gateway::{TestGateway, guard, installed};

const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients");

const PYTHON: &str = r#"
import sys
sys.path.insert(0, sys.argv[1])
from guard_client import guarded, Refused

ran = []

@guarded("calendar.list_events")
def events(calendar, day="today"):
    ran.append(calendar)
    return 3

@guarded("calendar.update_event", timeout=60)
def update(id):
    ran.append(id)

@guarded("calendar.get_event")
def broken(id):
    raise KeyError(id)

assert events("work") == 3
update("yes")
try:
    update("no")
    raise SystemExit("it ran")
except Refused as refused:
    assert "not today" in refused.reason and refused.verdict["tier"] == 2, (refused.reason, refused.verdict)
try:
    broken("9")
except KeyError:
    pass
assert ran == ["work", "yes"], ran
"#;

const TYPESCRIPT: &str = r#"
const { guarded, Refused } = await import(process.argv[2]);
const ran = [];
const events = guarded("calendar.list_events", async (input) => { ran.push(input.calendar); return 3; });
const update = guarded("calendar.update_event", async (input) => { ran.push(input.id); }, { timeout: 60 });
const broken = guarded("calendar.get_event", async () => { throw new RangeError("x"); });
const check = (good, what) => { if (!good) throw new Error(what); };
check((await events({ calendar: "work" })) === 3, "its result");
await update({ id: "yes" });
const no = await update({ id: "no" }).then(() => null, (error) => error);
check(no instanceof Refused && no.reason.includes("not today") && no.verdict.tier === 2, String(no));
const failed = await broken({ id: "9" }).then(() => null, (error) => error);
check(failed instanceof RangeError, String(failed));
check(ran.join() === "work,yes", ran.join());
"#;

/// Starts a program that submits commands over the API, with the client's token.
fn start(gateway: &TestGateway, mut program: Command) -> Child {
    let address = format!("http://127.0.0.1:{}", gateway.port);
    program.env("GUARD_GATEWAY", address).env("GUARD_TOKEN", &gateway.client).env("GUARD_BIN", "/no/such/program");
    program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Answers the call that waits for the event with this ID.
fn answer(gateway: &TestGateway, event: &str, verb: &str, words: &Value) {
    let mut id = String::new();
    gateway.until(|| {
        let list = gateway.get("/v1/requests?status=pending", &gateway.person);
        let waiting = list.body["requests"][0].clone();
        id = waiting["action_id"].as_str().unwrap_or_default().to_owned();
        waiting["command_shown"].as_str().is_some_and(|shown| shown.contains(event))
    });
    let told = gateway.post(&format!("/v1/requests/{id}/{verb}"), &gateway.person, words);
    assert_eq!(told.status, 200, "{}", told.text);
}

fn asks_and_reports(gateway: &TestGateway, program: Command) {
    let child = start(gateway, program);
    answer(gateway, "\"yes\"", "approve", &json!({}));
    answer(gateway, "\"no\"", "deny", &json!({ "words": "not today" }));
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let log = gateway.program(guard()).args(["log", "--tool", "--json"]).output().unwrap();
    let told: Vec<(String, String, Option<i64>)> = String::from_utf8(log.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|row| row["kind"] != "answered")
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            (text("tool"), text("decision"), row["exit"].as_i64())
        })
        .collect();
    let row = |tool: &str, decision: &str, exit| (tool.to_owned(), decision.to_owned(), exit);
    assert_eq!(
        told,
        [
            row("calendar.list_events", "allow", Some(0)),
            row("calendar.update_event", "allow", Some(0)),
            row("calendar.update_event", "deny", None),
            row("calendar.get_event", "allow", Some(1)),
        ]
    );
}

#[test]
fn the_python_client_asks_over_the_api_and_reports_how_it_ended() {
    if !installed(&["python3"]) {
        return;
    }
    let gateway = TestGateway::new("");
    std::fs::write(gateway.path("try.py"), PYTHON).unwrap();
    let mut python = gateway.program(Path::new("python3"));
    python.arg("-B").arg(gateway.path("try.py")).arg(CLIENTS);
    asks_and_reports(&gateway, python);
}

#[test]
fn the_typescript_client_asks_over_the_api_and_reports_how_it_ended() {
    let strips = "--experimental-strip-types";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/node/node_modules/node/bin");
    let reads =
        |node: &PathBuf| Command::new(node).args([strips, "-e", "0"]).output().is_ok_and(|out| out.status.success());
    let mut nodes = std::env::split_paths(&path).chain([own.into()]).map(|directory| directory.join("node"));
    let Some(node) = nodes.find(reads) else {
        let remedy = "npm install --prefix target/node node@22";
        assert!(std::env::var_os("GUARD_TESTS_NEED_ALL_TOOLS").is_none(), "no node that reads TypeScript: {remedy}");
        eprintln!("skipped: no node that reads TypeScript is installed ({remedy})");
        return;
    };
    let gateway = TestGateway::new("");
    std::fs::write(gateway.path("try.mjs"), TYPESCRIPT).unwrap();
    let mut node = gateway.program(&node);
    node.arg(strips).arg(gateway.path("try.mjs")).arg(format!("{CLIENTS}/guardClient.ts"));
    asks_and_reports(&gateway, node);
}

#[test]
fn a_client_that_ends_while_a_person_is_asked_takes_its_request_back() {
    const PROGRAM: &str = "import signal, sys\nsys.path.insert(0, sys.argv[1])\nimport guard_client\n\
                           def stop(*_): raise KeyboardInterrupt\nsignal.signal(signal.SIGTERM, stop)\n\
                           guard_client.ask('calendar.update_event', {'id': '7'}, timeout=60)\n";
    if !installed(&["python3"]) {
        return;
    }
    let gateway = TestGateway::new("");
    let mut python = gateway.program(Path::new("python3"));
    python.args(["-B", "-c", PROGRAM, CLIENTS]);
    let mut child = start(&gateway, python);
    gateway.waiting();
    let sent = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(sent.success() && !child.wait().unwrap().success());
    gateway.until(|| {
        let list = gateway.get("/v1/requests?status=pending", &gateway.person);
        list.body["requests"].as_array().is_some_and(Vec::is_empty)
    });
}
