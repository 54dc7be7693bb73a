//! Too many denials stop a session until a person lets it go on.

use super::stage::{apart, home, person};
use crate::harness::home::Home;

/// A shell that asks and asks, one line for each exit code.
fn asks(home: &Home, times: usize) -> std::process::Child {
    let script = "for n in $(seq \"$1\"); do \"$0\" -- npm install \"p$n\"; echo $? >>codes; done; \
                  while ! test -e go; do sleep 0.05; done; \"$0\" -- npm install again; echo $? >>codes";
    let mut command = home.program("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_guard"), &times.to_string()]).env("GUARD_WAIT", "60");
    apart(command).spawn().unwrap()
}

fn codes(home: &Home) -> String {
    std::fs::read_to_string(home.path("work/codes")).unwrap_or_default().replace('\n', " ")
}

#[test]
fn three_denials_in_a_row_stop_a_session_until_a_person_resumes_it() {
    let home = home();
    let mut shell = asks(&home, 4);
    for _ in 0..3 {
        let id = loop {
            let waiting = home.prints(&["pending", "--json"], 0);
            match waiting.split(r#""id":""#).nth(1) {
                Some(rest) => break rest.split('"').next().unwrap().to_owned(),
                None => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        };
        person(&home, &["deny", &id]).wait_exit();
    }
    // The fourth is refused unasked.
    while codes(&home) != "126 126 126 126 " {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(home.prints(&["log"], 0).contains("breaker"));
    assert!(home.prints(&["session"], 0).contains("3 denied in a row; stopped"));
    // Not from a pipe, and not without a terminal.
    let inside = apart(home.guard(&["session", "resume", "--reason", "please"])).status().unwrap();
    assert_eq!(inside.code(), Some(126));
    assert!(home.prints(&["session"], 0).contains("stopped"));
    let mut terminal = person(&home, &["session", "resume", "--reason", "we talked"]);
    terminal.wait_exit();
    assert!(terminal.screen().contains("is asked about again"), "{}", terminal.screen());
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
