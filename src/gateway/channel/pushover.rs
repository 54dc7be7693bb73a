//! Pushover: an alert on a phone, with a link to the page. An urgent alert repeats until a person has acknowledged it;
//! an acknowledgement is not an answer.
//!
//! Out of scope: answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::buttons::ApproverNonce;
use super::text::{self, Medium, cut};
use super::{BoxFuture, Card, Channel, ChannelError, ChannelState, Inbox, SendError, http};

/// The largest number of characters of untrusted text in a message. Pushover allows 1024 characters in total.
const MOST: usize = 600;

/// A Pushover application and its recipient.
pub struct Pushover {
    client: reqwest::Client,
    url: String,
    token: String,
    user: String,
}

impl Pushover {
    /// Creates a channel with the application's token and the key of a user or a group.
    ///
    /// # Errors
    /// Returns an error if no HTTP client can be created.
    pub fn new(url: &str, token: &str, user: &str) -> Result<Self, ChannelError> {
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { client: http::client()?, url, token: token.to_owned(), user: user.to_owned() })
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Value, SendError> {
        let mut all = vec![("token", self.token.as_str()), ("user", self.user.as_str())];
        all.extend(form);
        let body = reqwest::Url::parse_with_params("http://x/", &all)
            .map_err(|error| SendError::Rejected(error.to_string()))?;
        let request = self.client.post(format!("{}{path}", self.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let sent = request.body(body.query().unwrap_or_default().to_owned()).send().await;
        let (status, wait, value) = http::told(sent).await?;
        match status {
            200 if value["status"] == 1 => Ok(value),
            429 => Err(SendError::RateLimited(wait.unwrap_or(Duration::from_secs(60)))),
            _ => {
                let why = value["errors"][0].as_str().unwrap_or("no reason");
                Err(SendError::of(status, format!("pushover: {status}: {}", cut(why, 200))))
            }
        }
    }
}

impl Channel for Pushover {
    fn send<'a>(&'a self, card: &'a Card, _: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let mut text = text::card(&Card { link: None, ..card.clone() }, Medium::Plain, MOST);
            if card.link.is_none() {
                text.push_str(&format!("\nAnswer at a terminal: guard approve {}", card.request));
            }
            let title = format!("guard: tier {}", card.tier);
            let mut form = vec![("title", title.as_str()), ("message", text.as_str())];
            if let Some(link) = &card.link {
                form.extend([("url", link.as_str()), ("url_title", "Answer")]);
            }
            if card.decision || card.tier == 4 {
                // Repeated every 30 seconds for ten minutes, until a person has acknowledged it.
                form.extend([("priority", "2"), ("retry", "30"), ("expire", "600")]);
            } else {
                form.push(("priority", if card.tier == 3 { "1" } else { "0" }));
            }
            let told = self.post("/1/messages.json", &form).await?;
            let id = told["receipt"].as_str().or_else(|| told["request"].as_str());
            id.map(str::to_owned).ok_or_else(|| SendError::Rejected("pushover returned no message ID".to_owned()))
        })
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let text = cut(text, 1000);
            self.post("/1/messages.json", &[("title", "guard"), ("message", &text)]).await.map(drop)
        })
    }

    fn close<'a>(&'a self, message: &'a str, _: &'a Card, _: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        // A message cannot be edited, but the repetition of an urgent one can be cancelled.
        Box::pin(async move {
            let plain = message.chars().all(|c| c.is_ascii_alphanumeric());
            if message.starts_with('r') && plain {
                return self.post(&format!("/1/receipts/{message}/cancel.json"), &[]).await.map(drop);
            }
            Ok(())
        })
    }

    fn receive(self: Arc<Self>, _: Inbox, _: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}
