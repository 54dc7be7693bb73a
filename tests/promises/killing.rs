//! Tests that a kill at any step leaves an intact record, and that every command that ran is recorded.
//!
//! The steps are guard's system calls: it is traced, and killed before each of them in turn. Calls that only read are
//! skipped, because they change nothing.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::{PATIENCE, Terminal};
use crate::harness::trace::{Fate, Traced};
use crate::pruning::aged;

/// Runs guard and kills it before the given system call, counted from 1.
fn killed_at(step: usize, mut command: Command) -> Fate {
    let mut traced = Traced::start(command.stdout(Stdio::null()).stderr(Stdio::null())).has_begun();
    traced.steps(step);
    traced.kill()
}

fn flagged(home: &Home) -> Command {
    home.guard(&[&["--"], &FLAGGED[..]].concat())
}

#[test]
fn a_guard_that_is_killed_at_any_step_of_the_road_leaves_a_whole_record_and_runs_nothing_unrecorded() {
    let home = Home::that_asks_nobody();
    assert!(home.run(&["true"]).status.success());
    let mut rows = 1;
    for step in 1.. {
        let ran = home.ran();
        let fate = killed_at(step, flagged(&home));
        let audit = home.store().verify().unwrap();
        assert_eq!(audit.faults, [], "{step}");
        assert!((rows..=rows + 1).contains(&audit.rows), "{step}: {rows} {}", audit.rows);
        if fate == Fate::Replaced {
            assert_eq!((home.ran(), audit.rows), (ran + 1, rows + 1));
            assert!(step > 20, "only {step} steps were seen");
            return;
        }
        assert_eq!((fate, home.ran()), (Fate::Killed, 0), "{step}");
        rows = audit.rows;
    }
}

#[test]
fn a_guard_that_is_killed_at_any_step_of_making_the_record_leaves_one_that_the_next_completes() {
    for step in 1.. {
        let home = Home::that_asks_nobody();
        let fate = killed_at(step, flagged(&home));
        if fate == Fate::Replaced {
            assert!(step > 50, "only {step} steps were seen");
            return;
        }
        assert_eq!((fate, home.ran()), (Fate::Killed, 0), "{step}");
        let next = flagged(&home).output().unwrap();
        assert!(next.status.success(), "{step}: {}", String::from_utf8_lossy(&next.stderr));
        let audit = home.store().verify().unwrap();
        assert_eq!((home.ran(), audit.faults), (1, vec![]), "{step}");
        assert!((1..=2).contains(&audit.rows), "{step}");
    }
}

#[test]
fn a_pruning_that_is_killed_at_any_step_is_done_or_not_begun() {
    let mut home = aged(40);
    let mut done = 0;
    for step in 1.. {
        let fate = killed_at(step, home.guard(&["log", "prune"]));
        let audit = home.store().verify().unwrap();
        assert_eq!(audit.faults, [], "{step}");
        let pruned = audit.pruned.is_some();
        assert_eq!(audit.rows, if pruned { 6 } else { 45 }, "{step}");
        if fate == Fate::Exited(0) {
            assert!(pruned && step > 40 && done > 0, "only {step} steps were seen, {done} after the fact");
            return;
        }
        assert_eq!(fate, Fate::Killed, "{step}");
        if pruned {
            done += 1;
            home = aged(40);
        }
    }
}

#[test]
fn a_guard_that_is_killed_while_it_waits_leaves_its_intent_and_no_result() {
    let home = Home::new();
    let begun = home.path("begun");
    home.stand_in("git", &format!("touch '{}'; sleep 30", begun.display()));
    let mut command = flagged(&home);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send("y");
    let since = std::time::Instant::now();
    while !begun.exists() {
        assert!(since.elapsed() < PATIENCE);
        terminal.settle(Duration::from_millis(20));
    }
    terminal.signal(Signal::SIGKILL);
    terminal.wait_exit();
    let entry = home.store().entry(1).unwrap();
    assert_eq!((entry.decision.as_deref(), entry.result), (Some("allow"), None));
    assert!(home.run(&["true"]).status.success());
    let audit = home.store().verify().unwrap();
    assert_eq!((audit.rows, audit.faults), (2, vec![]));
}
