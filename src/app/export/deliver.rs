//! Sends each row to collectors once it is written, and again if delivery is uncertain.
//!
//! Each destination has a position: the last row that it accepted. A process that has written a row sends the rows
//! after the position if this does not block (`at_once`); `guard export --deliver` sends to every destination, and
//! waits. If a collector is down, `--status` reports it, and a command only spends the time of a failed `connect`.
//!
//! All kinds of rows are sent, in order, so that a gap in the numbers is noticed. Rows that were sent but not yet
//! stored in the position when guard was killed are sent again.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, Zoned};
use sha2::{Digest as _, Sha256};

use super::super::engine::{Engine, EngineError};
use super::super::record_backend::RecordBackend;
use super::super::{exit, time};
use super::{PACE, forms, messages};
use crate::app::failure::Failure;
use crate::app::name_service::addresses;
use crate::collector::progress_file::DeliveryProgress;
use crate::collector::{self, Datagrams, ProgressFile, http, syslog};
use crate::config::destination::{Destination, OTLP_PATH};
use crate::store::{Entry, Head, Link, Store, StoreError};
use crate::ui::visible;

/// The largest number of rows that a command sends: its own row and unsent ones before it.
const AT_ONCE: usize = 64;

/// The largest number of rows in one batch if guard may wait.
const TOGETHER: usize = 200;

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(30);

/// The exit code if rows were not delivered.
const BEHIND: u8 = 1;

/// Sends a row that was just written, and unsent rows before it, to each destination that does not block. Errors are
/// not returned: rows that were not accepted are noted in the position and sent later.
pub(in crate::app) fn at_once(engine: &Engine, row: Option<i64>) {
    let places = &engine.policy().export_to;
    if places.is_empty() {
        return;
    }
    // With a record service, the service sends the rows that it writes.
    if let (Ok(Ok(store)), Ok(paths)) = (engine.store().map(RecordBackend::own), engine.paths()) {
        from(store, paths.directory(), places, row);
    }
}

/// Like [`at_once`], for the record in this directory.
pub(in crate::app) fn from(store: &Store, directory: &Path, places: &[String], row: Option<i64>) {
    let Some(row) = row else { return };
    for (text, destination) in places.iter().filter_map(|text| Some((text, Destination::parse(text).ok()?))) {
        if !destination.is_immediate() {
            continue;
        }
        // If the position is locked, its owner is sending. Either it sends this row, or the writer of the next row
        // does.
        let Some(mut position) = ProgressFile::take(&place(directory, text), false).ok().flatten() else {
            continue;
        };
        let after = position.progress.row.unwrap_or_else(|| beginning(store, row));
        // If nothing listens at the socket, the rows need not be read.
        if let Err(error) = reach(&destination) {
            let _ = position.keep(DeliveryProgress {
                row: Some(after),
                trouble: Some(error.to_string()),
                ..position.progress.clone()
            });
            continue;
        }
        let _ = part(store, &destination, &mut position, after, AT_ONCE);
    }
}

/// Returns the row after which delivery to a new destination begins. This row and rows of the last 10 seconds are sent,
/// because their writers may not have created the position yet.
fn beginning(store: &Store, row: i64) -> i64 {
    const RECENT: SignedDuration = SignedDuration::from_secs(10);
    let since = Timestamp::now().checked_sub(RECENT).unwrap_or(Timestamp::MIN);
    let earliest = row.saturating_sub(i64::try_from(AT_ONCE / 2).unwrap_or(0)).max(1);
    let recent = |row: &i64| store.entry(*row).is_ok_and(|entry| entry.time >= since);
    (earliest..row).rev().take_while(recent).last().unwrap_or(row) - 1
}

/// The reason why rows were not delivered.
#[derive(Debug, thiserror::Error)]
enum DeliveryError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}: {error}", path.display())]
    At { path: PathBuf, error: io::Error },
    /// The position cannot be written.
    #[error(transparent)]
    Position(#[from] io::Error),
    /// The collector's answer, or the reason why it cannot be reached. This text is stored in the position.
    #[error("{0}")]
    NotTaken(String),
}

