//! Tests guard as the shell of an agent that has no hook.

use super::*;

#[test]
fn shims_are_links_that_lead_to_guard_and_are_removed_again() {
    let home = home();
    let said = home.guard(&["install", "shims", "--yes"]).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let directory = home.data().join("shims");
    assert!(said.contains(&format!("\"CLAUDE_CODE_SHELL\": \"{}/bash\"", directory.display())), "{said}");
    for name in ["bash", "sh"] {
        assert_eq!(fs::canonicalize(directory.join(name)).unwrap(), fs::canonicalize(GUARD).unwrap());
    }
    let (_, end) = at_a_terminal(&home, &["install", "shims", "--uninstall"], None);
    assert_eq!((end.as_str(), directory.exists()), ("exit 0", false));
}

/// Creates a home with a guard that is installed as shims, and returns it with that guard's path and its output.
fn with_shims() -> (Home, PathBuf, String) {
    let home = home();
    let own = home.path("bin/guard");
    fs::remove_file(&own).ok();
    crate::harness::program::copy(GUARD, &own);
    let output = home.program(own.to_str().unwrap()).args(["install", "shims", "--yes"]).output().unwrap();
    (home, own, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_script_stands_for_a_link_and_runs_nothing_when_guard_is_gone() {
    let (home, own, said) = with_shims();
    let script = home.data().join("shims/script/bash");
    assert!(said.contains(&format!("export SHELL={}    for Aider", script.display())), "{said}");
    assert!(said.contains("Aider: Without a terminal it starts /bin/sh itself"), "{said}");
    let shell = |command: &str| home.program(script.to_str().unwrap()).args(["-i", "-c", command]).output().unwrap();
    let refused = shell("guard-canary deny; echo ran");
    assert_eq!((refused.status.code(), refused.stdout), (Some(126), Vec::new()));
    assert_eq!(String::from_utf8(shell("echo \"a b\"").stdout).unwrap(), "a b\n");
    let doctor = home.program(own.to_str().unwrap()).args(["doctor", "shell.SHELL"]).env("SHELL", &script).output();
    let doctor = String::from_utf8(doctor.unwrap().stdout).unwrap();
    assert!(doctor.contains("ok") && doctor.contains("script/bash"), "{doctor}");
    fs::rename(&own, home.path("bin/away")).unwrap();
    let gone = shell("echo ran");
    assert!(script.exists() && !gone.status.success() && gone.stdout.is_empty(), "{gone:?}");
    fs::rename(home.path("bin/away"), &own).unwrap();
    // A script that was changed by hand belongs to the user and is kept.
    fs::write(script.with_file_name("sh"), "#!/bin/sh\n").unwrap();
    let terminal = home.program(own.to_str().unwrap()).args(["install", "shims", "--uninstall", "--dry-run"]).output();
    assert!(terminal.unwrap().status.success() && script.exists());
    let (_, end) = at_a_terminal(&home, &["install", "shims", "--uninstall"], None);
    assert_eq!((end.as_str(), script.exists(), script.with_file_name("sh").exists()), ("exit 0", false, true));
}

/// mini-swe-agent's way to run a command: through /bin/sh, whatever the variables contain.
const LOCAL: &str = "import subprocess
class LocalEnvironment:
    def execute(self, action, cwd='', *, timeout=None):
        return subprocess.run(action['command'], shell=True, cwd=cwd or None, timeout=timeout).returncode
";

#[test]
fn a_class_that_an_agent_loads_runs_its_commands_through_guard_and_leaves_nothing_behind() {
    if !crate::harness::tools::is_installed("python3") {
        return;
    }
    let (home, own, said) = with_shims();
    let directory = home.data().join("shims");
    let scripts = directory.join("script");
    assert!(said.contains(&format!("export PYTHONPATH={}    for mini-swe-agent", scripts.display())), "{said}");
    let package = home.path("python/minisweagent/environments");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("local.py"), LOCAL).unwrap();
    let loads =
        "import sys, guard_shell\nsys.exit(guard_shell.Environment().execute({'command': sys.argv[1]}, timeout=60))";
    let run = |command: &str| {
        let path = format!("{}:{}", scripts.display(), home.path("python").display());
        home.program("python3").args(["-c", loads, command]).env("PYTHONPATH", path).output().unwrap()
    };
    assert_eq!(String::from_utf8(run("echo 'a  b' \"$HOME\" | cat").stdout).unwrap().split_at(4).0, "a  b");
    let refused = run("guard-canary deny; echo ran");
    assert_eq!((refused.status.code(), refused.stdout), (Some(126), Vec::new()));
    fs::rename(&own, home.path("bin/away")).unwrap();
    let gone = run("echo ran");
    assert!(!gone.status.success() && gone.stdout.is_empty(), "{gone:?}");
    fs::rename(home.path("bin/away"), &own).unwrap();
    let (_, end) = at_a_terminal(&home, &["install", "shims", "--uninstall"], None);
    assert_eq!((end.as_str(), directory.exists()), ("exit 0", false));
}

/// Returns the command line of Goose's hook from its file.
fn line_of_the_hook(path: &Path) -> String {
    let hooks: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

/// Returns the result of a call in an agent that only an interrupt stops: it waits for its hook, and then runs the tool
/// whatever the hook answered.
fn stopped_or_not(home: &Home, hook: &Path, command: &str) -> (String, String) {
    let input = serde_json::json!({
        "event": "PreToolUse", "session_id": "s", "tool_name": "shell", "tool_input": {"command": command},
        "working_dir": home.path("work"),
    });
    fs::write(home.path("call"), input.to_string()).unwrap();
    fs::write(home.path("line"), line_of_the_hook(hook)).unwrap();
    let [call, line] = ["call", "line"].map(|name| home.path(name).display().to_string());
    let script =
        format!("trap 'echo interrupted; exit' INT\nsh -c \"$(cat {line})\" < {call} > /dev/null &\nwait $!\necho ran");
    home.stand_in("goose", &script);
    let said = home.program("goose").output().unwrap();
    (String::from_utf8(said.stdout).unwrap(), String::from_utf8(said.stderr).unwrap())
}

#[test]
fn a_version_that_does_not_act_on_a_refusal_is_interrupted() {
    let home = home();
    let hook = home.path("home/.agents/plugins/guard/hooks/hooks.json");
    let directory = home.data().join("shims");
    home.stand_in("goose", "echo ' 1.34.0'");
    let dry = home.guard(&["install", "goose", "--dry-run"]).output().unwrap();
    assert!(String::from_utf8_lossy(&dry.stdout).contains("would link"), "{dry:?}");
    assert!(!directory.exists() && !hook.exists());
    let said = String::from_utf8(home.guard(&["install", "goose", "--yes"]).output().unwrap().stdout).unwrap();
    for words in
        ["1.34.0 does not act on a refusal", &format!("export GOOSE_SHELL={}/bash", directory.display()), "1.35.0"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(fs::canonicalize(directory.join("bash")).unwrap(), fs::canonicalize(GUARD).unwrap());
    // The doctor tries the command line without being interrupted itself.
    let doctor = |shell: &str| {
        let said = home.guard(&["doctor", "agent.goose"]).env("GOOSE_SHELL", shell).output().unwrap();
        assert_eq!(said.status.code(), Some(0), "{said:?}");
        String::from_utf8(said.stdout).unwrap()
    };
    let told = doctor(&format!("{}/bash", directory.display()));
    assert!(told.contains("Goose asks guard") && told.contains("only what its shell (GOOSE_SHELL) refuses"), "{told}");
    assert!(doctor("/bin/bash").contains("the model is not told why"));

    let flagged = FLAGGED.join(" ");
    assert_eq!(stopped_or_not(&home, &hook, "ls").0, "ran\n");
    let (told, seen) = stopped_or_not(&home, &hook, &flagged);
    assert_eq!(told, "interrupted\n");
    if Path::new("/proc/self/fd").exists() {
        assert!(seen.contains("git.push-force"), "{seen}");
    }
    let own = home.path("bin/guard");
    fs::rename(&own, home.path("bin/away")).unwrap();
    assert_eq!(stopped_or_not(&home, &hook, "ls").0, "interrupted\n");
    fs::rename(home.path("bin/away"), &own).unwrap();

    home.stand_in("goose", "echo ' 1.35.0'");
    let doctor = home.guard(&["doctor", "agent.goose"]).output().unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("from another version"), "{doctor:?}");
    let said = home.guard(&["install", "goose", "--yes"]).output().unwrap();
    assert!(!line_of_the_hook(&hook).contains("kill"), "{said:?}");
    home.stand_in("goose", "echo ' 1.34.0'");
    let doctor = home.guard(&["doctor", "agent.goose"]).output().unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("runs commands that its hook refuses"), "{doctor:?}");
}

#[test]
fn shims_do_not_replace_what_is_not_guards() {
    let home = home();
    let directory = home.path("home/bin");
    fs::create_dir(&directory).unwrap();
    symlink("/bin/true", directory.join("bash")).unwrap();
    fs::write(directory.join("mine"), "").unwrap();
    let arguments = ["install", "shims", "--yes", "--dir", directory.to_str().unwrap()];
    let output = home.guard(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&output.stderr).contains("already exists and is not a link of guard"));
    assert!(!directory.join("sh").exists());
    fs::remove_file(directory.join("bash")).unwrap();
    assert!(home.guard(&arguments).status().unwrap().success());
    at_a_terminal(&home, &["install", "shims", "--uninstall", "--dir", directory.to_str().unwrap()], None);
    let left: Vec<_> = fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["mine"]);
}
