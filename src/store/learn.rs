//! Shapes of commands for which a person was asked repeatedly and which they always allow.
//!
//! Out of scope: giving a grant for a shape, which a person does.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Store;
use super::error::StoreError;
use super::find::first_from;
use crate::judge::approved::{GrantSubject, ShapeScope};
use crate::judge::risk::{Reversibility, Tier};
use crate::judge::shape;

/// The answers of people to one command, or to commands of one shape whose text was redacted, in one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeAnswers {
    /// The narrowest shape grant that covers them.
    pub scope: ShapeScope,
    pub directory: String,
    /// The command; `None` if something in it was redacted.
    pub command: Option<String>,
    pub allowed: u32,
    pub denied: u32,
    pub last: Timestamp,
    /// Whether it could not be undone, or was of tier 4.
    pub grave: bool,
}

impl ShapeAnswers {
    /// Adds answers to other commands of the shape.
    pub fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.last = self.last.max(other.last);
        self.grave |= other.grave;
        self.scope.tier = self.scope.tier.max(other.scope.tier);
        let both = self.scope.within.as_deref().zip(other.scope.within.as_deref());
        self.scope.within = both.map(|(one, other)| shape::common(one, other));
    }
}

impl Store {
    /// Returns the answers since a time, by shape, directory and command.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn answers_by_shape(&self, since: Timestamp) -> Result<Vec<ShapeAnswers>, StoreError> {
        self.persist(|connection| {
            let since = since.as_millisecond();
            let sql = "SELECT what, decision, reversibility, tier, at, coalesce(cwd, ''), command, redacted
                FROM record WHERE id >= ?1 AND at >= ?2 AND kind IN ('intent', 'advised')
                AND what IS NOT NULL AND settled = 'person'";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([first_from(connection, since)?, since])?;
            let mut all: BTreeMap<(String, String, Option<String>), ShapeAnswers> = BTreeMap::new();
            while let Some(row) = rows.next()? {
                let what = row.get_ref(0)?.as_str().ok();
                let what = what.and_then(|what| serde_json::from_str::<GrantSubject>(what).ok());
                let Some(GrantSubject::Shape(scope)) = what else { continue };
                // The test commands of `guard doctor` are not answered by a person.
                if scope.shape.starts_with("guard-canary") {
                    continue;
                }
                let hidden: Option<i64> = row.get(7)?;
                let command: Option<String> = row.get(6)?;
                let irreversible =
                    row.get_ref(2)?.as_str().is_ok_and(|name| name == Reversibility::Irreversible.name());
                let tier: u8 = row.get(3)?;
                let allowed = row.get_ref(1)?.as_str().is_ok_and(|decision| decision == "allow");
                let one = ShapeAnswers {
                    scope,
                    directory: row.get(5)?,
                    command: command.filter(|_| hidden.is_none()),
                    allowed: u32::from(allowed),
                    denied: u32::from(!allowed),
                    last: Timestamp::from_millisecond(row.get(4)?).unwrap_or(Timestamp::UNIX_EPOCH),
                    grave: irreversible || tier >= Tier::Critical.number(),
                };
                let key = (one.scope.shape.clone(), one.directory.clone(), one.command.clone());
                match all.get_mut(&key) {
                    Some(known) => known.add(&one),
                    None => _ = all.insert(key, one),
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
        let scope = shape.map(ShapeScope::plain);
        let row =
            IntentRow { answer_ms: asked.then_some(900), shape: scope.as_ref(), ..row(at, &invocation, risk, settled) };
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
        let told: Vec<_> =
            all.iter().map(|one| (one.scope.shape.as_str(), one.allowed, one.denied, one.grave)).collect();
        assert_eq!(told, [("other -f", 2, 0, true), ("tool", 2, 1, false)]);
        assert_eq!((all[1].command.as_deref(), all[1].directory.as_str()), (Some("tool x"), "/home/ada/project"));
        assert_eq!(all[1].last.as_second(), 102);
        assert_eq!(sample.store.verify().unwrap().faults, []);
    }
}
