//! Tests the known pitfalls of each agent against every answer that is kept beside this file.

use guard::app::hook::hosts;
use serde_json::Value;

use super::exchanges::{Exchange, kept};

fn all(agent: &str) -> Vec<Exchange> {
    let all = kept(agent);
    assert!(!all.is_empty(), "{agent}");
    all
}

fn json(exchange: &Exchange) -> Option<Value> {
    (!exchange.out.is_empty()).then(|| serde_json::from_str(&exchange.out).unwrap())
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_denial_by_exit_code_always_has_a_reason_and_nothing_on_standard_output() {
    // Without a reason Codex and Gemini CLI run the command, and Cursor takes standard output for the reason.
    for exchange in hosts::all().iter().flat_map(|host| all(host.name())) {
        match exchange.code {
            0 => assert!(exchange.err.is_empty(), "{}", exchange.what),
            2 => assert!(!exchange.err.is_empty() && exchange.out.is_empty(), "{}", exchange.what),
            other => panic!("{}: {other}", exchange.what),
        }
    }
}

#[test]
fn codex_is_told_nothing_that_it_does_not_know() {
    for exchange in all("codex") {
        let Some(answer) = json(&exchange) else { continue };
        assert_eq!(keys(&answer), ["hookSpecificOutput"], "{}", exchange.what);
        let output = &answer["hookSpecificOutput"];
        match output["hookEventName"].as_str().unwrap() {
            "PreToolUse" => {
                assert_eq!(keys(output), ["hookEventName", "permissionDecision", "permissionDecisionReason"]);
                assert_eq!(output["permissionDecision"], "deny", "{}", exchange.what);
                assert!(!output["permissionDecisionReason"].as_str().unwrap().is_empty());
            }
            "PermissionRequest" => {
                assert_eq!(keys(output), ["decision", "hookEventName"]);
                assert_eq!(keys(&output["decision"]), ["behavior", "message"], "{}", exchange.what);
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn cursor_and_antigravity_always_get_a_decision() {
    for (agent, key, words) in [
        ("cursor", "permission", &["allow", "deny"][..]),
        ("antigravity", "decision", &["allow", "auto_approve", "force_ask", "deny"]),
    ] {
        for exchange in all(agent) {
            let answer = json(&exchange).unwrap_or_else(|| panic!("{agent}, {}: nothing", exchange.what));
            assert!(words.contains(&answer[key].as_str().unwrap()), "{agent}, {}", exchange.what);
            assert_eq!(exchange.code, 0);
        }
    }
}

#[test]
fn copilot_gets_one_object_with_its_keys_at_the_top() {
    for exchange in all("copilot") {
        let Some(answer) = json(&exchange) else { continue };
        let known = ["behavior", "message", "permissionDecision", "permissionDecisionReason"];
        assert!(keys(&answer).iter().all(|key| known.contains(key)), "{}: {answer}", exchange.what);
        assert_eq!(answer.get("behavior").is_some(), answer.get("permissionDecision").is_none(), "{}", exchange.what);
        assert_eq!(exchange.code, 0);
    }
}

#[test]
fn those_that_read_json_alone_get_json_alone() {
    for agent in ["cline", "hermes", "opencode", "amp", "gemini", "antigravity"] {
        assert!(all(agent).iter().all(|exchange| exchange.code == 0), "{agent}");
    }
    for exchange in all("claude").into_iter().filter(|exchange| exchange.input.contains("\"PermissionRequest\"")) {
        assert_eq!(exchange.code, 0, "{}", exchange.what);
    }
    // Windsurf reads no standard output.
    assert!(all("windsurf").iter().all(|exchange| exchange.out.is_empty()));
}

#[test]
fn tier_4_is_never_left_to_an_agents_own_prompt() {
    for host in hosts::all() {
        for exchange in all(host.name()).into_iter().filter(|exchange| exchange.input.contains("rm -rf ~")) {
            let said = format!("{}{}", exchange.out, exchange.err);
            assert!(said.contains("guard: refused"), "{}, {}: {said}", host.name(), exchange.what);
        }
    }
}
