//! Counts the verdicts of a replay.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::civil::Date;
use serde_json::{Value, json};

use crate::judge::risk::Tier;
use crate::judge::sort;

/// The verdict about one past call.
#[derive(Clone, Debug)]
pub struct DryVerdict {
    pub asks: bool,
    pub refuses: bool,
    pub tier: Tier,
    /// The rule of the worst finding, and its reason.
    pub rule: Option<(String, String)>,
}

/// All counts.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of commands and file changes.
    pub calls: u64,
    /// The number of file changes by tools of agents, which are included in `calls`.
    pub changes: u64,
    pub asked: u64,
    pub refused: u64,
    /// The number of calls by tier, from 0 to 4.
    pub tiers: [u64; 5],
    /// The number of calls by agent, or `history`.
    pub by: BTreeMap<&'static str, u64>,
    pub days: BTreeMap<Date, Day>,
    /// The calls that were asked about or refused, by rule: their number and the reason.
    pub rules: BTreeMap<String, (u64, String)>,
    /// The number of these calls by command.
    pub top: BTreeMap<String, u64>,
    /// The number of transcripts.
    pub files: usize,
    pub unreadable: Vec<(PathBuf, String)>,
    pub skipped_lines: u64,
    /// The number of calls in directories that no longer exist.
    pub gone: u64,
    /// The number of calls whose directory is unknown.
    pub placeless: u64,
}

/// The counts of one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Day {
    pub calls: u64,
    pub asked: u64,
    pub refused: u64,
}

/// The largest number of different commands that are counted.
const MAX_TOP: usize = 100_000;

impl Tally {
    /// Counts one call. `shown` is called only if guard would ask about the call or refuse it.
    pub fn count(&mut self, by: &'static str, day: Option<Date>, verdict: &DryVerdict, shown: impl Fn() -> String) {
        let (asked, refused) = (u64::from(verdict.asks), u64::from(verdict.refuses));
        self.calls += 1;
        self.asked += asked;
        self.refused += refused;
        if let Some(tier) = self.tiers.get_mut(usize::from(verdict.tier.number())) {
            *tier += 1;
        }
        *self.by.entry(by).or_default() += 1;
        if let Some(day) = day {
            let day = self.days.entry(day).or_default();
            day.calls += 1;
            day.asked += asked;
            day.refused += refused;
        }
        if asked + refused == 0 {
            return;
        }
        let (rule, reason) = verdict.rule.clone().unwrap_or_else(|| ("score".to_owned(), String::new()));
        self.rules.entry(rule).or_insert((0, reason)).0 += 1;
        let shown = shown();
        if self.top.len() < MAX_TOP || self.top.contains_key(&shown) {
            *self.top.entry(shown).or_default() += 1;
        }
    }

    /// Returns the rules, the most frequent first.
    #[must_use]
    pub fn rules(&self) -> Vec<(&str, u64, &str)> {
        let mut rules: Vec<_> =
            self.rules.iter().map(|(rule, (count, reason))| (rule.as_str(), *count, reason.as_str())).collect();
        sort::sort_by_key(&mut rules, |(rule, count, _)| (std::cmp::Reverse(*count), *rule));
        rules
    }

    /// Returns the commands that were asked about or refused, the most frequent first.
    #[must_use]
    pub fn top(&self) -> Vec<(&str, u64)> {
        let mut top: Vec<_> = self.top.iter().map(|(command, count)| (command.as_str(), *count)).collect();
        sort::sort_by_key(&mut top, |(command, count)| (std::cmp::Reverse(*count), *command));
        top
    }

    /// Returns all counts as one object, with the fifty most frequent rules and commands.
    #[must_use]
    pub fn json(&self) -> Value {
        const MOST: usize = 50;
        let rules: Vec<_> = self.rules().into_iter().take(MOST).collect();
        let top = self.top();
        json!({
            "calls": self.calls,
            "commands": self.calls - self.changes,
            "file_changes": self.changes,
            "allow": self.calls - self.asked - self.refused,
            "ask": self.asked,
            "deny": self.refused,
            "tiers": self.tiers,
            "by": self.by,
            "rules": rules.iter().map(|(rule, count, reason)| json!({ "rule": rule, "count": count, "reason": reason }))
                .collect::<Vec<_>>(),
            "top": top.iter().take(MOST).map(|(command, count)| json!({ "command": command, "count": count }))
                .collect::<Vec<_>>(),
            "days": self.days.iter().map(|(day, count)| json!({
                "day": day.to_string(), "calls": count.calls, "ask": count.asked, "deny": count.refused,
            })).collect::<Vec<_>>(),
            "files": self.files,
            "skipped": { "files": self.unreadable.len(), "lines": self.skipped_lines },
            "directory_gone": self.gone,
            "directory_unknown": self.placeless,
        })
    }
}
