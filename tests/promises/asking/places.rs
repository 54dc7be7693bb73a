//! Tests which terminal shows the card, and how the card fits on it.

use std::os::unix::process::CommandExt as _;

use nix::libc;

use super::stage::{Asked, NO, SECONDS, TIER, asker};
use crate::harness::pty::OnTerminal;

#[test]
fn what_stood_on_the_screen_stays() {
    let mut asked = Asked::script(&["sh", "-c", "echo above; printf unfinished; exec ./ask"], &[]);
    asked.read();
    let screen = asked.terminal.screen();
    assert!(screen.contains("above\nunfinished"), "{screen}");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
    assert!(asked.terminal.screen().contains("above\nunfinished"));
}

#[test]
fn nobody_is_asked_where_nobody_sits() {
    let mut asked = Asked::start(&[], 80, 24, OnTerminal::NONE);
    assert_eq!(asked.answer(), "Closed(Unattended)");
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = asker(directory.path(), &[]);
    // SAFETY: only a system call is made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    assert!(command.output().unwrap().status.success());
    let answer = std::fs::read_to_string(directory.path().join("answer")).unwrap();
    assert!(answer.starts_with("Closed(NoTerminal("), "{answer}");
}

#[test]
fn a_terminal_that_another_program_reads_key_by_key_is_left_alone() {
    let mut asked = Asked::script(&["sh", "-c", "stty raw; ./ask; stty sane"], &[]);
    assert_eq!(asked.written("answer"), "Closed(Busy)");
    asked.terminal.wait_exit();
    assert!(!asked.terminal.screen().contains('┃'));
}

#[test]
fn eight_at_once_are_asked_one_after_the_other_and_waiting_costs_no_time() {
    let script = "for n in 1 2 3 4 5 6 7 8; do
        ASKING_COMMAND=\"rm -rf build-$n\" ASKING_ANSWER=\"$ASKING_ANSWER-$n\" ./ask >/dev/null 2>/dev/tty & done; wait";
    let mut asked = Asked::script(&["sh", "-c", script], &[]);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..8 {
        asked.terminal.wait_for(" 60 s · no answer means no");
        asked.pause();
        let screen = asked.terminal.screen();
        assert_eq!(screen.matches("no answer means no").count(), 1, "{screen}");
        let line = screen.lines().find(|line| line.contains("┃") && line.contains("rm -rf build-")).unwrap().to_owned();
        assert!(seen.insert(line), "{screen}");
        // The wait is so long that the next card would show less time if waiting counted.
        asked.terminal.wait_for(" 59 s · no answer means no");
        asked.terminal.send("y");
        asked.terminal.wait_gone(" 59 s · no answer means no");
    }
    asked.terminal.wait_exit();
    asked.assert_restored();
    for number in 1..=8 {
        assert_eq!(asked.written(&format!("answer-{number}")), "Once");
    }
}

#[test]
fn a_card_follows_the_size_of_the_window() {
    let mut asked = Asked::new(&[]);
    asked.terminal.resize(40, 16);
    asked.terminal.wait_until("a narrow card", |screen| {
        screen.contains("no answer means no") && screen.lines().all(|line| line.chars().count() < 40)
    });
    asked.terminal.resize(100, 30);
    asked.terminal.wait_for("claude wants to run a high-risk command that cannot be undone");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn a_small_terminal_has_a_card() {
    let mut asked = Asked::start(&[], 40, 12, OnTerminal::ALL);
    asked.read();
    let screen = asked.terminal.screen();
    assert!(screen.contains("rm -rf build") && screen.contains("y once"), "{screen}");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

/// Asks on a terminal without key support: answers are lines.
fn dumb(variables: &[(&str, &str)]) -> Asked {
    let all = [&[("TERM", "dumb")], variables].concat();
    let mut asked = Asked::start(&all, 80, 24, OnTerminal::ALL);
    asked.terminal.wait_for(" s):");
    asked.pause();
    asked
}

#[test]
fn a_terminal_without_a_cursor_is_asked_line_by_line() {
    for (line, answer) in [
        ("y\n", "Once"),
        ("yes\n", "Once"),
        ("s\n", "Session"),
        ("n\n", ""),
        ("n not now\n", r#"No { words: Some("not now"), typed: true }"#),
        ("\n", NO),
        ("\x04", NO),
    ] {
        let mut asked = dumb(&[]);
        asked.terminal.send(line);
        if answer.is_empty() {
            asked.turn("", "Why not?");
            asked.terminal.send("later\n");
            assert_eq!(asked.answer(), r#"No { words: Some("later"), typed: true }"#);
        } else {
            assert_eq!(asked.answer(), answer, "{line:?}");
        }
        let shown = asked.terminal.raw.iter().filter(|byte| **byte == 0x1b).count();
        assert_eq!(shown, 0, "no control sequences");
    }
}

#[test]
fn a_terminal_without_a_cursor_confirms_a_standing_grant() {
    let mut asked = dumb(&[]);
    asked.turn("a\n", "always: this exact command");
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), "Always");
}

#[test]
fn a_terminal_without_a_cursor_explains_and_asks_again() {
    let mut asked = dumb(&[]);
    asked.turn("?\n", "Sentence 59 of the explanation.");
    asked.turn("what\n", "unknown answer");
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn a_terminal_without_a_cursor_times_out_too() {
    let mut asked = dumb(&[(SECONDS, "1")]);
    assert_eq!(asked.answer(), "TimedOut { seconds: 1 }");
}

#[test]
fn a_terminal_without_a_cursor_wants_the_word_for_a_critical_command() {
    let mut asked = dumb(&[(TIER, "4")]);
    let word = asked.word();
    asked.terminal.send(&format!("{word}\n"));
    assert_eq!(asked.answer(), "Once");

    let mut asked = dumb(&[(TIER, "4")]);
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn what_was_typed_before_the_question_is_thrown_away_without_a_cursor_too() {
    let mut asked = Asked::start(&[("TERM", "dumb")], 80, 24, OnTerminal::ALL);
    asked.terminal.send("y\ny\n");
    asked.terminal.wait_for(" s):");
    asked.pause();
    assert!(asked.terminal.try_exit().is_none());
    asked.terminal.send("\n");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn a_tiny_terminal_is_asked_line_by_line() {
    let mut asked = Asked::start(&[], 24, 6, OnTerminal::ALL);
    asked.terminal.wait_for("s):");
    asked.pause();
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), "Once");
}
