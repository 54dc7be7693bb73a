//! Tests that each row reaches every configured collector at least once and in order, and that no command waits for a
//! collector.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::PATIENCE;

fn configured(to: &str) -> Home {
    let home = Home::new();
    configure(&home, to);
    home
}

fn configure(home: &Home, to: &str) {
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), format!("[export]\nto = [\"{to}\"]\n")).unwrap();
}

/// A stand-in for journald: a datagram socket at a path.
struct Journal {
    path: PathBuf,
    socket: UnixDatagram,
}

impl Journal {
    fn new(home: &Home) -> Self {
        let path = home.path("journal");
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        Self { path, socket }
    }

    /// Creates a journal, and configures this home to export to it.
    fn of(home: &Home) -> Self {
        configure(home, &format!("journald:{}", home.path("journal").display()));
        Self::new(home)
    }

    /// Returns the fields of all entries that were sent.
    fn entries(&self) -> Vec<BTreeMap<String, String>> {
        let mut all = Vec::new();
        let mut bytes = vec![0; 1 << 18];
        while let Ok(length) = self.socket.recv(&mut bytes) {
            all.push(fields(&bytes[..length]));
        }
        all
    }
}

/// Parses a message of journald's native protocol.
fn fields(mut message: &[u8]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    while !message.is_empty() {
        let end = message.iter().position(|byte| *byte == b'\n').unwrap();
        let line = String::from_utf8(message[..end].to_vec()).unwrap();
        message = &message[end + 1..];
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => {
                let length = usize::try_from(u64::from_le_bytes(message[..8].try_into().unwrap())).unwrap();
                let value = String::from_utf8(message[8..8 + length].to_vec()).unwrap();
                assert_eq!(message[8 + length], b'\n');
                message = &message[8 + length + 1..];
                (line, value)
            }
        };
        assert!(name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'), "{name}");
        all.insert(name, value);
    }
    all
}

fn rows(entries: &[BTreeMap<String, String>]) -> Vec<i64> {
    entries.iter().map(|entry| entry["GUARD_ROW"].parse().unwrap()).collect()
}

#[test]
fn journald_gets_each_row_as_it_is_written_with_the_head_that_verify_takes() {
    let home = Home::new();
    let journal = Journal::of(&home);
    assert!(home.run(&["echo", "one\ntwo"]).status.success());
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    let entries = journal.entries();
    assert_eq!(rows(&entries), [1, 2]);
    assert_eq!(entries[0]["GUARD_COMMAND"], "echo 'one\ntwo'");
    assert_eq!((entries[0]["PRIORITY"].as_str(), entries[1]["PRIORITY"].as_str()), ("6", "4"));
    assert_eq!(entries[1]["MESSAGE"], "command denied: git push --force origin main");
    assert_eq!(entries[1]["GUARD_RULES"], "git.push-force");
    assert_eq!((entries[1]["GUARD_DECISION"].as_str(), entries[1]["SYSLOG_IDENTIFIER"].as_str()), ("deny", "guard"));
    assert!(home.prints(&["verify", "--head", &entries[1]["GUARD_HEAD"]], 0).contains("is part of this chain"));
    let told = home.prints(&["export", "--status"], 0);
    assert!(told.contains(&format!("sent up to row 2 (head {})", entries[1]["GUARD_HEAD"])), "{told}");
    assert!(told.contains("; 0 not sent yet"), "{told}");
    // Comparing with the exported head reveals that the tail of the record was deleted.
    home.sql("DELETE FROM record WHERE id = 2");
    assert!(home.prints(&["verify", "--head", &entries[1]["GUARD_HEAD"]], 1).contains("is not part of this chain"));
    assert!(home.prints(&["export", "--status"], 1).contains("was changed after it was sent"));
}

