//! Tests enrolled approvers: an approval of tier 3 or above counts only with an approver's signature.

#[path = "approvers/several.rs"]
mod several;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use guard::judge::answer_scope::AnswerScope;
use guard::store::queue::RequestState;

use crate::harness::home::Home;
use crate::harness::pty::{Terminal, ended};
use crate::queue::stage::{Asker, FLAGGED, MEDIUM, answer_card, home, person, shell, state};

const WORDS: &str = "correct horse battery";

/// Enrols an approver by passphrase. `vouched` is the passphrase of the approver who vouches for the enrolment.
fn enrol(home: &Home, name: &str, passphrase: &str, vouched: Option<&str>) -> String {
    let mut terminal = person(home, &["approver", "add", name]);
    terminal.wait_for(&format!("passphrase of {name}:"));
    terminal.send(&format!("{passphrase}\r"));
    terminal.wait_for("Repeat the passphrase:");
    terminal.send(&format!("{passphrase}\r"));
    match vouched {
        Some(passphrase) => {
            terminal.wait_for("passphrase of ada:");
            terminal.send(&format!("{passphrase}\r"));
        }
        None => {
            terminal.wait_for("Continue? [y/N]");
            terminal.send("y\r");
        }
    }
    let end = ended(terminal.wait_exit());
    let screen = terminal.screen();
    assert!(!screen.contains(passphrase), "{screen}");
    format!("{end} {screen}")
}

fn directory(home: &Home) -> PathBuf {
    home.path("home/.config/guard/approvers")
}

/// Approves a request and types these texts at the passphrase prompts.
fn approve(home: &Home, id: &str, typed: &[&str]) -> String {
    let mut terminal = person(home, &["approve", id]);
    answer_card(&mut terminal, "y");
    for (at, passphrase) in typed.iter().enumerate() {
        terminal.wait_until("asked again", |screen| screen.matches("passphrase of ada:").count() > at);
        terminal.send(&format!("{passphrase}\r"));
    }
    terminal.wait_exit();
    terminal.screen()
}

#[test]
fn what_an_approver_signs_runs() {
    let home = home();
    let screen = enrol(&home, "ada", WORDS, None);
    assert!(screen.starts_with("exit 0") && screen.contains("can change the approvers"), "{screen}");
    let asker = Asker::new(&home, &FLAGGED);
    let screen = approve(&home, &asker.id, &[WORDS]);
    assert!(screen.contains("approved: git push"), "{screen}");
    asker.ran();
    assert!(home.prints(&["log"], 0).contains("git push"));
    assert!(home.prints(&["log", "show"], 0).contains("signed by ada"));
    assert_eq!(home.store().verify().unwrap().faults, []);
}

/// Executes SQL on the queue's database, as a manual edit would.
fn queue_sql(home: &Home, sql: &str) {
    rusqlite::Connection::open(home.data().join("queue.db")).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn an_old_signature_does_not_approve_the_same_command_asked_again() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    queue_sql(&home, "CREATE TABLE kept AS SELECT * FROM request");
    approve(&home, &id, &[WORDS]);
    asker.ran();
    let record = rusqlite::Connection::open(home.paths().database()).unwrap();
    let signed: String = record
        .query_row("SELECT signatures FROM record WHERE kind = 'answered' AND signatures IS NOT NULL", [], |row| {
            row.get(0)
        })
        .unwrap();
    drop(record);
    let signatures: Vec<guard::judge::approver::Signed> = serde_json::from_str(&signed).unwrap();
    // The same account puts the request back as if it had not been answered, and files it again under its id.
    let back = "DELETE FROM request; INSERT INTO request SELECT * FROM kept;
                UPDATE request SET state = 'late', waiter = NULL";
    for (at, forge) in ["", "UPDATE request SET exact = (SELECT exact FROM kept), filed = (SELECT filed FROM kept)"]
        .into_iter()
        .enumerate()
    {
        queue_sql(&home, back);
        let again = Asker::new(&home, &FLAGGED);
        assert_eq!(again.id, id, "it is taken up under the old name");
        queue_sql(&home, forge);
        let queue = crate::queue::stage::queue(&home);
        let whole = queue.full_request(&id).unwrap().unwrap();
        let answer = guard::store::queue::Answer {
            yes: Some((&whole.digest, &whole.bindings)),
            by: "ada",
            words: None,
            signatures: &signatures,
            waited_for: true,
            approvals: 1,
            signer: &["ada".to_owned()],
            scope: AnswerScope::Once,
        };
        let outcome = queue.answer(&home.store(), &whole.pending, &answer, jiff::Timestamp::now()).unwrap();
        assert!(matches!(outcome, guard::store::queue::AnswerOutcome::Done { .. }), "{outcome:?}");
        guard::prompt::wakeup::ring(&queue.wakeup_path(&id).unwrap());
        let (status, said) = again.end();
        assert_eq!(status.code(), Some(126), "{at}: {said}");
        assert!(said.contains("not signed by an approver") || said.contains("was already used"), "{at}: {said}");
        assert_eq!(home.ran(), 1, "{at}");
    }
}

