//! `guard verify`: checks that the record was not changed after it was written.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use jiff::tz::TimeZone;

use super::failure::Failure;
use super::log::prune::extent;
use super::screen::WrappedOutput;
use super::{engine, exit, time};
use crate::store::{Audit, Head, Link, PrunedEnd, Store};
use crate::ui::count::counted;

/// The arguments of `guard verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A head that you kept elsewhere, which must still be part of the chain; or a file with such heads: the output
    /// of guard verify, guard log day or guard export, or what a collector received (- is standard input)
    #[arg(long, value_name = "ROW:HASH|FILE", value_parser = kept_heads)]
    head: Option<SavedHeads>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The exit code if the record was changed.
const BROKEN: u8 = 1;

/// The limits of verifying the record alone.
const LIMITS: &str = "\
This detects rows that were edited, removed or moved. It does not detect rows removed at the end (except answers that \
the queue still contains) or a rebuilt chain: for that, keep the head elsewhere (another machine, paper) and pass it to \
guard verify --head.";

/// The saved heads of an argument.
#[derive(Clone, Debug)]
enum SavedHeads {
    One(Head),
    File(PathBuf),
}

/// The longest file of heads that is read, in bytes.
const MAX_FILE: u64 = 1 << 30;

/// An error of parsing an argument that is neither a head nor the name of a file.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("expected ROW:HASH, as guard verify printed it, or the name of a file with such heads in it")]
struct HeadError;

/// Parses a head, `12:3f…` or as printed, `row 12, 3f…`. Any other argument is the name of a file.
fn kept_heads(text: &str) -> Result<SavedHeads, HeadError> {
    if let (Some(head), None) = {
        let mut all = heads(text).into_iter();
        (all.next(), all.next())
    } {
        return Ok(SavedHeads::One(head));
    }
    if text == "-" || Path::new(text).is_file() {
        return Ok(SavedHeads::File(text.into()));
    }
    Err(HeadError)
}

impl SavedHeads {
    fn read(&self) -> Result<Vec<Head>, Failure> {
        let path = match self {
            Self::One(head) => return Ok(vec![*head]),
            Self::File(path) => path,
        };
        let wrong = |why: &str| Failure::Message(format!("{}: {why}", path.display()));
        let mut bytes = Vec::new();
        let read = if path == Path::new("-") {
            io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut bytes)
        } else {
            File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes))
        };
        read.map_err(|error| wrong(&error.to_string()))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(wrong("longer than 1 GiB"));
        }
        let found = heads(&String::from_utf8_lossy(&bytes));
        if found.is_empty() { Err(wrong("it contains no head")) } else { Ok(found) }
    }
}

/// Returns all heads in a text: a number, a colon or a comma and a blank, and a hash. In JSON with a row and in CSV,
/// the number and the hash of each line.
fn heads(text: &str) -> Vec<Head> {
    let mut all = Vec::new();
    if text.starts_with("id,time,") {
        return in_csv(text);
    }
    for line in text.lines() {
        let before = all.len();
        let mut from = 0;
        while let Some((start, end)) = next_hash(line, from) {
            from = end;
            let Some(link) = line.get(start..end).and_then(Link::parse) else { continue };
            let front = line.get(..start).unwrap_or_default();
            let Some(front) = front.strip_suffix(':').or_else(|| front.strip_suffix(", ")) else { continue };
            let digits = front.len() - front.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            if let Some(row) = front.get(front.len() - digits..).and_then(|row| row.parse().ok()) {
                all.push(Head { row, link });
            }
        }
        if all.len() > before {
            continue;
        }
        if line.starts_with('{') {
            all.extend(serde_json::from_str(line).ok().and_then(|value| in_json(&value)));
        }
    }
    all
}

/// Returns the number and the hash of each CSV record: its first cell, and the cell under the heading `hash`, counted
/// from the end. A line break within quotes does not end a record.
fn in_csv(text: &str) -> Vec<Head> {
    let mut all = Vec::new();
    let behind = text.lines().next().and_then(|heading| heading.rsplit(',').position(|name| name == "hash"));
    let Some(behind) = behind else { return all };
    let mut record = String::new();
    for line in text.lines() {
        record.push_str(line);
        if record.matches('"').count() % 2 == 1 {
            record.push(' ');
            continue;
        }
        if let (Some((row, _)), Some(hash)) = (record.split_once(','), record.rsplit(',').nth(behind)) {
            all.extend(row.parse().ok().zip(Link::parse(hash)).map(|(row, link)| Head { row, link }));
        }
        record.clear();
    }
    all
}

/// Returns the range of the next run of 64 hexadecimal digits.
fn next_hash(line: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = line.as_bytes();
    let mut start = from;
    while start < bytes.len() {
        let long = bytes.get(start..)?.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if long == 64 {
            return Some((start, start + 64));
        }
        start += long.max(1);
    }
    None
}

/// Returns the row and the hash of an object, or of one nested in it.
fn in_json(value: &serde_json::Value) -> Option<Head> {
    let own = ["id", "row"].iter().find_map(|name| value.get(name)?.as_i64());
    let link = value.get("hash").and_then(serde_json::Value::as_str).and_then(Link::parse);
    let own = own.zip(link).map(|(row, link)| Head { row, link });
    own.or_else(|| value.as_object()?.values().find_map(in_json))
}

/// The status of a saved head in the record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadStatus {
    Holds,
    Gone,
    Pruned,
}

