//! A stand-in for a model, on this machine alone: `guard-gateway model`, which `guard doctor --live` starts.
//!
//! It speaks four dialects ([`dialect`]), streaming or not, and proposes what it is told to: whoever starts it writes one
//! [`ScriptStep`] a line on its standard input, each when the stand-in says that an agent wants the next one, and ends it by
//! closing that. Which tool of those that an agent offers a step is said with, is [`offer`]'s. Out of scope: judging,
//! and anything that reaches beyond this machine.

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

/// The longest request that is read, in bytes.
const MAX_REQUEST: usize = 64 << 20;

/// The arguments of `guard-gateway model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// The agent has no tools and finds commands in what it is told: steps are said where none are offered
    #[arg(long)]
    talks: bool,
}

/// What is proposed next.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptStep {
    /// A command for a shell, with the first of these tools that is offered.
    Run { command: String, tools: Vec<String> },
    /// A file that is written, in the same way.
    Write { path: String, text: String, tools: Vec<String> },
    /// Plain words.
    Say(String),
}

/// What was proposed so far, and where more comes from.
struct Script {
    steps: Vec<ScriptStep>,
    /// Lines from whoever started this; closed when there are no more.
    lines: Receiver<String>,
}

impl Script {
    /// Step `number`, which is asked for where it is not there yet. `told` is what the agent said of the steps before,
    /// `heard` the whole conversation, `offered` what can be used.
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

/// Tells whoever started this, in a line of JSON. Whoever does not listen any more is told nothing.
fn tell(what: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{what}").and_then(|()| out.flush());
}

/// Plays until standard input is closed.
///
/// # Errors
/// Nothing can be listened to on this machine.
pub fn run(args: &ModelArgs) -> io::Result<u8> {
    let (send, lines) = channel();
    std::thread::spawn(move || listen(&send));
    let stage = Arc::new(StandInState { play: Mutex::new(Script { steps: Vec::new(), lines }), talks: args.talks });
    // A request that waits for a step keeps no other one waiting.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        tell(&json!({ "url": format!("http://127.0.0.1:{port}") }));
        axum::serve(listener, Router::new().fallback(answer).with_state(stage)).await
    })?;
    Ok(0)
}

/// Hands on what comes on standard input; its end is the end of all.
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

/// What is said to a request: it carries all that happened so far, so that the same one gets the same answer.
fn next(stage: &StandInState, dialect: Dialect, body: &Value) -> ModelReply {
    let offered = offer::tools(body);
    let told = dialect.results(body);
    let mut play = stage.play.lock().unwrap_or_else(PoisonError::into_inner);
    let number = match offered.iter().any(offer::Tool::runs) {
        true => told.len(),
        false if stage.talks => play.steps.len(),
        // A title for the session, a summary: not the conversation.
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
