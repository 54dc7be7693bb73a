//! Handles passkeys: the challenge that an approver's browser signs, and the pairing of a new passkey with the terminal
//! that requested it.
//!
//! guard itself decides whether an assertion is valid and who is enrolled. The gateway passes both on, and checks them
//! first so that a person sees an error at once. Out of scope: recording who is enrolled.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::HeaderMap;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use utoipa::ToSchema;

use super::access::{Caller, Peer, place};
use super::answers::{ScopeQuery, barred, offered};
use super::lists::find_action;
use super::problem::Problem;
use super::{App, locked};
use crate::answer::{self, Answerer};
use crate::backend::Scope;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::passkey::{self, Assertion, Passkey, PasskeyPairing, Registration};
use crate::judge::approver::{ApproverKey, Signed};
use crate::request_feed::{self, TrackedRequest};
use crate::secrets::hash;

/// The lifetime of a pairing.
const PAIRING: Duration = Duration::from_secs(120);

/// The maximum number of open pairings.
const MOST: usize = 8;

/// An open pairing.
pub struct OpenPairing {
    pairing: PasskeyPairing,
    until: Instant,
    made: watch::Sender<Option<Registration>>,
}

/// Returns the origin of the page and its host name, which passkeys are bound to.
fn page(app: &App) -> (String, String) {
    let local = || {
        let ports = app.ports.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        format!("http://localhost:{}", ports.first().copied().unwrap_or(crate::config::PORT))
    };
    let origin = app.config().page.clone().unwrap_or_else(local);
    let origin = reqwest::Url::parse(&origin).map_or(origin, |url| url.origin().ascii_serialization());
    let host = reqwest::Url::parse(&origin).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    (origin, host)
}

/// Returns the enrolled passkeys with the names of their approvers.
fn enrolled(app: &App) -> Result<Vec<(String, Passkey)>, Problem> {
    let enrolled = app.account.approvers();
    if let Some(problem) = enrolled.problems.first() {
        return Err(Problem::new("signature-required", format!("cannot read the enrolled approvers: {problem}")));
    }
    let passkeys = enrolled.approvers.into_iter().filter_map(|approver| match approver.key {
        ApproverKey::Passkey(passkey) => Some((approver.name, passkey)),
        ApproverKey::Passphrase { .. } | ApproverKey::Ssh { .. } | ApproverKey::Totp { .. } => None,
    });
    Ok(passkeys.collect())
}

/// Reports whether any passkey is enrolled.
#[must_use]
pub fn are_any(app: &App) -> bool {
    enrolled(app).is_ok_and(|all| !all.is_empty())
}

async fn message(app: &App, shown: &TrackedRequest, reach: AnswerScope) -> Result<Vec<u8>, Problem> {
    let pending = shown.pending.clone();
    let message = app.backend.run(move |backend| backend.approval(&pending, reach)).await??;
    message.ok_or_else(|| Problem::new("settled", answer::settled(&shown.pending)))
}

/// Verifies an approver's assertion for an approval of a request with a scope, and returns it as a signature.
///
/// # Errors
/// The reason why the assertion is not valid.
pub(super) async fn signed(
    app: &App,
    shown: &TrackedRequest,
    who: &Answerer,
    (assertion, reach): (&Assertion, AnswerScope),
) -> Result<Signed, Problem> {
    answer::may_sign(&shown.pending, who).map_err(barred)?;
    // guard compares the code and asks again if it is wrong. A missing code can be rejected here.
    if shown.pending.codes_left > 0 && assertion.code.as_ref().is_none_or(|code| code.trim().is_empty()) {
        let why = "code: type the code that guard shows where the command waits";
        return Err(Problem::new("bad-assertion", why));
    }
    let message = message(app, shown, reach).await?;
    let found = enrolled(app)?.into_iter().find(|(_, passkey)| passkey.credential == assertion.id);
    let (approver, passkey) =
        found.ok_or_else(|| Problem::new("bad-assertion", "no passkey with this ID is enrolled"))?;
    let signature = assertion.written();
    passkey.verify(&message, &signature).map_err(|why| Problem::new("bad-assertion", why.to_string()))?;
    Ok(Signed { approver, signature })
}

