//! Running the examples of rules through the judge.

use serde_json::json;

use super::{PatternsError, RuleOutput, Sources, TestArgs, assumed, exit, read};
use crate::judge::policy::Policy;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::model::Examples;
use crate::judge::tier::Tier;
use crate::judge::tools::{ToolCall, entries};
use crate::ui::style::{Line, Style};

/// An example that does not do what it is there for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub rule: String,
    pub command: String,
    /// It stands under `bad` and the rule does not find it; else it stands under `good` or `other` and the rule does.
    pub missed: bool,
    /// What was found instead, by rule and tier.
    pub found: Vec<String>,
}

/// All examples of `catalog` that fail, of the rules that `wanted` picks by id.
#[must_use]
pub fn example_failures(catalog: &Catalog, wanted: &dyn Fn(&str) -> bool) -> Vec<Failure> {
    // What a person switched off or trusts is no business of an example.
    let policy = Policy::default();
    let mut failures = Vec::new();
    for examples in catalog.examples().iter().filter(|examples| wanted(&examples.rule)) {
        for (commands, should) in [(&examples.bad, true), (&examples.good, false), (&examples.other, false)] {
            failures.extend(commands.iter().filter_map(|command| fails(examples, command, should, catalog, &policy)));
        }
        for (calls, should) in [(&examples.calls, true), (&examples.other_calls, false)] {
            failures.extend(calls.iter().filter_map(|call| call_fails(examples, call, should, catalog)));
        }
    }
    failures
}

/// What `command` comes to by all rules together, in the world that examples are judged in: its tier, and the rules that
/// put it at or above `least`.
#[must_use]
pub fn example_tier(command: &str, catalog: &Catalog, least: Tier) -> (Tier, Vec<String>) {
    let risk = assumed::judged(command, catalog, &Policy::default()).risk;
    let counts = risk.findings.iter().filter(|finding| finding.tier >= least && finding.lowered.is_none());
    (risk.tier, counts.map(|finding| finding.rule.clone()).collect())
}

fn fails(examples: &Examples, command: &str, should: bool, catalog: &Catalog, policy: &Policy) -> Option<Failure> {
    let judgment = assumed::judged(command, catalog, policy);
    let is_found =
        judgment.risk.findings.iter().any(|finding| finding.rule == examples.rule && finding.lowered.is_none());
    if is_found == should {
        return None;
    }
    let found = judgment
        .risk
        .findings
        .iter()
        .map(|finding| {
            let lowered = finding.lowered.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            format!("{} {}{lowered}", finding.rule, finding.tier.number())
        })
        .collect();
    Some(Failure { rule: examples.rule.clone(), command: command.to_owned(), missed: should, found })
}

/// An entry for a tool is held against the call alone: what its input holds is judged by other rules.
fn call_fails(examples: &Examples, text: &str, should: bool, catalog: &Catalog) -> Option<Failure> {
    let failure = |found| Failure { rule: examples.rule.clone(), command: text.to_owned(), missed: should, found };
    let Some(call) = ToolCall::written(text) else {
        return Some(failure(vec!["what stands behind the name is no JSON".to_owned()]));
    };
    let matches = entries::find(&call, catalog);
    if matches.iter().any(|found| found.tool.id == examples.rule && !found.foreign) == should {
        return None;
    }
    Some(failure(matches.iter().map(|found| format!("{} {}", found.tool.id, found.tool.tier.number())).collect()))
}

pub fn run(args: &TestArgs, sources: &Sources<'_>, out: &mut RuleOutput<'_>) -> Result<u8, PatternsError> {
    let of_file;
    let (catalog, mut wanted): (&Catalog, Vec<String>) = match &args.file {
        None => (sources.catalog, ids(sources.catalog)),
        Some(path) => {
            let file = read(path)?;
            let name = file.path.clone();
            let (catalog, problems) = Catalog::with_files([file]);
            if !problems.is_empty() {
                return broken(args, &problems.iter().map(ToString::to_string).collect::<Vec<_>>(), out);
            }
            of_file = catalog;
            let of_this = |id: &str| of_file.origin(id).is_some_and(|(_, from)| from == Some(name.as_str()));
            (&of_file, ids(&of_file).into_iter().filter(|id| of_this(id)).collect())
        }
    };
    if let Some(only) = &args.rule {
        wanted.retain(|id| id == only || id.strip_prefix(only.as_str()).is_some_and(|rest| rest.starts_with('.')));
        if wanted.is_empty() {
            return Err(PatternsError::Unknown { name: only.clone(), hint: String::new() });
        }
    }
    let examples: usize = catalog
        .examples()
        .iter()
        .filter(|examples| wanted.contains(&examples.rule))
        .map(|of| of.bad.len() + of.good.len() + of.other.len() + of.calls.len() + of.other_calls.len())
        .sum();
    let failures = example_failures(catalog, &|id| wanted.iter().any(|known| known == id));
    if args.json {
        let failed: Vec<_> = failures
            .iter()
            .map(|failure| {
                json!({"rule": failure.rule, "command": failure.command, "found": failure.found,
                       "expected": if failure.missed { "found" } else { "left alone" }})
            })
            .collect();
        out.json(&json!({"rules": wanted.len(), "examples": examples, "failures": failed, "problems": []}))?;
    } else {
        out.lines(&failures.iter().map(line).collect::<Vec<_>>())?;
        let rules = if wanted.len() == 1 { "rule" } else { "rules" };
        let sum = format!("{} {rules}, {examples} examples, {} wrong", wanted.len(), failures.len());
        let style = if failures.is_empty() { Style::Safe } else { Style::Danger };
        out.lines(&[Line::of(style, sum)])?;
    }
    Ok(if failures.is_empty() { exit::ALLOW } else { exit::ASK })
}

/// Of all rules and all entries for tools.
fn ids(catalog: &Catalog) -> Vec<String> {
    let rules = catalog.all_rules().map(|rule| rule.id.clone());
    rules.chain(catalog.tools().map(|(_, tool)| tool.id.clone())).collect()
}

fn broken(args: &TestArgs, problems: &[String], out: &mut RuleOutput<'_>) -> Result<u8, PatternsError> {
    if args.json {
        out.json(&json!({"rules": 0, "examples": 0, "failures": [], "problems": problems}))?;
    } else {
        out.lines(&problems.iter().map(|problem| Line::of(Style::Plain, problem)).collect::<Vec<_>>())?;
    }
    Ok(exit::ASK)
}

fn line(failure: &Failure) -> Line {
    let what = if failure.missed { "does not find" } else { "finds" };
    let found = if failure.found.is_empty() { "nothing".to_owned() } else { failure.found.join(", ") };
    Line::of(Style::Strong, &failure.rule)
        .with(Style::Plain, format!(" {what} "))
        .with(Style::Danger, &failure.command)
        .with(Style::Dim, format!("  found: {found}"))
}
