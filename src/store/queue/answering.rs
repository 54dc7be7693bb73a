//! Answers to requests and their use: the first answer wins, an approval is used once, and a request for several
//! approvals waits for all of them.

use jiff::Timestamp;
use rusqlite::params;

use super::Queue;
use super::request::{Answer, AnswerOutcome, Pending, RequestState, WaitState};
use super::rows::{counts_on, find, sweep};
use crate::judge::approver::{Signed, passkey};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::Digest;
use crate::judge::review::OpinionVerdict;
use crate::store::error::StoreError;
use crate::store::{RecordedAnswer, Store};

impl Queue {
    /// Returns the state of a request, and uses its approval if there is one. An approval is valid only if the record
    /// confirms it.
    ///
    /// # Errors
    /// The state is unknown: the command must not run.
    pub fn take(&self, store: &Store, id: &str, digest: &Digest, bindings: &Bindings) -> Result<WaitState, StoreError> {
        let Some(now) = self.find(id)? else {
            return Ok(WaitState::Void { what: "the request is no longer in the queue".to_owned() });
        };
        match now.state {
            RequestState::Waiting => Ok(WaitState::Waiting),
            RequestState::Late => Ok(WaitState::Late),
            RequestState::Denied => Ok(WaitState::No { by: now.decided_by.unwrap_or_default(), words: now.words }),
            RequestState::Used | RequestState::Lapsed => {
                Ok(WaitState::Void { what: format!("the answer to {id} was already used") })
            }
            RequestState::Void => Ok(WaitState::Void { what: now.words.unwrap_or_default() }),
            RequestState::Approved => {
                let last = now.answer.unwrap_or(0);
                let rows = if now.given.is_empty() { vec![last] } else { now.given };
                let Some(answered) = combined_answer(store, &rows, id, digest, bindings)? else {
                    let what = "the answer was not written by guard, or is for another command";
                    self.void(id, what)?;
                    return Ok(WaitState::Void { what: what.to_owned() });
                };
                let taken = self.change(|connection| {
                    connection
                        .prepare("UPDATE request SET state = 'used', exact = NULL WHERE id = ?1 AND state = 'approved' AND answer = ?2")?
                        .execute(params![id, last])
                })?;
                // Whoever can write the queue could reset its rows, so the chain of the record decides.
                let first = taken == 1 && store.use_answers(&rows, Timestamp::now())?;
                Ok(match first {
                    true => WaitState::Yes(answered),
                    false => WaitState::Void { what: format!("the answer to {id} was already used") },
                })
            }
        }
    }

