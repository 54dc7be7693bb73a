//! Why a request cannot be answered, or not by this person.

use crate::judge::policy::Refusal;
use crate::judge::risk::Tier;
use crate::store::queue::{Pending, RequestState};

/// Why a request cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum Unanswerable {
    /// The person asked for it themselves.
    #[error("{0}")]
    Attempt(Refusal),
    /// The same, where it is only looked at.
    #[error("{0}")]
    Own(&'static str),
    /// Nobody waits for it, and it is of this tier or needs several approvers.
    #[error("the requester no longer waits, and {} cannot be approved late", of_tier(*.0))]
    TooLate(Tier),
    /// What cannot be read cannot be shown, and nothing that cannot be shown is approved.
    #[error("the request was made by another version of guard and cannot be read; run the command again")]
    OtherVersion,
    /// It is settled, or cannot be read: how, by whom and with which words.
    #[error("{0}")]
    Settled(String),
    /// What it was judged by is no longer so.
    #[error("void: {0}")]
    Void(String),
    /// There are too few approvers who could sign.
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
    /// How a request was settled.
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
