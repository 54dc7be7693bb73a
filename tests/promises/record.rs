//! Tests that decisions are recorded, and that no flagged command runs unrecorded.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use guard::judge::invocation::Invocation;
use guard::judge::policy::{ApprovalReason, Refusal};
use guard::judge::risk::Risk;
use guard::store::{Filter, IntentRow, Paths, RecordFault, RecordedDecision, RowKind, Store};
use jiff::Timestamp;
use rusqlite::Connection;

use crate::harness::home::{FLAGGED, Home, invocation};
use crate::harness::pty::{PATIENCE, Terminal, ended};

fn wait_all(children: Vec<Child>) -> Vec<i32> {
    children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap_or(-1)).collect()
}

#[test]
fn sixty_four_guards_that_write_at_once_lose_no_row_and_fork_no_chain() {
    let home = Home::new();
    for round in 1..=3 {
        let children = (0..64).map(|number| {
            // The first one creates the record, and one in eight waits for the disk.
            let words: &[&str] = if number % 8 == 7 { &FLAGGED } else { &["true"] };
            let mut command = home.guard(&[&["--"], words].concat());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        });
        let codes = wait_all(children.collect());
        assert_eq!(codes.iter().filter(|code| **code == 126).count(), 8);
        let audit = home.store().verify().unwrap();
        assert_eq!((audit.rows, audit.faults.len()), (round * 64, 0));
    }
    assert_eq!(home.ran(), 0);
}

/// Not a promise: the process that writes, started by the promises below.
#[test]
#[ignore = "started by the other tests"]
fn process_that_writes() {
    let Some(directory) = std::env::var_os("RECORD_FOLDER") else { return };
    let paths = Paths::new(directory);
    let invocation = invocation(&["true"]);
    // Opens the record anew for each row, as each guard does, and sometimes for several rows.
    for round in 0_u32.. {
        let store = Store::open(&paths).unwrap();
        if round % 5 == 0 {
            store.head().unwrap();
        }
        let receipt = store.intent(&plain(&invocation)).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nrow {}", receipt.row().unwrap()).unwrap();
        out.flush().unwrap();
    }
}

fn plain(invocation: &Invocation) -> IntentRow<'_> {
    let digest = invocation.digest(&BTreeSet::new());
    IntentRow::plain(
        Timestamp::now(),
        invocation,
        digest,
        const { &EMPTY },
        RecordedDecision::Allowed(&ApprovalReason::Score),
    )
}

const EMPTY: Risk = Risk {
    tier: guard::judge::risk::Tier::Safe,
    score: guard::judge::risk::Weight(0),
    reversibility: guard::judge::risk::Reversibility::ReadOnly,
    findings: Vec::new(),
    context: Vec::new(),
};

