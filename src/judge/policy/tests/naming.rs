//! Tests the names of decisions, approvals and refusals in verdicts and in the record.

use super::*;

#[test]
fn a_decision_is_named_as_verdicts_and_the_record_name_it() {
    let decided = |judgment: &Judgment| {
        decide(&line(Origin::Agent, "x"), judgment, &Policy::default(), &SessionState::default(), &[]).name()
    };
    let named = |tier| decided(&judgment(tier));
    assert_eq!((named(Tier::Safe), named(Tier::High)), ("allow", "ask"));
    let mut denied = finding("a.rule", Tier::Low);
    denied.deny = true;
    assert_eq!(decided(&of(vec![denied])), "deny");
}

#[test]
fn who_settled_it_is_named_for_the_record() {
    for (basis, provenance, name) in [
        (ApprovalReason::Score, "rule", "score"),
        (ApprovalReason::Grant(GrantId::Stored(1)), "rule", "grant"),
        (ApprovalReason::Support, "rule", "support"),
        (ApprovalReason::ModeOff, "rule", "mode-off"),
        (ApprovalReason::Parent(1), "human", "above"),
        (ApprovalReason::YesInAdvance, "human", "yes"),
        (ApprovalReason::Person, "human", "person"),
        (ApprovalReason::Host, "human", "host"),
        (ApprovalReason::Reviewer { by: "m".to_owned(), with: Vec::new() }, "llm", "reviewer"),
        (ApprovalReason::Reviewer { by: "m".to_owned(), with: vec!["a.b".to_owned()] }, "hybrid", "reviewer"),
    ] {
        assert_eq!((basis.provenance(), basis.name()), (provenance, name));
    }
}

#[test]
fn each_refusal_has_its_kind_and_says_what_happened() {
    let why = || "x y".to_owned();
    let unanswered = |late, so_far: Option<&str>| Refusal::Unanswered {
        request: "w4f7".to_owned(),
        seconds: 30,
        so_far: so_far.map(str::to_owned),
        late,
        call: false,
    };
    let call = Refusal::Unanswered { request: "w4f7".to_owned(), seconds: 30, late: true, so_far: None, call: true };
    let said = "timed out: nobody answered request w4f7 within 30 s; once a person approves it (guard approve w4f7), the same call \
                runs once";
    assert_eq!(call.to_string(), said);
    for (refusal, kind, says) in [
        (Refusal::Rule { rule: "a.b".to_owned(), reason: why() }, "rule", "denied by rule a.b: x y"),
        (Refusal::Person { words: Some(why()) }, "person", "denied by a person: x y"),
        (Refusal::Person { words: None }, "person", "denied by a person"),
        (Refusal::Reviewer { by: "m".to_owned(), reason: why() }, "reviewer", "denied by the reviewer (m): x y"),
        (Refusal::Timeout { seconds: 30 }, "timeout", "timed out: nobody answered within 30 s"),
        (unanswered(false, None), "timeout", "timed out: nobody answered request w4f7 within 30 s"),
        (unanswered(true, Some("1 of 2")), "timeout", "timed out: request w4f7 had 1 of 2 within 30 s"),
        (
            Refusal::Crowded { waiting: 9 },
            "rate-limit",
            "rate limited: 9 requests of this session are already waiting; nobody was asked",
        ),
        (
            Refusal::RateLimited { per_hour: 10 },
            "rate-limit",
            "rate limited: 10 prompts in the last hour; nobody was asked",
        ),
        (
            Refusal::Breaker { denials: 3 },
            "breaker",
            "refused without asking: 3 denials in a row; a person must resume this session",
        ),
        (Refusal::NoOne { why: why() }, "no-one-to-ask", "no one to ask: x y"),
        (Refusal::Unrecorded { why: why() }, "unrecorded", "could not be recorded: x y"),
        (Refusal::Changed { what: why() }, "changed", "changed after it was approved: x y"),
        (Refusal::Unsigned { why: why() }, "unsigned", "not signed by an approver: x y"),
        (Refusal::Attempt { why: why() }, "attempt", "only a person at a terminal may do this: x y"),
        (Refusal::Unjudged { why: why() }, "unjudged", "not judged: x y"),
    ] {
        assert_eq!((refusal.kind(), refusal.to_string().as_str()), (kind, says));
    }
    let late = unanswered(true, None).to_string();
    assert!(late.contains("guard approve w4f7") && late.ends_with("runs once"), "{late}");
    let edited = Refusal::Edited { row: 5 };
    assert_eq!(edited.kind(), "edited");
    assert!(edited.to_string().contains("row 5 of the record"), "{edited}");
}
