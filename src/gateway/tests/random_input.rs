//! Sends random input to a running gateway, and checks that nothing crashes, no response reports an internal error, and
//! nothing is approved.
//!
//! `GUARD_FUZZ_SECONDS` sets the duration. The input is generated from a seed that a failure prints, `GUARD_FUZZ_SEED`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::channels::telegram::Bot;

/// Fragments that parsers are known to fail on.
const PIECES: [&str; 14] = [
    "null",
    "[]",
    "{}",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "[[[[[[[[[[[[[[[[",
    "\u{202e}",
    "\u{0}",
    "approve",
    "\"decision\":\"approve\"",
    "}}}}",
];

/// A generator of input from a seed.
struct RandomInput {
    state: u64,
}

impl RandomInput {
    fn number(&mut self, below: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 11).unwrap_or(0) % below.max(1)
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.number(of.len())]
    }

    /// Returns a text with a few bytes changed, removed, duplicated or inserted.
    fn changed(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..self.number(5) {
            let at = self.number(bytes.len() + 1);
            let end = (at + self.number(12)).min(bytes.len());
            match self.number(6) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                3 => {
                    let piece = *self.one(&PIECES);
                    bytes.splice(at..end, piece.bytes());
                }
                4 => bytes.insert(at, u8::try_from(self.number(256)).unwrap()),
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.number(8);
                    }
                }
            }
        }
        bytes
    }
}

/// Returns the status with which a gateway answers these bytes; `None` if it closed the connection.
fn said(port: u16, bytes: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The gateway may close the connection before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut start = [0; 12];
    stream.read_exact(&mut start).ok()?;
    std::str::from_utf8(&start).ok()?.split(' ').nth(1)?.parse().ok()
}

fn head(method: &str, path: &str, token: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )
}

