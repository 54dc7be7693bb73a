//! A webhook, signed according to Standard Webhooks, for services without a module of their own.
//!
//! Out of scope: answers, which arrive over the API.

use std::sync::Arc;
use std::time::Duration;

use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;

use super::buttons::ApproverNonce;
use super::{
    AddressError, BoxFuture, Card, Channel, ChannelError, ChannelState, Inbox, SendError, SharedSecretError, http,
};
use crate::secrets;

/// The delays in seconds before each attempt.
const AGAIN: [u64; 3] = [0, 1, 3];

/// A URL that messages are posted to.
pub struct Webhook {
    client: reqwest::Client,
    url: String,
    secret: Vec<u8>,
}

impl Webhook {
    /// Creates a webhook from a URL and the shared secret.
    ///
    /// # Errors
    /// Returns an error if the URL or the secret is not acceptable.
    pub fn new(url: &str, secret: &str) -> Result<Self, ChannelError> {
        check_url(url)?;
        Ok(Self { client: http::client()?, url: url.to_owned(), secret: self::secret(secret)? })
    }

    /// Posts a message and returns its ID.
    async fn post(&self, body: &Value) -> Result<String, SendError> {
        let id = secrets::secret::<16>("msg_").map_err(|why| SendError::Rejected(why.to_string()))?;
        let text = body.to_string();
        let mut last = SendError::Rejected("not tested".to_owned());
        for wait in AGAIN {
            tokio::time::sleep(Duration::from_secs(wait)).await;
            let at = Timestamp::now().as_second().to_string();
            let signature = sign(&self.secret, &id, &at, &text);
            let request = self.client.post(&self.url).header("content-type", "application/json");
            let request = request.header("webhook-id", &id).header("webhook-timestamp", &at);
            let sent = request.header("webhook-signature", signature).body(text.clone()).send().await;
            match http::answer(sent).await {
                Ok((200..=299, _)) => return Ok(id),
                Ok((status, _)) => last = SendError::of(status, format!("the webhook answered {status}")),
                Err(failed) => last = failed,
            }
        }
        Err(last)
    }
}

/// Checks that the connection to another machine is encrypted.
///
/// # Errors
/// Returns an error if it is not.
pub fn check_url(url: &str) -> Result<(), AddressError> {
    let host = |url: &reqwest::Url| url.host_str().map(str::to_owned).unwrap_or_default();
    match reqwest::Url::parse(url) {
        Ok(parsed) if parsed.scheme() == "https" => Ok(()),
        Ok(parsed) if parsed.scheme() == "http" && ["127.0.0.1", "localhost", "[::1]"].contains(&&*host(&parsed)) => {
            Ok(())
        }
        _ => Err(AddressError::Plain),
    }
}

/// Returns the bytes of a shared secret.
///
/// # Errors
/// Returns an error if the secret is marked as Base64, but is not valid Base64.
pub fn secret(text: &str) -> Result<Vec<u8>, SharedSecretError> {
    match text.strip_prefix("whsec_") {
        None => Ok(text.as_bytes().to_vec()),
        Some(text) => Base64::decode_vec(text).map_err(|_| SharedSecretError),
    }
}

/// Returns the signature: `v1,` and the HMAC of the ID, the time and the body.
#[must_use]
pub fn sign(secret: &[u8], id: &str, at: &str, body: &str) -> String {
    // This cannot fail: HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return String::new() };
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    format!("v1,{}", Base64::encode_string(&mac.finalize().into_bytes()))
}

impl Channel for Webhook {
    fn send<'a>(&'a self, card: &'a Card, _: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move { self.post(&json!({ "type": "request.filed", "data": card })).await })
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move { self.post(&json!({ "type": "notice", "data": { "text": text } })).await.map(drop) })
    }

    fn close<'a>(&'a self, _: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let data = json!({ "action_id": card.action_id, "request": card.request, "text": text });
            self.post(&json!({ "type": "request.ended", "data": data })).await.map(drop)
        })
    }

    fn receive(self: Arc<Self>, _: Inbox, _: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_as_the_standard_has_it() {
        // The example of the specification's own libraries.
        let secret = Base64::decode_vec("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "{\"test\": 2432232314}");
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn nothing_is_posted_in_plain_to_elsewhere() {
        assert!(Webhook::new("http://example.com/x", "s").is_err());
        assert!(Webhook::new("https://example.com/x", "s").is_ok());
        assert!(Webhook::new("http://127.0.0.1.example.com/x", "s").is_err());
        assert!(Webhook::new("http://localhost@example.com/x", "s").is_err());
        assert!(Webhook::new("http://127.0.0.1:1/x", "s").is_ok());
        assert!(Webhook::new("https://example.com/x", "whsec_???").is_err());
    }
}
