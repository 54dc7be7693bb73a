//! Requests about the queue: file a request, wait for its answer, use the answer, and answer a request.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::{SignedDuration, Timestamp};

use super::super::server::ALL;
use super::error::AskError;
use super::{Connection, MAX_LATE, MAX_WAIT, ServiceResult, reply};
use crate::app::approver::sign;
use crate::app::place::attempted;
use crate::judge::approved::exactly;
use crate::judge::approver::Signed;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Invocation, Request};
use crate::judge::risk::{Risk, Tier};
use crate::service::line::Lines;
use crate::service::message::{AnswerMessage, Base64Bytes, NewRequestMessage};
use crate::store::queue::{
    self, Answer, AnswerOutcome, FilingResult, FullRequest, NewRequest, Pending, PendingMessage, RequestState,
    WaitState,
};
use crate::world::identity::Caller;

impl Connection<'_> {
    pub(super) fn file(&mut self, new: NewRequestMessage) -> ServiceResult<FilingResult> {
        let queue = self.queue()?;
        let bytes = new.exact.bytes().ok_or(AskError::Command)?;
        let blank = queue::blank();
        let whole = FullRequest::unpack(blank, &bytes).ok_or(AskError::Format)?;
        let now = Timestamp::now();
        let mine: Vec<Pending> = queue.list(now)?.into_iter().filter(|one| one.user == self.user()).collect();
        let alive = |one: &&Pending| one.waiter.as_deref().is_none_or(Caller::lives);
        let waiting = mine.iter().filter(|one| one.state == RequestState::Waiting).filter(alive).count();
        let most = self.server.policy.queue_pending;
        if waiting >= usize::try_from(most).unwrap_or(usize::MAX) {
            return Ok(FilingResult::Crowded { waiting: u32::try_from(waiting).unwrap_or(u32::MAX) });
        }
        // The oldest are dropped first.
        let late: Vec<_> = mine.iter().filter(|one| one.state == RequestState::Late).collect();
        for one in late.iter().take(late.len().saturating_sub(MAX_LATE)) {
            queue.void(&one.id, "this account has too many unfinished requests")?;
        }
        let peer = &self.peer.caller;
        let mut invocation = Invocation { uid: self.uid(), user: self.user().to_owned(), ..whole.invocation };
        invocation.home.clone_from(&peer.account.home);
        invocation.session.root = self.peer.root(&invocation.session.root);
        if let Some(agent) = &peer.session.agent {
            invocation.session.agent = Some(agent.clone());
        }
        let name = self.peer.name().ok_or(AskError::NoProcess)?;
        let last = now.saturating_add(SignedDuration::from_secs(MAX_WAIT)).unwrap_or(now);
        let risk = Risk::from(new.risk);
        let request = NewRequest {
            invocation: &invocation,
            digest: &whole.digest,
            risk: &risk,
            bindings: &whole.bindings,
            fresh: whole.fresh,
            waiter: new.waits.then_some(name.as_str()),
            above: peer.above(),
            expires: new.expires.clamp(now, last),
            most,
            approvals: new.approvals.max(self.server.policy.approvals.wanted(&risk)),
            decision: new.decision || risk.is_decision(),
            justification: &new.justification,
            opinion: new.opinion.as_ref(),
            may_grant: new.may_grant,
            codes_left: new.codes_left,
            evidence: &new.evidence,
        };
        let filed = queue.file(&request, &Caller::lives, now)?;
        if let (FilingResult::Waits { id, .. }, true) = (&filed, new.waits) {
            self.filed.push(id.clone());
        }
        self.server.ring(ALL);
        Ok(filed)
    }

    /// Finds a request of the client's own account.
    pub(super) fn own(&self, id: &str) -> ServiceResult<Pending> {
        let found = self.queue()?.find(id)?.filter(|one| one.user == self.user());
        found.ok_or_else(|| AskError::NotOwn(id.to_owned()))
    }

    pub(super) fn take(&mut self, id: &str, digest: &Digest, bindings: &Bindings) -> ServiceResult<WaitState> {
        self.own(id)?;
        // Read it first: using the approval erases it.
        let whole = self.queue()?.full_request(id)?;
        let found = self.queue()?.take(self.store()?, id, digest, bindings)?;
        if let WaitState::Yes(answered) = &found {
            if let Some(whole) = whole
                && let Some(until) = answered.scope.until(&whole.pending.session)
            {
                self.offered.push((exactly(&whole.invocation), until, answered.by.clone()));
            }
            let by = format!("request {id}, approved by {} in row {}", answered.by, answered.row);
            self.taken.insert(*digest, by);
        }
        // A waiting client asks again after each notification, so its own question must not cause one.
        if !matches!(found, WaitState::Waiting | WaitState::Late) {
            self.server.ring(ALL);
        }
        Ok(found)
    }

    pub(super) fn give_up(&self, id: &str) -> ServiceResult<bool> {
        let own = self.own(id)?;
        if own.waiter.is_some() && own.waiter != self.peer.name() {
            return Err(AskError::WaitedFor(id.to_owned()));
        }
        let given_up = self.queue()?.give_up(id)?;
        self.server.ring(id);
        Ok(given_up)
    }

    pub(super) fn void(&self, id: &str, what: &str) -> ServiceResult<bool> {
        self.own(id)?;
        let voided = self.queue()?.void(id, what)?;
        self.server.ring(id);
        Ok(voided)
    }

    pub(super) fn list(&self) -> ServiceResult<Vec<PendingMessage>> {
        let all = self.queue()?.list(Timestamp::now())?;
        Ok(all.into_iter().filter(|one| self.sees(one)).map(PendingMessage::from).collect())
    }

    pub(super) fn sees(&self, one: &Pending) -> bool {
        one.user == self.user() || self.server.service.approves(self.user())
    }

    /// Finds a request that the client may see.
    pub(super) fn visible(&self, id: &str) -> ServiceResult<Option<Pending>> {
        Ok(self.queue()?.find(id)?.filter(|one| self.sees(one)))
    }

    pub(super) fn full_request(&self, id: &str) -> ServiceResult<Option<(PendingMessage, Base64Bytes)>> {
        if self.visible(id)?.is_none() {
            return Ok(None);
        }
        let whole = self.queue()?.full_request(id)?;
        Ok(whole.map(|FullRequest { pending, invocation, digest, bindings, fresh, above }| {
            (pending.into(), Base64Bytes::of(&queue::pack(&invocation, &digest, &bindings, fresh, &above)))
        }))
    }

    /// Notifies the client of the events of a request until it disconnects. If the client was waiting for the answer,
    /// the request is then withdrawn.
    pub(super) fn listen(self, id: &str, mut lines: Lines) {
        let found = self.visible(id).and_then(|found| found.ok_or_else(|| AskError::NoRequest(id.to_owned())));
        match found {
            Ok(_) => {
                self.tell_of(id, lines);
                self.gone(id);
            }
            Err(why) => drop(lines.send(reply::<()>(Err(why)))),
        }
    }

    /// Sends a byte whenever something happens to a request, or to any request for [`ALL`], until the client sends
    /// anything or disconnects.
    pub(super) fn tell_of(&self, id: &str, mut lines: Lines) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        match lines.stream().try_clone() {
            Ok(stream) => self.server.remember(id, key, stream),
            Err(error) => return drop(lines.send(reply::<()>(Err(error.into())))),
        }
        if lines.send(reply(Ok(()))).is_ok() {
            // The client has nothing more to send: anything that arrives ends the notifications.
            let _ = lines.receive(None);
        }
        self.server.forget(id, key);
    }

    /// Withdraws a request for whose answer the client was waiting before it exited.
    pub(super) fn gone(&self, id: &str) {
        let waits = |one: &Pending| {
            one.state == RequestState::Waiting && one.waiter.is_some() && one.waiter == self.peer.name()
        };
        if self.own(id).is_ok_and(|one| waits(&one))
            && let Ok(queue) = self.queue()
        {
            let _ = queue.give_up(id);
            self.server.ring(ALL);
        }
    }

    /// Checks that the client's account is an approver.
    pub(super) fn approver(&self, what: &'static str) -> ServiceResult<()> {
        if self.server.service.approves(self.user()) {
            return Ok(());
        }
        Err(AskError::NotApprover { user: self.user().to_owned(), what })
    }

    /// Checks that the client may answer this request.
    pub(super) fn may_answer(&self, pending: &Pending) -> ServiceResult<()> {
        self.approver("answer")?;
        if let Some(why) = self.peer.why_no_person() {
            return Err(AskError::NoPerson(why));
        }
        if pending.user == self.user() && !self.server.service.own_requests {
            return Err(AskError::OwnRequest);
        }
        if pending.root == self.peer.caller.session.root {
            return Err(AskError::OwnSession);
        }
        let queue = self.queue()?;
        let above = queue.full_request(&pending.id)?.map_or_else(Vec::new, |whole| whole.above);
        if above.iter().any(|name| self.peer.is_below(name)) {
            return Err(AskError::SameParent);
        }
        let waiters = queue.list(Timestamp::now())?.into_iter().filter_map(|one| one.waiter);
        if waiters.into_iter().any(|name| self.peer.is_below(&name)) {
            return Err(AskError::BelowWaiter);
        }
        Ok(())
    }

    pub(super) fn give(&self, given: AnswerMessage) -> ServiceResult<AnswerOutcome> {
        let shown = Pending::from(given.shown);
        // Whether it may be answered depends on the queue's copy, not on what was shown.
        let Some(pending) = self.visible(&shown.id)? else { return Ok(AnswerOutcome::Unknown) };
        if let Err(why) = self.may_answer(&pending) {
            self.attempt(&format!("request {}: {why}", pending.id));
            return Err(AskError::Attempt(Box::new(why)));
        }
        let approvals = given.approvals.max(pending.approvals);
        let mut signer = Vec::new();
        if let Some((digest, bindings)) = &given.yes {
            let enrolled = self.server.enrolled();
            let tier = given.scope.signed_as(pending.tier);
            if sign::is_wanted(&enrolled, tier, approvals) {
                let Some(whole) = self.queue()?.full_request(&pending.id)? else { return Ok(AnswerOutcome::Unknown) };
                let message = whole.approval(&whole.fresh, digest, bindings, given.scope).message();
                // This is one of possibly several signatures; only its validity is checked here.
                let names = sign::are_enough(&enrolled, (pending.tier.max(Tier::High), 1), &message, &given.signatures);
                signer = names?.first().map_or_else(Vec::new, |name| sign::names(&enrolled, name));
            }
        }
        let answer = Answer {
            yes: given.yes.as_ref().map(|(digest, bindings)| (digest, bindings)),
            by: self.user(),
            words: given.words.as_deref(),
            signatures: &given.signatures,
            waited_for: is_waited_for(&pending),
            approvals,
            signer: &signer,
            scope: given.scope,
        };
        let outcome = self.queue()?.answer(self.store()?, &shown, &answer, Timestamp::now())?;
        self.server.ring(&pending.id);
        Ok(outcome)
    }

    pub(super) fn signatures(
        &self,
        id: &str,
        digest: &Digest,
        bindings: &Bindings,
    ) -> ServiceResult<Option<Vec<Signed>>> {
        if self.visible(id)?.is_none() {
            return Ok(None);
        }
        Ok(self.queue()?.signatures_so_far(self.store()?, id, digest, bindings)?)
    }

    pub(super) fn attempt(&self, why: &str) {
        let words = ["guard", "approve"].iter().map(OsString::from).collect();
        let invocation = self.invocation(Request::Argv(words), PathBuf::from("/"), self.peer.caller.origin);
        if let Ok(store) = self.store() {
            attempted(&invocation, why, |row| drop(store.intent(row)));
        }
    }

    pub(super) fn person(&self, what: &'static str) -> ServiceResult<()> {
        self.approver(what)?;
        self.peer.why_no_person().map_or(Ok(()), |why| Err(AskError::Attempt(Box::new(AskError::NoPerson(why)))))
    }
}

/// Reports whether the guard process that asked is still waiting.
pub(super) fn is_waited_for(pending: &Pending) -> bool {
    pending.waiter.as_deref().is_none_or(Caller::lives) && pending.expires > Timestamp::now()
}
