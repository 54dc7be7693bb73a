//! Tests agents that have no prompt of their own: the call waits in the queue, no longer than the agent does, and an
//! approval is valid for one use.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use guard::store::queue::{Queue, RequestState};

use super::stage::{bash, hook, said};
use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::{PATIENCE, Terminal};

/// Returns the command of a hook as an unknown agent starts it: from its own session, so that it has no person's
/// terminal.
fn apart(home: &Home, agent: &str, timeout: &str) -> Command {
    let mut command = home.program("sh");
    command.args(["-c", "\"$0\" \"$@\"; exit $?", env!("CARGO_BIN_EXE_guard")]);
    command.args(["hook", "--agent", agent, "--timeout", timeout]).env_remove("GUARD_WAIT");
    crate::queue::stage::apart(command)
}

/// Starts a hook that waits, and returns it with its request.
fn waiting(home: &Home, agent: &str, input: &str) -> (Child, String) {
    let mut command = apart(home, agent, "120");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let begun = Instant::now();
    let id = loop {
        let pending = home.guard(&["pending", "--json"]).output().unwrap();
        let pending = String::from_utf8(pending.stdout).unwrap();
        if let Some(id) = pending.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()) {
            break id.to_owned();
        }
        assert!(begun.elapsed() < PATIENCE, "nothing waits: {pending}");
        std::thread::sleep(Duration::from_millis(50));
    };
    (child, id)
}

fn approve(home: &Home, id: &str) {
    approve_as(home, &[id]);
}

/// Approves at a terminal, with these arguments of `guard approve`.
fn approve_as(home: &Home, arguments: &[&str]) {
    let mut command = home.guard(&[&["approve"], arguments].concat());
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send("y");
    terminal.wait_exit();
}

fn ended(child: Child) -> (Output, String, String) {
    let output = child.wait_with_output().unwrap();
    let (out, err) = said(&output);
    (output, out, err)
}

#[test]
fn a_yes_elsewhere_lets_it_through_without_granting_more() {
    let home = Home::new();
    let (child, id) = waiting(&home, "codex", &bash(&home, &FLAGGED.join(" ")));
    approve(&home, &id);
    let (output, out, err) = ended(child);
    assert_eq!((output.status.code(), out.as_str(), err.as_str()), (Some(0), "", ""));
    let log = home.prints(&["log", "--json"], 0);
    assert!(log.contains("\"kind\":\"advised\"") && log.contains(&format!("request {id}, approved by")), "{log}");
    // The approval was valid once.
    let (out, _) = said(&hook(&home, "codex", &bash(&home, &FLAGGED.join(" "))));
    assert!(out.contains("deny"), "{out}");
}

#[test]
fn a_yes_for_the_session_holds_for_its_later_calls_and_for_no_other_session() {
    let home = Home::new();
    let input = bash(&home, "npm install some-pkg");
    let (child, id) = waiting(&home, "codex", &input);
    approve_as(&home, &[&id, "--session"]);
    let (output, out, err) = ended(child);
    assert_eq!((output.status.code(), out.as_str(), err.as_str()), (Some(0), "", ""));
    assert_eq!(said(&hook(&home, "codex", &input)), (String::new(), String::new()));
    let (out, _) = said(&hook(&home, "codex", &bash(&home, "npm install some-other-pkg")));
    assert!(out.contains("deny"), "another command: {out}");
    let other = input.replace("\"s1\"", "\"s2\"");
    assert_ne!(other, input);
    let (out, _) = said(&hook(&home, "codex", &other));
    assert!(out.contains("deny"), "another session: {out}");
}

#[test]
fn a_no_elsewhere_is_a_denial_with_its_words_and_nothing_else() {
    let home = Home::new();
    let (child, id) = waiting(&home, "kimi", &bash(&home, &FLAGGED.join(" ")).replace("\"Bash\"", "\"Shell\""));
    let mut command = home.guard(&["deny", &id, "--reason", "not on main"]);
    command.env("TERM", "xterm-256color");
    Terminal::spawn(command).wait_exit();
    let (output, out, err) = ended(child);
    assert_eq!((output.status.code(), out.as_str()), (Some(2), ""));
    assert!(err.contains("denied by a person: not on main") && err.lines().count() == 1, "{err}");
}

