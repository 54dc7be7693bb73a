//! What somebody came in with, looked up again for as long as they stay: a stream outlives the moment in which its token
//! was looked at.
//!
//! What may not enter: who comes in ([`super::access`]).

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::access::Caller;
use super::problem::Problem;
use super::{App, pages};
use crate::backend::Token;

/// What somebody came in with. All that is there has to hold; with neither they came by the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// A token, by its hash.
    pub token: Option<[u8; 32]>,
    /// A session of the page, by the hash of its cookie.
    pub page: Option<[u8; 32]>,
}

/// The tokens that hold, as they were last read. A change wakes every stream.
pub struct Passes {
    tokens: watch::Sender<Arc<HashSet<[u8; 32]>>>,
}

impl Default for Passes {
    fn default() -> Self {
        Self { tokens: watch::Sender::new(Arc::default()) }
    }
}

impl Passes {
    /// Takes in the tokens that there are now.
    pub fn take(&self, tokens: &[Token]) {
        let now: HashSet<[u8; 32]> = tokens.iter().map(|token| token.hash).collect();
        self.tokens.send_if_modified(|known| {
            let changed = **known != now;
            if changed {
                *known = Arc::new(now);
            }
            changed
        });
    }

    /// Has every stream look whether its session of the page still holds.
    pub fn ended_a_page(&self) {
        self.tokens.send_modify(|_| {});
    }
}

/// That what somebody came in with still holds.
///
/// # Errors
/// Their token was revoked, their session ended, or neither can be found out.
pub async fn still_holds(app: &App, pass: Pass) -> Result<(), Problem> {
    let ended = || Problem::new("unauthorized", "the session has ended; log in again");
    if pass.page.is_some_and(|page| pages::until(app, &page).is_none()) {
        return Err(ended());
    }
    if let Some(wanted) = pass.token {
        let tokens = app.room.at(|backend| backend.memory().tokens()).await??;
        app.passes.take(&tokens);
        if !tokens.iter().any(|token| token.hash == wanted) {
            return Err(Problem::new("unauthorized", "the token was revoked"));
        }
    }
    Ok(())
}

/// Returns once what a caller came in with does not hold any more.
pub async fn gone(app: Arc<App>, caller: &Caller) {
    let pass = caller.pass;
    let mut tokens = app.passes.tokens.subscribe();
    loop {
        let known = pass.token.is_none_or(|token| tokens.borrow_and_update().contains(&token));
        let until = pass.page.map(|page| pages::until(&app, &page));
        // What was read a moment ago may be older than the token: a stream is ended by what is so now.
        if (!known || until == Some(None)) && still_holds(&app, pass).await.is_err() {
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
