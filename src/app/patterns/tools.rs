//! The entries for tools, shown.

use serde_json::{Value, json};

use super::list::without_empty;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::model::{Examples, Tool};
use crate::ui::style::{Line, Style};

pub fn as_json(tool: &Tool, catalog: &Catalog, examples: Option<&Examples>) -> Value {
    let origin = catalog.origin(&tool.id);
    let mut value = json!({
        "id": tool.id, "tier": tool.tier.number(), "weight": tool.weight.as_f64(),
        "reversibility": tool.reversibility.name(), "reason": tool.reason, "instead": tool.instead, "deny": tool.deny,
        "yolo": tool.yolo, "reversible": tool.reversible, "approvals": tool.approvals, "names": tool.names,
        "servers": tool.servers, "effects": tool.effects, "when": tool.when, "holds": tool.holds, "show": tool.show,
        "redact": tool.redact, "layer": origin.map(|(layer, _)| layer.name()), "file": origin.and_then(|(_, file)| file),
    });
    if let (Some(value), Some(examples)) = (value.as_object_mut(), examples) {
        value.insert("examples".to_owned(), json!(examples.calls));
        value.insert("others".to_owned(), json!(examples.other_calls));
    }
    value
}

pub fn drawn(tool: &Tool, catalog: &Catalog, examples: Option<&Examples>) -> Vec<Line> {
    let label = |name: &str, text: &str| Line::of(Style::Dim, format!("  {name:14}")).with(Style::Plain, text);
    let head = Line::of(Style::Strong, &tool.id)
        .with(Style::Plain, "  ")
        .with(Style::Tier(tool.tier), format!("tier {} {}", tool.tier.number(), tool.tier.name()))
        .with(Style::Dim, format!(", weight {}, {}", tool.weight, tool.reversibility.name()));
    let mut lines = vec![head, Line::of(Style::Plain, format!("  {}", tool.reason))];
    if let Some(instead) = &tool.instead {
        lines.push(Line::of(Style::Dim, "  instead       ").with(Style::Safe, instead));
    }
    lines.push(label("tools", &tool.names.join(" ")));
    for (name, words) in [("servers", &tool.servers), ("shows", &tool.show), ("hides", &tool.redact)] {
        if !words.is_empty() {
            lines.push(label(name, &words.join(" ")));
        }
    }
    for (name, value) in [("when", json!(tool.when)), ("holds", json!(tool.holds))] {
        for part in value.as_array().into_iter().flatten() {
            lines.push(label(name, &without_empty(part.clone()).to_string()));
        }
    }
    for (name, holds) in [("refuses", tool.deny), ("reviewer may", tool.yolo), ("can be undone", tool.reversible)] {
        if holds {
            lines.push(label(name, "yes"));
        }
    }
    if tool.approvals > 1 {
        lines.push(label("approvers", &tool.approvals.to_string()));
    }
    if let Some((layer, file)) = catalog.origin(&tool.id) {
        lines.push(label(
            "from",
            &file.map_or_else(|| layer.name().to_owned(), |file| format!("{} {file}", layer.name())),
        ));
    }
    for call in examples.map(|examples| examples.calls.as_slice()).unwrap_or_default() {
        lines.push(Line::of(Style::Dim, "  finds         ").with(Style::Danger, call));
    }
    for call in examples.map(|examples| examples.other_calls.as_slice()).unwrap_or_default() {
        lines.push(Line::of(Style::Dim, "  leaves alone  ").with(Style::Plain, call));
    }
    lines.push(Line::new());
    lines
}
