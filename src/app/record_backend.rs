//! Access to the record and the queue, which are kept either by this account or by the machine's service.
//!
//! Only the machine's configuration decides which. If the service is unreachable, guard never uses the account's own
//! record instead.

mod requests;

use std::path::PathBuf;
use std::rc::Rc;

use jiff::Timestamp;

pub use self::requests::Requests;
use crate::config::Service;
use crate::judge::approved::{Grant, Receipt};
use crate::judge::ledger::Ledger;
use crate::judge::policy::SessionState;
use crate::judge::risk::Tier;
use crate::service::client::{Accounts, Address, Client};
use crate::service::message::{Base64Bytes, DecisionMessage, ServiceRequest, SessionMessage, SettledBy};
use crate::store::{
    CommandResult, ExitStatus, HandedCommand, IntentRow, NewGrant, RecordedDecision, Retention, Store, StoreError,
};
use crate::world::identity::Account;

/// Returns a client of this machine's service.
#[must_use]
pub fn client(service: &Service) -> Client {
    let Service { account, socket, broken, .. } = service.clone();
    let number = |name: &str| Account::named(name).map(|account| account.uid);
    Client::new(Address { account, socket, broken }, Accounts { number, name: |uid| Account::of(uid).name })
}

/// The record, in either place.
#[derive(Debug)]
pub enum RecordBackend {
    Own(Store),
    Service(Rc<Client>),
}

impl RecordBackend {
    /// Returns the account's own record.
    ///
    /// # Errors
    /// A service keeps it.
    pub fn own(&self) -> Result<&Store, StoreError> {
        match self {
            Self::Own(store) => Ok(store),
            Self::Service(_) => Err(elsewhere()),
        }
    }

    /// Like [`Store::intent`].
    ///
    /// # Errors
    /// The row is not written. A command of tier 2 or above must not run then.
    pub fn intent(&self, row: &IntentRow<'_>) -> Result<Receipt, StoreError> {
        match self {
            Self::Own(store) => store.intent(row),
            Self::Service(client) => written(client, row, false, None)?.ok_or_else(unwritten),
        }
    }

    /// Like [`Store::advised`], or [`Store::advised_and_handed`] if something is handed over.
    ///
    /// # Errors
    /// The row is not written.
    pub fn advised(&self, row: &IntentRow<'_>, handed: Option<&HandedCommand<'_>>) -> Result<Receipt, StoreError> {
        match (self, handed) {
            (Self::Own(store), None) => store.advised(row),
            (Self::Own(store), Some(handed)) => store.advised_and_handed(row, handed),
            (Self::Service(client), handed) => written(client, row, true, handed)?.ok_or_else(unwritten),
        }
    }

    /// Like [`Store::intent_of_handed`].
    ///
    /// # Errors
    /// The row is not written.
    pub fn intent_of_handed(
        &self,
        row: &IntentRow<'_>,
        handed: &HandedCommand<'_>,
    ) -> Result<Option<Receipt>, StoreError> {
        match self {
            Self::Own(store) => store.intent_of_handed(row, handed),
            Self::Service(client) => written(client, row, false, Some(handed)),
        }
    }

    /// Like [`Store::is_handed`].
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn is_handed(&self, handed: &HandedCommand<'_>, tier: Tier, now: Timestamp) -> Result<bool, StoreError> {
        match self {
            Self::Own(store) => store.is_handed(handed, tier, now),
            Self::Service(client) => {
                let (text, cwd) = both(handed);
                client.ask(ServiceRequest::IsHanded { handed: text, cwd, root: handed.root.to_owned(), tier })
            }
        }
    }

    /// Like [`Store::result`].
    ///
    /// # Errors
    /// The row is not written.
    pub fn result(&self, receipt: &Receipt, outcome: &CommandResult, now: Timestamp) -> Result<(), StoreError> {
        match (self, receipt.row()) {
            (Self::Own(store), _) => store.result(receipt, outcome, now),
            (Self::Service(_), None) => Ok(()),
            (Self::Service(client), Some(row)) => {
                let (exit, signal) = match outcome.end {
                    ExitStatus::Exit(code) => (Some(code), None),
                    ExitStatus::Signal(signal) => (None, Some(signal)),
                };
                client.ask(ServiceRequest::Result { row, exit, signal, duration_ms: outcome.duration_ms })
            }
        }
    }

