//! What stands between an agent and a hook that is written down: switches, trust that its user gives, and how strictly
//! it reads the file. Read from the agent's own files; nothing of them is changed.

use std::path::Path;

use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use super::Ward;
use crate::app::install::file;
use crate::app::install::hosts::{Host, Trust};
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
    let strictly = || host.config.strict.as_ref().and_then(|keys| strict(host, text, keys));
    switched_off(host, text).or_else(strictly).or_else(|| match host.config.trust {
        Some(Trust::Hashes) => {
            let config = file::read(&folder.join("config.toml")).ok().flatten().unwrap_or_default();
            codex(&config, path, text)
        }
        Some(Trust::Lines) => {
            let accepted = ward.road.caller.env.get("HERMES_ACCEPT_HOOKS").is_some_and(|value| value == "1");
            let list = file::read(&folder.join("shell-hooks-allowlist.json")).ok().flatten().unwrap_or_default();
            hermes(text, &list, line.unwrap_or_default()).filter(|_| !accepted)
        }
        None => None,
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
fn strict(host: &Host, text: &str, keys: &[String]) -> Option<Obstacle> {
    let skips = format!("{} passes over the whole file", host.title);
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return obstacle(format!("{skips}: it has comments or trailing commas"), "take them out");
    };
    let strange = value.as_object()?.keys().find(|key| !keys.is_empty() && !keys.contains(key))?;
    obstacle(format!("{skips}: it does not know the key {strange:?}"), format!("take {strange:?} out"))
}

/// Codex keeps in its `config.toml` which hooks its user trusts, each with a hash of what it does:
/// `[hooks.state."FILE:pre_tool_use:GROUP:HANDLER"]`.
fn codex(config: &str, path: &Path, text: &str) -> Option<Obstacle> {
    let remedy = "start codex, type /hooks and trust guard; again after every change of the hook";
    let untrusted = || obstacle("Codex was not told to trust the hook, and skips it", remedy);
    let Ok(root) = DeTable::parse(config) else { return untrusted() };
    let features = root.get_ref().get("features").map(|value| value.get_ref());
    let off = |key: &&str| matches!(features.and_then(|features| within(features, key)), Some(DeValue::Boolean(false)));
    if let Some(switch) = ["hooks", "codex_hooks"].into_iter().find(off) {
        let says = format!("Codex is told not to run hooks (features.{switch} in config.toml)");
        return obstacle(says, format!("take {switch} = false out"));
    }
    let state = root.get_ref().get("hooks").and_then(|hooks| within(hooks.get_ref(), "state"));
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (group, handler, hash) = hash(text)?;
    let known = [path, &real].into_iter().find_map(|path| {
        let key = format!("{}:pre_tool_use:{group}:{handler}", path.display());
        within(state?, &key)
    });
    let Some(known) = known else { return untrusted() };
    if matches!(within(known, "enabled"), Some(DeValue::Boolean(false))) {
        return obstacle("the hook is switched off in Codex", "start codex, type /hooks and switch guard on");
    }
    match within(known, "trusted_hash") {
        Some(DeValue::String(trusted)) if trusted.as_ref() == hash => None,
        Some(_) => obstacle("Codex trusts the hook as it was before it was changed, and skips it", remedy),
        None => untrusted(),
    }
}

/// Where guard's hook stands in a file of Codex, and the hash that Codex has for it: of its meaning, so that how the
/// file is laid out does not matter.
fn hash(text: &str) -> Option<(usize, usize, String)> {
    let root: Value = serde_json::from_str(text).ok()?;
    let groups = root.pointer("/hooks/PreToolUse")?.as_array()?;
    let guard = |hook: &Value| hook["command"].as_str().is_some_and(|line| line.contains("guard"));
    groups.iter().enumerate().find_map(|(index, group)| {
        let (handler, hook) = group["hooks"].as_array()?.iter().enumerate().find(|(_, hook)| guard(hook))?;
        let timeout = hook["timeout"].as_u64().unwrap_or(600).max(1);
        let mut meaning = json!({ "type": "command", "command": hook["command"], "timeout": timeout, "async": false });
        if let (Some(message), Some(fields)) = (hook.get("statusMessage"), meaning.as_object_mut()) {
            fields.insert("statusMessage".to_owned(), message.clone());
        }
        let mut identity = json!({ "event_name": "pre_tool_use", "hooks": [meaning] });
        if let (Some(matcher), Some(fields)) = (group.get("matcher"), identity.as_object_mut()) {
            fields.insert("matcher".to_owned(), matcher.clone());
        }
        // Keys come out in their order.
        Some((index, handler, format!("sha256:{}", file::digest(identity.to_string().as_bytes()))))
    })
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
    fn codex_trusts_what_its_state_names_with_its_hash() {
        let path = Path::new("/nonexistent/.codex/hooks.json");
        // The hash is what Codex 0.169.0 itself says of this hook.
        let text = r#"{"hooks": {"PreToolUse": [{"matcher": "^(Bash|apply_patch)$", "hooks": [{
            "type": "command", "command": "/tmp/dt2/bin/guard hook --agent codex --timeout 3600 || exit 2",
            "timeout": 3600, "statusMessage": "guard"}]}]}}"#;
        let trust = "[hooks.state.\"/nonexistent/.codex/hooks.json:pre_tool_use:0:0\"]\n\
            trusted_hash = \"sha256:3182d9d74b2a8719af47a6518c52cec61e02d51e6ccc953c05233bded5ec1c8b\"\n";
        assert_eq!(codex(trust, path, text), None);
        for other in ["", "x = ", &trust.replace("pre_tool_use", "stop"), &trust.replace("trusted_hash", "other")] {
            assert!(codex(other, path, text).unwrap().says.contains("not told to trust"), "{other}");
        }
        assert!(codex(trust, path, &text.replace("3600,", "60,")).unwrap().says.contains("as it was before"));
        let off = format!("[features]\nhooks = false\n{trust}");
        assert!(codex(&off, path, text).unwrap().says.contains("features.hooks"));
        assert!(codex(&format!("{trust}enabled = false\n"), path, text).unwrap().says.contains("switched off"));
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
        let keys = ["hooks", "description"].map(str::to_owned);
        assert_eq!(strict(codex, "{\"hooks\": {}}", &keys), None);
        assert!(strict(codex, "{\"hooks\": {}, // x\n}", &keys).unwrap().says.contains("comments"));
        assert!(strict(codex, "{\"hooks\": {}, \"x\": 1}", &keys).unwrap().says.contains("\"x\""));
    }
}
