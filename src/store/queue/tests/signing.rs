use super::*;
use crate::judge::approver::Signed;
use crate::judge::approver::passkey::Assertion;
use crate::judge::review::{Opinion, OpinionVerdict};

fn signed() -> Vec<Signed> {
    vec![Signed { approver: "ada".to_owned(), signature: "none".to_owned() }]
}

/// An approval of a request with all optional parts.
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

fn say(one: &Waiting, id: &str, yes: &Yes<'_>) -> AnswerOutcome {
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
    assert_eq!(say(&one, &id, &Yes { approvals: 2, waited_for: false, ..PLAIN }), AnswerOutcome::TooLate);
    assert_eq!(say(&one, &id, &Yes { approvals: 2, ..PLAIN }), AnswerOutcome::Unsigned);
    assert_eq!(say(&one, &id, &Yes { waited_for: false, ..PLAIN }), AnswerOutcome::Done { late: true });
}

#[test]
fn several_approvers_sign_each_once_under_a_name() {
    let one = Waiting { approvals: 2, ..waiting(Tier::High) };
    let id = one.filed();
    let (ada, bob) = (vec!["ada".to_owned()], vec!["bob".to_owned(), "robert".to_owned()]);
    let signed = signed();
    assert_eq!(say(&one, &id, &Yes { signer: &ada, ..PLAIN }), AnswerOutcome::Unsigned, "a name without a signature");
    assert_eq!(
        say(&one, &id, &Yes { signatures: &signed, ..PLAIN }),
        AnswerOutcome::Unsigned,
        "a signature without a name"
    );
    let yes = |signer| Yes { signer, signatures: &signed, ..PLAIN };
    assert_eq!(say(&one, &id, &yes(&ada)), AnswerOutcome::Partly { by: ada.clone() });
    assert_eq!(say(&one, &id, &yes(&ada)), AnswerOutcome::SignedAlready { by: "ada".to_owned() });
    assert_eq!(one.take(&id), WaitState::Waiting);
    assert_eq!(say(&one, &id, &yes(&bob)), AnswerOutcome::Done { late: false });
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
        assert_eq!(reviewed(OpinionVerdict::Deny, words), AnswerOutcome::Wordless, "{words:?}");
    }
    assert_eq!(reviewed(OpinionVerdict::Deny, Some("it is a copy")), AnswerOutcome::Done { late: false });
    assert_eq!(reviewed(OpinionVerdict::Approve, None), AnswerOutcome::Done { late: false });
}

#[test]
fn a_yes_that_lasts_is_had_where_the_request_offers_it_and_one_approver_is_wanted() {
    let lasting = |offers: bool, approvals| {
        let one = waiting(Tier::High);
        let id = one.filed();
        one.queue.connection.execute("UPDATE request SET may_grant = ?1", [offers]).unwrap();
        say(&one, &id, &Yes { scope: AnswerScope::Session, approvals, ..PLAIN })
    };
    assert_eq!(lasting(true, 1), AnswerOutcome::Done { late: false });
    assert!(matches!(lasting(false, 1), AnswerOutcome::NotOffered { .. }));
    assert!(matches!(lasting(true, 2), AnswerOutcome::NotOffered { .. }));
}

#[test]
fn a_signature_of_a_copied_passkey_does_not_count() {
    // 33 bytes of 0, then the counter in 4 bytes.
    let signed = |count: &str| {
        let assertion = Assertion {
            id: "key".to_owned(),
            authenticator_data: "A".repeat(48) + count,
            client_data: String::new(),
            signature: String::new(),
            code: None,
        };
        vec![Signed { approver: "ada".to_owned(), signature: assertion.written() }]
    };
    let say = |count| {
        let one = waiting(Tier::High);
        assert!(rows::counts_on(&one.queue.connection, "key", 7).unwrap());
        say(&one, &one.filed(), &Yes { signatures: &signed(count), ..PLAIN })
    };
    let (seven, eight) = ("Bw", "CA");
    assert_eq!(say(seven), AnswerOutcome::Copied { by: "ada".to_owned() });
    assert_eq!(say(eight), AnswerOutcome::Done { late: false });
}

#[test]
fn the_signatures_so_far_are_read_back_for_this_command_alone() {
    let one = Waiting { approvals: 2, ..waiting(Tier::High) };
    let id = one.filed();
    let given = |digest: &Digest| one.queue.signatures_so_far(&one.sample.store, &id, digest, &bindings()).unwrap();
    assert_eq!(given(&one.digest()), Some(Vec::new()));
    let (ada, signed) = (vec!["ada".to_owned()], signed());
    let yes = Yes { signer: &ada, signatures: &signed, ..PLAIN };
    assert_eq!(say(&one, &id, &yes), AnswerOutcome::Partly { by: ada.clone() });
    assert_eq!(given(&one.digest()), Some(signed));
    let other = Waiting { invocation: invocation(&["tool", "y"], "root"), ..waiting(Tier::High) };
    assert_eq!(given(&other.digest()), None);
}

#[test]
fn a_passkey_counts_on_with_each_signature_unless_it_does_not_count() {
    let one = waiting(Tier::High);
    let counts = |key: &str, count| rows::counts_on(&one.queue.connection, key, count).unwrap();
    assert!(counts("a", 1));
    assert!(!counts("a", 1), "another that is alike has signed");
    assert!(counts("a", 3));
    assert!(!counts("a", 2));
    assert!(!counts("a", 0), "it counted before");
    assert!(counts("b", 0) && counts("b", 0), "one that is kept on several devices");
    assert!(counts("b", 1));
}
