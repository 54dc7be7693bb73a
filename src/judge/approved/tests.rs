use super::*;
use crate::judge::analysis::question::Question;
use crate::judge::invocation::Origin;
use crate::judge::risk::{Tier, Weight};
use crate::judge::testing::{argv, finding, judgment, of};

fn refused(shown: &Judgment, fresh: Judgment) -> String {
    match Approved::by_person(argv(Origin::Cli, &["x"]), shown, &Rejudged::just_now(fresh)) {
        Err(Refusal::Changed { what }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_yes_holds_for_the_same_judgment_and_carries_its_digest() {
    let invocation = argv(Origin::Cli, &["git", "push"]);
    let mut shown = judgment(Tier::High);
    shown.rests_on.insert(Question::File("/a".to_owned()), "1".to_owned());
    let mut fresh = shown.clone();
    fresh.facts.expanded.insert("HOME".to_owned());
    let approved = Approved::by_person(invocation.clone(), &shown, &Rejudged::just_now(fresh.clone())).unwrap();
    assert_eq!(*approved.basis(), ApprovalReason::Person);
    assert_eq!(*approved.invocation(), invocation);
    assert_eq!(approved.digest(), invocation.digest(&fresh.facts.expanded));
}

#[test]
fn a_yes_is_void_when_anything_that_was_shown_has_changed() {
    let shown = judgment(Tier::High);
    let mut with_file = shown.clone();
    with_file.rests_on.insert(Question::File("/a".to_owned()), "1".to_owned());
    let mut other_bytes = shown.clone();
    other_bytes.rests_on.insert(Question::File("/a".to_owned()), "2".to_owned());
    assert_eq!(refused(&shown, with_file.clone()), "the content of /a");
    assert_eq!(refused(&with_file, shown.clone()), "the content of /a");
    assert_eq!(refused(&with_file, other_bytes), "the content of /a");

    let another = |change: &dyn Fn(&mut crate::judge::risk::Finding)| {
        let mut one = finding("a.rule", Tier::High);
        change(&mut one);
        let mut fresh = of(vec![one]);
        fresh.risk.score = shown.risk.score;
        refused(&shown, fresh)
    };
    let what = "what the command would do";
    assert_eq!(another(&|one| one.rule = "another.rule".to_owned()), what);
    assert_eq!(another(&|one| one.tier = Tier::Medium), what);
    assert_eq!(another(&|one| one.span.end = 7), what);
    assert_eq!(another(&|one| one.touches = vec!["src".to_owned()]), what);
    assert_eq!(refused(&shown, of(Vec::new())), what);
    let mut scored = shown.clone();
    scored.risk.score = Weight(350);
    assert_eq!(refused(&shown, scored), "the circumstances of the command");
}

#[test]
fn the_order_of_findings_is_no_change() {
    let (one, other) = (finding("a", Tier::High), finding("b", Tier::Medium));
    let shown = of(vec![one.clone(), other.clone()]);
    let fresh = Rejudged::just_now(of(vec![other, one]));
    assert_eq!(fresh.judgment().risk.tier, Tier::High);
    assert!(Approved::by_person(argv(Origin::Cli, &["x"]), &shown, &fresh).is_ok());
}

#[test]
fn a_yes_in_advance_says_whose_it_was() {
    let judged = judgment(Tier::High);
    let of = |yes| Approved::in_advance(argv(Origin::Cli, &["x"]), &judged, yes).basis().clone();
    assert_eq!(
        (of(PriorApproval::OwnYes), of(PriorApproval::Host)),
        (ApprovalReason::YesInAdvance, ApprovalReason::Host)
    );
}

#[test]
fn a_directory_holds_itself_and_what_lies_below_but_no_neighbour() {
    let directory = |path: &str| GrantPlace::Directory { path: path.to_owned() };
    for (place, cwd, holds) in [
        (GrantPlace::Anywhere, "/x", true),
        (directory("/home/ada/project"), "/home/ada/project", true),
        (directory("/home/ada/project/"), "/home/ada/project", true),
        (directory("/home/ada/project"), "/home/ada/project/src", true),
        (directory("/home/ada/project"), "/home/ada/project-2", false),
        (directory("/home/ada/project"), "/home/ada", false),
        (directory("/home/ada/project"), "/other/home/ada/project", false),
        (directory("/"), "/etc", true),
    ] {
        assert_eq!(place.holds(cwd), holds, "{place:?} {cwd}");
    }
}

#[test]
fn a_receipt_names_its_row() {
    assert_eq!((Receipt::Recorded(7).row(), Receipt::Unrecorded.row()), (Some(7), None));
}

#[test]
fn a_grant_is_named_by_its_number_or_by_the_file_that_gives_it() {
    assert_eq!(GrantId::Stored(17).to_string(), "17");
    assert_eq!(
        GrantId::Configured("~/.config/guard/config.toml:3".to_owned()).to_string(),
        "~/.config/guard/config.toml:3"
    );
}
