//! Tests commands that need two approvers: they run only with two valid signatures.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use guard::store::queue::RequestState;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::directory;
use crate::harness::home::Home;
use crate::harness::pty::{Terminal, ended};
use crate::queue::stage::{Asker, FLAGGED, MEDIUM, answer_card, home, person, request, shell, state};

const TWO: &str = "[approvals]\ntier_3 = 2\n";

/// Creates a home with this configuration and approvers with one SSH key each.
fn home_with(config: &str, approvers: &[&str]) -> Home {
    let home = home();
    let own = home.path("home/.config/guard");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("config.toml"), config).unwrap();
    for name in approvers {
        enrol(&home, name);
    }
    home
}

fn enrol(home: &Home, name: &str) {
    let keys = home.path("home/.ssh");
    fs::create_dir_all(&keys).unwrap();
    let key = keys.join(name);
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
    assert!(made.unwrap().success());
    write(home, name, &fs::read_to_string(key.with_extension("pub")).unwrap());
}

fn write(home: &Home, name: &str, public: &str) {
    fs::create_dir_all(directory(home)).unwrap();
    let text = format!("name = \"{name}\"\nkind = \"ssh\"\npublic = \"{}\"\n", public.trim());
    fs::write(directory(home).join(format!("{name}.toml")), text).unwrap();
}

/// Approves a request on its card. `who` selects the approver if several can sign.
fn approve(home: &Home, id: &str, who: Option<&str>) -> String {
    let mut terminal = person(home, &["approve", id]);
    terminal.wait_for("no answer means no");
    let card = terminal.screen();
    answer_card(&mut terminal, "y");
    sign(&mut terminal, who);
    terminal.wait_exit();
    card + "\n" + &terminal.screen()
}

fn sign(terminal: &mut Terminal, who: Option<&str>) {
    if let Some(who) = who {
        terminal.wait_for("which approver signs");
        terminal.settle(Duration::from_millis(100));
        terminal.send(&format!("{who}\r"));
    }
}

fn sql(home: &Home, sql: &str) {
    rusqlite::Connection::open(home.data().join("queue.db")).unwrap().execute_batch(sql).unwrap();
}

#[track_caller]
fn says(screen: &str, words: &str) {
    // The terminal wraps lines.
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(words), "{screen}");
}

