//! Accepts the result of a command that a client was allowed to run, as the client reports it.
//!
//! Out of scope: whether the client may run it ([`super::submit`]).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::access::Caller;
use super::lists::find_action;
use super::problem::Problem;
use super::submit::{ALLOWED_MS, read};
use super::{App, locked};
use crate::backend::{Backend, BackendError, Scope, Submission};
use crate::secrets::{hash, same};

/// The time that a client has to report a result after the command was allowed, in milliseconds.
const REPORT_MS: i64 = 60 * 60 * 1000;

/// The result of a command that a client ran.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportBody {
    /// The one-time token
    token: String,
    exit: Option<i32>,
    signal: Option<i32>,
    duration_ms: u64,
}

/// Reports the result of a command, once.
#[utoipa::path(post, path = "/v1/requests/{id}/result", params(("id" = String, Path)), request_body = ReportBody, responses(
    (status = 204, description = "it is recorded"), (status = 400, body = Problem), (status = 401, body = Problem),
    (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem),
    (status = 410, body = Problem)))]
pub async fn report(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<StatusCode, Problem> {
    caller.may(Scope::Submit)?;
    let ended: ReportBody = read(&body)?;
    let end = match (ended.exit, ended.signal) {
        (Some(code), None) => Ok(code),
        (None, Some(signal)) => Err(signal),
        _ => return Err(Problem::new("bad-request", "expected either exit or signal").about(&id)),
    };
    let known = find_action(&app, &caller, &id).await?;
    let own = known.submission.filter(|submission| Some(&submission.client) == caller.token.as_ref());
    let submission = own.ok_or_else(|| Problem::new("not-found", "you have no such request").about(&id))?;
    let result: Value =
        submission.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let given = hash(&format!("{} {}", ended.token, result["digest"].as_str().unwrap_or_default()));
    if !submission.once.is_some_and(|once| same(&once, &given)) {
        return Err(Problem::new("forbidden", "the token does not belong to this request").about(&id));
    }
    if is_late(&submission, &result, Timestamp::now()) {
        return Err(Problem::new("too-late", "too late: an hour has passed, so its outcome remains unknown").about(&id));
    }
    let (name, row) = (submission.action.clone(), result["row"].as_i64());
    let done = move |backend: &mut dyn Backend| -> Result<bool, BackendError> {
        if !backend.memory().use_once(&name)? {
            return Ok(false);
        }
        row.map_or(Ok(()), |row| backend.report(row, end, ended.duration_ms, Timestamp::now()))?;
        Ok(true)
    };
    if !app.backend.run(done).await?? {
        return Err(Problem::new("settled", "it was already reported").about(&id));
    }
    locked(&app.once).remove(&submission.action);
    Ok(StatusCode::NO_CONTENT)
}

/// Reports whether it is too late to report a result. The time before a person allowed the command does not count.
fn is_late(submission: &Submission, result: &Value, now: Timestamp) -> bool {
    let allowed_ms = result[ALLOWED_MS].as_i64().unwrap_or_else(|| submission.created.as_millisecond());
    now.as_millisecond().saturating_sub(allowed_ms) > REPORT_MS
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hour_for_a_report_begins_when_the_command_is_allowed() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let submission = Submission {
            action: "a".into(),
            request: None,
            client: "c".into(),
            body: String::new(),
            idempotency: None,
            body_hash: [0; 32],
            created: at(1_000),
            result: None,
            once: None,
            reported: false,
            callback: None,
        };
        let allowed = json!({ ALLOWED_MS: 9 * REPORT_MS });
        assert!(!is_late(&submission, &allowed, at(10 * REPORT_MS)));
        assert!(is_late(&submission, &allowed, at(10 * REPORT_MS + 1)));
        assert!(!is_late(&submission, &Value::Null, at(1_000 + REPORT_MS)));
        assert!(is_late(&submission, &Value::Null, at(1_001 + REPORT_MS)));
    }
}
