//! `guard-gateway mcp-listen`: runs guard between HTTP clients and a server, for `guard mcp --listen`.
//!
//! Each session of a client has its own `guard mcp` process, and so its own server; requests in protocol versions
//! without sessions share some. This module handles only HTTP: authentication, the session that a message belongs to,
//! and the streams of responses. Out of scope: judging, and the meaning of messages beyond whom they answer.

mod error;
mod head;
mod session;
mod state;
mod stream;

use std::collections::HashMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use clap::Args;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

pub use self::error::FrontError;
use self::head::{accepts, agrees, is_here, text};
use self::session::{Refusal, Session, SessionError};
use self::stream::{CancelOnDrop, streamed};
use super::message::{self, MessageInfo};
use crate::connections::{self, ConnectionLimits, PeerInfo, Slots};
use crate::secrets::{hash, same, secret};
use crate::submission;

/// The variable with the token that clients send; if it is not set, a token is generated for this run.
pub const TOKEN: &str = "GUARD_MCP_TOKEN";

/// The minimum length of a token.
const SHORTEST_TOKEN: usize = 16;

/// The maximum length of a client's message; guard reads no longer ones.
const LONGEST: usize = 32 << 20;

/// The maximum number of sessions.
const MOST_SESSIONS: usize = 64;

/// The time that a client has to send the head of a request, and again for its message; shorter if sessions end
/// earlier.
const PATIENCE: Duration = Duration::from_secs(30);

/// The maximum number of connections: a client has one for each pending request, and one on which it listens.
const MOST: usize = 512;

/// The maximum interval between searches for unused sessions.
const SELDOM: Duration = Duration::from_secs(15);

/// The time that the guard processes have to end when this process ends.
const FAREWELL: Duration = Duration::from_secs(8);

/// The headers of the protocol.
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// The error codes of JSON-RPC, and the one for a header that does not match its message.
const UNREADABLE: i32 = -32700;
const WRONG: i32 = -32600;
const MISMATCH: i32 = -32001;

/// The arguments of `guard-gateway mcp-listen`.
#[derive(Debug, Args)]
pub struct ListenArgs {
    /// The address to listen on
    address: SocketAddr,
    /// End a session that is unused for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    idle: u64,
    /// The arguments of guard for each session
    #[arg(last = true, required = true)]
    words: Vec<OsString>,
}

/// The state that all requests share.
struct Front {
    guard: PathBuf,
    words: Vec<OsString>,
    /// The hash of the token.
    token: [u8; 32],
    /// The time after which an unused session ends.
    idle: Duration,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// The sessions for requests without a session of their own.
    shared: Mutex<Vec<Arc<Session>>>,
}

/// The reason why a request is not served.
struct HttpFault {
    status: StatusCode,
    code: i32,
    id: Value,
    why: String,
}

fn fault(status: StatusCode, code: i32, why: impl Into<String>) -> HttpFault {
    HttpFault { status, code, id: Value::Null, why: why.into() }
}

/// Serves clients until a signal ends it.
///
/// # Errors
/// The address cannot be listened on, or guard is missing.
pub fn run(args: ListenArgs) -> Result<u8, FrontError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(args))
}

