//! The backend of one account: its own record and queue, opened as guard opens them. It is protected only as well as
//! that account.
//!
//! Out of scope: who may answer what.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

use guard_config::config;
use guard_system::processes::lives;
use jiff::Timestamp;
use nix::libc;

use super::memory::{self, Memory};
use super::record::{self, Cursor, SessionView};
use super::{AnswerInput, Backend, BackendError, Page};
use crate::account::Account;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approved::Receipt;
use crate::judge::invocation::{Environment, Invocation, Origin, Request, Session};
use crate::store::queue::{Answer, AnswerOutcome, FullRequest, Pending, Queue, RequestState};
use crate::store::{self, Entry, ExitStatus, Paths, Stats, Store};

/// The text in the record for an attempt to answer by somebody who may not.
const WHO: &str = "Only the approvers in gateway.toml can answer through the gateway.";

/// The record, the queue and the gateway's own database in one directory.
pub struct LocalBackend {
    store: Store,
    queue: Queue,
    memory: Box<dyn Memory>,
    account: Account,
}

impl LocalBackend {
    /// Opens all three.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub fn open(paths: &Paths) -> Result<Self, BackendError> {
        let store = Store::open(paths)?;
        let queue = Queue::open(paths)?.look_again_soon()?;
        let memory = memory::open(paths.directory())?;
        Ok(Self { store, queue, memory, account: Account::of_this_process() })
    }

    /// Wakes the waiting guard by writing a byte to its pipe. The byte carries no information.
    fn wake(&self, id: &str) {
        let Ok(path) = self.queue.wakeup_path(id) else { return };
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        if let Ok(mut pipe) = OpenOptions::new().write(true).custom_flags(flags).open(path)
            && pipe.metadata().is_ok_and(|found| found.file_type().is_fifo())
        {
            let _ = pipe.write(&[1]);
        }
    }
}

impl Backend for LocalBackend {
    fn list(&mut self, now: Timestamp) -> Result<Vec<Pending>, BackendError> {
        let mut all = self.queue.list(now)?;
        // A waiter that was killed no longer waits, even if the queue still shows it. The result is cached because one
        // process may wait for several requests.
        let mut seen: HashMap<String, bool> = HashMap::new();
        let mut waits = |waiter: &str| *seen.entry(waiter.to_owned()).or_insert_with(|| lives(waiter));
        for one in &mut all {
            if one.state == RequestState::Waiting && !one.waiter.as_deref().is_none_or(&mut waits) {
                let _ = self.queue.give_up(&one.id);
                one.state = RequestState::Late;
            }
        }
        Ok(all)
    }

    fn approval(&mut self, shown: &Pending, reach: AnswerScope) -> Result<Option<Vec<u8>>, BackendError> {
        let whole = self.queue.full_request(&shown.id)?;
        let same = |whole: &FullRequest| whole.pending.filed == shown.filed && whole.pending.state.is_open();
        let whole = whole.filter(same);
        Ok(whole.map(|whole| whole.approval(&whole.fresh, &whole.digest, &whole.bindings, reach).message()))
    }

    fn answer(&mut self, shown: &Pending, given: &AnswerInput, now: Timestamp) -> Result<AnswerOutcome, BackendError> {
        let whole = if given.yes { self.queue.full_request(&shown.id)? } else { None };
        if given.yes && whole.is_none() {
            let found = self.queue.find(&shown.id)?;
            return Ok(found.map_or(AnswerOutcome::Unknown, |found| AnswerOutcome::Settled(Box::new(found))));
        }
        let signer = given.signed.as_ref().map_or_else(Vec::new, |signed| {
            let enrolled = self.account.approvers();
            let own = enrolled.named(&signed.approver).map(|approver| &approver.key);
            let same = enrolled.approvers.iter().filter(|other| own.is_some_and(|own| own.is_same(&other.key)));
            let others = same.map(|other| other.name.clone()).filter(|name| *name != signed.approver);
            std::iter::once(signed.approver.clone()).chain(others).collect()
        });
        let answer = Answer {
            // The waiting guard judges again and compares the result; the answer is bound to what it filed.
            yes: whole.as_ref().map(|whole| (&whole.digest, &whole.bindings)),
            by: &given.by,
            words: given.words.as_deref(),
            signatures: given.signed.as_slice(),
            waited_for: shown.waiter.as_deref().is_none_or(lives) && shown.expires > now,
            approvals: shown.approvals,
            signer: &signer,
            scope: given.reach,
        };
        let outcome = self.queue.answer(&self.store, shown, &answer, now)?;
        if matches!(outcome, AnswerOutcome::Done { .. }) {
            self.wake(&shown.id);
        }
        Ok(outcome)
    }

    fn report(
        &mut self,
        row: i64,
        end: Result<i32, i32>,
        duration_ms: u64,
        now: Timestamp,
    ) -> Result<(), BackendError> {
        let end = match end {
            Ok(code) => ExitStatus::Exit(code),
            Err(signal) => ExitStatus::Signal(signal),
        };
        let outcome = crate::store::CommandResult { end, duration_ms };
        Ok(self.store.result(&Receipt::Recorded(row), &outcome, now)?)
    }

    fn attempt(&mut self, why: &str, now: Timestamp) -> Result<(), BackendError> {
        let invocation = Invocation {
            request: Request::Argv(vec!["guard-gateway".into(), "answer".into()]),
            cwd: "/".into(),
            env: Environment::default(),
            home: self.account.home.clone(),
            uid: self.account.uid,
            user: self.account.name.clone(),
            origin: Origin::Api,
            // A session of its own, so that the attempt does not count as a denial in anybody's session.
            session: Session { id: "gateway".to_owned(), root: "gateway".to_owned(), agent: None },
        };
        store::attempted(now, &invocation, (WHO, why), |row| Ok(self.store.intent(row).map(drop)?))
    }

    fn stats(&mut self, since: Timestamp) -> Result<Stats, BackendError> {
        Ok(record::stats(&self.store, since)?)
    }

    fn sessions(&mut self, now: Timestamp) -> Result<Vec<SessionView>, BackendError> {
        let breaker = config::load(&self.account.roots()).policy.breaker_after;
        Ok(record::sessions(&self.store, breaker, now)?)
    }

    fn resume(&mut self, session: &SessionView, by: &str, why: &str, now: Timestamp) -> Result<i64, BackendError> {
        Ok(record::resume(&self.store, session, by, why, now)?)
    }

    fn trust(&mut self, session: &SessionView, by: &str, now: Timestamp) -> Result<i64, BackendError> {
        Ok(record::trust(&self.store, session, &self.account.name, by, now)?)
    }

    fn search(&mut self, words: &str, from: Option<Cursor>, most: usize) -> Result<Page, BackendError> {
        Ok(record::search(&self.store, words, from, most)?)
    }

    fn story(&mut self, request: &Pending) -> Result<Vec<Entry>, BackendError> {
        Ok(record::story(&self.store, request)?)
    }

    fn memory(&mut self) -> &mut dyn Memory {
        &mut *self.memory
    }
}
