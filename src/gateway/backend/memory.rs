//! What the gateway itself has to remember, whatever keeps it: `Base` keeps it in a file.
//!
//! Losing it loses no answer. Out of scope: answers, and how anything is kept.

use std::collections::HashSet;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::BackendError;
use super::base::Base;
use crate::judge::invocation::Origin;
use crate::push::Subscription;
use crate::secrets::GatewayKey;

/// What a token may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Hand in commands, and see what became of one's own.
    Submit,
    /// See all requests.
    Read,
    /// Answer.
    Decide,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Submit, Self::Read, Self::Decide];

    /// `submit`, `read`, `decide`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Read => "read",
            Self::Decide => "decide",
        }
    }

    /// The scope of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Commands are handed in for these directories and what lies below; none: for every directory.
    #[serde(rename = "folders")]
    pub directories: Vec<String>,
    /// Where what is handed in with it comes from.
    pub origin: Origin,
    /// The highest tier that it answers.
    pub max_tier: u8,
    pub created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Timestamp>,
    #[serde(skip)]
    pub hash: [u8; 32],
}

/// A command that was handed in over the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Its name towards clients.
    pub action: String,
    /// The request of the queue, where it waits or waited.
    pub request: Option<String>,
    /// The token it came with.
    pub client: String,
    /// The object that `guard submit` was given; empty once it ended, and where it could not be opened.
    pub body: String,
    pub idempotency: Option<String>,
    /// Of the client's own body.
    pub body_hash: [u8; 32],
    pub created: Timestamp,
    /// What it ended with, as JSON.
    pub result: Option<String>,
    /// Of the one-time token.
    pub once: Option<[u8; 32]>,
    /// The outcome was reported.
    pub reported: bool,
    /// The callback that is told how it ended, and was not told yet.
    pub callback: Option<String>,
}

/// A message that asks somebody on some channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub action: String,
    pub channel: String,
    /// The channel's own name for the message; `None` while it is being sent.
    pub message: Option<String>,
    pub closed: bool,
    /// It has a button for a yes: what it asks about is shown whole, or all of it is a tap away.
    pub offers_yes: bool,
}

/// A button of such a message, or its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// The message.
    pub offer: Offer,
    /// Of what it carries.
    pub nonce: [u8; 32],
    /// Whose it is, by the name in the configuration.
    pub approver: String,
    /// It has answered once.
    pub used: bool,
}

/// A session of the page, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPage {
    /// Of its cookie.
    pub hash: [u8; 32],
    /// Who is logged in, as JSON.
    pub caller: String,
    pub until: Timestamp,
}

/// Tokens of the API.
pub trait Tokens {
    /// Keeps a token.
    ///
    /// # Errors
    /// The name is taken, or it cannot be kept.
    fn add_token(&self, token: &Token) -> Result<(), BackendError>;

    /// All tokens, by name.
    ///
    /// # Errors
    /// They cannot be read.
    fn tokens(&self) -> Result<Vec<Token>, BackendError>;

    /// Revokes a token. False when there is none of this name.
    ///
    /// # Errors
    /// It cannot be revoked.
    fn remove_token(&self, name: &str) -> Result<bool, BackendError>;

    /// Remembers when a token was last used, to the minute.
    ///
    /// # Errors
    /// It cannot be written.
    fn used_token(&self, name: &str, now: Timestamp) -> Result<(), BackendError>;
}

/// Commands that were handed in over the API, what each ended with, and who was told.
pub trait Submissions {
    /// Remembers a command that was handed in, sealed; an earlier one of the same key is left, and returned.
    ///
    /// # Errors
    /// It cannot be remembered.
    fn begin(&self, new: &Submission) -> Result<Option<Submission>, BackendError>;

    /// What was handed in and became a request of the queue: the queue's name, its own, the client, and when it was begun;
    /// the oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    fn filed(&self) -> Result<Vec<(String, String, String, Timestamp)>, BackendError>;

    /// Its request of the queue. Messages that said how an earlier asking ended do not ask about this one.
    ///
    /// # Errors
    /// It cannot be written.
    fn waits(&self, action: &str, request: &str) -> Result<(), BackendError>;

    /// What it ended with, and what is kept of its one-time token. What was handed in is forgotten.
    ///
    /// # Errors
    /// It cannot be written.
    fn end(&self, action: &str, result: &str, once: Option<&[u8; 32]>) -> Result<(), BackendError>;

    /// Uses a one-time token up. False when that was done before.
    ///
    /// # Errors
    /// It cannot be written.
    fn use_once(&self, action: &str) -> Result<bool, BackendError>;

    /// A command that was handed in.
    ///
    /// # Errors
    /// It cannot be read.
    fn submission(&self, action: &str) -> Result<Option<Submission>, BackendError>;

    /// Those that have not ended: after a restart they are waited for anew.
    ///
    /// # Errors
    /// They cannot be read.
    fn unfinished(&self) -> Result<Vec<Submission>, BackendError>;

    /// Those that have ended, and whose callback was not told yet.
    ///
    /// # Errors
    /// They cannot be read.
    fn untold(&self) -> Result<Vec<String>, BackendError>;

