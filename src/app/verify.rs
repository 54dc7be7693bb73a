//! `guard verify`: whether the record is as it was written.

use std::io::{self, Write};

use clap::Args;
use jiff::tz::TimeZone;

use super::log::LogError;
use super::log::prune::extent;
use super::{exit, moment, road};
use crate::store::{Audit, Head, Link, PrunedEnd, Store};

/// The arguments of `guard verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A head that was kept elsewhere: it must still be part of the chain
    #[arg(long, value_name = "ROW:HASH", value_parser = head)]
    head: Option<Head>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The record is not as it was written.
const BROKEN: u8 = 1;

/// What no reading of the record itself can show.
const LIMITS: &str = "\
This shows rows that were edited, removed or moved. It does not show a tail that was cut off, nor a chain that was
rebuilt to its end: for that, keep the head elsewhere (another machine, paper) and give it to guard verify --head.";

/// `12:3f…`, or as it is printed: `row 12, 3f…`.
fn head(text: &str) -> Result<Head, String> {
    let (row, hash) = text.trim_start_matches("row").split_once([':', ',']).unwrap_or_default();
    let head = row.trim().parse().ok().zip(Link::parse(hash.trim())).map(|(row, link)| Head { row, link });
    head.ok_or_else(|| "write the number of the row, a colon and the hash, as guard verify printed them".to_owned())
}

/// What became of a head that was kept elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Holds,
    Gone,
    Pruned,
}

impl Kept {
    const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Gone => "gone",
            Self::Pruned => "pruned",
        }
    }
}

/// Reads the chain through and says what is wrong with it. The exit code is 0 when nothing is, 1 otherwise.
///
/// # Errors
/// The record cannot be read, or standard output cannot be written.
pub fn run(args: &VerifyArgs) -> Result<u8, LogError> {
    let store = Store::open_existing(&road::paths()?)?;
    let audit = store.as_ref().map_or(Ok(Audit::default()), Store::verify)?;
    let kept = match &args.head {
        None => None,
        Some(head) => Some(match store.as_ref().map_or(Ok(Some(false)), |store| store.holds(head))? {
            Some(true) => Kept::Holds,
            Some(false) => Kept::Gone,
            None => Kept::Pruned,
        }),
    };
    let whole = audit.faults.is_empty() && kept != Some(Kept::Gone);
    let code = if whole { exit::ALLOW } else { BROKEN };
    Ok(exit::after(print(args, &audit, kept), code)?)
}

fn print(args: &VerifyArgs, audit: &Audit, kept: Option<Kept>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        let head = audit.head.map(|head| serde_json::json!({ "row": head.row, "hash": head.link.to_string() }));
        let pruned = audit.pruned.as_ref().map(|PrunedEnd { row, at, pruned }| {
            let (through, since) = (pruned.last, pruned.since);
            serde_json::json!({ "row": row, "time": at, "through": through, "since": since, "last": pruned })
        });
        let faults: Vec<String> = audit.faults.iter().map(ToString::to_string).collect();
        let object = serde_json::json!({
            "ok": faults.is_empty() && kept != Some(Kept::Gone), "kept_head": kept.map(Kept::name), "rows": audit.rows, "pruned": pruned, "head": head,
            "faults": faults, "more_faults": audit.more,
        });
        writeln!(out, "{object}")?;
    } else {
        tell(&mut out, audit)?;
        if let (Some(kept), Some(head)) = (kept, args.head) {
            let row = head.row;
            match kept {
                Kept::Holds => writeln!(out, "The head that you kept, row {row}, is part of this chain.")?,
                Kept::Gone => writeln!(
                    out,
                    "The head that you kept, row {row}, is not part of this chain: its end was cut off, or it was rebuilt."
                )?,
                Kept::Pruned => writeln!(out, "The head that you kept, row {row}, was pruned: keep a newer one.")?,
            }
        }
    }
    out.flush()
}

fn tell(out: &mut impl Write, audit: &Audit) -> io::Result<()> {
    for fault in &audit.faults {
        writeln!(out, "{fault}")?;
    }
    if audit.more > 0 {
        writeln!(out, "and {} more", audit.more)?;
    }
    let rows = if audit.rows == 1 { "1 row".to_owned() } else { format!("{} rows", audit.rows) };
    match (audit.head, audit.faults.is_empty()) {
        (None, true) => return writeln!(out, "Nothing is recorded yet."),
        (_, true) => writeln!(out, "{rows}, each continuing the one before it.")?,
        (_, false) => writeln!(out, "{rows}; the record is not as it was written.")?,
    }
    if let Some(end) = &audit.pruned {
        writeln!(out, "{}", pruned(end, &TimeZone::system()))?;
    }
    if let Some(head) = audit.head {
        writeln!(out, "Head: row {}, {}", head.row, head.link)?;
    }
    writeln!(out, "{LIMITS}")
}

/// What was pruned, and which row proves it.
fn pruned(end: &PrunedEnd, zone: &TimeZone) -> String {
    let PrunedEnd { row, at, pruned } = end;
    let shown = |time| moment::shown(time, zone);
    let last = extent(pruned, zone);
    let earlier = if pruned.first > 1 {
        format!(" All before them, from {} on, were pruned earlier.", shown(pruned.since))
    } else {
        String::new()
    };
    format!("Pruned at {}, sealed in row {row}: {last}.{earlier}", shown(*at))
}
