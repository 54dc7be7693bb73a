//! Tests what the gateway writes to standard error, and what it never writes there.

use std::io::Read as _;
use std::process::Stdio;

use crate::test_gateway::{TestGateway, bearer, port_of, send, until};

/// Returns a gateway and its standard error output, with these log levels in its configuration and its environment.
fn said(config: &str, environment: Option<&str>) -> (TestGateway, String) {
    let mut gateway = TestGateway::new(config);
    assert!(gateway.end("-TERM").success());
    let mut serve = gateway.command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.envs(environment.map(|levels| ("RUST_LOG", levels)));
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let port = port_of(&mut child);
    until(|| send(port, "GET", "/readyz", &[], "").status == 200);
    let person = bearer(&gateway.person);
    assert_eq!(send(port, "GET", "/v1/requests?q=hunter2", &[&person], "").status, 200);
    let login = send(port, "POST", "/v1/login", &["X-Guard: 1"], r#"{"secret":"gt_hunter3"}"#);
    assert_eq!(login.status, 401, "{}", login.text);
    let named = send(port, "GET", "/v1/requests/hunter4", &[&person], "");
    assert_eq!(named.status, 404, "{}", named.text);
    child.kill().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    (gateway, said)
}

#[test]
fn each_request_is_told_of_and_nothing_secret_is() {
    let (gateway, said) = said("log = \"info\"\n", None);
    let line = |path: &str| {
        said.lines().find(|line| line.contains(&format!("path=\"{path}\""))).unwrap_or_else(|| panic!("{said}"))
    };
    let listed = line("/v1/requests");
    assert!(listed.contains("method=GET") && listed.contains("status=200") && listed.contains("ms="), "{listed}");
    assert!(line("/v1/login").contains("status=401") && line("/v1/requests/{id}").contains("status=404"), "{said}");
    assert!(!said.contains("hunter") && !said.contains(&gateway.person), "{said}");
}

#[test]
fn requests_are_told_of_where_that_is_wanted() {
    assert_eq!(said("", None).1, "");
    assert!(said("", Some("info")).1.contains("/v1/requests"));
    assert_eq!(said("log = \"info\"\n", Some("error")).1, "", "the environment goes before the configuration");
    let mut gateway = TestGateway::new("");
    assert!(gateway.end("-TERM").success());
    gateway.write_config("log = \"loud\"\n");
    let told = gateway.command(&["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.code() == Some(125) && said.contains("log: invalid value \"loud\""), "{said}");
}
