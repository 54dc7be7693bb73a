//! The scope of an approval that is given elsewhere: only this request, or also a grant of exactly this command in its
//! directory.
//!
//! The approver selects a scope, and the waiting guard gives the grant after it has judged the command again. Whether a
//! grant is offered was decided when the command was queued. Out of scope: giving the grant, and the record.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::approved::GrantExpiry;
use super::risk::Tier;

/// The longest validity of a grant that is given with an answer and has a date, in days.
pub const MOST_DAYS: i64 = 14;

const DAY: i64 = 24 * 60 * 60;

/// The scope of an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerScope {
    /// Only this request.
    #[default]
    Once,
    /// Until the session of the request ends.
    Session,
    /// Until this time, in seconds since 1970.
    Until(i64),
    /// Until it is revoked.
    Always,
}

/// The reason why a scope is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOffered {
    /// The card offers no grant.
    #[error("this command can only be approved once at a time")]
    Grant,
    /// The session is unknown.
    #[error("the session of the request is not known, so an approval cannot last until it ends")]
    Session,
    #[error("the end of the approval is in the past")]
    Past,
    #[error("an approval can last at most {MOST_DAYS} days")]
    Far,
}

impl AnswerScope {
    /// Reports whether the approval is valid only for this request.
    #[must_use]
    pub fn is_once(&self) -> bool {
        *self == Self::Once
    }

    /// Returns the tier as of which an approval with this scope is signed. A grant may allow commands of tier 3
    /// repeatedly, so it is signed as of tier 3 at least.
    #[must_use]
    pub fn signed_as(self, tier: Tier) -> Tier {
        if self.is_once() { tier } else { tier.max(Tier::High) }
    }

    /// Returns the expiry of the grant, for a request of this session; `None` if there is no grant.
    #[must_use]
    pub fn until(self, session: &str) -> Option<GrantExpiry> {
        match self {
            Self::Once => None,
            Self::Session => Some(GrantExpiry::Session { id: session.to_owned() }),
            Self::Until(at) => Some(GrantExpiry::Date { at }),
            Self::Always => Some(GrantExpiry::Revoked),
        }
    }

    /// Returns the scope of a grant with this expiry, or of no grant.
    #[must_use]
    pub const fn of(until: Option<&GrantExpiry>) -> Self {
        match until {
            None => Self::Once,
            Some(GrantExpiry::Session { .. }) => Self::Session,
            Some(GrantExpiry::Date { at }) => Self::Until(*at),
            Some(GrantExpiry::Revoked) => Self::Always,
        }
    }

    /// Checks that the scope is available. `may_grant` is whether the card offers a grant, `session` is the session of
    /// the request (empty: unknown), `now` is in seconds since 1970.
    ///
    /// # Errors
    /// The reason why the scope is not available.
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

    /// Returns the words of the available scopes, for a selection.
    #[must_use]
    pub fn offered(may_grant: bool, session: &str) -> Vec<&'static str> {
        // A date is available if the next second is.
        let all =
            [("once", Self::Once), ("session", Self::Session), ("until", Self::Until(1)), ("always", Self::Always)];
        all.into_iter().filter(|(_, scope)| scope.check(may_grant, session, 0).is_ok()).map(|(word, _)| word).collect()
    }
}

/// Formats the scope as it is signed and sealed: `once`, `session`, `until` and seconds since 1970, `always`.
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