/// Returns the challenge that an approver's passkey signs for an approval.
#[utoipa::path(get, path = "/v1/requests/{id}/challenge", params(("id" = String, Path), ScopeQuery), responses(
    (status = 200, description = "`challenge`, the passkeys that may answer it (`allow`), and the request (`card`)"),
    (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
    (status = 404, body = Problem), (status = 409, body = Problem), (status = 422, body = Problem)))]
pub async fn challenge(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    Query(reach): Query<ScopeQuery>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Decide)?;
    let shown = find_action(&app, &caller, &id).await?.shown;
    let shown = shown.ok_or_else(|| Problem::new("settled", "it was decided without a person").about(&id))?;
    answer::may_sign(&shown.pending, &caller.answerer()).map_err(|bar| barred(bar).about(&id))?;
    let reach = reach.read().map_err(|problem| problem.about(&id))?;
    offered(&shown, reach).map_err(|problem| problem.about(&id))?;
    let message = message(&app, &shown, reach).await.map_err(|problem| problem.about(&id))?;
    let allow: Vec<Value> = enrolled(&app)?
        .into_iter()
        .map(|(name, passkey)| json!({ "id": passkey.credential, "rp_id": passkey.rp_id, "name": name }))
        .collect();
    let challenge = Base64UrlUnpadded::encode_string(&passkey::challenge(&message));
    let card = request_feed::view(&shown, jiff::Timestamp::now());
    Ok(Json(json!({ "challenge": challenge, "allow": allow, "card": card })))
}

/// The request of a terminal to open a pairing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingBody {
    name: String,
    /// 32 bytes in base64url
    secret: String,
}

fn bytes(secret: &str) -> Result<[u8; 32], Problem> {
    let bytes = Base64UrlUnpadded::decode_vec(secret).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| Problem::new("bad-request", "secret: 32 bytes in base64url"))
}

/// Checks that the caller is the account itself or root, over the socket.
fn own(app: &App, peer: Peer) -> Result<(), Problem> {
    match peer {
        Peer::Account(uid) if uid == app.account.uid || uid == 0 => Ok(()),
        Peer::Account(_) | Peer::Address(_) => {
            Err(Problem::new("forbidden", "a pairing starts at the gateway's socket"))
        }
    }
}

/// Opens a pairing of a passkey for `guard approver add --passkey`. Only over the Unix socket.
#[utoipa::path(post, path = "/v1/pairings", request_body = PairingBody, responses(
    (status = 200, description = "`url` for the phone, and the site to which the passkey is bound"),
    (status = 403, body = Problem), (status = 429, body = Problem)))]
pub async fn begin(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Json(PairingBody { name, secret }): Json<PairingBody>,
) -> Result<Json<Value>, Problem> {
    own(&app, peer)?;
    let key = bytes(&secret)?;
    let (origin, rp_id) = page(&app);
    let now = Instant::now();
    let mut open = locked(&app.pairings);
    open.retain(|_, pairing| pairing.until > now);
    if open.len() >= MOST {
        return Err(Problem::too_many(PAIRING));
    }
    let pairing = PasskeyPairing { secret: key, name };
    open.insert(hash(&secret), OpenPairing { pairing, until: now + PAIRING, made: watch::Sender::new(None) });
    Ok(Json(json!({ "url": format!("{origin}/enrol#{secret}"), "origin": origin, "rp_id": rp_id })))
}

/// The secret of a pairing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingSecret {
    secret: String,
}

/// Waits until the passkey of a pairing is created.
#[utoipa::path(post, path = "/v1/pairings/wait", request_body = PairingSecret, responses(
    (status = 200, description = "the data from the browser"), (status = 403, body = Problem),
    (status = 410, body = Problem)))]
