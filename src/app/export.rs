//! `guard export`: writes the record in formats of other systems, or sends new rows to them (`deliver`).
//!
//! Out of scope: selecting fields. Every row is exported completely, as redacted as it is stored; a value for which a
//! format has no field gets a field name of guard's own.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Zoned;

use super::failure::{Failure, unless_unread};
use super::{engine, exit, time};
use crate::store::{Filter, Store, StoreError};

pub(in crate::app) mod deliver;
mod forms;
mod messages;

/// The arguments of `guard export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The format: JSON Lines, CSV, Elastic Common Schema, Open Cybersecurity Schema, Common Event Format, or
    /// OpenTelemetry logs in the collector's file format
    #[arg(long, value_enum, value_name = "FORM", default_value = "jsonl")]
    format: ExportFormat,
    /// Only rows since this time: 2h, 3d, today, 2026-11-21, "2026-11-21 14:30"
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only rows before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only rows after this one, such as the last row of the previous export
    #[arg(long, value_name = "ROW")]
    after: Option<i64>,
    /// Only this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Continue with new rows as they are written, until interrupted
    #[arg(short = 'f', long, conflicts_with = "until")]
    follow: bool,
    /// Send new rows to a collector instead of printing them: to those in export.to, or to this one
    #[arg(long, value_name = "COLLECTOR", num_args = 0..=1, conflicts_with_all = ["format", "since", "until", "session"])]
    deliver: Option<Option<String>>,
    /// Show what was sent to each collector in export.to, and why rows are missing: exit 0 when none is missing, 1
    /// when some are
    #[arg(long, conflicts_with_all = ["format", "since", "until", "session", "after", "follow", "deliver"])]
    status: bool,
}

/// The interval between two searches for new rows.
const PACE: Duration = Duration::from_millis(500);

/// The number of rows that are read at once.
const PART: u32 = 500;

/// The format of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Jsonl,
    Csv,
    Ecs,
    Ocsf,
    Cef,
    Otlp,
}

/// Writes rows to standard output, one per line, oldest first.
///
/// # Errors
/// The record cannot be read, a time is invalid, or standard output cannot be written.
pub fn run(args: &ExportArgs) -> Result<u8, Failure> {
    let done = match (&args.deliver, args.status) {
        (Some(to), _) => deliver::run(to.as_deref(), args.after, args.follow),
        (None, true) => deliver::status(),
        (None, false) => export(args),
    };
    unless_unread(done)
}

fn export(args: &ExportArgs) -> Result<u8, Failure> {
    let now = Zoned::now();
    let time = |name: &str, text: &Option<String>| {
        let read = |text: &String| time::past(text, &now).map_err(|why| Failure::Message(format!("--{name}: {why}")));
        text.as_ref().map(read).transpose()
    };
    let filter = Filter {
        since: time("since", &args.since)?,
        until: time("until", &args.until)?,
        session: args.session.clone(),
        after: args.after,
        limit: Some(PART),
        ..Filter::default()
    };
    let mut out = BufWriter::new(io::stdout().lock());
    if args.format == ExportFormat::Csv {
        writeln!(out, "{}", forms::CSV_HEAD)?;
    }
    let host = host();
    let paths = engine::paths()?;
    let mut filter = filter;
    let mut damage = None;
    loop {
        // Open the record for each search: keeping it open slows down all writers.
        if let Some(store) = Store::open_existing(&paths)? {
            let newest = store.head()?.map(|head| head.row);
            // Stop at the end that the record had at the start, or steady writers could keep this from ending.
            while let Some(last) = rows(&store, &filter, args.format, &host, &mut out, &mut damage)? {
                filter.after = Some(last);
                if Some(last) >= newest {
                    break;
                }
            }
            filter.after = newest.max(filter.after);
        }
        out.flush()?;
        if !args.follow {
            // The readable rows were written. Report that some are missing.
            return damage.map_or(Ok(exit::ALLOW), |damage| Err(damage.into()));
        }
        std::thread::sleep(PACE);
    }
}

fn host() -> String {
    nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()).unwrap_or_default()
}

/// The next rows that pass a filter. Around damage in the file, rows are read one by one up to it, and then from the
/// first readable row after it.
enum RowBatch {
    Rows(Vec<i64>),
    /// The first readable row after the damage, and the error before it.
    Damaged(Option<i64>, StoreError),
}

impl RowBatch {
    fn next(store: &Store, filter: &Filter) -> Result<Self, StoreError> {
        let found = store.find_oldest(filter).or_else(|error| match error {
            StoreError::Corrupt { .. } => store.find_oldest(&Filter { limit: Some(1), ..filter.clone() }),
            error => Err(error),
        });
        match found {
            Ok(found) => Ok(Self::Rows(found)),
            Err(error @ StoreError::Corrupt { .. }) => {
                let from = filter.after.unwrap_or(0).saturating_add(1);
                let next = store.next_readable(from).ok().flatten();
                let to = next.map_or_else(|| "the end".to_owned(), |next| next.saturating_sub(1).to_string());
                let _ = writeln!(io::stderr(), "guard: rows {from} to {to} cannot be read");
                Ok(Self::Damaged(next, error))
            }
            Err(error) => Err(error),
        }
    }
}

/// Writes the next rows that pass a filter, and returns the number of the last.
fn rows(
    store: &Store,
    filter: &Filter,
    format: ExportFormat,
    host: &str,
    out: &mut impl Write,
    damage: &mut Option<StoreError>,
) -> Result<Option<i64>, Failure> {
    let found = match RowBatch::next(store, filter)? {
        RowBatch::Rows(found) => found,
        RowBatch::Damaged(next, error) => {
            *damage = Some(error);
            return Ok(next.map(|next| next.saturating_sub(1)));
        }
    };
    let last = found.last().copied();
    for entry in store.entries(&found) {
        let entry = match entry {
            Ok(entry) => entry,
            // Skip a row that was pruned or made unreadable; the others are still exported.
            Err(error @ (StoreError::Pruned { .. } | StoreError::NoSuchRow { .. } | StoreError::Unreadable { .. })) => {
                writeln!(io::stderr(), "guard: {error}")?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        match format {
            ExportFormat::Jsonl => serde_json::to_writer(&mut *out, &entry).map_err(io::Error::from)?,
            ExportFormat::Csv => write!(out, "{}", forms::csv(&entry))?,
            ExportFormat::Ecs => write!(out, "{}", forms::ecs(&entry, host))?,
            ExportFormat::Ocsf => write!(out, "{}", forms::ocsf(&entry, host))?,
            ExportFormat::Otlp => write!(out, "{}", forms::otlp(std::slice::from_ref(&entry), host))?,
            ExportFormat::Cef => write!(out, "{}", forms::cef(&entry, host))?,
        }
        out.write_all(b"\n")?;
    }
    Ok(last)
}
