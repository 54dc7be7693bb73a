//! The answers of hooks, so that guard asks only once about a command that both a hook and guard as the shell see.
//!
//! A hook that leaves a command to the prompt of its agent, or gets a person's approval, records that in its row. If
//! the agent then runs this command with guard as its shell, guard finds the row and uses it: once, within a time
//! limit, for the same process of the session, and at most for the tier that was asked about. The hook and the shell
//! have different environments; therefore the row is found by an HMAC of the text, the directory and the process, and
//! not by the digest of the invocation.
//!
//! Rows are never changed: an intent that refers to the row marks it as used.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension};

use super::Store;
use super::chain;
use super::decisions::draft;
use super::error::StoreError;
use super::intent_row::IntentRow;
use super::key::DigestKey;
use crate::judge::approved::Receipt;
use crate::judge::risk::Tier;

/// Maximum time between the hook's answer and the start of the command; the agent's prompt may be unanswered for a
/// while.
const GOOD_FOR: SignedDuration = SignedDuration::from_mins(15);

/// Finds the newest row with which a hook left this command to the agent.
pub(super) const NEWEST: &str = "SELECT id, at, tier FROM record WHERE scope = ?1 ORDER BY id DESC LIMIT 1";

/// Finds an intent that uses a row.
pub(super) const USED: &str = "SELECT 1 FROM record WHERE about = ?1 LIMIT 1";

/// A command that a hook left to the agent, in the form that the hook and the shell both see.
#[derive(Clone, Copy, Debug)]
pub struct HandedCommand<'a> {
    /// The command without the envelope of the agent.
    pub text: &'a [u8],
    pub cwd: &'a Path,
    /// The root process of the session, which is that of the agent.
    pub root: &'a str,
}

impl HandedCommand<'_> {
    /// Returns its key in the record. No session of a grant and no request has such a key.
    fn scope(&self, key: &DigestKey) -> String {
        use std::os::unix::ffi::OsStrExt;
        let mut bytes = Vec::new();
        for field in [self.text, self.cwd.as_os_str().as_bytes(), self.root.as_bytes()] {
            bytes.extend_from_slice(&(field.len() as u64).to_le_bytes());
            bytes.extend_from_slice(field);
        }
        let sealed = key.seal("handed", &bytes);
        let hex: String = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("handed {hex}")
    }
}

impl Store {
    /// Records an answer of a hook that leaves the command to a person, or says that a person approved it.
    ///
    /// # Errors
    /// The row is not written.
    pub fn advised_and_handed(&self, row: &IntentRow<'_>, handed: &HandedCommand<'_>) -> Result<Receipt, StoreError> {
        let key = DigestKey::read_or_make(&self.paths.key())?;
        let digest = key.seal("digest", &row.digest.0);
        let mut draft = draft("advised", row, &digest);
        draft.changes(row, &key);
        draft.text("scope", Some(handed.scope(&key)));
        self.append_decision(row, &draft)
    }

    /// Reports whether there is an unused row of a hook for this command. The row remains unused.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn is_handed(&self, handed: &HandedCommand<'_>, tier: Tier, now: Timestamp) -> Result<bool, StoreError> {
        if tier == Tier::Critical {
            return Ok(false);
        }
        let key = DigestKey::read_or_make(&self.paths.key())?;
        let scope = handed.scope(&key);
        Ok(self.persist(|connection| unused(connection, &scope, tier, now))?.is_some())
    }

    /// Records that a command runs because of the row of a hook, which uses the row. `None`: there is no such row, and
    /// nothing was written; the caller has to ask.
    ///
    /// # Errors
    /// The row is not written.
    pub fn intent_of_handed(
        &self,
        row: &IntentRow<'_>,
        handed: &HandedCommand<'_>,
    ) -> Result<Option<Receipt>, StoreError> {
        if row.risk.tier == Tier::Critical {
            return Ok(None);
        }
        let key = DigestKey::read_or_make(&self.paths.key())?;
        let digest = key.seal("digest", &row.digest.0);
        let mut draft = draft("intent", row, &digest);
        draft.changes(row, &key);
        let scope = handed.scope(&key);
        // One transaction reads and uses the row, so that only one of two concurrent processes can use it.
        let written = self.write_durably(|connection| {
            let Some(advice) = unused(connection, &scope, row.risk.tier, row.at)? else { return Ok(None) };
            chain::append_about(connection, &draft, Some(advice)).map(Some)
        })?;
        Ok(written.map(Receipt::Recorded))
    }
}

