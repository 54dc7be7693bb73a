//! Streams responses as server-sent events, one for each message.
//!
//! Out of scope: which client a message belongs to.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::mpsc::Receiver;

use super::super::message;
use super::session::Session;

/// The interval between keep-alive comments.
const ALIVE: Duration = Duration::from_secs(15);

/// Cancels a client's requests on drop if they were not answered: the client has disconnected.
pub(super) struct CancelOnDrop {
    pub(super) session: Arc<Session>,
    pub(super) number: u64,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let ids = self.session.unanswered(self.number);
        let session = Arc::clone(&self.session);
        if ids.is_empty() {
            return;
        }
        // Without a runtime, this process is ending, so there is nothing left to cancel.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let number = self.number;
        runtime.spawn(async move {
            for id in &ids {
                let _ = session.tell(message::cancelled(id)).await;
            }
            session.forget(number);
        });
    }
}

/// Returns a stream of server-sent events, one for each message, with a comment from time to time while there are none.
pub(super) fn streamed(from: Receiver<Vec<u8>>, cancel: Option<CancelOnDrop>) -> Response {
    let events = stream::unfold((from, cancel), async |(mut from, cancel)| {
        let part = match tokio::time::timeout(ALIVE, from.recv()).await {
            Ok(None) => return None,
            Ok(Some(line)) => [b"event: message\ndata: ".as_slice(), &line, b"\n\n"].concat(),
            Err(_) => b":\n\n".to_vec(),
        };
        Some((Ok::<_, Infallible>(Bytes::from(part)), (from, cancel)))
    });
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache, no-transform")];
    (head, Body::from_stream(events)).into_response()
}
