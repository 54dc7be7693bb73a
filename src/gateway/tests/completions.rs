//! Tests in real shells that guard completes the verbs of the gateway.

use std::process::Command;

use crate::test_gateway::{guard, installed};

/// Creates a command in an empty home, with guard and the gateway in the path.
fn program(name: &str, home: &tempfile::TempDir) -> Command {
    let mut command = Command::new(name);
    let path = format!("{}:/usr/bin:/bin", guard().parent().unwrap().display());
    command.env_clear().env("HOME", home.path()).env("PATH", path).current_dir(home.path());
    command
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the completions after these words.
fn completed(words: &[&str]) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let text = said(program(guard().to_str().unwrap(), &home).args(["complete", "--"]).args(words));
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn guard_completes_every_verb_and_option_that_the_gateway_has() {
    let has = |words: &[&str], wanted: &[&str]| {
        let all = completed(words);
        for one in wanted {
            assert!(all.iter().any(|word| word == one), "{words:?}: {one}: {all:?}");
        }
    };
    has(&["channel", ""], &["add", "test", "list", "remove"]);
    has(&["channel", "add", ""], &["telegram", "discord", "slack", "ntfy", "pushover", "twilio", "desktop", "email"]);
    let options =
        ["--name", "--approver", "--secret-file", "--keyring", "--secret-command", "--chat", "--user", "--url"];
    has(&["channel", "add", "telegram", "--"], &options);
    has(&["channel", "add", "telegram", "--no"], &["--no-test", "--config"]);
    has(&["channel", "list", "--"], &["--config"]);
    has(&["token", ""], &["add", "list", "remove"]);
    has(&["token", "add", "ci", "--"], &["--scope", "--directory", "--origin", "--max-tier"]);
    has(&["token", "add", "ci", "--scope", ""], &["submit", "read", "decide"]);
    has(&["token", "add", "ci", "--origin", ""], &["api", "discord", "telegram"]);
    has(&["token", "list", "--"], &["--json"]);
    has(&["serve", "--"], &["--status", "--listen", "--unit", "--system", "--socket", "--directory"]);
    assert_eq!(completed(&["token", "add", "ci", "--directory", ""]), [":directories"]);
    assert_eq!(completed(&["channel", "add", "telegram", "--secret-file", ""]), [":files"]);
    assert_eq!(completed(&["channel", "add", "telegram", "--secret-command", ""]), [""; 0]);
}

#[test]
fn bash_and_fish_complete_the_options_of_the_gateways_verbs() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "fish"].into_iter().filter(|shell| installed(&[shell])) {
        let script = said(program(guard().to_str().unwrap(), &home).args(["completions", shell]));
        let ask = if shell == "bash" {
            "COMP_WORDS=(guard channel add telegram --secret-c); COMP_CWORD=4; _guard guard --secret-c telegram; \
             printf '%s\\n' \"${COMPREPLY[@]}\""
        } else {
            "complete -C 'guard channel add telegram --secret-c'"
        };
        let text = said(program(shell, &home).arg("-c").arg(format!("{script}\n{ask}")));
        let first = text.lines().next().and_then(|line| line.split('\t').next());
        assert_eq!(first, Some("--secret-command"), "{shell}: {text}");
    }
}
