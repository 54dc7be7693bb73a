//! `guard reviewer stats`: how often the reviewer was asked, how many questions it settled, how often people disagreed,
//! and its cost.
//!
//! Out of scope: rating these figures.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use clap::Args;
use jiff::Zoned;
use serde::Serialize;

use super::examples::{disagrees, reviewed};
use crate::app::engine::Engine;
use crate::app::failure::Failure;
use crate::app::{exit, screen, time};
use crate::judge::review::OpinionVerdict;
use crate::judge::sort;
use crate::store::{Entry, is_probe};
use crate::ui::visible;

/// The arguments of `guard reviewer stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Only rows since this time: 2h, 3d, today, 2026-11-21
    #[arg(long, value_name = "TIME", default_value = "30d")]
    since: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The counts of a set of opinions.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Tally {
    asked: u64,
    approve: u64,
    deny: u64,
    escalate: u64,
    /// The number of opinions without a verdict.
    nothing: u64,
    /// The number of commands that the reviewer settled without a person: run, or refused.
    ran: u64,
    refused: u64,
    /// The number of commands that ran because of a rule's `yolo`.
    yolo: u64,
    /// The number of commands about which a person decided like the reviewer, or differently.
    agreed: u64,
    disagreed: u64,
    /// The number of commands that the reviewer let run and a person later refused.
    wrong: u64,
    tokens: u64,
    /// The cost in millionths of the currency.
    cost: u64,
}

#[derive(Debug, Default, Serialize)]
struct StatsReport {
    all: Tally,
    median_ms: Option<u64>,
    rules: BTreeMap<String, Tally>,
    models: BTreeMap<String, Tally>,
    weeks: BTreeMap<String, Tally>,
    /// The reasons for a missing verdict, with counts.
    failures: BTreeMap<String, u64>,
    /// The rows that the reviewer let run and a person later refused.
    wrong: Vec<i64>,
}

/// Prints the figures.
///
/// # Errors
/// The record cannot be read, or the time is invalid.
pub fn run(args: &StatsArgs) -> Result<u8, Failure> {
    let now = Zoned::now();
    let since = time::past(&args.since, &now).map_err(|why| Failure::Message(format!("--since: {why}")))?;
    let engine = Engine::open()?;
    let entries = engine.existing()?.map(|store| reviewed(&store, Some(since))).transpose()?.unwrap_or_default();
    let report = count(&entries, &now);
    let text = if args.json {
        format!("{}\n", serde_json::to_string(&report).map_err(io::Error::from)?)
    } else {
        screen::fitted(&words(&report, &time::format(since, now.time_zone())))
    };
    Ok(exit::after(io::stdout().write_all(text.as_bytes()), exit::ALLOW)?)
}

fn count(entries: &[Entry], now: &Zoned) -> StatsReport {
    let mut report = StatsReport::default();
    let mut times = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let Some(opinion) = entry.review.as_ref().filter(|_| !is_probe(&entry.findings)) else { continue };
        let by_reviewer = entry.settled_by.as_deref() == Some("reviewer");
        let ran = by_reviewer && entry.decision.as_deref() == Some("allow");
        let refused_later = |later: &Entry| {
            let of_person = (later.decision.as_deref(), later.settled_by.as_deref()) == (Some("deny"), Some("person"));
            of_person && later.command == entry.command
        };
        let wrong = ran && entries.iter().skip(at + 1).any(refused_later);
        if wrong {
            report.wrong.push(entry.id);
        }
        if opinion.says == OpinionVerdict::Nothing {
            *report.failures.entry(opinion.reason.clone()).or_default() += 1;
        } else {
            times.push(opinion.ms);
        }
        let worst = entry.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
        let rule = worst.map_or("none", |finding| finding.rule.as_str()).to_owned();
        let week = entry.time.to_zoned(now.time_zone().clone()).date().iso_week_date();
        let week = format!("{}-W{:02}", week.year(), week.week());
        let StatsReport { all, rules, models, weeks, .. } = &mut report;
        let model = models.entry(opinion.by.clone()).or_default();
        for tally in [all, rules.entry(rule).or_default(), model, weeks.entry(week).or_default()] {
            tally.asked += 1;
            match opinion.says {
                OpinionVerdict::Approve => tally.approve += 1,
                OpinionVerdict::Deny => tally.deny += 1,
                OpinionVerdict::Escalate => tally.escalate += 1,
                OpinionVerdict::Nothing => tally.nothing += 1,
            }
            tally.ran += u64::from(ran);
            tally.refused += u64::from(by_reviewer && !ran);
            tally.yolo += u64::from(ran && !opinion.yolo.is_empty());
            tally.wrong += u64::from(wrong);
            match disagrees(entry) {
                Some(true) => tally.disagreed += 1,
                Some(false) => tally.agreed += 1,
                None => {}
            }
            tally.tokens += opinion.tokens;
            tally.cost += opinion.cost;
        }
    }
    sort::sort(&mut times);
    report.median_ms = times.get(times.len() / 2).copied();
    report
}

