//! The reasons of a request, which its card shows beside the command: the findings and the parts of the command that
//! they refer to, the circumstances, and the evidence.
//!
//! They are redacted and truncated when the request is filed, for approvers in other processes. Out of scope: data on
//! which the validity of an answer depends.

use serde::{Deserialize, Serialize};

use super::super::redact::redact;
use crate::judge::risk::{Circumstance, CircumstanceFact, Finding, Reversibility, Risk, Tier, Weight};

/// The maximum number of findings, most severe first, and of spans of each.
const MOST: usize = 24;

/// The maximum numbers of operands of a finding, and of sentences of evidence.
const MOST_TOUCHED: usize = 6;
const MOST_EVIDENCE: usize = 16;

/// The maximum number of characters of each text.
const LONGEST: usize = 300;

/// The reasons of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasons {
    pub reversibility: Reversibility,
    /// The findings, most severe first. Findings of the same rule with the same reason are merged.
    pub findings: Vec<Reason>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ReasonContext>,
    /// The evidence about the operands, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// A finding, for the card of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub rule: String,
    pub tier: Tier,
    pub weight: Weight,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// The operands that it concerns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
    /// The reason why its weight is lower than that of its rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered: Option<String>,
    /// The spans in the displayed command: the first byte, and the byte after the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<(u32, u32)>,
}

/// A circumstance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonContext {
    pub fact: CircumstanceFact,
    pub weight: Weight,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Returns a redacted text, truncated to the length for which a card has room.
