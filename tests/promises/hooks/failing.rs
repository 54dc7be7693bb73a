//! Tests failures of a hook: the command never runs, and each answer is recorded.

use std::io::Write as _;
use std::process::Stdio;

use guard::app::hook::hosts;
use guard::store::{Filter, RowKind};

use super::stage::{bash, fed, hook, said};
use crate::harness::home::Home;

/// Reports whether this is a denial in an agent's dialect.
fn is_denial(agent: &str, out: &str, err: &str, code: i32) -> bool {
    let json =
        || serde_json::from_str::<serde_json::Value>(out).unwrap_or_else(|error| panic!("{agent}: {out}: {error}"));
    let is = |pointer: &str, word: &str| json().pointer(pointer).is_some_and(|value| value == word);
    match agent {
        // For an unknown event guard denies by exit code 2, which these agents accept for each of their events.
        "codex" | "copilot" if code == 2 => out.is_empty() && !err.trim().is_empty(),
        "auggie" | "claude" | "droid" | "windsurf" | "kimi" | "goose" | "openhands" => {
            code == 2 && out.is_empty() && !err.trim().is_empty()
        }
        "codex" | "qwen" => code == 0 && is("/hookSpecificOutput/permissionDecision", "deny"),
        "gemini" | "antigravity" | "grok" | "opencode" | "kilo" | "amp" => code == 0 && is("/decision", "deny"),
        "cursor" => code == 0 && is("/permission", "deny"),
        "copilot" => code == 0 && is("/permissionDecision", "deny"),
        "cline" => {
            let emptied = json().pointer("/overrideInput").is_some_and(|value| *value == serde_json::json!({}));
            let told =
                json().pointer("/context").and_then(serde_json::Value::as_str).is_some_and(|text| !text.is_empty());
            code == 0 && (json().pointer("/cancel").is_some_and(|value| value == true) || emptied && told)
        }
        "hermes" => code == 0 && is("/decision", "block"),
        other => panic!("{other}"),
    }
}

#[track_caller]
fn denied(agent: &str, output: &std::process::Output, reason: &str) {
    let (out, err) = said(output);
    assert!(is_denial(agent, &out, &err, output.status.code().unwrap()), "{agent}: {output:?}");
    assert!(format!("{out}{err}").contains(reason), "{agent}: {out}{err}");
}

#[test]
fn an_input_that_is_none_is_denied_in_every_dialect() {
    let home = Home::new();
    for host in hosts::all() {
        denied(host.name(), &hook(&home, host.name(), ""), "no input");
        denied(host.name(), &hook(&home, host.name(), " \n"), "no input");
        denied(host.name(), &hook(&home, host.name(), "{\"tool_name\": \"Bash\""), "not the expected JSON");
        denied(host.name(), &hook(&home, host.name(), &"[".repeat(100_000)), "not the expected JSON");
        for odd in ["null", "7", "[]", "{}", "\"Bash\"", "{\"hook_event_name\":7,\"tool_name\":[]}"] {
            denied(host.name(), &hook(&home, host.name(), odd), "refused");
        }
    }
}

#[test]
fn what_was_denied_unjudged_is_in_the_record_and_the_input_is_not() {
    let home = Home::new();
    let secret = "{\"tool_name\": \"s3cr3t-and-broken";
    denied("claude", &hook(&home, "claude", secret), "not the expected JSON");
    denied("codex", &hook(&home, "codex", "{}"), "refused");
    denied("claude", &hook(&home, "claude", &bash(&home, &"x".repeat(600 << 10))), "too large to analyse");
    let store = home.store();
    let rows: Vec<_> = store.find(&Filter::default()).unwrap().into_iter().map(|id| store.entry(id).unwrap()).collect();
    let told: Vec<_> = rows.iter().map(|row| (row.kind, row.settled_by.as_deref(), row.agent.as_deref())).collect();
    let unjudged = |agent| (RowKind::Advised, Some("unjudged"), Some(agent));
    assert_eq!(told, [unjudged("claude"), unjudged("codex"), unjudged("claude")]);
    assert!(rows[0].words.as_deref().unwrap().starts_with("the input is not the expected JSON"), "{rows:?}");
    assert!(!home.prints(&["log", "--json"], 0).contains("s3cr3t"));
    assert!(
        home.prints(&["log", "day"], 0)
            .contains("A call of an agent was refused without judging it: the command is too large")
    );
    let stats = home.prints(&["stats"], 0);
    assert!(
        stats.contains(": 0 commands.") && stats.contains("3 calls of agents were refused without being judged"),
        "{stats}"
    );
    let status = home.prints(&["status"], 0);
    assert!(status.contains("(the command is too large") && status.contains("(the input is not"), "{status}");
    // The answer counts neither for nor against the session.
    assert_eq!(store.standing(rows[0].root.as_deref().unwrap(), jiff::Timestamp::now()).unwrap().denials_in_a_row, 0);
}

