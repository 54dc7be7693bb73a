use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::judge::invocation::{Origin, Request};
use crate::judge::review::{Opinion, OpinionVerdict};
use crate::judge::tools::ToolCall;

#[test]
fn a_request_for_several_approvers_that_a_guard_takes_up_keeps_its_name() {
    let one = Waiting { approvals: 2, ..waiting(Tier::High) };
    let FilingResult::Waits { id, twins: false } = one.file(None, NOBODY, 0) else { panic!("it is the first") };
    assert_eq!(one.file(Some("b"), NOBODY, 5), FilingResult::Waits { id: id.clone(), twins: true });
    assert_eq!(one.shown(&id).waiter.as_deref(), Some("b"));
    // A guard waited for that request and ended: signatures for it are not valid for another request.
    let FilingResult::Waits { id: next, twins: false } = one.file(Some("c"), NOBODY, 6) else { panic!("another name") };
    assert_ne!(next, id);
    assert_eq!(one.shown(&id).state, RequestState::Void);
}

#[test]
fn a_request_for_several_approvers_is_not_taken_up_once_its_time_is_over() {
    let one = Waiting { approvals: 2, ..waiting(Tier::High) };
    let FilingResult::Waits { id, .. } = one.file(None, NOBODY, 0) else { panic!("it is the first") };
    let FilingResult::Waits { id: next, twins: false } = one.file(Some("b"), NOBODY, 60) else {
        panic!("nobody waits")
    };
    assert_ne!(next, id);
    assert_eq!(one.shown(&id).state, RequestState::Void);
}

#[test]
fn a_request_of_one_approver_that_no_guard_waits_for_is_asked_anew_under_its_name() {
    let one = waiting(Tier::High);
    let FilingResult::Waits { id, .. } = one.file(None, NOBODY, 0) else { panic!("it is the first") };
    assert_eq!(one.file(Some("b"), NOBODY, 59), FilingResult::Waits { id: id.clone(), twins: true });
    assert_eq!(one.shown(&id).filed, at(59));
    let other = waiting(Tier::High);
    let FilingResult::Waits { id, .. } = other.file(None, NOBODY, 0) else { panic!("it is the first") };
    assert_eq!(
        other.file(Some("b"), NOBODY, 60),
        FilingResult::Waits { id: id.clone(), twins: false },
        "its time is over"
    );
    // If several approvers are needed now, the old request ends.
    let mut more = waiting(Tier::High);
    let id = more.filed();
    more.approvals = 2;
    let FilingResult::Waits { id: next, .. } = more.file(Some("b"), NOBODY, 5) else { panic!("another name") };
    assert_ne!(next, id);
    assert_eq!(more.shown(&id).state, RequestState::Void);
}

#[test]
fn a_request_that_hides_a_part_of_its_input_counts_as_redacted() {
    let mut one = waiting(Tier::High);
    let input = serde_json::json!({ "note": "plain", "to": "me" });
    let call = ToolCall { name: "mail.send".to_owned(), input, ..ToolCall::default() };
    let filed = |one: &Waiting| {
        let id = one.filed();
        (one.shown(&id).redacted, one.queue.find(&id).unwrap().unwrap().reasons.unwrap())
    };
    one.invocation.request = Request::Tool(Box::new(call.clone()));
    let (redacted, reasons) = filed(&one);
    assert!(!redacted && !reasons.findings[0].touches.is_empty());
    let mut one = waiting(Tier::High);
    one.invocation.request = Request::Tool(Box::new(ToolCall { hidden: vec!["/note".to_owned()], ..call }));
    let (redacted, reasons) = filed(&one);
    assert!(redacted && reasons.findings[0].touches.is_empty());
}

#[test]
fn the_place_where_a_guard_is_woken_is_its_accounts_alone_and_goes_with_the_request() {
    let one = waiting(Tier::High);
    let id = one.filed();
    let own = one.queue.wakeup_path(&id).unwrap();
    assert_eq!(own.file_name().unwrap().to_str(), Some(id.as_str()));
    let mode = own.parent().unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    std::fs::write(&own, "").unwrap();
    let unknown = one.queue.wakeup_path("none").unwrap();
    std::fs::write(&unknown, "").unwrap();
    let file_another = |word: &str| {
        let mut other = waiting(Tier::High);
        other.invocation = invocation(&["tool", word], "other");
        let new = Waiting { queue: Queue::open(&Paths::new(one.sample.directory.path())).unwrap(), ..other };
        new.file(Some("z"), EVERYBODY, 1)
    };
    let _ = file_another("1");
    assert!(own.exists(), "it waits");
    assert!(!unknown.exists(), "no request has this name");
    one.answer(&one.shown(&id), false, true, 2);
    let _ = file_another("2");
    assert!(!own.exists(), "it is settled");
}

#[test]
fn a_queue_of_a_newer_guard_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let paths = Paths::new(directory.path());
    Queue::open(&paths).unwrap().connection.pragma_update(None, "user_version", KNOWN + 1).unwrap();
    assert!(matches!(Queue::open(&paths), Err(StoreError::Newer { .. })));
}

