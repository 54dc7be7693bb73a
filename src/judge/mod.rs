//! The judge: pure functions without I/O, clocks, randomness, printing or unsafe code.
//!
//! [`judge`] parses an invocation, analyses it into acts, matches the acts against the rules, and combines the findings
//! into a risk. It gets facts about the system from the answers that the caller passes, which may look each fact up
//! when the judge asks for it.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros))]

use std::collections::BTreeMap;

use analysis::act::Facts;
use analysis::fuel::Fuel;
use analysis::inquiry::{Answers, Inquiry};
use analysis::question::{FileFacts, Question, WorldAnswer};
use grant::ShapeScope;
use invocation::{Invocation, Request};
use policy::Policy;
use risk::{Risk, Tier};
use rules::catalog::Catalog;

pub mod agent_template;
pub mod agents;
pub mod analysis;
pub mod answer_scope;
pub mod approved;
pub mod approver;
pub mod behaviour;
pub mod bindings;
pub mod consoles;
pub mod context;
pub mod document;
pub mod effect;
pub mod envelope;
pub mod grant;
pub mod invocation;
pub mod ledger;
pub mod lexicon;
pub mod matcher;
pub mod name_words;
pub mod nearest;
pub mod path_class;
pub mod policy;
pub mod reach;
pub mod reserved;
pub mod review;
pub mod risk;
pub mod rules;
pub mod shape;
pub mod sort;
pub mod syntax;
#[cfg(test)]
mod testing;
pub mod tier;
pub mod tools;

#[cfg(test)]
mod limits;
#[cfg(test)]
mod properties;
/// The rule of a finding for an analysis that exceeded its work limit.
const LIMIT: &str = "opaque.limit";

/// The judgment of an invocation, based on the available answers.
#[derive(Clone, Debug, Default)]
pub struct Judgment {
    pub facts: Facts,
    pub risk: Risk,
    /// The facts about the system on which it depends: the bytes of files, the targets of paths and of programs.
    pub rests_on: BTreeMap<Question, String>,
    /// The shape, filled in if guard may ask about the command. `None`: no shape grant is possible.
    pub shape: Option<shape::Shape>,
    /// The scripts that it runs, with their digests. A shape grant is valid for these bytes only.
    pub bound_to: Vec<String>,
    /// The paths and hosts that it affects, filled in if a shape grant could cover it.
    pub reach: reach::Reach,
    /// Whether a grant may cover it. A grant never covers tier 4, a shell, an interpreter, a wrapper, or a command that
    /// requires several approvers.
    pub may_grant: bool,
    /// Whether it runs a program or script of unknown effect, which no rule calls reversible. For the decisions that a
    /// reviewer may take, it is then irreversible.
    pub unread: bool,
    /// The cost of the analysis, in units of fuel.
    pub spent: u64,
}

/// Judges an invocation with these answers. Equal arguments always give equal judgments.
#[must_use]
pub fn judge(invocation: &Invocation, catalog: &Catalog, policy: &Policy, answers: &Answers<'_>) -> Judgment {
    let invocation = &*invocation.taken_in();
    let inquiry = Inquiry::new(answers);
    let judgment = judge_once(invocation, catalog, policy, &inquiry);
    if inquiry.fuel.lasts() {
        return judgment;
    }
    // If the scripts of the command exceed the work limit, they are judged like scripts that are too large to read, so
    // that the rest of the command is still analysed.
    let Some(beside) = answers.with_files_too_large() else { return judgment };
    let inquiry = Inquiry::with(&beside, Fuel::half());
    let mut whole = judge_once(invocation, catalog, policy, &inquiry);
    // The findings from before the limit may be more severe than a script of unknown content.
    let gravest =
        judgment.risk.findings.iter().filter(|finding| finding.rule != LIMIT).map(|finding| finding.tier).max();
    if !inquiry.fuel.lasts() || gravest.is_some_and(|tier| tier > whole.risk.tier) {
        return judgment;
    }
    whole.rests_on = judgment.rests_on;
    whole
}

