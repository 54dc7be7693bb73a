//! Tests that an input with a missing or changed part never hides a flagged command.

use guard::app::hook::call::ToolAction;
use guard::app::hook::hosts;
use serde_json::{Value, json};

use crate::harness::home::FLAGGED;

/// Collects the paths of all values in a value.
fn paths(value: &Value, here: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let path = format!("{here}/{name}");
                paths(inner, &path, all);
                all.push(path);
            }
        }
        Value::Array(items) => {
            for (number, inner) in items.iter().enumerate() {
                let path = format!("{here}/{number}");
                paths(inner, &path, all);
                all.push(path);
            }
        }
        _ => {}
    }
}

/// Returns the inputs of an agent's exchanges that contain the flagged command.
fn flagged(agent: &str) -> Vec<Value> {
    let file = format!("{}/tests/promises/hooks/{agent}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let inputs = text.lines().filter_map(|line| line.strip_prefix("in   "));
    let command = FLAGGED.join(" ");
    inputs.filter(|input| input.contains(&command)).filter_map(|input| serde_json::from_str(input).ok()).collect()
}

#[test]
fn no_single_damage_hides_a_command() {
    let command = FLAGGED.join(" ");
    for host in hosts::all() {
        let inputs = flagged(host.name());
        assert!(!inputs.is_empty(), "{}", host.name());
        for input in inputs {
            let mut all = Vec::new();
            paths(&input, "", &mut all);
            for path in all {
                for other in [json!(null), json!(7), json!(""), json!([]), json!({}), json!([{}]), json!(true)] {
                    let mut damaged = input.clone();
                    let place = damaged.pointer_mut(&path).unwrap();
                    *place = other.clone();
                    let host = hosts::named(host.name()).unwrap().in_truth(&damaged);
                    let Ok(call) = guard::app::hook::dialect::read(host, &damaged) else { continue };
                    let is_kept = match &call.action {
                        ToolAction::Line(text) => text.contains(&command),
                        ToolAction::Typed(typed) => typed.text.contains(&command),
                        // The whole input of an unknown tool is examined, and a person is asked.
                        ToolAction::Tool { input, .. } => input.contains(&command),
                        _ => false,
                    };
                    // The command itself may have been replaced: an empty command does nothing.
                    let is_empty = other == json!("") && matches!(call.action, ToolAction::Line(_));
                    // A renamed tool is another tool.
                    let is_renamed = other == json!("") && call.action == ToolAction::Other;
                    assert!(is_kept || is_empty || is_renamed, "{} {path} = {other}: {call:?}", host.name());
                }
            }
        }
    }
}

#[test]
fn what_is_no_object_is_no_call() {
    for host in hosts::all() {
        for odd in [json!(null), json!(7), json!("x"), json!([]), json!([{ "tool_name": "Bash" }]), json!({})] {
            assert!(guard::app::hook::dialect::read(host, &odd).is_err(), "{} {odd}", host.name());
        }
    }
}
