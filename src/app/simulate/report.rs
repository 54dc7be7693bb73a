//! Counts the differences between the recorded and the new decisions, and formats the report.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::reevaluate::{PolicyVerdict, Reevaluation};
use crate::app::replay::one_line;
use crate::app::time;
use crate::judge::sort;
use crate::store::Entry;
use crate::ui::count::{counted, number};
use crate::ui::visible;

/// The largest number of commands and rules that are listed without `--list`.
const SOME: usize = 20;

/// The number of decisions by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count([u64; 3]);

impl Count {
    const fn add(&mut self, word: PolicyVerdict) {
        self.0[word as usize] += 1;
    }

    const fn of(self, word: PolicyVerdict) -> u64 {
        self.0[word as usize]
    }

    fn json(self) -> Value {
        let mut all = json!({});
        PolicyVerdict::ALL.into_iter().for_each(|word| all[word.name()] = json!(self.of(word)));
        all
    }
}

/// A command whose decision changes.
struct DecisionChange {
    row: i64,
    time: Timestamp,
    command: String,
    then: PolicyVerdict,
    again: Reevaluation,
}

/// The content of the report.
pub(super) struct SimulationReport {
    since: Timestamp,
    until: Option<Timestamp>,
    zone: TimeZone,
    then: Count,
    now: Count,
    days: BTreeMap<Date, (Count, Count)>,
    /// The number of prompts and refusals by the rule with the greatest weight: then and now.
    rules: BTreeMap<String, (u64, u64)>,
    changes: Vec<DecisionChange>,
    /// The number of current prompts that a reviewer could decide.
    reviewer: u64,
    /// The number of commands that are partly hidden in the record.
    hidden: u64,
    /// The number of commands whose directory no longer exists.
    gone: u64,
    /// The number of rows that contain too little.
    pub unreadable: u64,
}

impl SimulationReport {
    pub const fn new(since: Timestamp, until: Option<Timestamp>, zone: TimeZone) -> Self {
        Self {
            since,
            until,
            zone,
            then: Count([0; 3]),
            now: Count([0; 3]),
            days: BTreeMap::new(),
            rules: BTreeMap::new(),
            changes: Vec::new(),
            reviewer: 0,
            hidden: 0,
            gone: 0,
            unreadable: 0,
        }
    }

    pub fn count(&mut self, entry: &Entry, then: PolicyVerdict, again: &Reevaluation) {
        self.then.add(then);
        self.now.add(again.word);
        let day = self.days.entry(entry.time.to_zoned(self.zone.clone()).date()).or_default();
        day.0.add(then);
        day.1.add(again.word);
        let worst = entry.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
        let score = || "(score)".to_owned();
        if then != PolicyVerdict::Allow {
            self.rules.entry(worst.map_or_else(score, |finding| finding.rule.clone())).or_default().0 += 1;
        }
        if again.word != PolicyVerdict::Allow {
            self.rules.entry(again.rule.clone().unwrap_or_else(score)).or_default().1 += 1;
        }
        self.reviewer += u64::from(again.reviewer);
        self.hidden += u64::from(entry.redacted);
        self.gone += u64::from(!again.looked);
        if then != again.word {
            self.changes.push(DecisionChange {
                row: entry.id,
                time: entry.time,
                command: entry.command.clone().unwrap_or_default(),
                then,
                again: again.clone(),
            });
        }
    }

    fn all(&self) -> u64 {
        self.then.0.iter().sum()
    }

    pub fn json(&self, config: Option<&Path>, patterns: Option<&Path>) -> Value {
        let change = |change: &DecisionChange| {
            json!({
                "row": change.row, "time": change.time, "command": change.command, "then": change.then.name(),
                "now": change.again.word.name(), "rule": change.again.rule, "tier": change.again.tier,
                "score": change.again.score, "threshold": change.again.threshold,
            })
        };
        let days = self.days.iter();
        let path = |path: Option<&Path>| path.map(|path| path.display().to_string());
        json!({
            "since": self.since, "until": self.until, "config": path(config), "patterns": path(patterns),
            "commands": self.all(), "then": self.then.json(), "now": self.now.json(),
            "days": days.map(|(day, (then, now))| json!({ "day": day.to_string(), "then": then.json(), "now": now.json() }))
                .collect::<Vec<_>>(),
            "rules": self.rules.iter().map(|(rule, (then, now))| json!({ "rule": rule, "then": then, "now": now }))
                .collect::<Vec<_>>(),
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "reviewer_may_settle": self.reviewer,
            "partly_hidden": self.hidden, "directory_gone": self.gone, "unreadable": self.unreadable,
        })
    }

