//! `guard install`: what it writes, what it leaves alone, and that it can be taken back to the byte.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use guard::app::install::change::{WiredState, Wiring};
use guard::app::install::hosts::{self, Form, HOSTS};
use guard::app::install::json;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::{Terminal, ended};

const GUARD: &str = env!("CARGO_BIN_EXE_guard");

/// A home in which guard is on the PATH, as it is in life.
fn home() -> Home {
    let home = Home::new();
    symlink(GUARD, home.path("bin/guard")).unwrap();
    home
}

/// The path of guard that the configurations of this home name.
fn guard_of(home: &Home) -> String {
    home.path("bin/guard").display().to_string()
}

/// Every file below the home but guard's own, with what it holds and its mode.
fn files(home: &Home) -> Vec<(String, String, u32)> {
    fn walk(directory: &Path, top: &Path, all: &mut Vec<(String, String, u32)>) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.ends_with(".local/share/guard") {
                continue;
            }
            if path.is_dir() {
                walk(&path, top, all);
            } else {
                let name = path.strip_prefix(top).unwrap().display().to_string();
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                all.push((name, fs::read_to_string(&path).unwrap(), mode));
            }
        }
    }
    let mut all = Vec::new();
    walk(&home.path("home"), &home.path("home"), &mut all);
    all.sort();
    all
}

fn write(home: &Home, name: &str, text: &str) -> PathBuf {
    let path = home.path("home").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Runs guard on a terminal of its own and gives its answer to the question.
fn at_a_terminal(home: &Home, arguments: &[&str], answer: Option<&str>) -> (String, String) {
    let mut command = home.guard(arguments);
    command.env("TERM", "dumb");
    let mut terminal = Terminal::spawn(command);
    if let Some(answer) = answer {
        terminal.wait_for("[y/N]");
        terminal.send(answer);
    }
    let status = terminal.wait_exit();
    (terminal.screen(), ended(status))
}

#[test]
fn each_agent_gets_what_it_reads() {
    for host in HOSTS.iter() {
        let home = home();
        home.prints(&["install", host.name, "--yes"], 0);
        let mut shown = String::new();
        for (name, text, mode) in files(&home) {
            let text = text.replace(&guard_of(&home), "/usr/local/bin/guard");
            // Of a plugin only what is written into it: its source is guarded elsewhere.
            let plugin = matches!(host.user[0].form, Form::Plugin(_));
            let kept = text.split_inclusive('\n').filter(|line| !plugin || line.contains("/usr/local/bin/guard"));
            shown.push_str(&format!("== {name} {mode:o}\n{}", kept.collect::<String>()));
        }
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("install-{}", host.name), shown);
        });
    }
}

#[test]
fn a_second_time_it_is_already_installed() {
    for host in HOSTS.iter() {
        let home = home();
        home.prints(&["install", host.name, "--yes"], 0);
        let before = files(&home);
        assert_eq!(home.prints(&["install", host.name, "--yes"], 0), format!("{}: already installed\n", host.title));
        assert_eq!(files(&home), before);
    }
}

#[test]
fn what_stood_there_stays_as_it_was() {
    for (agent, name, before, after) in EXISTING {
        let home = home();
        let path = write(&home, name, before);
        home.prints(&["install", agent, "--yes"], 0);
        let text = fs::read_to_string(&path).unwrap().replace(&guard_of(&home), "/g/guard");
        assert_eq!(text, *after, "{agent}");
        let (screen, end) = at_a_terminal(&home, &["install", agent, "--uninstall"], Some("y\r"));
        assert_eq!(end, "exit 0", "{screen}");
        assert_eq!(fs::read_to_string(&path).unwrap(), *before, "{agent}");
    }
}

