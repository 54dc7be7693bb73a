//! Tests failures below the record, of a page, the log or the disk: guard reports each as what it is, and no flagged
//! command runs unrecorded.

use std::collections::BTreeSet;
use std::fs;

use guard::judge::policy::ApprovalReason;
use guard::judge::risk::Risk;
use guard::store::{IntentRow, RecordFault, RecordedDecision};
use jiff::Timestamp;

use crate::harness::home::{FLAGGED, Home, invocation};

const PAGE: usize = 4096;

/// Creates a record of this many rows, each with its number in it, in one file.
fn filled(count: i64) -> Home {
    let home = Home::that_asks_nobody();
    let store = home.store();
    store.head().unwrap();
    let risk = Risk::default();
    for number in 1..=count {
        let invocation = invocation(&["tool", &format!("this-is-row-{number:04}"), &"x".repeat(200)]);
        let digest = invocation.digest(&BTreeSet::new());
        let row = IntentRow::plain(
            Timestamp::now(),
            &invocation,
            digest,
            &risk,
            RecordedDecision::Allowed(&ApprovalReason::Score),
        );
        let _ = store.intent(&row).unwrap();
    }
    drop(store);
    home.settle();
    home
}

/// Overwrites the page of a row with nonsense.
fn damage(home: &Home, row: i64) {
    let path = home.paths().database();
    let mut bytes = fs::read(&path).unwrap();
    let mark = format!("this-is-row-{row:04}").into_bytes();
    let at = bytes.windows(mark.len()).position(|window| window == mark).unwrap();
    let page = at / PAGE * PAGE;
    bytes[page..page + PAGE].fill(0xAA);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_page_in_the_middle_is_told_by_its_rows_and_what_comes_after_is_recorded_and_proved() {
    let home = filled(200);
    damage(&home, 100);
    let audit = home.store().verify().unwrap();
    let RecordFault::Damaged { first, last: Some(last), .. } = audit.faults[0] else { panic!("{:?}", audit.faults) };
    assert!(first <= 100 && 100 <= last && last - first < 20, "{:?}", audit.faults);
    assert!(audit.faults[1..].iter().all(|fault| matches!(fault, RecordFault::File { .. })), "{:?}", audit.faults);
    assert_eq!(audit.rows, 200 - u64::try_from(last - first + 1).unwrap());
    let said = home.prints(&["verify"], 1);
    assert!(said.starts_with(&format!("the file is damaged: rows {first} to {last} cannot be read (")), "{said}");
    // The end of the record is intact, so a flagged command is recorded and runs.
    assert!(home.run(&FLAGGED).status.success());
    assert_eq!((home.ran(), home.store().head().unwrap().unwrap().row), (1, 201));
    let newest = home.prints(&["log", "-n", "5"], 0);
    assert!(newest.contains("git push --force origin main"), "{newest}");
    // A request for the whole record reports that the record is damaged.
    let all = home.guard(&["log", "-n", "0"]).output().unwrap();
    let said = String::from_utf8_lossy(&all.stderr).into_owned();
    assert!(
        !all.status.success() && said.contains("is damaged (") && said.contains("guard verify says which"),
        "{said}"
    );
    // The export contains all readable rows, and reports the others.
    let export = home.guard(&["export"]).output().unwrap();
    let (out, said) = (String::from_utf8_lossy(&export.stdout), String::from_utf8_lossy(&export.stderr));
    assert_eq!(u64::try_from(out.lines().count()).unwrap(), audit.rows + 1);
    assert!(!export.status.success() && said.contains(&format!("rows {first} to {last} cannot be read")), "{said}");
    // An edited row after the damage is still reported.
    home.sql("UPDATE record SET cwd = '/elsewhere' WHERE id = 180");
    assert!(home.store().verify().unwrap().faults.contains(&RecordFault::Broken { row: 180 }));
}

#[test]
fn a_damaged_last_page_holds_back_what_is_flagged_and_nothing_else() {
    let home = filled(100);
    damage(&home, 100);
    home.holds_back(&home.run(&FLAGGED), "is damaged (");
    assert!(home.run(&["true"]).status.success());
    let audit = home.store().verify().unwrap();
    assert!(matches!(audit.faults[0], RecordFault::Damaged { last: None, .. }), "{:?}", audit.faults);
    assert!(audit.rows > 50 && home.prints(&["verify"], 1).contains("cannot be read"));
}

#[test]
fn a_damaged_index_is_told_and_what_is_flagged_is_recorded_or_held_back() {
    let home = filled(60);
    // The index of the `follows` column has one page, still empty.
    let root: u32 = {
        let connection = rusqlite::Connection::open(home.paths().database()).unwrap();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'follows'";
        connection.query_row(root, [], |row| row.get(0)).unwrap()
    };
    let root = usize::try_from(root).unwrap();
    let path = home.paths().database();
    let mut bytes = fs::read(&path).unwrap();
    bytes[(root - 1) * PAGE..root * PAGE].fill(0xAA);
    fs::write(path, bytes).unwrap();
    let output = home.run(&FLAGGED);
    let rows = home.store().verify().unwrap().rows;
    // Whatever SQLite does with the damage, the number of runs equals the number of recorded rows.
    assert_eq!(u64::try_from(home.ran()).unwrap(), rows - 60);
    if !output.status.success() {
        home.holds_back(&output, "is damaged (");
    }
    assert_eq!(home.guard(&["verify"]).output().unwrap().status.code(), Some(1));
}

#[test]
fn a_log_that_was_cut_or_spoilt_loses_rows_from_its_end_alone() {
    for spoil in [false, true] {
        let home = Home::that_asks_nobody();
        for _ in 0..12 {
            assert!(home.run(&["true"]).status.success());
        }
        let kept = home.prints(&["verify", "--json"], 0);
        let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
        let head = format!("{}:{}", kept["head"]["row"], kept["head"]["hash"].as_str().unwrap());
        let log = home.data().join("guard.db-wal");
        let mut bytes = fs::read(&log).unwrap();
        assert!(bytes.len() > 8 * PAGE);
        let middle = bytes.len() / 2;
        if spoil {
            bytes[middle..].fill(0x55)
        } else {
            bytes.truncate(middle)
        }
        fs::write(&log, bytes).unwrap();
        let audit = home.store().verify().unwrap();
        assert!(audit.faults.is_empty() && (1..12).contains(&audit.rows), "{audit:?}");
        // Only a comparison with a kept head reveals the loss.
        assert!(home.prints(&["verify", "--head", &head], 1).contains("is not part of this chain"));
        assert!(home.run(&FLAGGED).status.success());
        assert_eq!((home.ran(), home.store().verify().unwrap().rows), (1, audit.rows + 1));
    }
}

#[test]
fn a_key_that_was_spoilt_holds_back_what_is_flagged() {
    let home = filled(3);
    fs::write(home.data().join("guard.key"), "short").unwrap();
    home.holds_back(&home.run(&FLAGGED), "is not a key of guard");
    assert!(home.run(&["true"]).status.success());
}

/// Uses a limit on the file size, which affects a writer as a full disk does and is available everywhere.
#[test]
fn a_file_that_may_not_grow_holds_back_what_is_flagged_and_goes_on_where_it_stopped() {
    let home = filled(40);
    let blocks = fs::metadata(home.paths().database()).unwrap().len() / 512;
    // The limit leaves some room, which then fills up. Commands of tier 0 still run, recorded or not.
    let limited = |words: &str| {
        let script = format!("ulimit -f {}; exec \"$0\" -- {words}", blocks / 2 + 24);
        home.program("sh").args(["-c", &script, env!("CARGO_BIN_EXE_guard")]).output().unwrap()
    };
    let mut held = false;
    for _ in 0..400 {
        assert!(limited("true").status.success());
        let (ran, output) = (home.ran(), limited(&FLAGGED.join(" ")));
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("could not be recorded: ") && said.contains("(ulimit -f)"), "{said}");
            assert_eq!(home.ran(), ran);
            held = true;
            break;
        }
    }
    assert!(held, "the limit was never reached");
    let audit = home.store().verify().unwrap();
    assert_eq!(audit.faults, []);
    assert!(home.run(&FLAGGED).status.success());
    assert_eq!(home.store().verify().unwrap().rows, audit.rows + 1);
}

#[test]
fn a_disk_that_fills_up_while_guards_write_leaves_a_whole_chain_that_goes_on_once_there_is_room() {
    let home = Home::that_asks_nobody();
    fs::create_dir_all(home.data()).unwrap();
    let script = r#"guard=$0 data=$1; shift; mount -t tmpfs -o size=300k none "$data"; tries=0
        while "$guard" -- "$@" 2> "$data/../said"; do tries=$((tries + 1)); [ $tries -lt 500 ]; done
        cat "$data/../said" >&2; "$guard" -- true
        mount -o remount,size=2m none "$data"
        "$guard" verify --json; "$guard" -- "$@"; "$guard" verify --json"#;
    let Some(output) = home.in_a_namespace(script) else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("could not be recorded: no space left"), "{said}");
    let told: Vec<serde_json::Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows = |at: usize| told[at]["rows"].as_u64().unwrap();
    assert!(told.iter().all(|audit| audit["ok"] == true), "{told:?}");
    assert!(rows(0) > 5 && rows(1) == rows(0) + 1, "{told:?}");
    assert!(home.ran() as u64 >= 5 && home.ran() as u64 <= rows(1), "{} {told:?}", home.ran());
}
