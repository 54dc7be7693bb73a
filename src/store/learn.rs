//! Shapes of commands for which a person was asked repeatedly and which they always allow.
//!
//! Out of scope: giving a grant for a shape, which a person does.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Store;
use super::error::StoreError;
use super::find::first_from;
use crate::judge::approved::GrantSubject;
use crate::judge::risk::{Reversibility, Tier};

/// The answers of people to the commands of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeAnswers {
    pub shape: String,
    pub allowed: u32,
    pub denied: u32,
    pub last: Timestamp,
    /// The number of approvals by directory.
    pub directories: BTreeMap<String, u32>,
    /// Whether one of the commands could not be undone, or was of tier 4.
    pub grave: bool,
    /// The command, if it was always the same and nothing in it was redacted.
    pub command: Option<String>,
}

impl Store {
    /// Returns the answers since a time, by shape.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn answers_by_shape(&self, since: Timestamp) -> Result<Vec<ShapeAnswers>, StoreError> {
        self.persist(|connection| {
            let since = since.as_millisecond();
            let sql = "SELECT what, decision, reversibility, tier, at, coalesce(cwd, ''), command, redacted FROM record
                WHERE id >= ?1 AND at >= ?2 AND kind IN ('intent', 'advised') AND what IS NOT NULL AND settled = 'person'";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([first_from(connection, since)?, since])?;
            let mut all: BTreeMap<String, ShapeAnswers> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let what: Option<GrantSubject> = row.get_ref(0)?.as_str().ok().and_then(|what| serde_json::from_str(what).ok());
                let Some(GrantSubject::Shape { shape }) = what else { continue };
                // The test commands of `guard doctor` are not answered by a person.
                if shape.starts_with("guard-canary") {
                    continue;
                }
                let last = Timestamp::from_millisecond(row.get(4)?).unwrap_or(Timestamp::UNIX_EPOCH);
                let hidden: Option<i64> = row.get(7)?;
                let command: Option<String> = row.get(6)?;
                let command = command.filter(|_| hidden.is_none());
                let answers = all.entry(shape.clone()).or_insert_with(|| ShapeAnswers {
                    command: command.clone(),
                    shape,
                    allowed: 0,
                    denied: 0,
                    last,
                    directories: BTreeMap::new(),
                    grave: false,
                });
                answers.last = answers.last.max(last);
                answers.command = answers.command.take().filter(|known| command.as_ref() == Some(known));
                let irreversible =
                    row.get_ref(2)?.as_str().is_ok_and(|name| name == Reversibility::Irreversible.name());
                let tier: u8 = row.get(3)?;
                answers.grave |= irreversible || tier >= Tier::Critical.number();
                if row.get_ref(1)?.as_str().is_ok_and(|decision| decision == "allow") {
                    answers.allowed += 1;
                    *answers.directories.entry(row.get(5)?).or_default() += 1;
                } else {
                    answers.denied += 1;
                }
            }
            Ok(all.into_values().collect())
        })
    }
}

#[cfg(test)]
mod tests {

    use super::super::sample::{Sample, invocation, risk, row};
    use super::super::{IntentRow, RecordedDecision};
    use super::*;
    use crate::judge::policy::{ApprovalReason, Refusal};
    use crate::judge::risk::Risk;

    fn answer(sample: &Sample, at: i64, shape: Option<&str>, risk: &Risk, settled: RecordedDecision<'_>, asked: bool) {
        let invocation = invocation(&["tool", "x"], "r");
        let row = IntentRow { answer_ms: asked.then_some(900), shape, ..row(at, &invocation, risk, settled) };
        let _ = sample.store.intent(&row).unwrap();
    }

    #[test]
    fn only_what_a_person_answered_is_learnt_and_what_cannot_be_undone_is_marked() {
        let sample = Sample::new();
        let plain = risk("x.y", Tier::High, &[]);
        let mut grave = risk("x.z", Tier::High, &[]);
        grave.reversibility = Reversibility::Irreversible;
        let yes = RecordedDecision::Allowed(&ApprovalReason::Person);
        answer(&sample, 10, Some("tool"), &plain, yes, true);
        answer(&sample, 100, Some("tool"), &plain, yes, true);
        answer(&sample, 101, Some("tool"), &plain, yes, true);
        answer(&sample, 102, Some("tool"), &plain, RecordedDecision::Refused(&Refusal::Person { words: None }), true);
        answer(&sample, 103, Some("tool"), &plain, RecordedDecision::Refused(&Refusal::Timeout { seconds: 3 }), true);
        answer(&sample, 104, Some("tool"), &plain, RecordedDecision::Allowed(&ApprovalReason::Score), false);
        answer(&sample, 105, None, &plain, yes, true);
        answer(&sample, 106, Some("other -f"), &plain, yes, true);
        answer(&sample, 107, Some("other -f"), &grave, yes, true);
        let all = sample.store.answers_by_shape(Timestamp::from_second(50).unwrap()).unwrap();
        let told: Vec<_> = all.iter().map(|one| (one.shape.as_str(), one.allowed, one.denied, one.grave)).collect();
        assert_eq!(told, [("other -f", 2, 0, true), ("tool", 2, 1, false)]);
        assert_eq!(all[1].directories.values().sum::<u32>(), 2);
        assert_eq!(all[1].last.as_second(), 102);
        assert_eq!(sample.store.verify().unwrap().faults, []);
    }
}