#[test]
fn the_review_asks_for_the_signature_and_goes_on() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    let first = Asker::new(&home, &FLAGGED);
    let mut terminal = person(&home, &["review"]);
    terminal.wait_for("guard: 1 request");
    terminal.send("\r");
    answer_card(&mut terminal, "y");
    terminal.wait_for("passphrase of ada:");
    terminal.settle(std::time::Duration::from_millis(100));
    terminal.send(&format!("{WORDS}\r"));
    first.ran();
    terminal.wait_for("approved: git push");
    // A batch of opened requests is signed one by one.
    let second = Asker::new(&home, &FLAGGED);
    terminal.wait_for("guard: 1 request");
    terminal.send("\r");
    answer_card(&mut terminal, "\x1b");
    terminal.wait_for("not approved");
    terminal.send(" ");
    terminal.wait_for("[x]");
    terminal.send("A");
    terminal.wait_for("Approve 1 command? [y/N]");
    terminal.settle(std::time::Duration::from_millis(500));
    terminal.send("y");
    terminal.wait_for("passphrase of ada:");
    terminal.settle(std::time::Duration::from_millis(100));
    terminal.send("wrong\r");
    terminal.wait_until("asked again", |screen| screen.matches("passphrase of ada:").count() == 2);
    terminal.settle(std::time::Duration::from_millis(100));
    terminal.send("\r");
    terminal.wait_for("not signed by an approver");
    assert_eq!((home.ran(), state(&home, &second.id)), (1, RequestState::Waiting));
    terminal.send("q");
    terminal.wait_exit();
    person(&home, &["deny", &second.id]).wait_exit();
    second.refused("denied by a person");
}

