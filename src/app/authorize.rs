//! Turns a judged command into one that may run now: decides, asks a person if the policy requires it, judges the
//! command again after the answer, and records the result.
//!
//! Out of scope: running the command. A refusal is printed and recorded when [`authorize`] returns.

use std::io::Write;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::approver::sign;
use super::ask;
use super::ask_outcome::{self, AskOutcome, GrantOffer};
use super::changes;
use super::engine::{Engine, JudgedCommand, changed_file};
use super::exit;
use super::intent::{RowDetails, keep_to_retention, record};
use super::reviewer::{self, Review};
use super::unknown_envelope;
use crate::exec::{self, Inherited};
use crate::judge::Judgment;
use crate::judge::approved::{Approved, PriorApproval, Receipt};
use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::policy::{ApprovalReason, Decision, Prompt, Refusal, yes_in_advance};
use crate::judge::review::{Opinion, OpinionVerdict};
use crate::judge::risk::{Risk, Tier};
use crate::store::{HandedCommand, IntentRow, RecordedDecision};
use crate::ui::card_view::OpinionLine;
use crate::ui::{verdict, visible};
use crate::world::identity::Caller;
use crate::world::paths;

/// A command that may run.
#[derive(Debug)]
pub struct ApprovedCommand {
    pub approved: Approved,
    pub receipt: Receipt,
    /// Whether guard asked about it, so that it has to wait for it.
    pub asked: bool,
}

/// The options of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// The user approved the command in advance.
    pub yes: bool,
    /// If no user is at the terminal, guard files the request and returns at once.
    pub no_wait: bool,
    /// guard waits for the command even if it did not ask.
    pub watched: bool,
    /// guard neither asks nor prints. The result is [`exit::NOT_UNASKED`] if the command needs an answer.
    pub unasked: bool,
}

/// Judges a command, decides, asks if necessary, and records the intent.
///
/// # Errors
/// The exit code of a refusal, which was printed.
pub fn authorize(
    engine: &Engine,
    invocation: Invocation,
    options: RunOptions,
    inherited: &mut Inherited,
) -> Result<ApprovedCommand, u8> {
    let JudgedCommand { judgment, decision } = engine.judge(&invocation);
    match decision {
        Decision::Run(cleared) => {
            let approved = Approved::by_policy(invocation, &judgment, &cleared);
            at_once(engine, approved, &judgment, options)
        }
        Decision::Ask(_) | Decision::Refuse(_) if options.unasked => Err(exit::NOT_UNASKED),
        Decision::Ask(prompt) if options.yes && may_say_yes(engine, &invocation, &prompt) => {
            at_once(engine, Approved::in_advance(invocation, &judgment, PriorApproval::OwnYes), &judgment, options)
        }
        Decision::Ask(prompt) => match by_host(engine, &invocation, &judgment) {
            Some(ready) => Ok(ready),
            None => {
                say_of_envelope(engine, &invocation);
                with_a_person(engine, invocation, &judgment, &prompt, options, inherited)
            }
        },
        Decision::Refuse(refusal) => {
            say_of_envelope(engine, &invocation);
            Err(refuse(engine, &invocation, &judgment, &refusal))
        }
    }
}

/// Prints once per session that the command is in an envelope that guard does not know.
fn say_of_envelope(engine: &Engine, invocation: &Invocation) {
    if let Some(warning) = unknown_envelope::warning(engine, invocation) {
        let _ = writeln!(std::io::stderr(), "guard: {warning}");
    }
}

/// Records the intent of a command that runs without a prompt.
fn at_once(
    engine: &Engine,
    approved: Approved,
    judgment: &Judgment,
    options: RunOptions,
) -> Result<ApprovedCommand, u8> {
    if let Some(what) = changed_file(approved.invocation(), judgment) {
        return Err(refuse(engine, approved.invocation(), judgment, &Refusal::Changed { what }));
    }
    let process = if options.watched { Caller::unique_name() } else { None };
    ready(engine, approved, judgment, &RowDetails { process: process.as_deref(), ..RowDetails::default() }, false)
}

/// Reports whether an approval in advance is accepted. An approval that has to be signed is given on the card.
fn may_say_yes(engine: &Engine, invocation: &Invocation, prompt: &Prompt) -> bool {
    yes_in_advance(invocation, prompt).is_some()
        && engine.is_answered_here()
        && !sign::is_wanted(&engine.approvers(), prompt.tier, prompt.approvals)
}

