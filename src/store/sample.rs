//! A record in a temporary directory, and sample rows, for the tests of this package.

use std::collections::BTreeSet;
use std::ffi::OsString;

use jiff::Timestamp;

use super::{IntentRow, Paths, RecordedDecision, Store};
use crate::judge::invocation::{Environment, Invocation, Origin, Request, Session};
use crate::judge::risk::{Finding, Reversibility, Risk, Tier, Weight};
use crate::judge::rules::model::SessionNote;
use crate::judge::syntax::tree::Span;

pub(super) struct Sample {
    pub directory: tempfile::TempDir,
    pub store: Store,
}

impl Sample {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&Paths::new(directory.path())).unwrap();
        Self { directory, store }
    }

    /// Records a decision and returns its row.
    pub fn decide(
        &self,
        root: &str,
        at: i64,
        risk: &Risk,
        settled: RecordedDecision<'_>,
        answer_ms: Option<u64>,
    ) -> i64 {
        let invocation = invocation(&["tool", "x"], root);
        let row = IntentRow { answer_ms, ..row(at, &invocation, risk, settled) };
        self.store.intent(&row).unwrap().row().unwrap()
    }

    /// Runs SQL on the file, like an attacker.
    pub fn tamper(&self, sql: &str) {
        let connection = rusqlite::Connection::open(Paths::new(self.directory.path()).database()).unwrap();
        connection.execute_batch(sql).unwrap();
    }
}

pub(super) fn invocation(words: &[&str], root: &str) -> Invocation {
    Invocation {
        request: Request::Argv(words.iter().map(OsString::from).collect()),
        cwd: "/home/ada/project".into(),
        env: Environment::default(),
        home: Some("/home/ada".into()),
        uid: 1000,
        user: "ada".to_owned(),
        origin: Origin::Agent,
        session: Session { id: "one".to_owned(), root: root.to_owned(), agent: Some("claude".to_owned()) },
    }
}

/// Returns the row of a decision at a time in seconds.
pub(super) fn row<'a>(
    at: i64,
    invocation: &'a Invocation,
    risk: &'a Risk,
    settled: RecordedDecision<'a>,
) -> IntentRow<'a> {
    let at = Timestamp::from_second(at).unwrap();
    IntentRow::plain(at, invocation, invocation.digest(&BTreeSet::new()), risk, settled)
}

/// Returns a risk with one finding.
pub(super) fn risk(rule: &str, tier: Tier, notes: &[SessionNote]) -> Risk {
    let finding = Finding {
        rule: rule.to_owned(),
        tier,
        weight: Weight::of_tier(tier),
        reversibility: Reversibility::Hard,
        reason: "It may hurt.".to_owned(),
        instead: None,
        span: Span::new(0, 4),
        touches: vec!["x".to_owned()],
        deny: false,
        yolo: false,
        reversible: false,
        approvals: 1,
        notes: notes.to_vec(),
        lowered: None,
        act: None,
    };
    Risk { tier, score: Weight::of_tier(tier), findings: vec![finding], ..Risk::default() }
}
