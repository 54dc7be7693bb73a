//! Tests that tools which change files are judged by the file that they write, whatever path leads to it.

use std::fs;
use std::os::unix::fs::symlink;

use super::stage::{hook, said};
use crate::harness::home::Home;

/// Returns the rule that this call of a file tool of Claude Code triggers, or an empty text.
fn found(home: &Home, tool: &str, path: &str) -> String {
    let call = serde_json::json!({
        "session_id": "s", "transcript_path": "/t", "cwd": home.path("work"), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": { "file_path": path },
    });
    let (out, err) = said(&hook(home, "claude", &call.to_string()));
    let said = format!("{out}{err}");
    match said.rsplit_once('[').and_then(|(_, rest)| rest.split_once([']', ','])) {
        Some((rule, _)) => rule.to_owned(),
        None => said,
    }
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let home = Home::new();
    fs::create_dir(home.path("work/.git")).unwrap();
    fs::write(home.path("home/.bashrc"), "").unwrap();
    fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    let links = [
        ("file", "../home/.bashrc", "file", "effects.write-startup"),
        ("nothing-yet", "../home/.zshrc", "nothing-yet", "effects.write-startup"),
        ("folder", "../home", "folder/.profile", "effects.write-startup"),
        ("guard", "../home/.config/guard", "guard/config.toml", "effects.write-guard"),
        ("hooks", ".git/hooks", "hooks/pre-commit", "effects.write-persistence"),
        ("harmless", "notes.txt", "harmless", ""),
    ];
    fs::create_dir(home.path("work/.git/hooks")).unwrap();
    for (name, target, path, rule) in links {
        symlink(target, home.path("work").join(name)).unwrap();
        assert_eq!(found(&home, "Edit", path), rule, "{path}");
        let absolute = home.path("work").join(path);
        assert_eq!(found(&home, "Write", absolute.to_str().unwrap()), rule, "{path}");
    }
    // The path to the project may itself contain a link.
    symlink(home.path("work"), home.path("way")).unwrap();
    let call = found(&home, "Write", home.path("way/src/main.rs").to_str().unwrap());
    assert_eq!(call, "");
}

#[test]
fn ordinary_files_are_no_opinion_and_those_that_run_or_hold_secrets_are_asked_about() {
    let home = Home::new();
    fs::create_dir(home.path("work/.git")).unwrap();
    fs::write(home.path("work/.env"), "A=1").unwrap();
    let at_home = |path: &str| home.path("home").join(path).display().to_string();
    for path in ["src/main.rs", "Cargo.toml", "docs/a b.md", ".env.example", "/tmp/x.sh", ".gitignore"] {
        assert_eq!(found(&home, "Write", path), "", "{path}");
    }
    for (path, rule) in [
        (".env".to_owned(), "effects.append-secret"),
        (".github/workflows/ci.yml".to_owned(), "effects.write-ci"),
        ("AGENTS.md".to_owned(), "effects.write-agent"),
        (".mcp.json".to_owned(), "effects.write-agent"),
        (".guard.toml".to_owned(), "effects.write-guard"),
        (".git/config".to_owned(), "effects.write-persistence"),
        ("/etc/hosts".to_owned(), "effects.write-system"),
        ("../../../../../../../etc/hosts".to_owned(), "effects.write-system"),
        (at_home(".local/share/guard/guard.db"), "effects.write-guard"),
        (at_home(".config/systemd/user/x.service"), "effects.write-persistence"),
    ] {
        assert_eq!(found(&home, "Edit", &path), rule, "{path}");
    }
}
