//! From a judged command to one that may run now: decides, asks a person where the policy requires one, judges the
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

/// A command that may run now.
#[derive(Debug)]
pub struct ApprovedCommand {
    pub approved: Approved,
    pub receipt: Receipt,
    /// Somebody was asked about it: it is waited for.
    pub asked: bool,
}

/// What the caller said beside the command, and what becomes of guard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Their own yes in advance.
    pub yes: bool,
    /// Where nobody sits at the terminal: file the command and return at once.
    pub no_wait: bool,
    /// guard stays with the command whether or not somebody is asked.
    pub watched: bool,
    /// Nobody is asked and nothing is said: [`exit::NOT_UNASKED`] where that cannot be.
    pub unasked: bool,
}

/// Judges a command, decides, asks, and writes down what is to happen.
///
/// # Errors
/// The exit code of a refusal, which has been said.
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

/// Says that the command comes in an envelope that guard does not know, once a session.
fn say_of_envelope(engine: &Engine, invocation: &Invocation) {
    if let Some(warning) = unknown_envelope::warning(engine, invocation) {
        let _ = writeln!(std::io::stderr(), "guard: {warning}");
    }
}

/// Writes down that nobody need be asked.
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

/// Whether a yes in advance counts. One that an approver has to sign is given on the card.
fn may_say_yes(engine: &Engine, invocation: &Invocation, prompt: &Prompt) -> bool {
    yes_in_advance(invocation, prompt).is_some()
        && engine.is_answered_here()
        && !sign::is_wanted(&engine.approvers(), prompt.tier, prompt.approvals)
}

/// What a hook handed to its agent's own prompt, or got a person's yes for, and the agent now runs itself: it was asked
/// about once, and that was used up by this.
fn by_host(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> Option<ApprovedCommand> {
    let Request::Line(line) = &invocation.request else { return None };
    // A command further down is another one, whatever it says; so is a text that is given words to fill in.
    let whole = line.positional.is_empty();
    if !whole || judgment.risk.tier == Tier::Critical || !engine.caller.is_child_of_agent() {
        return None;
    }
    // An agent's prompt signs nothing, and decides nothing for a person.
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

/// Asks, and acts on the answer.
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

/// A command that a person is asked about, as it was when the prompt was shown.
struct PromptedCommand<'a> {
    engine: &'a Engine,
    invocation: Invocation,
    judgment: &'a Judgment,
    /// Device and inode of the working directory.
    directory: Option<(u64, u64)>,
}

/// The outcome of asking, and how long it took.
struct TimedOutcome {
    outcome: AskOutcome,
    /// How long that took.
    time: Duration,
    /// What a reviewer thought of it.
    opinion: Option<Opinion>,
}

impl<'a> PromptedCommand<'a> {
    fn now(engine: &'a Engine, invocation: Invocation, judgment: &'a Judgment) -> Self {
        let directory = paths::directory_identity(&invocation.cwd);
        Self { engine, invocation, judgment, directory }
    }

    /// Asks the reviewer and whoever may answer.
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

    /// What a person said yes to, as far as it is still what they were shown: written down, with the grant they gave.
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

    /// Time has passed since it was shown: what was approved must still be what would run.
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

/// Whether it was a person who had the time that asking took: nobody could be asked, or nobody was about what the
/// reviewer refused.
const fn was_asked(refusal: &Refusal) -> bool {
    !matches!(
        refusal,
        Refusal::NoOne { .. } | Refusal::Crowded { .. } | Refusal::Unrecorded { .. } | Refusal::Reviewer { .. }
    )
}

/// What a reviewer let run: nobody was asked, and it is waited for, so that what came of it is known.
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

/// Writes down that a command runs. Without that it does not, and this is said.
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

/// Writes down a refusal and says it. A refusal that cannot be written down is one all the same.
fn refuse(engine: &Engine, invocation: &Invocation, judgment: &Judgment, refusal: &Refusal) -> u8 {
    refuse_with(engine, invocation, judgment, refusal, (None, None))
}

/// The same, with how long somebody had to answer, and what a reviewer thought of it.
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

/// Whether whoever reads of this refusal has just said no on the card, which shows the risk.
fn knows_the_risk(origin: Origin, refusal: &Refusal) -> bool {
    origin == Origin::Cli && matches!(refusal, Refusal::Person { .. })
}

/// Whether this opinion tells what kept the reviewer from deciding, where nobody is asked. On the card it was seen.
fn kept_from_deciding(opinion: &Opinion, refusal: &Refusal) -> bool {
    opinion.says == OpinionVerdict::Nothing && matches!(refusal, Refusal::NoOne { .. })
}

/// One line on stderr: which kind of refusal, the worst finding, and what to do instead.
fn say(refusal: &Refusal, risk: &Risk) -> u8 {
    let _ = writeln!(std::io::stderr(), "{}", verdict::refused(refusal, risk));
    exit::REFUSED
}

#[cfg(test)]
mod tests;
