//! The reasons why a request cannot be answered at all or by this person.

use crate::judge::policy::Refusal;
use crate::judge::risk::Tier;
use crate::store::queue::{Pending, RequestState};

/// The reason why a request cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum Unanswerable {
    /// The person made the request. The attempt is recorded.
    #[error("{0}")]
    Attempt(Refusal),
    /// The person made the request, but only views it.
    #[error("{0}")]
    Own(&'static str),
    /// No process waits for it, and it is of this tier or needs several approvers.
    #[error("the requester no longer waits, and {} cannot be approved late", of_tier(*.0))]
    TooLate(Tier),
    /// Another version of guard filed it, so it cannot be shown; what cannot be shown cannot be approved.
    #[error("the request was made by another version of guard and cannot be read; run the command again")]
    OtherVersion,
    /// The request is settled or cannot be read. Holds how, by whom and for which reason.
    #[error("{0}")]
    Settled(String),
    /// A fact on which the judgment was based has changed. Holds the fact.
    #[error("void: {0}")]
    Void(String),
    /// Too few approvers can sign.
    #[error("{0}")]
    Approvers(String),
}

const fn of_tier(tier: Tier) -> &'static str {
    match tier {
        Tier::Critical => "a tier 4 request",
        _ => "a request that needs several approvers",
    }
}

impl Unanswerable {
    /// Describes how a request was settled.
    pub fn settled(pending: &Pending) -> Self {
        let by = pending.decided_by.as_deref().map_or(String::new(), |by| format!(" by {by}"));
        let words = pending.words.as_deref().map_or(String::new(), |words| format!(": {words}"));
        let what = match pending.state {
            RequestState::Waiting | RequestState::Late => "its command cannot be read",
            RequestState::Approved => "already approved",
            RequestState::Denied => "already denied",
            RequestState::Used => "already approved and used",
            RequestState::Void => "void",
            RequestState::Lapsed => "expired",
        };
        Self::Settled(format!("{what}{by}{words}"))
    }
}
