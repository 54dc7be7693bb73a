//! Tests typing mistakes: guard reports them with the probable intention, and judges or runs nothing in their place.

use crate::harness::home::Home;
use crate::harness::pty::{OnTerminal, Terminal, ended};

fn told(home: &Home, arguments: &[&str]) -> String {
    let output = home.guard(arguments).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(125), &b""[..]), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_command_or_a_misspelled_verb_runs_nothing_and_names_what_was_meant() {
    let home = Home::that_asks_nobody();
    for (arguments, meant) in [
        (&["git", "push", "--force"][..], "guard -- git push --force"),
        (&["git push --force && ls"], "guard -c 'git push --force && ls'"),
        (&["chek", "git push --force"], "guard check 'git push --force'"),
        (&["aprove", "k7m2"], "guard approve k7m2"),
    ] {
        let said = told(&home, arguments);
        assert!(said.ends_with(&format!("did you mean: {meant}\n")), "{said}");
    }
    assert_eq!(home.ran(), 0);
    // The suggestion is on a separate line, also in a narrow window.
    let mut terminal = Terminal::spawn_with(home.guard(&["rm", "-rf", "build"]), 40, 24, OnTerminal::ALL);
    assert_eq!(ended(terminal.wait_exit()), "exit 125");
    let screen = terminal.screen();
    assert!(screen.lines().any(|line| line == "  did you mean: guard -- rm -rf build"), "{screen}");
}

#[test]
fn a_misspelled_option_is_not_judged_as_a_command() {
    let home = Home::new();
    for arguments in [&["check", "--jsn"][..], &["check", "--jsn", "ls"], &["explain", "--json"]] {
        assert!(told(&home, arguments).contains("unexpected argument"), "{arguments:?}");
    }
    assert!(told(&home, &["check", "--jsn", "ls"]).contains("'--json'"));
    // After `--`, words that begin with a dash are judged as arguments.
    assert!(home.prints(&["check", "--", "--jsn"], 0).starts_with("allow"));
}

#[test]
fn a_syntax_error_is_named_as_one_and_still_asked_about() {
    let home = Home::new();
    let said = home.prints(&["check", "if then"], 1);
    assert!(said.starts_with("ask  syntax error (tier 3, ") && !said.contains("high"), "{said}");
    let mut terminal = Terminal::spawn(home.guard(&["-c", "if then"]));
    terminal.wait_for("guard: this is a command with a syntax error");
    terminal.wait_for("then Enter (30 s):");
    terminal.read_question();
    terminal.send("\n");
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
}

#[test]
fn what_nobody_reads_on_is_no_failure() {
    let home = Home::new();
    std::fs::create_dir(home.path("home/.claude")).unwrap();
    for words in ["demo --auto", "learn", "trust --list", "setup --yes --dry-run", "install claude --dry-run", "stats"]
    {
        let script = format!("set -o pipefail; '{}' {words} | true", env!("CARGO_BIN_EXE_guard"));
        let output = home.program("bash").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("pipe"), "{words}: {said}");
    }
}

#[test]
fn completions_and_pages_come_with_the_program() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.prints(&["completions", shell], 0).contains("complete --"), "{shell}");
    }
    for line in home.prints(&["man"], 0).lines() {
        let page = line.split_whitespace().next().unwrap();
        let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(page);
        assert!(home.prints(&["man", page], 0) == std::fs::read_to_string(kept).unwrap(), "{page}");
    }
    assert!(told(&home, &["man", "guard-nothing"]).contains("; guard man lists the pages"));
}

#[test]
fn help_is_in_groups_and_topics_are_told() {
    let home = Home::new();
    let whole = home.prints(&["--help"], 0);
    for word in ["guard -- rm -rf build", "\nAnswer\n", "  review ", "guard help TOPIC", "\nExit codes\n"] {
        assert!(whole.contains(word), "{word}:\n{whole}");
    }
    assert_eq!(whole, home.prints(&["help"], 0));
    assert!(home.prints(&["help", "files"], 0).contains("guard.db"));
    assert!(home.prints(&["help", "review"], 0).contains("full-screen view"));
}

#[test]
fn the_version_tells_how_it_was_built() {
    let home = Home::new();
    let version = home.prints(&["--version"], 0);
    let told: serde_json::Value = serde_json::from_str(&home.prints(&["--version", "--json"], 0)).unwrap();
    assert_eq!(format!("guard {}\n", told["version"].as_str().unwrap()), version);
    for (part, field, words) in
        [("build", "target", std::env::consts::ARCH), ("build", "rustc", "rustc 1."), ("build", "linked", "ic")]
    {
        assert!(told[part][field].as_str().unwrap().contains(words), "{field}: {told}");
    }
    let kept = std::path::Path::new(env!("CARGO_BIN_EXE_guard")).parent().unwrap().file_name().unwrap();
    assert_eq!(told["build"]["profile"].as_str(), kept.to_str());
    assert!(told["features"]["rules"].as_u64().unwrap() > 100, "{told}");
    assert_eq!(told["features"]["shells"], serde_json::json!(["bash", "zsh", "fish"]));
}

