//! Decides whether a tool call may run: the engine judges it, a person is asked in the queue if necessary, and the
//! decision is recorded before the call is passed on.
//!
//! Out of scope: messages.

use std::cell::RefCell;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::error::CallError;
use crate::app::ask_outcome::{self, AskOutcome, GrantOffer};
use crate::app::engine::{self, Engine, JudgedCommand};
use crate::app::intent;
use crate::app::queue::{self, NotifyTarget, RequestHandle, WaitOptions};
use crate::app::reviewer::{Advice, Review, overrulable};
use crate::judge::approved::Approved;
use crate::judge::invocation::{Invocation, Origin};
use crate::judge::policy::{ApprovalReason, Decision, Prompt, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::Risk;
use crate::judge::tools::ToolCall;
use crate::store::queue::Justification;
use crate::store::{IntentRow, RecordedDecision};
use crate::ui::verdict;

/// An observer that is notified while a call waits for its answer.
pub(super) trait WaitObserver {
    /// Returns the interval between two notifications.
    fn every(&self) -> Duration;
    /// Called when there is still no answer.
    fn still(&mut self);
}

/// Judges a call. The error is the text for the client.
pub(super) fn decide(
    call: &ToolCall,
    most: Duration,
    handle: RequestHandle,
    observer: &mut dyn WaitObserver,
) -> Result<(), CallError> {
    let (done, answer) = mpsc::channel();
    let call = call.clone();
    // Judge in another thread, so that this one can notify the client meanwhile.
    let judged = thread::Builder::new().spawn(move || {
        let _ = done.send(judge(&call, most, handle));
    });
    judged.map_err(CallError::Thread)?;
    loop {
        match answer.recv_timeout(observer.every()) {
            Ok(decided) => return decided,
            Err(RecvTimeoutError::Timeout) => observer.still(),
            Err(RecvTimeoutError::Disconnected) => return Err(CallError::Failed),
        }
    }
}

/// Gives up a request, and wakes the thread that waits for it.
pub(super) fn cancel(request: &str) {
    // If the queue cannot be written now, the call is still not passed on.
    if let Ok(Some(queue)) = engine::requests() {
        let _ = queue.give_up(request);
        queue.wake(request);
    }
}

/// Invalidates a cancelled request, so that it cannot be answered later.
pub(super) fn forget(request: &str) {
    if let Ok(Some(queue)) = engine::requests() {
        let _ = queue.void(request, "the client cancelled the call");
    }
}

fn judge(call: &ToolCall, most: Duration, handle: RequestHandle) -> Result<(), CallError> {
    let engine = Engine::open().map_err(CallError::Engine)?;
    let mut invocation = engine.caller.invocation(engine.tool(call.clone()));
    invocation.origin = Origin::Agent;
    let JudgedCommand { judgment, decision } = engine.judge(&invocation);
    let risk = &judgment.risk;
    let digest = invocation.digest(&judgment.facts.expanded);
    let shape = judgment.shape_to_grant();
    let opinion: RefCell<Option<Opinion>> = RefCell::default();
    let write = |settled: RecordedDecision<'_>, answered: Option<Duration>, words: Option<&str>| {
        let opinion = opinion.borrow().clone();
        let row = IntentRow {
            answer_ms: answered.map(intent::milliseconds),
            words,
            shape: shape.as_ref(),
            opinion: opinion.as_ref(),
            ..IntentRow::plain(Timestamp::now(), &invocation, digest, risk, settled)
        };
        intent::write_down(&engine, &row, |backend| backend.advised(&row, None)).map(drop)
    };
    let deny = |refusal: &Refusal, answered: Option<Duration>| {
        // A denial takes effect even if it cannot be recorded.
        let _ = write(RecordedDecision::Refused(refusal), answered, None);
        CallError::Refused(told(refusal, risk))
    };
    match decision {
        Decision::Run(cleared) => {
            write(RecordedDecision::Allowed(cleared.basis()), None, None).map_err(|refusal| deny(&refusal, None))
        }
        Decision::Refuse(refusal) => Err(deny(&refusal, None)),
        Decision::Ask(prompt) => {
            let mut review = Review::begin(&engine, &invocation, &judgment, most);
            let settled = review.advice();
            *opinion.borrow_mut() = review.opinion.take();
            match settled {
                Advice::Runs(approved) => {
                    return write(RecordedDecision::Allowed(approved.basis()), None, None)
                        .map_err(|refusal| deny(&refusal, None));
                }
                Advice::Refused(refusal) => {
                    let thought = opinion.borrow().clone();
                    return Err(deny(&overrulable(&engine, &invocation, &judgment, refusal, thought.as_ref()), None));
                }
                Advice::Open => {}
            }
            let begun = Instant::now();
            let thought = opinion.borrow().clone();
            match ask(&engine, &invocation, &judgment, &prompt, (most, handle), thought) {
                Ok((grant, by)) => {
                    write(RecordedDecision::Allowed(&ApprovalReason::Person), Some(begun.elapsed()), by.as_deref())
                        .map_err(|refusal| deny(&refusal, None))?;
                    ask_outcome::store_grant_or_warn(&engine, &invocation, grant.as_ref());
                    Ok(())
                }
                // Without anyone who could be asked, there is no answer time.
                Err(refusal @ (Refusal::NoOne { .. } | Refusal::Crowded { .. } | Refusal::Unrecorded { .. })) => {
                    Err(deny(&refusal, None))
                }
                Err(refusal) => Err(deny(&refusal, Some(begun.elapsed()))),
            }
        }
    }
}

