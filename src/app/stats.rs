//! `guard stats`: counts how often guard asks, how it is answered, and how fast.

use std::io::{self, Write as _};

use clap::Args;
use jiff::Zoned;

use super::failure::Failure;
use super::{engine, exit, screen, time};
use crate::judge::sort;
use crate::store::{Stats, Store};
use crate::ui::count::counted;
use crate::ui::visible;

/// The arguments of `guard stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Only rows since this time: 2h, 3d, today, 2026-11-21
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The largest number of rules and agents that are listed.
const MOST: usize = 10;

/// Shows the figures.
///
/// # Errors
/// The record cannot be read, or the time is invalid.
pub fn run(args: &StatsArgs) -> Result<u8, Failure> {
    let now = Zoned::now();
    let since = time::past(&args.since, &now).map_err(|why| Failure::Message(format!("--since: {why}")))?;
    let store = Store::open_existing(&engine::paths()?)?;
    let stats = store.map_or_else(|| Ok(Stats::default()), |store| store.stats(since, now.time_zone()))?;
    let text = if args.json {
        format!("{}\n", serde_json::to_string(&stats).map_err(io::Error::from)?)
    } else {
        screen::fitted(&words(&stats, &format!("Since {}", time::format(since, now.time_zone()))))
    };
    Ok(exit::after(io::stdout().write_all(text.as_bytes()), exit::ALLOW)?)
}

/// Formats the figures for a person.
fn words(stats: &Stats, since: &str) -> String {
    let mut text = format!(
        "{since}: {} commands. {} ran without asking, {} were asked about, {} were refused without asking.\n",
        stats.commands, stats.unasked, stats.asked, stats.refused
    );
    if stats.handed_on > 0 {
        text.push_str(&format!("{} were passed to an agent's own prompt.\n", stats.handed_on));
    }
    if stats.unjudged > 0 {
        text.push_str(&format!(
            "{} refused without being judged (guard log --search unjudged).\n",
            counted(stats.unjudged, "call of an agent was", "calls of agents were")
        ));
    }
    if stats.attempts > 0 {
        text.push_str(&format!(
            "{} answers were rejected because of where they came from (guard log --search attempt).\n",
            stats.attempts
        ));
    }
    if stats.asked == 0 {
        return text;
    }
    text.push_str(&format!(
        "Answers: {} allowed, {} denied, {} unanswered.\n",
        stats.allowed, stats.denied, stats.unanswered
    ));
    if let (Some(median), Some(ninetieth)) = (stats.median_ms, stats.ninetieth_ms) {
        let (median, ninetieth) = (time::length(median), time::length(ninetieth));
        text.push_str(&format!("Time to answer: median {median}, 90th percentile {ninetieth}.\n"));
    }
    if let Some(share) = (stats.hasty * 100).checked_div(stats.at_terminal) {
        let (hasty, all) = (stats.hasty, stats.at_terminal);
        let sign = if share >= 50 && all >= 10 {
            ": too fast to have been read; grants may reduce the prompts, see guard allow"
        } else {
            ""
        };
        text.push_str(&format!("Allowed in under two seconds: {hasty} of {all} at a terminal ({share} %){sign}.\n"));
    }
    let mut list = |title: &str, all: Vec<(String, String)>| {
        let wide = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        text.push_str(&format!("\n{title}\n"));
        for (name, value) in all {
            text.push_str(&format!("  {:wide$}  {value}\n", visible::text(&name)));
        }
    };
    list("Prompts by day", stats.days.iter().map(|(day, count)| (day.clone(), count.to_string())).collect());
    let mut rules: Vec<_> = stats.rules.iter().collect();
    sort::sort_by_key(&mut rules, |(_, (count, _))| std::cmp::Reverse(*count));
    let rule = |(rule, (count, allowed)): (&String, &(u64, u64))| (rule.clone(), format!("{count}, {allowed} allowed"));
    list("Prompts by rule", rules.into_iter().take(MOST).map(rule).collect());
    let mut agents: Vec<_> = stats.agents.iter().collect();
    sort::sort_by_key(&mut agents, |(_, count)| std::cmp::Reverse(**count));
    list(
        "Prompts by requester",
        agents.into_iter().take(MOST).map(|(name, count)| (name.clone(), count.to_string())).collect(),
    );
    text
}
