//! Files a pending request like guard does, for the tests of many requests and for the benchmark.

use std::collections::BTreeSet;

use guard_gateway::judge::Judgment;
use guard_gateway::judge::approver::ApprovalNonce;
use guard_gateway::judge::bindings::Bindings;
use guard_gateway::judge::invocation::{Environment, Invocation, Origin, Request, Session};
use guard_gateway::judge::risk::{Risk, Tier, Weight};
use guard_gateway::store::queue::{FilingResult, Justification, NewRequest, Queue};
use jiff::{SignedDuration, Timestamp};

/// Files `npm install pNUMBER` in one of several sessions for ten minutes; this process waits for it.
pub fn file(queue: &Queue, number: usize, session: usize) -> FilingResult {
    let now = Timestamp::now();
    let judgment = Judgment::default();
    let invocation = Invocation {
        request: Request::Argv(vec!["npm".into(), "install".into(), format!("p{number}").into()]),
        cwd: "/".into(),
        env: Environment::default(),
        home: None,
        uid: 1000,
        user: "ada".to_owned(),
        origin: Origin::Agent,
        session: Session { id: format!("s{session}"), root: format!("r{session}"), agent: None },
    };
    let risk = Risk { tier: Tier::Medium, score: Weight(200), ..Risk::default() };
    let new = NewRequest {
        invocation: &invocation,
        digest: &invocation.digest(&BTreeSet::new()),
        risk: &risk,
        bindings: &Bindings::of(&judgment, None),
        fresh: ApprovalNonce::of([7; 16], &invocation, &risk),
        waiter: Some(&format!("{}..", std::process::id())),
        above: Vec::new(),
        expires: now.saturating_add(SignedDuration::from_secs(600)).unwrap(),
        most: 5000,
        approvals: 1,
        decision: false,
        justification: &Justification::default(),
        opinion: None,
        may_grant: false,
        codes_left: 0,
        evidence: &[],
    };
    queue.file(&new, &|_| true, now).unwrap()
}
