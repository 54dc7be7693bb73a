//! Answers to requests of the queue, and resumptions of sessions, as rows of the chain.
//!
//! An approval is sealed: it contains a keyed digest of the request that it answers, so that the requester can
//! distinguish an answer that guard recorded from a row that somebody inserted. Out of scope: who may answer.

use jiff::Timestamp;
use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};

use super::Store;
use super::behaviour;
use super::chain::{self, Draft};
use super::edited;
use super::error::StoreError;
use super::grants::encode;
use super::key::DigestKey;
use super::prune;
use super::queue::{Answer, Pending, Queue};
use super::redact::redact;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approved::GrantExpiry;
use crate::judge::approver::Signed;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::Digest;
use crate::judge::sort;

/// A person's answer in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// The number of the row.
    pub row: i64,
    /// The name of the person.
    pub by: String,
    /// The message of the person.
    pub words: Option<String>,
    /// The approvers' signatures of the request.
    pub signatures: Vec<Signed>,
    /// The scope of the answer.
    #[serde(default)]
    pub scope: AnswerScope,
}

/// Returns the seal of an answer, which binds it to a request.
pub(super) fn seal(
    key: &DigestKey,
    request: &str,
    digest: &Digest,
    bindings: &Bindings,
    scope: AnswerScope,
) -> [u8; 32] {
    let reach = if scope.is_once() { String::new() } else { scope.to_string() };
    let bytes = [request.as_bytes(), &[0], &digest.0, &bindings.digest(), reach.as_bytes()].concat();
    key.seal("answer", &bytes)
}

impl Store {
    /// Records a person's answer to a request. `bound` seals an approval.
    pub(super) fn write_answer(
        &self,
        request: &Pending,
        answer: &Answer<'_>,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let Answer { yes: bound, by, words, signatures, scope: reach, .. } = *answer;
        let mut draft = Draft::default();
        draft.text("kind", Some("answered"));
        draft.integer("at", now.as_millisecond());
        draft.text("scope", Some(scope(&request.id)));
        draft.text("command", Some(request.command.as_str()));
        draft.text("tool", request.tool.as_deref());
        draft.integer("redacted", request.redacted.then_some(1));
        let mac = match bound {
            Some((digest, bindings)) => {
                let key = DigestKey::read_or_make(&self.paths.key())?;
                Some(seal(&key, &request.id, digest, bindings, reach))
            }
            None => None,
        };
        if let Some(mac) = &mac {
            draft.blob("digest", mac);
            draft.text("until", reach.until(&request.session).as_ref().map(encode));
        }
        draft.text("cwd", Some(request.cwd.as_str()));
        draft.text("user", Some(by));
        draft.text("session", Some(request.session.as_str()));
        draft.text("root", Some(request.root.as_str()));
        draft.text("origin", Some(request.origin.as_str()));
        draft.text("agent", request.agent.as_deref());
        draft.integer("tier", i64::from(request.tier.number()));
        draft.integer("score", i64::from(request.score.0));
        draft.text("decision", Some(if bound.is_some() { "allow" } else { "deny" }));
        draft.text("settled", Some("person"));
        draft.text("provenance", Some("human"));
        draft.text("words", words.map(|words| redact(words).0));
        if !signatures.is_empty() {
            draft.text("signatures", serde_json::to_string(signatures).ok());
        }
        let waited = now.as_millisecond().saturating_sub(request.filed.as_millisecond());
        draft.integer("answer_ms", waited.max(0));
        self.write_durably(|connection| chain::append(connection, &draft))
    }

