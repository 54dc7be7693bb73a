//! Tests that `guard status` reports the state, and what to do about it.

use serde_json::{Value, json};

use crate::harness::home::Home;
use crate::harness::pty::{OnTerminal, Terminal, ended};

fn status(home: &Home) -> Value {
    serde_json::from_str(&home.prints(&["status", "--json"], 0)).unwrap()
}

#[test]
fn a_new_account_is_told_what_is_not_set_up() {
    let home = Home::new();
    let said = home.prints(&["status"], 0);
    for line in [
        "policy    balanced, mode manual: asks from score 3.0 at your own terminal, from 2.0 for agents",
        "no configuration file; the defaults apply (guard config init)",
        "agents    none configured (guard install AGENT)",
        "shells    none configured (guard init bash)",
        "waiting   nothing",
        "record    empty",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert_eq!(home.prints(&["status", "--prompt"], 0), "");
}

#[test]
fn what_is_set_up_waits_or_was_refused_is_named() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.claude")).unwrap();
    assert_eq!(status(&home)["without"], json!(["claude"]));
    home.prints(&["install", "claude", "--yes"], 0);
    std::fs::write(home.path("home/.bashrc"), "# eval \"$(guard init zsh)\"\neval \"$(guard init bash)\"\n").unwrap();
    assert_eq!(home.run(&crate::harness::home::FLAGGED).status.code(), Some(126));
    let mut waits = home.guard(&["--no-wait", "--", "git", "push", "--force", "origin", "main"]);
    assert_eq!(waits.env_remove("GUARD_WAIT").output().unwrap().status.code(), Some(75));
    // The doctor's canary commands do not count as refusals, and do not hide any.
    for words in
        [&["guard-canary", "deny"][..], &["guard-canary", "ask"], &["sh", "-c", "guard-canary deny; git push --force"]]
    {
        assert_eq!(home.run(words).status.code(), Some(126));
    }
    let found = status(&home);
    let refused: Vec<&Value> = found["refused"].as_array().unwrap().iter().map(|refused| &refused["command"]).collect();
    assert_eq!(refused, ["sh -c 'guard-canary deny; git push --force'", "git push --force origin main"]);
    assert_eq!((&found["agents"], &found["without"]), (&json!(["claude"]), &json!([])));
    assert_eq!(found["shells"][0][0], "bash");
    assert_eq!((&found["waiting"], found["shells"].as_array().unwrap().len()), (&json!(1), 1));
    let said = home.prints(&["status"], 0);
    assert!(said.contains("waiting   1 request: guard review"), "{said}");
    assert_eq!(home.prints(&["status", "--prompt"], 0), "1 waiting\n");
    let sessions = home.prints(&["session"], 0);
    assert_eq!(sessions.matches("; 1 request waits").count(), 1, "{sessions}");
}

#[test]
fn an_agent_that_skips_guards_hook_is_not_named_as_one_that_asks() {
    let home = Home::new();
    for agent in ["codex", "claude"] {
        home.stand_in(agent, "exit 1");
        home.prints(&["install", agent, "--yes"], 0);
    }
    let said = home.prints(&["status"], 0);
    assert!(said.contains("agents    claude\n"), "{said}");
    assert!(
        said.contains("codex: Codex CLI skips the hook, because you have not trusted it there; start codex, "),
        "{said}"
    );
    assert_eq!(status(&home)["inactive"][0]["agent"], "codex");
    std::fs::create_dir_all(home.path("work/.claude")).unwrap();
    std::fs::write(home.path("work/.claude/settings.json"), "{\"disableAllHooks\": true}").unwrap();
    let said = home.prints(&["status"], 0);
    assert!(said.contains("agents    none active\n"), "{said}");
    assert!(said.contains("claude: Claude Code is configured to disable hooks (disableAllHooks); remove "), "{said}");
}

#[test]
fn a_broken_configuration_is_named() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "mode = \"sometimes\"\n").unwrap();
    let said = home.prints(&["status"], 0);
    assert!(said.contains("config.toml:1: mode: expected"), "{said}");
}

#[test]
fn what_is_told_is_as_wide_as_the_terminal() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.claude")).unwrap();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    let grant =
        "[[grant]]\nname = \"x\"\nwhat = { rule = \"git.push-force\" }\nwhere = \"/tmp/x\"\nuntil = \"revoked\"\n";
    std::fs::write(home.path("home/.config/guard/config.toml"), grant).unwrap();
    assert_eq!(home.run(&crate::harness::home::FLAGGED).status.code(), Some(126));
    for (words, code) in [(&["status"][..], "exit 0"), (&["help", "approvals"], "exit 0"), (&["--help"], "exit 0")] {
        for columns in [40_u16, 80, 230] {
            let mut command = home.guard(words);
            command.env("TERM", "dumb").env("LANG", "C.UTF-8");
            let mut terminal = Terminal::spawn_with(command, columns, 200, OnTerminal::ALL);
            assert_eq!(ended(terminal.wait_exit()), code);
            let raw = String::from_utf8(terminal.raw.clone()).unwrap();
            for line in raw.lines().map(str::trim_end) {
                // A path is not broken.
                let fits = line.chars().count() <= columns.into() || line.trim_start().starts_with('/');
                assert!(fits, "{words:?} {columns}: {line}");
            }
            if words == ["status"] {
                assert!(raw.contains("just now    git push --force"), "{raw}");
                assert!(raw.contains("1 active: guard allow list"), "{raw}");
            }
        }
    }
    let told = status(&home);
    assert!(told["granted"][0].as_str().unwrap().contains("git.push-force"), "{told}");
}

