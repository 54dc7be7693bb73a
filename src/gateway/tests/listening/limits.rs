//! Tests that a client cannot overfill, block or outlive a guard that listens, nor get a denied call through.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Front, call, lives, until};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Reports whether the other side closes the connection, whatever it sends before.
fn is_hung_up(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.read_to_end(&mut Vec::new()).is_ok()
}

fn signal(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
}

/// Returns the parent of a process.
fn parent(pid: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().to_owned()
}

#[test]
fn a_session_that_nobody_uses_ends_and_one_that_is_used_does_not() {
    let front = Front::started(None, &["--idle", "2"]);
    let (unused, listened, waiting) =
        (front.begins("2025-11-25"), front.begins("2025-11-25"), front.begins("2025-11-25"));
    let servers = front.servers();
    let _listens = front.asks("GET", &[&listened], "");
    let mut slow = front.asks("POST", &[&waiting], &call(1, "read_slow", json!({})));
    until("the server of the unused one ends", || !lives(&servers[0]));
    until("its name is forgotten", || front.asks("POST", &[&unused], PING).status == 404);
    assert!(lives(&servers[1]) && lives(&servers[2]));
    let go = r#"{"jsonrpc":"2.0","method":"notifications/go"}"#;
    assert_eq!(front.asks("POST", &[&waiting], go).status, 202);
    // A message that belongs to no request is delivered to a pending one.
    let said: Vec<String> = std::iter::from_fn(|| slow.event()).collect();
    assert!(said.iter().any(|event| event.contains(r#""slow":true"#)), "who waits is waited for: {said:?}");
    until("then it ends too", || !lives(&servers[2]));
    assert!(lives(&servers[1]));
}

#[test]
fn there_are_no_more_than_64_sessions_and_the_longest_unused_makes_room() {
    let front = Front::new();
    let sessions: Vec<String> = (0..64).map(|_| front.begins("2025-11-25")).collect();
    let servers = front.servers();
    let mut listening: Vec<_> = sessions.iter().map(|session| front.asks("GET", &[session], "")).collect();
    let text = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let full = front.asks("POST", &[], text);
    assert_eq!(full.status, 503);
    assert!(full.body()["error"]["message"].as_str().unwrap().contains("64 sessions are in use"));
    assert_eq!(front.servers().len(), 64, "nothing was started for it");
    drop(listening.remove(20));
    until("there is room for one more", || front.asks("POST", &[], text).status == 200);
    until("the unused one made it", || !lives(&servers[20]));
    assert_eq!(front.asks("POST", &[&sessions[20]], PING).status, 404);
    assert_eq!(front.asks("POST", &[&sessions[21]], PING).status, 200);
}

#[test]
fn a_client_that_does_not_say_what_it_wants_is_hung_up_on_and_others_are_served() {
    let front = Front::started(None, &["--idle", "2"]);
    let own = format!("Authorization: Bearer {}", front.token);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{own}\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 500\r\n"
    );
    let silent = || TcpStream::connect(("127.0.0.1", front.port)).unwrap();
    let says = |text: &str| {
        let mut stream = silent();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let half_closed = says("POST /mcp HTTP/1.1\r\n");
    half_closed.shutdown(std::net::Shutdown::Write).unwrap();
    let held = [silent(), says("POST /mc"), says(&head), says(&format!("{head}\r\n{{\"jsonrpc\"")), half_closed];
    let more: Vec<TcpStream> = (0..200).map(|_| silent()).collect();
    let session = front.begins("2025-11-25");
    assert_eq!(front.asks("POST", &[&session], PING).status, 200);
    for stream in held.into_iter().chain(more.into_iter().take(3)) {
        assert!(is_hung_up(stream));
    }
    assert_eq!(front.asks("POST", &[], PING).status, 400, "it still serves");
    assert!(!front.heard().contains("{\"jsonrpc\"\n"));
}

#[test]
fn a_message_of_100_mb_takes_no_room() {
    let front = Front::new();
    let session = front.begins("2025-11-25");
    let pid = front.child.id();
    for head in ["Content-Length: 100000000\r\n", "Transfer-Encoding: chunked\r\n"] {
        let mut stream = TcpStream::connect(("127.0.0.1", front.port)).unwrap();
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n{session}\r\nAccept: */*\r\nContent-Type: \
             application/json\r\n{head}\r\n",
            front.token
        );
        stream.write_all(text.as_bytes()).unwrap();
        let part = vec![b'a'; 1_000_000];
        for _ in 0..100 {
            let chunk =
                if head.starts_with('T') { [b"f4240\r\n".as_slice(), &part, b"\r\n"].concat() } else { part.clone() };
            if stream.write_all(&chunk).is_err() {
                break;
            }
        }
        let mut said = Vec::new();
        let _ = stream.take(200).read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        // The unread rest of the request may reset the connection and discard the response.
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 413"), "{said}");
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < 180 << 10, "{most} KiB");
    assert!(!front.heard().contains("aaaa"));
    assert_eq!(front.asks("POST", &[&session], PING).status, 200);
}

#[test]
fn a_server_or_a_guard_that_is_killed_ends_the_call_with_an_error_and_nothing_runs_later() {
    let front = Front::started(None, &["--wait", "20"]);
    let one = front.begins("2025-11-25");
    let mut waits = front.asks("POST", &[&one], &call(1, "read_slow", json!({})));
    until("the slow call is heard", || front.heard().contains("read_slow"));
    signal(&front.servers()[0]);
    let told = waits.event().unwrap();
    assert!(told.contains("\"error\"") && told.contains("connect again") && told.contains(r#""id":1"#), "{told}");
    assert_eq!(waits.event(), None);

    let two = front.begins("2025-11-25");
    let token = json!({"_meta": {"progressToken": "p"}});
    let mut waits = front.asks("POST", &[&two], &call(2, "delete_everything", token.clone()));
    assert!(waits.event().unwrap().contains("notifications/progress"), "a person is waited for");
    let server = front.servers().pop().unwrap();
    signal(&parent(&server));
    let told = waits.event().unwrap();
    assert!(told.contains("\"error\"") && told.contains(r#""id":2"#), "{told}");
    until("the server ends with its guard", || !lives(&server));

    let mut front = front;
    let three = front.begins("2025-11-25");
    let mut waits = front.asks("POST", &[&three], &call(3, "delete_everything", token));
    assert!(waits.event().unwrap().contains("notifications/progress"));
    let server = front.servers().pop().unwrap();
    let guard = parent(&server);
    front.child.kill().unwrap();
    let mut rest = String::new();
    // The connection ends without a result of the call.
    let _ = waits.stream.read_to_string(&mut rest);
    assert!(!rest.contains("result"), "{rest}");
    until("all that was begun ends", || !lives(&server) && !lives(&guard));
    assert!(!front.heard().contains("delete_everything"), "{}", front.heard());
}

/// Generates hostile messages of a client: calls that must not get through, valid or corrupted.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![
        Just(json!(1)),
        Just(json!("1")),
        Just(json!(null)),
        Just(json!(1.0)),
        Just(json!(-1)),
        Just(json!([1])),
        any::<u64>().prop_map(|id| json!(id)),
    ];
    let method = prop_oneof![
        4 => Just("tools/call"),
        1 => Just("tools\\u002fcall"),
        1 => Just("notifications/cancelled"),
        1 => Just("initialize"),
        1 => Just("tools/list"),
        1 => Just("Tools/Call"),
    ];
    let one = (id, method, any::<bool>(), 0_u8..4).prop_map(|(id, method, twice, form)| {
        let id = id.to_string();
        let again = if twice { format!(r#","id":{id}"#) } else { String::new() };
        let name = [
            r#""name":"delete_item""#,
            r#""name":"read_item","name":"delete_item""#,
            r#""n\u0061me":"delete_item""#,
            r#""requestId":1,"name":"delete_item""#,
        ][usize::from(form)];
        format!(
            r#"{{"jsonrpc":"2.0","id":{id}{again},"method":"{method}","params":{{{name},"arguments":{{"path":"x"}}}}}}"#
        )
    });
    let all = prop::collection::vec(one, 1..4).prop_map(|all| match all.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(",")),
    });
    let spoil = prop_oneof![
        3 => Just(None),
        2 => (any::<prop::sample::Index>(), any::<u8>()).prop_map(Some),
    ];
    (all, spoil, any::<bool>()).prop_map(|(text, spoil, cut)| {
        let mut bytes = text.into_bytes();
        if let Some((at, with)) = spoil {
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] = with;
            }
        }
        bytes
    })
}

#[test]
fn whatever_a_client_sends_no_call_gets_through_unjudged_and_the_next_client_is_served() {
    let front = Front::new();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 64, ..ProptestConfig::default() });
    let ran = runner.run(&prop::collection::vec(hostile(), 1..6), |messages| {
        let session = front.begins("2025-11-25");
        for message in &messages {
            let mut stream = TcpStream::connect(("127.0.0.1", front.port)).unwrap();
            let head = format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n{session}\r\nAccept: */*\r\nContent-Type: \
                 application/json\r\nContent-Length: {}\r\n\r\n",
                front.token,
                message.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(message).unwrap();
            let mut start = [0; 12];
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.read_exact(&mut start).unwrap();
            // The client disconnects, in most cases while its request is pending.
            let status = String::from_utf8_lossy(&start[9..]).into_owned();
            prop_assert!(["200", "202", "400", "404", "503"].contains(&status.as_str()), "{status}: {message:?}");
        }
        prop_assert!([200, 204, 404].contains(&front.asks("DELETE", &[&session], "").status));
        Ok(())
    });
    ran.unwrap();
    let session = front.begins("2025-11-25");
    assert_eq!(front.asks("POST", &[&session], PING).status, 200);
    for line in front.heard().lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let all = message.as_array().cloned().unwrap_or_else(|| vec![message]);
        for one in all {
            let is_call = one["method"].as_str().is_some_and(|method| method.eq_ignore_ascii_case("tools/call"));
            assert!(!(is_call && one["params"]["name"] == "delete_item"), "{line}");
        }
    }
}
