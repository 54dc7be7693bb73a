//! The state of a session: denials in a row, prompts in the last hour, denied rules, and whether it read secrets.
//!
//! Nothing is counted when a row is written. Rows that affect the state have a mark, and the index contains only marked
//! rows, so that other commands cost nothing and the state of a long session is found as fast as that of a short one.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::Store;
use super::chain;
use super::edited;
use super::entries::{CANARY, FindingEntry, findings, is_probe};
use super::error::StoreError;
use super::intent_row::{IntentRow, RecordedDecision};
use super::key::DigestKey;
use crate::judge::policy::{ApprovalReason, DeniedCommand, Refusal, SessionState};
use crate::judge::risk::Tier;
use crate::judge::rules::model::SessionNote;

/// A rule refused the command.
const DENIED_BY_RULE: u8 = 1;
/// A person denied the command.
const DENIED_BY_PERSON: u8 = 2;
/// A person allowed the command.
const ALLOWED_BY_PERSON: u8 = 3;
/// guard asked, and nobody answered.
const UNANSWERED: u8 = 4;
/// A person resumed the session.
pub(super) const RESUMED: u8 = 5;
/// guard refused the command because the record was changed. The row is not counted, but makes the session known.
const EDITED: u8 = 6;
/// The reviewer denied the command.
const DENIED_BY_REVIEWER: u8 = 7;
/// The command may have read credentials. This bit is alone or added to another mark.
const SECRET: u8 = 8;

/// The number of recent denials and prompts that are read, which is more than any configurable limit.
const LAST: u32 = 256;

/// The number of recent rows that are verified before guard asks a person; this takes some milliseconds.
const LOOKED_BACK: i64 = 2000;

/// The queries, all of which use the index of marked rows.
pub(super) const HIGHEST: &str = "SELECT max(mark) FROM record WHERE root = ?1 AND mark IS NOT NULL";
pub(super) const LAST_OF: &str = "SELECT max(id) FROM record WHERE root = ?1 AND mark = ?2";
pub(super) const FINDINGS: &str =
    "SELECT id, findings, cwd FROM record WHERE root = ?1 AND mark = ?2 ORDER BY id DESC LIMIT ?3";
pub(super) const TIMES: &str = "SELECT at FROM record WHERE root = ?1 AND mark = ?2 ORDER BY id DESC LIMIT ?3";

/// Finds the last resumption of any session.
const LAST_RESUMED: &str = "SELECT id, root, digest, at FROM record INDEXED BY marked WHERE mark = 5
    ORDER BY id DESC LIMIT 1";

/// Returns the mark of a row; `None` for most rows.
pub(super) fn mark(row: &IntentRow<'_>) -> Option<u8> {
    let answer = match row.settled {
        // A test command is not counted as a denial; otherwise testing guard could stop the session.
        RecordedDecision::Refused(Refusal::Rule { rule, .. }) if rule == CANARY => 0,
        // The test of the doctor answers its own prompt, which must not reset the number of denials.
        RecordedDecision::Allowed(ApprovalReason::Person) if is_probe(&findings(row.risk)) => 0,
        RecordedDecision::Refused(Refusal::Rule { .. }) => DENIED_BY_RULE,
        RecordedDecision::Refused(Refusal::Reviewer { .. }) => DENIED_BY_REVIEWER,
        RecordedDecision::Refused(Refusal::Person { .. }) => DENIED_BY_PERSON,
        RecordedDecision::Allowed(ApprovalReason::Person) => ALLOWED_BY_PERSON,
        // An agent that shows its own prompt does not report the answer.
        RecordedDecision::Asked => UNANSWERED,
        RecordedDecision::Refused(Refusal::Edited { .. }) => EDITED,
        _ if row.answer_ms.is_some() => UNANSWERED,
        _ => 0,
    };
    let runs = !matches!(row.settled, RecordedDecision::Refused(_));
    let secret = runs && row.risk.findings.iter().any(|finding| finding.notes.contains(&SessionNote::SecretRead));
    let mark = answer | if secret { SECRET } else { 0 };
    (mark != 0).then_some(mark)
}

