//! Tests pruning: rows that are older than the policy keeps are removed from the beginning, and the record documents
//! this and proves the rest.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::Duration;

use guard::judge::approved::{GrantExpiry, GrantPlace, GrantSubject, ShapeScope};
use guard::judge::policy::ApprovalReason;
use guard::judge::risk::Risk;
use guard::store::{
    Entry, Filter, GrantEnd, IntentRow, NewGrant, RecordFault, RecordedDecision, Retention, RowKind, Store,
};
use jiff::{SignedDuration, Timestamp};

use crate::harness::home::{FLAGGED, Home, invocation};
use crate::harness::pty::{Terminal, ended};

const YEAR: Retention = Retention { days: 365, mib: 1 << 20 };

fn days_ago(days: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_hours(days * 24)
}

/// Writes this many rows, a second apart, of which the first is this many days old.
fn write(store: &Store, count: i64, days: i64, word: &str) {
    let invocation = invocation(&["tool", word]);
    let risk = Risk::default();
    // Opens one connection for all rows.
    store.head().unwrap();
    for number in 0..count {
        let digest = invocation.digest(&BTreeSet::new());
        let row = IntentRow::plain(
            days_ago(days) + SignedDuration::from_secs(number),
            &invocation,
            digest,
            &risk,
            RecordedDecision::Allowed(&ApprovalReason::Score),
        );
        let _ = store.intent(&row).unwrap();
    }
}

/// Creates a record with this many rows that are more than a year old, and five that are three days old.
pub fn aged(count: i64) -> Home {
    let home = Home::new();
    let store = home.store();
    write(&store, count, 400, "old-and-secretive");
    write(&store, 5, 3, "recent");
    home
}

fn entries(home: &Home) -> Vec<Entry> {
    let store = home.store();
    store.find(&Filter::default()).unwrap().into_iter().map(|id| store.entry(id).unwrap()).collect()
}

/// Returns the first and last row of each pruning, from the rows that record it.
fn prunings(home: &Home) -> Vec<(i64, i64)> {
    let pruned = |entry: Entry| entry.pruned.map(|pruned| (pruned.first, pruned.last));
    entries(home).into_iter().filter_map(pruned).collect()
}

fn faults(home: &Home) -> Vec<RecordFault> {
    home.store().verify().unwrap().faults
}

#[test]
fn what_is_pruned_leaves_the_rest_provable_and_is_told() {
    let home = aged(30);
    let before = home.prints(&["verify"], 0);
    let last = home.store().entry(30).unwrap().hash.to_string();
    let would = home.prints(&["log", "prune", "--dry-run"], 0);
    assert!(
        would.starts_with("Would prune rows 1 to 30 (30 rows, ") && would.contains("older than 365 days"),
        "{would}"
    );
    assert_eq!(home.prints(&["verify"], 0), before);

    let pruned = home.prints(&["log", "prune"], 0);
    assert!(pruned.starts_with("Pruned rows 1 to 30 (30 rows, "), "{pruned}");
    let kept = |row: i64, hash: &str| home.prints(&["verify", "--head", &format!("{row}:{hash}")], 0);
    assert!(kept(30, &last).contains("row 30, is part of this chain"));
    assert!(kept(29, &last).contains("row 29, was pruned"));
    let verified = home.prints(&["verify"], 0);
    assert!(verified.starts_with("6 rows, the chain is intact.\nPruned at "), "{verified}");
    assert!(verified.contains(", sealed in row 36: rows 1 to 30 (30 rows, "), "{verified}");
    let json: serde_json::Value = serde_json::from_str(&home.prints(&["verify", "--json"], 0)).unwrap();
    assert_eq!(
        (&json["ok"], &json["pruned"]["through"], &json["pruned"]["row"]),
        (&true.into(), &30.into(), &36.into())
    );
    assert_eq!(json["pruned"]["last"]["why"], serde_json::json!({"kind": "retention", "days": 365}));

    let log = home.prints(&["log"], 0);
    assert!(log.lines().last().unwrap().contains("pruned") && log.contains("rows 1 to 30"), "{log}");
    assert!(home.prints(&["log", "show", "36"], 0).contains("rows 1 to 30"));
    let gone = home.guard(&["log", "show", "7"]).output().unwrap();
    let said = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert!(gone.status.code() == Some(125) && said.contains("row 7 was pruned; see guard log show 36"), "{said}");

    assert_eq!(home.prints(&["log", "prune"], 0), "No rows are old enough to delete.\n");
    assert!(home.run(&["true"]).status.success());
    assert_eq!(home.store().verify().unwrap().rows, 7);
}

