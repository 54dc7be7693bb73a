//! SMS through Twilio: an alert with a link or a command to answer. A sender's number can be forged, so a reply is
//! never an answer.
//!
//! Out of scope: answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::buttons::ApproverNonce;
use super::text::cut;
use super::{BoxFuture, Card, Channel, ChannelError, ChannelState, Inbox, SendError, http};

/// The longest part of a command in a message, in characters. The price depends on the length.
const MOST: usize = 100;

/// An account, its number, and the recipients.
pub struct Twilio {
    client: reqwest::Client,
    url: String,
    account: String,
    token: String,
    from: String,
    to: Vec<String>,
}

impl Twilio {
    /// Creates a channel with the account's ID and token.
    ///
    /// # Errors
    /// Returns an error if a number is invalid, or if no HTTP client can be created.
    pub fn new(url: &str, account: &str, token: &str, from: &str, to: &[String]) -> Result<Self, ChannelError> {
        let is_number = |text: &str| {
            text.strip_prefix('+')
                .is_some_and(|rest| (6..=15).contains(&rest.len()) && rest.bytes().all(|c| c.is_ascii_digit()))
        };
        if let Some(odd) = to.iter().map(String::as_str).chain([from]).find(|number| !is_number(number)) {
            return Err(ChannelError::Number(odd.to_owned()));
        }
        if to.is_empty() || account.is_empty() || !account.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(ChannelError::NoNumber);
        }
        let (url, account) = (url.trim_end_matches('/').to_owned(), account.to_owned());
        let (token, from) = (token.to_owned(), from.to_owned());
        Ok(Self { client: http::client()?, url, account, token, from, to: to.to_vec() })
    }

    /// Sends to all numbers and returns the ID of the last message. Succeeds if at least one message was accepted.
    async fn post(&self, text: &str) -> Result<String, SendError> {
        let mut last = Err(SendError::Rejected("not tested".to_owned()));
        for to in &self.to {
            let sent = self.post_to(to, text).await;
            if sent.is_ok() || last.is_err() {
                last = sent;
            }
        }
        last
    }

    async fn post_to(&self, to: &str, text: &str) -> Result<String, SendError> {
        let form = [("To", to), ("From", &self.from), ("Body", text)];
        let body = reqwest::Url::parse_with_params("http://x/", &form)
            .map_err(|error| SendError::Rejected(error.to_string()))?;
        let path = format!("{}/2010-04-01/Accounts/{}/Messages.json", self.url, self.account);
        let request = self.client.post(path).basic_auth(&self.account, Some(&self.token));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let sent = request.body(body.query().unwrap_or_default().to_owned()).send().await;
        let (status, wait, value): (u16, Option<Duration>, Value) = http::told(sent).await?;
        match (status, value["sid"].as_str()) {
            (201, Some(sid)) => Ok(sid.to_owned()),
            (429, _) => Err(SendError::RateLimited(wait.unwrap_or(Duration::from_secs(60)))),
            _ => {
                let why = value["message"].as_str().unwrap_or("no reason");
                Err(SendError::of(status, format!("twilio: {status}: {}", cut(why, 200))))
            }
        }
    }
}

impl Channel for Twilio {
    fn send<'a>(&'a self, card: &'a Card, _: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let place = card.link.clone().unwrap_or_else(|| format!("guard approve {}", card.request));
            let front = if card.decision { "A person decides. " } else { "" };
            let text = format!("{front}guard, tier {}: {}\nAnswer: {place}", card.tier, cut(&card.command, MOST));
            self.post(&text).await
        })
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move { self.post(&cut(text, 300)).await.map(drop) })
    }

    fn close<'a>(&'a self, _: &'a str, _: &'a Card, _: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        // A sent message cannot be changed, and another one is not worth its price.
        Box::pin(async { Ok(()) })
    }

    fn receive(self: Arc<Self>, _: Inbox, _: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}