impl Store {
    /// Returns the state of the session with this root process. A session without marked rows has the default state.
    ///
    /// # Errors
    /// The record cannot be read; the caller should then assume the strictest state.
    pub fn standing(&self, root: &str, now: Timestamp) -> Result<SessionState, StoreError> {
        self.persist(|connection| standing(connection, root, now))
    }

    /// Returns a row that was changed, inserted or removed by hand since the session with this root process was last
    /// resumed, so that its denials cannot be counted; `None` if there is none among the last `LOOKED_BACK` rows. A
    /// truncated end is detected only if the queue contains answers of missing rows, and a rebuilt chain only with a
    /// head that is kept elsewhere.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn edited(&self, root: &str) -> Result<Option<i64>, StoreError> {
        // Many commands in a row would otherwise verify the same rows.
        let head = self.persist(chain::head)?;
        let known = head.map(|head| Box::new((root.to_owned(), head)));
        if known.is_some() && *self.whole.borrow() == known {
            return Ok(None);
        }
        let key = DigestKey::read(&self.paths.key());
        let (edited, looked_at) = self.persist(|connection| {
            // All queries use one snapshot; otherwise rows that are pruned in the meantime would seem to be missing.
            let _view = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
            // The person who resumed a session has inspected the earlier rows.
            let read = |found: &Row<'_>| -> rusqlite::Result<(i64, i64, bool)> {
                let (root, seal): (Option<String>, Option<Vec<u8>>) = (found.get(1)?, found.get(2)?);
                let at = found.get(3)?;
                let wanted = key.as_ref().ok().zip(root).map(|(key, root)| resumption(key, &root, at).to_vec());
                Ok((found.get(0)?, at, wanted.is_some() && seal == wanted))
            };
            let (looked, at) = match connection.prepare(LAST_RESUMED)?.query_row([], read).optional()? {
                Some((row, at, true)) => (row, at),
                Some((row, at, false)) => return Ok((Some(row), at)),
                None => (0, 0),
            };
            let from = last_yes(connection, root)?.max(looked);
            Ok((edited::first_edited(connection, from, LOOKED_BACK)?, at))
        })?;
        let edited = match edited {
            Some(row) => Some(row),
            None => self.lost_answers(looked_at)?.first().copied(),
        };
        if edited.is_none() {
            *self.whole.borrow_mut() = known;
        }
        Ok(edited)
    }

    /// Returns the sessions with a prompt or a denial: the root process, the last name, and the time of the last one.
    /// The newest is first.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn sessions(&self) -> Result<Vec<(String, String, Timestamp)>, StoreError> {
        self.persist(|connection| {
            // SQLite takes the other columns of a group from the row with the highest number.
            let sql = "SELECT root, coalesce(session, ''), at, max(id) FROM record INDEXED BY marked
                WHERE mark IS NOT NULL AND root IS NOT NULL GROUP BY root ORDER BY 4 DESC";
            let mut statement = connection.prepare(sql)?;
            let at = |ms| Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, at(row.get(2)?))))?.collect()
        })
    }
}

/// Returns the seal of the resumption of a session.
pub(super) fn resumption(key: &DigestKey, root: &str, at: i64) -> [u8; 32] {
    key.seal("resume", format!("{at} {root}").as_bytes())
}

/// Returns the last row that ended a series of denials; 0 if there is none.
fn last_yes(connection: &Connection, root: &str) -> rusqlite::Result<i64> {
    let mut last = connection.prepare(LAST_OF)?;
    let mut found = 0;
    for mark in [ALLOWED_BY_PERSON, ALLOWED_BY_PERSON | SECRET, RESUMED] {
        let id: Option<i64> = last.query_row(params![root, mark], |row| row.get(0)).optional()?.flatten();
        found = found.max(id.unwrap_or(0));
    }
    Ok(found)
}