#[test]
fn a_record_that_has_grown_too_large_loses_its_oldest_rows_and_never_those_of_the_last_week() {
    let home = Home::new();
    let store = home.store();
    write(&store, 6000, 90, &"o".repeat(300));
    write(&store, 3000, 30, &"m".repeat(300));
    write(&store, 3000, 3, &"y".repeat(300));
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    let policy = |mib: u32| {
        std::fs::write(home.path("home/.config/guard/config.toml"), format!("retention_mib = {mib}\n")).unwrap();
    };
    policy(100);
    assert_eq!(home.prints(&["log", "prune"], 0), "No rows are old enough to delete.\n");
    policy(4);
    let would = home.prints(&["log", "prune", "--dry-run"], 0);
    assert!(would.starts_with("Would prune rows 1 to ") && would.contains("exceeded 4 MiB"), "{would}");
    // A refused command prunes too, one portion at a time.
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert!(prunings(&home).len() == 1 && prunings(&home)[0].1 > 3000, "{:?}", prunings(&home));
    assert_eq!(faults(&home), []);
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(prunings(&home).len(), 1, "it stays away from the limit for a while");
    // However small the limit is, the last week is kept.
    policy(1);
    let pruned = home.prints(&["log", "prune"], 0);
    assert!(pruned.contains("the record exceeded 1 MiB"), "{pruned}");
    assert_eq!(prunings(&home).last().unwrap().1, 9000);
    let verified = home.prints(&["verify"], 0);
    assert!(verified.contains("exceeded 1 MiB") && faults(&home).is_empty(), "{verified}");
    assert_eq!(home.prints(&["log", "prune"], 0), "No rows are old enough to delete.\n");
}

#[test]
fn what_was_pruned_later_tells_of_what_was_pruned_before() {
    let home = Home::new();
    let store = home.store();
    write(&store, 4, 500, "first");
    write(&store, 4, 420, "second");
    write(&store, 4, 3, "third");
    let day = |days: u32| guard::store::Limit::retention(days, Timestamp::now());
    assert_eq!(store.prune(&day(450), "ada", Timestamp::now()).unwrap().unwrap().last, 4);
    assert_eq!(store.prune(&day(365), "ada", Timestamp::now()).unwrap().unwrap().first, 5);
    let end = store.verify().unwrap().pruned.unwrap();
    assert_eq!((end.pruned.first, end.pruned.last), (5, 8));
    assert!(end.pruned.since < end.pruned.from);
    assert!(home.prints(&["verify"], 0).contains("All earlier rows, from "));
    // Only the row that records the pruning is left, and even that is pruned once it is old.
    assert_eq!(store.prune(&day(1), "ada", Timestamp::now()).unwrap().unwrap().last, 12);
    let later = Timestamp::now() + SignedDuration::from_hours(48);
    let limit = guard::store::Limit::retention(1, later);
    assert_eq!(store.prune(&limit, "ada", later).unwrap().unwrap().last, 15);
    let audit = store.verify().unwrap();
    assert_eq!((audit.rows, audit.faults, audit.head.unwrap().row), (1, vec![], 16));
    assert!(home.run(&["true"]).status.success());
    assert_eq!((faults(&home), home.store().verify().unwrap().rows), (vec![], 2));
}

#[test]
fn a_changed_word_of_what_was_pruned_is_found() {
    let edits = [
        "UPDATE record SET what = replace(what, '\"last\":30', '\"last\":29') WHERE kind = 'pruned'",
        "UPDATE record SET what = replace(what, '365', '30') WHERE kind = 'pruned'",
        "UPDATE record SET what = '{}' WHERE kind = 'pruned'",
        "UPDATE record SET digest = zeroblob(32) WHERE kind = 'pruned'",
        "UPDATE record SET digest = NULL WHERE kind = 'pruned'",
        "UPDATE record SET about = 29 WHERE kind = 'pruned'",
        "UPDATE record SET at = at - 1 WHERE kind = 'pruned'",
        "UPDATE record SET kind = 'intent' WHERE kind = 'pruned'",
        "UPDATE record SET user = 'eve' WHERE kind = 'pruned'",
        "DELETE FROM record WHERE kind = 'pruned'",
    ];
    for edit in edits {
        let home = aged(30);
        home.prints(&["log", "prune"], 0);
        assert!(home.run(&["true"]).status.success());
        assert_eq!(faults(&home), [], "{edit}");
        home.sql(edit);
        let said = home.prints(&["verify"], 1);
        assert!(said.contains("row 36") || said.contains("rows 1 to 30"), "{edit}: {said}");
    }
}

