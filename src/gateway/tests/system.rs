//! Tests the gateway of a machine, under an account of its own, beside the service that keeps the record. The gateway
//! passes on answers, and the service decides which ones count.
//!
//! The tests run in a namespace with their own `/etc`, `/run` and `/var/lib`, which only root can create.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use guard_gateway::backend::memory;
use guard_gateway::backend::{Scope, Token};
use guard_gateway::judge::invocation::Origin;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::test_gateway::{HttpResponse, bearer, guard, port_of, send, until};

const ACCOUNTS: [(&str, u32); 3] = [("guard", 4100), ("agent", 4102), ("guard-gateway", 4104)];

const CONFIG: &str = "[service]\naccount = \"guard\"\napprovers = [\"ada\"]\ngateway = \"guard-gateway\"\n";

fn uid(account: &str) -> u32 {
    ACCOUNTS.iter().find(|(name, _)| *name == account).map_or(0, |(_, uid)| *uid)
}

/// A machine with a service and a gateway.
struct Machine {
    directory: tempfile::TempDir,
    holder: Child,
    service: Option<Child>,
    gateway: Option<Child>,
    port: u16,
}

/// Reports whether namespaces and other accounts are available.
fn able() -> bool {
    let probe =
        ["-m", "sh", "-c", "mount --make-rprivate / && exec setpriv --reuid 4102 --regid 4102 --clear-groups true"];
    nix::unistd::geteuid().is_root()
        && Command::new("unshare").args(probe).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

impl Machine {
    /// Creates a machine with this `/etc/guard/gateway.toml`; `None` if the tests cannot create one.
    fn new(config: &str) -> Option<Self> {
        if !able() {
            eprintln!("skipped: only root can become several accounts, and here it may not");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for (name, owner, mode) in [
            ("bin", 0, 0o755),
            ("marks", 0, 0o777),
            ("work", uid("agent"), 0o755),
            ("home", 0, 0o755),
            // The directories that systemd creates for the units.
            ("lib", 0, 0o755),
            ("lib/guard", uid("guard"), 0o700),
            ("lib/guard-gateway", uid("guard-gateway"), 0o700),
            ("run", 0, 0o755),
            ("run/guard", uid("guard"), 0o755),
            ("run/guard-gateway", uid("guard-gateway"), 0o755),
        ] {
            std::fs::create_dir(path(name)).unwrap();
            std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode)).unwrap();
            chown(path(name), Some(owner), Some(owner)).unwrap();
        }
        let mut passwd = String::new();
        for (name, uid) in ACCOUNTS.into_iter().chain([("ada", 4101)]) {
            let home = path("home").join(name);
            std::fs::create_dir(&home).unwrap();
            chown(&home, Some(uid), Some(uid)).unwrap();
            passwd.push_str(&format!("{name}:x:{uid}:{uid}::{}:/bin/bash\n", home.display()));
        }
        std::fs::write(path("passwd"), passwd).unwrap();
        std::fs::write(path("config.toml"), CONFIG).unwrap();
        std::fs::write(path("gateway.toml"), config).unwrap();
        for name in ["git", "npm"] {
            let script = format!("#!/bin/sh\necho ran >> '{}'\n", path("marks/ran").display());
            std::fs::write(path("bin").join(name), script).unwrap();
            std::fs::set_permissions(path("bin").join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(path("bin/guard"), "").unwrap();
        std::fs::write(path("bin/guard-gateway"), "").unwrap();
        let script = "mount --make-rprivate / && cp -a /etc \"$1/etc\" && cat \"$1/passwd\" >> \"$1/etc/passwd\" \
            && rm -rf \"$1/etc/guard\" && mkdir \"$1/etc/guard\" && cp \"$1/config.toml\" \"$1/gateway.toml\" \"$1/etc/guard/\" \
            && chmod -R go-w \"$1/etc/guard\" && chown root:4104 \"$1/etc/guard/gateway.toml\" && chmod 640 \"$1/etc/guard/gateway.toml\" \
            && mount --bind \"$2\" \"$1/bin/guard\" && mount --bind \"$3\" \"$1/bin/guard-gateway\" \
            && mount --bind \"$1/lib\" /var/lib && mount --bind \"$1/run\" /run && mount --bind \"$1/etc\" /etc; \
            echo $? > \"$1/ready\"; exec sleep 3600";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]).arg(directory.path());
        command.arg(guard()).arg(env!("CARGO_BIN_EXE_guard-gateway"));
        let holder = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let machine = Self { directory, holder, service: None, gateway: None, port: 0 };
        until(|| std::fs::read_to_string(machine.path("ready")).is_ok_and(|text| text == "0\n"));
        Some(machine)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Creates a command of this machine that runs under an account, without a terminal.
    fn program(&self, account: &str, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        let id = uid(account).to_string();
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id())).args(["env", "-C"]).arg(self.path("work"));
        command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups"]);
        command.arg(self.path("bin").join(program)).args(words);
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env_clear().env("HOME", self.path("home").join(account)).env("PATH", path).env("TZ", "UTC");
        command.env("GUARD_WAIT", "60").stdin(Stdio::null());
        command
    }

    fn gateway(&self, account: &str, words: &[&str]) -> Output {
        self.program(account, "guard-gateway", words).output().unwrap()
    }

    /// Runs a command line of the gateway on a terminal that `script` creates, and returns its output.
    fn on_a_terminal(&self, account: &str, line: &str) -> String {
        let line = format!("{} {line}", self.path("bin/guard-gateway").display());
        let mut script = self.program(account, "/usr/bin/script", &["-qec", &line, "/dev/null"]);
        let output = script.env("TERM", "xterm").env("SHELL", "/bin/sh").output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn start_service(&mut self) {
        let service = self.program("guard", "guard", &["serve", "--system"]).stderr(Stdio::null()).spawn().unwrap();
        self.service = Some(service);
        until(|| std::os::unix::net::UnixStream::connect(self.path("run/guard/guard.sock")).is_ok());
    }

    /// Starts the gateway, and waits until it listens.
    fn start_gateway(&mut self) {
        let mut command = self.program("guard-gateway", "guard-gateway", &["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        self.port = port_of(&mut child);
        self.gateway = Some(child);
        until(|| self.get("/readyz", "").status == 200);
    }

    /// Adds a token directly to the gateway's database, because `token add` requires a person at a terminal. Returns its
    /// secret.
    fn token(&self, name: &str, scopes: &[Scope]) -> String {
        let directory = self.path("lib/guard-gateway");
        let given = format!("gt_{name}_{}", self.directory.path().display());
        let token = Token {
            name: name.to_owned(),
            scopes: scopes.to_vec(),
            directories: Vec::new(),
            origin: Origin::Api,
            max_tier: 3,
            created: jiff::Timestamp::now(),
            used: None,
            hash: guard_gateway::secrets::hash(&given),
        };
        memory::open(&directory).unwrap().add_token(&token).unwrap();
        for file in std::fs::read_dir(directory).unwrap() {
            chown(file.unwrap().path(), Some(uid("guard-gateway")), Some(uid("guard-gateway"))).unwrap();
        }
        given
    }

    fn get(&self, path: &str, token: &str) -> HttpResponse {
        send(self.port, "GET", path, &[&bearer(token)], "")
    }

    fn post(&self, path: &str, token: &str, body: &Value) -> HttpResponse {
        send(self.port, "POST", path, &[&bearer(token)], &body.to_string())
    }

    /// Starts a command of the agent that waits, and returns its name in the API.
    fn asked(&self, token: &str, words: &[&str]) -> (Child, String) {
        use std::os::unix::process::CommandExt as _;
        let mut asker = self.program("agent", "guard", &[&["--"], words].concat());
        asker.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
        let asker = asker.spawn().unwrap();
        let mut action = String::new();
        until(|| {
            let list = self.get("/v1/requests?status=pending", token);
            action = list.body["requests"][0]["action_id"].as_str().unwrap_or_default().to_owned();
            !action.is_empty()
        });
        (asker, action)
    }

    fn ran(&self) -> usize {
        std::fs::read_to_string(self.path("marks/ran")).map_or(0, |text| text.lines().count())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for child in self.service.iter_mut().chain(self.gateway.iter_mut()).chain([&mut self.holder]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the exit code of a command and its output.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

/// A passkey like that of a browser.
struct TestKey {
    pair: EcdsaKeyPair,
    origin: String,
    count: u32,
}

impl TestKey {
    fn new(port: u16) -> Self {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
        Self { pair, origin: format!("http://localhost:{port}"), count: 0 }
    }

    fn id() -> String {
        Base64UrlUnpadded::encode_string(b"a passkey of ada")
    }

    /// Returns its entry in the file of an approver.
    fn file(&self) -> String {
        let point = self.pair.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        let cose = [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20][..], x, &[0x22, 0x58, 0x20], y].concat();
        format!(
            "name = \"ada\"\nkind = \"passkey\"\nrp_id = \"localhost\"\norigins = [\"{}\"]\ncredential = \"{}\"\n\
             public = \"{}\"\nshared = false\n",
            self.origin,
            Self::id(),
            Base64::encode_string(&cose)
        )
    }

    fn sign(&mut self, challenge: &str) -> Value {
        self.count += 1;
        let client = format!(
            "{{\"type\":\"webauthn.get\",\"challenge\":\"{challenge}\",\"origin\":\"{}\",\"crossOrigin\":false}}",
            self.origin
        );
        let rp: [u8; 32] = Sha256::digest(b"localhost").into();
        let data = [&rp[..], &[0x05], &self.count.to_be_bytes()].concat();
        let digest: [u8; 32] = Sha256::digest(client.as_bytes()).into();
        let signature = self.pair.sign(&SystemRandom::new(), &[&data[..], &digest].concat()).unwrap();
        let text = Base64UrlUnpadded::encode_string;
        json!({ "id": Self::id(), "authenticatorData": text(&data), "clientDataJSON": text(client.as_bytes()),
            "signature": text(signature.as_ref()) })
    }
}

#[test]
fn an_agent_asks_and_a_person_elsewhere_answers_through_the_machines_gateway() {
    let config = "unsigned_tier = 3\n[[channel]]\nname = \"tell\"\nkind = \"program\"\n\
                  command = [\"/bin/sh\", \"-c\", \"cat >> /run/guard-gateway/told\"]\n";
    let Some(mut machine) = Machine::new(config) else { return };
    machine.start_service();
    machine.start_gateway();
    let phone = machine.token("phone", &[Scope::Read, Scope::Decide]);
    let approve = |machine: &Machine, action: &str, body: &Value| {
        machine.post(&format!("/v1/requests/{action}/approve"), &phone, body)
    };

    let (asker, action) = machine.asked(&phone, &["npm", "install", "some-pkg"]);
    // A channel that sends the request elsewhere receives the name of its account.
    until(|| {
        std::fs::read_to_string(machine.path("run/guard-gateway/told")).is_ok_and(|told| told.contains(" · agent\""))
    });
    let lasting = approve(&machine, &action, &json!({ "scope": "always" }));
    assert!(lasting.status == 422 && lasting.text.contains("valid once only"), "{}", lasting.text);
    let one = machine.get(&format!("/v1/requests/{action}"), &phone);
    assert_eq!(one.body["offers"], json!(["once"]), "{}", one.text);
    let done = approve(&machine, &action, &json!({}));
    assert_eq!((done.status, &done.body["outcome"]), (200, &json!("done")), "{}", done.text);
    let (code, said) = ended(asker);
    assert_eq!((code, machine.ran()), (Some(0), 1), "{said}");
    let shown = machine.get(&format!("/v1/requests/{action}"), &phone);
    assert_eq!(shown.body["decided_by"], "phone via guard-gateway");
    // The same tap again, because its response was lost.
    assert_eq!(approve(&machine, &action, &json!({})).status, 200);

    // gateway.toml cannot allow more than root's configuration does.
    let (asker, action) = machine.asked(&phone, &["git", "push", "--force", "origin", "main"]);
    let barred = approve(&machine, &action, &json!({}));
    assert_eq!((barred.status, barred.text.contains("at most tier 2")), (403, true), "{}", barred.text);
    let denied = machine.post(&format!("/v1/requests/{action}/deny"), &phone, &json!({ "words": "use a branch" }));
    assert_eq!(denied.status, 200, "{}", denied.text);
    let (code, said) = ended(asker);
    assert!(code == Some(126) && said.contains("use a branch"), "{code:?} {said}");

    // The service restarts, and the requests that wait then are visible.
    let mut service = machine.service.take().unwrap();
    service.kill().unwrap();
    service.wait().unwrap();
    until(|| machine.get("/readyz", "").status == 503);
    machine.start_service();
    let (asker, action) = machine.asked(&phone, &["npm", "install", "other-pkg"]);
    assert_eq!(approve(&machine, &action, &json!({})).status, 200);
    assert_eq!(ended(asker).0, Some(0));
    assert_eq!(machine.ran(), 2);
}

#[test]
fn tier_three_runs_by_the_passkey_of_an_approver_whom_root_enrolled() {
    let Some(mut machine) = Machine::new("") else { return };
    machine.start_service();
    machine.start_gateway();
    let phone = machine.token("phone", &[Scope::Read, Scope::Decide]);
    let mut key = TestKey::new(machine.port);
    std::fs::create_dir(machine.path("etc/guard/approvers")).unwrap();
    std::fs::write(machine.path("etc/guard/approvers/ada.toml"), key.file()).unwrap();

    let (asker, action) = machine.asked(&phone, &["git", "push", "--force", "origin", "main"]);
    let path = format!("/v1/requests/{action}/approve");
    let unsigned = machine.post(&path, &phone, &json!({}));
    assert!(unsigned.status == 403 && unsigned.text.contains("signature-required"), "{}", unsigned.text);
    let challenge = machine.get(&format!("/v1/requests/{action}/challenge"), &phone);
    let challenge = challenge.body["challenge"].as_str().unwrap_or_else(|| panic!("{}", challenge.text)).to_owned();
    let other = Base64UrlUnpadded::encode_string(&[7; 32]);
    let forged = machine.post(&path, &phone, &json!({ "assertion": key.sign(&other) }));
    assert_eq!(forged.status, 422, "{}", forged.text);
    assert_eq!(machine.ran(), 0);
    let done = machine.post(&path, &phone, &json!({ "assertion": key.sign(&challenge) }));
    assert_eq!(done.status, 200, "{}", done.text);
    let (code, said) = ended(asker);
    assert_eq!((code, machine.ran()), (Some(0), 1), "{said}");
    let shown = machine.get(&format!("/v1/requests/{action}"), &phone);
    assert_eq!(shown.body["decided_by"], "ada (signed) via guard-gateway");
}

#[test]
fn the_machines_gateway_shows_requests_and_nothing_else() {
    let Some(mut machine) = Machine::new("") else { return };
    machine.start_service();
    machine.start_gateway();
    let all = machine.token("all", &Scope::ALL);
    let work = machine.path("work");
    let calls = [
        machine.post("/v1/requests", &all, &json!({ "command": "ls", "cwd": work })),
        machine.get("/v1/stats", &all),
        machine.get("/v1/sessions", &all),
        machine.get("/v1/record", &all),
        machine.post("/v1/sessions/resume", &all, &json!({ "session": "x", "words": "y" })),
        machine.post("/v1/sessions/trust", &all, &json!({ "session": "x" })),
    ];
    for call in calls {
        assert!(call.status == 403 && call.text.contains("not-here"), "{}", call.text);
    }
    let (asker, action) = machine.asked(&all, &["npm", "install", "some-pkg"]);
    let story = machine.get(&format!("/v1/requests/{action}/story"), &all);
    assert_eq!((story.status, &story.body["rows"]), (200, &json!([])), "{}", story.text);
    assert_eq!(machine.post(&format!("/v1/requests/{action}/deny"), &all, &json!({})).status, 200);
    assert_eq!(ended(asker).0, Some(126));
}

#[test]
fn the_gateway_of_a_machine_is_its_own_accounts() {
    let said = |output: Output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let Some(mut machine) = Machine::new("") else { return };
    // The gateway does not start without the service.
    let alone = said(machine.gateway("guard-gateway", &["serve", "--listen", "127.0.0.1:0"]));
    assert!(alone.contains("guard's service at /run/guard/guard.sock cannot be used"), "{alone}");
    machine.start_service();
    machine.start_gateway();
    for words in [&["serve"][..], &["serve", "--status"], &["token", "list"]] {
        let refused = machine.gateway("agent", words);
        assert_eq!(refused.status.code(), Some(125));
        let refused = said(refused);
        assert!(refused.contains("runs as guard-gateway") && refused.contains("sudo -u guard-gateway"), "{refused}");
    }
    for account in ["guard-gateway", "root"] {
        let status = said(machine.gateway(account, &["serve", "--status"]));
        assert!(status.contains("listens at /run/guard-gateway/gateway.sock"), "{account}: {status}");
    }
    let unit = said(machine.gateway("guard-gateway", &["serve", "--unit", "system"]));
    assert!(unit.contains("User=guard-gateway\n") && unit.contains("/bin/guard-gateway serve\n"), "{unit}");
    assert_eq!(said(machine.gateway("agent", &["check"])), "[]\n", "whose gateway it is not is not bothered");
    // A person who became that account can create a token, but not with a scope that this gateway does not support.
    let made = machine.on_a_terminal("guard-gateway", "token add phone --scope read,decide");
    let token = made.split_whitespace().find(|word| word.starts_with("gt_")).unwrap_or_else(|| panic!("{made}"));
    assert_eq!(machine.get("/v1/requests", token).status, 200);
    let submits = machine.on_a_terminal("guard-gateway", "token add ci --scope submit");
    assert!(submits.contains("does not accept commands"), "{submits}");
    // Root pairs passkeys, through the socket.
    let mut pairing = machine.program("root", "guard-gateway", &["pair"]);
    let mut pairing = pairing.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let begins = json!({ "name": "ada", "secret": Base64UrlUnpadded::encode_string(&[7; 32]) });
    writeln!(pairing.stdin.take().unwrap(), "{begins}").unwrap();
    let mut begun = String::new();
    BufReader::new(pairing.stdout.take().unwrap()).read_line(&mut begun).unwrap();
    pairing.kill().unwrap();
    pairing.wait().unwrap();
    assert!(begun.contains(&format!("http://localhost:{}/enrol#", machine.port)), "{begun}");
    // Root configures channels, and the gateway can read the result.
    let line = "channel add program --no-test -- /bin/true";
    let refused = machine.on_a_terminal("guard-gateway", line);
    assert!(refused.contains("only root can configure the channels"), "{refused}");
    let written = machine.on_a_terminal("root", line);
    assert!(written.contains("Added program to /etc/guard/gateway.toml"), "{written}");
    let about = std::fs::metadata(machine.path("etc/guard/gateway.toml")).unwrap();
    assert_eq!((about.uid(), about.gid(), about.mode() & 0o777), (0, uid("guard-gateway"), 0o640));
    let listed = said(machine.gateway("guard-gateway", &["channel", "list"]));
    assert!(listed.contains("program"), "{listed}");
    // If root configures no account for a gateway, there is none.
    std::fs::write(machine.path("etc/guard/config.toml"), CONFIG.replace("gateway = \"guard-gateway\"\n", "")).unwrap();
    let none = said(machine.gateway("guard-gateway", &["token", "list"]));
    assert!(none.contains("names no account for the gateway"), "{none}");
}
