//! The record and the queue of the caller: this account's own or the service's. They are opened when they are first
//! needed, and provide the state of the session.

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
    /// Returns the service that keeps the record, if the machine has one.
    #[must_use]
    pub fn service(&self) -> Option<&Service> {
        self.config.service.as_ref().filter(|_| DIRECTORY.get().is_none())
    }

    /// Reports whether the person at this terminal, or an agent's prompt, may approve. If a service keeps the record,
    /// only its approvers may, and only if they may answer their own requests.
    #[must_use]
    pub fn is_answered_here(&self) -> bool {
        let may = |service: &Service| service.own_requests && service.approves(&self.caller.account.name);
        self.service().is_none_or(may)
    }

    /// Returns the reason why nobody is asked here, or `None` if somebody is.
    #[must_use]
    pub fn asked_elsewhere(&self) -> Option<String> {
        let names = self.service().filter(|_| !self.is_answered_here())?.approvers.join(", ");
        Some(format!("only the approvers of this machine may answer ({names})"))
    }

    /// Returns the record, which is opened when it is first needed.
    ///
    /// # Errors
    /// The record cannot be opened. The error is the same each time.
    pub fn store(&self) -> Result<&RecordBackend, &StoreError> {
        let open = || match self.service() {
            Some(service) => Ok(RecordBackend::Service(Rc::new(record_backend::client(service)))),
            None => Store::open(&self.paths()?).map(RecordBackend::Own),
        };
        self.store.get_or_init(open).as_ref()
    }

    /// Returns the queue.
    ///
    /// # Errors
    /// The queue cannot be opened.
    pub fn requests(&self) -> Result<Requests, StoreError> {
        match self.store() {
            Ok(RecordBackend::Service(client)) => Ok(Requests::Service(client.clone())),
            // An error of the record is reported when the record is used.
            Ok(RecordBackend::Own(_)) | Err(_) => Queue::open(&self.paths()?).map(Requests::Own),
        }
    }

    /// Returns the paths of the record.
    ///
    /// # Errors
    /// There is no home directory, or a service keeps the record.
    pub fn paths(&self) -> Result<Paths, StoreError> {
        files(self.service().is_some(), &self.caller.account)
    }

    /// Returns the record if it exists, and does not create it.
    ///
    /// # Errors
    /// The record exists but cannot be used.
    pub fn existing(&self) -> Result<Option<Store>, StoreError> {
        Store::open_existing(&self.paths()?)
    }

    /// Returns the record for reading, if it exists. Judging alone does not create a record.
    pub(super) fn past(&self) -> Option<&RecordBackend> {
        let opened = self.store.get().is_some() || self.service().is_some();
        let known = opened || self.paths().is_ok_and(|paths| paths.database().exists());
        if known { self.store().ok() } else { None }
    }

    /// Returns the recorded state of the session. Without a record it is empty; a flagged command cannot run then.
    pub fn standing(&self, invocation: &Invocation) -> SessionState {
        let Some(store) = self.past() else { return SessionState::default() };
        let parent = self.parent().filter(|_| !self.caller.is_agent_between());
        store.standing(&invocation.session.root, parent.as_deref(), Timestamp::now()).unwrap_or_default()
    }

    /// Returns a refusal if a row was edited by hand since the invocation's session was last resumed, or if this cannot
    /// be determined.
    pub(super) fn edited(&self, invocation: &Invocation) -> Option<Refusal> {
        match self.past()?.edited(&invocation.session.root) {
            Ok(row) => row.map(|row| Refusal::Edited { row }),
            Err(error) => Some(Refusal::Unrecorded { why: error.to_string() }),
        }
    }

    /// Returns the file changes of the invocation's session. Without a record there are none. Returns `None` if the
    /// record cannot be read.
    pub(in crate::app) fn ledger(&self, invocation: &Invocation) -> Option<Ledger> {
        let Some(store) = self.past() else { return Some(Ledger::default()) };
        let mut ledger = store.ledger(&invocation.session.id, &invocation.user).ok()?;
        // A moved file counts even if its old path exists, because another file may have taken that path. A file that
        // no longer exists was removed by a command about which guard asked.
        let lies = |path: &str| std::fs::symlink_metadata(path).is_ok();
        for entry in &mut ledger.entries {
            entry.changes.copied.retain(|copied| lies(&copied.to) && !lies(&copied.from));
        }
        ledger.brought.retain(|brought| lies(&brought.to) && (brought.moved || !lies(&brought.from)));
        Some(ledger)
    }

    /// Returns the active grants: those of the configuration, then those of the record, if there is one.
    pub(super) fn grants(&self, invocation: &Invocation) -> Vec<Grant> {
        let mut grants = self.config().grants.clone();
        if let Some(store) = self.past() {
            let stored = store.grants_in_force(&invocation.session.id, &invocation.display(), Timestamp::now());
            grants.extend(stored.unwrap_or_default());
        }
        grants
    }
}

/// Returns the paths of the record, for verbs that do not need an engine.
///
/// # Errors
/// There is no home directory, or a service keeps the record.
pub fn paths() -> Result<Paths, StoreError> {
    files(service().is_some(), &Account::of(nix::unistd::geteuid().as_raw()))
}

/// Returns the queue if it exists, for verbs that do not need an engine. Does not create it.
///
/// # Errors
/// The queue exists but cannot be used.
pub fn requests() -> Result<Option<Requests>, StoreError> {
    match service() {
        Some(service) => Ok(Some(Requests::Service(Rc::new(record_backend::client(&service))))),
        None => Ok(Queue::existing(&paths()?)?.map(Requests::Own)),
    }
}

/// Returns the service that keeps the record, if the machine has one.
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