#[test]
fn whatever_is_printed_breaks_between_words_at_every_width() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "preset = \"strict\"\n").unwrap();
    assert_eq!(home.run(&crate::harness::home::FLAGGED).status.code(), Some(126));
    let mut waits = home.guard(&["--no-wait", "--", "git", "push", "--force", "origin", "main"]);
    assert_eq!(waits.env_remove("GUARD_WAIT").output().unwrap().status.code(), Some(75));
    for (words, code) in [
        (&[][..], 0),
        (&["pending"], 0),
        (&["session"], 0),
        (&["check", "git push --force origin main"], 1),
        (&["stats"], 0),
        (&["approver", "list"], 0),
        (&["learn"], 0),
        (&["simulate"], 0),
        (&["mcp", "pins"], 0),
        (&["patterns", "list", "git."], 0),
        (&["install", "mcp", "--all"], 0),
        (&["verify"], 0),
        (&["log", "day"], 0),
        (&["config", "show"], 0),
        (&["config", "show", "thresholds.agent"], 0),
        (&["config", "check"], 0),
        (&["setup", "--help"], 0),
        (&["chek", "rm -rf build"], 125),
        (&["help", "nothing-of-the-kind"], 125),
        (&["demo", "--auto"], 0),
    ] {
        for columns in [40_u16, 80] {
            let mut command = home.guard(words);
            command.env("TERM", "dumb").env("LANG", "C.UTF-8").env("PAGER", "cat");
            if words.first() == Some(&"demo") {
                command.env("PATH", "/usr/bin:/bin");
            }
            let mut terminal = Terminal::spawn_with(command, columns, 500, OnTerminal::ALL);
            assert_eq!(ended(terminal.wait_exit()), format!("exit {code}"), "{words:?}");
            let raw = String::from_utf8(terminal.raw.clone()).unwrap();
            for line in raw.lines().map(str::trim_end) {
                // A command of the demonstration is shown as it is typed.
                let fits = line.chars().count() <= columns.into() || line.starts_with("   $ guard");
                assert!(fits, "{words:?} {columns}: {line}");
            }
            // Lines break at blanks and not within words, so each of these words is complete on one line.
            for word in ["unasked", "denied", "COMMAND", "thresholds.agent", "everything", "irreversible"] {
                let whole = raw.split_whitespace().filter(|part| part.contains(word)).count();
                let bare = raw.split_whitespace().collect::<String>().matches(word).count();
                assert!(whole >= 1 || bare == 0, "{words:?} {columns}: {word}\n{raw}");
            }
        }
    }
}

#[test]
fn a_newer_version_is_told_where_a_program_that_knows_is_configured_and_asked_once_a_day() {
    let home = Home::new();
    let asked = home.path("asked");
    home.stand_in("newest", &format!("echo asked >> '{}'; echo v99.1.0", asked.display()));
    let times = || std::fs::read_to_string(&asked).map_or(0, |text| text.lines().count());
    home.prints(&["status"], 0);
    assert_eq!(status(&home)["newer"], Value::Null, "nobody is asked by default");
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    let config = format!("[update]\ncommand = [{:?}]\n", home.path("bin/newest").display().to_string());
    std::fs::write(home.path("home/.config/guard/config.toml"), config).unwrap();
    // Judging a command does not run the update check.
    assert!(home.run(&["true"]).status.success());
    home.prints(&["check", "true"], 0);
    home.prints(&["status", "--prompt"], 0);
    assert_eq!(times(), 0);
    assert!(home.prints(&["status"], 0).contains("guard 99.1.0 is available; this is "));
    assert_eq!(status(&home)["newer"], "99.1.0");
    let doctor: Value = serde_json::from_str(&home.prints(&["doctor", "update", "--json"], 0)).unwrap();
    assert_eq!((&doctor["findings"][0]["status"], times()), (&"warn".into(), 1), "{doctor}");
    // A project's configuration cannot set the command.
    std::fs::write(home.path("work/.guard.toml"), "[update]\ncommand = [\"true\"]\n").unwrap();
    assert!(
        home.prints(&["config", "check"], 1).contains("update.command: a project file can only tighten the policy")
    );
}
