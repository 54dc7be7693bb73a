//! Errors of the API in the format of RFC 9457 (problem details).
//!
//! Out of scope: the text of a command, which no error contains.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::BackendError;
use crate::secrets::NoRandomBytes;
use crate::submission::SubmissionError;

/// An error.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Problem {
    /// The type of the error: `urn:guard:problem:` and a word.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: &'static str,
    pub status: u16,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

/// All types of errors: word, status and title.
pub const KINDS: [(&str, u16, &str); 25] = [
    ("bad-request", 400, "Invalid request"),
    ("unauthorized", 401, "Missing or invalid token"),
    ("forbidden", 403, "The token does not permit this"),
    ("wrong-host", 403, "This host name is not served"),
    ("wrong-origin", 403, "Request from another site"),
    ("own-request", 403, "The requester cannot answer"),
    ("signature-required", 403, "An approver must sign"),
    ("not-from-afar", 403, "Must be answered at a terminal"),
    ("not-here", 403, "Not available at the gateway of a machine"),
    ("not-found", 404, "Not found"),
    ("wrong-method", 405, "Method not allowed"),
    ("too-slow", 408, "Request timeout"),
    ("in-progress", 409, "The first request with this key is still being judged"),
    ("settled", 409, "Already decided"),
    ("too-late", 410, "Too late"),
    ("too-large", 413, "Body too long"),
    ("wrong-type", 415, "Unsupported body type: expected application/json"),
    ("unreadable", 422, "Invalid fields in the body"),
    ("bad-assertion", 422, "Invalid passkey signature"),
    ("not-offered", 422, "The approval cannot last that long"),
    ("key-reused", 422, "Idempotency key used with another body"),
    ("no-websocket", 426, "WebSocket required"),
    ("too-many", 429, "Too many requests"),
    ("broken", 500, "Internal error"),
    ("failed", 503, "guard is unavailable"),
];

impl Problem {
    /// Creates a problem of a type that [`KINDS`] lists.
    #[must_use]
    pub fn new(kind: &str, detail: impl Into<String>) -> Self {
        let known = KINDS.iter().find(|(word, ..)| *word == kind);
        let (word, status, title) = known.copied().unwrap_or(("failed", 503, "guard is unavailable"));
        Self {
            kind: format!("urn:guard:problem:{word}"),
            title,
            status,
            detail: detail.into(),
            action_id: None,
            retry_after: None,
        }
    }

    /// Creates a problem for a failure of guard itself.
    #[must_use]
    pub fn failed(why: impl std::fmt::Display) -> Self {
        Self::new("failed", why.to_string())
    }

    /// Creates a problem for a client that exceeded a rate limit, with the time until the next request is allowed.
    #[must_use]
    pub fn too_many(wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..Self::new("too-many", "try again later") }
    }

    /// Sets the request that the problem is about.
    #[must_use]
    pub fn about(self, action: &str) -> Self {
        Self { action_id: Some(action.to_owned()), ..self }
    }
}

/// An error that no client can have caused. Every other error is converted to a problem where it occurs.
trait Internal: std::fmt::Display {}

impl Internal for BackendError {}
impl Internal for NoRandomBytes {}
impl Internal for SubmissionError {}

impl<E: Internal> From<E> for Problem {
    fn from(why: E) -> Self {
        Self::failed(why)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let wait = self.retry_after;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(wait) = wait {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
