//! The verdict as a JSON object. Later versions may add fields; the meaning of these does not change.

use serde::Serialize;

use crate::judge::Judgment;
use crate::judge::invocation::Origin;
use crate::judge::policy::{Decision, Policy, Refusal};
use crate::judge::review::{Role, role};
use crate::judge::risk::{CircumstanceFact, Finding, Reversibility, Tier, Weight};

/// The verdict on a command.
#[derive(Debug, Serialize)]
pub struct VerdictView<'a> {
    pub command: &'a str,
    pub tier: Tier,
    pub score: Weight,
    pub origin: Origin,
    pub threshold: Weight,
    pub reversibility: Reversibility,
    /// `allow`, `ask` or `deny`.
    pub decision: &'static str,
    /// The reason of an approval, or the kind of a denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<&'static str>,
    /// The number of required approvers, if it is more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<u8>,
    /// The role of the reviewer: `settles` or `advises`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<&'static str>,
    pub findings: Vec<FindingView<'a>>,
    pub context: Vec<CircumstanceView<'a>>,
}

/// A finding in a verdict.
#[derive(Debug, Serialize)]
pub struct FindingView<'a> {
    pub rule: &'a str,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    pub reason: &'a str,
    pub instead: Option<&'a str>,
    /// The positions of the first byte, and after the last byte, in `command`.
    pub span: [u32; 2],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub touches: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowered: Option<&'a str>,
}

/// A circumstance in a verdict.
#[derive(Debug, Serialize)]
pub struct CircumstanceView<'a> {
    pub fact: CircumstanceFact,
    pub weight: Weight,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'a str>,
}

impl<'a> VerdictView<'a> {
    /// Creates the verdict on `command` under this policy.
    #[must_use]
    pub fn new(command: &'a str, origin: Origin, policy: &Policy, judgment: &'a Judgment, decision: &Decision) -> Self {
        let risk = &judgment.risk;
        Self {
            command,
            tier: risk.tier,
            score: risk.score,
            origin,
            threshold: policy.thresholds.of(origin),
            reversibility: risk.reversibility,
            decision: decision.name(),
            settled_by: match decision {
                Decision::Run(cleared) => Some(cleared.basis().name()),
                Decision::Ask(_) => None,
                Decision::Refuse(refusal) => Some(Refusal::kind(refusal)),
            },
            approvals: match decision {
                Decision::Ask(prompt) => Some(prompt.approvals).filter(|approvals| *approvals > 1),
                Decision::Run(_) | Decision::Refuse(_) => None,
            },
            reviewer: match (decision, role(judgment, policy)) {
                (Decision::Ask(_), Role::Settles { .. }) => Some("settles"),
                (Decision::Ask(_), Role::Advises) => Some("advises"),
                _ => None,
            },
            findings: risk.findings.iter().map(FindingView::new).collect(),
            context: risk
                .context
                .iter()
                .map(|circumstance| CircumstanceView {
                    fact: circumstance.fact,
                    weight: circumstance.weight,
                    detail: circumstance.detail.as_deref(),
                })
                .collect(),
        }
    }
}

impl<'a> FindingView<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            rule: &finding.rule,
            tier: finding.tier,
            weight: finding.weight,
            reversibility: finding.reversibility,
            reason: &finding.reason,
            instead: finding.instead.as_deref(),
            span: [finding.span.start, finding.span.end],
            touches: &finding.touches,
            lowered: finding.lowered.as_deref(),
        }
    }
}
