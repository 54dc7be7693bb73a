//! Tests help in a crisis: every entry point shows it at once, and commands that call for help wait for a person.

use std::fs;

use crate::harness::home::Home;
use crate::harness::pty::ended;
use crate::hooks::stage::{bash, hook, said};
use crate::queue::stage::{Asker, person, request, shell};

const HELP: &str = "curl https://988lifeline.org/";
const CALL: [&str; 2] = ["xdg-open", "tel:988"];

/// Creates a home in which the programs that show help and that call for help leave a mark.
fn home(config: &str) -> Home {
    let home = Home::new();
    for name in ["curl", "xdg-open"] {
        home.stand_in(name, &format!("echo ran >> '{}'", home.path("ran").display()));
    }
    fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    fs::write(home.path("home/.config/guard/config.toml"), config).unwrap();
    home
}

/// Runs the help command through every entry point, and returns the number of runs.
fn through_every_entry_point(home: &Home) -> usize {
    let words: Vec<&str> = HELP.split(' ').collect();
    let bash_link = home.path("bin/bash");
    if !bash_link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_guard"), &bash_link).unwrap();
    }
    let mut as_shell = home.program(bash_link.to_str().unwrap());
    as_shell.args(["-c", HELP]).env("CLAUDECODE", "1");
    let mut line = home.guard(&["-c", HELP]);
    line.env("CLAUDECODE", "1");
    let mut argv = home.guard(&[&["--"], words.as_slice()].concat());
    argv.env("CLAUDECODE", "1");
    for mut entry_point in [argv, line, as_shell] {
        let output = entry_point.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{:?}: {}", entry_point, String::from_utf8_lossy(&output.stderr));
    }
    let (out, err) = said(&hook(home, "claude", &bash(home, HELP)));
    assert!(out.contains("\"permissionDecision\":\"allow\""), "{out} {err}");
    home.ran()
}

#[test]
fn help_is_shown_at_once_through_every_door() {
    let home = home("");
    assert_eq!(through_every_entry_point(&home), 3);
    let log = home.prints(&["log", "--json"], 0);
    assert_eq!(log.matches("\"settled_by\":\"support\"").count(), 4, "{log}");
    // With anything added it is judged as any other command.
    let more = home.guard(&["-c", &format!("{HELP} | sh")]).env("CLAUDECODE", "1").output().unwrap();
    assert_eq!(more.status.code(), Some(126));
    assert_eq!(home.ran(), 3);
}

#[test]
fn help_is_shown_in_every_mode_with_dead_channels_limits_reached_and_no_record() {
    let strict = "mode = \"manual\"\npreset = \"paranoid\"\nprompts_per_hour = 0\nbreaker_after = 1\n[queue]\nwait = 0\n\
                  notify = [\"/nonexistent\"]\n";
    let home = home(strict);
    assert_eq!(through_every_entry_point(&home), 3);
    // Makes the record unwritable.
    let data = home.data();
    fs::remove_dir_all(&data).unwrap();
    fs::write(&data, "in the way").unwrap();
    assert_eq!(through_every_entry_point(&home), 6);
    assert_eq!(home.run(&["curl", "https://example.org/"]).status.code(), Some(126), "another cannot be recorded");
}

#[test]
fn a_call_for_somebody_waits_for_a_person_whatever_was_allowed_before() {
    let home = home(
        "mode = \"off\"\ndisabled_rules = [\"crisis.call\"]\n[[grant]]\nname = \"g\"\n\
         what = { exact = \"xdg-open tel:988\" }\nwhere = \"anywhere\"\nuntil = \"revoked\"\n\
         [[support]]\nargv = [\"xdg-open\", \"tel:988\"]\nwhy = \"x\"\n",
    );
    let checked = home.prints(&["check", "--json", "xdg-open tel:988"], 1);
    assert!(checked.contains("\"decision\":\"ask\"") && checked.contains("crisis.call"), "{checked}");
    for front in [&["--"][..], &["--yes", "--"]] {
        let output = home.guard(&[front, &CALL].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{front:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let (out, err) = said(&hook(&home, "claude", &bash(&home, "xdg-open tel:988")));
    assert!(!out.contains("\"ask\"") && !out.contains("\"allow\""), "{out} {err}");
    assert!(
        format!("{out}{err}").contains("a decision that needs a person"),
        "never left to the agent's own prompt: {out} {err}"
    );
    assert_eq!(home.ran(), 0);
    // A person approves at the terminal.
    let asker = Asker::start(shell(&home, &[&["--"][..], &CALL].concat()));
    assert!(request(&home, &asker.id).decision);
    let mut terminal = person(&home, &["approve", &asker.id]);
    crate::queue::stage::answer_card(&mut terminal, "y");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    asker.ran();
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_decision_stands_before_what_waits_longer() {
    let home = home("");
    let first = Asker::new(&home, &crate::harness::home::FLAGGED);
    let second = Asker::start(shell(&home, &[&["--"][..], &CALL].concat()));
    let all: Vec<String> = crate::queue::stage::all(&home).into_iter().map(|one| one.id).collect();
    assert_eq!(all, [second.id.clone(), first.id.clone()]);
    person(&home, &["deny", "--all"]).wait_exit();
    first.refused("denied by a person");
    second.refused("denied by a person");
}
