//! What comes of a command: it runs, a person is asked, or it is refused; and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::judge::grant::GrantId;
use crate::judge::risk::Tier;

/// What is to happen with a command.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It may run.
    Run(Clearance),
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
pub struct Clearance {
    pub(in crate::judge) basis: ApprovalReason,
}

impl Clearance {
    /// Why.
    #[must_use]
    pub const fn basis(&self) -> &ApprovalReason {
        &self.basis
    }
}

/// What let a command run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalReason {
    /// The score is below the threshold.
    Score,
    /// A standing grant.
    Grant(GrantId),
    /// On the list of support commands.
    Support,
    /// `mode = off`.
    ModeOff,
    /// It is part of what a person let run: the row of that in the record.
    Parent(i64),
    /// A person's own yes in advance (`--yes`).
    YesInAdvance,
    /// A person said yes.
    Person,
    /// A hook handed it to its host's own prompt, or got a person's yes, and the host now runs it.
    Host,
    /// A reviewer's opinion. `by` names the model; `with` are the rules without whose leave it would not have counted.
    Reviewer { by: String, with: Vec<String> },
}

impl ApprovalReason {
    /// The provenance of docs/risk.md: `rule`, `human`, `llm`, or `hybrid` where a rule lent the reviewer its leave.
    #[must_use]
    pub const fn provenance(&self) -> &'static str {
        match self {
            Self::Score | Self::Grant(_) | Self::Support | Self::ModeOff => "rule",
            Self::Parent(_) | Self::YesInAdvance | Self::Person | Self::Host => "human",
            Self::Reviewer { with, .. } if with.is_empty() => "llm",
            Self::Reviewer { .. } => "hybrid",
        }
    }

    /// `score`, `grant`, `support`, `mode-off`, `above`, `yes`, `person`, `host`, `reviewer`: who settled it, for the
    /// record.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Grant(_) => "grant",
            Self::Support => "support",
            Self::ModeOff => "mode-off",
            Self::Parent(_) => "above",
            Self::YesInAdvance => "yes",
            Self::Person => "person",
            Self::Host => "host",
            Self::Reviewer { .. } => "reviewer",
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
    /// How many different approvers sign the yes; with 1, one person says it.
    pub approvals: u8,
    /// A person decides it every time: no reviewer settles it, no agent's own prompt, and no yes in advance.
    pub decision: bool,
}

/// Why a command does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A deny rule.
    Rule { rule: String, reason: String },
    /// A person, with their words.
    Person { words: Option<String> },
    /// A reviewer, with its reason. A person may override it once, with words.
    Reviewer { by: String, reason: String },
    /// Nobody answered in time.
    Timeout { seconds: u32 },
    /// Nobody answered a request of the queue in time, or fewer than it wants: `so_far` says who. It can still be
    /// approved, where `late` says so; `call` says that it is a call of a tool.
    Unanswered {
        request: String,
        seconds: u32,
        late: bool,
        so_far: Option<String>,
        #[serde(default)]
        call: bool,
    },
    /// Too many prompts in the hour.
    RateLimited { per_hour: u32 },
    /// Too many commands of the session wait already.
    Crowded { waiting: u32 },
    /// Too many denials in a row.
    Breaker { denials: u32 },
    /// A row of the record is not as it was written, so that denials cannot be counted.
    Edited { row: i64 },
    /// Nobody can be asked, and why.
    NoOne { why: String },
    /// The decision could not be written down.
    Unrecorded { why: String },
    /// What was approved is not what would run.
    Changed { what: String },
    /// An approver has to sign, and none did, or not for this.
    Unsigned { why: String },
    /// An answer that was given from where none may be given.
    Attempt { why: String },
    /// What was wanted could not be read, or not in time: there was nothing to judge.
    Unjudged { why: String },
}

impl Refusal {
    /// The kind in one word, for the record and for `--json`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Rule { .. } => "rule",
            Self::Person { .. } => "person",
            Self::Reviewer { .. } => "reviewer",
            Self::Timeout { .. } | Self::Unanswered { .. } => "timeout",
            Self::RateLimited { .. } | Self::Crowded { .. } => "rate-limit",
            Self::Breaker { .. } => "breaker",
            Self::Edited { .. } => "edited",
            Self::NoOne { .. } => "no-one-to-ask",
            Self::Unrecorded { .. } => "unrecorded",
            Self::Changed { .. } => "changed",
            Self::Unsigned { .. } => "unsigned",
            Self::Attempt { .. } => "attempt",
            Self::Unjudged { .. } => "unjudged",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { rule, reason } => write!(f, "denied by rule {rule}: {reason}"),
            Self::Person { words: Some(words) } => write!(f, "denied by a person: {words}"),
            Self::Person { words: None } => f.write_str("denied by a person"),
            Self::Reviewer { by, reason } => write!(f, "denied by the reviewer ({by}): {reason}"),
            Self::Timeout { seconds } => write!(f, "timed out: nobody answered within {seconds} s"),
            Self::Unanswered { request, seconds, so_far: Some(so_far), .. } => {
                write!(f, "timed out: request {request} had {so_far} within {seconds} s")
            }
            Self::Unanswered { request, seconds, late: true, call, .. } => {
                let what =
                    if *call { "the same call runs once" } else { "the same command in the same directory runs once" };
                write!(
                    f,
                    "timed out: nobody answered request {request} within {seconds} s; once a person approves it \
                     (guard approve {request}), {what}"
                )
            }
            Self::Unanswered { request, seconds, late: false, .. } => {
                write!(f, "timed out: nobody answered request {request} within {seconds} s")
            }
            Self::Crowded { waiting } => {
                write!(f, "rate limited: {waiting} requests of this session are already waiting; nobody was asked")
            }
            Self::RateLimited { per_hour } => {
                write!(f, "rate limited: {per_hour} prompts in the last hour; nobody was asked")
            }
            Self::Breaker { denials } => {
                write!(f, "refused without asking: {denials} denials in a row; a person must resume this session")
            }
            Self::Edited { row } => write!(
                f,
                "refused without asking: row {row} of the record was changed after it was written, so denials cannot \
                 be counted; a person must check it (guard verify) and resume this session"
            ),
            Self::NoOne { why } => write!(f, "no one to ask: {why}"),
            Self::Unrecorded { why } => write!(f, "could not be recorded: {why}"),
            Self::Changed { what } => write!(f, "changed after it was approved: {what}"),
            Self::Unsigned { why } => write!(f, "not signed by an approver: {why}"),
            Self::Attempt { why } => write!(f, "only a person at a terminal may do this: {why}"),
            Self::Unjudged { why } => write!(f, "not judged: {why}"),
        }
    }
}
