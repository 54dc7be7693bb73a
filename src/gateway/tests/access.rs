//! Tests authentication and its end: a stream ends with the token that opened it, and a client that guesses tokens
//! blocks nobody else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::browser::MEDIUM;
use crate::test_gateway::{TestGateway, bearer, until};

/// A client of `/v1/ws`.
struct Socket {
    runtime: tokio::runtime::Runtime,
    stream: WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>,
}

impl Socket {
    fn open(gateway: &TestGateway, head: (&'static str, &str)) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut request = format!("ws://localhost:{}/v1/ws", gateway.port).into_client_request().unwrap();
        request.headers_mut().insert(head.0, head.1.parse().unwrap());
        let (stream, _) = runtime.block_on(connect_async(request)).unwrap();
        Self { runtime, stream }
    }

    fn say(&mut self, text: &Value) {
        self.runtime.block_on(self.stream.send(Message::text(text.to_string()))).unwrap();
    }

    /// Returns the next message of one of these types; `None` once the connection is closed.
    fn next(&mut self, kinds: &[&str]) -> Option<Value> {
        loop {
            let next = self.runtime.block_on(async {
                tokio::time::timeout(Duration::from_secs(20), self.stream.next()).await.expect("it says nothing")
            });
            match next {
                Some(Ok(Message::Text(text))) => {
                    let value: Value = serde_json::from_str(text.as_str()).unwrap();
                    if kinds.contains(&value["type"].as_str().unwrap()) {
                        return Some(value);
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }
}

/// Opens a stream of events, and reads the status line of its response.
fn events(gateway: &TestGateway, head: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let text = format!("GET /v1/events HTTP/1.1\r\nHost: localhost:{}\r\n{head}\r\n\r\n", gateway.port);
    stream.write_all(text.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    reader
}

fn revoke(gateway: &TestGateway, name: &str) {
    assert!(gateway.command(&["token", "remove", name]).status().unwrap().success());
}

/// Returns the remaining events up to the end of the stream.
fn rest(reader: BufReader<TcpStream>) -> Vec<String> {
    let mut all = Vec::new();
    for line in reader.lines() {
        match line {
            // The last chunk of a complete body.
            Ok(line) if line == "0" => break,
            Ok(line) => all.push(line),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("the stream goes on: {all:?}"),
            Err(_) => break,
        }
    }
    all
}

#[test]
fn a_stream_ends_with_the_token_that_opened_it() {
    let gateway = TestGateway::new("");
    let (gone, stays) = (gateway.token("gone", "read"), gateway.token("stays", "read"));
    let (first, other) = (events(&gateway, &bearer(&gone)), events(&gateway, &bearer(&stays)));
    let mut socket = Socket::open(&gateway, ("authorization", &format!("Bearer {gone}")));
    revoke(&gateway, "gone");
    let heard = rest(first);
    assert!(!heard.iter().any(|line| line.starts_with("event: request")), "{heard:?}");
    assert_eq!(socket.next(&["request.filed"]), None);
    // Other streams continue.
    let mut agent = gateway.agent(MEDIUM);
    assert!(other.lines().map_while(Result::ok).any(|line| line == "event: request.filed"));
    agent.kill().unwrap();
    agent.wait().unwrap();
}

#[test]
fn an_answer_over_a_socket_counts_only_while_its_token_does() {
    let gateway = TestGateway::new("");
    let agent = gateway.agent(MEDIUM);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let temp = gateway.token("temp", "read,decide");
    let mut socket = Socket::open(&gateway, ("authorization", &format!("Bearer {temp}")));
    let yes = json!({ "type": "tier3_decision", "action_id": id, "decision": "approve" });
    // The message is sent immediately after the revocation, before the gateway has had time to reread its tokens.
    revoke(&gateway, "temp");
    socket.say(&yes);
    if let Some(told) = socket.next(&["tier3_decision_ack"]) {
        assert_eq!(told["outcome"], "unauthorized", "{told}");
    }
    assert_eq!(socket.next(&["request.answered"]), None);
    assert_eq!(gateway.waiting()["action_id"], id.as_str(), "nothing was approved");
    let mut socket = Socket::open(&gateway, ("authorization", &format!("Bearer {}", gateway.person)));
    socket.say(&yes);
    assert_eq!(socket.next(&["tier3_decision_ack"]).unwrap()["outcome"], "done");
    assert!(agent.wait_with_output().unwrap().status.success());
}

#[test]
fn what_is_no_answer_over_a_socket_is_told_so_and_the_next_one_counts() {
    let gateway = TestGateway::new("");
    let agent = gateway.agent(MEDIUM);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let mut socket = Socket::open(&gateway, ("authorization", &format!("Bearer {}", gateway.person)));
    for text in ["{ this is no JSON", "", "null", "[]", r#"{"type":"tier3_decision"}"#] {
        socket.runtime.block_on(socket.stream.send(Message::text(text.to_owned()))).unwrap();
        let told = socket.next(&["error"]).unwrap();
        assert!(told["detail"].as_str().unwrap().contains("invalid tier3_decision"), "{text}: {told}");
    }
    assert_eq!(gateway.waiting()["action_id"], id.as_str());
    socket.say(&json!({ "type": "tier3_decision", "action_id": id, "decision": "approve" }));
    assert_eq!(socket.next(&["tier3_decision_ack"]).unwrap()["outcome"], "done");
    assert!(agent.wait_with_output().unwrap().status.success());
}

#[test]
fn a_stream_of_the_page_ends_when_the_page_logs_out() {
    let gateway = TestGateway::new("");
    let login = json!({ "secret": gateway.person }).to_string();
    let cookie = || {
        let told = gateway.send("POST", "/v1/login", &["X-Guard: 1"], &login);
        let set = told.head.lines().find(|line| line.to_lowercase().starts_with("set-cookie:")).unwrap().to_owned();
        format!("Cookie: {}", set.split_once(": ").unwrap().1.split(';').next().unwrap())
    };
    let (one, other) = (cookie(), cookie());
    let (first, second) = (events(&gateway, &one), events(&gateway, &other));
    let mut socket = Socket::open(&gateway, ("cookie", one.split_once(": ").unwrap().1));
    assert_eq!(gateway.send("POST", "/v1/logout", &[&one, "X-Guard: 1"], "").status, 204);
    rest(first);
    assert_eq!(socket.next(&["request.filed"]), None);
    revoke(&gateway, "ada");
    rest(second);
}

#[test]
fn who_guesses_tokens_is_slowed_down_and_keeps_nobody_else_out() {
    let gateway = TestGateway::new("");
    let codes: Vec<u16> = (0..8).map(|at| gateway.get("/v1/requests", &format!("gt_{at}")).status).collect();
    assert_eq!(codes, [401, 401, 401, 401, 401, 429, 429, 429]);
    let told = gateway.get("/v1/requests", "gt_x");
    assert!(told.head.to_lowercase().contains("retry-after: "), "{}", told.head);
    // A valid token from the same address is accepted, by the API and on the page.
    assert_eq!(gateway.get("/v1/requests", &gateway.person).status, 200);
    let login = json!({ "secret": gateway.person }).to_string();
    assert_eq!(gateway.send("POST", "/v1/login", &["X-Guard: 1"], &login).status, 200);
    assert_eq!(
        gateway.send("POST", "/v1/login", &["X-Guard: 1"], &json!({ "secret": "gt_y" }).to_string()).status,
        429
    );
}

#[test]
fn behind_a_proxy_that_is_named_each_client_guesses_for_itself() {
    let mut gateway = TestGateway::new("behind_proxy = true\nproxies = [\"127.0.0.1\"]\n");
    let guess = |gateway: &TestGateway, client: &str| {
        let head = [bearer("gt_x"), format!("X-Forwarded-For: 203.0.113.7, {client}")];
        gateway.send("GET", "/v1/requests", &[&head[0], &head[1]], "").status
    };
    let codes: Vec<u16> = (0..6).map(|_| guess(&gateway, "198.51.100.1")).collect();
    assert_eq!(codes, [401, 401, 401, 401, 401, 429]);
    assert_eq!(guess(&gateway, "198.51.100.2"), 401);
    // The header of a proxy that is not configured is ignored, so all clients count as one.
    gateway.write_config("behind_proxy = true\nproxies = [\"192.0.2.0/24\"]\n");
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let codes: Vec<u16> = (0..6).map(|at| guess(&gateway, &format!("198.51.100.{at}"))).collect();
    assert_eq!(codes, [401, 401, 401, 401, 401, 429]);
    gateway.write_config("proxies = [\"10.0.0.0/33\"]\n");
    let status = gateway.command(&["serve", "--status"]).output().unwrap();
    let said = String::from_utf8(status.stdout).unwrap();
    assert!(said.contains("10.0.0.0/33") && said.contains("expected an IP address"), "{said}");
    until(|| gateway.get("/v1/requests", &gateway.person).status == 200);
}
