//! Tests that a hook and guard as the agent's shell, installed together, ask only once.

use std::io::Write as _;
use std::process::Stdio;

use super::stage::bash;
use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::Terminal;

/// Runs a script as an agent at a person's terminal, and returns its output. The script calls hooks and shells as its
/// children: `$H` asks the hook about the command in `$1` from the directory in `$2`, and `$S` runs a command with
/// guard as its shell.
fn agent(home: &Home, script: &str) -> String {
    let input = bash(home, "@COMMAND@").replace(home.path("work").to_str().unwrap(), "@FOLDER@");
    std::fs::write(home.path("input"), input).unwrap();
    let guard = env!("CARGO_BIN_EXE_guard");
    let files = home.path("").display().to_string();
    home.stand_in(
        "claude",
        &format!(
            "H() {{ sed \"s|@COMMAND@|$1|; s|@FOLDER@|${{2:-$PWD}}|; s|PreToolUse|${{3:-PreToolUse}}|\" '{files}/input' > '{files}/call'\n\
             '{guard}' hook --agent claude < '{files}/call' > '{files}/said' 2>&1\n\
             grep -o '\"permissionDecision\":\"[a-z]*\"' '{files}/said' || echo silent; }}\n\
             S() {{ '{guard}' -c \"$@\"; echo \"ended $?\"; }}\n{{\n{script}\n}} > '{files}/told' 2> '{files}/wrong'"
        ),
    );
    Terminal::spawn(home.program("claude")).wait_exit();
    std::fs::read_to_string(home.path("told")).unwrap()
}

fn lines(told: &str) -> Vec<String> {
    told.lines().map(ToOwned::to_owned).collect()
}

const ASKED: &str = "\"permissionDecision\":\"ask\"";

