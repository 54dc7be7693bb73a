//! The context of docs/risk.md: production, root, ssh, a path outside the project, a protected branch, obfuscation, a
//! trusted directory.
//!
//! Out of scope: which programs are dangerous (rules), and earlier commands of the session ([`super::behaviour`]).

use std::borrow::Cow;

use super::analysis::act::{Act, Facts, RemoteKind, Verb};
use super::analysis::inquiry::Inquiry;
use super::analysis::paths::PathClass;
use super::invocation::Invocation;
use super::policy::Policy;
use super::risk::{Circumstance, CircumstanceFact, Finding, Tier};
use super::rules::catalog::Catalog;
use super::rules::glob;
use super::rules::model::{Follow, Language, Program};

/// Returns the circumstances of the acts that change something. A command that only reads has none.
#[must_use]
pub fn circumstances(
    invocation: &Invocation,
    facts: &Facts,
    findings: &[Finding],
    catalog: &Catalog,
    policy: &Policy,
    inquiry: &Inquiry<'_>,
) -> Vec<Circumstance> {
    let raised = findings.iter().any(|finding| finding.tier >= Tier::Medium);
    let acting = |act: &&Act| act.tier >= Tier::Low || matches!(act.verb, Verb::Effect(_));
    let mut all = Vec::new();
    let mut add = |fact, detail: Option<String>| {
        if let Some(weight) = policy.weights.get(&fact) {
            all.push(Circumstance { fact, weight: *weight, detail });
        }
    };
    if let Some(name) = production(facts, policy) {
        add(CircumstanceFact::Production, Some(name));
    }
    if !facts.acts.iter().any(|act| acting(&act)) && !raised {
        return all;
    }
    // If the session itself runs as root, as in a container, root is a circumstance only of commands with a finding.
    let elevated = facts.acts.iter().filter(acting).any(|act| act.root);
    if if invocation.uid == 0 { raised } else { elevated } {
        add(CircumstanceFact::Root, None);
    }
    let ssh = |act: &&Act| act.remote.as_ref().is_some_and(|remote| remote.kind == RemoteKind::Ssh);
    if let Some(act) = facts.acts.iter().filter(acting).find(ssh) {
        add(CircumstanceFact::Ssh, act.remote.as_ref().and_then(|remote| remote.name.clone()));
    }
    let outside = outside(invocation, facts, catalog, inquiry);
    if outside.is_some() {
        add(CircumstanceFact::OutsideProject, outside);
    }
    // Code that may never run has no circumstances below tier 3.
    if facts.acts.iter().any(|act| act.disguise.is_some() && !act.staged) {
        add(CircumstanceFact::Disguise, None);
    }
    if raised {
        if let Some(branch) = protected_branch(invocation, facts, catalog, findings, policy, inquiry) {
            add(CircumstanceFact::ProtectedBranch, Some(branch));
        }
        let cwd = invocation.cwd.to_string_lossy();
        if policy.trusted_directories.iter().any(|directory| trusted(directory, &cwd)) {
            add(CircumstanceFact::TrustedDirectory, None);
        }
    }
    all
}

/// Reports whether a directory is the trusted one, or below it.
fn trusted(directory: &str, cwd: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    glob::text(directory, cwd) || glob::text(&format!("{directory}/*"), cwd)
}

/// Reports whether a database client gets statements, none of which changes anything.
fn only_asks(act: &Act, facts: &Facts) -> bool {
    let is_query = |language: &str| Language::of(language).is_some_and(Language::is_query);
    let Some(code) = act.code.as_ref().filter(|code| is_query(&code.language)) else { return false };
    let statement = |other: &Act| match &other.verb {
        Verb::Program { name, .. } => {
            other.tier >= Tier::Low
                && name.strip_prefix(&code.language).is_some_and(|statement| statement.starts_with(':'))
        }
        Verb::Effect(_) => other.tier >= Tier::Low,
    };
    !code.text.is_dynamic() && !facts.acts.iter().any(statement)
}

/// Reports whether a word in a name identifies production.
#[must_use]
pub fn names_production(text: &str, policy: &Policy) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| policy.production.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Returns the name by which an act that changes something targets production.
fn production(facts: &Facts, policy: &Policy) -> Option<String> {
    let names = |text: &str| names_production(text, policy);
    let changes = |act: &&Act| act.tier >= Tier::Low && !act.dry_run && act.parent.is_none() && !only_asks(act, facts);
    for act in facts.acts.iter().filter(changes) {
        let remote = act.remote.as_ref().and_then(|remote| remote.name.as_deref()).map(Cow::Borrowed);
        let targets = act.targets.iter().filter_map(|value| value.known());
        if let Some(name) = targets.chain(remote).find(|text| names(text)) {
            return Some(name.into_owned());
        }
    }
    None
}

/// Returns the protected branch that an act of git with a finding affects: an operand, or the current branch.
fn protected_branch(
    invocation: &Invocation,
    facts: &Facts,
    catalog: &Catalog,
    findings: &[Finding],
    policy: &Policy,
    inquiry: &Inquiry<'_>,
) -> Option<String> {
    let keeps_branches = |program: &Program| program.follows.contains(&Follow::Git);
    let protected = |name: &str| policy.protected_branches.iter().any(|glob| glob::text(glob, name));
    let acts = findings.iter().filter(|finding| finding.tier >= Tier::Medium).filter_map(|finding| finding.act);
    for act in acts.filter_map(|id| facts.acts.get(id)) {
        let act = act.parent.and_then(|id| facts.acts.get(id)).unwrap_or(act);
        if !catalog.program(act.verb.key()).is_some_and(keeps_branches) {
            continue;
        }
        for operand in &act.operands {
            let Some(text) = operand.value.known() else { continue };
            let branch = text.trim_start_matches('+').rsplit(':').next().unwrap_or_default();
            let branch = branch.trim_start_matches("refs/heads/");
            if protected(branch) {
                return Some(branch.to_owned());
            }
        }
        let moves_head = matches!(act.sub.first().map(String::as_str), Some("push" | "reset" | "rebase" | "commit"));
        let named = act.sub.first().is_some_and(|sub| sub == "push") && act.operands.len() > 1;
        if moves_head && !named {
            let dir = match &act.cwd {
                Some(dir) => dir.text().map(Cow::from),
                None => Some(invocation.cwd.to_string_lossy()),
            };
            let branch = dir.and_then(|dir| inquiry.repository(&dir)).and_then(|repository| repository.branch.clone());
            if let Some(branch) = branch.filter(|branch| protected(branch)) {
                return Some(branch);
            }
        }
    }
    None
}

/// Returns the first path outside the project that an act changes.
fn outside(invocation: &Invocation, facts: &Facts, catalog: &Catalog, inquiry: &Inquiry<'_>) -> Option<String> {
    let placer = inquiry.placer(invocation);
    facts
        .acts
        .iter()
        .filter(|act| {
            act.remote.is_none() && !act.staged && matches!(act.verb, Verb::Effect(effect) if effect.changes())
        })
        .flat_map(|act| act.operands.iter().map(move |operand| (act, operand)))
        .find(|(act, operand)| {
            let classes = placer.classes(&operand.value, act.cwd.as_ref(), catalog, inquiry);
            classes.has(PathClass::Outside) && !classes.has(PathClass::Sink)
        })
        .map(|(_, operand)| operand.value.pattern().unwrap_or_else(|| "a place that is not known".to_owned()))
}

#[cfg(test)]
mod tests;
