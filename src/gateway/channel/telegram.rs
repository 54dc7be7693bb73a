//! Telegram: buttons below a message. Presses arrive by long polling, so that the gateway need not be reachable.
//!
//! Out of scope: whether a press counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::buttons::{ApproverNonce, Button, buttons};
use super::text::{self, Medium, cut};
use super::{
    BoxFuture, Card, Channel, ChannelError, ChannelState, ChannelStatus, Inbox, SendError, hand_in, http, inbound,
};

/// The duration of one poll for updates.
const POLL: Duration = Duration::from_secs(50);

/// The largest number of characters of untrusted text in a message. Telegram allows 4096 characters.
const MOST: usize = 3400;

/// The longest delay before a failing poll is tried again.
const REST: Duration = Duration::from_secs(30);

/// A bot and its chat.
pub struct Telegram {
    name: String,
    client: reqwest::Client,
    /// The base URL. It contains the token and is never shown.
    base: String,
    chat: i64,
    approvers: BTreeMap<String, i64>,
    poll: Duration,
}

impl Telegram {
    /// Creates a bot with its token.
    ///
    /// # Errors
    /// Returns an error if no HTTP client can be created.
    pub fn new(
        name: String,
        url: &str,
        token: &str,
        chat: i64,
        approvers: BTreeMap<String, i64>,
    ) -> Result<Self, ChannelError> {
        let base = format!("{}/bot{token}", url.trim_end_matches('/'));
        Ok(Self { name, client: http::client()?, base, chat, approvers, poll: POLL })
    }

    /// Calls a method and returns its `result`.
    ///
    /// # Errors
    /// Returns an error if the call fails.
    pub async fn call(&self, method: &str, body: &Value) -> Result<Value, SendError> {
        let request = self.client.post(format!("{}/{method}", self.base)).json(body);
        let request = if method == "getUpdates" { request.timeout(self.poll + http::PATIENCE) } else { request };
        let (status, value) = http::answer(request.send().await).await?;
        if status == 200 && value["ok"] == true {
            return Ok(value["result"].clone());
        }
        if let Some(seconds) = value["parameters"]["retry_after"].as_u64() {
            return Err(SendError::RateLimited(Duration::from_secs(seconds.min(3600))));
        }
        let why = value["description"].as_str().unwrap_or("no reason");
        Err(SendError::of(status, format!("{method}: {status}: {}", cut(why, 200))))
    }

    fn keyboard(card: &Card, own: &[ApproverNonce]) -> Value {
        let write = |button: &Button| {
            let label = button.label("✅ Approve", "❌ Deny", "❌");
            json!({ "text": cut(&label, 40), "callback_data": button.data })
        };
        let mut rows = Vec::new();
        for of_one in buttons(card, own, card.offers_yes(MOST)) {
            // A button with a reason has a row of its own, or its label would be truncated.
            let (worded, plain): (Vec<_>, Vec<_>) = of_one.iter().partition(|button| button.words.is_some());
            rows.push(plain.into_iter().map(write).collect());
            rows.extend(worded.into_iter().map(|button| vec![write(button)]));
        }
        if let Some(page) = card.button_to_page(MOST) {
            rows.push(vec![json!({ "text": "Open the page", "url": page })]);
        }
        json!({ "inline_keyboard": rows })
    }

    /// Handles one update: a press or a typed command.
    async fn take(&self, update: &Value, inbox: &Inbox) {
        let Some(inbound::TelegramInput { from, chat, action, callback }) = inbound::telegram(update) else { return };
        let approver = self.approvers.iter().find(|(_, id)| **id == from && chat == self.chat);
        let approver = approver.map(|(name, _)| name.clone());
        let told = match action {
            None => "this is not a button of guard".to_owned(),
            Some(action) => hand_in(inbox, &self.name, approver, &from.to_string(), action).await,
        };
        // The press must be acknowledged, or the button keeps showing a progress indicator.
        let _ = match callback {
            Some(id) => {
                let body = json!({ "callback_query_id": id, "text": cut(&told, 190), "show_alert": false });
                self.call("answerCallbackQuery", &body).await
            }
            None => self.call("sendMessage", &json!({ "chat_id": chat, "text": cut(&told, 4000) })).await,
        };
    }