    /// Returns the approval in a row, if the row is one, guard wrote it, and it answers this request.
    pub(super) fn read_answer(
        &self,
        row: i64,
        request: &str,
        digest: &Digest,
        bindings: &Bindings,
    ) -> Result<Option<RecordedAnswer>, StoreError> {
        let key = DigestKey::read(&self.paths.key())?;
        self.persist(|connection| {
            const ANSWER: &str = "SELECT digest, user, words, signatures, until FROM record
                WHERE id = ?1 AND kind = 'answered' AND decision = 'allow' AND scope = ?2";
            let found = connection
                .prepare(ANSWER)?
                .query_row((row, scope(request)), |found| {
                    let (mac, by): (Option<Vec<u8>>, Option<String>) = (found.get(0)?, found.get(1)?);
                    let (signatures, until): (Option<String>, Option<String>) = (found.get(3)?, found.get(4)?);
                    Ok((mac, by, found.get(2)?, signatures, until))
                })
                .optional()?;
            let Some((Some(mac), Some(by), words, signatures, until)) = found else { return Ok(None) };
            // An approval with a scope that cannot be parsed is not valid either.
            let Ok(until) = until.map(|text| serde_json::from_str::<GrantExpiry>(&text)).transpose() else {
                return Ok(None);
            };
            let scope = AnswerScope::of(until.as_ref());
            // A text that cannot be parsed contains no signature.
            let signatures = signatures.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            let wanted = seal(&key, request, digest, bindings, scope);
            let holds = mac == wanted && edited::is_whole(connection, row)?;
            Ok(holds.then_some(RecordedAnswer { row, by, words, signatures, scope }))
        })
    }

    /// Marks answers, which together approve one request, as used. `false`: one of them was used before. The record
    /// decides this, whatever the queue contains.
    pub(super) fn use_answers(&self, rows: &[i64], now: Timestamp) -> Result<bool, StoreError> {
        self.write_durably(|connection| {
            let mut used = connection.prepare("SELECT 1 FROM record WHERE about = ?1 AND kind = 'taken'")?;
            for row in rows {
                if used.exists([row])? {
                    return Ok(false);
                }
            }
            // A signature can be used once, even if several rows contain it.
            let mut again = connection.prepare(
                "SELECT 1 FROM record AS old JOIN record AS now ON old.signatures = now.signatures
                 WHERE now.id = ?1 AND old.id <> ?1 AND old.kind = 'answered' AND now.signatures IS NOT NULL
                   AND EXISTS (SELECT 1 FROM record AS taken WHERE taken.about = old.id AND taken.kind = 'taken')",
            )?;
            for row in rows {
                if again.exists([row])? {
                    return Ok(false);
                }
            }
            for row in rows {
                let mut draft = Draft::default();
                draft.text("kind", Some("taken"));
                draft.integer("at", now.as_millisecond());
                draft.integer("about", *row);
                chain::append(connection, &draft)?;
            }
            Ok(true)
        })
    }

    /// Returns the rows of answers since a time that the queue contains and the record does not: the end of the record
    /// was truncated, which cannot be detected from the chain alone.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(super) fn lost_answers(&self, since: i64) -> Result<Vec<i64>, StoreError> {
        // A queue that cannot be read contains no answers, and no request can use it.
        let known = Queue::existing(&self.paths).ok().flatten().and_then(|queue| queue.answered_since(since).ok());
        let known = known.unwrap_or_default();
        if known.is_empty() {
            return Ok(Vec::new());
        }
        self.persist(|connection| {
            let first = prune::first_row(connection)?.unwrap_or(1);
            let sql = "SELECT 1 FROM record WHERE id = ?1 AND kind = 'answered' AND scope = ?2";
            let mut there = connection.prepare(sql)?;
            let mut lost = Vec::new();
            for (request, row) in known.iter().filter(|(_, row)| *row >= first) {
                if !there.exists((row, scope(request)))? {
                    lost.push(*row);
                }
            }
            sort::sort(&mut lost);
            Ok(lost)
        })
    }

    /// Resumes a session that was stopped after too many denials, and records who did so and why.
    ///
    /// # Errors
    /// The row is not written.
    pub fn resume(&self, root: &str, session: &str, by: &str, why: &str, now: Timestamp) -> Result<i64, StoreError> {
        let seal = behaviour::resumption(&DigestKey::read_or_make(&self.paths.key())?, root, now.as_millisecond());
        let mut draft = Draft::default();
        draft.blob("digest", &seal);
        draft.text("kind", Some("resumed"));
        draft.integer("at", now.as_millisecond());
        draft.text("user", Some(by));
        draft.text("session", Some(session));
        draft.text("root", Some(root));
        draft.text("words", Some(redact(why).0));
        draft.text("provenance", Some("human"));
        draft.integer("mark", i64::from(behaviour::RESUMED));
        self.write_durably(|connection| chain::append(connection, &draft))
    }
}

/// Returns the key of a request's answers. It shares the index with the sessions of grants, none of which has such a
/// key.
fn scope(request: &str) -> String {
    format!("request {request}")
}
