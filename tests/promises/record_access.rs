//! Tests reading, searching and checking the record, and giving and revoking grants.

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::{OnTerminal, Terminal, ended};

#[test]
fn a_row_that_was_edited_removed_or_moved_is_named() {
    let edits = [
        ("UPDATE record SET command = 'ls' WHERE id = 2", "row 2 does not match the hash chain"),
        ("UPDATE record SET decision = 'deny' WHERE id = 3", "row 3 does not match the hash chain"),
        ("DELETE FROM record WHERE id = 2", "row 2 was removed"),
        ("DELETE FROM record WHERE id < 3", "rows 1 to 2 were removed"),
        (
            "UPDATE record SET id = 9 WHERE id = 2; UPDATE record SET id = 2 WHERE id = 3; \
             UPDATE record SET id = 3 WHERE id = 9",
            "row 2 does not match the hash chain",
        ),
    ];
    for (edit, said) in edits {
        let home = Home::new();
        for word in ["one", "two", "three", "four"] {
            assert!(home.run(&["echo", word]).status.success());
        }
        let whole = home.prints(&["verify"], 0);
        assert!(whole.starts_with("4 rows, the chain is intact.\nHead: row 4, "), "{whole}");
        home.sql(edit);
        let broken = home.prints(&["verify"], 1);
        assert!(broken.starts_with(said), "{edit}: {broken}");
    }
}

#[test]
fn verifying_says_what_it_cannot_show() {
    let home = Home::new();
    for _ in 0..3 {
        home.run(&["true"]);
    }
    let head = home.prints(&["verify"], 0).lines().nth(1).unwrap().to_owned();
    home.sql("DELETE FROM record WHERE id = 3");
    let cut = home.prints(&["verify"], 0);
    assert!(cut.contains("It does not detect rows removed at the end") && cut.contains("keep the head elsewhere"));
    assert_ne!(cut.lines().nth(1).unwrap(), head);
}

