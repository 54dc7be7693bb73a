//! Risk × Policy → Decision: what can be set, what is remembered, and what comes of it.
//!
//! Out of scope: clocks, files, people. `now` is a parameter, what is remembered comes as values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::invocation::Origin;
use super::risk::{CircumstanceFact, Risk, Tier, Weight};
use super::sort;

pub use super::rules::model::Support;

mod decide;
mod decision;

pub(in crate::judge) use decide::must_ask;
pub use decide::{decide, is_sent, is_support_argv, is_support_line, yes_in_advance};
pub use decision::{ApprovalReason, Clearance, Decision, Prompt, Refusal};

/// Everything a person can set, as one value. Where each part came from is the business of `config`.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub mode: Mode,
    pub preset: Preset,
    /// The score from which a command of this origin is asked for.
    pub thresholds: Thresholds,
    /// How much each circumstance adds. A trusted directory's is negative.
    pub weights: BTreeMap<CircumstanceFact, Weight>,
    /// Seconds to answer, by tier 2, 3 and 4.
    pub timeouts: Timeouts,
    /// Prompts per hour for origins agent and api.
    pub prompts_per_hour: u32,
    /// Denials in a row after which the breaker opens.
    pub breaker_after: u32,
    /// Seconds that a command waits in the queue where nobody sits at its terminal; 0: it does not wait.
    pub queue_wait: u32,
    /// Commands of one session that may wait at once.
    pub queue_pending: u32,
    /// The program that is told of each command that begins to wait, and its arguments; empty: none.
    pub queue_notify: Vec<String>,
    /// A passkey's yes carries the code that the guard that waits shows.
    pub confirm_code: bool,
    /// How many different approvers sign a yes to what is of a tier.
    pub approvals: Approvals,
    /// Globs over absolute directories that are trusted.
    pub trusted_directories: Vec<String>,
    /// Branch names, by glob, that are protected.
    pub protected_branches: Vec<String>,
    /// Words that name production in a context, profile, variable or host.
    pub production: Vec<String>,
    /// Hosts that are known in addition to the patterns' own.
    pub known_hosts: Vec<String>,
    /// Exact commands that always run (docs/risk.md, support).
    pub support: Vec<Support>,
    /// Rules that are switched off, by id. Tier 4 rules cannot be.
    pub disabled_rules: Vec<String>,
    pub record: Record,
    /// Rows older than this many days may be cut.
    pub retention_days: u32,
    /// The oldest rows of a record that is larger than so many MiB may be cut.
    pub retention_mib: u32,
    /// Set on rules and globally: lets a threshold rise above 3.0.
    pub yolo: bool,
    /// Globs over the ids of rules whose findings the reviewer is asked about below the threshold too. Empty unless the
    /// account's own mode is smart.
    pub review: Vec<String>,
    pub hook: Hook,
    /// Collectors that each row of the record is sent to.
    pub export_to: Vec<String>,
    /// The program that prints the newest version of guard, and its arguments; empty: nobody is asked.
    pub update_command: Vec<String>,
}

/// What concerns the hooks of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// What may run is granted to the agent, instead of leaving it to its own permissions.
    pub grant: bool,
    /// Seconds after which a hook says no by itself, at the latest.
    pub deadline: u32,
}

