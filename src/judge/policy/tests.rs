use super::*;
use crate::judge::Judgment;
use crate::judge::approved::{Grant, GrantId, Place, Until, What};
use crate::judge::invocation::{Invocation, Line, Request};
use crate::judge::reach::Reach;
use crate::judge::risk::{Circumstance, Risk};
use crate::judge::testing::{argv, finding, judgment, line, of};

const ALL: [Origin; 5] = [Origin::Cli, Origin::Agent, Origin::Api, Origin::Discord, Origin::Telegram];
const WORDS: [&str; 3] = ["git", "push", "--force"];

/// What comes of this judgment, asked for by an agent, with nothing remembered and nothing granted.
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

fn grant(id: i64, what: What) -> Grant {
    let place = Place::Directory { path: "/home/ada/project".to_owned() };
    Grant { id: GrantId::Stored(id), what, place, until: Until::Revoked, given: 0, words: String::new() }
}

fn in_context(judgment: Judgment, fact: CircumstanceFact) -> Judgment {
    let risk = judgment.risk.within(vec![Circumstance { fact, weight: Weight(0), detail: None }]);
    Judgment { risk, ..judgment }
}

/// Every grant that could cover the command of these tests.
fn every_grant() -> Vec<Grant> {
    vec![
        grant(1, What::Exact { command: "git push --force".to_owned() }),
        grant(2, What::Shape { shape: "git push --force [a.rule]".to_owned() }),
        grant(3, What::Rule { rule: "a.rule".to_owned() }),
        grant(4, What::UpTo { tier: Tier::Medium }),
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
    // The tier's number of approvers does not gate it; a rule's own does.
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
        one.notes = vec![crate::judge::rules::model::Note::Decision];
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
    let covers = |what: What, judged: &Judgment| {
        let grants = [grant(1, what)];
        let decision =
            decide(&argv(Origin::Agent, &WORDS), judged, &Policy::default(), &SessionState::default(), &grants);
        ran(&decision).is_some()
    };
    let exact = |command: &str| What::Exact { command: command.to_owned() };
    let shape = |shape: &str| What::Shape { shape: shape.to_owned() };
    let rule = |rule: &str| What::Rule { rule: rule.to_owned() };
    let high = judgment(Tier::High);
    assert!(covers(exact("git push --force"), &high));
    assert!(!covers(exact("git push --force origin"), &high));
    assert!(covers(shape("git push --force [a.rule]"), &high));
    assert!(!covers(shape("git push --force [another.rule]"), &high));
    assert!(!covers(shape("git push"), &high));
    assert!(!covers(shape("git push --force [a.rule]"), &Judgment { shape: None, ..high.clone() }));
    // An old grant does not tell what it was given for.
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
        assert_eq!(covers(What::UpTo { tier: granted }, &judgment(tier)), held, "{tier:?} {granted:?}");
    }
}

#[test]
fn a_rule_grant_needs_a_finding_that_it_covers() {
    let judged =
        Judgment { risk: Risk { score: Weight(300), ..Risk::default() }, may_grant: true, ..Judgment::default() };
    let grants = [grant(1, What::Rule { rule: "a.rule".to_owned() })];
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
        let elsewhere = [Grant { place: Place::Directory { path: "/home/ada/other".to_owned() }, ..one }];
        let judged = judgment(Tier::Medium);
        let decision =
            decide(&argv(Origin::Agent, &WORDS), &judged, &Policy::default(), &SessionState::default(), &elsewhere);
        assert!(asks(&decision), "{:?}", elsewhere[0].what);
    }
}

#[test]
fn a_trusted_session_is_not_trusted_with_production_or_with_what_it_does_to_others() {
    use CircumstanceFact as Fact;
    let grants = [grant(1, What::UpTo { tier: Tier::Medium })];
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
            (Fact::TrustedFolder, -50),
            (Fact::SecretsRead, 100),
            (Fact::EgressAfterSecrets, 150),
            (Fact::OtherAgent, 150),
            (Fact::OwnInstructions, 150),
            (Fact::OtherPeople, 50),
            (Fact::AskedAgain, 50),
        ]
    );
}

#[test]
fn what_a_shell_would_read_otherwise_is_no_support_command_unless_it_is_quoted() {
    let argv = ["say", "a;b", "$x"];
    let support = Support { argv: argv.map(str::to_owned).to_vec(), why: "help".to_owned() };
    let policy = Policy { support: vec![support], ..Policy::default() };
    assert!(is_support_line("say 'a;b' '$x'", &policy));
    assert!(is_support_line("say \"a;b\" '$x'", &policy));
    for line in ["say a;b '$x'", "say 'a;b' \"$x\"", "say 'a;b' $x", "say 'a;b'", ""] {
        assert!(!is_support_line(line, &policy), "{line}");
    }
    assert!(!is_support_line("say 'a;b' '$x'", &Policy { support: Vec::new(), ..Policy::default() }));
}

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
fn a_line_is_a_support_command_as_that_one_simple_command_alone() {
    let exhausted = SessionState { denials_in_a_row: 99, prompts_last_hour: 99, ..SessionState::default() };
    let policy = supporting();
    let runs = |request: &Invocation| {
        ran(&decide(request, &judgment(Tier::Medium), &policy, &exhausted, &[])) == Some(&ApprovalReason::Support)
    };
    for origin in ALL {
        for text in ["git push --force", " git  push\t--force\n", "git 'push' \"--force\"", "g'i't push --force"] {
            assert!(runs(&line(origin, text)), "{text}");
        }
    }
    for text in [
        "git push --force; true",
        "git push --force &",
        "git push --force\ntrue",
        "git push --force > x",
        "git push --force #",
        "git push $X",
        "git push \"$(x)\" --force",
        "git push `x`",
        "git push --forc\\e",
        "X=1 git push --force",
        "(git push --force)",
        "git push --force x",
        "git push",
        "git push --forc?",
        "git push '--force",
        "",
    ] {
        assert!(!runs(&line(Origin::Agent, text)), "{text}");
    }
    // Somebody made something else of the name, or hands it more words.
    let with = |change: &dyn Fn(&mut Line)| {
        let mut request = line(Origin::Agent, "git push --force");
        let Request::Line(inner) = &mut request.request else { panic!("no line") };
        change(inner);
        request
    };
    assert!(!runs(&with(&|line| line.before = b"git() { rm -rf /; }".to_vec())));
    assert!(runs(&with(&|line| line.before = b"cd /work".to_vec())));
    assert!(!runs(&with(&|line| line.positional = vec!["x".into()])));
    let decision = decide(&line(Origin::Agent, "git push --force"), &judgment(Tier::High), &policy, &exhausted, &[]);
    assert_ne!(ran(&decision), Some(&ApprovalReason::Support), "of tier 2 at most");
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
        (Refusal::Attempt { why: why() }, "attempt", "an answer from here is not accepted: x y"),
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
