//! From a judged command to one that may run now: decided, asked about where a person must be, judged again then, and
//! written down.
//!
//! What may not enter: running it. What is refused has been said and written down when [`authorize`] returns.

use std::io::Write;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::approver::sign;
use super::ask::{self, Asked};
use super::changes;
use super::engine::{Engine, Judged, changed_file};
use super::exit;
use super::export::deliver;
use super::record_backend::RecordBackend;
use super::reviewer::{self, Review};
use super::unknown_envelope;
use crate::exec::{self, Inherited};
use crate::judge::Judgment;
use crate::judge::approved::{Advance, Approved, Receipt};
use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::ledger::CommandChanges;
use crate::judge::policy::{ApprovalReason, Decision, Prompt, Record, Refusal, yes_in_advance};
use crate::judge::review::Opinion;
use crate::judge::risk::{Risk, Tier};
use crate::store::{Handed, IntentRow, Retention, Settled, StoreError};
use crate::ui::verdict;
use crate::world::identity::Caller;
use crate::world::paths;

/// A command that may run now.
#[derive(Debug)]
pub struct Ready {
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
    manner: RunOptions,
    inherited: &mut Inherited,
) -> Result<Ready, u8> {
    let Judged { judgment, decision } = engine.judge(&invocation);
    match decision {
        Decision::Run(cleared) => {
            let approved = Approved::by_policy(invocation, &judgment, &cleared);
            at_once(engine, approved, &judgment, manner)
        }
        Decision::Ask(_) | Decision::Refuse(_) if manner.unasked => Err(exit::NOT_UNASKED),
        Decision::Ask(prompt) if manner.yes && may_say_yes(engine, &invocation, &prompt) => {
            at_once(engine, Approved::in_advance(invocation, &judgment, Advance::OwnYes), &judgment, manner)
        }
        Decision::Ask(prompt) => match by_host(engine, &invocation, &judgment) {
            Some(ready) => Ok(ready),
            None => {
                say_of_envelope(engine, &invocation);
                with_a_person(engine, invocation, &judgment, &prompt, manner, inherited)
            }
        },
        Decision::Refuse(refusal) => {
            say_of_envelope(engine, &invocation);
            Err(refuse(engine, &invocation, &judgment, &refusal, None))
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
fn at_once(engine: &Engine, approved: Approved, judgment: &Judgment, manner: RunOptions) -> Result<Ready, u8> {
    let risk = &judgment.risk;
    if let Some(what) = changed_file(approved.invocation(), judgment) {
        return Err(refuse(engine, approved.invocation(), judgment, &Refusal::Changed { what }, None));
    }
    let settled = Settled::Allowed(approved.basis());
    let process = if manner.watched { Caller::unique_name() } else { None };
    let told = Told { process: process.as_deref(), ..Told::default() };
    match record(engine, approved.invocation(), judgment, approved.digest(), settled, &told) {
        Ok(receipt) => Ok(Ready { approved, receipt, asked: false }),
        Err(refusal) => Err(say(&refusal, risk)),
    }
}

/// Whether a yes in advance counts. One that an approver has to sign is given on the card.
fn may_say_yes(engine: &Engine, invocation: &Invocation, prompt: &Prompt) -> bool {
    yes_in_advance(invocation, prompt).is_some()
        && engine.is_answered_here()
        && !sign::is_wanted(&engine.approvers(), prompt.tier, prompt.approvals)
}

/// What a hook handed to its agent's own prompt, or got a person's yes for, and the agent now runs itself: it was asked
/// about once, and that was used up by this.
fn by_host(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> Option<Ready> {
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
    let handed = Handed { text: &line.text, cwd: &directory, root: &invocation.session.root };
    let approved = Approved::in_advance(invocation.clone(), judgment, Advance::Host);
    let (settled, changes) = (Settled::Allowed(&ApprovalReason::Host), changes::of(engine, invocation, judgment));
    let row = IntentRow {
        changes: &changes,
        ..IntentRow::plain(Timestamp::now(), invocation, approved.digest(), &judgment.risk, settled)
    };
    let receipt = engine.store().ok()?.intent_of_handed(&row, &handed).ok()??;
    Some(Ready { approved, receipt, asked: false })
}

/// Asks, and settles by the answer.
fn with_a_person(
    engine: &Engine,
    invocation: Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    manner: RunOptions,
    inherited: &mut Inherited,
) -> Result<Ready, u8> {
    let directory = directory_identity(&invocation.cwd);
    let begun = Instant::now();
    inherited.hold_alarm();
    let mut review = Review::begin(engine, &invocation, judgment, Duration::MAX);
    let asked = ask::ask(engine, &invocation, judgment, prompt, manner.no_wait, &mut review);
    let answer = Some(begun.elapsed());
    let opinion = review.opinion.take();
    drop(review);
    let refuse =
        |refusal: &Refusal, answer| refuse_with(engine, &invocation, judgment, refusal, (answer, opinion.as_ref()));
    let (grant, by) = match asked {
        Asked::Yes { grant, by } => (grant, by),
        Asked::Reviewed(approved) => return reviewed(engine, *approved, judgment, opinion.as_ref()),
        Asked::Queued { request } => {
            let _ = writeln!(
                std::io::stderr(),
                "guard: queued as request {request}; guard wait {request} waits for the answer. Once approved, the \
                 same command in the same directory runs once"
            );
            return Err(exit::QUEUED);
        }
        // Where nobody could be asked, nobody took time to answer.
        Asked::No(refusal @ (Refusal::NoOne { .. } | Refusal::Crowded { .. } | Refusal::Unrecorded { .. })) => {
            return Err(refuse(&refusal, None));
        }
        // Nobody was asked about what the reviewer refused.
        Asked::No(refusal @ Refusal::Reviewer { .. }) => return Err(refuse(&refusal, None)),
        Asked::No(refusal) => return Err(refuse(&refusal, answer)),
        Asked::Killed { refusal, signal } => {
            let _ = refuse(&refusal, answer);
            exec::leave(exec::Ended::Killed { signal, core: false });
        }
    };
    // Time has passed: what was approved must still be what would run.
    let fresh = engine.judge_again(&invocation);
    if directory != directory_identity(&invocation.cwd) {
        let refusal = Refusal::Changed { what: "the working directory".to_owned() };
        return Err(refuse(&refusal, answer));
    }
    let approved = match Approved::by_person(invocation.clone(), judgment, &fresh) {
        Ok(approved) => approved,
        Err(refusal) => return Err(refuse(&refusal, answer)),
    };
    let settled = Settled::Allowed(approved.basis());
    let process = Caller::unique_name();
    let waits = process.as_deref();
    let words = by.as_deref();
    let told = Told { answer, words, process: waits, opinion: opinion.as_ref() };
    let receipt = record(engine, approved.invocation(), judgment, approved.digest(), settled, &told);
    let receipt = match receipt {
        Ok(receipt) => receipt,
        Err(refusal) => return Err(say(&refusal, &judgment.risk)),
    };
    ask::give_or_tell(engine, &invocation, grant.as_ref());
    Ok(Ready { approved, receipt, asked: true })
}

/// What a reviewer let run: nobody was asked, and it is waited for, so that what came of it is known.
fn reviewed(engine: &Engine, approved: Approved, judgment: &Judgment, opinion: Option<&Opinion>) -> Result<Ready, u8> {
    if let Some(opinion) = opinion {
        reviewer::warn_of_yolo(engine, approved.invocation(), opinion);
    }
    let settled = Settled::Allowed(approved.basis());
    let process = Caller::unique_name();
    let told = Told { process: process.as_deref(), opinion, ..Told::default() };
    match record(engine, approved.invocation(), judgment, approved.digest(), settled, &told) {
        Ok(receipt) => Ok(Ready { approved, receipt, asked: true }),
        Err(refusal) => Err(say(&refusal, &judgment.risk)),
    }
}

/// Writes down a refusal and says it. A refusal that cannot be written down is one all the same.
fn refuse(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    refusal: &Refusal,
    answer: Option<Duration>,
) -> u8 {
    refuse_with(engine, invocation, judgment, refusal, (answer, None))
}

/// The same, with what a reviewer thought of it.
fn refuse_with(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    refusal: &Refusal,
    (answer, opinion): (Option<Duration>, Option<&Opinion>),
) -> u8 {
    let digest = invocation.digest(&judgment.facts.expanded);
    // Who has just said no on the card knows the rest.
    let own_no = invocation.origin == Origin::Cli && matches!(refusal, Refusal::Person { .. });
    let nothing = Risk::default();
    let code = say(refusal, if own_no { &nothing } else { &judgment.risk });
    for problem in engine.problems() {
        let _ = writeln!(std::io::stderr(), "guard: {problem}");
    }
    let told = Told { answer, opinion, ..Told::default() };
    let _ = record(engine, invocation, judgment, digest, Settled::Refused(refusal), &told);
    if let Some(warning) = reviewer::yolo_in(engine, invocation) {
        let _ = writeln!(std::io::stderr(), "guard: {warning}");
    }
    keep_to_retention(engine);
    code
}

/// Prunes what the policy no longer keeps, where no command waits for guard: it has ended, or it does not run. What
/// stands in the way is told by `guard log prune` and `guard verify`.
pub(super) fn keep_to_retention(engine: &Engine) {
    if let Ok(store) = engine.store() {
        let kept = Retention { days: engine.policy().retention_days, mib: engine.policy().retention_mib };
        store.keep_to_policy(kept, &engine.caller.account.name, Timestamp::now());
    }
}

/// What a row tells beside the decision.
#[derive(Clone, Copy, Debug, Default)]
struct Told<'a> {
    answer: Option<Duration>,
    /// What goes with a yes.
    words: Option<&'a str>,
    /// This guard, where it will wait for the command.
    process: Option<&'a str>,
    opinion: Option<&'a Opinion>,
}

/// Writes the intent.
///
/// # Errors
/// It could not be written, and the command is of tier 2 or above.
fn record(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    digest: crate::judge::invocation::Digest,
    settled: Settled<'_>,
    told: &Told<'_>,
) -> Result<Receipt, Refusal> {
    let parent = engine.parent();
    let shape = judgment.may_grant.then(|| judgment.shape_to_grant()).flatten();
    let changes = match settled {
        Settled::Refused(_) => CommandChanges::default(),
        Settled::Allowed(_) | Settled::Asked => changes::of(engine, invocation, judgment),
    };
    let row = IntentRow {
        changes: &changes,
        answer_ms: told.answer.map(milliseconds),
        words: told.words,
        parent: parent.as_deref(),
        process: told.process,
        opinion: told.opinion,
        shape: shape.as_deref(),
        ..IntentRow::plain(Timestamp::now(), invocation, digest, &judgment.risk, settled)
    };
    write_down(engine, &row, |backend| backend.intent(&row))
}

/// For how long, as the record counts it.
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Writes a decision down, in the way that is given, and sends it on. Where the policy keeps only what is flagged, what
/// is not is left out.
///
/// # Errors
/// It could not be written, and the command is of tier 2 or above.
pub(super) fn write_down(
    engine: &Engine,
    row: &IntentRow<'_>,
    write: impl FnOnce(&RecordBackend) -> Result<Receipt, StoreError>,
) -> Result<Receipt, Refusal> {
    let risk = row.risk;
    let plain = risk.tier <= Tier::Low && risk.findings.is_empty() && matches!(row.settled, Settled::Allowed(_));
    if plain && engine.policy().record == Record::Flagged {
        return Ok(Receipt::Unrecorded);
    }
    let written = engine.store().map_err(ToString::to_string);
    match written.and_then(|backend| write(backend).map_err(|error| error.to_string())) {
        Ok(receipt) => {
            deliver::at_once(engine, receipt.row());
            Ok(receipt)
        }
        // Help is given whether or not it can be written down.
        Err(_) if risk.tier <= Tier::Low || matches!(row.settled, Settled::Allowed(ApprovalReason::Support)) => {
            Ok(Receipt::Unrecorded)
        }
        Err(why) => Err(Refusal::Unrecorded { why }),
    }
}

/// One line on stderr: which kind of refusal, the worst finding, and what to do instead.
fn say(refusal: &Refusal, risk: &Risk) -> u8 {
    let _ = writeln!(std::io::stderr(), "{}", verdict::refused(refusal, risk));
    exit::REFUSED
}

/// Device and inode of the working directory.
pub(super) fn directory_identity(directory: &std::path::Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(directory).ok()?;
    Some((facts.dev(), facts.ino()))
}