impl Default for Policy {
    /// Balanced: the values of docs/risk.md.
    fn default() -> Self {
        use CircumstanceFact as Fact;
        let weights = [
            (Fact::Production, 100),
            (Fact::Root, 50),
            (Fact::Ssh, 50),
            (Fact::OutsideProject, 50),
            (Fact::ProtectedBranch, 50),
            (Fact::Disguise, 50),
            (Fact::TrustedDirectory, -50),
            (Fact::SecretsRead, 100),
            (Fact::EgressAfterSecrets, 150),
            (Fact::OtherAgent, 150),
            (Fact::OwnInstructions, 150),
            (Fact::OtherPeople, 50),
            (Fact::AskedAgain, 50),
        ];
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            mode: Mode::Manual,
            preset: Preset::Balanced,
            thresholds: Thresholds {
                cli: Weight(300),
                agent: Weight(200),
                api: Weight(150),
                discord: Weight(250),
                telegram: Weight(200),
            },
            weights: sort::map(weights.into_iter().map(|(fact, weight)| (fact, Weight(weight)))),
            timeouts: Timeouts { medium: 60, high: 30, critical: 10, critical_finish: 20 },
            prompts_per_hour: 10,
            breaker_after: 3,
            queue_wait: 300,
            queue_pending: 20,
            queue_notify: Vec::new(),
            confirm_code: false,
            approvals: Approvals { medium: 1, high: 1, critical: 1 },
            trusted_directories: Vec::new(),
            protected_branches: words(&["main", "master", "trunk", "develop", "release", "release/*", "production"]),
            production: words(&["prod", "production", "prd", "live"]),
            known_hosts: Vec::new(),
            support: Vec::new(),
            disabled_rules: Vec::new(),
            record: Record::All,
            retention_days: 365,
            retention_mib: 1 << 20,
            yolo: false,
            review: Vec::new(),
            hook: Hook { grant: false, deadline: 3600 },
            export_to: Vec::new(),
            update_command: Vec::new(),
        }
    }
}

impl Policy {
    /// Whether a rule is one whose findings the reviewer is asked about below the threshold too.
    #[must_use]
    pub fn names_for_review(&self, rule: &str) -> bool {
        self.review.iter().any(|name| match name.strip_suffix('*') {
            Some(family) => rule.starts_with(family),
            None => rule == name,
        })
    }
}

/// How many different approvers sign a yes, by tier; 1: one person says it, and signs where approvers are enrolled and
/// the tier is 3 or 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approvals {
    pub medium: u8,
    pub high: u8,
    pub critical: u8,
}

impl Approvals {
    /// What a command wants: the most that its tier and the rules that speak of it do.
    #[must_use]
    pub fn wanted(&self, risk: &Risk) -> u8 {
        let by_tier = match risk.tier {
            Tier::Safe | Tier::Low => 1,
            Tier::Medium => self.medium,
            Tier::High => self.high,
            Tier::Critical => self.critical,
        };
        risk.findings.iter().map(|finding| finding.approvals).fold(by_tier.max(1), u8::max)
    }

    /// The most that any tier wants.
    #[must_use]
    pub fn most(&self) -> u8 {
        self.medium.max(self.high).max(self.critical)
    }
}

/// Who is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// People only.
    #[default]
    Manual,
    /// A reviewer first, for what it may settle ([`super::review`]).
    Smart,
    /// Runs everything up to tier 3 and keeps the floor and the record.
    Off,
}

/// A set of thresholds under one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    Relaxed,
    #[default]
    Balanced,
    Strict,
    Paranoid,
}

/// Thresholds by origin. Chats differ: a telegram screen is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    pub cli: Weight,
    pub agent: Weight,
    pub api: Weight,
    pub discord: Weight,
    pub telegram: Weight,
}

impl Thresholds {
    /// The threshold of an origin.
    #[must_use]
    pub const fn of(&self, origin: Origin) -> Weight {
        match origin {
            Origin::Cli => self.cli,
            Origin::Agent => self.agent,
            Origin::Api => self.api,
            Origin::Discord => self.discord,
            Origin::Telegram => self.telegram,
        }
    }
}

/// Seconds to answer a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub medium: u32,
    pub high: u32,
    /// To the first key; then [`Timeouts::critical_finish`] to finish the word.
    pub critical: u32,
    pub critical_finish: u32,
}

/// What is written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Record {
    #[default]
    All,
    /// Only what had a finding or was not run.
    Flagged,
}

/// What is remembered of the session, as counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// Denials since the last approval, timeouts not counted.
    pub denials_in_a_row: u32,
    /// Prompts shown in the hour before now.
    pub prompts_last_hour: u32,
    /// Someone resumed the session after the breaker opened.
    pub resumed: bool,
    /// Rules whose findings were denied in this session, with how often.
    pub denied_rules: BTreeMap<String, u32>,
    /// Credentials were read in this session.
    pub secrets_read: bool,
    /// The command runs below one that a person let run, and its guard waits for it.
    pub above: Option<ParentApproval>,
}

/// What a person let run, above the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentApproval {
    /// Its row in the record.
    pub row: i64,
    /// The tier that was on the card.
    pub tier: Tier,
}

#[cfg(test)]
mod tests;
