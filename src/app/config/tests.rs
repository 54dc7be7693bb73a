use std::path::Path;

use super::*;
use crate::config::{Roots, load};

/// Loads a configuration with this user file. Returns it with the directory of the file.
fn with(text: &str) -> (tempfile::TempDir, Loaded) {
    let directory = tempfile::tempdir().unwrap();
    let named = directory.path().join("guard");
    std::fs::create_dir(&named).unwrap();
    std::fs::write(named.join("config.toml"), text).unwrap();
    let roots = Roots {
        machine: directory.path().join("etc"),
        machine_owner: 0,
        home: None,
        named: Some(named),
        named_home: None,
        cwd: "/".into(),
        uid: nix::unistd::getuid().as_raw(),
    };
    let loaded = load(&roots);
    (directory, loaded)
}

fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<u8>, directory: &Path) -> (String, u8) {
    let mut out = Vec::new();
    let code = write(&mut out).unwrap();
    (String::from_utf8(out).unwrap().replace(&directory.display().to_string(), ""), code)
}

#[test]
fn showing_a_table_names_value_source_and_what_each_key_does() {
    let (directory, loaded) = with("[timeouts]\nhigh = 20\n");
    let (shown, code) = text(|out| show(&loaded, Some("timeouts"), false, out), directory.path());
    assert_eq!(code, 0);
    assert!(
        shown.starts_with(
            "timeouts.medium          = 60  # built in\ntimeouts.high            = 20  # user, /guard/config.toml:2\n"
        ),
        "{shown}"
    );
    assert!(shown.contains("\ntimeouts.high: Time to answer at tier 3.\n  a whole number of seconds from 1 to 3600; default 30; lower is stricter\n"), "{shown}");
}

#[test]
fn every_key_is_shown() {
    let (directory, loaded) = with("");
    let (shown, _) = text(|out| show(&loaded, None, true, out), directory.path());
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let names: Vec<_> = shown["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap()).collect();
    let all: Vec<_> = KEYS.iter().filter(|row| row.kind != ConfigType::LockOnly).map(|row| row.name).collect();
    assert_eq!(names, all);
}

#[test]
fn an_unknown_key_is_a_usage_error() {
    let (directory, loaded) = with("");
    assert_eq!(text(|out| show(&loaded, Some("colour"), false, out), directory.path()), (String::new(), exit::FAILED));
}

#[test]
fn checking_names_each_problem_and_exits_1() {
    let (directory, loaded) = with("mode = 3\n");
    let (said, code) = text(|out| check(&loaded, &["x.toml:1: broken".to_owned()], &[], false, out), directory.path());
    assert_eq!(code, WRONG);
    assert!(said.starts_with(
        "problem: /guard/config.toml:1: mode: expected \"off\", \"smart\" or \"manual\", found 3\nproblem: x.toml:1: broken\n"
    ), "{said}");
    let (said, _) = text(|out| check(&loaded, &[], &[], true, out), directory.path());
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["ok"], &said["problems"][0]["line"]), (&json!(false), &json!(1)));
}

#[test]
fn checking_what_is_in_order_says_how_much_was_read() {
    let (directory, loaded) = with("mode = \"off\"\n");
    let checked = text(|out| check(&loaded, &[], &[], false, out), directory.path());
    assert_eq!(checked, ("OK: 1 configuration file, 0 pattern files.\n".to_owned(), 0));
}

#[test]
fn the_paths_say_which_files_are_there() {
    let (directory, loaded) = with("");
    let (said, _) = text(|out| path(&loaded, false, out), directory.path());
    assert_eq!(said, "machine    /etc/config.toml  (none)\nuser       /guard/config.toml\n");
}
