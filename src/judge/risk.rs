//! Tier, weight, score and reversibility, and how they are combined. Adding a finding or a circumstance never lowers a
//! risk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::syntax::tree::Span;
pub use super::tier::{Reversibility, Tier, Weight};

/// A match of a rule with an act.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub rule: String,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    pub reason: String,
    pub instead: Option<String>,
    /// The position in the command as it was given.
    pub span: Span,
    /// The operands because of which the rule matches, as text.
    pub touches: Vec<String>,
    pub deny: bool,
    /// Whether the rule allows a reviewer to decide.
    pub yolo: bool,
    /// Whether the rule calls the act reversible, even if the effect of the program is unknown.
    pub reversible: bool,
    /// The number of approvers who must sign an approval; 1: the number in the policy.
    pub approvals: u8,
    pub notes: Vec<super::rules::model::SessionNote>,
    /// The reason why the finding has a lower tier than the rule, if a fact of docs/risk.md lowers it.
    pub lowered: Option<String>,
    /// The index of the act in the facts.
    pub act: Option<usize>,
}

impl Finding {
    /// Creates a finding with the weight of its tier, and default values for everything else.
    #[must_use]
    pub fn plain(rule: &str, tier: Tier, reversibility: Reversibility, reason: &str, span: Span) -> Self {
        Self {
            rule: rule.to_owned(),
            tier,
            weight: Weight::of_tier(tier),
            reversibility,
            reason: reason.to_owned(),
            instead: None,
            span,
            touches: Vec::new(),
            deny: false,
            yolo: false,
            reversible: false,
            approvals: 1,
            notes: Vec::new(),
            lowered: None,
            act: None,
        }
    }

    /// Returns a sentence that explains its tier: the fact that lowered it, or the reason of the rule.
    #[must_use]
    pub fn sentence(&self) -> Cow<'_, str> {
        let Some(lowered) = &self.lowered else { return Cow::Borrowed(&self.reason) };
        let mut letters = lowered.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).chain(['.']).collect()
    }

    /// Reports whether a person has to decide every time, under every grant and mode (docs/risk.md, decision).
    #[must_use]
    pub fn is_decision(&self) -> bool {
        self.notes.contains(&super::rules::model::SessionNote::Decision)
    }
}

/// A circumstance that changes the score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstance {
    pub fact: CircumstanceFact,
    pub weight: Weight,
    /// The part of the command or session from which it was recognised.
    pub detail: Option<String>,
}

/// The circumstances of docs/risk.md: the context, and the behaviour of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CircumstanceFact {
    Production,
    Root,
    Ssh,
    OutsideProject,
    ProtectedBranch,
    Disguise,
    TrustedDirectory,
    SecretsRead,
    EgressAfterSecrets,
    OtherAgent,
    OwnInstructions,
    OtherPeople,
    AskedAgain,
}

impl CircumstanceFact {
    /// Reports whether it belongs to the behaviour of the session.
    #[must_use]
    pub const fn is_conduct(self) -> bool {
        matches!(
            self,
            Self::SecretsRead
                | Self::EgressAfterSecrets
                | Self::OtherAgent
                | Self::OwnInstructions
                | Self::OtherPeople
                | Self::AskedAgain
        )
    }
}

/// The combination of all findings and circumstances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Risk {
    pub tier: Tier,
    pub score: Weight,
    pub reversibility: Reversibility,
    pub findings: Vec<Finding>,
    pub context: Vec<Circumstance>,
}

/// The rules for the test commands of `guard doctor`, which are not names of programs.
pub const TRIAL: &str = "guard.canary";

impl Risk {
    /// Reports whether the only findings are those of the test commands of `guard doctor`.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(|finding| finding.rule.starts_with(TRIAL))
    }

    /// Reports whether a person has to decide every time, under every grant and mode (docs/risk.md, decision).
    #[must_use]
    pub fn is_decision(&self) -> bool {
        self.findings.iter().any(Finding::is_decision)
    }

    /// Combines findings and circumstances: the highest tier, the sum of the highest weight and of the circumstances,
    /// and the reversibility of the least reversible finding. `base` is the tier of the programs without any finding.
    #[must_use]
    pub fn join(base: Tier, findings: Vec<Finding>, context: Vec<Circumstance>) -> Self {
        let tier = findings.iter().map(|finding| finding.tier).fold(base, Tier::max);
        let weight = findings.iter().map(|finding| finding.weight).fold(Weight::of_tier(base), Weight::max);
        let plain = if tier == Tier::Safe { Reversibility::ReadOnly } else { Reversibility::Soft };
        let reversibility = findings.iter().map(|finding| finding.reversibility).fold(plain, Reversibility::max);
        Self { tier, score: weight, reversibility, findings, context: Vec::new() }.within(context)
    }

    /// Returns the risk with more circumstances. Only a trusted directory lowers the score, never below zero and never
    /// at tiers 3 and 4. A change of production is at least tier 2.
    #[must_use]
    pub fn within(mut self, context: Vec<Circumstance>) -> Self {
        for circumstance in context {
            match circumstance.fact {
                CircumstanceFact::TrustedDirectory if self.tier > Tier::Medium => continue,
                CircumstanceFact::Production if self.tier == Tier::Low => {
                    self.tier = Tier::Medium;
                    self.score = self.score.max(Weight::of_tier(Tier::Medium));
                }
                _ => {}
            }
            self.score = Weight((self.score + circumstance.weight).0.max(0));
            self.context.push(circumstance);
        }
        self
    }
}

#[cfg(test)]
mod tests;
