use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::judge::analysis::inquiry::Answers;
use crate::judge::analysis::question::{Question, WorldAnswer};
use crate::judge::invocation::{Origin, Request};
use crate::judge::judge;
use crate::judge::policy::{Approvals, is_sent};
use crate::judge::risk::Circumstance;
use crate::judge::rules::catalog::{Layer, PatternFile};
use crate::judge::rules::model::SessionNote;
use crate::judge::testing::{argv, finding, of};
use crate::judge::tools::ToolCall;

const WORDS: [&str; 3] = ["git", "push", "--force"];
const ALL: [OpinionVerdict; 4] =
    [OpinionVerdict::Approve, OpinionVerdict::Deny, OpinionVerdict::Escalate, OpinionVerdict::Nothing];

fn smart() -> Policy {
    Policy { mode: Mode::Smart, ..Policy::default() }
}

/// An opinion of the command of these tests.
fn says(word: OpinionVerdict) -> Opinion {
    let digest = argv(Origin::Agent, &WORDS).digest(&std::collections::BTreeSet::new()).to_string();
    Opinion { says: word, about: digest[..QUOTED].to_owned(), ..Opinion::nothing("a model", "because") }
}

fn comes_of(judgment: &Judgment, policy: &Policy, opinion: &Opinion) -> Outcome {
    gate(&argv(Origin::Agent, &WORDS), judgment, policy, opinion)
}

fn runs(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Run(_))
}

fn medium() -> Judgment {
    of(vec![finding("a.rule", Tier::Medium)])
}

#[test]
fn each_word_does_what_it_says_at_tier_2() {
    let outcome = |word| comes_of(&medium(), &smart(), &says(word));
    let Outcome::Run(cleared) = outcome(OpinionVerdict::Approve) else { panic!("approved") };
    assert_eq!(cleared.basis(), &ApprovalReason::Reviewer { by: "a model".into(), with: Vec::new() });
    let no = Refusal::Reviewer { by: "a model".into(), reason: "because".into() };
    assert_eq!(outcome(OpinionVerdict::Deny), Outcome::Refuse(no));
    assert_eq!((outcome(OpinionVerdict::Escalate), outcome(OpinionVerdict::Nothing)), (Outcome::Ask, Outcome::Ask));
}

#[test]
fn nothing_is_settled_in_another_mode() {
    for mode in [Mode::Manual, Mode::Off] {
        let policy = Policy { mode, ..Policy::default() };
        assert_eq!(role(&medium(), &policy), Role::Absent);
        assert!(ALL.into_iter().all(|word| comes_of(&medium(), &policy, &says(word)) == Outcome::Ask));
    }
}

#[test]
fn an_opinion_of_another_command_counts_for_nothing() {
    let right = says(OpinionVerdict::Approve);
    for about in ["", "00000000", &right.about[..7], &format!("{}0", right.about)] {
        let opinion = Opinion { about: about.to_owned(), ..right.clone() };
        assert_eq!(comes_of(&medium(), &smart(), &opinion), Outcome::Ask, "{about}");
    }
    let other = argv(Origin::Agent, &["git", "push"]);
    assert_eq!(gate(&other, &medium(), &smart(), &right), Outcome::Ask);
}

#[test]
fn what_stands_in_the_way_leaves_it_to_a_person() {
    let irreversible = Finding { reversibility: Reversibility::Irreversible, ..finding("a.rule", Tier::Medium) };
    let heavy = Finding { weight: Weight(300), ..finding("a.rule", Tier::Medium) };
    let with = |fact, weight| {
        let mut judged = medium();
        judged.risk = judged.risk.within(vec![Circumstance { fact, weight: Weight(weight), detail: None }]);
        judged
    };
    for (judged, what) in [
        (of(vec![irreversible]), "irreversible"),
        (of(vec![heavy]), "3.0"),
        (of(vec![finding("a.rule", Tier::High)]), "tier 3"),
        (with(CircumstanceFact::Root, 100), "3.0 by circumstances"),
        (with(CircumstanceFact::Production, 0), "production"),
        (with(CircumstanceFact::AskedAgain, 0), "just denied"),
        (Judgment { unread: true, ..medium() }, "unread"),
    ] {
        assert_eq!(role(&judged, &smart()), Role::Advises, "{what}");
        assert!(ALL.into_iter().all(|word| comes_of(&judged, &smart(), &says(word)) == Outcome::Ask), "{what}");
    }
    assert!(runs(&comes_of(&with(CircumstanceFact::Root, 99), &smart(), &says(OpinionVerdict::Approve))));
}

