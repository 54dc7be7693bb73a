//! Tests `guard mcp --listen` with a client over HTTP, the real gateway, the real guard, and a server over standard
//! input and output.

mod limits;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test_gateway::guard;

/// A server that answers all requests, except that a call of `read_slow` waits for `notifications/go` and one of
/// `read_end` is never answered.
const SERVER: &str = r#"
import json, os, sys
def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n")
    sys.stdout.flush()
open("servers", "a").write(str(os.getpid()) + "\n")
slow = None
for line in sys.stdin:
    open("heard", "a").write(line)
    message = json.loads(line)
    one = message[0] if isinstance(message, list) else message
    method, params = one.get("method"), one.get("params") or {}
    if method == "initialize":
        say(id=one["id"], result={"protocolVersion": params["protocolVersion"], "token": os.environ.get("GUARD_MCP_TOKEN")})
    elif method == "tools/call" and params["name"] == "read_slow":
        slow = one
    elif method == "tools/call" and params["name"] == "read_end":
        sys.exit(0)
    elif method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            say(method="notifications/progress", params={"progressToken": token, "progress": 1})
        for call in message if isinstance(message, list) else [message]:
            say(id=call["id"], result={"content": [], "said": call["params"].get("arguments")})
    elif method == "notifications/go":
        say(method="notifications/unasked", params={})
        if slow:
            say(id=slow["id"], result={"content": [], "slow": True})
    elif "id" in one and method:
        say(id=one["id"], result={})
"#;

struct Front {
    child: Child,
    port: u16,
    token: String,
    home: tempfile::TempDir,
}

