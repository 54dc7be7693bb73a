//! Evaluates a recorded decision again under another policy.
//!
//! The state of the system at the time is lost: whether a directory was ignored, what a script contained, which branch
//! was checked out. The findings that depended on it are taken from the row. Only the differences between the two
//! policies are evaluated again, on the recorded text: rules of pattern files and circumstances that only one of them
//! knows. Both policies are evaluated with the same current state of the system, so that changes since then affect
//! neither.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::app::engine::{Engine, judge_here};
use crate::app::hook::call::ToolAction;
use crate::judge::analysis::inquiry::Answers;
use crate::judge::approved::{Grant, GrantExpiry, GrantId, GrantPlace, GrantSubject};
use crate::judge::invocation::{ChangeKind, FileChange, Invocation, Origin, Request, Session, quote};
use crate::judge::policy::{Decision, ParentApproval, Policy, SessionState, decide};
use crate::judge::review::{self, Role};
use crate::judge::risk::{Circumstance, CircumstanceFact, Finding, Risk, Tier, Weight};
use crate::judge::rules::catalog::Catalog;
use crate::judge::shape::Shape;
use crate::judge::syntax::tree::Span;
use crate::judge::tools::ToolCall;
use crate::judge::{Judgment, behaviour, judge};
use crate::store::{Entry, FindingEntry, RowKind};

/// The verdict of a policy on a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyVerdict {
    Allow,
    Ask,
    Deny,
}

impl PolicyVerdict {
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Returns the name as in the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Returns the verdict of the policy at the time: `Ask` if guard had to ask, whatever the answer was, and even if
/// nobody could be asked. Returns `None` if no policy was applied.
pub(super) fn then(entry: &Entry) -> Option<PolicyVerdict> {
    Some(match (entry.decision.as_deref()?, entry.settled_by.as_deref()) {
        (_, Some("attempt" | "unjudged")) => return None,
        ("ask", _) | ("allow", Some("person" | "yes" | "host" | "reviewer")) => PolicyVerdict::Ask,
        ("allow", _) => PolicyVerdict::Allow,
        (_, Some("rule")) => PolicyVerdict::Deny,
        _ => PolicyVerdict::Ask,
    })
}

/// The result of evaluating a recorded decision again.
#[derive(Clone, Debug)]
pub(super) struct Reevaluation {
    pub word: PolicyVerdict,
    pub tier: Tier,
    pub score: Weight,
    pub threshold: Weight,
    /// The rule with the greatest weight.
    pub rule: Option<String>,
    /// Whether the directory exists, so that its files were examined.
    pub looked: bool,
    /// Whether guard would ask and a reviewer could decide.
    pub reviewer: bool,
}

/// The current policy and the other one, to compare.
pub(super) struct PolicyComparison {
    now: Engine,
    other: Engine,
    built_in: Catalog,
    /// The analyses by kind, origin, directory and text, because most commands are repeated.
    known: RefCell<HashMap<CacheKey, Rc<TextAnalysis>>>,
}

type CacheKey = (RowKind, String, PathBuf, String);

/// The largest number of analyses in the cache.
const MAX_KNOWN: usize = 50_000;

/// The findings in a text with the built-in rules, and with all rules of the other policy.
struct TextAnalysis {
    before: PolicyFindings,
    after: PolicyFindings,
    shape: Option<Shape>,
    bound_to: Vec<String>,
    may_grant: bool,
    unread: bool,
    /// Whether the directory exists, so that its files were examined.
    looked: bool,
}

struct PolicyFindings {
    findings: Vec<Finding>,
    context: Vec<Circumstance>,
    /// The tier of the programs without any finding.
    base: Tier,
}

impl PolicyFindings {
    fn of(judgment: &Judgment) -> Self {
        let base = judgment.facts.acts.iter().map(|act| act.tier).max().unwrap_or(Tier::Safe);
        Self { findings: judgment.risk.findings.clone(), context: judgment.risk.context.clone(), base }
    }

    fn finding(&self, rule: &str) -> Option<&Finding> {
        let findings = self.findings.iter().filter(|finding| finding.rule == rule);
        findings.max_by_key(|finding| (finding.tier, finding.weight))
    }

    fn has(&self, fact: CircumstanceFact) -> bool {
        self.context.iter().any(|one| one.fact == fact)
    }
}

impl PolicyComparison {
    /// Creates the comparison of two policies, each with its rules.
    pub fn new(now: Engine, other: Engine) -> Self {
        Self { now, other, built_in: Catalog::builtin(), known: RefCell::default() }
    }

