//! The effect of a session's earlier commands on the risk of a command (docs/risk.md, behaviour).
//!
//! Out of scope: reading the record. The caller passes the [`SessionState`].

use std::collections::BTreeSet;
use std::path::Path;

use super::analysis::place::Place;
use super::policy::{DeniedCommand, Policy, SessionState};
use super::risk::{Circumstance, CircumstanceFact as Fact, Finding, Risk, Tier};
use super::rules::model::SessionNote;

/// Reports whether the risk of a command depends on the state of the session. That of harmless commands does not.
#[must_use]
pub fn concerns(risk: &Risk) -> bool {
    risk.tier >= Tier::Medium || risk.findings.iter().any(|finding| !finding.notes.is_empty())
}

/// Returns the risk of a command in a session with this state. `cwd` is the working directory of the command.
#[must_use]
pub fn weigh(risk: Risk, standing: &SessionState, policy: &Policy, cwd: &Path) -> Risk {
    let noted = |note: SessionNote| risk.findings.iter().any(|finding| finding.notes.contains(&note));
    let mut all = Vec::new();
    let mut add = |fact, times: u32, detail: Option<String>| {
        if let Some(weight) = policy.weights.get(&fact) {
            let times = i32::try_from(times).unwrap_or(i32::MAX);
            all.push(Circumstance { fact, weight: super::risk::Weight(weight.0.saturating_mul(times)), detail });
        }
    };
    if standing.secrets_read && concerns(&risk) {
        add(Fact::SecretsRead, 1, None);
    }
    if standing.secrets_read && noted(SessionNote::Egress) {
        add(Fact::EgressAfterSecrets, 1, None);
    }
    if noted(SessionNote::OtherAgent) {
        add(Fact::OtherAgent, 1, None);
    }
    if noted(SessionNote::OwnInstructions) {
        add(Fact::OwnInstructions, 1, None);
    }
    if noted(SessionNote::People) {
        add(Fact::OtherPeople, 1, None);
    }
    let cwd = cwd.to_string_lossy();
    let findings = || risk.findings.iter().filter(|finding| finding.tier >= Tier::Medium);
    let denied = findings()
        .filter(|finding| {
            standing.denied.iter().any(|denied| denied.findings.iter().any(|(rule, _)| *rule == finding.rule))
        })
        .map(|finding| (finding, standing.denied.iter().filter(|denied| is_same(denied, finding, &cwd)).count()))
        .max_by_key(|(_, times)| *times);
    // The weight is for a request for the same; after a denial of the same act on other targets, people decide.
    if let Some((finding, times)) = denied {
        add(Fact::AskedAgain, u32::try_from(times).unwrap_or(u32::MAX), Some(finding.rule.clone()));
    }
    risk.within(all)
}

/// Reports whether a denied command did what this finding is about to the same targets, or to more or fewer of them,
/// however they are written.
fn is_same(denied: &DeniedCommand, finding: &Finding, cwd: &str) -> bool {
    let place = |dir: &str, text: &String| {
        let place = Place::at(Some(&Place::of(dir)), text);
        place.and_then(|place| place.text().map(str::to_owned)).unwrap_or_else(|| text.clone())
    };
    let all = |dir: &str, texts: &[String]| texts.iter().map(|text| place(dir, text)).collect::<BTreeSet<_>>();
    let now = all(cwd, &finding.touches);
    denied.findings.iter().filter(|(rule, _)| *rule == finding.rule).any(|(_, touches)| {
        let before = all(&denied.cwd, touches);
        before.is_subset(&now) || now.is_subset(&before)
    })
}

#[cfg(test)]
mod tests;
