//! What a reviewer is told of a command: its parts as they were read, what was found in them, and what is known around it.
//!
//! Redacted as the record is. Where something was hidden, the parts say what they do and not how they are written: what is
//! a secret only in its place would be shown without it. Out of scope: the conversation that led to the command,
//! and what files hold beyond what the policy says ([`contents`]).

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

/// The longest command that is told.
const MAX_COMMAND: usize = 16 << 10;

/// How many parts, findings and facts are told.
const MOST: usize = 40;

/// The request, as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    pub v: u8,
    /// The first characters of the command's digest, to be quoted.
    pub digest: String,
    /// As it is written; cut where it is too long.
    pub command: String,
    pub cut: bool,
    /// Something in it is hidden.
    pub redacted: bool,
    pub parts: Vec<CommandPart>,
    pub findings: Vec<RuleFinding>,
    pub circumstances: Vec<ReviewCircumstance>,
    /// What is known of what it would touch, a sentence each.
    pub facts: Vec<String>,
    pub tier: Tier,
    pub score: Weight,
    pub threshold: Weight,
    pub reversibility: Reversibility,
    /// What files hold that it names, as far as the policy lets it be told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Content>,
    /// Where it comes from, and which agent.
    pub origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub directory: String,
    /// Its approval would settle it; otherwise a person sees its opinion.
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

/// What a rule found.
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
    /// The request about a command.
    #[must_use]
    pub fn of(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> Self {
        let told = Self::with(engine, invocation, judgment, &evidence(engine, invocation, judgment));
        let contents = match &engine.config().reviewer {
            Some((reviewer, _)) => contents::of(engine, reviewer, invocation, judgment),
            None => Vec::new(),
        };
        Self { contents, ..told }
    }

    /// The same, with these sentences about what it would touch.
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
