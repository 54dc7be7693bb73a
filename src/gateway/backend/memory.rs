//! The traits of the gateway's own data, independent of the storage; `Base` stores it in a file.
//!
//! Losing it loses no answer. Out of scope: answers, and how the data is stored.

use std::collections::HashSet;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::BackendError;
use super::base::Base;
use crate::judge::invocation::Origin;
use crate::push::Subscription;
use crate::secrets::GatewayKey;

/// The permissions of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Submit commands, and see the results of the caller's own commands.
    Submit,
    /// See all requests.
    Read,
    /// Answer requests.
    Decide,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 3] = [Self::Submit, Self::Read, Self::Decide];

    /// Returns `submit`, `read` or `decide`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Read => "read",
            Self::Decide => "decide",
        }
    }

    /// Returns the scope with a name.
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
    /// The directories, including those below, for which commands may be submitted; empty for every directory.
    #[serde(rename = "folders")]
    pub directories: Vec<String>,
    /// The origin of the commands that are submitted with the token.
    pub origin: Origin,
    /// The highest tier that the token may answer.
    pub max_tier: u8,
    pub created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<Timestamp>,
    #[serde(skip)]
    pub hash: [u8; 32],
}

/// A command that was submitted over the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The name that clients use for it.
    pub action: String,
    /// The request in the queue, if the command waits or waited.
    pub request: Option<String>,
    /// The token that it was submitted with.
    pub client: String,
    /// The object that was passed to `guard submit`; empty once the submission has ended, and if it cannot be
    /// decrypted.
    pub body: String,
    pub idempotency: Option<String>,
    /// The hash of the client's own body.
    pub body_hash: [u8; 32],
    pub created: Timestamp,
    /// The result, as JSON.
    pub result: Option<String>,
    /// The hash of the one-time token.
    pub once: Option<[u8; 32]>,
    /// Whether the result of the command was reported.
    pub reported: bool,
    /// The callback that has yet to be notified of the result.
    pub callback: Option<String>,
}

/// A message on a channel that asks for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub action: String,
    pub channel: String,
    /// The channel's own name for the message; `None` while it is being sent.
    pub message: Option<String>,
    pub closed: bool,
    /// Whether the message has a button to approve: the command is then shown completely, or is one tap away.
    pub offers_yes: bool,
}

/// A button of such a message, or its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// The message.
    pub offer: Offer,
    /// The hash of the nonce that the button carries.
    pub nonce: [u8; 32],
    /// The approver that the button belongs to, by the name in the configuration.
    pub approver: String,
    /// Whether the button has been used.
    pub used: bool,
}

/// A session of the page, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPage {
    /// The hash of its cookie.
    pub hash: [u8; 32],
    /// The logged-in caller, as JSON.
    pub caller: String,
    pub until: Timestamp,
}

/// The tokens of the API.
pub trait Tokens {
    /// Stores a token.
    ///
    /// # Errors
    /// The name is in use, or the token cannot be stored.
    fn add_token(&self, token: &Token) -> Result<(), BackendError>;

    /// Returns all tokens, sorted by name.
    ///
    /// # Errors
    /// The tokens cannot be read.
    fn tokens(&self) -> Result<Vec<Token>, BackendError>;

    /// Revokes a token. Returns false if no token has this name.
    ///
    /// # Errors
    /// The token cannot be revoked.
    fn remove_token(&self, name: &str) -> Result<bool, BackendError>;

    /// Stores the time of a token's last use, to the minute.
    ///
    /// # Errors
    /// The time cannot be written.
    fn used_token(&self, name: &str, now: Timestamp) -> Result<(), BackendError>;
}

/// The commands that were submitted over the API, their results, and their callbacks.
pub trait Submissions {
    /// Stores a submission, encrypted. If one with the same key exists, keeps it and returns it.
    ///
    /// # Errors
    /// The submission cannot be stored.
    fn begin(&self, new: &Submission) -> Result<Option<Submission>, BackendError>;

    /// Returns the submissions that became requests in the queue, oldest first: the name of the request, the name of
    /// the submission, the client, and the time of the submission.
    ///
    /// # Errors
    /// The submissions cannot be read.
    fn filed(&self) -> Result<Vec<(String, String, String, Timestamp)>, BackendError>;

    /// Stores the ID of a submission's request in the queue. Deletes closed messages about an earlier filing, which do
    /// not ask about this one.
    ///
    /// # Errors
    /// The ID cannot be written.
    fn waits(&self, action: &str, request: &str) -> Result<(), BackendError>;

    /// Stores the result of a submission and the hash of its one-time token. Deletes its body.
    ///
    /// # Errors
    /// The result cannot be written.
    fn end(&self, action: &str, result: &str, once: Option<&[u8; 32]>) -> Result<(), BackendError>;

    /// Marks a one-time token as used. Returns false if it already was.
    ///
    /// # Errors
    /// The mark cannot be written.
    fn use_once(&self, action: &str) -> Result<bool, BackendError>;

    /// Returns a submission.
    ///
    /// # Errors
    /// The submission cannot be read.
    fn submission(&self, action: &str) -> Result<Option<Submission>, BackendError>;

    /// Returns the submissions without a result; after a restart they are judged again.
    ///
    /// # Errors
    /// The submissions cannot be read.
    fn unfinished(&self) -> Result<Vec<Submission>, BackendError>;

    /// Returns the submissions with a result whose callback has not been notified yet.
    ///
    /// # Errors
    /// The submissions cannot be read.
    fn untold(&self) -> Result<Vec<String>, BackendError>;

