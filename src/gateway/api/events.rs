//! Streams events as they happen: as server-sent events, or over a WebSocket that also accepts answers.
//!
//! Out of scope: the content of events ([`crate::request_feed`]).

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event as Sse, KeepAlive};
use axum::response::{IntoResponse as _, Response, Sse as Stream};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa::IntoParams;

use super::access::Caller;
use super::answers::{GivenAnswer, counted, give};
use super::problem::Problem;
use super::{App, credentials};
use crate::backend::Scope;
use crate::request_feed::FeedEvent;

/// The interval between keep-alive messages.
const ALIVE: Duration = Duration::from_secs(20);

/// The maximum size of a message that is received over a WebSocket.
const MAX_MESSAGE: usize = 64 << 10;

/// The position at which the stream starts.
#[derive(Debug, Deserialize, IntoParams)]
pub struct EventsQuery {
    /// The number of the last event that was received
    after: Option<u64>,
}

/// Streams server-sent events. With `Last-Event-ID`, the missed events come first, or `reset` if they are no longer
/// stored.
#[utoipa::path(get, path = "/v1/events", params(EventsQuery), responses((status = 200, description = "text/event-stream"),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn stream(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(from): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.may(Scope::Read)?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let (missed, live) = app.feed.subscribe(last.or(from.after));
    let mut first = Vec::new();
    let only = caller.only.clone();
    let seen = move |event: &FeedEvent| only.as_deref().is_none_or(|only| only == event.action_id);
    match missed {
        Some(missed) => first.extend(missed.iter().filter(|event| seen(event)).map(|event| told(event))),
        None => first.push(reset()),
    }
    let live = stream::unfold(Some((live, seen)), async move |live| {
        let (mut live, seen): (Receiver<Arc<FeedEvent>>, _) = live?;
        loop {
            return match live.recv().await {
                Ok(event) if !seen(&event) => continue,
                Ok(event) => Some((told(&event), Some((live, seen)))),
                // The client was too slow and must read the whole list again.
                Err(RecvError::Lagged(_)) => Some((reset(), Some((live, seen)))),
                Err(RecvError::Closed) => None,
            };
        }
    });
    let all = futures_util::StreamExt::chain(stream::iter(first), live);
    let gone = Box::pin(async move { credentials::revoked(app, &caller).await });
    let all = futures_util::StreamExt::take_until(all, gone);
    let all = futures_util::StreamExt::map(all, Ok::<_, Infallible>);
    Ok(Stream::new(all).keep_alive(KeepAlive::new().interval(ALIVE)).into_response())
}

fn told(event: &FeedEvent) -> Sse {
    Sse::default().id(event.seq.to_string()).event(&event.kind).data(&event.text)
}

fn reset() -> Sse {
    Sse::default().event("reset").data("{\"type\":\"reset\"}")
}

/// Streams the same events over a WebSocket, and accepts `{"type":"tier3_decision","action_id","decision"}` messages.
#[utoipa::path(get, path = "/v1/ws", params(EventsQuery), responses((status = 101, description = "a WebSocket"),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn socket(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(from): Query<EventsQuery>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Problem> {
    caller.may_for_all(Scope::Read)?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    Ok(upgrade.on_upgrade(async move |socket| serve_socket(app, caller, from.after, socket).await))
}

async fn serve_socket(app: Arc<App>, caller: Caller, after: Option<u64>, mut socket: WebSocket) {
    let (missed, mut live) = app.feed.subscribe(after);
    let missed = missed.map_or_else(
        || vec!["{\"type\":\"reset\"}".to_owned()],
        |missed| missed.iter().map(|event| event.text.clone()).collect(),
    );
    for text in missed {
        if socket.send(Message::text(text)).await.is_err() {
            return;
        }
    }
    let mut alive = tokio::time::interval(ALIVE);
    let mut unheard = 0;
    let mut gone = pin!(credentials::revoked(app.clone(), &caller));
    loop {
        let text = tokio::select! {
            () = &mut gone => {
                let code = CloseFrame { code: close_code::POLICY, reason: "the token was revoked, or the session ended".into() };
                let _ = socket.send(Message::Close(Some(code))).await;
                return;
            }
            event = live.recv() => match event {
                Ok(event) => event.text.clone(),
                Err(RecvError::Lagged(_)) => "{\"type\":\"reset\"}".to_owned(),
                Err(RecvError::Closed) => return,
            },
            heard = socket.recv() => match heard {
                Some(Ok(Message::Text(text))) => {
                    unheard = 0;
                    decide(&app, &caller, text.as_str()).await.to_string()
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {
                    unheard = 0;
                    continue;
                }
            },
            _ = alive.tick() => {
                // A broken connection reports no error, so a client that does not answer three pings is disconnected.
                unheard += 1;
                if unheard > 3 || socket.send(Message::Ping(Vec::new().into())).await.is_err() {
                    return;
                }
                continue;
            }
        };
        if socket.send(Message::text(text)).await.is_err() {
            return;
        }
    }
}

/// An answer in the format that clients of approval gates send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateDecision {
    pub action_id: String,
    pub yes: bool,
    pub reason: Option<String>,
}

