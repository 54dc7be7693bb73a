use super::*;
use crate::judge::testing::{finding, of};

fn facts(notes: &[SessionNote], tier: Tier, standing: &SessionState) -> Vec<(Fact, i32)> {
    let mut one = finding("a.rule", tier);
    one.notes = notes.to_vec();
    let risk = weigh(of(vec![one]).risk, standing, &Policy::default(), Path::new("/p"));
    risk.context.iter().map(|circumstance| (circumstance.fact, circumstance.weight.0)).collect()
}

fn after_secrets() -> SessionState {
    SessionState { secrets_read: true, ..SessionState::default() }
}

#[test]
fn plain_work_is_not_held_against_a_session() {
    assert!(!concerns(&of(Vec::new()).risk));
    assert!(!concerns(&of(vec![finding("a.rule", Tier::Low)]).risk));
    assert!(concerns(&of(vec![finding("a.rule", Tier::Medium)]).risk));
    let mut noted = finding("a.rule", Tier::Low);
    noted.notes = vec![SessionNote::Egress];
    assert!(concerns(&of(vec![noted]).risk));
    assert_eq!(facts(&[], Tier::Low, &after_secrets()), []);
}

#[test]
fn what_is_sent_after_a_secret_was_read_weighs_more() {
    assert_eq!(facts(&[], Tier::Medium, &after_secrets()), [(Fact::SecretsRead, 100)]);
    assert_eq!(
        facts(&[SessionNote::Egress], Tier::Medium, &after_secrets()),
        [(Fact::SecretsRead, 100), (Fact::EgressAfterSecrets, 150)]
    );
    assert_eq!(facts(&[SessionNote::Egress], Tier::Medium, &SessionState::default()), []);
}

#[test]
fn acting_on_others_weighs_by_itself() {
    for (note, fact, weight) in [
        (SessionNote::OtherAgent, Fact::OtherAgent, 150),
        (SessionNote::OwnInstructions, Fact::OwnInstructions, 150),
        (SessionNote::People, Fact::OtherPeople, 50),
    ] {
        assert_eq!(facts(&[note], Tier::Medium, &SessionState::default()), [(fact, weight)]);
    }
    assert_eq!(facts(&[SessionNote::SecretRead, SessionNote::Money], Tier::Medium, &SessionState::default()), []);
}

#[test]
fn asking_again_weighs_once_for_each_denial_of_the_rule_denied_most() {
    let one = |rule: &str| DeniedCommand { cwd: "/p".to_owned(), findings: vec![(rule.to_owned(), Vec::new())] };
    let denied = |rules: &[(&str, usize)]| SessionState {
        denied: rules.iter().flat_map(|(rule, times)| vec![one(rule); *times]).collect(),
        ..SessionState::default()
    };
    assert_eq!(facts(&[], Tier::Medium, &denied(&[("a.rule", 3)])), [(Fact::AskedAgain, 150)]);
    assert_eq!(facts(&[], Tier::Medium, &denied(&[("another.rule", 3)])), []);
    assert_eq!(facts(&[], Tier::Low, &denied(&[("a.rule", 3)])), [], "a finding of tier 1 was not what was denied");
    let risk = of(vec![finding("a.rule", Tier::Medium), finding("b.rule", Tier::High)]).risk;
    let risk = weigh(risk, &denied(&[("a.rule", 1), ("b.rule", 2)]), &Policy::default(), Path::new("/p"));
    assert_eq!(risk.context[0].detail.as_deref(), Some("b.rule"));
    assert_eq!(risk.context[0].weight.0, 100);
}

#[test]
fn asking_again_is_for_the_same_targets_in_any_spelling() {
    let words = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let weight = |before: &[&str], cwd: &str, now: &[&str]| {
        let denied = DeniedCommand { cwd: "/p".to_owned(), findings: vec![("a.rule".to_owned(), words(before))] };
        let standing = SessionState { denied: vec![denied], ..SessionState::default() };
        let mut one = finding("a.rule", Tier::High);
        one.touches = words(now);
        let risk = weigh(of(vec![one]).risk, &standing, &Policy::default(), Path::new(cwd));
        risk.context.iter().map(|circumstance| circumstance.weight.0).collect::<Vec<_>>()
    };
    for (before, cwd, now) in [
        (&["d1"][..], "/p", &["d1"][..]),
        (&["d1"], "/p", &["./d1/"]),
        (&["d1"], "/p", &["/p/d1"]),
        (&["d1"], "/p/sub", &["../d1"]),
        (&["a", "b"], "/p", &["b"]),
        (&["b"], "/p", &["b", "a"]),
        (&[], "/p", &["b"]),
    ] {
        assert_eq!(weight(before, cwd, now), [50], "{before:?} {cwd} {now:?}");
    }
    for (before, cwd, now) in
        [(&["d1"][..], "/p", &["f2"][..]), (&["d1"], "/q", &["d1"]), (&["origin", "a"], "/p", &["origin", "b"])]
    {
        assert_eq!(weight(before, cwd, now), [0], "{before:?} {cwd} {now:?}");
    }
}

#[test]
fn a_weight_that_the_policy_leaves_out_adds_nothing() {
    let policy = Policy { weights: std::collections::BTreeMap::new(), ..Policy::default() };
    let risk = weigh(of(vec![finding("a.rule", Tier::High)]).risk, &after_secrets(), &policy, Path::new("/p"));
    assert!(risk.context.is_empty());
}