    pub fn words(&self, policy: &str, whole: bool) -> String {
        let shown = |time| time::format(time, &self.zone);
        let until = self.until.map_or_else(String::new, |until| format!(" until {}", shown(until)));
        let policy = visible::text(policy);
        let mut text = format!("{} since {}{until}", counted(self.all(), "command", "commands"), shown(self.since));
        if self.all() == 0 {
            text.push_str(": no decisions.\n");
            self.notes(&mut text);
            return text;
        }
        text.push_str(&format!(", decided again under {policy}.\n\n           then    now\n"));
        for (word, name) in PolicyVerdict::ALL.into_iter().zip(["allowed", "asked", "denied"]) {
            text.push_str(&format!("{name:8}{:>7}{:>7}\n", number(self.then.of(word)), number(self.now.of(word))));
        }
        if self.reviewer > 0 {
            let (of, all) = (number(self.reviewer), number(self.now.of(PolicyVerdict::Ask)));
            text.push_str(&format!("\nA reviewer could decide {of} of the {all} asked.\n"));
        }
        if self.changes.is_empty() {
            text.push_str("\nNo decisions change.\n");
        } else {
            self.differences(&mut text, whole);
        }
        self.notes(&mut text);
        text
    }

    fn differences(&self, text: &mut String, whole: bool) {
        let most = if whole { usize::MAX } else { SOME };
        let mut rules: Vec<_> = self.rules.iter().filter(|(_, (then, now))| then != now).collect();
        sort::sort_by_key(&mut rules, |(_, (then, now))| std::cmp::Reverse(then.abs_diff(*now)));
        if !rules.is_empty() {
            text.push_str("\nAsked or denied, by rule    then    now\n");
        }
        for (rule, (then, now)) in rules.into_iter().take(most) {
            text.push_str(&format!("  {:25}{:>5}{:>7}\n", visible::text(rule), number(*then), number(*now)));
        }
        text.push_str("\nAsked, by day               then    now\n");
        for (day, (then, now)) in self.days.iter().filter(|(_, (then, now))| then != now) {
            let (then, now) = (number(then.of(PolicyVerdict::Ask)), number(now.of(PolicyVerdict::Ask)));
            text.push_str(&format!("  {:25}{then:>5}{now:>7}\n", day.to_string()));
        }
        let count = counted(self.changes.len() as u64, "decision changes", "decisions change");
        let groups = self.groups();
        let first = match groups.len() {
            1 => ", of one command".to_owned(),
            all if all > most => {
                format!(", of {} commands, of which the first {most} (--list for all)", number(all as u64))
            }
            all => format!(", of {all} commands"),
        };
        text.push_str(&format!("\n{count}{first}:\n"));
        for (change, times) in groups.into_iter().take(most) {
            let DecisionChange { row, time, command, then, again } = change;
            let why = again.rule.as_deref().map_or_else(String::new, |rule| format!(", {}", visible::text(rule)));
            text.push_str(&format!(
                "{:>7} x  {:5} -> {:5}  {}  (tier {}, score {}{why}; row {row}, {})\n",
                number(times),
                then.name(),
                again.word.name(),
                one_line(command),
                again.tier.number(),
                again.score,
                time::format(*time, &self.zone),
            ));
        }
    }

    /// Groups changes of the same command with the same verdicts, the most frequent first. The newest represents its
    /// group.
    fn groups(&self) -> Vec<(&DecisionChange, u64)> {
        let mut groups: BTreeMap<(&str, &str, &str), (&DecisionChange, u64)> = BTreeMap::new();
        for change in &self.changes {
            let key = (change.command.as_str(), change.then.name(), change.again.word.name());
            let group = groups.entry(key).or_insert((change, 0));
            *group = (change, group.1 + 1);
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        sort::sort_by_key(&mut groups, |(change, times)| (std::cmp::Reverse(*times), change.row));
        groups
    }

    /// Appends where the data comes from, and what is unknown.
    fn notes(&self, text: &mut String) {
        if self.all() > 0 {
            text.push_str(
                "\nFrom the record: the commands, the findings of the built-in rules at the time, and their \
                 context.\nEvaluated again: your pattern files and lists on the recorded text, thresholds, weights, \
                 trust and grants.\nNot simulated: prompt limits and the stop after denials.\n",
            );
        }
        let mut note = |count: u64, one: &str, many: &str| {
            if count > 0 {
                text.push_str(&format!("{}.\n", counted(count, one, many)));
            }
        };
        note(
            self.hidden,
            "command has hidden parts, which the rules cannot see",
            "commands have hidden parts, which the rules cannot see",
        );
        note(
            self.gone,
            "command ran in a directory that no longer exists; no files were looked at",
            "commands ran in directories that no longer exist; no files were looked at",
        );
        note(self.unreadable, "row has too little data to decide again", "rows have too little data to decide again");
    }
}
