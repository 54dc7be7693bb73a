//! Decides about a judged command, in the order of docs/risk.md.

use super::{ApprovalReason, Clearance, Decision, Mode, Policy, Prompt, Refusal, SessionState, Support};
use crate::judge::Judgment;
use crate::judge::grant::{Grant, GrantId, GrantPlace, GrantSubject, ShapeScope};
use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::risk::{CircumstanceFact, Risk, Tier};

/// Decides about a judged command in the order of docs/risk.md: deny rules, support commands, the floor, grants, the
/// score; and, for commands that guard would ask about, the stop after denials and the prompt limit.
///
/// `grants` are those that are valid now: for this session, not expired, not revoked.
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
    // If a tier requires several approvers, support commands still run; not so if a rule for this command requires
    // them.
    let ruled = risk.findings.iter().any(|finding| finding.approvals > 1 || finding.is_decision());
    if risk.tier <= Tier::Medium && !ruled && is_support(invocation, policy) {
        return cleared(ApprovalReason::Support);
    }
    // No grant, mode or approval of an enclosing command replaces several approvers, or a decision that a person has to
    // take every time.
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
    // The prompt limit must not keep a person in a crisis from an answer.
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

/// Decides about a command that a user approved in advance (`--yes`): up to tier 3, and only at the user's own
/// terminal.
#[must_use]
pub fn yes_in_advance(invocation: &Invocation, prompt: &Prompt) -> Option<ApprovalReason> {
    let plain = prompt.tier < Tier::Critical && prompt.approvals == 1 && !prompt.decision;
    (invocation.origin == Origin::Cli && plain).then_some(ApprovalReason::YesInAdvance)
}

/// Reports whether the command changes production. guard then asks with any threshold.
pub(in crate::judge) fn must_ask(risk: &Risk) -> bool {
    risk.tier >= Tier::Medium
        && risk.context.iter().any(|circumstance| circumstance.fact == CircumstanceFact::Production)
}

/// Reports whether guard consults the reviewer although the score is below the threshold. In another mode than `smart`,
/// guard asks a person.
#[must_use]
pub fn is_sent(risk: &Risk, policy: &Policy) -> bool {
    let may_be = policy.mode != Mode::Off && !risk.is_decision();
    may_be && risk.findings.iter().any(|finding| policy.names_for_review(&finding.rule))
}

fn below_threshold(invocation: &Invocation, risk: &Risk, policy: &Policy) -> bool {
    risk.score < policy.thresholds.of(invocation.origin)
}

/// Reports whether a command string is exactly one of the policy's support commands. Whether it runs is decided by
/// [`decide`].
#[must_use]
pub fn is_support_line(line: &str, policy: &Policy) -> bool {
    let words = if policy.support.is_empty() { None } else { plain_words(line) };
    words.is_some_and(|words| is_support_argv(&words, policy))
}

/// Reports the same for a program with its arguments.
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
            // An earlier command of this shell may have redefined the name.
            let spoken_of =
                |name: &String| !name.is_empty() && memchr::memmem::find(&line.before, name.as_bytes()).is_some();
            !words.first().is_none_or(spoken_of) && is_support_argv(&words, policy)
        }
        _ => false,
    }
}

/// Returns the words of a command string that is one simple command without expansions: plain words, and quoted words
/// without special characters. `None`: it may be more than that.
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

/// Returns the first grant that covers the command. The order is: exact, shape, rule, trusted session.
fn covering<'a>(invocation: &Invocation, judgment: &Judgment, grants: &'a [Grant]) -> Option<&'a Grant> {
    if grants.is_empty() || !judgment.may_grant {
        return None;
    }
    let cwd = invocation.cwd.to_string_lossy();
    let here = |grant: &&Grant| grant.place.holds(&cwd);
    let command = invocation.display();
    let exact = |grant: &&Grant| matches!(&grant.what, GrantSubject::Exact { command: known } if *known == command);
    let shape = |grant: &&Grant| match &grant.what {
        GrantSubject::Shape(scope) => covers_shape(grant, scope, judgment, &cwd),
        _ => false,
    };
    let rule = |grant: &&Grant| match &grant.what {
        GrantSubject::Rule { rule } => {
            let mut raised = judgment.risk.findings.iter().filter(|finding| finding.tier >= Tier::Medium).peekable();
            raised.peek().is_some() && raised.all(|finding| finding.rule == *rule)
        }
        GrantSubject::Exact { .. } | GrantSubject::Shape(_) | GrantSubject::UpTo { .. } => false,
    };
    // Trust in a session does not extend to acts on other people, acts in production and repeated requests.
    let plain =
        !must_ask(&judgment.risk) && judgment.risk.context.iter().all(|circumstance| !circumstance.fact.is_conduct());
    let trusted = |grant: &&Grant| match grant.what {
        GrantSubject::UpTo { tier } => plain && judgment.risk.tier <= tier.min(Tier::Medium),
        GrantSubject::Exact { .. } | GrantSubject::Shape(_) | GrantSubject::Rule { .. } => false,
    };
    let find = |covers: &dyn Fn(&&Grant) -> bool| grants.iter().filter(here).find(|grant| covers(grant));
    find(&exact).or_else(|| find(&shape)).or_else(|| find(&rule)).or_else(|| find(&trusted))
}

/// Reports whether a shape grant that is valid in this directory covers the command.
fn covers_shape(grant: &Grant, scope: &ShapeScope, judgment: &Judgment, cwd: &str) -> bool {
    let directory = match &grant.place {
        GrantPlace::Directory { path } => Some(path.as_str()),
        GrantPlace::Anywhere => None,
    };
    let files = judgment.shape.iter().flat_map(|shape| &shape.files);
    (judgment.has_shape(&scope.shape) || names_no_rules(grant, &scope.shape, judgment))
        && scope.tier.is_none_or(|most| judgment.risk.tier <= most)
        && judgment.reach.is_within(directory, cwd)
        && judgment.reach.are_below(files, scope.within.as_deref(), directory, cwd)
}

/// Reports whether a shape grant without rules is for this command. Such a grant is from a configuration file or from
/// an old record, and covers at most tier 2.
fn names_no_rules(grant: &Grant, known: &str, judgment: &Judgment) -> bool {
    let is_written = matches!(grant.id, GrantId::Configured(_));
    // A grant for a command that runs a script is bound to the bytes of the script, which such a grant does not
    // contain.
    judgment.bound_to.is_empty()
        && judgment.shape.as_ref().is_some_and(|shape| shape.text == known || shape.names.as_deref() == Some(known))
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