    /// Marks the callback of a submission as done: it was notified, or the gateway gave up.
    ///
    /// # Errors
    /// The mark cannot be written.
    fn called_back(&self, action: &str) -> Result<(), BackendError>;
}

/// The messages that ask for answers, the owners of their buttons, and the read positions of the channels.
pub trait Deliveries {
    /// Stores a message that is about to be sent, with the nonces of its buttons. Returns false if this channel already
    /// asks about this request.
    ///
    /// # Errors
    /// The message cannot be stored.
    fn offer(&self, offer: &Offer, buttons: &[(String, [u8; 32])], now: Timestamp) -> Result<bool, BackendError>;

    /// Stores the channel's own name for a message that was sent; with `None`, the message was not sent and is deleted,
    /// so that it can be sent again.
    ///
    /// # Errors
    /// The name cannot be written.
    fn offered(&self, action: &str, channel: &str, message: Option<&str>) -> Result<(), BackendError>;

    /// Returns the messages about a request, or all open messages.
    ///
    /// # Errors
    /// The messages cannot be read.
    fn offers(&self, action: Option<&str>) -> Result<Vec<Offer>, BackendError>;

    /// Returns the button with a nonce.
    ///
    /// # Errors
    /// The button cannot be read.
    fn button(&self, nonce: &[u8; 32]) -> Result<Option<Button>, BackendError>;

    /// Marks a button, or the link of a message, as used. Returns false if it already was.
    ///
    /// # Errors
    /// The mark cannot be written.
    fn use_button(&self, nonce: &[u8; 32]) -> Result<bool, BackendError>;

    /// Returns the message of a channel by the channel's own name for it.
    ///
    /// # Errors
    /// The message cannot be read.
    fn offer_at(&self, channel: &str, message: &str) -> Result<Option<Offer>, BackendError>;

    /// Marks a message as closed: it shows the outcome of its request.
    ///
    /// # Errors
    /// The mark cannot be written.
    fn close(&self, action: &str, channel: &str) -> Result<(), BackendError>;

    /// Returns the read position of a channel in its incoming messages.
    ///
    /// # Errors
    /// The position cannot be read.
    fn position(&self, channel: &str) -> Result<Option<String>, BackendError>;

    /// Stores the read position of a channel.
    ///
    /// # Errors
    /// The position cannot be written.
    fn set_position(&self, channel: &str, position: &str) -> Result<(), BackendError>;
}

/// The sessions of the page.
pub trait Pages {
    /// Stores a session, and deletes those that have ended.
    ///
    /// # Errors
    /// The session cannot be stored.
    fn keep_page(&self, page: &KeptPage, now: Timestamp) -> Result<(), BackendError>;

    /// Returns the sessions that have not ended.
    ///
    /// # Errors
    /// The sessions cannot be read.
    fn pages(&self, now: Timestamp) -> Result<Vec<KeptPage>, BackendError>;

    /// Deletes a session.
    ///
    /// # Errors
    /// The session cannot be deleted.
    fn end_page(&self, page: &[u8; 32]) -> Result<(), BackendError>;
}

/// The devices that receive notifications.
pub trait Devices {
    /// Returns the key that identifies this gateway to push services, and creates it if there is none.
    ///
    /// # Errors
    /// The key can be neither read nor created.
    fn vapid(&self) -> Result<Vec<u8>, BackendError>;

    /// Stores a device that receives notifications. Returns false if too many devices of this name do.
    ///
    /// # Errors
    /// The device cannot be stored.
    fn subscribe(
        &self,
        name: &str,
        token: Option<&str>,
        device: &Subscription,
        now: Timestamp,
    ) -> Result<bool, BackendError>;

    /// Deletes a device; with a name, only if it belongs to that name. Returns false if there is none.
    ///
    /// # Errors
    /// The device cannot be deleted.
    fn unsubscribe(&self, name: Option<&str>, endpoint: &str) -> Result<bool, BackendError>;

    /// Returns the devices that receive notifications, except those whose token was revoked.
    ///
    /// # Errors
    /// The devices cannot be read.
    fn subscriptions(&self) -> Result<Vec<Subscription>, BackendError>;
}

/// The unanswered requests that were escalated.
pub trait Escalations {
    /// Returns the time from which on unanswered requests are escalated: the first start of a gateway here. Older
    /// requests are not.
    ///
    /// # Errors
    /// The time can be neither read nor written.
    fn escalates_since(&self, now: Timestamp) -> Result<Timestamp, BackendError>;

    /// Returns the requests that were escalated.
    ///
    /// # Errors
    /// The requests cannot be read.
    fn escalated(&self) -> Result<HashSet<String>, BackendError>;

    /// Marks a request as escalated.
    ///
    /// # Errors
    /// The mark cannot be written.
    fn set_escalated(&self, action: &str, now: Timestamp) -> Result<(), BackendError>;
}

/// All of the gateway's own data.
pub trait Memory: Tokens + Submissions + Deliveries + Pages + Devices + Escalations + Send {
    /// Returns the gateway's own key, and creates it if there is none.
    ///
    /// # Errors
    /// The key can be neither read nor created.
    fn key(&self) -> Result<GatewayKey, BackendError>;
}

/// Opens the gateway's own data in a directory.
///
/// # Errors
/// The data cannot be used.
pub fn open(directory: &Path) -> Result<Box<dyn Memory>, BackendError> {
    Ok(Box::new(Base::open(&directory.join("gateway.db"))?))
}
