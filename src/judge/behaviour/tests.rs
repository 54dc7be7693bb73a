use super::*;
use crate::judge::testing::{finding, of};

fn facts(notes: &[SessionNote], tier: Tier, standing: &SessionState) -> Vec<(Fact, i32)> {
    let mut one = finding("a.rule", tier);
    one.notes = notes.to_vec();
    let risk = weigh(of(vec![one]).risk, standing, &Policy::default());
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
    let denied = |rules: &[(&str, u32)]| SessionState {
        denied_rules: rules.iter().map(|(rule, times)| ((*rule).to_owned(), *times)).collect(),
        ..SessionState::default()
    };
    assert_eq!(facts(&[], Tier::Medium, &denied(&[("a.rule", 3)])), [(Fact::AskedAgain, 150)]);
    assert_eq!(facts(&[], Tier::Medium, &denied(&[("another.rule", 3)])), []);
    assert_eq!(facts(&[], Tier::Low, &denied(&[("a.rule", 3)])), [], "a finding of tier 1 was not what was denied");
    let risk = of(vec![finding("a.rule", Tier::Medium), finding("b.rule", Tier::High)]).risk;
    let risk = weigh(risk, &denied(&[("a.rule", 1), ("b.rule", 2)]), &Policy::default());
    assert_eq!(risk.context[0].detail.as_deref(), Some("b.rule"));
    assert_eq!(risk.context[0].weight.0, 100);
}

#[test]
fn a_weight_that_the_policy_leaves_out_adds_nothing() {
    let policy = Policy { weights: std::collections::BTreeMap::new(), ..Policy::default() };
    let risk = weigh(of(vec![finding("a.rule", Tier::High)]).risk, &after_secrets(), &policy);
    assert!(risk.context.is_empty());
}
