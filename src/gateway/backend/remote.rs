//! The backend of a machine: reads requests from the service that keeps them, as the gateway's own account, and passes
//! answers on to it. Data that the service does not give the gateway is not available here.
//!
//! Out of scope: which answers count. The service decides that, regardless of the checks here.

use std::path::Path;

use guard_config::config::Service;
use jiff::Timestamp;

use super::memory::{self, Memory};
use super::record::{Cursor, SessionView};
use super::{AnswerInput, Backend, BackendError, Page};
use crate::judge::answer_scope::AnswerScope;
use crate::service::client::{Accounts, Address, Client};
use crate::service::gateway::{GatewayAnswer, GatewayRequest, RequestPage};
use crate::service::message::{Base64Bytes, ServiceRequest};
use crate::store::queue::{AnswerOutcome, Pending};
use crate::store::{Entry, Stats};

/// The error text for everything to which the service does not give the gateway access.
pub const ELSEWHERE: &str =
    "the gateway of a machine can only list requests and pass on answers; use guard at a terminal";

/// The client of the service, and the gateway's own database.
pub struct RemoteBackend {
    client: Client,
    memory: Box<dyn Memory>,
}

/// Returns a client of this machine's service.
#[must_use]
pub fn client(service: &Service) -> Client {
    let Service { account, socket, broken, .. } = service.clone();
    let number = |name: &str| nix::unistd::User::from_name(name).ok().flatten().map(|user| user.uid.as_raw());
    let name = |uid: u32| {
        let user = nix::unistd::User::from_uid(uid.into()).ok().flatten();
        user.map_or_else(|| uid.to_string(), |user| user.name)
    };
    Client::new(Address { account, socket, broken }, Accounts { number, name })
}

impl RemoteBackend {
    /// Opens the gateway's own database in a directory. The service is contacted when it is needed.
    ///
    /// # Errors
    /// The database cannot be used.
    pub fn open(service: &Service, directory: &Path) -> Result<Self, BackendError> {
        Ok(Self { client: client(service), memory: memory::open(directory)? })
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, ask: GatewayRequest) -> Result<T, BackendError> {
        Ok(self.client.ask(ServiceRequest::Gateway(ask))?)
    }
}

fn elsewhere<T>() -> Result<T, BackendError> {
    Err(BackendError::Elsewhere)
}

impl Backend for RemoteBackend {
    fn list(&mut self, _: Timestamp) -> Result<Vec<Pending>, BackendError> {
        let mut all: Vec<Pending> = Vec::new();
        loop {
            let after = all.last().map(|last| (last.filed, last.id.clone()));
            let RequestPage { requests, more } = self.ask(GatewayRequest::List { after })?;
            let none = requests.is_empty();
            all.extend(requests.into_iter().map(Pending::from));
            if !more || none {
                return Ok(all);
            }
        }
    }

    fn approval(&mut self, shown: &Pending, scope: AnswerScope) -> Result<Option<Vec<u8>>, BackendError> {
        let told: Option<Base64Bytes> =
            self.ask(GatewayRequest::Approval { shown: Box::new(shown.clone().into()), scope })?;
        Ok(told.and_then(|text| text.bytes()))
    }

    fn answer(&mut self, shown: &Pending, given: &AnswerInput, _: Timestamp) -> Result<AnswerOutcome, BackendError> {
        let AnswerInput { yes, by, words, signed, reach } = given.clone();
        self.ask(GatewayRequest::Answer(Box::new(GatewayAnswer {
            shown: shown.clone().into(),
            yes,
            by,
            words,
            signed,
            scope: reach,
        })))
    }

    fn report(&mut self, _: i64, _: Result<i32, i32>, _: u64, _: Timestamp) -> Result<(), BackendError> {
        elsewhere()
    }

    fn attempt(&mut self, why: &str, _: Timestamp) -> Result<(), BackendError> {
        self.ask(GatewayRequest::Attempt { why: why.to_owned() })
    }

    fn stats(&mut self, _: Timestamp) -> Result<Stats, BackendError> {
        elsewhere()
    }

    fn sessions(&mut self, _: Timestamp) -> Result<Vec<SessionView>, BackendError> {
        elsewhere()
    }

    fn resume(&mut self, _: &SessionView, _: &str, _: &str, _: Timestamp) -> Result<i64, BackendError> {
        elsewhere()
    }

    fn trust(&mut self, _: &SessionView, _: &str, _: Timestamp) -> Result<i64, BackendError> {
        elsewhere()
    }

    fn search(&mut self, _: &str, _: Option<Cursor>, _: usize) -> Result<Page, BackendError> {
        elsewhere()
    }

    fn story(&mut self, _: &Pending) -> Result<Vec<Entry>, BackendError> {
        // The caller still returns the events of the channels.
        Ok(Vec::new())
    }

    fn memory(&mut self) -> &mut dyn Memory {
        &mut *self.memory
    }
}
