//! Tests `guard mcp --http`: the real guard and the real gateway between a client and a server that is reached over
//! HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::test_gateway::guard;

/// A received request.
#[derive(Clone, Debug)]
struct ReceivedRequest {
    method: String,
    /// In lower case.
    head: String,
    text: String,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::trim)
    }
}

/// A server with scripted responses, which accepts one request per connection.
struct Remote {
    port: u16,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Remote {
    fn new(answer: impl Fn(&ReceivedRequest, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let Some(one) = read(&stream) else { return };
                    kept.lock().unwrap().push(one.clone());
                    answer(&one, &mut stream);
                });
            }
        });
        Self { port, asked }
    }

    fn all(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<ReceivedRequest> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[before..].trim().is_empty() {
            break;
        }
    }
    let method = head.split(' ').next()?.to_owned();
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedRequest { method, head, text: String::from_utf8(body).ok()? })
}

fn says(stream: &mut TcpStream, status: u16, head: &str, body: &str) {
    let text =
        format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).unwrap();
}

/// Sends a stream of events that ends with the connection.
fn streams(stream: &mut TcpStream, events: &str) {
    let head = "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";
    stream.write_all(format!("{head}{events}").as_bytes()).unwrap();
}

const JSON: &str = "Content-Type: application/json\r\n";

/// A guard process between a client and that server.
struct Client {
    guard: Child,
    from: BufReader<ChildStdout>,
    home: tempfile::TempDir,
}

impl Client {
    fn of(port: u16, more: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(guard());
        command.env_clear().env("HOME", home.path()).env("PATH", "/usr/bin:/bin").env("TOKEN", "t0ken");
        command.args(["mcp", "--name", "things", "--wait", "0", "--http", &format!("http://127.0.0.1:{port}/mcp")]);
        command.args(more).current_dir(home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guard = command.spawn().unwrap();
        let from = BufReader::new(guard.stdout.take().unwrap());
        Self { guard, from, home }
    }

    fn writes(&mut self, text: &str) {
        self.guard.stdin.as_mut().unwrap().write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    fn reads(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line
    }

    fn begins(&mut self, version: &str) {
        self.writes(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}"}}}}"#
        ));
        assert!(self.reads().contains(version));
        self.writes(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    fn leaves(mut self) -> Option<i32> {
        drop(self.guard.stdin.take());
        self.guard.wait().unwrap().code()
    }
}

fn call(id: u32, name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}}).to_string()
}

/// Answers the messages that start a session, like a server of this version. Returns false for any other message.
fn greets(asked: &ReceivedRequest, stream: &mut TcpStream, head: &str) -> bool {
    let body: Value = serde_json::from_str(&asked.text).unwrap_or_default();
    match body["method"].as_str() {
        Some("initialize") => {
            let version = &body["params"]["protocolVersion"];
            let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": {"protocolVersion": version}});
            says(stream, 200, &format!("{JSON}{head}"), &answer.to_string());
        }
        Some("notifications/initialized") => says(stream, 202, "", ""),
        _ if asked.method == "DELETE" => says(stream, 200, "", ""),
        _ => return false,
    }
    true
}

