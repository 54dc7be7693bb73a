//! ntfy: a notification on a phone, with a link or a command to answer. It accepts no answers, because anyone who knows
//! the topic could send one.
//!
//! Out of scope: answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::buttons::ApproverNonce;
use super::text::{self, Medium, cut};
use super::{BoxFuture, Card, Channel, ChannelError, ChannelState, Inbox, SendError, http};

/// The largest number of characters of untrusted text in a message. ntfy allows 4096 bytes.
const MOST: usize = 900;

/// A topic of a server.
pub struct Ntfy {
    client: reqwest::Client,
    server: String,
    topic: String,
    token: Option<String>,
}

impl Ntfy {
    /// Creates a topic from its URL, `https://ntfy.sh/TOPIC`.
    ///
    /// # Errors
    /// Returns an error if the URL has no topic.
    pub fn new(url: &str, token: Option<String>) -> Result<Self, ChannelError> {
        let (server, topic) = url.trim_end_matches('/').rsplit_once('/').unwrap_or_default();
        if topic.is_empty() || !server.contains("://") || server.ends_with('/') {
            return Err(ChannelError::NoTopic);
        }
        Ok(Self { client: http::client()?, server: server.to_owned(), topic: topic.to_owned(), token })
    }

    async fn post(&self, mut body: Value) -> Result<String, SendError> {
        body["topic"] = json!(self.topic);
        let mut request = self.client.post(&self.server).json(&body);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let (status, value) = http::answer(request.send().await).await?;
        match (status, value["id"].as_str()) {
            (200, Some(id)) => Ok(id.to_owned()),
            (429, _) => Err(SendError::RateLimited(Duration::from_secs(60))),
            _ => {
                let why = value["error"].as_str().unwrap_or("no reason");
                Err(SendError::of(status, format!("{status}: {}", cut(why, 200))))
            }
        }
    }
}

impl Channel for Ntfy {
    fn send<'a>(&'a self, card: &'a Card, _: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let mut text = text::card(card, Medium::Plain, MOST);
            if card.link.is_none() {
                text.push_str(&format!("\nAnswer at a terminal: guard approve {}", card.request));
            }
            let mut body = json!({
                "title": format!("guard: tier {}", card.tier), "message": text,
                "priority": if card.tier >= 3 { 5 } else { 4 }, "tags": ["warning"],
            });
            if let Some(link) = &card.link {
                body["click"] = json!(link);
            }
            self.post(body).await
        })
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            self.post(json!({ "title": "guard", "message": cut(text, MOST), "priority": 4 })).await.map(drop)
        })
    }

    fn close<'a>(&'a self, _: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let text = format!("request {}: {}", card.request, cut(text, MOST));
            self.post(json!({ "title": "guard", "message": text, "priority": 2 })).await.map(drop)
        })
    }

    fn receive(self: Arc<Self>, _: Inbox, _: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}