const EXISTING: &[(&str, &str, &str, &str)] = &[
    (
        "claude",
        ".claude/settings.json",
        "{\n\t// my settings\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Edit\", \"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]}, // mine\n\t\t],\n\t},\n}\n",
        "{\n\t// my settings\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"matcher\": \"Edit\", \"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]}, // mine\n\t\t\t{\n\t\t\t\t\"matcher\": \"*\",\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": \"/g/guard\",\n\t\t\t\t\t\t\"args\": [\"hook\", \"--agent\", \"claude\", \"--timeout\", \"3600\"],\n\t\t\t\t\t\t\"timeout\": 3600,\n\t\t\t\t\t\t\"onFailure\": \"block\",\n\t\t\t\t\t\t\"statusMessage\": \"asking guard; what waits for you: guard review\"\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t},\n\t\t],\n\t\t\"PermissionRequest\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"Bash\",\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n\t\t\t\t\t\t\"command\": \"/g/guard\",\n\t\t\t\t\t\t\"args\": [\"hook\", \"--agent\", \"claude\", \"--timeout\", \"3600\"],\n\t\t\t\t\t\t\"timeout\": 3600,\n\t\t\t\t\t\t\"statusMessage\": \"asking guard; what waits for you: guard review\"\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t],\n\t},\n}\n",
    ),
    (
        "cursor",
        ".cursor/hooks.json",
        "{\r\n    \"version\": 1,\r\n    \"hooks\": {\r\n        \"afterFileEdit\": [{ \"command\": \"fmt\" }]\r\n    }\r\n}\r\n",
        "{\r\n    \"version\": 1,\r\n    \"hooks\": {\r\n        \"afterFileEdit\": [{ \"command\": \"fmt\" }],\r\n        \"beforeShellExecution\": [\r\n            {\r\n                \"command\": \"/g/guard hook --agent cursor --timeout 600\",\r\n                \"timeout\": 600,\r\n                \"failClosed\": true\r\n            }\r\n        ],\r\n        \"preToolUse\": [\r\n            {\r\n                \"command\": \"/g/guard hook --agent cursor --timeout 600\",\r\n                \"timeout\": 600,\r\n                \"failClosed\": true\r\n            }\r\n        ]\r\n    }\r\n}\r\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\"theme\":\"dark\",\"hooks\":{\"BeforeTool\":[{\"matcher\":\"x\",\"hooks\":[]}]}}",
        "{\"theme\":\"dark\",\"hooks\":{\"BeforeTool\":[{\"matcher\":\"x\",\"hooks\":[]}, {\"matcher\":\"*\",\"hooks\":[{\"name\":\"guard\",\"type\":\"command\",\"command\":\"/g/guard hook --agent gemini --timeout 3600 || exit 2\",\"timeout\":3600000}]}]}}",
    ),
    (
        "kimi",
        ".kimi-code/config.toml",
        "# mine\ndefault_model = \"k2\" # best\n\n[[hooks]]\nevent = \"Stop\"\ncommand = \"bell\"\n\n[models.k2]\nmax = 1\n",
        "# mine\ndefault_model = \"k2\" # best\n\n[[hooks]]\nevent = \"Stop\"\ncommand = \"bell\"\n\n[models.k2]\nmax = 1\n\n[[hooks]]\nevent = \"PreToolUse\"\nmatcher = \".*\"\ncommand = \"/g/guard hook --agent kimi --timeout 600 || exit 2\"\ntimeout = 600\n",
    ),
    (
        "hermes",
        ".hermes/config.yaml",
        "# mine\nmodel: x   # best\nhooks:\n  pre_tool_call:\n    - matcher: \"write\"\n      command: \"lint\"\n\n# the rest\nlast: 1\n",
        "# mine\nmodel: x   # best\nhooks:\n  pre_tool_call:\n    - matcher: \"write\"\n      command: \"lint\"\n    - matcher: \".*\"\n      command: \"sh -c '/g/guard hook --agent hermes --timeout 300 || echo '\\\\''{\\\"decision\\\":\\\"block\\\",\\\"reason\\\":\\\"guard: refused: guard failed, or is gone\\\"}'\\\\'''\"\n      timeout: 300\n      fail_closed: true\n\n# the rest\nlast: 1\n",
    ),
    (
        "droid",
        ".factory/hooks.json",
        "{\n  \"PreToolUse\": []\n}\n",
        "{\n  \"PreToolUse\": [\n    {\n      \"matcher\": \"*\",\n      \"hooks\": [\n        {\n          \"type\": \"command\",\n          \"command\": \"/g/guard hook --agent droid --timeout 600 || exit 2\",\n          \"timeout\": 600\n        }\n      ]\n    }\n  ]\n}\n",
    ),
];

#[test]
fn taking_guard_out_of_a_new_home_leaves_nothing_behind() {
    for host in HOSTS.iter() {
        let home = home();
        home.prints(&["install", host.name, "--yes"], 0);
        let (screen, end) = at_a_terminal(&home, &["install", host.name, "--uninstall"], Some("y\r"));
        assert_eq!(end, "exit 0", "{screen}");
        assert_eq!(files(&home), Vec::new(), "{}", host.name);
        let left: Vec<_> = fs::read_dir(home.path("home")).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, [".local"], "{}", host.name);
    }
}

