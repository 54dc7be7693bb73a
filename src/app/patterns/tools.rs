//! Shows entries for tools.

use serde_json::{Value, json};

use super::list::{end, label, without_empty};
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
    let says = [("refuses", tool.deny), ("reviewer may", tool.yolo), ("can be undone", tool.reversible)];
    let shown = examples.map(|shown| [shown.calls.as_slice(), &shown.other_calls, &[]]);
    lines.extend(end(says, tool.approvals, catalog.origin(&tool.id), shown));
    lines
}