#[test]
fn a_collector_that_is_down_changes_nothing_and_gets_what_it_missed_when_it_is_back() {
    let home = configured("");
    let journal = Journal::of(&home);
    home.run(&["true"]);
    assert_eq!(rows(&journal.entries()), [1]);
    std::fs::remove_file(&journal.path).unwrap();
    drop(journal);
    for _ in 0..5 {
        assert!(home.run(&["true"]).status.success());
    }
    let denied = home.run(&FLAGGED);
    assert_eq!(denied.status.code(), Some(126));
    assert!(!String::from_utf8_lossy(&denied.stderr).contains("journal"));
    let told = home.prints(&["export", "--status"], 1);
    assert!(
        told.contains("sent up to row 1 ") && told.contains("; 6 not sent yet") && told.contains("was rejected: "),
        "{told}"
    );
    let doctor = home.guard(&["doctor", "export"]).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("export: journald:") && said.contains("was rejected: "), "{said}");
    let journal = Journal::new(&home);
    home.run(&["true"]);
    assert_eq!(rows(&journal.entries()), (2..=8).collect::<Vec<_>>());
    home.prints(&["export", "--status"], 0);
}

#[test]
fn what_was_pruned_or_made_unreadable_before_it_was_sent_is_counted_and_the_rest_is_sent() {
    let home = Home::new();
    let journal = Journal::of(&home);
    home.run(&["true"]);
    assert_eq!(rows(&journal.entries()), [1]);
    std::fs::remove_file(&journal.path).unwrap();
    for _ in 0..6 {
        home.run(&["true"]);
    }
    home.sql("UPDATE record SET tier = 9 WHERE id = 5; DELETE FROM record WHERE id < 4");
    let journal = Journal::new(&home);
    home.run(&["true"]);
    assert_eq!(rows(&journal.entries()), [4, 6, 7, 8]);
    let told = home.prints(&["export", "--status"], 0);
    assert!(told.contains("; 3 not sent: "), "{told}");
}

#[test]
fn a_collector_that_reads_nothing_keeps_no_command_waiting_and_misses_none() {
    let home = Home::new();
    let journal = Journal::of(&home);
    for _ in 0..30 {
        assert!(home.run(&["true"]).status.success());
    }
    let mut seen = rows(&journal.entries());
    for _ in 0..10 {
        home.run(&["true"]);
        seen.extend(rows(&journal.entries()));
    }
    assert_eq!(seen, (1..=40).collect::<Vec<_>>());
}

#[test]
fn guards_that_write_at_once_leave_no_row_untold() {
    let home = Home::new();
    let journal = Journal::of(&home);
    let reader = std::thread::spawn({
        let socket = journal.socket.try_clone().unwrap();
        move || {
            let (mut all, mut bytes, since) = (BTreeSet::new(), vec![0; 1 << 16], Instant::now());
            while !all.contains(&33) && since.elapsed() < PATIENCE {
                if let Ok(length) = socket.recv(&mut bytes) {
                    all.insert(fields(&bytes[..length])["GUARD_ROW"].parse::<i64>().unwrap());
                }
            }
            all
        }
    });
    let start = |_| home.guard(&["--", "true"]).stdout(Stdio::null()).spawn().unwrap();
    let children: Vec<_> = (0..32).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    home.run(&["true"]);
    // The delivery that blocked the last command's may have ended too early for its row.
    home.guard(&["export", "--deliver"]).output().unwrap();
    assert_eq!(reader.join().unwrap(), (1..=33).collect());
}

/// Reads entries until that of the row `last` arrives, and returns the rows in order of arrival.
fn until(socket: &UnixDatagram, last: i64) -> Vec<i64> {
    let (mut all, mut bytes, since) = (Vec::new(), vec![0; 1 << 18], Instant::now());
    while !all.contains(&last) && since.elapsed() < PATIENCE {
        if let Ok(length) = socket.recv(&mut bytes) {
            all.push(fields(&bytes[..length])["GUARD_ROW"].parse().unwrap());
        }
    }
    all
}

