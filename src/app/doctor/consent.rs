//! What stands between an agent and a hook that is written down: switches, trust that its user gives, and how strictly
//! it reads the file. Read from the agent's own files; nothing of them is changed.

use std::path::Path;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::Ward;
use crate::app::install::file;
use crate::app::install::hosts::Host;
use crate::app::install::json::{self, Node};

/// Why an agent does not run a hook, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub says: String,
    pub remedy: String,
}

fn obstacle(says: impl Into<String>, remedy: impl Into<String>) -> Option<Obstacle> {
    Some(Obstacle { says: says.into(), remedy: remedy.into() })
}

/// What keeps an agent from running the hook in this file, as far as its own files tell.
pub fn in_the_way(ward: &Ward, host: &Host, path: &Path, text: &str, line: Option<&str>) -> Option<Obstacle> {
    let folder = ward.places.folder(host);
    switched_off(host, text).or_else(|| match host.name {
        "codex" => strict(host, text, &["hooks", "description"]).or_else(|| {
            let config = file::read(&folder.join("config.toml")).ok().flatten().unwrap_or_default();
            codex(&config, path)
        }),
        "goose" => strict(host, text, &[]),
        "hermes" => {
            let accepted = ward.road.caller.env.get("HERMES_ACCEPT_HOOKS").is_some_and(|value| value == "1");
            let list = file::read(&folder.join("shell-hooks-allowlist.json")).ok().flatten().unwrap_or_default();
            hermes(text, &list, line.unwrap_or_default()).filter(|_| !accepted)
        }
        _ => None,
    })
}

/// A switch that keeps all hooks from running.
pub fn switched_off(host: &Host, text: &str) -> Option<Obstacle> {
    let root = json::parse(text).ok()?;
    let bare = |node: Option<&Node>, word: &str| node.is_some_and(|node| text.get(node.span.clone()) == Some(word));
    let config = root.get("hooksConfig");
    let disabled = config.and_then(|config| config.get("disabled")).map(Node::items).unwrap_or_default();
    let switch = if bare(root.get("disableAllHooks"), "true") {
        "disableAllHooks"
    } else if bare(config.and_then(|config| config.get("enabled")), "false") {
        "hooksConfig.enabled"
    } else if disabled.iter().any(|item| item.text() == Some("guard")) {
        "hooksConfig.disabled"
    } else {
        return None;
    };
    obstacle(format!("{} is told not to run hooks ({switch})", host.title), format!("take {switch} out"))
}

/// An agent that passes over a file with comments, trailing commas or keys that it does not know.
fn strict(host: &Host, text: &str, keys: &[&str]) -> Option<Obstacle> {
    let skips = format!("{} passes over the whole file", host.title);
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return obstacle(format!("{skips}: it has comments or trailing commas"), "take them out");
    };
    let strange = value.as_object()?.keys().find(|key| !keys.is_empty() && !keys.contains(&key.as_str()))?;
    obstacle(format!("{skips}: it does not know the key {strange:?}"), format!("take {strange:?} out"))
}

/// Codex keeps in its `config.toml` which hooks its user trusts: `[hooks.state."FILE:pre_tool_use:GROUP:HANDLER"]`.
fn codex(config: &str, path: &Path) -> Option<Obstacle> {
    let untrusted = || {
        obstacle(
            "Codex was not told to trust the hook, and skips it",
            "start codex, type /hooks and trust guard; again after every change of the hook",
        )
    };
    let Ok(root) = DeTable::parse(config) else { return untrusted() };
    let features = root.get_ref().get("features").map(|value| value.get_ref());
    let off = |key: &&str| matches!(features.and_then(|features| within(features, key)), Some(DeValue::Boolean(false)));
    if let Some(switch) = ["hooks", "codex_hooks"].into_iter().find(off) {
        let says = format!("Codex is told not to run hooks (features.{switch} in config.toml)");
        return obstacle(says, format!("take {switch} = false out"));
    }
    let state = root.get_ref().get("hooks").and_then(|hooks| within(hooks.get_ref(), "state"));
    let Some(DeValue::Table(state)) = state else { return untrusted() };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let starts = [path, &real].map(|path| format!("{}:pre_tool_use:", path.display()));
    let trusted = state.iter().any(|(key, value)| {
        starts.iter().any(|start| key.get_ref().starts_with(start)) && within(value.get_ref(), "trusted_hash").is_some()
    });
    if trusted { None } else { untrusted() }
}

/// The value of a key, where there are keys.
fn within<'a, 'i>(value: &'a DeValue<'i>, key: &str) -> Option<&'a DeValue<'i>> {
    if let DeValue::Table(table) = value { table.get(key).map(|value| value.get_ref()) } else { None }
}

/// Hermes keeps which hooks its user accepted, by event and command.
fn hermes(config: &str, list: &str, line: &str) -> Option<Obstacle> {
    let automatic = config.lines().any(|line| {
        line.strip_prefix("hooks_auto_accept:")
            .is_some_and(|value| value.split('#').next().unwrap_or_default().trim() == "true")
    });
    let list: Value = serde_json::from_str(list).unwrap_or_default();
    let accepted = list["approvals"].as_array().into_iter().flatten();
    let known = accepted.into_iter().any(|one| one["event"] == "pre_tool_call" && one["command"] == line);
    if automatic || known {
        return None;
    }
    obstacle(
        "Hermes was not told to accept the hook, and passes over it",
        "start hermes at a terminal once and accept guard, or set HERMES_ACCEPT_HOOKS=1 where there is none",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::install::hosts::by_name;

    #[test]
    fn codex_trusts_what_its_state_names() {
        let path = Path::new("/nonexistent/.codex/hooks.json");
        let trust = "[hooks.state.\"/nonexistent/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:1\"\n";
        assert_eq!(codex(trust, path), None);
        for other in ["", "x = ", &trust.replace("pre_tool_use", "stop"), &trust.replace("trusted_hash", "enabled")] {
            assert!(codex(other, path).unwrap().says.contains("trust"), "{other}");
        }
        let off = format!("[features]\nhooks = false\n{trust}");
        assert!(codex(&off, path).unwrap().says.contains("features.hooks"));
    }

    #[test]
    fn hermes_accepts_what_its_list_names() {
        let list = r#"{"approvals": [{"event": "pre_tool_call", "command": "/g/guard hook"}]}"#;
        assert_eq!(hermes("", list, "/g/guard hook"), None);
        assert_eq!(hermes("hooks_auto_accept: true # yes\n", "", "x"), None);
        for (config, list) in
            [("", ""), ("hooks_auto_accept: false\n", ""), ("", "[]"), ("  hooks_auto_accept: true\n", "")]
        {
            assert!(hermes(config, list, "/g/guard hook").is_some(), "{config} {list}");
        }
        assert!(hermes("", list, "/other/guard hook").is_some());
    }

    #[test]
    fn a_file_that_a_strict_agent_passes_over_is_seen() {
        let codex = by_name("codex").unwrap();
        let keys = ["hooks", "description"];
        assert_eq!(strict(codex, "{\"hooks\": {}}", &keys), None);
        assert!(strict(codex, "{\"hooks\": {}, // x\n}", &keys).unwrap().says.contains("comments"));
        assert!(strict(codex, "{\"hooks\": {}, \"x\": 1}", &keys).unwrap().says.contains("\"x\""));
    }
}
