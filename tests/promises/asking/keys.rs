//! Tests the meaning of each key, and the keys that are ignored.

use std::time::Duration;

use super::stage::{Asked, NO, TIER, TYPED_NO};
use crate::harness::pty::OnTerminal;

#[test]
fn y_allows_it_once_and_leaves_one_line() {
    let mut asked = Asked::new(&[]);
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
    assert!(asked.terminal.screen().contains("guard: allowed once by you: rm -rf build"));
}

#[test]
fn s_allows_it_for_the_session() {
    let mut asked = Asked::new(&[]);
    asked.terminal.send("s");
    assert_eq!(asked.answer(), "Session");
}

#[test]
fn a_standing_grant_is_shown_in_words_and_confirmed() {
    let mut asked = Asked::new(&[]);
    asked.turn("a", "always: this exact command, in /home/ada/project, until you revoke it");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Always");
}

#[test]
fn a_standing_grant_that_is_not_confirmed_is_a_no() {
    for key in ["n", "\r", "\x1b", "\x04"] {
        let mut asked = Asked::new(&[]);
        asked.turn("a", "allow always");
        asked.terminal.send(key);
        assert_eq!(asked.answer(), if key == "n" { TYPED_NO } else { NO }, "{key:?}");
    }
}

#[test]
fn n_is_a_no_with_or_without_words() {
    let mut asked = Asked::new(&[]);
    asked.turn("n", "Why not?");
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), TYPED_NO);

    // Enter is accepted at once here, without the pause in which keys are ignored.
    let mut asked = Asked::new(&[]);
    asked.terminal.send("n");
    asked.terminal.wait_for("Why not?");
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), TYPED_NO);

    let mut asked = Asked::new(&[]);
    asked.turn("n", "Why not?");
    asked.terminal.type_slowly("not noww\x7f, ask meé");
    asked.terminal.wait_for("not now, ask meé_");
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), r#"No { words: Some("not now, ask meé"), typed: true }"#);
}

#[test]
fn enter_escape_and_end_of_file_are_a_no() {
    for key in ["\r", "\n", "\x1b", "\x04"] {
        let mut asked = Asked::new(&[]);
        asked.terminal.send(key);
        assert_eq!(asked.answer(), NO, "{key:?}");
    }
}

#[test]
fn other_keys_answer_nothing() {
    let mut asked = Asked::new(&[]);
    for key in ["x", "\x1b[A", "\x1by", "\x1bOP", "\t", "1", "é", "\x1b[1;5C", "\x13", "\x16"] {
        asked.terminal.send(key);
        asked.terminal.wait_for("unknown key; n denies");
        asked.terminal.settle(Duration::from_millis(100));
        assert!(asked.terminal.try_exit().is_none(), "{key:?}");
    }
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn what_was_typed_before_the_card_is_thrown_away() {
    let mut asked = Asked::start(&[], 80, 24, OnTerminal::ALL);
    asked.terminal.send("yyy\ny");
    asked.read();
    assert!(asked.terminal.try_exit().is_none());
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn what_is_pasted_is_no_answer() {
    let mut asked = Asked::new(&[]);
    for paste in ["yes\n", "y\r", "\x1b[200~y\x1b[201~", "yy"] {
        asked.terminal.send(paste);
        asked.terminal.wait_for("pasted text is ignored");
        asked.pause();
        assert!(asked.terminal.try_exit().is_none(), "{paste:?}");
        asked.terminal.send("x");
        asked.terminal.wait_for("unknown key; n denies");
    }
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn the_explanation_is_paged_while_the_time_goes_on() {
    let mut asked = Asked::new(&[]);
    asked.turn("?", "What would run");
    asked.terminal.send("y");
    asked.terminal.wait_for("q goes back to the card");
    asked.terminal.send(" ");
    asked.terminal.wait_for("Sentence 10 of the explanation.");
    asked.terminal.wait_gone("What would run");
    asked.terminal.send("b");
    asked.terminal.wait_for("What would run");
    for _ in 0..9 {
        asked.terminal.send(" ");
        asked.terminal.settle(Duration::from_millis(30));
    }
    asked.terminal.wait_for("Sentence 59 of the explanation.");
    asked.turn("q", "no answer means no");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn escape_is_a_no_on_a_page_of_the_explanation_too() {
    let mut asked = Asked::new(&[]);
    asked.turn("?", "What would run");
    asked.terminal.send("\x1b");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn a_critical_command_runs_when_its_word_is_typed() {
    let mut asked = Asked::new(&[(TIER, "4")]);
    let word = asked.word();
    asked.terminal.wait_for("60 s to begin");
    asked.terminal.type_slowly(&word);
    asked.terminal.wait_for(&format!("Esc denies: {word}_"));
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn a_critical_command_does_not_run_for_another_word() {
    for typed in ["wrong", "y", "yes", ""] {
        let mut asked = Asked::new(&[(TIER, "4")]);
        asked.terminal.type_slowly(&format!("{typed}\r"));
        assert_eq!(asked.answer(), NO, "{typed:?}");
    }
}

#[test]
fn a_critical_command_is_not_granted() {
    let mut asked = Asked::new(&[(TIER, "4")]);
    let screen = asked.terminal.screen();
    assert!(!screen.contains("this session") && !screen.contains("always"), "{screen}");
    asked.terminal.type_slowly("sa");
    asked.terminal.wait_for("sa_");
    asked.terminal.send("\x1b");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn the_word_cannot_be_pasted() {
    let mut asked = Asked::new(&[(TIER, "4")]);
    let word = asked.word();
    asked.terminal.send(&format!("{word}\r"));
    asked.terminal.wait_for("pasted text is ignored");
    asked.pause();
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn no_answer_is_read_from_standard_input() {
    let mut asked = Asked::script(&["sh", "-c", "yes | ./ask"], &[]);
    asked.read();
    asked.terminal.settle(Duration::from_millis(300));
    assert!(asked.terminal.try_exit().is_none());
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), NO);
}