#[test]
fn a_writer_that_is_killed_loses_no_row_that_it_had_written() {
    let home = Home::new();
    for round in 1..=6_usize {
        let mut writers: Vec<Child> = (0..3)
            .map(|_| {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["--exact", "record::process_that_writes", "--ignored", "--nocapture"]);
                command.env("RECORD_FOLDER", home.data()).stdout(Stdio::piped()).stderr(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        let mut written: BTreeMap<i64, usize> = BTreeMap::new();
        for (number, writer) in writers.iter_mut().enumerate() {
            let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
            let mut told =
                || lines.find_map(|line| line.ok()?.strip_prefix("row ").map(|row| row.parse::<i64>().unwrap()));
            // Long enough for a checkpoint of the log in between, and always of another length.
            for _ in 0..(40 + 17 * round + 11 * number) {
                *written.entry(told().expect("it writes until it is killed")).or_default() += 1;
            }
            writer.kill().unwrap();
            while let Some(row) = told() {
                *written.entry(row).or_default() += 1;
            }
        }
        for writer in &mut writers {
            writer.wait().unwrap();
        }
        assert!(written.values().all(|times| *times == 1), "a number was given twice");
        let store = home.store();
        let audit = store.verify().unwrap();
        assert_eq!(audit.faults, []);
        let there: BTreeSet<i64> = store.find(&Filter::default()).unwrap().into_iter().collect();
        assert!(written.keys().all(|row| there.contains(row)), "a row that was written is gone");
    }
}

#[test]
fn a_newer_record_is_left_alone() {
    let home = Home::that_asks_nobody();
    assert!(home.run(&["true"]).status.success());
    home.sql("PRAGMA user_version = 7");
    home.holds_back(&home.run(&FLAGGED), "written by a newer guard (schema 7, this version supports 6)");
    assert!(home.run(&["true"]).status.success());
    home.sql("PRAGMA user_version = 6");
    assert_eq!(home.store().verify().unwrap().rows, 1);
}

#[test]
fn an_older_record_is_brought_up_to_date_and_stays_whole() {
    let home = Home::new();
    for _ in 0..3 {
        assert!(home.run(&["true"]).status.success());
    }
    home.sql(
        "DROP INDEX making; DROP INDEX keeping; ALTER TABLE record DROP COLUMN made; ALTER TABLE record DROP COLUMN kept;
         ALTER TABLE record DROP COLUMN given; ALTER TABLE record DROP COLUMN signatures; \
         ALTER TABLE record DROP COLUMN tool; ALTER TABLE record DROP COLUMN review; PRAGMA user_version = 1",
    );
    assert!(home.run(&["true"]).status.success());
    let audit = home.store().verify().unwrap();
    assert_eq!((audit.rows, audit.faults.len()), (4, 0));
    home.sql("UPDATE record SET given = given, signatures = signatures, made = made, kept = kept, tool = tool, review = review");
}

#[test]
fn a_damaged_record_holds_back_what_is_flagged() {
    let home = Home::that_asks_nobody();
    assert!(home.run(&["true"]).status.success());
    home.settle();
    let mut bytes = std::fs::read(home.paths().database()).unwrap();
    bytes[4096..].fill(0xAA);
    std::fs::write(home.paths().database(), bytes).unwrap();
    home.holds_back(&home.run(&FLAGGED), "is damaged");
    assert!(home.run(&["true"]).status.success());
    let output = home.guard(&["verify"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("is damaged") && !output.status.success());
}

#[test]
fn something_else_in_the_place_of_the_record_is_not_touched() {
    let home = Home::that_asks_nobody();
    std::fs::create_dir_all(home.data()).unwrap();
    let text = "my own notes, which are no database at all\n".repeat(40);
    std::fs::write(home.paths().database(), &text).unwrap();
    home.holds_back(&home.run(&FLAGGED), "is not a record of guard");
    assert_eq!(std::fs::read_to_string(home.paths().database()).unwrap(), text);
    std::fs::remove_file(home.paths().database()).unwrap();
    std::fs::create_dir(home.paths().database()).unwrap();
    home.holds_back(&home.run(&FLAGGED), "is not a regular file");
    assert!(home.run(&["true"]).status.success());
    std::fs::remove_dir_all(home.data()).unwrap();
    std::fs::write(home.data(), "").unwrap();
    home.holds_back(&home.run(&FLAGGED), "share/guard is not a directory");
    assert!(home.run(&["true"]).status.success());
}

#[test]
fn without_a_record_tier_2_and_above_do_not_run_and_what_is_below_does() {
    let home = Home::that_asks_nobody();
    std::fs::create_dir_all(home.paths().database()).unwrap();
    for program in ["curl", "chmod"] {
        home.stand_in(program, &format!("echo ran >> '{}'", home.path("ran").display()));
    }
    home.holds_back(&home.run(&["curl", "-d", "a=b", "https://unknown.example.net/x"]), "is not a regular file");
    home.holds_back(
        &home.guard(&["-c", "true; curl -d a=b https://unknown.example.net/x"]).output().unwrap(),
        "tier 2",
    );
    std::fs::write(home.path("work/new"), "").unwrap();
    assert!(home.run(&["chmod", "+x", "new"]).status.success());
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_result_that_cannot_be_recorded_is_told_and_the_exit_code_is_the_commands() {
    let home = Home::new();
    let (begun, go) = (home.path("begun"), home.path("go"));
    let script = format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.02; done; exit 9", begun.display(), go.display());
    home.stand_in("git", &script);
    let mut command = home.guard(&[&["--"], &FLAGGED[..]].concat());
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send("y");
    let since = Instant::now();
    while !begun.exists() {
        assert!(since.elapsed() < PATIENCE);
        terminal.settle(Duration::from_millis(20));
    }
    let other = Connection::open(home.paths().database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::fs::write(go, "").unwrap();
    assert_eq!(ended(terminal.wait_exit()), "exit 9");
    assert!(terminal.screen().contains("cannot record the result"), "{}", terminal.screen());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(home.store().entry(1).unwrap().result, None);
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_record_that_somebody_keeps_locked_holds_back_what_is_flagged_and_nothing_else() {
    let home = Home::that_asks_nobody();
    assert!(home.run(&["true"]).status.success());
    let other = Connection::open(home.paths().database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let harmless = home.guard(&["--", "true"]).spawn().unwrap();
    home.holds_back(&home.run(&FLAGGED), "was locked");
    assert_eq!(wait_all(vec![harmless]), [0]);
    other.execute_batch("ROLLBACK").unwrap();
    assert!(home.run(&FLAGGED).status.success());
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_limit_on_file_sizes_is_no_way_around_the_record_and_reaches_the_command() {
    let home = Home::that_asks_nobody();
    assert!(home.run(&["true"]).status.success());
    let limited = |words: &str| {
        let script = format!("ulimit -f 0; exec \"$0\" -- {words}");
        home.program("sh").args(["-c", &script, env!("CARGO_BIN_EXE_guard")]).output().unwrap()
    };
    home.holds_back(&limited(&FLAGGED.join(" ")), "raise the file size limit");
    assert!(limited("true").status.success());
    let script = "ulimit -f; trap '' XFSZ; trap";
    home.stand_in("limits", script);
    assert_eq!(String::from_utf8(limited("limits").stdout).unwrap().lines().next(), Some("0"));
}

#[test]
fn a_read_only_home_holds_back_what_is_flagged_and_nothing_else() {
    let home = Home::that_asks_nobody();
    std::fs::create_dir_all(home.data()).unwrap();
    let empty =
        r#"guard=$0 data=$1; shift; mount -t tmpfs -o ro none "$data"; "$guard" -- true; exec "$guard" -- "$@""#;
    let Some(output) = home.in_a_namespace(empty) else { return };
    home.holds_back(&output, "its file system is read-only");
    // The same with an existing record.
    let full = r#"guard=$0 data=$1; shift; mount -t tmpfs none "$data"; "$guard" -- true
        mount -o remount,ro none "$data"; "$guard" -- true; "$guard" log >&2; exec "$guard" -- "$@""#;
    home.holds_back(&home.in_a_namespace(full).unwrap(), "its file system is read-only");
}

#[test]
fn a_full_disk_holds_back_what_is_flagged_and_nothing_else() {
    let home = Home::that_asks_nobody();
    std::fs::create_dir_all(home.data()).unwrap();
    let script = r#"guard=$0 data=$1; shift; mount -t tmpfs -o size=256k none "$data"; "$guard" -- true
        cat /dev/zero > "$data/fill" 2> /dev/null || true; "$guard" -- true; exec "$guard" -- "$@""#;
    let Some(output) = home.in_a_namespace(script) else { return };
    home.holds_back(&output, "no space left");
}

#[test]
fn files_that_another_account_left_behind_are_named_with_their_owner() {
    let home = Home::that_asks_nobody();
    assert!(home.run(&["true"]).status.success());
    if !nix::unistd::geteuid().is_root() {
        std::fs::set_permissions(home.paths().database(), std::fs::Permissions::from_mode(0o000)).unwrap();
        home.holds_back(&home.run(&FLAGGED), "correct its permissions");
        return;
    }
    // Everything belongs to nobody except the record, which belongs to root.
    let nobody = 65_534;
    for path in [
        "",
        "home",
        "home/.local",
        "home/.local/share",
        "home/.local/share/guard",
        "home/.local/share/guard/guard.key",
        "work",
    ] {
        std::os::unix::fs::chown(home.path(path), Some(nobody), None).unwrap();
    }
    let as_nobody = |words: &[&str]| {
        // The directory of the test binary may be closed to other accounts.
        let guard = home.path("bin/guard");
        if !guard.exists() {
            crate::harness::program::copy(env!("CARGO_BIN_EXE_guard"), &guard);
        }
        let mut command = home.program(guard.to_str().unwrap());
        command.arg("--").args(words).uid(nobody).gid(nobody);
        command.output().unwrap()
    };
    home.holds_back(&as_nobody(&FLAGGED), "guard.db is owned by root");
    assert!(as_nobody(&["true"]).status.success());
    std::os::unix::fs::chown(home.data(), Some(0), None).unwrap();
    home.holds_back(&as_nobody(&FLAGGED), "share/guard is owned by root");
}

#[test]
fn an_answer_to_a_host_is_a_row_of_its_own_kind_and_no_intent() {
    let home = Home::new();
    let store = home.store();
    let invocation = invocation(&["true"]);
    let asked = IntentRow { settled: RecordedDecision::Asked, process: Some("7.1.x"), ..plain(&invocation) };
    let asked = store.advised(&asked).unwrap().row().unwrap();
    let denied = Refusal::Rule { rule: "x.y".to_owned(), reason: "no".to_owned() };
    let refused =
        IntentRow { settled: RecordedDecision::Refused(&denied), parent: Some("7.1.x"), ..plain(&invocation) };
    let refused = store.advised(&refused).unwrap().row().unwrap();
    let allowed = IntentRow { parent: Some("7.2.x"), ..plain(&invocation) };
    let allowed = store.advised(&allowed).unwrap().row().unwrap();

    let entry = |id| store.entry(id).unwrap();
    for (id, decision, settled) in
        [(asked, "ask", None), (refused, "deny", Some("denied-by-rule")), (allowed, "allow", Some("score"))]
    {
        let entry = entry(id);
        assert_eq!((entry.kind, entry.decision.as_deref()), (RowKind::Advised, Some(decision)));
        assert!(entry.result.is_none() && entry.settled_by.is_some() == settled.is_some(), "{entry:?}");
    }
    assert_eq!((entry(asked).about, entry(refused).about, entry(allowed).about), (None, Some(asked), None));
    assert_eq!(entry(refused).words.as_deref(), Some("x.y"));
    // A denial by the host's rules counts as a denial of the session, and a question of the host as a prompt.
    assert_eq!(store.standing(&invocation.session.root, Timestamp::now()).unwrap().denials_in_a_row, 1);
    assert_eq!(store.standing(&invocation.session.root, Timestamp::now()).unwrap().prompts_last_hour, 1);
    let audit = store.verify().unwrap();
    assert_eq!((audit.rows, audit.faults.len()), (3, 0));
    let log = home.prints(&["log", "--json", "--decision", "ask"], 0);
    assert!(log.lines().count() == 1 && log.contains(r#""kind":"advised""#), "{log}");
    home.sql("UPDATE record SET decision = 'allow' WHERE id = 1");
    assert_eq!(store.verify().unwrap().faults, [RecordFault::Broken { row: 1 }]);
}

#[test]
fn a_record_of_what_was_flagged_leaves_out_what_nothing_was_said_of() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "record = \"flagged\"\n").unwrap();
    assert!(home.run(&["true"]).status.success());
    assert!(!home.paths().database().exists());
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert!(home.run(&["true"]).status.success());
    std::fs::write(home.path("work/new"), "").unwrap();
    assert!(home.run(&["chmod", "+x", "new"]).status.success());
    let said = home.prints(&["log", "--json"], 0);
    let rows: Vec<serde_json::Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows[0]["decision"], "deny");
    assert!(rows.iter().all(|row| row["findings"].is_array() && row["command"] != "true"), "{said}");
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_search_by_time_finds_its_rows_among_many() {
    let home = Home::new();
    let store = home.store();
    let invocation = invocation(&["true"]);
    let second = |number: i64| Timestamp::from_second(1_800_000_000 + number * 3600).unwrap();
    for number in 0..200 {
        let _ = store.intent(&IntentRow { at: second(number), ..plain(&invocation) }).unwrap();
    }
    for (from, to) in [(0, 200), (50, 60), (199, 200), (0, 1), (120, 120)] {
        let filter = Filter { since: Some(second(from)), until: Some(second(to)), ..Filter::default() };
        assert_eq!(store.find(&filter).unwrap(), (from + 1..=to).collect::<Vec<_>>(), "{from} {to}");
    }
    let newest = Filter { until: Some(second(100)), limit: Some(3), ..Filter::default() };
    assert_eq!(store.find(&newest).unwrap(), [98, 99, 100]);
}

#[test]
fn the_record_is_where_data_of_the_account_belongs() {
    let home = Home::new();
    let (data, other) = (home.path("data"), home.path("other"));
    let runs = |set: &[(&str, &std::path::Path)]| {
        let mut run = home.guard(&["-c", "true"]);
        run.env_remove("HOME").env_remove("XDG_DATA_HOME").envs(set.iter().map(|(name, value)| (*name, *value)));
        assert!(run.output().unwrap().status.success(), "{set:?}");
    };
    runs(&[("HOME", &data)]);
    assert!(data.join(guard_system::DATA).join("guard/guard.db").exists());
    // A relative path is ignored.
    runs(&[("HOME", &other), ("XDG_DATA_HOME", std::path::Path::new("relative"))]);
    assert!(other.join(guard_system::DATA).join("guard/guard.db").exists());
    if !guard_system::IS_MACOS {
        let named = home.path("named");
        runs(&[("HOME", &other), ("XDG_DATA_HOME", &named)]);
        assert!(named.join("guard/guard.db").exists());
        let alone = home.path("alone");
        runs(&[("HOME", std::path::Path::new("")), ("XDG_DATA_HOME", &alone)]);
        assert!(alone.join("guard/guard.db").exists());
    }
}
