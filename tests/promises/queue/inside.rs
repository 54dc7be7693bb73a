//! Tests that the asking session cannot answer its own request in any way.

use std::process::{Command, Stdio};
use std::time::Duration;

use guard::store::queue::RequestState;

use super::stage::{Asker, FLAGGED, apart, home, in_session, person, request, state};
use crate::harness::home::Home;
use crate::harness::pty::{OnTerminal, Terminal, ended};

/// Checks that an attempt to answer was refused and recorded for this reason, and that the request still waits.
#[track_caller]
fn is_refused(home: &Home, id: &str, why: &str, attempts: usize) {
    assert_eq!(state(home, id), RequestState::Waiting);
    assert_eq!(home.ran(), 0);
    let log = home.prints(&["log", "--json", "--tier", "4", "--decision", "deny"], 0);
    let rows: Vec<&str> = log.lines().filter(|row| row.contains(r#""settled_by":"attempt""#)).collect();
    assert_eq!(rows.len(), attempts, "{log}");
    let last = rows.last().unwrap();
    assert!(last.contains(why) && last.contains(&format!("guard approve {id}")), "{last}");
}

fn terminal(command: Command) -> Terminal {
    Terminal::spawn(command)
}

#[test]
fn through_a_pipe_and_without_a_terminal_nothing_is_answered() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let id = &asker.id;
    // Without any terminal.
    let output = apart(home.guard(&["approve", id])).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("only a person at a terminal may do this: there is no terminal"), "{said}");
    is_refused(&home, id, "there is no terminal", 1);
    // `yes | guard approve`, without a terminal and on one.
    let piped = |home: &Home| {
        let mut command = home.program("sh");
        command.args(["-c", "yes | \"$0\" approve \"$1\"", env!("CARGO_BIN_EXE_guard"), id]);
        command.env("TERM", "xterm");
        command
    };
    assert_eq!(apart(piped(&home)).stderr(Stdio::null()).status().unwrap().code(), Some(126));
    is_refused(&home, id, "there is no terminal", 2);
    let mut shown = terminal(piped(&home));
    assert_eq!(ended(shown.wait_exit()), "exit 126");
    is_refused(&home, id, "standard input is not the terminal", 3);
    // A controlling terminal that is none of the standard streams.
    let mut none = Terminal::spawn_with(home.guard(&["approve", id]), 80, 24, OnTerminal::NONE);
    assert_eq!(ended(none.wait_exit()), "exit 126");
    is_refused(&home, id, "neither standard input nor standard error is the terminal", 4);
    person(&home, &["deny", id]).wait_exit();
    asker.refused("denied by a person");
}

/// Waits until `work/said` contains the answer, and checks that it was refused because the asking process is an
/// ancestor, and that nothing ran.
fn stands_above(home: &Home, asker: Asker, has_said: impl Fn(&str) -> bool) {
    let said = home.path("work/said");
    let end = std::time::Instant::now() + crate::harness::pty::PATIENCE;
    while !std::fs::read_to_string(&said).is_ok_and(|said| has_said(&said)) {
        assert!(std::time::Instant::now() < end, "{:?}", std::fs::read_to_string(&said));
        std::thread::sleep(Duration::from_millis(20));
    }
    is_refused(home, &asker.id, "have the same parent process", 1);
    person(home, &["deny", &asker.id]).wait_exit();
    asker.end();
    assert_eq!(home.ran(), 0);
}

#[test]
fn a_terminal_below_the_session_that_asked_is_no_person() {
    let home = home();
    // The agent asks in the background, and then creates a terminal with script(1), which starts a new session.
    let script = "\"$0\" -- git push --force origin main & sleep 1; \
                  for id in $(\"$0\" pending --json | sed 's/.*\"id\":\"\\([^\"]*\\)\".*/\\1/'); do \
                  script -qec \"'$0' approve $id\" /dev/null </dev/null >said; done; wait";
    let mut command = in_session(&home, script);
    command.env("TERM", "xterm");
    let asker = Asker::start(command);
    stands_above(&home, asker, |said| said.contains("only a person at a terminal may do this"));
}

