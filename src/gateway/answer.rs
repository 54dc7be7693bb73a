//! Who may say yes from afar, and to what. A no is everybody's who may answer at all.
//!
//! What may not enter: how an answer comes in, and what becomes of it ([`crate::backend`]).

use std::fmt;

use crate::judge::risk::Tier;
use crate::store::queue::{Outcome, Pending, State};

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answerer {
    /// As the record has it: the approver, and through what.
    pub by: String,
    /// The token that came with it; a request that was handed in with the same one is not answered by it.
    pub token: Option<String>,
    /// The highest tier that it may approve.
    pub max_tier: u8,
}

/// Why a yes is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bar {
    /// Tier 4 wants a word typed at a terminal.
    Terminal,
    /// An approver's key has to sign.
    Signature,
    /// A part of the command is hidden, and nobody approves what they cannot see.
    Hidden,
    /// Whoever asked answers.
    Own,
    /// Beyond what this token, or the configuration, allows.
    Tier { most: u8 },
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal => f.write_str("what is of tier 4 is answered at a terminal alone: guard review"),
            Self::Signature => f.write_str(
                "an approver's key has to sign this: answer at a terminal (guard approve), or with a passkey",
            ),
            Self::Hidden => f.write_str(
                "a secret is hidden in this command, and nobody approves what they cannot see: answer at a terminal",
            ),
            Self::Own => f.write_str("whoever asked may not answer"),
            Self::Tier { most } => write!(
                f,
                "without a signature nothing above tier {most} is approved from afar: answer at a terminal (guard \
                 approve), or raise unsigned_tier in gateway.toml"
            ),
        }
    }
}

/// Whether a yes to this may come from afar.
///
/// `enrolled` says whether approvers with keys are; `unsigned_tier` is the highest tier without a signature.
///
/// # Errors
/// Why it may not.
pub fn may_say_yes(pending: &Pending, who: &Answerer, enrolled: bool, unsigned_tier: u8) -> Result<(), Bar> {
    may_answer(pending, who)?;
    if pending.approvals > 1 || (enrolled && pending.tier >= Tier::High) {
        return Err(Bar::Signature);
    }
    up_to(unsigned_tier.min(who.max_tier), pending)
}

/// Whether a yes to this may come from afar with the signature of an approver's passkey.
///
/// # Errors
/// Why it may not.
pub fn may_sign(pending: &Pending, who: &Answerer) -> Result<(), Bar> {
    may_answer(pending, who)?;
    up_to(who.max_tier, pending)
}

/// What bars every yes from afar, signed or not.
fn may_answer(pending: &Pending, who: &Answerer) -> Result<(), Bar> {
    if pending.tier == Tier::Critical {
        return Err(Bar::Terminal);
    }
    if who.token.as_deref().is_some_and(|token| is_of(pending, token)) {
        return Err(Bar::Own);
    }
    if pending.redacted { Err(Bar::Hidden) } else { Ok(()) }
}

fn up_to(most: u8, pending: &Pending) -> Result<(), Bar> {
    if pending.tier.number() > most { Err(Bar::Tier { most }) } else { Ok(()) }
}

/// Whether a request was handed in with the token of this name.
#[must_use]
pub fn is_of(pending: &Pending, token: &str) -> bool {
    is_root_of(&pending.root, token)
}

/// Whether the root of a session is what a client with the token of this name hands in.
#[must_use]
pub fn is_root_of(root: &str, token: &str) -> bool {
    root.split_once("@api:").is_some_and(|(_, client)| client == token)
}

/// What became of an answer, in words for whoever gave it.
#[must_use]
pub fn told(outcome: &Outcome, yes: bool) -> String {
    match outcome {
        Outcome::Done { late: false } => if yes { "approved" } else { "denied" }.to_owned(),
        Outcome::Done { late: true } if yes => {
            "approved; nobody waits now: the same command runs once within an hour".to_owned()
        }
        Outcome::Done { late: true } => "denied; nobody waits any more".to_owned(),
        Outcome::Partly { by } => format!("approved by {}; more approvers are wanted", by.join(" and ")),
        Outcome::SignedAlready { by } => format!("{by} has signed it already, and counts once"),
        Outcome::Copied { by } => {
            format!("refused: the passkey of {by} has counted further than this, so it may have been copied")
        }
        Outcome::Unsigned => Bar::Signature.to_string(),
        Outcome::Settled(pending) => settled(pending),
        Outcome::Wordless => "the reviewer refused it: a yes against that says why (guard approve)".to_owned(),
        Outcome::TooLate => "too late: nobody waits for it any more".to_owned(),
        Outcome::AskedAnew => "it was asked again in the meantime: look at it again".to_owned(),
        Outcome::Unknown => "there is no such request any more".to_owned(),
    }
}

