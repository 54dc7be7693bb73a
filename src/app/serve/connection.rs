//! One connection: reads requests, checks whether the client may make them, and answers.
//!
//! The client's account, session and process come from the kernel. The client's own statements count only for its own
//! commands: it cannot name another account, the request of another account, or a person who was not present.

mod error;
mod gateway;
mod record;
mod requests;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use self::error::AskError;
use super::server::Server;
use super::show;
use crate::app::record_backend;
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::invocation::{Digest, Invocation, Request};
use crate::service::client::line;
use crate::service::gateway::GatewayRequest;
use crate::service::line::Lines;
use crate::service::message::{Base64Bytes, Reply, ServiceRequest, VERSION, Version, VersionedRequest};
use crate::store::queue::{Pending, PendingMessage, Queue};
use crate::store::{NewGrant, Store};
use crate::world::peer::Peer;

/// A connection that is idle for this long is closed.
const IDLE: Duration = Duration::from_secs(60);

/// The number of requests per account that are kept although no process waits for their answer.
const MAX_LATE: usize = 50;

/// The longest time that a command may wait, in seconds.
const MAX_WAIT: i64 = 24 * 60 * 60;

/// An answer, or the reason why there is none.
type ServiceResult<T> = Result<T, AskError>;

/// A connection.
pub(super) struct Connection<'a> {
    server: &'a Server,
    peer: Peer,
    store: OnceCell<Store>,
    queue: OnceCell<Queue>,
    /// Commands whose approval was used over this connection, with the words that the record must begin with.
    taken: HashMap<Digest, String>,
    /// Requests that the client filed over this connection and waits for.
    filed: Vec<String>,
    /// The numbers of the grants that were sent to this client.
    granted: HashSet<i64>,
    /// Grants that came with an approval used over this connection: what they cover, when they expire, and who gave
    /// them.
    offered: Vec<((GrantSubject, GrantPlace), GrantExpiry, String)>,
}

fn reply<T: Serialize>(result: ServiceResult<T>) -> Vec<u8> {
    line(&match result {
        Ok(value) => Reply::Ok(value),
        Err(why) => Reply::Error(why.to_string()),
    })
}

impl<'a> Connection<'a> {
    pub fn new(server: &'a Server, peer: Peer) -> Self {
        let (store, queue) = (OnceCell::new(), OnceCell::new());
        Self {
            server,
            peer,
            store,
            queue,
            taken: HashMap::new(),
            filed: Vec::new(),
            granted: HashSet::new(),
            offered: Vec::new(),
        }
    }

    /// Answers requests until the client disconnects or sends something invalid.
    pub fn run(mut self, mut lines: Lines) {
        loop {
            let heard = match lines.receive(Some(IDLE)) {
                Ok(Some(heard)) => heard,
                Ok(None) => {
                    for id in self.filed.iter().filter(|id| !self.server.is_heard(id)) {
                        self.gone(id);
                    }
                    return;
                }
                Err(error) => {
                    if error.kind() == std::io::ErrorKind::InvalidData {
                        let _ = lines.send(reply::<()>(Err(error.into())));
                    }
                    return;
                }
            };
            // The identity is that of a process which has exited: another process uses its connection now.
            if !self.peer.is_there() {
                return;
            }
            let ask = match read(&heard) {
                Ok(ask) => ask,
                Err(why) => {
                    let _ = lines.send(reply::<()>(Err(why)));
                    return;
                }
            };
            if let Err(why) = self.may_ask(&ask) {
                if lines.send(reply::<()>(Err(why))).is_err() {
                    return;
                }
                continue;
            }
            let answer = match ask {
                ServiceRequest::Gateway(GatewayRequest::Watch) => return self.watch(lines),
                ServiceRequest::Listen { id } => return self.listen(&id, lines),
                ServiceRequest::Show { words, environment } => {
                    return match self.approver("read the record") {
                        Ok(()) => show::on(self.server, &words, environment, lines),
                        Err(why) => drop(lines.send(reply::<()>(Err(why)))),
                    };
                }
                ask => self.answer(ask, heard.len()),
            };
            if lines.send(answer).is_err() {
                return;
            }
        }
    }

