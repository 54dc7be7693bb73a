//! The backend: requests, answers, tokens and what the gateway itself has to remember, reached through one trait.
//!
//! What keeps them is not `async`: it lives in a thread of its own ([`BackendThread`]), which is handed one piece of work after
//! the other. Out of scope: who may answer what ([`crate::answer`]), and HTTP.

mod base;
mod error;
pub mod local;
pub mod memory;
pub mod record;
pub mod remote;

use std::sync::mpsc;

use jiff::Timestamp;
use tokio::sync::oneshot;

pub use self::error::BackendError;
pub use self::memory::{Button, Memory, Offer, Scope, Submission, Token};
use self::record::{Cursor, SessionView};
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::Signed;
use crate::store::queue::{AnswerOutcome, Pending};
use crate::store::{Entry, Stats};

/// A person's answer to a request, given over the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerInput {
    pub yes: bool,
    /// Who: the approver, and through what.
    pub by: String,
    pub words: Option<String>,
    /// The signature of an approver, which was looked at already; the guard that waits looks at it again.
    pub signed: Option<Signed>,
    /// How far a yes reaches. The grant, where it is one, is given by the guard that waits.
    pub reach: AnswerScope,
}

/// Rows of the record, and where the next page begins if there is one.
pub type Page = (Vec<Entry>, Option<Cursor>);

/// All that is kept, wherever that is.
pub trait Backend: Send {
    /// All requests that a list shows.
    ///
    /// # Errors
    /// The queue cannot be read.
    fn list(&mut self, now: Timestamp) -> Result<Vec<Pending>, BackendError>;

    /// What an approver signs for a yes to a request that reaches so far; `None` where nobody can say yes to it any more.
    ///
    /// # Errors
    /// The queue cannot be read.
    fn approval(&mut self, shown: &Pending, reach: AnswerScope) -> Result<Option<Vec<u8>>, BackendError>;

    /// Gives an answer to a request as it was shown: the first one wins.
    ///
    /// # Errors
    /// It does not count, because it could not be written down.
    fn answer(&mut self, shown: &Pending, given: &AnswerInput, now: Timestamp) -> Result<AnswerOutcome, BackendError>;

    /// Writes down what became of a command that a client was let run.
    ///
    /// # Errors
    /// It is not written down.
    fn report(&mut self, row: i64, end: Result<i32, i32>, duration_ms: u64, now: Timestamp)
    -> Result<(), BackendError>;

    /// Writes down that somebody tried to answer who may not.
    ///
    /// # Errors
    /// It is not written down; nothing was answered all the same.
    fn attempt(&mut self, why: &str, now: Timestamp) -> Result<(), BackendError>;

    /// The figures since a time.
    ///
    /// # Errors
    /// The record cannot be read.
    fn stats(&mut self, since: Timestamp) -> Result<Stats, BackendError>;

    /// The sessions in which anybody was asked or something denied, the latest first.
    ///
    /// # Errors
    /// The record cannot be read.
    fn sessions(&mut self, now: Timestamp) -> Result<Vec<SessionView>, BackendError>;

    /// Lets a session that is stopped be asked about again; the number of the row that says so.
    ///
    /// # Errors
    /// It is not written down, and the session stays stopped.
    fn resume(&mut self, session: &SessionView, by: &str, why: &str, now: Timestamp) -> Result<i64, BackendError>;

    /// Lets what is of tier 2 and below run unasked in a session until it ends; the number of the grant.
    ///
    /// # Errors
    /// It is not written down, and nothing is granted.
    fn trust(&mut self, session: &SessionView, by: &str, now: Timestamp) -> Result<i64, BackendError>;

    /// Rows of the record in which every one of the words stands, the newest first, and where the next page begins.
    ///
    /// # Errors
    /// The record cannot be read.
    fn search(&mut self, words: &str, from: Option<Cursor>, most: usize) -> Result<Page, BackendError>;

    /// The rows of the record about a request.
    ///
    /// # Errors
    /// The record cannot be read.
    fn story(&mut self, request: &Pending) -> Result<Vec<Entry>, BackendError>;

    /// What the gateway itself remembers.
    fn memory(&mut self) -> &mut dyn Memory;
}

type Work = Box<dyn FnOnce(&mut dyn Backend) + Send>;

/// A handle to the thread that the backend runs in.
#[derive(Clone)]
pub struct BackendThread {
    work: mpsc::SyncSender<Work>,
}

/// How much work may wait before whoever brings more waits too.
const WAITING: usize = 1024;

impl BackendThread {
    /// Starts a thread that opens a backend.
    ///
    /// # Errors
    /// The backend cannot be opened.
    pub fn open(
        open: impl FnOnce() -> Result<Box<dyn Backend>, BackendError> + Send + 'static,
    ) -> Result<Self, BackendError> {
        let (work, todo) = mpsc::sync_channel::<Work>(WAITING);
        let (say, said) = mpsc::channel();
        let run = move || match open() {
            Ok(mut backend) => {
                let _ = say.send(Ok(()));
                for one in todo {
                    one(&mut *backend);
                }
            }
            Err(why) => drop(say.send(Err(why))),
        };
        std::thread::Builder::new().name("backend".into()).spawn(run).map_err(BackendError::Thread)?;
        said.recv().map_err(|_| BackendError::Closed)??;
        Ok(Self { work })
    }

    /// Runs a function on the backend.
    ///
    /// # Errors
    /// The backend is closed.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Backend) -> T + Send + 'static,
    ) -> Result<T, BackendError> {
        let (say, said) = oneshot::channel();
        let mut one: Work = Box::new(move |backend| drop(say.send(work(backend))));
        loop {
            match self.work.try_send(one) {
                Ok(()) => break,
                Err(mpsc::TrySendError::Full(back)) => one = back,
                Err(mpsc::TrySendError::Disconnected(_)) => return Err(BackendError::Closed),
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        said.await.map_err(|_| BackendError::Closed)
    }
}
