//! Tests that the gateway's unit removes the permissions that the gateway does not need.

use std::process::{Command, Stdio};

use crate::test_gateway::TestGateway;

#[test]
fn the_unit_is_exposed_to_less_than_two_of_ten() {
    if !crate::test_gateway::installed(&["systemd-analyze"]) {
        return;
    }
    let gateway = TestGateway::new("");
    for kind in [&["--unit"][..], &["--unit", "system"]] {
        let unit = gateway.command(&[&["serve"], kind].concat()).output().unwrap();
        assert!(unit.status.success());
        let path = gateway.path("guard-gateway.service");
        std::fs::write(&path, &unit.stdout).unwrap();
        let judged = Command::new("systemd-analyze")
            .args(["security", "--no-pager", "--offline=true", "--threshold=20"])
            .arg(&path)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(judged.status.success(), "{kind:?}: {}", String::from_utf8_lossy(&judged.stdout));
    }
}

#[test]
fn what_systemd_listens_at_is_served() {
    let gateway = TestGateway::new("");
    let socket = gateway.command(&["serve", "--unit", "socket"]).output().unwrap();
    let text = String::from_utf8(socket.stdout).unwrap();
    assert!(text.contains("ListenStream=127.0.0.1:6180"), "{text}");
    // The environment that systemd provides: descriptor 3, and variables that name this very process.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut gateway = gateway;
    gateway.end("-TERM");
    let mut shell = gateway.program(std::path::Path::new("sh"));
    let script = "exec 3<&0 0</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" serve";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_guard-gateway")]);
    shell.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener))).stdout(Stdio::null());
    let mut child = shell.spawn().unwrap();
    let mut answer = String::new();
    crate::test_gateway::until(|| {
        use std::io::{Read as _, Write as _};
        let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
        let _ = stream.set_read_timeout(Some(std::time::Duration::from_secs(5)));
        let asked = format!("GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
        answer.clear();
        stream.write_all(asked.as_bytes()).is_ok() && stream.read_to_string(&mut answer).is_ok() && !answer.is_empty()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_port_that_browsers_refuse_is_warned_about() {
    let mut gateway = TestGateway::new("");
    assert!(gateway.end("-TERM").success());
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = [6000_u16, 6566, 6665, 6666, 6697, 10080].into_iter().find(is_free).unwrap();
    let mut serve = gateway.command(&["serve", "--listen", &format!("127.0.0.1:{port}")]);
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    // The first two lines report the port and the socket.
    for _ in 0..2 {
        std::io::BufRead::read_line(&mut out, &mut String::new()).unwrap();
    }
    let doctor = gateway.program(crate::test_gateway::guard()).args(["doctor", "page", "--json"]).output().unwrap();
    let found = String::from_utf8(doctor.stdout).unwrap();
    child.kill().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    child.wait().unwrap();
    let why = format!("browsers refuse to open port {port}");
    assert!(said.contains(&why), "{said}");
    assert!(found.contains(&why) && found.contains("\"warn\""), "{found}");
}
