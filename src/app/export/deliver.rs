//! Sending each row to collectors once it is written, and once more where that is not sure.
//!
//! Each destination has a position: the last row that it took. Who has written a row sends what comes after the
//! position, when that costs no waiting (`at_once`); `guard export --deliver` sends to every destination, and waits. A
//! collector that is down is told about by `--status` and costs a command nothing but a failed `connect`.
//!
//! Rows go in their order and every kind of row goes, so that a number that is missing shows. What was sent and not yet
//! remembered when guard was killed is sent again.

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

/// How many rows a command sends at most: what its own row is behind of.
const AT_ONCE: usize = 64;

/// How many rows go together where one waits.
const TOGETHER: usize = 200;

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(30);

/// Where something was not delivered.
const BEHIND: u8 = 1;

/// Sends a row that was just written, with what stands before it, wherever that takes no waiting. Nothing here is an
/// error: what was not taken is remembered and sent later.
pub(in crate::app) fn at_once(engine: &Engine, row: Option<i64>) {
    let places = &engine.policy().export_to;
    if places.is_empty() {
        return;
    }
    // A service sends what it writes itself.
    if let (Ok(Ok(store)), Ok(paths)) = (engine.store().map(RecordBackend::own), engine.paths()) {
        from(store, paths.directory(), places, row);
    }
}

/// The same, of a record in this directory.
pub(in crate::app) fn from(store: &Store, directory: &Path, places: &[String], row: Option<i64>) {
    let Some(row) = row else { return };
    for (text, destination) in places.iter().filter_map(|text| Some((text, Destination::parse(text).ok()?))) {
        if !destination.is_immediate() {
            continue;
        }
        // Whoever holds it is sending, or the next to write a row sends this one too.
        let Some(mut position) = ProgressFile::take(&place(directory, text), false).ok().flatten() else {
            continue;
        };
        let after = position.progress.row.unwrap_or_else(|| beginning(store, row));
        // Where nobody listens, nothing need be looked up.
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

/// After which row a destination begins that was told nothing yet: before this one, and before those that others wrote
/// a moment ago, who may have come later to what is remembered.
fn beginning(store: &Store, row: i64) -> i64 {
    const RECENT: SignedDuration = SignedDuration::from_secs(10);
    let since = Timestamp::now().checked_sub(RECENT).unwrap_or(Timestamp::MIN);
    let earliest = row.saturating_sub(i64::try_from(AT_ONCE / 2).unwrap_or(0)).max(1);
    let recent = |row: &i64| store.entry(*row).is_ok_and(|entry| entry.time >= since);
    (earliest..row).rev().take_while(recent).last().unwrap_or(row) - 1
}

/// Why rows were not delivered.
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
    /// What the collector said, or why it cannot be reached: this text is kept in the position.
    #[error("{0}")]
    NotTaken(String),
}

/// Whether somebody listens at a socket of this machine; elsewhere only sending shows.
fn reach(destination: &Destination) -> Result<(), DeliveryError> {
    match destination {
        Destination::Journald(socket) | Destination::SyslogUnix(socket) => {
            collector::unix(socket).map(drop).map_err(|error| DeliveryError::At { path: socket.clone(), error })
        }
        _ => Ok(()),
    }
}

/// Where is remembered what a destination was told.
fn place(directory: &Path, text: &str) -> PathBuf {
    let digest = Sha256::digest(text.as_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    directory.join("export").join(format!("{name}.position"))
}

/// Sends so many rows after one. Whether all was taken that was there, and why not.
fn part(
    store: &Store,
    destination: &Destination,
    position: &mut ProgressFile,
    after: i64,
    most: usize,
) -> Result<bool, DeliveryError> {
    let mut told = position.progress.clone();
    let newest = store.head()?.map_or(0, |head| head.row);
    // A record that ends before what was sent is another one.
    let after = if after > newest { 0 } else { after };
    // What was pruned goes unasked: it may be a great deal.
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

/// What became of rows that were sent.
#[derive(Default)]
struct DeliveryResult {
    /// How many were taken, from the first on.
    taken: usize,
    /// Why the next was not.
    failed: Option<String>,
    /// How many of those that were taken the collector says that it does not keep.
    rejected: u64,
}

impl DeliveryResult {
    fn failed(taken: usize, why: impl ToString) -> Self {
        Self { taken, failed: Some(why.to_string()), rejected: 0 }
    }
}

/// Sends rows in their order.
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

/// How many log records a collector of OpenTelemetry did not keep, by its answer. They are not to be sent again.
fn rejected(body: &str) -> u64 {
    let json = body.find('{').zip(body.rfind('}')).and_then(|(from, to)| body.get(from..=to));
    let answer: Option<serde_json::Value> = json.and_then(|json| serde_json::from_str(json).ok());
    let count = answer.and_then(|answer| answer.pointer("/partialSuccess/rejectedLogRecords").cloned());
    // OTLP writes whole numbers of 64 bits as strings.
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
            // No later attempt would be any better, and the rows behind it must not wait for ever.
            Err(error) if collector::is_too_long(&error) => rejected += 1,
            Err(error) => return DeliveryResult { rejected, ..DeliveryResult::failed(taken, error) },
        }
    }
    DeliveryResult { taken: entries.len(), failed: None, rejected }
}

/// Sends what was not sent yet, to one collector or to all that the configuration names; and goes on, if that is
/// wanted.
///
/// # Errors
/// There is none, or the record cannot be read.
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

/// Sends all rows that one collector was not sent.
fn all(engine: &Engine, name: &str, destination: &Destination, begin: Option<i64>) -> Result<(), DeliveryError> {
    let path = place(engine.paths()?.directory(), name);
    let mut begin = begin;
    loop {
        // Opened for each part: who keeps the record open slows down everybody who writes.
        let Some(store) = engine.existing()? else { return Ok(()) };
        let position =
            ProgressFile::take(&path, true).map_err(|error| DeliveryError::At { path: path.clone(), error })?;
        let Some(mut position) = position else { return Ok(()) };
        let after = match (begin.take(), position.progress.row) {
            (Some(row), _) | (None, Some(row)) => row,
            // One that is new begins with what is written from now on.
            (None, None) => store.head()?.map_or(0, |head| head.row),
        };
        if part(&store, destination, &mut position, after, TOGETHER)? {
            return Ok(());
        }
    }
}

/// How far a collector was told.
pub(in crate::app) struct DeliveryState {
    /// In one sentence, without its stop.
    pub says: String,
    /// Something keeps the rest from it, or what it has is not what the record has.
    pub trouble: bool,
}

/// How far each collector that the configuration names was told.
///
/// # Errors
/// The record or what is remembered cannot be read.
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

/// Tells how far each collector was sent the record.
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
