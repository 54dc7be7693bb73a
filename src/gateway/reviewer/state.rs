//! Stores a reviewer's usage between commands: today's calls, tokens and cost, consecutive failures, and cached
//! opinions.
//!
//! The data is in one small file beside the record, which is changed under its lock. If it cannot be stored, no model
//! is asked, because a budget that is not counted does not limit anything. Cached opinions are sealed with the record's
//! key, so that a line that was inserted by hand is not accepted. Out of scope: clocks.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use guard_config::config::Reviewer;
use jiff::{SignedDuration, Timestamp};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::judge::review::{Opinion, OpinionVerdict};

/// The number of consecutive failures after which the reviewer is paused.
const PATIENCE: u32 = 5;

/// The duration of the pause.
const ALONE: SignedDuration = SignedDuration::from_mins(1);

/// The maximum number of cached opinions.
const MAX_KEPT: usize = 200;

/// The reason why no model is asked now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    #[error("it failed {failures} times in a row; paused for {seconds} s")]
    Paused { failures: u32, seconds: i64 },
    #[error("today's budget of {0} calls is used up")]
    Calls(u64),
    #[error("today's budget of {0} tokens is used up")]
    Tokens(u64),
    #[error("today's budget of money is used up")]
    Money,
}

/// The reason why the counts cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    #[error("cannot store {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{} is damaged; remove it", .0.display())]
    Damaged(PathBuf),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The stored counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// The day that is counted, in UTC.
    pub day: String,
    pub calls: u64,
    pub tokens: u64,
    /// The cost in millionths.
    pub cost: u64,
    pub failures: u32,
    /// The end of the pause.
    pub alone_until: Option<Timestamp>,
    pub kept: Vec<CachedOpinion>,
}

/// Tokens, and money in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    pub tokens: u64,
    pub cost: u64,
}

impl Spending {
    /// Returns the sum of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { tokens: self.tokens.saturating_add(other.tokens), cost: self.cost.saturating_add(other.cost) }
    }
}

/// A cached opinion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedOpinion {
    /// The hash of everything that the opinion depends on.
    pub key: String,
    pub until: Timestamp,
    pub opinion: Opinion,
    pub seal: String,
}

impl Counts {
    /// Takes a number of calls out of today's budget, and reserves the maximum that they may cost: processes that ask
    /// at the same time share the budget, and one may end before its answer arrives.
    ///
    /// # Errors
    /// The reason why no model is asked now.
    pub fn begin(&mut self, limits: &Reviewer, calls: u64, most: Spending, now: Timestamp) -> Result<(), BudgetError> {
        let today = day(now);
        if self.day != today {
            (self.calls, self.tokens, self.cost) = (0, 0, 0);
            self.day = today;
        }
        if let Some(until) = self.alone_until.filter(|until| *until > now) {
            let seconds = until.duration_since(now).as_secs() + 1;
            return Err(BudgetError::Paused { failures: self.failures, seconds });
        }
        if self.calls.saturating_add(calls) > limits.calls_per_day {
            return Err(BudgetError::Calls(limits.calls_per_day));
        }
        if self.tokens >= limits.tokens_per_day {
            return Err(BudgetError::Tokens(limits.tokens_per_day));
        }
        if limits.money_per_day.is_some_and(|most| self.cost >= most) {
            return Err(BudgetError::Money);
        }
        self.calls += calls;
        self.tokens = self.tokens.saturating_add(most.tokens);
        self.cost = self.cost.saturating_add(most.cost);
        Ok(())
    }

