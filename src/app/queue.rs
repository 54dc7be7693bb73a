//! Waiting in the queue: if no person is at the terminal, a command waits for a person elsewhere.
//!
//! Out of scope: deciding whether to ask, running, and answering ([`super::approvals`]).

mod wait_options;
mod waiting_request;

use std::io::Write as _;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use nix::errno::Errno;

pub(in crate::app) use self::wait_options::callers_limit;
pub use self::wait_options::{NotifyTarget, RequestHandle, WaitOptions};
use self::waiting_request::{SigningContext, WaitResult, WaitingRequest};
use super::approver::sign;
use super::ask_outcome::AskOutcome;
use super::engine::Engine;
use super::evidence::evidence;
use super::notify;
use super::record_backend::Requests;
use crate::judge::Judgment;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::{ApprovalNonce, ConfirmCode};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Invocation};
use crate::judge::policy::{Prompt, Refusal};
use crate::judge::review::Opinion;
use crate::judge::risk::Tier;
use crate::prompt::wakeup::Wakeup;
use crate::store::StoreError;
use crate::store::queue::{Answer, FilingResult, Justification, NewRequest};
use crate::world::identity::Caller;
use crate::world::paths;

/// The largest number of codes that may be tried for one command: enough to retry after a typing error, while a guess
/// succeeds with a probability of only 3 in 10,000.
const CODES: u8 = 3;

/// Files a command and waits for a person's answer, or uses an answer that was already given.
///
/// An approval is valid for this invocation and this judgment only. The caller judges again before it runs the command.
pub fn ask(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    wait: &WaitOptions,
) -> AskOutcome {
    if wait.time.is_zero() {
        return AskOutcome::No(Refusal::NoOne { why: wait.why.clone() });
    }
    // Do not ask if there are too few approvers for an answer to count.
    if let Some(why) = sign::lacking(&engine.approvers(), prompt.approvals) {
        return AskOutcome::No(Refusal::NoOne { why });
    }
    if wait.elsewhere && prompt.tier == Tier::Critical {
        return AskOutcome::No(Refusal::NoOne { why: "a tier 4 command cannot be queued without waiting".to_owned() });
    }
    // Without the record no answer counts and the command cannot run.
    Asking::of(engine, invocation, judgment, prompt, wait)
        .ask(false)
        .unwrap_or_else(|error| AskOutcome::No(Refusal::Unrecorded { why: error.to_string() }))
}

/// Reports whether a person has approved exactly this command and the approval is unused.
#[must_use]
pub fn is_answered(engine: &Engine, digest: &Digest) -> bool {
    let is_any = || engine.paths().is_ok_and(|paths| paths.queue().database().exists());
    (engine.service().is_some() || is_any())
        && engine.requests().and_then(|queue| queue.is_answered(digest, &engine.caller.account.name)).unwrap_or(false)
}

/// Files a command that a reviewer refused, so that a person can overrule the refusal once. Returns the ID of the
/// request. No process waits for the answer.
#[must_use]
pub fn file_refused(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    opinion: &Opinion,
) -> Option<String> {
    if engine.policy().queue_wait == 0 {
        return None;
    }
    let (now, waiter) = (Timestamp::now(), Caller::name_of_this());
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).ok()?;
    let request = NewRequest {
        invocation,
        digest: &invocation.digest(&judgment.facts.expanded),
        risk: &judgment.risk,
        bindings: &Bindings::of(judgment, paths::directory_identity(&invocation.cwd)),
        fresh: ApprovalNonce::of(nonce, invocation, &judgment.risk),
        waiter: Some(waiter.as_str()),
        above: engine.caller.above(),
        expires: now.saturating_add(SignedDuration::from_secs(60)).unwrap_or(now),
        most: engine.policy().queue_pending,
        approvals: 1,
        decision: judgment.risk.is_decision(),
        justification: &Justification::default(),
        opinion: Some(opinion),
        // Overruling a reviewer is valid for one run.
        may_grant: false,
        codes_left: 0,
        evidence: &evidence(engine, invocation, judgment),
    };
    let queue = engine.requests().ok()?;
    let Ok(FilingResult::Waits { id, .. }) = queue.file(&request, now) else { return None };
    queue.give_up(&id).ok()?.then_some(id)
}