async fn serve(args: ListenArgs) -> Result<u8, FrontError> {
    let ListenArgs { address, idle, words } = args;
    let idle = Duration::from_secs(idle);
    if !address.ip().is_loopback() {
        return Err(FrontError::Plain(address));
    }
    let given = std::env::var(TOKEN).ok();
    if given.as_ref().is_some_and(|token| token.len() < SHORTEST_TOKEN) {
        return Err(FrontError::ShortToken);
    }
    let token = given.clone().map_or_else(|| secret::<20>(""), Ok)?;
    let told = |error| FrontError::Listen { address, error };
    let listener = TcpListener::bind(address).await.map_err(told)?;
    let bound = listener.local_addr().map_err(told)?;
    let mut term = signal(SignalKind::terminate()).map_err(told)?;
    let mut int = signal(SignalKind::interrupt()).map_err(told)?;
    let front = Arc::new(Front {
        guard: submission::guard()?,
        words,
        token: hash(&token),
        idle,
        sessions: Mutex::default(),
        shared: Mutex::default(),
    });
    let router = Router::new().route("/mcp", post(said).get(listens).delete(leaves)).with_state(Arc::clone(&front));
    println!("guard-gateway: http://{bound}/mcp");
    match given {
        Some(_) => {
            println!("guard-gateway: clients must send the header Authorization: Bearer with the token in {TOKEN}")
        }
        None => println!("guard-gateway: clients must send the header Authorization: Bearer {token}"),
    }
    let (_end, ended) = watch::channel(false);
    let limits = ConnectionLimits { slots: Slots::new(MOST, MOST), head_time: front.client_timeout(), ended };
    let serving = tokio::spawn(connections::serve(listener, router, limits, |_, _| PeerInfo::<()>::default()));
    let mut seldom = tokio::time::interval(SELDOM.min(idle / 2));
    loop {
        tokio::select! {
            _ = term.recv() => break,
            _ = int.recv() => break,
            _ = seldom.tick() => front.sweep(),
        }
    }
    serving.abort();
    let all: Vec<Arc<Session>> = {
        let (mut sessions, mut shared) = (locked(&front.sessions), locked(&front.shared));
        sessions.drain().map(|(_, session)| session).chain(shared.drain(..)).collect()
    };
    all.iter().for_each(|session| session.end());
    let gone = async {
        while !all.iter().all(|session| session.has_ended()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let _ = tokio::time::timeout(FAREWELL, gone).await;
    Ok(0)
}

impl Front {
    /// Returns the time that a client has to send its request.
    fn client_timeout(&self) -> Duration {
        PATIENCE.min(self.idle)
    }

    /// Removes sessions that have ended, and ends unused ones.
    fn sweep(&self) {
        let lives = |session: &Arc<Session>| {
            let is_idle = session.idle().is_some_and(|idle| idle >= self.idle);
            if is_idle {
                session.end();
            }
            !is_idle && !session.has_ended()
        };
        locked(&self.sessions).retain(|_, session| lives(session));
        locked(&self.shared).retain(lives);
    }

    /// Makes room for another session: if all are taken, ends the one that has been unused for the longest time.
    fn make_room(&self) -> Result<(), HttpFault> {
        let mut sessions = locked(&self.sessions);
        if sessions.len() < MOST_SESSIONS {
            return Ok(());
        }
        let idle = sessions.iter().filter_map(|(name, session)| Some((session.idle()?, name.clone())));
        let Some((_, oldest)) = idle.max() else {
            let why = format!("all {MOST_SESSIONS} sessions are in use; end one");
            return Err(fault(StatusCode::SERVICE_UNAVAILABLE, message::FAILED, why));
        };
        if let Some(session) = sessions.remove(&oldest) {
            session.end();
        }
        Ok(())
    }

    fn start(&self) -> Result<Arc<Session>, HttpFault> {
        let failed = |why: SessionError| fault(StatusCode::INTERNAL_SERVER_ERROR, message::FAILED, why.to_string());
        Session::start(&self.guard, &self.words).map_err(failed)
    }

    /// Returns the session that a request names, and checks that it uses the protocol version that the session agreed
    /// on.
    fn session(&self, head: &HeaderMap) -> Result<(String, Arc<Session>), HttpFault> {
        let Some(name) = text(head, SESSION) else {
            let why = format!("the header {SESSION} is missing; start with initialize");
            return Err(fault(StatusCode::BAD_REQUEST, WRONG, why));
        };
        let found = locked(&self.sessions).get(name).filter(|session| !session.has_ended()).cloned();
        let why = "no such session; start again with initialize";
        let session = found.ok_or_else(|| fault(StatusCode::NOT_FOUND, message::FAILED, why))?;
        let agreed = session.version();
        if let (Some(said), Some(agreed)) = (text(head, VERSION), agreed)
            && said != agreed
        {
            let why = format!("the header {VERSION} does not match the agreed version {agreed}");
            return Err(fault(StatusCode::BAD_REQUEST, WRONG, why));
        }
        Ok((name.to_owned(), session))
    }

    /// Returns a shared process for a request without a session, in which its IDs do not collide with those of pending
    /// requests.
    fn shared(&self, asks: &MessageInfo) -> Result<Arc<Session>, HttpFault> {
        let mut shared = locked(&self.shared);
        shared.retain(|session| !session.has_ended());
        if let Some(session) = shared.iter().find(|session| session.takes(asks)) {
            return Ok(Arc::clone(session));
        }
        if shared.len() >= MOST_SESSIONS {
            let why = "too many requests with this id are in use";
            return Err(fault(StatusCode::SERVICE_UNAVAILABLE, message::FAILED, why));
        }
        let session = self.start()?;
        shared.push(Arc::clone(&session));
        Ok(session)
    }

    /// Checks that a client may connect: by its token, and not from a page of another site.
    fn admits(&self, head: &HeaderMap) -> Result<(), HttpFault> {
        let host = text(head, "host").unwrap_or_default();
        if !is_here(host) {
            return Err(fault(StatusCode::FORBIDDEN, WRONG, "the Host header must be localhost"));
        }
        if let Some(origin) = head.get(header::ORIGIN) {
            let site = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
            if !site.is_some_and(|(_, host)| is_here(host)) {
                return Err(fault(StatusCode::FORBIDDEN, WRONG, "requests from pages of other sites are refused"));
            }
        }
        let brought = text(head, "authorization").and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| hash(token.trim()))
        });
        if !brought.is_some_and(|brought| same(&brought, &self.token)) {
            let why = "the header Authorization: Bearer with the token is missing or wrong";
            return Err(fault(StatusCode::UNAUTHORIZED, WRONG, why));
        }
        Ok(())
    }

    /// Handles a message of a client.
    async fn takes(self: &Arc<Self>, request: Request) -> Result<Response, HttpFault> {
        let (parts, body) = request.into_parts();
        let head = parts.headers;
        self.admits(&head)?;
        let form = text(&head, "content-type").unwrap_or_default().to_ascii_lowercase();
        if form.split(';').next().map(str::trim) != Some("application/json") {
            let why = "the content type must be application/json";
            return Err(fault(StatusCode::UNSUPPORTED_MEDIA_TYPE, WRONG, why));
        }
        let why = "the Accept header must allow application/json and text/event-stream";
        let unaccepted = || fault(StatusCode::NOT_ACCEPTABLE, WRONG, why);
        accepts(&head, "application/json").then_some(()).ok_or_else(unaccepted)?;
        accepts(&head, "text/event-stream").then_some(()).ok_or_else(unaccepted)?;
        let long = || {
            let why = format!("the message is longer than {} MiB or incomplete", LONGEST >> 20);
            fault(StatusCode::PAYLOAD_TOO_LARGE, WRONG, why)
        };
        let late = |_| fault(StatusCode::REQUEST_TIMEOUT, WRONG, "the message was not received in time");
        let body =
            tokio::time::timeout(self.client_timeout(), axum::body::to_bytes(body, LONGEST - 1)).await.map_err(late)?;
        let body = body.map_err(|_| long())?;
        let unreadable = || fault(StatusCode::BAD_REQUEST, UNREADABLE, "invalid message, or duplicate keys");
        let asks = MessageInfo::read(&body).ok_or_else(unreadable)?;
        let line = message::line(body.to_vec());
        let named = |mut fault: HttpFault| {
            fault.id = if let [id] = asks.ids.as_slice() { id.clone() } else { Value::Null };
            fault
        };
        if asks.is_initialize {
            self.make_room().map_err(named)?;
            let name = secret::<20>("");
            let name =
                name.map_err(|why| fault(StatusCode::INTERNAL_SERVER_ERROR, message::FAILED, why.to_string()))?;
            let session = self.start().map_err(named)?;
            locked(&self.sessions).insert(name.clone(), Arc::clone(&session));
            let mut response = self.hands(&session, line, asks, false).await?;
            response.headers_mut().extend(HeaderValue::try_from(name).ok().map(|name| {
                let header = header::HeaderName::from_static(SESSION);
                (header, name)
            }));
            return Ok(response);
        }
        if text(&head, SESSION).is_none()
            && let Some(repeats) = &asks.repeats
        {
            agrees(&head, repeats).map_err(|why| named(fault(StatusCode::BAD_REQUEST, MISMATCH, why.to_string())))?;
            let session = self.shared(&asks).map_err(named)?;
            return self.hands(&session, line, asks, true).await;
        }
        let (_, session) = self.session(&head).map_err(named)?;
        self.hands(&session, line, asks, false).await
    }

    /// Passes a message on and streams the responses. With `hangs_up`, a client that disconnects cancels its requests.
    async fn hands(
        &self,
        to: &Arc<Session>,
        line: Vec<u8>,
        asks: MessageInfo,
        hangs_up: bool,
    ) -> Result<Response, HttpFault> {
        let id = if let [id] = asks.ids.as_slice() { id.clone() } else { Value::Null };
        let done =
            if asks.ids.is_empty() { to.tell(line).await.map(|()| None) } else { to.ask(line, asks).await.map(Some) };
        match done {
            Ok(None) => Ok(StatusCode::ACCEPTED.into_response()),
            Ok(Some((number, answers))) => {
                let cancel = hangs_up.then(|| CancelOnDrop { session: Arc::clone(to), number });
                Ok(streamed(answers, cancel))
            }
            Err(Refusal::Twice) => {
                let why = "another request with this id or progress token is already waiting";
                Err(fault(StatusCode::BAD_REQUEST, WRONG, why))
            }
            Err(Refusal::Ended) => Err(HttpFault {
                id,
                ..fault(StatusCode::NOT_FOUND, message::FAILED, "the server has ended; connect again")
            }),
        }
    }
}

