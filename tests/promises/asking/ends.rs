//! Tests every way in which a card ends without an answer.

use nix::sys::signal::{Signal, kill};

use super::stage::{AWAY, Asked, IGNORE, NO, PANIC, same};
use crate::harness::pty::ended;

#[test]
fn interrupt_and_quit_keys_end_it_as_the_signals_they_are() {
    for (key, name) in [("\x03", "SIGINT"), ("\x1c", "SIGQUIT")] {
        let mut asked = Asked::new(&[]);
        asked.terminal.send(key);
        assert_eq!(ended(asked.terminal.wait_exit()), format!("signal {name}"));
        assert_eq!(asked.answer(), format!("Closed(Interrupted({name}))"));
    }
}

#[test]
fn an_interrupt_that_the_caller_ignores_is_still_no_yes() {
    let mut asked = Asked::new(&[(IGNORE, "SIGINT")]);
    asked.terminal.send("\x03");
    assert_eq!(asked.answer(), "Closed(Interrupted(SIGINT))");
}

#[test]
fn a_signal_ends_it_with_the_terminal_restored() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        let mut asked = Asked::new(&[]);
        asked.terminal.signal(signal);
        assert_eq!(ended(asked.terminal.wait_exit()), format!("signal {signal}"));
        assert_eq!(asked.answer(), format!("Closed(Signal({signal}))"));
    }
}

#[test]
fn a_closed_terminal_is_a_no() {
    let mut asked = Asked::new(&[]);
    asked.terminal.hang_up();
    assert_eq!(ended(asked.terminal.wait_exit()), "signal SIGHUP");
    assert_eq!(asked.written("answer"), "Closed(Signal(SIGHUP))");

    let mut asked = Asked::new(&[(IGNORE, "SIGHUP")]);
    asked.terminal.hang_up();
    assert_eq!(asked.written("answer"), "Closed(HungUp)");
}

#[test]
fn a_panic_restores_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let trigger = directory.path().join("panic");
    let mut asked = Asked::new(&[(PANIC, trigger.to_str().unwrap())]);
    assert!(!same(&asked.terminal.before, &asked.terminal.modes()));
    std::fs::write(&trigger, "").unwrap();
    assert_eq!(ended(asked.terminal.wait_exit()), "signal SIGABRT");
    assert!(same(&asked.terminal.before, &asked.terminal.modes()), "the modes were not restored");
}

#[test]
fn a_process_in_the_background_draws_nothing_and_asks_nobody() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask & wait\n");
    assert_eq!(asked.written("answer"), "Closed(Background)");
    assert!(!asked.terminal.screen().contains('┃'));
}

#[test]
fn a_card_that_is_sent_to_the_background_is_a_no() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    assert!(!asked.terminal.screen().contains('┃'));
    asked.terminal.send("bg; wait\n");
    assert_eq!(asked.written("answer"), "Closed(Background)");
}

#[test]
fn a_card_whose_terminal_is_given_to_another_is_a_no() {
    let directory = tempfile::tempdir().unwrap();
    let trigger = directory.path().join("away");
    let mut asked = Asked::new(&[(AWAY, trigger.to_str().unwrap())]);
    std::fs::write(&trigger, "").unwrap();
    assert_eq!(asked.written("answer"), "Closed(Background)");
    asked.terminal.wait_exit();
    assert!(same(&asked.terminal.before, &asked.terminal.modes()), "the modes were not restored");
}

#[test]
fn a_card_that_is_stopped_makes_way_for_another() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    asked.terminal.send("ASKING_ANSWER=second ./ask\n");
    asked.read();
    asked.terminal.send("y");
    assert_eq!(asked.written("second"), "Once");
    asked.terminal.wait_gone("no answer means no");
    asked.terminal.send("fg\n");
    asked.read();
    asked.terminal.send("\r");
    assert_eq!(asked.written("answer"), NO);
}

#[test]
fn a_card_that_was_killed_leaves_the_terminal_to_the_next() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    let first = asked.asking();
    kill(first, Signal::SIGKILL).unwrap();
    asked.terminal.wait_for("Killed");
    asked.terminal.send("clear; ./ask\n");
    asked.terminal.wait_gone("Killed");
    asked.read();
    asked.terminal.send("y");
    assert_eq!(asked.written("answer"), "Once");
}
