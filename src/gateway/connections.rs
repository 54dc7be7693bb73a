//! Serves client connections, with limits of their number and of the time for the head of a request.
//!
//! Out of scope: the contents of requests.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::response::Response;
use axum::serve::Listener;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// The maximum size of the head of a request, in bytes.
const HEAD: usize = 64 << 10;

/// The limits of the number of connections, in total and from one address.
pub struct Slots {
    all: Arc<Semaphore>,
    each: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
}

/// The slot of one connection. It is released when this is dropped.
pub struct ConnectionSlot {
    _one: OwnedSemaphorePermit,
    of: Option<(Arc<Slots>, IpAddr)>,
}

impl Slots {
    /// Creates slots for `all` connections in total and `each` from one address.
    #[must_use]
    pub fn new(all: usize, each: usize) -> Arc<Self> {
        let all = Arc::new(Semaphore::new(all.clamp(1, Semaphore::MAX_PERMITS)));
        Arc::new(Self { all, each, taken: Mutex::default() })
    }

    /// Waits until there is room for one more connection.
    async fn room(&self) -> Option<OwnedSemaphorePermit> {
        self.all.clone().acquire_owned().await.ok()
    }

    /// Takes a slot for a connection from this address, or returns `None` if there are too many from it. With no
    /// address, the connection counts only toward the total.
    fn take(self: &Arc<Self>, one: OwnedSemaphorePermit, from: Option<IpAddr>) -> Option<ConnectionSlot> {
        let Some(from) = from else { return Some(ConnectionSlot { _one: one, of: None }) };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(from).or_default();
        if *count >= self.each {
            return None;
        }
        *count += 1;
        Some(ConnectionSlot { _one: one, of: Some((self.clone(), from)) })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Some((slots, from)) = &self.of else { return };
        let mut taken = slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(from) {
            *count -= 1;
            if *count == 0 {
                taken.remove(from);
            }
        }
    }
}

/// A connection with its slot. It keeps the slot when it becomes a WebSocket.
struct SlottedIo<T> {
    io: T,
    _slot: ConnectionSlot,
}

impl<T: AsyncRead + Unpin> AsyncRead for SlottedIo<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for SlottedIo<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// The identity of the peer of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerInfo<P> {
    /// The value passed to the handlers.
    pub peer: Option<P>,
    /// The address by which the connection is counted.
    pub counted: Option<IpAddr>,
}

/// The service of one connection: the router, with the peer added to each request.
struct ConnectionService<P> {
    router: TowerToHyperService<Router>,
    peer: Option<P>,
}

impl<P: Clone + Send + Sync + 'static> Service<Request<Incoming>> for ConnectionService<P> {
    type Response = Response;
    type Error = Infallible;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(peer) = &self.peer {
            request.extensions_mut().insert(ConnectInfo(peer.clone()));
        }
        self.router.call(request)
    }
}

/// The limits of all connections of a listener.
pub struct ConnectionLimits {
    pub slots: Arc<Slots>,
    /// The time limit for the head of each request on a connection, not only of the first.
    pub head_time: Duration,
    /// Becomes true when no more requests are accepted.
    pub ended: watch::Receiver<bool>,
}

/// Accepts and serves connections until `ended` becomes true, then waits for the requests in progress.
pub async fn serve<L, P>(
    mut listener: L,
    router: Router,
    limits: ConnectionLimits,
    about: impl Fn(&L::Io, &L::Addr) -> PeerInfo<P>,
) where
    L: Listener,
    P: Clone + Send + Sync + 'static,
{
    let ConnectionLimits { slots, head_time, mut ended } = limits;
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    loop {
        let accepted = async {
            let one = slots.room().await?;
            Some((one, listener.accept().await))
        };
        let (one, (io, address)) = tokio::select! {
            _ = ended.wait_for(|ended| *ended) => break,
            accepted = accepted => match accepted {
                Some(accepted) => accepted,
                None => break,
            },
        };
        let PeerInfo { peer, counted } = about(&io, &address);
        // A connection above the limit of its address is closed.
        let Some(slot) = slots.take(one, counted) else { continue };
        let service = ConnectionService { router: TowerToHyperService::new(router.clone()), peer };
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(head_time).max_buf_size(HEAD);
        let serving = builder.serve_connection(TokioIo::new(SlottedIo { io, _slot: slot }), service).with_upgrades();
        let (mut ended, alive) = (ended.clone(), alive.clone());
        tokio::spawn(async move {
            let _alive = alive;
            let mut serving = pin!(serving);
            // An error of the connection cannot be reported, because its client is gone.
            tokio::select! {
                _ = serving.as_mut() => return,
                _ = ended.wait_for(|ended| *ended) => {}
            }
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        });
    }
    drop(alive);
    let _ = all_gone.recv().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn there_is_room_for_so_many_in_all_and_from_one_address() {
        let slots = Slots::new(4, 2);
        let from = |last: u8| Some(IpAddr::from([192, 0, 2, last]));
        let take = async |from| slots.take(slots.room().await.unwrap(), from);
        let first = take(from(1)).await.unwrap();
        let second = take(from(1)).await.unwrap();
        assert!(take(from(1)).await.is_none(), "a third from there");
        let other = take(from(2)).await.unwrap();
        drop(second);
        let again = take(from(1)).await.unwrap();
        // A connection that is not counted by address still takes room.
        let uncounted = take(None).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(20), slots.room()).await.is_err());
        drop((first, other, again));
        assert!(slots.taken.lock().unwrap().is_empty(), "nothing is kept of those who went");
        assert!(take(from(1)).await.is_some());
        drop(uncounted);
    }
}
