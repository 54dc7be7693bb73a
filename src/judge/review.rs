//! The role of the reviewer: the decisions that the opinion of another model can make, and those that it can never
//! make.
//!
//! A model can be talked into anything. Its answer is therefore one value among others, and the decision is a pure
//! function of the judgment, the policy and that value. Whatever the value is, it cannot approve anything of tier 4,
//! anything irreversible or of tier 3 unless a rule with `yolo` allows it, or any other command than the one that the
//! reviewer was asked about.
//!
//! Out of scope: the request to the reviewer, and the text that it gets.

use serde::{Deserialize, Serialize};

use super::Judgment;
use super::analysis::act::{Facts, Verb};
use super::invocation::{Digest, Invocation};
use super::policy::{ApprovalReason, Clearance, Mode, Policy, Refusal, must_ask};
use super::risk::{CircumstanceFact, Finding, Reversibility, Risk, Tier, Weight};
use super::rules::catalog::Catalog;
use super::tools;

/// The score from which a person has to decide, at any tier.
const A_PERSONS: Weight = Weight(300);

/// The weight that circumstances must not reach if a rule lends the reviewer its permission at tier 3.
const LENT: Weight = Weight(100);

/// The number of characters of a digest that an opinion must quote.
pub const QUOTED: usize = 8;

/// The maximum length of the stored reason, in characters.
const MAX_REASON: usize = 300;

/// The opinion of a reviewer about one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    pub says: OpinionVerdict,
    /// The reason in the reviewer's own words; without an opinion, the cause of that.
    pub reason: String,
    /// The model or program.
    pub by: String,
    /// The first characters of the digest of the command, as the reviewer quoted them.
    pub about: String,
    /// The version of the review policy that the reviewer was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// The response time in milliseconds.
    #[serde(default)]
    pub ms: u64,
    /// The number of tokens, input and output.
    #[serde(default)]
    pub tokens: u64,
    /// The cost in millionths.
    #[serde(default)]
    pub cost: u64,
    /// Whether it is an earlier opinion that is reused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The rules whose `yolo` makes it count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yolo: Vec<String>,
}

/// The verdict of an opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum OpinionVerdict {
    Approve,
    Deny,
    Escalate,
    /// No opinion: an error, a refusal, a timeout, or an invalid answer.
    Nothing,
}

impl OpinionVerdict {
    /// Returns the name in the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::Deny => "DENY",
            Self::Escalate => "ESCALATE",
            Self::Nothing => "NOTHING",
        }
    }
}

impl Opinion {
    /// Creates the opinion for a reviewer that gave none, with the cause.
    #[must_use]
    pub fn nothing(by: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            says: OpinionVerdict::Nothing,
            reason: why.into(),
            by: by.into(),
            about: String::new(),
            policy: String::new(),
            ms: 0,
            tokens: 0,
            cost: 0,
            again: false,
            yolo: Vec::new(),
        }
    }

    /// Shortens the reason so that it fits on one line of a card.
    #[must_use]
    pub fn tidied(mut self) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let short: String = self.reason.chars().map(plain).take(MAX_REASON).collect();
        self.reason = short.trim().to_owned();
        self
    }

    /// Reports whether the opinion is about this command.
    #[must_use]
    pub fn is_about(&self, digest: &Digest) -> bool {
        self.about.len() == QUOTED && digest.to_string().get(..QUOTED) == Some(self.about.as_str())
    }
}

/// The role of a reviewer for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The reviewer may decide. `with` lists the rules that give it this permission, if it needs one.
    Settles { with: Vec<String> },
    /// A person decides and sees the opinion.
    Advises,
    /// The reviewer is not asked.
    Absent,
}

/// The outcome of an opinion.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Run(Clearance),
    Refuse(Refusal),
    /// A person must decide.
    Ask,
}

/// Returns the role of a reviewer for this command under this policy.
///
/// The reviewer never decides at tier 4, if several approvers are required, or if a person has to decide every time: it
/// does not even see such a command. It may decide about commands up to tier 2 with a score below 3.0 if nothing is
/// irreversible, nothing affects production and nothing was just denied. A rule with `yolo` lifts the limits on tier
/// (up to 3), score and reversibility for its own findings.
#[must_use]
pub fn role(judgment: &Judgment, policy: &Policy) -> Role {
    let risk = &judgment.risk;
    let is_others = risk.tier == Tier::Critical || policy.approvals.wanted(risk) > 1 || risk.is_decision();
    // The test commands of `guard doctor` must not cost a call of a model.
    let is_others = is_others || risk.is_probe();
    if policy.mode != Mode::Smart || is_others {
        return Role::Absent;
    }
    let asked_again = risk.context.iter().any(|circumstance| circumstance.fact == CircumstanceFact::AskedAgain);
    if must_ask(risk) || asked_again || risk.findings.iter().any(|finding| finding.deny) {
        return Role::Advises;
    }
    let sent = || risk.findings.iter().filter(|finding| policy.names_for_review(&finding.rule)).map(rule_of).collect();
    let is_plain = risk.tier <= Tier::Medium && risk.score < A_PERSONS;
    if is_plain && risk.reversibility != Reversibility::Irreversible && !judgment.unread {
        let with = if risk.tier < Tier::Medium { sent() } else { reversible(risk) };
        return Role::Settles { with };
    }
    let lent = lending(risk);
    let stands_in_the_way = |finding: &&Finding| {
        finding.tier >= Tier::High || finding.reversibility == Reversibility::Irreversible || finding.tier == risk.tier
    };
    let all_lend = risk.findings.iter().filter(stands_in_the_way).all(|finding| finding.yolo);
    let added = Weight(risk.score.0.saturating_sub(heaviest(risk).0));
    if !lent.is_empty() && all_lend && added < LENT && !judgment.unread {
        return Role::Settles { with: lent };
    }
    Role::Advises
}

