//! Finds the registry's entries for a call: those about its tool, and those about another server's tool of the same
//! name.

use serde_json::Value;

use super::call::{Reading, ToolCall};
use super::pointer;
use crate::judge::rules::catalog::{Catalog, Layer};
use crate::judge::rules::glob;
use crate::judge::rules::model::{NO_SERVER, Tool, ValueTest};

/// An entry that applies to a call.
#[derive(Clone, Copy, Debug)]
pub struct Match<'a> {
    pub tool: &'a Tool,
    pub layer: Layer,
    /// Whether it is about another server's tool of this name, so that it may raise and not lower.
    pub foreign: bool,
}

/// Returns all entries that name the tool of a call and whose conditions are met.
#[must_use]
pub fn find<'a>(call: &ToolCall, catalog: &'a Catalog) -> Vec<Match<'a>> {
    let readings: Vec<(Reading<'_>, String)> =
        call.readings().into_iter().map(|reading| (reading.clone(), reading.plain())).collect();
    let mut found: Vec<Match<'a>> = Vec::new();
    for (layer, tool) in catalog.tools_named(readings.iter().map(|(_, plain)| plain.as_str())) {
        let Some(foreign) = speaks(tool, &readings) else { continue };
        if tool.when.iter().all(|test| holds(test, &call.input)) {
            found.push(Match { tool, layer, foreign });
        }
    }
    found
}

/// Returns pointers to the parts of the input that an entry of this name redacts, regardless of its conditions and its
/// server.
#[must_use]
pub fn hidden(call: &ToolCall, catalog: &Catalog) -> Vec<String> {
    let readings: Vec<(Reading<'_>, String)> =
        call.readings().into_iter().map(|reading| (reading.clone(), reading.plain())).collect();
    let named = catalog.tools_named(readings.iter().map(|(_, plain)| plain.as_str()));
    let redacting = named.filter(|(_, tool)| !tool.redact.is_empty() && speaks(tool, &readings).is_some());
    redacting.flat_map(|(_, tool)| tool.redact.iter().cloned()).collect()
}

/// Reports whether an entry names this tool: `Some(true)` if it is about another server's.
fn speaks(tool: &Tool, readings: &[(Reading<'_>, String)]) -> Option<bool> {
    let named = |plain: &str| tool.names.iter().any(|name| glob::text(name, plain));
    let served = |reading: &Reading<'_>| match &reading.server {
        _ if tool.servers.is_empty() => true,
        Some(server) => tool.servers.iter().any(|glob| glob::text(glob, server)),
        None => tool.servers.iter().any(|server| server == NO_SERVER),
    };
    let mut foreign = None;
    for (reading, plain) in readings.iter().filter(|(_, plain)| named(plain)) {
        if served(reading) {
            return Some(false);
        }
        // A name of one word is too common for a conclusion about another server's tool.
        if plain.contains('_') {
            foreign = Some(true);
        }
    }
    foreign
}

/// Reports whether an input passes a test.
#[must_use]
pub fn holds(test: &ValueTest, input: &Value) -> bool {
    let found = pointer::find(input, &test.at);
    let is_there = found.iter().any(|value| !value.is_null());
    if test.present.is_some_and(|present| present != is_there) {
        return false;
    }
    if test.present == Some(false) {
        return true;
    }
    let leaves: Vec<&Value> = found.iter().flat_map(|value| leaves(value)).collect();
    let any = |passes: &dyn Fn(&Value) -> bool| leaves.iter().any(|leaf| passes(leaf));
    let covered = |globs: &[String], leaf: &Value| {
        let text = text(leaf).to_lowercase();
        globs.iter().any(|pattern| glob::text(&pattern.to_lowercase(), &text))
    };
    is_there
        && (test.equals.is_empty() || any(&|leaf| test.equals.iter().any(|wanted| *wanted == text(leaf))))
        && (test.glob.is_empty() || any(&|leaf| covered(&test.glob, leaf)))
        && (test.not_glob.is_empty() || any(&|leaf| !covered(&test.not_glob, leaf)))
        && test.above.is_none_or(|least| any(&|leaf| number(leaf).is_none_or(|number| number > least)))
        && test.below.is_none_or(|most| any(&|leaf| number(leaf).is_none_or(|number| number < most)))
}

/// Returns the elements of an array, or the value itself.
fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(elements) => elements.iter().collect(),
        other => vec![other],
    }
}

/// Returns a string's text, or the JSON of any other value.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Returns a number, also from a string. Other values return `None` and count as beyond any limit.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn test(at: &str) -> ValueTest {
        ValueTest { at: at.to_owned(), ..ValueTest::default() }
    }

    #[test]
    fn numbers_are_compared_and_what_is_none_counts_as_too_much() {
        let above = ValueTest { above: Some(10.0), ..test("/amount") };
        for (input, wanted) in [
            (json!({"amount": 11}), true),
            (json!({"amount": 10}), false),
            (json!({"amount": "11.5"}), true),
            (json!({"amount": "9"}), false),
            (json!({"amount": "a lot"}), true),
            (json!({"amount": [1, 20]}), true),
            (json!({}), false),
        ] {
            assert_eq!(holds(&above, &input), wanted, "{input}");
        }
        let below = ValueTest { below: Some(0.0), ..test("/amount") };
        assert!(holds(&below, &json!({"amount": -1})) && !holds(&below, &json!({"amount": 0})));
    }

    #[test]
    fn one_recipient_outside_is_enough() {
        let outside = ValueTest { not_glob: vec!["*@example.org".to_owned()], ..test("/to") };
        assert!(holds(&outside, &json!({"to": ["a@example.org", "b@example.com"]})));
        assert!(!holds(&outside, &json!({"to": ["a@Example.org"]})));
        assert!(!holds(&outside, &json!({"cc": "b@example.com"})));
    }

    #[test]
    fn values_are_compared_as_json_writes_them() {
        let force = ValueTest { equals: vec!["true".to_owned()], ..test("/force") };
        assert!(holds(&force, &json!({"force": true})) && !holds(&force, &json!({"force": false})));
        let absent = ValueTest { present: Some(false), ..test("/dry_run") };
        assert!(holds(&absent, &json!({})) && !holds(&absent, &json!({"dry_run": true})));
        let present = ValueTest { present: Some(true), ..test("/to") };
        assert!(holds(&present, &json!({"to": "x"})) && !holds(&present, &json!({"to": null})));
        let globbed = ValueTest { glob: vec!["DEL*".to_owned()], ..test("/action") };
        assert!(holds(&globbed, &json!({"action": "delete"})) && !holds(&globbed, &json!({"action": "get"})));
    }
}
