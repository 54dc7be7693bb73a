//! The reviewer's place: what another model's opinion may settle, and what it never does.
//!
//! The model is the part that can be talked into anything. What it says is therefore one value among others, and a pure
//! function of the judgment, the policy and that value says what happens: whatever the value is, nothing irreversible,
//! nothing of tier 3 and 4, and nothing but the command it was asked about runs on it.
//!
//! Out of scope: asking it, and text that it reads.

use serde::{Deserialize, Serialize};

use super::Judgment;
use super::analysis::act::{Facts, Verb};
use super::invocation::{Digest, Invocation};
use super::policy::{ApprovalReason, Clearance, Mode, Policy, Refusal, must_ask};
use super::risk::{CircumstanceFact, Finding, Reversibility, Risk, Tier, Weight};
use super::rules::catalog::Catalog;
use super::tools;

/// From here on a score is a person's, whatever the tier.
const A_PERSONS: Weight = Weight(300);

/// How much circumstances may add where a rule lends the reviewer its leave at tier 3.
const LENT: Weight = Weight(100);

/// How much of a digest an opinion must quote.
pub const QUOTED: usize = 8;

/// The longest reason that is kept, in characters.
const MAX_REASON: usize = 300;

/// What a reviewer says of one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    pub says: OpinionVerdict,
    /// Its reason, in its own words; where it says nothing, why that is.
    pub reason: String,
    /// Which model, or which program.
    pub by: String,
    /// The first characters of the digest of the command that it speaks of, as it quoted them.
    pub about: String,
    /// The version of what it was told to go by.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// Milliseconds until it was there.
    #[serde(default)]
    pub ms: u64,
    /// Tokens that it took, in and out.
    #[serde(default)]
    pub tokens: u64,
    /// What they cost, in millionths.
    #[serde(default)]
    pub cost: u64,
    /// It was given before, and is used again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// Rules whose `yolo` it counts by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yolo: Vec<String>,
}

/// The word of an opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum OpinionVerdict {
    Approve,
    Deny,
    Escalate,
    /// There is none: an error, a refusal, no answer in time, an answer that broke a rule of asking.
    Nothing,
}

impl OpinionVerdict {
    /// As in the record.
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
    /// That there is none, and why.
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

    /// With a reason that fits on a card, in one line.
    #[must_use]
    pub fn tidied(mut self) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let short: String = self.reason.chars().map(plain).take(MAX_REASON).collect();
        self.reason = short.trim().to_owned();
        self
    }

    /// Whether it speaks of this command.
    #[must_use]
    pub fn is_about(&self, digest: &Digest) -> bool {
        self.about.len() == QUOTED && digest.to_string().get(..QUOTED) == Some(self.about.as_str())
    }
}

/// What a reviewer may do with a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It may settle it. With these rules' leave, where it could not by itself.
    Settles { with: Vec<String> },
    /// A person settles it, and sees the opinion.
    Advises,
    /// It is not asked.
    Absent,
}

/// What comes of an opinion.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Run(Clearance),
    Refuse(Refusal),
    /// A person is asked.
    Ask,
}

/// What a reviewer may do with this command under this policy.
///
/// Never anything at tier 4, nor where several approvers are wanted, nor what is a person's decision every time: that
/// is not even shown to it. It settles tier 2 and below under 3.0 where nothing is irreversible, nothing in production
/// and nothing that was just denied. A rule with `yolo` lifts the first two up to tier 3 for what it alone stands for.
#[must_use]
pub fn role(judgment: &Judgment, policy: &Policy) -> Role {
    let risk = &judgment.risk;
    let is_others = risk.tier == Tier::Critical || policy.approvals.wanted(risk) > 1 || risk.is_decision();
    // What guard's own doctor says to try who can approve costs no call of a model.
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

/// What comes of an opinion of this command. Whatever is no clear word about this very command is a person's.
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

/// Several opinions as one: all must approve, one no is a no, and where there is no opinion there is none.
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

/// Whether a program, script or tool runs of whose effect nothing is known and that no rule calls reversible.
#[must_use]
pub fn has_unread(facts: &Facts, risk: &Risk, catalog: &Catalog) -> bool {
    // A tool that no entry describes, and an input that is not looked at whole.
    let is_guess = |finding: &Finding| [tools::GUESS, tools::DEPTH].contains(&finding.rule.as_str());
    if !facts.opaque.is_empty() || risk.findings.iter().any(is_guess) {
        return true;
    }
    // What an entry says of a tool is of no act: it holds for all that its input holds.
    let is_of_tool = |finding: &Finding| finding.act.is_none() && catalog.rule(&finding.rule).is_none();
    let called_reversible = |act: usize| {
        let speaks = |finding: &&Finding| finding.act == Some(act) || is_of_tool(finding);
        risk.findings.iter().filter(speaks).any(|finding| finding.reversible)
    };
    facts.acts.iter().enumerate().any(|(number, act)| match &act.verb {
        // What code in another language calls is known by its rules.
        Verb::Program { name, .. } if act.parent.is_none() && !name.contains(':') => {
            catalog.program(name).is_none() && !act.read && !called_reversible(number)
        }
        Verb::Program { .. } | Verb::Effect(_) => false,
    })
}

/// The rules that say of a program that nothing describes that it can be undone: the opinion counts by their leave.
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