fn judge_once(invocation: &Invocation, catalog: &Catalog, policy: &Policy, inquiry: &Inquiry<'_>) -> Judgment {
    let mut facts = analysis::work_out(invocation, catalog, inquiry);
    let mut findings = matcher::find(invocation, &facts, catalog, policy, inquiry);
    if let Request::Tool(call) = &invocation.request {
        findings.extend(tools::verdict(call, catalog).findings);
        tools::scrub(&mut findings, call);
    }
    if let Some(plain) = invocation.untyped() {
        findings.extend(consoles::unseen(&analysis::work_out(&plain, catalog, inquiry), catalog));
    }
    if let Some((led, lead)) = invocation.led() {
        let behind = analysis::work_out(&led, catalog, inquiry);
        let more = matcher::find(&led, &behind, catalog, policy, inquiry);
        join_behind(&mut findings, more, lead, invocation);
        facts.expanded.extend(behind.expanded);
    }
    let stays =
        |finding: &risk::Finding| finding.tier == Tier::Critical || finding.approvals > 1 || finding.is_decision();
    findings.retain(|finding| stays(finding) || !policy.disabled_rules.contains(&finding.rule));
    let base = facts.acts.iter().map(|act| act.tier).max().unwrap_or(Tier::Safe);
    let context = context::circumstances(invocation, &facts, &findings, catalog, policy, inquiry);
    let risk = Risk::join(base, findings, context);
    // A grant never covers a payment, and cannot describe the parts of a call that are not shown.
    let pays = matches!(invocation.request, Request::Tool(_)) && tools::pays(&risk.findings);
    let may_grant =
        shape::may_grant(&facts, &risk, catalog) && !pays && !invocation.hides() && policy.approvals.wanted(&risk) == 1;
    let is_flagged = risk.tier >= Tier::Medium || risk.score >= policy.thresholds.of(invocation.origin);
    let shape = if may_grant && is_flagged { shape::of(invocation, &facts, catalog, inquiry) } else { None };
    let reach = if shape.is_some() { reach::of(invocation, &facts, inquiry) } else { reach::Reach::default() };
    let spent = inquiry.fuel.spent();
    let bound_to = if shape.is_some() { shape::bound_to(&facts) } else { Vec::new() };
    let unread = review::has_unread(&facts, &risk, catalog);
    Judgment { risk, shape, bound_to, reach, may_grant, unread, rests_on: rests_on(inquiry.answers()), spent, facts }
}

/// Adds the findings that a command has only after the commands that its envelope runs before it.
fn join_behind(findings: &mut Vec<risk::Finding>, more: Vec<risk::Finding>, lead: usize, invocation: &Invocation) {
    let lead = u32::try_from(lead).unwrap_or(u32::MAX);
    let whole = syntax::tree::Span::new(0, u32::try_from(invocation.display().len()).unwrap_or(u32::MAX));
    for finding in more {
        let is_known = findings
            .iter()
            .any(|known| known.rule == finding.rule && known.tier >= finding.tier && known.weight >= finding.weight);
        if !is_known {
            let span = match finding.span.start.checked_sub(lead) {
                Some(start) => syntax::tree::Span::new(start, finding.span.end.saturating_sub(lead)),
                None => whole,
            };
            findings.push(risk::Finding { span, act: None, ..finding });
        }
    }
}

impl Judgment {
    /// Returns the narrowest shape grant that covers this command.
    #[must_use]
    pub fn shape_to_grant(&self) -> Option<ShapeScope> {
        let shape = self.shape.as_ref().filter(|_| self.may_grant)?;
        let scope =
            ShapeScope { shape: self.bracketed(&shape.text), within: shape.directory(), tier: Some(self.risk.tier) };
        Some(scope)
    }

    /// Reports whether a shape, with rules and scripts in brackets, is that of this command.
    #[must_use]
    pub fn has_shape(&self, known: &str) -> bool {
        self.shape.as_ref().is_some_and(|shape| {
            self.bracketed(&shape.text) == known
                || shape.names.as_ref().is_some_and(|names| self.bracketed(names) == known)
        })
    }

