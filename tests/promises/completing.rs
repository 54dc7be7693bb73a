//! Tests completions in the real shells: verbs, options, and names that only the running system knows.

use std::time::Duration;

use crate::harness::home::Home;
use crate::harness::program;
use crate::harness::pty::{OnTerminal, Terminal};
use crate::harness::tools;

/// Creates a home where guard is on the PATH and a request waits, and returns it with the request's id.
fn home() -> (Home, String) {
    let home = Home::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_guard"), home.path("bin/guard")).unwrap();
    let mut waits = home.guard(&["--no-wait", "--", "git", "push", "--force", "origin", "main"]);
    assert_eq!(waits.env_remove("GUARD_WAIT").output().unwrap().status.code(), Some(75));
    let pending: serde_json::Value = serde_json::from_str(home.prints(&["pending", "--json"], 0).trim()).unwrap();
    let id = pending["id"].as_str().unwrap().to_owned();
    (home, id)
}

/// Starts a shell that has loaded the completions as `guard setup` installs them.
fn shell(home: &Home, shell: &str) -> Terminal {
    let script = home.path(&format!("home/completions.{shell}"));
    std::fs::write(&script, home.prints(&["completions", shell], 0)).unwrap();
    let script = script.display();
    let (file, text) = match shell {
        "bash" => (
            ".bashrc",
            format!("PS1='P> '\nbind 'set show-all-if-ambiguous on'\nbind 'set page-completions off'\n. '{script}'\n"),
        ),
        "zsh" => (".zshrc", format!("PS1='P> '\nautoload -U compinit\ncompinit -u -D\n. '{script}'\n")),
        _ => (
            ".config/fish/config.fish",
            format!("function fish_prompt; echo -n 'P> '; end\nset -g fish_greeting\nsource '{script}'\n"),
        ),
    };
    let path = home.path("home").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    let mut command = home.program(&format!("/usr/bin/{shell}"));
    command.arg("-i").env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn_with(command, 100, 40, OnTerminal::ALL);
    terminal.wait_for("P>");
    if terminal.raw.windows(4).any(|bytes| bytes == b"\x1b[0c") {
        terminal.send("\x1b[?62;22c");
    }
    terminal.settle(Duration::from_millis(500));
    terminal
}

/// Types a line and a Tab, and waits until the screen shows all of these texts.
#[track_caller]
fn completes(terminal: &mut Terminal, line: &str, wanted: &[&str]) {
    terminal.send("\x15\x0c");
    terminal.settle(Duration::from_millis(300));
    terminal.send(line);
    terminal.settle(Duration::from_millis(200));
    terminal.send("\t");
    terminal.wait_until(&format!("{line} completed with {wanted:?}"), |screen| {
        wanted.iter().all(|word| screen.contains(word))
    });
}

#[test]
fn the_shells_complete_verbs_options_and_names() {
    std::thread::scope(|scope| {
        for name in tools::installed(&["bash", "zsh", "fish"]) {
            scope.spawn(move || {
                let (home, id) = home();
                std::fs::write(home.path("work/rules-of-mine.toml"), "").unwrap();
                std::fs::create_dir(home.path("work/rules-elsewhere")).unwrap();
                let mut terminal = shell(&home, name);
                completes(&mut terminal, "guard rev", &["guard review"]);
                completes(&mut terminal, "guard config ", &["set", "unset", "check"]);
                completes(&mut terminal, "guard log --js", &["guard log --json"]);
                // The only waiting request is inserted, or shown with its command.
                completes(&mut terminal, "guard approve ", &[&id]);
                completes(&mut terminal, "guard install cop", &["guard install copilot"]);
                completes(&mut terminal, "guard patterns show git.push-f", &["guard patterns show git.push-force"]);
                completes(&mut terminal, "guard patterns test rules-o", &["guard patterns test rules-of-mine.toml"]);
                // Where a directory is expected, only directories are completed.
                completes(&mut terminal, "guard trust ru", &["guard trust rules-elsewhere/"]);
                completes(&mut terminal, "guard help ti", &["guard help tiers"]);
                completes(&mut terminal, "guard doctor age", &["guard doctor agent"]);
                // If several names match, only the names are shown.
                completes(&mut terminal, "guard install cl", &["claude", "cline"]);
                let screen = terminal.screen();
                assert!(!screen.lines().any(|line| line.trim_end().ends_with("--")), "{name}:\n{screen}");
                completes(&mut terminal, "guard config set mode man", &["guard config set mode manual"]);
                completes(&mut terminal, "guard setup --preset par", &["guard setup --preset paranoid"]);
                completes(&mut terminal, "guard -- cat rules-o", &["guard -- cat rules-of-mine.toml"]);
                if name != "bash" {
                    completes(&mut terminal, "guard deny ", &[&id]);
                    completes(&mut terminal, "guard pat", &["guard patterns"]);
                }
            });
        }
    });
}

