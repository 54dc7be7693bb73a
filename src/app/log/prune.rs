//! `guard log prune`: deletes the oldest rows of the record, and records that.
//!
//! Rows that the policy's limits allow to delete can be deleted from anywhere, for example by a nightly job. Only a
//! person at their own terminal can choose another age, because pruned rows are lost and could be evidence against
//! whoever deletes them.

use std::io::{self, Write};

use clap::Args;
use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::app::engine::Engine;
use crate::app::failure::Failure;
use crate::app::time::TimeError;
use crate::app::{exit, time};
use crate::config::keys::Key;
use crate::prompt::confirm::confirm;
use crate::store::{Limit, PruneReason, Pruned};

#[derive(Debug, Args)]
pub(super) struct PruneArgs {
    /// Delete rows older than this, instead of using retention_days and retention_mib: 30d, 2026-11-21
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,
    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The smallest age that can be chosen, in seconds: rows of the last 24 hours are always kept.
const LEAST: i64 = 24 * 60 * 60;

pub(super) fn run(args: &PruneArgs, now: &Zoned) -> Result<u8, Failure> {
    let engine = Engine::open().map_err(|error| Failure::Message(error.to_string()))?;
    let limit = limit(args, &engine, now).map_err(|error| Failure::Message(error.to_string()))?;
    let Some(store) = engine.existing()? else { return tell(args, None, 0, now) };
    if args.dry_run {
        let would = match (store.would_prune(&limit, now.timestamp())?, limit.why) {
            (None, PruneReason::Retention { .. }) => {
                match store.oversize(engine.policy().retention_mib, now.timestamp())? {
                    Some(limit) => store.would_prune(&limit, now.timestamp())?,
                    None => None,
                }
            }
            (would, _) => would,
        };
        return tell(args, would.as_ref(), 0, now);
    }
    let user = &engine.caller.account.name;
    let pruned = match limit.why {
        PruneReason::Retention { days } => {
            let old = store.prune_by_policy(days, user, now.timestamp())?;
            match store.oversize(engine.policy().retention_mib, now.timestamp())? {
                Some(limit) => store.prune(&limit, user, now.timestamp()).map(|large| large.or(old)),
                None => Ok(old),
            }
        }
        PruneReason::Size { .. } => Ok(None),
        PruneReason::Person => {
            if engine.caller.origin.is_guarded() || !engine.caller.terminal.is_person_here() {
                return refuse(
                    "only a person at their own terminal, not a guarded session, can use --older-than; without it, \
                     rows older than retention_days are deleted",
                );
            }
            let Some(would) = store.would_prune(&limit, now.timestamp())? else { return tell(args, None, 0, now) };
            let shown = format!("{} would be deleted permanently.\n", capital(&extent(&would, now.time_zone())));
            if !confirm(&shown, "Delete them?")? {
                return refuse("not deleted");
            }
            store.prune(&limit, user, now.timestamp())
        }
    }?;
    // The rows are deleted even if the file cannot be made smaller.
    let room = if pruned.is_some() { store.compact().unwrap_or(0) } else { 0 };
    tell(args, pruned.as_ref(), room, now)
}

/// The reason why rows of this age may not be deleted.
#[derive(Debug, thiserror::Error)]
enum LimitError {
    #[error("--older-than: {0}")]
    Time(#[from] TimeError),
    #[error("--older-than {text}: this machine keeps rows for {days} days (retention_days)")]
    Locked { text: String, days: u32 },
    #[error("--older-than {0}: rows of the last 24 hours are always kept")]
    Recent(String),
}

fn limit(args: &PruneArgs, engine: &Engine, now: &Zoned) -> Result<Limit, LimitError> {
    let days = engine.policy().retention_days;
    let kept = Limit::retention(days, now.timestamp());
    let Some(text) = &args.older_than else { return Ok(kept) };
    let before = time::past(text, now)?;
    if before > kept.before && engine.config().is_locked(Key::RetentionDays) {
        return Err(LimitError::Locked { text: text.clone(), days });
    }
    if now.timestamp().as_second() - before.as_second() < LEAST {
        return Err(LimitError::Recent(text.clone()));
    }
    Ok(Limit { before, why: PruneReason::Person })
}

fn tell(args: &PruneArgs, pruned: Option<&Pruned>, room: u64, now: &Zoned) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    match (args.json, pruned) {
        (true, _) => {
            let done = !args.dry_run && pruned.is_some();
            let object = serde_json::json!({ "done": done, "pruned": pruned, "bytes_given_back": room });
            writeln!(out, "{object}")?;
        }
        (false, None) => writeln!(out, "No rows are old enough to delete.")?,
        (false, Some(pruned)) => {
            let verb = if args.dry_run { "Would prune" } else { "Pruned" };
            writeln!(out, "{verb} {}.", extent(pruned, now.time_zone()))?;
            if !pruned.carried.is_empty() {
                let numbers: Vec<String> = pruned.carried.iter().map(ToString::to_string).collect();
                writeln!(out, "Kept active grants: {}.", numbers.join(", "))?;
            }
            if room > 0 {
                writeln!(out, "Freed {} KiB.", room / 1024)?;
            }
        }
    }
    Ok(exit::ALLOW)
}

/// Describes the deleted rows and the reason, as part of a sentence.
pub(in crate::app) fn extent(pruned: &Pruned, zone: &TimeZone) -> String {
    let shown = |time| time::format(time, zone);
    let rows = match pruned.rows() {
        1 => format!("row {}, of {}", pruned.last, shown(pruned.to)),
        count => format!(
            "rows {} to {} ({count} rows, {} to {})",
            pruned.first,
            pruned.last,
            shown(pruned.from),
            shown(pruned.to)
        ),
    };
    match pruned.why {
        PruneReason::Retention { days: 1 } => format!("{rows}: older than a day"),
        PruneReason::Retention { days } => format!("{rows}: older than {days} days"),
        PruneReason::Size { mib } => format!("{rows}: the record exceeded {mib} MiB"),
        PruneReason::Person => format!("{rows}: older than {}, by request", shown(pruned.before)),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn refuse(why: &str) -> Result<u8, Failure> {
    writeln!(io::stderr(), "guard: refused: {why}")?;
    Ok(exit::REFUSED)
}
