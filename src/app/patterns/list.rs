//! Lists and shows the rules, the entries for tools and the programs.

use serde_json::{Value, json};

use super::{ListArgs, PatternsError, RuleOutput, ShowArgs, exit, tools};
use crate::app::screen;
use crate::judge::rules::catalog::{Catalog, Layer};
use crate::judge::rules::model::{Examples, Explanation, Program, Rule, Tool};
use crate::judge::rules::problem::nearest;
use crate::judge::sort;
use crate::judge::tier::Tier;
use crate::ui::count::counted;
use crate::ui::style::{Line, Style};
use crate::ui::wrap;

/// An entry of the list: what a verdict can name as its rule.
enum ListedRule<'a> {
    Rule(&'a Rule, Explanation),
    Tool(&'a Tool),
}

impl<'a> ListedRule<'a> {
    fn head(&self) -> (&'a str, Tier, &str) {
        match self {
            Self::Rule(rule, explanation) => (rule.id.as_str(), rule.tier, explanation.reason.as_str()),
            Self::Tool(tool) => (tool.id.as_str(), tool.tier, tool.reason.as_str()),
        }
    }
}

pub fn list(args: &ListArgs, catalog: &Catalog, out: &mut RuleOutput<'_>) -> Result<u8, PatternsError> {
    let filter = args.filter.as_deref().unwrap_or_default();
    let is_meant = |entry: &ListedRule<'_>| {
        let (id, _, reason) = entry.head();
        id.contains(filter) || reason.contains(filter)
    };
    let fits = |entry: &ListedRule<'_>| {
        let (id, tier, _) = entry.head();
        let built_in = || catalog.origin(id).is_none_or(|(_, file)| file.is_none());
        args.tier.is_none_or(|least| tier.number() >= least) && (!args.own || !built_in())
    };
    let rules = catalog.all_rules().map(|rule| ListedRule::Rule(rule, catalog.explanation(rule)));
    let all = rules.chain(catalog.tools().map(|(_, tool)| ListedRule::Tool(tool)));
    let mut entries: Vec<ListedRule<'_>> = all.filter(is_meant).collect();
    if entries.is_empty() && !filter.is_empty() {
        let hint = match catalog.program(filter) {
            Some(_) => format!("; guard patterns show {filter} shows the program"),
            None => near_hint(filter, catalog),
        };
        return Err(PatternsError::NoneListed { name: filter.to_owned(), hint });
    }
    entries.retain(fits);
    sort::sort_by_key(&mut entries, |entry| entry.head().0);
    if args.json {
        for entry in entries {
            out.json(&match entry {
                ListedRule::Rule(rule, _) => as_json(rule, catalog, None),
                ListedRule::Tool(tool) => tools::as_json(tool, catalog, None),
            })?;
        }
        return Ok(exit::ALLOW);
    }
    let width = entries.iter().map(|entry| entry.head().0.len()).max().unwrap_or(0);
    let columns = screen::columns();
    // In a narrower terminal the reason is below its rule.
    let is_beside = columns.saturating_sub(width) >= 45;
    let lines: Vec<Line> = entries
        .iter()
        .flat_map(|entry| {
            let (id, tier, reason) = entry.head();
            let number = Line::of(Style::Tier(tier), tier.number().to_string());
            if is_beside {
                return wrap::labelled(
                    &number.with(Style::Plain, format!("  {id:width$}  ")),
                    Style::Dim,
                    reason,
                    columns,
                );
            }
            let below = wrap::labelled(&Line::of(Style::Plain, "   "), Style::Dim, reason, columns);
            std::iter::once(number.with(Style::Plain, format!("  {id}"))).chain(below).collect()
        })
        .collect();
    out.lines(&lines)?;
    let of_tools = entries.iter().filter(|entry| matches!(entry, ListedRule::Tool(_))).count();
    let rules = counted(entries.len() as u64, "rule", "rules");
    let count = match of_tools {
        0 => rules,
        _ => format!("{rules}, {of_tools} of them for tools"),
    };
    out.lines(&[Line::of(Style::Dim, count)])?;
    Ok(exit::ALLOW)
}

