//! The decision about a command: it runs, guard asks a person, or guard refuses it; and the reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::judge::grant::GrantId;
use crate::judge::risk::Tier;

/// The decision about a command.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The command may run.
    Run(Clearance),
    /// guard has to ask a person.
    Ask(Prompt),
    /// guard refuses the command.
    Refuse(Refusal),
}

impl Decision {
    /// Returns `allow`, `ask` or `deny`, as in verdicts and in the record.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Run(_) => "allow",
            Self::Ask(_) => "ask",
            Self::Refuse(_) => "deny",
        }
    }
}

/// The proof that a command may run without a prompt. Only [`super::decide()`] creates one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clearance {
    pub(in crate::judge) basis: ApprovalReason,
}

impl Clearance {
    /// The reason.
    #[must_use]
    pub const fn basis(&self) -> &ApprovalReason {
        &self.basis
    }
}

/// The reason why a command may run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalReason {
    /// The score is below the threshold.
    Score,
    /// A grant covers it.
    Grant(GrantId),
    /// It is a support command.
    Support,
    /// `mode = off`.
    ModeOff,
    /// It is part of an approved command, which has this row in the record.
    Parent(i64),
    /// The user approved it in advance (`--yes`).
    YesInAdvance,
    /// A person approved it.
    Person,
    /// A hook left it to the prompt of its agent, or a person approved it in the hook, and the agent now runs it.
    Host,
    /// A reviewer approved it. `by` is the model; `with` are the rules that allow the reviewer to decide.
    Reviewer { by: String, with: Vec<String> },
}

impl ApprovalReason {
    /// Returns the provenance of docs/risk.md: `rule`, `human`, `llm`, or `hybrid` if a rule allowed the reviewer to
    /// decide.
    #[must_use]
    pub const fn provenance(&self) -> &'static str {
        match self {
            Self::Score | Self::Grant(_) | Self::Support | Self::ModeOff => "rule",
            Self::Parent(_) | Self::YesInAdvance | Self::Person | Self::Host => "human",
            Self::Reviewer { with, .. } if with.is_empty() => "llm",
            Self::Reviewer { .. } => "hybrid",
        }
    }

    /// Returns who decided, for the record: `score`, `grant`, `support`, `mode-off`, `above`, `yes`, `person`, `host`,
    /// `reviewer`.
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

/// The form of a question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub tier: Tier,
    /// The time to answer, in seconds; for tier 4, the time until the first key.
    pub seconds: u32,
    /// The time to finish the answer after the first key, in seconds.
    pub finish_seconds: u32,
    /// Whether the person must type a random word.
    pub word: bool,
    /// Whether the person may give a grant with the answer.
    pub may_grant: bool,
    /// The number of approvers who must sign an approval; with 1, one person answers.
    pub approvals: u8,
    /// Whether a person has to decide every time: no reviewer, no prompt of an agent, and no approval in advance.
    pub decision: bool,
}

/// The reason why a command does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A deny rule matches.
    Rule { rule: String, reason: String },
    /// A person denied it, with this message.
    Person { words: Option<String> },
    /// A reviewer denied it, for this reason. A person may override the denial once, with a message.
    Reviewer { by: String, reason: String },
    /// Nobody answered in time.
    Timeout { seconds: u32 },
    /// Fewer people than required answered a request of the queue in time; `so_far` names them. If `late` is set, the
    /// request can still be approved; `call` marks a tool call.
    Unanswered {
        request: String,
        seconds: u32,
        late: bool,
        so_far: Option<String>,
        #[serde(default)]
        call: bool,
    },
    /// There were too many prompts in the last hour.
    RateLimited { per_hour: u32 },
    /// Too many commands of the session are waiting.
    Crowded { waiting: u32 },
    /// There were too many denials in a row.
    Breaker { denials: u32 },
    /// A row of the record was changed, so that guard cannot count denials.
    Edited { row: i64 },
    /// Nobody can be asked, for this reason.
    NoOne { why: String },
    /// The decision could not be recorded.
    Unrecorded { why: String },
    /// The command that would run is not the approved one.
    Changed { what: String },
    /// The required signature of an approver is missing, or is for something else.
    Unsigned { why: String },
    /// The answer came from a place from which it is not accepted.
    Attempt { why: String },
    /// The request could not be read, or not in time.
    Unjudged { why: String },
}

impl Refusal {
    /// Returns the kind as one word, for the record and for `--json`.
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