#[test]
fn what_nobody_answers_is_denied_before_the_agent_gives_up_and_names_its_request() {
    let home = Home::new();
    let input = bash(&home, &FLAGGED.join(" "));
    let output = super::stage::fed(&mut apart(&home, "codex", "5"), input.as_bytes());
    let (out, _) = said(&output);
    assert!(
        out.contains("\"deny\"") && out.contains("nobody answered") && !out.contains("could not answer in time"),
        "{out}"
    );
    // A late approval is valid for the same call, once.
    let pending = home.prints(&["pending", "--json"], 0);
    let id = pending.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert!(out.contains(&id), "{out}: {pending}");
    approve(&home, &id);
    let late = super::stage::fed(&mut apart(&home, "codex", "5"), input.as_bytes());
    assert_eq!(said(&late), (String::new(), String::new()), "{pending}");
    assert_eq!(Queue::open(&home.paths()).unwrap().find(&id).unwrap().unwrap().state, RequestState::Used);
}

#[test]
fn tier_4_waits_for_a_person_and_never_for_the_agents_own_prompt() {
    let home = Home::new();
    let (mut child, id) = waiting(&home, "claude", &bash(&home, "rm -rf ~"));
    let pending = home.prints(&["pending"], 0);
    assert!(pending.contains(&id) && pending.contains("rm -rf"), "{pending}");
    let group = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).unwrap();
    child.wait().unwrap();
}

#[test]
fn an_agent_that_ends_the_hook_while_it_waits_gets_a_denial() {
    for agent in ["codex", "kimi"] {
        let home = Home::new();
        let tool = if agent == "kimi" { "\"Shell\"" } else { "\"Bash\"" };
        let (child, id) = waiting(&home, agent, &bash(&home, &FLAGGED.join(" ")).replace("\"Bash\"", tool));
        let group = nix::unistd::Pid::from_raw(child.id().cast_signed());
        nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGTERM).unwrap();
        let (_, out, err) = ended(child);
        let said = format!("{out}{err}");
        assert!(said.contains(&format!("guard was killed by SIGTERM while request {id} waited")), "{agent}: {said}");
        assert!(agent == "kimi" || out.contains("\"deny\""), "{agent}: {said}");
    }
}

#[test]
fn a_hook_whose_agent_is_gone_is_recorded_as_that() {
    let home = Home::new();
    let (mut child, _) = waiting(&home, "codex", &bash(&home, &FLAGGED.join(" ")));
    // The answer has no reader any more.
    drop((child.stdout.take(), child.stderr.take()));
    child.wait().unwrap();
    let log = home.prints(&["log", "--json"], 0);
    assert!(log.contains("ended while waiting for the answer") && !log.contains("SIGTERM"), "{log}");
}

#[test]
fn a_time_that_was_made_shorter_in_the_agents_configuration_is_kept() {
    for (agent, file, long, short) in [
        ("gemini", ".gemini/settings.json", "3600000", "2000"),
        ("qwen", ".qwen/settings.json", "600000", "2000"),
        ("grok", ".grok/hooks/guard.json", "\"timeout\": 600", "\"timeout\": 2"),
        ("copilot", ".copilot/hooks/guard.json", "\"timeoutSec\": 3600", "\"timeoutSec\": 2"),
        ("kimi", ".kimi-code/config.toml", "timeout = 600", "timeout = 2"),
        ("hermes", ".hermes/config.yaml", "timeout: 300", "timeout: 2"),
    ] {
        let home = Home::new();
        home.prints(&["install", agent, "--yes"], 0);
        let path = home.path("home").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(long), "{agent}: {text}");
        std::fs::write(&path, text.replace(long, short)).unwrap();
        let call = super::exchanges::kept(agent).into_iter().find(|call| call.input.contains("push --force")).unwrap();
        let directory = home.path("").to_string_lossy().trim_end_matches('/').to_owned();
        let begun = Instant::now();
        let mut command = apart(&home, agent, "120");
        let output = super::fed(&mut command, call.input.replace("$HERE", &directory).as_bytes());
        assert!(begun.elapsed() < Duration::from_secs(30), "{agent}: {:?}", begun.elapsed());
        let (out, err) = said(&output);
        assert!(format!("{out}{err}").contains("refused"), "{agent}: {out}{err}");
    }
}