#[test]
fn taking_guard_out_of_a_file_that_was_changed_since_takes_only_guard_out() {
    for (agent, name, before, mine, after) in [
        ("claude", ".claude/settings.json", "{\n  \"a\": 1\n}\n", ("\"a\": 1", "\"a\": 2"), "{\n  \"a\": 2\n}\n"),
        (
            "codex",
            ".codex/hooks.json",
            "{\"hooks\": {}}\n",
            ("{\"hooks\"", "{\"x\": 1, \"hooks\""),
            "{\"x\": 1, \"hooks\": {}}\n",
        ),
        ("kimi", ".kimi-code/config.toml", "a = 1\n", ("a = 1", "a = 2"), "a = 2\n"),
        ("hermes", ".hermes/config.yaml", "a: 1\n", ("a: 1", "a: 2"), "a: 2\n"),
    ] {
        let home = home();
        let path = write(&home, name, before);
        home.prints(&["install", agent, "--yes"], 0);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(mine.0, mine.1, 1)).unwrap();
        let (screen, end) = at_a_terminal(&home, &["install", agent, "--uninstall", "--yes"], None);
        assert_eq!(end, "exit 0", "{screen}");
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{agent}");
    }
}

#[test]
fn taking_guard_out_without_the_copy_takes_only_guard_out() {
    for (agent, name, before, after) in [
        ("claude", ".claude/settings.json", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"),
        ("cursor", ".cursor/hooks.json", "", "{}\n"),
        ("kimi", ".kimi-code/config.toml", "a = 1\n", "a = 1\n"),
        ("hermes", ".hermes/config.yaml", "a: 1\n", "a: 1\n"),
    ] {
        let home = home();
        let path = write(&home, name, before);
        home.prints(&["install", agent, "--yes"], 0);
        fs::remove_dir_all(home.data().join("installed")).unwrap();
        let (screen, end) = at_a_terminal(&home, &["install", agent, "--uninstall", "--yes"], None);
        assert_eq!(end, "exit 0", "{screen}");
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), after, "{agent}");
    }
}

#[test]
fn an_outdated_entry_is_updated_in_its_place() {
    let home = home();
    let old = "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"/old/guard hook --agent codex\"}\n        ]\n      },\n      {\"matcher\": \"x\", \"hooks\": []}\n    ]\n  }\n}\n";
    let path = write(&home, ".codex/hooks.json", old);
    home.prints(&["install", "codex", "--yes"], 0);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("/old/guard") && text.contains("{\"matcher\": \"x\", \"hooks\": []}"), "{text}");
    assert_eq!(text.matches("hook --agent codex").count(), 2, "{text}");
    // Before that guard was there already, so that taking it out cannot bring the old entry back.
    at_a_terminal(&home, &["install", "codex", "--uninstall", "--yes"], None);
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("guard") && text.contains("{\"matcher\": \"x\", \"hooks\": []}"), "{text}");
}

#[test]
fn a_hook_of_somebody_else_in_the_same_element_stays() {
    let home = home();
    let shared = "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"^Bash$\",\"hooks\":[{\"type\":\"command\",\"command\":\"lint\"},{\"type\":\"command\",\"command\":\"/old/guard hook --agent codex\"}]}]}}";
    let path = write(&home, ".codex/hooks.json", shared);
    home.prints(&["install", "codex", "--yes"], 0);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"command\":\"lint\"") && !text.contains("/old/guard"), "{text}");
    at_a_terminal(&home, &["install", "codex", "--uninstall", "--yes"], None);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"^Bash$\",\"hooks\":[{\"type\":\"command\",\"command\":\"lint\"}]}]}}"
    );
}

