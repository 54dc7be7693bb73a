//! Decides who may approve which requests remotely. Everyone who may answer at all may deny.
//!
//! Out of scope: how an answer is received, and how it is processed ([`crate::backend`]).

use std::fmt;

use jiff::Timestamp;

use crate::judge::answer_scope::AnswerScope;
use crate::judge::risk::Tier;
use crate::store::queue::{AnswerOutcome, Pending, RequestState};

/// The identity and the permissions of the sender of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answerer {
    /// The approver and the means of the answer, as written to the record.
    pub by: String,
    /// The token with which the answer was sent. It cannot approve a request that was submitted with the same token.
    pub token: Option<String>,
    /// The highest tier that it may approve.
    pub max_tier: u8,
}

/// The reason why an approval is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalBar {
    /// Tier 4 requires a word typed at a terminal.
    Terminal,
    /// An approver must sign with their key.
    Signature,
    /// A part of the command is hidden, and an approver must see what they approve.
    Hidden,
    /// The requester tries to answer their own request.
    Own,
    /// The tier is above the limit of the token or of the configuration.
    Tier { most: u8 },
}

impl fmt::Display for ApprovalBar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal => f.write_str("tier 4 requests can only be answered at a terminal (guard review)"),
            Self::Signature => {
                f.write_str("an approver must sign this; answer at a terminal (guard approve) or with a passkey")
            }
            Self::Hidden => {
                f.write_str("a secret in this command is hidden, so it cannot be approved here; answer at a terminal")
            }
            Self::Own => f.write_str("the requester cannot answer the request"),
            Self::Tier { most } => write!(
                f,
                "without a signature at most tier {most} can be approved here; answer at a terminal (guard approve), \
                 or raise unsigned_tier in gateway.toml"
            ),
        }
    }
}

/// Checks whether a request may be approved remotely without a signature.
///
/// `enrolled` is true if any approver has an enrolled key; `unsigned_tier` is the highest tier that needs no signature;
/// `reach` is the scope of the approval.
///
/// # Errors
/// Returns the reason why it may not.
pub fn may_say_yes(
    pending: &Pending,
    who: &Answerer,
    enrolled: bool,
    unsigned_tier: u8,
    reach: AnswerScope,
) -> Result<(), ApprovalBar> {
    may_answer(pending, who)?;
    if pending.approvals > 1 || (enrolled && reach.signed_as(pending.tier) >= Tier::High) {
        return Err(ApprovalBar::Signature);
    }
    up_to(unsigned_tier.min(who.max_tier), pending)
}

/// Checks whether a request may be approved remotely with the signature of an approver's passkey.
///
/// # Errors
/// Returns the reason why it may not.
pub fn may_sign(pending: &Pending, who: &Answerer) -> Result<(), ApprovalBar> {
    may_answer(pending, who)?;
    up_to(who.max_tier, pending)
}

/// Checks the conditions of every remote approval, signed or not.
fn may_answer(pending: &Pending, who: &Answerer) -> Result<(), ApprovalBar> {
    if pending.tier == Tier::Critical {
        return Err(ApprovalBar::Terminal);
    }
    if who.token.as_deref().is_some_and(|token| is_of(pending, token)) {
        return Err(ApprovalBar::Own);
    }
    if pending.redacted { Err(ApprovalBar::Hidden) } else { Ok(()) }
}

fn up_to(most: u8, pending: &Pending) -> Result<(), ApprovalBar> {
    if pending.tier.number() > most { Err(ApprovalBar::Tier { most }) } else { Ok(()) }
}

/// Reports whether a request was submitted with the token of this name.
#[must_use]
pub fn is_of(pending: &Pending, token: &str) -> bool {
    is_root_of(&pending.root, token)
}

/// Reports whether this session root belongs to a client with the token of this name.
#[must_use]
pub fn is_root_of(root: &str, token: &str) -> bool {
    root.split_once("@api:").is_some_and(|(_, client)| client == token)
}

/// Returns the scopes that an approval of a request may have, as named in the API.
#[must_use]
pub fn offers(pending: &Pending) -> Vec<&'static str> {
    AnswerScope::offered(pending.offers_grant(true), &pending.session)
}