    /// Records a person's answer to a request that was shown. The first answer wins.
    ///
    /// # Errors
    /// The answer was not recorded and is not valid.
    pub fn answer(
        &self,
        store: &Store,
        shown: &Pending,
        answer: &Answer<'_>,
        now: Timestamp,
    ) -> Result<AnswerOutcome, StoreError> {
        // This updates the record's schema before the lock is taken.
        store.head()?;
        let mut failed = None;
        let done = self.change(|connection| {
            sweep(connection, now)?;
            let Some(pending) = find(connection, &shown.id)? else { return Ok(AnswerOutcome::Unknown) };
            if !pending.state.is_open() {
                return Ok(AnswerOutcome::Settled(Box::new(pending)));
            }
            if pending.filed != shown.filed || pending.digest != shown.digest {
                return Ok(AnswerOutcome::AskedAnew);
            }
            let late = pending.state == RequestState::Late || !answer.waited_for;
            let wanted = answer.approvals.max(pending.approvals);
            let never_late = pending.is_never_late() || wanted > 1;
            if late && answer.yes.is_some() && never_late {
                return Ok(AnswerOutcome::TooLate);
            }
            let refused = pending.review.as_ref().is_some_and(|opinion| opinion.says == OpinionVerdict::Deny);
            if refused && answer.yes.is_some() && answer.words.is_none_or(|words| words.trim().is_empty()) {
                return Ok(AnswerOutcome::Wordless);
            }
            let may_grant = wanted == 1 && pending.offers_grant(answer.waited_for);
            if answer.yes.is_some()
                && let Err(why) = answer.scope.check(may_grant, &pending.session, now.as_second())
            {
                return Ok(AnswerOutcome::NotOffered { why: why.to_string() });
            }
            let mut given: Vec<(i64, &str)> =
                pending.given.iter().copied().zip(pending.approved_by.iter().map(String::as_str)).collect();
            let several = wanted > 1 && answer.yes.is_some();
            if several {
                if answer.signer.is_empty() || answer.signatures.is_empty() {
                    return Ok(AnswerOutcome::Unsigned);
                }
                if let Some((_, by)) = given.iter().find(|(_, by)| answer.signer.iter().any(|name| name == by)) {
                    return Ok(AnswerOutcome::SignedAlready { by: (*by).to_owned() });
                }
            }
            for signed in answer.signatures {
                if let Some((key, count)) = passkey::counted(&signed.signature)
                    && !counts_on(connection, &key, count)?
                {
                    return Ok(AnswerOutcome::Copied { by: signed.approver.clone() });
                }
            }
            let row = match store.write_answer(&pending, answer, now) {
                Ok(row) => row,
                Err(error) => {
                    failed = Some(error);
                    return Err(rusqlite::Error::QueryReturnedNoRows);
                }
            };
            let mut by = answer.by.to_owned();
            if several {
                given.extend(answer.signer.first().map(|name| (row, name.as_str())));
                let names: Vec<String> = given.iter().map(|(_, name)| (*name).to_owned()).collect();
                let list = serde_json::to_string(&given).unwrap_or_default();
                connection
                    .prepare("UPDATE request SET given = ?2, approvals = ?3 WHERE id = ?1")?
                    .execute(params![pending.id, list, wanted])?;
                if names.len() < usize::from(wanted) {
                    return Ok(AnswerOutcome::Partly { by: names });
                }
                by = names.join(" and ");
            }
            let (state, erase) = if answer.yes.is_some() { ("approved", false) } else { ("denied", true) };
            connection
                .prepare(
                    "UPDATE request SET state = ?2, decided = ?3, decided_by = ?4, words = ?5, answer = ?6,
                     exact = iif(?7, NULL, exact) WHERE id = ?1",
                )?
                .execute(params![pending.id, state, now.as_millisecond(), by, answer.words, row, erase])?;
            Ok(AnswerOutcome::Done { late })
        });
        match failed {
            Some(error) => Err(error),
            None => done,
        }
    }

    /// Returns the signatures of the approvals so far of a request for several approvals. `None`: guard did not write
    /// one of them for this command.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn signatures_so_far(
        &self,
        store: &Store,
        id: &str,
        digest: &Digest,
        bindings: &Bindings,
    ) -> Result<Option<Vec<Signed>>, StoreError> {
        let Some(pending) = self.find(id)?.filter(|pending| !pending.given.is_empty()) else {
            return Ok(Some(Vec::new()));
        };
        let found = combined_answer(store, &pending.given, &pending.id, digest, bindings)?;
        Ok(found.map(|answered| answered.signatures))
    }
}

/// Merges the approvals of these rows: the last one, with the signatures of all. `None`: guard did not write one of
/// them for this command.
fn combined_answer(
    store: &Store,
    rows: &[i64],
    id: &str,
    digest: &Digest,
    bindings: &Bindings,
) -> Result<Option<RecordedAnswer>, StoreError> {
    let mut all: Option<RecordedAnswer> = None;
    for row in rows {
        let Some(mut one) = store.read_answer(*row, id, digest, bindings)? else { return Ok(None) };
        if let Some(before) = all {
            one.signatures.splice(0..0, before.signatures);
        }
        all = Some(one);
    }
    Ok(all)
}
