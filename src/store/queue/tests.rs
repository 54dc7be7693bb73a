use std::collections::BTreeSet;

use super::super::sample::{Sample, invocation, risk};
use super::*;
use crate::judge::Judgment;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::ApprovalNonce;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::Invocation;

mod filing;
mod signing;

const NOBODY: &dyn Fn(&str) -> bool = &|_| false;
const EVERYBODY: &dyn Fn(&str) -> bool = &|_| true;

/// A record, its queue, and a command of this tier that is to wait.
struct Waiting {
    sample: Sample,
    queue: Queue,
    invocation: Invocation,
    tier: Tier,
    approvals: u8,
    most: u32,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn waiting(tier: Tier) -> Waiting {
    let sample = Sample::new();
    let queue = Queue::open(&Paths::new(sample.directory.path())).unwrap();
    Waiting { sample, queue, invocation: invocation(&["tool", "x"], "root"), tier, approvals: 1, most: 3 }
}

fn bindings() -> Bindings {
    Bindings::of(&Judgment::default(), Some((1, 2)))
}

impl Waiting {
    fn digest(&self) -> Digest {
        self.invocation.digest(&BTreeSet::new())
    }

    /// Files it at a time in seconds, for a guard that waits for a minute.
    fn file(&self, waiter: Option<&str>, alive: &dyn Fn(&str) -> bool, seconds: i64) -> FilingResult {
        let new = NewRequest {
            invocation: &self.invocation,
            digest: &self.digest(),
            risk: &risk("a.rule", self.tier, &[]),
            bindings: &bindings(),
            fresh: ApprovalNonce::default(),
            waiter,
            above: Vec::new(),
            expires: at(seconds + 60),
            most: self.most,
            approvals: self.approvals,
            decision: false,
            justification: &Justification::default(),
            opinion: None,
            may_grant: false,
            codes_left: 0,
            evidence: &[],
        };
        self.queue.file(&new, alive, at(seconds)).unwrap()
    }

    /// Returns the name of the request that is filed at second 0 for the guard `a`.
    fn filed(&self) -> String {
        match self.file(Some("a"), NOBODY, 0) {
            FilingResult::Waits { id, twins: false } => id,
            other => panic!("{other:?}"),
        }
    }

    fn shown(&self, id: &str) -> Pending {
        self.queue.find(id).unwrap().unwrap()
    }

    /// Answers the request as it was shown, at a time in seconds.
    fn answer(&self, shown: &Pending, yes: bool, waited_for: bool, seconds: i64) -> AnswerOutcome {
        let (digest, bindings) = (self.digest(), bindings());
        let answer = Answer {
            yes: yes.then_some((&digest, &bindings)),
            by: "ada",
            words: None,
            signatures: &[],
            waited_for,
            approvals: 1,
            signer: &[],
            scope: AnswerScope::Once,
        };
        self.queue.answer(&self.sample.store, shown, &answer, at(seconds)).unwrap()
    }