/// Returns a frame of a WebSocket client, with a mask of zeros.
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u8::try_from(payload.len()) {
        Ok(length) if length < 126 => frame.push(0x80 | length),
        _ => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(payload.len()).unwrap_or(u16::MAX).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

#[test]
fn whatever_comes_in_breaks_nothing_and_approves_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("GUARD_FUZZ_SECONDS").unwrap_or(5);
    let seed = number("GUARD_FUZZ_SEED").unwrap_or_else(|| u64::from(std::process::id()) * 2_654_435_761 + 1);
    let mut made = RandomInput { state: seed };
    let bot = Bot::new();
    let gateway = bot.gateway();
    // Rate limits apply to each token.
    let tokens: Vec<String> = (0..20)
        .map(|at| gateway.token(&format!("t{at}"), if at % 2 == 0 { "submit" } else { "read,decide" }))
        .collect();
    let mut waits = gateway.agent("npm install left-pad-of-somebody");
    let request = gateway.waiting();
    let (button, id) = (bot.button("a"), request["action_id"].as_str().unwrap().to_owned());
    let cwd = gateway.path("work");
    let command = json!({ "command": "npm install x", "cwd": cwd, "reason": "why", "timeout_secs": 1 });
    let tool = json!({ "tool": "calendar.delete_event", "input": { "id": [1, null] }, "cwd": cwd, "timeout_secs": 1 });
    // The name of no request, so that an approval of it approves nothing.
    let nobody = "a".repeat(26);
    let assertion = json!({ "id": "AAAA", "authenticatorData": "AAAA", "clientDataJSON": "e30", "signature": "AAAA" });
    let bodies = [
        ("POST", "/v1/requests".to_owned(), command.to_string()),
        ("POST", "/v1/requests".to_owned(), tool.to_string()),
        ("POST", "/v1/requests/batch".to_owned(), json!([command, tool, { "argv": ["ls"], "cwd": "/" }]).to_string()),
        (
            "POST",
            "/v1/requests/decide".to_owned(),
            json!({ "answers": [
            { "action_id": nobody, "decision": "approve" }, { "action_id": "x", "decision": "deny", "words": "no" },
        ] })
            .to_string(),
        ),
        (
            "POST",
            format!("/v1/requests/{nobody}/approve"),
            json!({ "scope": "until", "until": "2030-01-01T00:00:00Z" }).to_string(),
        ),
        // An invalid signature for the pending request.
        ("POST", format!("/v1/requests/{id}/approve"), format!("{{\"assertion\":{assertion},\"scope\":\"always\"}}")),
        ("POST", format!("/v1/requests/{nobody}/deny"), json!({ "words": "use a branch" }).to_string()),
        (
            "POST",
            format!("/v1/requests/{id}/result"),
            json!({ "token": "go_x", "exit": 0, "duration_ms": 1 }).to_string(),
        ),
        ("POST", "/v1/login".to_owned(), json!({ "token": "gt_x" }).to_string()),
        ("POST", "/v1/enrol".to_owned(), json!({ "secret": "AAAA" }).to_string()),
        (
            "POST",
            "/v1/enrol/done".to_owned(),
            json!({ "secret": "AAAA", "registration": { "clientDataJSON": "e30", "attestationObject": "oA" } })
                .to_string(),
        ),
        ("POST", "/v1/pairings".to_owned(), json!({ "name": "eve", "secret": "AAAA" }).to_string()),
        (
            "POST",
            "/v1/push".to_owned(),
            json!({ "endpoint": "https://fcm.googleapis.com/x", "keys": { "p256dh": "BA", "auth": "AA" } }).to_string(),
        ),
        ("POST", "/v1/channels/test".to_owned(), json!({ "channels": ["none"] }).to_string()),
        ("GET", "/v1/requests?status=pending&cursor=1.2&limit=9&q=%22a%22".to_owned(), String::new()),
        ("GET", "/v1/record?q=%22a&cursor=5&days=3".to_owned(), String::new()),
        ("GET", format!("/v1/requests/{id}?wait=0"), String::new()),
    ];
    let update = json!({ "ok": true, "result": [{ "update_id": 5000, "callback_query": {
        "id": "cb", "from": { "id": 8, "is_bot": false }, "data": button, "message": { "message_id": 42, "chat": { "id": 500 } },
    } }, { "update_id": 5001, "message": { "text": format!("/approve {}", request["id"].as_str().unwrap()), "from": { "id": 8 }, "chat": { "id": 500 } } }] });
    let decision = json!({ "type": "tier3_decision", "action_id": nobody, "decision": "approve" }).to_string();
    let upgrade = format!(
        "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        tokens[1]
    );
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut sent = 0;
    while Instant::now() < until {
        let (method, path, body) = made.one(&bodies).clone();
        let token = made.one(&tokens).clone();
        let bytes = match made.number(10) {
            // The whole request is random, including its head.
            0 => {
                let text = head(method, &path, &token, body.len()) + &body;
                made.changed(&text)
            }
            1 => {
                let payload = made.changed(&decision);
                let mut frame = frame(&payload);
                if made.number(3) == 0 {
                    let at = made.number(frame.len());
                    frame[at] ^= 1 << made.number(8);
                }
                [upgrade.as_bytes(), &frame].concat()
            }
            2 => {
                let text = made.changed(&update.to_string());
                bot.server.fail("/getUpdates", 200, &String::from_utf8_lossy(&text));
                continue;
            }
            3 if method == "GET" => {
                let path = String::from_utf8_lossy(&made.changed(&path)).replace([' ', '\r', '\n'], "+");
                head(method, &path, &token, 0).into_bytes()
            }
            _ => {
                let body = made.changed(&body);
                [head(method, &path, &token, body.len()).as_bytes(), &body].concat()
            }
        };
        let status = said(gateway.port, &bytes);
        sent += 1;
        let told = String::from_utf8_lossy(&bytes);
        assert!(status.is_none_or(|status| status < 500), "GUARD_FUZZ_SEED={seed}: {status:?} to {told}");
    }
    eprintln!("{sent} requests");
    assert_eq!(gateway.get("/healthz", "").status, 200, "GUARD_FUZZ_SEED={seed}");
    assert_eq!(gateway.ran(), 0, "GUARD_FUZZ_SEED={seed}");
    let list = gateway.get("/v1/requests?status=approved", &gateway.person);
    assert_eq!(
        (list.status, list.body["requests"].as_array().map(Vec::len)),
        (200, Some(0)),
        "GUARD_FUZZ_SEED={seed}: {}",
        list.text
    );
    // The pending request is still pending: no input denied it, and a stranger's button press has no effect.
    let one = gateway.get(&format!("/v1/requests/{id}"), &gateway.person);
    let status = one.body["status"].as_str().unwrap_or_default();
    // No request waits for more than a minute.
    assert!(["pending", "expired"].contains(&status), "GUARD_FUZZ_SEED={seed}: {}", one.text);
    waits.kill().unwrap();
    waits.wait().unwrap();
}
