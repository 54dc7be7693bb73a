//! Tests that a guard below a waiting guard is recorded as nested, and that forged claims have no effect.

use std::process::Command;
use std::time::{Duration, Instant};

use guard::store::{Entry, Filter};

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::{Terminal, ended};

/// Answers the card with an approval.
fn approve(command: Command) -> String {
    let mut command = command;
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send("y");
    ended(terminal.wait_exit())
}

fn entries(home: &Home) -> Vec<Entry> {
    let store = home.store();
    store.find(&Filter::default()).unwrap().into_iter().map(|id| store.entry(id).unwrap()).collect()
}

/// Returns each row's command with the row above it.
fn above(home: &Home) -> Vec<(String, Option<i64>)> {
    entries(home).into_iter().map(|entry| (entry.command.unwrap_or_default(), entry.about)).collect()
}

/// Creates a stand-in whose commands guard cannot know before it runs.
fn opaque_stand_in(home: &Home, name: &str, commands: &str) {
    std::fs::write(home.path("home").join(name), format!(".{commands}\n")).unwrap();
    let made = format!("\"$HOME/{name}.made\"");
    home.stand_in(name, &format!("awk '{{ print substr($0, 2) }}' \"$HOME/{name}\" > {made}; . {made}"));
}

fn guard() -> &'static str {
    env!("CARGO_BIN_EXE_guard")
}

#[test]
fn a_guard_below_one_that_waits_names_its_intent() {
    let home = Home::new();
    home.stand_in("git", &format!("'{0}' -- echo deep && '{0}' -c \"'{0}' -- echo deeper\"", guard()));
    assert!(home.run(&["true"]).status.success());
    assert_eq!(approve(home.guard(&[&["--"], &FLAGGED[..]].concat())), "exit 0");
    let rows = above(&home);
    let of = |command: &str| rows.iter().find(|(text, _)| text == command).unwrap().1;
    assert_eq!((of("true"), of("git push --force origin main")), (None, None));
    assert_eq!((of("echo deep"), of("echo deeper")), (Some(2), Some(2)), "{rows:?}");
    assert!(home.prints(&["log", "show", "3"], 0).contains("below       row 2"));
    let nested: Vec<i64> = entries(&home).iter().filter(|entry| entry.about == Some(2)).map(|entry| entry.id).collect();
    assert_eq!(home.store().entry(2).unwrap().nested, nested);
    assert!(home.prints(&["log", "show", "2"], 0).contains("above       rows 3, "));
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_guard_below_one_that_became_its_command_names_none() {
    let home = Home::new();
    let words = format!("'{}' -- echo inner; true", guard());
    assert!(home.guard(&["-c", &words]).status().unwrap().success());
    assert!(above(&home).iter().all(|(_, above)| above.is_none()));
    assert_eq!(entries(&home).len(), 2);
}

#[test]
fn a_command_that_outlived_its_guard_names_none() {
    let home = Home::new();
    let (begun, gone) = (home.path("begun"), home.path("gone"));
    let wait = |for_what: &std::path::Path| format!("while [ ! -e '{}' ]; do sleep 0.02; done", for_what.display());
    let late = format!("touch '{}'; {}; exec '{}' -- echo orphan", begun.display(), wait(&gone), guard());
    home.stand_in("late", &late);
    // git ends once the other process is out of reach of the hang-up.
    home.stand_in("git", &format!("setsid late < /dev/null > /dev/null 2>&1 & {}", wait(&begun)));
    assert_eq!(approve(home.guard(&[&["--"], &FLAGGED[..]].concat())), "exit 0");
    std::fs::write(gone, "").unwrap();
    let begun = Instant::now();
    while entries(&home).len() < 2 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(above(&home)[1], ("echo orphan".to_owned(), None));
}

#[test]
fn a_row_that_claims_another_process_is_no_parent() {
    let home = Home::new();
    // The recorded scope is changed to one of a live process that is not a guard.
    home.stand_in("git", &format!("'{}' -- echo deep", guard()));
    assert_eq!(approve(home.guard(&[&["--"], &FLAGGED[..]].concat())), "exit 0");
    assert_eq!(above(&home)[1].1, Some(1));
    home.sql(&format!("UPDATE record SET scope = 'waiting {}.1.x' WHERE scope IS NOT NULL", std::process::id()));
    assert!(home.guard(&["--", "echo", "beside"]).env("GUARD_PARENT", "1").status().unwrap().success());
    assert_eq!(above(&home)[2], ("echo beside".to_owned(), None));
}

#[test]
fn what_runs_below_an_approved_command_is_asked_only_above_its_tier() {
    let home = Home::new();
    let codes = home.path("codes");
    // Without the terminal nobody can be asked.
    let alone = |words: &str| {
        format!("setsid -w '{}' -- {words} < /dev/null 2> /dev/null; echo $? >> '{}'", guard(), codes.display())
    };
    home.stand_in("npm", ":");
    home.stand_in("mkfs.ext4", "touch \"$HOME/made\"");
    opaque_stand_in(&home, "git", &format!("{}; {}", alone("npm publish"), alone("mkfs.ext4 /dev/sda1")));
    assert_eq!(approve(home.guard(&[&["--"], &FLAGGED[..]].concat())), "exit 0");
    assert_eq!(std::fs::read_to_string(&codes).unwrap(), "0\n126\n");
    assert!(!home.path("made").exists());
    let settled: Vec<_> =
        entries(&home).into_iter().map(|entry| (entry.about, entry.settled_by.unwrap_or_default())).collect();
    let settled: Vec<_> = settled.iter().map(|(about, by)| (*about, by.as_str())).collect();
    assert_eq!(settled, [(None, "person"), (Some(1), "above"), (Some(1), "no-one-to-ask")]);
    // The same command without a guard above it.
    let mut command = home.guard(&["--", "npm", "publish"]);
    assert_eq!(command.stdin(std::process::Stdio::null()).status().unwrap().code(), Some(126));
}

#[test]
fn a_yes_to_starting_an_agent_is_none_to_what_the_agent_then_runs() {
    let home = Home::new();
    let mark = home.path("went-through");
    home.stand_in("terraform", &format!("echo ran >> '{}'", mark.display()));
    let inner = format!("GUARD_WAIT=0 '{}' -- terraform apply -auto-approve; exit 0", guard());
    // Without an agent in between, the approval covers the inner command.
    opaque_stand_in(&home, "git", &inner);
    assert_eq!(approve(home.guard(&[&["--"], &FLAGGED[..]].concat())), "exit 0");
    assert!(mark.exists());
    std::fs::remove_file(&mark).unwrap();
    opaque_stand_in(&home, "claude", &inner);
    home.stand_in("git", "claude; exit 0");
    assert_eq!(approve(home.guard(&[&["--"], &FLAGGED[..]].concat())), "exit 0");
    assert!(!mark.exists());
}
