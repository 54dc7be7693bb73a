//! Tests a program that is replaced while the question waits: the approval does not cover the new program, and it does
//! not run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::Terminal;
use crate::queue::stage::{Asker, in_session, person};

/// Writes another program to this file, which leaves a different mark.
fn put(home: &Home, file: &Path) {
    let script = format!("#!/bin/sh\necho ran > '{}'\n", home.path("other-ran").display());
    let other = home.path("other");
    std::fs::write(&other, script).unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(other, file).unwrap();
}

/// The name of a way to replace the program, and the function that does it.
type Swap = (&'static str, fn(&Home));

/// Every way to make `git` mean another program.
const SWAPS: [Swap; 4] = [
    ("renamed over it", |home| put(home, &home.path("bin/git"))),
    ("written over it in place", |home| {
        let script = format!("#!/bin/sh\necho ran > '{}'\n", home.path("other-ran").display());
        std::fs::write(home.path("bin/git"), script).unwrap();
    }),
    ("planted in a directory that PATH names before it", |home| put(home, &home.path("first/git"))),
    ("linked in its place", |home| {
        put(home, &home.path("elsewhere"));
        std::fs::remove_file(home.path("bin/git")).unwrap();
        std::os::unix::fs::symlink(home.path("elsewhere"), home.path("bin/git")).unwrap();
    }),
];

/// Creates a home in which `git` is a script or a native program before the swap.
fn home(is_script: bool) -> Home {
    let home = Home::new();
    if !is_script {
        std::fs::copy("/bin/true", home.path("bin/git")).unwrap();
    }
    std::fs::create_dir(home.path("first")).unwrap();
    home
}

/// Puts a directory before the others on PATH, which is empty until a swap.
fn with_first(home: &Home, mut command: Command) -> Command {
    let path = format!("{}:{}:/usr/bin:/bin", home.path("first").display(), home.path("bin").display());
    command.env("PATH", path);
    command
}

/// Returns the ways to request the flagged command, and whether its program is a script.
fn entries() -> [(Vec<String>, bool); 3] {
    let words = FLAGGED.map(str::to_owned);
    let argv = [vec!["--".to_owned()], words.to_vec()].concat();
    [(argv.clone(), true), (argv, false), (vec!["-c".to_owned(), words.join(" ")], true)]
}

#[track_caller]
fn nothing_ran(home: &Home, how: &str, said: &str) {
    assert_eq!((home.ran(), home.path("other-ran").exists()), (0, false), "{how}: {said}");
}

#[test]
fn a_program_that_is_swapped_while_its_card_is_up_does_not_run() {
    for (arguments, is_script) in entries() {
        for (how, swap) in SWAPS {
            let home = home(is_script);
            let mut command = home.guard(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env_remove("GUARD_WAIT");
            let mut terminal = Terminal::spawn(with_first(&home, command));
            terminal.wait_for("no answer means no");
            terminal.read_question();
            swap(&home);
            terminal.send("y");
            let status = terminal.wait_exit();
            let screen = terminal.screen();
            nothing_ran(&home, how, &screen);
            assert_eq!(status.code(), Some(126), "{how}: {screen}");
        }
    }
}

#[test]
fn a_program_that_is_swapped_while_its_request_waits_does_not_run() {
    for (arguments, is_script) in entries() {
        for (how, swap) in SWAPS {
            let home = home(is_script);
            let mut command = in_session(&home, "\"$0\" \"$@\"; exit $?");
            command.args(&arguments);
            let asker = Asker::start(with_first(&home, command));
            let id = asker.id.clone();
            let mut terminal = person(&home, &["approve", &id]);
            terminal.wait_for("no answer means no");
            swap(&home);
            terminal.read_question();
            terminal.send("y");
            terminal.wait_exit();
            let (status, said) = asker.end();
            nothing_ran(&home, how, &said);
            assert_eq!(status.code(), Some(126), "{how}: {said}");
        }
    }
}

#[test]
fn what_a_glob_matches_only_after_the_question_is_not_deleted() {
    for line in ["rm -rf no*", "cd . && rm -rf ./no?e*", "for each in n*; do rm -rf $each; done"] {
        let home = Home::new();
        std::fs::create_dir(home.path("work/notes")).unwrap();
        std::fs::write(home.path("work/notes/one"), "1\n").unwrap();
        let mut command = home.guard(&["-c", line]);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env_remove("GUARD_WAIT");
        let mut terminal = Terminal::spawn(with_first(&home, command));
        terminal.wait_for("no answer means no");
        terminal.read_question();
        std::fs::create_dir(home.path("work/novel")).unwrap();
        terminal.send("y");
        let status = terminal.wait_exit();
        let screen = terminal.screen();
        assert_eq!(status.code(), Some(126), "{line}: {screen}");
        assert!(screen.contains("changed after") && screen.contains(" matches"), "{line}: {screen}");
        assert!(home.path("work/novel").exists() && home.path("work/notes/one").exists(), "{line}: {screen}");
    }
}