/// Like [`ask`], for a command that several approvers must sign, one of whom has just approved it on the card: that
/// approver signs here, then the command waits for the others.
pub fn ask_another(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    wait: &WaitOptions,
) -> AskOutcome {
    Asking::of(engine, invocation, judgment, prompt, wait)
        .ask(true)
        .unwrap_or_else(|error| AskOutcome::No(Refusal::Unrecorded { why: error.to_string() }))
}

/// The reason why a command cannot be filed, or its answer cannot be read.
#[derive(Debug, thiserror::Error)]
enum QueueError<'a> {
    /// The record cannot be opened.
    #[error("{0}")]
    Closed(&'a StoreError),
    #[error("{0}")]
    Store(StoreError),
    /// Notifications of an answer cannot be received.
    #[error("{0}")]
    Wakeup(Errno),
    #[error("{0}")]
    Random(getrandom::Error),
    #[error("request {0} no longer exists")]
    Gone(String),
}

/// A command that waits in the queue.
struct Asking<'a> {
    engine: &'a Engine,
    invocation: &'a Invocation,
    judgment: &'a Judgment,
    /// The number of different approvers that are needed.
    approvals: u8,
    /// Whether its card offers a grant.
    may_grant: bool,
    wait: &'a WaitOptions,
}

impl<'a> Asking<'a> {
    fn of(
        engine: &'a Engine,
        invocation: &'a Invocation,
        judgment: &'a Judgment,
        prompt: &Prompt,
        wait: &'a WaitOptions,
    ) -> Self {
        let may_grant = prompt.may_grant && judgment.may_grant;
        Self { engine, invocation, judgment, approvals: prompt.approvals, may_grant, wait }
    }

    /// Files the command and waits. With `signed_here`, the approver at this terminal signs first.
    fn ask(&self, signed_here: bool) -> Result<AskOutcome, QueueError<'a>> {
        let begun = Instant::now();
        // Do not try again after a wrong code if several approvers signed, because all would have to sign again, or if
        // the starter is notified, because it knows the request by one ID.
        let once = self.approvals > 1 || self.wait.notify == NotifyTarget::Starter;
        let mut codes_left = if once { 1 } else { CODES };
        loop {
            let why = match self.ask_once(signed_here, begun, codes_left)? {
                WaitResult::Answered(asked) => return Ok(asked),
                WaitResult::WrongCode(why) => why,
            };
            codes_left -= 1;
            if codes_left == 0 || begun.elapsed() >= self.wait.time {
                return Ok(AskOutcome::No(Refusal::Unsigned { why: format!("{why}; run the command again") }));
            }
            if self.wait.notify == NotifyTarget::Asker {
                let text = format!("guard: not approved: {why}; it is requested again with another code\n");
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
        }
    }