/// Returns the newest row of a hook for this command, if it is unused, not expired, and for this tier or above.
fn unused(connection: &Connection, scope: &str, tier: Tier, now: Timestamp) -> rusqlite::Result<Option<i64>> {
    let newest = connection.query_row(NEWEST, [scope], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    let Some((row, at, advised)): Option<(i64, i64, u8)> = newest else { return Ok(None) };
    let now = now.as_millisecond();
    let good_for = i64::try_from(GOOD_FOR.as_millis()).unwrap_or(0);
    let good = at <= now && now - at <= good_for && tier.number() <= advised;
    if !good || connection.query_row(USED, [row], |_| Ok(())).optional()?.is_some() {
        return Ok(None);
    }
    Ok(Some(row))
}

#[cfg(test)]
mod tests {

    use super::super::RecordedDecision;
    use super::super::sample::{Sample, invocation, risk, row};
    use super::*;
    use crate::judge::policy::ApprovalReason;

    const NOON: i64 = 1_800_000_000;

    fn handed<'a>(text: &'a str, cwd: &'a str, root: &'a str) -> HandedCommand<'a> {
        HandedCommand { text: text.as_bytes(), cwd: Path::new(cwd), root }
    }

    fn push() -> HandedCommand<'static> {
        handed("git push --force", "/p", "r")
    }

    /// Records that a hook left a command of this tier to the agent, at a time in seconds after noon.
    fn advise(sample: &Sample, handed: &HandedCommand<'_>, tier: Tier, after: i64) {
        write(tier, after, RecordedDecision::Asked, |row| sample.store.advised_and_handed(row, handed).unwrap().row());
    }

    /// Records that the command runs. Returns whether a hook had left it to the agent.
    fn run(sample: &Sample, handed: &HandedCommand<'_>, tier: Tier, after: i64) -> bool {
        let settled = RecordedDecision::Allowed(&ApprovalReason::Host);
        write(tier, after, settled, |row| sample.store.intent_of_handed(row, handed).unwrap()?.row()).is_some()
    }

    fn write(
        tier: Tier,
        after: i64,
        settled: RecordedDecision<'_>,
        with: impl Fn(&IntentRow<'_>) -> Option<i64>,
    ) -> Option<i64> {
        let invocation = invocation(&["tool", "x"], "r");
        with(&row(NOON + after, &invocation, &risk("x.y", tier, &[]), settled))
    }

    #[test]
    fn what_a_hook_handed_over_runs_once() {
        let sample = Sample::new();
        assert!(!run(&sample, &push(), Tier::High, 0));
        advise(&sample, &push(), Tier::High, 0);
        assert!(sample.store.is_handed(&push(), Tier::High, Timestamp::from_second(NOON + 1).unwrap()).unwrap());
        assert!(run(&sample, &push(), Tier::High, 5));
        assert!(!run(&sample, &push(), Tier::High, 6));
        assert!(!sample.store.is_handed(&push(), Tier::High, Timestamp::from_second(NOON + 7).unwrap()).unwrap());
    }

    #[test]
    fn an_older_yes_that_was_not_used_does_not_outlive_a_newer_one() {
        let sample = Sample::new();
        advise(&sample, &push(), Tier::High, 0);
        advise(&sample, &push(), Tier::High, 1);
        assert!(run(&sample, &push(), Tier::High, 2));
        assert!(!run(&sample, &push(), Tier::High, 3));
    }

    #[test]
    fn another_text_directory_or_process_is_another_command() {
        let sample = Sample::new();
        advise(&sample, &push(), Tier::High, 0);
        let others =
            [("git push --force ", "/p", "r"), ("git push --force", "/p/q", "r"), ("git push --force", "/p", "s")];
        for (text, cwd, root) in others {
            assert!(!run(&sample, &handed(text, cwd, root), Tier::High, 1), "{text} {cwd} {root}");
        }
        assert!(run(&sample, &push(), Tier::High, 1));
    }

    #[test]
    fn it_holds_for_a_while_and_never_for_more_than_was_asked_about() {
        let sample = Sample::new();
        advise(&sample, &push(), Tier::Medium, 0);
        assert!(!run(&sample, &push(), Tier::High, 1));
        assert!(!run(&sample, &push(), Tier::Medium, -1));
        assert!(!run(&sample, &push(), Tier::Medium, 15 * 60 + 1));
        assert!(run(&sample, &push(), Tier::Medium, 15 * 60));
        advise(&sample, &push(), Tier::Critical, 16 * 60);
        assert!(!run(&sample, &push(), Tier::Critical, 16 * 60));
    }

    #[test]
    fn of_many_that_come_at_once_one_runs() {
        let sample = Sample::new();
        advise(&sample, &push(), Tier::High, 0);
        let ran = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let store = Store::open(&super::super::Paths::new(sample.directory.path())).unwrap();
                        let settled = RecordedDecision::Allowed(&ApprovalReason::Host);
                        write(Tier::High, 1, settled, |row| store.intent_of_handed(row, &push()).unwrap()?.row())
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).count()
        });
        assert_eq!(ran, 1);
    }

    #[test]
    fn a_host_that_asks_counts_as_a_prompt() {
        let sample = Sample::new();
        advise(&sample, &push(), Tier::High, 0);
        let now = Timestamp::from_second(NOON + 10).unwrap();
        assert_eq!(sample.store.standing("r", now).unwrap().prompts_last_hour, 1);
    }

    #[test]
    fn the_record_does_not_tell_what_was_handed_over() {
        let sample = Sample::new();
        let secret = handed("deploy --token hunter2", "/p", "r");
        advise(&sample, &secret, Tier::High, 0);
        sample.store.write(|connection| connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")).ok();
        for file in std::fs::read_dir(sample.directory.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("hunter2"));
        }
    }
}