#[test]
fn what_the_hook_handed_over_the_shell_runs_once_without_asking() {
    let home = Home::new();
    let push = FLAGGED.join(" ");
    let output = agent(&home, &format!("H '{push}'; S '{push}'; S '{push}'"));
    assert_eq!(lines(&output), [ASKED, "ended 0", "ended 126"], "{output:?}");
    assert_eq!(home.ran(), 1);
    let log = home.prints(&["log", "--json"], 0);
    assert!(log.contains("\"settled_by\":\"host\""), "{log}");
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn a_hook_that_the_agent_calls_through_a_shell_hands_over_too() {
    let home = Home::new();
    let push = FLAGGED.join(" ");
    let guard = env!("CARGO_BIN_EXE_guard");
    let call = home.path("shelled").display().to_string();
    std::fs::write(&call, bash(&home, &push)).unwrap();
    let through = |rest: &str| {
        let script =
            format!("sh -c \"'{guard}' hook --agent claude --timeout 600{rest}\" < '{call}'; S '{push}'; S '{push}'");
        lines(&agent(&home, &script))
    };
    // Agents' configurations contain such a fallback for a failing guard.
    for rest in [" || exit 2", " || echo {}"] {
        let told = through(rest);
        assert!(told[0].contains(ASKED), "{rest}: {told:?}");
        assert_eq!(told[1..], ["ended 0", "ended 126"], "{rest}: {told:?}");
    }
    // Other text after the hook's call could be the agent's command.
    assert_eq!(through("; true")[1..], ["ended 126", "ended 126"]);
    assert_eq!(home.ran(), 2);
}

#[test]
fn another_command_another_directory_and_tier_4_are_not_what_was_handed_over() {
    let home = Home::new();
    let push = FLAGGED.join(" ");
    let other = format!("H '{push}'; S '{push} '; cd ../home; S '{push}'; cd ../work; S '{push}' name; S '{push}'");
    assert_eq!(lines(&agent(&home, &other)), [ASKED, "ended 126", "ended 126", "ended 126", "ended 0"]);
    let elsewhere = format!("H '{push}' '{}'; S '{push}'", home.path("home").display());
    assert_eq!(lines(&agent(&home, &elsewhere)), [ASKED, "ended 126"]);
    assert_eq!(lines(&agent(&home, "H 'git rm -rf ~'; S 'rm -rf ~/../home'")).last().unwrap(), "ended 126");
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_command_of_the_agents_cannot_hand_itself_over() {
    let home = Home::new();
    let push = FLAGGED.join(" ");
    // A command that runs below the agent is not the agent, neither as the caller of the hook nor as the parent of
    // guard.
    let forged = format!("(sh -c \". ./forge\"); S '{push}'");
    let guard = env!("CARGO_BIN_EXE_guard");
    let input = bash(&home, &push);
    std::fs::write(home.path("forged"), input).unwrap();
    let forge = format!("'{guard}' hook --agent claude < '{}' >/dev/null 2>&1; true\n", home.path("forged").display());
    std::fs::write(home.path("work/forge"), forge).unwrap();
    assert_eq!(lines(&agent(&home, &forged)), ["ended 126"]);
    let deeper = format!("H '{push}'; sh -c \"'{guard}' -c '{push}'; exit \\$?\"; echo \"ended $?\"");
    assert_eq!(lines(&agent(&home, &deeper)), [ASKED, "ended 126"]);
    assert_eq!(home.ran(), 0);
}

#[test]
fn through_guard_the_hook_cannot_be_fed() {
    let home = Home::new();
    let command = format!("echo '{{}}' | '{}' hook --agent claude", env!("CARGO_BIN_EXE_guard"));
    let output = home.guard(&["-c", &command]).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("guard.hook"), "{output:?}");
}

#[test]
fn what_the_agent_puts_around_the_command_does_not_hide_that_it_was_asked_about() {
    let home = Home::new();
    let push = FLAGGED.join(" ");
    let snapshots = home.path("home/.claude/shell-snapshots");
    std::fs::create_dir_all(&snapshots).unwrap();
    let snapshot = snapshots.join("snapshot-bash-1780808411821-wo7zkg.sh");
    std::fs::write(&snapshot, "shopt -s expand_aliases\n").unwrap();
    let wrapped = format!(
        "source {} 2>/dev/null || true && shopt -u extglob 2>/dev/null || true && eval '\\''{push}'\\'' < /dev/null && pwd -P >| \
         /tmp/claude-7bb5-cwd",
        snapshot.display()
    );
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_guard"), home.path("bin/bash")).unwrap();
    let shell = home.path("bin/bash").display().to_string();
    let script =
        format!("H '{push}'; '{shell}' -c '{wrapped}'; echo \"ended $?\"; '{shell}' -c '{wrapped}'; echo \"ended $?\"");
    let output = agent(&home, &script);
    assert_eq!(lines(&output), [ASKED, "ended 0", "ended 126"], "{output:?}");
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_request_for_permission_after_the_question_asks_nobody_again() {
    let home = Home::new();
    let push = FLAGGED.join(" ");
    let request = format!("H '{push}'; H '{push}' '' PermissionRequest; S '{push}'; H '{push}' '' PermissionRequest");
    let output = agent(&home, &request);
    assert_eq!(lines(&output), [ASKED, "silent", "ended 0", "silent"], "{output:?}");
    let log = home.prints(&["log", "--json"], 0);
    // The last one is a separate question, which the agent's own prompt is about to ask.
    assert_eq!(log.matches("\"decision\":\"ask\"").count(), 2, "{log}");
}

#[test]
fn a_change_of_a_file_is_asked_about_once_too() {
    let home = Home::new();
    let file = home.path("home/.bashrc").display().to_string();
    // The tool is another one; the rest is the same as for a command.
    let script = format!(
        "sed -i 's/\"Bash\"/\"Edit\"/; s/\"command\"/\"file_path\"/' '{0}/input'\nH '{file}'; H '{file}' '' PermissionRequest",
        home.path("").display()
    );
    assert_eq!(lines(&agent(&home, &script)), [ASKED, "silent"]);
    let log = home.prints(&["log", "--json"], 0);
    assert_eq!(log.matches("\"decision\":\"ask\"").count(), 1, "{log}");
}

#[test]
fn nobody_is_asked_through_an_agent_at_which_nobody_sits() {
    let home = Home::new();
    let push = FLAGGED.join(" ");
    let script = format!("H '{push}'; grep -o 'no one to ask' '{}'", home.path("said").display());
    // The agent runs at a terminal, first interactively and then with `-p`, which only prints its answer.
    let guard = agent(&home, &script);
    assert_eq!(lines(&guard), [ASKED]);
    let mut headless = home.program("claude");
    headless.arg("-p");
    Terminal::spawn(headless).wait_exit();
    let told = std::fs::read_to_string(home.path("told")).unwrap();
    assert_eq!(lines(&told), ["silent", "no one to ask"]);
    // The agent runs without a terminal, as in a script.
    home.program("claude").output().unwrap();
    assert_eq!(std::fs::read_to_string(home.path("told")).unwrap(), told);
    let log = home.prints(&["log", "--json"], 0);
    assert_eq!(log.matches("\"decision\":\"ask\"").count(), 1, "{log}");
}

#[test]
fn a_hook_ends_with_the_agent_that_asked_and_its_request_with_it() {
    let home = Home::new();
    let input = bash(&home, &FLAGGED.join(" "));
    std::fs::write(home.path("call"), input).unwrap();
    let guard = env!("CARGO_BIN_EXE_guard");
    // Agents start hooks through a shell that outlives them.
    let call = home.path("call").display().to_string();
    let script = format!(
        "export GUARD_WAIT=120\nsh -c \"'{guard}' hook --agent claude --timeout 600 < '{call}' > /dev/null; true\" &\nwait"
    );
    home.stand_in("claude", &script);
    let mut agent = home.program("claude").spawn().unwrap();
    let pending = || home.prints(&["pending", "--json"], 0);
    let until = |what: &str, good: &dyn Fn(&str) -> bool| {
        let begun = std::time::Instant::now();
        while !good(&pending()) {
            assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{what}: {}", pending());
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    };
    until("nothing waits", &|pending| pending.contains("\"id\""));
    agent.kill().unwrap();
    agent.wait().unwrap();
    until("it is waited for still", &|pending| pending.contains("\"waited_for\":false"));
}

#[test]
fn where_the_shell_explains_a_refusal_the_hook_leaves_lines_to_it() {
    let home = Home::new();
    assert!(home.guard(&["install", "shims", "--yes"]).output().unwrap().status.success());
    let shim = home.data().join("shims/bash");
    let code = |shell: &std::path::Path, tool: &str, input: serde_json::Value| {
        let call = serde_json::json!({
            "event": "PreToolUse", "session_id": "s", "tool_name": tool, "tool_input": input, "working_dir": home.path("work"),
        });
        let mut hook = home.guard(&["hook", "--agent", "goose"]);
        let mut hook = hook.env("GOOSE_SHELL", shell).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        hook.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
        hook.wait().unwrap().code()
    };
    let flagged = serde_json::json!({ "command": FLAGGED.join(" ") });
    assert_eq!(code(&shim, "shell", flagged.clone()), Some(0));
    assert_eq!(code("/bin/bash".as_ref(), "shell", flagged.clone()), Some(2));
    // A tool of that kind in another program runs its command itself.
    assert_eq!(code(&shim, "other__shell", flagged.clone()), Some(2));
    assert_eq!(code("bash".as_ref(), "shell", flagged), Some(2));
    let startup = serde_json::json!({ "path": home.path("home/.bashrc"), "content": "x" });
    assert_eq!(code(&shim, "write", startup), Some(2));
}
