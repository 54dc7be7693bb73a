//! Tests that `guard setup` shows its changes, makes each once, and undoes them byte for byte.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::home::Home;
use crate::harness::pty::{OnTerminal, Terminal, ended};
use crate::harness::tools;

/// Returns every file below a home with its content, except guard's record.
fn files(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    fn look(directory: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all.insert(path.clone(), Vec::new());
                look(&path, all);
            } else {
                all.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    look(&home.path("home"), &mut all);
    let record = home.data();
    all.retain(|path, _| !path.starts_with(&record) && !record.starts_with(path));
    all
}

/// Creates a home with an agent, and shells whose start-up files end in different ways.
fn lived_in() -> Home {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.claude")).unwrap();
    std::fs::write(home.path("home/.claude/settings.json"), "{\n  \"model\": \"opus\" // mine\n}\n").unwrap();
    std::fs::write(home.path("home/.bashrc"), "PS1='$ '\nalias ll='ls -l'").unwrap();
    std::fs::write(home.path("home/.zshrc"), "").unwrap();
    home
}

fn on_a_terminal(home: &Home, arguments: &[&str]) -> Terminal {
    let mut command = home.guard(arguments);
    command.env("TERM", "xterm-256color").env("NO_COLOR", "1");
    Terminal::spawn_with(command, 120, 50, OnTerminal::ALL)
}

#[test]
fn what_is_found_is_set_up_tried_and_taken_back_to_the_byte() {
    let home = lived_in();
    let before = files(&home);
    let plan: Value = serde_json::from_str(&home.prints(&["setup", "--dry-run", "--json"], 0)).unwrap();
    assert_eq!(files(&home), before, "--dry-run changes nothing");
    let done: Value =
        serde_json::from_str(&home.prints(&["setup", "--yes", "--json", "--preset", "strict"], 0)).unwrap();
    assert_eq!(
        (&done["made"], &done["doctor"]["ok"], &done["doctor"]["set_up"]),
        (&true.into(), &true.into(), &true.into())
    );
    let changed: Vec<&str> =
        done["changes"].as_array().unwrap().iter().map(|one| one["file"].as_str().unwrap()).collect();
    let planned = plan["changes"].as_array().unwrap().len();
    assert_eq!(changed.len(), planned + 1, "the preset is one more than what a dry run without it shows: {changed:?}");
    for end in [".claude/settings.json", ".bashrc", ".config/guard/config.toml", "completions/guard", "man1/guard.1"] {
        assert!(changed.iter().any(|file| file.ends_with(end)), "{end}: {changed:?}");
    }
    let status: Value = serde_json::from_str(&home.prints(&["status", "--json"], 0)).unwrap();
    assert_eq!((&status["preset"], &status["agents"][0]), (&"strict".into(), &"claude".into()));
    assert_eq!(status["shells"][0][0], "bash");
    // A second run changes nothing.
    let once = files(&home);
    assert!(home.prints(&["setup", "--yes"], 0).contains("Everything is already set up."));
    assert_eq!(files(&home), once);

    let mut terminal = on_a_terminal(&home, &["setup", "--remove"]);
    terminal.wait_for("Undo these changes? [y/N]");
    terminal.send("y\n");
    terminal.wait_for("can now delete the program");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    let after = files(&home);
    for (path, bytes) in &before {
        assert_eq!(
            after.get(path).map(|bytes| String::from_utf8_lossy(bytes)),
            Some(String::from_utf8_lossy(bytes)),
            "{path:?}"
        );
    }
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "nothing is left behind");
}

