//! How far a yes from elsewhere reaches: this once, or on, as a grant of exactly this command in its directory.
//!
//! Whoever answers asks for a scope, and the guard that waits gives the grant once it has judged again. Whether one is
//! offered at all was decided when the command was filed. Out of scope: giving the grant, and the record.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::approved::GrantExpiry;
use super::risk::Tier;

/// The longest that a grant given with an answer may hold when it names a time, in days.
pub const MOST_DAYS: i64 = 14;

const DAY: i64 = 24 * 60 * 60;

/// How far a yes reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerScope {
    /// This request alone.
    #[default]
    Once,
    /// Until the session that asked ends.
    Session,
    /// Until this time, in seconds since 1970.
    Until(i64),
    /// Until it is revoked.
    Always,
}

/// Why a scope is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOffered {
    /// The card offers no grant.
    #[error("this command can only be approved once at a time")]
    Grant,
    /// Nobody knows which session it was.
    #[error("the session of the request is not known, so an approval cannot last until it ends")]
    Session,
    #[error("the end of the approval is in the past")]
    Past,
    #[error("an approval can last at most {MOST_DAYS} days")]
    Far,
}

impl AnswerScope {
    /// Whether it is a yes to this request and no other.
    #[must_use]
    pub fn is_once(&self) -> bool {
        *self == Self::Once
    }

    /// As of which tier a yes that reaches so far is signed: a grant may let run what is of tier 3, again and again.
    #[must_use]
    pub fn signed_as(self, tier: Tier) -> Tier {
        if self.is_once() { tier } else { tier.max(Tier::High) }
    }

    /// Until when a grant of it holds, for what this session asked; `None`: no grant.
    #[must_use]
    pub fn until(self, session: &str) -> Option<GrantExpiry> {
        match self {
            Self::Once => None,
            Self::Session => Some(GrantExpiry::Session { id: session.to_owned() }),
            Self::Until(at) => Some(GrantExpiry::Date { at }),
            Self::Always => Some(GrantExpiry::Revoked),
        }
    }

    /// The scope of a grant that holds so long, or of none.
    #[must_use]
    pub const fn of(until: Option<&GrantExpiry>) -> Self {
        match until {
            None => Self::Once,
            Some(GrantExpiry::Session { .. }) => Self::Session,
            Some(GrantExpiry::Date { at }) => Self::Until(*at),
            Some(GrantExpiry::Revoked) => Self::Always,
        }
    }

    /// That it may be had. `may_grant` says whether the card offers a grant, `session` names the session that asked and is
    /// empty where nobody knows it, `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(self, may_grant: bool, session: &str, now: i64) -> Result<(), NotOffered> {
        match self {
            Self::Once => Ok(()),
            _ if !may_grant => Err(NotOffered::Grant),
            Self::Session if session.is_empty() => Err(NotOffered::Session),
            Self::Until(at) if at <= now => Err(NotOffered::Past),
            Self::Until(at) if at.saturating_sub(now) > MOST_DAYS * DAY => Err(NotOffered::Far),
            Self::Session | Self::Until(_) | Self::Always => Ok(()),
        }
    }

    /// The words of the scopes that may be had, for whoever chooses.
    #[must_use]
    pub fn offered(may_grant: bool, session: &str) -> Vec<&'static str> {
        // Some time may be had where the next second may.
        let all =
            [("once", Self::Once), ("session", Self::Session), ("until", Self::Until(1)), ("always", Self::Always)];
        all.into_iter().filter(|(_, scope)| scope.check(may_grant, session, 0).is_ok()).map(|(word, _)| word).collect()
    }
}

/// As it is signed and sealed: `once`, `session`, `until` and seconds since 1970, `always`.
impl fmt::Display for AnswerScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once => f.write_str("once"),
            Self::Session => f.write_str("session"),
            Self::Until(at) => write!(f, "until {at}"),
            Self::Always => f.write_str("always"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    #[test]
    fn once_is_always_to_be_had_and_all_else_where_the_card_offers_it() {
        let all = [AnswerScope::Session, AnswerScope::Until(NOW + 1), AnswerScope::Always];
        for may_grant in [true, false] {
            assert_eq!(AnswerScope::Once.check(may_grant, "", NOW), Ok(()));
        }
        for scope in all {
            assert_eq!(scope.check(true, "s", NOW), Ok(()), "{scope}");
            assert_eq!(scope.check(false, "s", NOW), Err(NotOffered::Grant), "{scope}");
        }
        assert_eq!(AnswerScope::offered(true, "s"), ["once", "session", "until", "always"]);
        assert_eq!(AnswerScope::offered(false, "s"), ["once"]);
    }

    #[test]
    fn a_grant_is_signed_as_what_is_of_tier_3() {
        assert_eq!(AnswerScope::Once.signed_as(Tier::Medium), Tier::Medium);
        assert_eq!(AnswerScope::Session.signed_as(Tier::Medium), Tier::High);
        assert_eq!(AnswerScope::Always.signed_as(Tier::Critical), Tier::Critical);
    }

    #[test]
    fn a_session_that_nobody_knows_has_no_end() {
        assert_eq!(AnswerScope::Session.check(true, "", NOW), Err(NotOffered::Session));
        assert_eq!(AnswerScope::Always.check(true, "", NOW), Ok(()));
        assert_eq!(AnswerScope::offered(true, ""), ["once", "until", "always"]);
    }

    #[test]
    fn a_time_lies_ahead_and_within_two_weeks() {
        let of = |at| AnswerScope::Until(at).check(true, "s", NOW);
        assert_eq!(of(NOW), Err(NotOffered::Past));
        assert_eq!(of(NOW + 1), Ok(()));
        assert_eq!(of(NOW + 14 * 86_400), Ok(()));
        assert_eq!(of(NOW + 14 * 86_400 + 1), Err(NotOffered::Far));
        assert_eq!(of(i64::MIN), Err(NotOffered::Past));
        assert_eq!(of(i64::MAX), Err(NotOffered::Far));
    }

    #[test]
    fn what_is_signed_tells_each_from_the_others_and_comes_back_from_a_grant() {
        let all = [AnswerScope::Once, AnswerScope::Session, AnswerScope::Until(7), AnswerScope::Always];
        assert_eq!(all.map(|scope| scope.to_string()), ["once", "session", "until 7", "always"]);
        for scope in all {
            assert_eq!(AnswerScope::of(scope.until("s").as_ref()), scope);
            assert_eq!(scope.is_once(), scope == AnswerScope::Once);
        }
        assert_eq!(AnswerScope::Session.until("s"), Some(GrantExpiry::Session { id: "s".to_owned() }));
    }
}
