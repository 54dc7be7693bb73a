//! Risk × Policy → Decision, in the order of RISK.md.
//!
//! What may not enter: clocks, files, people. `now` is a parameter, what is remembered comes as values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Judgment;
use super::approved::{Grant, GrantId, What};
use super::invocation::{Invocation, Origin, Request};
use super::order;
use super::risk::{CircumstanceFact, Risk, Tier, Weight};

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
    /// Seconds that a command waits in the queue where nobody sits at its terminal; 0: it does not wait.
    pub queue_wait: u32,
    /// Commands of one session that may wait at once.
    pub queue_pending: u32,
    /// The program that is told of each command that begins to wait, and its arguments; empty: none.
    pub queue_notify: Vec<String>,
    /// How many different approvers sign a yes to what is of a tier.
    pub approvals: Approvals,
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
    /// The oldest rows of a record that is larger than so many MiB may be cut.
    pub retention_mib: u32,
    /// Set on rules and globally: lets a threshold rise above 3.0.
    pub yolo: bool,
    pub hook: Hook,
    /// Collectors that each row of the record is sent to.
    pub export_to: Vec<String>,
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
    /// Balanced: the values of RISK.md.
    fn default() -> Self {
        use CircumstanceFact as Fact;
        let weights = [
            (Fact::Production, 100),
            (Fact::Root, 50),
            (Fact::Ssh, 50),
            (Fact::OutsideProject, 50),
            (Fact::ProtectedBranch, 50),
            (Fact::Disguise, 50),
            (Fact::TrustedFolder, -50),
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
            weights: order::map(weights.into_iter().map(|(fact, weight)| (fact, Weight(weight)))),
            timeouts: Timeouts { medium: 60, high: 30, critical: 10, critical_finish: 20 },
            prompts_per_hour: 10,
            breaker_after: 3,
            queue_wait: 300,
            queue_pending: 20,
            queue_notify: Vec::new(),
            approvals: Approvals { medium: 1, high: 1, critical: 1 },
            trusted_folders: Vec::new(),
            protected_branches: words(&["main", "master", "trunk", "develop", "release", "release/*", "production"]),
            production: words(&["prod", "production", "prd", "live"]),
            known_hosts: Vec::new(),
            support: Vec::new(),
            disabled_rules: Vec::new(),
            record: Record::All,
            retention_days: 365,
            retention_mib: 1 << 20,
            yolo: false,
            hook: Hook { grant: false, deadline: 3600 },
            export_to: Vec::new(),
        }
    }
}

/// How many different approvers sign a yes, by tier; 1: one person says it, and signs where approvers are enrolled and the
/// tier is 3 or 4.
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

/// A command that is never gated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The exact arguments.
    pub argv: Vec<String>,
    pub why: String,
}

/// What is remembered of the session, as counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The command runs below one that a person let run, and its guard waits for it.
    pub above: Option<Above>,
}

/// What a person let run, above the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Above {
    /// Its row in the record.
    pub row: i64,
    /// The tier that was on the card.
    pub tier: Tier,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    /// The score is below the threshold.
    Score,
    /// A standing grant.
    Grant(GrantId),
    /// On the list of support commands.
    Support,
    /// `mode = off`.
    ModeOff,
    /// It is part of what a person let run: the row of that in the record.
    Above(i64),
    /// A person's own yes in advance (`--yes`).
    YesInAdvance,
    /// A person said yes.
    Person,
    /// A hook handed it to its host's own prompt, or got a person's yes, and the host now runs it.
    Host,
}

impl Basis {
    /// The provenance of RISK.md: `rule` or `human`.
    #[must_use]
    pub const fn provenance(&self) -> &'static str {
        match self {
            Self::Score | Self::Grant(_) | Self::Support | Self::ModeOff => "rule",
            Self::Above(_) | Self::YesInAdvance | Self::Person | Self::Host => "human",
        }
    }

    /// `score`, `grant`, `support`, `mode-off`, `above`, `yes`, `person`, `host`: who settled it, for the record.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Grant(_) => "grant",
            Self::Support => "support",
            Self::ModeOff => "mode-off",
            Self::Above(_) => "above",
            Self::YesInAdvance => "yes",
            Self::Person => "person",
            Self::Host => "host",
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
}