#[test]
fn what_guard_install_wrote_is_taken_back_too() {
    let home = lived_in();
    let servers = "{\"mcpServers\": {\"x\": {\"command\": \"npx\", \"args\": [\"-y\", \"a\"]}}}\n";
    std::fs::write(home.path("home/.claude.json"), servers).unwrap();
    let before = files(&home);
    for what in [&["mcp", "--all"][..], &["shims"]] {
        home.prints(&[&["install", "--yes"], what].concat(), 0);
    }
    let links = home.data().join("shims");
    assert!(files(&home) != before && links.join("sh").is_symlink());
    let plan: Value = serde_json::from_str(&home.prints(&["setup", "--remove", "--dry-run", "--json"], 0)).unwrap();
    let of = |about: &str| plan["changes"].as_array().unwrap().iter().filter(|one| one["about"] == about).count();
    assert!(of("MCP servers") == 1 && of("shell link") >= 1 && links.exists(), "{plan}");

    let mut terminal = on_a_terminal(&home, &["setup", "--remove"]);
    terminal.wait_for("Undo these changes? [y/N]");
    terminal.send("y\n");
    terminal.wait_for("can now delete the program");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert!(terminal.screen().contains("Remove the lines with "), "{}", terminal.screen());
    assert_eq!(files(&home), before);
    assert!(!links.exists());
}

#[test]
fn what_a_person_wrote_since_stays_when_guard_goes() {
    let home = lived_in();
    home.prints(&["setup", "--yes", "--agents", "none"], 0);
    let path = home.path("home/.bashrc");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("init bash)"), "{text}");
    std::fs::write(&path, format!("# first\n{text}export EDITOR=vi\n")).unwrap();
    let mut terminal = on_a_terminal(&home, &["setup", "--remove"]);
    terminal.wait_for("[y/N]");
    terminal.send("y\n");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "# first\nPS1='$ '\nalias ll='ls -l'\nexport EDITOR=vi\n");
}

#[test]
fn a_person_is_asked_and_shown_every_change_before_it_is_made() {
    let home = lived_in();
    let before = files(&home);
    let by_number = [
        ("Enter keeps 2, q cancels:", "\n"),
        ("0 selects none, q cancels:", "\n"),
        ("In which of your shells", "\n"),
        ("How do you want to be notified", "\n"),
        ("Require a passphrase", "n\n"),
    ];
    let by_arrows = [
        ("> balanced", "\r"),
        ("> [x] Claude Code", "\r"),
        // The choices that --yes makes are preselected.
        ("> [x] bash", "\r"),
        ("> in a terminal, with guard review", "\r"),
        ("Require a passphrase", "n\n"),
    ];
    for (term, answers, answer) in [("dumb", by_number, "n\n"), ("xterm", by_arrows, "y\n")] {
        let mut command = home.guard(&["setup"]);
        command.env("TERM", term).env("NO_COLOR", "1");
        let mut terminal = Terminal::spawn_with(command, 120, 50, OnTerminal::ALL);
        for (question, answer) in answers {
            terminal.wait_for(question);
            terminal.settle(std::time::Duration::from_millis(300));
            terminal.send(answer);
        }
        terminal.wait_for("Make these changes? [y/N]");
        let shown = String::from_utf8_lossy(&terminal.raw).into_owned();
        for part in ["+ preset = \"balanced\"", "init bash", "\"hook\", \"--agent\", \"claude\"", "man1/guard.1 (new)"]
        {
            assert!(shown.contains(part), "{part}:\n{shown}");
        }
        terminal.send(answer);
        if answer == "n\n" {
            assert_eq!(ended(terminal.wait_exit()), "exit 126");
            assert_eq!(files(&home), before, "a no changes nothing");
        } else {
            terminal.wait_for("guard setup --remove");
            assert_eq!(ended(terminal.wait_exit()), "exit 0");
            assert!(
                terminal.screen().contains("Claude Code: guard judges commands before they run"),
                "{}",
                terminal.screen()
            );
        }
    }
    // A second run shows the current choices, and preselects them.
    let mut terminal = on_a_terminal(&home, &["setup"]);
    terminal.wait_for("> balanced");
    assert!(terminal.screen().contains("agents    claude"), "{}", terminal.screen());
    terminal.send("q");
    terminal.wait_for("not changed: cancelled");
}

/// Starts setup on a terminal that shows choices for the arrow keys.
fn with_arrows(home: &Home, columns: u16, on: OnTerminal, look: &[(&str, &str)]) -> Terminal {
    let mut command = home.guard(&["setup"]);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("SHELL", "/bin/bash").envs(look.iter().copied());
    Terminal::spawn_with(command, columns, 40, on)
}

