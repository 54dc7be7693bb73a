//! What is refused before a handler sees it, as a problem like any other: a body that is too long or is no JSON, a method
//! that there is none of, a query that cannot be read.
//!
//! Out of scope: what handlers themselves refuse.

use axum::body::{Body, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;

/// The longest text of a refusal that is passed on, in bytes.
const MOST: usize = 4096;

/// Says as a problem what was refused in plain text.
pub async fn tell(response: Response) -> Response {
    let status = response.status();
    let kind = match status {
        StatusCode::BAD_REQUEST => "bad-request",
        StatusCode::NOT_FOUND => "not-found",
        StatusCode::METHOD_NOT_ALLOWED => "wrong-method",
        StatusCode::PAYLOAD_TOO_LARGE => "too-large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "wrong-type",
        StatusCode::UNPROCESSABLE_ENTITY => "unreadable",
        StatusCode::UPGRADE_REQUIRED => "no-websocket",
        StatusCode::INTERNAL_SERVER_ERROR => "broken",
        _ => return response,
    };
    if response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/problem+json") {
        return response;
    }
    let (head, body) = response.into_parts();
    let said = to_bytes(body, MOST).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let why = match (said.trim(), kind) {
        (_, "too-large") => format!("the body may have at most {} bytes", super::MAX_BODY),
        ("", _) => status.canonical_reason().unwrap_or_default().to_owned(),
        (said, _) => said.to_owned(),
    };
    let mut told = Problem::new(kind, why).into_response();
    // What else was said stays: which methods there are, and that the connection ends.
    for (name, value) in &head.headers {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            told.headers_mut().insert(name, value.clone());
        }
    }
    told
}

/// What is said where a handler broke down; why is for the one who runs it.
#[must_use]
pub fn broken(_: Box<dyn std::any::Any + Send>) -> Response<Body> {
    Problem::new("broken", "internal error of the gateway; nothing was approved").into_response()
}
