//! `guard -- …` and `guard -c …`: the main job, from the command to its exit code.
//!
//! The road on one page: [`run`] judges and decides; what may run is written down and replaces guard; what
//! needs a person is shown to one ([`super::ask`]), judged again, written down, run and waited for; the rest
//! is refused with its reason.

use std::io::Write;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::ask::{self, Asked};
use super::exit;
use super::road::{Judged, Road, RoadError};
use crate::exec::{self, ExecError, Inherited};
use crate::judge::approved::{Approved, Receipt};
use crate::judge::invocation::{Invocation, Request};
use crate::judge::policy::{Basis, Decision, Prompt, Record, Refusal, yes_in_advance};
use crate::judge::risk::{Risk, Tier};
use crate::judge::{Judgment, behaviour};
use crate::store::{End, IntentRow, Outcome, Settled};
use crate::ui::visible;
use crate::world::identity::Caller;

/// What is to be run.
#[derive(Debug)]
pub enum Wanted {
    Argv(Vec<std::ffi::OsString>),
    Line(super::shell::ShellCall),
}

/// What the caller said beside the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// Their own yes in advance.
    pub yes: bool,
    /// Where nobody sits at the terminal: file the command and return at once.
    pub no_wait: bool,
}

/// Runs a command, or says why not. Returns an exit code only where the command's own did not become guard's.
#[must_use]
pub fn run(wanted: Wanted, manner: Manner, mut inherited: Inherited) -> u8 {
    let (road, request) = match prepare(wanted) {
        Ok(ready) => ready,
        Err(error) => return failed(&error.to_string()),
    };
    let invocation = road.caller.invocation(request);
    let Judged { judgment, decision } = road.judge(&invocation);
    match decision {
        Decision::Run(cleared) => {
            let approved = Approved::by_policy(invocation, &judgment, &cleared);
            start(&road, approved, &judgment.risk, &inherited)
        }
        Decision::Ask(prompt) if manner.yes && yes_in_advance(&invocation, &prompt).is_some() => {
            match Approved::by_person(invocation, &judgment, &judgment, Basis::YesInAdvance) {
                Ok(approved) => start(&road, approved, &judgment.risk, &inherited),
                Err(refusal) => say(&refusal, &judgment.risk),
            }
        }
        Decision::Ask(prompt) => with_a_person(&road, invocation, &judgment, &prompt, manner, &mut inherited),
        Decision::Refuse(refusal) => refuse(&road, &invocation, &judgment, &refusal, None),
    }
}

fn prepare(wanted: Wanted) -> Result<(Road, Request), RoadError> {
    let road = Road::open()?;
    let request = match wanted {
        Wanted::Argv(argv) => Request::Argv(argv),
        Wanted::Line(call) => {
            let text = std::os::unix::ffi::OsStringExt::into_vec(call.text);
            road.line(text, call.options, call.positional)?
        }
    };
    Ok((road, request))
}

/// Writes down that nobody need be asked, and becomes the command.
fn start(road: &Road, approved: Approved, risk: &Risk, inherited: &Inherited) -> u8 {
    let settled = Settled::Allowed(approved.basis());
    match record(road, approved.invocation(), risk, approved.digest(), settled, None, None, None) {
        Ok(receipt) => could_not_start(&exec::replace(approved, receipt, inherited)),
        Err(refusal) => say(&refusal, risk),
    }
}

/// Asks, and runs or refuses by the answer.
fn with_a_person(
    road: &Road,
    invocation: Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    manner: Manner,
    inherited: &mut Inherited,
) -> u8 {
    let folder = folder_identity(&invocation.cwd);
    let begun = Instant::now();
    inherited.hold_alarm();
    let asked = ask::ask(road, &invocation, judgment, prompt, manner.no_wait);
    let answer = Some(begun.elapsed());
    let (grant, by) = match asked {
        Asked::Yes { grant, by } => (grant, by),
        Asked::Queued { request } => {
            let _ = writeln!(
                std::io::stderr(),
                "guard: queued: request {request} waits for a person; guard wait {request} waits for the answer, and \
                 the same command in the same folder then uses it, once"
            );
            return exit::QUEUED;
        }
        // Where nobody could be asked, nobody took time to answer.
        Asked::No(refusal @ (Refusal::NoOne { .. } | Refusal::Crowded { .. } | Refusal::Unrecorded { .. })) => {
            return refuse(road, &invocation, judgment, &refusal, None);
        }
        Asked::No(refusal) => return refuse(road, &invocation, judgment, &refusal, answer),
        Asked::Killed { refusal, signal } => {
            let _ = refuse(road, &invocation, judgment, &refusal, answer);
            exec::leave(exec::Ended::Killed { signal, core: false });
        }
    };
    // Time has passed: what was approved must still be what would run.
    let mut fresh = road.work_out(&invocation);
    fresh.risk = behaviour::weigh(fresh.risk, &road.standing(&invocation), road.policy());
    if folder != folder_identity(&invocation.cwd) {
        let refusal = Refusal::Changed { what: "the working directory".to_owned() };
        return refuse(road, &invocation, judgment, &refusal, answer);
    }
    let approved = match Approved::by_person(invocation.clone(), judgment, &fresh, Basis::Person) {
        Ok(approved) => approved,
        Err(refusal) => return refuse(road, &invocation, judgment, &refusal, answer),
    };
    let settled = Settled::Allowed(approved.basis());
    let process = Caller::unique_name();
    let waits = process.as_deref();
    let words = by.as_deref();
    let receipt = record(road, approved.invocation(), &judgment.risk, approved.digest(), settled, answer, words, waits);
    let receipt = match receipt {
        Ok(receipt) => receipt,
        Err(refusal) => return say(&refusal, &judgment.risk),
    };
    if let Some(grant) = grant
        && let Err(why) = ask::give(road, &invocation, &grant)
    {
        let _ = writeln!(std::io::stderr(), "guard: allowed this once; the grant could not be kept: {why}");
    }
    match exec::wait(approved, receipt, inherited) {
        Ok(outcome) => {
            if let Err(error) = result(road, receipt, &outcome) {
                let _ = writeln!(std::io::stderr(), "guard: the result could not be recorded: {error}");
            }
            keep_to_retention(road);
            exec::leave(outcome.ended)
        }
        Err(error) => could_not_start(&error),
    }
}