#[test]
fn answers_are_listed_with_their_rows_since_a_time() {
    let one = waiting(Tier::High);
    let id = one.filed();
    assert_eq!(one.queue.answered_since(0).unwrap(), []);
    one.answer(&one.shown(&id), true, true, 1);
    let answered = one.queue.answered_since(0).unwrap();
    assert_eq!(answered.len(), 1);
    assert_eq!((&answered[0].0, Some(answered[0].1)), (&id, one.shown(&id).answer));
    assert!(one.queue.answered_since(at(1).as_millisecond()).unwrap().is_empty(), "it was then, and not after");
}

#[test]
fn two_requests_are_the_same_where_command_and_directory_are() {
    let mut one = waiting(Tier::High);
    one.invocation.origin = Origin::Api;
    let mut file = |word: &str, root: &str| {
        one.invocation = invocation(&["tool", word], root);
        let FilingResult::Waits { id, .. } = one.file(Some("a"), EVERYBODY, 0) else { panic!("it is filed") };
        one.shown(&id)
    };
    let (first, twin, other) = (file("1", "a"), file("1", "b"), file("2", "a"));
    assert!(first.is_same(&twin) && !first.is_same(&other));
    assert_eq!(first.short_digest(), twin.short_digest());
    assert_ne!(first.short_digest(), other.short_digest());
    assert!(first.short_digest().len() == 8 && first.short_digest().chars().all(|c| c.is_ascii_hexdigit()));
}

#[test]
fn a_late_request_ends_after_a_day_and_what_is_settled_is_shown_for_a_week() {
    const DAY: i64 = 24 * 60 * 60;
    let one = waiting(Tier::High);
    let id = one.filed();
    assert!(one.queue.give_up(&id).unwrap());
    let sweep = |seconds| one.queue.change(|connection| sweep(connection, at(seconds))).unwrap();
    sweep(DAY);
    assert_eq!(one.shown(&id).state, RequestState::Late);
    sweep(DAY + 1);
    assert_eq!(one.shown(&id).state, RequestState::Lapsed);
    sweep(7 * DAY);
    assert!(one.queue.find(&id).unwrap().is_some());
    sweep(7 * DAY + 1);
    assert!(one.queue.find(&id).unwrap().is_none());
}

#[test]
fn a_name_is_a_letter_and_a_digit_in_turn_that_are_not_mixed_up() {
    let one = waiting(Tier::High);
    for _ in 0..100 {
        let name = rows::free_name(&one.queue.connection).unwrap();
        assert_eq!(name.len(), 4);
        for (at, letter) in name.chars().enumerate() {
            let from = if at.is_multiple_of(2) { "bcdfghjkmnpqrstvwx" } else { "23456789" };
            assert!(from.contains(letter), "{name}");
        }
    }
}

#[test]
fn a_request_offers_a_grant_to_the_guard_that_waits_and_where_nothing_speaks_against_it() {
    let one = waiting(Tier::High);
    let plain = Pending { may_grant: true, ..one.shown(&one.filed()) };
    let reviewed = |says| Some(Opinion { says, ..Opinion::nothing("model", "because") });
    assert!(plain.offers_grant(true));
    assert!(Pending { review: reviewed(OpinionVerdict::Approve), ..plain.clone() }.offers_grant(true));
    assert!(!plain.offers_grant(false));
    for less in [
        Pending { may_grant: false, ..plain.clone() },
        Pending { state: RequestState::Late, ..plain.clone() },
        Pending { tier: Tier::Critical, ..plain.clone() },
        Pending { approvals: 2, ..plain.clone() },
        Pending { decision: true, ..plain.clone() },
        Pending { review: reviewed(OpinionVerdict::Deny), ..plain.clone() },
    ] {
        assert!(!less.offers_grant(true), "{less:?}");
    }
    assert!(!plain.is_never_late());
    assert!(Pending { approvals: 2, ..plain.clone() }.is_never_late());
    assert!(Pending { tier: Tier::Critical, ..plain }.is_never_late());
}

#[test]
fn decisions_come_first_and_those_of_a_crisis_before_them() {
    let one = waiting(Tier::High);
    let plain = one.shown(&one.filed());
    let rank = |decision, crisis| Pending { decision, crisis, ..plain.clone() }.rank();
    assert_eq!([rank(true, true), rank(true, false), rank(false, false), rank(false, true)], [0, 1, 2, 2]);
}

#[test]
fn a_request_is_told_to_another_process_with_what_no_list_shows() {
    let one = waiting(Tier::High);
    let shown = one.shown(&one.filed());
    let sent = serde_json::to_string(&PendingMessage::from(shown.clone())).unwrap();
    let heard = Pending::from(serde_json::from_str::<PendingMessage>(&sent).unwrap());
    assert_eq!((heard.waiter.as_deref(), heard.root.as_str()), (Some("a"), "root"));
    assert_eq!((heard.digest, heard.command), (shown.digest, shown.command));
}
