//! Creates a home with guard and its gateway.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use guard_gateway::backend::memory;
use guard_gateway::backend::{Scope, Token};
use guard_gateway::judge::invocation::Origin;
use serde_json::Value;

/// Returns the real guard. It is built separately, so that its features are not merged with the gateway's.
pub fn guard() -> &'static Path {
    static GUARD: OnceLock<PathBuf> = OnceLock::new();
    GUARD.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let gateway = Path::new(env!("CARGO_BIN_EXE_guard-gateway"));
        let mut built = Command::new(env!("CARGO"));
        built.args(["build", "--quiet", "-p", "guard", "--bin", "guard"]).current_dir(root);
        assert!(built.status().unwrap().success());
        gateway.parent().unwrap().join("guard")
    })
}

/// A home, a directory to work in, and a gateway.
pub struct TestGateway {
    directory: tempfile::TempDir,
    child: Option<Child>,
    pub port: u16,
    /// The secret of a token with all scopes but submit.
    pub person: String,
    /// The secret of a token with submit alone.
    pub client: String,
}

/// A response.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub head: String,
    pub body: Value,
    pub text: String,
}

impl TestGateway {
    /// Starts a gateway with this `gateway.toml`.
    pub fn new(config: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["home/.config/guard", "work", "bin"] {
            std::fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let mut gateway = Self { directory, child: None, port: 0, person: String::new(), client: String::new() };
        gateway.write_config(config);
        gateway.stand_in("npm", "echo ran >> \"$HOME/ran\"");
        gateway.stand_in("git", "echo ran >> \"$HOME/ran\"");
        gateway.person = gateway.token("ada", "read,decide");
        gateway.client = gateway.token("ci", "submit");
        gateway.start();
        gateway
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write_config(&self, text: &str) {
        std::fs::write(self.path("home/.config/guard/gateway.toml"), text).unwrap();
    }

    pub fn stand_in(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        let mut writer = Command::new("sh");
        writer.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut child = writer.spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// Creates a command in this home, without a terminal.
    pub fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env_clear().env("HOME", self.path("home")).env("PATH", path).env("TZ", "UTC");
        command.current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.program(Path::new(env!("CARGO_BIN_EXE_guard-gateway")));
        guard();
        command.args(words);
        command
    }

    pub fn token(&self, name: &str, scopes: &str) -> String {
        self.token_of(name, scopes, Origin::Api)
    }

    /// Adds a token directly to the gateway's database, because `token add` requires a person at a terminal. Returns its
    /// secret.
    pub fn token_of(&self, name: &str, scopes: &str, origin: Origin) -> String {
        let directory = self.path("home/.local/share/guard");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).unwrap();
        let given = format!("gt_{name}_{}", self.directory.path().display());
        let token = Token {
            name: name.to_owned(),
            scopes: scopes.split(',').map(|scope| Scope::named(scope).unwrap()).collect(),
            directories: Vec::new(),
            origin,
            max_tier: 3,
            created: jiff::Timestamp::now(),
            used: None,
            hash: guard_gateway::secrets::hash(&given),
        };
        memory::open(&directory).unwrap().add_token(&token).unwrap();
        given
    }

    /// Starts the gateway, and waits until it listens.
    pub fn start(&mut self) {
        self.start_at(0);
    }

    /// Starts the gateway at a port; 0 is any free one.
    pub fn start_at(&mut self, port: u16) {
        let mut command = self.command(&["serve", "--listen", &format!("127.0.0.1:{port}")]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        self.port = port_of(&mut child);
        self.child = Some(child);
        self.until(|| self.get("/readyz", "").status == 200);
    }

    /// Kills the gateway with a signal that it cannot catch.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Ends the gateway with a signal, and returns its exit status.
    pub fn end(&mut self, signal: &str) -> std::process::ExitStatus {
        let mut child = self.child.take().unwrap();
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        child.wait().unwrap()
    }

    /// Waits until a condition is true.
    #[track_caller]
    pub fn until(&self, is_so: impl FnMut() -> bool) {
        until(is_so);
    }

    /// Returns the number of times that a stand-in ran.
    pub fn ran(&self) -> usize {
        std::fs::read_to_string(self.path("home/ran")).map_or(0, |text| text.lines().count())
    }

    /// Sends a request with these header lines.
    pub fn send(&self, method: &str, path: &str, head: &[&str], body: &str) -> HttpResponse {
        send(self.port, method, path, head, body)
    }

    pub fn get(&self, path: &str, token: &str) -> HttpResponse {
        self.send("GET", path, &[&bearer(token)], "")
    }

    pub fn post(&self, path: &str, token: &str, body: &Value) -> HttpResponse {
        self.send("POST", path, &[&bearer(token)], &body.to_string())
    }

    /// Submits a command.
    pub fn submit(&self, command: &str) -> HttpResponse {
        let cwd = self.path("work");
        self.post("/v1/requests", &self.client, &serde_json::json!({ "command": command, "cwd": cwd }))
    }

    /// Runs guard as an agent's shell; a command that requires approval waits in the queue.
    pub fn agent(&self, command: &str) -> Child {
        use std::os::unix::process::CommandExt as _;
        let mut agent = self.program(guard());
        agent.args(["-c", command]).env("GUARD_WAIT", "60").stdout(Stdio::piped()).stderr(Stdio::piped());
        agent.process_group(0).spawn().unwrap()
    }

    /// Returns the only pending request.
    #[track_caller]
    pub fn waiting(&self) -> Value {
        let mut found = Value::Null;
        until(|| {
            let list = self.get("/v1/requests?status=pending", &self.person);
            found = list.body["requests"][0].clone();
            !found.is_null()
        });
        found
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the port of a gateway whose standard output is piped, once it listens.
pub fn port_of(gateway: &mut Child) -> u16 {
    let mut out = BufReader::new(gateway.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    // Its later output must be read too.
    std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
    port.unwrap_or_else(|| panic!("no port: {line}"))
}

/// Sends a request to the gateway at this port.
pub fn send(port: u16, method: &str, path: &str, head: &[&str], body: &str) -> HttpResponse {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(70))).unwrap();
    let host = if head.iter().any(|line| line.to_lowercase().starts_with("host:")) {
        String::new()
    } else {
        format!("Host: localhost:{port}\r\n")
    };
    let head: String = head.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let text = format!(
        "{method} {path} HTTP/1.1\r\n{host}{head}{kind}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    // A server may reject a request before it has read everything.
    let _ = stream.write_all(text.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    HttpResponse {
        status,
        head: head.to_owned(),
        body: serde_json::from_str(body).unwrap_or(Value::Null),
        text: body.to_owned(),
    }
}

pub fn bearer(token: &str) -> String {
    if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}") }
}

/// Reports whether all of these programs are installed. If all must be, as in CI, a missing one fails the test.
#[track_caller]
pub fn installed(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |program: &&str| std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    let missing: Vec<&str> = programs.iter().filter(|program| !is_here(program)).copied().collect();
    if !missing.is_empty() {
        assert!(std::env::var_os("GUARD_TESTS_NEED_ALL_TOOLS").is_none(), "not installed: {}", missing.join(", "));
        eprintln!("skipped: not installed: {}", missing.join(", "));
    }
    missing.is_empty()
}

/// Waits until a condition is true.
#[track_caller]
pub fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}
