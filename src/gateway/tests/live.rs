//! Tests `guard doctor --live` with a small agent in place of a real one, the stand-in for a model, and the real guard
//! as its hook.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::test_gateway::guard;

/// An agent like Claude Code: it calls its model, runs the hook of its settings, and obeys the hook. `BEFORE` is
/// replaced by code that runs first, `ASKED` by the code that calls the hook and decides whether the tool may run.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys, urllib.request
BEFORE
home = os.environ["HOME"]
hook = json.load(open(home + "/.claude/settings.json"))["hooks"]["PreToolUse"][0]["hooks"][0]

def asked(name, given):
    said = json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": os.getcwd(), "permission_mode": "bypassPermissions",
                       "tool_name": name, "tool_input": given})
    ASKED

def text(value):
    return {"type": "object", "properties": {name: {"type": "string"} for name in value}, "required": value}

tools = [{"name": "Bash", "input_schema": text(["command", "description"])}, {"name": "Write", "input_schema": text(["file_path", "content"])},
         {"name": "Launch", "input_schema": text(["command"])}, {"name": "Paint", "input_schema": text(["colour"])},
         {"name": "Read", "input_schema": text(["file_path"])}]
messages = [{"role": "user", "content": "do it"}]
for streams in [False, True] * 8:
    body = json.dumps({"model": "m", "messages": messages, "tools": tools, "stream": streams}).encode()
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, {"content-type": "application/json"})
    answer = urllib.request.urlopen(request).read().decode()
    if streams:
        events = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: ")]
        part = next(event["content_block"] for event in events if event["type"] == "content_block_start")
        delta = next(event["delta"] for event in events if event["type"] == "content_block_delta")
        if part["type"] == "tool_use":
            part["input"] = json.loads(delta["partial_json"])
    else:
        part = json.loads(answer)["content"][0]
    if part["type"] != "tool_use":
        break
    why = asked(part["name"], part["input"])
    if why is None and part["name"] in ("Bash", "Launch"):
        subprocess.run(part["input"]["command"], shell=True)
    elif why is None and part["name"] == "Write":
        open(part["input"]["file_path"], "w").write(part["input"]["content"])
    messages += [{"role": "assistant", "content": [part]},
                 {"role": "user", "content": [{"type": "tool_result", "tool_use_id": part["id"], "content": why or "done"}]}]
"#;