/// Returns the approval of a command that a hook left to its agent's prompt, or that a person approved in the hook, if
/// the agent now runs the command. The approval is used by this.
fn by_host(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> Option<ApprovedCommand> {
    let Request::Line(line) = &invocation.request else { return None };
    // A command that the agent's command starts is a different one, even with the same text; so is one with positional
    // parameters.
    let whole = line.positional.is_empty();
    if !whole || judgment.risk.tier == Tier::Critical || !engine.caller.is_child_of_agent() {
        return None;
    }
    // An agent's prompt cannot sign, and cannot replace a decision that a person has to take.
    if judgment.risk.is_decision() {
        return None;
    }
    if sign::is_wanted(&engine.approvers(), judgment.risk.tier, engine.policy().approvals.wanted(&judgment.risk)) {
        return None;
    }
    let directory = paths::physical(&invocation.cwd);
    let handed = HandedCommand { text: &line.text, cwd: &directory, root: &invocation.session.root };
    let approved = Approved::in_advance(invocation.clone(), judgment, PriorApproval::Host);
    let (settled, changes) =
        (RecordedDecision::Allowed(&ApprovalReason::Host), changes::of(engine, invocation, judgment));
    let row = IntentRow {
        changes: &changes,
        ..IntentRow::plain(Timestamp::now(), invocation, approved.digest(), &judgment.risk, settled)
    };
    let receipt = engine.store().ok()?.intent_of_handed(&row, &handed).ok()??;
    Some(ApprovedCommand { approved, receipt, asked: false })
}

/// Asks, and applies the answer.
fn with_a_person(
    engine: &Engine,
    invocation: Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    options: RunOptions,
    inherited: &mut Inherited,
) -> Result<ApprovedCommand, u8> {
    let shown = PromptedCommand::now(engine, invocation, judgment);
    inherited.hold_alarm();
    let answered = shown.ask(prompt, options.no_wait);
    shown.apply_answer(answered)
}

/// A command that guard asks about, as it was when the prompt appeared.
struct PromptedCommand<'a> {
    engine: &'a Engine,
    invocation: Invocation,
    judgment: &'a Judgment,
    /// The device and inode of the working directory.
    directory: Option<(u64, u64)>,
}

/// The outcome of asking, and how long it took.
struct TimedOutcome {
    outcome: AskOutcome,
    /// The duration.
    time: Duration,
    /// The opinion of the reviewer.
    opinion: Option<Opinion>,
}

impl<'a> PromptedCommand<'a> {
    fn now(engine: &'a Engine, invocation: Invocation, judgment: &'a Judgment) -> Self {
        let directory = paths::directory_identity(&invocation.cwd);
        Self { engine, invocation, judgment, directory }
    }

    /// Consults the reviewer, and asks the people who may answer.
    fn ask(&self, prompt: &Prompt, no_wait: bool) -> TimedOutcome {
        let Self { engine, invocation, judgment, .. } = self;
        let begun = Instant::now();
        let mut review = Review::begin(engine, invocation, judgment, Duration::MAX);
        let outcome = ask::ask(engine, invocation, judgment, prompt, no_wait, &mut review);
        TimedOutcome { outcome, time: begun.elapsed(), opinion: review.opinion.take() }
    }

    /// Records what the answer decided, and refuses or returns what may run.
    fn apply_answer(self, TimedOutcome { outcome, time, opinion }: TimedOutcome) -> Result<ApprovedCommand, u8> {
        let opinion = opinion.as_ref();
        match outcome {
            AskOutcome::Yes { grant, by } => {
                let details = RowDetails { answer: Some(time), words: by.as_deref(), opinion, ..RowDetails::default() };
                self.allowed(grant.as_ref(), details)
            }
            AskOutcome::Reviewed(approved) => reviewed(self.engine, *approved, self.judgment, opinion),
            AskOutcome::Queued { request } => {
                let _ = writeln!(
                    std::io::stderr(),
                    "guard: queued as request {request}; guard wait {request} waits for the answer. Once approved, \
                     the same command in the same directory runs once"
                );
                Err(exit::QUEUED)
            }
            AskOutcome::No(refusal) => Err(self.refuse(&refusal, was_asked(&refusal).then_some(time), opinion)),
            AskOutcome::Killed { refusal, signal } => {
                let _ = self.refuse(&refusal, Some(time), opinion);
                exec::leave(exec::ProcessStatus::Killed { signal, core: false });
            }
        }
    }

    /// Records the approval of a person, with a grant if there is one, if the command is still what the card showed.
    fn allowed(self, grant: Option<&GrantOffer>, details: RowDetails<'_>) -> Result<ApprovedCommand, u8> {
        let approved = match self.still_approved() {
            Ok(approved) => approved,
            Err(refusal) => return Err(self.refuse(&refusal, details.answer, details.opinion)),
        };
        let process = Caller::unique_name();
        let details = RowDetails { process: process.as_deref(), ..details };
        let ready = ready(self.engine, approved, self.judgment, &details, true)?;
        ask_outcome::store_grant_or_warn(self.engine, &self.invocation, grant);
        Ok(ready)
    }

