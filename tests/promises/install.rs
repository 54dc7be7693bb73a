//! Tests `guard install`: which files it writes, which it leaves unchanged, and that it restores them byte for byte.

#[path = "install/documents.rs"]
mod documents;
#[path = "install/shims.rs"]
mod shims;

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

/// Creates a home with guard on the PATH.
fn home() -> Home {
    let home = Home::new();
    symlink(GUARD, home.path("bin/guard")).unwrap();
    home
}

/// Returns the path of guard that the configurations of this home contain.
fn guard_of(home: &Home) -> String {
    home.path("bin/guard").display().to_string()
}

/// Returns every file below the home except guard's own, with its content and mode.
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

/// Runs guard on its own terminal and answers its question.
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
            // Of a plugin only the installed path is compared; other tests check its source.
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
fn without_an_agent_all_are_listed_with_what_is_found_and_what_to_type() {
    let home = home();
    home.prints(&["install", "codex", "--yes"], 0);
    let said = home.prints(&["install"], 125);
    for host in HOSTS.iter() {
        assert!(said.lines().any(|line| line.split_whitespace().next() == Some(host.name)), "{}: {said}", host.name);
    }
    let line = |name: &str| said.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap_or_default();
    assert!(line("codex").ends_with("asks guard already"), "{said}");
    assert!(said.contains("guard install --all") || said.contains("guard install AGENT"), "{said}");
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
    // guard was already installed before, so uninstalling cannot restore the old entry.
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
        // The same on a terminal that the agent created.
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
