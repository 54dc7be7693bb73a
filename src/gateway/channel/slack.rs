//! Slack: buttons below a message. Interactions arrive over a WebSocket in socket mode, which Slack closes from time to
//! time and guard reopens.
//!
//! Out of scope: whether a press counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::buttons::{ApproverNonce, Button, buttons};
use super::inbound::ChatInput;
use super::text::{self, Medium, cut};
use super::{
    BoxFuture, ButtonKind, Card, Channel, ChannelError, ChannelState, ChannelStatus, Inbox, SendError, hand_in, http,
    inbound,
};

/// The largest number of characters of untrusted text in a message. Slack allows 3000 per section.
const MOST: usize = 2400;

/// The largest number of approvers with buttons: Slack allows 50 blocks per message.
const ROWS: usize = 40;

/// The longest delay before a failing connection is tried again.
const REST: Duration = Duration::from_secs(60);

/// Slack pings every few seconds. A connection that is silent for this long is half-open.
const SILENT: Duration = Duration::from_secs(90);

/// Errors of the token, after which reconnecting does not help.
const FINAL: [&str; 6] =
    ["invalid_auth", "not_authed", "account_inactive", "token_revoked", "missing_scope", "not_allowed_token_type"];

/// The number of interactions that are handled concurrently. Further ones are not read yet.
const PRESSES: usize = 32;

/// A bot and the channel that it writes to.
pub struct Slack {
    name: String,
    client: reqwest::Client,
    url: String,
    /// The token that writes messages (`xoxb-`).
    token: String,
    /// The token that opens the connection (`xapp-`).
    app_token: String,
    chat: String,
    approvers: BTreeMap<String, String>,
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Slack {
    /// Creates a bot with its two tokens.
    ///
    /// # Errors
    /// Returns an error if no HTTP client can be created, or if the channel's ID is invalid.
    pub fn new(
        name: String,
        url: &str,
        (token, app_token): (&str, &str),
        chat: &str,
        approvers: BTreeMap<String, String>,
    ) -> Result<Self, ChannelError> {
        if chat.is_empty() || !chat.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(ChannelError::SlackChat);
        }
        let (token, app_token, chat) = (token.to_owned(), app_token.to_owned(), chat.to_owned());
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { name, client: http::client()?, url, token, app_token, chat, approvers })
    }

    async fn call(&self, method: &str, token: &str, body: &Value) -> Result<Value, SendError> {
        let request = self.client.post(format!("{}/{method}", self.url)).bearer_auth(token).json(body);
        let (status, wait, value) = http::told(request.send().await).await?;
        if status == 429 {
            return Err(SendError::RateLimited(wait.unwrap_or(Duration::from_secs(30))));
        }
        if status == 200 && value["ok"] == true {
            return Ok(value);
        }
        let why = value["error"].as_str().unwrap_or("no reason");
        Err(SendError::of(status, format!("slack: {method}: {status}: {}", cut(why, 100))))
    }

    fn blocks(card: &Card, own: &[ApproverNonce], text: &str) -> Value {
        let write = |button: &Button| {
            let label = json!({ "type": "plain_text", "text": cut(&button.label("Approve", "Deny", "No"), 70) });
            let mut written =
                json!({ "type": "button", "text": label, "action_id": button.press.code(), "value": button.data });
            match (button.press, &button.words) {
                (ButtonKind::Approve, _) => written["style"] = json!("primary"),
                (_, None) => written["style"] = json!("danger"),
                (_, Some(_)) => {}
            }
            written
        };
        let row = |elements: Vec<Value>| json!({ "type": "actions", "elements": elements });
        let mut all = vec![Self::section(text)];
        let of_each = buttons(card, own, card.offers_yes(MOST));
        all.extend(of_each.iter().take(ROWS).map(|of_one| row(of_one.iter().map(write).collect())));
        if let Some(page) = card.button_to_page(MOST) {
            let label = json!({ "type": "plain_text", "text": "Open the page" });
            all.push(row(vec![json!({ "type": "button", "text": label, "action_id": inbound::OPEN, "url": page })]));
        }
        json!(all)
    }

    fn section(text: &str) -> Value {
        json!({ "type": "section", "text": { "type": "mrkdwn", "text": text, "verbatim": true } })
    }

    /// Connects repeatedly, and receives interactions.
    async fn listen(&self, inbox: Inbox, state: Arc<dyn ChannelState>) {
        let mut rest = Duration::from_secs(1);
        loop {
            match self.connect().await {
                Ok(socket) => self.hold_connection(socket, &inbox, &*state, &mut rest).await,
                Err(failed) => {
                    state.status(&self.name, ChannelStatus::Down { why: failed.to_string() });
                    match failed {
                        SendError::Rejected(why) if FINAL.iter().any(|word| why.ends_with(word)) => return,
                        SendError::RateLimited(wait) => tokio::time::sleep(wait).await,
                        SendError::Unavailable(_) | SendError::Rejected(_) => {}
                    }
                }
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(REST);
        }
    }

    async fn connect(&self) -> Result<Socket, SendError> {
        let told = self.call("apps.connections.open", &self.app_token, &json!({})).await?;
        let broken = |why: &str| SendError::Rejected(format!("slack: the socket: {why}"));
        let url = told["url"].as_str().ok_or_else(|| broken("no address"))?;
        let connecting = tokio::time::timeout(http::PATIENCE, connect_async(url)).await;
        let (socket, _) = connecting.map_err(|_| broken("no answer in time"))?.map_err(|_| broken("no connection"))?;
        Ok(socket)
    }

    /// Serves one connection until it ends. Interactions are handled concurrently, because Slack does not wait before
    /// it sends the next.
    async fn hold_connection(&self, mut socket: Socket, inbox: &Inbox, state: &dyn ChannelState, rest: &mut Duration) {
        let mut taken: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
        loop {
            let message = tokio::select! {
                message = tokio::time::timeout(SILENT, socket.next()), if taken.len() < PRESSES => message,
                Some(()) = taken.next() => continue,
            };
            let Ok(Some(Ok(message))) = message else { break };
            let Message::Text(text) = message else { continue };
            // Messages that are not JSON are skipped.
            let Ok(event) = serde_json::from_str::<Value>(text.as_str()) else { continue };
            // Slack requires an acknowledgement within three seconds, whatever the outcome.
            if let Some(id) = event["envelope_id"].as_str() {
                let taken = Message::text(json!({ "envelope_id": id }).to_string());
                let sent = tokio::time::timeout(http::PATIENCE, socket.send(taken)).await;
                if !matches!(sent, Ok(Ok(()))) {
                    break;
                }
            }
            match event["type"].as_str().unwrap_or_default() {
                "hello" => {
                    *rest = Duration::from_secs(1);
                    state.status(&self.name, ChannelStatus::Up);
                }
                "disconnect" => {
                    *rest = Duration::from_millis(100);
                    break;
                }
                "interactive" => taken.push(Box::pin(self.pressed(event, inbox))),
                _ => {}
            }
        }
        // Interactions that were received are finished, however the connection ended.
        let _ = tokio::time::timeout(http::PATIENCE, taken.collect::<()>()).await;
    }

    /// Handles the press of a button.
    async fn pressed(&self, event: Value, inbox: &Inbox) {
        let Some(ChatInput { from: user, chat, action }) = inbound::slack(&event["payload"]) else { return };
        let known = self.approvers.iter().find(|(_, id)| *id == user && chat == self.chat);
        let approver = known.map(|(name, _)| name.clone());
        let told = match action {
            None => "this is not a button of guard".to_owned(),
            Some(action) => hand_in(inbox, &self.name, approver, user, action).await,
        };
        let body = json!({ "channel": chat, "user": user, "text": Medium::Slack.escape(&cut(&told, 1900)) });
        let _ = self.call("chat.postEphemeral", &self.token, &body).await;
    }
}

