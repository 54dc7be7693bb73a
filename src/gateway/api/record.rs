//! Returns data of the record: statistics, sessions, rows, and the history of one request.
//!
//! Out of scope: answers to requests.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::access::Caller;
use super::lists::find_action;
use super::problem::Problem;
use super::{App, locked};
use crate::answer;
use crate::backend::Scope;
use crate::backend::record::{Cursor, SessionView};
use crate::request_feed;
use crate::store::Entry;

/// The number of rows on one page of the record.
const PAGE: usize = 50;

/// The maximum number of days that statistics cover.
const MAX_DAYS: u16 = 366;

/// The maximum length of a reason or of a search, in characters.
const WORDS: usize = 500;

/// The highest tier of the commands that run without a question in a trusted session.
const TRUSTED_TIER: u8 = 2;

/// The time span of the statistics.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DaysQuery {
    /// The number of days up to now: 1 to 366; 7 by default
    days: Option<u16>,
}

/// Returns statistics: the number of questions, the answers, and how fast they came.
#[utoipa::path(get, path = "/v1/stats", params(DaysQuery), responses(
    (status = 200, description = "the statistics of guard stats --json"), (status = 400, body = Problem),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn stats(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(DaysQuery { days }): Query<DaysQuery>,
) -> Result<Json<Value>, Problem> {
    caller.may_for_all(Scope::Read)?;
    app.is_of_an_account()?;
    let days = days.unwrap_or(7);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(Problem::new("bad-request", format!("days: 1 to {MAX_DAYS}")));
    }
    let since = Timestamp::now().saturating_sub(SignedDuration::from_hours(24 * i64::from(days)));
    let since = since.map_err(Problem::failed)?;
    let stats = app.backend.run(move |backend| backend.stats(since)).await??;
    let mut value = serde_json::to_value(&stats).map_err(Problem::failed)?;
    value["since"] = json!(since);
    Ok(Json(value))
}

/// Returns the sessions with questions or denials, latest first.
#[utoipa::path(get, path = "/v1/sessions", responses(
    (status = 200, description = "a list with the state of each: its counts, whether it is stopped, and the grant \
                                  that trusts it"),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn sessions(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may_for_all(Scope::Read)?;
    app.is_of_an_account()?;
    let all = app.backend.run(|backend| backend.sessions(Timestamp::now())).await??;
    let waiting = app.feed.all();
    let view = |session: &SessionView| {
        let mut value = serde_json::to_value(session).unwrap_or_default();
        let is_open = |shown: &&Arc<request_feed::TrackedRequest>| {
            shown.pending.root == session.root && request_feed::is_waiting(shown)
        };
        value["waiting"] = json!(waiting.iter().filter(is_open).count());
        value["id_shown"] = json!(guard_ui::ui::visible::text(&session.id));
        value
    };
    Ok(Json(json!({ "sessions": all.iter().map(view).collect::<Vec<_>>() })))
}

/// The session to act on, and the reason.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionBody {
    /// The session's `id` in the list of sessions
    session: String,
    /// The reason, for the record
    words: Option<String>,
}

/// Finds a session that the caller may decide about.
async fn session(app: &App, caller: &Caller, which: &SessionBody) -> Result<SessionView, Problem> {
    caller.may_for_all(Scope::Decide)?;
    app.is_of_an_account()?;
    locked(&app.limits).decide.take(caller.name.clone(), std::time::Instant::now()).map_err(Problem::too_many)?;
    if which.words.as_deref().is_some_and(|words| words.chars().count() > WORDS) {
        return Err(Problem::new("bad-request", format!("words: at most {WORDS} characters")));
    }
    let all = app.backend.run(|backend| backend.sessions(Timestamp::now())).await??;
    let found = all.into_iter().find(|one| one.id == which.session);
    let found = found.ok_or_else(|| Problem::new("not-found", "no such session; see GET /v1/sessions"))?;
    if caller.token.as_deref().is_some_and(|token| answer::is_root_of(&found.root, token)) {
        return Err(Problem::new("own-request", "a session cannot decide about itself"));
    }
    Ok(found)
}

/// Resumes a session that was stopped by too many denials.
#[utoipa::path(post, path = "/v1/sessions/resume", request_body = SessionBody, responses(
    (status = 200, description = "the row of the record"), (status = 400, body = Problem),
    (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    (status = 409, body = Problem), (status = 429, body = Problem)))]
