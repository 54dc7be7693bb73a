//! Tests the one-line questions of verbs: editing the line, recognizing an approval, and restoring the terminal on
//! every exit. `trusting` tests that keys typed ahead do not answer them.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::harness::home::Home;
use crate::harness::pty::{OnTerminal, Terminal, ended};
use crate::queue::stage::{self, person};

const QUESTION: &str = "Trust this directory? [y/N]";

fn asked(home: &Home) -> Terminal {
    let mut terminal = person(home, &["trust", "."]);
    terminal.wait_for("[y/N]");
    terminal.settle(Duration::from_millis(100));
    terminal
}

fn is_trusted(home: &Home) -> bool {
    home.prints(&["trust", "--list"], 0) != "No trusted directories.\n"
}

#[test]
fn a_line_is_edited_with_the_arrow_keys_and_stays_on_the_screen() {
    let home = stage::home();
    let mut terminal = asked(&home);
    terminal.type_slowly("esx\x7f");
    terminal.send("\x1b[D");
    terminal.settle(Duration::from_millis(100));
    terminal.send("\x1b[D");
    terminal.settle(Duration::from_millis(100));
    terminal.type_slowly("y");
    terminal.wait_for(&format!("{QUESTION} yes"));
    assert!(!is_trusted(&home), "before Enter");
    terminal.send("\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 0", "{}", terminal.screen());
    assert_eq!(terminal.screen().matches(QUESTION).count(), 1, "{}", terminal.screen());
    assert!(terminal.screen().contains(&format!("{QUESTION} yes\n")), "{}", terminal.screen());
    assert!(is_trusted(&home));
    assert_eq!(terminal.modes(), terminal.before);
}

#[test]
fn a_line_that_only_holds_a_yes_is_none() {
    for typed in ["maybe\r", "n\r", "git push -y\r", "\x04\r", "\x1b\r", "\r"] {
        let home = stage::home();
        let mut terminal = asked(&home);
        terminal.type_slowly(typed);
        terminal.wait_exit();
        assert!(terminal.screen().contains("not trusted"), "{typed:?}: {}", terminal.screen());
        assert!(!is_trusted(&home), "{typed:?}");
        assert_eq!(terminal.modes(), terminal.before, "{typed:?}");
    }
}

#[test]
fn a_signal_and_ctrl_c_give_the_terminal_back_and_a_closed_one_is_a_no() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        let home = stage::home();
        let mut terminal = asked(&home);
        assert_ne!(terminal.modes(), terminal.before, "keys are read one by one");
        terminal.signal(signal);
        assert_eq!(ended(terminal.wait_exit()), format!("signal {signal}"), "{}", terminal.screen());
        assert_eq!(terminal.modes(), terminal.before, "{signal}");
        assert!(!is_trusted(&home));
    }
    let home = stage::home();
    let mut terminal = asked(&home);
    terminal.send("y\x03");
    assert_eq!(ended(terminal.wait_exit()), "signal SIGINT", "{}", terminal.screen());
    assert_eq!(terminal.modes(), terminal.before);
    let mut terminal = asked(&home);
    terminal.send("y");
    terminal.hang_up();
    terminal.wait_exit();
    assert!(!is_trusted(&home));
}

#[test]
fn who_ignores_a_signal_is_not_ended_by_it() {
    let home = stage::home();
    let mut command = home.program("sh");
    command.args(["-c", r#"trap '' TERM; exec "$0" trust ."#, env!("CARGO_BIN_EXE_guard")]);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("[y/N]");
    terminal.signal(Signal::SIGTERM);
    terminal.settle(Duration::from_millis(100));
    terminal.send("y\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 0", "{}", terminal.screen());
    assert!(is_trusted(&home));
}

#[test]
fn where_a_line_cannot_be_edited_it_is_read_as_it_is_typed() {
    for (term, columns) in [("dumb", 80), ("xterm", 1), ("xterm", 19)] {
        let home = stage::home();
        let mut command = home.program(env!("CARGO_BIN_EXE_guard"));
        command.args(["trust", "."]).env("TERM", term).env("LANG", "C.UTF-8");
        let mut terminal = Terminal::spawn_with(command, columns, 60, OnTerminal::ALL);
        terminal.settle(Duration::from_secs(1));
        assert_eq!(terminal.modes(), terminal.before, "{term}, {columns}");
        terminal.send("x\x7fy\r");
        assert_eq!(ended(terminal.wait_exit()), "exit 0", "{term}, {columns}: {}", terminal.screen());
        assert!(is_trusted(&home), "{term}, {columns}");
        assert!(!terminal.raw.contains(&0x1b) || columns > 1, "{term}, {columns}");
    }
}