impl Channel for Slack {
    fn send<'a>(&'a self, card: &'a Card, own: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let text = text::card(card, Medium::Slack, MOST);
            let body = json!({
                "channel": self.chat, "text": format!("guard asks (tier {})", card.tier), "unfurl_links": false,
                "unfurl_media": false, "blocks": Self::blocks(card, own, &text),
            });
            let sent = self.call("chat.postMessage", &self.token, &body).await?;
            let id = sent["ts"].as_str().filter(|ts| ts.chars().all(|c| c.is_ascii_digit() || c == '.'));
            id.map(str::to_owned).ok_or_else(|| SendError::Rejected("slack returned no message ID".to_owned()))
        })
    }

    fn approvers(&self) -> Vec<String> {
        self.approvers.keys().cloned().collect()
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let body =
                json!({ "channel": self.chat, "text": Medium::Slack.escape(&cut(text, 2900)), "unfurl_links": false });
            self.call("chat.postMessage", &self.token, &body).await.map(drop)
        })
    }

    fn close<'a>(&'a self, message: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let ended = Medium::Slack.escape(&cut(text, 200));
            let text = text::ended(card, Medium::Slack, MOST, text, 200);
            let blocks = json!([Self::section(&text)]);
            let body = json!({ "channel": self.chat, "ts": message, "text": ended, "blocks": blocks });
            self.call("chat.update", &self.token, &body).await.map(drop)
        })
    }

    fn offers_yes(&self, card: &Card) -> bool {
        card.offers_yes(MOST)
    }

    fn receive(self: Arc<Self>, inbox: Inbox, state: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        Some(Box::pin(async move { self.listen(inbox, state).await }))
    }

    fn receives(&self, alone: bool) -> Option<BoxFuture<'_, Result<(), SendError>>> {
        Some(Box::pin(async move {
            if !alone {
                // Only requests a URL, because a second open connection would receive some of the interactions.
                return self.call("apps.connections.open", &self.app_token, &json!({})).await.map(drop);
            }
            let mut socket = self.connect().await?;
            let hello = tokio::time::timeout(http::PATIENCE, socket.next()).await;
            let _ = tokio::time::timeout(Duration::from_secs(1), socket.close(None)).await;
            let greets = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|event| event["type"] == "hello");
            match hello {
                Ok(Some(Ok(Message::Text(text)))) if greets(text.as_str()) => Ok(()),
                _ => Err(SendError::Rejected("slack: the socket sent no hello".to_owned())),
            }
        }))
    }
}