#[test]
fn a_guard_that_is_killed_while_it_sends_leaves_no_row_untold() {
    let home = Home::new();
    let journal = Journal::of(&home);
    home.run(&["true"]);
    for step in 0..60 {
        let mut child = home.guard(&["--", "true"]).stdout(Stdio::null()).spawn().unwrap();
        // The kill hits a different point each time; the command may already have ended.
        std::thread::sleep(Duration::from_micros(step * 400));
        child.kill().unwrap();
        child.wait().unwrap();
        if step % 8 == 7 {
            std::fs::remove_file(&journal.path).unwrap();
            home.run(&["true"]);
            std::os::unix::fs::symlink(home.path("other"), &journal.path).unwrap();
            home.run(&["true"]);
            std::fs::remove_file(&journal.path).unwrap();
            // Binds a new socket at the same path.
            let socket = Journal::new(&home);
            drop(socket);
        }
    }
    let journal = Journal::new(&home);
    let last = i64::try_from(home.store().verify().unwrap().rows).unwrap();
    let begun = home.prints(&["export", "--status"], 1);
    let sent: i64 = begun.split("sent up to row ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let reader = std::thread::spawn(move || until(&journal.socket, last));
    while home.guard(&["export", "--deliver"]).output().unwrap().status.code() == Some(1) {}
    assert_eq!(reader.join().unwrap(), (sent + 1..=last).collect::<Vec<_>>());
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_command_that_is_too_long_for_the_socket_is_cut_and_says_so() {
    let home = Home::new();
    let journal = Journal::of(&home);
    let long = "x".repeat(120_000);
    assert!(home.run(&["echo", &long, &long]).status.success());
    let entries = journal.entries();
    let (command, cut) = (&entries[0]["GUARD_COMMAND"], entries[0].get("GUARD_CUT").map(String::as_str));
    assert!((command.len() == 240_006 && cut.is_none()) || (command.len() == 16 << 10 && cut == Some("1")), "{cut:?}");
}

#[test]
fn syslog_gets_what_its_standard_says() {
    let home = Home::new();
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    listener.set_read_timeout(Some(PATIENCE)).unwrap();
    configure(&home, &format!("syslog+udp://{}", listener.local_addr().unwrap()));
    home.run(&FLAGGED);
    let mut bytes = [0; 1 << 16];
    let length = listener.recv(&mut bytes).unwrap();
    let line = String::from_utf8(bytes[..length].to_vec()).unwrap();
    let parts: Vec<&str> = line.splitn(8, ' ').collect();
    assert_eq!(
        (parts[0], parts[3], parts[5], parts[6]),
        ("<84>1", "guard", "command-denied", "[guard@32473"),
        "{line}"
    );
    assert!(parts[1].ends_with('Z') && parts[1].parse::<jiff::Timestamp>().is_ok(), "{line}");
    assert!(line.ends_with("] command denied: git push --force origin main") && line.contains(" tier=\"3\""), "{line}");

    // The target is a local socket such as /dev/log.
    let log = UnixDatagram::bind(home.path("log")).unwrap();
    log.set_read_timeout(Some(PATIENCE)).unwrap();
    configure(&home, &format!("syslog:{}", home.path("log").display()));
    home.run(&["true"]);
    // A row that was written a moment before is sent too, because it could be concurrent with this one.
    let allowed = |_| log.recv(&mut bytes).is_ok_and(|length| bytes[..length].starts_with(b"<86>1 "));
    assert!((0..2).any(allowed));
}

#[test]
fn a_stream_of_syslog_is_sent_by_the_verb_that_waits() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("syslog+tcp://{}", listener.local_addr().unwrap());
    configure(&home, &to);
    for _ in 0..3 {
        home.run(&["true"]);
    }
    assert!(home.prints(&["export", "--status"], 0).contains("nothing sent yet"));
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        text
    });
    home.prints(&["export", "--deliver", "--after", "0"], 0);
    let mut text = reader.join().unwrap();
    // Each message is prefixed with its length.
    for _ in 0..3 {
        let (length, rest) = text.split_once(' ').unwrap();
        let (message, rest) = rest.split_at(length.parse().unwrap());
        assert!(message.starts_with("<86>1 ") && message.ends_with("command allowed: true"), "{message}");
        text = rest.to_owned();
    }
    assert_eq!(text, "");
}

