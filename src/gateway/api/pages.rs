//! Serves the files of the web page and manages its sessions.
//!
//! The page contains no secret and no state: it is the same for everybody, and loads everything that it shows from the
//! API. Out of scope: what the page shows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::access::{Caller, Peer, SESSION, place, token_of};
use super::credentials::Credentials;
use super::problem::Problem;
use super::{App, locked};
use crate::answer::settled;
use crate::backend::memory::KeptPage;
use crate::backend::{BackendError, Scope};
use crate::config::ChannelKind;
use crate::request_feed::{TrackedRequest, is_waiting};
use crate::secrets::{hash, secret};

/// The content security policy: only the page's own files, no embedding in frames, and no inline scripts that the text
/// of a command could inject.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types guard";

/// The session cookie: bound to this host, hidden from scripts, and never sent with requests that another site starts.
pub const COOKIE: &str = "__Host-guard";

/// A session of the page.
#[derive(Clone, Debug)]
pub struct PageSession {
    caller: Caller,
    until: Instant,
}

/// The request to log in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// A token, or the code that guard serve printed
    secret: String,
}

/// Returns the routes of the page's files.
pub fn files() -> Router<Arc<App>> {
    let file = |kind: &'static str, text: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], text))
    };
    Router::new()
        .route("/", get(index))
        .route("/enrol", get(index))
        .route("/passkey.js", file("text/javascript; charset=utf-8", include_str!("../page/passkey.js")))
        .route("/app.js", file("text/javascript; charset=utf-8", include_str!("../page/app.js")))
        .route("/cards.js", file("text/javascript; charset=utf-8", include_str!("../page/cards.js")))
        .route("/figures.js", file("text/javascript; charset=utf-8", include_str!("../page/figures.js")))
        .route("/notify.js", file("text/javascript; charset=utf-8", include_str!("../page/notify.js")))
        .route("/worker.js", file("text/javascript; charset=utf-8", include_str!("../page/worker.js")))
        .route("/style.css", file("text/css; charset=utf-8", include_str!("../page/style.css")))
        .route("/manifest.webmanifest", file("application/manifest+json", include_str!("../page/manifest.webmanifest")))
        .route("/icon.svg", file("image/svg+xml", include_str!("../page/icon.svg")))
}

/// Serves the page. A browser allows no passkeys for an IP address, and sends the cookie of localhost only to that
/// name, so loopback addresses are redirected to localhost.
async fn index(request: Request) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if let Some(port) = host.strip_prefix("127.0.0.1").or_else(|| host.strip_prefix("[::1]")) {
        return Redirect::temporary(&format!("http://localhost{port}{}", request.uri().path())).into_response();
    }
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], include_str!("../page/index.html")).into_response()
}

/// Restores the sessions that an earlier gateway stored. Sessions that cannot be parsed are dropped, so that their
/// users must log in again.
///
/// # Errors
/// The sessions cannot be read.
pub async fn remember(app: &App) -> Result<(), BackendError> {
    let (now, began) = (Timestamp::now(), Instant::now());
    let kept = app.backend.run(move |backend| backend.memory().pages(now)).await??;
    let mut sessions = locked(&app.pages);
    for page in kept {
        let Ok(caller) = serde_json::from_str(&page.caller) else { continue };
        // Limits the remaining time, so that a clock that was set back does not extend a session.
        let left = Duration::try_from(page.until.duration_since(now)).unwrap_or_default().min(SESSION);
        sessions.insert(page.hash, PageSession { caller, until: began + left });
    }
    Ok(())
}

/// Returns the caller of the session that the cookie belongs to.
#[must_use]
pub fn session(app: &App, headers: &HeaderMap) -> Option<Caller> {
    let value = cookie(headers)?;
    let sessions = locked(&app.pages);
    let page = hash(&value);
    let session = sessions.get(&page).filter(|session| session.until > Instant::now())?;
    let caller = session.caller.clone();
    Some(Caller { credentials: Credentials { page: Some(page), ..caller.credentials }, ..caller })
}

/// Returns the time at which a session of the page ends; `None` if it has ended.
#[must_use]
pub fn until(app: &App, page: &[u8; 32]) -> Option<Instant> {
    locked(&app.pages).get(page).map(|session| session.until).filter(|until| *until > Instant::now())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value.to_owned())
}