    /// Evaluates the decision of a row under the other policy. Returns `None` if the row contains too little.
    pub fn again(&self, entry: &Entry, directory: &Path) -> Option<Reevaluation> {
        let policy = self.other.policy();
        let text = entry.command.as_deref()?;
        let invocation = self.invocation(entry, text, directory)?;
        let analysis = self.analysis(entry, &invocation, text);
        let past = PastEntry { entry, analysis: &analysis, comparison: self };
        let risk = Risk::join(past.base(), past.findings(), past.context());
        let mut grants = self.other.config().grants.clone();
        grants.extend(stored(entry, &invocation));
        let standing = SessionState { above: above(entry, &risk), ..SessionState::default() };
        let judgment = Judgment {
            risk,
            shape: analysis.shape.clone(),
            bound_to: analysis.bound_to.clone(),
            may_grant: analysis.may_grant,
            unread: analysis.unread,
            ..Judgment::default()
        };
        let decision = decide(&invocation, &judgment, policy, &standing, &grants);
        let asks = matches!(decision, Decision::Ask(_));
        let worst = judgment.risk.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
        Some(Reevaluation {
            word: match decision {
                Decision::Run(_) => PolicyVerdict::Allow,
                Decision::Ask(_) => PolicyVerdict::Ask,
                Decision::Refuse(_) => PolicyVerdict::Deny,
            },
            tier: judgment.risk.tier,
            score: judgment.risk.score,
            threshold: policy.thresholds.of(invocation.origin),
            rule: worst.map(|finding| finding.rule.clone()),
            looked: analysis.looked,
            reviewer: asks && matches!(review::role(&judgment, policy), Role::Settles { .. }),
        })
    }

    /// Returns the findings of both policies in the text, with the same current state of the system.
    fn analysis(&self, entry: &Entry, invocation: &Invocation, text: &str) -> Rc<TextAnalysis> {
        let asked = (entry.kind, invocation.origin.name().to_owned(), invocation.cwd.clone(), text.to_owned());
        if let Some(known) = self.known.borrow().get(&asked) {
            return Rc::clone(known);
        }
        let looked = invocation.cwd.is_dir();
        let found = |catalog: &Catalog, policy: &Policy| {
            let mut judgment = match looked {
                true => judge_here(invocation, catalog, policy),
                false => judge(invocation, catalog, policy, &Answers::none()),
            };
            judgment.risk = behaviour::weigh(judgment.risk, &SessionState::default(), policy, &invocation.cwd);
            judgment
        };
        let before = found(&self.built_in, self.now.policy());
        let after = found(&self.other.catalog, self.other.policy());
        let analysis = Rc::new(TextAnalysis {
            before: PolicyFindings::of(&before),
            after: PolicyFindings::of(&after),
            shape: after.shape,
            bound_to: after.bound_to,
            may_grant: after.may_grant,
            unread: after.unread,
            looked,
        });
        if self.known.borrow().len() < MAX_KNOWN {
            self.known.borrow_mut().insert(asked, Rc::clone(&analysis));
        }
        analysis
    }

