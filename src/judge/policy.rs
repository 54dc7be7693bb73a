//! Risk × Policy → Decision, in the order of RISK.md.
//!
//! What may not enter: clocks, files, people. `now` is a parameter, what is remembered comes as values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::approved::GrantId;
use super::invocation::Origin;
use super::risk::{CircumstanceFact, Tier, Weight};

/// Everything a person can set, as one value. Where each part came from is the business of `config`.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub mode: Mode,
    pub preset: Preset,
    /// The score from which a command of this origin is asked for.
    pub thresholds: Thresholds,
    /// How much each circumstance adds. A trusted folder's is negative.
    pub weights: BTreeMap<CircumstanceFact, Weight>,
    /// Seconds to answer, by tier 2, 3 and 4.
    pub timeouts: Timeouts,
    /// Prompts per hour for origins agent and api.
    pub prompts_per_hour: u32,
    /// Denials in a row after which the breaker opens.
    pub breaker_after: u32,
    /// Globs over absolute folders that are trusted.
    pub trusted_folders: Vec<String>,
    /// Branch names, by glob, that are protected.
    pub protected_branches: Vec<String>,
    /// Words that name production in a context, profile, variable or host.
    pub production: Vec<String>,
    /// Hosts that are known in addition to the patterns' own.
    pub known_hosts: Vec<String>,
    /// Exact commands that always run (RISK.md, support).
    pub support: Vec<Support>,
    /// Rules that are switched off, by id. Tier 4 rules cannot be.
    pub disabled_rules: Vec<String>,
    pub record: Record,
    /// Rows older than this many days may be cut.
    pub retention_days: u32,
    /// Set on rules and globally: lets a threshold rise above 3.0.
    pub yolo: bool,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// People only.
    #[default]
    Manual,
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

/// Thresholds by origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    pub cli: Weight,
    pub agent: Weight,
    pub api: Weight,
    pub messenger: Weight,
}

impl Thresholds {
    /// The threshold of an origin.
    #[must_use]
    pub const fn of(&self, origin: Origin) -> Weight {
        match origin {
            Origin::Cli => self.cli,
            Origin::Agent => self.agent,
            Origin::Api => self.api,
            Origin::Messenger => self.messenger,
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

/// A command that is never gated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The exact arguments.
    pub argv: Vec<String>,
    pub why: String,
}

/// What is remembered of the session, as counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
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
}

/// What is to happen with a command.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It may run.
    Run(Cleared),
    /// A person is to be asked.
    Ask(Prompt),
    /// It does not run.
    Refuse(Refusal),
}

impl Decision {
    /// `allow`, `ask`, `deny`: the word in verdicts and in the record.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Refuse(_) => "deny",
        }
    }
}

/// That nobody need be asked, and why. Only deciding makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    pub(super) basis: Basis,
}

impl Cleared {
    /// Why.
    #[must_use]
    pub const fn basis(&self) -> &Basis {
        &self.basis
    }
}

/// What let a command run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The score is below the threshold.
    Score,
    /// A standing grant.
    Grant(GrantId),
    /// On the list of support commands.
    Support,
    /// `mode = off`.
    ModeOff,
    /// A person's own yes in advance (`--yes`).
    YesInAdvance,
    /// A person said yes.
    Person,
}

impl Basis {
    /// The provenance of RISK.md: `rule` or `human`.
    #[must_use]
    pub const fn provenance(&self) -> &'static str {
        match self {
            Self::Score | Self::Grant(_) | Self::Support | Self::ModeOff => "rule",
            Self::YesInAdvance | Self::Person => "human",
        }
    }

    /// `score`, `grant`, `support`, `mode-off`, `yes`, `person`: who settled it, for the record.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Grant(_) => "grant",
            Self::Support => "support",
            Self::ModeOff => "mode-off",
            Self::YesInAdvance => "yes",
            Self::Person => "person",
        }
    }
}

/// How a person is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub tier: Tier,
    /// Seconds to answer; for tier 4 to the first key.
    pub seconds: u32,
    /// Seconds to finish after the first key.
    pub finish_seconds: u32,
    /// A random word must be typed.
    pub word: bool,
    /// A grant may be given with the answer.
    pub may_grant: bool,
}

/// Why a command does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A deny rule.
    Rule { rule: String, reason: String },
    /// A person, with their words.
    Person { words: Option<String> },
    /// Nobody answered in time.
    Timeout { seconds: u32 },
    /// Too many prompts in the hour.
    RateLimited { per_hour: u32 },
    /// Too many denials in a row.
    Breaker { denials: u32 },
    /// Nobody can be asked, and why.
    NoOne { why: String },
    /// The decision could not be written down.
    Unrecorded { why: String },
    /// What was approved is not what would run.
    Changed { what: String },
}

impl Refusal {
    /// The kind in one word, for the record and for `--json`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Rule { .. } => "rule",
            Self::Person { .. } => "person",
            Self::Timeout { .. } => "timeout",
            Self::RateLimited { .. } => "rate-limit",
            Self::Breaker { .. } => "breaker",
            Self::NoOne { .. } => "no-one-to-ask",
            Self::Unrecorded { .. } => "unrecorded",
            Self::Changed { .. } => "changed",
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule { rule, reason } => write!(f, "denied by rule {rule}: {reason}"),
            Self::Person { words: Some(words) } => write!(f, "denied by a person: {words}"),
            Self::Person { words: None } => f.write_str("denied by a person"),
            Self::Timeout { seconds } => write!(f, "timed out: nobody answered within {seconds} s"),
            Self::RateLimited { per_hour } => {
                write!(f, "rate limited: {per_hour} prompts in the last hour; nobody was asked")
            }
            Self::Breaker { denials } => {
                write!(f, "refused without asking: {denials} denials in a row; a person must resume this session")
            }
            Self::NoOne { why } => write!(f, "no one to ask: {why}"),
            Self::Unrecorded { why } => write!(f, "could not be recorded: {why}"),
            Self::Changed { what } => write!(f, "changed after it was approved: {what}"),
        }
    }
}