/// Why a command does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// A deny rule.
    Rule { rule: String, reason: String },
    /// A person, with their words.
    Person { words: Option<String> },
    /// Nobody answered in time.
    Timeout { seconds: u32 },
    /// Nobody answered a request of the queue in time, or fewer than it wants: `so_far` says who. It can still be approved,
    /// where `late` says so.
    Unanswered { request: String, seconds: u32, late: bool, so_far: Option<String> },
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

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule { rule, reason } => write!(f, "denied by rule {rule}: {reason}"),
            Self::Person { words: Some(words) } => write!(f, "denied by a person: {words}"),
            Self::Person { words: None } => f.write_str("denied by a person"),
            Self::Timeout { seconds } => write!(f, "timed out: nobody answered within {seconds} s"),
            Self::Unanswered { request, seconds, so_far: Some(so_far), .. } => {
                write!(f, "timed out: request {request} had {so_far} within {seconds} s")
            }
            Self::Unanswered { request, seconds, late: true, .. } => write!(
                f,
                "timed out: nobody answered request {request} within {seconds} s; once a person approves it, the same \
                 command in the same folder runs once"
            ),
            Self::Unanswered { request, seconds, late: false, .. } => {
                write!(f, "timed out: nobody answered request {request} within {seconds} s")
            }
            Self::Crowded { waiting } => {
                write!(f, "rate limited: {waiting} commands of this session are waiting already; nobody was asked")
            }
            Self::RateLimited { per_hour } => {
                write!(f, "rate limited: {per_hour} prompts in the last hour; nobody was asked")
            }
            Self::Breaker { denials } => {
                write!(f, "refused without asking: {denials} denials in a row; a person must resume this session")
            }
            Self::Edited { row } => write!(
                f,
                "refused without asking: row {row} of the record is not as it was written, so that denials cannot be \
                 counted; a person must look (guard verify) and resume this session"
            ),
            Self::NoOne { why } => write!(f, "no one to ask: {why}"),
            Self::Unrecorded { why } => write!(f, "could not be recorded: {why}"),
            Self::Changed { what } => write!(f, "changed after it was approved: {what}"),
            Self::Unsigned { why } => write!(f, "not signed by an approver: {why}"),
            Self::Attempt { why } => write!(f, "no answer is taken from here: {why}"),
            Self::Unjudged { why } => write!(f, "not judged: {why}"),
        }
    }
}

/// Weighs a judged command against the policy, in the order of RISK.md: deny rules, support, the floor, grants,
/// the score; and for what would be asked, the breaker and the prompt limit.
///
/// `grants` are those that are in force (their session is this one, their date is not past, none is revoked).
pub fn decide(
    invocation: &Invocation,
    judgment: &Judgment,
    policy: &Policy,
    standing: &Standing,
    grants: &[Grant],
) -> Decision {
    let risk = &judgment.risk;
    if let Some(finding) = risk.findings.iter().find(|finding| finding.deny) {
        return Decision::Refuse(Refusal::Rule { rule: finding.rule.clone(), reason: finding.reason.clone() });
    }
    let cleared = |basis| Decision::Run(Cleared { basis });
    // A tier may want several approvers, and support runs all the same; a rule that does speaks of this very command.
    let ruled = risk.findings.iter().any(|finding| finding.approvals > 1);
    if risk.tier <= Tier::Medium && !ruled && is_support(invocation, policy) {
        return cleared(Basis::Support);
    }
    // What several approvers sign, nothing else lets run: no grant, no mode, no yes to a command above it.
    if risk.tier < Tier::Critical && policy.approvals.wanted(risk) == 1 {
        if let Some(grant) = covering(invocation, judgment, grants) {
            return cleared(Basis::Grant(grant.id.clone()));
        }
        if let Some(above) = standing.above.filter(|above| risk.tier >= Tier::Medium && risk.tier <= above.tier) {
            return cleared(Basis::Above(above.row));
        }
        if policy.mode == Mode::Off
            || (risk.tier < Tier::High && !must_ask(risk) && below_threshold(invocation, risk, policy))
        {
            return cleared(if policy.mode == Mode::Off { Basis::ModeOff } else { Basis::Score });
        }
    }
    if invocation.origin.is_guarded() {
        if standing.denials_in_a_row >= policy.breaker_after && !standing.resumed {
            return Decision::Refuse(Refusal::Breaker { denials: standing.denials_in_a_row });
        }
        if standing.prompts_last_hour >= policy.prompts_per_hour {
            return Decision::Refuse(Refusal::RateLimited { per_hour: policy.prompts_per_hour });
        }
    }
    Decision::Ask(prompt(risk, policy))
}

