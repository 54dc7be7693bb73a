//! Findings and circumstances of a command, redacted, as JSON in a row of the record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::judge::risk::{Circumstance, CircumstanceFact, Finding, Reversibility, Risk, Tier, Weight};
use crate::judge::rules::model::SessionNote;
use crate::judge::sort;
use crate::judge::syntax::tree::Span;
use crate::store::redact::redact;

/// The maximum number of findings in a row, and of operands of each.
pub(super) const MAX_FINDINGS: usize = 64;

/// A finding in a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingEntry {
    pub rule: String,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The span in the original command, not in the redacted command.
    pub span: [u32; 2],
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// The number of further operands that are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_touches: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deny: bool,
    /// The number of different approvers that the rule requires.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub approvals: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SessionNote>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered: Option<String>,
}

/// A circumstance in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextEntry {
    pub fact: CircumstanceFact,
    pub weight: Weight,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl From<FindingEntry> for Finding {
    fn from(entry: FindingEntry) -> Self {
        let [start, end] = entry.span;
        Self {
            rule: entry.rule,
            tier: entry.tier,
            weight: entry.weight,
            reversibility: entry.reversibility,
            reason: entry.reason,
            instead: entry.instead,
            span: Span { start, end },
            touches: entry.touches,
            deny: entry.deny,
            yolo: false,
            reversible: false,
            approvals: entry.approvals,
            notes: entry.notes,
            lowered: entry.lowered,
            act: None,
        }
    }
}

impl From<ContextEntry> for Circumstance {
    fn from(entry: ContextEntry) -> Self {
        Self { fact: entry.fact, weight: entry.weight, detail: entry.detail }
    }
}

const fn one() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(number: &u8) -> bool {
    *number == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The rules for the test commands of `guard doctor`.
pub(in crate::store) const CANARY: &str = crate::judge::risk::TRIAL;

/// Reports whether the only findings are those of the test commands of `guard doctor`. No answer to such a command
/// counts as a person's.
#[must_use]
pub fn is_probe(findings: &[FindingEntry]) -> bool {
    let says = |finding: &FindingEntry| finding.rule.starts_with(CANARY);
    !findings.is_empty() && findings.iter().all(says)
}

/// Returns the findings of a risk for a row.
#[must_use]
pub fn findings(risk: &Risk) -> Vec<FindingEntry> {
    // The most severe are first, so that a truncated list loses the least.
    let mut findings: Vec<&Finding> = risk.findings.iter().collect();
    sort::sort_by_key(&mut findings, |finding| std::cmp::Reverse(finding.tier));
    findings.into_iter().take(MAX_FINDINGS).map(entry).collect()
}

fn entry(finding: &Finding) -> FindingEntry {
    FindingEntry {
        rule: finding.rule.clone(),
        tier: finding.tier,
        weight: finding.weight,
        reversibility: finding.reversibility,
        reason: finding.reason.clone(),
        instead: finding.instead.clone(),
        span: [finding.span.start, finding.span.end],
        touches: finding.touches.iter().take(MAX_FINDINGS).map(|touched| redact(touched).0).collect(),
        more_touches: finding.touches.len().saturating_sub(MAX_FINDINGS),
        deny: finding.deny,
        approvals: finding.approvals,
        notes: finding.notes.clone(),
        lowered: finding.lowered.clone(),
    }
}

/// Returns the circumstances of a risk for a row.
#[must_use]
pub fn context(risk: &Risk) -> Vec<ContextEntry> {
    risk.context
        .iter()
        .map(|circumstance| ContextEntry {
            fact: circumstance.fact,
            weight: circumstance.weight,
            detail: circumstance.detail.as_deref().map(|detail| redact(detail).0),
        })
        .collect()
}

/// Returns a list as JSON; `None` if it is empty.
pub(super) fn json<T: Serialize>(list: Vec<T>) -> Option<Cow<'static, str>> {
    if list.is_empty() {
        return None;
    }
    // These types have only text keys, so this cannot fail; if it did, the row would contain an empty list.
    Some(serde_json::to_string(&list).map_or(Cow::Borrowed("[]"), Cow::Owned))
}