#[test]
fn a_broken_configuration_is_left_alone_and_named_with_its_line() {
    for (agent, name, text, said) in [
        ("claude", ".claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n", "settings.json:3: expected a comma or }"),
        ("claude", ".claude/settings.json", "[]\n", "settings.json:1: expected an object"),
        ("codex", ".codex/hooks.json", "{\n\"hooks\": []}\n", "hooks.json:2: expected an object"),
        ("kimi", ".kimi-code/config.toml", "a = 1\nb = \n", "config.toml:2: "),
        ("kimi", ".kimi-code/config.toml", "hooks = []\n", "config.toml:1: hooks is not written as [[hooks]] tables"),
        ("hermes", ".hermes/config.yaml", "a: 1\nhooks: {x: []}\n", "config.yaml:2: the value is not in block style"),
        ("cline", ".cline/hooks/PreToolUse", "#!/bin/sh\nexit 0\n", "PreToolUse:1: the file belongs to something else"),
    ] {
        let home = home();
        let path = write(&home, name, text);
        let output = home.guard(&["install", agent, "--yes"]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125), "{errors}");
        assert!(errors.contains(said) && errors.contains("add this by hand"), "{errors}");
        assert!(errors.contains("hook --agent") || errors.contains("\"hook\",\"--agent\""), "{errors}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn bytes_that_are_no_text_and_files_that_are_none_are_left_alone() {
    let home = home();
    let path = write(&home, ".claude/settings.json", "");
    fs::write(&path, b"{}\n\xff\n").unwrap();
    let output = home.guard(&["install", "claude", "--yes"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("settings.json: line 2 is not UTF-8"));
    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let output = home.guard(&["install", "claude", "--yes"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a regular file"));
    fs::remove_file(&path).unwrap();
    symlink("/nonexistent/x", &path).unwrap();
    let output = home.guard(&["install", "claude", "--yes"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("dangling symbolic link"));
}

#[test]
fn the_mode_and_a_symbolic_link_survive() {
    let home = home();
    let real = write(&home, "dotfiles/claude.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(home.path("home/.claude")).unwrap();
    let link = home.path("home/.claude/settings.json");
    symlink("../dotfiles/claude.json", &link).unwrap();
    home.prints(&["install", "claude", "--yes"], 0);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("guard"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    at_a_terminal(&home, &["install", "claude", "--uninstall", "--yes"], None);
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
    assert!(link.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_person_sees_the_change_and_only_a_yes_makes_it() {
    let home = home();
    let path = write(&home, ".claude/settings.json", "{\n  \"a\": 1\n}\n");
    for answer in ["\r", "n\r", "x\r"] {
        let (screen, end) = at_a_terminal(&home, &["install", "claude"], Some(answer));
        assert!(screen.contains("+     \"PermissionRequest\""), "{screen}");
        assert!(screen.contains("not changed"), "{screen}");
        assert_eq!(end, "exit 126");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"a\": 1\n}\n");
    }
    for (colours, shown) in [("1", "+   \"hooks\": {"), ("", "\u{1b}[32m+   \"hooks\": {\u{1b}[0m")] {
        let mut command = home.guard(&["install", "claude"]);
        command.env("TERM", "xterm").env("NO_COLOR", colours);
        let mut terminal = Terminal::spawn(command);
        terminal.wait_for("[y/N]");
        let raw = String::from_utf8_lossy(&terminal.raw).into_owned();
        assert!(raw.contains(shown) && raw.contains("\u{1b}[") == colours.is_empty(), "{raw}");
        terminal.send("n\r");
        terminal.wait_exit();
    }
    let (screen, end) = at_a_terminal(&home, &["install", "claude"], Some("y\r"));
    assert_eq!(end, "exit 0");
    assert!(screen.contains("Claude Code: installed.") && screen.contains("before the change: "), "{screen}");
    assert!(fs::read_to_string(&path).unwrap().contains("\"onFailure\": \"block\""));
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let home = home();
    write(&home, ".claude/settings.json", "{}\n");
    let before = files(&home);
    let said = home.prints(&["install", "claude", "--dry-run"], 0);
    assert!(said.contains("+   \"hooks\": {") && said.contains("not changed"), "{said}");
    assert_eq!(files(&home), before);
    assert!(!home.data().join("installed").exists());
}

#[test]
fn without_a_terminal_and_without_yes_nothing_changes() {
    let home = home();
    let output = home.guard(&["install", "claude"]).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("use --yes"));
    home.prints(&["install", "claude", "--yes"], 0);
    let before = files(&home);
    for arguments in [["install", "claude", "--uninstall", "--yes"], ["install", "--all", "--uninstall", "--yes"]] {
        let output = home.guard(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(126));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("only a person at their own terminal can remove guard")
        );
    }
    assert_eq!(files(&home), before);
}

#[test]
fn from_inside_a_guarded_session_nothing_changes() {
    let home = home();
    home.prints(&["install", "claude", "--yes"], 0);
    let before = files(&home);
    for arguments in [
        &["install", "claude", "--uninstall", "--yes"][..],
        &["install", "codex", "--yes"],
        &["install", "--all", "--yes"],
        &["install", "shims"],
        &["install", "shims", "--uninstall"],
    ] {
        // On a terminal that the agent made, too.
        let mut command = home.guard(arguments);
        command.env("CLAUDECODE", "1").env("TERM", "dumb");
        let mut terminal = Terminal::spawn(command);
        let status = terminal.wait_exit();
        assert_eq!(ended(status), "exit 126", "{arguments:?}");
        assert!(terminal.screen().contains("guarded session (claude)"), "{}", terminal.screen());
    }
    assert_eq!(files(&home), before);
}

#[test]
fn all_finds_the_agents_that_are_there_and_a_broken_one_does_not_stop_the_others() {
    let home = home();
    assert!(home.prints(&["install", "--all", "--yes"], 0).starts_with("No agent found"));
    fs::create_dir(home.path("home/.claude")).unwrap();
    write(&home, ".cursor/hooks.json", "{");
    home.stand_in("qwen", "exit 1");
    let output = home.guard(&["install", "--all", "--yes"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(said.contains("Claude Code: installed.") && said.contains("Qwen Code: installed."), "{said}");
    assert!(said.contains("Cursor: failed") && !said.contains("Codex"), "{said}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("hooks.json:1: "));
}

#[test]
fn a_project_gets_a_file_of_its_own() {
    let home = home();
    fs::create_dir_all(home.path("work/.git")).unwrap();
    fs::create_dir(home.path("work/deep")).unwrap();
    let mut command = home.guard(&["install", "claude", "--project", "--yes"]);
    let output = command.current_dir(home.path("work/deep")).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(home.path("work/.claude/settings.local.json").exists());
    assert_eq!(files(&home), Vec::new());
    let output = home.guard(&["install", "kimi", "--project", "--yes"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("no project configuration"));
}

#[test]
fn the_directory_that_an_agent_is_told_of_is_used() {
    let home = home();
    let mut command = home.guard(&["install", "codex", "--yes"]);
    command.env("CODEX_HOME", home.path("elsewhere"));
    assert!(command.status().unwrap().success());
    assert!(home.path("elsewhere/hooks.json").exists());
    assert_eq!(files(&home), Vec::new());
}

#[test]
fn a_path_with_blanks_and_quotes_is_written_so_that_a_shell_reads_it_back() {
    let home = home();
    let directory = home.path("my \"dear's\" bin");
    fs::create_dir(&directory).unwrap();
    symlink(GUARD, directory.join("guard")).unwrap();
    for host in HOSTS.iter() {
        let mut command = home.guard(&["install", host.name, "--yes"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", directory.display()));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = fs::read_to_string(home.path("home/.qwen/settings.json")).unwrap();
    let root = json::parse(&text).unwrap();
    let mut texts = Vec::new();
    root.texts(&mut texts);
    let line = texts.iter().find(|text| text.contains("hook --agent")).unwrap();
    let said = home.program("sh").args(["-c", &format!("printf '%s|' {line}")]).output().unwrap();
    let words = format!("{}/guard|hook|--agent|qwen|--timeout|600|", directory.display());
    assert_eq!(String::from_utf8(said.stdout).unwrap(), words);
    let table: toml::Table = fs::read_to_string(home.path("home/.kimi-code/config.toml")).unwrap().parse().unwrap();
    assert_eq!(table["hooks"][0]["command"].as_str(), Some(&*line.replace("qwen", "kimi")));
}

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

/// A home with a guard of its own that stands in for shells, and what guard said of it.
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
    // A script that somebody changed is theirs.
    fs::write(script.with_file_name("sh"), "#!/bin/sh\n").unwrap();
    let terminal = home.program(own.to_str().unwrap()).args(["install", "shims", "--uninstall", "--dry-run"]).output();
    assert!(terminal.unwrap().status.success() && script.exists());
    let (_, end) = at_a_terminal(&home, &["install", "shims", "--uninstall"], None);
    assert_eq!((end.as_str(), script.exists(), script.with_file_name("sh").exists()), ("exit 0", false, true));
}

/// As mini-swe-agent has it: whatever the variables say, /bin/sh runs what it is told to.
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

/// The line of Goose's hook, as the file has it.
fn line_of_the_hook(path: &Path) -> String {
    let hooks: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    hooks["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

/// What an agent that only an interrupt stops says of a call: it waits for its hook, and then runs the tool, whatever that said.
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
    // The doctor tries the line and is not interrupted itself.
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

/// JSON as people write it: with comments, trailing commas, tabs and either line end.
fn document() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // a, [ { \"\n".to_owned()),
        1 => Just(" /* } ] */ ".to_owned()),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("-2.5e3".to_owned()),
        Just("\"a \\\" // b\"".to_owned()),
        Just("\"ü\"".to_owned()),
    ];
    let blank_too = blank.clone();
    let value = leaf.prop_recursive(3, 24, 4, move |inner| {
        let blank = blank_too.clone();
        let list = (prop::collection::vec((blank.clone(), inner.clone(), blank.clone()), 0..4), any::<bool>());
        let array = (list, blank.clone()).prop_map(|((items, trailing), end)| {
            let parts: Vec<String> = items.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            format!("[{}{comma}{end}]", parts.join(","))
        });
        let members = (prop::collection::vec((blank.clone(), inner, blank.clone()), 0..4), any::<bool>());
        let object = (members, blank).prop_map(|((items, trailing), end)| {
            let part = |(index, (a, item, b)): (usize, &(String, String, String))| format!("{a}\"k{index}\":{b}{item}");
            let parts: Vec<String> = items.iter().enumerate().map(part).collect();
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            format!("{{{}{comma}{end}}}", parts.join(","))
        });
        prop_oneof![array, object]
    });
    let event = prop_oneof![Just("PreToolUse"), Just("BeforeTool"), Just("preToolUse"), Just("other")];
    let list = (prop::collection::vec((blank.clone(), value.clone()), 0..3), any::<bool>(), blank.clone());
    (value, event, list, any::<[bool; 3]>(), blank.clone(), blank).prop_map(
        |(other, event, (items, trailing, end), [has_hooks, has_other, last], a, b)| {
            let parts: Vec<String> = items.iter().map(|(blank, item)| format!("{blank}{item}")).collect();
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            let hooks = format!("{a}\"hooks\":{b}{{{a}\"{event}\": [{}{comma}{end}]{b}}}", parts.join(","));
            let other = format!("{b}\"other\":{a}{other}");
            let mut members = Vec::new();
            members.extend(has_hooks.then_some(hooks));
            members.extend(has_other.then_some(other));
            let comma = if last && !members.is_empty() { "," } else { "" };
            format!("{a}{{{}{comma}{b}}}{a}", members.join(","))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_file_it_parses_afterwards_and_taking_guard_out_brings_back_its_meaning(text in document()) {
        for host in HOSTS.iter() {
            for wire in host.user.iter().filter(|wire| matches!(wire.form, Form::Json { .. })) {
                let wiring = Wiring::of(host, "/usr/local/bin/guard", None);
                prop_assert_eq!(wiring.state(wire, Some(&text)).unwrap(), WiredState::Absent);
                let installed = wiring.installed(wire, Some(&text)).unwrap();
                let (old, new) = (json::parse(&text).unwrap(), json::parse(&installed).unwrap());
                for member in old.members() {
                    prop_assert!(new.get(&member.key).is_some(), "{}", installed);
                }
                prop_assert_eq!(wiring.state(wire, Some(&installed)).unwrap(), WiredState::Present);
                prop_assert_eq!(&wiring.installed(wire, Some(&installed)).unwrap(), &installed);
                let restored = wiring.uninstalled(wire, &installed, Some(Some(&text))).unwrap().unwrap();
                prop_assert!(json::parse(&restored).unwrap().same(&old), "{}\n{}", text, restored);
                // Comments too are all there, in their order.
                prop_assert_eq!(comments(&restored), comments(&text), "{}\n{}", text, restored);
            }
        }
    }

    #[test]
    fn whatever_the_toml_it_parses_afterwards_and_taking_guard_out_restores_it(text in toml_document()) {
        let host = hosts::by_name("kimi").unwrap();
        let (wiring, wire) = (Wiring::of(host, "/g/guard", None), &host.user[0]);
        let installed = wiring.installed(wire, Some(&text)).unwrap();
        let mut table: toml::Table = installed.parse().unwrap();
        let hooks = table["hooks"].as_array_mut().unwrap();
        let mine = hooks.pop().unwrap();
        prop_assert_eq!(mine["command"].as_str(), Some("/g/guard hook --agent kimi --timeout 600 || exit 2"));
        if hooks.is_empty() {
            table.remove("hooks");
        }
        prop_assert_eq!(&table, &text.parse::<toml::Table>().unwrap());
        prop_assert_eq!(&wiring.installed(wire, Some(&installed)).unwrap(), &installed);
        let restored = wiring.uninstalled(wire, &installed, Some(Some(&text))).unwrap().unwrap();
        prop_assert_eq!(restored.trim_end(), text.trim_end());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_file_the_program_restores_it_to_the_byte(
        json in document(), toml in toml_document(), yaml in yaml_document(),
    ) {
        for (agent, name, text) in [
            ("qwen", ".qwen/settings.json", &json),
            ("kimi", ".kimi-code/config.toml", &toml),
            ("hermes", ".hermes/config.yaml", &yaml),
        ] {
            let home = home();
            let path = write(&home, name, text);
            home.prints(&["install", agent, "--yes"], 0);
            prop_assert_ne!(&fs::read_to_string(&path).unwrap(), text);
            let (screen, end) = at_a_terminal(&home, &["install", agent, "--uninstall", "--yes"], None);
            prop_assert_eq!(&end, "exit 0", "{}", screen);
            prop_assert_eq!(&fs::read_to_string(&path).unwrap(), text);
        }
    }
}

/// TOML as people write it.
fn toml_document() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("[[hooks]]\nevent = \"Stop\"\ncommand = \"\"\"\nbell\n\"\"\" # ring\n"),
        Just("[[hooks]]\nevent = \"PreToolUse\"\nmatcher = \"x\" \n"),
        Just("[[other]]\nlist = [\n  [1, 2], # [[hooks]]\n  [3],\n]\n"),
        Just("# [[hooks]]\n# command = \"guard hook --agent kimi\"\n"),
        Just("\n"),
        Just("[[other]]\ntext = '''\n[[hooks]]\n'''\n"),
    ];
    let head = prop_oneof![Just(""), Just("a = 1 # one\n"), Just("\n\nb = \"[[hooks]]\"\n")];
    (head, prop::collection::vec(part, 0..6), any::<bool>(), any::<bool>()).prop_map(|(head, parts, crlf, cut)| {
        let text = format!("{head}{}", parts.concat());
        let text = if cut { text.trim_end().to_owned() } else { text };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// YAML as people write it, with the list of hooks in every form that is understood.
fn yaml_document() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("model: x   # hooks: none\n"),
        Just("list:\n- a\n- hooks: b\n"),
        Just("text: |\n  hooks:\n    pre_tool_call:\n\n  more\n"),
        Just("nested:\n  hooks:\n    pre_tool_call: []\n"),
        Just("# hooks:\n#   pre_tool_call:\n"),
        Just("\n"),
        Just("quoted: \"a: b\n  hooks: c\"\n"),
        Just("flow: {hooks: [a], b: c}\n"),
        Just("hooks_auto_accept: false\n"),
    ];
    let hooks = prop_oneof![
        Just(""),
        Just("hooks:\n"),
        Just("hooks: {}   # none\n"),
        Just("hooks: ~\n"),
        Just("hooks:  # mine\n  # nothing yet\n"),
        Just("hooks:\n  stop:\n    - command: \"x\"\n"),
        Just("hooks:\n    stop:\n    - command: |\n        a: b\n        c\n      timeout: 3\n"),
        Just("hooks:\n  pre_tool_call:\n    - matcher: a\n      command: b # c\n\n    # end\n"),
        Just("hooks:\n  pre_tool_call:\n  - {matcher: a, command: b}\n  - command: c\n  stop: []\n"),
        Just("hooks:\n  pre_tool_call: []  # none\n  stop:\n  - command: x\n"),
        Just("hooks:\n  pre_tool_call:\n  stop: [{command: x}]\n"),
        Just("hooks:\n   pre_tool_call:\n       - command: >\n           a\n           b\n"),
    ];
    let parts = || prop::collection::vec(part.clone(), 0..4);
    (parts(), hooks, parts(), any::<bool>(), any::<bool>()).prop_map(|(before, hooks, after, crlf, cut)| {
        let mut seen: Vec<&'static str> = Vec::new();
        let once = |part: &&'static str| {
            let key = part.split(':').next().unwrap_or_default();
            let new = part.starts_with(['#', '\n']) || !seen.contains(&key);
            seen.push(key);
            new
        };
        let all: Vec<&'static str> = before.into_iter().chain([hooks]).chain(after).filter(once).collect();
        let text = all.concat();
        let text = if cut { text.trim_end().to_owned() } else { text };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// Reads pairs of texts and says of each whether the second is the first with one more hook.
const YAML_READER: &str = r#"
import json, sys, yaml
def rest(doc):
    doc = dict(doc or {})
    hooks = dict(doc.pop("hooks", None) or {})
    calls = list(hooks.pop("pre_tool_call", None) or [])
    return doc, hooks, calls
for before, after in json.load(sys.stdin):
    # A last line without an end gets one, which a block of text there takes for its own.
    old, new = (rest(yaml.safe_load(text.rstrip() + "\n")) for text in (before, after))
    assert old[0] == new[0] and old[1] == new[1], (before, after)
    assert new[2][:-1] == old[2], (before, after)
    import shlex
    guarded = "'/my \"dir\"/guard' hook --agent hermes --timeout 300"
    said = '{"decision":"block","reason":"guard: refused: guard failed, or is gone"}'
    line = new[2][-1]["command"]
    wanted = ["sh", "-c", guarded + " || echo '" + said + "'"]
    assert shlex.split(line) == wanted, (before, after)
    mine = {"matcher": ".*", "command": line, "timeout": 300, "fail_closed": True}
    assert new[2][-1] == mine, (before, after)
print("all")
"#;

#[test]
fn whatever_the_yaml_a_reader_finds_one_more_hook_and_taking_guard_out_restores_it() {
    let host = hosts::by_name("hermes").unwrap();
    let (wiring, wire) = (Wiring::of(host, "/my \"dir\"/guard", None), &host.user[0]);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut pairs = Vec::new();
    for _ in 0..600 {
        let text = yaml_document().new_tree(&mut runner).unwrap().current();
        let installed = wiring.installed(wire, Some(&text)).unwrap_or_else(|trouble| panic!("{trouble:?}: {text}"));
        assert_eq!(wiring.installed(wire, Some(&installed)).unwrap(), installed);
        let restored = wiring.uninstalled(wire, &installed, Some(Some(&text))).unwrap().unwrap_or_default();
        // An empty list or map may come back spelled differently.
        let plain = |text: &str| {
            text.replace([' ', '\r'], "")
                .replace(":[]", ":")
                .replace(":{}", ":")
                .replace(":~", ":")
                .trim_end()
                .to_owned()
        };
        assert_eq!(plain(&restored), plain(&text), "{installed}");
        pairs.push([text, installed]);
    }
    let home = home();
    fs::write(home.path("pairs"), serde_json::to_string(&pairs).unwrap()).unwrap();
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let reads = |python: &PathBuf| {
        let mut python = std::process::Command::new(python);
        python.args(["-c", "import yaml"]).output().is_ok_and(|output| output.status.success())
    };
    let python = std::env::split_paths(&directories).map(|directory| directory.join("python3")).find(reads);
    let run = |script: &str| {
        let input = fs::File::open(home.path("pairs")).unwrap();
        let command = python.as_ref().map(std::process::Command::new);
        command.and_then(|mut python| python.args(["-c", script]).stdin(input).output().ok())
    };
    if !run("import yaml").is_some_and(|output| output.status.success()) {
        crate::harness::tools::skip("python3 has no module yaml");
        return;
    }
    let read = run(YAML_READER).unwrap();
    assert_eq!(String::from_utf8_lossy(&read.stdout), "all\n", "{}", String::from_utf8_lossy(&read.stderr));
}

fn comments(text: &str) -> Vec<&str> {
    let wanted = [" // a, [ { \"", "/* } ] */"];
    let mut found: Vec<(usize, &str)> = wanted.iter().flat_map(|comment| text.match_indices(comment)).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, comment)| comment).collect()
}

#[test]
fn an_agent_that_changes_what_wires_it_is_asked_about() {
    let home = home();
    let mut asked = 0;
    for host in HOSTS.iter() {
        let below = if host.config.below_config { ".config/" } else { "" };
        let user = host.user.iter().map(|wire| match wire.path.strip_prefix("~/") {
            Some(path) => format!("~/{path}"),
            None => format!("~/{below}{}/{}", host.config.directory, wire.path),
        });
        for path in user.chain(host.project.iter().map(|wire| wire.path.to_owned())) {
            for command in [format!("echo x > {path}"), format!("echo x >> {path}"), format!("rm {path}")] {
                let mut check = home.guard(&["check", &command]);
                let output = check.env("CLAUDECODE", "1").output().unwrap();
                assert_eq!(output.status.code(), Some(1), "{command}: {}", String::from_utf8_lossy(&output.stdout));
                asked += 1;
            }
        }
    }
    assert!(asked > 90);
}

#[test]
fn nobody_but_a_person_takes_guard_out_of_what_it_was_wired_into() {
    for host in HOSTS.iter() {
        let home = home();
        home.prints(&["install", host.name, "--yes"], 0);
        let wired: Vec<_> = files(&home).into_iter().filter(|(_, text, _)| text.contains(&guard_of(&home))).collect();
        assert!(!wired.is_empty(), "{}", host.name);
        for (name, ..) in wired {
            for command in [format!("echo x > ~/{name}"), format!("sed -i s/a/b/ ~/{name}"), format!("rm ~/{name}")] {
                let mut check = home.guard(&["check", "--json", &command]);
                let output = check.env("CLAUDECODE", "1").output().unwrap();
                let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(verdict["tier"], 4, "{command}: {verdict}");
            }
        }
    }
}

#[test]
fn every_agent_that_is_wired_is_answered() {
    let answered: Vec<&str> = guard::app::hook::hosts::all().iter().map(|host| host.name()).collect();
    for host in HOSTS.iter() {
        assert!(answered.contains(&host.name), "{}", host.name);
    }
    assert_eq!(answered.len(), HOSTS.len());
}

#[test]
fn every_host_can_be_named() {
    for host in HOSTS.iter() {
        assert!(std::ptr::eq(hosts::by_name(host.name).unwrap(), host));
    }
}
