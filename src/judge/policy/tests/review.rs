//! Tests which commands the policy sends to the reviewer below the threshold.

use super::*;
use crate::judge::rules::model::SessionNote;

fn naming(rules: &[&str]) -> Policy {
    Policy { review: rules.iter().map(|&rule| rule.to_owned()).collect(), ..Policy::default() }
}

#[test]
fn a_rule_is_named_for_review_by_its_id_or_by_the_beginning_of_it() {
    let named = |rules: &[&str], rule: &str| naming(rules).names_for_review(rule);
    assert!(!named(&[], "git.push"));
    assert!(named(&["git.push"], "git.push"));
    assert!(!named(&["git.push"], "git.push-force"));
    assert!(named(&["git.*"], "git.push"));
    assert!(!named(&["git.*"], "github.push"));
    assert!(named(&["aws.*", "git.push"], "git.push"));
}

#[test]
fn a_finding_that_is_named_is_sent_unless_guard_is_off_or_a_person_decides_it() {
    let low = of(vec![finding("a.rule", Tier::Low)]).risk;
    let policy = naming(&["a.*"]);
    assert!(is_sent(&low, &policy));
    assert!(!is_sent(&low, &naming(&["another.*"])));
    assert!(!is_sent(&low, &Policy { mode: Mode::Off, ..policy.clone() }));
    let mut decision = finding("a.rule", Tier::Medium);
    decision.notes.push(SessionNote::Decision);
    assert!(!is_sent(&of(vec![decision]).risk, &policy));
}
