//! Rechecks the credentials of a caller while its stream is open, because a stream outlives the check of its token.
//!
//! Out of scope: authentication ([`super::access`]).

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::access::Caller;
use super::problem::Problem;
use super::{App, pages};
use crate::backend::Token;

/// The credentials of a caller. All that are present must be valid; a caller without any connected over the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The hash of a token.
    pub token: Option<[u8; 32]>,
    /// The hash of the cookie of a session of the page.
    pub page: Option<[u8; 32]>,
}

/// The valid tokens as they were last read. A change wakes every stream.
pub struct ValidTokens {
    tokens: watch::Sender<Arc<HashSet<[u8; 32]>>>,
}

impl Default for ValidTokens {
    fn default() -> Self {
        Self { tokens: watch::Sender::new(Arc::default()) }
    }
}

impl ValidTokens {
    /// Replaces the set of valid tokens.
    pub fn update(&self, tokens: &[Token]) {
        let now: HashSet<[u8; 32]> = tokens.iter().map(|token| token.hash).collect();
        self.tokens.send_if_modified(|known| {
            let changed = **known != now;
            if changed {
                *known = Arc::new(now);
            }
            changed
        });
    }

    /// Wakes every stream, so that each checks whether its session of the page is still valid.
    pub fn session_ended(&self) {
        self.tokens.send_modify(|_| {});
    }
}

/// Checks that credentials are still valid.
///
/// # Errors
/// The token was revoked, the session has ended, or the tokens cannot be read.
pub async fn still_holds(app: &App, credentials: Credentials) -> Result<(), Problem> {
    let ended = || Problem::new("unauthorized", "the session has ended; log in again");
    if credentials.page.is_some_and(|page| pages::until(app, &page).is_none()) {
        return Err(ended());
    }
    if let Some(wanted) = credentials.token {
        let tokens = app.backend.run(|backend| backend.memory().tokens()).await??;
        app.valid_tokens.update(&tokens);
        if !tokens.iter().any(|token| token.hash == wanted) {
            return Err(Problem::new("unauthorized", "the token was revoked"));
        }
    }
    Ok(())
}

/// Returns once the credentials of a caller are no longer valid.
pub async fn revoked(app: Arc<App>, caller: &Caller) {
    let credentials = caller.credentials;
    let mut tokens = app.valid_tokens.tokens.subscribe();
    loop {
        let known = credentials.token.is_none_or(|token| tokens.borrow_and_update().contains(&token));
        let until = credentials.page.map(|page| pages::until(&app, &page));
        // The tokens that were last read may be older than this token, so a stream is ended only after the tokens are
        // read again.
        if (!known || until == Some(None)) && still_holds(&app, credentials).await.is_err() {
            return;
        }
        let ends = async {
            match until.flatten() {
                Some(until) => tokio::time::sleep_until(until.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = tokens.changed() => if changed.is_err() { return },
            () = ends => {}
        }
    }
}