#[derive(Deserialize)]
struct DecisionText {
    #[serde(rename = "type")]
    kind: String,
    action_id: String,
    decision: String,
    reason: Option<String>,
}

/// The reason why a WebSocket message is not a decision.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    #[error("invalid tier3_decision: {0}")]
    Json(#[from] serde_json::Error),
    #[error("unknown type {0:?}: expected tier3_decision")]
    Kind(String),
    #[error("unknown decision {0:?}: expected approve or deny")]
    Decision(String),
}

impl GateDecision {
    /// Parses a WebSocket message.
    ///
    /// # Errors
    /// The reason why the message is not a decision.
    pub fn read(text: &str) -> Result<Self, DecisionError> {
        let DecisionText { kind, action_id, decision, reason } = serde_json::from_str(text)?;
        if kind != "tier3_decision" {
            return Err(DecisionError::Kind(kind));
        }
        let yes = match decision.as_str() {
            "approve" | "approved" => true,
            "deny" | "denied" => false,
            _ => return Err(DecisionError::Decision(decision)),
        };
        Ok(Self { action_id, yes, reason })
    }
}

async fn decide(app: &Arc<App>, caller: &Caller, text: &str) -> Value {
    let said = match GateDecision::read(text) {
        Ok(said) => said,
        Err(why) => return json!({ "type": "error", "detail": why.to_string() }),
    };
    let ack = |outcome: &str, told: String| {
        json!({
            "type": "tier3_decision_ack", "action_id": said.action_id, "outcome": outcome, "detail": told,
        })
    };
    if let Err(problem) = caller.may(Scope::Decide) {
        return ack("forbidden", problem.detail);
    }
    // The credentials were checked when the socket was opened, which may be long ago.
    if let Err(problem) = credentials::still_holds(app, caller.credentials).await {
        return ack("unauthorized", problem.detail);
    }
    if let Err(problem) = counted(app, caller, said.yes) {
        let wait = problem.retry_after.unwrap_or_default();
        return ack("too_many", format!("try again in {} s", wait.as_secs().max(1)));
    }
    let known = match super::lists::find_action(app, caller, &said.action_id).await {
        Ok(known) => known,
        Err(problem) => return ack("not_found", problem.detail),
    };
    let Some(shown) = known.shown else { return ack("settled", "it was decided without a person".to_owned()) };
    let answer = GivenAnswer { yes: said.yes, words: said.reason, ..GivenAnswer::default() };
    match give(app, &shown, &caller.answerer(), answer).await {
        Ok(axum::Json(value)) => {
            ack(value["outcome"].as_str().unwrap_or_default(), value["told"].as_str().unwrap_or_default().to_owned())
        }
        Err(problem) => {
            let kind = problem.kind.rsplit(':').next().unwrap_or_default().replace('-', "_");
            ack(&kind, problem.detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_decision_is_read_in_its_words_alone() {
        let of = |decision: &str| {
            let text = json!({ "type": "tier3_decision", "action_id": "x", "decision": decision }).to_string();
            GateDecision::read(&text).ok().map(|said| said.yes)
        };
        assert_eq!(
            [of("approve"), of("approved"), of("deny"), of("denied")],
            [Some(true), Some(true), Some(false), Some(false)]
        );
        for odd in ["", "yes", "Approve", "approve ", "approve\u{0}", "approved_by_nobody"] {
            assert!(of(odd).is_none(), "{odd:?}");
        }
        // A message with duplicate keys, and a decision inside of something else, are rejected.
        for odd in [
            r#"{"type":"tier3_decision","action_id":"x","decision":"deny","decision":"approve"}"#,
            r#"{"type":"tier3_decision","type":"x","action_id":"x","decision":"approve"}"#,
            r#"{"type":"tier3","action_id":"x","decision":"approve"}"#,
            r#"{"type":"tier3_decision","action_id":"x","decision":true}"#,
            r#"{"type":"tier3_decision","action_id":"x","decision":["approve"]}"#,
            r#"[{"type":"tier3_decision","action_id":"x","decision":"approve"}]"#,
            r#"{"type":"tier3_decision","action_id":"x","decision":"approve"} x"#,
            r#"{"type":"tier3_decision","decision":"approve"}"#,
        ] {
            assert!(GateDecision::read(odd).is_err(), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn a_decision_that_is_cut_off_or_changed_by_a_byte_is_no_yes_to_another(at in 0_usize..70, byte in any::<char>()) {
            let whole = r#"{"type":"tier3_decision","action_id":"m2k4x7","decision":"approve"}"#;
            let cut: String = whole.chars().take(at).collect();
            prop_assert!(at >= whole.len() || GateDecision::read(&cut).is_err());
            let mut text: Vec<char> = whole.chars().collect();
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            let text: String = text.into_iter().collect();
            if let Ok(said) = GateDecision::read(&text) {
                let value: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(Some(said.action_id.as_str()), value["action_id"].as_str());
                prop_assert_eq!(said.yes, value["decision"].as_str().is_some_and(|word| word.starts_with("approve")));
            }
        }

        #[test]
        fn anything_is_read_without_a_panic(text in "\\PC{0,60}") {
            let _ = GateDecision::read(&text);
        }
    }
}
