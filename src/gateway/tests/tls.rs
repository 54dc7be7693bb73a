//! TLS with a certificate of its own: other machines are spoken to through it and in no other way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::house::{House, bearer, until};

const NAME: &str = "guard.test";

/// Makes a key and a certificate for it.
fn make(house: &House, name: &str) {
    let (key, certificate) = (house.path(&format!("{name}.key")), house.path(&format!("{name}.pem")));
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    made.args(["-subj", "/CN=guard.test", "-addext", "subjectAltName=DNS:guard.test"]);
    made.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    let output = made.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Names a certificate and a key in the configuration.
fn configure(house: &House, certificate: &str, key: &str) {
    house.write_config(&format!(
        "listen = [\"127.0.0.1:0\", \"0.0.0.0:0\"]\nhosts = [\"{NAME}\"]\ncertificate = \"{}\"\nkey = \"{}\"\n",
        house.path(&format!("{certificate}.pem")).display(),
        house.path(&format!("{key}.key")).display(),
    ));
}

/// A gateway that listens where the file says.
struct Serving {
    child: Child,
    plain: u16,
    tls: u16,
    /// What it said after that.
    said: Arc<Mutex<String>>,
}

impl Serving {
    fn new(house: &mut House) -> Self {
        assert!(house.end("-TERM").success());
        let mut child = house.gateway(&["serve"]).stdout(Stdio::piped()).spawn().unwrap();
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

    /// What a client hears that trusts this certificate alone.
    fn asked(&self, house: &House, trusted: &str, path: &str, head: &str) -> Result<String, String> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(house.path(&format!("{trusted}.pem"))).unwrap()).unwrap();
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

    /// What comes back where it is spoken to in plain.
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
    let mut house = House::new("");
    make(&house, "one");
    configure(&house, "one", "one");
    let serving = Serving::new(&mut house);
    // Who connects and says nothing keeps nobody waiting.
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(("127.0.0.1", serving.tls)).unwrap()).collect();
    until(|| serving.asked(&house, "one", "/readyz", "").is_ok_and(|told| told.starts_with("HTTP/1.1 200")));
    let person = format!("{}\r\n", bearer(&house.person));
    let told = serving.asked(&house, "one", "/v1/status", &person).unwrap();
    assert!(told.starts_with("HTTP/1.1 200") && told.contains("\"caller\":\"ada\""), "{told}");
    let told = serving.asked(&house, "one", "/v1/status", "").unwrap();
    assert!(told.starts_with("HTTP/1.1 401"), "no token, and no account of this machine: {told}");
    assert!(!Serving::in_plain(serving.tls, NAME).contains("HTTP/"), "nothing is said there in plain");
    assert!(Serving::in_plain(serving.plain, "localhost").starts_with("HTTP/1.1 200"));
    drop(silent);
}

#[test]
fn a_certificate_that_was_renewed_counts_from_sighup_on_and_a_broken_one_is_refused() {
    let mut house = House::new("");
    make(&house, "one");
    make(&house, "two");
    configure(&house, "one", "one");
    let serving = Serving::new(&mut house);
    let trusts = |name: &str| serving.asked(&house, name, "/healthz", "").is_ok_and(|told| told.contains("200"));
    until(|| trusts("one"));
    assert!(!trusts("two"));
    // Of two that do not belong together neither counts.
    configure(&house, "two", "one");
    serving.hup();
    std::thread::sleep(Duration::from_millis(500));
    assert!(trusts("one") && !trusts("two"));
    configure(&house, "two", "two");
    serving.hup();
    until(|| trusts("two"));
    assert!(!trusts("one"));
    until(|| serving.said.lock().unwrap().contains("is read anew"));
    assert!(!serving.said.lock().unwrap().contains("next start"));
    // Where it listens stays, and it says so.
    house.write_config("");
    serving.hup();
    let told = "is read anew; changes of listen and certificate take effect after a restart";
    until(|| serving.said.lock().unwrap().contains(told));
}

#[test]
fn a_key_or_certificate_that_cannot_be_used_is_named_at_the_start() {
    let mut house = House::new("");
    assert!(house.end("-TERM").success());
    make(&house, "one");
    make(&house, "two");
    let refused = |certificate: &str, key: &str| {
        configure(&house, certificate, key);
        let output = house.gateway(&["serve"]).output().unwrap();
        assert_eq!(output.status.code(), Some(125));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused("one", "two");
    assert!(said.contains("one.pem"), "{said}");
    let said = refused("none", "one");
    assert!(said.contains("none.pem"), "{said}");
    let said = refused("one", "none");
    assert!(said.contains("none.key"), "{said}");
    std::fs::copy(house.path("one.key"), house.path("empty.pem")).unwrap();
    let said = refused("empty", "one");
    assert!(said.contains("empty.pem") && said.contains("no certificate"), "{said}");
    std::fs::set_permissions(house.path("one.key"), std::fs::Permissions::from_mode(0o604)).unwrap();
    let said = refused("one", "one");
    assert!(said.contains("one.key") && said.contains("chmod o="), "{said}");
}
