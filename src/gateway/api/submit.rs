//! Accepts commands, one at a time or in batches, and returns the decisions.
//!
//! A client runs an allowed command itself. Its permission is a receipt: a one-time token that is bound to what guard
//! judged. Out of scope: judging ([`crate::submission`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use utoipa::ToSchema;

use super::access::Caller;
use super::lists::find_action;
use super::problem::Problem;
use super::{App, locked, support};
use crate::backend::{BackendError, Scope, Submission};
use crate::callback;
use crate::secrets::{NoRandomBytes, hash, secret};
use crate::submission::{LOST, SubmissionError, SubmitInput, SubmitProcess};

/// The lifetime of a one-time token: the time that a client has to run an allowed command.
const ONCE: Duration = Duration::from_secs(60);

/// The field of a stored result that contains the time at which the command was allowed, in milliseconds.
pub(super) const ALLOWED_MS: &str = "allowed_ms";

/// The maximum number of commands in one batch.
const BATCH: usize = 100;

/// The maximum length of a reason, in bytes.
const MOST_REASON: usize = 4096;

/// The time to wait for an answer if the client sets none, in seconds.
const TIMEOUT: u32 = 300;

/// A submitted command.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitBody {
    /// A line for the account's shell
    pub(super) command: Option<String>,
    /// A program and its arguments, instead of a line
    pub(super) argv: Option<Vec<String>>,
    /// A tool call, instead of a command: `calendar.delete_event`
    pub(super) tool: Option<String>,
    /// The input of the tool
    #[schema(value_type = Option<Object>)]
    input: Option<Value>,
    /// The name of the server that offers the tool
    server: Option<String>,
    /// An absolute path
    cwd: String,
    /// The client's name for its session
    session: Option<String>,
    /// The reason, which is shown to the person who answers and is otherwise ignored
    reason: Option<String>,
    /// Whether somebody is in a crisis: a request that a person must decide then comes first in every list and is sent
    /// on every channel
    #[serde(default)]
    crisis: bool,
    /// A `[[callback]]` of gateway.toml, which is notified of the outcome
    callback: Option<String>,
    /// The maximum time to wait for a person
    timeout_secs: Option<u32>,
}

/// Judges a command; answers with 202 if a person must decide.
#[utoipa::path(post, path = "/v1/requests", request_body = SubmitBody, responses(
    (status = 200, description = "it may run or not: `decision`, and a `token` for one use"),
    (status = 202, description = "the request waits: `action_id`, `timeout_secs`, `poll`"),
    (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem),
    (status = 409, body = Problem), (status = 422, body = Problem), (status = 429, body = Problem)))]
pub async fn submit(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let key = match headers.get("idempotency-key").map(|key| key.to_str()) {
        None => None,
        Some(Ok(key)) if !key.is_empty() && key.len() <= 200 => Some(key.to_owned()),
        Some(_) => return Err(Problem::new("bad-request", "Idempotency-Key: 1 to 200 characters of ASCII")),
    };
    let (status, value) = handed_in(&app, &caller, &body, key).await?;
    Ok((status, Json(value)).into_response())
}

/// Judges several commands in order; each has its own status.
#[utoipa::path(post, path = "/v1/requests/batch", request_body = Vec<SubmitBody>, responses(
    (status = 207, description = "a list in order, each with `status` and the fields of a single submission"),
    (status = 400, body = Problem), (status = 401, body = Problem)))]
pub async fn batch(State(app): State<Arc<App>>, caller: Caller, body: Bytes) -> Result<Response, Problem> {
    let all: Vec<&serde_json::value::RawValue> = read(&body)?;
    if all.len() > BATCH {
        return Err(Problem::new("bad-request", format!("at most {BATCH} commands at once")));
    }
    let mut told = Vec::new();
    for one in all {
        told.push(match handed_in(&app, &caller, one.get().as_bytes(), None).await {
            Ok((status, mut value)) => {
                value["status_code"] = json!(status.as_u16());
                value
            }
            Err(problem) => {
                let mut value = serde_json::to_value(&problem).unwrap_or_default();
                value["status_code"] = json!(problem.status);
                value
            }
        });
    }
    Ok((StatusCode::MULTI_STATUS, Json(told)).into_response())
}

/// Parses a body; a batch is a JSON array.
///
/// # Errors
/// The body is invalid; the error contains the position.
pub fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| Problem::new("bad-request", format!("the body: {error}")))
}