    /// Adds the rules that the command matches and the scripts that it runs to a shape, in brackets.
    fn bracketed(&self, shape: &str) -> String {
        let raised = self.risk.findings.iter().filter(|finding| finding.tier >= Tier::Medium);
        let mut rules: Vec<&str> = raised.map(|finding| finding.rule.as_str()).collect();
        sort::sort(&mut rules);
        rules.dedup();
        rules.extend(self.bound_to.iter().map(String::as_str));
        if rules.is_empty() { shape.to_owned() } else { format!("{shape} [{}]", rules.join(", ")) }
    }

    /// Reports whether the judgment is based on this answer.
    #[must_use]
    pub fn rests_on(&self, question: &Question, answer: &WorldAnswer) -> bool {
        self.rests_on.get(question).is_some_and(|judged| *judged == binding(answer))
    }

    /// Adds answers to which an approval is bound, although the judgment does not depend on them.
    pub fn bind(&mut self, answers: &Answers<'_>) {
        self.rests_on.extend(rests_on(answers));
    }

    /// Returns the difference due to which an approval of this judgment is not valid for `fresh`; `None` if it is
    /// valid.
    #[must_use]
    pub fn difference(&self, fresh: &Self) -> Option<String> {
        let bound = |judgment: &Self| bindings::Bindings::of(judgment, None);
        let scores = || (self.risk.score != fresh.risk.score).then(|| "the circumstances of the command".to_owned());
        bound(self).difference(&bound(fresh)).or_else(scores)
    }
}

fn describe(question: &Question) -> String {
    match question {
        Question::Path(path) | Question::Git(path) => format!("what is at {path}"),
        Question::Repository(path) => format!("the repository of {path}"),
        Question::File(path) => format!("the content of {path}"),
        Question::Program(name) | Question::Resolve { name, .. } => format!("the program that {name} resolves to"),
        Question::Changed(path) => format!("what was changed in the repository of {path}"),
        Question::Refs { dir, names } => format!("{} in the repository of {dir}", names.join(", ")),
        Question::Matches(pattern) => format!("what {pattern} matches"),
        Question::FileSnapshot(path) => format!("the modification time of {path}"),
        Question::Ledger => "what this session made".to_owned(),
    }
}

/// Returns the part of an answer to which an approval is bound.
fn binding(answer: &WorldAnswer) -> String {
    match answer {
        WorldAnswer::Path(facts) => format!("{:?} {} {}", facts.kind, facts.canonical, facts.symlink),
        WorldAnswer::Git(facts) => format!("{facts:?}"),
        WorldAnswer::Repository(facts) => match facts {
            Some(facts) => format!("{} {:?} {:?}", facts.root, facts.branch, facts.remotes),
            None => "none".to_owned(),
        },
        WorldAnswer::File(FileFacts::Text { digest, .. }) => format!("{}", invocation::Digest(*digest)),
        WorldAnswer::File(other) => format!("{other:?}"),
        WorldAnswer::Program(path) => format!("{path:?}"),
        WorldAnswer::Resolve(None) => "none".to_owned(),
        WorldAnswer::Resolve(Some(found)) => {
            let digest = found.digest.map(|digest| invocation::Digest(digest).to_string()).unwrap_or_default();
            let analysis::question::ProgramFacts { canonical, device, inode, bytes, changed, .. } = found;
            format!("{canonical} {device} {inode} {bytes} {changed} {digest}")
        }
        // They affect the findings, which are compared.
        WorldAnswer::Changed(files) | WorldAnswer::Matches(files) => format!("{files:?}"),
        WorldAnswer::FileSnapshot(_) | WorldAnswer::Refs(_) | WorldAnswer::Ledger(_) => String::new(),
        WorldAnswer::Unavailable => "unavailable".to_owned(),
    }
}

/// Returns the parts of all answers to which an approval is bound.
fn rests_on(answers: &Answers<'_>) -> BTreeMap<Question, String> {
    sort::map(answers.iter().map(|(question, answer)| (question.clone(), binding(answer))))
}