#[test]
fn rows_that_are_gone_without_a_word_are_found_before_and_after_a_pruning() {
    let home = aged(30);
    home.sql("DELETE FROM record WHERE id <= 10");
    assert_eq!(faults(&home), [RecordFault::Missing { first: 1, last: 10 }]);
    // An altered row is not deleted, because the evidence would be lost.
    let output = home.guard(&["log", "prune"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(125) && said.contains("all rows before row 11 are missing"), "{said}");
    assert_eq!(home.store().verify().unwrap().rows, 25);

    let home = aged(30);
    home.prints(&["log", "prune"], 0);
    home.sql("DELETE FROM record WHERE id IN (31, 32)");
    assert_eq!(faults(&home), [RecordFault::Missing { first: 31, last: 32 }]);
    assert!(home.prints(&["verify"], 1).starts_with("rows 31 to 32 were removed\n"));
}

#[test]
fn a_pruning_that_was_sealed_with_another_key_is_no_proof() {
    let home = aged(30);
    home.prints(&["log", "prune"], 0);
    let key = std::fs::read(home.paths().key()).unwrap();
    std::fs::remove_file(home.paths().key()).unwrap();
    let unsealed = RecordFault::Unsealed { row: 36, last: Some(30) };
    assert_eq!(faults(&home), [RecordFault::Missing { first: 1, last: 30 }, unsealed.clone()]);
    // The next row is sealed with a new key.
    assert!(home.run(&["true"]).status.success());
    assert_ne!(std::fs::read(home.paths().key()).unwrap(), key);
    assert_eq!(faults(&home), [RecordFault::Missing { first: 1, last: 30 }, unsealed]);
    std::fs::write(home.paths().key(), key).unwrap();
    assert_eq!(faults(&home), []);
}

#[test]
fn an_old_row_that_was_edited_stays_with_all_that_follow() {
    let home = aged(30);
    home.sql("UPDATE record SET command = 'ls' WHERE id = 7");
    let output = home.guard(&["log", "prune"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("row 7 was changed"));
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(faults(&home), [7, 8].map(|row| RecordFault::Broken { row }).to_vec()[..1].to_vec());
    assert_eq!(home.store().verify().unwrap().rows, 36);
}

#[test]
fn what_is_pruned_is_in_no_file_of_the_record() {
    let home = aged(300);
    let there = || {
        std::fs::read_dir(home.data()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(17).any(|window| window == b"old-and-secretive")
        })
    };
    assert!(there());
    home.prints(&["log", "prune"], 0);
    assert!(!there());
}

#[test]
fn ten_thousand_rows_and_more_go_in_portions_and_give_their_room_back() {
    let home = aged(10_250);
    home.settle();
    let size = || std::fs::metadata(home.paths().database()).unwrap().len();
    let before = size();
    let said = home.prints(&["log", "prune"], 0);
    assert!(said.starts_with("Pruned rows 1 to 10250 (10250 rows, ") && said.contains("Freed "), "{said}");
    assert_eq!(prunings(&home), [(1, 10_000), (10_001, 10_250)]);
    assert_eq!((faults(&home), home.store().verify().unwrap().rows), (vec![], 7));
    assert!(size() * 10 < before, "{before} {}", size());
}

#[test]
fn a_refused_command_prunes_and_one_that_nobody_is_asked_about_does_not() {
    let home = aged(30);
    assert!(home.run(&["true"]).status.success());
    assert_eq!(home.store().verify().unwrap().rows, 36);
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(prunings(&home), [(1, 30)]);
    assert_eq!(faults(&home), []);
    // Pruning runs once a day; rows that get old in between wait.
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(prunings(&home).len(), 1);
}

#[test]
fn a_command_that_was_waited_for_prunes_when_it_has_ended() {
    let home = aged(30);
    home.stand_in("git", "exit 3");
    let mut command = home.guard(&[&["--"], &FLAGGED[..]].concat());
    command.env("TERM", "xterm");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send("y");
    assert_eq!(ended(terminal.wait_exit()), "exit 3", "{}", terminal.screen());
    assert_eq!(prunings(&home), [(1, 30)]);
    let kinds: Vec<RowKind> = entries(&home).iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds[5..], [RowKind::Intent, RowKind::Pruned]);
    assert_eq!(entries(&home)[5].result.as_ref().unwrap().exit, Some(3));
    assert_eq!(faults(&home), []);
}