fn standing(connection: &Connection, root: &str, now: Timestamp) -> rusqlite::Result<SessionState> {
    let highest: Option<u8> = connection.prepare(HIGHEST)?.query_row([root], |row| row.get(0))?;
    let Some(highest) = highest else { return Ok(SessionState::default()) };

    let mut standing = SessionState { secrets_read: highest >= SECRET, ..SessionState::default() };
    let last_yes = last_yes(connection, root)?;

    let mut denied = connection.prepare(FINDINGS)?;
    for mark in [DENIED_BY_RULE, DENIED_BY_PERSON, DENIED_BY_REVIEWER] {
        let mut rows = denied.query(params![root, mark, LAST])?;
        while let Some(row) = rows.next()? {
            // A denial of the reviewer counts against the same request in another spelling, but does not stop the
            // session.
            if mark != DENIED_BY_REVIEWER && row.get::<_, i64>(0)? > last_yes {
                standing.denials_in_a_row = standing.denials_in_a_row.saturating_add(1);
            }
            // A list that cannot be parsed was changed by hand; the denial itself still counts.
            let findings = row.get_ref(1)?.as_str_or_null().ok().flatten().unwrap_or("[]");
            let findings: Vec<FindingEntry> = serde_json::from_str(findings).unwrap_or_default();
            // The dangerous parts were denied, not the harmless parts of the same command.
            let grave = findings.into_iter().filter(|finding| finding.tier >= Tier::Medium);
            let findings = grave.map(|finding| (finding.rule, finding.touches)).collect();
            let cwd: Option<String> = row.get(2)?;
            standing.denied.push(DeniedCommand { cwd: cwd.unwrap_or_default(), findings });
        }
    }

    let since = now.checked_sub(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MIN).as_millisecond();
    let mut asked = connection.prepare(TIMES)?;
    for mark in [DENIED_BY_PERSON, ALLOWED_BY_PERSON, UNANSWERED, ALLOWED_BY_PERSON | SECRET, UNANSWERED | SECRET] {
        let mut rows = asked.query(params![root, mark, LAST])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(0)? < since {
                break;
            }
            standing.prompts_last_hour = standing.prompts_last_hour.saturating_add(1);
        }
    }
    Ok(standing)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Sample, risk};
    use super::*;

    const NOON: i64 = 1_800_000_000;

    fn now() -> Timestamp {
        Timestamp::from_second(NOON).unwrap()
    }

    fn no() -> Refusal {
        Refusal::Person { words: None }
    }

    #[test]
    fn an_unknown_session_stands_well() {
        assert_eq!(Sample::new().store.standing("r", now()).unwrap(), SessionState::default());
    }

    #[test]
    fn the_doctors_word_is_refused_as_often_as_it_is_said_without_closing_the_session() {
        let sample = Sample::new();
        for _ in 0..5 {
            let no = Refusal::Rule { rule: CANARY.into(), reason: "z".into() };
            sample.decide("r", NOON, &risk(CANARY, Tier::Low, &[]), RecordedDecision::Refused(&no), None);
        }
        assert_eq!(sample.store.standing("r", now()).unwrap(), SessionState::default());
        // An approval by the doctor does not reset the number of a person's denials either.
        sample.decide("r", NOON, &risk("x.y", Tier::High, &[]), RecordedDecision::Refused(&no()), Some(900));
        let ask = risk("guard.canary-ask", Tier::High, &[]);
        sample.decide("r", NOON, &ask, RecordedDecision::Allowed(&ApprovalReason::Person), Some(300));
        assert_eq!(sample.store.standing("r", now()).unwrap().denials_in_a_row, 1);
    }

    #[test]
    fn denials_in_a_row_end_with_a_persons_yes_and_with_nothing_else() {
        let sample = Sample::new();
        let risk = risk("x.y", Tier::High, &[]);
        let run = || sample.store.standing("r", now()).unwrap().denials_in_a_row;
        sample.decide("r", NOON, &risk, RecordedDecision::Refused(&no()), Some(900));
        sample.decide(
            "r",
            NOON,
            &risk,
            RecordedDecision::Refused(&Refusal::Rule { rule: "x.y".into(), reason: "z".into() }),
            None,
        );
        sample.decide("r", NOON, &risk, RecordedDecision::Allowed(&ApprovalReason::Score), None);
        sample.decide("r", NOON, &risk, RecordedDecision::Refused(&Refusal::Timeout { seconds: 30 }), Some(30_000));
        sample.decide("r", NOON, &risk, RecordedDecision::Refused(&Refusal::NoOne { why: "x".into() }), None);
        sample.decide("other", NOON, &risk, RecordedDecision::Refused(&no()), Some(900));
        assert_eq!(run(), 2);
        sample.decide("r", NOON, &risk, RecordedDecision::Allowed(&ApprovalReason::Person), Some(900));
        assert_eq!(run(), 0);
        sample.decide("r", NOON, &risk, RecordedDecision::Refused(&no()), Some(900));
        assert_eq!(run(), 1);
    }

    #[test]
    fn a_reviewers_no_is_held_against_the_same_wish_and_closes_no_session() {
        let sample = Sample::new();
        let risk = risk("git.push-force", Tier::Medium, &[]);
        for _ in 0..3 {
            let no = Refusal::Reviewer { by: "m".into(), reason: "z".into() };
            sample.decide("r", NOON, &risk, RecordedDecision::Refused(&no), None);
        }
        let standing = sample.store.standing("r", now()).unwrap();
        assert_eq!((standing.denials_in_a_row, standing.prompts_last_hour), (0, 0));
        let denied = |denied: &DeniedCommand| denied.findings.iter().any(|(rule, _)| rule == "git.push-force");
        assert_eq!(standing.denied.iter().filter(|one| denied(one)).count(), 3);
        sample.decide("r", NOON, &risk, RecordedDecision::Refused(&no()), Some(900));
        assert_eq!(sample.store.standing("r", now()).unwrap().denials_in_a_row, 1);
    }

    #[test]
    fn prompts_count_for_an_hour_whatever_came_of_them() {
        let sample = Sample::new();
        let risk = risk("x.y", Tier::High, &[SessionNote::SecretRead]);
        let (early, late) = (NOON - 3601, NOON - 3599);
        for at in [early, late] {
            sample.decide("r", at, &risk, RecordedDecision::Refused(&no()), Some(900));
            sample.decide("r", at, &risk, RecordedDecision::Refused(&Refusal::Timeout { seconds: 30 }), Some(30_000));
            sample.decide("r", at, &risk, RecordedDecision::Allowed(&ApprovalReason::Person), Some(900));
            sample.decide("r", at, &risk, RecordedDecision::Refused(&Refusal::Changed { what: "x".into() }), Some(900));
            sample.decide("r", at, &risk, RecordedDecision::Refused(&Refusal::NoOne { why: "x".into() }), None);
            sample.decide("r", at, &risk, RecordedDecision::Refused(&Refusal::RateLimited { per_hour: 10 }), None);
        }
        assert_eq!(sample.store.standing("r", now()).unwrap().prompts_last_hour, 4);
    }

    #[test]
    fn secrets_that_were_read_are_remembered_and_those_that_were_refused_are_not() {
        let sample = Sample::new();
        let read = |root| sample.store.standing(root, now()).unwrap().secrets_read;
        let risk = risk("secret.show", Tier::High, &[SessionNote::SecretRead]);
        sample.decide("r", NOON, &risk, RecordedDecision::Refused(&no()), Some(900));
        assert!(!read("r"));
        sample.decide("r", NOON, &risk, RecordedDecision::Allowed(&ApprovalReason::Score), None);
        let denied = super::super::sample::risk("x.y", Tier::High, &[]);
        for _ in 0..LAST + 10 {
            sample.decide(
                "r",
                NOON,
                &denied,
                RecordedDecision::Refused(&Refusal::Rule { rule: "x".into(), reason: "z".into() }),
                None,
            );
        }
        assert!(read("r") && !read("other"));
    }

    #[test]
    fn the_rules_that_were_denied_are_named_and_the_harmless_beside_them_are_not() {
        let sample = Sample::new();
        let mut both = risk("git.push-force", Tier::High, &[]);
        both.findings.extend(risk("git.commit", Tier::Low, &[]).findings);
        sample.decide("r", NOON, &both, RecordedDecision::Refused(&no()), Some(900));
        sample.decide("r", NOON, &both, RecordedDecision::Refused(&no()), Some(900));
        let denied = sample.store.standing("r", now()).unwrap().denied;
        let rules = |denied: &DeniedCommand| denied.findings.iter().map(|(rule, _)| rule.clone()).collect::<Vec<_>>();
        assert_eq!(denied.iter().map(rules).collect::<Vec<_>>(), [["git.push-force"], ["git.push-force"]]);
        assert_eq!(denied[0].cwd, "/home/ada/project");
    }
}
