//! Waits for the answer to a request of this process, and verifies the answer.

use std::time::{Duration, Instant};

use super::QueueError;
use super::wait_options::WaitOptions;
use crate::app::approver::sign;
use crate::app::ask_outcome::{AskOutcome, GrantOffer, offered_grant};
use crate::app::engine::Engine;
use crate::app::record_backend::Requests;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::{self, Approval, ApprovalNonce, ConfirmCode, Signed, passkey};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Invocation};
use crate::judge::policy::Refusal;
use crate::judge::risk::Tier;
use crate::prompt::wakeup::{WakeReason, Wakeup};
use crate::store::queue::WaitState;
use crate::store::{RecordedAnswer, StoreError};
use crate::ui::pending;

/// The time that the service may be unavailable while a command waits.
const RESTART: Duration = Duration::from_secs(30);

/// The context of a signature. The waiting process keeps it, so that it never accepts an answer to another request.
#[derive(Clone, Copy, Debug)]
pub(super) struct SigningContext {
    filed: i64,
    approvals: u8,
    fresh: ApprovalNonce,
}

impl SigningContext {
    /// Creates the context of a request that was just filed. With `theirs`, takes the nonce from the queue instead of
    /// this process's own.
    pub(super) fn of(queue: &Requests, id: &str, fresh: ApprovalNonce, theirs: bool) -> Result<Self, StoreError> {
        let whole = queue.full_request(id)?;
        let filed = whole.as_ref().map_or(0, |whole| whole.pending.filed.as_millisecond());
        let approvals = whole.as_ref().map_or(1, |whole| whole.pending.approvals);
        let fresh = whole.filter(|_| theirs).map_or(fresh, |whole| whole.fresh);
        Ok(Self { filed, approvals, fresh })
    }

    /// Returns the approval of this scope, which an approver signs.
    pub(super) fn approval<'a>(
        &'a self,
        request: &'a str,
        digest: &'a Digest,
        bindings: &'a Bindings,
        scope: AnswerScope,
    ) -> Approval<'a> {
        let Self { filed, approvals, fresh } = self;
        Approval { request, filed: *filed, fresh, digest, bindings, approvals: *approvals, scope }
    }
}