#[test]
fn an_input_that_is_too_long_is_read_to_its_end_and_denied() {
    let home = Home::new();
    let long = bash(&home, &"x".repeat(9 << 20));
    for agent in ["claude", "codex", "cursor"] {
        denied(agent, &hook(&home, agent, &long), "longer than 8 MiB");
    }
}

#[test]
fn a_command_that_is_too_long_for_any_shell_is_denied_and_not_kept() {
    let home = Home::new();
    let output = hook(&home, "claude", &bash(&home, &format!("echo {}", "x".repeat(600 << 10))));
    denied("claude", &output, "too large to analyse");
    let name = bash(&home, "ls").replace("\"s1\"", &format!("\"{}\"", "s".repeat(5000)));
    assert_eq!(said(&hook(&home, "claude", &name)).0, "");
    let row = home.store().entry(2).unwrap();
    assert_eq!((row.command.as_deref(), row.session.map(|session| session.len())), (Some("ls"), Some(207)));
}

#[test]
fn an_agent_that_guard_does_not_know_and_a_wrong_call_get_the_denial_that_most_understand() {
    let home = Home::new();
    let input = bash(&home, "ls");
    for arguments in [
        &["hook", "--agent", "nobody"][..],
        &["hook", "--agent", ""],
        &["hook"],
        &["hook", "--agent"],
        &["hook", "--agent", "claude", "--nonsense"],
        &["hook", "--agent", "claude", "--timeout", "0"],
        &["hook", "--agent", "claude", "more"],
    ] {
        let output = fed(&mut home.guard(arguments), input.as_bytes());
        let (out, err) = said(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.starts_with("guard: "), "{arguments:?}: {err}");
    }
    assert!(home.prints(&["hook", "--help"], 0).contains("--agent"));
}

