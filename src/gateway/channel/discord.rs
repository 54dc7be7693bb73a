//! Discord: buttons below a message, and reactions for those who cannot press them. Interactions arrive over Discord's
//! gateway (`connection`).
//!
//! Out of scope: whether a press counts.

mod connection;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use self::connection::next;
use super::buttons::{ApproverNonce, Button, buttons};
use super::inbound::ChatInput;
use super::text::{self, Medium, cut};
use super::{
    BoxFuture, ButtonKind, Card, Channel, ChannelError, ChannelState, Inbox, SendError, UserAction, hand_in, http,
    inbound,
};

/// The largest number of characters of untrusted text in a message. Discord allows 2000 characters.
const MOST: usize = 1400;

/// The largest number of rows of buttons below a message, of five buttons each.
const ROWS: usize = 5;

/// The time limit for handling an interaction, slightly below Discord's.
const PRESSED: Duration = Duration::from_millis(2500);

/// The number of reactions of unknown persons that are answered while the gateway runs.
const REFUSED: usize = 1000;

/// The flag of a message that only the person who pressed sees.
const EPHEMERAL: u32 = 64;

/// A bot and its channel.
pub struct Discord {
    name: String,
    client: reqwest::Client,
    url: String,
    token: String,
    chat: String,
    approvers: BTreeMap<String, String>,
    commands: bool,
    /// The unknown persons who were already answered, with the message of their reaction, because a reaction can be set
    /// repeatedly.
    refused: Mutex<HashSet<(String, String)>>,
}

impl Discord {
    /// Creates a bot with its token.
    ///
    /// # Errors
    /// Returns an error if no HTTP client can be created, or if the channel's ID is invalid.
    pub fn new(
        name: String,
        url: &str,
        token: &str,
        chat: &str,
        approvers: BTreeMap<String, String>,
        commands: bool,
    ) -> Result<Self, ChannelError> {
        if chat.is_empty() || !chat.chars().all(|c| c.is_ascii_digit()) {
            return Err(ChannelError::DiscordChat);
        }
        let (url, token, chat) = (url.trim_end_matches('/').to_owned(), token.to_owned(), chat.to_owned());
        Ok(Self { name, client: http::client()?, url, token, chat, approvers, commands, refused: Mutex::default() })
    }

    async fn call(&self, method: reqwest::Method, path: &str, body: Option<&Value>) -> Result<Value, SendError> {
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request = request.header("authorization", format!("Bot {}", self.token));
        let request = if let Some(body) = body { request.json(body) } else { request };
        let (status, value) = http::answer(request.send().await).await?;
        match status {
            200..=299 => Ok(value),
            429 => Err(SendError::RateLimited(Duration::from_secs_f64(
                value["retry_after"].as_f64().unwrap_or(1.0).clamp(0.0, 3600.0),
            ))),
            _ => {
                let why = value["message"].as_str().unwrap_or("no reason");
                Err(SendError::of(status, format!("discord: {status}: {}", cut(why, 200))))
            }
        }
    }

    fn rows(card: &Card, own: &[ApproverNonce]) -> Value {
        let write = |button: &Button| {
            let style = match (button.press, &button.words) {
                (ButtonKind::Approve, _) => 3,
                (_, None) => 4,
                (_, Some(_)) => 2,
            };
            let label = button.label("Approve", "Deny", "No");
            json!({ "type": 2, "style": style, "label": cut(&label, 80), "custom_id": button.data })
        };
        let page = card.button_to_page(MOST);
        let room = ROWS - usize::from(page.is_some());
        let mut all = buttons(card, own, card.offers_yes(MOST));
        let mut rows: Vec<Value> = Vec::new();
        if all.len() > room {
            for of_one in &mut all {
                of_one.retain(|button| button.words.is_none());
            }
            all = all.chunks(2).map(<[_]>::concat).collect();
        }
        for of_some in all.iter().take(room) {
            rows.push(json!({ "type": 1, "components": of_some.iter().map(write).collect::<Vec<_>>() }));
        }
        if let Some(page) = page {
            let open = json!({ "type": 2, "style": 5, "label": "Open the page", "url": page });
            rows.push(json!({ "type": 1, "components": [open] }));
        }
        json!(rows)
    }

    /// Handles an event from a person.
    async fn taken(&self, event: Value, inbox: &Inbox) {
        match event["t"].as_str().unwrap_or_default() {
            "INTERACTION_CREATE" => self.pressed(&event["d"], inbox).await,
            "MESSAGE_CREATE" => self.typed(&event["d"], inbox).await,
            _ => self.reacted(&event["d"], inbox).await,
        }
    }

    fn approver(&self, user: &str, chat: &str) -> Option<String> {
        let known = self.approvers.iter().find(|(_, id)| *id == user && chat == self.chat);
        known.map(|(name, _)| name.clone())
    }

