//! Tests processes that are killed or interrupted at any step between asking and running: a command runs once or not at
//! all, every command that ran is recorded, and the next request is answered.
//!
//! The steps are system calls: a process is stopped before each of them in turn. Calls that only read are skipped.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use guard::judge::answer_scope::AnswerScope;
use guard::prompt::wakeup;
use guard::store::RowKind;
use guard::store::queue::{Answer, AnswerOutcome, FullRequest, RequestState};
use jiff::Timestamp;
use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::harness::home::Home;
use crate::harness::pty::Terminal;
use crate::harness::trace::{Fate, Traced, may_seize};
use crate::queue::stage::{Asker, FLAGGED, all, apart, home, person, queue, request, shell, state};

/// Calls `play` with step 1, 2, …, `at_once` of them in parallel, until it reports that there are no more steps, and
/// returns their number.
fn at_each_step(at_once: usize, play: impl Fn(usize) -> bool + Sync) -> usize {
    let (next, end) = (AtomicUsize::new(1), AtomicUsize::new(usize::MAX));
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let step = next.fetch_add(1, Ordering::SeqCst);
                    if step >= end.load(Ordering::SeqCst) || failed.load(Ordering::SeqCst) {
                        return;
                    }
                    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(step)));
                    match played {
                        Ok(false) => {}
                        Ok(true) => drop(end.fetch_min(step, Ordering::SeqCst)),
                        Err(panic) => {
                            failed.store(true, Ordering::SeqCst);
                            eprintln!("at step {step}");
                            std::panic::resume_unwind(panic);
                        }
                    }
                }
            });
        }
    });
    end.load(Ordering::SeqCst)
}

/// Starts a command that waits, and returns it with its waiting guard, stopped before the call in which it waits.
fn waiting(home: &Home) -> (Asker, Traced) {
    let asker = Asker::new(home, &FLAGGED);
    let waiter = request(home, &asker.id).waiter.unwrap();
    let mut traced = Traced::seize(Pid::from_raw(waiter.split('.').next().unwrap().parse().unwrap()));
    traced.until(libc::SYS_pselect6);
    (asker, traced)
}

/// Gives a person's approval of the shown request, as their guard writes it.
fn say_yes_to(home: &Home, shown: &FullRequest) -> AnswerOutcome {
    let queue = queue(home);
    let yes = Some((&shown.digest, &shown.bindings));
    let answer = Answer {
        yes,
        by: "ada",
        words: None,
        signatures: &[],
        waited_for: true,
        approvals: 1,
        signer: &[],
        scope: AnswerScope::Once,
    };
    let outcome = queue.answer(&home.store(), &shown.pending, &answer, Timestamp::now()).unwrap();
    wakeup::ring(&queue.wakeup_path(&shown.pending.id).unwrap());
    outcome
}

fn say_yes(home: &Home, id: &str) -> AnswerOutcome {
    say_yes_to(home, &queue(home).full_request(id).unwrap().unwrap())
}

/// Like [`say_yes_to`], while a traced process is stopped. The process continues afterwards, or earlier if it holds the
/// queue's lock.
fn say_yes_while_held(home: &Home, shown: &FullRequest, traced: &mut Traced) -> AnswerOutcome {
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| say_yes_to(home, shown));
        for _ in 0..20 {
            if answer.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        traced.release();
        answer.join().unwrap()
    })
}

/// Returns a person who has read the card of a request, stopped before the call that receives the key.
fn reading(home: &Home, id: &str, verb: &str) -> (Terminal, Traced) {
    let mut terminal = match verb {
        "review" => {
            let mut terminal = person(home, &["review"]);
            terminal.wait_for("guard: 1 request");
            terminal.send("\r");
            terminal
        }
        verb => person(home, &[verb, id]),
    };
    terminal.wait_for("no answer means no");
    terminal.read_question();
    let mut traced = Traced::seize(terminal.pid());
    traced.until(libc::SYS_pselect6);
    (terminal, traced)
}

