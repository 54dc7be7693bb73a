//! Limits the total time that a client may take to send the body of a request, so that a client that sends single bytes
//! does not hold a connection open.
//!
//! Out of scope: the content and length of a body.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use super::App;
use super::problem::Problem;

/// Stops reading a body that takes too long, and answers with an error.
pub async fn limit_body(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let timeout = app.config().client_timeout();
    let until = Instant::now() + timeout;
    let late = Arc::new(AtomicBool::new(false));
    let broken = late.clone();
    let timed = |body: Body| {
        let parts = body.into_data_stream();
        Body::from_stream(stream::unfold(Some((parts, broken, until)), async |rest| {
            let (mut parts, broken, until) = rest?;
            match timeout_at(until, parts.next()).await {
                Ok(Some(Ok(part))) => Some((Ok(part), Some((parts, broken, until)))),
                Ok(Some(Err(error))) => Some((Err(io::Error::other(error)), None)),
                Ok(None) => None,
                Err(_) => {
                    broken.store(true, Ordering::Relaxed);
                    Some((Err(io::ErrorKind::TimedOut.into()), None))
                }
            }
        }))
    };
    let response = next.run(request.map(timed)).await;
    if !late.load(Ordering::Relaxed) {
        return response;
    }
    let why = format!("the body was not received within {} s", timeout.as_secs());
    let mut response = Problem::new("too-slow", why).into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
