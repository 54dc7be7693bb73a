//! Requests about the record: record a decision, return the state of a session, and store a grant.

use std::path::PathBuf;

use jiff::Timestamp;

use super::error::AskError;
use super::{Connection, ServiceResult, both_of, path};
use crate::app::export::deliver;
use crate::judge::approved::{GrantExpiry, GrantId, GrantPlace, GrantSubject, Receipt};
use crate::judge::invocation::{Line, Request, Session};
use crate::judge::policy::ApprovalReason;
use crate::judge::risk::{Risk, Tier};
use crate::judge::syntax::tree::Dialect;
use crate::service::message::{Base64Bytes, DecisionMessage, SettledBy};
use crate::store::{ExitStatus, HandedCommand, IntentRow, NewGrant, RecordedDecision, Retention, Store};

impl Connection<'_> {
    pub(super) fn standing(
        &self,
        root: &str,
        parent: Option<&str>,
    ) -> ServiceResult<crate::judge::policy::SessionState> {
        let store = self.store()?;
        let mut standing = store.standing(&self.peer.root(root), Timestamp::now())?;
        standing.above = self.above(parent).and_then(|parent| store.approved_above(parent).ok().flatten());
        Ok(standing)
    }

    pub(super) fn ledger(&self, session: &str) -> ServiceResult<crate::judge::ledger::Ledger> {
        Ok(self.store()?.ledger(session, self.user())?)
    }

    pub(super) fn grants(&mut self, session: &str, command: &str) -> ServiceResult<Vec<crate::judge::approved::Grant>> {
        let found = self.store()?.grants_of(Some(self.user()), session, command, Timestamp::now())?;
        self.granted.extend(found.iter().filter_map(|grant| match grant.id {
            GrantId::Stored(number) => Some(number),
            GrantId::Configured(_) => None,
        }));
        Ok(found)
    }

    pub(super) fn row(&mut self, row: DecisionMessage) -> ServiceResult<Option<i64>> {
        let store = self.store()?;
        let parent = self.above(row.parent.as_deref());
        let basis = match &row.settled {
            SettledBy::Allowed(basis) => Some(basis),
            SettledBy::Refused(_) | SettledBy::Asked => None,
        };
        let holds = match (&row.settled, basis) {
            // A person's approval was either taken from the queue or given by an account that may answer itself.
            (_, Some(ApprovalReason::Person)) => match self.taken.get(&row.digest) {
                Some(by) => row.words.as_ref().is_some_and(|words| words.starts_with(by)),
                None => self.is_answered_here(),
            },
            (_, Some(ApprovalReason::YesInAdvance)) | (SettledBy::Asked, _) => self.is_answered_here(),
            (_, Some(ApprovalReason::Host)) => row.handed.is_some() && !row.advised,
            (_, Some(ApprovalReason::Parent(number))) => {
                let above = parent.and_then(|parent| store.approved_above(parent).ok().flatten());
                above.is_some_and(|above| above.row == *number)
            }
            (_, Some(ApprovalReason::Grant(GrantId::Stored(number)))) => self.granted.contains(number),
            // The account asks the reviewer itself, so a false opinion lets nothing run that the account could not
            // run by skipping guard.
            (_, Some(ApprovalReason::Reviewer { .. })) => row.opinion.is_some(),
            (
                _,
                Some(
                    ApprovalReason::Grant(_)
                    | ApprovalReason::Score
                    | ApprovalReason::Support
                    | ApprovalReason::ModeOff,
                ),
            ) => true,
            (SettledBy::Refused(_) | SettledBy::Allowed(_), None) => true,
        };
        if !holds {
            let how = basis.map_or("asked", ApprovalReason::name);
            return Err(AskError::NoSuchAnswer { how });
        }
        let root = self.peer.root(&row.root);
        let line = Line {
            text: row.command.into_bytes(),
            dialect: Dialect::Bash,
            shell: PathBuf::from("/"),
            options: Vec::new(),
            positional: Vec::new(),
            before: Vec::new(),
            envelope: None,
        };
        let mut invocation = self.invocation(Request::Line(line), path(&row.cwd)?, row.origin);
        let agent = self.peer.caller.session.agent.clone().or(row.agent);
        invocation.session = Session { id: row.session, root: root.clone(), agent };
        let risk = Risk::from(row.risk);
        let process = self.peer.name();
        let written = IntentRow {
            at: Timestamp::now(),
            invocation: &invocation,
            digest: row.digest,
            risk: &risk,
            settled: match &row.settled {
                SettledBy::Allowed(basis) => RecordedDecision::Allowed(basis),
                SettledBy::Refused(refusal) => RecordedDecision::Refused(refusal),
                SettledBy::Asked => RecordedDecision::Asked,
            },
            answer_ms: row.answer_ms,
            words: row.words.as_deref(),
            parent,
            process: process.as_deref().filter(|_| row.waits),
            shape: row.shape.as_ref(),
            opinion: row.opinion.as_ref(),
            changes: &row.changes,
            tool: row.tool.as_ref().map(|(title, _)| title.as_str()),
            hides: row.tool.as_ref().is_some_and(|(_, hides)| *hides),
        };
        let handed = row.handed.as_ref().map(both_of).transpose()?;
        let handed = handed.as_ref().map(|(text, cwd)| HandedCommand { text, cwd, root: &root });
        let receipt = match (&handed, row.advised) {
            (None, false) => store.intent(&written).map(Some),
            (None, true) => store.advised(&written).map(Some),
            (Some(handed), true) => store.advised_and_handed(&written, handed).map(Some),
            (Some(handed), false) => store.intent_of_handed(&written, handed),
        }?;
        let number = receipt.and_then(Receipt::row);
        if matches!(row.settled, SettledBy::Allowed(ApprovalReason::Person)) {
            // An approval covers one row.
            let _ = self.taken.remove(&row.digest);
        }
        let store = self.store()?;
        self.deliver(store, number);
        if matches!(row.settled, SettledBy::Refused(_)) {
            self.keep_to_policy(store);
        }
        Ok(number)
    }

    pub(super) fn deliver(&self, store: &Store, row: Option<i64>) {
        deliver::from(store, self.server.paths.directory(), &self.server.policy.export_to, row);
    }

    pub(super) fn keep_to_policy(&self, store: &Store) {
        let kept = Retention { days: self.server.policy.retention_days, mib: self.server.policy.retention_mib };
        let _ = store.keep_to_policy(kept, &self.server.service.account, Timestamp::now());
    }

    pub(super) fn is_handed(&self, handed: &(Base64Bytes, Base64Bytes), root: &str, tier: Tier) -> ServiceResult<bool> {
        let (text, cwd) = both_of(handed)?;
        let root = self.peer.root(root);
        Ok(self.store()?.is_handed(&HandedCommand { text: &text, cwd: &cwd, root: &root }, tier, Timestamp::now())?)
    }

    pub(super) fn result(
        &self,
        row: i64,
        exit: Option<i32>,
        signal: Option<i32>,
        duration_ms: u64,
    ) -> ServiceResult<()> {
        let store = self.store()?;
        let waits = self.peer.name().map_or(Ok(None), |process| store.waited_for(&process))?;
        if waits != Some(row) {
            return Err(AskError::OtherRow(row));
        }
        let end = signal.map_or(ExitStatus::Exit(exit.unwrap_or(0)), ExitStatus::Signal);
        store.result(&Receipt::Recorded(row), &crate::store::CommandResult { end, duration_ms }, Timestamp::now())?;
        self.deliver(store, Some(row));
        self.keep_to_policy(store);
        Ok(())
    }

    /// Stores a grant. It must be exactly one that came with an approval used over this connection, or the client must
    /// be one that may give grants itself.
    pub(super) fn grant(&mut self, grant: &NewGrant<'_>) -> ServiceResult<i64> {
        let own = grant.user == self.user();
        let is_this = |((what, place), until, _): &((GrantSubject, GrantPlace), GrantExpiry, String)| {
            own && what == grant.what && place == grant.place && until == grant.until
        };
        let by = match self.offered.iter().position(is_this) {
            Some(at) => self.offered.swap_remove(at).2,
            None => {
                self.person("give grants")?;
                if own && !self.server.service.own_requests {
                    return Err(AskError::OwnGrant);
                }
                self.user().to_owned()
            }
        };
        let words = format!("{} (given by {by})", grant.words);
        Ok(self.store()?.grant(&NewGrant { words: &words, ..*grant }, Timestamp::now())?)
    }

    pub(super) fn resume(&self, root: &str, session: &str, why: &str) -> ServiceResult<i64> {
        self.person("resume a session")?;
        let own = root.split_once('@').is_some_and(|(uid, _)| uid == self.uid().to_string());
        if root == self.peer.caller.session.root || (own && !self.server.service.own_requests) {
            return Err(AskError::OwnResume);
        }
        Ok(self.store()?.resume(root, session, self.user(), why, Timestamp::now())?)
    }
}
