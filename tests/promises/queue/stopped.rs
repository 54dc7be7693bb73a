//! Tests that too many denials stop a session until a person resumes it.

use super::stage::{apart, home, in_session, person};
use crate::harness::home::Home;

/// Starts a shell that asks repeatedly, and appends each exit code to a file.
fn asks(home: &Home, times: usize) -> std::process::Child {
    let script = "for n in $(seq \"$1\"); do \"$0\" -- npm install \"p$n\"; echo $? >>codes; done; \
                  while ! test -e go; do sleep 0.05; done; \"$0\" -- npm install again; echo $? >>codes";
    in_session(home, script).arg(times.to_string()).spawn().unwrap()
}

fn codes(home: &Home) -> String {
    std::fs::read_to_string(home.path("work/codes")).unwrap_or_default().replace('\n', " ")
}

/// Denies the next waiting request.
fn deny_next(home: &Home) {
    let id = loop {
        let waiting = home.prints(&["pending", "--json"], 0);
        match waiting.split(r#""id":""#).nth(1) {
            Some(rest) => break rest.split('"').next().unwrap().to_owned(),
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    person(home, &["deny", &id]).wait_exit();
}

#[test]
fn three_denials_in_a_row_stop_a_session_until_a_person_resumes_it() {
    let home = home();
    let mut shell = asks(&home, 4);
    for _ in 0..3 {
        deny_next(&home);
    }
    // The fourth request is refused without a question.
    while codes(&home) != "126 126 126 126 " {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(home.prints(&["log"], 0).contains("breaker"));
    assert!(home.prints(&["session"], 0).contains("3 denied in a row; stopped"));
    // Resuming needs a terminal.
    let inside = apart(home.guard(&["session", "resume", "--reason", "please"])).status().unwrap();
    assert_eq!(inside.code(), Some(126));
    assert!(home.prints(&["session"], 0).contains("stopped"));
    let mut terminal = person(&home, &["session", "resume", "--reason", "we talked"]);
    terminal.wait_exit();
    assert!(terminal.screen().contains("Resumed session"), "{}", terminal.screen());
    assert!(!home.prints(&["session"], 0).contains("stopped"));
    let log = home.prints(&["log", "--json"], 0);
    assert!(log.contains(r#""kind":"resumed""#) && log.contains("we talked"), "{log}");
    std::fs::write(home.path("work/go"), "").unwrap();
    while !home.prints(&["pending"], 0).contains("npm install again") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    person(&home, &["deny", "--all"]).wait_exit();
    shell.wait().unwrap();
    assert_eq!(home.ran(), 0);
    assert_eq!(home.store().verify().unwrap().faults, []);
}

/// Waits until the file of exit codes has this content.
fn answered(home: &Home, wanted: &str) {
    while codes(home) != wanted {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn who_takes_denials_out_of_the_record_is_not_asked_about_until_a_person_looked() {
    for by_hand in [
        "UPDATE record SET mark = NULL WHERE mark = 2",
        "UPDATE record SET mark = 3 WHERE id = (SELECT max(id) FROM record WHERE mark = 2)",
        "DELETE FROM record WHERE mark = 2",
        "UPDATE record SET root = 'other' WHERE mark = 2",
        // The end of the chain is deleted: all of it, or from the first denial on.
        "DELETE FROM record",
        "DELETE FROM record WHERE id >= (SELECT min(id) FROM record WHERE mark = 2)",
        // A forged row of one of guard's kinds: with an invalid hash, or without a seal.
        "INSERT INTO record(id, hash, kind, at, root, mark)
         SELECT max(id) + 1, zeroblob(32), 'resumed', 1, (SELECT root FROM record WHERE mark = 2), 5 FROM record",
        "INSERT INTO record(id, hash, kind, at, root, mark)
         SELECT max(id) + 1, zeroblob(32), 'resumed', 1, NULL, 5 FROM record;
         UPDATE record SET mark = NULL WHERE mark = 2",
    ] {
        let home = home();
        let mut shell = asks(&home, 4);
        for _ in 0..3 {
            deny_next(&home);
        }
        answered(&home, "126 126 126 126 ");
        home.sql(by_hand);
        std::fs::write(home.path("work/go"), "").unwrap();
        answered(&home, "126 126 126 126 126 ");
        shell.wait().unwrap();
        let log = home.prints(&["log", "--json"], 0);
        let last = log.lines().rfind(|row| row.contains("install again")).unwrap();
        assert!(last.contains(r#""settled_by":"edited""#), "{by_hand}: {last}");
        assert!(!home.store().verify().unwrap().faults.is_empty(), "{by_hand}");
        let session = home.prints(&["session"], 0);
        assert!(session.contains("of the record was changed after it was written; stopped"), "{by_hand}: {session}");
        assert_eq!(home.ran(), 0);
    }
}

#[test]
fn a_person_who_looked_lets_a_session_go_on_from_there() {
    let home = home();
    let script = "for n in 1 2 3; do while ! test -e \"go$n\"; do sleep 0.05; done; \"$0\" -- npm install x; echo $? >>codes; done";
    let mut shell = in_session(&home, script).spawn().unwrap();
    let go = |number: usize| std::fs::write(home.path(&format!("work/go{number}")), "").unwrap();
    go(1);
    deny_next(&home);
    answered(&home, "126 ");
    home.sql("UPDATE record SET mark = NULL WHERE mark = 2");
    go(2);
    answered(&home, "126 126 ");
    let mut terminal = person(&home, &["session", "resume", "--reason", "it was me"]);
    terminal.wait_exit();
    assert!(terminal.screen().contains("Resumed session"), "{}", terminal.screen());
    assert!(!home.prints(&["session"], 0).contains("stopped"));
    go(3);
    deny_next(&home);
    shell.wait().unwrap();
    let log = home.prints(&["log", "--json"], 0);
    assert_eq!(log.matches(r#""settled_by":"edited""#).count(), 1, "{log}");
    // The edited rows stay detectable.
    assert!(!home.store().verify().unwrap().faults.is_empty());
    assert_eq!(home.ran(), 0);
}
