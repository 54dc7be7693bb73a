//! Tests which grant covers a command.

use super::*;

#[test]
fn grants_are_looked_up_exact_then_shape_then_rule_then_session() {
    let judged = judgment(Tier::Medium);
    let mut grants = every_grant();
    grants.reverse();
    for id in 1..=4 {
        let decision =
            decide(&argv(Origin::Agent, &WORDS), &judged, &Policy::default(), &SessionState::default(), &grants);
        assert_eq!(ran(&decision), Some(&ApprovalReason::Grant(GrantId::Stored(id))));
        grants.pop();
    }
    assert!(asks(&plainly(&judged)));
}

#[test]
fn a_grant_covers_what_it_says_and_nothing_beside_it() {
    let covers = |what: GrantSubject, judged: &Judgment| {
        let grants = [grant(1, what)];
        let decision =
            decide(&argv(Origin::Agent, &WORDS), judged, &Policy::default(), &SessionState::default(), &grants);
        ran(&decision).is_some()
    };
    let exact = |command: &str| GrantSubject::Exact { command: command.to_owned() };
    let shape = |shape: &str| GrantSubject::Shape(ShapeScope::plain(shape));
    let rule = |rule: &str| GrantSubject::Rule { rule: rule.to_owned() };
    let high = judgment(Tier::High);
    assert!(covers(exact("git push --force"), &high));
    assert!(!covers(exact("git push --force origin"), &high));
    assert!(covers(shape("git push --force [a.rule]"), &high));
    assert!(!covers(shape("git push --force [another.rule]"), &high));
    assert!(!covers(shape("git push"), &high));
    assert!(!covers(shape("git push --force [a.rule]"), &Judgment { shape: None, ..high.clone() }));
    // An old grant does not contain the rules for which it was given.
    assert!(!covers(shape("git push --force"), &high));
    assert!(covers(shape("git push --force"), &judgment(Tier::Medium)));
    let two = of(vec![finding("a.rule", Tier::High), finding("another.rule", Tier::Medium)]);
    assert!(!covers(shape("git push --force [a.rule]"), &two), "another finding voids it");
    for (place, covered) in [("/home/ada/project/a", true), ("/home/ada/projects", false), ("/bin/bash", false)] {
        let reach = Reach { cwd: Some("/home/ada/project".to_owned()), places: vec![Some(place.to_owned())] };
        assert_eq!(covers(shape("git push --force [a.rule]"), &Judgment { reach, ..high.clone() }), covered, "{place}");
    }
    let unknown = Reach { cwd: Some("/home/ada/project".to_owned()), places: vec![None] };
    assert!(!covers(shape("git push --force [a.rule]"), &Judgment { reach: unknown, ..high.clone() }));

    assert!(covers(rule("a.rule"), &high));
    assert!(!covers(rule("another.rule"), &high));
    let second = |tier| of(vec![finding("a.rule", Tier::High), finding("another.rule", tier)]);
    assert!(covers(rule("a.rule"), &second(Tier::Low)), "a note of tier 1 is no second finding");
    assert!(!covers(rule("a.rule"), &second(Tier::Medium)));

    for (tier, granted, held) in [
        (Tier::Medium, Tier::Medium, true),
        (Tier::Medium, Tier::Low, false),
        (Tier::High, Tier::High, false),
        (Tier::High, Tier::Critical, false),
    ] {
        assert_eq!(covers(GrantSubject::UpTo { tier: granted }, &judgment(tier)), held, "{tier:?} {granted:?}");
    }
}

#[test]
fn a_rule_grant_needs_a_finding_that_it_covers() {
    let judged =
        Judgment { risk: Risk { score: Weight(300), ..Risk::default() }, may_grant: true, ..Judgment::default() };
    let grants = [grant(1, GrantSubject::Rule { rule: "a.rule".to_owned() })];
    let decision = decide(&argv(Origin::Agent, &WORDS), &judged, &Policy::default(), &SessionState::default(), &grants);
    assert!(asks(&decision));
}

#[test]
fn no_grant_covers_what_none_may_cover_or_another_place() {
    let not_grantable = Judgment { may_grant: false, ..judgment(Tier::High) };
    for one in every_grant() {
        for judged in [&not_grantable, &judgment(Tier::Critical)] {
            let grants = [one.clone()];
            let decision =
                decide(&argv(Origin::Agent, &WORDS), judged, &Policy::default(), &SessionState::default(), &grants);
            assert!(asks(&decision), "{:?}", grants[0].what);
        }
        let elsewhere = [Grant { place: GrantPlace::Directory { path: "/home/ada/other".to_owned() }, ..one }];
        let judged = judgment(Tier::Medium);
        let decision =
            decide(&argv(Origin::Agent, &WORDS), &judged, &Policy::default(), &SessionState::default(), &elsewhere);
        assert!(asks(&decision), "{:?}", elsewhere[0].what);
    }
}

#[test]
fn a_trusted_session_is_not_trusted_with_production_or_with_what_it_does_to_others() {
    use CircumstanceFact as Fact;
    let grants = [grant(1, GrantSubject::UpTo { tier: Tier::Medium })];
    for (fact, held) in [
        (Fact::Root, true),
        (Fact::Ssh, true),
        (Fact::OutsideProject, true),
        (Fact::ProtectedBranch, true),
        (Fact::Disguise, true),
        (Fact::Production, false),
        (Fact::SecretsRead, false),
        (Fact::EgressAfterSecrets, false),
        (Fact::OtherAgent, false),
        (Fact::OwnInstructions, false),
        (Fact::OtherPeople, false),
        (Fact::AskedAgain, false),
    ] {
        let judged = in_context(judgment(Tier::Medium), fact);
        let decision =
            decide(&argv(Origin::Agent, &WORDS), &judged, &Policy::default(), &SessionState::default(), &grants);
        assert_eq!(ran(&decision).is_some(), held, "{fact:?}");
    }
}

#[test]
fn a_grant_that_names_no_rules_covers_its_shape_alone_and_no_script() {
    let written = |shape: &str, judged: &Judgment| {
        let id = GrantId::Configured("[[grant]] 1".to_owned());
        let grants = [Grant { id, ..grant(1, GrantSubject::Shape(ShapeScope::plain(shape))) }];
        let decision =
            decide(&argv(Origin::Agent, &WORDS), judged, &Policy::default(), &SessionState::default(), &grants);
        ran(&decision).is_some()
    };
    let high = judgment(Tier::High);
    assert!(written("git push --force", &high), "one that a person wrote says what it is for");
    assert!(!written("git push", &high));
    let script = Judgment { bound_to: vec!["a digest".to_owned()], ..high };
    assert!(!written("git push --force", &script));
}
