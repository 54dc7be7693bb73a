//! Access to the queue: its file, or the service that keeps it.

use std::rc::Rc;

use jiff::Timestamp;

use super::RecordBackend;
use crate::judge::approver::Signed;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::Digest;
use crate::prompt::wakeup::{self, Wakeup};
use crate::service::client::Client;
use crate::service::message::{AnswerMessage, Base64Bytes, NewRequestMessage, ServiceRequest};
use crate::store::StoreError;
use crate::store::queue::{
    self, Answer, FilingResult, FullRequest, NewRequest, Pending, PendingMessage, Queue, WaitState,
};
use crate::world::identity::Caller;

/// The queue, in either place.
#[derive(Debug)]
pub enum Requests {
    Own(Queue),
    Service(Rc<Client>),
}

impl Requests {
    /// Listens for the events of a request.
    ///
    /// # Errors
    /// Its events cannot be received.
    pub fn listen(&self, id: &str, wakeup: &mut Wakeup) -> Result<(), StoreError> {
        match self {
            Self::Own(queue) => wakeup.hang_up_at(queue.wakeup_path(id)?),
            Self::Service(client) => wakeup.listen_to(client.listen(id)?),
        }
        Ok(())
    }

    /// Notifies the processes that wait for a request. A service does this itself.
    pub fn wake(&self, id: &str) {
        if let Self::Own(queue) = self
            && let Ok(path) = queue.wakeup_path(id)
        {
            wakeup::ring(&path);
        }
    }

    /// Like [`Queue::file`].
    ///
    /// # Errors
    /// The request is not filed. The command must not run.
    pub fn file(&self, new: &NewRequest<'_>, now: Timestamp) -> Result<FilingResult, StoreError> {
        match self {
            Self::Own(queue) => queue.file(new, &Caller::lives, now),
            Self::Service(client) => client.ask(ServiceRequest::File(Box::new(NewRequestMessage {
                exact: Base64Bytes::of(&queue::pack(new.invocation, new.digest, new.bindings, new.fresh, &new.above)),
                risk: new.risk.into(),
                waits: new.waiter.is_some(),
                expires: new.expires,
                approvals: new.approvals,
                decision: new.decision,
                justification: new.justification.clone(),
                opinion: new.opinion.cloned(),
                may_grant: new.may_grant,
                codes_left: new.codes_left,
                evidence: new.evidence.to_vec(),
            }))),
        }
    }

    /// Like [`Queue::take`].
    ///
    /// # Errors
    /// The answer cannot be read. The command must not run.
    pub fn take(
        &self,
        backend: &RecordBackend,
        id: &str,
        digest: &Digest,
        bindings: &Bindings,
    ) -> Result<WaitState, StoreError> {
        match self {
            Self::Own(queue) => queue.take(backend.own()?, id, digest, bindings),
            Self::Service(client) => {
                client.ask(ServiceRequest::Take { id: id.to_owned(), digest: *digest, bindings: bindings.clone() })
            }
        }
    }

    /// Like [`Queue::is_answered`].
    ///
    /// # Errors
    /// The queue cannot be read, or the service is of a version that cannot tell.
    pub fn is_answered(&self, digest: &Digest, user: &str) -> Result<bool, StoreError> {
        match self {
            Self::Own(queue) => queue.is_answered(digest, user),
            Self::Service(client) => client.ask(ServiceRequest::IsAnswered { digest: *digest }),
        }
    }

    /// Like [`Queue::give_up`].
    ///
    /// # Errors
    /// The queue cannot be written.
    pub fn give_up(&self, id: &str) -> Result<bool, StoreError> {
        match self {
            Self::Own(queue) => queue.give_up(id),
            Self::Service(client) => client.ask(ServiceRequest::GiveUp { id: id.to_owned() }),
        }
    }

    /// Like [`Queue::void`].
    ///
    /// # Errors
    /// The queue cannot be written.
    pub fn void(&self, id: &str, what: &str) -> Result<bool, StoreError> {
        match self {
            Self::Own(queue) => queue.void(id, what),
            Self::Service(client) => client.ask(ServiceRequest::Void { id: id.to_owned(), what: what.to_owned() }),
        }
    }

    /// Like [`Queue::answer`].
    ///
    /// # Errors
    /// The answer does not count, because it could not be recorded or is not permitted.
    pub fn answer(
        &self,
        backend: &RecordBackend,
        shown: &Pending,
        answer: &Answer<'_>,
        now: Timestamp,
    ) -> Result<queue::AnswerOutcome, StoreError> {
        match self {
            Self::Own(queue) => queue.answer(backend.own()?, shown, answer, now),
            Self::Service(client) => client.ask(ServiceRequest::Answer(Box::new(AnswerMessage {
                shown: shown.clone().into(),
                yes: answer.yes.map(|(digest, bindings)| (*digest, bindings.clone())),
                words: answer.words.map(str::to_owned),
                signatures: answer.signatures.to_vec(),
                approvals: answer.approvals,
                scope: answer.scope,
            }))),
        }
    }

    /// Like [`Queue::signatures_so_far`].
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn signatures_so_far(
        &self,
        backend: &RecordBackend,
        id: &str,
        digest: &Digest,
        bindings: &Bindings,
    ) -> Result<Option<Vec<Signed>>, StoreError> {
        match self {
            Self::Own(queue) => queue.signatures_so_far(backend.own()?, id, digest, bindings),
            Self::Service(client) => client.ask(ServiceRequest::Signatures {
                id: id.to_owned(),
                digest: *digest,
                bindings: bindings.clone(),
            }),
        }
    }

    /// Like [`Queue::list`]. A service returns only the account's own requests unless the account is an approver.
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn list(&self, now: Timestamp) -> Result<Vec<Pending>, StoreError> {
        match self {
            Self::Own(queue) => queue.list(now),
            Self::Service(client) => {
                Ok(client.ask::<Vec<PendingMessage>>(ServiceRequest::List)?.into_iter().map(Into::into).collect())
            }
        }
    }

    /// Like [`Queue::find`].
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn find(&self, id: &str) -> Result<Option<Pending>, StoreError> {
        match self {
            Self::Own(queue) => queue.find(id),
            Self::Service(client) => {
                Ok(client.ask::<Option<PendingMessage>>(ServiceRequest::Find { id: id.to_owned() })?.map(Into::into))
            }
        }
    }

    /// Like [`Queue::full_request`].
    ///
    /// # Errors
    /// The queue cannot be read.
    pub fn full_request(&self, id: &str) -> Result<Option<FullRequest>, StoreError> {
        match self {
            Self::Own(queue) => queue.full_request(id),
            Self::Service(client) => {
                let told: Option<(PendingMessage, Base64Bytes)> =
                    client.ask(ServiceRequest::Whole { id: id.to_owned() })?;
                Ok(told.and_then(|(told, exact)| FullRequest::unpack(told.into(), &exact.bytes()?)))
            }
        }
    }

    /// Reports whether the queue also has requests of other accounts.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        matches!(self, Self::Service(_))
    }
}
