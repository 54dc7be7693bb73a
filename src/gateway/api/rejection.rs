//! Converts requests that are rejected before a handler runs into problems: a body that is too long or is not JSON, an
//! unsupported method, or an invalid query.
//!
//! Out of scope: errors that the handlers themselves return.

use axum::body::{Body, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;

/// The maximum length of an error text that is passed on, in bytes.
const MOST: usize = 4096;

/// Converts a plain-text error response into a problem.
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
    // Other headers are kept, such as the allowed methods and the end of the connection.
    for (name, value) in &head.headers {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            told.headers_mut().insert(name, value.clone());
        }
    }
    told
}

/// Returns the response for a handler that panicked. It does not contain the cause, which is for the person who runs
/// the gateway.
#[must_use]
pub fn broken(_: Box<dyn std::any::Any + Send>) -> Response<Body> {
    Problem::new("broken", "internal error of the gateway; nothing was approved").into_response()
}
