//! Tests `guard doctor`: each entry point is broken in turn, and the doctor reports it. The commands that it tries are
//! never run.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use guard::app::install::hosts::{Form, HOSTS, HookFile, Host};
use guard::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use guard::store::NewGrant;
use serde_json::Value;

use crate::harness::home::Home;
use crate::harness::pty::{Terminal, ended};

const GUARD: &str = env!("CARGO_BIN_EXE_guard");

/// Creates a home with guard on the PATH and a program that would leave a mark if a command of the doctor ran.
fn home() -> Home {
    let home = Home::new();
    symlink(GUARD, home.path("bin/guard")).unwrap();
    let mark = home.path("ran");
    home.stand_in("guard-canary", &format!("echo ran >> '{}'", mark.display()));
    home
}

/// Creates a home with guard's hook installed in this agent.
fn wired(host: &Host) -> Home {
    let home = home();
    install(&home, host);
    home
}

fn install(home: &Home, host: &Host) {
    // The stand-in makes the agent detected.
    home.stand_in(&host.agent.programs[0], "exit 1");
    home.prints(&["install", host.name, "--yes"], 0);
    // Agents whose user must approve a hook get that approval.
    match host.name {
        "codex" => install_trust(home),
        "hermes" => {
            let path = home.path("home/.hermes/config.yaml");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, format!("{text}hooks_auto_accept: true\n")).unwrap();
        }
        _ => {}
    }
}

/// Marks the installed hook as trusted in Codex's configuration, as its user would.
fn install_trust(home: &Home) {
    let path = home.path("home/.codex/hooks.json");
    // A hooks file that is not JSON cannot be trusted.
    let Ok(hooks) = serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()) else { return };
    let hash = trusted(&hooks["hooks"]["PreToolUse"][0]);
    let trust = format!("[hooks.state.\"{}:pre_tool_use:0:0\"]\ntrusted_hash = \"{hash}\"\n", path.display());
    fs::write(home.path("home/.codex/config.toml"), trust).unwrap();
}