pub async fn wait(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Json(PairingSecret { secret }): Json<PairingSecret>,
) -> Result<Json<Value>, Problem> {
    own(&app, peer)?;
    let over = || Problem::new("too-late", "the two minutes are over; start again");
    let (mut made, until) =
        locked(&app.pairings).get(&hash(&secret)).map(|open| (open.made.subscribe(), open.until)).ok_or_else(over)?;
    let waited = tokio::time::timeout_at(until.into(), made.wait_for(Option::is_some)).await;
    let registration = waited.ok().and_then(Result::ok).and_then(|made| made.clone()).ok_or_else(over);
    locked(&app.pairings).remove(&hash(&secret));
    let (origin, rp_id) = page(&app);
    Ok(Json(json!({ "registration": registration?, "origin": origin, "rp_id": rp_id })))
}

/// Returns the options with which a browser creates the passkey of a pairing. The caller authenticates with the
/// pairing's secret, which the terminal shows.
#[utoipa::path(post, path = "/v1/enrol", request_body = PairingSecret, responses(
    (status = 200, description = "the options for navigator.credentials.create"), (status = 410, body = Problem),
    (status = 429, body = Problem)))]
pub async fn enrol(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Json(PairingSecret { secret }): Json<PairingSecret>,
) -> Result<Json<Value>, Problem> {
    let pairing = paired(&app, (peer, &headers), &secret)?;
    let (_, rp_id) = page(&app);
    let mut user = [0; 16];
    getrandom::fill(&mut user).map_err(Problem::failed)?;
    let exclude: Vec<String> = enrolled(&app)?.into_iter().map(|(_, passkey)| passkey.credential).collect();
    let challenge = Base64UrlUnpadded::encode_string(&pairing.challenge(&rp_id));
    let user = Base64UrlUnpadded::encode_string(&user);
    Ok(Json(json!({
        "name": pairing.name, "challenge": challenge, "rp_id": rp_id, "user_id": user, "exclude": exclude,
    })))
}

/// A passkey that a browser created.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasskeyBody {
    secret: String,
    #[schema(value_type = Object)]
    registration: Registration,
}

/// Submits the passkey of a pairing, once. The person compares the returned digits with those in the terminal.
#[utoipa::path(post, path = "/v1/enrol/done", request_body = PasskeyBody, responses(
    (status = 200, description = "`digits` to compare"), (status = 410, body = Problem),
    (status = 422, body = Problem), (status = 429, body = Problem)))]
pub async fn done(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Json(PasskeyBody { secret, registration }): Json<PasskeyBody>,
) -> Result<Json<Value>, Problem> {
    let pairing = paired(&app, (peer, &headers), &secret)?;
    let (origin, rp_id) = page(&app);
    let passkey = pairing.passkey(&rp_id, &origin, &registration);
    let passkey = passkey.map_err(|why| Problem::new("bad-assertion", why.to_string()))?;
    let open = locked(&app.pairings);
    let once = open.get(&hash(&secret)).is_some_and(|open| {
        open.made.send_if_modified(|made| {
            let first = made.is_none();
            if first {
                *made = Some(registration);
            }
            first
        })
    });
    if !once {
        return Err(Problem::new("too-late", "a passkey was already created with this code"));
    }
    Ok(Json(json!({ "digits": passkey::digits(&passkey), "name": pairing.name })))
}

/// Finds the pairing of a secret. Wrong secrets are rate-limited by source; a valid secret is accepted regardless of
/// how many wrong ones came from there.
fn paired(app: &App, (peer, headers): (Peer, &HeaderMap), secret: &str) -> Result<PasskeyPairing, Problem> {
    let now = Instant::now();
    let found =
        locked(&app.pairings).get(&hash(secret)).filter(|open| open.until > now).map(|open| open.pairing.clone());
    if let Some(found) = found {
        return Ok(found);
    }
    let from = format!("enrol {}", place(Some(peer), headers, &app.config().proxies));
    locked(&app.limits).wrong.take(from, now).map_err(Problem::too_many)?;
    let why = "this code has expired or was used; guard approver add NAME --passkey shows a new one";
    Err(Problem::new("too-late", why))
}