#[test]
fn an_input_that_never_ends_is_denied_before_the_agent_gives_up() {
    let home = Home::new();
    let begun: Vec<_> = hosts::all()
        .iter()
        .map(|host| {
            let mut command = home.guard(&["hook", "--agent", host.name(), "--timeout", "1"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"{\"hook_event_name\":").unwrap();
            // The input stays open until guard has ended.
            (host.name(), child, stdin)
        })
        .collect();
    for (agent, child, stdin) in begun {
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        denied(agent, &output, "could not answer in time");
    }
    // Hooks that had time for it recorded the timeout.
    let rows = home.prints(&["log", "--json", "--search", "could not answer in time"], 0);
    assert!(rows.lines().count() > 0 && rows.lines().all(|row| row.contains(r#""settled_by":"unjudged""#)), "{rows}");
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_judgment_that_hangs_is_denied_too() {
    let home = Home::new();
    // Opening a FIFO without a writer hangs, as a dead network disk would.
    let base = home.path("home/.local/share/guard");
    std::fs::create_dir_all(&base).unwrap();
    let fifo = base.join("guard.key");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut command = home.guard(&["hook", "--agent", "claude", "--timeout", "4"]);
    let output = fed(&mut command, bash(&home, "ls").as_bytes());
    denied("claude", &output, "could not answer in time");
    let permission = bash(&home, "ls").replace("PreToolUse", "PermissionRequest");
    let mut command = home.guard(&["hook", "--agent", "claude", "--timeout", "4"]);
    let (out, _) = said(&fed(&mut command, permission.as_bytes()));
    assert!(out.contains("\"behavior\":\"deny\"") && out.contains("could not answer in time"), "{out}");
}

#[test]
fn the_strings_that_hosts_run_reach_guard() {
    let home = Home::new();
    let guard = env!("CARGO_BIN_EXE_guard");
    let string = format!("{guard} hook --agent codex");
    let input = bash(&home, "rm -rf ~");
    for shell in [&["sh", "-c", &string][..], &["bash", "-c", &string], &["bash", "-lc", &string]] {
        let mut command = home.program(shell[0]);
        command.args(&shell[1..]).env("GUARD_WAIT", "0");
        denied("codex", &fed(&mut command, input.as_bytes()), "effects.delete-home");
    }
    // guard is also installed as the shell that starts the hook.
    std::os::unix::fs::symlink(guard, home.path("bin/bash")).unwrap();
    for agent in ["codex", "gemini"] {
        let string = format!("{guard} hook --agent {agent} --timeout 60");
        let input = if agent == "codex" {
            input.clone()
        } else {
            input.replace("PreToolUse", "BeforeTool").replace("\"Bash\"", "\"run_shell_command\"")
        };
        let mut command = home.program(home.path("bin/bash").to_str().unwrap());
        command.args(["-c", &string]).env("GUARD_WAIT", "0");
        denied(agent, &fed(&mut command, input.as_bytes()), "effects.delete-home");
    }
    // The hook also works without a shell, in another directory and with almost no environment.
    let mut command = home.program(guard);
    command
        .args(["hook", "--agent", "codex"])
        .env_clear()
        .env("HOME", home.path("home"))
        .env("GUARD_WAIT", "0")
        .current_dir("/");
    denied("codex", &fed(&mut command, input.as_bytes()), "effects.delete-home");
}

#[test]
fn a_command_is_judged_where_it_would_run_and_by_that_projects_policy() {
    let home = Home::new();
    std::fs::create_dir(home.path("work/.git")).unwrap();
    std::fs::write(home.path("work/.guard.toml"), "[thresholds]\nagent = 1.0\n").unwrap();
    let mut command = home.guard(&["hook", "--agent", "codex"]);
    command.env("GUARD_WAIT", "0").current_dir("/");
    let output = fed(&mut command, bash(&home, "touch x").as_bytes());
    denied("codex", &output, "no one to ask");
    let mut command = home.guard(&["hook", "--agent", "codex"]);
    command.env("GUARD_WAIT", "0").current_dir("/");
    let elsewhere = bash(&home, "touch x").replace("/work\"", "/home\"");
    assert_eq!(said(&fed(&mut command, elsewhere.as_bytes())), (String::new(), String::new()));
}

#[test]
fn a_directory_that_is_gone_does_not_let_a_flagged_command_through() {
    let home = Home::new();
    let gone = bash(&home, "git push --force origin main").replace("/work\"", "/gone\"");
    denied("codex", &hook(&home, "codex", &gone), "git.push-force");
    let harmless = bash(&home, "ls").replace("/work\"", "/gone\"");
    assert_eq!(said(&hook(&home, "codex", &harmless)).0, "");
}

#[test]
fn a_broken_configuration_denies_what_is_flagged_and_no_more() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "mode = \"off\"\nnonsense = 1\n").unwrap();
    let flagged = hook(&home, "codex", &bash(&home, "git push --force origin main"));
    denied("codex", &flagged, "git.push-force");
    denied("codex", &flagged, "nonsense");
    assert_eq!(said(&hook(&home, "codex", &bash(&home, "ls"))).0, "");
}

#[test]
fn what_cannot_be_recorded_is_denied_from_tier_2_on() {
    let home = Home::that_asks_nobody();
    std::fs::create_dir_all(home.path("home/.local/share")).unwrap();
    std::fs::write(home.data(), "in the way").unwrap();
    denied("claude", &hook(&home, "claude", &bash(&home, "git push --force origin main")), "could not be recorded");
    assert_eq!(said(&hook(&home, "claude", &bash(&home, "ls"))), (String::new(), String::new()));
}

#[test]
fn each_answer_is_in_the_record_before_it_is_given() {
    let home = Home::new();
    for command in ["ls", "git push --force origin main", "rm -rf ~"] {
        hook(&home, "claude", &bash(&home, command));
    }
    let store = home.store();
    let rows: Vec<_> = store.find(&Filter::default()).unwrap().iter().map(|id| store.entry(*id).unwrap()).collect();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.command.as_deref().unwrap(), row.decision.as_deref().unwrap(), row.session.as_deref().unwrap()))
        .collect();
    let session = "claude:s1";
    assert_eq!(
        told,
        [("ls", "allow", session), ("git push --force origin main", "deny", session), ("rm -rf ~", "deny", session)]
    );
    assert!(rows.iter().all(|row| row.kind == RowKind::Advised && row.origin.as_deref() == Some("agent")));
    assert!(
        rows.iter().all(|row| row.agent.as_deref() == Some("claude") && row.cwd.as_deref().unwrap().ends_with("/work"))
    );
    assert!(store.verify().unwrap().faults.is_empty());
    assert_eq!(home.ran(), 0);
}

#[test]
fn what_may_run_is_granted_only_where_the_policy_says_so() {
    let home = Home::new();
    let safe = bash(&home, "ls");
    assert_eq!(said(&hook(&home, "claude", &safe)).0, "");
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "[hook]\ngrant = true\n").unwrap();
    assert!(said(&hook(&home, "claude", &safe)).0.contains("\"permissionDecision\":\"allow\""));
    assert!(!said(&hook(&home, "claude", &bash(&home, "git push --force origin main"))).0.contains("\"allow\""));
    let write = safe.replace("\"Bash\"", "\"Write\"").replace("\"command\":\"ls\"", "\"file_path\":\"a.txt\"");
    assert_eq!(said(&hook(&home, "claude", &write)), (String::new(), String::new()));
    let permission = safe.replace("PreToolUse", "PermissionRequest");
    assert!(said(&hook(&home, "claude", &permission)).0.contains("\"behavior\":\"allow\""));
    // A project's configuration cannot grant.
    std::fs::remove_file(home.path("home/.config/guard/config.toml")).unwrap();
    std::fs::create_dir(home.path("work/.git")).unwrap();
    std::fs::write(home.path("work/.guard.toml"), "[hook]\ngrant = true\n").unwrap();
    assert_eq!(said(&hook(&home, "claude", &safe)).0, "");
}