    /// The callback of a command was told, or is given up.
    ///
    /// # Errors
    /// It cannot be written.
    fn called_back(&self, action: &str) -> Result<(), BackendError>;
}

/// Messages that ask somebody, whose each of their buttons is, and how far each channel has read.
pub trait Deliveries {
    /// Keeps a message that is about to be sent, with what its buttons carry. False where this channel asks about this
    /// request already.
    ///
    /// # Errors
    /// It cannot be kept.
    fn offer(&self, offer: &Offer, buttons: &[(String, [u8; 32])], now: Timestamp) -> Result<bool, BackendError>;

    /// The channel's own name for a message that was sent; `None`: it was not, and may be offered again.
    ///
    /// # Errors
    /// It cannot be written.
    fn offered(&self, action: &str, channel: &str, message: Option<&str>) -> Result<(), BackendError>;

    /// The messages about a request, or all that are open.
    ///
    /// # Errors
    /// They cannot be read.
    fn offers(&self, action: Option<&str>) -> Result<Vec<Offer>, BackendError>;

    /// The button that carries this.
    ///
    /// # Errors
    /// It cannot be read.
    fn button(&self, nonce: &[u8; 32]) -> Result<Option<Button>, BackendError>;

    /// Uses a button up, or the link of a message. False when that was done before.
    ///
    /// # Errors
    /// It cannot be written.
    fn use_button(&self, nonce: &[u8; 32]) -> Result<bool, BackendError>;

    /// The message of a channel by the channel's own name for it.
    ///
    /// # Errors
    /// It cannot be read.
    fn offer_at(&self, channel: &str, message: &str) -> Result<Option<Offer>, BackendError>;

    /// A message says that its request has ended.
    ///
    /// # Errors
    /// It cannot be written.
    fn close(&self, action: &str, channel: &str) -> Result<(), BackendError>;

    /// How far a channel has read what it was sent.
    ///
    /// # Errors
    /// It cannot be read.
    fn position(&self, channel: &str) -> Result<Option<String>, BackendError>;

    /// Keeps how far a channel has read.
    ///
    /// # Errors
    /// It cannot be written.
    fn set_position(&self, channel: &str, position: &str) -> Result<(), BackendError>;
}

/// Sessions of the page.
pub trait Pages {
    /// Keeps a session, and forgets those that have ended.
    ///
    /// # Errors
    /// It cannot be kept.
    fn keep_page(&self, page: &KeptPage, now: Timestamp) -> Result<(), BackendError>;

    /// The sessions that have not ended.
    ///
    /// # Errors
    /// They cannot be read.
    fn pages(&self, now: Timestamp) -> Result<Vec<KeptPage>, BackendError>;

    /// Forgets a session.
    ///
    /// # Errors
    /// It cannot be written.
    fn end_page(&self, page: &[u8; 32]) -> Result<(), BackendError>;
}

/// Devices that want notices.
pub trait Devices {
    /// The key by which push services know this gateway, made when there is none.
    ///
    /// # Errors
    /// It can be neither read nor made.
    fn vapid(&self) -> Result<Vec<u8>, BackendError>;

    /// Keeps a device that wants notices. False where too many of this name do.
    ///
    /// # Errors
    /// It cannot be kept.
    fn subscribe(
        &self,
        name: &str,
        token: Option<&str>,
        device: &Subscription,
        now: Timestamp,
    ) -> Result<bool, BackendError>;

    /// Forgets a device; with a name, only where it is of that name. False where there is none.
    ///
    /// # Errors
    /// It cannot be written.
    fn unsubscribe(&self, name: Option<&str>, endpoint: &str) -> Result<bool, BackendError>;

    /// The devices that want notices, but for those whose token was revoked.
    ///
    /// # Errors
    /// They cannot be read.
    fn subscriptions(&self) -> Result<Vec<Subscription>, BackendError>;
}

/// Which requests that nobody answered were told to those who are to know.
pub trait Escalations {
    /// From when on requests are told of that nobody answered: since a gateway first ran here. What is older is history.
    ///
    /// # Errors
    /// It can be neither read nor written.
    fn escalates_since(&self, now: Timestamp) -> Result<Timestamp, BackendError>;

    /// The requests that were told of.
    ///
    /// # Errors
    /// They cannot be read.
    fn escalated(&self) -> Result<HashSet<String>, BackendError>;

    /// Remembers that a request was told of.
    ///
    /// # Errors
    /// It cannot be written.
    fn set_escalated(&self, action: &str, now: Timestamp) -> Result<(), BackendError>;
}

/// All of it.
pub trait Memory: Tokens + Submissions + Deliveries + Pages + Devices + Escalations + Send {
    /// The gateway's own key, made when there is none.
    ///
    /// # Errors
    /// It can be neither read nor made.
    fn key(&self) -> Result<GatewayKey, BackendError>;
}

/// Opens what is remembered in a directory.
///
/// # Errors
/// It cannot be used.
pub fn open(directory: &Path) -> Result<Box<dyn Memory>, BackendError> {
    Ok(Box::new(Base::open(&directory.join("gateway.db"))?))
}