#[test]
fn a_choice_is_made_with_the_arrow_keys_on_every_screen() {
    let home = lived_in();
    let before = files(&home);
    let none: &[(&str, &str)] = &[];
    for (columns, look) in [(40, none), (80, &[("NO_COLOR", "1")]), (230, none)] {
        // Standard input does not answer the questions.
        let mut terminal = with_arrows(&home, columns, OnTerminal { stdin: false, ..OnTerminal::ALL }, look);
        let mark = if look.is_empty() { "❯" } else { ">" };
        terminal.wait_for(&format!("{mark} balanced"));
        for _ in 0..2 {
            terminal.send("\x1b[B");
            terminal.settle(std::time::Duration::from_millis(100));
        }
        terminal.wait_for(&format!("{mark} paranoid"));
        assert_eq!(terminal.screen().matches("balanced").count(), 1, "{columns}: {}", terminal.screen());
        terminal.send("\r");
        terminal.wait_for("Which agents should ask guard");
        terminal.wait_for("Claude Code");
        assert!(!terminal.screen().contains("balanced"), "{columns}: {}", terminal.screen());
        terminal.send(" ");
        terminal.wait_for(if look.is_empty() { "⬚ Claude Code" } else { "[ ] Claude Code" });
        terminal.send("\r");
        terminal.wait_for("  none");
        terminal.wait_for("In which of your shells");
        // Ctrl-C changes nothing, and restores the terminal and its cursor.
        terminal.send("\x03");
        terminal.wait_until("a word", |screen| screen.replace('\n', " ").contains("not changed: cancelled"));
        assert_eq!(ended(terminal.wait_exit()), "exit 125");
        assert!(!terminal.emulator().hide_cursor(), "{columns}");
        assert_eq!(terminal.modes(), terminal.before, "{columns}");
        assert!(look.is_empty() || !terminal.raw.windows(3).any(|bytes| bytes == b"\x1b[3"), "{columns}");
    }
    assert_eq!(files(&home), before);
}