/// Returns the hash that Codex keeps for a hook that its user trusts.
fn trusted(group: &Value) -> String {
    use sha2::{Digest as _, Sha256};
    let mut hook = group["hooks"][0].clone();
    hook["async"] = false.into();
    let identity = serde_json::json!({ "event_name": "pre_tool_use", "matcher": group["matcher"], "hooks": [hook] });
    let digest = Sha256::digest(identity.to_string());
    format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn file(home: &Home, host: &Host, wire: &HookFile) -> PathBuf {
    let directory = &host.config.directory;
    let below = if host.config.below_config { format!(".config/{directory}") } else { directory.clone() };
    match wire.path.strip_prefix("~/") {
        Some(path) => home.path("home").join(path),
        None => home.path("home").join(below).join(&wire.path),
    }
}

/// Returns the first file that calls guard.
fn main_file(home: &Home, host: &Host) -> PathBuf {
    let wire = host.user.iter().find(|wire| !matches!(wire.form, Form::Own { executable: false, .. })).unwrap();
    file(home, host, wire)
}

fn diagnosed(home: &Home, arguments: &[&str]) -> (Vec<Value>, i32) {
    let output = home.guard(&[&["doctor", "--json"], arguments].concat()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let code = output.status.code().unwrap();
    assert_eq!(said["ok"], code == 0);
    assert_eq!(home.ran(), 0, "the doctor ran what it only says");
    (said["findings"].as_array().unwrap().clone(), code)
}

/// Returns the status and text of a check's findings.
fn of(findings: &[Value], check: &str) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let named = findings.iter().filter(|finding| finding["check"] == check);
    named.map(|finding| (text(finding, "status"), text(finding, "says"))).collect()
}

#[track_caller]
fn fails(home: &Home, check: &str, words: &str) {
    let (findings, code) = diagnosed(home, &[check]);
    let found = of(&findings, check);
    assert!(found.iter().any(|(status, says)| status == "fail" && says.contains(words)), "{check}: {found:?}");
    assert_eq!(code, 1);
    for finding in findings.iter().filter(|finding| finding["status"] != "ok") {
        assert!(finding["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "no remedy: {finding}");
    }
}

#[test]
fn every_agent_that_is_wired_is_seen_to_ask_guard() {
    let home = home();
    for host in HOSTS.iter() {
        install(&home, host);
    }
    let (findings, code) = diagnosed(&home, &[]);
    assert_eq!(code, 0, "{findings:#?}");
    for host in HOSTS.iter() {
        let found = of(&findings, &format!("agent.{}", host.name));
        let seen = found.iter().all(|(status, says)| {
            status != "fail" && (says.contains("asks guard") || says.contains("answers the plugin correctly"))
        });
        assert!(seen && !found.is_empty(), "{found:?}");
    }
}

#[test]
fn an_agent_without_guard_is_told_of_and_is_no_failure() {
    let home = home();
    home.stand_in("qwen", "exit 1");
    let (findings, code) = diagnosed(&home, &[]);
    let found = of(&findings, "agent.qwen");
    assert_eq!(found, [("warn".to_owned(), "Qwen Code is installed but does not ask guard".to_owned())]);
    assert_eq!((code, of(&findings, "agent.claude")), (0, Vec::new()));
}

#[test]
fn a_guard_that_is_gone_is_seen_at_every_agent() {
    for host in HOSTS.iter() {
        let home = wired(host);
        let path = main_file(&home, host);
        let text = fs::read_to_string(&path).unwrap();
        let gone = text.replace(&home.path("bin/guard").display().to_string(), "/nonexistent/guard");
        assert_ne!(gone, text);
        fs::write(&path, gone).unwrap();
        let (findings, code) = diagnosed(&home, &["agent"]);
        let found = of(&findings, &format!("agent.{}", host.name));
        assert!(found.iter().any(|(status, _)| status == "fail"), "{found:?}");
        assert_eq!(code, 1);
    }
}

#[test]
fn where_a_shell_reads_the_line_a_guard_that_is_gone_lets_nothing_run() {
    for agent in ["auggie", "codex", "gemini", "droid", "kimi", "qwen", "grok", "cline", "openhands"] {
        let host = guard::app::install::hosts::by_name(agent).unwrap();
        let home = wired(host);
        fs::remove_file(home.path("bin/guard")).unwrap();
        fails(&home, &format!("agent.{agent}"), "guard did not allow a command that it must allow");
        home.stand_in("guard", "kill -9 $$");
        fails(&home, &format!("agent.{agent}"), "guard did not allow a command that it must allow");
    }
}

#[test]
fn a_guard_that_says_nothing_is_seen_at_every_agent() {
    for host in HOSTS.iter() {
        let home = wired(host);
        fs::remove_file(home.path("bin/guard")).unwrap();
        home.stand_in("guard", "exit 0");
        fails(
            &home,
            &format!("agent.{}", host.name),
            "guard did not refuse a command that it must refuse: exit 0, without any output",
        );
    }
}

#[test]
fn a_guard_that_refuses_everything_is_seen_at_every_agent() {
    for host in HOSTS.iter() {
        let home = wired(host);
        fs::remove_file(home.path("bin/guard")).unwrap();
        // This stand-in gives the answer for a refused command to every call.
        home.stand_in("guard", &format!("sed 's/\"true\"/\"guard-canary deny\"/g' | '{GUARD}' \"$@\""));
        fails(&home, &format!("agent.{}", host.name), "guard did not allow a command that it must allow");
    }
}

#[test]
fn hooks_that_are_switched_off_are_seen() {
    for (agent, switch, text) in [
        ("claude", "disableAllHooks", "{\"disableAllHooks\": true}"),
        ("qwen", "disableAllHooks", "{\"disableAllHooks\": true}"),
        ("gemini", "hooksConfig.enabled", "{\"hooksConfig\": {\"enabled\": false}}"),
        ("codex", "comments or trailing commas", "{\"hooks\": {}, /* mine */}"),
        ("codex", "unknown key", "{\"model\": \"x\"}"),
        ("gemini", "hooksConfig.disabled", "{\"hooksConfig\": {\"disabled\": [\"guard\"]}}"),
    ] {
        let home = home();
        let host = guard::app::install::hosts::by_name(agent).unwrap();
        let path = main_file(&home, host);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        install(&home, host);
        fails(&home, &format!("agent.{agent}"), switch);
    }
}

#[test]
fn a_hook_that_its_user_has_not_accepted_is_seen() {
    for (agent, words) in [("codex", "have not trusted it"), ("hermes", "have not accepted it")] {
        let home = home();
        home.stand_in(agent, "exit 1");
        home.prints(&["install", agent, "--yes"], 0);
        fails(&home, &format!("agent.{agent}"), words);
    }
}

#[test]
fn a_project_that_switches_the_hooks_of_the_account_off_is_seen() {
    for name in [".claude/settings.json", ".claude/settings.local.json"] {
        let home = wired(guard::app::install::hosts::by_name("claude").unwrap());
        fs::create_dir_all(home.path("work/.git")).unwrap();
        fs::create_dir_all(home.path("work/.claude")).unwrap();
        fs::write(home.path("work").join(name), "{\"disableAllHooks\": true}").unwrap();
        fails(&home, "agent.claude", "disableAllHooks");
    }
}

#[test]
fn a_guard_that_is_asked_twice_is_told_of() {
    let home = wired(guard::app::install::hosts::by_name("claude").unwrap());
    fs::create_dir_all(home.path("work/.git")).unwrap();
    home.prints(&["install", "claude", "--project", "--yes"], 0);
    let (findings, code) = diagnosed(&home, &["agent.claude"]);
    let found = of(&findings, "agent.claude");
    assert!(found.iter().any(|(status, says)| status == "warn" && says.contains("called twice")), "{found:?}");
    assert_eq!(code, 0);
}

#[test]
fn a_mode_that_asks_nobody_is_told_of() {
    let home = Home::that_asks_nobody();
    let found = of(&diagnosed(&home, &["config"]).0, "config");
    assert!(found[0].0 == "warn" && found[0].1.starts_with("mode is off"), "{found:?}");
}

#[test]
fn a_file_that_is_read_in_the_place_of_guards_is_seen() {
    let droid = guard::app::install::hosts::by_name("droid").unwrap();
    let home = wired(droid);
    fs::write(home.path("home/.factory/hooks.json"), "{}\n").unwrap();
    fails(&home, "agent.droid", "also reads this file, and guard is not in it");
    install(&home, droid);
    assert_eq!(diagnosed(&home, &[]).1, 0);
}

#[test]
fn a_hook_file_that_cannot_be_run_is_seen() {
    let cline = guard::app::install::hosts::by_name("cline").unwrap();
    let home = wired(cline);
    fs::set_permissions(main_file(&home, cline), fs::Permissions::from_mode(0o644)).unwrap();
    fails(&home, "agent.cline", "not executable");
}

#[test]
fn a_broken_configuration_of_an_agent_is_named_with_its_line() {
    let home = home();
    fs::create_dir(home.path("home/.claude")).unwrap();
    fs::write(home.path("home/.claude/settings.json"), "{\n  \"a\": 1\n  \"b\": 2\n}\n").unwrap();
    fails(&home, "agent.claude", "line 3");
}

#[test]
fn an_entry_of_an_older_guard_still_works_and_is_told_of() {
    let codex = guard::app::install::hosts::by_name("codex").unwrap();
    let home = wired(codex);
    let path = main_file(&home, codex);
    let text = fs::read_to_string(&path).unwrap().replace(" --timeout 3600", "");
    fs::write(&path, text).unwrap();
    fails(&home, "agent.codex", "changed after you trusted it");
    install_trust(&home);
    let (findings, code) = diagnosed(&home, &["agent"]);
    let found = of(&findings, "agent.codex");
    assert!(found[0].0 == "warn" && found[0].1.contains("from another version of guard"), "{found:?}");
    assert_eq!(code, 0);
}

#[test]
fn an_old_claude_that_runs_on_when_its_hook_fails_is_told_of() {
    let claude = guard::app::install::hosts::by_name("claude").unwrap();
    let home = wired(claude);
    let package = home.path("node_modules/@anthropic-ai/claude-code");
    fs::create_dir_all(&package).unwrap();
    fs::remove_file(home.path("bin/claude")).unwrap();
    fs::write(package.join("cli.js"), "").unwrap();
    fs::set_permissions(package.join("cli.js"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink(package.join("cli.js"), home.path("bin/claude")).unwrap();
    for (version, told) in [("2.1.288", true), ("2.1.295", false), ("2.2.0", false), ("10.0.0", false)] {
        let text = format!("{{\"name\": \"@anthropic-ai/claude-code\", \"version\": \"{version}\"}}");
        fs::write(package.join("package.json"), text).unwrap();
        let (findings, _) = diagnosed(&home, &["agent.claude"]);
        let told_of = |(status, says): &(String, String)| status == "warn" && says.contains("when its hook fails");
        assert_eq!(of(&findings, "agent.claude").iter().any(told_of), told, "{version}");
        assert_eq!(findings[0]["version"], version);
    }
}

#[test]
fn a_hook_of_the_project_is_tried_too() {
    let home = home();
    fs::create_dir_all(home.path("work/.git")).unwrap();
    home.prints(&["install", "cursor", "--project", "--yes"], 0);
    home.stand_in("cursor-agent", "exit 1");
    let (findings, code) = diagnosed(&home, &[]);
    assert_eq!((code, of(&findings, "agent.cursor").len()), (0, 1), "{findings:?}");
    fs::remove_file(home.path("bin/guard")).unwrap();
    home.stand_in("guard", "exit 0");
    fails(&home, "agent.cursor", "did not refuse");
}

#[test]
fn a_broken_pattern_file_and_a_broken_configuration_are_seen() {
    let home = home();
    let patterns = home.path("home/.config/guard/patterns");
    fs::create_dir_all(&patterns).unwrap();
    fs::write(patterns.join("mine.toml"), "family = \"mine\"\nx = \n").unwrap();
    fails(&home, "config", "mine.toml");
    fs::remove_file(patterns.join("mine.toml")).unwrap();
    fs::write(home.path("home/.config/guard/config.toml"), "mode = 3\n").unwrap();
    fails(&home, "config", "config.toml:1");
}

#[test]
fn a_record_that_cannot_be_written_is_seen() {
    let home = home();
    home.prints(&["doctor"], 0);
    let script =
        "mount --bind \"$1\" \"$1\"; mount -o remount,ro,bind \"$1\"; \"$0\" doctor --json || echo \"code $?\"";
    let Some(output) = home.in_a_namespace(script) else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    let (json, code) = said.split_once('\n').unwrap();
    let said: Value = serde_json::from_str(json).unwrap();
    let found = of(said["findings"].as_array().unwrap(), "record");
    assert!(found[0].0 == "fail" && found[0].1.contains("cannot be written"), "{found:?}");
    assert_eq!(code, "code 1\n");
}

#[test]
fn a_record_that_was_edited_is_seen() {
    let home = home();
    home.run(&["true"]);
    home.sql(
        "DROP TRIGGER IF EXISTS no_update; PRAGMA writable_schema=1; DELETE FROM sqlite_master WHERE type='trigger'",
    );
    home.sql("UPDATE record SET command = 'x'");
    fails(&home, "record", "changed after it was written");
}

/// Compares with the setting of the running system.
#[test]
fn whether_programs_can_type_into_the_prompt_is_said() {
    let home = home();
    let (findings, code) = diagnosed(&home, &["terminal"]);
    let (status, says) = match fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti") {
        Ok(setting) if setting.trim() == "0" => ("ok", "no program can put keys into the prompt"),
        Ok(_) => ("warn", "can put keys into the prompt"),
        Err(_) => ("ok", "no setting that prevents it"),
    };
    let found = &of(&findings, "terminal")[0];
    assert!(found.0 == status && found.1.contains(says), "{found:?}");
    assert_eq!((findings[0]["remedy"].is_null(), code), (status == "ok", 0));
}

#[test]
fn a_clock_that_is_behind_the_record_is_seen() {
    let home = home();
    let grant = NewGrant {
        what: &GrantSubject::Rule { rule: "x.y".into() },
        place: &GrantPlace::Anywhere,
        until: &GrantExpiry::Revoked,
        words: "x",
        user: "ada",
        session: "s",
    };
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24);
    home.store().grant(&grant, later).unwrap();
    fails(&home, "clock", "the newest row of the record is from");
}

#[test]
fn whoever_hides_behind_a_terminal_of_its_own_passes_for_a_person_and_the_doctor_says_so() {
    let home = home();
    let (findings, _) = diagnosed(&home, &[]);
    for check in ["approval.pipe", "approval.agents-terminal"] {
        assert_eq!(of(&findings, check)[0].0, "ok", "{findings:?}");
    }
    let hidden = &of(&findings, "approval.hidden-terminal")[0];
    assert!(hidden.0 == "warn" && hidden.1.contains("can approve as you"), "{hidden:?}");
    // If the doctor had created a grant, it would still be listed.
    assert_eq!(home.prints(&["allow", "list"], 0), "No active grants.\n");
    let files = &of(&findings, "approval.files")[0];
    assert!(files.0 == "warn" && files.1.contains("guard.db"), "{files:?}");
    assert_eq!(home.prints(&["pending"], 0), "No requests are waiting.\n");
    // The attempt is recorded, and does not count as a person's answer.
    let log = home.prints(&["log"], 0);
    assert!(log.lines().any(|line| line.contains("guard-canary ask") && line.contains("trial")), "{log}");
    let stats: Value = serde_json::from_str(&home.prints(&["stats", "--json"], 0)).unwrap();
    assert_eq!((&stats["asked"], &stats["allowed"], &stats["hasty"]), (&0.into(), &0.into(), &0.into()), "{stats}");
}

#[test]
fn with_an_approver_a_terminal_of_its_own_helps_no_program() {
    let home = home();
    let mut command = home.guard(&["approver", "add", "ada"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::spawn(command);
    for prompt in ["passphrase of ada:", "Repeat the passphrase:"] {
        terminal.wait_for(prompt);
        terminal.send("correct horse battery\r");
    }
    terminal.wait_for("[y/N]");
    terminal.send("y\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 0", "{}", terminal.screen());
    let (findings, code) = diagnosed(&home, &["approval"]);
    let hidden = &of(&findings, "approval.hidden-terminal")[0];
    assert!(hidden.0 == "ok" && hidden.1.contains("an approver must sign"), "{hidden:?}");
    let who = &of(&findings, "approval.approvers")[0];
    assert!(who.1.contains("the signature of ada") && who.1.contains("can change the approvers"), "{who:?}");
    assert_eq!(code, 0);
    fs::write(home.path("home/.config/guard/approvers/ada.toml"), "broken").unwrap();
    fails(&home, "approval.approvers", "ada.toml");
}

#[test]
fn from_inside_a_guarded_session_the_doctor_works_and_no_terminal_helps() {
    let home = wired(guard::app::install::hosts::by_name("claude").unwrap());
    let output = home.guard(&["doctor", "--json"]).env("CLAUDECODE", "1").output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = said["findings"].as_array().unwrap();
    assert_eq!(of(findings, "agent.claude")[0].0, "ok", "{findings:?}");
    assert_eq!(of(findings, "approval.agents-terminal")[0].0, "ok");
    assert_eq!(output.status.code(), Some(0));
}

/// Creates a home with shims for the shells, and returns it with their directory.
fn with_shims() -> (Home, PathBuf) {
    let home = home();
    assert!(home.guard(&["install", "shims", "--yes"]).output().unwrap().status.success());
    let directory = home.data().join("shims");
    (home, directory)
}

fn diagnosed_with(home: &Home, variables: &[(&str, &str)], check: &str) -> (Vec<(String, String)>, i32) {
    let output = home.guard(&["doctor", "--json", check]).envs(variables.iter().copied()).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(home.ran(), 0, "the doctor ran what it only says");
    let findings = said["findings"].as_array().unwrap();
    (of(findings, check), output.status.code().unwrap())
}

#[test]
fn a_shell_that_is_guard_is_seen_to_refuse_and_to_run() {
    let (home, directory) = with_shims();
    let bash = directory.join("bash");
    let bash = bash.to_str().unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", directory.display(), home.path("bin").display());
    for (variables, check) in [
        (("SHELL", bash), "shell.SHELL"),
        (("CLAUDE_CODE_SHELL", bash), "shell.CLAUDE_CODE_SHELL"),
        (("GOOSE_SHELL", bash), "shell.GOOSE_SHELL"),
        (("PATH", &path), "shell.PATH.bash"),
        (("PATH", &path), "shell.shims.sh"),
    ] {
        let (found, code) = diagnosed_with(&home, &[variables], check);
        let fine = "a dangerous test command was refused, and a harmless one ran";
        assert_eq!((found, code), (vec![("ok".to_owned(), fine.to_owned())], 0), "{check}");
    }
}

#[test]
fn the_shell_that_an_agents_settings_name_is_tried() {
    let (home, directory) = with_shims();
    fs::create_dir_all(home.path("home/.claude")).unwrap();
    let settings = |path: &str| {
        let text = format!("{{\"env\": {{\"CLAUDE_CODE_SHELL\": \"{path}\"}}}}");
        fs::write(home.path("home/.claude/settings.json"), text).unwrap();
    };
    settings(directory.join("bash").to_str().unwrap());
    assert_eq!(diagnosed_with(&home, &[], "shell.CLAUDE_CODE_SHELL.settings").1, 0);
    settings("/nonexistent/bash");
    fails(&home, "shell.CLAUDE_CODE_SHELL.settings", "does not exist");
    // The link is named guard, so Claude Code does not recognize it as a shell.
    settings(home.path("bin/guard").to_str().unwrap());
    fails(&home, "shell.CLAUDE_CODE_SHELL.settings", "runs without guard");
}

#[test]
fn links_whose_guard_is_gone_are_seen() {
    let (home, directory) = with_shims();
    fs::remove_file(directory.join("sh")).unwrap();
    symlink("/nonexistent/guard", directory.join("sh")).unwrap();
    fails(&home, "shell.shims.sh", "does not exist");
}

#[test]
fn a_shell_that_is_somebody_elses_is_none_of_guards_business() {
    let home = home();
    let variables = [("SHELL", "/bin/bash"), ("GOOSE_SHELL", "/bin/sh")];
    let (findings, code) = diagnosed_with(&home, &variables, "shells");
    assert_eq!((findings[0].0.as_str(), findings.len(), code), ("ok", 1, 0));
    assert!(home.prints(&["doctor", "shell"], 0).contains("none is replaced by guard"));
}

#[test]
fn a_hook_is_answered_through_guard_as_the_shell_too() {
    let (home, directory) = with_shims();
    install(&home, guard::app::install::hosts::by_name("gemini").unwrap());
    let path = format!("{}:{}:/usr/bin:/bin", directory.display(), home.path("bin").display());
    let (found, code) = diagnosed_with(&home, &[("PATH", &path)], "agent.gemini");
    assert_eq!((found[0].0.as_str(), code), ("ok", 0), "{found:?}");
}

#[test]
fn one_check_can_be_made_alone() {
    let home = home();
    let (findings, _) = diagnosed(&home, &["record"]);
    assert_eq!((findings.len(), &findings[0]["check"]), (1, &Value::from("record")));
    let output = home.guard(&["doctor", "recrod"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no check recrod"));
}

#[test]
fn a_person_reads_it_in_colours_with_a_sum_below() {
    let home = home();
    home.stand_in("qwen", "exit 1");
    for (start_up, sum) in [
        ("", "guard is not set up: no agent and no shell"),
        ("eval \"$(guard init bash)\"\n", "Everything that is set up works;"),
    ] {
        std::fs::write(home.path("home/.bashrc"), start_up).unwrap();
        let mut command = home.guard(&["doctor"]);
        command.env("TERM", "xterm");
        let mut terminal = Terminal::spawn_with(command, 200, 50, crate::harness::pty::OnTerminal::ALL);
        assert_eq!(ended(terminal.wait_exit()), "exit 0");
        let screen = terminal.screen();
        assert!(screen.contains("warn  agent.qwen: Qwen Code is installed but does not ask guard"), "{screen}");
        assert!(screen.contains("→ guard install qwen") && screen.contains(sum), "{screen}");
        assert!(screen.contains("ok    person: a person can be asked at this terminal"), "{screen}");
        assert!(String::from_utf8_lossy(&terminal.raw).contains("\u{1b}[33mwarn"));
    }
}

#[test]
fn an_agent_that_is_asked_for_its_version_writes_nothing_into_the_home() {
    let home = Home::new();
    home.stand_in("goose", "mkdir -p \"$HOME/.local/state\" \"${XDG_STATE_HOME-$HOME}\"; echo x > \"${XDG_STATE_HOME-$HOME}/log\"; echo ' 1.40.0'");
    let mut command = home.guard(&["doctor", "--json", "agent.goose"]);
    let output = command.env("XDG_STATE_HOME", home.path("home/state")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1.40.0"), "{said}");
    for left in ["home/state", "home/log", "home/.local/state"] {
        assert!(!home.path(left).exists(), "{left}");
    }
}
