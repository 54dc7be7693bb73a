//! What guard itself is made of: it starts before every command, and leaves what speaks over a network to the gateway.

use std::process::Command;

/// The names of packages that do TLS, HTTP, or work beside one another under an executor.
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

/// What a package is made of on this system.
fn packages(of: &str) -> Vec<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "-p", of, "-e", "normal", "--offline", "--locked", "--prefix", "none"]);
    let output = tree.current_dir(super::root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn guard_has_no_tls_no_http_and_no_executor_in_it() {
    let own = packages("guard");
    assert!(own.iter().any(|name| name == "guard-judge"), "{own:?}");
    let found: Vec<&String> = own.iter().filter(|name| GATEWAYS.contains(&name.as_str())).collect();
    assert!(found.is_empty(), "{found:?}");
    assert!(packages("guard-gateway").iter().any(|name| name == "rustls"), "the gateway has them");
}