/// Settles what a person allowed in advance (`--yes`): up to tier 3, from their own terminal alone.
#[must_use]
pub fn yes_in_advance(invocation: &Invocation, prompt: &Prompt) -> Option<Basis> {
    let plain = prompt.tier < Tier::Critical && prompt.approvals == 1;
    (invocation.origin == Origin::Cli && plain).then_some(Basis::YesInAdvance)
}

/// A change of production is asked whatever the threshold.
fn must_ask(risk: &Risk) -> bool {
    risk.tier >= Tier::Medium
        && risk.context.iter().any(|circumstance| circumstance.fact == CircumstanceFact::Production)
}

fn below_threshold(invocation: &Invocation, risk: &Risk, policy: &Policy) -> bool {
    risk.score < policy.thresholds.of(invocation.origin)
}

fn is_support(invocation: &Invocation, policy: &Policy) -> bool {
    let Request::Argv(argv) = &invocation.request else { return false };
    policy.support.iter().any(|support| {
        argv.len() == support.argv.len() && argv.iter().zip(&support.argv).all(|(word, known)| word == known.as_str())
    })
}

/// The first grant that covers the command: exact before shape before rule before a trusted session.
fn covering<'a>(invocation: &Invocation, judgment: &Judgment, grants: &'a [Grant]) -> Option<&'a Grant> {
    if grants.is_empty() || !judgment.may_grant {
        return None;
    }
    let cwd = invocation.cwd.to_string_lossy();
    let here = |grant: &&Grant| grant.place.holds(&cwd);
    let command = invocation.display();
    let exact = |grant: &&Grant| matches!(&grant.what, What::Exact { command: known } if *known == command);
    let shape = |grant: &&Grant| match (&grant.what, &judgment.shape) {
        (What::Shape { shape: known }, Some(shape)) => known == shape,
        _ => false,
    };
    let rule = |grant: &&Grant| match &grant.what {
        What::Rule { rule } => {
            let mut raised = judgment.risk.findings.iter().filter(|finding| finding.tier >= Tier::Medium).peekable();
            raised.peek().is_some() && raised.all(|finding| finding.rule == *rule)
        }
        What::Exact { .. } | What::Shape { .. } | What::UpTo { .. } => false,
    };
    // Who trusts a session trusts what it has been doing: not what it does to others, in production, or again.
    let plain =
        !must_ask(&judgment.risk) && judgment.risk.context.iter().all(|circumstance| !circumstance.fact.is_conduct());
    let trusted = |grant: &&Grant| match grant.what {
        What::UpTo { tier } => plain && judgment.risk.tier <= tier.min(Tier::Medium),
        What::Exact { .. } | What::Shape { .. } | What::Rule { .. } => false,
    };
    let find = |covers: &dyn Fn(&&Grant) -> bool| grants.iter().filter(here).find(|grant| covers(grant));
    find(&exact).or_else(|| find(&shape)).or_else(|| find(&rule)).or_else(|| find(&trusted))
}

fn prompt(risk: &Risk, policy: &Policy) -> Prompt {
    let timeouts = policy.timeouts;
    let critical = risk.tier == Tier::Critical;
    let approvals = policy.approvals.wanted(risk);
    Prompt {
        tier: risk.tier,
        seconds: match risk.tier {
            Tier::Safe | Tier::Low | Tier::Medium => timeouts.medium,
            Tier::High => timeouts.high,
            Tier::Critical => timeouts.critical,
        },
        finish_seconds: timeouts.critical_finish,
        word: critical,
        may_grant: !critical && approvals == 1,
        approvals,
    }
}
