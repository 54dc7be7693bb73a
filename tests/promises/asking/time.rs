//! Tests how long guard waits for a person.

use std::time::Duration;

use nix::sys::signal::Signal;

use super::stage::{ALARM, Asked, BLOCK, FINISH, IGNORE, SECONDS, TIER, same};
use crate::harness::pty::{OnTerminal, ended};

#[test]
fn silence_is_a_no_and_the_time_that_is_left_is_shown() {
    let mut asked = Asked::start(&[(SECONDS, "3")], 80, 24, OnTerminal::ALL);
    for left in ["3 s", "2 s", "1 s"] {
        asked.terminal.wait_for(&format!(" {left} · no answer means no"));
    }
    assert_eq!(asked.answer(), "TimedOut { seconds: 3 }");
}

#[test]
fn silence_is_a_no_when_the_caller_ignores_or_blocks_the_alarm() {
    for how in [IGNORE, BLOCK] {
        let mut asked = Asked::new(&[(SECONDS, "1"), (how, "SIGALRM")]);
        assert_eq!(asked.answer(), "TimedOut { seconds: 1 }");
    }
}

#[test]
fn an_alarm_that_the_caller_had_set_goes_on_afterwards() {
    let mut asked = Asked::new(&[(ALARM, "1000")]);
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn an_alarm_that_the_caller_had_set_ends_the_card_as_it_would_end_the_caller() {
    let mut asked = Asked::start(&[(ALARM, "1")], 80, 24, OnTerminal::ALL);
    assert_eq!(ended(asked.terminal.wait_exit()), "signal SIGALRM");
    asked.assert_restored();
}

#[test]
fn a_no_that_is_being_explained_stays_a_no_when_the_time_is_over() {
    let mut asked = Asked::new(&[(SECONDS, "3")]);
    asked.turn("n", "Why not?");
    asked.terminal.type_slowly("wait");
    assert_eq!(asked.answer(), r#"No { words: Some("wait"), typed: true }"#);
}

#[test]
fn a_page_of_the_explanation_runs_out_of_time_too() {
    let mut asked = Asked::new(&[(SECONDS, "2")]);
    asked.terminal.send("?");
    asked.terminal.wait_for("What would run");
    assert_eq!(asked.answer(), "TimedOut { seconds: 2 }");
}

#[test]
fn the_first_key_of_the_word_has_its_own_deadline() {
    let mut asked = Asked::new(&[(TIER, "4"), (SECONDS, "1")]);
    assert_eq!(asked.answer(), "TimedOut { seconds: 1 }");

    let mut asked = Asked::new(&[(TIER, "4"), (SECONDS, "20"), (FINISH, "2")]);
    asked.terminal.send("w");
    asked.terminal.wait_for("2 s · no answer means no");
    assert_eq!(asked.answer(), "TimedOut { seconds: 22 }");
}

#[test]
fn a_card_that_was_stopped_in_time_comes_back() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    asked.terminal.send("fg\n");
    asked.read();
    let screen = asked.terminal.screen();
    assert_eq!(screen.matches("claude wants to run").count(), 1, "{screen}");
    asked.terminal.send("y");
    assert_eq!(asked.written("answer"), "Once");
}

#[test]
fn a_deadline_that_passes_while_stopped_is_a_no() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[(SECONDS, "2")]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    asked.terminal.settle(Duration::from_secs(2));
    asked.terminal.send("fg\ny");
    assert_eq!(asked.written("answer"), "TimedOut { seconds: 2 }");

    // The same for SIGSTOP, which allows no preparation before the stop.
    let mut asked = Asked::new(&[(SECONDS, "2")]);
    asked.terminal.signal(Signal::SIGSTOP);
    asked.terminal.settle(Duration::from_secs(2));
    asked.terminal.send("y");
    asked.terminal.signal(Signal::SIGCONT);
    assert_eq!(asked.answer(), "TimedOut { seconds: 2 }");
}

#[test]
fn a_card_that_was_halted_and_goes_on_asks_again() {
    let mut asked = Asked::new(&[]);
    asked.terminal.signal(Signal::SIGSTOP);
    asked.terminal.send("y");
    asked.terminal.signal(Signal::SIGCONT);
    asked.read();
    assert!(asked.terminal.try_exit().is_none(), "what was typed meanwhile is no answer");
    asked.terminal.send("y");
    asked.terminal.wait_exit();
    assert_eq!(asked.written("answer"), "Once");
    assert!(same(&asked.terminal.before, &asked.terminal.modes()), "the modes were not restored");
}
