//! Tests `guard install mcp`: the configurations of MCP clients that it changes, and those that it only names.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::harness::home::Home;

const GOOSE: &str = "extensions:\n  developer:\n    enabled: true\n    type: builtin\n  github:\n    args:\n    - -y\n    - server-github\n    cmd: npx\n    type: stdio\n";
const HERMES: &str = "model: x\nmcp_servers:\n  files:\n    command: \"npx\"\n    args: [\"-y\", \"server-files\"]\n  far:\n    url: \"https://mcp.example.org/mcp\"\n";
const JSON: &str = r#"{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-files"]}}}"#;

fn home() -> Home {
    let home = Home::new();
    symlink(env!("CARGO_BIN_EXE_guard"), home.path("bin/guard")).unwrap();
    home
}

fn write(home: &Home, path: &str, text: &str) {
    let path = home.path("home").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(home: &Home, path: &str) -> String {
    fs::read_to_string(home.path("home").join(path)).unwrap()
}

#[test]
fn servers_in_yaml_are_named_with_their_file_and_left_as_they_are() {
    let home = home();
    assert!(home.prints(&["install", "mcp", "--all", "--yes"], 0).starts_with("No configuration with MCP servers"));
    let none = home.prints(&["install", "mcp", "--all", "--uninstall", "--dry-run"], 0);
    assert!(none.starts_with("No MCP server of a configuration is behind guard; known clients: "), "{none}");
    write(&home, ".config/goose/config.yaml", GOOSE);
    write(&home, ".hermes/config.yaml", HERMES);
    let told = home.prints(&["install", "mcp", "--all", "--yes"], 0);
    let line = |title: &str| told.lines().find(|line| line.starts_with(title)).unwrap_or_default();
    assert!(line("Goose: ").contains("/.config/goose/config.yaml: github: not changed"), "{told}");
    assert!(line("Hermes: ").contains("/.hermes/config.yaml: files, far: not changed"), "{told}");
    assert!(told.contains("does not edit YAML") && told.contains("guard mcp --name NAME --"), "{told}");
    assert_eq!(
        (read(&home, ".config/goose/config.yaml").as_str(), read(&home, ".hermes/config.yaml").as_str()),
        (GOOSE, HERMES)
    );
    // The servers already run behind guard, or there are none: nothing is left to report.
    write(&home, ".config/goose/config.yaml", &GOOSE.replace("cmd: npx", "cmd: /usr/bin/guard"));
    write(&home, ".hermes/config.yaml", "model: x\nmcp_servers: {}\n");
    assert!(home.prints(&["install", "mcp", "--all", "--yes"], 0).starts_with("No configuration with MCP servers"));
    // A configuration that cannot be parsed reliably is still reported.
    write(&home, ".hermes/config.yaml", "mcp_servers: {a: {command: npx}}\n");
    assert!(
        home.prints(&["install", "mcp", "hermes", "--yes"], 0).contains("the entries below mcp_servers: not changed")
    );
}

#[test]
fn the_servers_of_clients_that_write_json_go_behind_guard() {
    for (client, path) in [
        ("droid", ".factory/mcp.json"),
        ("kimi", ".kimi/mcp.json"),
        ("kimi", ".kimi-code/mcp.json"),
        ("lm-studio", ".lmstudio/mcp.json"),
    ] {
        let home = home();
        write(&home, path, JSON);
        let told = home.prints(&["install", "mcp", "--all", "--yes"], 0);
        assert!(told.contains("1 server is now behind guard"), "{client}: {told}");
        let servers: Value = serde_json::from_str(&read(&home, path)).unwrap();
        assert_eq!(servers["mcpServers"]["files"]["args"][0], "mcp", "{client}: {servers}");
        assert!(home.prints(&["install", "mcp", client, "--yes"], 0).contains("already behind guard"), "{client}");
    }
}