#[test]
fn tier_4_and_what_several_sign_it_never_sees() {
    assert_eq!(role(&of(vec![finding("a.rule", Tier::Critical)]), &smart()), Role::Absent);
    let several = Policy { approvals: Approvals { medium: 2, high: 1, critical: 1 }, ..smart() };
    assert_eq!(role(&medium(), &several), Role::Absent);
    let ruled = of(vec![Finding { approvals: 2, ..finding("a.rule", Tier::Medium) }]);
    assert_eq!(role(&ruled, &smart()), Role::Absent);
}

#[test]
fn a_persons_decision_it_never_sees_whatever_lends_it_leave() {
    let decision = |finding: Finding| Finding { notes: vec![SessionNote::Decision], ..finding };
    for tier in [Tier::Safe, Tier::Low, Tier::Medium, Tier::High] {
        let lent = Finding { yolo: true, reversible: true, ..finding("a.rule", tier) };
        for judged in [
            of(vec![decision(finding("a.rule", tier))]),
            of(vec![decision(lent.clone())]),
            of(vec![decision(finding("b.rule", Tier::Low)), lent]),
        ] {
            let all = Policy { review: vec!["*".to_owned()], ..smart() };
            assert_eq!(role(&judged, &all), Role::Absent, "{tier:?}");
            assert!(!is_sent(&judged.risk, &all), "{tier:?}");
            assert!(ALL.into_iter().all(|word| comes_of(&judged, &all, &says(word)) == Outcome::Ask), "{tier:?}");
        }
    }
}

#[test]
fn a_rule_lends_its_leave_for_itself_and_no_other() {
    let lent = |tier| Finding { yolo: true, reversibility: Reversibility::Irreversible, ..finding("lent.rule", tier) };
    let with = vec!["lent.rule".to_owned()];
    for tier in [Tier::Medium, Tier::High] {
        let judged = of(vec![lent(tier)]);
        assert_eq!(role(&judged, &smart()), Role::Settles { with: with.clone() });
        let Outcome::Run(cleared) = comes_of(&judged, &smart(), &says(OpinionVerdict::Approve)) else {
            panic!("{tier:?}")
        };
        assert_eq!(cleared.basis().provenance(), "hybrid");
    }
    for (judged, what) in [
        (of(vec![lent(Tier::High), finding("a.rule", Tier::High)]), "another of tier 3"),
        (of(vec![lent(Tier::Medium), finding("a.rule", Tier::High)]), "a worse one"),
        (
            of(vec![
                Finding { yolo: false, ..lent(Tier::Medium) },
                Finding { yolo: true, ..finding("b.c", Tier::Medium) },
            ]),
            "another that is irreversible",
        ),
        (Judgment { unread: true, ..of(vec![lent(Tier::High)]) }, "unread"),
    ] {
        assert_eq!(role(&judged, &smart()), Role::Advises, "{what}");
    }
    let mut far = of(vec![lent(Tier::High)]);
    far.risk = far.risk.within(vec![Circumstance { fact: CircumstanceFact::Root, weight: Weight(100), detail: None }]);
    assert_eq!(role(&far, &smart()), Role::Advises, "circumstances");
    assert_eq!(role(&of(vec![Finding { yolo: true, ..finding("x.y", Tier::Critical) }]), &smart()), Role::Absent);
}

#[test]
fn what_a_rule_calls_reversible_is_settled_with_its_leave() {
    let judged = of(vec![Finding { reversible: true, ..finding("a.rule", Tier::Medium) }]);
    assert_eq!(role(&judged, &smart()), Role::Settles { with: vec!["a.rule".to_owned()] });
}

/// What a reviewer may do with a call of a tool that these lines are added to, where nothing is known of any program.
fn role_of_call(added: &str, call: &ToolCall) -> Role {
    let entries = format!(
        "family = 'own'\nabout = 'Ours.'\n[[tool]]\nid = 'own.run'\nname = 'run_in_sandbox'\nserver = 'ours'\n\
         reason = 'It runs.'\nholds = [{{ at = '/command', as = 'command' }}]\n\
         examples = ['mcp__ours__run_in_sandbox {{}}']\n{added}"
    );
    let file = PatternFile { path: "x.toml".into(), layer: Layer::User, text: entries };
    let (catalog, problems) = Catalog::with_files([file]);
    assert_eq!(problems, []);
    let mut invocation = argv(Origin::Agent, &WORDS);
    invocation.request = Request::Tool(Box::new(call.clone()));
    let source = |_: &Question| WorldAnswer::Unavailable;
    role(&judge(&invocation, &catalog, &smart(), &Answers::of(&source)), &smart())
}

