//! Finds reasons why an agent does not run an installed hook: switches, missing trust of its user, and a strict parser.
//! They are read from the agent's own files, which are not changed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use super::change::{WiredState, Wiring, first_line};
use super::file;
use super::hosts::{Form, Host, Trust, TrustFormat};
use super::json::{self, Node};
use super::places::Places;

/// The reason why an agent does not run a hook, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub says: String,
    pub remedy: String,
}

fn obstacle(says: impl Into<String>, remedy: impl Into<String>) -> Option<Obstacle> {
    Some(Obstacle { says: says.into(), remedy: remedy.into() })
}

/// Returns the first reason why an agent does not call guard although it is installed. Returns `None` if there is none
/// or guard is not installed.
#[must_use]
pub fn of_agent(places: &Places<'_>, host: &'static Host) -> Option<Obstacle> {
    let guard = places.guard().unwrap_or_default();
    let wiring = Wiring::of(host, &guard, None);
    let mut is_wired = false;
    for (path, wire) in [false, true].into_iter().flat_map(|project| places.files(host, project)) {
        let Some(text) = file::read(&path).ok().flatten() else { continue };
        let is_absent = !wiring.state(wire, Some(&text)).is_ok_and(|state| state != WiredState::Absent);
        if is_absent || matches!(wire.form, Form::Own { executable: false, .. }) {
            continue;
        }
        is_wired = true;
        let calls = wiring.calls(wire, &text, &path);
        let found = in_the_way(places, host, &path, &text, first_line(&calls));
        if found.is_some() {
            return found;
        }
    }
    if is_wired { off_in_project(places, host).into_iter().next().map(|(_, obstacle)| obstacle) } else { None }
}

/// Returns the project's files that disable the account's hooks. An agent can write such files.
#[must_use]
pub fn off_in_project(places: &Places<'_>, host: &Host) -> Vec<(PathBuf, Obstacle)> {
    let shared = host.config.switches.iter();
    let files = host.project.iter().map(|wire| &wire.path).chain(shared).map(|name| places.project().join(name));
    let off = files.filter_map(|path| {
        let obstacle = switched_off(host, &file::read(&path).ok()??)?;
        Some((path, obstacle))
    });
    off.collect()
}

/// Returns why an agent does not run the hook in this file, according to its own files.
#[must_use]
pub fn in_the_way(places: &Places<'_>, host: &Host, path: &Path, text: &str, line: Option<&str>) -> Option<Obstacle> {
    let directory = places.directory(host);
    let strictly = || host.config.strict.as_ref().and_then(|keys| strict(host, text, keys));
    let trusted = || {
        let trust = host.config.trust.as_ref()?;
        let kept = file::read(&directory.join(&trust.file)).ok().flatten().unwrap_or_default();
        let asked = HookConsent { title: host.title, trust };
        match trust.kept {
            TrustFormat::Hashes => asked.by_hash(&kept, path, text),
            TrustFormat::Lines => {
                let accepted = places.env().get(&trust.variable).is_some_and(|value| value == "1");
                asked.by_line(text, &kept, line.unwrap_or_default()).filter(|_| !accepted)
            }
        }
    };
    switched_off(host, text).or_else(strictly).or_else(trusted)
}

/// Returns the switch that disables all hooks, if it is set.
#[must_use]
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
    obstacle(format!("{} is configured to disable hooks ({switch})", host.title), format!("remove {switch}"))
}

/// Returns the reason if the agent ignores a file with comments, trailing commas or unknown keys.
fn strict(host: &Host, text: &str, keys: &[String]) -> Option<Obstacle> {
    let skips = format!("{} ignores the whole file", host.title);
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return obstacle(format!("{skips}, because it has comments or trailing commas"), "remove them");
    };
    let strange = value.as_object()?.keys().find(|key| !keys.is_empty() && !keys.contains(key))?;
    obstacle(format!("{skips}, because of the unknown key {strange:?}"), format!("remove {strange:?}"))
}

/// An agent that asks its user before it runs a hook.
#[derive(Clone, Copy)]
struct HookConsent<'a> {
    title: &'a str,
    trust: &'a Trust,
}

