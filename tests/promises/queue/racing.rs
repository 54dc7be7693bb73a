//! Tests competing and killed processes: a request runs once or not at all.

use std::time::Duration;

use guard::store::queue::RequestState;
use jiff::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::stage::{Asker, FLAGGED, approve, home, person, queue, request, shell, state};

fn waiter(home: &crate::harness::home::Home, id: &str) -> Pid {
    let waiter = request(home, id).waiter.unwrap();
    Pid::from_raw(waiter.split('.').next().unwrap().parse().unwrap())
}

#[test]
fn of_two_who_answer_at_once_one_wins_and_the_command_runs_once_or_not_at_all() {
    let home = home();
    let mut runs = 0;
    for _ in 0..4 {
        let asker = Asker::new(&home, &FLAGGED);
        let id = asker.id.clone();
        let mut yes = person(&home, &["approve", &id]);
        let mut other = person(&home, &["approve", &id]);
        yes.wait_for("no answer means no");
        other.wait_for("no answer means no");
        yes.settle(Duration::from_millis(600));
        other.settle(Duration::from_millis(600));
        yes.send("y");
        other.send("y");
        let codes = [yes.wait_exit().code(), other.wait_exit().code()];
        assert!(codes.contains(&Some(0)) && codes.contains(&Some(126)), "{codes:?}");
        let screens = yes.screen() + &other.screen();
        assert!(screens.contains("already approved"), "{screens}");
        asker.ran();
        runs += 1;
        assert_eq!((home.ran(), state(&home, &id)), (runs, RequestState::Used));
    }
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn an_answer_against_the_end_of_the_time_is_counted_whole_or_late() {
    // The answer is given shortly before or after the time limit.
    let home = home();
    for lead in [120, 60, 30, 10, 0] {
        let before = home.ran();
        let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
        command.env("GUARD_WAIT", "2");
        let asker = Asker::start(command);
        let id = asker.id.clone();
        let mut terminal = person(&home, &["approve", &id]);
        terminal.wait_for("no answer means no");
        let end = request(&home, &id).expires.as_millisecond() - lead;
        let left = end - Timestamp::now().as_millisecond();
        terminal.settle(Duration::from_millis(left.max(0).cast_unsigned()));
        terminal.send("y");
        terminal.wait_exit();
        let (status, said) = asker.end();
        let ran = home.ran() - before;
        let state = state(&home, &id);
        match status.code() {
            Some(0) => assert_eq!((ran, state), (1, RequestState::Used), "{said}"),
            Some(126) => {
                assert_eq!(ran, 0, "{said}");
                assert!(matches!(state, RequestState::Late | RequestState::Approved), "{state:?} {said}");
            }
            other => panic!("{other:?}: {said}"),
        }
        if state == RequestState::Approved {
            // The late approval is used once.
            assert!(shell(&home, &[&["--"], &FLAGGED[..]].concat()).status().unwrap().success());
            assert_eq!(home.ran(), before + 1);
        } else if state == RequestState::Late {
            queue(&home).void(&id, "over").unwrap();
        }
    }
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_guard_that_is_ended_while_it_waits_leaves_a_request_that_may_be_answered_late() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGKILL] {
        let home = home();
        let asker = Asker::new(&home, &FLAGGED);
        let id = asker.id.clone();
        kill(waiter(&home, &id), signal).unwrap();
        let (status, _) = asker.end();
        assert_eq!(status.code(), Some(128 + signal as i32), "{signal}");
        if signal != Signal::SIGKILL {
            assert_eq!(state(&home, &id), RequestState::Late, "{signal}");
            assert!(home.prints(&["log"], 0).contains(&format!("guard was killed by {signal}")));
        }
        let pending = home.prints(&["pending"], 0);
        assert!(pending.contains("  gone  ") && pending.contains("the requester no longer waits"), "{pending}");
        assert!(!pending.contains("timed out"), "{pending}");
        let screen = approve(&home, &id);
        assert!(screen.contains("approved, can run once"), "{signal}: {screen}");
        assert_eq!(home.ran(), 0);
        assert!(shell(&home, &[&["--"], &FLAGGED[..]].concat()).status().unwrap().success());
        assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
    }
}

#[test]
fn an_answer_against_the_end_of_the_one_who_asked_runs_it_once_or_not_at_all() {
    let home = home();
    for delay in [0, 1, 3, 8, 20] {
        let before = home.ran();
        let asker = Asker::new(&home, &FLAGGED);
        let id = asker.id.clone();
        let pid = waiter(&home, &id);
        let mut terminal = person(&home, &["approve", &id]);
        terminal.wait_for("no answer means no");
        terminal.settle(Duration::from_millis(600));
        terminal.send("y");
        // After the key the card waits another 50 ms to check that it was typed alone.
        std::thread::sleep(Duration::from_millis(50 + delay));
        let _ = kill(pid, Signal::SIGKILL);
        terminal.wait_exit();
        asker.end();
        let ran = home.ran() - before;
        let now = state(&home, &id);
        assert!(ran <= 1, "it ran {ran} times");
        assert!(ran == 0 || now == RequestState::Used, "it ran, and is {now:?}");
        queue(&home).void(&id, "over").unwrap();
    }
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn one_who_answers_and_is_killed_on_the_way_has_answered_or_not() {
    // `racing::one_who_approves_…` tests every step. Here the asking process receives the answer in the end.
    let home = home();
    for delay in [0, 56] {
        let before = home.ran();
        let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
        command.env("GUARD_WAIT", "6");
        let asker = Asker::start(command);
        let id = asker.id.clone();
        let mut terminal = person(&home, &["approve", &id]);
        terminal.wait_for("no answer means no");
        terminal.settle(Duration::from_millis(600));
        terminal.send("y");
        std::thread::sleep(Duration::from_millis(delay));
        let _ = kill(terminal.pid(), Signal::SIGKILL);
        terminal.wait_exit();
        let (status, said) = asker.end();
        let ran = home.ran() - before;
        match status.code() {
            Some(0) => assert_eq!((ran, state(&home, &id)), (1, RequestState::Used), "{said}"),
            Some(126) => assert_eq!((ran, state(&home, &id)), (0, RequestState::Late), "{said}"),
            other => panic!("{other:?}: {said}"),
        }
        queue(&home).void(&id, "over").unwrap();
    }
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn an_answer_reaches_the_one_who_waits_at_once() {
    let home = home();
    // The median of several is compared, so that a busy moment of the machine does not matter; without a wakeup the
    // answer would take seconds.
    let mut times = Vec::new();
    for _ in 0..5 {
        let asker = Asker::new(&home, &FLAGGED);
        let id = asker.id.clone();
        person(&home, &["deny", &id]).wait_exit();
        let decided = request(&home, &id).decided.unwrap();
        asker.refused("denied by a person");
        let log = home.prints(&["log", "-n", "1", "--json"], 0);
        let row: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        let told: Timestamp = row["time"].as_str().unwrap().parse().unwrap();
        times.push(told.as_millisecond() - decided.as_millisecond());
    }
    times.sort_unstable();
    assert!(times[2] <= 250, "the middle of {times:?} ms");
}

#[test]
fn one_card_that_is_left_alone_lets_nothing_run() {
    let home = home();
    let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
    command.env("GUARD_WAIT", "2");
    let asker = Asker::start(command);
    let mut terminal = person(&home, &["approve", &asker.id]);
    terminal.wait_for("no answer means no");
    asker.refused("timed out");
    terminal.wait_exit();
    assert!(terminal.screen().contains("not approved: the request timed out"), "{}", terminal.screen());
    assert_eq!(home.ran(), 0);
}