    /// Handles the press of a button.
    async fn pressed(&self, event: &Value, inbox: &Inbox) {
        let Some((ChatInput { from, chat, action }, place)) = inbound::discord_press(event) else { return };
        let told = match action {
            None => "this is not a button of guard".to_owned(),
            Some(action) => {
                let approver = self.approver(from, chat);
                match tokio::time::timeout(PRESSED, hand_in(inbox, &self.name, approver, from, action)).await {
                    Ok(told) => told,
                    Err(_) => "guard needs more time; see the message for the result".to_owned(),
                }
            }
        };
        let body = json!({
            "type": 4,
            "data": { "content": cut(&told, 1900), "flags": EPHEMERAL, "allowed_mentions": { "parse": [] } },
        });
        let _ = self.call(reqwest::Method::POST, &place, Some(&body)).await;
    }

    /// Handles a typed command.
    async fn typed(&self, message: &Value, inbox: &Inbox) {
        let heard = if self.commands { inbound::discord_message(message) } else { None };
        let Some(ChatInput { from, chat, action: Some(action) }) = heard else { return };
        let told = hand_in(inbox, &self.name, self.approver(from, chat), from, action).await;
        if chat.chars().all(|c| c.is_ascii_digit()) {
            let body = json!({ "content": cut(&told, 1900), "allowed_mentions": { "parse": [] } });
            let _ = self.call(reqwest::Method::POST, &format!("/channels/{chat}/messages"), Some(&body)).await;
        }
    }

    /// Handles a reaction to a message. Ignores messages that are not guard's.
    async fn reacted(&self, event: &Value, inbox: &Inbox) {
        let Some(ChatInput { from, chat, action: Some(action) }) = inbound::discord_reaction(event) else { return };
        let UserAction::Reacted { message, .. } = &action else { return };
        if chat != self.chat {
            return;
        }
        let message = message.clone();
        let approver = self.approver(from, chat);
        let is_stranger = approver.is_none();
        let told = hand_in(inbox, &self.name, approver, from, action).await;
        if !told.is_empty() && (!is_stranger || self.is_first_refusal(from, &message)) {
            let body = json!({
                "content": cut(&told, 1900), "allowed_mentions": { "parse": [] },
                "message_reference": { "message_id": message, "fail_if_not_exists": false },
            });
            let _ = self.call(reqwest::Method::POST, &format!("/channels/{chat}/messages"), Some(&body)).await;
        }
    }

    /// Reports whether this is the first reaction of a stranger to this message. Only the first one is answered, and at
    /// most [`REFUSED`] in total.
    fn is_first_refusal(&self, stranger: &str, message: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.len() < REFUSED && refused.insert((stranger.to_owned(), message.to_owned()))
    }
}

impl Channel for Discord {
    fn send<'a>(&'a self, card: &'a Card, own: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let body = json!({
                "content": text::card(card, Medium::Markdown, MOST), "allowed_mentions": { "parse": [] },
                "components": Self::rows(card, own),
            });
            let path = format!("/channels/{}/messages", self.chat);
            let sent = self.call(reqwest::Method::POST, &path, Some(&body)).await?;
            let id = sent["id"].as_str().filter(|id| id.chars().all(|c| c.is_ascii_digit()));
            id.map(str::to_owned).ok_or_else(|| SendError::Rejected("discord returned no message ID".to_owned()))
        })
    }

    fn approvers(&self) -> Vec<String> {
        self.approvers.keys().cloned().collect()
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let text = cut(&Medium::Markdown.escape(text), 1900);
            let body = json!({ "content": text, "allowed_mentions": { "parse": [] } });
            self.call(reqwest::Method::POST, &format!("/channels/{}/messages", self.chat), Some(&body)).await.map(drop)
        })
    }

    fn close<'a>(&'a self, message: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let text = text::ended(card, Medium::Markdown, MOST, text, 200);
            let body = json!({ "content": text, "allowed_mentions": { "parse": [] }, "components": [] });
            let path = format!("/channels/{}/messages/{message}", self.chat);
            self.call(reqwest::Method::PATCH, &path, Some(&body)).await.map(drop)
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
                return self.call(reqwest::Method::GET, "/gateway/bot", None).await.map(drop);
            }
            // A connection that does not identify itself receives no events.
            let mut socket = self.connect(None).await?;
            let hello = tokio::time::timeout(http::PATIENCE, next(&mut socket)).await;
            let _ = tokio::time::timeout(Duration::from_secs(1), socket.close(None)).await;
            match hello {
                Ok(Ok(hello)) if hello["op"] == 10 => Ok(()),
                _ => Err(SendError::Rejected("the gateway of discord sent no hello".to_owned())),
            }
        }))
    }
}