    /// Replaces the reservation, which was made at `begun`, with the actual usage of an opinion, and counts whether it
    /// failed.
    pub fn end(&mut self, opinion: &Opinion, most: Spending, begun: Timestamp, now: Timestamp) {
        if self.day == day(begun) {
            self.tokens = self.tokens.saturating_sub(most.tokens);
            self.cost = self.cost.saturating_sub(most.cost);
        }
        self.tokens = self.tokens.saturating_add(opinion.tokens);
        self.cost = self.cost.saturating_add(opinion.cost);
        if opinion.says != OpinionVerdict::Nothing {
            (self.failures, self.alone_until) = (0, None);
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= PATIENCE {
            self.alone_until = now.checked_add(ALONE).ok();
        }
    }

    /// Returns a cached opinion that is still valid; `seal` computes the seal that it must have.
    #[must_use]
    pub fn known(&self, key: &str, now: Timestamp, seal: impl Fn(&[u8]) -> Option<String>) -> Option<Opinion> {
        let kept = self.kept.iter().find(|kept| kept.key == key && kept.until > now)?;
        let same = seal(&sealed(kept)).is_some_and(|seal| crate::secrets::same(seal.as_bytes(), kept.seal.as_bytes()));
        same.then(|| Opinion { again: true, tokens: 0, cost: 0, ms: 0, ..kept.opinion.clone() })
    }

    /// Caches an opinion for a number of seconds.
    pub fn keep(
        &mut self,
        key: &str,
        opinion: &Opinion,
        seconds: u32,
        now: Timestamp,
        seal: impl Fn(&[u8]) -> Option<String>,
    ) {
        self.kept.retain(|kept| kept.until > now && kept.key != key);
        let Ok(until) = now.checked_add(SignedDuration::from_secs(seconds.into())) else { return };
        let mut kept = CachedOpinion { key: key.to_owned(), until, opinion: opinion.clone(), seal: String::new() };
        let Some(seal) = seal(&sealed(&kept)) else { return };
        kept.seal = seal;
        self.kept.push(kept);
        let over = self.kept.len().saturating_sub(MAX_KEPT);
        self.kept.drain(..over);
    }
}

/// Returns the day, in UTC.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

/// Returns the bytes that a seal covers.
fn sealed(kept: &CachedOpinion) -> Vec<u8> {
    let opinion = serde_json::to_string(&kept.opinion).unwrap_or_default();
    format!("{}\n{}\n{opinion}", kept.key, kept.until).into_bytes()
}

/// The file of the counts.
#[derive(Debug)]
pub struct CountFile {
    path: PathBuf,
}

impl CountFile {
    /// Uses the counts in this file.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Changes the counts, under the file's lock.
    ///
    /// # Errors
    /// The file cannot be read or written; nothing is counted then.
    pub fn change<T>(&self, work: impl FnOnce(&mut Counts) -> T) -> Result<T, CountError> {
        let told = |error| CountError::File { path: self.path.clone(), error };
        if let Some(directory) = self.path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(told)?;
        }
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(nix::libc::O_NOFOLLOW);
        let file = open.open(&self.path).map_err(told)?;
        let mut file: Flock<File> =
            Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| told(error.into()))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(told)?;
        // An unreadable file was edited by hand or written only in part. Its counts for today are unknown, so a person
        // must correct it; it is not replaced.
        let mut counts: Counts = match text.trim() {
            "" => Counts::default(),
            text => serde_json::from_str(text).map_err(|_| CountError::Damaged(self.path.clone()))?,
        };
        let done = work(&mut counts);
        let text = serde_json::to_string(&counts)?;
        file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(text.as_bytes())).map_err(told)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Reviewer {
        Reviewer {
            voices: Vec::new(),
            timeout: 10,
            retries: 0,
            calls_per_day: 10,
            tokens_per_day: 100,
            money_per_day: Some(50),
            cache: 60,
            policy: None,
            contents: Vec::new(),
            contents_kib: 16,
            review: Vec::new(),
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn approved() -> Opinion {
        Opinion { says: OpinionVerdict::Approve, ..Opinion::nothing("m", "r") }
    }

    #[test]
    fn each_budget_ends_by_itself_and_begins_anew_the_next_day() {
        let noon = at("2026-11-22T12:00:00Z");
        let used = |calls, tokens, cost| Counts { day: "2026-11-22".into(), calls, tokens, cost, ..Counts::default() };
        let most = Spending::default();
        assert_eq!(used(9, 99, 49).begin(&limits(), 1, most, noon), Ok(()));
        for (mut counts, why) in [(used(10, 0, 0), "calls"), (used(0, 100, 0), "tokens"), (used(0, 0, 50), "money")] {
            assert!(counts.begin(&limits(), 1, most, noon).unwrap_err().to_string().contains(why));
            assert_eq!(counts.begin(&limits(), 1, most, at("2026-11-23T00:00:00Z")), Ok(()));
            assert_eq!((counts.calls, counts.tokens, counts.cost), (1, 0, 0));
        }
        assert!(used(9, 0, 0).begin(&limits(), 2, most, noon).is_err(), "a jury of two takes two calls");
    }

    #[test]
    fn the_most_that_a_call_may_take_is_counted_until_it_is_known_what_it_took() {
        let (noon, next) = (at("2026-11-22T12:00:00Z"), at("2026-11-23T00:00:01Z"));
        let most = Spending { tokens: 60, cost: 30 };
        let mut counts = Counts::default();
        assert_eq!(counts.begin(&limits(), 1, most, noon), Ok(()));
        assert_eq!(counts.begin(&limits(), 1, most, noon), Ok(()));
        // Two calls that nobody waited for have used up the budget; ending one returns the unused part of its
        // reservation.
        assert!(counts.begin(&limits(), 1, most, noon).unwrap_err().to_string().contains("tokens"));
        counts.end(&Opinion { tokens: 5, cost: 4, ..approved() }, most, noon, noon);
        assert_eq!((counts.tokens, counts.cost), (65, 34));
        assert_eq!(counts.begin(&limits(), 1, most, noon), Ok(()));
        // After the end of the day there is nothing to return.
        assert_eq!(counts.begin(&limits(), 1, most, next), Ok(()));
        counts.end(&Opinion { tokens: 5, cost: 4, ..approved() }, most, noon, next);
        assert_eq!((counts.tokens, counts.cost), (65, 34));
    }

    #[test]
    fn after_failures_in_a_row_it_is_left_alone_for_a_while() {
        let noon = at("2026-11-22T12:00:00Z");
        let (mut counts, most) = (Counts::default(), Spending::default());
        for _ in 0..PATIENCE - 1 {
            counts.end(&Opinion::nothing("m", "x"), most, noon, noon);
        }
        assert_eq!(counts.begin(&limits(), 1, most, noon), Ok(()));
        counts.end(&Opinion::nothing("m", "x"), most, noon, noon);
        assert!(
            counts.begin(&limits(), 1, most, at("2026-11-22T12:00:59Z")).unwrap_err().to_string().contains("paused")
        );
        assert_eq!(counts.begin(&limits(), 1, most, at("2026-11-22T12:01:00Z")), Ok(()));
        counts.end(&approved(), most, noon, noon);
        assert_eq!((counts.failures, counts.alone_until), (0, None));
    }

    #[test]
    fn an_opinion_is_used_again_while_it_holds_and_is_the_one_that_was_given() {
        let (noon, later) = (at("2026-11-22T12:00:00Z"), at("2026-11-22T12:01:00Z"));
        let seal =
            |bytes: &[u8]| Some(format!("{}-{}", bytes.len(), bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>()));
        let mut counts = Counts::default();
        counts.keep("k", &Opinion { tokens: 9, ..approved() }, 60, noon, seal);
        let again = counts.known("k", noon, seal).unwrap();
        assert!(again.again && again.says == OpinionVerdict::Approve && again.tokens == 0);
        assert_eq!(counts.known("other", noon, seal), None);
        assert_eq!(counts.known("k", later, seal), None);
        assert_eq!(counts.known("k", noon, |_| None), None);
        counts.kept[0].opinion.reason = "changed by hand".into();
        assert_eq!(counts.known("k", noon, seal), None);
    }

    #[test]
    fn counts_survive_and_what_is_no_count_is_not_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let state = CountFile::at(&directory.path().join("below/reviewer.json"));
        for number in 1..=3 {
            assert_eq!(
                state
                    .change(|counts| {
                        counts.calls += 1;
                        counts.calls
                    })
                    .unwrap(),
                number
            );
        }
        std::fs::write(directory.path().join("below/reviewer.json"), "{\"calls\":").unwrap();
        assert!(state.change(|_| ()).unwrap_err().to_string().contains("remove it"));
    }
}
