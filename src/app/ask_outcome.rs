//! The outcome of asking about a command, and the grant that an approval may contain.
//!
//! Out of scope: asking.

use std::io::Write as _;

use jiff::Timestamp;

use super::engine::Engine;
use crate::judge::answer_scope::{AnswerScope, NotOffered};
use crate::judge::approved::{Approved, GrantExpiry, exactly};
use crate::judge::invocation::Invocation;
use crate::judge::policy::Refusal;
use crate::store::{NewGrant, StoreError};

/// The outcome of asking a person or a reviewer.
#[derive(Debug)]
pub enum AskOutcome {
    Yes {
        grant: Option<GrantOffer>,
        /// The name of whoever answered, for the record, if it is not the user at this terminal.
        by: Option<String>,
    },
    No(Refusal),
    /// The reviewer approved it.
    Reviewed(Box<Approved>),
    /// A signal arrived during the prompt: guard records it and then terminates itself with it.
    Killed {
        refusal: Refusal,
        signal: i32,
    },
    /// The request waits in the queue with this ID, and guard does not wait for the answer.
    Queued {
        request: String,
    },
}

/// A grant that the card offers: for exactly this command, in this directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantOffer {
    pub until: GrantExpiry,
    pub words: String,
}

/// Returns the grant for exactly this command, with this expiry.
pub(super) fn offer(invocation: &Invocation, until: GrantExpiry) -> GrantOffer {
    let end = match &until {
        GrantExpiry::Session { .. } => "until this session ends".to_owned(),
        GrantExpiry::Date { at } => format!("until {}", Timestamp::from_second(*at).unwrap_or_default()),
        GrantExpiry::Revoked => "until revoked".to_owned(),
    };
    let directory = invocation.cwd.to_string_lossy();
    GrantOffer { until, words: format!("exactly this command, in {directory} and below, {end}") }
}

/// Returns the grant of an approval that was given through the queue with this scope. `may_grant` is set if the card
/// offers one.
///
/// # Errors
/// The card does not offer it.
pub(super) fn offered_grant(
    invocation: &Invocation,
    may_grant: bool,
    scope: AnswerScope,
) -> Result<Option<GrantOffer>, NotOffered> {
    let session = &invocation.session.id;
    scope.check(may_grant, session, Timestamp::now().as_second())?;
    Ok(scope.until(session).map(|until| offer(invocation, until)))
}

/// Stores the grant that came with an answer, after its command was authorized, and prints a warning if that fails.
pub(super) fn store_grant_or_warn(engine: &Engine, invocation: &Invocation, grant: Option<&GrantOffer>) {
    if let Some(grant) = grant
        && let Err(why) = store_grant(engine, invocation, grant)
    {
        let _ = writeln!(std::io::stderr(), "guard: allowed this once; the grant could not be stored: {why}");
    }
}

/// Stores a grant that was given with an answer.
///
/// # Errors
/// It could not be stored.
fn store_grant<'a>(engine: &'a Engine, invocation: &Invocation, offer: &GrantOffer) -> Result<(), GrantNotStored<'a>> {
    let (what, place) = exactly(invocation);
    let store = engine.store().map_err(GrantNotStored::Closed)?;
    let grant = NewGrant {
        what: &what,
        place: &place,
        until: &offer.until,
        words: &offer.words,
        user: &invocation.user,
        session: &invocation.session.id,
    };
    store.grant(&grant, Timestamp::now()).map(drop).map_err(GrantNotStored::Unwritten)
}

/// The reason why a grant was not stored.
#[derive(Debug, thiserror::Error)]
enum GrantNotStored<'a> {
    /// The record cannot be opened.
    #[error("{0}")]
    Closed(&'a StoreError),
    #[error("{0}")]
    Unwritten(StoreError),
}