/// Describes the scope of an approval.
fn lasting(reach: AnswerScope) -> String {
    match reach {
        AnswerScope::Once => String::new(),
        AnswerScope::Session => ", and the same command until its session ends".to_owned(),
        AnswerScope::Until(at) => {
            format!(", and the same command until {}", Timestamp::from_second(at).unwrap_or_default())
        }
        AnswerScope::Always => ", and the same command until revoked".to_owned(),
    }
}

/// Describes the outcome of an answer for the person who gave it.
#[must_use]
pub fn outcome_text(outcome: &AnswerOutcome, yes: bool, reach: AnswerScope) -> String {
    match outcome {
        AnswerOutcome::Done { late: false } if yes => format!("approved{}", lasting(reach)),
        AnswerOutcome::Done { late: false } => "denied".to_owned(),
        AnswerOutcome::NotOffered { why } => why.clone(),
        AnswerOutcome::Done { late: true } if yes => {
            "approved; the requester no longer waits, but can run the same command once within an hour".to_owned()
        }
        AnswerOutcome::Done { late: true } => "denied; the requester no longer waits".to_owned(),
        AnswerOutcome::Partly { by } => format!("approved by {}; more approvers are needed", by.join(" and ")),
        AnswerOutcome::SignedAlready { by } => format!("{by} has already signed; another approver must sign"),
        AnswerOutcome::Copied { by } => {
            format!("refused: the passkey of {by} may have been copied (its counter went back)")
        }
        AnswerOutcome::Unsigned => ApprovalBar::Signature.to_string(),
        AnswerOutcome::Settled(pending) => settled(pending),
        AnswerOutcome::Wordless => "the reviewer denied it; use guard approve to approve it with a reason".to_owned(),
        AnswerOutcome::TooLate => "too late: the requester no longer waits".to_owned(),
        AnswerOutcome::AskedAnew => "the request was renewed in the meantime; look at it again".to_owned(),
        AnswerOutcome::Unknown => "the request no longer exists".to_owned(),
    }
}

/// Describes the state of a request that is no longer open.
#[must_use]
pub fn settled(pending: &Pending) -> String {
    let by = pending.decided_by.as_deref().map_or(String::new(), |by| format!(" by {by}"));
    let words = pending.words.as_deref().map_or(String::new(), |words| format!(": {words}"));
    let what = match pending.state {
        RequestState::Waiting => "waiting",
        RequestState::Late => "not answered in time",
        RequestState::Approved => "approved",
        RequestState::Denied => "denied",
        RequestState::Used => "approved and used",
        RequestState::Void => "void",
        RequestState::Lapsed => "expired",
    };
    format!("{what}{by}{words}")
}

/// The suggested reasons of a denial, if no reasons were given recently.
pub const REPLIES: [&str; 3] = ["use a branch", "show me first", "not now"];