/// Returns the number of recorded runs.
fn intents(home: &Home) -> usize {
    let store = home.store();
    let rows = i64::try_from(store.verify().unwrap().rows).unwrap();
    let run = |row: &i64| {
        let entry = store.entry(*row).unwrap();
        entry.kind == RowKind::Intent && entry.decision.as_deref() == Some("allow")
    };
    (1..=rows).filter(run).count()
}

/// Checks that the command ran once or not at all, and was recorded before, and that the next request for it is
/// handled. `yeses` approvals were given.
#[track_caller]
fn is_whole(home: &Home, yeses: usize) {
    assert_eq!(home.store().verify().unwrap().faults, []);
    let ran = home.ran();
    assert!(ran <= yeses && intents(home) >= ran, "ran {ran} times, {} times written down", intents(home));
    let again = shell(home, &[&["--no-wait", "--"], &FLAGGED[..]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    match again.status.code() {
        // This run uses an approval that was not used yet.
        Some(0) => assert_eq!(home.ran(), ran + 1, "{said}"),
        Some(75) => assert_eq!(home.ran(), ran, "{said}"),
        code => panic!("{code:?}: {said}"),
    }
    assert!(home.ran() <= yeses, "{yeses} said yes, and it ran {} times: {said}", home.ran());
    assert!(all(home).iter().filter(|one| one.state == RequestState::Approved).count() == 0, "an answer is left");
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn one_who_asks_and_is_killed_at_any_step_of_asking_leaves_nothing_that_stands_in_the_way() {
    let steps = at_each_step(4, |step| {
        let home = home();
        let mut command = apart(home.guard(&[&["--"], &FLAGGED[..]].concat()));
        command.env("GUARD_WAIT", "60").stdout(Stdio::null()).stderr(Stdio::null());
        let mut traced = Traced::start(&mut command).has_begun();
        let waits = (0..step).any(|_| {
            assert!(traced.step(), "it does not wait");
            traced.is_at(libc::SYS_pselect6)
        });
        assert_eq!(traced.kill(), Fate::Killed);
        is_whole(&home, 0);
        // Whether or not it was filed before, one request is open now, and the next run uses it.
        let left: Vec<_> = all(&home).into_iter().filter(|one| one.state.is_open()).collect();
        let [one] = left.as_slice() else { panic!("{left:?}") };
        assert!(matches!(say_yes(&home, &one.id), AnswerOutcome::Done { .. }));
        is_whole(&home, 1);
        assert_eq!(home.ran(), 1);
        waits
    });
    assert!(steps > 20, "only {steps} steps were seen");
}

#[test]
fn one_who_waits_and_is_killed_at_any_step_from_the_answer_to_the_end_of_the_run_ran_it_once_or_not_at_all() {
    let steps = at_each_step(4, |step| {
        let home = home();
        let (asker, mut traced) = waiting(&home);
        let id = asker.id.clone();
        assert!(matches!(say_yes(&home, &id), AnswerOutcome::Done { late: false }));
        traced.steps(step);
        let fate = traced.kill();
        asker.end();
        if let Fate::Exited(code) = fate {
            assert_eq!((code, home.ran(), state(&home, &id)), (0, 1, RequestState::Used));
        }
        is_whole(&home, 1);
        fate != Fate::Killed
    });
    assert!(steps > 20, "only {steps} steps were seen");
}

#[test]
fn one_who_waits_and_is_called_off_at_any_step_from_the_answer_to_the_end_of_the_run_ran_it_once_or_not_at_all() {
    let signals = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let steps = at_each_step(4, |turn| {
        let (step, signal) = (turn.div_ceil(3), signals[turn % 3]);
        let home = home();
        let (asker, mut traced) = waiting(&home);
        let id = asker.id.clone();
        assert!(matches!(say_yes(&home, &id), AnswerOutcome::Done { late: false }));
        let more = traced.steps(step);
        traced.signal(signal);
        traced.release();
        let (status, said) = asker.end();
        match (status.code(), home.ran()) {
            (Some(0), ran) => assert_eq!(ran, 1, "{said}"),
            (Some(code), _) => assert_eq!(code, 128 + signal as i32, "{said}"),
            other => panic!("{other:?}: {said}"),
        }
        is_whole(&home, 1);
        !more
    });
    assert!(steps > 60, "only {steps} steps were seen");
}

#[test]
fn an_answer_at_any_step_of_being_called_off_is_used_once_or_not_at_all() {
    let steps = at_each_step(4, |step| {
        let home = home();
        let (asker, mut traced) = waiting(&home);
        let shown = queue(&home).full_request(&asker.id).unwrap().unwrap();
        traced.signal(Signal::SIGTERM);
        let more = traced.steps(step);
        let outcome = say_yes_while_held(&home, &shown, &mut traced);
        let (status, said) = asker.end();
        assert_eq!(status.code(), Some(128 + 15), "{said}");
        assert!(matches!(outcome, AnswerOutcome::Done { .. }), "{outcome:?}");
        assert_eq!(home.ran(), 0);
        is_whole(&home, 1);
        !more
    });
    assert!(steps > 10, "only {steps} steps were seen");
}

/// Kills the answering process at each step from the key to some steps after the answer.
fn killed_while_answering(verb: &str) {
    if !may_seize() {
        return;
    }
    let answered = AtomicUsize::new(usize::MAX - 1000);
    let steps = at_each_step(8, |step| {
        let home = home();
        let asker = Asker::new(&home, &FLAGGED);
        let id = asker.id.clone();
        let (mut terminal, mut traced) = reading(&home, &id, verb);
        terminal.send("y");
        let more = traced.steps(step);
        let fate = traced.kill();
        terminal.gone();
        if state(&home, &id) == RequestState::Waiting {
            assert_eq!(home.ran(), 0);
            // The killed process gave no answer, so another one can.
            assert!(matches!(say_yes(&home, &id), AnswerOutcome::Done { late: false }), "{fate:?}");
        } else {
            answered.fetch_min(step, Ordering::SeqCst);
            wakeup::ring(&queue(&home).wakeup_path(&id).unwrap());
        }
        asker.ran();
        assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
        is_whole(&home, 1);
        !more || step > answered.load(Ordering::SeqCst) + 20
    });
    assert!(steps > 20, "only {steps} steps were seen");
}

#[test]
fn one_who_approves_and_is_killed_at_any_step_has_answered_or_not_and_another_may() {
    killed_while_answering("approve");
}

#[test]
fn one_who_reviews_and_is_killed_at_any_step_has_answered_or_not_and_another_may() {
    killed_while_answering("review");
}

#[test]
fn of_two_who_answer_one_wins_wherever_the_other_stands_and_it_runs_once() {
    if !may_seize() {
        return;
    }
    let steps = at_each_step(8, |step| {
        let home = home();
        let asker = Asker::new(&home, &FLAGGED);
        let id = asker.id.clone();
        let shown = queue(&home).full_request(&id).unwrap().unwrap();
        let (mut terminal, mut traced) = reading(&home, &id, "approve");
        terminal.send("y");
        let more = traced.steps(step);
        let outcome = say_yes_while_held(&home, &shown, &mut traced);
        let second = !matches!(outcome, AnswerOutcome::Done { .. });
        if more {
            let code = terminal.wait_exit().code();
            assert_eq!(code, Some(if second { 0 } else { 126 }), "{outcome:?}\n{}", terminal.screen());
        } else {
            terminal.gone();
            assert!(second, "{outcome:?}");
        }
        asker.ran();
        assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
        is_whole(&home, 1);
        !more
    });
    assert!(steps > 20, "only {steps} steps were seen");
}
