//! Tests a record of millions of rows: appending takes as long as to an empty one, and queries read blocks or bisect.
//!
//! `ROWS=10000000 cargo test --release --test promises large_record:: -- --ignored --nocapture` prints the times. The
//! assertions compare bytes and pages, which do not depend on the machine's load.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use guard::judge::invocation::Invocation;
use guard::judge::policy::ApprovalReason;
use guard::judge::risk::{Risk, Tier};
use guard::store::{Filter, IntentRow, Paths, RecordedDecision, Store};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use crate::harness::home::invocation;

/// Fills a record with as many rows as years of work produce. The rows are not chained, because that would take too
/// long.
fn fill(paths: &Paths, rows: u64) {
    drop(Store::open(paths).unwrap().head());
    let connection = Connection::open(paths.database()).unwrap();
    connection.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-200000").unwrap();
    let now = Timestamp::now().as_millisecond();
    connection
        .execute_batch(&format!(
            "INSERT INTO record(id, hash, kind, at, command, digest, cwd, user, session, root, origin, agent, tier, score,
               reversibility, findings, decision, settled, provenance, mark)
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
             SELECT i, randomblob(32), 'intent', {now} - ({rows} - i) * 1000,
               CASE i % 7 WHEN 0 THEN 'git status' WHEN 1 THEN 'cargo test --lib part' || (i % 977)
                 WHEN 2 THEN 'sed -n 1,' || (i % 400) || 'p src/store/rows' || (i % 31) || '.rs'
                 WHEN 3 THEN 'npm run build -- --filter pkg' || (i % 57) ELSE 'grep -rn word' || (i % 5003) || ' src' END,
               randomblob(32), '/home/ada/project' || (i / 100000), 'ada', 'session-' || (i / 2000), 'root-' || (i / 2000),
               'agent', 'claude', CASE WHEN i % 50 = 0 THEN 3 ELSE i % 2 END, 0,
               CASE WHEN i % 50 = 0 THEN 'hard' ELSE 'soft' END,
               CASE WHEN i % 50 = 0 THEN
                 '[{{\"rule\":\"git.push-force\",\"tier\":3,\"weight\":3.0,\"reversibility\":\"hard\",\"reason\":\"It rewrites what others have.\",\"span\":[0,4]}}]'
               END,
               'allow', CASE WHEN i % 50 = 0 THEN 'person' ELSE 'score' END,
               CASE WHEN i % 50 = 0 THEN 'human' ELSE 'rule' END, CASE WHEN i % 50 = 0 THEN 1 END
             FROM n"
        ))
        .unwrap();
    connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(())).unwrap();
}

/// A record to which rows are appended as each new guard process does.
struct Appended<'a> {
    paths: &'a Paths,
    times: Vec<Duration>,
    /// The growth of the log in bytes.
    grown: Vec<u64>,
}

impl<'a> Appended<'a> {
    const fn new(paths: &'a Paths) -> Self {
        Self { paths, times: Vec::new(), grown: Vec::new() }
    }

    fn once(&mut self, invocation: &Invocation) {
        let (risk, settled) = (Risk::default(), RecordedDecision::Allowed(&ApprovalReason::Score));
        let row = IntentRow::plain(Timestamp::now(), invocation, invocation.digest(&BTreeSet::new()), &risk, settled);
        let log = self.paths.directory().join("guard.db-wal");
        let long = || std::fs::metadata(&log).map_or(0, |about| about.len());
        let (before, since) = (long(), Instant::now());
        let _ = Store::open(self.paths).unwrap().intent(&row).unwrap();
        self.times.push(since.elapsed());
        // The log is truncated now and then, so it can shrink.
        self.grown.extend(long().checked_sub(before));
    }

    /// Returns the median time and the median growth.
    fn told(mut self) -> (Duration, u64) {
        self.times.sort_unstable();
        self.grown.sort_unstable();
        (self.times[self.times.len() / 2], self.grown[self.grown.len() / 2])
    }
}

#[test]
#[ignore = "fills a disk and takes minutes"]
fn a_record_of_millions_is_appended_to_as_an_empty_one_and_asked_without_being_read_through() {
    let rows: u64 = std::env::var("ROWS").map_or(10_000_000, |rows| rows.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let (empty, full) = (Paths::new(directory.path().join("empty")), Paths::new(directory.path().join("full")));
    let since = Instant::now();
    fill(&full, rows);
    let size = std::fs::metadata(full.database()).unwrap().len();
    println!("{rows} rows, {} MiB, filled in {:.1?}", size >> 20, since.elapsed());
    // The records take turns, so that other load affects both alike.
    let (mut alone, mut among) = (Appended::new(&empty), Appended::new(&full));
    let command = invocation(&["cargo", "test", "--lib"]);
    for _ in 0..1000 {
        alone.once(&command);
        among.once(&command);
    }
    let ((alone, grown_alone), (among, grown)) = (alone.told(), among.told());
    println!(
        "append, in the middle: {alone:.1?} to an empty record, {among:.1?} to this one; {grown_alone} and {grown} bytes"
    );
    assert!(grown <= grown_alone + 4096 + 24, "{grown} {grown_alone}");

    let store = Store::open(&full).unwrap();
    let text = |text: &str| Filter { text: Some(text.to_owned()), limit: Some(50), ..Filter::default() };
    let old = Timestamp::now() - SignedDuration::from_secs(i64::try_from(rows / 2).unwrap());
    let hour = Filter { since: Some(old), until: Some(old + SignedDuration::from_hours(1)), ..Filter::default() };
    let session = Filter { session: Some(format!("session-{}", rows / 4000)), ..Filter::default() };
    let none = Filter { tiers: Some((Tier::Critical, Tier::Critical)), limit: Some(50), ..Filter::default() };
    let ask = |name: &str, filter: &Filter| {
        let since = Instant::now();
        let found = store.find(filter).unwrap().len();
        println!("{name}: {found} found in {:.1?}", since.elapsed());
        found
    };
    assert_eq!(ask("the newest fifty", &Filter { limit: Some(50), ..Filter::default() }), 50);
    assert_eq!(ask("an hour in the middle", &hour), 3600);
    assert_eq!(ask("words that are nowhere, the first time", &text("frobnicate")), 0);
    assert_eq!(ask("words that are nowhere", &text("frobnicate")), 0);
    assert_eq!(ask("words that are everywhere", &text("git status")), 50);
    assert_eq!(ask("a session in the middle", &session), 2000);
    assert_eq!(ask("a tier that is nowhere", &none), 0);
    let since = Instant::now();
    let week = store.stats(Timestamp::now() - SignedDuration::from_hours(24), &TimeZone::UTC).unwrap();
    println!("the figures of a day: {} commands in {:.1?}", week.commands, since.elapsed());
    let side = std::fs::metadata(full.directory().join("guard.blocks")).unwrap().len();
    println!("side file: {} MiB, {:.1} % of the record", side >> 20, side as f64 * 100.0 / size as f64);
    assert!(side * 10 < size);
}