#[cfg(test)]
pub mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::judge::review::{Opinion, OpinionVerdict};
    use crate::judge::risk::Weight;

    /// Returns a waiting request of tier 2.
    pub fn pending() -> Pending {
        let told = serde_json::json!({
            "id": "b2c3", "state": "waiting", "filed": Timestamp::UNIX_EPOCH, "expires": Timestamp::UNIX_EPOCH,
            "user": "ada", "session": "s", "origin": "agent", "tier": Tier::Medium, "score": Weight(200),
            "command": "npm install left-pad", "redacted": false, "cwd": "/work", "why": "packages.new: new",
            "approvals": 1,
        });
        serde_json::from_value(told).unwrap()
    }

    /// Returns the request with this change.
    pub fn changed(mut one: Pending, change: impl FnOnce(&mut Pending)) -> Pending {
        change(&mut one);
        one
    }

    fn ada() -> Answerer {
        Answerer { by: "ada".to_owned(), token: Some("phone".to_owned()), max_tier: 3 }
    }

    #[test]
    fn what_may_be_approved_from_afar() {
        let yes =
            |pending: &Pending, enrolled, unsigned| may_say_yes(pending, &ada(), enrolled, unsigned, AnswerScope::Once);
        let two = pending();
        assert_eq!(yes(&two, false, 2), Ok(()));
        assert_eq!(yes(&two, true, 2), Ok(()), "a signature is needed from tier 3 on");
        assert_eq!(yes(&two, false, 1), Err(ApprovalBar::Tier { most: 1 }));
        let three = changed(pending(), |one| {
            one.tier = Tier::High;
        });
        assert_eq!(yes(&three, false, 2), Err(ApprovalBar::Tier { most: 2 }));
        assert_eq!(yes(&three, false, 3), Ok(()));
        assert_eq!(yes(&three, true, 3), Err(ApprovalBar::Signature));
        let weak = Answerer { max_tier: 2, ..ada() };
        assert_eq!(may_say_yes(&three, &weak, false, 3, AnswerScope::Once), Err(ApprovalBar::Tier { most: 2 }));
        let four = changed(pending(), |one| {
            one.tier = Tier::Critical;
        });
        assert_eq!(
            may_say_yes(&four, &Answerer { max_tier: 4, ..ada() }, false, 4, AnswerScope::Once),
            Err(ApprovalBar::Terminal)
        );
        assert_eq!(
            yes(
                &changed(pending(), |one| {
                    one.redacted = true;
                }),
                false,
                2
            ),
            Err(ApprovalBar::Hidden)
        );
        assert_eq!(
            yes(
                &changed(pending(), |one| {
                    one.approvals = 2;
                }),
                false,
                2
            ),
            Err(ApprovalBar::Signature)
        );
    }

    #[test]
    fn a_passkey_reaches_no_further_than_a_person_afar_may() {
        let high = changed(pending(), |one| {
            one.tier = Tier::High;
            one.approvals = 2;
        });
        assert_eq!(may_sign(&high, &ada()), Ok(()));
        assert_eq!(may_sign(&high, &Answerer { max_tier: 2, ..ada() }), Err(ApprovalBar::Tier { most: 2 }));
        let bar =
            |change: fn(&mut Pending)| may_sign(&changed(high.clone(), change), &Answerer { max_tier: 4, ..ada() });
        assert_eq!(bar(|one| one.tier = Tier::Critical), Err(ApprovalBar::Terminal));
        assert_eq!(bar(|one| one.redacted = true), Err(ApprovalBar::Hidden));
        assert_eq!(bar(|one| one.root = "1000@api:phone".to_owned()), Err(ApprovalBar::Own));
    }

    #[test]
    fn a_yes_that_lasts_is_signed_where_approvers_are_enrolled() {
        let yes = |reach, enrolled| may_say_yes(&pending(), &ada(), enrolled, 2, reach);
        assert_eq!(yes(AnswerScope::Once, true), Ok(()));
        for reach in [AnswerScope::Session, AnswerScope::Until(9), AnswerScope::Always] {
            assert_eq!(yes(reach, true), Err(ApprovalBar::Signature), "{reach}");
            assert_eq!(yes(reach, false), Ok(()), "{reach}");
        }
    }

    #[test]
    fn a_grant_is_offered_where_the_card_offers_it_to_whoever_waits() {
        let one = |change: fn(&mut Pending)| {
            let granted = changed(pending(), |one| one.may_grant = true);
            offers(&changed(granted, change))
        };
        assert_eq!(one(|_| {}), ["once", "session", "until", "always"]);
        assert_eq!(one(|one| one.session = String::new()), ["once", "until", "always"]);
        assert_eq!(one(|one| one.may_grant = false), ["once"]);
        assert_eq!(one(|one| one.tier = Tier::Critical), ["once"]);
        assert_eq!(one(|one| one.approvals = 2), ["once"]);
        assert_eq!(one(|one| one.decision = true), ["once"]);
        assert_eq!(one(|one| one.state = RequestState::Late), ["once"]);
        let opinion = |says| Opinion { says, ..Opinion::nothing("m", "r") };
        let reviewed = |says| changed(pending(), |one| (one.may_grant, one.review) = (true, Some(opinion(says))));
        assert_eq!(offers(&reviewed(OpinionVerdict::Deny)), ["once"]);
        assert_eq!(offers(&reviewed(OpinionVerdict::Escalate)).len(), 4);
    }

    #[test]
    fn nobody_answers_what_they_handed_in() {
        let own = changed(pending(), |one| {
            one.root = "1000@api:phone".to_owned();
        });
        assert_eq!(may_say_yes(&own, &ada(), false, 2, AnswerScope::Once), Err(ApprovalBar::Own));
        let other = changed(pending(), |one| {
            one.root = "1000@api:phone2".to_owned();
        });
        assert_eq!(may_say_yes(&other, &ada(), false, 2, AnswerScope::Once), Ok(()));
    }
}
