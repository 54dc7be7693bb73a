//! Judges the examples of rules and reports those with a wrong verdict.

use serde_json::json;

use super::{PatternsError, RuleOutput, Sources, TestArgs, assumed, exit, read};
use crate::judge::policy::Policy;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::model::Examples;
use crate::judge::tier::Tier;
use crate::judge::tools::{ToolCall, entries};
use crate::ui::style::{Line, Style};

/// An example with a wrong verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub rule: String,
    pub command: String,
    /// Whether the rule should find the example (`bad`) but does not. Otherwise it finds an example of `good` or
    /// `other`.
    pub missed: bool,
    /// The findings instead, each with its rule and tier.
    pub found: Vec<String>,
}

/// Returns all failing examples of `catalog`, for the rules whose ID `wanted` selects.
#[must_use]
pub fn example_failures(catalog: &Catalog, wanted: &dyn Fn(&str) -> bool) -> Vec<Failure> {
    // Examples do not depend on what a person disabled or trusts.
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

/// Judges `command` by all rules in the assumed system. Returns its tier, and the rules of the findings with at least
/// the tier `least` that were not lowered.
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

/// Tests an example of an entry for a tool. Only the call itself is judged, because other rules judge the content of
/// its input.
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

/// Returns the IDs of all rules and entries for tools.
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