    /// Returns the invocation of a row, in the current environment.
    fn invocation(&self, entry: &Entry, text: &str, directory: &Path) -> Option<Invocation> {
        let supported = self
            .other
            .policy()
            .support
            .iter()
            .find(|support| support.argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ") == text);
        let request = match (supported, changes(entry.kind, text)) {
            _ if entry.tool.is_some() => self.other.tool(ToolCall::written(text)?),
            (Some(support), _) => Request::Argv(support.argv.iter().map(Into::into).collect()),
            (None, Some(ToolAction::Files(changes))) => Request::Files(changes),
            (None, _) => self.other.plain_line(text.into()).ok()?,
        };
        let mut invocation = self.other.caller.invocation(request);
        invocation.origin = Origin::named(entry.origin.as_deref()?)?;
        invocation.cwd = directory.to_owned();
        invocation.env.variables.insert("PWD".into(), directory.into());
        let or = |text: &Option<String>| text.clone().unwrap_or_default();
        invocation.session = Session { id: or(&entry.session), root: or(&entry.root), agent: entry.agent.clone() };
        Some(invocation)
    }
}

/// A row, and the current findings in its text.
struct PastEntry<'a> {
    entry: &'a Entry,
    analysis: &'a TextAnalysis,
    comparison: &'a PolicyComparison,
}

impl PastEntry<'_> {
    /// Returns the tier of the programs without any finding.
    fn base(&self) -> Tier {
        let (before, after) = (self.analysis.before.base, self.analysis.after.base);
        if before != after {
            return after;
        }
        let tier = self.entry.tier.unwrap_or(Tier::Safe);
        let found = self.entry.findings.iter().map(|finding| finding.tier).max().unwrap_or(Tier::Safe);
        let raised = self.entry.context.iter().any(|entry| entry.fact == CircumstanceFact::Production);
        match found < tier {
            true if raised && tier == Tier::Medium => Tier::Low,
            true => tier,
            false => before.min(tier),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let (catalog, policy) = (&self.comparison.other.catalog, self.comparison.other.policy());
        let TextAnalysis { before: old, after: new, .. } = self.analysis;
        let mut all = Vec::new();
        for recorded in &self.entry.findings {
            let (before, after) = (old.finding(&recorded.rule), new.finding(&recorded.rule));
            // guard itself makes the findings of these families, without rules.
            let is_built_in = ["opaque.", "tools.", "mcp."].iter().any(|family| recorded.rule.starts_with(family))
                || self.comparison.built_in.origin(&recorded.rule).is_some();
            let known = is_built_in || catalog.origin(&recorded.rule).is_some();
            match (before, after) {
                _ if !known => {}
                // The other policy drops the finding or replaces it by another one.
                (Some(_), None) => {}
                (Some(before), Some(after)) if !same(before, after) => all.push(after.clone()),
                // A pattern file may have changed since, so its current finding counts. If there is none, the recorded
                // one counts only if the record hides part of the command, which the rule may have matched.
                (_, Some(after)) if !is_built_in => all.push(after.clone()),
                (_, None) if !is_built_in && !self.entry.redacted => {}
                _ => all.push(finding(recorded)),
            }
        }
        let recorded = |rule: &str| self.entry.findings.iter().any(|known| known.rule == rule);
        for added in &new.findings {
            if !recorded(&added.rule) && old.finding(&added.rule).is_none_or(|before| !same(before, added)) {
                all.push(added.clone());
            }
        }
        all.retain(|finding| finding.tier == Tier::Critical || !policy.disabled_rules.contains(&finding.rule));
        all
    }

    fn context(&self) -> Vec<Circumstance> {
        let (policy, now) = (self.comparison.other.policy(), self.comparison.now.policy());
        let TextAnalysis { before: old, after: new, .. } = self.analysis;
        let mut all: Vec<Circumstance> = Vec::new();
        for recorded in &self.entry.context {
            let fact = recorded.fact;
            if old.has(fact) && !new.has(fact) {
                continue;
            }
            let Some(weight) = policy.weights.get(&fact) else { continue };
            // The weight of this circumstance counts once per repetition.
            let each = now.weights.get(&fact).map_or(0, |weight| weight.0);
            let times = if fact == CircumstanceFact::AskedAgain && each > 0 { recorded.weight.0 / each } else { 1 };
            let weight = Weight(weight.0.saturating_mul(times.max(1)));
            all.push(Circumstance { fact, weight, detail: recorded.detail.clone() });
        }
        for added in &new.context {
            if !old.has(added.fact) && !self.entry.context.iter().any(|known| known.fact == added.fact) {
                all.push(added.clone());
            }
        }
        all
    }
}

fn same(one: &Finding, other: &Finding) -> bool {
    (one.tier, one.weight, one.deny, one.reversibility) == (other.tier, other.weight, other.deny, other.reversibility)
}

fn finding(entry: &FindingEntry) -> Finding {
    Finding {
        rule: entry.rule.clone(),
        tier: entry.tier,
        weight: entry.weight,
        reversibility: entry.reversibility,
        reason: entry.reason.clone(),
        instead: entry.instead.clone(),
        span: Span::new(entry.span[0], entry.span[1]),
        touches: entry.touches.clone(),
        deny: entry.deny,
        yolo: false,
        reversible: false,
        approvals: entry.approvals,
        notes: entry.notes.clone(),
        lowered: entry.lowered.clone(),
        act: None,
    }
}

/// Returns the recorded grant that allowed the command at the time. Grants of the configuration come from the other
/// policy.
fn stored(entry: &Entry, invocation: &Invocation) -> Option<Grant> {
    let id = entry.grant.as_deref()?.parse().ok()?;
    Some(Grant {
        id: GrantId::Stored(id),
        what: GrantSubject::Exact { command: invocation.display() },
        place: GrantPlace::Anywhere,
        until: GrantExpiry::Revoked,
        given: 0,
        words: String::new(),
    })
}

/// Returns the approval of the parent command if the command was part of one that a person approved.
fn above(entry: &Entry, risk: &Risk) -> Option<ParentApproval> {
    let row = entry.about.filter(|_| entry.settled_by.as_deref() == Some("above"))?;
    Some(ParentApproval { row, tier: entry.tier.unwrap_or(risk.tier) })
}

/// Parses the file changes of an agent's tool as a row describes them: `write a.txt; delete b.txt`.
fn changes(kind: RowKind, text: &str) -> Option<ToolAction> {
    const KINDS: [ChangeKind; 4] = [ChangeKind::Write, ChangeKind::Edit, ChangeKind::Delete, ChangeKind::Move];
    if kind != RowKind::Advised {
        return None;
    }
    let one = |part: &str| {
        let (word, path) = part.split_once(' ')?;
        let kind = KINDS.into_iter().find(|kind| kind.word() == word)?;
        let path = match path.strip_prefix('\'').and_then(|path| path.strip_suffix('\'')) {
            Some(quoted) => quoted.replace(r"'\''", "'"),
            None => path.to_owned(),
        };
        // Accept only the exact form in which such changes are recorded. Anything else is a command.
        (part == format!("{word} {}", quote(&path))).then_some(FileChange { kind, path })
    };
    text.split("; ").map(one).collect::<Option<Vec<_>>>().map(ToolAction::Files)
}
