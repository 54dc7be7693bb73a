//! The policy, the state of a session, and the decision that follows from them and the risk.
//!
//! Out of scope: clocks, files and prompts. The time is a parameter, and the caller passes the state of the session.

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

/// All settings, as one value. The package `config` merges the files and knows from which file each setting comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub mode: Mode,
    pub preset: Preset,
    /// The scores from which guard asks, by origin.
    pub thresholds: Thresholds,
    /// The amount that each circumstance adds to the score. A trusted directory has a negative weight.
    pub weights: BTreeMap<CircumstanceFact, Weight>,
    /// The time to answer a prompt, in seconds, for tiers 2, 3 and 4.
    pub timeouts: Timeouts,
    /// The maximum number of prompts per hour for the origins agent and api.
    pub prompts_per_hour: u32,
    /// The number of denials in a row that stops a session.
    pub breaker_after: u32,
    /// The time that a command waits in the queue if no user is at its terminal, in seconds; 0: it does not wait.
    pub queue_wait: u32,
    /// The maximum number of commands of a session that wait at the same time.
    pub queue_pending: u32,
    /// The program, with its arguments, that guard runs when a request waits; empty: none.
    pub queue_notify: Vec<String>,
    /// A passkey must sign the code that the requester shows.
    pub confirm_code: bool,
    /// The number of approvers who must sign an approval, by tier.
    pub approvals: Approvals,
    /// Globs for the absolute paths of trusted directories.
    pub trusted_directories: Vec<String>,
    /// Globs for the names of protected branches.
    pub protected_branches: Vec<String>,
    /// Words that identify production in the name of a context, profile, variable or host.
    pub production: Vec<String>,
    /// Known hosts, in addition to those in the patterns.
    pub known_hosts: Vec<String>,
    /// Commands that always run, if they match exactly (docs/risk.md, support).
    pub support: Vec<Support>,
    /// The IDs of disabled rules. Rules of tier 4 cannot be disabled.
    pub disabled_rules: Vec<String>,
    pub record: Record,
    /// The age in days from which rows of the record may be pruned.
    pub retention_days: u32,
    /// The size of the record in MiB from which the oldest rows may be pruned.
    pub retention_mib: u32,
    /// Whether a threshold may be above 3.0. A rule has a setting of the same name.
    pub yolo: bool,
    /// Globs for the IDs of rules about whose findings guard consults the reviewer below the threshold too. Empty
    /// unless the mode in the user's own configuration is `smart`.
    pub review: Vec<String>,
    pub hook: Hook,
    /// The collectors to which guard sends each row of the record.
    pub export_to: Vec<String>,
    /// The program, with its arguments, that prints the newest version of guard; empty: guard does not look for one.
    pub update_command: Vec<String>,
}

/// The settings of hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// A hook allows the calls that may run. Without it the agent's own permissions apply to them.
    pub grant: bool,
    /// The time after which a hook denies a call at the latest, in seconds.
    pub deadline: u32,
}

impl Default for Policy {
    /// Returns the preset `balanced`, with the values of docs/risk.md.
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
    /// Reports whether guard consults the reviewer about findings of this rule below the threshold too.
    #[must_use]
    pub fn names_for_review(&self, rule: &str) -> bool {
        self.review.iter().any(|name| match name.strip_suffix('*') {
            Some(family) => rule.starts_with(family),
            None => rule == name,
        })
    }
}

/// The number of approvers who must sign an approval, by tier. With 1, one person answers, and signs if approvers are
/// enrolled and the tier is 3 or 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approvals {
    pub medium: u8,
    pub high: u8,
    pub critical: u8,
}

impl Approvals {
    /// Returns the number that a command requires: the maximum of that of its tier and those of the rules that match
    /// it.
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

    /// Returns the maximum over all tiers.
    #[must_use]
    pub fn most(&self) -> u8 {
        self.medium.max(self.high).max(self.critical)
    }
}

/// The decision maker for commands that guard asks about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Only people.
    #[default]
    Manual,
    /// A reviewer first, within its limits ([`super::review`]).
    Smart,
    /// guard runs everything up to tier 3, asks about tier 4, and keeps the record.
    Off,
}

/// A named set of thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    Relaxed,
    #[default]
    Balanced,
    Strict,
    Paranoid,
}

/// The thresholds by origin. Messengers differ in how much of a command they can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    pub cli: Weight,
    pub agent: Weight,
    pub api: Weight,
    pub discord: Weight,
    pub telegram: Weight,
}

impl Thresholds {
    /// Returns the threshold of an origin.
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

/// The time to answer a prompt, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub medium: u32,
    pub high: u32,
    /// The time until the first key; after that, [`Timeouts::critical_finish`] applies.
    pub critical: u32,
    pub critical_finish: u32,
}

/// The commands that the record contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Record {
    #[default]
    All,
    /// Commands with a finding, and commands that did not run.
    Flagged,
}

/// The state of a session, as counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// The number of denials since the last approval. Timeouts are not counted.
    pub denials_in_a_row: u32,
    /// The number of prompts in the last hour.
    pub prompts_last_hour: u32,
    /// A user resumed the session after too many denials.
    pub resumed: bool,
    /// The commands that were denied in this session.
    pub denied: Vec<DeniedCommand>,
    /// The session has read credentials.
    pub secrets_read: bool,
    /// The approved command of which this one is a part, if the guard of that command waits for it.
    pub above: Option<ParentApproval>,
}

/// A command that a person, a rule or the reviewer denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedCommand {
    /// Its working directory.
    pub cwd: String,
    /// The rules of its findings of tier 2 and above, with what they touch, redacted.
    pub findings: Vec<(String, Vec<String>)>,
}

/// The approval of a command that started this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentApproval {
    /// The row of the approved command in the record.
    pub row: i64,
    /// The tier that the card showed.
    pub tier: Tier,
}

#[cfg(test)]
mod tests;
