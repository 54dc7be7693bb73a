//! Tests many concurrent listeners, and their memory usage.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::browser::MEDIUM;
use crate::test_gateway::{TestGateway, bearer};

const LISTENERS: usize = 10_000;

/// A number of listeners, and the maximum memory of the gateway with them, in KiB.
const FEW: (usize, u64) = (1100, 64 * 1024);

/// The maximum memory of the gateway with all listeners, in KiB: 20 for each, and its usage without any.
const MOST_KIB: u64 = 256 * 1024;

/// Returns the resident memory of a process, in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn ten_thousand_listen_and_all_hear_of_a_request_and_a_thousand_do_in_64_mib() {
    let gateway = TestGateway::new("");
    // This process is a client and raises its own limit of open files; the gateway raises its own itself.
    let own = std::process::id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &own, "--nofile=16384:"]).status().unwrap();
    assert!(raised.success(), "a process may not open enough files");
    let head =
        format!("GET /v1/events HTTP/1.1\r\nHost: localhost:{}\r\n{}\r\n\r\n", gateway.port, bearer(&gateway.person));
    let mut all: Vec<BufReader<TcpStream>> = Vec::new();
    for _ in 0..LISTENERS {
        let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::with_capacity(512, stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        all.push(reader);
        if all.len() == FEW.0 {
            let held = resident(gateway.pid());
            assert!(held < FEW.1, "{held} KiB with {} streams", FEW.0);
        }
    }
    let before = resident(gateway.pid());
    assert!(before < MOST_KIB, "{before} KiB with {LISTENERS} streams");
    let mut agent = gateway.agent(MEDIUM);
    for reader in &mut all {
        assert!(reader.lines().map_while(Result::ok).any(|line| line == "event: request.filed"));
    }
    let after = resident(gateway.pid());
    assert!(after < MOST_KIB, "{after} KiB after an event to {LISTENERS} streams");
    eprintln!("{LISTENERS} streams: {before} KiB idle, {after} KiB after an event");
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
}

#[test]
fn as_many_files_are_taken_as_the_system_gives() {
    let mut gateway = TestGateway::new("");
    gateway.end("-TERM");
    let script = "ulimit -Sn 256; exec \"$0\" serve --listen 127.0.0.1:0";
    let mut gateway = gateway.program("/bin/sh".as_ref());
    let mut child =
        gateway.args(["-c", script, env!("CARGO_BIN_EXE_guard-gateway")]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("http://127.0.0.1"), "{line}");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let numbers: Vec<u64> = line.split_whitespace().take(2).map(|word| word.parse().unwrap_or(u64::MAX)).collect();
    assert_eq!(numbers[0], numbers[1].min(65_536), "{line}");
}
