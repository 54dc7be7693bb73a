//! Tests clients that are slow, numerous, or never finish their requests: each gets an error or is disconnected, and
//! others are served.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::test_gateway::{TestGateway, bearer, until};

/// Sends a byte from time to time until the other side closes the connection or responds, and returns the elapsed time.
fn drip(gateway: &TestGateway, at_once: &str, byte: u8) -> Duration {
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    let begun = Instant::now();
    stream.write_all(at_once.as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(40), "it is still waited for");
        let _ = stream.write_all(&[byte]);
        match stream.read(&mut [0; 4096]) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Ok(_) | Err(_) => return begun.elapsed(),
        }
    }
}

#[test]
fn a_head_or_a_body_that_comes_byte_by_byte_is_not_waited_for() {
    let gateway = TestGateway::new("request_secs = 2\n");
    let took = drip(&gateway, "GET /v1/requests HTTP/1.1\r\nHost: localhost\r\nX: ", b'a');
    assert!(took < Duration::from_secs(30), "{took:?}");
    // A body, both without and with authentication.
    for (path, token) in [("/v1/login", ""), ("/v1/requests", gateway.client.as_str())] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{}\r\nX-Guard: 1\r\n{}{}Content-Type: application/json\r\n\
             Content-Length: 1000\r\n\r\n",
            gateway.port,
            bearer(token),
            if token.is_empty() { "" } else { "\r\n" }
        );
        let took = drip(&gateway, &head, b'{');
        assert!(took < Duration::from_secs(30), "{path}: {took:?}");
        let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.starts_with("HTTP/1.1 408") && said.contains("urn:guard:problem:too-slow"), "{path}: {said}");
    }
    // A client that has sent its request may listen without a time limit.
    let mut events = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    let head = format!("GET /v1/events HTTP/1.1\r\nHost: localhost:{}\r\n", gateway.port);
    events.write_all(format!("{head}{}\r\n\r\n", bearer(&gateway.person)).as_bytes()).unwrap();
    let idle = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    idle.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!((&idle).read(&mut [0; 10]).unwrap(), 0, "who says nothing is hung up on");
    gateway.submit("npm install left-pad-of-somebody");
    events.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut heard = String::new();
    until(|| {
        let mut part = [0; 4096];
        let read = events.read(&mut part).unwrap();
        assert!(read > 0, "the stream ended: {heard}");
        heard.push_str(&String::from_utf8_lossy(&part[..read]));
        heard.contains("event: request.filed")
    });
}

#[test]
fn who_takes_all_connections_keeps_others_waiting_no_longer_than_a_request_may_take() {
    let gateway = TestGateway::new("request_secs = 2\nconnections = 4\n");
    let held: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(("127.0.0.1", gateway.port)).unwrap()).collect();
    assert_eq!(gateway.get("/v1/requests", &gateway.person).status, 200);
    drop(held);
}

#[test]
fn whatever_is_refused_is_a_problem() {
    let gateway = TestGateway::new("");
    let post = |kind: &str, body: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
        let text = format!(
            "POST /v1/login HTTP/1.1\r\nHost: localhost:{}\r\nX-Guard: 1\r\n{kind}Content-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            gateway.port,
            body.len()
        );
        let _ = stream.write_all(text.as_bytes());
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        said
    };
    let json = "Content-Type: application/json\r\n";
    let large = json!({ "secret": "x".repeat(1 << 20) }).to_string();
    for (said, status, kind) in [
        (post("", "{}"), 415, "wrong-type"),
        (post(json, "{"), 400, "bad-request"),
        (post(json, "{}"), 422, "unreadable"),
        (post(json, &large), 413, "too-large"),
    ] {
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{said}");
        assert!(head.to_lowercase().contains("content-type: application/problem+json"), "{said}");
        let told: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(told["type"], format!("urn:guard:problem:{kind}"), "{said}");
        assert_eq!(told["status"], status);
    }
    for (method, path, status) in [
        ("PUT", "/v1/requests", 405),
        ("GET", "/v1/requests?tier=x", 400),
        ("GET", "/v1/requests?nothing=1", 400),
        ("GET", "/v1/ws", 400),
        ("GET", "/v1/nothing", 404),
    ] {
        let told = gateway.send(method, path, &[&bearer(&gateway.person)], "");
        assert_eq!(told.status, status, "{method} {path}: {}", told.text);
        assert!(told.head.to_lowercase().contains("content-type: application/problem+json"), "{path}: {}", told.head);
        assert!(told.body["title"].is_string() && told.body["status"] == status, "{path}: {}", told.text);
    }
    let told = gateway.send("PUT", "/v1/requests", &[&bearer(&gateway.person)], "");
    assert!(told.head.to_lowercase().contains("\r\nallow: "), "{}", told.head);
}
