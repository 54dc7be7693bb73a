//! E-mail: the card as text, with a link that logs in to the page once, for this request only.
//!
//! E-mail can be read in transit and its sender forged, so a reply is never an answer. Out of scope: what the link
//! permits ([`crate::api::pages`]).

use std::sync::Arc;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

use super::buttons::ApproverNonce;
use super::text::{self, Medium, cut};
use super::{AddressError, BoxFuture, Card, Channel, ChannelError, ChannelState, Inbox, SendError};
use crate::secrets::secret;

/// The largest number of characters of untrusted text in a message.
const MOST: usize = 20_000;

/// A mailbox.
pub struct Email {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    to: Mailbox,
    /// The approver who receives the link.
    approver: String,
}

/// Checks that the connection to a server on another machine is encrypted, and that the URL contains no password.
///
/// # Errors
/// Returns an error if the URL of the server is not acceptable.
pub fn check_url(url: &str) -> Result<(), AddressError> {
    let parsed = reqwest::Url::parse(url).map_err(|error| AddressError::None(error.to_string()))?;
    let host = parsed.host_str().unwrap_or_default();
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(AddressError::Login);
    }
    let tls = parsed.query_pairs().any(|(name, value)| name == "tls" && value == "required");
    let local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    match parsed.scheme() {
        _ if host.is_empty() => Err(AddressError::NoHost),
        "smtps" => Ok(()),
        "smtp" if tls || local => Ok(()),
        "smtp" => Err(AddressError::PlainMail(host.to_owned())),
        other => Err(AddressError::Scheme(other.to_owned())),
    }
}

impl Email {
    /// Creates a mailbox from its server, such as `smtps://mail.example.org`, and the approver who reads it.
    ///
    /// # Errors
    /// Returns an error if the server or an address is invalid.
    pub fn new(
        url: &str,
        login: Option<(String, String)>,
        from: &str,
        (to, approver): (&str, &str),
    ) -> Result<Self, ChannelError> {
        check_url(url)?;
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(ChannelError::Server)?;
        let transport = match login {
            Some((user, password)) => transport.credentials(Credentials::new(user, password)),
            None => transport,
        };
        let mailbox = |key: &'static str, text: &str| {
            text.parse().map_err(|error| ChannelError::Mailbox { key, address: text.to_owned(), error })
        };
        let (from, to) = (mailbox("from", from)?, mailbox("to", to)?);
        Ok(Self { transport: transport.build(), from, to, approver: approver.to_owned() })
    }

    async fn mail(&self, subject: &str, text: String) -> Result<String, SendError> {
        let id = format!("<{}@guard>", secret::<16>("").map_err(|why| SendError::Rejected(why.to_string()))?);
        let mail = Message::builder().from(self.from.clone()).to(self.to.clone()).subject(subject);
        // The message is marked as automatic, so that no autoresponder replies.
        let mail = mail.message_id(Some(id.clone())).header(AutoSubmitted).header(ContentType::TEXT_PLAIN).body(text);
        let mail = mail.map_err(|error| SendError::Rejected(error.to_string()))?;
        self.transport.send(mail).await.map_err(failed)?;
        Ok(id)
    }
}

/// The header of an automatic message (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;

impl lettre::message::header::Header for AutoSubmitted {
    fn name() -> lettre::message::header::HeaderName {
        lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> lettre::message::header::HeaderValue {
        lettre::message::header::HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

fn failed(error: Error) -> SendError {
    let mut text = error.to_string();
    let mut below = std::error::Error::source(&error);
    while let Some(why) = below {
        text = format!("{text}: {why}");
        below = why.source();
    }
    SendError::Rejected(cut(&guard_ui::ui::visible::text(&text), 300))
}

impl Channel for Email {
    fn send<'a>(&'a self, card: &'a Card, own: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let page = card.link.as_deref().and_then(|link| link.split_once("/#")).map(|(page, _)| page);
            let plain = Card { link: None, ..card.clone() };
            let mut text = text::card(&plain, Medium::Plain, MOST);
            text.push_str("\n\n");
            match (page, own.first()) {
                (Some(page), Some(ApproverNonce { nonce, .. })) => text.push_str(&format!(
                    "Answer here (the link works once, for this request only):\n{page}/#mail={nonce}\n"
                )),
                _ => text.push_str(&format!("Answer at a terminal: guard approve {}\n", card.request)),
            }
            let subject = format!("guard asks: tier {}, request {}", card.tier, card.request);
            self.mail(&subject, text).await
        })
    }

    fn approvers(&self) -> Vec<String> {
        vec![self.approver.clone()]
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move { self.mail("guard", cut(text, MOST)).await.map(drop) })
    }

    /// Does nothing: a sent e-mail cannot be changed. Its link shows the outcome.
    fn close<'a>(&'a self, _: &'a str, _: &'a Card, _: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Ok(()) })
    }

    fn receive(self: Arc<Self>, _: Inbox, _: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_in_plain_to_another_machine() {
        for fine in ["smtps://mail.example.org", "smtp://mail.example.org:587?tls=required", "smtp://127.0.0.1:25"] {
            assert_eq!(check_url(fine), Ok(()), "{fine}");
            assert!(Email::new(fine, None, "guard@example.org", ("Ada <ada@example.org>", "ada")).is_ok(), "{fine}");
        }
        for odd in [
            "smtp://mail.example.org",
            "smtp://mail.example.org?tls=opportunistic",
            "smtp://127.0.0.1.example.org",
            "smtps://ada:secret@mail.example.org",
            "https://mail.example.org",
            "mail.example.org",
        ] {
            assert!(check_url(odd).is_err(), "{odd}");
        }
        assert!(Email::new("smtps://m.example.org", None, "guard", ("ada@example.org", "ada")).is_err());
    }
}
