//! Tests the plugins in the runtime that agents run them in: a stand-in for the agent loads and calls them.

use std::path::PathBuf;

use guard::app::install::change::Wiring;
use guard::app::install::hosts::by_name;

use crate::harness::home::{FLAGGED, Home};

/// Returns the plugin for an agent's major version.
fn source((agent, major): (&str, usize), guard: &str) -> String {
    let host = by_name(agent).unwrap();
    Wiring::of(host, guard, Some(&format!("{major}.0"))).installed(host.user[0], None).unwrap()
}

/// Runs JavaScript with the plugin beside it as `./plugin.mjs`, and returns its output, or `None` if there is no node.
fn play(home: &Home, plugin: (&str, usize), guard: &str, script: &str) -> Option<String> {
    let node = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|directory| directory.join("node")).find(|node| node.is_file())
    });
    let Some(node) = node else {
        crate::harness::tools::skip("node is not installed");
        return None;
    };
    std::fs::write(home.path("plugin.mjs"), source(plugin, guard)).unwrap();
    std::fs::write(home.path("agent.mjs"), script).unwrap();
    let output = home.program(node.to_str().unwrap()).arg(home.path("agent.mjs")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Creates scripts that answer as a real guard never does.
fn wrong(home: &Home) -> Vec<PathBuf> {
    let scripts = [
        ("dies", "exit 1"),
        ("silent", "exit 0"),
        ("garbled", "echo '{\"decision\":'"),
        ("undecided", "echo '{\"permission\":\"allow\"}'"),
        ("killed", "kill -9 $$"),
        ("denies", "echo denied >&2; exit 2"),
    ];
    let made = scripts.map(|(name, script)| {
        home.stand_in(name, script);
        home.path("bin").join(name)
    });
    made.into_iter().chain([home.path("bin/not-there")]).collect()
}

fn opencode(home: &Home, guard: &str, tool: &str, args: &str) -> Option<String> {
    let work = home.path("work");
    let script = format!(
        "import * as plugin from './plugin.mjs';
         const exported = Object.values(plugin);
         if (exported.length !== 1 || typeof exported[0] !== 'function') throw new Error('OpenCode calls every export');
         const hooks = await exported[0]({{ directory: {work:?} }});
         const input = {{ tool: {tool:?}, sessionID: 's1', callID: 'c1' }};
         try {{ await hooks['tool.execute.before'](input, {{ args: {args} }}); console.log('runs'); }}
         catch (error) {{ console.log('blocked: ' + error.message); }}"
    );
    play(home, ("opencode", 1), guard, &script)
}

#[test]
fn opencode_is_blocked_by_what_is_flagged_and_by_a_guard_that_fails() {
    let home = Home::new();
    let guard = env!("CARGO_BIN_EXE_guard");
    let flagged = format!("{{ command: {:?} }}", FLAGGED.join(" "));
    let Some(said) = opencode(&home, guard, "bash", "{ command: 'ls -la' }") else { return };
    assert_eq!(said, "runs\n");
    let said = opencode(&home, guard, "bash", &flagged).unwrap();
    assert!(said.starts_with("blocked: guard: refused: no one to ask") && said.contains("git.push-force"), "{said}");
    let bashrc = format!("{{ filePath: {:?}, content: 'x' }}", home.path("home/.bashrc"));
    assert!(opencode(&home, guard, "write", &bashrc).unwrap().contains("effects.write-startup"));
    assert_eq!(opencode(&home, guard, "read", &bashrc).unwrap(), "runs\n");
    for guard in wrong(&home) {
        let said = opencode(&home, guard.to_str().unwrap(), "bash", "{ command: 'ls' }").unwrap();
        assert!(said.starts_with("blocked: "), "{}: {said}", guard.display());
    }
    let log = home.prints(&["log", "--json"], 0);
    assert!(log.contains("\"session\":\"opencode:s1\""), "{log}");
}

fn opencode_2(home: &Home, guard: &str, effect: &str, action: &str, resource: &str) -> Option<String> {
    let script = format!(
        "import plugin from './plugin.mjs';
         let hook;
         await plugin.setup({{ permission: {{ hook: async (name, call) => {{ if (name === 'evaluate') hook = call; }} }} }});
         const event = {{ action: {action:?}, resource: {resource:?}, effect: {effect:?}, sessionID: 's2' }};
         await hook(event);
         console.log(event.effect + ' ' + (event.message ?? ''));"
    );
    play(home, ("opencode", 2), guard, &script)
}

#[test]
fn the_newer_opencode_asks_its_user_and_is_denied_by_a_guard_that_fails() {
    let home = Home::new();
    let guard = env!("CARGO_BIN_EXE_guard");
    let flagged = FLAGGED.join(" ");
    let Some(said) = opencode_2(&home, guard, "allow", "bash", "ls") else { return };
    assert_eq!(said, "allow \n");
    assert_eq!(opencode_2(&home, guard, "ask", "bash", "ls").unwrap(), "ask \n");
    assert!(
        opencode_2(&home, guard, "allow", "bash", &flagged).unwrap().starts_with("deny guard: refused: no one to ask")
    );
    assert!(opencode_2(&home, guard, "allow", "bash", "rm -rf ~").unwrap().starts_with("deny guard: refused"));
    assert_eq!(opencode_2(&home, guard, "deny", "bash", "ls").unwrap(), "deny \n");
    assert_eq!(opencode_2(&home, guard, "allow", "read", "x").unwrap(), "allow \n");
    // guard does not allow an unknown tool.
    assert!(opencode_2(&home, guard, "allow", "constructor", "x").unwrap().starts_with("deny guard: refused"));
    for guard in wrong(&home) {
        let said = opencode_2(&home, guard.to_str().unwrap(), "allow", "bash", "ls").unwrap();
        assert!(said.starts_with("deny "), "{}: {said}", guard.display());
    }
}

fn amp(home: &Home, guard: &str, event: &str, shell: &str) -> Option<String> {
    let script = format!(
        "import plugin from './plugin.mjs';
         let call;
         plugin({{ on: (name, hook) => {{ if (name === 'tool.call') call = hook; }},
                   helpers: {{ shellCommandFromToolCall: () => ({shell}) }} }});
         const answer = await call({event});
         console.log(answer.action + ' ' + (answer.message ?? ''));"
    );
    play(home, ("amp", 1), guard, &script)
}

#[test]
fn amp_goes_on_without_what_is_flagged_and_without_a_guard_that_fails() {
    let home = Home::new();
    let guard = env!("CARGO_BIN_EXE_guard");
    let Some(said) = amp(&home, guard, "{ tool: 'Bash', input: { cmd: 'ls' } }", "{ command: 'ls' }") else { return };
    assert_eq!(said, "allow \n");
    let flagged = format!("{{ command: {:?} }}", FLAGGED.join(" "));
    let said = amp(&home, guard, "{ tool: 'Bash', input: {} }", &flagged).unwrap();
    assert!(said.starts_with("reject-and-continue guard: refused") && said.contains("git.push-force"), "{said}");
    let bashrc = format!("{{ tool: 'edit_file', input: {{ path: {:?} }} }}", home.path("home/.bashrc"));
    assert!(amp(&home, guard, &bashrc, "null").unwrap().contains("effects.write-startup"));
    assert_eq!(amp(&home, guard, "{ tool: 'Read', input: {} }", "null").unwrap(), "allow \n");
    assert!(amp(&home, guard, "{ tool: 'Bash', input: {} }", "{}").unwrap().starts_with("reject-and-continue"));
    for guard in wrong(&home) {
        let said = amp(&home, guard.to_str().unwrap(), "{ tool: 'Bash', input: {} }", "{ command: 'ls' }").unwrap();
        assert!(said.starts_with("reject-and-continue "), "{}: {said}", guard.display());
    }
}

#[test]
fn a_plugin_starts_guard_by_its_path_however_it_is_spelled() {
    let odd = "/opt/it's \"here\"/guard";
    for plugin in [("opencode", 1), ("opencode", 2), ("kilo", 1), ("amp", 1)] {
        assert!(source(plugin, odd).contains(r#"const GUARD = "/opt/it's \"here\"/guard";"#), "{plugin:?}");
    }
}