#[test]
fn what_happens_by_itself_waits_for_nobody_who_writes() {
    let home = aged(30);
    let store = home.store();
    let other = rusqlite::Connection::open(home.paths().database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.keep_to_policy(YEAR, "ada", Timestamp::now()).unwrap(), None);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.keep_to_policy(YEAR, "ada", Timestamp::now()).unwrap().unwrap().rows(), 30);
    assert_eq!(store.keep_to_policy(YEAR, "ada", Timestamp::now()).unwrap(), None);
    assert_eq!(faults(&home), []);
}

#[test]
fn the_policy_says_how_long_rows_are_kept() {
    let home = aged(30);
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    let keep = |days: u32| {
        std::fs::write(home.path("home/.config/guard/config.toml"), format!("retention_days = {days}\n")).unwrap();
    };
    keep(401);
    assert_eq!(home.prints(&["log", "prune"], 0), "No rows are old enough to delete.\n");
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(prunings(&home), []);
    keep(366);
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(prunings(&home), [(1, 30)]);
    keep(2);
    assert!(home.prints(&["log", "prune"], 1 + 124).is_empty());
}

#[test]
fn a_clock_that_jumped_ahead_costs_no_row() {
    let home = Home::new();
    write(&home.store(), 20, 400, "all-there-is");
    for _ in 0..3 {
        assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    }
    assert_eq!(prunings(&home), []);
    let output = home.guard(&["log", "prune"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(125) && said.contains("is the clock right?"), "{said}");
    // A row from the future is not pruned by itself and does not protect the old ones.
    let home = Home::new();
    write(&home.store(), 10, 400, "old");
    write(&home.store(), 1, -4000, "future");
    write(&home.store(), 10, 399, "old");
    write(&home.store(), 1, -4000, "future");
    write(&home.store(), 5, 3, "recent");
    home.prints(&["log", "prune"], 0);
    assert_eq!((prunings(&home), faults(&home)), (vec![(1, 21)], vec![]));
}

#[test]
fn another_age_is_named_by_a_person_who_has_read_what_goes() {
    let home = Home::new();
    write(&home.store(), 10, 40, "old");
    write(&home.store(), 5, 3, "recent");
    let prune = ["log", "prune", "--older-than", "30d"];
    let would = home.prints(&[&prune[..], &["--dry-run"]].concat(), 0);
    assert!(would.contains("rows 1 to 10 (10 rows, ") && would.contains("by request"), "{would}");
    let output = home.guard(&prune).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("only a person at their own terminal"));
    for (answer, code) in [("\n", "exit 126"), ("y\n", "exit 0")] {
        let mut terminal = Terminal::spawn(home.guard(&prune));
        terminal.wait_for("[y/N]");
        terminal.send(answer);
        assert_eq!(ended(terminal.wait_exit()), code, "{}", terminal.screen());
    }
    assert_eq!((prunings(&home), faults(&home)), (vec![(1, 10)], vec![]));
    for wrong in ["1h", "now", "soon"] {
        assert_eq!(home.guard(&["log", "prune", "--older-than", wrong]).output().unwrap().status.code(), Some(125));
    }
}

#[test]
fn a_grant_that_holds_is_carried_on_under_its_number() {
    let home = Home::new();
    let store = home.store();
    let now = days_ago(400);
    let give = |what: &GrantSubject, until: &GrantExpiry| {
        let place = GrantPlace::Anywhere;
        let grant = NewGrant { what, place: &place, until, words: "these words", user: "ada", session: "one" };
        store.grant(&grant, now).unwrap()
    };
    let exact = GrantSubject::Exact { command: FLAGGED.join(" ") };
    let shape = GrantSubject::Shape(ShapeScope::plain("make"));
    let in_future = Timestamp::now().as_second() + 1000;
    let always = give(&exact, &GrantExpiry::Revoked);
    let taken_back = give(&shape, &GrantExpiry::Revoked);
    let dated = give(&shape, &GrantExpiry::Date { at: in_future });
    let past = give(&shape, &GrantExpiry::Date { at: now.as_second() + 1000 });
    let session = give(&shape, &GrantExpiry::Session { id: "one".to_owned() });
    store.revoke(taken_back, "ada", now).unwrap();
    write(&store, 5, 3, "recent");
    assert!(home.run(&FLAGGED).status.success());

    let said = home.prints(&["log", "prune"], 0);
    assert!(said.contains(&format!("Kept active grants: {always}, {dated}.")), "{said}");
    let listed = store.grants(Timestamp::now()).unwrap();
    let numbers: Vec<String> = listed.iter().map(|listed| listed.grant.id.to_string()).collect();
    assert_eq!(numbers, [always.to_string(), dated.to_string()], "not {past} and {session}");
    assert!(listed.iter().all(|listed| listed.grant.given == now.as_second() && listed.ended.is_none()));
    assert!(home.run(&FLAGGED).status.success());
    // Prunes again once the rows that carry the grants are old.
    let later = Timestamp::now() + SignedDuration::from_hours(24 * 2);
    let limit = guard::store::Limit::retention(1, later);
    assert_eq!(store.prune(&limit, "ada", later).unwrap().unwrap().carried, [always]);
    assert!(home.run(&FLAGGED).status.success());
    assert_eq!(faults(&home), []);
    home.prints(&["allow", "remove", &always.to_string()], 0);
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert!(matches!(store.grants(Timestamp::now()).unwrap()[0].ended, Some(GrantEnd::Revoked { .. })));
}

