//! Returns lists of requests, single requests, and the status of the gateway.
//!
//! Out of scope: answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::access::Caller;
use super::problem::Problem;
use super::{App, credentials, locked, submit};
use crate::answer::{self, REPLIES};
use crate::backend::{Scope, Submission};
use crate::channel::ChannelStatus;
use crate::judge::answer_scope::AnswerScope;
use crate::request_feed::{self, TrackedRequest};
use crate::store::queue::RequestState;

/// The number of requests on one page of a list.
const PAGE: usize = 50;

/// The maximum time to wait for a change, in seconds.
const MAX_WAIT: u64 = 55;

/// The filter of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct RequestQuery {
    /// pending, approved, denied, expired or void
    status: Option<String>,
    tier: Option<u8>,
    session: Option<String>,
    /// Text in the command, the directory or the reason
    q: Option<String>,
    /// The `next` of the previous page
    cursor: Option<String>,
}

/// Lists the pending requests and those of the last days, newest first.
#[utoipa::path(get, path = "/v1/requests", params(RequestQuery), responses(
    (status = 200, description = "a page of 50 requests, and `next` if there are more"),
    (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(which): Query<RequestQuery>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    let now = Timestamp::now();
    let mut all = app.feed.all();
    all.reverse();
    // Pending decisions come before all other requests, and those marked as a crisis come first.
    all.sort_by_key(|shown| if shown.pending.state == RequestState::Waiting { shown.pending.rank() } else { 2 });
    let words = which.q.as_deref().map(str::to_lowercase);
    let found = |shown: &TrackedRequest| {
        let pending = &shown.pending;
        let text = || format!("{} {} {}", pending.command, pending.cwd, pending.why).to_lowercase();
        caller.may_see(&shown.action)
            && which.status.as_deref().is_none_or(|wanted| wanted == request_feed::status(pending.state))
            && which.tier.is_none_or(|tier| tier == pending.tier.number())
            && which.session.as_deref().is_none_or(|session| session == pending.session)
            && words.as_deref().is_none_or(|words| text().contains(words))
    };
    let begin = match &which.cursor {
        None => 0,
        Some(cursor) => {
            1 + all.iter().position(|shown| shown.action == *cursor).ok_or_else(|| {
                Problem::new("bad-request", "invalid cursor: expected the `next` of a page whose request still exists")
            })?
        }
    };
    let matching: Vec<&Arc<TrackedRequest>> =
        all.iter().skip(begin).filter(|shown| found(shown)).take(PAGE + 1).collect();
    let page: Vec<Value> = matching.iter().take(PAGE).map(|shown| request_feed::view(shown, now)).collect();
    let next = matching.get(PAGE).and(matching.get(PAGE - 1)).map(|shown| &shown.action);
    Ok(Json(json!({ "requests": page, "next": next })))
}

/// After this time the check of the caller's credentials is repeated.
const LONG: Duration = Duration::from_secs(1);

/// The time to wait for a change.
#[derive(Debug, Deserialize, IntoParams)]
pub struct WaitQuery {
    /// Seconds, at most 55
    wait: Option<u64>,
}

/// The known data of a request: the submission and the entry in the queue.
pub(super) struct KnownAction {
    pub submission: Option<Submission>,
    pub shown: Option<Arc<TrackedRequest>>,
}

/// Finds a request by its name. A request that the caller may not see is reported as not found.
pub(super) async fn find_action(app: &App, caller: &Caller, id: &str) -> Result<KnownAction, Problem> {
    let name = id.to_owned();
    let submission = app.backend.run(move |backend| backend.memory().submission(&name)).await??;
    let shown = match submission.as_ref().and_then(|submission| submission.request.as_deref()) {
        Some(request) => app.feed.find_request(request),
        None => app.feed.find(id),
    };
    let reads = caller.scopes.contains(&Scope::Read) || caller.scopes.contains(&Scope::Decide);
    let own = submission.as_ref().is_some_and(|submission| Some(&submission.client) == caller.token.as_ref());
    if (submission.is_none() && shown.is_none()) || !(reads || own) || !caller.may_see(id) {
        return Err(Problem::new("not-found", "no such request").about(id));
    }
    Ok(KnownAction { submission, shown })
}

/// Returns one request; with `wait`, at its next change.
#[utoipa::path(get, path = "/v1/requests/{id}", params(("id" = String, Path), WaitQuery), responses(
    (status = 200, description = "the request, with its status; `decision` and `token` once it may run"),
    (status = 401, body = Problem), (status = 404, body = Problem)))]