#[test]
fn the_configuration_can_only_bring_the_deadline_forward() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "[hook]\ndeadline = 1\n").unwrap();
    std::fs::create_dir_all(home.data()).unwrap();
    nix::unistd::mkfifo(&home.data().join("guard.key"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let begun = std::time::Instant::now();
    denied("claude", &hook(&home, "claude", &bash(&home, "ls")), "could not answer in time");
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "it waited for what Claude Code would wait");
}

#[test]
fn a_session_that_was_denied_three_times_is_refused_unasked() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard/patterns")).unwrap();
    let rule = "family = \"mine\"\nabout = \"Mine.\"\n[[rule]]\nid = \"mine.never\"\ntier = 3\nreversibility = \"hard\"\n\
                reason = \"Never.\"\ndeny = true\nprogram = \"launch\"\nbad = [\"launch x\"]\ngood = [\"ls\"]\n";
    std::fs::write(home.path("home/.config/guard/patterns/mine.toml"), rule).unwrap();
    for _ in 0..3 {
        denied("claude", &hook(&home, "claude", &bash(&home, "launch it")), "mine.never");
    }
    denied("claude", &hook(&home, "claude", &bash(&home, "git push --force origin main")), "denials in a row");
}

#[test]
fn an_answer_that_cannot_be_written_is_a_denial() {
    let home = Home::new();
    for (agent, command) in [("codex", "git push --force origin main"), ("cursor", "ls")] {
        let input =
            bash(&home, command).replace("PreToolUse", if agent == "cursor" { "preToolUse" } else { "PreToolUse" });
        let script = format!("'{}' hook --agent {agent} > /dev/full; echo ended $?", env!("CARGO_BIN_EXE_guard"));
        let mut command = home.program("sh");
        command.args(["-c", &script]).env("GUARD_WAIT", "0");
        let (out, err) = said(&fed(&mut command, input.as_bytes()));
        assert_eq!(out, "ended 2\n", "{agent}: {err}");
        assert!(err.contains("could not be written"), "{agent}: {err}");
    }
}

#[test]
fn calls_that_come_at_once_are_all_answered_and_all_in_the_record() {
    let home = Home::new();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let home = &home;
        let call = |number: usize| {
            let command = if number.is_multiple_of(2) { "ls" } else { "rm -rf ~" };
            (number, hook(home, "claude", &bash(home, command)).status.code())
        };
        let threads: Vec<_> = (0..24).map(|number| scope.spawn(move || call(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (number, code) in answers {
        assert_eq!(code, Some(if number.is_multiple_of(2) { 0 } else { 2 }), "{number}");
    }
    let audit = home.store().verify().unwrap();
    assert_eq!((audit.rows, audit.faults.len()), (24, 0));
}