#[test]
fn messages_pass_to_the_byte_with_the_session_and_the_version_in_every_protocol() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let remote = Remote::new(|asked, stream| {
            if greets(asked, stream, "Mcp-Session-Id: s3ssion\r\n") {
            } else if asked.method == "GET" {
                says(stream, 405, "", "");
            } else if asked.text.contains("streamed") {
                let answer = asked.text.replace("\"method\"", "\"was\"");
                streams(stream, &format!(": hi\n\ndata: {{\"method\":\"x\"}}\n\ndata: {answer}\n\n"));
            } else {
                says(stream, 200, JSON, &asked.text.replace("\"method\"", "\"was\"").replace(" \"id\"", "\n\t\"id\""));
            }
        });
        let mut client =
            Client::of(remote.port, &["--header", "Authorization: Bearer ${TOKEN}", "--header-env", "X-Key=TOKEN"]);
        client.begins(version);
        client.writes(r#"{"method":"ping", "x":1.50,  "id":"é 1e3"}"#);
        assert_eq!(client.reads(), "{\"was\":\"ping\", \"x\":1.50,  \t\"id\":\"é 1e3\"}\n", "a break is a blank");
        // A stream with a message of the server's own and the response.
        client.writes(r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"streamed"}}"#);
        assert_eq!(client.reads(), "{\"method\":\"x\"}\n");
        assert!(client.reads().contains(r#""uri":"streamed""#));
        client.writes(&call(6, "list_items"));
        assert!(client.reads().contains(r#""name":"list_items""#));
        client.writes(&call(7, "delete_item"));
        let refused = client.reads();
        assert!(refused.contains(r#""isError":true"#) && refused.contains("guard: refused"), "{refused}");
        assert_eq!(client.leaves(), Some(0));
        let all = remote.all();
        assert!(all.iter().all(|one| one.header("authorization") == Some("bearer t0ken")));
        assert!(all.iter().all(|one| one.header("x-key") == Some("t0ken")));
        assert!(!all.iter().any(|one| one.text.contains("delete_item")), "it never reached the server");
        let (first, rest) = all.split_first().unwrap();
        assert_eq!((first.header("mcp-session-id"), first.header("mcp-protocol-version")), (None, None));
        for one in rest {
            assert_eq!(one.header("mcp-session-id"), Some("s3ssion"), "{one:?}");
            assert_eq!(one.header("mcp-protocol-version"), Some(version), "{one:?}");
        }
        assert_eq!(all.last().unwrap().method, "DELETE");
        assert!(all.iter().any(|one| one.text == call(6, "list_items")), "to the byte");
    }
}

#[test]
fn requests_without_a_session_carry_their_version_method_and_name() {
    let version = "2026-07-28";
    let remote = Remote::new(|asked, stream| {
        let body: Value = serde_json::from_str(&asked.text).unwrap_or_default();
        match body["method"].as_str() {
            Some("server/discover") => says(stream, 404, "", ""),
            Some("tools/list") => {
                let schema = json!({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
                let tools = json!([{"name": "list_items", "inputSchema": schema}]);
                let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": {"tools": tools}});
                says(stream, 200, JSON, &answer.to_string());
            }
            Some("tools/call") if body["id"] == 5 => {
                // The stream stays open until the client cancels the request.
                let head = "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n: begun\n\n";
                stream.write_all(head.as_bytes()).unwrap();
                let _ = stream.read(&mut [0; 1]);
                std::fs::write(std::env::temp_dir().join(format!("guard-hung-up-{}", std::process::id())), "").unwrap();
            }
            Some("tools/call") => says(stream, 200, JSON, &asked.text.replace("\"method\"", "\"was\"")),
            _ => {
                let error = json!({"code": -32022, "message": "unsupported"});
                let answer = json!({"jsonrpc": "2.0", "id": null, "error": error});
                says(stream, 400, JSON, &answer.to_string());
            }
        }
    });
    let mut client = Client::of(remote.port, &[]);
    let request = |id: u32, method: &str, name: &str| {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": version });
        let params = json!({ "_meta": meta, "name": name, "arguments": { "region": "Zürich" } });
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    client.writes(&request(1, "server/discover", ""));
    assert!(client.reads().contains("-32601"), "so that the client tries an older version");
    client.writes(&request(2, "tools/list", ""));
    assert!(client.reads().contains("x-mcp-header"));
    client.writes(&request(3, "tools/call", "list_items"));
    assert!(client.reads().contains("list_items"));
    client.writes(&request(4, "prompts/get", "é"));
    let error: Value = serde_json::from_str(&client.reads()).unwrap();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(4), &json!(-32022)));
    client.writes(&request(5, "tools/call", "list_items"));
    crate::test_gateway::until(|| remote.all().len() == 5);
    client.writes(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#);
    let mark = std::env::temp_dir().join(format!("guard-hung-up-{}", std::process::id()));
    crate::test_gateway::until(|| mark.exists());
    std::fs::remove_file(mark).unwrap();
    client.writes(&request(6, "tools/call", "delete_item"));
    let refused: Value = serde_json::from_str(&client.reads()).unwrap();
    assert_eq!((&refused["id"], &refused["result"]["resultType"]), (&json!(6), &json!("complete")), "{refused}");
    assert_eq!(client.leaves(), Some(0));
    let all = remote.all();
    assert_eq!(all.len(), 5, "no session, no stream of its own, and nothing is said of what was taken back");
    for one in &all {
        assert_eq!(one.header("mcp-protocol-version"), Some(version));
    }
    assert_eq!(all[0].header("mcp-method"), Some("server/discover"));
    assert_eq!((all[2].header("mcp-method"), all[2].header("mcp-name")), (Some("tools/call"), Some("list_items")));
    assert!(all[2].header("mcp-param-region").unwrap().starts_with("=?base64?"), "what no header can hold is coded");
    assert!(all[3].header("mcp-name").unwrap().starts_with("=?base64?"));
}

#[test]
fn a_stream_that_breaks_off_goes_on_where_it_ended() {
    let remote = Remote::new(|asked, stream| {
        if greets(asked, stream, "") {
        } else if asked.method == "GET" && asked.header("last-event-id").is_none() {
            streams(
                stream,
                "retry: 60000\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
            );
        } else if asked.method == "GET" {
            assert_eq!(asked.header("last-event-id"), Some("e1"));
            streams(stream, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":9,\ndata: \"result\":{}}\n\n");
        } else {
            streams(
                stream,
                "id: e1\nretry: 10\ndata: {\"method\":\"notifications/progress\"}\n\ndata: {\"id\":9,\"res",
            );
        }
    });
    let mut client = Client::of(remote.port, &[]);
    client.begins("2025-11-25");
    assert!(client.reads().contains("list_changed"), "what a server says of its own accord");
    client.writes(&call(9, "list_items"));
    assert_eq!(client.reads(), "{\"method\":\"notifications/progress\"}\n");
    assert_eq!(client.reads(), "{\"jsonrpc\":\"2.0\",\"id\":9, \"result\":{}}\n");
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn whatever_goes_wrong_is_an_answer_that_names_it() {
    let remote = Remote::new(|asked, stream| {
        let body: Value = serde_json::from_str(&asked.text).unwrap_or_default();
        match body["params"]["name"].as_str() {
            _ if greets(asked, stream, "Mcp-Session-Id: s\r\n") => {}
            Some("get_key") => says(stream, 401, "", "who are you"),
            Some("get_over") => says(stream, 404, "", ""),
            Some("get_own") => {
                says(stream, 400, JSON, r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"own"}}"#);
            }
            Some("get_none") => says(stream, 202, "", ""),
            Some("get_other") => says(stream, 200, JSON, r#"{"jsonrpc":"2.0","id":77,"result":{}}"#),
            Some("get_moved") => says(stream, 302, "Location: http://127.0.0.1:1/\r\n", ""),
            Some("get_broken") => streams(stream, "data: {\"id\":"),
            _ => {}
        }
    });
    let mut client = Client::of(remote.port, &[]);
    client.begins("2025-06-18");
    for (id, name, why) in [
        (1, "get_key", "--header"),
        (3, "get_own", "own"),
        (4, "get_none", "did not answer"),
        (6, "get_moved", "302"),
        (7, "get_broken", "broke off"),
        (8, "get_nothing", "failed"),
        (9, "get_over", "connect again"),
    ] {
        client.writes(&call(id, name));
        let answer: Value = serde_json::from_str(&client.reads()).unwrap();
        let said = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(answer["id"] == id && said.contains(why), "{name}: {answer}");
    }
    client.writes(&call(5, "get_other"));
    assert!(client.reads().contains("77"));
    assert!(client.reads().contains("answered another request"));
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn many_calls_go_beside_one_another() {
    let waiting = Arc::new(std::sync::Barrier::new(64));
    let remote = Remote::new(move |asked, stream| {
        if greets(asked, stream, "") {
        } else if asked.method == "GET" {
            says(stream, 405, "", "");
        } else {
            // No request is answered before all have arrived.
            waiting.wait();
            says(stream, 200, JSON, &asked.text.replace("\"method\"", "\"was\""));
        }
    });
    let mut client = Client::of(remote.port, &[]);
    client.begins("2025-11-25");
    for id in 1..=64 {
        client.writes(&call(id, "list_items"));
    }
    let mut ids: Vec<u64> =
        (0..64).map(|_| serde_json::from_str::<Value>(&client.reads()).unwrap()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=64).collect::<Vec<u64>>());
    assert_eq!(client.leaves(), Some(0));
}

#[test]
fn what_may_not_be_reached_is_not() {
    let here = "http://127.0.0.1:9/mcp";
    for (url, header, why) in [
        ("http://example.com/mcp", "A=TOKEN", "https://"),
        ("nonsense", "A=TOKEN", "invalid URL"),
        (here, "A", "NAME=VARIABLE"),
        (here, "A=NOWHERE", "NOWHERE"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(guard());
        command.env_clear().env("HOME", home.path()).env("TOKEN", "t").stdin(Stdio::null());
        command.args(["mcp", "--http", url, "--header-env", header]);
        let out = command.output().unwrap();
        assert_ne!(out.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&out.stderr).contains(why), "{url}: {out:?}");
    }
}

#[test]
fn when_guard_is_killed_the_session_ends() {
    let remote = Remote::new(|asked, stream| {
        if !greets(asked, stream, "Mcp-Session-Id: s\r\n") {
            says(stream, 405, "", "");
        }
    });
    let mut client = Client::of(remote.port, &[]);
    client.begins("2025-11-25");
    client.guard.kill().unwrap();
    client.guard.wait().unwrap();
    crate::test_gateway::until(|| remote.all().iter().any(|one| one.method == "DELETE"));
    drop(client.home);
}