#[test]
fn a_grant_right_behind_what_was_pruned_holds_and_one_that_another_hand_put_there_does_not() {
    let home = Home::new();
    let store = home.store();
    write(&store, 5, 400, "old");
    let what = GrantSubject::Exact { command: FLAGGED.join(" ") };
    let (place, until) = (GrantPlace::Anywhere, GrantExpiry::Revoked);
    let grant = NewGrant { what: &what, place: &place, until: &until, words: "w", user: "ada", session: "one" };
    assert_eq!(store.grant(&grant, days_ago(3)).unwrap(), 6);
    home.prints(&["log", "prune"], 0);
    assert!(home.run(&FLAGGED).status.success());
    assert_eq!((prunings(&home), home.ran()), (vec![(1, 5)], 1));
    // The words and the reference to another row are part of the sealed content.
    home.sql("UPDATE record SET words = 'others' WHERE id = 6");
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    home.sql("UPDATE record SET words = 'w' WHERE id = 6");
    assert!(home.run(&FLAGGED).status.success());
    home.sql("DELETE FROM record WHERE kind = 'pruned'");
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(home.ran(), 2);
}

#[test]
fn many_who_prune_and_write_at_once_prune_each_row_once_and_lose_none() {
    let home = aged(2_000);
    let quiet =
        |words: &[&str]| -> Child { home.guard(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap() };
    let mut children: Vec<Child> = Vec::new();
    for number in 0..36 {
        children.push(match number % 6 {
            0 | 1 => quiet(&["log", "prune"]),
            2 => quiet(&["verify"]),
            3 => quiet(&["log", "-n", "0"]),
            4 => quiet(&[&["--"], &FLAGGED[..]].concat()),
            _ => quiet(&["--", "true"]),
        });
    }
    let codes: Vec<_> = children.iter_mut().map(|child| child.wait().unwrap().code().unwrap()).collect();
    assert!(codes.iter().all(|code| [0, 126].contains(code)), "{codes:?}");
    assert_eq!((prunings(&home), faults(&home)), (vec![(1, 2_000)], vec![]));
    assert_eq!(home.store().verify().unwrap().rows, 5 + 12 + 1);
}

#[test]
fn a_pruning_that_is_killed_leaves_a_whole_record() {
    let home = aged(6_000);
    let mut pruned = false;
    for round in 0..40 {
        let mut child = home.guard(&["log", "prune"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(4 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let audit = home.store().verify().unwrap();
        assert_eq!(audit.faults, []);
        // The pruning happened completely or not at all.
        pruned = audit.pruned.is_some();
        assert_eq!(audit.rows, if pruned { 6 } else { 6_005 });
        if pruned {
            break;
        }
    }
    if !pruned {
        home.prints(&["log", "prune"], 0);
    }
    assert_eq!((prunings(&home), faults(&home)), (vec![(1, 6_000)], vec![]));
}

#[test]
fn a_record_on_a_read_only_home_is_not_pruned_and_says_so() {
    let home = aged(30);
    home.settle();
    let script = r#"guard=$0 data=$1; cp -a "$data" "$data.copy"; mount -t tmpfs none "$data"
        cp -a "$data.copy/." "$data"; "$guard" log prune --dry-run; mount -o remount,ro none "$data"
        "$guard" log prune && exit 1; "$guard" verify; "$guard" log -n 1"#;
    let Some(output) = home.in_a_namespace(script) else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("its file system is read-only"), "{said}");
    assert!(said.contains("Would prune rows 1 to 30") && said.contains("35 rows, the chain is intact"), "{said}");
}