struct HttpResponse {
    status: u16,
    head: String,
    stream: BufReader<TcpStream>,
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Front {
    fn command(home: &std::path::Path, address: &str) -> Command {
        Self::command_with(home, address, &[])
    }

    fn command_with(home: &std::path::Path, address: &str, more: &[&str]) -> Command {
        let mut command = Command::new(guard());
        command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home);
        command.args(["mcp", "--name", "things", "--listen", address]);
        command.args(if more.contains(&"--wait") { &[][..] } else { &["--wait", "0"] }).args(more);
        command.args(["--", "python3", "server.py"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn new() -> Self {
        Self::with(None)
    }

    fn with(token: Option<&str>) -> Self {
        Self::started(token, &[])
    }

    fn started(token: Option<&str>, more: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("server.py"), SERVER).unwrap();
        let mut command = Self::command_with(home.path(), "127.0.0.1:0", more);
        command.envs(token.map(|token| ("GUARD_MCP_TOKEN", token))).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next().unwrap().unwrap();
        let port = address.rsplit_once(':').unwrap().1.strip_suffix("/mcp").unwrap().parse().unwrap();
        let told = lines.next().unwrap().unwrap();
        let token = token.map_or_else(|| told.rsplit(' ').next().unwrap().to_owned(), str::to_owned);
        Self { child, port, token, home }
    }

    fn asks(&self, method: &str, head: &[&str], body: &str) -> HttpResponse {
        let token = format!("Authorization: Bearer {}", self.token);
        let forms = ["Accept: application/json, text/event-stream", "Content-Type: application/json"];
        self.asks_plain(method, &[&[token.as_str()], forms.as_slice(), head].concat(), body)
    }

    fn asks_plain(&self, method: &str, head: &[&str], body: &str) -> HttpResponse {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let host = if head.iter().any(|line| line.starts_with("Host:")) { "" } else { "Host: localhost\r\n" };
        let head: String = head.iter().map(|line| format!("{line}\r\n")).collect();
        let length = body.len();
        let text = format!("{method} /mcp HTTP/1.1\r\n{host}{head}Content-Length: {length}\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        loop {
            let before = head.len();
            stream.read_line(&mut head).unwrap();
            if head[before..].trim().is_empty() {
                break;
            }
        }
        HttpResponse { status: head.split(' ').nth(1).unwrap().parse().unwrap(), head: head.to_lowercase(), stream }
    }

    /// Starts a session, and returns the header that names it.
    fn begins(&self, version: &str) -> String {
        let params = json!({"protocolVersion": version});
        let text = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
        let mut answer = self.asks("POST", &[], &text);
        assert_eq!(answer.status, 200);
        let name = answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
        let said = answer.event().unwrap();
        assert!(said.contains(version) && said.contains(r#""token":null"#), "{said}");
        assert_eq!(answer.event(), None);
        let session = format!("Mcp-Session-Id: {name}");
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.asks("POST", &[&session], ready).status, 202);
        session
    }

    fn servers(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.home.path().join("servers")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn heard(&self) -> String {
        std::fs::read_to_string(self.home.path().join("heard")).unwrap_or_default()
    }
}

impl HttpResponse {
    /// Returns the data of the next event; `None` at the end of the stream.
    fn event(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            // The chunks of a body are separated by lines with their lengths.
            match self.stream.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) if line == "0\r\n" => return None,
                Ok(_) => {}
                Err(error) => panic!("nothing comes: {error}"),
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(data.trim_end().to_owned());
            }
        }
    }

    fn body(mut self) -> Value {
        let length = self.head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap_or_default()
    }
}

fn call(id: u32, name: &str, more: Value) -> String {
    let mut params = json!({"name": name, "arguments": {"path": "x"}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn lives(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn calls_over_http_are_judged_in_every_protocol_with_a_session() {
    let front = Front::new();
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        let session = front.begins(version);
        let head = [session.as_str(), &format!("MCP-Protocol-Version: {version}")];
        let mut answer = front.asks("POST", &head, &call(1, "read_file", json!({"_meta": {"progressToken": "p"}})));
        assert!(answer.head.contains("content-type: text/event-stream"), "{}", answer.head);
        let progress = answer.event().unwrap();
        assert!(progress.contains("notifications/progress") && progress.contains(r#""p""#), "{progress}");
        assert_eq!(answer.event().unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"said":{"path":"x"}}}"#);
        assert_eq!(answer.event(), None);
        // A message in several lines is passed on as one line; a denied call never reaches the server.
        let text = call(2, "delete_everything", json!({})).replace(',', ",\n");
        let refused = front.asks("POST", &head, &text).event().unwrap();
        assert!(refused.contains(r#""isError":true"#) && refused.contains(r#""id":2"#), "{refused}");
        let batch = format!("[{},{}]", call(3, "read_file", json!({})), call(4, "read_file", json!({})));
        let mut answer = front.asks("POST", &head, &batch);
        assert!(answer.event().is_some() && answer.event().is_some() && answer.event().is_none());
        assert_eq!(front.asks("POST", &[&session, "MCP-Protocol-Version: 1999-01-01"], &batch).status, 400);
    }
    assert_eq!(front.servers().len(), 3, "each session has its own");
    assert!(!front.heard().contains("delete_everything"));
}

#[test]
fn requests_without_a_session_share_a_server_and_are_taken_back_by_hanging_up() {
    let front = Front::new();
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let head = |name: &str| {
        [
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            "Mcp-Method: tools/call".to_owned(),
            format!("Mcp-Name: {name}"),
        ]
    };
    let asks = |id: u32, name: &str| {
        let head = head(name);
        front.asks("POST", &head.each_ref().map(String::as_str), &call(id, name, meta.clone()))
    };
    assert!(asks(1, "read_file").event().unwrap().contains(r#""id":1"#));
    let refused = asks(2, "delete_everything").event().unwrap();
    assert!(refused.contains(r#""isError":true"#) && refused.contains("complete"), "{refused}");
    let other = head("read_other");
    let wrong = front.asks("POST", &other.each_ref().map(String::as_str), &call(3, "read_file", meta.clone()));
    assert_eq!((wrong.status, wrong.body()["error"]["code"].as_i64()), (400, Some(-32001)));
    assert_eq!(front.servers().len(), 1);
    // Two clients may use the same IDs.
    let waits = asks(7, "read_slow");
    until("the slow call is heard", || front.heard().contains("read_slow"));
    assert!(asks(7, "read_file").event().unwrap().contains(r#""id":7"#));
    assert_eq!(front.servers().len(), 2);
    drop(waits);
    until("it is taken back", || front.heard().contains("notifications/cancelled"));
}

#[test]
fn what_the_server_says_of_its_own_accord_is_heard_by_who_listens() {
    let front = Front::new();
    let session = front.begins("2025-11-25");
    let go = r#"{"jsonrpc":"2.0","method":"notifications/go"}"#;
    assert_eq!(front.asks("POST", &[&session], go).status, 202);
    let mut listens = front.asks("GET", &[&session], "");
    assert!(listens.event().unwrap().contains("unasked"), "it was kept");
    assert_eq!(front.asks("GET", &[&session], "").status, 409);
    let mut slow = front.asks("POST", &[&session], &call(1, "read_slow", json!({})));
    let again = front.asks("POST", &[&session], &call(1, "read_file", json!({})));
    assert_eq!(again.status, 400, "its id waits");
    assert!(again.body()["error"]["message"].as_str().unwrap().contains("is already waiting"));
    until("the slow call is heard", || front.heard().contains("read_slow"));
    front.asks("POST", &[&session], go);
    assert!(slow.event().unwrap().contains("slow") && listens.event().unwrap().contains("unasked"));
}

#[test]
fn a_session_ends_with_its_client_with_its_server_and_with_guard() {
    let mut front = Front::new();
    let (one, two) = (front.begins("2025-11-25"), front.begins("2025-11-25"));
    let pids = front.servers();
    assert_eq!(front.asks("DELETE", &[&one], "").status, 204);
    until("its server ends", || !lives(&pids[0]));
    assert!(lives(&pids[1]));
    assert_eq!(front.asks("POST", &[&one], &call(1, "read_file", json!({}))).status, 404);
    let mut waiting = front.asks("POST", &[&two], &call(1, "read_slow", json!({})));
    until("the slow call is heard", || front.heard().contains("read_slow"));
    front.asks("POST", &[&two], &call(2, "read_end", json!({})));
    let told = waiting.event().unwrap();
    assert!(told.contains("connect again") && told.contains(r#""id":1"#), "{told}");
    assert_eq!(waiting.event(), None);
    until("the session is gone", || front.asks("POST", &[&two], &call(3, "read_file", json!({}))).status == 404);
    front.begins("2025-11-25");
    let last = front.servers().pop().unwrap();
    front.child.kill().unwrap();
    until("the server ends with guard", || !lives(&last));
}

#[test]
fn nobody_comes_in_without_the_token_or_from_another_site() {
    let front = Front::with(Some("a-token-of-twenty-ok"));
    let text = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let forms = ["Accept: application/json, text/event-stream", "Content-Type: application/json"];
    let own = "Authorization: Bearer a-token-of-twenty-ok";
    let status = |head: &[&str]| front.asks_plain("POST", &[&forms, head].concat(), text).status;
    assert_eq!(status(&[]), 401);
    for wrong in ["a-token-of-twenty-o", "", "a-token-of-twenty-okk"] {
        assert_eq!(status(&[&format!("Authorization: Bearer {wrong}")]), 401, "{wrong:?}");
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(front.asks_plain(method, &forms, "").status, 401);
    }
    assert_eq!(status(&[own, "Origin: https://evil.example"]), 403);
    assert_eq!(status(&[own, "Origin: null"]), 403);
    assert_eq!(status(&[own, "Host: evil.example"]), 403);
    assert_eq!(front.servers(), Vec::<String>::new(), "nothing was started for them");
    assert_eq!(status(&[own, "Origin: http://localhost:5173"]), 200);

    let home = tempfile::tempdir().unwrap();
    let told = Front::command(home.path(), "0.0.0.0:0").output().unwrap();
    assert_eq!(told.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&told.stderr).contains("listen on 127.0.0.1"), "{told:?}");
    let told = Front::command(home.path(), "127.0.0.1:0").env("GUARD_MCP_TOKEN", "short").output().unwrap();
    assert!(String::from_utf8_lossy(&told.stderr).contains("shorter than 16"), "{told:?}");
}

#[test]
fn what_is_no_message_is_an_answer_that_says_so_and_starts_nothing() {
    let front = Front::new();
    let session = front.begins("2025-11-25");
    for (text, code) in [
        ("nonsense", -32700),
        ("", -32700),
        ("[1]", -32700),
        (r#"{"id":1,"method":"ping","method":"tools/call"}"#, -32700),
        (r#"{"id":1,"id":2,"method":"ping"}"#, -32700),
    ] {
        let answer = front.asks("POST", &[&session], text);
        assert_eq!((answer.status, answer.body()["error"]["code"].as_i64()), (400, Some(code)), "{text}");
    }
    // A message that guard considers ambiguous is answered too.
    let twice =
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_file","arguments":{"a":1,"a":2}}}"#;
    let told = front.asks("POST", &[&session], twice).event().unwrap();
    assert!(told.contains(r#""id":5"#) && told.contains("is ambiguous"), "{told}");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(front.asks("POST", &[], ping).status, 400);
    assert_eq!(front.asks("POST", &["Mcp-Session-Id: none"], ping).status, 404);
    let own = format!("Authorization: Bearer {}", front.token);
    let plain = |head: &[&str]| front.asks_plain("POST", &[&[own.as_str(), &session], head].concat(), ping).status;
    assert_eq!(plain(&["Content-Type: text/plain", "Accept: */*"]), 415);
    assert_eq!(plain(&["Content-Type: application/json", "Accept: application/json"]), 406);
    assert_eq!(plain(&["Content-Type: application/json; charset=utf-8", "Accept: */*"]), 200);
    assert_eq!(front.asks("PUT", &[&session], ping).status, 405);
    let before = front.heard();
    assert!(!before.contains("read_file"), "{before}");
    assert_eq!(front.servers().len(), 1);
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_next_is_served() {
    let front = Front::new();
    let session = front.begins("2025-11-25");
    let long = call(1, "read_file", json!({"x": "a".repeat(33 << 20)}));
    // It is rejected before it is sent completely, so sending the rest may fail.
    let sent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| front.asks("POST", &[&session], &long).status));
    assert!(sent.is_err() || sent.is_ok_and(|status| status == 413));
    assert!(front.asks("POST", &[&session], &call(2, "read_file", json!({}))).event().unwrap().contains(r#""id":2"#));
    assert!(!front.heard().contains("aaaa"));
}

#[test]
fn many_calls_of_one_session_are_all_answered() {
    let front = Front::new();
    let session = front.begins("2025-11-25");
    std::thread::scope(|scope| {
        let calls = (0..64).map(|id| {
            let (front, session) = (&front, session.as_str());
            scope.spawn(move || {
                let text = front.asks("POST", &[session], &call(id, "read_file", json!({}))).event().unwrap();
                let answer: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(answer["id"], json!(id));
            })
        });
        calls.collect::<Vec<_>>().into_iter().for_each(|call| call.join().unwrap());
    });
}
