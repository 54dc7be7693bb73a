//! The backend: requests, answers, tokens and the gateway's own data, accessed through one trait.
//!
//! Storage is not `async`: it lives in a thread of its own ([`BackendThread`]), which runs one job after the other. Out
//! of scope: who may answer what ([`crate::answer`]), and HTTP.

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

/// A person's answer to a request, given through the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerInput {
    pub yes: bool,
    /// The approver, and the way the answer came in.
    pub by: String,
    pub words: Option<String>,
    /// The signature of an approver, which was already verified; the waiting guard verifies it again.
    pub signed: Option<Signed>,
    /// The scope of an approval. If it is a grant, the waiting guard adds it.
    pub reach: AnswerScope,
}

/// Rows of the record, and the position of the next page if there is one.
pub type Page = (Vec<Entry>, Option<Cursor>);

/// The access to all stored data.
pub trait Backend: Send {
    /// Returns all requests that a list shows.
    ///
    /// # Errors
    /// The queue cannot be read.
    fn list(&mut self, now: Timestamp) -> Result<Vec<Pending>, BackendError>;

    /// Returns the message that an approver signs to approve a request with a scope; `None` if the request can no
    /// longer be approved.
    ///
    /// # Errors
    /// The queue cannot be read.
    fn approval(&mut self, shown: &Pending, reach: AnswerScope) -> Result<Option<Vec<u8>>, BackendError>;

    /// Answers a request as it was shown: the first answer wins.
    ///
    /// # Errors
    /// The answer does not count, because it could not be written.
    fn answer(&mut self, shown: &Pending, given: &AnswerInput, now: Timestamp) -> Result<AnswerOutcome, BackendError>;

    /// Records the result of a command that a client was allowed to run.
    ///
    /// # Errors
    /// The result is not recorded.
    fn report(&mut self, row: i64, end: Result<i32, i32>, duration_ms: u64, now: Timestamp)
    -> Result<(), BackendError>;

    /// Records that somebody without permission tried to answer.
    ///
    /// # Errors
    /// The attempt is not recorded; nothing was answered nevertheless.
    fn attempt(&mut self, why: &str, now: Timestamp) -> Result<(), BackendError>;

    /// Returns the statistics since a time.
    ///
    /// # Errors
    /// The record cannot be read.
    fn stats(&mut self, since: Timestamp) -> Result<Stats, BackendError>;

    /// Returns the sessions with questions or denials, latest first.
    ///
    /// # Errors
    /// The record cannot be read.
    fn sessions(&mut self, now: Timestamp) -> Result<Vec<SessionView>, BackendError>;

    /// Resumes a stopped session, and returns the number of the row that records it.
    ///
    /// # Errors
    /// The row is not written, and the session stays stopped.
    fn resume(&mut self, session: &SessionView, by: &str, why: &str, now: Timestamp) -> Result<i64, BackendError>;

    /// Lets commands of tier 2 and below run in a session without a question until it ends, and returns the number of
    /// the grant.
    ///
    /// # Errors
    /// The grant is not written, and nothing is granted.
    fn trust(&mut self, session: &SessionView, by: &str, now: Timestamp) -> Result<i64, BackendError>;

    /// Returns the rows of the record that contain every word, newest first, and the position of the next page.
    ///
    /// # Errors
    /// The record cannot be read.
    fn search(&mut self, words: &str, from: Option<Cursor>, most: usize) -> Result<Page, BackendError>;

    /// Returns the rows of the record about a request.
    ///
    /// # Errors
    /// The record cannot be read.
    fn story(&mut self, request: &Pending) -> Result<Vec<Entry>, BackendError>;

    /// Returns the gateway's own data.
    fn memory(&mut self) -> &mut dyn Memory;
}

type Work = Box<dyn FnOnce(&mut dyn Backend) + Send>;

/// A handle to the thread that the backend runs in.
#[derive(Clone)]
pub struct BackendThread {
    work: mpsc::SyncSender<Work>,
}

/// The maximum number of queued jobs; further callers wait.
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
