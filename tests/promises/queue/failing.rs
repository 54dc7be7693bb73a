//! Tests faults of the queue: nothing runs without an approval, and the refusal says why.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use guard::store::queue::RequestState;
use nix::libc;
use rusqlite::Connection;

use super::stage::{Asker, FLAGGED, all, approve, home, person, queue, shell, state};
use crate::harness::home::Home;

fn asks(home: &Home) -> std::process::Output {
    shell(home, &[&["--"], &FLAGGED[..]].concat()).env("GUARD_WAIT", "2").output().unwrap()
}

type Spoil = fn(&Home);

#[test]
fn a_queue_that_is_no_queue_refuses_and_names_the_file() {
    let spoils: [(&str, Spoil); 4] = [
        ("is not a record of guard", |home| {
            std::fs::write(home.data().join("queue.db"), vec![b'x'; 8192]).unwrap();
        }),
        ("is not a regular file", |home| std::fs::create_dir(home.data().join("queue.db")).unwrap()),
        ("written by a newer guard", |home| {
            let connection = Connection::open(home.data().join("queue.db")).unwrap();
            connection.execute_batch("PRAGMA user_version=9").unwrap();
        }),
        ("is not a key of guard", |home| std::fs::write(home.data().join("guard.key"), "short").unwrap()),
    ];
    for (words, spoil) in spoils {
        let home = home();
        std::fs::create_dir_all(home.data()).unwrap();
        spoil(&home);
        let output = asks(&home);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(126), "{words}: {said}");
        assert!(said.contains("could not be recorded: ") && said.contains(words), "{said}");
        assert_eq!(home.ran(), 0);
    }
}

#[test]
fn a_queue_that_is_spoiled_while_it_waits_lets_nothing_run() {
    let home = home();
    let asker = Asker::start({
        let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
        command.env("GUARD_WAIT", "20");
        command
    });
    // The table is missing.
    Connection::open(home.data().join("queue.db")).unwrap().execute_batch("DROP TABLE request").unwrap();
    asker.refused("could not be recorded: ");
    // The request is missing.
    let home = super::stage::home();
    let asker = Asker::new(&home, &FLAGGED);
    Connection::open(home.data().join("queue.db")).unwrap().execute_batch("DELETE FROM request").unwrap();
    asker.refused("the request is no longer in the queue");
    assert_eq!(home.ran(), 0);
}

#[test]
fn an_answer_counts_only_under_the_key_that_it_was_sealed_with() {
    let home = home();
    let output = shell(&home, &[&["--no-wait", "--"], &FLAGGED[..]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(75));
    let id = all(&home)[0].id.clone();
    approve(&home, &id);
    assert_eq!(state(&home, &id), RequestState::Approved);
    // With another key the answer cannot be verified, so the command is asked about again.
    let key = home.data().join("guard.key");
    let kept = std::fs::read(&key).unwrap();
    std::fs::write(&key, [7; 32]).unwrap();
    let output = asks(&home);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("timed out"), "{said}");
    assert_eq!(home.ran(), 0);
    std::fs::write(&key, kept).unwrap();
    assert!(asks(&home).status.success());
    assert_eq!(home.ran(), 1);
}

#[test]
fn without_its_bell_an_answer_comes_later_and_comes() {
    let home = home();
    for spoil in [
        |path: &std::path::Path| std::fs::remove_file(path).unwrap(),
        |path: &std::path::Path| {
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, "not a pipe").unwrap();
        },
    ] {
        let asker = Asker::new(&home, &FLAGGED);
        let wakeup = home.data().join("queue").join(&asker.id);
        while !wakeup.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        spoil(&wakeup);
        let before = home.ran();
        approve(&home, &asker.id);
        asker.ran();
        assert_eq!(home.ran(), before + 1);
    }
}

#[test]
fn a_bell_that_rings_without_end_says_nothing() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let wakeup = home.data().join("queue").join(&asker.id);
    // The FIFO is created before it is opened for reading, and cannot be written to in between.
    let mut pipe = loop {
        match std::fs::OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&wakeup) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENXIO)) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            pipe => break pipe.unwrap(),
        }
    };
    for _ in 0..500 {
        let _ = pipe.write(&[1; 512]);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((home.ran(), state(&home, &asker.id)), (0, RequestState::Waiting));
    approve(&home, &asker.id);
    asker.ran();
    assert_eq!(home.ran(), 1);
}

#[test]
fn many_who_ask_at_once_are_all_answered_and_each_runs_once() {
    let home = home();
    let names: Vec<String> = (0..16).map(|number| format!("package-{number}")).collect();
    let askers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            names.iter().map(|name| scope.spawn(|| Asker::new(&home, &["npm", "install", name]))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut ids: Vec<String> = askers.iter().map(|asker| asker.id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 16);
    let mut terminal = person(&home, &["approve", "--all"]);
    terminal.wait_for("Approve all 16 commands? [y/N]");
    terminal.settle(Duration::from_millis(100));
    terminal.send("y\r");
    terminal.wait_exit();
    for asker in askers {
        asker.ran();
    }
    assert_eq!(home.ran(), 16);
    assert!(queue(&home).list(jiff::Timestamp::now()).unwrap().iter().all(|one| one.state == RequestState::Used));
    assert_eq!(home.store().verify().unwrap().faults, []);
    assert_eq!(std::fs::read_dir(home.data().join("queue")).unwrap().count(), 0);
}