/// Returns the outcome of an opinion about this command. A person must decide unless the opinion is unambiguous and
/// about exactly this command.
#[must_use]
pub fn gate(invocation: &Invocation, judgment: &Judgment, policy: &Policy, opinion: &Opinion) -> Outcome {
    let Role::Settles { with } = role(judgment, policy) else { return Outcome::Ask };
    if !opinion.is_about(&invocation.digest(&judgment.facts.expanded)) {
        return Outcome::Ask;
    }
    match opinion.says {
        OpinionVerdict::Approve => {
            Outcome::Run(Clearance { basis: ApprovalReason::Reviewer { by: opinion.by.clone(), with } })
        }
        OpinionVerdict::Deny => {
            Outcome::Refuse(Refusal::Reviewer { by: opinion.by.clone(), reason: opinion.reason.clone() })
        }
        OpinionVerdict::Escalate | OpinionVerdict::Nothing => Outcome::Ask,
    }
}

/// Combines several opinions into one: all must approve, one denial is a denial, and if one opinion is missing, the
/// result is none.
#[must_use]
pub fn jury(opinions: Vec<Opinion>) -> Opinion {
    let worst = |says: OpinionVerdict| opinions.iter().find(|opinion| opinion.says == says).cloned();
    let deciding = worst(OpinionVerdict::Deny)
        .or_else(|| worst(OpinionVerdict::Nothing))
        .or_else(|| worst(OpinionVerdict::Escalate));
    let same = |opinion: &Opinion| opinions.first().is_some_and(|first| first.about == opinion.about);
    let Some(mut one) = deciding.or_else(|| opinions.first().cloned()) else {
        return Opinion::nothing("reviewer", "nobody was asked");
    };
    if !opinions.iter().all(same) && one.says == OpinionVerdict::Approve {
        one = Opinion::nothing(one.by, "the reviewers' answers are about different commands");
    }
    let names: Vec<&str> = opinions.iter().map(|opinion| opinion.by.as_str()).collect();
    one.by = if one.says == OpinionVerdict::Approve { names.join(" and ") } else { one.by };
    one.ms = opinions.iter().map(|opinion| opinion.ms).max().unwrap_or_default();
    one.tokens = opinions.iter().map(|opinion| opinion.tokens).sum();
    one.cost = opinions.iter().map(|opinion| opinion.cost).sum();
    one
}

/// Reports whether a program, script or tool of unknown effect runs that no rule calls reversible.
#[must_use]
pub fn has_unread(facts: &Facts, risk: &Risk, catalog: &Catalog) -> bool {
    // A tool that no entry describes, or an input that was not examined completely.
    let is_guess = |finding: &Finding| [tools::GUESS, tools::DEPTH].contains(&finding.rule.as_str());
    if !facts.opaque.is_empty() || risk.findings.iter().any(is_guess) {
        return true;
    }
    // A finding from the entry of a tool is not bound to an act: it applies to everything in the input.
    let is_of_tool = |finding: &Finding| finding.act.is_none() && catalog.rule(&finding.rule).is_none();
    let called_reversible = |act: usize| {
        let speaks = |finding: &&Finding| finding.act == Some(act) || is_of_tool(finding);
        risk.findings.iter().filter(speaks).any(|finding| finding.reversible)
    };
    facts.acts.iter().enumerate().any(|(number, act)| match &act.verb {
        // Calls in code of another language are covered by their rules.
        Verb::Program { name, .. } if act.parent.is_none() && !name.contains(':') => {
            catalog.program(name).is_none() && !act.read && !called_reversible(number)
        }
        Verb::Program { .. } | Verb::Effect(_) => false,
    })
}

/// Returns the rules that call the effect of an unknown program reversible. They give the reviewer its permission.
fn reversible(risk: &Risk) -> Vec<String> {
    risk.findings.iter().filter(|finding| finding.reversible).map(rule_of).collect()
}

fn lending(risk: &Risk) -> Vec<String> {
    risk.findings.iter().filter(|finding| finding.yolo).map(rule_of).collect()
}

fn rule_of(finding: &Finding) -> String {
    finding.rule.clone()
}

fn heaviest(risk: &Risk) -> Weight {
    risk.findings.iter().map(|finding| finding.weight).fold(Weight::of_tier(risk.tier), Weight::max)
}

#[cfg(test)]
mod tests;