#[test]
fn who_was_let_go_by_its_parent_is_known_by_its_terminal() {
    let home = home();
    // A shell that ends at once starts guard on a terminal that a process of the agent holds, so that no ancestor of
    // guard has asked.
    let inner = "( ( \"$GUARD\" approve \"$(cat id)\" </dev/tty 2>/dev/tty; echo $? >said ) & )\nsleep 3\n";
    std::fs::write(home.path("work/inner.sh"), inner).unwrap();
    let outer = "\"$GUARD\" -- git push --force origin main & while ! test -s id; do sleep 0.05; done; \
                 script -qec 'sh inner.sh' /dev/null </dev/null >/dev/null; wait";
    let mut command = home.program("sh");
    command.args(["-c", outer]).env("GUARD_WAIT", "60").env("TERM", "xterm").env("GUARD", env!("CARGO_BIN_EXE_guard"));
    let asker = Asker::start(apart(command));
    std::fs::write(home.path("work/id"), &asker.id).unwrap();
    stands_above(&home, asker, |said| said == "126\n");
}

#[test]
fn a_terminal_is_the_same_one_whatever_name_it_is_opened_by() {
    let home = home();
    let mut shell = home.program("sh");
    shell.args(["-c", "\"$0\" session; \"$0\" session </dev/tty >/dev/tty 2>&1", env!("CARGO_BIN_EXE_guard")]);
    let mut terminal = terminal(shell);
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    let said = String::from_utf8_lossy(&terminal.raw).into_owned();
    let sessions: Vec<&str> = said.lines().filter_map(|line| line.trim().strip_prefix("This session: ")).collect();
    assert!(sessions.len() == 2 && sessions[0] == sessions[1] && sessions[0].starts_with("tty"), "{said}");
}

#[test]
fn a_terminal_that_an_agent_started_is_no_person_whatever_its_environment_says_now() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let id = &asker.id;
    let mut marked = home.guard(&["approve", id]);
    marked.env("TERM", "xterm").env("CLAUDECODE", "1");
    assert_eq!(ended(terminal(marked).wait_exit()), "exit 126");
    is_refused(&home, id, "the terminal belongs to an agent (claude)", 1);
    // The variable is removed from guard's environment, but the shell that removed it still has it.
    let mut washed = home.program("sh");
    washed.args(["-c", "env -u CLAUDECODE \"$0\" approve \"$1\"; exit $?", env!("CARGO_BIN_EXE_guard"), id]);
    washed.env("TERM", "xterm").env("CLAUDECODE", "1");
    assert_eq!(ended(terminal(washed).wait_exit()), "exit 126");
    is_refused(&home, id, "started by an agent (claude)", 2);
    // A process with an agent's name.
    std::os::unix::fs::symlink("/bin/sh", home.path("bin/claude")).unwrap();
    let mut below = home.program(home.path("bin/claude").to_str().unwrap());
    below.args(["-c", "\"$0\" approve \"$1\"; exit $?", env!("CARGO_BIN_EXE_guard"), id]).env("TERM", "xterm");
    assert_eq!(ended(terminal(below).wait_exit()), "exit 126");
    is_refused(&home, id, "the terminal belongs to an agent (claude)", 3);
    // The same with a new session in between.
    let mut apart = home.program(home.path("bin/claude").to_str().unwrap());
    apart
        .args(["-c", "setsid -cw \"$0\" approve \"$1\"; exit $?", env!("CARGO_BIN_EXE_guard"), id])
        .env("TERM", "xterm");
    let mut apart = terminal(apart);
    apart.wait_exit();
    assert_eq!((state(&home, id), home.ran()), (RequestState::Waiting, 0));
    person(&home, &["deny", id]).wait_exit();
    asker.refused("denied by a person");
}

#[test]
fn below_a_guard_that_waits_for_its_command_nothing_is_answered() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    // A command that a person approved at this terminal tries to approve another one.
    home.stand_in("npm", &format!("'{}' approve {} 2>said; echo $? >>said", env!("CARGO_BIN_EXE_guard"), asker.id));
    let mut command = home.guard(&["--", "npm", "publish"]);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut outer = terminal(command);
    super::stage::answer_card(&mut outer, "y");
    outer.wait_exit();
    let said = std::fs::read_to_string(home.path("work/said")).unwrap();
    assert!(said.contains("this terminal runs below a guard process that waits for its command"), "{said}");
    is_refused(&home, &asker.id, "a guard process that waits", 1);
    person(&home, &["deny", &asker.id]).wait_exit();
    asker.refused("denied by a person");
}

