//! Checks that the judge reads nothing but its arguments, by running the lints that enforce it on a crate with the same
//! settings.

use std::path::Path;
use std::process::Command;

/// Calls that the judge may not make, one of each kind.
const CALLS: [(&str, &str); 13] = [
    ("files", "std::fs::read(\"x\").is_ok()"),
    ("opened_files", "std::fs::File::open(\"x\").is_ok()"),
    ("paths", "std::path::Path::new(\"x\").exists()"),
    ("environment", "std::env::var(\"x\").is_ok()"),
    ("directory", "std::env::current_dir().is_ok()"),
    ("clock", "std::time::SystemTime::now() == std::time::UNIX_EPOCH"),
    ("steady_clock", "std::time::Instant::now().elapsed().is_zero()"),
    ("chance", "{ let state: std::hash::RandomState = Default::default(); drop(state); true }"),
    ("processes", "std::process::Command::new(\"x\").status().is_ok()"),
    ("network", "std::net::TcpStream::connect(\"x:1\").is_ok()"),
    ("threads", "std::thread::spawn(|| true).join().is_ok()"),
    ("printing", "{ println!(); true }"),
    ("streams", "{ drop(std::io::stdout()); true }"),
];

/// Returns clippy's result and output for a crate with the settings of this directory and this code; `None` without
/// clippy.
fn said_of(settings: &str, code: &str) -> Option<(bool, String)> {
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join(settings);
    let crate_dir = tempfile::tempdir().unwrap();
    let attributes: String = std::fs::read_to_string(settings.join("mod.rs"))
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("#!["))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert!(attributes.contains("disallowed_methods"), "{attributes}");
    let write = |name: &str, text: &str| std::fs::write(crate_dir.path().join(name), text).unwrap();
    write("Cargo.toml", "[package]\nname = \"copy\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n");
    write("clippy.toml", &std::fs::read_to_string(settings.join("clippy.toml")).unwrap());
    write("lib.rs", &format!("{attributes}{code}"));
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet"])
        .current_dir(crate_dir.path())
        .env("CARGO_TARGET_DIR", crate_dir.path().join("target"))
        .env_remove("CLIPPY_CONF_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("no such command") || said.contains("is not installed") {
        assert!(std::env::var_os("CI").is_none(), "clippy is not installed");
        return None;
    }
    Some((output.status.success(), said))
}

#[test]
fn no_call_out_of_the_judge_passes_the_lints() {
    holds(".");
}

#[test]
fn no_call_out_of_what_draws_passes_the_lints() {
    holds("../ui");
}

fn holds(settings: &str) {
    let function = |(name, call): &(&str, &str)| format!("/// Tried.\npub fn {name}() -> bool {{\n    {call}\n}}\n");
    let Some((passes, said)) = said_of(settings, &CALLS.iter().map(function).collect::<String>()) else { return };
    assert!(!passes, "{said}");
    for (name, call) in &CALLS {
        let shown = call.split(['(', '{', '!']).find(|part| !part.trim().is_empty()).unwrap();
        assert!(
            said.lines().any(|line| line.contains(" | ") && line.contains(shown.trim())),
            "{name}: {call}:\n{said}"
        );
    }
    let (passes, said) =
        said_of(settings, "/// Adds.\n#[must_use]\npub const fn sum(a: u8, b: u8) -> u8 {\n    a ^ b\n}\n").unwrap();
    assert!(passes, "{said}");
}