#[test]
fn without_the_passphrase_nothing_is_approved() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    let asker = Asker::new(&home, &FLAGGED);
    let screen = approve(&home, &asker.id, &["wrong horse battery", "none of your", "let me in now"]);
    assert!(screen.contains("not signed by an approver: wrong passphrase for ada"), "{screen}");
    assert_eq!(state(&home, &asker.id), RequestState::Waiting);
    // An approval below tier 3 needs no signature.
    let medium = Asker::new(&home, &MEDIUM);
    assert!(approve(&home, &medium.id, &[]).contains("approved: npm install"));
    medium.ran();
    person(&home, &["deny", "--all"]).wait_exit();
    asker.refused("denied by a person");
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_yes_that_is_not_signed_runs_nothing_though_guard_itself_took_it_down() {
    let home = home();
    let queued = shell(&home, &[&["--no-wait", "--"], &FLAGGED[..]].concat()).output().unwrap();
    assert_eq!(queued.status.code(), Some(75), "{}", String::from_utf8_lossy(&queued.stderr));
    let id =
        guard::store::queue::Queue::open(&home.paths()).unwrap().list(jiff::Timestamp::now()).unwrap()[0].id.clone();
    assert!(approve(&home, &id, &[]).contains("approved"));
    enrol(&home, "ada", WORDS, None);
    let again = shell(&home, &[&["--"], &FLAGGED[..]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert_eq!(again.status.code(), Some(126), "{said}");
    assert!(
        said.contains("not signed by an approver: the approval is not signed, but approvers are enrolled"),
        "{said}"
    );
    assert_eq!(home.ran(), 0);
}

#[test]
fn a_signature_for_one_request_does_not_serve_another() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    let first = Asker::new(&home, &FLAGGED);
    approve(&home, &first.id, &[WORDS]);
    first.ran();
    let rows = rusqlite::Connection::open(home.paths().database()).unwrap();
    let signed: String =
        rows.query_row("SELECT signatures FROM record WHERE signatures IS NOT NULL", [], |row| row.get(0)).unwrap();
    // The second request is approved while no approvers are enrolled; then the old signature is attached to it.
    fs::rename(directory(&home), home.path("away")).unwrap();
    let mut command = shell(&home, &["--no-wait", "--", "git", "push", "--force", "origin", "develop"]);
    assert_eq!(command.output().unwrap().status.code(), Some(75));
    let id = guard::store::queue::Queue::open(&home.paths())
        .unwrap()
        .list(jiff::Timestamp::now())
        .unwrap()
        .pop()
        .unwrap()
        .id;
    approve(&home, &id, &[]);
    fs::rename(home.path("away"), directory(&home)).unwrap();
    rows.execute("UPDATE record SET signatures = ?1 WHERE kind = 'answered'", [&signed]).unwrap();
    let ran = home.ran();
    let again = shell(&home, &["--", "git", "push", "--force", "origin", "develop"]).output().unwrap();
    assert_eq!(again.status.code(), Some(126));
    assert_eq!(home.ran(), ran);
}

#[test]
fn what_is_signed_for_once_does_not_last() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    // A tier-2 request needs no signature for a one-time approval.
    let asker = Asker::new(&home, &MEDIUM);
    let roots = guard::config::paths::Roots {
        machine: home.path("none"),
        machine_owner: 0,
        home: None,
        named: Some(home.path("home/.config/guard")),
        named_home: None,
        cwd: home.path("home"),
        uid: nix::unistd::getuid().as_raw(),
    };
    let enrolled = guard::config::approvers::load(&roots);
    let ada = enrolled.named("ada").unwrap();
    let queue = crate::queue::stage::queue(&home);
    let whole = queue.full_request(&asker.id).unwrap().unwrap();
    // An attacker with access to the queue's file presents a one-time signature as one for a lasting approval.
    let message = whole.approval(&whole.fresh, &whole.digest, &whole.bindings, AnswerScope::Once).message();
    let signature = ada.sign_with_passphrase(WORDS, &message).unwrap();
    let answer = guard::store::queue::Answer {
        yes: Some((&whole.digest, &whole.bindings)),
        by: "ada",
        words: None,
        signatures: &[signature],
        waited_for: true,
        approvals: 1,
        signer: &["ada".to_owned()],
        scope: AnswerScope::Always,
    };
    let outcome = queue.answer(&home.store(), &whole.pending, &answer, jiff::Timestamp::now()).unwrap();
    assert!(matches!(outcome, guard::store::queue::AnswerOutcome::Done { .. }), "{outcome:?}");
    guard::prompt::wakeup::ring(&queue.wakeup_path(&asker.id).unwrap());
    asker.refused("not signed by an approver");
    assert_eq!(home.ran(), 0);
    // With a signature for the lasting scope, the approval lasts.
    let asker = Asker::new(&home, &MEDIUM);
    let mut terminal = person(&home, &["approve", &asker.id, "--always"]);
    answer_card(&mut terminal, "y");
    terminal.wait_for("passphrase of ada:");
    terminal.send(&format!("{WORDS}\r"));
    terminal.wait_exit();
    assert!(terminal.screen().contains("approved, until revoked"), "{}", terminal.screen());
    asker.ran();
    assert!(shell(&home, &[&["--"], &MEDIUM[..]].concat()).output().unwrap().status.success());
    assert_eq!(home.ran(), 2);
}

#[test]
fn the_card_wants_the_signature_too_and_a_yes_in_advance_does_not_do() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    let mut terminal = person(&home, &[&["--yes", "--"], &FLAGGED[..]].concat());
    answer_card(&mut terminal, "y");
    terminal.wait_for("To approve `git push --force origin main`, enter the passphrase of ada:");
    assert_eq!(home.ran(), 0);
    terminal.send(&format!("{WORDS}\r"));
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert_eq!(home.ran(), 1);
    let mut terminal = person(&home, &[&["--"], &FLAGGED[..]].concat());
    answer_card(&mut terminal, "y");
    terminal.wait_for("passphrase of ada:");
    let quiet = terminal.modes();
    terminal.send("\x03");
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    assert_ne!(quiet, terminal.modes());
    assert!(terminal.screen().contains("not signed by an approver: cancelled"), "{}", terminal.screen());
    assert_eq!(home.ran(), 1);
}

