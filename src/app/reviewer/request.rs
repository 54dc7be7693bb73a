//! The reviewer's request about a command: its parsed parts, the findings, and the circumstances.
//!
//! The text is redacted as in the record. If something was redacted, the parts contain what they do and not their text,
//! because a value that is secret only by its position could otherwise appear. Out of scope: the conversation that led
//! to the command, and contents of files that the policy does not permit ([`contents`]).

use serde::Serialize;

use super::contents::{self, Content};
use crate::app::engine::Engine;
use crate::app::evidence::evidence;
use crate::judge::Judgment;
use crate::judge::invocation::Invocation;
use crate::judge::review::{Role, role};
use crate::judge::risk::{CircumstanceFact, Reversibility, Tier, Weight};
use crate::store::{redact, redact_shown};
use crate::ui::card_view::command_bytes;
use crate::ui::parts::parts;

/// The longest command in a request, in bytes.
const MAX_COMMAND: usize = 16 << 10;

/// The largest number of parts, of findings and of facts.
const MOST: usize = 40;

/// The request, as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    pub v: u8,
    /// The first characters of the command's digest, which the answer must quote.
    pub digest: String,
    /// The text of the command, truncated if it is too long.
    pub command: String,
    pub cut: bool,
    /// Whether part of it was redacted.
    pub redacted: bool,
    pub parts: Vec<CommandPart>,
    pub findings: Vec<RuleFinding>,
    pub circumstances: Vec<ReviewCircumstance>,
    /// Facts about what the command would touch, one sentence each.
    pub facts: Vec<String>,
    pub tier: Tier,
    pub score: Weight,
    pub threshold: Weight,
    pub reversibility: Reversibility,
    /// The contents of the files that it names, as far as the policy permits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Content>,
    /// The origin of the command, and the agent.
    pub origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub directory: String,
    /// Whether the reviewer's approval would settle the command. Otherwise a person sees the opinion.
    pub settles: bool,
}

/// A part of the command.
#[derive(Clone, Debug, Serialize)]
pub struct CommandPart {
    pub depth: usize,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    pub does: Vec<String>,
}

/// A finding of a rule.
#[derive(Clone, Debug, Serialize)]
pub struct RuleFinding {
    pub rule: String,
    pub tier: Tier,
    pub reversibility: Reversibility,
    pub reason: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub touches: Vec<String>,
}

/// A circumstance of the command, for the reviewer.
#[derive(Clone, Debug, Serialize)]
pub struct ReviewCircumstance {
    pub fact: CircumstanceFact,
    pub weight: Weight,
}

impl Request {
    /// Creates the request about a command.
    #[must_use]
    pub fn of(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> Self {
        let told = Self::with(engine, invocation, judgment, &evidence(engine, invocation, judgment));
        let contents = match &engine.config().reviewer {
            Some((reviewer, _)) => contents::of(engine, reviewer, invocation, judgment),
            None => Vec::new(),
        };
        Self { contents, ..told }
    }

    /// Creates the request about a command, with these facts.
    #[must_use]
    pub fn with(engine: &Engine, invocation: &Invocation, judgment: &Judgment, facts: &[String]) -> Self {
        let hide = |text: &str| redact(text).0;
        let (whole, redacted) = redact_shown(invocation);
        let most = whole.len().min(MAX_COMMAND);
        let end = (0..=most).rev().find(|at| whole.is_char_boundary(*at)).unwrap_or_default();
        let command = whole.get(..end).unwrap_or_default().to_owned();
        let risk = &judgment.risk;
        let told = parts(&command_bytes(&invocation.request), judgment);
        let part = |part: &crate::ui::explain::PartView| CommandPart {
            depth: part.depth,
            text: if redacted {
                String::new()
            } else {
                String::from_utf8_lossy(&part.text).chars().take(500).collect()
            },
            does: part.does.iter().map(|does| hide(does)).collect(),
        };
        let found = |finding: &crate::judge::risk::Finding| RuleFinding {
            rule: finding.rule.clone(),
            tier: finding.tier,
            reversibility: finding.reversibility,
            reason: finding.reason.clone(),
            touches: finding.touches.iter().take(MOST).map(|touched| hide(touched)).collect(),
        };
        Self {
            v: 1,
            digest: invocation.digest(&judgment.facts.expanded).to_string().chars().take(8).collect(),
            cut: command.len() < whole.len(),
            command,
            redacted,
            parts: told.iter().take(MOST).map(part).collect(),
            findings: risk.findings.iter().take(MOST).map(found).collect(),
            circumstances: risk
                .context
                .iter()
                .map(|one| ReviewCircumstance { fact: one.fact, weight: one.weight })
                .collect(),
            facts: facts.iter().take(MOST).map(|fact| hide(fact)).collect(),
            tier: risk.tier,
            score: risk.score,
            threshold: engine.policy().thresholds.of(invocation.origin),
            reversibility: risk.reversibility,
            contents: Vec::new(),
            origin: invocation.origin.name(),
            agent: invocation.session.agent.clone(),
            directory: hide(&invocation.cwd.to_string_lossy()),
            settles: matches!(role(judgment, engine.policy()), Role::Settles { .. }),
        }
    }
}