/// Lets a call wait in the queue, and judges it again after an approval. Returns the grant that came with the approval,
/// and the name of the approver for the record.
fn ask(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &crate::judge::Judgment,
    prompt: &Prompt,
    (most, handle): (Duration, RequestHandle),
    opinion: Option<Opinion>,
) -> Result<(Option<GrantOffer>, Option<String>), Refusal> {
    let policy = Duration::from_secs(engine.policy().queue_wait.into());
    let time = policy.min(most).min(queue::callers_limit(&engine.caller.env));
    let why = "a tool call waits in the queue, which is not possible here".to_owned();
    let wait = WaitOptions {
        time,
        elsewhere: false,
        notify: NotifyTarget::Nobody,
        why,
        justification: Justification::default(),
        opinion,
        handle: Some(handle),
    };
    let yes = match queue::ask(engine, invocation, judgment, prompt, &wait) {
        AskOutcome::Yes { grant, by } => (grant, by),
        AskOutcome::No(refusal) | AskOutcome::Killed { refusal, .. } => return Err(refusal),
        AskOutcome::Reviewed(_) => return Err(Refusal::NoOne { why: "only a person can answer".to_owned() }),
        AskOutcome::Queued { request } => return Err(Refusal::NoOne { why: format!("request {request} is queued") }),
    };
    let fresh = engine.judge_again(invocation);
    Approved::by_person(invocation.clone(), judgment, &fresh).map(|_| yes)
}

/// Describes a refusal for a model: whole sentences with the reason and that the tool was not called.
fn told(refusal: &Refusal, risk: &Risk) -> String {
    let why = verdict::refused(refusal, risk).replace('\n', " ");
    let stop = if why.ends_with(['.', ']', '!', '?']) { "" } else { "." };
    format!("{why}{stop} The tool was not called.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::risk::Finding;
    use crate::judge::syntax::tree::Span;
    use crate::judge::tier::{Reversibility, Tier};

    #[test]
    fn a_refusal_is_whole_sentences() {
        let plain = Finding::plain("a.rule", Tier::High, Reversibility::Hard, "It is grave.", Span::new(0, 1));
        let finding = Finding { instead: Some("ask first".to_owned()), ..plain };
        let risk = Risk::join(Tier::Low, vec![finding], Vec::new());
        let said = told(&Refusal::NoOne { why: "nobody is there".to_owned() }, &risk);
        assert!(said.ends_with("ask first. The tool was not called."), "{said}");
    }
}
