//! The client of the service that keeps the record.
//!
//! Any failure here is an error of the record. It is reported with its cause, and no other record is used instead.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::gateway::GatewayRequest;
use super::line::Lines;
use super::message::{Reply, ServiceRequest, VERSION, VersionedRequest};
use super::socket::{credentials, reach};
use crate::store::StoreError;

/// The time limit of an answer. It is longer than the time for which the record can be locked.
const PATIENCE: Duration = Duration::from_secs(15);

/// The service that the machine's configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The name of the account that keeps the record.
    pub account: String,
    pub socket: PathBuf,
    /// The reason why the service cannot be reached: an error in the configuration.
    pub broken: Option<String>,
}

/// Functions that look up accounts. How this works depends on how the program is linked.
#[derive(Clone, Copy, Debug)]
pub struct Accounts {
    /// Returns the user ID of the account with this name, or `None` if there is none.
    pub number: fn(&str) -> Option<u32>,
    /// Returns the name of the account with this user ID, or the ID if it has no name.
    pub name: fn(u32) -> String,
}

/// A client of the service. It connects with the first request.
#[derive(Debug)]
pub struct Client {
    service: Address,
    accounts: Accounts,
    lines: RefCell<Option<Lines>>,
}

impl Client {
    /// Creates a client of this service.
    #[must_use]
    pub const fn new(service: Address, accounts: Accounts) -> Self {
        Self { service, accounts, lines: RefCell::new(None) }
    }

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// No trusted service answers, or it returns an error.
    pub fn ask<T: DeserializeOwned>(&self, ask: ServiceRequest) -> Result<T, StoreError> {
        let line = serde_json::to_vec(&VersionedRequest { v: VERSION, ask })
            .map_err(|error| self.trouble(&error.to_string()))?;
        let mut known = self.lines.borrow_mut();
        // The service closes idle connections. Reconnect if it did.
        let told = match known.as_mut().map(|lines| exchange(lines, line.clone())) {
            Some(Ok(Some(told))) => told,
            Some(Err(error)) if !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                *known = None;
                return Err(self.trouble(&error.to_string()));
            }
            _ => {
                let lines = known.insert(self.open()?);
                match exchange(lines, line) {
                    Ok(Some(told)) => told,
                    other => {
                        *known = None;
                        let why = other
                            .err()
                            .map_or_else(|| "the service closed the connection".to_owned(), |error| error.to_string());
                        return Err(self.trouble(&why));
                    }
                }
            }
        };
        match serde_json::from_slice(&told) {
            Ok(Reply::Ok(value)) => Ok(value),
            Ok(Reply::Error(why)) => Err(StoreError::Elsewhere { why }),
            Err(error) => {
                *known = None;
                Err(self.trouble(&format!("its answer cannot be read ({error})")))
            }
        }
    }

    /// Returns a pipe in which a byte arrives whenever something happens to a request.
    ///
    /// # Errors
    /// The same as of [`Self::ask`].
    pub fn listen(&self, id: &str) -> Result<File, StoreError> {
        let stream = self.open_request(ServiceRequest::Listen { id: id.to_owned() })?;
        stream.set_nonblocking(true).map_err(|error| self.trouble(&error.to_string()))?;
        Ok(File::from(OwnedFd::from(stream)))
    }

    /// Returns a connection over which a byte arrives whenever something happens to any request. Only the gateway's
    /// account may use it.
    ///
    /// # Errors
    /// The same as of [`Self::ask`].
    pub fn watch(&self) -> Result<UnixStream, StoreError> {
        self.open_request(ServiceRequest::Gateway(GatewayRequest::Watch))
    }

    /// Sends a request over a connection of its own and returns the connection, which then only receives.
    fn open_request(&self, ask: ServiceRequest) -> Result<UnixStream, StoreError> {
        let lines = self.open()?;
        let own = Self { service: self.service.clone(), accounts: self.accounts, lines: RefCell::new(Some(lines)) };
        own.ask::<()>(ask)?;
        let lines = own.lines.into_inner().ok_or_else(|| self.trouble("the service closed the connection"))?;
        let stream = lines.stream().try_clone().map_err(|error| self.trouble(&error.to_string()))?;
        stream.set_read_timeout(None).map_err(|error| self.trouble(&error.to_string()))?;
        Ok(stream)
    }

    /// Returns the connection. The client makes no more requests over it.
    #[must_use]
    pub fn take_lines(&self) -> Option<Lines> {
        self.lines.borrow_mut().take()
    }

    /// Connects to the service, which must run under the account that the machine's configuration names, or root.
    ///
    /// # Errors
    /// No trusted service is there.
    pub fn open(&self) -> Result<Lines, StoreError> {
        if let Some(why) = &self.service.broken {
            return Err(StoreError::Elsewhere { why: format!("which service keeps the record cannot be told: {why}") });
        }
        let name = &self.service.account;
        let Some(account) = (self.accounts.number)(name) else {
            return Err(self.trouble(&format!("there is no account {name}")));
        };
        let stream = reach(&self.service.socket, PATIENCE).map_err(|error| self.trouble(&plain(&error)))?;
        let other = credentials(&stream).map_err(|error| self.trouble(&plain(&error)))?;
        if other.uid != account && other.uid != 0 {
            let found = (self.accounts.name)(other.uid);
            return Err(self.trouble(&format!("who listens there is {found}, and not {name}")));
        }
        Lines::new(stream).map_err(|error| self.trouble(&error.to_string()))
    }

    fn trouble(&self, why: &str) -> StoreError {
        let socket = self.service.socket.display();
        StoreError::Elsewhere { why: format!("guard's service at {socket} cannot be used: {why}") }
    }
}

fn exchange(lines: &mut Lines, line: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    lines.send(line)?;
    lines.receive(Some(PATIENCE))
}

/// Returns the text of an error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Formats an answer as a line.
#[must_use]
pub fn line<T: Serialize>(reply: &Reply<T>) -> Vec<u8> {
    // Serialising these types cannot fail: all keys are text.
    serde_json::to_vec(reply).unwrap_or_else(|_| br#"{"error":"the answer cannot be said"}"#.to_vec())
}