pub async fn one(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    Query(WaitQuery { wait }): Query<WaitQuery>,
) -> Result<Response, Problem> {
    let begun = tokio::time::Instant::now();
    let until = begun + Duration::from_secs(wait.unwrap_or(0).min(MAX_WAIT));
    let (_, mut stream) = app.feed.subscribe(None);
    loop {
        let known = find_action(&app, &caller, &id).await?;
        let done = match &known.submission {
            Some(submission) => submission.result.is_some(),
            None => known.shown.as_ref().is_none_or(|shown| shown.pending.state != RequestState::Waiting),
        };
        if done || tokio::time::Instant::now() >= until {
            if begun.elapsed() > LONG {
                credentials::still_holds(&app, caller.credentials).await?;
            }
            return Ok(shown(&app, &caller, &id, &known));
        }
        // Any event is a reason to check again, and so are missed events.
        tokio::select! {
            heard = stream.recv() => {
                if matches!(heard, Err(tokio::sync::broadcast::error::RecvError::Closed)) {
                    return Ok(shown(&app, &caller, &id, &known));
                }
            }
            () = tokio::time::sleep_until(until) => {}
        }
    }
}

fn shown(app: &App, caller: &Caller, id: &str, known: &KnownAction) -> Response {
    let now = Timestamp::now();
    let mut value = known.shown.as_ref().map_or_else(|| json!({}), |shown| request_feed::view(shown, now));
    value["action_id"] = json!(id);
    if let Some(shown) = &known.shown {
        let enrolled = app.account.approvers().is_any();
        let may = |reach| {
            answer::may_say_yes(&shown.pending, &caller.answerer(), enrolled, app.config().unsigned_tier, reach).err()
        };
        let bar = may(AnswerScope::Once);
        let may_sign = answer::may_sign(&shown.pending, &caller.answerer()).is_ok() && super::passkeys::are_any(app);
        value["by_passkey"] = json!(bar == Some(answer::ApprovalBar::Signature) && may_sign);
        // A lasting grant may require a signature although an approval for once does not.
        let signs = may(AnswerScope::Always) == Some(answer::ApprovalBar::Signature);
        value["grant_by_passkey"] = json!(signs && may_sign);
        // The record service of a machine accepts no lasting grant without a signature.
        if (signs || app.account.service.is_some()) && !may_sign {
            value["offers"] = json!([AnswerScope::Once.to_string()]);
        }
        value["approve_bar"] = json!(bar.map(|bar| bar.to_string()));
    }
    if let Some(submission) = &known.submission {
        value["client"] = json!(submission.client);
        submit::finished(app, submission, Some(&submission.client) == caller.token.as_ref(), &mut value);
    }
    let tag = crate::secrets::base32(crate::secrets::hash(&value.to_string()).get(..10).unwrap_or_default());
    ([(header::ETAG, format!("\"{tag}\""))], Json(value)).into_response()
}

/// Returns replies for a denial with one tap: the most used messages of recent denials, then the default ones.
#[utoipa::path(get, path = "/v1/replies", responses((status = 200, description = "a list of texts"),
    (status = 401, body = Problem)))]
pub async fn replies(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Decide)?;
    Ok(Json(json!({ "replies": usual(&app) })))
}

/// Returns the messages of recent denials, most used first, followed by the default replies; at most three.
#[must_use]
pub fn usual(app: &App) -> Vec<String> {
    let mut counted: Vec<(usize, String)> = Vec::new();
    for shown in app.feed.all().into_iter().rev() {
        let is_short = |words: &&String| shown.pending.state == RequestState::Denied && words.len() <= 60;
        let Some(words) = shown.pending.words.as_ref().filter(is_short) else { continue };
        match counted.iter_mut().find(|(_, known)| known == words) {
            Some((count, _)) => *count += 1,
            None => counted.push((1, words.clone())),
        }
    }
    counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let usual = REPLIES.iter().map(|&words| words.to_owned());
    let mut all: Vec<String> = counted.into_iter().map(|(_, words)| words).collect();
    all.extend(usual);
    let mut kept: Vec<String> = Vec::new();
    all.retain(|words| {
        let new = !kept.contains(words);
        kept.push(words.clone());
        new
    });
    all.truncate(3);
    all
}

/// Reports that the gateway runs.
#[utoipa::path(get, path = "/healthz", responses((status = 200, description = "it is there")))]
pub async fn healthy() -> &'static str {
    "ok\n"
}

/// Reports that the gateway works: that it can read the queue.
#[utoipa::path(get, path = "/readyz", responses((status = 200, description = "it works"),
    (status = 503, body = Problem)))]
pub async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Problem> {
    app.refresh().await?;
    Ok("ok\n")
}

/// Returns the status of the channels and the number of pending requests.
#[utoipa::path(get, path = "/v1/status", responses((status = 200, description = "channels, and how many wait"),
    (status = 401, body = Problem)))]
pub async fn status(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may_for_all(Scope::Read)?;
    let waiting = app.feed.all().iter().filter(|shown| shown.pending.state == RequestState::Waiting).count();
    let channels: BTreeMap<String, Option<ChannelStatus>> =
        locked(&app.channels).iter().map(|(name, health)| (name.clone(), health.combined())).collect();
    let scopes: Vec<&str> = caller.scopes.iter().map(|scope| scope.name()).collect();
    let ports = app.ports.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"), "waiting": waiting, "channels": channels, "ports": ports,
        "caller": caller.name, "scopes": scopes,
    })))
}
