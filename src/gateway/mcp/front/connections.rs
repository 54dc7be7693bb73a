//! The connections of clients: how many there may be, and how long each may take to say what it wants.
//!
//! What may not enter: what they say.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// The most connections at once: a client has one for each request that waits, and one on which it listens.
const MOST: usize = 512;

/// How long to wait after a connection could not be had.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves whoever comes. A connection on which no request comes within `patience` is closed, also after an answer.
pub(super) async fn serve(listener: TcpListener, router: Router, patience: Duration) {
    let room = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely there are too many open files.
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(patience);
        let serving = builder.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // Whoever breaks off has nobody to be told.
            let _ = serving.await;
            drop(place);
        });
    }
}
