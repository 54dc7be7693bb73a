//! Tests what is recorded about a decision, and what is printed about a refusal.

use super::*;
use crate::judge::policy::ApprovalReason;
use crate::judge::risk::{Finding, Reversibility, Risk, Tier};
use crate::judge::syntax::tree::Span;
use crate::store::RecordedDecision;

#[test]
fn the_time_of_an_answer_is_kept_only_where_somebody_had_it() {
    let why = || "nobody".to_owned();
    for (refusal, answer) in [
        (Refusal::Person { words: Some("no".to_owned()) }, Some(1500)),
        (Refusal::Timeout { seconds: 1 }, Some(1500)),
        (Refusal::Unsigned { why: why() }, Some(1500)),
        (Refusal::NoOne { why: why() }, None),
        (Refusal::Unrecorded { why: why() }, None),
    ] {
        let home = Home::of(Origin::Agent);
        let engine = home.engine();
        let code = home.answered(&engine, &FLAGGED, no(refusal.clone()), || ()).unwrap_err();
        let row = home.row();
        assert_eq!((code, row.answer_ms), (exit::REFUSED, answer), "{refusal:?}");
        assert_eq!(row.decision.as_deref(), Some("deny"));
        assert!(row.review.is_some());
    }
}

#[test]
fn what_waits_in_the_queue_is_not_written_down_as_a_run() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let queued = |_: &Invocation, _: &Judgment| AskOutcome::Queued { request: "k3".to_owned() };
    assert_eq!(home.answered(&engine, &FLAGGED, queued, || ()).unwrap_err(), exit::QUEUED);
    assert!(home.rows().is_empty());
}

#[test]
fn what_a_reviewer_let_run_is_written_down_with_its_opinion_and_waited_for() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let let_run = |invocation: &Invocation, judgment: &Judgment| {
        AskOutcome::Reviewed(Box::new(Approved::in_advance(invocation.clone(), judgment, PriorApproval::Host)))
    };
    let ready = home.answered(&engine, &FLAGGED, let_run, || ()).unwrap();
    assert!(ready.asked);
    let row = home.row();
    assert_eq!(row.decision.as_deref(), Some("allow"));
    assert!(row.review.is_some());
    assert_eq!(row.answer_ms, None);
    let home = Home::of(Origin::Agent).without_record();
    assert_eq!(home.answered(&home.engine(), &FLAGGED, let_run, || ()).unwrap_err(), exit::REFUSED);
}

#[test]
fn a_record_of_what_is_flagged_leaves_out_what_is_not() {
    let home =
        Home::under(Policy { record: crate::judge::policy::Record::Flagged, ..Policy::default() }, Origin::Agent);
    let engine = home.engine();
    assert_eq!(authorized(&engine, argv(&engine, &["ls"]), PLAIN).unwrap().receipt, Receipt::Unrecorded);
    assert!(home.rows().is_empty());
    assert!(home.answered(&engine, &FLAGGED, yes, || ()).is_ok());
    assert!(home.answered(&engine, &["ls"], no(Refusal::Person { words: None }), || ()).is_err());
    assert_eq!(home.rows().len(), 2);
    let invocation = argv(&engine, &["ls"]);
    let settled = || RecordedDecision::Allowed(&ApprovalReason::Score);
    let written = |risk| {
        let judgment = Judgment { risk, ..engine.judge(&invocation).judgment };
        let digest = invocation.digest(&judgment.facts.expanded);
        intent::record(&engine, &invocation, &judgment, digest, settled(), &RowDetails::default()).unwrap()
    };
    let found = Finding::plain("a.rule", Tier::Low, Reversibility::Soft, "because", Span::new(0, 1));
    assert_eq!(written(Risk::join(Tier::Low, Vec::new(), Vec::new())), Receipt::Unrecorded);
    assert!(written(Risk::join(Tier::Low, vec![found], Vec::new())).row().is_some(), "a finding of tier 1 is flagged");
    assert!(written(Risk::join(Tier::Medium, Vec::new(), Vec::new())).row().is_some());
    assert_eq!(intent::milliseconds(Duration::from_secs(2)), 2000);
}

#[test]
fn a_refusal_tells_the_risk_and_the_reviewers_trouble_to_those_who_have_not_seen_them() {
    let person = Refusal::Person { words: None };
    let nobody = Refusal::NoOne { why: "nobody".to_owned() };
    assert!(knows_the_risk(Origin::Cli, &person));
    assert!(!knows_the_risk(Origin::Agent, &person) && !knows_the_risk(Origin::Cli, &nobody));
    let silent = Opinion::nothing("a model", "no answer");
    assert!(kept_from_deciding(&silent, &nobody));
    assert!(!kept_from_deciding(&silent, &person) && !kept_from_deciding(&opinion(), &nobody));
}

#[test]
fn the_row_names_the_guard_that_waits_for_the_command_and_no_other() {
    let process = Caller::unique_name().unwrap();
    let waits = |home: &Home| home.engine().store().unwrap().own().unwrap().waited_for(&process).unwrap();
    for watched in [true, false] {
        let home = Home::of(Origin::Agent);
        let engine = home.engine();
        authorized(&engine, argv(&engine, &["ls"]), RunOptions { watched, ..PLAIN }).unwrap();
        assert_eq!(waits(&home), watched.then(|| home.row().id));
    }
    let let_run = |invocation: &Invocation, judgment: &Judgment| {
        AskOutcome::Reviewed(Box::new(Approved::in_advance(invocation.clone(), judgment, PriorApproval::Host)))
    };
    let home = Home::of(Origin::Agent);
    home.answered(&home.engine(), &FLAGGED, yes, || ()).unwrap();
    assert_eq!(waits(&home), Some(home.row().id));
    let home = Home::of(Origin::Agent);
    home.answered(&home.engine(), &FLAGGED, let_run, || ()).unwrap();
    assert_eq!(waits(&home), Some(home.row().id));
}

#[test]
fn the_row_holds_what_the_command_changes() {
    let changed =
        |home: &Home| !home.engine().store().unwrap().own().unwrap().ledger("s", "ada").unwrap().entries.is_empty();
    for (words, changes) in [(&["touch", "a"], true), (&["ls", "a"], false)] {
        let home = Home::of(Origin::Agent);
        let engine = home.engine();
        authorized(&engine, argv(&engine, words), PLAIN).unwrap();
        assert_eq!(changed(&home), changes, "{words:?}");
    }
    let home = handed("touch a");
    let engine = home.engine();
    assert!(!changed(&home));
    let invocation = line(&engine, "touch a");
    let judgment = engine.judge(&invocation).judgment;
    assert!(by_host(&engine, &invocation, &judgment).is_some());
    assert!(changed(&home));
}