/// Logs in a browser.
#[utoipa::path(post, path = "/v1/login", request_body = Login, responses(
    (status = 200, description = "a cookie, and the name of the approver"), (status = 401, body = Problem),
    (status = 403, body = Problem), (status = 429, body = Problem)))]
pub async fn login(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Json(Login { secret: given }): Json<Login>,
) -> Result<Response, Problem> {
    if !headers.contains_key("x-guard") {
        return Err(Problem::new("wrong-origin", "the header X-Guard is missing"));
    }
    let from = place(Some(peer), &headers, &app.config().proxies);
    let code = locked(&app.logins).remove(&hash(&given)).filter(|until| *until > Instant::now());
    let caller = match code {
        // Only the account itself can read this code in the terminal of guard serve.
        Some(_) => Caller {
            origin: crate::judge::invocation::Origin::Api,
            name: "page".to_owned(),
            scopes: vec![Scope::Read, Scope::Decide],
            directories: Vec::new(),
            max_tier: 3,
            token: None,
            only: None,
            credentials: Credentials::default(),
        },
        None => match by_link(&app, &given).await? {
            Some(caller) => caller,
            None => token_of(&app, &given, &from).await?,
        },
    };
    let value = secret::<32>("")?;
    let (now, wall) = (Instant::now(), Timestamp::now());
    let kept = KeptPage {
        hash: hash(&value),
        caller: serde_json::to_string(&caller).map_err(BackendError::from)?,
        until: wall + SESSION,
    };
    app.backend.run(move |backend| backend.memory().keep_page(&kept, wall)).await??;
    let named = json!({ "name": caller.name });
    let mut sessions = locked(&app.pages);
    sessions.retain(|_, session| session.until > now);
    sessions.insert(hash(&value), PageSession { caller, until: now + SESSION });
    let set = format!("{COOKIE}={value}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age={}", SESSION.as_secs());
    Ok(([(header::SET_COOKIE, set)], Json::<Value>(named)).into_response())
}

/// Authenticates a caller by the single-use link of an e-mail: as the approver of that mailbox, and for that request
/// alone.
async fn by_link(app: &App, given: &str) -> Result<Option<Caller>, Problem> {
    let wanted = hash(given);
    let Some(link) = app.backend.run(move |backend| backend.memory().button(&wanted)).await?? else { return Ok(None) };
    let offer = link.offer;
    let config = app.config();
    let channel = config.channel.iter().find(|channel| channel.name == offer.channel);
    // The nonce of another channel's button does not log in.
    let Some(ChannelKind::Email { approver, .. }) = channel.map(|channel| &channel.kind) else { return Ok(None) };
    let ended = |shown: Option<Arc<TrackedRequest>>| {
        shown.map_or_else(|| "requested again".to_owned(), |one| settled(&one.pending))
    };
    let shown = app.feed.find(&offer.action);
    if !shown.as_ref().is_some_and(|shown| is_waiting(shown)) {
        return Err(Problem::new("settled", format!("request {}: {}", offer.action, ended(shown))));
    }
    if !app.backend.run(move |backend| backend.memory().use_button(&wanted)).await?? {
        return Err(Problem::new(
            "settled",
            "this link was already used; log in with a token, or answer at a terminal",
        ));
    }
    Ok(Some(Caller {
        origin: crate::judge::invocation::Origin::Api,
        name: format!("{approver} ({})", offer.channel),
        scopes: vec![Scope::Read, Scope::Decide],
        directories: Vec::new(),
        max_tier: 3,
        token: None,
        only: Some(offer.action),
        credentials: Credentials::default(),
    }))
}

/// Ends a session of the page.
#[utoipa::path(post, path = "/v1/logout", responses((status = 204, description = "it ended"),
    (status = 401, body = Problem)))]
pub async fn logout(State(app): State<Arc<App>>, _: Caller, headers: HeaderMap) -> Result<StatusCode, Problem> {
    if let Some(value) = cookie(&headers) {
        let page = hash(&value);
        locked(&app.pages).remove(&page);
        app.valid_tokens.session_ended();
        app.backend.run(move |backend| backend.memory().end_page(&page)).await??;
    }
    Ok(StatusCode::NO_CONTENT)
}
