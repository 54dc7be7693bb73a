//! `guard pending`: the commands that wait for an answer.
//!
//! Out of scope: answering. Commands are redacted here; an approver sees them in full on the card.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::Args;
use jiff::{Timestamp, Zoned};

use super::failure::{Failure, unless_unread};
use super::{engine, exit, screen};
use crate::judge::sort;
use crate::store::queue::{Pending, RequestState};
use crate::ui::pending::{approvals, cut};
use crate::ui::style::{self, Line, Look, Style};
use crate::ui::visible;
use crate::ui::wrap::prose;
use crate::world::identity::Caller;

/// The arguments of `guard pending`.
#[derive(Debug, Args)]
pub struct PendingArgs {
    /// Include requests that were answered in the last seven days
    #[arg(long)]
    all: bool,
    /// Redraw the list whenever it changes, until interrupted
    #[arg(long)]
    watch: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Groups waiting requests of the same command by the same caller. Returns the request shown for each group and its
/// size.
pub(super) fn collapsed(all: &[Pending]) -> Vec<(&Pending, usize)> {
    let mut shown: Vec<(&Pending, usize)> = Vec::new();
    for pending in all {
        let twin = shown
            .iter_mut()
            .find(|(first, _)| first.is_same(pending) && first.root == pending.root && first.state == pending.state);
        match twin {
            Some((_, count)) if pending.state == RequestState::Waiting => *count += 1,
            _ => shown.push((pending, 1)),
        }
    }
    shown
}

/// Shows the waiting requests.
///
/// # Errors
/// The queue cannot be read, or standard output cannot be written.
pub fn run(args: &PendingArgs) -> Result<u8, Failure> {
    unless_unread(show(args))
}

fn show(args: &PendingArgs) -> Result<u8, Failure> {
    let mut requests = engine::requests()?;
    let terminal = io::stdout().is_terminal();
    let look = Look::from_environment(|name| std::env::var(name).ok(), terminal);
    let mut before = None;
    loop {
        let now = Zoned::now();
        if requests.is_none() {
            requests = engine::requests()?;
        }
        let mut all = match &requests {
            Some(queue) => queue.list(now.timestamp())?,
            None => Vec::new(),
        };
        open_first(&mut all, now.timestamp());
        all.retain(|pending| {
            args.all || matches!(pending.state, RequestState::Waiting | RequestState::Late | RequestState::Approved)
        });
        let columns = screen::width();
        let text = if args.json { json(&all)? } else { style::render(&table(&all, &now, columns, look.ascii), &look) };
        if before.as_ref() != Some(&text) {
            let mut out = io::stdout().lock();
            if args.watch && terminal && !args.json && !look.dumb {
                out.write_all(b"\x1b[H\x1b[2J")?;
            }
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
        if !args.watch {
            return Ok(exit::ALLOW);
        }
        before = Some(text);
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn json(all: &[Pending]) -> io::Result<String> {
    let mut text = String::new();
    for pending in all {
        let mut value = serde_json::to_value(pending).map_err(io::Error::from)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("waited_for".to_owned(), is_waited_for(pending).into());
            object.insert("short_digest".to_owned(), pending.short_digest().into());
        }
        text.push_str(&value.to_string());
        text.push('\n');
    }
    Ok(text)
}

/// Reports whether the requesting process still waits for the answer.
pub(super) fn is_waited_for(pending: &Pending) -> bool {
    pending.state == RequestState::Waiting && pending.waiter.as_deref().is_some_and(Caller::lives)
}

/// Reports whether the requesting process exited or gave up before its time was over and before anybody answered.
fn is_abandoned(pending: &Pending, now: Timestamp) -> bool {
    // A guard whose time is over removes its process from the request.
    let has_ended = pending.waiter.as_deref().is_some_and(|waiter| !Caller::lives(waiter));
    let gave_up = pending.state == RequestState::Late && pending.expires.duration_since(now).as_secs() > 0;
    pending.state.is_open() && (has_ended || gave_up)
}

/// Reports whether an answer is still awaited: the process waits, or the request was filed without waiting. A request
/// that timed out can be approved late, but nothing waits for it.
pub(super) fn is_open(pending: &Pending, now: Timestamp) -> bool {
    let left = pending.expires.duration_since(now).as_secs();
    pending.state == RequestState::Waiting && (pending.waiter.is_none() || (left > 0 && is_waited_for(pending)))
}

/// Sorts requests that still wait before the others, otherwise in the order of the queue.
pub(super) fn open_first(all: &mut [Pending], now: Timestamp) {
    sort::sort_by_key(all, |pending| !is_open(pending, now));
}

/// With fewer columns than this, the command is on a line below its details.
const NARROW: usize = 64;

fn table(all: &[Pending], now: &Zoned, columns: Option<usize>, ascii: bool) -> Vec<Line> {
    let shown = collapsed(all);
    if shown.is_empty() {
        return vec![Line::of(Style::Plain, "No requests are waiting.")];
    }
    // In a narrow terminal the command has a line of its own.
    let narrow = columns.is_some_and(|columns| columns < NARROW);
    let head = format!("{:8}  {:>4}  {:10}  {:10}", "REQUEST", "TIER", "STATE", "BY");
    let head = if narrow { head.trim_end().to_owned() } else { head + "  COMMAND" };
    let mut lines = vec![Line::of(Style::Dim, head)];
    for (pending, count) in shown {
        let mut waits = waits(pending, now.timestamp());
        if waits.ends_with(" s") {
            waits.push_str(" left");
        }
        let by = visible::line(pending.agent.as_deref().unwrap_or(&pending.origin).as_bytes(), ascii);
        let mut line = Line::of(Style::Strong, format!("{:8}  ", pending.id))
            .with(Style::Tier(pending.tier), format!("{:>4}  ", pending.tier.number()))
            .with(Style::Plain, format!("{waits:10}  {by:10}  "));
        let mut command = visible::line(pending.command.as_bytes(), ascii).to_string();
        if count > 1 {
            command = format!("{count} times: {command}");
        }
        if narrow {
            let by = cut(&by, 10);
            let short = Line::of(Style::Strong, format!("{:8}  ", pending.id))
                .with(Style::Tier(pending.tier), format!("{:>4}  ", pending.tier.number()))
                .with(Style::Plain, format!("{waits:10}  {by}"));
            lines.push(short);
            line = Line::of(Style::Plain, "          ");
        }
        if let Some(columns) = columns {
            command = cut(&command, columns.saturating_sub(line.width()).max(12));
        }
        line.push(Style::Plain, command);
        lines.push(line);
        let mut detail = format!("in {}", pending.cwd);
        if let Some(so_far) = approvals(pending.approvals, &pending.approved_by) {
            detail = format!("{so_far}; {detail}");
        }
        if pending.state.is_open() {
            detail.push_str(&format!("; digest {}", pending.short_digest()));
        }
        if is_abandoned(pending, now.timestamp()) {
            detail.push_str("; the requester no longer waits");
        }
        if !pending.why.is_empty() {
            detail.push_str(&format!("; {}", pending.why));
        }
        if let (Some(by), Some(words)) = (&pending.decided_by, &pending.words) {
            detail.push_str(&format!("; {by}: {words}"));
        }
        let detail = visible::line(detail.as_bytes(), ascii).to_string();
        match columns {
            // In one line, there would be room for little more than the directory.
            Some(columns) if narrow => {
                let room = columns.saturating_sub(10).max(12);
                let rows = prose(&detail, room).into_iter().map(|row| cut(&row, room));
                lines.extend(rows.map(|row| Line::of(Style::Dim, format!("          {row}"))));
            }
            Some(columns) => {
                let detail = cut(&detail, columns.saturating_sub(10));
                lines.push(Line::of(Style::Dim, format!("          {detail}")));
            }
            None => lines.push(Line::of(Style::Dim, format!("          {detail}"))),
        }
    }
    lines
}

/// Returns how long the request still waits, or its outcome.
pub(super) fn waits(pending: &Pending, now: Timestamp) -> String {
    let left = pending.expires.duration_since(now).as_secs();
    match pending.state {
        RequestState::Waiting if pending.waiter.is_none() => "filed".to_owned(),
        RequestState::Waiting if left > 0 && is_waited_for(pending) => format!("{left} s"),
        RequestState::Waiting | RequestState::Late if is_abandoned(pending, now) => "gone".to_owned(),
        RequestState::Waiting | RequestState::Late => "timed out".to_owned(),
        other => other.name().to_owned(),
    }
}
