//! Statistics of the record: the number of prompts, the answers, and the times until an answer.
//!
//! Out of scope: judging the statistics.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::Store;
use super::entries::{CANARY, FindingEntry, is_probe};
use super::error::StoreError;
use super::find::first_from;
use crate::judge::sort;

/// The time in milliseconds below which an approval is assumed to be given without reading.
pub const HASTY_MS: i64 = 2000;

/// The statistics since a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// The number of commands that were judged. The test commands of `guard doctor` are not counted, here and below.
    pub commands: u64,
    /// The number of commands that ran without a prompt.
    pub unasked: u64,
    /// The number of commands that were refused without a prompt.
    pub refused: u64,
    /// The number of prompts, at a terminal or in the queue.
    pub asked: u64,
    pub allowed: u64,
    pub denied: u64,
    pub unanswered: u64,
    /// The number of commands that were left to a host's own prompt.
    pub handed_on: u64,
    /// The number of commands of an agent that guard could not judge.
    pub unjudged: u64,
    /// The number of answers that were refused because of their origin.
    pub attempts: u64,
    /// The median and the ninth decile of the times until an answer, in milliseconds.
    pub median_ms: Option<i64>,
    pub ninetieth_ms: Option<i64>,
    /// The number of commands that were allowed at a terminal, and the number of these in less than [`HASTY_MS`].
    pub at_terminal: u64,
    pub hasty: u64,
    /// The number of prompts by day, oldest first.
    pub days: BTreeMap<String, u64>,
    /// The number of prompts by the most severe rule, and the number of these that were allowed.
    pub rules: BTreeMap<String, (u64, u64)>,
    /// The number of prompts by requester.
    pub agents: BTreeMap<String, u64>,
}

impl Store {
    /// Returns the statistics since a time, with days of a time zone.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn stats(&self, since: Timestamp, zone: &TimeZone) -> Result<Stats, StoreError> {
        self.persist(|connection| {
            let since = since.as_millisecond();
            let mut stats = Stats::default();
            let mut times = Vec::new();
            let sql = "SELECT at, kind, decision, settled, answer_ms, findings, coalesce(agent, origin, ''),
                coalesce(words, '') FROM record WHERE id >= ?1 AND at >= ?2 AND kind IN ('intent', 'advised')";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([first_from(connection, since)?, since])?;
            while let Some(row) = rows.next()? {
                let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
                let found = text(5).unwrap_or_default();
                if found.contains(CANARY)
                    && serde_json::from_str::<Vec<FindingEntry>>(found).is_ok_and(|all| is_probe(&all))
                {
                    continue;
                }
                let (decision, settled) = (text(2).unwrap_or_default(), text(3).unwrap_or_default());
                if settled == "unjudged" {
                    stats.unjudged += 1;
                    continue;
                }
                stats.commands += 1;
                if decision == "ask" {
                    stats.handed_on += 1;
                }
                stats.attempts += u64::from(settled == "attempt");
                let Some(taken) = row.get::<_, Option<i64>>(4)? else {
                    match decision {
                        "allow" => stats.unasked += 1,
                        "deny" => stats.refused += 1,
                        _ => {}
                    }
                    continue;
                };
                stats.asked += 1;
                let allowed = decision == "allow";
                match (allowed, settled) {
                    (true, _) => stats.allowed += 1,
                    (false, "person") => stats.denied += 1,
                    (false, _) => stats.unanswered += 1,
                }
                if allowed || settled == "person" {
                    times.push(taken);
                }
                // The time in the queue is not the time that a person took to read.
                if allowed && !text(7).is_some_and(|words| words.starts_with("request ")) {
                    stats.at_terminal += 1;
                    stats.hasty += u64::from(taken < HASTY_MS);
                }
                let at = Timestamp::from_millisecond(row.get(0)?).unwrap_or(Timestamp::UNIX_EPOCH);
                *stats.days.entry(at.to_zoned(zone.clone()).date().to_string()).or_default() += 1;
                *stats.agents.entry(text(6).unwrap_or_default().to_owned()).or_default() += 1;
                let findings: Vec<FindingEntry> = serde_json::from_str(found).unwrap_or_default();
                if let Some(worst) = findings.into_iter().max_by_key(|finding| (finding.tier, finding.weight)) {
                    let rule = stats.rules.entry(worst.rule).or_default();
                    rule.0 += 1;
                    rule.1 += u64::from(allowed);
                }
            }
            sort::sort(&mut times);
            stats.median_ms = times.get(times.len() / 2).copied();
            stats.ninetieth_ms = times.get((times.len() * 9 / 10).min(times.len().saturating_sub(1))).copied();
            Ok(stats)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::RecordedDecision;
    use super::super::sample::{Sample, risk};
    use super::*;
    use crate::judge::policy::{ApprovalReason, Refusal};
    use crate::judge::risk::Tier;

    #[test]
    fn prompts_are_counted_by_what_came_of_them() {
        let sample = Sample::new();
        let high = risk("x.y", Tier::High, &[]);
        let day = 24 * 60 * 60;
        sample.decide("r", 10, &high, RecordedDecision::Allowed(&ApprovalReason::Person), Some(900));
        sample.decide("r", day, &high, RecordedDecision::Allowed(&ApprovalReason::Score), None);
        sample.decide("r", day, &high, RecordedDecision::Allowed(&ApprovalReason::Person), Some(900));
        sample.decide("r", day + 1, &high, RecordedDecision::Allowed(&ApprovalReason::Person), Some(4000));
        sample.decide("r", 2 * day, &high, RecordedDecision::Refused(&Refusal::Person { words: None }), Some(6000));
        sample.decide("r", 2 * day, &high, RecordedDecision::Refused(&Refusal::Timeout { seconds: 30 }), Some(30_000));
        sample.decide("r", 2 * day, &high, RecordedDecision::Refused(&Refusal::NoOne { why: "x".into() }), None);
        let canary = risk("guard.canary-ask", Tier::High, &[]);
        sample.decide("r", 2 * day, &canary, RecordedDecision::Allowed(&ApprovalReason::Person), Some(300));
        let stats = sample.store.stats(Timestamp::from_second(day).unwrap(), &TimeZone::UTC).unwrap();
        assert_eq!((stats.commands, stats.unasked, stats.refused, stats.asked), (6, 1, 1, 4));
        assert_eq!((stats.allowed, stats.denied, stats.unanswered), (2, 1, 1));
        assert_eq!((stats.at_terminal, stats.hasty), (2, 1));
        assert_eq!((stats.median_ms, stats.ninetieth_ms), (Some(4000), Some(6000)));
        assert_eq!(stats.days.into_iter().collect::<Vec<_>>(), [("1970-01-02".into(), 2), ("1970-01-03".into(), 2)]);
        assert_eq!(stats.rules["x.y"], (4, 2));
        assert_eq!(stats.agents["claude"], 4);
    }
}