impl HookConsent<'_> {
    /// Checks a file that stores a hash of each trusted hook: `[hooks.state."FILE:EVENT:GROUP:HANDLER"]`.
    fn by_hash(self, kept: &str, path: &Path, text: &str) -> Option<Obstacle> {
        let Self { title, trust } = self;
        let untrusted =
            || obstacle(format!("{title} skips the hook, because you have not trusted it there"), &trust.remedy);
        let Ok(root) = DeTable::parse(kept) else { return untrusted() };
        let features = root.get_ref().get("features").map(|value| value.get_ref());
        let off = |key: &&String| {
            matches!(features.and_then(|features| within(features, key)), Some(DeValue::Boolean(false)))
        };
        if let Some(switch) = trust.switches.iter().find(off) {
            let says = format!("{title} is configured to disable hooks (features.{switch} in {})", trust.file);
            return obstacle(says, format!("remove {switch} = false"));
        }
        let state = root.get_ref().get("hooks").and_then(|hooks| within(hooks.get_ref(), "state"));
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (group, handler, hash) = hash(&trust.event, text)?;
        let known = [path, &real].into_iter().find_map(|path| {
            let key = format!("{}:{}:{group}:{handler}", path.display(), trust.event);
            within(state?, &key)
        });
        let Some(known) = known else { return untrusted() };
        if matches!(within(known, "enabled"), Some(DeValue::Boolean(false))) {
            return obstacle(format!("the hook is disabled in {title}"), &trust.switch_on);
        }
        match within(known, "trusted_hash") {
            Some(DeValue::String(trusted)) if trusted.as_ref() == hash => None,
            Some(_) => {
                obstacle(format!("{title} skips the hook, because it changed after you trusted it"), &trust.remedy)
            }
            None => untrusted(),
        }
    }

    /// Checks a file that lists the accepted events and commands.
    fn by_line(self, config: &str, kept: &str, line: &str) -> Option<Obstacle> {
        let Self { title, trust } = self;
        let automatic = config.lines().any(|line| {
            let value = line.strip_prefix(trust.automatic.as_str()).and_then(|rest| rest.strip_prefix(':'));
            !trust.automatic.is_empty()
                && value.is_some_and(|value| value.split('#').next().unwrap_or_default().trim() == "true")
        });
        let list: Value = serde_json::from_str(kept).unwrap_or_default();
        let accepted = list["approvals"].as_array().into_iter().flatten();
        let known = accepted.into_iter().any(|one| one["event"] == *trust.event && one["command"] == line);
        if automatic || known {
            return None;
        }
        obstacle(format!("{title} ignores the hook, because you have not accepted it there"), &trust.remedy)
    }
}

/// Returns the position of guard's hook in a file, and its hash, which does not depend on the formatting of the file.
fn hash(event: &str, text: &str) -> Option<(usize, usize, String)> {
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
        let mut identity = json!({ "event_name": event, "hooks": [meaning] });
        if let (Some(matcher), Some(fields)) = (group.get("matcher"), identity.as_object_mut()) {
            fields.insert("matcher".to_owned(), matcher.clone());
        }
        // The keys are sorted.
        Some((index, handler, format!("sha256:{}", file::digest(identity.to_string().as_bytes()))))
    })
}

/// Returns the value of a key of a table.
fn within<'a, 'i>(value: &'a DeValue<'i>, key: &str) -> Option<&'a DeValue<'i>> {
    if let DeValue::Table(table) = value { table.get(key).map(|value| value.get_ref()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::install::hosts::by_name;

    fn asked(agent: &str) -> HookConsent<'static> {
        let host = by_name(agent).unwrap();
        HookConsent { title: host.title, trust: host.config.trust.as_ref().unwrap() }
    }

    #[test]
    fn codex_trusts_what_its_state_names_with_its_hash() {
        let codex = asked("codex");
        let path = Path::new("/nonexistent/.codex/hooks.json");
        // The hash is the one that Codex 0.169.0 computes for this hook.
        let text = r#"{"hooks": {"PreToolUse": [{"matcher": "^(Bash|apply_patch)$", "hooks": [{
            "type": "command", "command": "/tmp/dt2/bin/guard hook --agent codex --timeout 3600 || exit 2",
            "timeout": 3600, "statusMessage": "guard"}]}]}}"#;
        let trust = "[hooks.state.\"/nonexistent/.codex/hooks.json:pre_tool_use:0:0\"]\n\
            trusted_hash = \"sha256:3182d9d74b2a8719af47a6518c52cec61e02d51e6ccc953c05233bded5ec1c8b\"\n";
        assert_eq!(codex.by_hash(trust, path, text), None);
        for other in ["", "x = ", &trust.replace("pre_tool_use", "stop"), &trust.replace("trusted_hash", "other")] {
            assert!(codex.by_hash(other, path, text).unwrap().says.contains("have not trusted it"), "{other}");
        }
        assert!(
            codex
                .by_hash(trust, path, &text.replace("3600,", "60,"))
                .unwrap()
                .says
                .contains("changed after you trusted it")
        );
        let off = format!("[features]\nhooks = false\n{trust}");
        assert!(codex.by_hash(&off, path, text).unwrap().says.contains("features.hooks"));
        assert!(codex.by_hash(&format!("{trust}enabled = false\n"), path, text).unwrap().says.contains("disabled"));
    }

    #[test]
    fn hermes_accepts_what_its_list_names() {
        let hermes = asked("hermes");
        let list = r#"{"approvals": [{"event": "pre_tool_call", "command": "/g/guard hook"}]}"#;
        assert_eq!(hermes.by_line("", list, "/g/guard hook"), None);
        assert_eq!(hermes.by_line("hooks_auto_accept: true # yes\n", "", "x"), None);
        for (config, list) in
            [("", ""), ("hooks_auto_accept: false\n", ""), ("", "[]"), ("  hooks_auto_accept: true\n", "")]
        {
            assert!(hermes.by_line(config, list, "/g/guard hook").is_some(), "{config} {list}");
        }
        assert!(hermes.by_line("", list, "/other/guard hook").is_some());
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
