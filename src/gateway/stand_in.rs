//! A stand-in for a model, on this machine only: `guard-gateway model`, which `guard doctor --live` starts.
//!
//! It supports four API dialects ([`dialect`]), with and without streaming, and proposes scripted steps. For each step
//! that an agent wants, it prints a request to its parent process, which writes one [`ScriptStep`] as a line to its
//! standard input. It ends when standard input is closed. [`offer`] selects the agent's tool for each step. Out of
//! scope: judging, and connections beyond this machine.

pub mod dialect;
pub mod offer;

use std::io::{self, BufRead as _, Write as _};
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use dialect::{Dialect, ModelReply};

/// The maximum length of a request, in bytes.
const MAX_REQUEST: usize = 64 << 20;

/// The arguments of `guard-gateway model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// The agent has no tools and finds commands in what it is told: steps are said where none are offered
    #[arg(long)]
    talks: bool,
}

/// A step that the stand-in proposes to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptStep {
    /// A shell command, with the first of these tools that the agent offers.
    Run { command: String, tools: Vec<String> },
    /// A file to write, with the first of these tools that the agent offers.
    Write { path: String, text: String, tools: Vec<String> },
    /// Plain text.
    Say(String),
}

/// The steps proposed so far, and the source of further ones.
struct Script {
    steps: Vec<ScriptStep>,
    /// The lines from the parent process. The channel is closed at their end.
    lines: Receiver<String>,
}

impl Script {
    /// Returns step `number`, and requests it from the parent process if it is missing. `told` contains the agent's
    /// results of earlier steps, `heard` the whole conversation, and `offered` the agent's tools.
    fn step(&mut self, number: usize, told: &[String], heard: &str, offered: &[offer::Tool]) -> ScriptStep {
        while self.steps.len() <= number {
            let tools: Vec<Value> = offered.iter().map(offer::Tool::described).collect();
            tell(&json!({ "wants": self.steps.len(), "told": told, "heard": heard, "offered": tools }));
            let line = self.lines.recv().ok();
            let step = line.and_then(|line| serde_json::from_str(&line).ok());
            self.steps.push(step.unwrap_or_else(|| ScriptStep::Say("Nothing more to do.".to_owned())));
        }
        self.steps.get(number).cloned().unwrap_or_else(|| ScriptStep::Say(String::new()))
    }
}

struct StandInState {
    play: Mutex<Script>,
    talks: bool,
}

/// Writes a line of JSON to the parent process. Errors are ignored, because the parent may no longer be reading.
fn tell(what: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{what}").and_then(|()| out.flush());
}

/// Serves until standard input is closed.
///
/// # Errors
/// Returns an error if it cannot listen on this machine.
pub fn run(args: &ModelArgs) -> io::Result<u8> {
    let (send, lines) = channel();
    std::thread::spawn(move || listen(&send));
    let stage = Arc::new(StandInState { play: Mutex::new(Script { steps: Vec::new(), lines }), talks: args.talks });
    // Steps are awaited on blocking threads, so a request that waits for one does not block others.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        tell(&json!({ "url": format!("http://127.0.0.1:{port}") }));
        axum::serve(listener, Router::new().fallback(answer).with_state(stage)).await
    })?;
    Ok(0)
}

/// Passes on the lines of standard input, and exits at its end.
fn listen(send: &Sender<String>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if send.send(line).is_err() {
            break;
        }
    }
    std::process::exit(0)
}

async fn answer(State(stage): State<Arc<StandInState>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    if request.method() != Method::POST {
        return if path.ends_with("/models") { plain(&dialect::models()) } else { plain(&json!({})) };
    }
    let Ok(bytes) = to_bytes(request.into_body(), MAX_REQUEST).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "the request is too long").into_response();
    };
    let Ok(body) = serde_json::from_slice::<Value>(&bytes) else {
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the request is not JSON").into_response();
    };
    let Some(dialect) = Dialect::of(&path) else { return plain(&dialect::counted()) };
    let streams = dialect.streams(&path, &body);
    let said = tokio::task::spawn_blocking({
        let body = body.clone();
        move || next(&stage, dialect, &body)
    });
    let said = said.await.unwrap_or_else(|_| ModelReply::Text(String::new()));
    if streams {
        let text = dialect.stream(&body, &said);
        return ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], text)
            .into_response();
    }
    plain(&dialect.whole(&body, &said))
}

fn plain(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], Body::from(value.to_string())).into_response()
}

/// Returns the reply to a request. A request contains the whole conversation, so the same request gets the same reply.
fn next(stage: &StandInState, dialect: Dialect, body: &Value) -> ModelReply {
    let offered = offer::tools(body);
    let told = dialect.results(body);
    let mut play = stage.play.lock().unwrap_or_else(PoisonError::into_inner);
    let number = match offered.iter().any(offer::Tool::runs) {
        true => told.len(),
        false if stage.talks => play.steps.len(),
        // The request is not part of the conversation, but for example asks for a title or a summary of the session.
        false => return ModelReply::Text(dialect.aside(body)),
    };
    let heard = dialect.conversation(body);
    let step = play.step(number, &told, &heard, &offered);
    match offer::call(&step, &offered) {
        Some(said) => said.numbered(number),
        None => {
            tell(&json!({ "lacks": number }));
            play.steps.truncate(number);
            let next = play.step(number, &told, &heard, &offered);
            offer::call(&next, &offered).map_or_else(|| ModelReply::Text("ok".to_owned()), |said| said.numbered(number))
        }
    }
}
