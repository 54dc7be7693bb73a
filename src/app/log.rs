//! `guard log`: shows decisions, who made them, and the results of the commands.
//!
//! Out of scope: writing to the record (except `guard log prune`), and reading it other than through `store`.

use std::io::{self, IsTerminal, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Zoned;

use self::filters::{Filters, row};
use super::failure::{Failure, unless_unread};
use super::pager::Output;
use super::{engine, exit, screen};
use crate::store::{Entry, Filter, Store, StoreError};
use crate::ui::count::counted;
use crate::ui::style::{Line, Look, Style};

mod day;
mod filters;
pub(super) mod prune;
pub(super) mod table;

/// The arguments of `guard log`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,
    #[command(flatten)]
    filters: Filters,
}

#[derive(Debug, Subcommand)]
enum LogCommand {
    /// Show everything recorded about one command
    Show {
        /// The number of the row, as `guard log` lists it (default: the newest)
        #[arg(value_parser = row)]
        id: Option<i64>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        /// Do not use a pager
        #[arg(long)]
        no_pager: bool,
    },
    /// Describe a day in sentences, by session: what ran, who approved it, what was refused
    Day(day::DayArgs),
    /// Delete rows older than retention_days or beyond retention_mib; guard verify can still check the rest
    Prune(prune::PruneArgs),
}

/// Shows the record, and returns the exit code.
///
/// # Errors
/// The record cannot be read, an argument is invalid, or standard output cannot be written.
pub fn run(args: &LogArgs) -> Result<u8, Failure> {
    unless_unread(look_up(args))
}

/// Shows this many of the newest rows, without a pager.
///
/// # Errors
/// The record cannot be read, or standard output cannot be written.
pub(super) fn newest(count: u32) -> Result<u8, Failure> {
    let number = count.to_string();
    let command = LogArgs::augment_args(clap::Command::new("log"));
    let matches = command.try_get_matches_from(["log", "--no-pager", "-n", &number]);
    let args = matches.and_then(|matches| <LogArgs as clap::FromArgMatches>::from_arg_matches(&matches));
    run(&args.map_err(|error| Failure::Message(error.to_string()))?)
}

fn look_up(args: &LogArgs) -> Result<u8, Failure> {
    let now = Zoned::now();
    if let Some(LogCommand::Prune(args)) = &args.command {
        return prune::run(args, &now);
    }
    if let Some(LogCommand::Day(args)) = &args.command {
        return day::run(args, &now);
    }
    let store = Store::open_existing(&engine::paths()?)?;
    match (&args.command, store) {
        (Some(LogCommand::Show { id, json, no_pager }), Some(store)) => {
            let newest = || Ok(store.find(&Filter { limit: Some(1), ..Filter::default() })?.pop());
            let id = id.map_or_else(newest, |id| Ok::<_, Failure>(Some(id)))?;
            show(&store.entry(id.unwrap_or(1))?, *json, !no_pager, &now)
        }
        (Some(LogCommand::Show { id, .. }), None) => {
            Err(StoreError::NoSuchRow { row: id.unwrap_or(1), newest: None }.into())
        }
        (_, store) => {
            let shown = list(&args.filters, store.as_ref(), &now)?;
            drop(store);
            if args.filters.follow { follow(&args.filters, shown, &now) } else { Ok(exit::ALLOW) }
        }
    }
}

/// The interval between two searches for new rows.
const PACE: Duration = Duration::from_millis(250);

/// Shows rows after this one as they are written. Opens the record for each search: keeping it open slows down all
/// writers.
fn follow(filters: &Filters, mut shown: i64, now: &Zoned) -> Result<u8, Failure> {
    let paths = engine::paths()?;
    let terminal = io::stdout().is_terminal();
    let look = Look::from_environment(|name| std::env::var(name).ok(), terminal);
    loop {
        std::thread::sleep(PACE);
        let Some(store) = Store::open_existing(&paths)? else { continue };
        let newest = store.head()?.map_or(0, |head| head.row);
        if newest <= shown {
            continue;
        }
        let found = store.find(&Filter { after: Some(shown), limit: None, ..filters.search(now)? })?;
        // Rows written in between are among those that were found.
        shown = newest.max(found.last().copied().unwrap_or(0));
        let columns = screen::width();
        let layout = table::Layout::new(newest, columns, look.ascii, &Zoned::now());
        let mut out = io::stdout().lock();
        for id in found {
            match store.entry(id) {
                Ok(entry) if filters.json => json(&mut out, &entry)?,
                Ok(entry) => print(&mut out, &layout.row(&entry), &look)?,
                Err(error) => writeln!(io::stderr(), "guard: {error}")?,
            }
        }
        out.flush()?;
    }
}