#[test]
fn keys_that_were_typed_ahead_make_no_choice() {
    let home = lived_in();
    let typed = home.path("typed");
    let mut command = home.program("sh");
    command
        .args(["-c", r#"until [ -e "$1" ]; do sleep 0.02; done; exec "$0" setup"#, env!("CARGO_BIN_EXE_guard")])
        .arg(&typed);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("SHELL", "/bin/bash");
    let mut terminal = Terminal::spawn_with(command, 80, 40, OnTerminal::ALL);
    // The keys are in the terminal's input queue before guard starts.
    terminal.send("\x1b[B\r\r\r\r");
    std::fs::write(&typed, "").unwrap();
    terminal.wait_for("❯ balanced");
    terminal.settle(std::time::Duration::from_millis(300));
    assert!(!terminal.screen().contains("Which agents"), "{}", terminal.screen());
    terminal.send("\x1b");
    terminal.wait_for("not changed: cancelled");
}

#[test]
fn nobody_but_a_person_takes_guard_out_or_makes_it_weaker() {
    let home = lived_in();
    home.prints(&["setup", "--yes"], 0);
    let set_up = files(&home);
    for arguments in [
        &["setup", "--remove", "--yes"][..],
        &["setup", "--yes", "--preset", "relaxed"],
        &["setup", "--yes", "--agents", "none"],
    ] {
        let output = home.guard(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("refused"), "{arguments:?}");
    }
    let output = home.guard(&["setup"]).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert_eq!(files(&home), set_up);
}

#[test]
fn a_name_that_is_none_and_a_file_that_is_not_understood_are_told() {
    let home = lived_in();
    let said = |arguments: &[&str]| String::from_utf8(home.guard(arguments).output().unwrap().stderr).unwrap();
    assert!(said(&["setup", "--yes", "--agents", "clade"]).contains("unknown agent clade; known agents: "));
    assert!(said(&["setup", "--yes", "--shells", "tcsh"]).contains("unsupported shell tcsh"));
    std::fs::write(home.path("home/.claude/settings.json"), "{ broken").unwrap();
    let output = home.guard(&["setup", "--yes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("settings.json:1:"), "{said}");
    assert!(std::fs::read_to_string(home.path("home/.bashrc")).unwrap().contains("init bash"), "the rest is set up");
    assert_eq!(std::fs::read_to_string(home.path("home/.claude/settings.json")).unwrap(), "{ broken");
}

/// Answers the questions up to that of a signature for approvals, with the defaults except for the notification.
fn up_to_the_approver(home: &Home, reach: &str, columns: u16) -> Terminal {
    let mut command = home.guard(&["setup"]);
    command.env("TERM", "dumb").env("NO_COLOR", "1");
    let mut terminal = Terminal::spawn_with(command, columns, 60, OnTerminal::ALL);
    for (question, answer) in [
        ("Enter keeps 2, q cancels:", "\n"),
        ("Which agents should ask guard", "\n"),
        ("In which of your shells", "\n"),
        ("How do you want to be notified", reach),
    ] {
        terminal.wait_for(question);
        terminal.settle(std::time::Duration::from_millis(300));
        terminal.send(answer);
    }
    terminal.wait_for("Require a passphrase");
    terminal.settle(std::time::Duration::from_millis(300));
    terminal
}

#[test]
fn a_passphrase_that_is_wanted_is_asked_for_and_enrolled() {
    let home = lived_in();
    let mut terminal = up_to_the_approver(&home, "\n", 120);
    terminal.send("y\n");
    terminal.wait_for("Make these changes? [y/N]");
    terminal.send("y\n");
    for (question, answer) in [
        ("passphrase of", "correct horse battery\n"),
        ("Repeat the passphrase:", "correct horse battery\n"),
        ("Continue? [y/N]", "y\n"),
    ] {
        terminal.wait_for(question);
        terminal.settle(std::time::Duration::from_millis(300));
        terminal.send(answer);
    }
    terminal.wait_for("(passphrase): ");
    terminal.wait_for("guard setup --remove");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert!(!String::from_utf8_lossy(&terminal.raw).contains("No approvers are enrolled"));
    let list: Value = serde_json::from_str(&home.prints(&["approver", "list", "--json"], 0)).unwrap();
    assert_eq!(list["approvers"][0]["kind"], "passphrase", "{list}");

    // The files that remain after the removal are named.
    let mut terminal = on_a_terminal(&home, &["setup", "--remove"]);
    terminal.wait_for("Undo these changes? [y/N]");
    terminal.send("y\n");
    terminal.wait_for("Kept the approvers: ");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
}

#[test]
fn a_passphrase_that_was_not_given_is_told_at_the_end() {
    let home = lived_in();
    let mut terminal = up_to_the_approver(&home, "\n", 120);
    terminal.send("y\n");
    terminal.wait_for("Make these changes? [y/N]");
    terminal.send("y\n");
    terminal.wait_for("passphrase of");
    terminal.settle(std::time::Duration::from_millis(300));
    terminal.send("\x1b");
    terminal.wait_for("No approvers are enrolled, so approvals are not signed");
    terminal.wait_for("guard setup --remove");
    assert_eq!(ended(terminal.wait_exit()), "exit 1");
}

#[test]
fn what_is_missing_for_a_messenger_is_said_with_how_to_get_it() {
    let home = lived_in();
    // guard without its gateway.
    let guard = home.path("alone/guard");
    std::fs::create_dir(home.path("alone")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_guard"), &guard).unwrap();
    let mut command = home.program(guard.to_str().unwrap());
    command.arg("setup").env("TERM", "dumb").env("NO_COLOR", "1");
    let mut terminal = Terminal::spawn_with(command, 120, 60, OnTerminal::ALL);
    for (question, answer) in [
        ("Enter keeps 2, q cancels:", "\n"),
        ("Which agents should ask guard", "\n"),
        ("In which of your shells", "\n"),
        ("How do you want to be notified", "2\n"),
        ("Require a passphrase", "n\n"),
        ("Make these changes? [y/N]", "y\n"),
    ] {
        terminal.wait_for(question);
        terminal.settle(std::time::Duration::from_millis(300));
        terminal.send(answer);
    }
    terminal.wait_for("cargo install --locked --path");
    terminal.wait_for("guard setup --remove");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");

    // With the gateway beside guard, the setup of a messenger is started.
    crate::harness::program::write(&home.path("alone/guard-gateway"), "#!/bin/sh\necho \"gateway: $*\"\n");
    let mut command = home.program(guard.to_str().unwrap());
    command.arg("setup").env("TERM", "dumb").env("NO_COLOR", "1");
    let mut terminal = Terminal::spawn_with(command, 120, 60, OnTerminal::ALL);
    for (question, answer) in [
        ("Enter keeps 2, q cancels:", "\n"),
        ("Which agents should ask guard", "\n"),
        ("In which of your shells", "\n"),
        ("How do you want to be notified", "2\n"),
        ("Require a passphrase", "n\n"),
        ("Which messenger?", "telegram\n"),
    ] {
        terminal.wait_for(question);
        terminal.settle(std::time::Duration::from_millis(300));
        terminal.send(answer);
    }
    terminal.wait_for("gateway: channel add telegram");
}

#[test]
fn in_a_home_each_file_is_looked_at_once_and_an_agent_that_does_not_ask_is_not_said_to() {
    let home = lived_in();
    std::fs::create_dir_all(home.path("home/.codex")).unwrap();
    home.stand_in("codex", "echo 'codex-cli 0.144.0'");
    // The agent does not trust the hook yet, so the doctor reports a failure.
    let mut command = home.guard(&["setup", "--yes", "--agents", "claude,codex"]);
    let output = command.current_dir(home.path("home")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Claude Code: guard judges commands before they run"), "{said}");
    assert!(said.contains("Codex CLI: guard does NOT judge commands yet"), "{said}");
    let mut doctor = home.guard(&["doctor", "agent.codex", "--json"]);
    let output = doctor.current_dir(home.path("home")).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = found["findings"].as_array().unwrap();
    let texts: Vec<&str> = findings.iter().map(|finding| finding["says"].as_str().unwrap()).collect();
    assert!(!texts.iter().any(|text| text.contains("called twice")), "{texts:?}");
    let files: Vec<&str> = findings.iter().filter_map(|finding| finding["file"].as_str()).collect();
    assert_eq!(files.iter().filter(|file| file.ends_with(".codex/hooks.json")).count(), 1, "{found}");
    // The account's hook is not mistaken for the project's.
    let mut out = home.guard(&["install", "codex", "--project", "--uninstall", "--dry-run"]);
    let output = out.current_dir(home.path("home")).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the account's own"), "{output:?}");
}

#[test]
fn the_shell_that_setup_is_typed_to_is_offered_without_a_start_up_file() {
    for name in tools::installed(&["bash", "zsh", "fish"]) {
        let home = Home::new();
        let mut shell = home.program(name);
        let line = format!("'{}' setup --yes --dry-run; true", env!("CARGO_BIN_EXE_guard"));
        let out = shell.args(["-c", &line]).output().unwrap();
        let said = String::from_utf8(out.stdout).unwrap();
        assert!(said.contains(&format!("guard init {name}")), "{name}: {said}");
    }
}

#[test]
fn what_setup_asks_and_says_breaks_between_words() {
    for columns in [40_u16, 80] {
        let home = lived_in();
        let mut terminal = up_to_the_approver(&home, "\n", columns);
        terminal.send("n\n");
        terminal.wait_for("Make these changes?");
        let before = terminal.raw.len();
        terminal.send("y\n");
        assert_eq!(ended(terminal.wait_exit()), "exit 0");
        let whole = String::from_utf8_lossy(&terminal.raw).into_owned();
        // Changes of files are shown verbatim.
        let asked = whole.split("configuration:").next().unwrap();
        let said = whole.split("Testing with guard doctor:").nth(1).unwrap();
        assert!(before < whole.len() && asked.len() < whole.len(), "{whole}");
        for line in asked.lines().chain(said.lines()).map(str::trim_end) {
            // A path is not broken.
            let fits = line.chars().count() <= columns.into() || line.trim_start().starts_with(['/', '(']);
            assert!(fits, "{columns}: {line}");
        }
        let named = whole.lines().filter(|line| line.trim_end().ends_with("lines")).count();
        assert!(named > 5, "{columns}: what is not shown line by line ends with the whole word\n{whole}");
        for word in ["high-risk", "--remove"] {
            assert!(asked.contains(word) || said.contains(word), "{columns}: {word}\n{whole}");
        }
    }
}