async fn said(State(front): State<Arc<Front>>, request: Request) -> Response {
    front.takes(request).await.unwrap_or_else(told)
}

/// Streams the messages that the server sends on its own initiative.
async fn listens(State(front): State<Arc<Front>>, head: HeaderMap) -> Response {
    let listening = || {
        front.admits(&head)?;
        if !accepts(&head, "text/event-stream") {
            return Err(fault(StatusCode::NOT_ACCEPTABLE, WRONG, "the Accept header must allow text/event-stream"));
        }
        let (_, session) = front.session(&head)?;
        let why = "another client already listens to this session";
        session.listen().ok_or_else(|| fault(StatusCode::CONFLICT, WRONG, why))
    };
    listening().map_or_else(told, |(_, heard)| streamed(heard, None))
}

async fn leaves(State(front): State<Arc<Front>>, head: HeaderMap) -> Response {
    match front.admits(&head).and_then(|()| front.session(&head)) {
        Ok((name, session)) => {
            locked(&front.sessions).remove(&name);
            session.end();
            StatusCode::NO_CONTENT.into_response()
        }
        Err(fault) => told(fault),
    }
}

fn told(fault: HttpFault) -> Response {
    let body = message::error(&fault.id, fault.code, &fault.why);
    let mut response = (fault.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    if fault.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    // The rest of such a request is not read.
    if matches!(fault.status, StatusCode::UNAUTHORIZED | StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