    fn take(&self, id: &str) -> WaitState {
        self.queue.take(&self.sample.store, id, &self.digest(), &bindings()).unwrap()
    }
}

fn is_void(state: &WaitState) -> bool {
    matches!(state, WaitState::Void { .. })
}

#[test]
fn a_yes_lets_a_command_run_once_and_never_again() {
    let one = waiting(Tier::High);
    let id = one.filed();
    assert_eq!(one.take(&id), WaitState::Waiting);
    assert!(!one.queue.is_answered(&one.digest(), "ada").unwrap());
    assert_eq!(one.answer(&one.shown(&id), true, true, 1), AnswerOutcome::Done { late: false });
    assert!(one.queue.is_answered(&one.digest(), "ada").unwrap());
    assert!(!one.queue.is_answered(&one.digest(), "eve").unwrap(), "another account's");
    assert!(!one.queue.is_answered(&Digest([7; 32]), "ada").unwrap(), "another command");
    assert!(matches!(one.take(&id), WaitState::Yes(_)));
    assert!(is_void(&one.take(&id)));
    assert!(!one.queue.is_answered(&one.digest(), "ada").unwrap());
    assert!(one.queue.full_request(&id).unwrap().is_none(), "what is exact in it is erased");
}

#[test]
fn a_yes_that_is_put_back_by_another_hand_is_not_used_again() {
    let one = waiting(Tier::High);
    let id = one.filed();
    one.answer(&one.shown(&id), true, true, 1);
    assert!(matches!(one.take(&id), WaitState::Yes(_)));
    one.queue.connection.execute("UPDATE request SET state = 'approved'", []).unwrap();
    assert!(is_void(&one.take(&id)));
}

#[test]
fn a_yes_that_the_record_does_not_know_approves_nothing() {
    let one = waiting(Tier::High);
    let id = one.filed();
    one.queue.connection.execute("UPDATE request SET state = 'approved', answer = 1, decided_by = 'ada'", []).unwrap();
    assert!(is_void(&one.take(&id)));
    assert_eq!(one.shown(&id).state, RequestState::Void);
}

#[test]
fn a_yes_does_not_hold_for_another_command_or_for_other_files() {
    let state = |digest: Digest, bindings: &Bindings| {
        let one = waiting(Tier::High);
        let id = one.filed();
        one.answer(&one.shown(&id), true, true, 1);
        one.queue.take(&one.sample.store, &id, &digest, bindings).unwrap()
    };
    let digest = waiting(Tier::High).digest();
    assert!(matches!(state(digest, &bindings()), WaitState::Yes(_)));
    assert!(is_void(&state(Digest([7; 32]), &bindings())));
    assert!(is_void(&state(digest, &Bindings::of(&Judgment::default(), Some((1, 3))))));
}

#[test]
fn the_first_answer_wins() {
    let one = waiting(Tier::High);
    let id = one.filed();
    let shown = one.shown(&id);
    assert_eq!(one.answer(&shown, false, true, 1), AnswerOutcome::Done { late: false });
    assert!(matches!(one.answer(&shown, true, true, 2), AnswerOutcome::Settled(_)));
    assert_eq!(one.take(&id), WaitState::No { by: "ada".to_owned(), words: None });
    assert!(one.queue.full_request(&id).unwrap().is_none(), "what is exact in it is erased");
    assert!(!one.queue.give_up(&id).unwrap());
}

#[test]
fn an_answer_to_what_was_shown_before_it_was_asked_anew_does_not_count() {
    let one = waiting(Tier::High);
    let id = one.filed();
    let shown = one.shown(&id);
    let again = one.file(Some("b"), NOBODY, 5);
    assert_eq!(again, FilingResult::Waits { id: id.clone(), twins: false });
    assert_eq!(one.answer(&shown, true, true, 6), AnswerOutcome::AskedAnew);
    assert_eq!(one.take(&id), WaitState::Waiting);
    let unknown = Pending { id: "none".to_owned(), ..shown };
    assert_eq!(one.answer(&unknown, true, true, 6), AnswerOutcome::Unknown);
}

#[test]
fn what_nobody_waits_for_is_approved_late_but_not_at_tier_4_nor_without_all_its_approvers() {
    for (tier, approvals, yes) in [
        (Tier::High, 1, AnswerOutcome::Done { late: true }),
        (Tier::Critical, 1, AnswerOutcome::TooLate),
        (Tier::High, 2, AnswerOutcome::TooLate),
    ] {
        let one = Waiting { approvals, ..waiting(tier) };
        let id = one.filed();
        assert!(one.queue.full_request(&id).unwrap().is_some());
        assert!(one.queue.give_up(&id).unwrap());
        assert!(!one.queue.give_up(&id).unwrap(), "it is given up once");
        let never = yes == AnswerOutcome::TooLate;
        assert_eq!(one.queue.full_request(&id).unwrap().is_none(), never, "{tier:?}, {approvals}: what is exact");
        assert_eq!(one.take(&id), WaitState::Late);
        assert_eq!(one.answer(&one.shown(&id), true, true, 1), yes, "{tier:?}, {approvals}");
        let other = Waiting { approvals, ..waiting(tier) };
        let id = other.filed();
        assert_eq!(other.answer(&other.shown(&id), true, false, 1), yes, "{tier:?}, {approvals}: the guard is gone");
    }
}

#[test]
fn what_wants_two_approvers_is_not_approved_by_an_answer_that_nobody_signed() {
    let one = Waiting { approvals: 2, ..waiting(Tier::High) };
    let id = one.filed();
    assert_eq!(one.answer(&one.shown(&id), true, true, 1), AnswerOutcome::Unsigned);
    assert_eq!(one.take(&id), WaitState::Waiting);
}

#[test]
fn a_session_has_so_many_requests_and_no_more() {
    let mut one = Waiting { most: 2, ..waiting(Tier::High) };
    let mut file = |word: &str, root: &str| {
        one.invocation = invocation(&["tool", word], root);
        one.file(Some("a"), EVERYBODY, 0)
    };
    assert!(matches!(file("1", "root"), FilingResult::Waits { twins: false, .. }));
    assert!(
        matches!(file("1", "root"), FilingResult::Waits { twins: true, .. }),
        "the same command, for another guard"
    );
    assert_eq!(file("2", "root"), FilingResult::Crowded { waiting: 2 });
    assert!(matches!(file("2", "other"), FilingResult::Waits { .. }), "another session");
}

#[test]
fn what_was_answered_before_is_taken_up_but_not_at_tier_4_nor_for_another_account() {
    let again = |tier, user: &str| {
        let mut one = waiting(tier);
        let id = one.filed();
        assert_eq!(one.answer(&one.shown(&id), true, true, 1), AnswerOutcome::Done { late: false });
        user.clone_into(&mut one.invocation.user);
        one.file(Some("b"), NOBODY, 2) == FilingResult::Answered { id }
    };
    assert!(again(Tier::High, "ada"));
    assert!(!again(Tier::Critical, "ada"));
    assert!(!again(Tier::High, "eve"));
}

#[test]
fn time_ends_a_request_and_a_yes_that_nobody_used() {
    let one = waiting(Tier::High);
    let id = one.filed();
    let state = |seconds| {
        one.queue.list(at(seconds)).unwrap();
        one.shown(&id).state
    };
    assert_eq!(state(64), RequestState::Waiting, "the one who waits has five seconds to take an answer");
    assert_eq!(state(66), RequestState::Late);
    assert_eq!(one.answer(&one.shown(&id), true, false, 70), AnswerOutcome::Done { late: true });
    let sweep = |seconds| one.queue.change(|connection| sweep(connection, at(seconds))).unwrap();
    sweep(70 + 3600);
    assert_eq!(one.shown(&id).state, RequestState::Approved);
    sweep(70 + 3601);
    assert_eq!(one.shown(&id).state, RequestState::Lapsed);
    assert!(is_void(&one.take(&id)));
}

#[test]
fn a_request_that_is_void_says_why_and_is_answered_no_more() {
    let one = waiting(Tier::High);
    let id = one.filed();
    let shown = one.shown(&id);
    assert!(one.queue.void(&id, "the script changed").unwrap());
    assert!(!one.queue.void(&id, "again").unwrap());
    assert_eq!(one.take(&id), WaitState::Void { what: "the script changed".to_owned() });
    assert!(matches!(one.answer(&shown, true, true, 1), AnswerOutcome::Settled(_)));
    assert!(one.queue.full_request(&id).unwrap().is_none());
}

#[test]
fn a_queue_is_looked_for_without_being_made() {
    let directory = tempfile::tempdir().unwrap();
    let paths = Paths::new(directory.path());
    assert!(Queue::existing(&paths).unwrap().is_none());
    assert!(!paths.queue().database().exists());
    Queue::open(&paths).unwrap();
    assert!(Queue::existing(&paths).unwrap().is_some());
}

#[test]
fn whoever_looks_again_soon_sees_what_others_write_and_gives_up_in_the_end() {
    assert!(super::soon(0) && super::soon(4_999) && !super::soon(5_000), "for five seconds");
    let directory = tempfile::tempdir().unwrap();
    let paths = Paths::new(directory.path().join("guard"));
    let (writer, reader) = (Queue::open(&paths).unwrap(), Queue::open(&paths).unwrap());
    let reader = reader.look_again_soon().unwrap();
    writer.connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let looking = std::thread::spawn(move || reader.list(Timestamp::now()).unwrap().len());
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!looking.is_finished(), "it waits for the lock");
    writer.connection.execute_batch("COMMIT").unwrap();
    assert_eq!(looking.join().unwrap(), 0);
}
