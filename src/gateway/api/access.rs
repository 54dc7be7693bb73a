//! Authenticates connections: host, token, socket or cookie, and origin.
//!
//! Out of scope: what an authenticated caller requests.

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

/// The source of a connection.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    Address(IpAddr),
    /// An account of this machine, over the Unix socket.
    Account(u32),
}

/// Returns the key under which requests from a client are counted: its address or its user ID.
#[must_use]
pub fn place(peer: Option<Peer>, headers: &HeaderMap, proxies: &[Network]) -> String {
    match peer {
        Some(Peer::Address(address)) => address::counted(address::client(address, headers, proxies)).to_string(),
        Some(Peer::Account(uid)) => format!("uid {uid}"),
        None => String::new(),
    }
}

/// The identity of a client and its permissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub name: String,
    pub scopes: Vec<Scope>,
    pub directories: Vec<String>,
    pub max_tier: u8,
    /// The origin of the commands that the caller submits.
    pub origin: Origin,
    /// The name of the token. The caller cannot answer requests that were submitted with it.
    pub token: Option<String>,
    /// The only request that the caller can see and answer, if it logged in through a link for one request.
    pub only: Option<String>,
    /// The credentials that the caller was authenticated with.
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

    /// Checks that the caller has a scope.
    ///
    /// # Errors
    /// The caller does not have the scope.
    pub fn may(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let scope = scope.name();
        Err(Problem::new("forbidden", format!("{} does not have the scope {scope}", self.name)))
    }

    /// Checks that the caller has a scope, and has it for all requests.
    ///
    /// # Errors
    /// The caller does not have the scope, or is restricted to one request.
    pub fn may_for_all(&self, scope: Scope) -> Result<(), Problem> {
        match &self.only {
            None => self.may(scope),
            Some(_) => Err(Problem::new("forbidden", "this link is for one request only; log in for more")),
        }
    }

    /// Reports whether the caller may see a request.
    #[must_use]
    pub fn may_see(&self, action: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == action)
    }

    /// Returns the identity that the record shows for the caller's answers.
    #[must_use]
    pub fn answerer(&self) -> Answerer {
        Answerer { by: self.name.clone(), token: self.token.clone(), max_tier: self.max_tier }
    }
}

/// Reports whether the gateway is served under a host name. A request for any other name may come from a browser that
/// was directed here through a domain of somebody else (DNS rebinding).
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

/// Reports whether an `Origin` header is the origin of the gateway's own page.
fn is_own_origin(app: &App, headers: &HeaderMap, origin: &str) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let config = app.config();
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    let plain = scheme == "http" && !config.behind_proxy;
    rest.eq_ignore_ascii_case(host) && (plain || scheme == "https")
}

/// Rejects requests for a host that is not served, and requests from pages of other sites.
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
    // Browsers send the site that a request comes from. Only the gateway's own page may call the API.
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
            // A form on another site would send the cookie too, but cannot set this header.
            let reads = [Method::GET, Method::HEAD].contains(&parts.method);
            if !reads && !parts.headers.contains_key("x-guard") {
                return Err(Problem::new("wrong-origin", "the header X-Guard is missing"));
            }
            // Revoking the token also ends the sessions that were logged in with it.
            still_holds(app, session.credentials).await?;
            return Ok(session);
        }
        match peer {
            // The account itself may submit commands and read requests. An approval requires a token, which a person
            // created.
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

/// Authenticates the holder of a token. Wrong tokens are rate-limited by source; a valid token is accepted regardless
/// of how many wrong ones came from there.
async fn with_token(app: &Arc<App>, bearer: &str, from: String) -> Result<Caller, Problem> {
    let secret = bearer.strip_prefix("Bearer ").unwrap_or_default().trim().to_owned();
    let wanted = hash(&secret);
    let tokens = app.backend.run(|backend| backend.memory().tokens()).await??;
    app.valid_tokens.update(&tokens);
    // All tokens are compared, so that the time does not depend on which one matches.
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
    // The time of use is written in the background, because no caller needs to wait for it.
    let kept = app.backend.clone();
    tokio::spawn(async move {
        let _ = kept.run(move |backend| backend.memory().used_token(&name, at)).await;
    });
    Ok(Caller::of(token))
}

/// Authenticates the holder of a secret who logs in on the page.
pub async fn token_of(app: &Arc<App>, secret: &str, from: &str) -> Result<Caller, Problem> {
    with_token(app, &format!("Bearer {secret}"), from.to_owned()).await
}

/// The lifetime of a session of the page.
pub const SESSION: Duration = Duration::from_secs(12 * 60 * 60);
