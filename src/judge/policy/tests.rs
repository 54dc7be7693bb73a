use super::*;
use crate::judge::Judgment;
use crate::judge::approved::{Grant, GrantExpiry, GrantId, GrantPlace, GrantSubject, ShapeScope};
use crate::judge::invocation::{Invocation, Line, Request};
use crate::judge::reach::Reach;
use crate::judge::risk::{Circumstance, Risk};
use crate::judge::testing::{argv, finding, judgment, line, of};

mod grants;
mod lines;
mod naming;
mod review;

const ALL: [Origin; 5] = [Origin::Cli, Origin::Agent, Origin::Api, Origin::Discord, Origin::Telegram];
const WORDS: [&str; 3] = ["git", "push", "--force"];

/// Returns the decision about this judgment for an agent, without earlier commands and without grants.
fn plainly(judgment: &Judgment) -> Decision {
    decide(&argv(Origin::Agent, &WORDS), judgment, &Policy::default(), &SessionState::default(), &[])
}

fn ran(decision: &Decision) -> Option<&ApprovalReason> {
    match decision {
        Decision::Run(cleared) => Some(cleared.basis()),
        Decision::Ask(_) | Decision::Refuse(_) => None,
    }
}

fn asks(decision: &Decision) -> bool {
    matches!(decision, Decision::Ask(_))
}

fn grant(id: i64, what: GrantSubject) -> Grant {
    let place = GrantPlace::Directory { path: "/home/ada/project".to_owned() };
    Grant { id: GrantId::Stored(id), what, place, until: GrantExpiry::Revoked, given: 0, words: String::new() }
}

fn in_context(judgment: Judgment, fact: CircumstanceFact) -> Judgment {
    let risk = judgment.risk.within(vec![Circumstance { fact, weight: Weight(0), detail: None }]);
    Judgment { risk, ..judgment }
}

/// Returns every grant that could cover the command of these tests.
fn every_grant() -> Vec<Grant> {
    vec![
        grant(1, GrantSubject::Exact { command: "git push --force".to_owned() }),
        grant(2, GrantSubject::Shape(ShapeScope::plain("git push --force [a.rule]"))),
        grant(3, GrantSubject::Rule { rule: "a.rule".to_owned() }),
        grant(4, GrantSubject::UpTo { tier: Tier::Medium }),
    ]
}

fn supporting() -> Policy {
    let support = Support { argv: WORDS.map(str::to_owned).to_vec(), why: "help".to_owned() };
    Policy { support: vec![support], ..Policy::default() }
}

#[test]
fn a_deny_rule_comes_before_everything_that_lets_a_command_run() {
    let mut denied = finding("no.way", Tier::Low);
    denied.deny = true;
    let policy = Policy { mode: Mode::Off, ..supporting() };
    let standing = SessionState { above: Some(ParentApproval { row: 1, tier: Tier::High }), ..SessionState::default() };
    let judged = of(vec![finding("a.rule", Tier::Medium), denied]);
    let decision = decide(&argv(Origin::Cli, &WORDS), &judged, &policy, &standing, &every_grant());
    let refusal = Refusal::Rule { rule: "no.way".to_owned(), reason: "because".to_owned() };
    assert_eq!(decision, Decision::Refuse(refusal));
}

#[test]
fn support_runs_through_every_limit_and_only_as_the_exact_command_of_tier_2_at_most() {
    let exhausted = SessionState { denials_in_a_row: 99, prompts_last_hour: 99, ..SessionState::default() };
    let run = |invocation: &Invocation, judged: &Judgment, policy: &Policy| {
        ran(&decide(invocation, judged, policy, &exhausted, &[])) == Some(&ApprovalReason::Support)
    };
    let policy = supporting();
    for origin in ALL {
        assert!(run(&argv(origin, &WORDS), &judgment(Tier::Medium), &policy), "{origin:?}");
        assert!(!run(&argv(origin, &WORDS), &judgment(Tier::High), &policy), "{origin:?}");
    }
    for words in [&["git", "push"][..], &["git", "push", "--force", "x"], &["git", "push", "--Force"]] {
        assert!(!run(&argv(Origin::Agent, words), &judgment(Tier::Medium), &policy), "{words:?}");
    }
    assert!(!run(&argv(Origin::Agent, &WORDS), &judgment(Tier::Medium), &Policy::default()));
    // A number of approvers for the tier does not apply to a support command; one of a rule does.
    let two = Policy { approvals: Approvals { medium: 2, high: 2, critical: 2 }, ..supporting() };
    assert!(run(&argv(Origin::Agent, &WORDS), &judgment(Tier::Medium), &two));
    let mut ruled = finding("a.rule", Tier::Medium);
    ruled.approvals = 2;
    assert!(!run(&argv(Origin::Agent, &WORDS), &of(vec![ruled]), &policy));
}