/// How a request stands that is not open any more.
#[must_use]
pub fn settled(pending: &Pending) -> String {
    let by = pending.decided_by.as_deref().map_or(String::new(), |by| format!(" by {by}"));
    let words = pending.words.as_deref().map_or(String::new(), |words| format!(": {words}"));
    let what = match pending.state {
        State::Waiting => "waiting",
        State::Late => "not answered in time",
        State::Approved => "approved",
        State::Denied => "denied",
        State::Used => "approved and used",
        State::Void => "void",
        State::Lapsed => "too old to be answered",
    };
    format!("{what}{by}{words}")
}

/// What a denial may say with one tap, where nothing was said lately.
pub const REPLIES: [&str; 3] = ["use a branch", "show me first", "not now"];

#[cfg(test)]
pub mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::judge::risk::Weight;

    /// A request of tier 2 that waits.
    pub fn pending() -> Pending {
        let told = serde_json::json!({
            "id": "b2c3", "state": "waiting", "filed": Timestamp::UNIX_EPOCH, "expires": Timestamp::UNIX_EPOCH,
            "user": "ada", "session": "s", "origin": "agent", "tier": Tier::Medium, "score": Weight(200),
            "command": "npm install left-pad", "redacted": false, "cwd": "/work", "why": "packages.new: new",
            "approvals": 1,
        });
        serde_json::from_value(told).unwrap()
    }

    /// The same, but for this.
    pub fn changed(mut one: Pending, change: impl FnOnce(&mut Pending)) -> Pending {
        change(&mut one);
        one
    }

    fn ada() -> Answerer {
        Answerer { by: "ada".to_owned(), token: Some("phone".to_owned()), max_tier: 3 }
    }

    #[test]
    fn what_may_be_approved_from_afar() {
        let yes = |pending: &Pending, enrolled, unsigned| may_say_yes(pending, &ada(), enrolled, unsigned);
        let two = pending();
        assert_eq!(yes(&two, false, 2), Ok(()));
        assert_eq!(yes(&two, true, 2), Ok(()), "a signature is wanted from tier 3 on");
        assert_eq!(yes(&two, false, 1), Err(Bar::Tier { most: 1 }));
        let three = changed(pending(), |one| {
            one.tier = Tier::High;
        });
        assert_eq!(yes(&three, false, 2), Err(Bar::Tier { most: 2 }));
        assert_eq!(yes(&three, false, 3), Ok(()));
        assert_eq!(yes(&three, true, 3), Err(Bar::Signature));
        let weak = Answerer { max_tier: 2, ..ada() };
        assert_eq!(may_say_yes(&three, &weak, false, 3), Err(Bar::Tier { most: 2 }));
        let four = changed(pending(), |one| {
            one.tier = Tier::Critical;
        });
        assert_eq!(may_say_yes(&four, &Answerer { max_tier: 4, ..ada() }, false, 4), Err(Bar::Terminal));
        assert_eq!(
            yes(
                &changed(pending(), |one| {
                    one.redacted = true;
                }),
                false,
                2
            ),
            Err(Bar::Hidden)
        );
        assert_eq!(
            yes(
                &changed(pending(), |one| {
                    one.approvals = 2;
                }),
                false,
                2
            ),
            Err(Bar::Signature)
        );
    }

    #[test]
    fn a_passkey_reaches_no_further_than_a_person_afar_may() {
        let high = changed(pending(), |one| {
            one.tier = Tier::High;
            one.approvals = 2;
        });
        assert_eq!(may_sign(&high, &ada()), Ok(()));
        assert_eq!(may_sign(&high, &Answerer { max_tier: 2, ..ada() }), Err(Bar::Tier { most: 2 }));
        let bar =
            |change: fn(&mut Pending)| may_sign(&changed(high.clone(), change), &Answerer { max_tier: 4, ..ada() });
        assert_eq!(bar(|one| one.tier = Tier::Critical), Err(Bar::Terminal));
        assert_eq!(bar(|one| one.redacted = true), Err(Bar::Hidden));
        assert_eq!(bar(|one| one.root = "1000@api:phone".to_owned()), Err(Bar::Own));
    }

    #[test]
    fn nobody_answers_what_they_handed_in() {
        let own = changed(pending(), |one| {
            one.root = "1000@api:phone".to_owned();
        });
        assert_eq!(may_say_yes(&own, &ada(), false, 2), Err(Bar::Own));
        let other = changed(pending(), |one| {
            one.root = "1000@api:phone2".to_owned();
        });
        assert_eq!(may_say_yes(&other, &ada(), false, 2), Ok(()));
    }
}
