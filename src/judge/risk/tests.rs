use super::*;
use crate::judge::rules::model::SessionNote;
use crate::judge::testing::finding;

fn circumstance(fact: CircumstanceFact, weight: i32) -> Circumstance {
    Circumstance { fact, weight: Weight(weight), detail: None }
}

#[test]
fn a_risk_is_the_highest_tier_the_highest_weight_and_the_least_reversible() {
    let mut heavy = finding("heavy", Tier::Low);
    heavy.weight = Weight(250);
    let mut lasting = finding("lasting", Tier::Medium);
    lasting.reversibility = Reversibility::Hard;
    let risk = Risk::join(Tier::Safe, vec![heavy, lasting, finding("high", Tier::High)], Vec::new());
    assert_eq!((risk.tier, risk.score, risk.reversibility), (Tier::High, Weight(300), Reversibility::Hard));
    assert_eq!(risk.findings.len(), 3);
}

#[test]
fn without_findings_the_programs_own_tier_stands() {
    let read = Risk::join(Tier::Safe, Vec::new(), Vec::new());
    assert_eq!((read.tier, read.score, read.reversibility), (Tier::Safe, Weight(0), Reversibility::ReadOnly));
    let low = Risk::join(Tier::Low, Vec::new(), Vec::new());
    assert_eq!((low.tier, low.score, low.reversibility), (Tier::Low, Weight(100), Reversibility::Soft));
    let raised = Risk::join(Tier::Medium, vec![finding("note", Tier::Safe)], Vec::new());
    assert_eq!((raised.tier, raised.score), (Tier::Medium, Weight(200)));
}

#[test]
fn circumstances_add_up_and_are_kept() {
    let context = vec![circumstance(CircumstanceFact::Root, 50), circumstance(CircumstanceFact::Ssh, 25)];
    let risk = Risk::join(Tier::Low, vec![finding("a", Tier::Medium)], context);
    assert_eq!((risk.tier, risk.score, risk.context.len()), (Tier::Medium, Weight(275), 2));
}

#[test]
fn a_trusted_directory_takes_away_from_tier_2_and_below_and_never_below_nothing() {
    let trusted = |tier, weight| {
        let context = vec![circumstance(CircumstanceFact::TrustedDirectory, weight)];
        let risk = Risk::join(Tier::Safe, vec![finding("a", tier)], context);
        (risk.score.0, risk.context.len())
    };
    assert_eq!(trusted(Tier::Medium, -50), (150, 1));
    assert_eq!(trusted(Tier::Low, -150), (0, 1));
    assert_eq!(trusted(Tier::High, -50), (300, 0));
    assert_eq!(trusted(Tier::Critical, -50), (400, 0));
}

#[test]
fn a_change_of_production_is_of_tier_2_at_least() {
    let under = |tier, weight| {
        let mut one = finding("a", tier);
        one.weight = Weight(weight);
        let risk = Risk::join(Tier::Safe, vec![one], vec![circumstance(CircumstanceFact::Production, 100)]);
        (risk.tier, risk.score.0)
    };
    assert_eq!(under(Tier::Safe, 0), (Tier::Safe, 100));
    assert_eq!(under(Tier::Low, 100), (Tier::Medium, 300));
    assert_eq!(under(Tier::Low, 250), (Tier::Medium, 350));
    assert_eq!(under(Tier::Medium, 150), (Tier::Medium, 250));
    assert_eq!(under(Tier::High, 300), (Tier::High, 400));
}

#[test]
fn adding_a_finding_or_a_circumstance_lowers_nothing() {
    let all = |tier| {
        let risk = Risk::join(Tier::Low, vec![finding("a", Tier::Medium), finding("b", tier)], Vec::new());
        (risk.tier, risk.score, risk.reversibility)
    };
    let alone = Risk::join(Tier::Low, vec![finding("a", Tier::Medium)], Vec::new());
    for tier in Tier::ALL {
        let (joined, score, reversibility) = all(tier);
        assert!(joined >= alone.tier && score >= alone.score && reversibility >= alone.reversibility, "{tier:?}");
    }
}

#[test]
fn a_probe_is_what_finds_nothing_but_the_doctors_own_words() {
    let of = |rules: &[&str]| {
        Risk::join(Tier::Low, rules.iter().map(|rule| finding(rule, Tier::Medium)).collect(), Vec::new()).is_probe()
    };
    assert!(of(&["guard.canary"]));
    assert!(of(&["guard.canary", "guard.canary-ask"]));
    assert!(!of(&[]));
    assert!(!of(&["guard.config"]));
    assert!(!of(&["guard.canary", "effects.delete-file"]));
}

#[test]
fn one_finding_that_a_person_decides_makes_the_whole_a_decision() {
    let plain = || finding("a.rule", Tier::Medium);
    let decided = || Finding { notes: vec![SessionNote::Decision], ..plain() };
    assert!(decided().is_decision() && !plain().is_decision());
    let of = |findings| Risk::join(Tier::Low, findings, Vec::new());
    assert!(!of(vec![plain()]).is_decision());
    assert!(of(vec![plain(), decided()]).is_decision());
}

#[test]
fn what_was_lowered_says_why_nothing_is_lost() {
    let plain = Finding::plain("a.b", Tier::High, Reversibility::Irreversible, "Deletes it.", Span::new(0, 1));
    assert_eq!(plain.sentence(), "Deletes it.");
    let lowered = Finding { lowered: Some("it can be created again".to_owned()), ..plain };
    assert_eq!(lowered.sentence(), "It can be created again.");
}
