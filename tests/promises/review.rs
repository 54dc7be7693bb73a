//! Tests the review screen: a request is shown completely before it can be decided, and the terminal is restored
//! afterwards.

use std::time::Duration;

use guard::store::queue::RequestState;
use nix::sys::signal::Signal;
use nix::sys::termios::Termios;

use crate::harness::home::Home;
use crate::harness::pty::{OnTerminal, Terminal, ended};
use crate::queue::stage::{Asker, FLAGGED, answer_card, home, in_session, person, state};

fn review(home: &Home, columns: u16, rows: u16, variables: &[(&str, &str)]) -> Terminal {
    let mut command = home.guard(&["review"]);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").envs(variables.iter().copied());
    Terminal::spawn_with(command, columns, rows, OnTerminal::ALL)
}

fn read(terminal: &mut Terminal) {
    terminal.read_question();
}

/// Checks that the terminal is restored: its modes, its screen and its cursor.
#[track_caller]
fn is_restored(terminal: &mut Terminal) {
    let key = |modes: &Termios| (modes.local_flags, modes.input_flags, modes.output_flags, modes.control_chars);
    assert_eq!(key(&terminal.before), key(&terminal.modes()));
    terminal.settle(Duration::from_millis(50));
    let screen = terminal.emulator();
    assert!(!screen.alternate_screen(), "still on the alternate screen");
    assert!(!screen.hide_cursor(), "the cursor is still hidden");
    assert!(!screen.bracketed_paste(), "pastes still come in brackets");
}