/// Lists rows, and returns the number of the newest row of the record.
fn list(filters: &Filters, store: Option<&Store>, now: &Zoned) -> Result<i64, Failure> {
    let newest = store.map_or(Ok(None), Store::head)?.map_or(0, |head| head.row);
    let mut filter = filters.search(now)?;
    // Read one more than is shown, to know whether there are more.
    filter.limit = filter.limit.map(|limit| limit.saturating_add(1));
    let mut found = store.map_or(Ok(Vec::new()), |store| store.find(&filter))?;
    let newest = newest.max(found.last().copied().unwrap_or(0));
    let more = filter.limit.is_some_and(|limit| found.len() >= limit as usize);
    if more {
        found.remove(0);
    }
    let terminal = io::stdout().is_terminal();
    let look = Look::from_environment(|name| std::env::var(name).ok(), terminal);
    // Commands are not truncated in a pipe.
    let columns = screen::width();
    let mut out = Output::new(!(filters.no_pager || filters.json || filters.follow));
    let layout = table::Layout::new(found.last().copied().unwrap_or(0), columns, look.ascii, now);
    if found.is_empty() && !filters.json {
        let nothing = if newest > 0 { "No matching rows." } else { "The record is empty." };
        writeln!(out, "{nothing}")?;
    } else if !filters.json {
        print(&mut out, &layout.head(), &look)?;
    }
    let mut sessions = Sessions::default();
    // Read one row at a time: a long read would keep the write-ahead log from being truncated.
    for id in found {
        let Some(store) = store else { break };
        // A row that was removed meanwhile or made unreadable does not hide others.
        match store.entry(id) {
            Ok(entry) if filters.json => json(&mut out, &entry)?,
            Ok(entry) if filters.by_session => sessions.take(&entry, layout.row(&entry)),
            Ok(entry) => print(&mut out, &layout.row(&entry), &look)?,
            Err(StoreError::Pruned { .. }) => {}
            Err(error @ (StoreError::NoSuchRow { .. } | StoreError::Unreadable { .. })) => {
                writeln!(io::stderr(), "guard: {error}")?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    for line in sessions.lines() {
        print(&mut out, &line, &look)?;
    }
    if more && terminal && !filters.json {
        print(&mut out, &Line::of(Style::Dim, "More rows exist; -n 0 shows all."), &look)?;
    }
    out.flush()?;
    Ok(newest)
}

/// Describes a session for a person: the agent, the process, and in brackets the name that --session accepts.
fn in_words(session: &str, agent: Option<&str>) -> String {
    if let Some((who, process)) = session.split_once('@')
        && let [pid, _, _] = process.split('.').collect::<Vec<_>>().as_slice()
        && pid.bytes().all(|byte| byte.is_ascii_digit())
    {
        let who = if who == "process" { String::new() } else { format!("{who}, ") };
        return format!("{who}process {pid} ({session})");
    }
    match agent.filter(|agent| !session.starts_with(agent)) {
        Some(agent) => format!("{session} ({agent})"),
        None => session.to_owned(),
    }
}

/// Rows grouped by session, in the order of first appearance.
#[derive(Default)]
struct Sessions(Vec<(String, Vec<Line>)>);

impl Sessions {
    fn take(&mut self, entry: &Entry, row: Line) {
        let session = entry.session.as_deref();
        let name = session.map_or_else(
            || "no session".to_owned(),
            |name| format!("session {}", in_words(name, entry.agent.as_deref())),
        );
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => self.0.push((name, vec![row])),
        }
    }

    fn lines(self) -> impl Iterator<Item = Line> {
        self.0.into_iter().flat_map(|(name, rows)| {
            let count = counted(rows.len() as u64, "row", "rows");
            let head = Line::of(Style::Strong, format!("{}, {count}", crate::ui::visible::text(&name)));
            [Line::new(), head].into_iter().chain(rows)
        })
    }
}

/// Returns the name under which a directory is recorded: with links as written, without `.` and `..`.
pub(super) fn named(directory: &Path) -> String {
    let mut name = PathBuf::new();
    for component in directory.components() {
        match component {
            Component::ParentDir => {
                name.pop();
            }
            Component::CurDir => {}
            other => name.push(other),
        }
    }
    name.to_string_lossy().into_owned()
}

fn show(entry: &Entry, as_json: bool, paged: bool, now: &Zoned) -> Result<u8, Failure> {
    let mut out = Output::new(paged && !as_json);
    if as_json {
        json(&mut out, entry)?;
    } else {
        let look = Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal());
        for line in table::whole(entry, now.time_zone()) {
            print(&mut out, &line, &look)?;
        }
        if let Some(request) = request_of(entry) {
            print(&mut out, &table::labelled("request", request), &look)?;
        }
    }
    out.flush()?;
    Ok(exit::ALLOW)
}

/// Returns the request whose approval a row names, with the digest that was compared at the approval. Returns `None` if
/// it names none or the queue no longer has it.
fn request_of(entry: &Entry) -> Option<String> {
    let (id, _) = entry.words.as_deref()?.strip_prefix("request ")?.split_once(", approved by ")?;
    let request = engine::requests().ok()??.find(id).ok()??;
    // The ID of a removed request is used again.
    (request.filed <= entry.time).then(|| format!("{id}, digest {}", request.short_digest()))
}

fn json(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    serde_json::to_writer(&mut *out, entry)?;
    out.write_all(b"\n")
}

fn print(out: &mut impl Write, line: &Line, look: &Look) -> io::Result<()> {
    writeln!(out, "{}", line.render(look).trim_end())
}

/// Parses arguments, for tests of the grammar.
#[cfg(test)]
fn parse(words: &[&str]) -> Result<LogArgs, clap::Error> {
    use clap::FromArgMatches as _;
    let words = std::iter::once("log").chain(words.iter().copied()).map(std::ffi::OsString::from);
    let matches = LogArgs::augment_args(clap::Command::new("log")).try_get_matches_from(words)?;
    LogArgs::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_told_by_its_process_where_it_has_one() {
        for (session, agent, said) in [
            ("claude@12.34.ab", Some("claude"), "claude, process 12 (claude@12.34.ab)"),
            ("process@12.34.ab", None, "process 12 (process@12.34.ab)"),
            ("claude:s1", Some("claude"), "claude:s1"),
            ("me@example.org", Some("codex"), "me@example.org (codex)"),
        ] {
            assert_eq!(in_words(session, agent), said);
        }
    }

    #[test]
    fn filters_and_show_do_not_mix() {
        assert!(parse(&["show", "3"]).is_ok());
        assert!(parse(&["--tier", "2", "show", "3"]).is_err());
    }
}