    /// Files the command and waits for one answer. `codes_left` is the number of codes that may still be tried.
    fn ask_once(&self, signed_here: bool, begun: Instant, codes_left: u8) -> Result<WaitResult, QueueError<'a>> {
        let Self { engine, invocation, judgment, approvals, may_grant, wait } = *self;
        engine.store().map_err(QueueError::Closed)?;
        let queue = engine.requests().map_err(QueueError::Store)?;
        let digest = invocation.digest(&judgment.facts.expanded);
        let bindings = Bindings::of(judgment, paths::directory_identity(&invocation.cwd));
        let left = || wait.time.saturating_sub(begun.elapsed());
        let begin = || Wakeup::begin(left()).map_err(QueueError::Wakeup);
        // A signature is made on the terminal, to which the wakeup would not let signals through.
        let mut wakeup = if signed_here { None } else { Some(begin()?) };
        let no = |refusal| Ok(WaitResult::Answered(AskOutcome::No(refusal)));
        // A code is of no use if no process waits to compare it.
        let mut code = None;
        if engine.policy().confirm_code && !wait.elsewhere {
            code = Some(ConfirmCode::of(getrandom::u64().map_err(QueueError::Random)?));
        }
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(QueueError::Random)?;
        let fresh = ApprovalNonce::of(nonce, invocation, &judgment.risk);
        let codes_left = code.map_or(0, |_| codes_left);
        let (id, signing) = match self.file(&queue, (&digest, &bindings), (fresh, codes_left), left())? {
            FilingResult::Crowded { waiting } => return no(Refusal::Crowded { waiting }),
            // A hook does not use the answer: the process that runs the command does.
            FilingResult::Answered { id } if wait.elsewhere && wait.notify == NotifyTarget::Nobody => {
                return Ok(WaitResult::Answered(AskOutcome::Queued { request: id }));
            }
            FilingResult::Answered { id } => {
                // The answer was given to another guard process, which showed another code or none.
                code = None;
                // Report what has changed since, before checking the answer, which would no longer match.
                let whole = queue.full_request(&id).map_err(QueueError::Store)?;
                if let Some(what) = whole.and_then(|whole| whole.bindings.difference(&bindings)) {
                    queue.void(&id, &what).map_err(QueueError::Store)?;
                    return no(Refusal::Changed { what });
                }
                // The answer is bound to the nonce of the earlier request.
                let signing = SigningContext::of(&queue, &id, fresh, true).map_err(QueueError::Store)?;
                (id, signing)
            }
            FilingResult::Waits { id, twins } => {
                if let Some(handle) = &wait.handle {
                    handle.set(&id);
                }
                // Earlier signatures are bound to the nonce of the earlier request. Look it up before anybody is
                // notified, because afterwards the service may be unavailable for a while.
                let signing = SigningContext::of(&queue, &id, fresh, approvals > 1).map_err(QueueError::Store)?;
                if signed_here {
                    if let Err(refusal) = self.sign(&queue, &id, &signing, (&digest, &bindings))? {
                        return no(refusal);
                    }
                    wakeup = Some(begin()?);
                }
                // One notification is enough for several requests of the same command, unless each has a code of its
                // own.
                if !twins || code.is_some() {
                    self.notify(&queue, &id, code);
                }
                if wait.elsewhere {
                    return Ok(WaitResult::Answered(AskOutcome::Queued { request: id }));
                }
                self.tell(&queue, &id, (signed_here, left()), code);
                (id, signing)
            }
        };
        let tier = judgment.risk.tier;
        let (digest, bindings) = (&digest, &bindings);
        let waiting = WaitingRequest {
            engine,
            invocation,
            queue: &queue,
            id: &id,
            tier,
            approvals,
            may_grant,
            signing,
            code,
            digest,
            bindings,
        };
        let mut wakeup = match wakeup {
            Some(wakeup) => wakeup,
            None => begin()?,
        };
        let lost = match queue.listen(&id, &mut wakeup) {
            Err(_) if queue.is_shared() => Some(Instant::now()),
            listening => listening.map(|()| None).map_err(QueueError::Store)?,
        };
        let asked = waiting.until(&mut wakeup, wait, lost);
        wakeup.take_down();
        asked
    }

    /// Files the request in the queue.
    fn file(
        &self,
        queue: &Requests,
        (digest, bindings): (&Digest, &Bindings),
        (fresh, codes_left): (ApprovalNonce, u8),
        time: Duration,
    ) -> Result<FilingResult, QueueError<'a>> {
        let Self { engine, invocation, judgment, approvals, may_grant, wait } = *self;
        let now = Timestamp::now();
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        let waiter = Caller::name_of_this();
        let request = NewRequest {
            invocation,
            digest,
            risk: &judgment.risk,
            bindings,
            fresh,
            waiter: (!wait.elsewhere).then_some(waiter.as_str()),
            above: engine.caller.above(),
            expires: now.saturating_add(time).unwrap_or(now),
            most: engine.policy().queue_pending,
            approvals,
            decision: judgment.risk.is_decision(),
            justification: &wait.justification,
            opinion: wait.opinion.as_ref(),
            may_grant,
            codes_left,
            evidence: &evidence(engine, invocation, judgment),
        };
        queue.file(&request, now).map_err(QueueError::Store)
    }

    /// Notifies those that the policy names.
    fn notify(&self, queue: &Requests, id: &str, code: Option<ConfirmCode>) {
        if !self.engine.policy().queue_notify.is_empty()
            && let Ok(Some(filed)) = queue.find(id)
        {
            notify::tell(self.engine, &filed, code);
        }
    }

    /// Notifies the asker that the command waits, and for which answer.
    fn tell(&self, queue: &Requests, id: &str, (signed_here, left): (bool, Duration), code: Option<ConfirmCode>) {
        // Round up to whole seconds.
        let seconds = left.as_millis().div_ceil(1000);
        match self.wait.notify {
            NotifyTarget::Nobody => {}
            // The starter does not get the code: it may be the gateway, which must not know it.
            NotifyTarget::Starter => {
                let tier = self.judgment.risk.tier;
                let told = serde_json::json!({
                    "status": "waiting", "request": id, "tier": tier, "timeout_secs": seconds,
                });
                let mut out = std::io::stdout().lock();
                let _ = writeln!(out, "{told}").and_then(|()| out.flush());
            }
            NotifyTarget::Asker => {
                let whom = match self.approvals {
                    1 => "a person".to_owned(),
                    2 if signed_here => "another approver".to_owned(),
                    approvals if signed_here => format!("{} other approvers", approvals - 1),
                    approvals => format!("{approvals} approvers"),
                };
                // The page shows the same digest, so that the person who signs can compare the two.
                let digest = queue.find(id).ok().flatten();
                let digest = digest.map_or(String::new(), |one| format!("; digest {}", one.short_digest()));
                let code = code.map_or(String::new(), |code| format!("; code {code}"));
                let text = format!("guard: request {id} waits for {whom}, {seconds} s at most{digest}{code}\n");
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
        }
    }

    /// Records the signature of the approver at this terminal, who has approved on the card: the first of several.
    fn sign(
        &self,
        queue: &Requests,
        id: &str,
        signing: &SigningContext,
        (digest, bindings): (&Digest, &Bindings),
    ) -> Result<Result<(), Refusal>, QueueError<'a>> {
        let enrolled = self.engine.approvers();
        let message = signing.approval(id, digest, bindings, AnswerScope::Once).message();
        let signed = match sign::sign(&enrolled, &format!("To approve {id}"), &message, &[]) {
            Ok(signed) => signed,
            Err(why) => {
                let refusal = Refusal::Unsigned { why: why.to_string() };
                queue.void(id, &refusal.to_string()).map_err(QueueError::Store)?;
                return Ok(Err(refusal));
            }
        };
        let Some(filed) = queue.find(id).map_err(QueueError::Store)? else {
            return Err(QueueError::Gone(id.to_owned()));
        };
        let signer = sign::names(&enrolled, &signed.approver);
        let answer = Answer {
            yes: Some((digest, bindings)),
            by: &self.engine.caller.account.name,
            words: None,
            signatures: &[signed],
            waited_for: true,
            approvals: self.approvals,
            signer: &signer,
            scope: AnswerScope::Once,
        };
        let store = self.engine.store().map_err(QueueError::Closed)?;
        // The outcome is not needed: the process that waits sees any change of the request.
        queue.answer(store, &filed, &answer, Timestamp::now()).map_err(QueueError::Store)?;
        Ok(Ok(()))
    }
}