pub async fn resume(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(which): Json<SessionBody>,
) -> Result<Json<Value>, Problem> {
    let found = session(&app, &caller, &which).await?;
    let why = which.words.filter(|words| !words.trim().is_empty());
    let why = why.ok_or_else(|| Problem::new("bad-request", "words: give the reason, for the record"))?;
    if found.edited_row.is_some() {
        let why = "rows of the record were changed after they were written; check guard verify, then run guard \
                   session resume";
        return Err(Problem::new("not-from-afar", why));
    }
    if !found.stopped {
        return Err(Problem::new("settled", "the session is not stopped"));
    }
    let by = caller.name;
    let row = app.backend.run(move |backend| backend.resume(&found, &by, &why, Timestamp::now())).await??;
    Ok(Json(json!({ "row": row, "told": "the session is resumed" })))
}

/// Lets commands of tier 2 and below run in a session without a question, until the session ends.
#[utoipa::path(post, path = "/v1/sessions/trust", request_body = SessionBody, responses(
    (status = 200, description = "the grant, and how to revoke it"), (status = 400, body = Problem),
    (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    (status = 409, body = Problem), (status = 429, body = Problem)))]
pub async fn trust(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(which): Json<SessionBody>,
) -> Result<Json<Value>, Problem> {
    let found = session(&app, &caller, &which).await?;
    // A caller that may not approve each of these commands may not approve all of them.
    let most = app.config().unsigned_tier.min(caller.max_tier);
    if most < TRUSTED_TIER {
        return Err(super::answers::barred(answer::ApprovalBar::Tier { most }));
    }
    if found.stopped {
        return Err(Problem::new("settled", "the session is stopped; resume it first"));
    }
    if let Some(grant) = &found.trusted_by {
        return Err(Problem::new("settled", format!("the session is already trusted by grant {grant}")));
    }
    let by = caller.name;
    let grant = app.backend.run(move |backend| backend.trust(&found, &by, Timestamp::now())).await??;
    let told = format!("trusted until the session ends; to revoke it: guard allow remove {grant}");
    Ok(Json(json!({ "grant": grant, "told": told })))
}

/// The search query.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// Words that a row must all contain: in the command, the directory, the findings or the answer
    q: Option<String>,
    /// The `next` of the previous page
    cursor: Option<String>,
}

/// Returns rows of the record, newest first.
#[utoipa::path(get, path = "/v1/record", params(SearchQuery), responses(
    (status = 200, description = "a page of 50 rows as in guard log --json, and `next` if there are more"),
    (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn search(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(SearchQuery { q, cursor }): Query<SearchQuery>,
) -> Result<Json<Value>, Problem> {
    caller.may_for_all(Scope::Read)?;
    app.is_of_an_account()?;
    let words = q.unwrap_or_default();
    if words.chars().count() > WORDS {
        return Err(Problem::new("bad-request", format!("q: at most {WORDS} characters")));
    }
    let wrong = || Problem::new("bad-request", "invalid cursor: expected the `next` of a page");
    let from = cursor.map(|text| Cursor::parse(&text).ok_or_else(wrong)).transpose()?;
    let (rows, next) = app.backend.run(move |backend| backend.search(&words, from, PAGE)).await??;
    let rows: Vec<Value> = rows.iter().map(row).collect();
    Ok(Json(json!({ "rows": rows, "next": next.map(|next| next.to_string()) })))
}

/// Returns the history of a request: its card, the events of its channels, and its rows of the record.
#[utoipa::path(get, path = "/v1/requests/{id}/story", params(("id" = String, Path)), responses(
    (status = 200, description = "`request`, `events` since the gateway was started, `rows` of the record"),
    (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn story(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    caller.may(Scope::Read)?;
    let shown = find_action(&app, &caller, &id).await?.shown;
    let shown = shown.ok_or_else(|| Problem::new("settled", "it was decided without a person").about(&id))?;
    let pending = shown.pending.clone();
    let rows = app.backend.run(move |backend| backend.story(&pending)).await??;
    let events = app.feed.events_of(&shown.action);
    // The card is returned once, in `request`, and therefore left out of the events.
    let event = |event: &Arc<request_feed::FeedEvent>| {
        let told: Value = serde_json::from_str(&event.text).unwrap_or_default();
        json!({ "at": told["at"], "type": event.kind, "channel": told["channel"], "why": told["why"] })
    };
    let ours = events.iter().filter(|event| event.kind.starts_with("request."));
    Ok(Json(json!({
        "request": request_feed::view(&shown, Timestamp::now()),
        "events": ours.map(event).collect::<Vec<_>>(),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })))
}

/// Converts a row of the record to JSON, with invisible characters made visible.
fn row(entry: &Entry) -> Value {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    let visible = |text: &Option<String>| text.as_deref().map(|text| guard_ui::ui::visible::text(text).into_owned());
    value["command_shown"] = json!(visible(&entry.command));
    value["cwd"] = json!(visible(&entry.cwd));
    value["words"] = json!(visible(&entry.words));
    value["session"] = json!(visible(&entry.session));
    value
}