fn call_of(server: &str, input: serde_json::Value) -> ToolCall {
    ToolCall::new(format!("mcp__{server}__run_in_sandbox"), input)
}

#[test]
fn an_entry_of_a_tool_lends_its_leave_for_its_own_server_and_never_at_tier_4() {
    let call = call_of("ours", json!({}));
    let entry = |tier: u8, more: &str| format!("tier = {tier}\nreversibility = 'irreversible'\n{more}");
    let own = Role::Settles { with: vec!["own.run".to_owned()] };
    for (tier, more, wanted) in [
        (2, "", Role::Advises),
        (2, "yolo = true", own.clone()),
        (3, "", Role::Advises),
        (3, "yolo = true", own),
        (4, "", Role::Absent),
    ] {
        assert_eq!(role_of_call(&entry(tier, more), &call), wanted, "{tier} {more}");
    }
    let elsewhere = role_of_call(&entry(3, "yolo = true"), &call_of("others", json!({})));
    assert_eq!(elsewhere, Role::Advises, "another server's tool of that name");
}

#[test]
fn a_tool_of_unknown_effect_is_a_persons_unless_its_entry_says_that_it_can_be_undone() {
    let entry = |more: &str| format!("tier = 2\nreversibility = 'hard'\n{more}");
    let command = |line: &str| call_of("ours", json!({ "command": line }));
    assert_eq!(role_of_call(&entry(""), &command("ls")), Role::Settles { with: Vec::new() });
    assert_eq!(role_of_call(&entry(""), &command("nobody-knows-this")), Role::Advises);
    let own = vec!["own.run".to_owned()];
    let undone = entry("reversible = true");
    assert_eq!(role_of_call(&undone, &command("nobody-knows-this")), Role::Settles { with: own });
    assert_eq!(role_of_call(&undone, &command("rm -rf /srv/data")), Role::Advises, "what it holds is known");
    // What nothing describes is guessed at, and a guess is no knowledge.
    let guessed = ToolCall::new("frobnicate_widget", json!({}));
    assert_eq!(role_of_call(&undone, &guessed), Role::Advises);
}

#[test]
fn what_the_policy_sends_is_asked_about_below_the_threshold() {
    let sent = |list: &[&str]| Policy { review: list.iter().map(|name| (*name).to_owned()).collect(), ..smart() };
    let low = of(vec![finding("git.commit", Tier::Low)]);
    for (list, is) in
        [(&["git.commit"][..], true), (&["git.*"], true), (&["*"], true), (&["git.commi"], false), (&[], false)]
    {
        assert_eq!(is_sent(&low.risk, &sent(list)), is, "{list:?}");
    }
    assert!(!is_sent(&low.risk, &Policy { mode: Mode::Off, ..sent(&["*"]) }));
    let manual = Policy { mode: Mode::Manual, ..sent(&["*"]) };
    assert!(
        is_sent(&low.risk, &manual) && role(&low, &manual) == Role::Absent,
        "a person's, where a project says manual"
    );
    assert_eq!(role(&low, &sent(&["git.*"])), Role::Settles { with: vec!["git.commit".to_owned()] });
    let decided = crate::judge::policy::decide(
        &argv(Origin::Agent, &WORDS),
        &low,
        &sent(&["git.*"]),
        &crate::judge::policy::SessionState::default(),
        &[],
    );
    assert!(matches!(decided, crate::judge::policy::Decision::Ask(_)));
}

#[test]
fn of_several_all_must_approve_and_one_no_is_enough() {
    use OpinionVerdict::{Approve, Deny, Escalate, Nothing};
    let by = |name: &str, word| Opinion { by: name.to_owned(), tokens: 10, ms: 5, ..says(word) };
    for (one, other, wanted) in [
        (Approve, Approve, Approve),
        (Approve, Deny, Deny),
        (Deny, Nothing, Deny),
        (Approve, Escalate, Escalate),
        (Approve, Nothing, Nothing),
        (Escalate, Nothing, Nothing),
    ] {
        for (one, other) in [(one, other), (other, one)] {
            let joined = jury(vec![by("a", one), by("b", other)]);
            assert_eq!((joined.says, joined.tokens, joined.ms), (wanted, 20, 5), "{one:?} {other:?}");
        }
    }
    assert_eq!(jury(vec![by("a", Approve), by("b", Approve)]).by, "a and b");
    let elsewhere = Opinion { about: "00000000".to_owned(), ..by("b", Approve) };
    assert_eq!(jury(vec![by("a", Approve), elsewhere]).says, Nothing);
    assert_eq!(jury(Vec::new()).says, Nothing);
}