    /// Like [`Store::standing`], with the command for which the guard of this ancestor process waits.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn standing(&self, root: &str, parent: Option<&str>, now: Timestamp) -> Result<SessionState, StoreError> {
        match self {
            Self::Own(store) => {
                let mut standing = store.standing(root, now)?;
                standing.above = parent.and_then(|parent| store.approved_above(parent).ok().flatten());
                Ok(standing)
            }
            Self::Service(client) => {
                client.ask(ServiceRequest::SessionState { root: root.to_owned(), parent: parent.map(str::to_owned) })
            }
        }
    }

    /// Like [`Store::ledger`].
    ///
    /// # Errors
    /// The record cannot be read, or was altered. Then no file counts as made by the session.
    pub fn ledger(&self, session: &str, user: &str) -> Result<Ledger, StoreError> {
        match self {
            Self::Own(store) => store.ledger(session, user),
            Self::Service(client) => client.ask(ServiceRequest::Ledger { session: session.to_owned() }),
        }
    }

    /// Like [`Store::grants_in_force`].
    ///
    /// # Errors
    /// The record cannot be read. Then no grant holds.
    pub fn grants_in_force(&self, session: &str, command: &str, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        match self {
            Self::Own(store) => store.grants_in_force(session, command, now),
            Self::Service(client) => {
                client.ask(ServiceRequest::Grants { session: session.to_owned(), command: command.to_owned() })
            }
        }
    }

    /// Like [`Store::grant`].
    ///
    /// # Errors
    /// The grant is not stored.
    pub fn grant(&self, grant: &NewGrant<'_>, now: Timestamp) -> Result<i64, StoreError> {
        match self {
            Self::Own(store) => store.grant(grant, now),
            Self::Service(client) => client.ask(ServiceRequest::Grant {
                what: grant.what.clone(),
                place: grant.place.clone(),
                until: grant.until.clone(),
                words: grant.words.to_owned(),
                user: grant.user.to_owned(),
                session: grant.session.to_owned(),
            }),
        }
    }

    /// Lists the sessions in which anything was asked or denied, with the state of each, newest first.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn sessions(&self, now: Timestamp) -> Result<Vec<SessionMessage>, StoreError> {
        match self {
            Self::Own(store) => sessions(store, usize::MAX, now),
            Self::Service(client) => client.ask(ServiceRequest::Sessions),
        }
    }

    /// Like [`Store::edited`]. Returns `None` for a service: none of its clients can edit its record.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn edited(&self, root: &str) -> Result<Option<i64>, StoreError> {
        match self {
            Self::Own(store) => store.edited(root),
            Self::Service(_) => Ok(None),
        }
    }

    /// Like [`Store::resume`].
    ///
    /// # Errors
    /// The row is not written.
    pub fn resume(&self, root: &str, session: &str, by: &str, why: &str, now: Timestamp) -> Result<i64, StoreError> {
        match self {
            Self::Own(store) => store.resume(root, session, by, why, now),
            Self::Service(client) => client.ask(ServiceRequest::Resume {
                root: root.to_owned(),
                session: session.to_owned(),
                why: why.to_owned(),
            }),
        }
    }

    /// Like [`Store::keep_to_policy`]. A service does this itself.
    pub fn keep_to_policy(&self, kept: Retention, user: &str, now: Timestamp) {
        if let Self::Own(store) = self {
            let _ = store.keep_to_policy(kept, user, now);
        }
    }
}

/// Lists at most `most` sessions of a record, most recently active first.
pub(super) fn sessions(store: &Store, most: usize, now: Timestamp) -> Result<Vec<SessionMessage>, StoreError> {
    let stands = |(root, id, last): (String, String, Timestamp)| {
        let standing = store.standing(&root, now)?;
        let edited = store.edited(&root)?;
        Ok(SessionMessage { root, id, last, standing, edited })
    };
    store.sessions()?.into_iter().take(most).map(stands).collect()
}

/// Returns the error of a verb that needs the account's own record although a service keeps it.
pub(super) fn elsewhere() -> StoreError {
    let why = "not possible here: guard's service keeps the record of this machine";
    StoreError::Elsewhere { why: why.to_owned() }
}

fn unwritten() -> StoreError {
    StoreError::Elsewhere { why: "guard's service did not record it".to_owned() }
}

fn both(handed: &HandedCommand<'_>) -> (Base64Bytes, Base64Bytes) {
    use std::os::unix::ffi::OsStrExt as _;
    (Base64Bytes::of(handed.text), Base64Bytes::of(handed.cwd.as_os_str().as_bytes()))
}

fn written(
    client: &Client,
    row: &IntentRow<'_>,
    advised: bool,
    handed: Option<&HandedCommand<'_>>,
) -> Result<Option<Receipt>, StoreError> {
    use std::os::unix::ffi::OsStrExt as _;
    let (invocation, session) = (row.invocation, &row.invocation.session);
    let number: Option<i64> = client.ask(ServiceRequest::Row(Box::new(DecisionMessage {
        advised,
        handed: handed.map(both),
        command: invocation.display(),
        tool: invocation.tool().map(|call| (call.title(), invocation.hides())),
        cwd: Base64Bytes::of(invocation.cwd.as_os_str().as_bytes()),
        session: session.id.clone(),
        root: session.root.clone(),
        agent: session.agent.clone(),
        origin: invocation.origin,
        digest: row.digest,
        risk: row.risk.into(),
        settled: match row.settled {
            RecordedDecision::Allowed(basis) => SettledBy::Allowed(basis.clone()),
            RecordedDecision::Refused(refusal) => SettledBy::Refused(refusal.clone()),
            RecordedDecision::Asked => SettledBy::Asked,
        },
        answer_ms: row.answer_ms,
        words: row.words.map(str::to_owned),
        parent: row.parent.map(str::to_owned),
        waits: row.process.is_some(),
        shape: row.shape.cloned(),
        opinion: row.opinion.cloned(),
        changes: row.changes.clone(),
    })))?;
    Ok(number.map(Receipt::Recorded))
}

/// The service's directory, if `guard serve` runs a verb on it.
pub(super) static DIRECTORY: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
