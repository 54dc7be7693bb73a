//! `guard log day`: describes a day in plain sentences, by session: what ran, who approved it, what was refused.
//!
//! Commands of tier 0 or 1 that ran without a prompt are only counted.

use std::io::Write as _;

use clap::Args;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::super::{engine, exit, time};
use crate::app::failure::Failure;
use crate::app::pager::Output;
use crate::app::screen::WrappedOutput;
use crate::judge::risk::Tier;
use crate::store::{Entry, Filter, RowKind, Store, StoreError, is_probe};
use crate::ui::visible;

/// The arguments of `guard log day`.
#[derive(Debug, Args)]
pub(super) struct DayArgs {
    /// The day: today, yesterday, 2026-11-21
    #[arg(default_value = "today")]
    day: String,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
}

/// The description of one session.
#[derive(Default)]
struct Chapter {
    session: String,
    agent: Option<String>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    commands: usize,
    /// The number of commands of tier 0 or 1 that ran without a prompt.
    plain: usize,
    sentences: Vec<String>,
}

/// Prints the description of a day.
pub(super) fn run(args: &DayArgs, now: &Zoned) -> Result<u8, Failure> {
    let wrong = |why: String| Failure::Message(why);
    let at = time::past(&args.day, now).map_err(|why| wrong(why.to_string()))?;
    let zone = now.time_zone();
    let date = at.to_zoned(zone.clone()).date();
    let midnight = |date: Date| date.to_zoned(zone.clone()).map(|day| day.timestamp());
    let (since, until) = date
        .tomorrow()
        .and_then(|next| Ok((midnight(date)?, midnight(next)?)))
        .map_err(|error| wrong(error.to_string()))?;
    let store = Store::open_existing(&engine::paths()?)?;
    let mut chapters: Vec<Chapter> = Vec::new();
    let mut others = Vec::new();
    if let Some(store) = &store {
        let filter = Filter { since: Some(since), until: Some(until), ..Filter::default() };
        for id in store.find(&filter)? {
            match store.entry(id) {
                Ok(entry) => take(&entry, &mut chapters, &mut others, zone),
                Err(StoreError::Pruned { .. }) => {}
                Err(error @ (StoreError::NoSuchRow { .. } | StoreError::Unreadable { .. })) => {
                    others.push(format!("Cannot show row {id}: {error}."));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    let mut out = WrappedOutput::over(Output::new(!args.no_pager), true);
    let commands: usize = chapters.iter().map(|chapter| chapter.commands).sum();
    let plural = |count: usize, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    writeln!(
        out,
        "{}: {} in {}.",
        date.strftime("%A %Y-%m-%d"),
        plural(commands, "command"),
        plural(chapters.len(), "session")
    )?;
    for chapter in &chapters {
        let clock = |time: Option<Timestamp>| time.map_or_else(String::new, |time| clock(time, zone));
        let name = super::in_words(&chapter.session, chapter.agent.as_deref());
        let (first, last) = (clock(chapter.first), clock(chapter.last));
        let plain = match chapter.plain {
            0 => String::new(),
            all if all == chapter.commands => ", with no finding".to_owned(),
            some => format!(", {some} of them with no finding"),
        };
        let commands = plural(chapter.commands, "command");
        let head = format!("Session {name}, {first} to {last}: {commands}{plain}.");
        writeln!(out, "\n{}", visible::text(&head))?;
        for sentence in &chapter.sentences {
            writeln!(out, "  {}", visible::text(sentence))?;
        }
    }
    if !others.is_empty() {
        writeln!(out)?;
    }
    for sentence in others {
        writeln!(out, "{}", visible::text(&sentence))?;
    }
    if let Some(head) = store.map_or(Ok(None), |store| store.head())? {
        writeln!(
            out,
            "\nCurrent head of the record: {}:{} (guard verify --head checks that no row up to it is missing).",
            head.row, head.link
        )?;
    }
    Ok(exit::after(out.flush(), exit::ALLOW)?)
}

fn clock(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime("%H:%M").to_string()
}

/// Adds a row to the description.
fn take(entry: &Entry, chapters: &mut Vec<Chapter>, others: &mut Vec<String>, zone: &TimeZone) {
    let at = clock(entry.time, zone);
    let user = entry.user.as_deref().unwrap_or("somebody");
    let words = entry.words.as_deref().unwrap_or_default();
    let about = entry.about.unwrap_or_default();
    match entry.kind {
        RowKind::Intent | RowKind::Advised => {}
        // The row of the command itself contains the answer and the result.
        RowKind::Answered | RowKind::Result | RowKind::Taken => return,
        RowKind::Grant => return others.push(format!("{at} {user} added a grant: {words}.")),
        RowKind::Revoked => return others.push(format!("{at} {user} revoked grant {about}.")),
        RowKind::Resumed => {
            let session = entry.session.as_deref().unwrap_or_default();
            return others.push(format!("{at} {user} resumed session {session}: {words}."));
        }
        RowKind::Pruned => return others.push(format!("{at} Rows up to {about} were pruned.")),
    }
    let session = entry.session.as_deref().unwrap_or_default();
    let place = chapters.iter().position(|chapter| chapter.session == session).unwrap_or_else(|| {
        let chapter = Chapter { session: session.to_owned(), agent: entry.agent.clone(), ..Chapter::default() };
        chapters.push(chapter);
        chapters.len() - 1
    });
    let Some(chapter) = chapters.get_mut(place) else { return };
    chapter.commands += 1;
    chapter.first = chapter.first.or(Some(entry.time));
    chapter.last = Some(entry.time);
    match sentence(entry) {
        Some(sentence) => chapter.sentences.push(format!("{at} {sentence}")),
        None => chapter.plain += 1,
    }
}

/// Describes a row in one sentence. Returns `None` for a command of tier 0 or 1 that ran without a prompt.
fn sentence(entry: &Entry) -> Option<String> {
    let command = format!("`{}`", entry.command.as_deref().unwrap_or_default());
    let user = entry.user.as_deref().unwrap_or("somebody");
    let tier = entry.tier.map_or(String::new(), |tier| format!(" (tier {})", tier.number()));
    let words = entry.words.as_deref().filter(|words| !words.is_empty());
    let after = entry.answer_ms.map_or(String::new(), |ms| format!(" after {}", time::length(ms)));
    let colon = words.map_or(String::new(), |words| format!(": {words}"));
    let end = entry.result.as_ref().and_then(|result| match (result.signal, result.exit) {
        (Some(signal), _) => Some(format!("; it was killed by signal {signal}")),
        (None, Some(code)) if code != 0 => Some(format!("; exit code {code}")),
        _ => None,
    });
    let end = end.unwrap_or_default();
    let settled = entry.settled_by.as_deref().unwrap_or_default();
    if is_probe(&entry.findings) {
        return Some(format!("guard doctor tested {command}{end}."));
    }
    Some(match (entry.decision.as_deref(), settled) {
        (Some("allow"), "person") => match words {
            Some(words) => format!("{command}{tier} ran ({words}{after}){end}."),
            None => format!("{user} allowed {command}{tier}{after}{end}."),
        },
        (Some("allow"), "yes") => format!("{user} allowed {command}{tier} in advance{end}."),
        (Some("allow"), "grant") => {
            format!("{command}{tier} ran under grant {}{end}.", entry.grant.as_deref().unwrap_or_default())
        }
        (Some("allow"), _) if entry.tier.is_none_or(|tier| tier <= Tier::Low) => return None,
        (Some("allow"), _) => format!("{command}{tier} ran without asking{end}."),
        (Some("deny"), "person") => format!("A person denied {command}{tier}{after}{colon}."),
        (Some("deny"), "timeout") => format!("{command}{tier} did not run: nobody answered."),
        (Some("deny"), "rule") => format!("Rule {} denied {command}{tier}.", words.unwrap_or("of the policy")),
        (Some("deny"), "attempt") => {
            format!("An answer from a place that may not answer was rejected: {command}{colon}.")
        }
        (Some("deny"), "unjudged") => format!("A call of an agent was refused without judging it{colon}."),
        (Some("deny"), "no-one-to-ask") => {
            format!("{command}{tier} was refused because nobody could be asked{colon}.")
        }
        (Some("deny"), "rate-limit") => format!("{command}{tier} was refused without asking: too many prompts."),
        (Some("deny"), "breaker") => format!("{command}{tier} was refused without asking: too many denials in a row."),
        (Some("deny"), "changed") => {
            format!("{command}{tier} was approved but did not run, because it changed{colon}.")
        }
        (Some("deny"), "unsigned") => format!("{command}{tier} was refused because no approver signed{colon}."),
        (Some("deny"), kind) => format!("{command}{tier} was refused ({kind}{colon})."),
        _ => format!("{command}{tier} was passed to the agent's own prompt."),
    })
}