#[test]
fn a_decision_waits_for_a_person_whatever_was_allowed_and_however_often_they_were_asked() {
    let decision = |tier| {
        let mut one = finding("a.rule", tier);
        one.notes = vec![crate::judge::rules::model::SessionNote::Decision];
        of(vec![one])
    };
    let exhausted = SessionState {
        above: Some(ParentApproval { row: 1, tier: Tier::High }),
        denials_in_a_row: 99,
        prompts_last_hour: 99,
        ..SessionState::default()
    };
    let policy = Policy { mode: Mode::Off, disabled_rules: vec!["a.rule".to_owned()], ..supporting() };
    for tier in [Tier::Low, Tier::Medium, Tier::High, Tier::Critical] {
        for origin in ALL {
            match decide(&argv(origin, &WORDS), &decision(tier), &policy, &exhausted, &every_grant()) {
                Decision::Ask(prompt) => {
                    assert!(prompt.decision && !prompt.may_grant);
                    assert_eq!(yes_in_advance(&argv(Origin::Cli, &WORDS), &prompt), None);
                }
                other => panic!("{origin:?} {tier:?}: {other:?}"),
            }
        }
    }
    let mut denied = decision(Tier::High);
    denied.risk.findings[0].deny = true;
    assert!(matches!(plainly(&denied), Decision::Refuse(Refusal::Rule { .. })), "a deny rule stands before it");
    match plainly(&judgment(Tier::High)) {
        Decision::Ask(prompt) => assert!(!prompt.decision && prompt.may_grant),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_but_a_person_lets_tier_4_run() {
    let policy = Policy {
        mode: Mode::Off,
        thresholds: Thresholds {
            cli: Weight(9999),
            agent: Weight(9999),
            api: Weight(9999),
            discord: Weight(9999),
            telegram: Weight(9999),
        },
        ..supporting()
    };
    let standing =
        SessionState { above: Some(ParentApproval { row: 1, tier: Tier::Critical }), ..SessionState::default() };
    for origin in ALL {
        let decision = decide(&argv(origin, &WORDS), &judgment(Tier::Critical), &policy, &standing, &every_grant());
        assert!(asks(&decision), "{origin:?}: {decision:?}");
    }
}

#[test]
fn what_a_person_let_run_covers_what_it_starts_up_to_its_tier() {
    let run = |tier, above| {
        let standing = SessionState { above: Some(ParentApproval { row: 7, tier: above }), ..SessionState::default() };
        let decision = decide(&argv(Origin::Agent, &WORDS), &judgment(tier), &Policy::default(), &standing, &[]);
        ran(&decision).cloned()
    };
    assert_eq!(run(Tier::Medium, Tier::Medium), Some(ApprovalReason::Parent(7)));
    assert_eq!(run(Tier::High, Tier::High), Some(ApprovalReason::Parent(7)));
    assert_eq!(run(Tier::High, Tier::Medium), None);
    assert_eq!(run(Tier::Low, Tier::High), Some(ApprovalReason::Score), "what needs no yes is not put down to one");
}

#[test]
fn mode_off_runs_up_to_tier_3_and_says_so() {
    let policy = Policy { mode: Mode::Off, ..Policy::default() };
    for (tier, runs) in [(Tier::Low, true), (Tier::Medium, true), (Tier::High, true), (Tier::Critical, false)] {
        let decision = decide(&argv(Origin::Api, &WORDS), &judgment(tier), &policy, &SessionState::default(), &[]);
        assert_eq!(ran(&decision), runs.then_some(&ApprovalReason::ModeOff), "{tier:?}");
    }
}

#[test]
fn a_command_is_asked_about_from_the_threshold_of_its_origin() {
    let policy = Policy::default();
    for (origin, threshold) in
        [(Origin::Cli, 300), (Origin::Agent, 200), (Origin::Api, 150), (Origin::Discord, 250), (Origin::Telegram, 200)]
    {
        for (score, runs) in [(threshold - 1, true), (threshold, false)] {
            let mut one = finding("a.rule", Tier::Medium);
            one.weight = Weight(score);
            let decision = decide(&argv(origin, &WORDS), &of(vec![one]), &policy, &SessionState::default(), &[]);
            assert_eq!(ran(&decision), runs.then_some(&ApprovalReason::Score), "{origin:?} {score}");
        }
    }
}

#[test]
fn tier_3_and_a_change_of_production_are_asked_whatever_the_score() {
    let light = |tier| {
        let mut one = finding("a.rule", tier);
        one.weight = Weight(0);
        Judgment { risk: Risk::join(Tier::Safe, vec![one], Vec::new()), ..Judgment::default() }
    };
    assert!(ran(&plainly(&light(Tier::Medium))).is_some());
    assert!(asks(&plainly(&light(Tier::High))));
    assert!(asks(&plainly(&in_context(light(Tier::Medium), CircumstanceFact::Production))));
    assert!(ran(&plainly(&in_context(light(Tier::Medium), CircumstanceFact::Root))).is_some());
    let reading = Judgment { risk: Risk::join(Tier::Safe, Vec::new(), Vec::new()), ..Judgment::default() };
    assert!(ran(&plainly(&in_context(reading, CircumstanceFact::Production))).is_some(), "looking at production");
}

#[test]
fn several_approvers_are_not_replaced_by_a_grant_a_mode_a_score_or_a_yes_above() {
    let standing = SessionState { above: Some(ParentApproval { row: 1, tier: Tier::High }), ..SessionState::default() };
    let by_tier =
        Policy { mode: Mode::Off, approvals: Approvals { medium: 2, high: 2, critical: 2 }, ..Policy::default() };
    let decision = decide(&argv(Origin::Cli, &WORDS), &judgment(Tier::Medium), &by_tier, &standing, &every_grant());
    assert!(asks(&decision));
    let mut ruled = finding("a.rule", Tier::Low);
    ruled.approvals = 3;
    let off = Policy { mode: Mode::Off, ..Policy::default() };
    match decide(&argv(Origin::Cli, &WORDS), &of(vec![ruled]), &off, &standing, &every_grant()) {
        Decision::Ask(prompt) => assert_eq!((prompt.approvals, prompt.may_grant), (3, false)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn after_denials_in_a_row_a_guarded_session_is_refused_until_a_person_resumes_it() {
    let policy = Policy::default();
    let after = |origin, denials_in_a_row, resumed| {
        let standing = SessionState { denials_in_a_row, resumed, prompts_last_hour: 10, ..SessionState::default() };
        let standing = if denials_in_a_row < 3 { SessionState { prompts_last_hour: 9, ..standing } } else { standing };
        decide(&argv(origin, &WORDS), &judgment(Tier::High), &policy, &standing, &[])
    };
    let breaker = Decision::Refuse(Refusal::Breaker { denials: 3 });
    for origin in [Origin::Agent, Origin::Api] {
        assert!(asks(&after(origin, 2, false)), "{origin:?}");
        assert_eq!(after(origin, 3, false), breaker, "the breaker is named before the limit");
        assert_eq!(after(origin, 3, true), Decision::Refuse(Refusal::RateLimited { per_hour: 10 }));
    }
    for origin in [Origin::Cli, Origin::Discord, Origin::Telegram] {
        assert!(asks(&after(origin, 3, false)), "a person is not kept from asking: {origin:?}");
    }
    let standing = SessionState { denials_in_a_row: 3, ..SessionState::default() };
    let plain = decide(&argv(Origin::Agent, &WORDS), &judgment(Tier::Low), &policy, &standing, &[]);
    assert!(ran(&plain).is_some(), "what is not asked about goes on");
}

#[test]
fn the_hourly_limit_refuses_the_prompt_that_would_be_one_too_many() {
    let policy = Policy { prompts_per_hour: 4, ..Policy::default() };
    let after = |prompts_last_hour| {
        let standing = SessionState { prompts_last_hour, ..SessionState::default() };
        decide(&argv(Origin::Agent, &WORDS), &judgment(Tier::High), &policy, &standing, &[])
    };
    assert!(asks(&after(3)));
    assert_eq!(after(4), Decision::Refuse(Refusal::RateLimited { per_hour: 4 }));
    assert_eq!(after(5), Decision::Refuse(Refusal::RateLimited { per_hour: 4 }));
}

#[test]
fn a_prompt_has_the_time_and_the_form_of_its_tier() {
    let asked = |tier| {
        let mut one = finding("a.rule", tier);
        one.weight = Weight(400);
        match plainly(&of(vec![one])) {
            Decision::Ask(prompt) => prompt,
            other => panic!("{other:?}"),
        }
    };
    let prompt = |tier, seconds, critical: bool| Prompt {
        tier,
        seconds,
        finish_seconds: 20,
        word: critical,
        may_grant: !critical,
        approvals: 1,
        decision: false,
    };
    assert_eq!(asked(Tier::Low), prompt(Tier::Low, 60, false));
    assert_eq!(asked(Tier::Medium), prompt(Tier::Medium, 60, false));
    assert_eq!(asked(Tier::High), prompt(Tier::High, 30, false));
    assert_eq!(asked(Tier::Critical), prompt(Tier::Critical, 10, true));
}

#[test]
fn a_yes_in_advance_counts_from_the_command_line_up_to_tier_3_for_one_approver() {
    let prompt = |tier, approvals| Prompt {
        tier,
        seconds: 1,
        finish_seconds: 1,
        word: false,
        may_grant: true,
        approvals,
        decision: false,
    };
    let yes = |origin, prompt: &Prompt| yes_in_advance(&argv(origin, &WORDS), prompt);
    assert_eq!(yes(Origin::Cli, &prompt(Tier::High, 1)), Some(ApprovalReason::YesInAdvance));
    assert_eq!(yes(Origin::Cli, &prompt(Tier::Critical, 1)), None);
    assert_eq!(yes(Origin::Cli, &prompt(Tier::High, 2)), None);
    assert_eq!(yes(Origin::Cli, &Prompt { decision: true, ..prompt(Tier::Medium, 1) }), None);
    for origin in [Origin::Agent, Origin::Api, Origin::Discord, Origin::Telegram] {
        assert_eq!(yes(origin, &prompt(Tier::Medium, 1)), None, "{origin:?}");
    }
}

#[test]
fn the_number_of_approvers_is_the_most_that_the_tier_or_a_rule_wants() {
    let approvals = Approvals { medium: 2, high: 3, critical: 4 };
    let wanted = |tier, by_rule| {
        let mut one = finding("a.rule", tier);
        one.approvals = by_rule;
        approvals.wanted(&of(vec![one]).risk)
    };
    for (tier, by_rule, number) in [
        (Tier::Low, 1, 1),
        (Tier::Medium, 1, 2),
        (Tier::High, 1, 3),
        (Tier::Critical, 1, 4),
        (Tier::Medium, 5, 5),
        (Tier::Low, 2, 2),
    ] {
        assert_eq!(wanted(tier, by_rule), number, "{tier:?} {by_rule}");
    }
    assert_eq!(Approvals { medium: 0, high: 0, critical: 0 }.wanted(&Risk::default()), 1, "one at least");
    assert_eq!(approvals.most(), 4);
    assert_eq!(Approvals { medium: 4, high: 3, critical: 2 }.most(), 4);
}

#[test]
fn the_default_policy_is_the_one_that_the_risk_model_states() {
    let policy = Policy::default();
    assert_eq!((policy.mode, policy.preset, policy.yolo), (Mode::Manual, Preset::Balanced, false));
    assert_eq!((policy.prompts_per_hour, policy.breaker_after), (10, 3));
    let thresholds = ALL.map(|origin| policy.thresholds.of(origin).0);
    assert_eq!(thresholds, [300, 200, 150, 250, 200]);
    let timeouts = policy.timeouts;
    assert_eq!((timeouts.medium, timeouts.high, timeouts.critical, timeouts.critical_finish), (60, 30, 10, 20));
    use CircumstanceFact as Fact;
    let weights: Vec<_> = policy.weights.iter().map(|(fact, weight)| (*fact, weight.0)).collect();
    assert_eq!(
        weights,
        [
            (Fact::Production, 100),
            (Fact::Root, 50),
            (Fact::Ssh, 50),
            (Fact::OutsideProject, 50),
            (Fact::ProtectedBranch, 50),
            (Fact::Disguise, 50),
            (Fact::TrustedDirectory, -50),
            (Fact::SecretsRead, 100),
            (Fact::EgressAfterSecrets, 150),
            (Fact::OtherAgent, 150),
            (Fact::OwnInstructions, 150),
            (Fact::OtherPeople, 50),
            (Fact::AskedAgain, 50),
        ]
    );
}