async fn handed_in(
    app: &Arc<App>,
    caller: &Caller,
    body: &[u8],
    idempotency: Option<String>,
) -> Result<(StatusCode, Value), Problem> {
    caller.may(Scope::Submit)?;
    app.is_of_an_account()?;
    let new: SubmitBody = read(body)?;
    let inside = |directory: &String| {
        let rest = new.cwd.strip_prefix(directory.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && !new.cwd.split('/').any(|part| part == "..")
    };
    if !caller.directories.is_empty() && !caller.directories.iter().any(inside) {
        return Err(Problem::new(
            "forbidden",
            format!("the token is only valid for {}", caller.directories.join(", ")),
        ));
    }
    let is_support = support::is_meant(app, &new);
    if !is_support {
        locked(&app.limits).submit.take(caller.name.clone(), Instant::now()).map_err(Problem::too_many)?;
    }
    if new.reason.as_ref().is_some_and(|reason| reason.len() > MOST_REASON) {
        return Err(Problem::new("bad-request", format!("reason: at most {MOST_REASON} bytes")));
    }
    if let Some(name) = &new.callback
        && !app.config().callback.iter().any(|known| known.name == *name)
    {
        return Err(Problem::new("bad-request", format!("callback: gateway.toml has no [[callback]] named {name}")));
    }
    let client = caller.token.clone().unwrap_or_else(|| caller.name.clone());
    let wanted = SubmitInput {
        reason: new.reason.as_deref(),
        origin: caller.origin.name(),
        crisis: new.crisis,
        command: new.command.as_deref(),
        argv: new.argv.as_deref(),
        tool: new.tool.as_deref(),
        input: new.input.as_ref(),
        server: new.server.as_deref(),
        cwd: &new.cwd,
        client: &client,
        session: new.session.as_deref(),
        timeout_secs: new.timeout_secs.unwrap_or(TIMEOUT),
    };
    let submission = Submission {
        action: secret::<16>("")?,
        request: None,
        client: client.clone(),
        body: serde_json::to_string(&wanted).map_err(Problem::failed)?,
        idempotency,
        body_hash: hash(&String::from_utf8_lossy(body)),
        created: Timestamp::now(),
        result: None,
        once: None,
        reported: false,
        callback: new.callback,
    };
    if is_support {
        match support::judge(app, &submission).await {
            support::SupportResult::Runs(value) => return Ok((StatusCode::OK, value)),
            // The command is not a support command after all, so the rate limit applies to it.
            support::SupportResult::Else => {
                locked(&app.limits).submit.take(caller.name.clone(), Instant::now()).map_err(Problem::too_many)?;
            }
        }
    }
    let begun = submission.clone();
    if let Some(before) = app.backend.run(move |backend| backend.memory().begin(&begun)).await?? {
        if before.body_hash != submission.body_hash {
            return Err(Problem::new("key-reused", "this Idempotency-Key was used with another body"));
        }
        return told_again(app, &before);
    }
    let first = begin(app, submission.clone()).await;
    let first = first.map_err(|why| Problem::new("bad-request", why.to_string()).about(&submission.action))?;
    Ok(match first {
        SubmitProgress::Ended(mut value) => {
            value["action_id"] = json!(submission.action);
            (StatusCode::OK, value)
        }
        SubmitProgress::Waits { timeout } => (StatusCode::ACCEPTED, accepted(&submission.action, timeout)),
    })
}

fn accepted(action: &str, timeout: u64) -> Value {
    json!({
        "action_id": action, "status": "pending", "timeout_secs": timeout, "poll": format!("/v1/requests/{action}?wait=55"),
    })
}

/// Repeats the response to the first submission with this key.
fn told_again(app: &App, before: &Submission) -> Result<(StatusCode, Value), Problem> {
    if before.result.is_some() {
        let mut value = json!({ "action_id": before.action });
        finished(app, before, true, &mut value);
        return Ok((StatusCode::OK, value));
    }
    if before.request.is_some() {
        let shown = before.request.as_deref().and_then(|request| app.feed.find_request(request));
        let left = shown.map_or(0, |shown| crate::request_feed::seconds_left(&shown.pending, Timestamp::now()));
        return Ok((StatusCode::ACCEPTED, accepted(&before.action, u64::try_from(left).unwrap_or(0))));
    }
    Err(Problem::new("in-progress", "try again in a second").about(&before.action))
}

/// The first result of a submission.
pub enum SubmitProgress {
    Ended(Value),
    Waits { timeout: u64 },
}

/// Starts the judge of a command. If the command waits for a person, a task waits for the decision in the background.
///
/// # Errors
/// The command cannot be judged; nothing was allowed.
pub async fn begin(app: &Arc<App>, submission: Submission) -> Result<SubmitProgress, SubmissionError> {
    let action = submission.action.clone();
    if submission.body.is_empty() {
        end(app, &action, json!({ "decision": "deny", "reason": LOST }), None).await?;
        return Err(SubmissionError::Lost { action });
    }
    // The client is registered before the judge starts, so that a request that the judge files is not published without
    // its name.
    let (judged, since) = (app.names.judged(&submission.client), Timestamp::now());
    let mut judge = SubmitProcess::start(&app.guard, &submission.body).await?;
    let first = match judge.next().await {
        Ok(first) => first,
        Err(why) => {
            end(app, &action, json!({ "decision": "deny", "reason": why.to_string() }), None).await?;
            return Err(why.into());
        }
    };
    if first["status"] != "waiting" {
        return ended(app, &action, &first).await.map(SubmitProgress::Ended);
    }
    let (name, request) = (action.clone(), first["request"].as_str().unwrap_or_default().to_owned());
    app.names.set(&request, &action, &submission.client, since);
    drop(judged);
    app.backend.run(move |backend| backend.memory().waits(&name, &request)).await??;
    app.refresh().await?;
    let (give_up, given_up) = oneshot::channel();
    locked(&app.judges).insert(action.clone(), give_up);
    let timeout = first["timeout_secs"].as_u64().unwrap_or(0);
    let app = app.clone();
    tokio::spawn(async move {
        let last = tokio::select! {
            last = judge.next() => last,
            _ = given_up => {
                judge.give_up();
                judge.next().await
            }
        };
        locked(&app.judges).remove(&action);
        let done = match last {
            Ok(last) => ended(&app, &action, &last).await.map(drop),
            Err(why) => end(&app, &action, json!({ "decision": "deny", "reason": why.to_string() }), None)
                .await
                .map_err(Into::into),
        };
        if let Err(why) = done {
            tracing::warn!("{why}");
        }
        let _ = app.refresh().await;
    });
    Ok(SubmitProgress::Waits { timeout })
}

/// Stores the final decision of guard, with a one-time token if the command may run.
async fn ended(app: &Arc<App>, action: &str, told: &Value) -> Result<Value, SubmissionError> {
    if told["status"] == "allow" {
        let (value, kept, once) = allowed(app, action, told)?;
        end(app, action, kept, once).await?;
        return Ok(value);
    }
    let value = said(told);
    end(app, action, value.clone(), None).await?;
    Ok(value)
}

/// Converts guard's decision to the fields of the API.
fn said(told: &Value) -> Value {
    json!({
        "decision": told["status"], "settled_by": told["settled_by"], "by": told["by"], "reason": told["reason"],
        "digest": told["digest"], "verdict": told["verdict"],
    })
}

/// Creates the one-time token of an allowed command. Returns the response for the client, the part of it that is
/// stored, and the hash of the token.
///
/// # Errors
/// The system gives no random bytes.
pub(super) fn allowed(
    app: &App,
    action: &str,
    told: &Value,
) -> Result<(Value, Value, Option<[u8; 32]>), NoRandomBytes> {
    let mut value = said(told);
    let mut kept = value.clone();
    kept["row"] = told["row"].clone();
    kept[ALLOWED_MS] = json!(Timestamp::now().as_millisecond());
    let token = secret::<32>("go_")?;
    let once = hash(&format!("{token} {}", told["digest"].as_str().unwrap_or_default()));
    value["token"] = json!(token);
    value["token_expires_secs"] = json!(ONCE.as_secs());
    let mut tokens = locked(&app.once);
    let now = Instant::now();
    tokens.retain(|_, (_, until)| *until > now);
    tokens.insert(action.to_owned(), (token, now + ONCE));
    Ok((value, kept, Some(once)))
}

/// Stores the result of a submission and publishes it.
///
/// # Errors
/// The result cannot be stored.
pub(super) async fn end(
    app: &Arc<App>,
    action: &str,
    value: Value,
    once: Option<[u8; 32]>,
) -> Result<(), BackendError> {
    let decision = value["decision"].clone();
    let (name, text) = (action.to_owned(), value.to_string());
    app.backend.run(move |backend| backend.memory().end(&name, &text, once.as_ref())).await??;
    app.feed.publish("request.finished", action, json!({ "decision": decision }), Timestamp::now());
    callback::tell(app, action.to_owned());
    Ok(())
}

/// Adds the result of a submission to a response; the one-time token only for its own client and while it is valid.
pub fn finished(app: &App, submission: &Submission, own: bool, value: &mut Value) {
    let Some(result) = submission.result.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return;
    };
    for name in ["decision", "settled_by", "by", "reason", "digest", "verdict"] {
        if !result[name].is_null() {
            value[name] = result[name].clone();
        }
    }
    value["status"] = json!(if result["decision"] == "allow" { "approved" } else { "denied" });
    value["reported"] = json!(submission.reported);
    let once = locked(&app.once);
    match once.get(&submission.action) {
        Some((token, until)) if own && !submission.reported && *until > Instant::now() => {
            value["token"] = json!(token);
            value["token_expires_secs"] = json!(until.duration_since(Instant::now()).as_secs());
        }
        _ => {}
    }
}

/// Cancels a waiting command.
#[utoipa::path(delete, path = "/v1/requests/{id}", params(("id" = String, Path)), responses(
    (status = 204, description = "it is cancelled"), (status = 401, body = Problem),
    (status = 404, body = Problem), (status = 409, body = Problem)))]
pub async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Submit)?;
    let known = find_action(&app, &caller, &id).await?;
    let own = known.submission.filter(|submission| Some(&submission.client) == caller.token.as_ref());
    let submission = own.ok_or_else(|| Problem::new("not-found", "you have no such request").about(&id))?;
    let judge = locked(&app.judges).remove(&submission.action);
    let judge = judge.ok_or_else(|| Problem::new("settled", "it no longer waits").about(&id))?;
    let _ = judge.send(());
    Ok(StatusCode::NO_CONTENT)
}