#[test]
fn what_waits_is_listed_with_the_card_of_one_and_answered_on_it() {
    let home = home();
    let high = Asker::new(&home, &FLAGGED);
    let medium = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let mut terminal = review(&home, 100, 30, &[]);
    terminal.wait_for("guard: 2 requests");
    terminal.wait_for("A force push overwrites");
    let screen = terminal.screen();
    assert!(screen.contains(&high.id) && screen.contains(&medium.id) && screen.contains(" s  "), "{screen}");
    // In the list no key answers a request.
    terminal.send("y");
    terminal.wait_for("press Enter to open");
    terminal.send("\r");
    answer_card(&mut terminal, "y");
    high.ran();
    terminal.wait_for("approved: git push");
    terminal.wait_for("guard: 1 request");
    terminal.send("d");
    terminal.wait_for("Why not?");
    terminal.type_slowly("pin it");
    terminal.send("\r");
    medium.refused("denied by a person: pin it");
    terminal.wait_for("No requests are waiting.");
    terminal.send("q");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    is_restored(&mut terminal);
    let screen = terminal.screen();
    assert!(screen.contains("approved: git push") && screen.contains("denied: npm install"), "{screen}");
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_batch_is_asked_about_once_its_end_was_seen_and_holds_no_tier_3_that_was_not_opened() {
    let home = home();
    let high = Asker::new(&home, &FLAGGED);
    let askers: Vec<Asker> = ["one-unheard-of", "two-unheard-of", "three-unheard-of"]
        .iter()
        .map(|name| Asker::new(&home, &["npm", "install", name]))
        .collect();
    let mut terminal = review(&home, 90, 16, &[]);
    terminal.wait_for("guard: 4 requests");
    terminal.send("*");
    terminal.wait_for("4 marked");
    terminal.send("A");
    terminal.wait_for("more lines; press space to read them");
    read(&mut terminal);
    // Before the end of the card was visible, y has no effect.
    terminal.send("y");
    terminal.settle(Duration::from_millis(400));
    assert_eq!(home.ran(), 0);
    for _ in 0..8 {
        if terminal.screen().contains("Approve all 3 commands? [y/N]") {
            break;
        }
        terminal.send(" ");
        terminal.settle(Duration::from_millis(300));
    }
    terminal.wait_for("Approve all 3 commands? [y/N]");
    terminal.wait_for("Together they affect: ");
    read(&mut terminal);
    terminal.send("y");
    for asker in askers {
        asker.ran();
    }
    assert_eq!((home.ran(), state(&home, &high.id)), (3, RequestState::Waiting));
    terminal.wait_for("guard: 1 request");
    // A request that was opened and left undecided can be in the next batch.
    terminal.send("\r");
    answer_card(&mut terminal, "\x1b");
    terminal.wait_for("not approved");
    terminal.wait_for("[x]");
    terminal.send("A");
    terminal.wait_for("Approve 1 command? [y/N]");
    read(&mut terminal);
    terminal.send("\r");
    terminal.wait_for("not approved");
    assert_eq!(state(&home, &high.id), RequestState::Waiting);
    terminal.send("A");
    terminal.wait_for("Approve 1 command? [y/N]");
    read(&mut terminal);
    terminal.send("y");
    high.ran();
    terminal.send("q");
    terminal.wait_exit();
    assert_eq!(home.ran(), 4);
}

#[test]
fn the_same_command_is_shown_once_and_each_of_it_needs_its_own_yes_or_one_for_all_of_these() {
    let home = home();
    let script = "for n in 1 2 3; do \"$0\" -- npm install x & done; wait";
    let mut child = in_session(&home, script).stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut terminal = review(&home, 100, 30, &[]);
    terminal.wait_for("3 times: npm install x");
    terminal.wait_for("guard: 1 request");
    terminal.wait_for("npm install x");
    terminal.send("\r");
    terminal.wait_for("2 more requests for the same command; this answers one.");
    answer_card(&mut terminal, "y");
    terminal.wait_for("2 times: npm install x");
    terminal.wait_until("one run", |_| home.ran() == 1);
    terminal.send(" ");
    terminal.wait_for("[x]");
    terminal.send("A");
    terminal.wait_for("Approve all 2 commands? [y/N]");
    terminal.wait_for("› Requests ");
    assert_eq!(terminal.screen().matches("npm install x").count(), 1, "{}", terminal.screen());
    read(&mut terminal);
    terminal.send("y");
    child.wait().unwrap();
    assert_eq!(home.ran(), 3);
    terminal.send("q");
    terminal.wait_exit();
}

#[test]
fn tier_4_takes_its_word_and_is_in_no_batch() {
    let home = home();
    let asker = Asker::new(&home, &["mkfs.ext4", "/dev/sda"]);
    let mut terminal = review(&home, 100, 30, &[]);
    terminal.wait_for("guard: 1 request");
    terminal.send(" ");
    terminal.wait_for("cannot be approved in a batch");
    terminal.send("A");
    terminal.wait_for("nothing is marked");
    terminal.send("\r");
    terminal.wait_for("to begin");
    read(&mut terminal);
    let screen = terminal.screen();
    let word = screen.split("type ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    terminal.type_slowly(&word);
    terminal.send("\r");
    asker.ran();
    terminal.wait_for("No requests are waiting.");
    terminal.send("q");
    terminal.wait_exit();
    is_restored(&mut terminal);
}

#[test]
fn filters_show_one_tier_or_one_session() {
    let home = home();
    let high = Asker::new(&home, &FLAGGED);
    let medium = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let mut terminal = review(&home, 100, 30, &[]);
    terminal.wait_for("guard: 2 requests");
    terminal.send("t");
    terminal.wait_for("only tier 2");
    terminal.wait_until("one row", |screen| screen.contains("guard: 1 request") && !screen.contains(&high.id));
    terminal.send("t");
    terminal.wait_for("only tier 3");
    terminal.send("t");
    terminal.wait_for("guard: 2 requests");
    terminal.send("s");
    terminal.wait_for("only session ");
    terminal.wait_for("guard: 1 request");
    terminal.send("q");
    terminal.wait_exit();
    person(&home, &["deny", "--all"]).wait_exit();
    for asker in [high, medium] {
        asker.refused("denied by a person");
    }
}

#[test]
fn pasted_keys_and_bursts_decide_nothing() {
    let home = home();
    let asker = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let mut terminal = review(&home, 100, 30, &[]);
    terminal.wait_for("guard: 1 request");
    terminal.send("*A");
    terminal.wait_for("too fast to be typed");
    terminal.send("\x1b[200~\ry\x1b[201~");
    terminal.settle(Duration::from_millis(300));
    terminal.send("*");
    terminal.wait_for("1 marked");
    terminal.send("A");
    terminal.wait_for("Approve 1 command? [y/N]");
    read(&mut terminal);
    terminal.send("yy");
    terminal.wait_for("not approved");
    assert_eq!((home.ran(), state(&home, &asker.id)), (0, RequestState::Waiting));
    // A key that was typed ahead does not count either.
    terminal.send("A");
    terminal.send("y");
    terminal.settle(Duration::from_millis(500));
    assert_eq!((home.ran(), state(&home, &asker.id)), (0, RequestState::Waiting));
    drop(terminal);
    person(&home, &["deny", &asker.id]).wait_exit();
    asker.refused("denied by a person");
}

#[test]
fn it_follows_the_size_of_the_window_and_leaves_no_control_character_of_a_command() {
    let home = home();
    let asker = Asker::new(&home, &["npm", "install", "x\x1b[2Jy\nz\u{202e}"]);
    let mut terminal = review(&home, 120, 40, &[("NO_COLOR", "1")]);
    terminal.wait_for("⟨ESC⟩");
    terminal.wait_for("⟨U+202E⟩");
    for (columns, rows) in [(60, 15), (200, 50), (40, 10), (80, 24)] {
        terminal.resize(columns, rows);
        terminal.signal(Signal::SIGWINCH);
        terminal.settle(Duration::from_millis(300));
        let screen = terminal.screen();
        assert!(screen.contains("guard: 1 request") && screen.contains(&asker.id), "{columns}x{rows}:\n{screen}");
        assert!(screen.lines().count() <= usize::from(rows), "{screen}");
    }
    assert!(!String::from_utf8_lossy(&terminal.raw).contains("\x1b[31m"), "a colour");
    terminal.send("q");
    terminal.wait_exit();
    is_restored(&mut terminal);
    person(&home, &["deny", &asker.id]).wait_exit();
    asker.refused("denied by a person");
}

#[test]
fn help_is_a_key_away_and_escape_goes_back_a_step() {
    let home = home();
    let mut terminal = review(&home, 80, 24, &[]);
    terminal.wait_for("No requests are waiting.");
    terminal.send("?");
    terminal.wait_for("approve all marked requests");
    terminal.send("\x1b");
    terminal.wait_gone("approve all marked requests");
    assert!(terminal.try_exit().is_none());
    terminal.send("\x1b");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    is_restored(&mut terminal);
}

#[test]
fn every_way_out_gives_the_terminal_back() {
    let home = home();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        let mut terminal = review(&home, 80, 24, &[]);
        terminal.wait_for("No requests are waiting.");
        assert!(terminal.emulator().alternate_screen());
        terminal.signal(signal);
        assert_eq!(ended(terminal.wait_exit()), format!("signal {signal}"));
        is_restored(&mut terminal);
    }
    for key in ["q", "\x1b", "\x04"] {
        let mut terminal = review(&home, 80, 24, &[]);
        terminal.wait_for("No requests are waiting.");
        terminal.send(key);
        assert_eq!(ended(terminal.wait_exit()), "exit 0");
        is_restored(&mut terminal);
    }
    let mut terminal = review(&home, 80, 24, &[]);
    terminal.wait_for("No requests are waiting.");
    terminal.send("\x03");
    assert_eq!(ended(terminal.wait_exit()), "signal SIGINT");
    is_restored(&mut terminal);
    let mut terminal = review(&home, 80, 24, &[]);
    terminal.wait_for("No requests are waiting.");
    terminal.hang_up();
    terminal.wait_exit();
}

#[test]
fn stopped_and_brought_back_it_goes_on() {
    let home = home();
    let mut command = home.program("bash");
    command.args(["--norc", "--noprofile", "-i"]).env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("PS1", "$ ");
    command.env("GUARD", env!("CARGO_BIN_EXE_guard"));
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("$ ");
    terminal.send("\"$GUARD\" review\n");
    terminal.wait_for("No requests are waiting.");
    terminal.send("\x1a");
    terminal.wait_for("Stopped");
    assert!(!terminal.emulator().alternate_screen());
    terminal.send("fg\n");
    terminal.wait_for("No requests are waiting.");
    assert!(terminal.emulator().alternate_screen());
    terminal.send("q");
    // Keys that are typed before guard has restored the terminal are discarded.
    terminal.wait_until("a prompt", |screen| screen.trim_end().ends_with('$'));
    terminal.send("exit\n");
    terminal.wait_exit();
}

#[test]
fn the_cursor_stays_where_it_is_and_a_no_is_for_what_it_was_begun_for() {
    let home = home();
    let askers: Vec<Asker> = ["one-unheard-of", "two-unheard-of", "three-unheard-of", "four-unheard-of"]
        .iter()
        .map(|name| Asker::new(&home, &["npm", "install", name]))
        .collect();
    let mut terminal = review(&home, 100, 30, &[]);
    terminal.wait_for("guard: 4 requests");
    terminal.send("j");
    terminal.wait_for(&format!("> [ ] {}", askers[1].id));
    terminal.send("d");
    terminal.wait_for("Why not?");
    terminal.send("\r");
    terminal.wait_for("guard: 3 requests");
    terminal.wait_for(&format!("> [ ] {}", askers[2].id));
    // Another process answers the request while the reason of a denial is being typed.
    terminal.send("d");
    terminal.wait_for("Why not?");
    person(&home, &["deny", &askers[2].id]).wait_exit();
    terminal.wait_for("guard: 2 requests");
    terminal.send("\r");
    terminal.wait_for("nothing was denied");
    for (number, expected) in [RequestState::Waiting, RequestState::Denied, RequestState::Denied, RequestState::Waiting]
        .into_iter()
        .enumerate()
    {
        assert_eq!(state(&home, &askers[number].id), expected, "{number}");
    }
    terminal.send("q");
    terminal.wait_exit();
    for asker in askers {
        person(&home, &["deny", &asker.id]).wait_exit();
        asker.refused("denied by a person");
    }
}

#[test]
fn where_the_cursor_cannot_be_moved_each_is_asked_about_in_lines() {
    let home = home();
    let first = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let second = Asker::new(&home, &FLAGGED);
    let mut terminal = review(&home, 80, 24, &[("TERM", "dumb")]);
    terminal.wait_for("Waiting: 2.");
    terminal.wait_for("then Enter (");
    read(&mut terminal);
    terminal.send("y\r");
    first.ran();
    terminal.wait_for("(2 of 2)");
    terminal.wait_until("the second question", |screen| screen.matches("then Enter (").count() == 2);
    read(&mut terminal);
    terminal.send("n not today\r");
    second.refused("denied by a person: not today");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert!(!String::from_utf8_lossy(&terminal.raw).contains("\x1b["));
    assert_eq!(home.ran(), 1);
}

#[test]
fn from_inside_a_guarded_session_there_is_no_review() {
    let home = home();
    let mut terminal = review(&home, 80, 24, &[("CLAUDECODE", "1")]);
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    assert!(terminal.screen().contains("only a person at a terminal may do this"), "{}", terminal.screen());
}

#[test]
fn what_timed_out_is_told_apart_and_stands_behind_what_still_waits() {
    let home = home();
    let mut command = crate::queue::stage::shell(&home, &[&["--"], &FLAGGED[..]].concat());
    command.env("GUARD_WAIT", "1");
    let late = Asker::start(command);
    let gone = late.id.clone();
    late.refused("timed out");
    let waits = Asker::new(&home, &["npm", "install", "some-pkg"]);
    assert_eq!(home.prints(&["status", "--prompt"], 0), "1 waiting\n");
    let pending = home.prints(&["pending"], 0);
    let place = |id: &str| pending.find(id).unwrap_or_else(|| panic!("{id}: {pending}"));
    assert!(place(&waits.id) < place(&gone), "{pending}");
    let mut terminal = review(&home, 80, 24, &[]);
    terminal.wait_for("guard: 1 request, 1 timed out");
    let screen = terminal.screen();
    assert!(screen.find(&waits.id).unwrap() < screen.find(&gone).unwrap(), "{screen}");
    // The cursor is on the waiting request.
    assert!(screen.lines().any(|line| line.starts_with("> [ ] ") && line.contains(&waits.id)), "{screen}");
    terminal.send("q");
    terminal.wait_exit();
    // The same on a terminal whose cursor cannot be moved.
    let mut terminal = review(&home, 80, 24, &[("TERM", "dumb")]);
    terminal.wait_for("Waiting: 1.");
    terminal.hang_up();
    drop(waits);
}
