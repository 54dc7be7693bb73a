use super::super::sample::{Sample, invocation, risk};
use super::*;
use crate::judge::risk::{Circumstance, CircumstanceFact, Risk, Weight};
use crate::store::entries::MAX_FINDINGS;

#[test]
fn an_intent_and_its_result_make_a_whole_chain() {
    let sample = Sample::new();
    let row =
        sample.decide("r", 1_800_000_000, &Risk::default(), RecordedDecision::Allowed(&ApprovalReason::Score), None);
    let outcome = CommandResult { end: ExitStatus::Signal(15), duration_ms: 12 };
    sample.store.result(&Receipt::Recorded(row), &outcome, Timestamp::from_second(1_800_000_001).unwrap()).unwrap();
    let audit = sample.store.verify().unwrap();
    assert_eq!((audit.rows, audit.faults.len()), (2, 0));
    let entry = sample.store.entry(row).unwrap();
    assert_eq!(entry.result.unwrap().end(), Some(ExitStatus::Signal(15)));
    assert_eq!((entry.decision.as_deref(), entry.settled_by.as_deref()), (Some("allow"), Some("score")));
}

#[test]
fn a_result_without_an_intent_in_the_record_is_not_written() {
    let sample = Sample::new();
    let outcome = CommandResult { end: ExitStatus::Exit(0), duration_ms: 1 };
    sample.store.result(&Receipt::Unrecorded, &outcome, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(sample.store.head().unwrap(), None);
}

#[test]
fn a_secret_is_in_no_file_of_the_record_wherever_it_stood() {
    // The second one is recognised only beside the option.
    ["ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", "plainhunter"].into_iter().for_each(is_in_no_file);
}

fn is_in_no_file(secret: &str) {
    let sample = Sample::new();
    let mut risk = risk("x.y", Tier::High, &[]);
    risk.findings[0].touches = vec![format!("https://ada:{secret}@example.com/"), secret.to_owned()];
    risk.findings[0].reason = format!("Reads {secret}.");
    risk.context = vec![Circumstance {
        fact: CircumstanceFact::Production,
        weight: Weight(100),
        detail: Some(format!("TOKEN={secret}")),
    }];
    let invocation = invocation(&["tool", "--token", secret], "r");
    let words = format!("use {secret} instead");
    let refusal = Refusal::Person { words: Some(words) };
    let digest = invocation.digest(&std::collections::BTreeSet::new());
    let row = IntentRow::plain(Timestamp::UNIX_EPOCH, &invocation, digest, &risk, RecordedDecision::Refused(&refusal));
    let receipt = sample.store.intent(&row).unwrap();
    let entry = sample.store.entry(receipt.row().unwrap()).unwrap();
    assert_eq!((entry.command.as_deref(), entry.redacted), (Some("tool --token ***"), true));
    drop(sample.store);
    for file in std::fs::read_dir(sample.directory.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[test]
fn the_same_command_has_the_same_digest_here_and_another_elsewhere() {
    let digest = |sample: &Sample| {
        let row = sample.decide("r", 1, &Risk::default(), RecordedDecision::Allowed(&ApprovalReason::Score), None);
        sample.store.entry(row).unwrap().digest.unwrap()
    };
    let (here, there) = (Sample::new(), Sample::new());
    assert_eq!(digest(&here), digest(&here));
    assert_ne!(digest(&here), digest(&there));
    let plain = invocation(&["tool", "x"], "r").digest(&std::collections::BTreeSet::new()).to_string();
    assert_ne!(digest(&here), plain);
}

#[test]
fn a_long_list_of_findings_is_cut_from_its_harmless_end_and_says_what_it_touched_beyond() {
    let sample = Sample::new();
    let mut many = risk("x.low", Tier::Low, &[]);
    many.tier = Tier::Critical;
    many.findings = vec![many.findings[0].clone(); 200];
    many.findings.extend(risk("x.worst", Tier::Critical, &[]).findings);
    many.findings.iter_mut().for_each(|finding| finding.touches = vec!["a".to_owned(); 100]);
    let refusal = Refusal::Timeout { seconds: 10 };
    let row = sample.decide("r", 1, &many, RecordedDecision::Refused(&refusal), Some(10_000));
    let findings = sample.store.entry(row).unwrap().findings;
    assert_eq!((findings.len(), findings[0].rule.as_str()), (MAX_FINDINGS, "x.worst"));
    assert_eq!((findings[0].touches.len(), findings[0].more_touches), (64, 36));
}