#[test]
fn an_answer_that_is_written_into_the_file_by_hand_approves_nothing() {
    let home = home();
    let sql = |name: &str, sql: &str| {
        rusqlite::Connection::open(home.data().join(name)).unwrap().execute_batch(sql).unwrap();
    };
    // Only the state is changed.
    let asker = Asker::new(&home, &FLAGGED);
    sql("queue.db", &format!("UPDATE request SET state = 'approved' WHERE id = '{}'", asker.id));
    asker.refused("the answer was not written by guard");
    // A row of the record that names the request, with the digest of another answer.
    let other = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let other_id = other.id.clone();
    super::stage::approve(&home, &other_id);
    other.ran();
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    sql(
        "guard.db",
        &format!(
            "INSERT INTO record(id, hash, kind, at, scope, decision, user, digest)
             SELECT max(id) + 1, zeroblob(32), 'answered', 1, 'request {id}', 'allow', 'ada',
             (SELECT digest FROM record WHERE kind = 'answered') FROM record"
        ),
    );
    sql("queue.db", &format!("UPDATE request SET state = 'approved', answer = 9 WHERE id = '{id}'"));
    let row: i64 = rusqlite::Connection::open(home.data().join("guard.db"))
        .unwrap()
        .query_row("SELECT max(id) FROM record WHERE kind = 'answered'", [], |row| row.get(0))
        .unwrap();
    sql("queue.db", &format!("UPDATE request SET answer = {row} WHERE id = '{id}' AND state = 'approved'"));
    asker.refused("the answer was not written by guard");
    assert_eq!(home.ran(), 1);
    assert!(!home.store().verify().unwrap().faults.is_empty());
}

#[test]
fn a_used_answer_that_is_put_back_by_hand_serves_no_second_time() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    let file = home.data().join("queue.db");
    let open = || rusqlite::Connection::open(&file).unwrap();
    let exact: Vec<u8> = open().query_row("SELECT exact FROM request WHERE id = ?1", [&id], |row| row.get(0)).unwrap();
    super::stage::approve(&home, &id);
    asker.ran();
    assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
    open().execute("UPDATE request SET state = 'approved', exact = ?1 WHERE id = ?2", (&exact, &id)).unwrap();
    let mut again = super::stage::shell(&home, &[&["--"], &FLAGGED[..]].concat());
    let output = again.env("GUARD_WAIT", "2").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("was already used"), "{said}");
    assert_eq!(home.ran(), 1);
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn of_tier_4_no_late_yes_is_had_by_filing_it_as_less() {
    let home = home();
    let mut command = super::stage::shell(&home, &["--", "mkfs.ext4", "/dev/sda"]);
    command.env("GUARD_WAIT", "30");
    let asker = Asker::start(command);
    let id = asker.id.clone();
    let waiter = request(&home, &id).waiter.unwrap();
    let pid = nix::unistd::Pid::from_raw(waiter.split('.').next().unwrap().parse().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    asker.end();
    rusqlite::Connection::open(home.data().join("queue.db"))
        .unwrap()
        .execute_batch("UPDATE request SET tier = 2, state = 'late'")
        .unwrap();
    for arguments in [vec!["approve", id.as_str()], vec!["approve", "--all"]] {
        let mut terminal = person(&home, &arguments);
        terminal.wait_exit();
        assert!(!terminal.screen().contains("approved:"), "{}", terminal.screen());
    }
    assert_eq!((home.ran(), state(&home, &id)), (0, RequestState::Late));
}

#[test]
fn a_yes_to_what_was_put_in_the_place_of_a_command_lets_neither_run() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let harmless = Asker::new(&home, &["npm", "install", "some-pkg"]);
    // The card of one request shows the other.
    rusqlite::Connection::open(home.data().join("queue.db"))
        .unwrap()
        .execute_batch(&format!(
            "UPDATE request SET tier = 2, exact = (SELECT exact FROM request WHERE id = '{}') WHERE id = '{}'",
            harmless.id, asker.id
        ))
        .unwrap();
    let screen = super::stage::approve(&home, &asker.id);
    assert!(screen.contains("approved"), "{screen}");
    asker.refused("is for another command");
    assert_eq!((home.ran(), request(&home, &harmless.id).state), (0, RequestState::Waiting));
    person(&home, &["deny", "--all"]).wait_exit();
    harmless.refused("denied by a person");
}
