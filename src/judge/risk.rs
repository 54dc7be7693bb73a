//! Tier, weight, score and reversibility, and how they join. Only upward: adding a finding or a
//! context never lowers a risk.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::syntax::tree::Span;
pub use super::tier::{Reversibility, Tier, Weight};

/// One rule matched against one act.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub rule: String,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    pub reason: String,
    pub instead: Option<String>,
    /// In the command as given.
    pub span: Span,
    /// What it falls on: the operands that made it match, as text.
    pub touches: Vec<String>,
    pub deny: bool,
    /// The rule lets a reviewer settle it.
    pub yolo: bool,
    /// The rule says that it can be undone, whatever is known of the program.
    pub reversible: bool,
    /// How many different approvers sign a yes; 1: as the policy has it.
    pub approvals: u8,
    pub notes: Vec<super::rules::model::SessionNote>,
    /// Why it counts for less than the rule says, when a lowering fact of docs/risk.md holds.
    pub lowered: Option<String>,
    /// The act, as an index into the facts.
    pub act: Option<usize>,
}

impl Finding {
    /// A finding that weighs what its tier does, and of which nothing else is known.
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

    /// Why it counts as it does, as a sentence: what lowered it, else the reason of the rule.
    #[must_use]
    pub fn sentence(&self) -> Cow<'_, str> {
        let Some(lowered) = &self.lowered else { return Cow::Borrowed(&self.reason) };
        let mut letters = lowered.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).chain(['.']).collect()
    }

    /// Whether a person decides it every time, whatever was allowed before (docs/risk.md, decision).
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
    /// What it was recognised by.
    pub detail: Option<String>,
}

/// The circumstances of docs/risk.md: context, and behaviour in the session.
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
    /// Whether it is about what the session did before, or does to others.
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

/// The join of everything found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Risk {
    pub tier: Tier,
    pub score: Weight,
    pub reversibility: Reversibility,
    pub findings: Vec<Finding>,
    pub context: Vec<Circumstance>,
}

/// The rules for the words that guard's own doctor says, which no program is called.
pub const TRIAL: &str = "guard.canary";

impl Risk {
    /// Whether nothing was found but what guard's own doctor says to try guard.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(|finding| finding.rule.starts_with(TRIAL))
    }

    /// Whether a person decides it every time, whatever was allowed before (docs/risk.md, decision).
    #[must_use]
    pub fn is_decision(&self) -> bool {
        self.findings.iter().any(Finding::is_decision)
    }

    /// Joins what was found: the highest tier, the sum of the highest weight and the circumstances, the least
    /// reversible. `base` is the tier of a plain run of the programs in it.
    #[must_use]
    pub fn join(base: Tier, findings: Vec<Finding>, context: Vec<Circumstance>) -> Self {
        let tier = findings.iter().map(|finding| finding.tier).fold(base, Tier::max);
        let weight = findings.iter().map(|finding| finding.weight).fold(Weight::of_tier(base), Weight::max);
        let plain = if tier == Tier::Safe { Reversibility::ReadOnly } else { Reversibility::Soft };
        let reversibility = findings.iter().map(|finding| finding.reversibility).fold(plain, Reversibility::max);
        Self { tier, score: weight, reversibility, findings, context: Vec::new() }.within(context)
    }

    /// The same risk under more circumstances. Only the trusted directory's takes away, never below zero and never from
    /// tier 3 and 4; a change of production is at least tier 2.
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