    fn answer(&mut self, ask: ServiceRequest, length: usize) -> Vec<u8> {
        let writes = !matches!(
            ask,
            ServiceRequest::SessionState { .. }
                | ServiceRequest::Ledger { .. }
                | ServiceRequest::Grants { .. }
                | ServiceRequest::IsHanded { .. }
                | ServiceRequest::List
                | ServiceRequest::Find { .. }
                | ServiceRequest::Whole { .. }
                | ServiceRequest::Take { .. }
                | ServiceRequest::IsAnswered { .. }
                | ServiceRequest::Signatures { .. }
                | ServiceRequest::Sessions
                | ServiceRequest::Gateway(GatewayRequest::List { .. } | GatewayRequest::Approval { .. })
        );
        if writes && let Err(why) = self.server.spend(self.uid(), length) {
            return reply::<()>(Err(why.into()));
        }
        match ask {
            ServiceRequest::Ledger { session } => reply(self.ledger(&session)),
            ServiceRequest::SessionState { root, parent } => reply(self.standing(&root, parent.as_deref())),
            ServiceRequest::Grants { session, command } => reply(self.grants(&session, &command)),
            ServiceRequest::Row(row) => reply(self.row(*row)),
            ServiceRequest::IsHanded { handed, cwd, root, tier } => reply(self.is_handed(&(handed, cwd), &root, tier)),
            ServiceRequest::Result { row, exit, signal, duration_ms } => {
                reply(self.result(row, exit, signal, duration_ms))
            }
            ServiceRequest::File(new) => reply(self.file(*new)),
            ServiceRequest::Take { id, digest, bindings } => reply(self.take(&id, &digest, &bindings)),
            ServiceRequest::IsAnswered { digest } => {
                reply(self.queue().and_then(|queue| Ok(queue.is_answered(&digest, self.user())?)))
            }
            ServiceRequest::GiveUp { id } => reply(self.give_up(&id)),
            ServiceRequest::Void { id, what } => reply(self.void(&id, &what)),
            ServiceRequest::List => reply(self.list()),
            ServiceRequest::Find { id } => reply(self.visible(&id).map(|found| found.map(PendingMessage::from))),
            ServiceRequest::Whole { id } => reply(self.full_request(&id)),
            ServiceRequest::Signatures { id, digest, bindings } => reply(self.signatures(&id, &digest, &bindings)),
            ServiceRequest::Answer(given) => reply(self.give(*given)),
            ServiceRequest::Grant { what, place, until, words, user, session } => {
                let grant = NewGrant {
                    what: &what,
                    place: &place,
                    until: &until,
                    words: &words,
                    user: &user,
                    session: &session,
                };
                reply(self.grant(&grant))
            }
            ServiceRequest::Sessions => {
                let known = self.approver("list the sessions").and_then(|()| self.store());
                reply(known.and_then(|store| Ok(record_backend::sessions(store, usize::MAX, Timestamp::now())?)))
            }
            ServiceRequest::Resume { root, session, why } => reply(self.resume(&root, &session, &why)),
            ServiceRequest::Gateway(GatewayRequest::List { after }) => reply(self.part(after.as_ref())),
            ServiceRequest::Gateway(GatewayRequest::Approval { shown, scope }) => {
                reply(self.approval(&Pending::from(*shown), scope))
            }
            ServiceRequest::Gateway(GatewayRequest::Answer(given)) => reply(self.give_for_gateway(*given)),
            ServiceRequest::Gateway(GatewayRequest::Attempt { why }) => reply(self.record_attempt(&why)),
            ServiceRequest::Listen { .. }
            | ServiceRequest::Show { .. }
            | ServiceRequest::Gateway(GatewayRequest::Watch) => reply::<()>(Err(AskError::Unexpected)),
        }
    }

    const fn uid(&self) -> u32 {
        self.peer.caller.account.uid
    }

    fn user(&self) -> &str {
        &self.peer.caller.account.name
    }

    fn store(&self) -> ServiceResult<&Store> {
        if self.store.get().is_none() {
            let _ = self.store.set(Store::open(&self.server.paths)?);
        }
        self.store.get().ok_or(AskError::NotOpen)
    }

    fn queue(&self) -> ServiceResult<&Queue> {
        if self.queue.get().is_none() {
            let _ = self.queue.set(Queue::open(&self.server.paths)?);
        }
        self.queue.get().ok_or(AskError::NotOpen)
    }

    /// Returns this name of a process if that process is an ancestor of the client.
    fn above<'b>(&self, name: Option<&'b str>) -> Option<&'b str> {
        name.filter(|name| self.peer.is_below(name))
    }

    fn invocation(&self, request: Request, cwd: PathBuf, origin: crate::judge::invocation::Origin) -> Invocation {
        Invocation { request, cwd, origin, ..self.peer.caller.invocation(Request::Argv(Vec::new())) }
    }

    /// Reports whether the client may approve its own commands and a person can be present.
    fn is_answered_here(&self) -> bool {
        let service = &self.server.service;
        service.own_requests && service.approves(self.user()) && self.peer.why_no_person().is_none()
    }
}

/// Parses a line as a request.
fn read(heard: &[u8]) -> ServiceResult<ServiceRequest> {
    match serde_json::from_slice::<VersionedRequest>(heard) {
        Ok(VersionedRequest { v: VERSION, ask }) => Ok(ask),
        parsed => match (serde_json::from_slice::<Version>(heard), parsed) {
            (Ok(Version { v }), _) if v != VERSION => Err(AskError::Version { theirs: v }),
            (_, Err(error)) => Err(AskError::Unreadable(error)),
            (_, Ok(_)) => Err(AskError::Invalid),
        },
    }
}

fn path(text: &Base64Bytes) -> ServiceResult<PathBuf> {
    text.bytes().map(|bytes| OsString::from_vec(bytes).into()).ok_or(AskError::Directory)
}

fn both_of(both: &(Base64Bytes, Base64Bytes)) -> ServiceResult<(Vec<u8>, PathBuf)> {
    let text = both.0.bytes().ok_or(AskError::Command)?;
    Ok((text, path(&both.1)?))
}