fn result(road: &Road, receipt: Receipt, outcome: &exec::Outcome) -> Result<(), String> {
    let end = match outcome.ended {
        exec::Ended::Exited { code } => End::Exit(code),
        exec::Ended::Killed { signal, .. } => End::Signal(signal),
    };
    let duration_ms = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    let store = road.store().map_err(ToString::to_string)?;
    store.result(&receipt, &Outcome { end, duration_ms }, Timestamp::now()).map_err(|error| error.to_string())
}

/// Writes down a refusal and says it. A refusal that cannot be written down is one all the same.
fn refuse(
    road: &Road,
    invocation: &Invocation,
    judgment: &Judgment,
    refusal: &Refusal,
    answer: Option<Duration>,
) -> u8 {
    let digest = invocation.digest(&judgment.facts.expanded);
    let code = say(refusal, &judgment.risk);
    for problem in road.problems() {
        let _ = writeln!(std::io::stderr(), "guard: {problem}");
    }
    let _ = record(road, invocation, &judgment.risk, digest, Settled::Refused(refusal), answer, None, None);
    keep_to_retention(road);
    code
}

/// Prunes what the policy no longer keeps, where no command waits for guard: it has ended, or it does not run. What
/// stands in the way is told by `guard log prune` and `guard verify`.
fn keep_to_retention(road: &Road) {
    if let Ok(store) = road.store() {
        let _ = store.keep_to_policy(road.policy().retention_days, &road.caller.account.name, Timestamp::now());
    }
}

/// Writes the intent. `words` are what goes with a yes, and `process` names this guard where it will wait for the command.
///
/// # Errors
/// It could not be written, and the command is of tier 2 or above.
#[expect(clippy::too_many_arguments, reason = "a row has many parts")]
fn record(
    road: &Road,
    invocation: &Invocation,
    risk: &Risk,
    digest: crate::judge::invocation::Digest,
    settled: Settled<'_>,
    answer: Option<Duration>,
    words: Option<&str>,
    process: Option<&str>,
) -> Result<Receipt, Refusal> {
    let plain = risk.tier <= Tier::Low && risk.findings.is_empty() && matches!(settled, Settled::Allowed(_));
    if plain && road.policy().record == Record::Flagged {
        return Ok(Receipt::Unrecorded);
    }
    let parent = road.parent();
    let row = IntentRow {
        at: Timestamp::now(),
        invocation,
        digest,
        risk,
        settled,
        answer_ms: answer.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        words,
        parent: parent.as_deref(),
        process,
    };
    let written = road.store().map_err(ToString::to_string);
    let written = written.and_then(|store| store.intent(&row).map_err(|error| error.to_string()));
    match written {
        Ok(receipt) => Ok(receipt),
        Err(_) if risk.tier <= Tier::Low => Ok(Receipt::Unrecorded),
        Err(why) => Err(Refusal::Unrecorded { why }),
    }
}

/// One line on stderr: which kind of refusal, the worst finding, and what to do instead.
fn say(refusal: &Refusal, risk: &Risk) -> u8 {
    let mut line = format!("guard: refused: {refusal}");
    let by_rule = matches!(refusal, Refusal::Rule { .. });
    let worst = risk.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
    if let Some(finding) = worst {
        if !by_rule {
            line.push_str(&format!(" [{}, tier {}: {}]", finding.rule, finding.tier.number(), finding.reason));
        }
        if let Some(instead) = &finding.instead {
            line.push_str(&format!(" Instead: {instead}"));
        }
    }
    let _ = writeln!(std::io::stderr(), "{}", visible::text(&line));
    exit::REFUSED
}

fn could_not_start(error: &ExecError) -> u8 {
    let _ = writeln!(std::io::stderr(), "guard: {error}");
    u8::try_from(error.exit_code()).unwrap_or(exit::FAILED)
}

/// Says that guard itself failed.
pub fn failed(why: &str) -> u8 {
    let _ = writeln!(std::io::stderr(), "guard: {why}");
    exit::FAILED
}

/// Device and inode of the working directory.
pub(super) fn folder_identity(folder: &std::path::Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(folder).ok()?;
    Some((facts.dev(), facts.ino()))
}