/// The gateway's description of one of its verbs.
const GATEWAY: &str = r#"{"name":"guard-gateway","about":null,"arguments":[],"verbs":[{"name":"channel","about":"Messengers",
"arguments":[],"verbs":[{"name":"add","about":"Adds one","verbs":[],"arguments":[
{"name":"kind","long":null,"help":null,"takes":true,"value":"KIND","values":["telegram","twilio"],"last":false},
{"name":"secret_command","long":"secret-command","help":"Prints it","takes":true,"value":"COMMAND","values":[],"last":false},
{"name":"secret_file","long":"secret-file","help":"Holds it","takes":true,"value":"FILE","values":[],"last":false}
]}]}]}"#;

#[test]
fn the_shells_complete_the_verbs_of_the_gateway_that_lies_beside_guard() {
    let home = Home::new();
    program::copy(env!("CARGO_BIN_EXE_guard"), &home.path("bin/guard"));
    program::write(&home.path("bin/guard-gateway"), &format!("#!/bin/sh\ncat <<'END'\n{GATEWAY}\nEND\n"));
    std::fs::write(home.path("work/token-of-mine"), "").unwrap();
    for name in tools::installed(&["bash", "zsh", "fish"]) {
        let mut terminal = shell(&home, name);
        completes(&mut terminal, "guard channel a", &["guard channel add"]);
        completes(&mut terminal, "guard channel add te", &["guard channel add telegram"]);
        completes(&mut terminal, "guard channel add telegram --secret-c", &["telegram --secret-command"]);
        completes(&mut terminal, "guard channel add telegram --secret-file tok", &["--secret-file token-of-mine"]);
    }
}

#[test]
fn bash_lists_what_waits_with_its_command() {
    let (home, id) = home();
    let mut waits = home.guard(&["--no-wait", "--", "git", "push", "--force", "origin", "other"]);
    assert_eq!(waits.env_remove("GUARD_WAIT").output().unwrap().status.code(), Some(75));
    let mut terminal = shell(&home, "bash");
    completes(&mut terminal, "guard approve ", &[&id, "git push --force origin main", "git push --force origin other"]);
    // Only the id is inserted.
    completes(&mut terminal, &format!("guard approve {id}"), &[&format!("guard approve {id} ")]);
    assert!(!terminal.screen().contains("git push"), "{}", terminal.screen());
}

#[test]
fn bash_completes_after_setup_where_no_package_loads_completions() {
    let (home, _) = home();
    std::fs::write(home.path("home/.bashrc"), "PS1='P> '\n").unwrap();
    home.prints(&["setup", "--yes", "--agents", "none", "--shells", "bash"], 0);
    let mut command = home.program("/bin/bash");
    command.args(["--rcfile", home.path("home/.bashrc").to_str().unwrap(), "-i"]).env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn_with(command, 100, 40, OnTerminal::ALL);
    terminal.wait_for("P>");
    terminal.settle(Duration::from_millis(500));
    completes(&mut terminal, "guard rev", &["guard review"]);
}
