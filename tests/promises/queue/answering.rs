//! Tests one person who answers many commands.

use std::time::Duration;

use guard::store::queue::RequestState;

use super::stage::{Asker, FLAGGED, MEDIUM, answer_card, home, in_session, person, state};
use crate::harness::home::Home;

#[test]
fn a_batch_is_shown_in_full_and_asked_about_once_with_a_result_for_each() {
    let home = home();
    let first = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let second = Asker::new(&home, &["npm", "install", "right-pad"]);
    let mut terminal = person(&home, &["approve", "--all"]);
    terminal.wait_for("Approve all 2 commands? [y/N]");
    // The first one has scrolled off the screen by the end.
    let written = String::from_utf8_lossy(&terminal.raw).into_owned();
    assert!(written.contains("some-pkg") && written.contains("right-pad"), "{written}");
    assert_eq!(home.ran(), 0);
    terminal.send("y\r");
    terminal.wait_exit();
    let screen = terminal.screen();
    for id in [&first.id, &second.id] {
        assert!(screen.contains(&format!("{id}  approved: npm install ")), "{screen}");
    }
    first.ran();
    second.ran();
    assert_eq!(home.ran(), 2);
}

#[test]
fn enter_approves_no_batch() {
    let home = home();
    let first = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let second = Asker::new(&home, &["npm", "install", "right-pad"]);
    let mut terminal = person(&home, &["approve", &first.id, &second.id]);
    terminal.wait_for("Approve all 2 commands? [y/N]");
    terminal.send("\r");
    terminal.wait_exit();
    assert_eq!((state(&home, &first.id), state(&home, &second.id)), (RequestState::Waiting, RequestState::Waiting));
    let mut terminal = person(&home, &["deny", "--all", "--reason", "no"]);
    terminal.wait_exit();
    first.refused("denied by a person: no");
    second.refused("denied by a person: no");
    assert_eq!(home.ran(), 0);
}

#[test]
fn of_a_batch_tier_3_is_asked_about_by_itself_and_tier_4_not_at_all() {
    let home = home();
    let medium = Asker::new(&home, &["npm", "install", "some-pkg"]);
    let high = Asker::new(&home, &FLAGGED);
    let critical = Asker::new(&home, &["mkfs.ext4", "/dev/sda"]);
    let mut terminal = person(&home, &["approve", "--all"]);
    terminal.wait_for("git push");
    answer_card(&mut terminal, "y");
    high.ran();
    terminal.wait_for("npm install");
    terminal.settle(Duration::from_millis(300));
    answer_card(&mut terminal, "\x1b");
    terminal.wait_exit();
    let screen = terminal.screen();
    assert!(screen.contains(&format!("{}  tier 4 requests cannot be approved in a batch", critical.id)), "{screen}");
    assert_eq!(state(&home, &critical.id), RequestState::Waiting);
    assert_eq!(state(&home, &medium.id), RequestState::Waiting);
    assert_eq!(home.ran(), 1);
    person(&home, &["deny", "--all"]).wait_exit();
    medium.refused("denied by a person");
    critical.refused("denied by a person");
    assert_eq!(home.ran(), 1);
}

#[test]
fn where_a_word_is_asked_for_escape_leaves_the_request_and_the_card_says_so() {
    let home = home();
    let asker = Asker::new(&home, &["mkfs.ext4", "/dev/sda"]);
    let mut terminal = person(&home, &["approve", &asker.id]);
    terminal.wait_for("Esc leaves it");
    assert!(!terminal.screen().contains("Esc denies"), "{}", terminal.screen());
    answer_card(&mut terminal, "\x1b");
    assert_eq!(crate::harness::pty::ended(terminal.wait_exit()), "exit 126");
    let how = format!("the request still waits (to deny it: guard deny {})", asker.id);
    assert!(terminal.screen().contains(&how), "{}", terminal.screen());
    assert_eq!(state(&home, &asker.id), RequestState::Waiting);
    person(&home, &["deny", &asker.id]).wait_exit();
    asker.refused("denied by a person");
}

#[test]
fn who_comes_second_hears_what_was_decided_and_by_whom() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    let mut slow = person(&home, &["approve", &id]);
    slow.wait_for("no answer means no");
    person(&home, &["deny", &id, "--reason", "not now"]).wait_exit();
    asker.refused("denied by a person: not now");
    answer_card(&mut slow, "y");
    assert_eq!(crate::harness::pty::ended(slow.wait_exit()), "exit 126");
    let screen = slow.screen();
    assert!(screen.contains("already denied by ") && screen.contains("not now"), "{screen}");
    let mut late = person(&home, &["approve", &id]);
    late.wait_exit();
    assert!(late.screen().contains("already denied by "), "{}", late.screen());
    assert_eq!(home.ran(), 0);
}