fn text(text: &str) -> String {
    let text = redact(text).0;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// Returns the span in the redacted command that corresponds to a span in the original one; `None` if it cannot be
/// determined, because secrets are inside it or on both sides of it.
fn moved(span: (u32, u32), given: &str, shown: &str) -> Option<(u32, u32)> {
    let (from, until) = (usize::try_from(span.0).ok()?, usize::try_from(span.1).ok()?);
    let part = given.get(from..until).filter(|part| !part.is_empty())?;
    if shown.get(..until) == given.get(..until) {
        return Some(span);
    }
    let behind = given.len() - until;
    let until = shown.len().checked_sub(behind)?;
    let from = until.checked_sub(part.len())?;
    let same = shown.get(from..) == given.get(given.len() - behind - part.len()..);
    same.then_some((u32::try_from(from).ok()?, u32::try_from(until).ok()?))
}

impl Reasons {
    /// Removes the parts that may contain hidden input of a tool.
    pub(super) fn without_input(mut self) -> Self {
        self.evidence.clear();
        self.findings.iter_mut().for_each(|one| (one.touches, one.lowered) = (Vec::new(), None));
        self.context.iter_mut().for_each(|one| one.detail = None);
        self
    }

    /// Collects the reasons for a command, given in its original and its displayed form.
    pub(super) fn of(risk: &Risk, evidence: &[String], (given, shown): (&str, &str)) -> Self {
        let mut sorted: Vec<&Finding> = risk.findings.iter().collect();
        sorted.sort_by_key(|finding| (std::cmp::Reverse((finding.tier, finding.weight)), finding.span.start));
        let mut findings: Vec<Reason> = Vec::new();
        for finding in sorted {
            let span = moved((finding.span.start, finding.span.end), given, shown);
            let touches = finding.touches.iter().map(|touched| text(touched));
            let reason = text(&finding.reason);
            let known = findings.iter().position(|one| one.rule == finding.rule && one.reason == reason);
            if known.is_none() && findings.len() == MOST {
                continue;
            }
            let at = known.unwrap_or(findings.len());
            if known.is_none() {
                findings.push(Reason {
                    rule: finding.rule.clone(),
                    tier: finding.tier,
                    weight: finding.weight,
                    reason,
                    instead: finding.instead.as_deref().map(text),
                    touches: Vec::new(),
                    lowered: finding.lowered.as_deref().map(text),
                    spans: Vec::new(),
                });
            }
            let Some(ground) = findings.get_mut(at) else { continue };
            for touched in touches {
                if ground.touches.len() < MOST_TOUCHED && !ground.touches.contains(&touched) {
                    ground.touches.push(touched);
                }
            }
            if let Some(span) = span.filter(|span| ground.spans.len() < MOST && !ground.spans.contains(span)) {
                ground.spans.push(span);
            }
        }
        let context = |one: &Circumstance| ReasonContext {
            fact: one.fact,
            weight: one.weight,
            detail: one.detail.as_deref().map(text),
        };
        Self {
            reversibility: risk.reversibility,
            findings,
            context: risk.context.iter().map(context).collect(),
            evidence: evidence.iter().take(MOST_EVIDENCE).map(|sentence| text(sentence)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::syntax::tree::Span;

    fn finding(rule: &str, tier: Tier, span: (u32, u32), touches: &[&str]) -> Finding {
        let touches = touches.iter().map(|&touched| touched.to_owned()).collect();
        let span = Span { start: span.0, end: span.1 };
        Finding { touches, ..Finding::plain(rule, tier, Reversibility::Hard, "Because.", span) }
    }

    #[test]
    fn what_was_found_is_kept_worst_first_with_its_parts() {
        let command = "a x; b y; a z";
        let findings = vec![
            finding("a.rule", Tier::Medium, (0, 3), &["x"]),
            finding("b.rule", Tier::High, (5, 8), &["y"]),
            finding("a.rule", Tier::Medium, (10, 13), &["z", "x"]),
        ];
        let risk = Risk { tier: Tier::High, findings, ..Risk::default() };
        let evidence = vec!["y has PGPASSWORD=hush in it".to_owned()];
        let reasons = Reasons::of(&risk, &evidence, (command, command));
        let rules: Vec<&str> = reasons.findings.iter().map(|one| one.rule.as_str()).collect();
        assert_eq!(rules, ["b.rule", "a.rule"]);
        assert_eq!(reasons.findings[1].spans, [(0, 3), (10, 13)]);
        assert_eq!(reasons.findings[1].touches, ["x", "z"]);
        assert_eq!(reasons.evidence, ["y has PGPASSWORD=*** in it"]);
        let bare = reasons.clone().without_input();
        assert!(bare.evidence.is_empty() && bare.findings.iter().all(|one| one.touches.is_empty()));
        let written = serde_json::to_string(&reasons).unwrap();
        assert_eq!(serde_json::from_str::<Reasons>(&written).unwrap(), reasons);
    }

    #[test]
    fn what_is_kept_of_one_rule_is_bounded() {
        let touches = ["a", "b", "c", "d", "e", "f", "g", "a"];
        let mut findings = vec![finding("a.rule", Tier::High, (0, 1), &touches)];
        findings.extend((0..30).map(|at| finding("a.rule", Tier::High, (at, at + 1), &["z"])));
        let command = "x".repeat(40);
        let risk = Risk { tier: Tier::High, findings, ..Risk::default() };
        let reasons = Reasons::of(&risk, &[], (&command, &command));
        assert_eq!(reasons.findings.len(), 1);
        assert_eq!(reasons.findings[0].touches, touches[..MOST_TOUCHED]);
        assert_eq!(reasons.findings[0].spans, (0..24).map(|at| (at, at + 1)).collect::<Vec<_>>());
    }

    #[test]
    fn a_part_is_found_again_beside_a_secret_and_not_around_one() {
        let (given, shown) = ("mysql -phush db; drop it", "mysql -p*** db; drop it");
        assert_eq!(moved((0, 5), given, shown), Some((0, 5)));
        assert_eq!(moved((17, 24), given, shown), Some((16, 23)));
        assert_eq!(&shown[16..23], "drop it");
        assert_eq!(moved((17, 21), given, shown), Some((16, 20)));
        assert_eq!(moved((0, 15), given, shown), None);
        for odd in [(3, 3), (5, 400), (9, 4), (400, 500)] {
            assert_eq!(moved(odd, given, shown), None, "{odd:?}");
        }
        assert_eq!(moved((1, 2), "ä", "ä"), None, "in the middle of a letter");
    }
}