    /// Judges the command again, and returns the approval if it is valid for the new judgment.
    fn still_approved(&self) -> Result<Approved, Refusal> {
        let fresh = self.engine.judge_again(&self.invocation);
        if self.directory != paths::directory_identity(&self.invocation.cwd) {
            return Err(Refusal::Changed { what: "the working directory".to_owned() });
        }
        Approved::by_person(self.invocation.clone(), self.judgment, &fresh)
    }

    fn refuse(&self, refusal: &Refusal, answer: Option<Duration>, opinion: Option<&Opinion>) -> u8 {
        refuse_with(self.engine, &self.invocation, self.judgment, refusal, (answer, opinion))
    }
}

/// Reports whether a person was asked: not if nobody could be, or if the reviewer denied the command.
const fn was_asked(refusal: &Refusal) -> bool {
    !matches!(
        refusal,
        Refusal::NoOne { .. } | Refusal::Crowded { .. } | Refusal::Unrecorded { .. } | Refusal::Reviewer { .. }
    )
}

/// Records the approval of a reviewer. guard waits for the command, so that its result is recorded.
fn reviewed(
    engine: &Engine,
    approved: Approved,
    judgment: &Judgment,
    opinion: Option<&Opinion>,
) -> Result<ApprovedCommand, u8> {
    if let Some(opinion) = opinion {
        reviewer::warn_of_yolo(engine, approved.invocation(), opinion);
    }
    let process = Caller::unique_name();
    let details = RowDetails { process: process.as_deref(), opinion, ..RowDetails::default() };
    ready(engine, approved, judgment, &details, true)
}

/// Records that a command runs. If that fails, the command is refused and the reason printed.
fn ready(
    engine: &Engine,
    approved: Approved,
    judgment: &Judgment,
    details: &RowDetails<'_>,
    asked: bool,
) -> Result<ApprovedCommand, u8> {
    let settled = RecordedDecision::Allowed(approved.basis());
    match record(engine, approved.invocation(), judgment, approved.digest(), settled, details) {
        Ok(receipt) => Ok(ApprovedCommand { approved, receipt, asked }),
        Err(refusal) => Err(say(&refusal, &judgment.risk)),
    }
}

/// Records and prints a refusal. It is a refusal even if it cannot be recorded.
fn refuse(engine: &Engine, invocation: &Invocation, judgment: &Judgment, refusal: &Refusal) -> u8 {
    refuse_with(engine, invocation, judgment, refusal, (None, None))
}

/// Records and prints a refusal, with the time that people had to answer and the reviewer's opinion.
fn refuse_with(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    refusal: &Refusal,
    (answer, opinion): (Option<Duration>, Option<&Opinion>),
) -> u8 {
    let digest = invocation.digest(&judgment.facts.expanded);
    let nothing = Risk::default();
    let code = say(refusal, if knows_the_risk(invocation.origin, refusal) { &nothing } else { &judgment.risk });
    for problem in engine.problems() {
        let _ = writeln!(std::io::stderr(), "guard: {problem}");
    }
    if let Some(opinion) = opinion.filter(|opinion| kept_from_deciding(opinion, refusal)) {
        let _ = writeln!(std::io::stderr(), "guard: {}", visible::text(&OpinionLine::of(opinion).line));
    }
    let details = RowDetails { answer, opinion, ..RowDetails::default() };
    let _ = record(engine, invocation, judgment, digest, RecordedDecision::Refused(refusal), &details);
    if let Some(warning) = reviewer::yolo_in(engine, invocation) {
        let _ = writeln!(std::io::stderr(), "guard: {warning}");
    }
    keep_to_retention(engine);
    code
}

/// Reports whether the reader of the refusal has just denied the command on the card, which shows the risk.
fn knows_the_risk(origin: Origin, refusal: &Refusal) -> bool {
    origin == Origin::Cli && matches!(refusal, Refusal::Person { .. })
}

/// Reports whether the opinion explains why the reviewer did not decide. It is printed only if no card showed it.
fn kept_from_deciding(opinion: &Opinion, refusal: &Refusal) -> bool {
    opinion.says == OpinionVerdict::Nothing && matches!(refusal, Refusal::NoOne { .. })
}

/// Prints one line on standard error: the kind of refusal, the most severe finding, and the alternative.
fn say(refusal: &Refusal, risk: &Risk) -> u8 {
    let _ = writeln!(std::io::stderr(), "{}", verdict::refused(refusal, risk));
    exit::REFUSED
}

#[cfg(test)]
mod tests;
