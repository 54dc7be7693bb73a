//! `guard-gateway mcp-listen`: guard between clients that come over HTTP and a server, for `guard mcp --listen`.
//!
//! Each session of a client is a `guard mcp` of its own, and so a server of its own; requests of versions of the protocol
//! without a session share some. Here is HTTP alone: who comes in, which session a message is for, and the streams that
//! answer. Out of scope: judging, and what messages mean beyond whom they answer.

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

/// The variable with the token that clients bring; without it, one is made for this run.
pub const TOKEN: &str = "GUARD_MCP_TOKEN";

/// The shortest token that is taken.
const SHORTEST_TOKEN: usize = 16;

/// The longest message of a client: guard reads no longer one.
const LONGEST: usize = 32 << 20;

/// The most sessions at once.
const MOST_SESSIONS: usize = 64;

/// How long a client may take for the head of a request, and for its message, where sessions live that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most connections at once: a client has one for each request that waits, and one on which it listens.
const MOST: usize = 512;

/// How often is looked for sessions that nobody uses.
const SELDOM: Duration = Duration::from_secs(15);

/// How long guards may take to end when this does.
const FAREWELL: Duration = Duration::from_secs(8);

/// The headers of the protocol.
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Errors of JSON-RPC, and that of a header that does not say what its message says.
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

/// What all requests share.
struct Front {
    guard: PathBuf,
    words: Vec<OsString>,
    /// Of the token.
    token: [u8; 32],
    /// How long a session lives that nobody uses.
    idle: Duration,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// For requests without a session.
    shared: Mutex<Vec<Arc<Session>>>,
}

/// Why a request is not served.
struct HttpFault {
    status: StatusCode,
    code: i32,
    id: Value,
    why: String,
}

fn fault(status: StatusCode, code: i32, why: impl Into<String>) -> HttpFault {
    HttpFault { status, code, id: Value::Null, why: why.into() }
}

/// Serves until it is ended.
///
/// # Errors
/// It cannot listen there, or there is no guard.
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
    /// How long a client may take to say what it wants.
    fn client_timeout(&self) -> Duration {
        PATIENCE.min(self.idle)
    }

    /// Takes out sessions that have ended, and ends those that nobody uses.
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

    /// Room for one more session: where there is none, the one that is unused for longest goes.
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

    /// The session that a request names, with the version that it agreed to.
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

    /// Somebody to whom requests without a session can be given: one of theirs may have the id of one that waits.
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

    /// That whoever comes may come: by the token, and from no site on the network.
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

    /// A message of a client.
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

    /// Hands a message on, and streams what answers it. `hangs_up`: whoever leaves takes their request back.
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

/// The stream of what the server says of its own accord.
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
    // What is left of it is not waited for.
    if matches!(fault.status, StatusCode::UNAUTHORIZED | StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