#[test]
fn two_sign_and_the_record_names_both() {
    let home = home_with(TWO, &["ada", "bob"]);
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    says(&home.prints(&["pending"], 0), "2 approvers needed; in");
    let screen = approve(&home, &id, Some("ada"));
    says(&screen, "2 different approvers must sign.");
    says(&screen, "1 of 2 approvals, by ada; one more needed: git push");
    assert_eq!((home.ran(), state(&home, &id)), (0, RequestState::Waiting));
    says(&home.prints(&["pending"], 0), "1 of 2 approvals, by ada; one more needed; in");
    let json: serde_json::Value = serde_json::from_str(&home.prints(&["pending", "--json"], 0)).unwrap();
    assert_eq!((&json["approvals"], &json["approved_by"]), (&2.into(), &serde_json::json!(["ada"])));
    // Only one approver is left who can sign, so guard does not ask which.
    let screen = approve(&home, &id, None);
    says(&screen, "1 of 2 approvals, by ada; one more needed.");
    says(&screen, "approved: git push");
    asker.ran();
    says(&home.prints(&["log", "show"], 0), "signed by ada and bob");
    let log = home.prints(&["log", "--json"], 0);
    for name in ["ada", "bob"] {
        assert!(log.contains(&format!(r#""signed_by":["{name}"]"#)), "{log}");
    }
    assert_eq!(request(&home, &id).decided_by.as_deref(), Some("ada and bob"));
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn nobody_counts_twice_under_one_name_or_two() {
    let home = home_with(TWO, &["ada", "bob", "cyd"]);
    // Eve's file contains Ada's key.
    write(
        &home,
        "eve",
        &fs::read_to_string(home.path("home/.ssh/ada.pub")).unwrap().replace("ssh-ed25519 ", "ssh-ed25519  "),
    );
    let asker = Asker::new(&home, &FLAGGED);
    approve(&home, &asker.id, Some("ada"));
    for name in ["ada", "eve"] {
        let screen = approve(&home, &asker.id, Some(name));
        says(&screen, "which approver signs (bob, cyd)?");
        says(&screen, &format!("{name} has already signed; another approver must sign"));
        assert_eq!((home.ran(), state(&home, &asker.id)), (0, RequestState::Waiting));
    }
    assert_eq!(request(&home, &asker.id).approved_by, ["ada"]);
    approve(&home, &asker.id, Some("cyd"));
    asker.ran();
    // Ada's signature, relabelled as Eve's by hand, still counts as Ada's.
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    approve(&home, &id, Some("ada"));
    let row = given(&home, &id);
    sql(
        &home,
        &format!(
            "UPDATE request SET state = 'approved', answer = {row}, given = '[[{row},\"ada\"],[{row},\"eve\"]]' WHERE id = '{id}'"
        ),
    );
    asker.refused("not signed by an approver: 1 of 2 approvals, by ada");
    assert_eq!(home.ran(), 1);
}

/// Returns the id of the row of the record with the latest answer to a request.
fn given(home: &Home, id: &str) -> i64 {
    let record = rusqlite::Connection::open(home.data().join("guard.db")).unwrap();
    let sql = "SELECT max(id) FROM record WHERE kind = 'answered' AND scope = ?1";
    record.query_row(sql, [format!("request {id}")], |row| row.get(0)).unwrap()
}

#[test]
fn a_second_approval_that_is_written_into_the_file_by_hand_is_none() {
    let home = home_with(TWO, &["ada", "bob"]);
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    approve(&home, &id, Some("ada"));
    let row = given(&home, &id);
    // Only the state is changed, as if one approval were enough.
    sql(&home, &format!("UPDATE request SET state = 'approved', approvals = 1, answer = {row} WHERE id = '{id}'"));
    asker.refused("not signed by an approver: 1 of 2 approvals, by ada");
    // A row under Bob's name that is not an answer; the approval service detects it.
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    sql(&home, &format!("UPDATE request SET given = '[[1,\"bob\"]]' WHERE id = '{id}'"));
    let mut terminal = person(&home, &["approve", &id]);
    terminal.wait_exit();
    says(&terminal.screen(), "void: one of its approvals was not signed by an enrolled approver");
    asker.refused("not signed by an enrolled approver");
    // Two approvals that were used once cannot be reused.
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    approve(&home, &id, Some("ada"));
    let exact: Vec<u8> = rusqlite::Connection::open(home.data().join("queue.db"))
        .unwrap()
        .query_row("SELECT exact FROM request WHERE id = ?1", [&id], |row| row.get(0))
        .unwrap();
    approve(&home, &id, None);
    asker.ran();
    let rows = rusqlite::Connection::open(home.data().join("queue.db")).unwrap();
    let text: String = rows.query_row("SELECT given FROM request WHERE id = ?1", [&id], |row| row.get(0)).unwrap();
    let mut given: Vec<(i64, String)> = serde_json::from_str(&text).unwrap();
    given.reverse();
    let put_back = "UPDATE request SET state = 'approved', exact = ?1, answer = ?2, given = ?3 WHERE id = ?4";
    rows.execute(put_back, (&exact, given[1].0, serde_json::to_string(&given).unwrap(), &id)).unwrap();
    let output = shell(&home, &[&["--"], &FLAGGED[..]].concat()).env("GUARD_WAIT", "2").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(126) && said.contains("was already used"), "{said}");
    assert_eq!(home.ran(), 1);
}

#[test]
fn one_no_ends_it_and_so_does_the_time() {
    let home = home_with(TWO, &["ada", "bob"]);
    let asker = Asker::new(&home, &FLAGGED);
    approve(&home, &asker.id, Some("ada"));
    person(&home, &["deny", &asker.id, "--reason", "not today"]).wait_exit();
    asker.refused("denied by a person: not today");
    let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
    command.env("GUARD_WAIT", "8");
    let asker = Asker::start(command);
    let id = asker.id.clone();
    approve(&home, &id, Some("bob"));
    asker.refused(&format!("timed out: request {id} had 1 of 2 approvals, by bob; one more needed within 8 s"));
    let mut terminal = person(&home, &["approve", &id]);
    terminal.wait_exit();
    says(&terminal.screen(), "a request that needs several approvers cannot be approved late");
    // Filed again, the request has a new id, for which Bob has not signed.
    let asker = Asker::new(&home, &FLAGGED);
    assert_ne!(asker.id, id);
    assert_eq!(request(&home, &asker.id).approved_by, Vec::<String>::new());
    person(&home, &["deny", "--all"]).wait_exit();
    asker.refused("denied by a person");
    assert_eq!(home.ran(), 0);
}

#[test]
fn one_signs_on_the_card_and_the_other_from_elsewhere() {
    let home = home_with(TWO, &["ada", "bob"]);
    let at_home = |arguments: &[&str]| {
        let mut command = home.guard(arguments);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("GUARD_WAIT", "60");
        Terminal::spawn_with(command, 100, 30, crate::harness::pty::OnTerminal::ALL)
    };
    // guard asks even with `--yes`.
    let mut asking = at_home(&[&["--yes", "--"], &FLAGGED[..]].concat());
    answer_card(&mut asking, "y");
    sign(&mut asking, Some("ada"));
    asking.wait_for("waits for another approver");
    let id = crate::queue::stage::all(&home).remove(0).id;
    assert_eq!(request(&home, &id).approved_by, ["ada"]);
    assert_eq!(home.ran(), 0);
    approve(&home, &id, None);
    assert_eq!(ended(asking.wait_exit()), "exit 0", "{}", asking.screen());
    assert_eq!(home.ran(), 1);
    // If the asker gives up while waiting, the second approval has no effect.
    let mut asking = at_home(&[&["--"], &FLAGGED[..]].concat());
    answer_card(&mut asking, "y");
    sign(&mut asking, Some("bob"));
    asking.wait_for("waits for another approver");
    asking.send("\x03");
    assert_eq!(ended(asking.wait_exit()), "signal SIGINT");
    let id = crate::queue::stage::all(&home).into_iter().find(|one| one.state == RequestState::Late).unwrap().id;
    let mut terminal = person(&home, &["approve", &id]);
    terminal.wait_exit();
    says(&terminal.screen(), "cannot be approved late");
    // Without a valid signature nothing waits.
    let mut asking = at_home(&[&["--"], &FLAGGED[..]].concat());
    answer_card(&mut asking, "y");
    sign(&mut asking, Some("eve"));
    assert_eq!(ended(asking.wait_exit()), "exit 126");
    says(&asking.screen(), "not signed by an approver: no approver eve is enrolled");
    assert!(crate::queue::stage::all(&home).iter().all(|one| one.state != RequestState::Waiting));
    // If nothing may wait, the card is not shown.
    let mut command = home.guard(&[&["--"], &FLAGGED[..]].concat());
    command.env("TERM", "xterm-256color").env("GUARD_WAIT", "0");
    let mut terminal = Terminal::spawn(command);
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    says(
        &terminal.screen(),
        "no one to ask: several approvers are needed, and requests cannot wait here for another one",
    );
    assert_eq!(home.ran(), 1);
}

#[test]
fn where_too_few_are_enrolled_nobody_is_asked_and_all_say_why() {
    let home = home_with(TWO, &["ada"]);
    let why = "2 different approvers are needed, but only 1 is enrolled";
    let output = shell(&home, &[&["--"], &FLAGGED[..]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(126) && said.contains(&format!("no one to ask: {why}")), "{said}");
    let mut command = home.guard(&[&["--"], &FLAGGED[..]].concat());
    command.env("TERM", "xterm-256color").env("GUARD_WAIT", "60");
    let mut terminal = Terminal::spawn(command);
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    says(&terminal.screen(), why);
    assert_eq!(crate::queue::stage::all(&home), []);
    assert!(home.prints(&["config", "check"], 0).contains(&format!("warning: approvals: {why}")));
    let doctor = home.prints(&["doctor", "approval.approvers"], 1);
    assert!(doctor.contains(why), "{doctor}");
    // One key under two names counts as one person.
    write(&home, "eve", &fs::read_to_string(home.path("home/.ssh/ada.pub")).unwrap());
    let checked = home.prints(&["config", "check"], 0);
    assert!(checked.contains("1 is enrolled (two names with the same key count once)"), "{checked}");
    enrol(&home, "bob");
    assert!(!home.prints(&["config", "check"], 0).contains("warning"));
    assert_eq!(home.ran(), 0);
}

#[test]
fn no_grant_no_mode_no_trust_and_no_prompt_of_an_agent_lets_it_run() {
    let home = home_with("", &[]);
    let mut terminal = person(&home, &["allow", "add", "git push --force origin main", "--always"]);
    terminal.wait_for("Add this grant? [y/N]");
    terminal.send("y\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 0", "{}", terminal.screen());
    assert!(home.run(&FLAGGED).status.success());
    assert_eq!(home.ran(), 1);
    for name in ["ada", "bob"] {
        enrol(&home, name);
    }
    let config = home.path("home/.config/guard/config.toml");
    let refused = |why: &str| {
        let output = home.run(&FLAGGED);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(126) && said.contains("no one to ask"), "{why}: {said}");
    };
    fs::write(&config, TWO).unwrap();
    refused("the grant");
    for add in [["allow", "add", "git push --force origin main"], ["allow", "add", "git push --force"]] {
        let mut terminal = person(&home, &add);
        assert_eq!(ended(terminal.wait_exit()), "exit 126");
        says(&terminal.screen(), "needs several approvers, which no grant can replace");
    }
    fs::write(&config, format!("mode = \"off\"\n{TWO}")).unwrap();
    refused("the mode");
    let call = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/","tool_name":"Bash","tool_input":{"command":"git push --force origin main"}}"#;
    let hook = || {
        let mut command = home.guard(&["hook", "--agent", "claude"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), call.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let said = hook();
    assert!(said.contains("an agent's own prompt asks only one person"), "{said}");
    fs::write(&config, "").unwrap();
    for name in ["ada", "bob"] {
        fs::remove_file(directory(&home).join(format!("{name}.toml"))).unwrap();
    }
    assert!(!hook().contains("asks only one person"));
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_rule_wants_two_where_its_tier_wants_one() {
    let home = home_with("", &["ada", "bob"]);
    let patterns = home.path("home/.config/guard/patterns");
    fs::create_dir_all(&patterns).unwrap();
    let rule = "family = 'own'\nabout = 'What two decide.'\n[[rule]]\nid = 'own.install'\ntier = 2\nreversibility = 'hard'\n\
                reason = 'Two decide.'\nprogram = 'npm'\nsub = 'install'\napprovals = 2\nbad = ['npm install x']\ngood = ['npm ls']\n";
    fs::write(patterns.join("own.toml"), rule).unwrap();
    home.prints(&["patterns", "test"], 0);
    assert!(home.prints(&["patterns", "show", "own.install"], 0).contains("approvers"));
    let verdict: serde_json::Value =
        serde_json::from_str(&home.prints(&["check", "--json", "npm install some-pkg"], 1)).unwrap();
    assert_eq!((&verdict["approvals"], &verdict["decision"]), (&2.into(), &"ask".into()));
    assert!(home.prints(&["explain", "npm install some-pkg"], 1).contains("2 different approvers"));
    // The rule cannot be batch-approved, and it cannot be disabled.
    fs::write(home.path("home/.config/guard/config.toml"), "disabled_rules = ['own.install']\n").unwrap();
    assert!(
        home.prints(&["config", "check"], 0).contains("own.install needs several approvers and cannot be disabled")
    );
    // It cannot run as support either, and no grant covers it.
    let support = "[[support]]\nargv = ['npm', 'install', 'some-pkg']\nwhy = 'x'\n";
    fs::write(home.path("home/.config/guard/config.toml"), support).unwrap();
    assert!(
        home.prints(&["config", "check"], 1).contains("rule own.install needs several approvers; guard asks about it")
    );
    let mut terminal = person(&home, &["allow", "add", "--rule", "own.install"]);
    terminal.wait_exit();
    says(&terminal.screen(), "own.install needs several approvers, which no grant can replace");
    let first = Asker::new(&home, &MEDIUM);
    approve(&home, &first.id, Some("bob"));
    let mut terminal = person(&home, &["approve", "--all"]);
    answer_card(&mut terminal, "y");
    terminal.wait_exit();
    first.ran();
    assert_eq!(home.ran(), 1);
    for (wrong, why) in [("approvals = 0", "from 1 to 9"), ("approvals = 10", "from 1 to 9")] {
        fs::write(patterns.join("own.toml"), rule.replace("approvals = 2", wrong)).unwrap();
        let found = home.guard(&["config", "check"]).output().unwrap();
        assert!(String::from_utf8_lossy(&found.stdout).contains(why), "{found:?}");
    }
    fs::write(patterns.join("own.toml"), rule.replace("tier = 2", "tier = 1")).unwrap();
    let found = home.guard(&["config", "check"]).output().unwrap();
    assert!(String::from_utf8_lossy(&found.stdout).contains("nobody is asked about tier 0 and 1"), "{found:?}");
}

#[test]
fn who_may_enrol_alone_could_be_both_so_two_vouch() {
    let home = home_with(TWO, &["ada", "bob"]);
    enrol(&home, "cyd");
    let file = directory(&home).join("cyd.toml");
    fs::remove_file(&file).unwrap();
    let public = home.path("home/.ssh/cyd.pub");
    let add = || person(&home, &["approver", "add", "cyd", "--ssh", public.to_str().unwrap()]);
    let mut terminal = add();
    sign(&mut terminal, Some("ada"));
    assert_eq!(ended(terminal.wait_exit()), "exit 0", "{}", terminal.screen());
    assert!(file.exists());
    let mut terminal = person(&home, &["approver", "remove", "cyd"]);
    sign(&mut terminal, Some("ada"));
    terminal.wait_for("signed by ada; 2 must sign");
    terminal.settle(Duration::from_millis(100));
    terminal.send("ada\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 126", "{}", terminal.screen());
    assert!(file.exists());
    // The same key cannot be enrolled under another name.
    let mut terminal = person(&home, &["approver", "add", "eve", "--ssh", public.to_str().unwrap()]);
    terminal.wait_exit();
    says(&terminal.screen(), "this key is already enrolled for cyd");
}

#[test]
fn two_at_once_are_two_and_a_no_between_them_is_a_no() {
    let home = home_with(TWO, &["ada", "bob"]);
    for _ in 0..3 {
        let before = home.ran();
        let asker = Asker::new(&home, &FLAGGED);
        let mut both = [person(&home, &["approve", &asker.id]), person(&home, &["approve", &asker.id])];
        for (terminal, name) in both.iter_mut().zip(["ada", "bob"]) {
            answer_card(terminal, "y");
            terminal.wait_for("which approver signs");
            terminal.settle(Duration::from_millis(100));
            terminal.send(name);
        }
        for terminal in &mut both {
            terminal.send("\r");
        }
        for terminal in &mut both {
            terminal.wait_exit();
        }
        let id = asker.id.clone();
        asker.ran();
        assert_eq!(home.ran(), before + 1);
        let mut by = request(&home, &id).approved_by;
        by.sort();
        assert_eq!(by, ["ada", "bob"]);
    }
    // Two simultaneous signatures of the same approver count as one.
    let asker = Asker::new(&home, &FLAGGED);
    let mut both = [person(&home, &["approve", &asker.id]), person(&home, &["approve", &asker.id])];
    for terminal in &mut both {
        answer_card(terminal, "y");
        terminal.wait_for("which approver signs");
        terminal.settle(Duration::from_millis(100));
        terminal.send("ada");
    }
    for terminal in &mut both {
        terminal.send("\r");
    }
    for terminal in &mut both {
        terminal.wait_exit();
    }
    let screens = both.iter_mut().map(Terminal::screen).collect::<Vec<_>>().join("\n");
    says(&screens, "ada has already signed; another approver must sign");
    assert_eq!((request(&home, &asker.id).approved_by, home.ran()), (vec!["ada".to_owned()], 3));
    // A denial arrives while the second approver reads the card.
    let mut second = person(&home, &["approve", &asker.id]);
    second.wait_for("no answer means no");
    person(&home, &["deny", &asker.id]).wait_exit();
    answer_card(&mut second, "y");
    second.wait_exit();
    says(&second.screen(), "already denied");
    asker.refused("denied by a person");
    assert_eq!(home.ran(), 3);
}

#[test]
fn whoever_is_killed_between_the_first_and_the_second_leaves_one_approval_or_none() {
    let home = home_with(TWO, &["ada", "bob"]);
    // Kills the approver's guard at different moments of signing.
    for delay in [0, 5, 15, 40] {
        let asker = Asker::new(&home, &FLAGGED);
        let mut terminal = person(&home, &["approve", &asker.id]);
        answer_card(&mut terminal, "y");
        terminal.wait_for("which approver signs");
        terminal.settle(Duration::from_millis(100));
        terminal.send("ada\r");
        std::thread::sleep(Duration::from_millis(delay));
        let _ = kill(terminal.pid(), Signal::SIGKILL);
        terminal.wait_exit();
        let by = request(&home, &asker.id).approved_by;
        assert!(by.is_empty() || by == ["ada"], "{by:?}");
        assert_eq!(state(&home, &asker.id), RequestState::Waiting);
        // The request can be completed in either case.
        if by.is_empty() {
            approve(&home, &asker.id, Some("ada"));
        }
        approve(&home, &asker.id, None);
        asker.ran();
    }
    assert_eq!(home.ran(), 4);
    // Kills the asker: nothing runs, and the signature is valid for no other request.
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    approve(&home, &id, Some("ada"));
    let waiter = request(&home, &id).waiter.unwrap();
    kill(Pid::from_raw(waiter.split('.').next().unwrap().parse().unwrap()), Signal::SIGKILL).unwrap();
    asker.end();
    let mut terminal = person(&home, &["approve", &id]);
    terminal.wait_exit();
    says(&terminal.screen(), "cannot be approved late");
    let asker = Asker::new(&home, &FLAGGED);
    assert_ne!(asker.id, id);
    assert_eq!((state(&home, &id), request(&home, &asker.id).approved_by.len()), (RequestState::Void, 0));
    person(&home, &["deny", "--all"]).wait_exit();
    asker.refused("denied by a person");
    assert_eq!(home.ran(), 4);
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn filed_without_waiting_it_keeps_the_first_approval_until_the_second() {
    let home = home_with(TWO, &["ada", "bob"]);
    let file = || {
        let output = shell(&home, &[&["--no-wait", "--"], &FLAGGED[..]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(75), "{}", String::from_utf8_lossy(&output.stderr));
    };
    file();
    let id = crate::queue::stage::all(&home).remove(0).id;
    approve(&home, &id, Some("bob"));
    let waited = home.guard(&["wait", &id, "--timeout", "0"]).output().unwrap();
    says(&String::from_utf8_lossy(&waited.stderr), "1 of 2 approvals, by bob; one more needed");
    // Filing the request again changes nothing.
    file();
    assert_eq!((crate::queue::stage::all(&home).len(), request(&home, &id).approved_by), (1, vec!["bob".to_owned()]));
    approve(&home, &id, None);
    assert_eq!(home.ran(), 0);
    assert!(shell(&home, &[&["--"], &FLAGGED[..]].concat()).status().unwrap().success());
    assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
}

#[test]
fn of_tier_4_each_of_the_two_types_a_word() {
    let home = home_with("approvals.tier_4 = 2\n", &["ada", "bob"]);
    let asker = Asker::new(&home, &["mkfs.ext4", "/dev/sda"]);
    for who in [Some("ada"), None] {
        let mut terminal = person(&home, &["approve", &asker.id]);
        terminal.wait_for("to begin");
        terminal.read_question();
        assert_eq!(home.ran(), 0);
        let screen = terminal.screen();
        let word = screen.split("type ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        terminal.type_slowly(&word);
        terminal.send("\r");
        sign(&mut terminal, who);
        terminal.wait_exit();
    }
    asker.ran();
    assert_eq!(home.ran(), 1);
    // The request is not filed if no process waits for it.
    let output = shell(&home, &["--no-wait", "--", "mkfs.ext4", "/dev/sda"]).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
}

#[test]
fn the_review_shows_who_signed_and_takes_the_second() {
    let home = home_with(TWO, &["ada", "bob"]);
    let asker = Asker::new(&home, &FLAGGED);
    let mut command = home.guard(&["review"]);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn_with(command, 110, 40, crate::harness::pty::OnTerminal::ALL);
    terminal.wait_for("[2 approvers needed] git push");
    approve(&home, &asker.id, Some("ada"));
    terminal.wait_for("[1 of 2 approvals, by ada; one more needed] git push");
    terminal.send("\r");
    terminal.wait_for("1 of 2 approvals, by ada; one more needed.");
    answer_card(&mut terminal, "y");
    asker.ran();
    terminal.wait_for("approved: git push");
    terminal.send("q");
    terminal.wait_exit();
    assert_eq!(home.ran(), 1);
}
