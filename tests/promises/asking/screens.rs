//! Tests the screen, cell by cell, in windows of every width and after every change of size.

use std::time::Duration;

use super::stage::{Asked, COMMAND};
use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::{OnTerminal, Terminal, ended};

/// Asks in a window of this size, and waits until the card accepts an answer.
fn asked(columns: u16, rows: u16) -> Asked {
    let mut asked = Asked::start(&[], columns, rows, OnTerminal::ALL);
    asked.read();
    asked
}

/// Returns the seconds in the last line of the card or of the explanation.
fn seconds(screen: &str) -> u32 {
    let at = screen.rfind(" s ·").expect("the time is on the screen");
    screen[..at].rsplit(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

#[test]
fn the_explanation_takes_the_place_of_the_card_and_the_clock_goes_on() {
    for (columns, rows) in [(40, 24), (80, 24), (230, 50), (40, 12)] {
        let mut asked = asked(columns, rows);
        asked.turn("?", "What would run");
        let screen = asked.terminal.screen();
        assert!(!screen.contains('┃'), "{columns}x{rows}:\n{screen}");
        let first = screen
            .split_once("What would run")
            .map_or("", |(before, _)| screen.get(before.len()..).unwrap_or_default());
        assert!(first.starts_with("What would run\n  rm -rf build"), "{columns}x{rows}:\n{screen}");
        assert_eq!(screen.matches(" s ·").count(), 1, "{columns}x{rows}:\n{screen}");
        let before = seconds(&screen);
        asked.terminal.wait_until("a clock that goes on", |screen| seconds(screen) + 2 <= before);
        let screen = asked.terminal.screen();
        assert_eq!(screen.matches(" s ·").count(), 1, "{columns}x{rows}:\n{screen}");
        assert_eq!(screen.matches("What would run").count(), 1, "{columns}x{rows}:\n{screen}");
        // After paging forward and returning to the card, nothing of either page is left.
        asked.terminal.send(" ");
        asked.terminal.settle(Duration::from_millis(300));
        asked.turn("q", "y once");
        let screen = asked.terminal.screen();
        // The test harness of the asking process prints its own line above the card.
        let mut card = screen.lines().skip_while(|line| line.is_empty() || line.starts_with("running 1 test"));
        assert!(card.all(|line| line.starts_with('┃')), "{columns}x{rows}:\n{screen}");
        asked.terminal.send("y");
        assert_eq!(asked.answer(), "Once");
    }
}

#[test]
fn whatever_becomes_of_the_window_the_command_stays_in_sight() {
    let sizes = [(100, 40), (40, 15), (230, 50), (80, 24), (40, 10), (33, 9), (100, 12), (40, 40), (40, 15)];
    let mut asked = asked(100, 40);
    for (columns, rows) in sizes {
        asked.terminal.resize(columns, rows);
        asked.terminal.settle(Duration::from_millis(400));
        asked.terminal.wait_until("the command and one clock", |screen| {
            screen.lines().filter(|line| line.starts_with("┃   rm -rf build")).count() == 1
                && screen.matches("no answer means no").count() <= 1
                && screen.matches(" s ·").count() == 1
                && screen.contains("y once")
        });
    }
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn when_a_yes_counts_the_end_of_the_command_is_on_the_screen() {
    let operands: String = (0..600).map(|number| format!(" x{number}")).collect();
    let commands = [
        format!("rm -rf n3{operands} the-end"),
        format!("rm -rf n3; echo {}; rm -rf the-end", "A".repeat(2600)),
        format!("rm -rf n3{}; rm -rf the-end", " ".repeat(3000)),
        format!("rm -rf n3; {}rm -rf the-end{}", "echo a; ".repeat(400), "\n".repeat(200)),
    ];
    for (command, (columns, rows)) in commands.iter().zip([(100, 30), (80, 24), (33, 9), (40, 12)]) {
        let mut asked = Asked::start(&[(COMMAND, command)], columns, rows, OnTerminal::ALL);
        asked.terminal.wait_for("no answer means");
        asked.pause();
        let screen = asked.terminal.screen();
        assert!(screen.contains("the-end"), "{columns}x{rows}:\n{screen}");
        asked.terminal.send("y");
        assert_eq!(asked.answer(), "Once");
    }
}

#[test]
fn in_a_window_that_is_too_small_no_yes_is_taken() {
    let mut asked = asked(80, 24);
    asked.terminal.resize(20, 8);
    let flat = |screen: &str| screen.split_whitespace().collect::<Vec<_>>().join(" ");
    asked
        .terminal
        .wait_until("that it is too small", |screen| flat(screen).contains("window is too small for the card"));
    let clock = |screen: &str| flat(screen).split(" s: this").next().map(str::to_owned);
    let first = clock(&asked.terminal.screen());
    for key in ["y", "a", "s", "\r"] {
        asked.terminal.send(key);
        asked.terminal.settle(Duration::from_millis(200));
    }
    // The clock keeps running, in one place.
    asked.terminal.wait_until("another second", |screen| clock(screen) != first);
    let screen = asked.terminal.screen();
    assert_eq!(flat(&screen).matches("you cannot approve here").count(), 1, "{screen}");
    assert!(asked.terminal.try_exit().is_none(), "{screen}");
    // With enough room the card must be read again, and accepts an answer.
    asked.terminal.resize(80, 24);
    asked.terminal.wait_for("y once");
    asked.read();
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");

    let mut asked = self::asked(80, 24);
    asked.terminal.resize(20, 8);
    asked.terminal.wait_until("that it is too small", |screen| flat(screen).contains("too small"));
    asked.terminal.send("n");
    assert!(asked.answer().starts_with("No"));
}

#[test]
fn a_window_that_shrinks_below_the_card_draws_it_at_the_top() {
    let mut asked = Asked::script(&["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9; do echo line $n; done; exec ./ask"], &[]);
    asked.read();
    asked.terminal.resize(40, 15);
    asked.terminal.wait_until("the card alone", |screen| {
        screen.lines().next().is_some_and(|line| line.starts_with("┃ guard: claude")) && screen.contains("rm -rf build")
    });
    assert!(!asked.terminal.screen().contains("line 9"), "what stood there can be scrolled back to");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
    assert!(asked.terminal.screen().starts_with("guard: allowed once by you"));
}

#[test]
fn without_colours_nothing_is_coloured() {
    let mut asked = Asked::start(&[("NO_COLOR", "1")], 80, 24, OnTerminal::ALL);
    asked.read();
    asked.turn("?", "What would run");
    asked.turn("q", "no answer means no");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
    let raw = String::from_utf8_lossy(&asked.terminal.raw).into_owned();
    let coloured = raw.split("\x1b[").skip(1).filter_map(|rest| rest.split_once('m')).find(|(code, _)| {
        code.split(';').all(|part| part.parse::<u8>().is_ok())
            && code.split(';').any(|part| part.starts_with(['3', '4', '9']))
    });
    assert_eq!(coloured.map(|(code, _)| code), None);
}

#[test]
fn the_first_card_of_an_account_says_what_a_card_is_and_no_other_does() {
    let home = Home::new();
    // A command that was refused without a card, and the doctor's canary command, do not use up the first-time
    // explanation.
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    for (words, is_first) in [(&["guard-canary", "ask"][..], true), (&FLAGGED, true), (&FLAGGED, false)] {
        let mut command = home.guard(&["--"]);
        command.args(words).env("TERM", "xterm-256color").env_remove("GUARD_WAIT");
        let mut terminal = Terminal::spawn_with(command, 100, 40, OnTerminal::ALL);
        terminal.wait_for("answer means no");
        assert_eq!(terminal.screen().contains("Nothing has run yet."), is_first, "{}", terminal.screen());
        terminal.read_question();
        terminal.send("n");
        terminal.wait_for("Why not?");
        terminal.send("\r");
        assert_eq!(ended(terminal.wait_exit()), "exit 126");
    }
}
