//! Tests the dependencies of guard itself: it starts before every command, so packages for network protocols belong to
//! the gateway.

use std::process::Command;

/// The names of packages that implement TLS or HTTP, or an asynchronous executor.
const GATEWAYS: [&str; 16] = [
    "async-std",
    "axum",
    "curl",
    "futures-executor",
    "h2",
    "hyper",
    "isahc",
    "native-tls",
    "openssl",
    "reqwest",
    "ring",
    "rustls",
    "smol",
    "tokio",
    "tungstenite",
    "ureq",
];

/// Returns the packages that guard is built from on this system. Cargo downloaded them to build the tests.
fn packages_of_guard() -> Vec<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "-p", "guard", "-e", "normal", "--offline", "--locked", "--prefix", "none"]);
    let output = tree.current_dir(super::root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

/// Returns the direct dependencies of a package in Cargo.lock. Those of the gateway need not be downloaded.
fn locked_dependencies(of: &str) -> Vec<String> {
    let lock = std::fs::read_to_string(super::root().join("Cargo.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let mut packages = lock["package"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"].as_str() == Some(of)).unwrap();
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    dependencies.filter_map(|name| Some(name.as_str()?.split(' ').next()?.to_owned())).collect()
}

fn speaks_over_a_network(names: &[String]) -> Vec<&String> {
    names.iter().filter(|name| GATEWAYS.contains(&name.as_str())).collect()
}

#[test]
fn guard_has_no_tls_no_http_and_no_executor_in_it() {
    let own = packages_of_guard();
    assert!(own.iter().any(|name| name == "guard-judge"), "{own:?}");
    assert_eq!(speaks_over_a_network(&own), Vec::<&String>::new());
    let gateway = locked_dependencies("guard-gateway");
    assert!(speaks_over_a_network(&gateway).iter().any(|name| *name == "rustls"), "the gateway has them: {gateway:?}");
}