#[test]
fn enrolling_and_removing_want_a_signature_of_one_who_is_enrolled() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    let screen = enrol(&home, "eve", "let me in, will you", Some("\x03"));
    assert!(screen.starts_with("exit 126") && screen.contains("cancelled"), "{screen}");
    assert!(!directory(&home).join("eve.toml").exists());
    assert!(enrol(&home, "bob", "another long one", Some(WORDS)).starts_with("exit 0"));
    let mut terminal = person(&home, &["approver", "remove", "ada"]);
    terminal.wait_for("which approver signs (ada, bob)?");
    terminal.send("bob\r");
    terminal.wait_for("passphrase of bob:");
    terminal.send("another long one\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 0", "{}", terminal.screen());
    assert!(!directory(&home).join("ada.toml").exists());
    let listed: serde_json::Value = serde_json::from_str(&home.prints(&["approver", "list", "--json"], 0)).unwrap();
    assert_eq!(listed["approvers"], serde_json::json!([{ "name": "bob", "kind": "passphrase" }]));
    assert_eq!(listed["changeable"], true);
}

#[test]
fn a_standing_grant_is_signed_too() {
    let home = home();
    enrol(&home, "ada", WORDS, None);
    let mut terminal = person(&home, &["allow", "add", "--rule", "git.push-force"]);
    terminal.wait_for("Add this grant? [y/N]");
    terminal.send("y\r");
    terminal.wait_for("passphrase of ada:");
    terminal.send("\x03");
    assert_eq!(ended(terminal.wait_exit()), "exit 126", "{}", terminal.screen());
    assert_eq!(home.prints(&["allow", "list"], 0), "No active grants.\n");
}

#[test]
fn nobody_enrols_through_a_pipe_or_below_an_agent() {
    let home = home();
    let mut command = home.guard(&["approver", "add", "eve"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    let mut command = home.guard(&["approver", "add", "eve"]);
    command.env("CLAUDECODE", "1").env("TERM", "xterm");
    let mut terminal = Terminal::spawn(command);
    assert_eq!(ended(terminal.wait_exit()), "exit 126", "{}", terminal.screen());
    assert!(!directory(&home).exists());
}

#[test]
fn an_ssh_key_signs() {
    let home = home();
    let keys = home.path("home/.ssh");
    fs::create_dir_all(&keys).unwrap();
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o700)).unwrap();
    for name in ["id_work", "id_other"] {
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(keys.join(name)).status();
        assert!(made.unwrap().success());
    }
    let mut terminal = person(&home, &["approver", "add", "ada", "--ssh", keys.join("id_work.pub").to_str().unwrap()]);
    terminal.wait_for("Continue? [y/N]");
    terminal.send("y\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 0", "{}", terminal.screen());
    let asker = Asker::new(&home, &FLAGGED);
    assert!(approve(&home, &asker.id, &[]).contains("approved: git push"));
    asker.ran();
    // With another key in its place, ssh-keygen still signs, but the signature is invalid.
    fs::copy(keys.join("id_other"), keys.join("id_work")).unwrap();
    let asker = Asker::new(&home, &FLAGGED);
    let screen = approve(&home, &asker.id, &[]);
    assert!(screen.contains("not signed by an approver"), "{screen}");
    assert_eq!(state(&home, &asker.id), RequestState::Waiting);
    person(&home, &["deny", "--all"]).wait_exit();
    asker.refused("denied by a person");
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_file_that_enrols_nobody_who_can_be_read_lets_nothing_be_approved() {
    let home = home();
    fs::create_dir_all(directory(&home)).unwrap();
    fs::write(directory(&home).join("ada.toml"), "name = \"ada\"\nkind = \"password\"\n").unwrap();
    let asker = Asker::new(&home, &FLAGGED);
    let screen = approve(&home, &asker.id, &[]);
    assert!(screen.contains("cannot read the enrolled approvers") && screen.contains("ada.toml"), "{screen}");
    assert_eq!(state(&home, &asker.id), RequestState::Waiting);
    person(&home, &["deny", "--all"]).wait_exit();
    asker.refused("denied by a person");
}