pub fn show(args: &ShowArgs, catalog: &Catalog, out: &mut RuleOutput<'_>) -> Result<u8, PatternsError> {
    let name = args.name.as_str();
    let of_family = |rule: &&Rule| rule.id.split('.').next() == Some(name);
    let mut rules: Vec<&Rule> = match catalog.rule(name) {
        Some(rule) => vec![rule],
        None => catalog.all_rules().filter(of_family).collect(),
    };
    let program = catalog.program(name);
    if rules.is_empty() {
        rules = catalog.rules(name).collect();
    }
    let is_meant = |tool: &&Tool| tool.id == name || tool.id.split('.').next() == Some(name);
    let entries: Vec<&Tool> = catalog.tools().map(|(_, tool)| tool).filter(is_meant).collect();
    if rules.is_empty() && entries.is_empty() && program.is_none() {
        return Err(PatternsError::Unknown { name: name.to_owned(), hint: near_hint(name, catalog) });
    }
    let examples = catalog.examples();
    let of_id = |id: &str| examples.iter().find(|examples| examples.rule == id);
    let of = |rule: &Rule| of_id(&rule.id);
    if args.json {
        let rules: Vec<Value> = rules.iter().map(|rule| as_json(rule, catalog, of(rule))).collect();
        let program = program.and_then(|program| serde_json::to_value(program).ok());
        let tools: Vec<Value> = entries.iter().map(|tool| tools::as_json(tool, catalog, of_id(&tool.id))).collect();
        out.json(&json!({"rules": rules, "tools": tools, "program": program}))?;
        return Ok(exit::ALLOW);
    }
    for rule in rules {
        out.lines(&drawn(rule, catalog, of(rule)))?;
    }
    for tool in entries {
        out.lines(&tools::drawn(tool, catalog, of_id(&tool.id)))?;
    }
    if let Some(program) = program {
        out.lines(&described(program, name))?;
    }
    Ok(exit::ALLOW)
}

