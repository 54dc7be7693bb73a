//! Who comes in: the host they name, the token, socket or cookie they come with, and from which site.
//!
//! Out of scope: what they came for.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::credentials::{Credentials, still_holds};
use super::problem::Problem;
use super::{App, locked, pages};
use crate::address::{self, Network};
use crate::answer::Answerer;
use crate::backend::{Scope, Token};
use crate::judge::invocation::Origin;
use crate::secrets::{hash, same};

/// Where a connection comes from.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    Address(IpAddr),
    /// An account of this machine, by the Unix socket.
    Account(u32),
}

/// A name for where somebody comes from, to count by.
#[must_use]
pub fn place(peer: Option<Peer>, headers: &HeaderMap, proxies: &[Network]) -> String {
    match peer {
        Some(Peer::Address(address)) => address::counted(address::client(address, headers, proxies)).to_string(),
        Some(Peer::Account(uid)) => format!("uid {uid}"),
        None => String::new(),
    }
}

/// Who it is, and what they may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub directories: Vec<String>,
    pub max_tier: u8,
    /// Where what they hand in comes from.
    pub origin: Origin,
    /// A token's name; what was handed in with it is not answered by it.
    pub token: Option<String>,
    /// The only request that they see and answer, where they came by a link that is for one.
    pub only: Option<String>,
    /// What they came in with.
    #[serde(rename = "pass")]
    pub credentials: Credentials,
}

impl Caller {
    fn of(token: &Token) -> Self {
        Self {
            name: token.name.clone(),
            scopes: token.scopes.clone(),
            directories: token.directories.clone(),
            max_tier: token.max_tier,
            origin: token.origin,
            token: Some(token.name.clone()),
            only: None,
            credentials: Credentials { token: Some(token.hash), page: None },
        }
    }

    /// That they may do this.
    ///
    /// # Errors
    /// They may not.
    pub fn may(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let scope = scope.name();
        Err(Problem::new("forbidden", format!("{} does not have the scope {scope}", self.name)))
    }

    /// That they may do this, and not only for one request.
    ///
    /// # Errors
    /// They may not.
    pub fn may_for_all(&self, scope: Scope) -> Result<(), Problem> {
        match &self.only {
            None => self.may(scope),
            Some(_) => Err(Problem::new("forbidden", "this link is for one request only; log in for more")),
        }
    }

    /// Whether they may know of a request.
    #[must_use]
    pub fn may_see(&self, action: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == action)
    }

    /// Who answers, as the record has it.
    #[must_use]
    pub fn answerer(&self) -> Answerer {
        Answerer { by: self.name.clone(), token: self.token.clone(), max_tier: self.max_tier }
    }
}

/// The names that this is reached by. Whoever comes under another was led here by a name that somebody else owns.
fn is_served(app: &App, host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
        _ => (host, None),
    };
    let name = name.to_ascii_lowercase();
    if app.config().hosts.contains(&name) {
        return true;
    }
    let ports = app.ports.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    ["localhost", "127.0.0.1", "[::1]"].contains(&name.as_str())
        && ports.iter().any(|known| Some(*known) == port || (*known == 80 && port.is_none()))
}

/// Whether an `Origin` is that of the page itself.
fn is_own_origin(app: &App, headers: &HeaderMap, origin: &str) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let config = app.config();
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    let plain = scheme == "http" && !config.behind_proxy;
    rest.eq_ignore_ascii_case(host) && (plain || scheme == "https")
}

/// Lets in only who names a host that is served, and no page of another site.
pub async fn host(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|info| info.0);
    let headers = request.headers();
    let text = |name| headers.get(name).and_then(|value: &axum::http::HeaderValue| value.to_str().ok());
    if !matches!(peer, Some(Peer::Account(_))) {
        let host = text(header::HOST).unwrap_or_default();
        if !is_served(&app, host) {
            let why = "the Host header is neither in hosts of gateway.toml nor localhost with this port";
            return Problem::new("wrong-host", why).into_response();
        }
    }
    // Browsers say where a request comes from; only their own page has business here.
    let cross_site = text(header::HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !["same-origin", "none"].contains(&site));
    let navigates = text(header::HeaderName::from_static("sec-fetch-mode")) == Some("navigate")
        && request.method() == Method::GET
        && !request.uri().path().starts_with("/v1/");
    let cross_origin = text(header::ORIGIN).is_some_and(|origin| !is_own_origin(&app, headers, origin));
    if cross_origin || (cross_site && !navigates) {
        return Problem::new("wrong-origin", "requests from pages of other sites are refused").into_response();
    }
    next.run(request).await
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<ConnectInfo<Peer>>().map(|info| info.0);
        let bearer = parts.headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
        if let Some(bearer) = bearer {
            let from = place(peer, &parts.headers, &app.config().proxies);
            return with_token(app, bearer, from).await;
        }
        if let Some(session) = pages::session(app, &parts.headers) {
            // A form of another site sends the cookie too, and no header of this name.
            let reads = [Method::GET, Method::HEAD].contains(&parts.method);
            if !reads && !parts.headers.contains_key("x-guard") {
                return Err(Problem::new("wrong-origin", "the header X-Guard is missing"));
            }
            // With a token goes what was logged in with it.
            still_holds(app, session.credentials).await?;
            return Ok(session);
        }
        match peer {
            // The account itself may hand in and look; saying yes takes a token, which a person made.
            Some(Peer::Account(uid)) if uid == app.account.uid || uid == 0 => Ok(Self {
                name: format!("uid-{uid}"),
                scopes: vec![Scope::Submit, Scope::Read],
                directories: Vec::new(),
                max_tier: 0,
                origin: Origin::Api,
                token: Some(format!("uid-{uid}")),
                only: None,
                credentials: Credentials::default(),
            }),
            _ => Err(Problem::new("unauthorized", "send Authorization: Bearer with a token from guard token add")),
        }
    }
}

/// The holder of a token. Who guesses is slowed down; a right token comes in, however many wrong ones came from there.
async fn with_token(app: &Arc<App>, bearer: &str, from: String) -> Result<Caller, Problem> {
    let secret = bearer.strip_prefix("Bearer ").unwrap_or_default().trim().to_owned();
    let wanted = hash(&secret);
    let tokens = app.backend.run(|backend| backend.memory().tokens()).await??;
    app.valid_tokens.update(&tokens);
    // All are looked at, whichever it is.
    let mut found = None;
    for token in &tokens {
        if same(&token.hash, &wanted) {
            found = Some(token);
        }
    }
    let Some(token) = found else {
        locked(&app.limits).wrong.take(from, Instant::now()).map_err(Problem::too_many)?;
        return Err(Problem::new("unauthorized", "the token is unknown or was revoked"));
    };
    let (name, at) = (token.name.clone(), Timestamp::now());
    // When it was used is written beside: nobody waits for that.
    let kept = app.backend.clone();
    tokio::spawn(async move {
        let _ = kept.run(move |backend| backend.memory().used_token(&name, at)).await;
    });
    Ok(Caller::of(token))
}

/// The token of a secret, for whoever logs in at the page.
pub async fn token_of(app: &Arc<App>, secret: &str, from: &str) -> Result<Caller, Problem> {
    with_token(app, &format!("Bearer {secret}"), from.to_owned()).await
}

/// How long a page stays logged in.
pub const SESSION: Duration = Duration::from_secs(12 * 60 * 60);