/// Formats millionths as a decimal number.
pub(super) fn money(cost: u64) -> String {
    format!("{}.{:04}", cost / 1_000_000, cost % 1_000_000 / 100)
}

fn words(report: &StatsReport, since: &str) -> String {
    let all = &report.all;
    if all.asked == 0 {
        return format!("The reviewer was not asked since {since}.\n");
    }
    let mut text = format!(
        "Since {since} the reviewer was asked {} times: {} approved, {} denied, {} passed to a person, {} without an \
         opinion.\nIt avoided {} prompts ({} ran, {} refused",
        all.asked,
        all.approve,
        all.deny,
        all.escalate,
        all.nothing,
        all.ran + all.refused,
        all.ran,
        all.refused
    );
    let yolo = if all.yolo > 0 { format!("; {} by a rule's yolo", all.yolo) } else { String::new() };
    text.push_str(&format!(
        "{yolo}). Of the people who also answered, {} agreed and {} disagreed.\n",
        all.agreed, all.disagreed
    ));
    text.push_str(&format!("Approved by it and denied by a person later: {}.\n", all.wrong));
    if let Some(median) = report.median_ms {
        text.push_str(&format!(
            "Median response time: {median} ms; {} tokens, cost {}.\n",
            all.tokens,
            money(all.cost)
        ));
    }
    for (title, tallies) in [("By rule", &report.rules), ("By model", &report.models), ("By week", &report.weeks)] {
        text.push_str(&format!("\n{title}\n"));
        let wide = tallies.keys().map(String::len).max().unwrap_or(0);
        for (name, one) in tallies {
            let away = one.ran + one.refused;
            text.push_str(&format!(
                "  {:wide$}  {} asked, {away} avoided, {} disagreed, {} wrong, cost {}\n",
                visible::text(name),
                one.asked,
                one.disagreed,
                one.wrong,
                money(one.cost)
            ));
        }
    }
    if !report.failures.is_empty() {
        text.push_str("\nWithout an opinion\n");
        for (why, times) in &report.failures {
            text.push_str(&format!("  {times}  {}\n", visible::text(why)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_model_and_week_has_its_own_figures_and_cost() {
        let one = |ran, wrong, cost| Tally { asked: 3, ran, refused: 1, disagreed: 2, wrong, cost, ..Tally::default() };
        let mut report = StatsReport { all: one(1, 0, 7_000_000), ..StatsReport::default() };
        report.rules.insert("git.push".to_owned(), one(1, 1, 2_500_000));
        report.models.insert("mill".to_owned(), one(0, 0, 12_300));
        let text = words(&report, "today");
        for line in [
            "  git.push  3 asked, 2 avoided, 2 disagreed, 1 wrong, cost 2.5000\n",
            "  mill  3 asked, 1 avoided, 2 disagreed, 0 wrong, cost 0.0123\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }
}