impl HeadStatus {
    const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Gone => "gone",
            Self::Pruned => "pruned",
        }
    }
}

/// The result for all saved heads.
struct HeadReport {
    /// The head to report: the first that is gone, or else the newest that holds, or else the newest.
    told: (Head, HeadStatus),
    all: usize,
}

impl HeadReport {
    fn of(heads: &[Head], store: Option<&Store>) -> Result<Self, Failure> {
        let mut told: Option<(Head, HeadStatus)> = None;
        for head in heads {
            let kept = match store.map_or(Ok(Some(false)), |store| store.holds(head))? {
                Some(true) => HeadStatus::Holds,
                Some(false) => HeadStatus::Gone,
                None => HeadStatus::Pruned,
            };
            let better = match told {
                None => true,
                Some((first, HeadStatus::Gone)) => kept == HeadStatus::Gone && head.row < first.row,
                Some((_, HeadStatus::Pruned)) => true,
                Some((last, HeadStatus::Holds)) => {
                    kept == HeadStatus::Gone || (kept == HeadStatus::Holds && head.row > last.row)
                }
            };
            if better {
                told = Some((*head, kept));
            }
        }
        let told = told.ok_or_else(|| Failure::Message("no head given".to_owned()))?;
        Ok(Self { told, all: heads.len() })
    }
}

/// Verifies the chain and prints the faults. The exit code is 0 if there are none, 1 otherwise.
///
/// # Errors
/// The record cannot be read, or standard output cannot be written.
pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    let store = Store::open_existing(&engine::paths()?)?;
    let audit = store.as_ref().map_or(Ok(Audit::default()), Store::verify)?;
    let kept = match &args.head {
        None => None,
        Some(heads) => Some(HeadReport::of(&heads.read()?, store.as_ref())?),
    };
    let whole = audit.faults.is_empty() && !kept.as_ref().is_some_and(|kept| kept.told.1 == HeadStatus::Gone);
    let code = if whole { exit::ALLOW } else { BROKEN };
    Ok(exit::after(print(args, &audit, kept.as_ref()), code)?)
}

fn print(args: &VerifyArgs, audit: &Audit, kept: Option<&HeadReport>) -> io::Result<()> {
    let mut out = WrappedOutput::over(io::BufWriter::new(io::stdout().lock()), !args.json);
    if args.json {
        let head = audit.head.map(|head| serde_json::json!({ "row": head.row, "hash": head.link.to_string() }));
        let pruned = audit.pruned.as_ref().map(|PrunedEnd { row, at, pruned }| {
            let (through, since) = (pruned.last, pruned.since);
            serde_json::json!({ "row": row, "time": at, "through": through, "since": since, "last": pruned })
        });
        let faults: Vec<String> = audit.faults.iter().map(ToString::to_string).collect();
        let object = serde_json::json!({
            "ok": faults.is_empty() && !kept.is_some_and(|kept| kept.told.1 == HeadStatus::Gone),
            "kept_head": kept.map(|kept| kept.told.1.name()), "kept_row": kept.map(|kept| kept.told.0.row),
            "kept_heads": kept.map(|kept| kept.all), "rows": audit.rows, "pruned": pruned, "head": head,
            "faults": faults, "more_faults": audit.more,
        });
        writeln!(out, "{object}")?;
    } else {
        tell(&mut out, audit)?;
        if let Some(HeadReport { told: (head, kept), all }) = kept {
            let row = head.row;
            let which =
                if *all == 1 { "The head that you kept".to_owned() } else { format!("Of {all} heads that you kept") };
            match kept {
                HeadStatus::Holds if *all > 1 => {
                    writeln!(out, "All {all} heads that you kept are part of this chain.")?
                }
                HeadStatus::Holds => writeln!(out, "{which}, row {row}, is part of this chain.")?,
                HeadStatus::Gone => writeln!(
                    out,
                    "{which}, row {row}, is not part of this chain: rows were removed at its end, or it was rebuilt."
                )?,
                HeadStatus::Pruned if *all > 1 => {
                    writeln!(out, "All {all} heads that you kept are part of this chain or were pruned.")?
                }
                HeadStatus::Pruned => writeln!(out, "{which}, row {row}, was pruned; keep a newer one.")?,
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
    let rows = counted(audit.rows, "row", "rows");
    match (audit.head, audit.faults.is_empty()) {
        (None, true) => return writeln!(out, "The record is empty."),
        (_, true) => writeln!(out, "{rows}, the chain is intact.")?,
        (_, false) => writeln!(out, "{rows}; the record was changed after it was written.")?,
    }
    if let Some(end) = &audit.pruned {
        writeln!(out, "{}", pruned(end, &TimeZone::system()))?;
    }
    if let Some(head) = audit.head {
        writeln!(out, "Head: row {}, {}", head.row, head.link)?;
    }
    writeln!(out, "{LIMITS}")
}

/// Describes what was pruned, and which row proves it.
fn pruned(end: &PrunedEnd, zone: &TimeZone) -> String {
    let PrunedEnd { row, at, pruned } = end;
    let shown = |time| time::format(time, zone);
    let last = extent(pruned, zone);
    let earlier = if pruned.first > 1 {
        format!(" All earlier rows, from {} on, were pruned before.", shown(pruned.since))
    } else {
        String::new()
    };
    format!("Pruned at {}, sealed in row {row}: {last}.{earlier}", shown(*at))
}
