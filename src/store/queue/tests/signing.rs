use super::*;
use crate::judge::approver::Signed;
use crate::judge::review::{Opinion, Says};

fn signed() -> Vec<Signed> {
    vec![Signed { approver: "ada".to_owned(), signature: "none".to_owned() }]
}

/// A yes to a request with all that may go with one.
struct Yes<'a> {
    words: Option<&'a str>,
    signatures: &'a [Signed],
    signer: &'a [String],
    waited_for: bool,
    approvals: u8,
    scope: AnswerScope,
}

const PLAIN: Yes<'static> =
    Yes { words: None, signatures: &[], signer: &[], waited_for: true, approvals: 1, scope: AnswerScope::Once };

fn say(one: &Waiting, id: &str, yes: &Yes<'_>) -> Outcome {
    let (digest, bindings) = (one.digest(), bindings());
    let answer = Answer {
        yes: Some((&digest, &bindings)),
        by: "ada",
        words: yes.words,
        signatures: yes.signatures,
        waited_for: yes.waited_for,
        approvals: yes.approvals,
        signer: yes.signer,
        scope: yes.scope,
    };
    one.queue.answer(&one.sample.store, &one.shown(id), &answer, at(1)).unwrap()
}

#[test]
fn who_answers_may_want_more_approvers_than_the_request_said() {
    let one = waiting(Tier::High);
    let id = one.filed();
    assert_eq!(say(&one, &id, &Yes { approvals: 2, waited_for: false, ..PLAIN }), Outcome::TooLate);
    assert_eq!(say(&one, &id, &Yes { approvals: 2, ..PLAIN }), Outcome::Unsigned);
    assert_eq!(say(&one, &id, &Yes { waited_for: false, ..PLAIN }), Outcome::Done { late: true });
}

#[test]
fn several_approvers_sign_each_once_under_a_name() {
    let one = Waiting { approvals: 2, ..waiting(Tier::High) };
    let id = one.filed();
    let (ada, bob) = (vec!["ada".to_owned()], vec!["bob".to_owned(), "robert".to_owned()]);
    let signed = signed();
    assert_eq!(say(&one, &id, &Yes { signer: &ada, ..PLAIN }), Outcome::Unsigned, "a name without a signature");
    assert_eq!(say(&one, &id, &Yes { signatures: &signed, ..PLAIN }), Outcome::Unsigned, "a signature without a name");
    let yes = |signer| Yes { signer, signatures: &signed, ..PLAIN };
    assert_eq!(say(&one, &id, &yes(&ada)), Outcome::Partly { by: ada.clone() });
    assert_eq!(say(&one, &id, &yes(&ada)), Outcome::SignedAlready { by: "ada".to_owned() });
    assert_eq!(one.take(&id), WaitState::Waiting);
    assert_eq!(say(&one, &id, &yes(&bob)), Outcome::Done { late: false });
    assert_eq!(one.shown(&id).decided_by.as_deref(), Some("ada and bob"));
    assert!(matches!(one.take(&id), WaitState::Yes(_)));
}

#[test]
fn what_a_reviewer_denied_is_allowed_with_words_alone() {
    let reviewed = |says, words| {
        let one = waiting(Tier::High);
        let id = one.filed();
        let opinion = Opinion { says, ..Opinion::nothing("model", "because") };
        let text = serde_json::to_string(&opinion).unwrap();
        one.queue.connection.execute("UPDATE request SET review = ?1", [text]).unwrap();
        say(&one, &id, &Yes { words, ..PLAIN })
    };
    for words in [None, Some(""), Some(" ")] {
        assert_eq!(reviewed(Says::Deny, words), Outcome::Wordless, "{words:?}");
    }
    assert_eq!(reviewed(Says::Deny, Some("it is a copy")), Outcome::Done { late: false });
    assert_eq!(reviewed(Says::Approve, None), Outcome::Done { late: false });
}

#[test]
fn a_yes_that_lasts_is_had_where_the_request_offers_it_and_one_approver_is_wanted() {
    let lasting = |offers: bool, approvals| {
        let one = waiting(Tier::High);
        let id = one.filed();
        one.queue.connection.execute("UPDATE request SET may_grant = ?1", [offers]).unwrap();
        say(&one, &id, &Yes { scope: AnswerScope::Session, approvals, ..PLAIN })
    };
    assert_eq!(lasting(true, 1), Outcome::Done { late: false });
    assert!(matches!(lasting(false, 1), Outcome::NotOffered { .. }));
    assert!(matches!(lasting(true, 2), Outcome::NotOffered { .. }));
}
