//! The WebSocket connection to Discord's gateway: sends heartbeats, and resumes after an interruption.
//!
//! Out of scope: handling the events.

#![allow(clippy::collapsible_match, reason = "an arm that sends is no guard of its arm")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{Discord, PRESSED};
use crate::channel::text::cut;
use crate::channel::{BoxFuture, ChannelState, ChannelStatus, Inbox, SendError, http};

/// The longest delay before a failing connection is tried again.
const REST: Duration = Duration::from_secs(60);

/// The number of interactions that are handled concurrently. Further ones are not read yet.
const PRESSES: usize = 32;

/// The intents for typed commands: messages in servers and direct messages, and their content.
const TYPED: u32 = (1 << 9) | (1 << 12) | (1 << 15);

/// The intents for reactions in servers and direct messages. Discord requires no approval for them.
const MARKS: u32 = (1 << 10) | (1 << 13);

/// Close codes after which reconnecting does not help: a wrong token, a missing intent.
const FINAL: [u16; 6] = [4004, 4010, 4011, 4012, 4013, 4014];

/// A session of Discord's gateway that can be resumed.
#[derive(Clone, Debug)]
pub(super) struct Resume {
    session: String,
    url: String,
}

/// The way in which a connection ended.
pub(super) enum ConnectionEnd {
    /// The session can be resumed.
    Again,
    /// A new session is needed.
    Anew,
    /// Reconnecting does not help.
    Never(String),
}

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Discord {
    /// Connects repeatedly, and receives interactions.
    pub(super) async fn listen(&self, inbox: Inbox, state: Arc<dyn ChannelState>) {
        let (mut resume, mut seq): (Option<Resume>, Option<u64>) = (None, None);
        let mut rest = Duration::from_secs(1);
        loop {
            let connected = self.connect(resume.as_ref()).await;
            let over = match connected {
                Ok(socket) => self.hold_connection(socket, &mut resume, &mut seq, &inbox, &*state, &mut rest).await,
                Err(why) => {
                    state.status(&self.name, ChannelStatus::Down { why: why.to_string() });
                    // The server for resuming may no longer exist.
                    ConnectionEnd::Again
                }
            };
            match over {
                ConnectionEnd::Again => {}
                ConnectionEnd::Anew => (resume, seq) = (None, None),
                ConnectionEnd::Never(why) => {
                    state.status(&self.name, ChannelStatus::Down { why });
                    return;
                }
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(REST);
        }
    }

    pub(super) async fn connect(&self, resume: Option<&Resume>) -> Result<Socket, SendError> {
        let url = match resume {
            Some(resume) => resume.url.clone(),
            None => {
                let told = self.call(reqwest::Method::GET, "/gateway/bot", None).await?;
                let left = told["session_start_limit"]["remaining"].as_u64().unwrap_or(1);
                if left == 0 {
                    // Another session would make Discord reset the token.
                    let ms = told["session_start_limit"]["reset_after"].as_u64().unwrap_or(3_600_000);
                    return Err(SendError::RateLimited(Duration::from_millis(ms)));
                }
                told["url"].as_str().unwrap_or_default().to_owned()
            }
        };
        let url = format!("{}/?v=10&encoding=json", url.trim_end_matches('/'));
        let connecting = tokio::time::timeout(http::PATIENCE, connect_async(&url)).await;
        let broken = |why: &str| SendError::Rejected(format!("the gateway of discord: {why}"));
        let (socket, _) = connecting.map_err(|_| broken("no answer in time"))?.map_err(|_| broken("no connection"))?;
        Ok(socket)
    }

    /// Serves one connection until it ends. Interactions are handled concurrently, because Discord disconnects a client
    /// whose heartbeat is late.
    async fn hold_connection(
        &self,
        mut socket: Socket,
        resume: &mut Option<Resume>,
        seq: &mut Option<u64>,
        inbox: &Inbox,
        state: &dyn ChannelState,
        rest: &mut Duration,
    ) -> ConnectionEnd {
        let hello = tokio::time::timeout(http::PATIENCE, next(&mut socket)).await;
        let Ok(Ok(hello)) = hello else { return ConnectionEnd::Again };
        let every =
            Duration::from_millis(hello["d"]["heartbeat_interval"].as_u64().unwrap_or(45_000).clamp(10, 600_000));
        let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + every / 2, every);
        let mut answered = true;
        let mut taken: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        let begin = match (&*resume, &*seq) {
            (Some(Resume { session, .. }), Some(seq)) => {
                json!({ "op": 6, "d": { "token": self.token, "session_id": session, "seq": seq } })
            }
            _ => {
                let intents = MARKS | if self.commands { TYPED } else { 0 };
                let properties = json!({ "os": std::env::consts::OS, "browser": "guard", "device": "guard" });
                json!({ "op": 2, "d": { "token": self.token, "intents": intents, "properties": properties } })
            }
        };
        if say(&mut socket, &begin).await.is_err() {
            return ConnectionEnd::Again;
        }
        let over = loop {
            let event = tokio::select! {
                event = next(&mut socket), if taken.len() < PRESSES => match event {
                    Ok(event) => event,
                    Err(over) => break over,
                },
                Some(()) = taken.next() => continue,
                _ = beat.tick() => {
                    // If the previous heartbeat was not answered, the connection is half-open.
                    if !answered || say(&mut socket, &json!({ "op": 1, "d": *seq })).await.is_err() {
                        let code = CloseFrame { code: 4000.into(), reason: "".into() };
                        let _ = tokio::time::timeout(Duration::from_secs(1), socket.close(Some(code))).await;
                        break ConnectionEnd::Again;
                    }
                    answered = false;
                    continue;
                }
            };
            // Any event shows that the server is alive, because the answer to a heartbeat may arrive after many events.
            answered = true;
            if let Some(number) = event["s"].as_u64() {
                *seq = Some(number);
            }
            match event["op"].as_u64() {
                Some(1) => {
                    if say(&mut socket, &json!({ "op": 1, "d": *seq })).await.is_err() {
                        break ConnectionEnd::Again;
                    }
                }
                Some(7) => break ConnectionEnd::Again,
                Some(9) => break if event["d"] == true { ConnectionEnd::Again } else { ConnectionEnd::Anew },
                Some(0) => match event["t"].as_str().unwrap_or_default() {
                    "READY" => {
                        let text = |name: &str| event["d"][name].as_str().unwrap_or_default().to_owned();
                        *resume = Some(Resume { session: text("session_id"), url: text("resume_gateway_url") });
                        *rest = Duration::from_secs(1);
                        state.status(&self.name, ChannelStatus::Up);
                    }
                    "RESUMED" => {
                        *rest = Duration::from_secs(1);
                        state.status(&self.name, ChannelStatus::Up);
                    }
                    "INTERACTION_CREATE" | "MESSAGE_CREATE" | "MESSAGE_REACTION_ADD" => {
                        taken.push(Box::pin(self.taken(event, inbox)));
                    }
                    _ => {}
                },
                _ => {}
            }
        };
        // Finish the interactions that were received, however the connection ended.
        let _ = tokio::time::timeout(PRESSED, taken.collect::<()>()).await;
        over
    }
}

async fn say(socket: &mut Socket, value: &Value) -> Result<(), ()> {
    let sending = socket.send(Message::text(value.to_string()));
    tokio::time::timeout(http::PATIENCE, sending).await.map_err(drop)?.map_err(drop)
}

/// Returns the next event. Skips messages that are not JSON.
pub(super) async fn next(socket: &mut Socket) -> Result<Value, ConnectionEnd> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                if let Ok(value) = serde_json::from_str(text.as_str()) {
                    return Ok(value);
                }
            }
            Some(Ok(Message::Close(Some(frame)))) => {
                let code = u16::from(frame.code);
                return Err(match code {
                    _ if FINAL.contains(&code) => ConnectionEnd::Never(format!(
                        "discord closed the connection permanently ({code}: {})",
                        cut(&frame.reason, 100)
                    )),
                    // The session cannot be resumed: an invalid sequence number, or a timeout.
                    4007 | 4009 => ConnectionEnd::Anew,
                    _ => ConnectionEnd::Again,
                });
            }
            Some(Ok(Message::Close(None)) | Err(_)) | None => return Err(ConnectionEnd::Again),
            Some(Ok(_)) => {}
        }
    }
}