/// Answers one request, and returns its body. If `status` is `None`, waits until the client has disconnected.
fn answer(listener: &TcpListener, status: Option<&str>) -> Value {
    let mut stream: TcpStream = listener.accept().unwrap().0;
    let mut request = Vec::new();
    let body = loop {
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        assert!(length > 0, "{}", String::from_utf8_lossy(&request));
        request.extend(&bytes[..length]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        assert!(head.starts_with("POST /v1/logs HTTP/1.1\r\n") && head.contains("application/json"), "{head}");
        let wanted = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        if body.len() >= wanted.parse().unwrap() {
            break serde_json::from_str(body).unwrap();
        }
    };
    match status {
        Some(status) => {
            let (status, body) = status.split_once('|').unwrap_or((status, "{}"));
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
        None => drop(stream.read(&mut [0; 1])),
    }
    body
}

/// Returns the rows in a request to an OpenTelemetry collector.
fn told(body: &Value) -> Vec<String> {
    let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    let id = |record: &Value| {
        let attributes = record["attributes"].as_array().unwrap();
        let found = attributes.iter().find(|one| one["key"] == "guard.id").unwrap();
        found["value"]["intValue"].as_str().unwrap().to_owned()
    };
    records.iter().map(id).collect()
}

#[test]
fn a_collector_of_opentelemetry_gets_what_it_did_not_take_once_more() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    configure(&home, &format!("otlp+http://{}", listener.local_addr().unwrap()));
    home.run(&["true"]);
    home.run(&FLAGGED);
    let deliver = |arguments: &[&str], status: Option<&str>, code: i32| {
        let child = home.guard(&[&["export", "--deliver"], arguments].concat()).stderr(Stdio::piped()).spawn().unwrap();
        let body = answer(&listener, status);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        (told(&body), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (rows, said) = deliver(&["--after", "0"], Some("503 Service Unavailable"), 1);
    assert_eq!(rows, ["1", "2"]);
    assert!(said.contains("answered HTTP/1.1 503 Service Unavailable"), "{said}");
    assert!(home.prints(&["export", "--status"], 1).contains("503"));
    assert_eq!(deliver(&[], Some("200 OK"), 0).0, ["1", "2"]);
    home.run(&["true"]);
    assert_eq!(deliver(&[], Some("200 OK"), 0).0, ["3"]);
    // A row that the collector rejects is not sent again, and is reported.
    home.run(&["true"]);
    let partly = r#"200 OK|{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"no"}}"#;
    assert_eq!(deliver(&[], Some(partly), 0).0, ["4"]);
    assert!(home.prints(&["export", "--status"], 0).contains("; 1 not sent: "));
    // If the exporter is killed before the answer, it sends the row again.
    home.run(&["true"]);
    let mut killed = home.guard(&["export", "--deliver", "--follow"]).spawn().unwrap();
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| answer(&listener, None));
        std::thread::sleep(Duration::from_millis(400));
        killed.kill().unwrap();
        killed.wait().unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(told(&waiting), ["5"]);
    assert_eq!(deliver(&[], Some("200 OK"), 0).0, ["5"]);
    home.prints(&["export", "--deliver"], 0);
    drop(listener);
    home.run(&["true"]);
    assert_eq!(home.guard(&["export", "--deliver"]).output().unwrap().status.code(), Some(1));
}

#[test]
fn the_verb_that_follows_sends_rows_as_they_are_written() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("otlp+http://{}", listener.local_addr().unwrap());
    home.run(&["true"]);
    let mut follower = home.guard(&["export", "--deliver", &to, "--follow", "--after", "0"]).spawn().unwrap();
    assert_eq!(told(&answer(&listener, Some("200 OK"))), ["1"]);
    for row in 2..5 {
        home.run(&["true"]);
        assert_eq!(told(&answer(&listener, Some("200 OK"))), [row.to_string()]);
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_project_names_no_collector_and_takes_none_away_and_nothing_is_sent_unless_it_is_wanted() {
    let home = Home::new();
    home.run(&["true"]);
    assert!(!home.data().join("export").exists());
    assert!(home.prints(&["export", "--status"], 0).contains("not sent anywhere"));
    let journal = Journal::of(&home);
    for entry in [String::from("!*"), format!("syslog:{}", home.path("mine").display())] {
        std::fs::write(home.path("work/.guard.toml"), format!("[export]\nto = [\"{entry}\"]\n")).unwrap();
        let output = home.guard(&["config", "check"]).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("export.to") && said.contains("a project file can only tighten the policy"), "{said}");
    }
    home.run(&["true"]);
    assert!(rows(&journal.entries()).ends_with(&[2]));
    let wrong = home.guard(&["export", "--deliver", "otlp+https://x"]).output().unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("does not support TLS"));
}

#[test]
fn what_came_of_a_command_and_what_was_answered_is_told_too() {
    let home = crate::queue::stage::home();
    let journal = Journal::new(&home);
    let config = home.path("home/.config/guard/config.toml");
    let before = std::fs::read_to_string(&config).unwrap_or_default();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(config, format!("{before}\n[export]\nto = [\"journald:{}\"]\n", journal.path.display())).unwrap();
    home.run(&["true"]);
    let asker = crate::queue::stage::Asker::new(&home, &["npm", "install", "some-pkg"]);
    crate::queue::stage::approve(&home, &asker.id);
    asker.ran();
    home.run(&["true"]);
    let entries = journal.entries();
    let kinds: BTreeSet<&str> = entries.iter().map(|entry| entry["GUARD_KIND"].as_str()).collect();
    assert!(["answered", "intent", "result"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    let rows = rows(&entries);
    assert!(rows.windows(2).all(|two| two[1] == two[0] + 1), "{rows:?}");
}

/// Calls a tool of a server behind guard, without waiting for a person.
fn call(home: &Home) {
    let mut mcp = home.guard(&["mcp", "--name", "payment", "--", "cat"]);
    let mut mcp = mcp.env("GUARD_WAIT", "0").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let params = serde_json::json!({ "name": "charge", "arguments": { "amount": 7 } });
    let wanted = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    writeln!(mcp.stdin.take().unwrap(), "{wanted}").unwrap();
    assert!(mcp.wait().unwrap().success());
}

#[test]
fn a_call_of_a_tool_is_told_from_a_command_in_every_form() {
    let home = Home::new();
    let journal = Journal::of(&home);
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    call(&home);
    let entries = journal.entries();
    assert_eq!((entries[0].get("GUARD_TOOL"), entries[1]["GUARD_TOOL"].as_str()), (None, "payment.charge"));
    assert!(entries[1]["MESSAGE"].starts_with("call denied: payment.charge"), "{}", entries[1]["MESSAGE"]);

    let export = |form: &str| home.prints(&["export", "--format", form], 0);
    let rows = |form: &str| -> Vec<Value> {
        export(form).lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()
    };
    let ecs = rows("ecs");
    assert_eq!((ecs[0]["event"]["category"][0].as_str(), &ecs[0]["gen_ai"]["tool"]), (Some("process"), &Value::Null));
    assert_eq!(ecs[1]["gen_ai"]["tool"]["name"], "payment.charge");
    assert_eq!(
        (ecs[1]["event"]["category"][0].as_str(), ecs[1]["event"]["action"].as_str()),
        (Some("api"), Some("call-approval"))
    );
    assert_eq!(ecs[1]["process"]["command_line"], Value::Null);
    assert!(ecs[1]["guard"]["call"].as_str().unwrap().contains("amount"), "{}", ecs[1]);

    let ocsf = rows("ocsf");
    assert_eq!((ocsf[0]["class_uid"].as_u64(), &ocsf[0]["api"]), (Some(1007), &Value::Null));
    assert_eq!(
        (ocsf[1]["class_uid"].as_u64(), ocsf[1]["api"]["operation"].as_str()),
        (Some(6003), Some("payment.charge"))
    );
    assert_eq!(
        (&ocsf[1]["process"]["cmd_line"], ocsf[1]["unmapped"]["tool"].as_str()),
        (&Value::Null, Some("payment.charge"))
    );

    let otlp = rows("otlp");
    let record = |at: usize| otlp[at]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["attributes"].to_string();
    assert!(record(1).contains("gen_ai.tool.name") && !record(1).contains("process.command_line"), "{}", record(1));
    assert!(!record(0).contains("gen_ai.tool.name") && record(0).contains("process.command_line"), "{}", record(0));

    let (cef, csv) = (export("cef"), export("csv"));
    let second = |text: &str, at: usize| text.lines().nth(at).unwrap().to_owned();
    assert!(second(&cef, 1).contains("|call-denied|") && second(&cef, 1).contains("guardTool=payment.charge"), "{cef}");
    assert!(second(&cef, 0).contains("|command-denied|") && !second(&cef, 0).contains("guardTool"), "{cef}");
    assert!(second(&csv, 0).ends_with(",tool") && second(&csv, 1).ends_with(','), "{csv}");
    assert!(second(&csv, 2).ends_with(",payment.charge"), "{csv}");
}
