//! The way to a decision, in the order of docs/risk.md.

use super::{ApprovalReason, Clearance, Decision, Mode, Policy, Prompt, Refusal, SessionState, Support};
use crate::judge::Judgment;
use crate::judge::grant::{Grant, GrantId, GrantPlace, GrantSubject};
use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::risk::{CircumstanceFact, Risk, Tier};

/// Weighs a judged command against the policy, in the order of docs/risk.md: deny rules, support, the floor, grants,
/// the score; and for what would be asked, the breaker and the prompt limit.
///
/// `grants` are those that are in force (their session is this one, their date is not past, none is revoked).
pub fn decide(
    invocation: &Invocation,
    judgment: &Judgment,
    policy: &Policy,
    standing: &SessionState,
    grants: &[Grant],
) -> Decision {
    let risk = &judgment.risk;
    if let Some(finding) = risk.findings.iter().find(|finding| finding.deny) {
        return Decision::Refuse(Refusal::Rule { rule: finding.rule.clone(), reason: finding.reason.clone() });
    }
    let cleared = |basis| Decision::Run(Clearance { basis });
    // A tier may want several approvers, and support runs all the same; a rule that does speaks of this very command.
    let ruled = risk.findings.iter().any(|finding| finding.approvals > 1 || finding.is_decision());
    if risk.tier <= Tier::Medium && !ruled && is_support(invocation, policy) {
        return cleared(ApprovalReason::Support);
    }
    // What several approvers sign, and what is a person's decision each time, nothing else lets run: no grant, no mode, no
    // yes to a command above it.
    let is_decision = risk.is_decision();
    if risk.tier < Tier::Critical && policy.approvals.wanted(risk) == 1 && !is_decision {
        if let Some(grant) = covering(invocation, judgment, grants) {
            return cleared(ApprovalReason::Grant(grant.id.clone()));
        }
        if let Some(above) = standing.above.filter(|above| risk.tier >= Tier::Medium && risk.tier <= above.tier) {
            return cleared(ApprovalReason::Parent(above.row));
        }
        if policy.mode == Mode::Off
            || (risk.tier < Tier::High
                && !must_ask(risk)
                && below_threshold(invocation, risk, policy)
                && !is_sent(risk, policy))
        {
            return cleared(if policy.mode == Mode::Off { ApprovalReason::ModeOff } else { ApprovalReason::Score });
        }
    }
    // Whoever needs help is not kept from a person by how often they were asked.
    if invocation.origin.is_guarded() && !is_decision {
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
pub fn yes_in_advance(invocation: &Invocation, prompt: &Prompt) -> Option<ApprovalReason> {
    let plain = prompt.tier < Tier::Critical && prompt.approvals == 1 && !prompt.decision;
    (invocation.origin == Origin::Cli && plain).then_some(ApprovalReason::YesInAdvance)
}

/// A change of production is asked whatever the threshold.
pub(in crate::judge) fn must_ask(risk: &Risk) -> bool {
    risk.tier >= Tier::Medium
        && risk.context.iter().any(|circumstance| circumstance.fact == CircumstanceFact::Production)
}

/// Whether the policy sends this to the reviewer below the threshold too; a person is asked where the mode no longer does.
#[must_use]
pub fn is_sent(risk: &Risk, policy: &Policy) -> bool {
    let may_be = policy.mode != Mode::Off && !risk.is_decision();
    may_be && risk.findings.iter().any(|finding| policy.names_for_review(&finding.rule))
}

fn below_threshold(invocation: &Invocation, risk: &Risk, policy: &Policy) -> bool {
    risk.score < policy.thresholds.of(invocation.origin)
}

/// Whether a line is exactly one of the policy's support commands and nothing else. What it would do is not looked at:
/// whether it runs, [`decide`] says.
#[must_use]
pub fn is_support_line(line: &str, policy: &Policy) -> bool {
    let words = if policy.support.is_empty() { None } else { plain_words(line) };
    words.is_some_and(|words| is_support_argv(&words, policy))
}

/// The same of a program and its arguments.
#[must_use]
pub fn is_support_argv(words: &[String], policy: &Policy) -> bool {
    policy.support.iter().any(|known| words == known.argv.as_slice())
}

fn is_support(invocation: &Invocation, policy: &Policy) -> bool {
    match &invocation.request {
        Request::Argv(argv) => {
            let same =
                |known: &Support| argv.iter().map(|word| word.to_str()).eq(known.argv.iter().map(|word| Some(&**word)));
            policy.support.iter().any(same)
        }
        Request::Line(line) if !policy.support.is_empty() && line.positional.is_empty() => {
            let Some(words) = std::str::from_utf8(&line.text).ok().and_then(plain_words) else { return false };
            // What this shell ran before may have made something else of the name.
            let spoken_of =
                |name: &String| !name.is_empty() && memchr::memmem::find(&line.before, name.as_bytes()).is_some();
            !words.first().is_none_or(spoken_of) && is_support_argv(&words, policy)
        }
        _ => false,
    }
}

/// The words of a line that is one simple command and nothing a shell would do anything with: plain words, and words in
/// quotes that hold nothing special. `None`: it is more, or may be.
fn plain_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.trim_matches([' ', '\t', '\n']).chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let inner = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' | '!' if c == '"' => return None,
                        other => inner.push(other),
                    }
                }
            }
            _ if c.is_ascii_alphanumeric() || "-_./:,+@%".contains(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

/// The first grant that covers the command: exact before shape before rule before a trusted session.
fn covering<'a>(invocation: &Invocation, judgment: &Judgment, grants: &'a [Grant]) -> Option<&'a Grant> {
    if grants.is_empty() || !judgment.may_grant {
        return None;
    }
    let cwd = invocation.cwd.to_string_lossy();
    let here = |grant: &&Grant| grant.place.holds(&cwd);
    let command = invocation.display();
    let exact = |grant: &&Grant| matches!(&grant.what, GrantSubject::Exact { command: known } if *known == command);
    let to_grant = judgment.shape_to_grant();
    let shape = |grant: &&Grant| match &grant.what {
        GrantSubject::Shape { shape: known } => {
            let directory = match &grant.place {
                GrantPlace::Directory { path } => Some(path.as_str()),
                GrantPlace::Anywhere => None,
            };
            let same = to_grant.as_ref() == Some(known) || names_no_rules(grant, known, judgment);
            same && judgment.reach.is_within(directory, &cwd)
        }
        _ => false,
    };
    let rule = |grant: &&Grant| match &grant.what {
        GrantSubject::Rule { rule } => {
            let mut raised = judgment.risk.findings.iter().filter(|finding| finding.tier >= Tier::Medium).peekable();
            raised.peek().is_some() && raised.all(|finding| finding.rule == *rule)
        }
        GrantSubject::Exact { .. } | GrantSubject::Shape { .. } | GrantSubject::UpTo { .. } => false,
    };
    // Who trusts a session trusts what it has been doing: not what it does to others, in production, or again.
    let plain =
        !must_ask(&judgment.risk) && judgment.risk.context.iter().all(|circumstance| !circumstance.fact.is_conduct());
    let trusted = |grant: &&Grant| match grant.what {
        GrantSubject::UpTo { tier } => plain && judgment.risk.tier <= tier.min(Tier::Medium),
        GrantSubject::Exact { .. } | GrantSubject::Shape { .. } | GrantSubject::Rule { .. } => false,
    };
    let find = |covers: &dyn Fn(&&Grant) -> bool| grants.iter().filter(here).find(|grant| covers(grant));
    find(&exact).or_else(|| find(&shape)).or_else(|| find(&rule)).or_else(|| find(&trusted))
}

/// Whether a grant of a shape covers the command though it names no rules: one that a person wrote into the configuration,
/// or an old one, of which nothing tells what it was given for beyond tier 2.
fn names_no_rules(grant: &Grant, known: &str, judgment: &Judgment) -> bool {
    let is_written = matches!(grant.id, GrantId::Configured(_));
    // What a script does that it runs is bound to the script's bytes, which such a grant does not name.
    judgment.bound_to.is_empty()
        && judgment.shape.as_deref() == Some(known)
        && (is_written || judgment.risk.tier <= Tier::Medium)
}

fn prompt(risk: &Risk, policy: &Policy) -> Prompt {
    let timeouts = policy.timeouts;
    let critical = risk.tier == Tier::Critical;
    let (approvals, decision) = (policy.approvals.wanted(risk), risk.is_decision());
    Prompt {
        tier: risk.tier,
        seconds: match risk.tier {
            Tier::Safe | Tier::Low | Tier::Medium => timeouts.medium,
            Tier::High => timeouts.high,
            Tier::Critical => timeouts.critical,
        },
        finish_seconds: timeouts.critical_finish,
        word: critical,
        may_grant: !critical && approvals == 1 && !decision,
        approvals,
        decision,
    }
}