/// Returns a suggestion of a similar rule or family, as the end of a sentence.
fn near_hint(name: &str, catalog: &Catalog) -> String {
    let of_tools = catalog.tools().map(|(_, tool)| tool.id.as_str());
    let ids: Vec<&str> = catalog.all_rules().map(|rule| rule.id.as_str()).chain(of_tools).collect();
    let families = ids.iter().filter_map(|id| id.split('.').next());
    let near = nearest(name, families.chain(ids.iter().copied()));
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

fn as_json(rule: &Rule, catalog: &Catalog, examples: Option<&Examples>) -> Value {
    let (origin, explanation) = (catalog.origin(&rule.id), catalog.explanation(rule));
    let mut value = json!({
        "id": rule.id, "tier": rule.tier.number(), "weight": rule.weight.as_f64(),
        "reversibility": rule.reversibility.name(), "reason": explanation.reason, "instead": explanation.instead,
        "deny": rule.deny, "yolo": rule.yolo, "reversible": rule.reversible, "approvals": rule.approvals, "lower": rule.lower, "notes": rule.notes, "match": rule.when,
        "layer": origin.map(|(layer, _)| layer.name()), "file": origin.and_then(|(_, file)| file),
    });
    if let (Some(value), Some(examples)) = (value.as_object_mut(), examples) {
        value.insert("bad".to_owned(), json!(examples.bad));
        value.insert("good".to_owned(), json!(examples.good));
        value.insert("other".to_owned(), json!(examples.other));
    }
    value
}

fn drawn(rule: &Rule, catalog: &Catalog, examples: Option<&Examples>) -> Vec<Line> {
    let head = Line::of(Style::Strong, &rule.id)
        .with(Style::Plain, "  ")
        .with(Style::Tier(rule.tier), format!("tier {} {}", rule.tier.number(), rule.tier.name()))
        .with(Style::Dim, format!(", weight {}, {}", rule.weight, rule.reversibility.name()));
    let explanation = catalog.explanation(rule);
    let mut lines = vec![head, Line::of(Style::Plain, format!("  {}", explanation.reason))];
    if let Some(instead) = &explanation.instead {
        lines.push(Line::of(Style::Dim, "  instead       ").with(Style::Safe, instead));
    }
    let when = &rule.when;
    lines.push(label("looks at", &when.verbs.join(", ")));
    if !when.subs.is_empty() {
        let subs: Vec<String> = when.subs.iter().map(|path| path.join(" ")).collect();
        lines.push(label("subcommands", &subs.join(", ")));
    }
    for (name, tests) in [("flags", &when.flags), ("without", &when.no_flags)] {
        for test in tests {
            let value = test.value.as_ref().map_or_else(String::new, |test| {
                format!(" = {}", test.regex.as_deref().map_or_else(|| test.glob.join(" "), |regex| format!("~{regex}")))
            });
            lines.push(label(name, &format!("{}{value}", test.names.join(" "))));
        }
    }
    let words = |value: Result<Value, serde_json::Error>| value.map(|value| value.to_string()).unwrap_or_default();
    if !when.operands.is_empty() {
        lines.push(label("operands", &words(serde_json::to_value(&when.operands).map(without_empty))));
    }
    if !when.env.is_empty() {
        let names: Vec<&str> = when.env.iter().map(|test| test.name.as_str()).collect();
        lines.push(label("variables", &names.join(" ")));
    }
    if !rule.lower.is_empty() {
        let facts = words(serde_json::to_value(&rule.lower));
        lines.push(label("less when", facts.trim_matches(['[', ']']).replace('"', "").replace(',', ", ").as_str()));
    }
    let says = [("refuses", rule.deny), ("reviewer may", rule.yolo), ("can be undone", rule.reversible)];
    let shown = examples.map(|shown| [shown.bad.as_slice(), &shown.good, &shown.other]);
    lines.extend(end(says, rule.approvals, catalog.origin(&rule.id), shown));
    lines
}

/// Returns the last lines about a rule or an entry for a tool: its properties, its origin, and its examples of what it
/// finds, of what it does not find, and of what another rule finds.
pub(super) fn end(
    says: [(&str, bool); 3],
    approvals: u8,
    origin: Option<(Layer, Option<&str>)>,
    examples: Option<[&[String]; 3]>,
) -> Vec<Line> {
    let mut lines: Vec<Line> = says.iter().filter(|(_, holds)| *holds).map(|(name, _)| label(name, "yes")).collect();
    if approvals > 1 {
        lines.push(label("approvers", &approvals.to_string()));
    }
    if let Some((layer, file)) = origin {
        let name = layer.name();
        lines.push(label("from", &file.map_or_else(|| name.to_owned(), |file| format!("{name} {file}"))));
    }
    let heads =
        [("  finds         ", Style::Danger), ("  leaves alone  ", Style::Plain), ("  of another    ", Style::Plain)];
    for ((head, style), list) in heads.into_iter().zip(examples.into_iter().flatten()) {
        lines.extend(list.iter().map(|example| Line::of(Style::Dim, head).with(style, example)));
    }
    lines.push(Line::new());
    lines
}

/// Returns a line with a label.
pub(super) fn label(name: &str, text: &str) -> Line {
    Line::of(Style::Dim, format!("  {name:14}")).with(Style::Plain, text)
}

/// Removes empty values.
pub(super) fn without_empty(value: Value) -> Value {
    let empty = |value: &Value| {
        value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty)
    };
    match value {
        Value::Array(values) => Value::Array(values.into_iter().map(without_empty).collect()),
        Value::Object(mut values) => {
            values.values_mut().for_each(|value| *value = without_empty(value.take()));
            values.retain(|_, value| !empty(value));
            Value::Object(values)
        }
        other => other,
    }
}

fn described(program: &Program, name: &str) -> Vec<Line> {
    let names: Vec<&str> =
        program.names.iter().map(String::as_str).filter(|other| program.is_same(name, other)).collect();
    let mut lines = vec![
        Line::of(Style::Strong, name)
            .with(Style::Plain, "  program, plainly ")
            .with(Style::Tier(program.tier), format!("tier {}", program.tier.number())),
    ];
    if names.len() > 1 {
        lines.push(Line::of(Style::Dim, "  also          ").with(Style::Plain, names.join(" ")));
    }
    for effect in &program.effects {
        let text = format!("{} {:?}", effect.does.key().trim_start_matches(':'), effect.to).to_lowercase();
        lines.push(Line::of(Style::Dim, "  effect        ").with(Style::Plain, text));
    }
    if !program.wraps.is_empty() {
        lines.push(Line::of(Style::Dim, "  runs          ").with(Style::Plain, "another command"));
    }
    if let Some(runs) = &program.runs {
        lines.push(Line::of(Style::Dim, "  runs          ").with(Style::Plain, format!("{} code", runs.language)));
    }
    let subs: Vec<&str> = program.subs.paths().map(|(path, _)| path).collect();
    if !subs.is_empty() {
        lines.push(Line::of(Style::Dim, "  subcommands   ").with(Style::Plain, subs.join(", ")));
    }
    lines
}
