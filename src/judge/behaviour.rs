//! The effect of a session's earlier commands on the risk of a command (docs/risk.md, behaviour).
//!
//! Out of scope: reading the record. The caller passes the [`SessionState`].

use super::policy::{Policy, SessionState};
use super::risk::{Circumstance, CircumstanceFact as Fact, Risk, Tier};
use super::rules::model::SessionNote;

/// Reports whether the risk of a command depends on the state of the session. That of harmless commands does not.
#[must_use]
pub fn concerns(risk: &Risk) -> bool {
    risk.tier >= Tier::Medium || risk.findings.iter().any(|finding| !finding.notes.is_empty())
}

/// Returns the risk of a command in a session with this state.
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