#[test]
fn a_reason_is_one_short_line() {
    let opinion =
        Opinion { reason: format!("  a\nb\u{1b}[2J{}", "x".repeat(1000)), ..says(OpinionVerdict::Deny) }.tidied();
    assert!(opinion.reason.starts_with("a b [2J") && opinion.reason.chars().count() <= MAX_REASON);
}

fn any_finding() -> impl Strategy<Value = Finding> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), proptest::bool::weighted(0.2));
    (0_u8..=4, 0_i32..500, 0_u8..4, flags, 1_u8..3).prop_map(
        |(tier, weight, undo, (deny, yolo, reversible, decision), approvals)| Finding {
            notes: if decision { vec![SessionNote::Decision] } else { Vec::new() },
            weight: Weight(weight),
            reversibility: [
                Reversibility::ReadOnly,
                Reversibility::Soft,
                Reversibility::Hard,
                Reversibility::Irreversible,
            ][usize::from(undo)],
            deny,
            yolo,
            reversible,
            approvals,
            ..finding(&format!("r.{tier}{weight}{undo}"), Tier::from_number(tier).unwrap())
        },
    )
}

fn any_context() -> impl Strategy<Value = Circumstance> {
    use CircumstanceFact as Fact;
    let facts = [Fact::Production, Fact::Root, Fact::AskedAgain, Fact::TrustedDirectory, Fact::EgressAfterSecrets];
    (proptest::sample::select(facts.to_vec()), -100_i32..300).prop_map(|(fact, weight)| Circumstance {
        fact,
        weight: Weight(weight),
        detail: None,
    })
}

proptest! {
    /// Whatever a model says, of whatever command: what runs on its word alone is of tier 2 or below, can be undone and
    /// is the command that it was asked about; and no word of it lets anything of tier 4 run.
    #[test]
    fn no_opinion_lets_run_what_is_a_persons(
        findings in proptest::collection::vec(any_finding(), 0..4),
        context in proptest::collection::vec(any_context(), 0..3),
        unread: bool,
        mode in proptest::sample::select(vec![Mode::Off, Mode::Smart, Mode::Manual]),
        word in proptest::sample::select(ALL.to_vec()),
        right: bool,
        about in "[0-9a-f]{0,12}",
        reason in ".{0,40}",
        review in proptest::collection::vec("[a-z.*]{1,5}", 0..2),
    ) {
        let mut judged = of(findings);
        judged.unread = unread;
        judged.risk = judged.risk.within(context);
        let policy = Policy { mode, review, ..Policy::default() };
        let true_one = says(word);
        let opinion = Opinion { about: if right { true_one.about.clone() } else { about }, reason, ..true_one.clone() };
        let outcome = comes_of(&judged, &policy, &opinion);
        let risk = &judged.risk;
        if let Outcome::Run(cleared) = &outcome {
            prop_assert_eq!(mode, Mode::Smart);
            prop_assert_eq!(word, OpinionVerdict::Approve);
            prop_assert_eq!(&opinion.about, &true_one.about);
            prop_assert!(risk.tier < Tier::Critical && !unread);
            let is_others = |finding: &Finding| finding.deny || finding.approvals > 1 || finding.is_decision();
            prop_assert!(!risk.findings.iter().any(is_others));
            let ApprovalReason::Reviewer { with, .. } = cleared.basis() else { panic!("{:?}", cleared.basis()) };
            let lent = risk.findings.iter().any(|finding| finding.yolo && with.contains(&finding.rule));
            if !lent {
                prop_assert!(risk.tier <= Tier::Medium && risk.score < Weight(300));
                prop_assert!(risk.reversibility != Reversibility::Irreversible);
            }
            let bad = |finding: &&Finding| {
                finding.tier == Tier::High || finding.reversibility == Reversibility::Irreversible
            };
            prop_assert!(risk.findings.iter().filter(bad).all(|finding| finding.yolo));
        }
    }
}
