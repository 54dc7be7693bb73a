//! What earlier commands of a session add to the risk of this one (docs/risk.md, behaviour).
//!
//! Out of scope: the record. What is remembered comes as a [`SessionState`].

use super::policy::{Policy, SessionState};
use super::risk::{Circumstance, CircumstanceFact as Fact, Risk, Tier};
use super::rules::model::SessionNote;

/// Whether a risk needs to know the session's standing at all. Plain work does not.
#[must_use]
pub fn concerns(risk: &Risk) -> bool {
    risk.tier >= Tier::Medium || risk.findings.iter().any(|finding| !finding.notes.is_empty())
}

/// The risk as it is in a session of this standing.
#[must_use]
pub fn weigh(risk: Risk, standing: &SessionState, policy: &Policy) -> Risk {
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
    let denied = risk
        .findings
        .iter()
        .filter(|finding| finding.tier >= Tier::Medium)
        .filter_map(|finding| standing.denied_rules.get_key_value(&finding.rule))
        .max_by_key(|(_, times)| **times);
    if let Some((rule, times)) = denied {
        add(Fact::AskedAgain, *times, Some(rule.clone()));
    }
    risk.within(all)
}

#[cfg(test)]
mod tests;