/// The end of waiting for an answer.
pub(super) enum WaitResult {
    Answered(AskOutcome),
    /// An approval by passkey without the code that this process has shown, which is used up but does not count. Holds
    /// the reason.
    WrongCode(&'static str),
}

/// A request of this process.
pub(super) struct WaitingRequest<'a, 'e> {
    pub engine: &'e Engine,
    pub invocation: &'a Invocation,
    pub queue: &'a Requests,
    pub id: &'a str,
    pub tier: Tier,
    pub approvals: u8,
    pub may_grant: bool,
    pub digest: &'a Digest,
    pub bindings: &'a Bindings,
    pub signing: SigningContext,
    /// The code that this process has shown, if an approval by passkey must contain it.
    pub code: Option<ConfirmCode>,
}

impl<'e> WaitingRequest<'_, 'e> {
    /// Waits for the answer. `lost` is when the service became unreachable.
    pub(super) fn until(
        &self,
        wakeup: &mut Wakeup,
        wait: &WaitOptions,
        mut lost: Option<Instant>,
    ) -> Result<WaitResult, QueueError<'e>> {
        let (queue, id) = (self.queue, self.id);
        loop {
            match self.poll_answer() {
                Ok(Some(waited)) => return Ok(waited),
                Ok(None) if lost.is_some() && queue.listen(id, wakeup).is_ok() => lost = None,
                Ok(None) => {}
                // A restarted service still has the request.
                Err(_) if queue.is_shared() && lost.get_or_insert_with(Instant::now).elapsed() < RESTART => {}
                Err(why) => return Err(why),
            }
            match wakeup.wait().map_err(QueueError::Wakeup)? {
                WakeReason::Ring => {}
                WakeReason::Time => {
                    // An answer that arrives at the last moment counts.
                    if !queue.give_up(id).map_err(QueueError::Store)?
                        && let Some(waited) = self.poll_answer()?
                    {
                        return Ok(waited);
                    }
                    let seconds = u32::try_from(wait.time.as_secs()).unwrap_or(u32::MAX);
                    let late = self.tier < Tier::Critical && self.approvals == 1;
                    let so_far =
                        queue.find(id).map_err(QueueError::Store)?.filter(|found| !found.approved_by.is_empty());
                    let so_far = so_far.and_then(|found| pending::approvals(found.approvals, &found.approved_by));
                    let (request, call) = (id.to_owned(), self.invocation.tool().is_some());
                    let refusal = Refusal::Unanswered { request, seconds, late, so_far, call };
                    return Ok(WaitResult::Answered(AskOutcome::No(refusal)));
                }
                WakeReason::Signal { signal, .. } => {
                    // Whether it was answered or not: this process will not run it.
                    let _ = queue.give_up(id);
                    let refusal =
                        Refusal::NoOne { why: format!("guard was killed by {signal} while request {id} waited") };
                    return Ok(WaitResult::Answered(AskOutcome::Killed { refusal, signal: signal as i32 }));
                }
            }
        }
    }

    /// Returns a message if a signature was made by an earlier version of guard.
    fn of_an_earlier_version(&self, approval: &Approval<'_>, signatures: &[Signed]) -> Option<String> {
        let enrolled = self.engine.approvers();
        let signer = |message: Vec<u8>| {
            let signers = approver::signers(&enrolled.approvers, &message, signatures).ok()?;
            signers.first().map(|name| (*name).to_owned())
        };
        let name = approval.earlier_messages().into_iter().find_map(signer)?;
        Some(format!(
            "the signature of {name} is in the format of an earlier version of guard, which does not name the \
             request and scope; run the command again"
        ))
    }

    /// Returns the grant that an approval includes. If there cannot be one, refuses with the reason.
    fn grant(&self, answered: &RecordedAnswer) -> Result<Option<GrantOffer>, Refusal> {
        let offer = offered_grant(self.invocation, self.may_grant, answered.scope);
        let mut offer = offer.map_err(|why| Refusal::Changed { what: why.to_string() })?;
        // The service itself adds the name of the approver.
        if let Some(offer) = offer.as_mut().filter(|_| !self.queue.is_shared()) {
            offer.words.push_str(&format!(" (given by {})", answered.by));
        }
        Ok(offer)
    }

    /// Checks that each approval by passkey contains the code that this process has shown, if the policy requires it.
    fn confirmed(&self, signatures: &[Signed]) -> Result<(), &'static str> {
        if !self.engine.policy().confirm_code {
            return Ok(());
        }
        for typed in signatures.iter().filter_map(|signed| passkey::typed_code(&signed.signature)) {
            match (self.code, typed) {
                (Some(code), Some(typed)) if code.is(&typed) => {}
                (Some(_), Some(_)) => {
                    return Err(
                        "the code that came with the passkey's approval is not the one that guard showed for this \
                                request (if it was typed correctly, the page had another request signed than it showed)",
                    );
                }
                (Some(_), None) => {
                    return Err("the passkey's approval came without the code that guard shows for this request");
                }
                (None, _) => {
                    return Err(
                        "queue.confirm_code is set, and this process has shown no code that the passkey's approval \
                                could carry (it must be approved while the command waits)",
                    );
                }
            }
        }
        Ok(())
    }

    /// Returns the answer if there is one.
    fn poll_answer(&self) -> Result<Option<WaitResult>, QueueError<'e>> {
        let id = self.id;
        let store = self.engine.store().map_err(QueueError::Closed)?;
        let found = self.queue.take(store, id, self.digest, self.bindings).map_err(QueueError::Store)?;
        let no = |refusal| Ok(Some(WaitResult::Answered(AskOutcome::No(refusal))));
        Ok(Some(WaitResult::Answered(match found {
            WaitState::Waiting => return Ok(None),
            WaitState::Yes(answered) => {
                let approval = self.signing.approval(id, self.digest, self.bindings, answered.scope);
                let signers = sign::are_enough(
                    &self.engine.approvers(),
                    (answered.scope.signed_as(self.tier), self.approvals),
                    &approval.message(),
                    &answered.signatures,
                );
                let signed = match signers {
                    Ok(names) if names.is_empty() => String::new(),
                    Ok(names) => format!(", signed by {}", names.join(" and ")),
                    Err(why) => {
                        let why = self
                            .of_an_earlier_version(&approval, &answered.signatures)
                            .unwrap_or_else(|| why.to_string());
                        return no(Refusal::Unsigned { why });
                    }
                };
                match (self.confirmed(&answered.signatures), self.code) {
                    (Ok(()), _) => {}
                    (Err(why), Some(_)) => return Ok(Some(WaitResult::WrongCode(why))),
                    (Err(why), None) => return no(Refusal::Unsigned { why: format!("{why}; run the command again") }),
                }
                let grant = match self.grant(&answered) {
                    Ok(grant) => grant,
                    Err(refusal) => return no(refusal),
                };
                let reach = grant.as_ref().map_or(String::new(), |offer| format!(" for {}", offer.words));
                let words = answered.words.map_or(String::new(), |words| format!(": {words}"));
                let by =
                    format!("request {id}, approved by {} in row {}{signed}{reach}{words}", answered.by, answered.row);
                AskOutcome::Yes { grant, by: Some(by) }
            }
            WaitState::No { words, .. } => AskOutcome::No(Refusal::Person { words }),
            WaitState::Void { what } => AskOutcome::No(Refusal::Changed { what }),
            // Another process withdrew it, because the time was over by its clock.
            WaitState::Late => AskOutcome::No(Refusal::NoOne { why: format!("request {id} was cancelled") }),
        })))
    }
}