/// Checks whether a process listens at a local socket. For other destinations only sending shows whether they can be
/// reached.
fn reach(destination: &Destination) -> Result<(), DeliveryError> {
    match destination {
        Destination::Journald(socket) | Destination::SyslogUnix(socket) => {
            collector::unix(socket).map(drop).map_err(|error| DeliveryError::At { path: socket.clone(), error })
        }
        _ => Ok(()),
    }
}

/// Returns the path of a destination's position.
fn place(directory: &Path, text: &str) -> PathBuf {
    let digest = Sha256::digest(text.as_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    directory.join("export").join(format!("{name}.position"))
}

/// Sends up to `most` rows after the row `after`. Returns whether this includes the newest row.
///
/// # Errors
/// The rows cannot be read, the position cannot be written, or the collector did not accept a row.
fn part(
    store: &Store,
    destination: &Destination,
    position: &mut ProgressFile,
    after: i64,
    most: usize,
) -> Result<bool, DeliveryError> {
    let mut told = position.progress.clone();
    let newest = store.head()?.map_or(0, |head| head.row);
    // A record that ends before the last sent row is a different record.
    let after = if after > newest { 0 } else { after };
    // Count pruned rows without reading each one, because there may be many.
    let pruned = store.first_row()?.map_or(0, |first| first - 1);
    told.lost += u64::try_from(pruned.saturating_sub(after)).unwrap_or(0);
    let after = after.max(pruned);
    let mut entries = Vec::new();
    let mut missing: Vec<i64> = Vec::new();
    let last = newest.min(after.saturating_add(i64::try_from(most).unwrap_or(i64::MAX)));
    for row in after.saturating_add(1)..=last {
        match store.entry(row) {
            Ok(entry) => entries.push(entry),
            Err(StoreError::Pruned { .. } | StoreError::NoSuchRow { .. } | StoreError::Unreadable { .. }) => {
                missing.push(row);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let DeliveryResult { taken, failed, rejected } = send(destination, &entries);
    let sent = taken.checked_sub(1).and_then(|at| entries.get(at));
    let reached = if failed.is_none() { last } else { sent.map_or(after, |entry| entry.id) };
    told.row = Some(reached);
    told.lost += rejected;
    told.lost += missing.iter().filter(|row| **row <= reached).count() as u64;
    if let Some(entry) = sent {
        told.head = Some((entry.id, entry.hash.to_string()));
        told.at = Some(Timestamp::now());
    }
    told.trouble.clone_from(&failed);
    position.keep(told)?;
    match failed {
        Some(why) => Err(DeliveryError::NotTaken(why)),
        None => Ok(last >= newest),
    }
}

/// The result of sending rows.
#[derive(Default)]
struct DeliveryResult {
    /// The number of rows that were accepted, from the first on.
    taken: usize,
    /// The reason why the next row was not accepted.
    failed: Option<String>,
    /// The number of accepted rows that the collector did not store.
    rejected: u64,
}

impl DeliveryResult {
    fn failed(taken: usize, why: impl ToString) -> Self {
        Self { taken, failed: Some(why.to_string()), rejected: 0 }
    }
}

/// Sends rows in order.
fn send(destination: &Destination, entries: &[Entry]) -> DeliveryResult {
    if entries.is_empty() {
        return DeliveryResult::default();
    }
    let host = super::host();
    let nobody = |socket: &Path, error: io::Error| DeliveryResult::failed(0, format!("{}: {error}", socket.display()));
    let line = |entry: &Entry, _: bool| messages::syslog(entry, &host);
    let posted = |answer: io::Result<String>| match answer {
        Ok(body) => DeliveryResult { taken: entries.len(), failed: None, rejected: rejected(&body) },
        Err(error) => DeliveryResult::failed(0, error),
    };
    let logs = || forms::otlp(entries, &host).to_string();
    match destination {
        Destination::Journald(socket) => match collector::unix(socket) {
            Ok(socket) => datagrams(&socket, entries, messages::journald),
            Err(error) => nobody(socket, error),
        },
        Destination::SyslogUnix(socket) => match collector::unix(socket) {
            Ok(socket) => datagrams(&socket, entries, line),
            Err(error) => nobody(socket, error),
        },
        Destination::SyslogUdp(name, port) => match addresses(name, *port).and_then(|host| collector::udp(&host)) {
            Ok(socket) => datagrams(&socket, entries, line),
            Err(error) => DeliveryResult::failed(0, error),
        },
        Destination::SyslogTcp(name, port) => {
            let lines: Vec<Vec<u8>> = entries.iter().map(|entry| line(entry, false)).collect();
            let sent = addresses(name, *port).and_then(|host| syslog::stream(&host, &lines));
            posted(sent.map(|()| String::new()))
        }
        Destination::OtlpHttp(name, port, path) => {
            let sent = |host: Vec<_>| http::post((name, *port), &host, path, logs().as_bytes());
            posted(addresses(name, *port).and_then(sent))
        }
        Destination::OtlpUnix(socket) => posted(http::post_unix(socket, OTLP_PATH, logs().as_bytes())),
    }
}

/// Returns the number of log records that an OpenTelemetry collector rejected, according to its answer. They must not
/// be sent again.
fn rejected(body: &str) -> u64 {
    let json = body.find('{').zip(body.rfind('}')).and_then(|(from, to)| body.get(from..=to));
    let answer: Option<serde_json::Value> = json.and_then(|json| serde_json::from_str(json).ok());
    let count = answer.and_then(|answer| answer.pointer("/partialSuccess/rejectedLogRecords").cloned());
    // OTLP encodes 64-bit integers as strings.
    count.and_then(|count| count.as_u64().or_else(|| count.as_str()?.parse().ok())).unwrap_or(0)
}

fn datagrams(socket: &impl Datagrams, entries: &[Entry], message: impl Fn(&Entry, bool) -> Vec<u8>) -> DeliveryResult {
    let mut rejected = 0;
    for (taken, entry) in entries.iter().enumerate() {
        let sent = match socket.send(&message(entry, false)) {
            Err(error) if collector::is_too_long(&error) => socket.send(&message(entry, true)),
            sent => sent,
        };
        match sent {
            Ok(()) => {}
            // Another attempt would fail too, and must not block the rows after this one forever.
            Err(error) if collector::is_too_long(&error) => rejected += 1,
            Err(error) => return DeliveryResult { rejected, ..DeliveryResult::failed(taken, error) },
        }
    }
    DeliveryResult { taken: entries.len(), failed: None, rejected }
}

/// Sends unsent rows to one collector, or to all those in the configuration. With `follow`, continues with new rows.
///
/// # Errors
/// There is no collector, or the record cannot be read.
pub(super) fn run(to: Option<&str>, after: Option<i64>, follow: bool) -> Result<u8, Failure> {
    let wrong = |why: String| Failure::Message(why);
    let engine = Engine::open().map_err(|error| wrong(error.to_string()))?;
    let names: Vec<String> = to.map_or_else(|| engine.policy().export_to.clone(), |to| vec![to.to_owned()]);
    if names.is_empty() {
        return Err(wrong("no collector in export.to, and none given; see guard export --help".to_owned()));
    }
    let mut places = Vec::new();
    for name in names {
        let destination = Destination::parse(&name).map_err(|why| wrong(format!("{name}: {why}")))?;
        places.push((name, destination, Duration::ZERO, std::time::Instant::now(), after));
    }
    loop {
        let mut behind = false;
        for (name, destination, pause, due, begin) in &mut places {
            if std::time::Instant::now() < *due {
                behind = true;
                continue;
            }
            match all(&engine, name, destination, *begin) {
                Ok(()) => (*pause, *begin) = (Duration::ZERO, None),
                Err(why) => {
                    behind = true;
                    if pause.is_zero() {
                        let _ = writeln!(
                            io::stderr(),
                            "guard: {}: {}",
                            visible::text(name),
                            visible::text(&why.to_string())
                        );
                    }
                    *pause = (*pause * 2).clamp(PACE, LONGEST);
                    *due = std::time::Instant::now() + *pause;
                }
            }
        }
        if !follow {
            return Ok(if behind { BEHIND } else { exit::ALLOW });
        }
        std::thread::sleep(PACE);
    }
}

/// Sends all unsent rows to one collector.
fn all(engine: &Engine, name: &str, destination: &Destination, begin: Option<i64>) -> Result<(), DeliveryError> {
    let path = place(engine.paths()?.directory(), name);
    let mut begin = begin;
    loop {
        // Open the record for each batch: keeping it open slows down all writers.
        let Some(store) = engine.existing()? else { return Ok(()) };
        let position =
            ProgressFile::take(&path, true).map_err(|error| DeliveryError::At { path: path.clone(), error })?;
        let Some(mut position) = position else { return Ok(()) };
        let after = match (begin.take(), position.progress.row) {
            (Some(row), _) | (None, Some(row)) => row,
            // A new destination gets only the rows that are written from now on.
            (None, None) => store.head()?.map_or(0, |head| head.row),
        };
        if part(&store, destination, &mut position, after, TOGETHER)? {
            return Ok(());
        }
    }
}

/// The state of delivery to a collector.
pub(in crate::app) struct DeliveryState {
    /// One sentence, without the final period.
    pub says: String,
    /// Whether delivery failed, or the last sent row is not in the record as it was sent.
    pub trouble: bool,
}

/// Returns the state of delivery to each collector in the configuration.
///
/// # Errors
/// The record or a position cannot be read.
pub(in crate::app) fn states(engine: &Engine) -> Result<Vec<DeliveryState>, Failure> {
    let store = engine.existing()?;
    let newest = store.as_ref().map_or(Ok(None), Store::head)?.map_or(0, |head| head.row);
    let zone = Zoned::now();
    let mut all = Vec::new();
    for name in &engine.policy().export_to {
        let path = engine.paths().map(|paths| place(paths.directory(), name)).unwrap_or_default();
        let told =
            ProgressFile::peek(&path).map_err(|error| Failure::Message(format!("{}: {error}", path.display())))?;
        let DeliveryProgress { row, head, at, trouble, lost } = told.unwrap_or_default();
        let mut says = format!("{}: ", visible::text(name));
        match row {
            Some(row) => {
                let waits = newest.saturating_sub(row).max(0);
                let at = at.map_or_else(String::new, |at| format!(", last at {}", time::format(at, zone.time_zone())));
                let head = head.as_ref().map_or_else(String::new, |(row, hash)| format!(" (head {row}:{hash})"));
                says.push_str(&format!("sent up to row {row}{head}{at}; {waits} not sent yet"));
            }
            None => says.push_str("nothing sent yet"),
        }
        let head = head.and_then(|(row, hash)| Some(Head { row, link: Link::parse(&hash)? }));
        let holds = head.map_or(Ok(None), |head| store.as_ref().map_or(Ok(None), |store| store.holds(&head)))?;
        let is_gone = holds == Some(false) || row.is_some_and(|row| row > newest);
        if is_gone {
            says.push_str("; that row of the record was changed after it was sent; see guard verify");
        }
        if lost > 0 {
            says.push_str(&format!("; {lost} not sent: pruned, unreadable or not stored by the collector"));
        }
        if let Some(why) = &trouble {
            says.push_str(&format!("; the next row was rejected: {}", visible::text(why)));
        }
        let waits_for_verb = !Destination::parse(name).is_ok_and(|destination| destination.is_immediate());
        if waits_for_verb {
            says.push_str("; sent only by guard export --deliver --follow");
        }
        all.push(DeliveryState { says, trouble: trouble.is_some() || is_gone });
    }
    Ok(all)
}

/// Prints the state of delivery to each collector.
///
/// # Errors
/// The record cannot be read, or standard output cannot be written.
pub(super) fn status() -> Result<u8, Failure> {
    let engine = Engine::open().map_err(|error| Failure::Message(error.to_string()))?;
    let states = states(&engine)?;
    let mut out = io::stdout().lock();
    if states.is_empty() {
        writeln!(out, "The record is not sent anywhere: export.to is empty.")?;
    }
    for state in &states {
        writeln!(out, "{}.", state.says)?;
    }
    let code = if states.iter().any(|state| state.trouble) { BEHIND } else { exit::ALLOW };
    Ok(exit::after(out.flush(), code)?)
}