/// Obeys the hook, and runs nothing if the hook is missing.
const OBEYS: &str = "
    try:
        ran = subprocess.run([hook['command']] + hook['args'], input=said, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return ran.stderr or 'killed' if ran.returncode else None";

/// Obeys the hook, but continues if the hook is killed.
const FORGIVING: &str = "
    try:
        ran = subprocess.run([hook['command']] + hook['args'], input=said, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return ran.stderr if ran.returncode == 2 else None if ran.returncode <= 0 else str(ran)";

/// Obeys the hook, but calls it only for its shell and its files.
const PARTIAL: &str = "
    if name in ('Launch', 'Paint'):
        return None
    try:
        ran = subprocess.run([hook['command']] + hook['args'], input=said, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return ran.stderr or 'killed' if ran.returncode else None";

/// Obeys the hook, but continues if the hook is missing.
const CARELESS: &str = "
    try:
        ran = subprocess.run([hook['command']] + hook['args'], input=said, capture_output=True, text=True)
    except OSError:
        return None
    return ran.stderr or 'killed' if ran.returncode else None";

/// Obeys the hook, but does not report its decision to the model.
const SILENT: &str = "
    try:
        ran = subprocess.run([hook['command']] + hook['args'], input=said, capture_output=True, text=True)
    except OSError as error:
        return 'no'
    return 'no' if ran.returncode else None";

/// Calls no hook.
const DEAF: &str = "return None";

/// Runs nothing at all.
const STUCK: &str = "return 'not today'";

/// Waits for the hook and then ignores it, like Goose before 1.35.0; only an interrupt stops it.
const HEEDLESS: &str = "
    subprocess.run(['sh', '-c', hook['command']], input=said, capture_output=True, text=True)
    return None";

struct Workspace {
    directory: tempfile::TempDir,
    agent: &'static str,
}

impl Workspace {
    /// Creates a workspace with this agent and with settings of the user.
    fn with(before: &str, asked: &str) -> Self {
        Self::of("claude", &AGENT.replace("BEFORE", before).replace("ASKED", asked))
    }

    /// Creates a workspace with the same agent under another name, with the files, tools and hooks of Goose 1.34.
    fn with_goose(asked: &str) -> Self {
        let version = "if sys.argv[1] == '--version':\n    print(' 1.34.0')\n    sys.exit()";
        let agent = AGENT
            .replace("BEFORE", version)
            .replace("ASKED", asked)
            .replace("/.claude/settings.json", "/.agents/plugins/guard/hooks/hooks.json")
            .replace("hook_event_name", "event")
            .replace("ANTHROPIC_BASE_URL", "OPENAI_HOST")
            .replace("Bash", "shell")
            .replace("Write", "write")
            .replace("file_path", "path");
        Self::of("goose", &agent)
    }

    fn of(name: &'static str, agent: &str) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap(), agent: name };
        for directory in ["home/.claude", "bin", "work", "tmp"] {
            fs::create_dir_all(place.path(directory)).unwrap();
        }
        fs::write(place.path("home/.claude/settings.json"), "{\"own\": true}\n").unwrap();
        let mut writer = Command::new("sh");
        writer
            .args(["-c", "printf '%s' \"$1\" > \"$0\" && chmod +x \"$0\""])
            .arg(place.path("bin").join(name))
            .arg(agent);
        let made = writer.status().unwrap();
        assert!(made.success());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns all files in the home with their content.
    fn home(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), found);
                } else {
                    found.insert(entry.path(), fs::read(entry.path()).unwrap());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.path("home"), &mut found);
        found
    }

    /// Returns the exit code and the findings. Checks that the home is unchanged and nothing is left behind.
    fn tried(&self) -> (i32, Vec<(String, String)>) {
        let before = self.home();
        let mut command = Command::new(guard());
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("bin").display());
        command
            .args(["doctor", "--json", "--live", self.agent])
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", path);
        command.env("TMPDIR", self.path("tmp")).current_dir(self.path("work"));
        command.env("ANTHROPIC_API_KEY", "the user's own").env("CLAUDE_CONFIG_DIR", self.path("home/.claude"));
        let output = command.output().unwrap();
        let said: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(self.home(), before, "the home was changed");
        assert_eq!(fs::read_dir(self.path("tmp")).unwrap().count(), 0, "something was left behind");
        let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let findings = said["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["check"] == format!("live.{}", self.agent)), "{said}");
        let findings = findings.iter().map(|finding| (text(finding, "status"), text(finding, "says"))).collect();
        (output.status.code().unwrap(), findings)
    }

    #[track_caller]
    fn finds(&self, status: &str, words: &str) {
        let (code, findings) = self.tried();
        assert!(findings.iter().any(|(is, says)| is == status && says.contains(words)), "{words}: {findings:?}");
        assert_eq!(code, i32::from(status == "fail"), "{findings:?}");
    }
}

#[test]
fn an_agent_that_does_as_its_hook_says_holds_in_every_case() {
    let (code, findings) = Workspace::with("", OBEYS).tried();
    let [(status, says)] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((code, status.as_str()), (0, "ok"), "{says}");
    for held in [
        "harmless command ran",
        "told why",
        "no startup file",
        "its other tools",
        "when guard was killed",
        "nothing ran without guard",
    ] {
        assert!(says.contains(held), "{says}");
    }
    assert!(!says.contains("not tested"), "{says}");
}

#[test]
fn an_agent_that_only_an_interrupt_stops_is_tried_once_for_each_case() {
    let (code, findings) = Workspace::with_goose(HEEDLESS).tried();
    let [(status, says)] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((code, status.as_str()), (0, "ok"), "{says}");
    for held in [
        "harmless command ran",
        "reason shown",
        "no startup file",
        "when guard was killed",
        "nothing ran without guard",
    ] {
        assert!(says.contains(held), "{says}");
    }
}

#[test]
fn an_agent_that_asks_nobody_is_found_out() {
    let deaf = Workspace::with("", DEAF);
    deaf.finds("fail", "ran a command that guard must refuse");
    deaf.finds("fail", "wrote a startup file");
    deaf.finds("fail", "after guard was removed");
}

#[test]
fn an_agent_that_goes_on_without_guard_is_found_out() {
    let careless = Workspace::with("", CARELESS);
    careless.finds("fail", "after guard was removed");
    assert_eq!(careless.tried().1.len(), 1, "nothing else is wrong");
}

#[test]
fn an_agent_that_goes_on_when_guard_is_killed_is_found_out() {
    let forgiving = Workspace::with("", FORGIVING);
    forgiving.finds("fail", "ran a command when guard was killed while it waited");
    assert_eq!(forgiving.tried().1.len(), 1, "nothing else is wrong");
}

#[test]
fn a_tool_of_which_guard_is_not_told_is_found_out() {
    Workspace::with("", PARTIAL).finds("fail", "ran a command with its tool Launch without asking guard");
}

#[test]
fn a_tool_that_takes_no_command_and_is_not_reported_does_not_pass_for_tested() {
    let (_, findings) = Workspace::with("", PARTIAL).tried();
    assert!(findings.iter().any(|(_, says)| says == "not tested: its tools Paint"), "{findings:?}");
}

#[test]
fn a_model_that_is_not_told_why_is_a_fault() {
    Workspace::with("", SILENT).finds("fail", "was not told that guard refused it");
}

#[test]
fn an_agent_that_runs_nothing_does_not_pass_for_one_that_holds() {
    Workspace::with("", STUCK).finds("fail", "a harmless command did not run (not today)");
}

#[test]
fn an_agent_that_never_asks_its_model_could_not_be_tried_and_says_so() {
    let mute = Workspace::with("print('log in first'); sys.exit(3)", OBEYS);
    mute.finds("warn", "it sent no request to its model (log in first)");
}

#[test]
fn what_an_agent_did_not_get_to_is_named() {
    let place = Workspace::with("", OBEYS);
    let agent = fs::read_to_string(place.path("bin/claude")).unwrap();
    fs::write(place.path("bin/claude"), agent.replace("[False, True] * 8", "[False]")).unwrap();
    place.finds(
        "ok",
        "not tested: a command that must be refused, its own tool for files, its other tools, a command while",
    );
}

#[test]
fn a_tool_that_is_not_offered_is_named() {
    let place = Workspace::with("", OBEYS);
    let agent = fs::read_to_string(place.path("bin/claude")).unwrap();
    fs::write(place.path("bin/claude"), agent.replace("\"Write\"", "\"Draw\"")).unwrap();
    place.finds("ok", "not tested: its own tool for files");
}

#[test]
fn what_an_agent_leaves_running_ends_with_the_trial_and_its_secrets_are_its_own() {
    let place = Workspace::with("", OBEYS);
    let (file, seen) = (place.path("bin/pid"), place.path("bin/seen"));
    let before = format!(
        "subprocess.run(['sh', '-c', 'setsid sleep 300 > /dev/null 2>&1 & echo $! > {}'])\nopen('{}', 'w').write(repr(dict(os.environ)))",
        file.display(),
        seen.display()
    );
    let agent = fs::read_to_string(place.path("bin/claude"))
        .unwrap()
        .replace("sys, urllib.request\n", &format!("sys, urllib.request\n{before}\n"));
    fs::write(place.path("bin/claude"), agent).unwrap();
    place.finds("ok", "nothing ran without guard");
    let pid = fs::read_to_string(file).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} lives");
    let seen = fs::read_to_string(seen).unwrap();
    assert!(!seen.contains("the user's own") && !seen.contains(&place.path("home").display().to_string()), "{seen}");
}
