//! What is remembered of a session: denials in a row, prompts in the last hour, rules that were denied, secrets read.
//!
//! Nothing is counted while writing. A row that matters carries a mark, and only marked rows are in the index, so that
//! ordinary commands cost nothing here and a long session is answered as fast as a short one.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::decisions::{FindingEntry, IntentRow, Settled};
use super::error::StoreError;
use crate::judge::policy::{Basis, Refusal, Standing};
use crate::judge::risk::Tier;
use crate::judge::rules::model::Note;

/// A rule refused it.
const DENIED_BY_RULE: u8 = 1;
/// A person was asked and refused it.
const DENIED_BY_PERSON: u8 = 2;
/// A person was asked and allowed it.
const ALLOWED_BY_PERSON: u8 = 3;
/// A person was asked, and no answer came of it.
const UNANSWERED: u8 = 4;
/// Added to the others, or alone: it may have read credentials.
const SECRET: u8 = 8;

/// How many of the last denials and prompts are looked at: more than any limit there is.
const LAST: u32 = 256;

/// The questions, each answered by the index over marked rows.
pub(super) const HIGHEST: &str = "SELECT max(mark) FROM record WHERE root = ?1 AND mark IS NOT NULL";
pub(super) const LAST_OF: &str = "SELECT max(id) FROM record WHERE root = ?1 AND mark = ?2";
pub(super) const FINDINGS: &str =
    "SELECT id, findings FROM record WHERE root = ?1 AND mark = ?2 ORDER BY id DESC LIMIT ?3";
pub(super) const TIMES: &str = "SELECT at FROM record WHERE root = ?1 AND mark = ?2 ORDER BY id DESC LIMIT ?3";

/// What a row means for its session; `None` for most.
pub(super) fn mark(row: &IntentRow<'_>) -> Option<u8> {
    let answer = match row.settled {
        Settled::Refused(Refusal::Rule { .. }) => DENIED_BY_RULE,
        Settled::Refused(Refusal::Person { .. }) => DENIED_BY_PERSON,
        Settled::Allowed(Basis::Person) => ALLOWED_BY_PERSON,
        _ if row.answer_ms.is_some() => UNANSWERED,
        _ => 0,
    };
    let runs = !matches!(row.settled, Settled::Refused(_));
    let secret = runs && row.risk.findings.iter().any(|finding| finding.notes.contains(&Note::SecretRead));
    let mark = answer | if secret { SECRET } else { 0 };
    (mark != 0).then_some(mark)
}

impl Store {
    /// How the session with this root stands. An unknown session stands well.
    ///
    /// # Errors
    /// The record cannot be read; the strictest standing should then be assumed.
    pub fn standing(&self, root: &str, now: Timestamp) -> Result<Standing, StoreError> {
        self.persist(|connection| standing(connection, root, now))
    }
}

fn standing(connection: &Connection, root: &str, now: Timestamp) -> rusqlite::Result<Standing> {
    let highest: Option<u8> = connection.prepare(HIGHEST)?.query_row([root], |row| row.get(0))?;
    let Some(highest) = highest else { return Ok(Standing::default()) };

    let mut standing = Standing { secrets_read: highest >= SECRET, ..Standing::default() };
    let mut approved = connection.prepare(LAST_OF)?;
    let mut last_yes = 0;
    for mark in [ALLOWED_BY_PERSON, ALLOWED_BY_PERSON | SECRET] {
        let id: Option<i64> = approved.query_row(params![root, mark], |row| row.get(0)).optional()?.flatten();
        last_yes = last_yes.max(id.unwrap_or(0));
    }

    let mut denied = connection.prepare(FINDINGS)?;
    let mut rules = BTreeMap::new();
    for mark in [DENIED_BY_RULE, DENIED_BY_PERSON] {
        let mut rows = denied.query(params![root, mark, LAST])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(0)? > last_yes {
                standing.denials_in_a_row = standing.denials_in_a_row.saturating_add(1);
            }
            // A list that cannot be read was edited by hand: the denial itself still counts.
            let findings = row.get_ref(1)?.as_str_or_null().ok().flatten().unwrap_or("[]");
            let findings: Vec<FindingEntry> = serde_json::from_str(findings).unwrap_or_default();
            // What was denied is what was dangerous, not the harmless parts beside it.
            for finding in findings.into_iter().filter(|finding| finding.tier >= Tier::Medium) {
                let times: &mut u32 = rules.entry(finding.rule).or_default();
                *times = times.saturating_add(1);
            }
        }
    }
    standing.denied_rules = rules;

    let since = now.checked_sub(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MIN).as_millisecond();
    let mut asked = connection.prepare(TIMES)?;
    for mark in [DENIED_BY_PERSON, ALLOWED_BY_PERSON, UNANSWERED, ALLOWED_BY_PERSON | SECRET] {
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