#[test]
fn a_request_that_was_asked_anew_is_looked_at_again() {
    let home = home();
    let ask = || super::stage::shell(&home, &[&["--no-wait", "--"], &FLAGGED[..]].concat()).output().unwrap();
    ask();
    let first = super::stage::all(&home).remove(0);
    let mut slow = person(&home, &["approve", &first.id]);
    slow.wait_for("no answer means no");
    ask();
    assert_eq!(super::stage::all(&home).len(), 1);
    answer_card(&mut slow, "y");
    assert_eq!(crate::harness::pty::ended(slow.wait_exit()), "exit 126");
    assert!(slow.screen().contains("renewed in the meantime"), "{}", slow.screen());
    assert_eq!((home.ran(), state(&home, &first.id)), (0, RequestState::Waiting));
}

#[test]
fn what_waits_is_watched_as_it_changes() {
    let home = home();
    let mut watcher = person(&home, &["pending", "--watch"]);
    watcher.wait_for("No requests are waiting.");
    let asker = Asker::new(&home, &FLAGGED);
    watcher.wait_for(&asker.id);
    assert!(!watcher.screen().contains("No requests are waiting."));
    person(&home, &["deny", &asker.id]).wait_exit();
    watcher.wait_for("No requests are waiting.");
    asker.refused("denied by a person");
    let id = super::stage::all(&home).remove(0).id;
    let settled = home.prints(&["pending", "--all"], 0);
    assert!(settled.contains(&id) && settled.contains("denied"), "{settled}");
    watcher.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(crate::harness::pty::ended(watcher.wait_exit()), "signal SIGINT");
}

/// Starts a session that asks for the same command twice.
fn asks_twice(home: &Home) -> Asker {
    Asker::start(in_session(home, "\"$0\" -- npm install some-pkg; \"$0\" -- npm install some-pkg"))
}

#[test]
fn a_grant_may_be_given_with_the_answer_and_is_the_askers() {
    let home = home();
    let asker = asks_twice(&home);
    let mut terminal = person(&home, &["approve", &asker.id]);
    answer_card(&mut terminal, "s");
    terminal.wait_exit();
    asker.ran();
    assert_eq!(home.ran(), 2);
    assert!(home.prints(&["allow", "list"], 0).contains("npm install some-pkg"));
}

#[test]
fn a_yes_that_lasts_lets_the_same_command_run_again_and_no_other() {
    let home = home();
    let asker = Asker::new(&home, &MEDIUM);
    for (option, why) in [("--until=30d", "can last at most 14 days"), ("--until=yesterday", "--until: ")] {
        let mut terminal = person(&home, &["approve", &asker.id, option]);
        terminal.wait_exit();
        assert!(terminal.screen().contains(why), "{option}: {}", terminal.screen());
    }
    assert_eq!(state(&home, &asker.id), RequestState::Waiting);
    let mut terminal = person(&home, &["approve", &asker.id, "--always"]);
    terminal.wait_for("If you approve, guard also runs without asking: exactly this command");
    terminal.wait_for("y yes   n no");
    answer_card(&mut terminal, "y");
    terminal.wait_exit();
    let screen = terminal.screen();
    assert!(screen.contains("allowed by you: npm install"), "{screen}");
    assert!(screen.contains("approved, until revoked: npm install"), "{screen}");
    asker.ran();
    let again = super::stage::shell(&home, &[&["--"], &MEDIUM[..]].concat()).output().unwrap();
    assert!(again.status.success(), "{again:?}");
    assert_eq!(home.ran(), 2);
    let other = Asker::new(&home, &["npm", "install", "some-other-pkg"]);
    assert_eq!(state(&home, &other.id), RequestState::Waiting);
    let mut terminal = person(&home, &["deny", &other.id]);
    terminal.wait_exit();
    other.refused("denied by a person");
    assert_eq!(home.ran(), 2);
}

#[test]
fn a_yes_for_the_session_ends_with_it() {
    let home = home();
    let asker = asks_twice(&home);
    let mut terminal = person(&home, &["approve", &asker.id, "--session"]);
    terminal.wait_for("y yes   n no");
    answer_card(&mut terminal, "y");
    terminal.wait_exit();
    asker.ran();
    assert_eq!(home.ran(), 2);
    let later = Asker::new(&home, &MEDIUM);
    assert_eq!(state(&home, &later.id), RequestState::Waiting, "of another session");
    person(&home, &["deny", &later.id]).wait_exit();
    later.refused("denied by a person");
    assert_eq!(home.ran(), 2);
}