    async fn poll(&self, inbox: Inbox, state: Arc<dyn ChannelState>) {
        let mut offset: i64 =
            state.position(&self.name).await.and_then(|position| position.parse().ok()).unwrap_or_default();
        let mut rest = Duration::from_secs(1);
        loop {
            let wanted = json!({
                "offset": offset, "timeout": self.poll.as_secs(), "allowed_updates": ["callback_query", "message"],
            });
            match self.call("getUpdates", &wanted).await {
                Ok(updates) => {
                    rest = Duration::from_secs(1);
                    state.status(&self.name, ChannelStatus::Up);
                    for update in updates.as_array().unwrap_or(&Vec::new()) {
                        self.take(update, &inbox).await;
                        // The position is stored after the update was handled. An update that arrives twice is decided
                        // only once.
                        if let Some(id) = update["update_id"].as_i64() {
                            offset = offset.max(id + 1);
                            state.set_position(&self.name, offset.to_string()).await;
                        }
                    }
                }
                Err(failed) => {
                    let wait = if let SendError::RateLimited(wait) = failed { wait } else { rest };
                    state.status(&self.name, ChannelStatus::Down { why: failed.to_string() });
                    tokio::time::sleep(wait).await;
                    rest = (rest * 2).min(REST);
                }
            }
        }
    }
}

impl Channel for Telegram {
    fn send<'a>(&'a self, card: &'a Card, own: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let body = json!({
                "chat_id": self.chat, "text": text::card(card, Medium::Html, MOST), "parse_mode": "HTML",
                "protect_content": true, "link_preview_options": { "is_disabled": true },
                "reply_markup": Self::keyboard(card, own),
            });
            let sent = self.call("sendMessage", &body).await?;
            let id = sent["message_id"].as_i64();
            id.map(|id| id.to_string())
                .ok_or_else(|| SendError::Rejected("sendMessage returned no message ID".to_owned()))
        })
    }

    fn approvers(&self) -> Vec<String> {
        self.approvers.keys().cloned().collect()
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let body = json!({ "chat_id": self.chat, "text": cut(text, 4000) });
            self.call("sendMessage", &body).await.map(drop)
        })
    }

    fn close<'a>(&'a self, message: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let id: i64 = message.parse().unwrap_or_default();
            let text = text::ended(card, Medium::Html, MOST, text, 300);
            let body = json!({
                "chat_id": self.chat, "message_id": id, "text": text, "parse_mode": "HTML",
                "reply_markup": { "inline_keyboard": [] },
            });
            match self.call("editMessageText", &body).await {
                // The message already has this text.
                Err(SendError::Rejected(why)) if why.contains("not modified") => Ok(()),
                done => done.map(drop),
            }
        })
    }

    fn offers_yes(&self, card: &Card) -> bool {
        card.offers_yes(MOST)
    }

    fn receive(self: Arc<Self>, inbox: Inbox, state: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        Some(Box::pin(async move { self.poll(inbox, state).await }))
    }

    fn receives(&self, alone: bool) -> Option<BoxFuture<'_, Result<(), SendError>>> {
        Some(Box::pin(async move {
            let told = self.call("getWebhookInfo", &json!({})).await?;
            if told["url"].as_str().is_some_and(|url| !url.is_empty()) {
                let why = "a webhook is set for this bot and receives the button presses; remove it with \
                           deleteWebhook";
                return Err(SendError::Rejected(why.to_owned()));
            }
            if alone {
                // Without an offset no update counts as read. If a gateway polls, this would interrupt its poll.
                self.call("getUpdates", &json!({ "timeout": 0, "limit": 1 })).await?;
            }
            Ok(())
        }))
    }
}
