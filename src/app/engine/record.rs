//! The record and the queue of the caller: this account's own or the service's, opened when they are first
//! needed, and what they know of the session.

use std::rc::Rc;

use jiff::Timestamp;

use super::Engine;
use crate::app::record_backend::{self, DIRECTORY, RecordBackend, Requests};
use crate::config::{self, Roots, Service};
use crate::judge::approved::Grant;
use crate::judge::invocation::{Environment, Invocation};
use crate::judge::ledger::Ledger;
use crate::judge::policy::{Refusal, SessionState};
use crate::store::queue::Queue;
use crate::store::{Paths, Store, StoreError};
use crate::world::identity::Account;

impl Engine {
    /// The service that keeps the record, where the machine has one.
    #[must_use]
    pub fn service(&self) -> Option<&Service> {
        self.config.service.as_ref().filter(|_| DIRECTORY.get().is_none())
    }

    /// Whether whoever sits at this terminal, or a prompt of an agent's, may say yes: not where a service says who may,
    /// unless it is they.
    #[must_use]
    pub fn is_answered_here(&self) -> bool {
        let may = |service: &Service| service.own_requests && service.approves(&self.caller.account.name);
        self.service().is_none_or(may)
    }

    /// Why nobody is asked here; `None` where they are.
    #[must_use]
    pub fn asked_elsewhere(&self) -> Option<String> {
        let names = self.service().filter(|_| !self.is_answered_here())?.approvers.join(", ");
        Some(format!("only the approvers of this machine may answer ({names})"))
    }

    /// The record, opened when it is first needed.
    ///
    /// # Errors
    /// Why it cannot be opened; the same each time.
    pub fn store(&self) -> Result<&RecordBackend, &StoreError> {
        let open = || match self.service() {
            Some(service) => Ok(RecordBackend::Service(Rc::new(record_backend::client(service)))),
            None => Store::open(&self.paths()?).map(RecordBackend::Own),
        };
        self.store.get_or_init(open).as_ref()
    }

    /// The queue.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn requests(&self) -> Result<Requests, StoreError> {
        match self.store() {
            Ok(RecordBackend::Service(client)) => Ok(Requests::Service(client.clone())),
            // What is wrong with the record is told where it is used.
            Ok(RecordBackend::Own(_)) | Err(_) => Queue::open(&self.paths()?).map(Requests::Own),
        }
    }

    /// The files of the record.
    ///
    /// # Errors
    /// There is no home to keep them in, or they are the service's.
    pub fn paths(&self) -> Result<Paths, StoreError> {
        files(self.service().is_some(), &self.caller.account)
    }

    /// The record where there is one; none is made.
    ///
    /// # Errors
    /// Something is there and cannot be used.
    pub fn existing(&self) -> Result<Option<Store>, StoreError> {
        Store::open_existing(&self.paths()?)
    }

    /// The record for looking things up: judging by itself makes none.
    pub(super) fn past(&self) -> Option<&RecordBackend> {
        let opened = self.store.get().is_some() || self.service().is_some();
        let known = opened || self.paths().is_ok_and(|paths| paths.database().exists());
        if known { self.store().ok() } else { None }
    }

    /// What the record knows of the session. Without a record nothing is known; what is flagged cannot run then.
    pub fn standing(&self, invocation: &Invocation) -> SessionState {
        let Some(store) = self.past() else { return SessionState::default() };
        let parent = self.parent().filter(|_| !self.caller.is_agent_between());
        store.standing(&invocation.session.root, parent.as_deref(), Timestamp::now()).unwrap_or_default()
    }

    /// That a row was edited by hand since the invocation's session was last let go on, or that this cannot be told.
    pub(super) fn edited(&self, invocation: &Invocation) -> Option<Refusal> {
        match self.past()?.edited(&invocation.session.root) {
            Ok(row) => row.map(|row| Refusal::Edited { row }),
            Err(error) => Some(Refusal::Unrecorded { why: error.to_string() }),
        }
    }

    /// What the invocation's session did to files. Without a record it did nothing; `None` where the record does not tell.
    pub(in crate::app) fn ledger(&self, invocation: &Invocation) -> Option<Ledger> {
        let Some(store) = self.past() else { return Some(Ledger::default()) };
        let mut ledger = store.ledger(&invocation.session.id, &invocation.user).ok()?;
        // Another's file may have taken its place since, and what is gone again was taken away by somebody who was asked.
        ledger.brought.retain(|brought| {
            let lies = |path: &str| std::fs::symlink_metadata(path).is_ok();
            lies(&brought.to) && (brought.moved || !lies(&brought.from))
        });
        Some(ledger)
    }

    /// The grants in force: of the configuration, then of the record. Without a record there are none of its.
    pub(super) fn grants(&self, invocation: &Invocation) -> Vec<Grant> {
        let mut grants = self.config().grants.clone();
        if let Some(store) = self.past() {
            let stored = store.grants_in_force(&invocation.session.id, &invocation.display(), Timestamp::now());
            grants.extend(stored.unwrap_or_default());
        }
        grants
    }
}

/// The files of the record, for verbs that need nothing else of the engine.
///
/// # Errors
/// There is no home to keep them in, or they are the service's.
pub fn paths() -> Result<Paths, StoreError> {
    files(service().is_some(), &Account::of(nix::unistd::geteuid().as_raw()))
}

/// The queue where there is one, for verbs that need nothing else of the engine; none is made.
///
/// # Errors
/// Something is there and cannot be used.
pub fn requests() -> Result<Option<Requests>, StoreError> {
    match service() {
        Some(service) => Ok(Some(Requests::Service(Rc::new(record_backend::client(&service))))),
        None => Ok(Queue::existing(&paths()?)?.map(Requests::Own)),
    }
}

/// The service that keeps the record, where the machine has one.
#[must_use]
pub fn service() -> Option<Service> {
    if DIRECTORY.get().is_some() {
        return None;
    }
    let uid = nix::unistd::geteuid().as_raw();
    config::load(&Roots::of(&Environment::default(), None, uid, std::path::Path::new("/"))).service
}

fn files(is_elsewhere: bool, account: &Account) -> Result<Paths, StoreError> {
    match DIRECTORY.get() {
        Some(directory) => Ok(Paths::new(directory)),
        None if is_elsewhere => Err(record_backend::elsewhere()),
        None => Paths::standard(account.home.as_deref()),
    }
}