#[test]
fn a_request_may_be_named_by_its_beginning() {
    let home = Home::new();
    let mut ids: Vec<String> = Vec::new();
    for branch in ["one", "two"] {
        let mut waits = home.guard(&["--no-wait", "--", "git", "push", "--force", "origin", branch]);
        assert_eq!(waits.env_remove("GUARD_WAIT").output().unwrap().status.code(), Some(75));
    }
    for line in home.prints(&["pending", "--json"], 0).lines() {
        let pending: serde_json::Value = serde_json::from_str(line).unwrap();
        ids.push(pending["id"].as_str().unwrap().to_owned());
    }
    let (one, two) = (&ids[0], &ids[1]);
    let unique = (1..=one.len()).find(|length| !two.starts_with(&one[..*length])).unwrap();
    let told = |id: &str| {
        let output = home.guard(&["wait", "--timeout", "0", id]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(told(&one[..unique]), (Some(75), format!("guard: request {one}: not answered yet\n")));
    let (code, said) = told("");
    assert_eq!(code, Some(125), "{said}");
    if unique > 1 {
        assert!(told(&one[..unique - 1]).1.contains("ambiguous request ID"));
    }
}

#[test]
fn the_demonstration_asks_nobody_through_a_pipe_and_leaves_nothing() {
    let home = Home::new();
    // The demonstration shows real output of git.
    std::fs::remove_file(home.path("bin/git")).unwrap();
    let shown = home.prints(&["demo", "--auto"], 0);
    for part in
        ["1. Reading is safe: it runs", "denied by rule demo.deploy", "ask  critical", "What next:", "guard setup"]
    {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert_eq!(shown.matches("(exit code 126)").count(), 3, "{shown}");
    assert!(!home.data().join("guard.db").exists(), "the account's own record is not written to");
}

#[test]
fn a_page_is_read_on_a_terminal_and_is_source_elsewhere() {
    let home = Home::new();
    // First with a program that formats the page, then without one.
    home.stand_in("man", "echo \"formatted $1 $(head -c 3 \"$2\")\"");
    let on_a_terminal = |command: std::process::Command| {
        let mut command = command;
        command.env("TERM", "xterm-256color").env("PAGER", "cat");
        let mut terminal =
            crate::harness::pty::Terminal::spawn_with(command, 80, 50, crate::harness::pty::OnTerminal::ALL);
        assert_eq!(terminal.wait_exit().code(), Some(0));
        String::from_utf8_lossy(&terminal.raw).into_owned()
    };
    let said = on_a_terminal(home.guard(&["man", "guard-record"]));
    assert!(said.contains("formatted -l .Dd"), "{said}");
    assert!(on_a_terminal(home.guard(&["man", "guard-record", "--roff"])).contains(".Sh NAME"));
    let mut alone = home.guard(&["man", "guard-record"]);
    alone.env("PATH", "/nonexistent");
    let said = on_a_terminal(alone);
    assert!(said.contains("NAME") && !said.contains(".Sh") && !said.contains("\\f"), "{said}");
    let wrong = home.guard(&["man", "guard-recrd"]).output().unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean guard-record?"), "{wrong:?}");
    let wrong = home.guard(&["doctor", "agent.claud"]).output().unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean: guard doctor agent.claude"), "{wrong:?}");
    let wrong = home.guard(&["help", "xx"]).output().unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("topics: start, tiers"), "{wrong:?}");
    let wrong = home.guard(&["push"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&wrong.stderr).contains("did you mean"), "{wrong:?}");
    let help = home.prints(&["--help"], 0);
    assert!(help.contains("\n  guard -- rm -rf build "), "{help}");
}

#[test]
fn a_grant_that_is_refused_for_a_tool_says_that_it_moves_money() {
    let home = Home::new();
    let input = r#"{"amount":5,"currency":"EUR","to":"ada"}"#;
    let mut command = home.guard(&["allow", "add", "--tool", "payment.send", "--input", input]);
    command.env("TERM", "xterm-256color");
    let mut terminal =
        crate::harness::pty::Terminal::spawn_with(command, 120, 30, crate::harness::pty::OnTerminal::ALL);
    terminal.wait_for("the call moves money: a person decides on every payment");
    assert_eq!(terminal.wait_exit().code(), Some(126));
}
