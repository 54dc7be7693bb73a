//! Tests TLS with a certificate of the gateway's own: other machines can connect only with it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::test_gateway::{TestGateway, bearer, until};

const NAME: &str = "guard.test";

/// Creates a key and a certificate for it.
fn make(gateway: &TestGateway, name: &str) {
    let (key, certificate) = (gateway.path(&format!("{name}.key")), gateway.path(&format!("{name}.pem")));
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    made.args(["-subj", "/CN=guard.test", "-addext", "subjectAltName=DNS:guard.test"]);
    made.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    let output = made.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Sets a certificate and a key in the configuration.
fn configure(gateway: &TestGateway, certificate: &str, key: &str) {
    gateway.write_config(&format!(
        "listen = [\"127.0.0.1:0\", \"0.0.0.0:0\"]\nhosts = [\"{NAME}\"]\ncertificate = \"{}\"\nkey = \"{}\"\n",
        gateway.path(&format!("{certificate}.pem")).display(),
        gateway.path(&format!("{key}.key")).display(),
    ));
}

/// A gateway that listens on the addresses of its configuration.
struct Serving {
    child: Child,
    plain: u16,
    tls: u16,
    /// Its later output.
    said: Arc<Mutex<String>>,
}

impl Serving {
    fn new(gateway: &mut TestGateway) -> Self {
        assert!(gateway.end("-TERM").success());
        let mut child = gateway.command(&["serve"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut port = |front: &str| -> u16 {
            let line = lines.next().unwrap().unwrap();
            let address = line.strip_prefix(front).unwrap_or_else(|| panic!("{line}"));
            address.rsplit(':').next().unwrap().parse().unwrap()
        };
        let plain = port("guard-gateway: http://127.0.0.1");
        let tls = port("guard-gateway: https://0.0.0.0");
        let said: Arc<Mutex<String>> = Arc::default();
        let heard = said.clone();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| heard.lock().unwrap().push_str(&line)));
        Self { child, plain, tls, said }
    }

    /// Returns the response to a client that trusts only this certificate.
    fn asked(&self, gateway: &TestGateway, trusted: &str, path: &str, head: &str) -> Result<String, String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(gateway.path(&format!("{trusted}.pem"))).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let client = client.with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(Arc::new(client), name).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", self.tls)).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        let text = format!("GET {path} HTTP/1.1\r\nHost: {NAME}:{}\r\n{head}Connection: close\r\n\r\n", self.tls);
        stream.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Returns the response to a connection without TLS.
    fn in_plain(port: u16, host: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let text = format!("GET /healthz HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn hup(&self) {
        assert!(Command::new("kill").args(["-HUP", &self.child.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn other_machines_are_spoken_to_by_tls_alone() {
    let mut gateway = TestGateway::new("");
    make(&gateway, "one");
    configure(&gateway, "one", "one");
    let serving = Serving::new(&mut gateway);
    // Clients that connect and send nothing block nobody.
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(("127.0.0.1", serving.tls)).unwrap()).collect();
    until(|| serving.asked(&gateway, "one", "/readyz", "").is_ok_and(|told| told.starts_with("HTTP/1.1 200")));
    let person = format!("{}\r\n", bearer(&gateway.person));
    let told = serving.asked(&gateway, "one", "/v1/status", &person).unwrap();
    assert!(told.starts_with("HTTP/1.1 200") && told.contains("\"caller\":\"ada\""), "{told}");
    let told = serving.asked(&gateway, "one", "/v1/status", "").unwrap();
    assert!(told.starts_with("HTTP/1.1 401"), "no token, and no account of this machine: {told}");
    assert!(!Serving::in_plain(serving.tls, NAME).contains("HTTP/"), "requires TLS");
    assert!(Serving::in_plain(serving.plain, "localhost").starts_with("HTTP/1.1 200"));
    drop(silent);
}

#[test]
fn a_certificate_that_was_renewed_counts_from_sighup_on_and_a_broken_one_is_refused() {
    let mut gateway = TestGateway::new("");
    make(&gateway, "one");
    make(&gateway, "two");
    configure(&gateway, "one", "one");
    let serving = Serving::new(&mut gateway);
    let trusts = |name: &str| serving.asked(&gateway, name, "/healthz", "").is_ok_and(|told| told.contains("200"));
    until(|| trusts("one"));
    assert!(!trusts("two"));
    // A certificate and a key that do not match are rejected, and the old ones are kept.
    configure(&gateway, "two", "one");
    serving.hup();
    std::thread::sleep(Duration::from_millis(500));
    assert!(trusts("one") && !trusts("two"));
    configure(&gateway, "two", "two");
    serving.hup();
    until(|| trusts("two"));
    assert!(!trusts("one"));
    until(|| serving.said.lock().unwrap().contains("reloaded"));
    assert!(!serving.said.lock().unwrap().contains("after a restart"));
    // The addresses do not change, and the gateway reports this.
    gateway.write_config("");
    serving.hup();
    let told = "; changes of listen and certificate take effect after a restart";
    until(|| serving.said.lock().unwrap().contains(told));
}

#[test]
fn a_key_or_certificate_that_cannot_be_used_is_named_at_the_start() {
    let mut gateway = TestGateway::new("");
    assert!(gateway.end("-TERM").success());
    make(&gateway, "one");
    make(&gateway, "two");
    let refused = |certificate: &str, key: &str| {
        configure(&gateway, certificate, key);
        let output = gateway.command(&["serve"]).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused("one", "two");
    assert!(said.contains("one.pem"), "{said}");
    let said = refused("none", "one");
    assert!(said.contains("none.pem"), "{said}");
    let said = refused("one", "none");
    assert!(said.contains("none.key"), "{said}");
    std::fs::copy(gateway.path("one.key"), gateway.path("empty.pem")).unwrap();
    let said = refused("empty", "one");
    assert!(said.contains("empty.pem") && said.contains("no PEM certificate"), "{said}");
    std::fs::set_permissions(gateway.path("one.key"), std::fs::Permissions::from_mode(0o604)).unwrap();
    let said = refused("one", "one");
    assert!(said.contains("one.key") && said.contains("chmod o="), "{said}");
}