#[test]
fn a_head_that_was_kept_elsewhere_shows_a_cut_tail_and_a_rebuilt_chain() {
    let home = Home::new();
    assert_eq!(home.guard(&["verify", "--head", "3"]).output().unwrap().status.code(), Some(125));
    for word in ["one", "two", "three"] {
        home.run(&["echo", word]);
    }
    let head: serde_json::Value = serde_json::from_str(&home.prints(&["verify", "--json"], 0)).unwrap();
    let kept = format!("{}:{}", head["head"]["row"], head["head"]["hash"].as_str().unwrap());
    let printed = home.prints(&["verify"], 0).lines().nth(1).unwrap().replace("Head: ", "");
    for kept in [&kept, &printed] {
        assert!(home.prints(&["verify", "--head", kept], 0).contains("is part of this chain"), "{kept}");
    }
    home.run(&["echo", "four"]);
    assert!(home.prints(&["verify", "--head", &kept, "--json"], 0).contains(r#""kept_head":"holds""#));
    // Without the kept head this is an intact record.
    home.sql("DELETE FROM record WHERE id >= 3");
    home.prints(&["verify"], 0);
    assert!(home.prints(&["verify", "--head", &kept], 1).contains("rows were removed at its end, or it was rebuilt"));
    home.run(&["echo", "another three"]);
    home.prints(&["verify"], 0);
    assert!(home.prints(&["verify", "--head", &kept, "--json"], 1).contains(r#""kept_head":"gone""#));
}

#[test]
fn nothing_is_made_by_looking() {
    let home = Home::new();
    assert_eq!(home.prints(&["log"], 0), "The record is empty.\n");
    assert_eq!(home.prints(&["verify"], 0), "The record is empty.\n");
    assert_eq!(home.prints(&["allow", "list"], 0), "No active grants.\n");
    assert!(!home.path("home/.local").exists());
    home.store();
    assert_eq!(home.prints(&["log", "--tier", "3"], 0), "The record is empty.\n");
}

#[test]
fn the_log_tells_what_was_decided_and_hides_secrets() {
    let home = Home::new();
    assert!(home.run(&["echo", "hello"]).status.success());
    assert!(home.guard(&["-c", "PGPASSWORD=hunter2x true"]).output().unwrap().status.success());
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));

    let table = home.prints(&["log"], 0);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[1].ends_with("echo hello") && lines[2].ends_with("PGPASSWORD=*** true"), "{table}");
    assert!(lines[3].contains("deny") && lines[3].contains("git push --force origin main"), "{table}");
    assert!(!table.contains('\x1b') && !table.contains("hunter2x"));

    let rows: Vec<serde_json::Value> =
        home.prints(&["log", "--json"], 0).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |row: usize, field: &str| rows[row][field].clone();
    assert_eq!((of(0, "decision"), of(2, "decision")), ("allow".into(), "deny".into()));
    assert_eq!((of(1, "redacted"), of(2, "tier")), (true.into(), 3.into()));
    assert_eq!(of(2, "settled_by"), "no-one-to-ask");
    assert_eq!(of(2, "findings")[0]["rule"], "git.push-force");

    let count = |filters: &[&str]| home.prints(&[&["log", "--json"], filters].concat(), 0).lines().count();
    assert_eq!(count(&["--tier", "3"]), 1);
    assert_eq!(count(&["--tier", "0-2"]), 2);
    assert_eq!(count(&["--decision", "allow"]), 2);
    assert_eq!(count(&["--command", "PUSH"]), 1);
    assert_eq!(count(&["--since", "1h"]), 3);
    assert_eq!(count(&["--until", "1h"]), 0);
    assert_eq!(count(&["--directory", "."]), 3);
    assert_eq!(count(&["--directory", "elsewhere"]), 0);
    // The former name of the option, which no help text shows.
    assert_eq!(count(&["--folder", "."]), 3);
    assert_eq!(count(&["--folder", "elsewhere"]), 0);
    assert!(!home.prints(&["log", "--help"], 0).contains("folder"));
    assert_eq!(count(&["-n", "2"]), 2);
    assert!(home.prints(&["log", "show", "3"], 0).contains("git.push-force (tier 3): "));
    assert!(home.guard(&["log", "show", "4"]).output().unwrap().status.code() == Some(125));
}

#[test]
fn a_row_that_is_not_there_is_told_with_what_is() {
    let home = Home::new();
    let said = |words: &[&str]| {
        let output = home.guard(&[&["log", "show"], words].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{words:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(said(&["1"]), "guard: the record has no row 1; it is empty\n");
    for word in ["one", "two"] {
        assert!(home.run(&["echo", word]).status.success());
    }
    assert_eq!(said(&["3"]), "guard: the record has no row 3; the newest is 2 (guard log lists the rows)\n");
    assert!(said(&["x"]).contains("expected the number of a row, as guard log lists it"));
    assert!(home.prints(&["log", "show"], 0).contains("echo two"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    for _ in 0..40 {
        assert!(home.run(&["true", &"x".repeat(4000)]).status.success());
    }
    for words in ["log -n 0", "log -n 0 --json", "log show", "verify", "allow list"] {
        let script = format!("set -o pipefail; '{}' {words} | true", env!("CARGO_BIN_EXE_guard"));
        let output = home.program("bash").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words}");
        assert!(output.status.success(), "{words}");
    }
    home.sql("DELETE FROM record WHERE id = 2");
    let script = format!("set -o pipefail; '{}' verify | true", env!("CARGO_BIN_EXE_guard"));
    assert_eq!(home.program("bash").args(["-c", &script]).status().unwrap().code(), Some(1));
}

#[test]
fn a_row_fits_the_terminal_and_hides_no_character() {
    let home = Home::new();
    let odd =
        "echo \u{202e}\x1b[31m 日本語日本語日本語 one\ntwo\tthree four five six seven eight nine ten eleven twelve";
    assert!(home.run(&["true", odd]).status.success());
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    let table = home.prints(&["log"], 0);
    assert!(table.contains("⟨U+202E⟩⟨ESC⟩[31m") && table.contains("one↵two⇥ three"), "{table}");
    assert!(table.contains("git push --force origin main  (there is no terminal)"), "{table}");
    for (columns, by) in [(40, false), (80, false), (120, true)] {
        let mut command = home.guard(&["log"]);
        command.env("TERM", "xterm-256color").env("NO_COLOR", "1").env("LANG", "C.UTF-8");
        let mut terminal = Terminal::spawn_with(command, columns, 24, OnTerminal::ALL);
        assert_eq!(ended(terminal.wait_exit()), "exit 0");
        let screen = terminal.screen();
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!((lines.len(), lines[0].contains("SETTLED BY")), (3, by), "{columns}: {screen}");
        assert!(lines[1].contains('…') && !terminal.raw.contains(&0x1b), "{columns}: {screen}");
    }
}

#[test]
fn a_row_tells_how_long_ago_it_was_what_it_ended_with_how_long_it_took_and_where() {
    let home = Home::new();
    let there = home.path("home/projects/a-long-name-of-a-project");
    std::fs::create_dir_all(&there).unwrap();
    let output = home.guard(&["-c", "sh -c 'exit 3'; exit 3"]).current_dir(&there).env("PWD", &there).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let mut command = home.guard(&["log"]);
    command.env("TERM", "dumb").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn_with(command, 120, 24, OnTerminal::ALL);
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    let screen = terminal.screen();
    let row = screen.lines().nth(1).unwrap();
    assert!(row.contains("just now") || row.contains(" s ago"), "{screen}");
    assert!(row.contains("…g-name-of-a-project  "), "{screen}");
    assert!(screen.lines().next().unwrap().contains("TIER  EXIT  TOOK    DIRECTORY"), "{screen}");
    let table = home.prints(&["log"], 0);
    assert!(table.contains("  ~/projects/a-long-name-of-a-project  "), "{table}");
    let mut narrow = home.guard(&["log"]);
    narrow.env("TERM", "dumb");
    let mut terminal = Terminal::spawn_with(narrow, 80, 24, OnTerminal::ALL);
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert!(terminal.screen().contains("exit 3  in ~"), "{}", terminal.screen());
}

#[test]
fn what_guard_did_not_wait_for_is_said_to_be_unknown_and_not_left_blank() {
    let home = Home::new();
    // guard executes the first command in its place, waits for the second, which a person allows, and refuses the
    // third.
    assert!(home.run(&["true"]).status.success());
    let mut command = home.guard(&["--"]);
    command.args(FLAGGED).env("TERM", "xterm-256color").env_remove("GUARD_WAIT");
    let mut terminal = Terminal::spawn_with(command, 100, 40, OnTerminal::ALL);
    terminal.wait_for("answer means no");
    terminal.read_question();
    terminal.send("y");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    let table = home.prints(&["log"], 0);
    let columns = |row: usize| {
        let (head, line) = (table.lines().next().unwrap(), table.lines().nth(row).unwrap());
        let (exit, directory) = (head.find("EXIT").unwrap(), head.find("DIRECTORY").unwrap());
        line[exit..directory].split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(columns(1), ["-", "-"], "{table}");
    assert!(columns(2).len() == 3 && columns(2)[0] == "0", "{table}");
    assert_eq!(columns(3), [""; 0], "{table}");
    let whole = |row: &str| home.prints(&["log", "show", row], 0);
    assert!(whole("1").contains("\nresult      not known: guard did not wait"), "{}", whole("1"));
    assert!(!whole("2").contains("not known") && !whole("3").contains("not known"));
}

#[test]
fn a_long_record_is_read_in_a_pager_on_a_terminal_and_nowhere_else() {
    let home = Home::new();
    for _ in 0..12 {
        assert!(home.run(&["true"]).status.success());
    }
    home.stand_in(
        "pages",
        &format!("echo ran >> '{}'; echo \"LESS is $LESS\"; grep -c true", home.path("ran").display()),
    );
    let log = |words: &[&str], pager: &str, lines: u16, on: OnTerminal| {
        let mut command = home.guard(&[&["log"], words].concat());
        command.env("PAGER", pager).env("TERM", "xterm").env("NO_COLOR", "1");
        let mut terminal = Terminal::spawn_with(command, 80, lines, on);
        assert_eq!(ended(terminal.wait_exit()), "exit 0", "{words:?}");
        (terminal.screen(), home.ran())
    };
    let (screen, ran) = log(&[], "pages", 10, OnTerminal::ALL);
    assert!(ran == 1 && screen.contains("LESS is FRX") && screen.contains("\n12"), "{screen}");
    // No pager is used if the output fits, if no person reads it on a terminal, or if none is wanted.
    for (words, pager, lines, on) in [
        (&[][..], "pages", 24, OnTerminal::ALL),
        (&[], "cat", 10, OnTerminal::ALL),
        (&[], "", 10, OnTerminal::ALL),
        (&["--no-pager"], "pages", 10, OnTerminal::ALL),
        (&["--json"], "pages", 10, OnTerminal::ALL),
        (&[], "pages", 10, OnTerminal { stdin: false, ..OnTerminal::ALL }),
        (&[], "pages", 10, OnTerminal { stdout: false, ..OnTerminal::ALL }),
    ] {
        assert_eq!(log(words, pager, lines, on).1, 1, "{words:?} {pager} {lines} {on:?}");
    }
    assert_eq!(home.prints(&["log"], 0).lines().count(), 13);
    // A missing pager hides nothing, and leaving a pager early is not an error.
    assert!(log(&[], "no-such-pager", 10, OnTerminal::ALL).0.contains("12  "));
    home.stand_in("pages", "head -n 2 >/dev/null; echo left");
    assert!(log(&["-n", "0"], "pages", 10, OnTerminal::ALL).0.contains("left"));
}

#[test]
fn less_shows_the_newest_rows_first_and_gives_the_terminal_back() {
    let home = Home::new();
    if !crate::harness::tools::is_installed("less") {
        return;
    }
    for number in 0..40 {
        assert!(home.run(&["true", &format!("row-{number}")]).status.success());
    }
    let mut command = home.guard(&["log"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::spawn_with(command, 80, 12, OnTerminal::ALL);
    terminal.wait_for("row-39");
    assert!(!terminal.screen().contains("row-7"), "{}", terminal.screen());
    terminal.send("g");
    terminal.wait_for("row-0");
    // The pager handles Ctrl-C, and discards the keys that were typed with it.
    terminal.send("\x03");
    // The screen does not show when it has done so, so the key is pressed until it has an effect.
    for _ in 0..60 {
        terminal.settle(std::time::Duration::from_millis(500));
        if terminal.screen().contains("row-39") {
            break;
        }
        terminal.send("G");
    }
    terminal.wait_for("row-39");
    terminal.send("q");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert_eq!(terminal.modes().local_flags, terminal.before.local_flags);
}

#[test]
fn a_directory_is_found_by_the_name_that_it_had_in_the_shell() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("work/real/deep")).unwrap();
    std::os::unix::fs::symlink(home.path("work/real"), home.path("work/link")).unwrap();
    let link = home.path("work/link");
    let there = |words: &[&str]| {
        let mut command = home.guard(words);
        command.current_dir(&link).env("PWD", &link);
        String::from_utf8(command.output().unwrap().stdout).unwrap().lines().count()
    };
    assert_eq!(there(&["--", "true"]), 0);
    for (directory, found) in [(".", 1), ("..", 1), ("deep/..", 1), ("deep", 0), ("../link/", 1), ("../real", 0)] {
        assert_eq!(there(&["log", "--json", "--directory", directory]), found, "{directory}");
    }
    assert_eq!(there(&["log", "--json", "--directory", link.to_str().unwrap()]), 1);
}

#[test]
fn a_long_record_says_that_there_is_more_and_only_to_a_person() {
    let home = Home::new();
    for _ in 0..3 {
        assert!(home.run(&["true"]).status.success());
    }
    assert_eq!(home.prints(&["log", "-n", "2"], 0).lines().count(), 3);
    for (count, more) in [("2", true), ("3", false)] {
        let mut terminal = Terminal::spawn(home.guard(&["log", "-n", count]));
        assert_eq!(ended(terminal.wait_exit()), "exit 0");
        assert_eq!(terminal.screen().contains("More rows exist"), more, "{}", terminal.screen());
    }
}

#[test]
fn a_grant_is_given_by_a_person_who_read_what_it_covers() {
    let home = Home::new();
    let add = ["allow", "add", "--always", "git push --force origin main"];
    let output = home.guard(&add).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("only a person at their own terminal can add a grant"));

    for (answer, code) in [("\n", "exit 126"), ("n\n", "exit 126"), ("y\n", "exit 0")] {
        let mut terminal = Terminal::spawn(home.guard(&add));
        terminal.wait_for("[y/N]");
        assert!(terminal.screen().contains("exactly `git push --force origin main`"), "{}", terminal.screen());
        terminal.send(answer);
        assert_eq!(ended(terminal.wait_exit()), code);
    }
    let listed = home.prints(&["allow", "list"], 0);
    assert!(listed.contains("1  exactly: git push --force origin main"), "{listed}");
    assert!(home.run(&FLAGGED).status.success());
    assert_eq!(home.ran(), 1);
    assert!(home.prints(&["log", "--json", "-n", "1"], 0).contains(r#""settled_by":"grant","grant":"1""#));

    home.prints(&["allow", "remove", "1"], 0);
    assert_eq!(home.prints(&["allow", "list"], 0), "No active grants.\n");
    assert_eq!(home.run(&FLAGGED).status.code(), Some(126));
    assert_eq!(home.ran(), 1);
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_grant_for_a_directory_holds_there_and_below_however_the_directory_was_named() {
    let home = Home::new();
    for directory in ["work/in/deep", "work/out"] {
        std::fs::create_dir_all(home.path(directory)).unwrap();
    }
    let mut add = home.guard(&["allow", "add", "--always", "--directory", "./../in/", "git push --force origin main"]);
    add.current_dir(home.path("work/out"));
    let mut terminal = Terminal::spawn(add);
    terminal.wait_for("[y/N]");
    terminal.send("y\n");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    let run = |directory: &str| {
        let mut command = home.guard(&[&["--"], &FLAGGED[..]].concat());
        command.current_dir(home.path(directory)).output().unwrap().status.code()
    };
    assert_eq!(["work/in", "work/in/deep", "work/out", "work"].map(run), [Some(0), Some(0), Some(126), Some(126)]);
}

#[test]
fn no_grant_covers_tier_4_a_shell_an_interpreter_or_a_wrapper() {
    let home = Home::new();
    for command in ["rm -rf /", "bash -c 'git push --force'", "python3 -c 'print(1)'", "sudo git push --force"] {
        let mut terminal = Terminal::spawn(home.guard(&["allow", "add", "--always", command]));
        assert_eq!(ended(terminal.wait_exit()), "exit 126", "{command}: {}", terminal.screen());
    }
    assert!(!home.paths().database().exists());
}

#[test]
fn a_reader_who_stops_reading_is_no_fault() {
    let home = Home::new();
    for (verb, code) in [
        (&["check", "git push --force origin main"][..], 1),
        (&["check", "--json", "ls"], 0),
        (&["explain", "ls"], 0),
        (&["patterns", "list"], 0),
        (&["config", "show"], 0),
        (&["verify"], 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = home.guard(verb).stdout(writer).output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), errors.as_ref()), (Some(code), ""), "{verb:?}");
    }
}

#[test]
fn the_line_of_a_script_is_named_in_which_the_worst_stands() {
    let home = Home::new();
    let work = home.path("work");
    std::fs::create_dir_all(work.join("src")).unwrap();
    let mut script = "echo one\n".repeat(40);
    script.push_str("clean() {\n  rm -rf src\n}\n");
    std::fs::write(work.join("called.sh"), format!("{script}clean\n")).unwrap();
    std::fs::write(work.join("put-together.sh"), format!("{script}eval 'cl''ean'\n")).unwrap();
    std::fs::write(work.join("more.sh"), "echo one\n\nrm -rf src\n").unwrap();
    std::fs::write(work.join("sources.sh"), "source ./more.sh\n").unwrap();
    let lines =
        [("called", 42, "called"), ("put-together", 44, "put-together"), ("more", 3, "more"), ("sources", 3, "more")];
    for (run, line, of) in lines {
        let said = home.prints(&["explain", &format!("bash {run}.sh")], 1);
        assert!(said.contains(&format!("line {line} of {of}.sh runs rm\n")), "{run}: {said}");
    }
    assert!(!home.prints(&["explain", "rm -rf src"], 1).contains(" runs rm"));
}
