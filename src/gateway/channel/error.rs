//! Errors in the settings of a messenger.
//!
//! Out of scope: errors of sending a message.

use super::http::HttpError;
use crate::config::SecretError;

/// The reason why a messenger cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// An error of the channel with this name.
    #[error("channel {name}: {why}")]
    Of { name: String, why: Box<Self> },
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// No HTTP client can be created.
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    SharedSecret(#[from] SharedSecretError),
    #[error("chat: expected the ID of a channel, as in C024BE91L")]
    SlackChat,
    #[error("chat: the ID of a channel must be a number")]
    DiscordChat,
    #[error("invalid number {0}: expected a number such as +15550100")]
    Number(String),
    #[error("needs the account's ID and at least one number in to")]
    NoNumber,
    #[error("url: expected a server and a topic, as in https://ntfy.sh/guard-x7c2")]
    NoTopic,
    #[error("user and password must be set together")]
    HalfALogin,
    #[error("url: {0}")]
    Server(lettre::transport::smtp::Error),
    #[error("{key}: {address}: {error}")]
    Mailbox { key: &'static str, address: String, error: lettre::address::AddressError },
    #[error("command: it is empty")]
    NoCommand,
    #[error("command: {0}: expected the absolute path of a program, and its arguments")]
    Relative(String),
    #[error("command: expected the absolute path of a program, and its arguments")]
    NoProgram,
}

/// The reason why a URL is not acceptable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("url: expected https, or http to this machine")]
    Plain,
    #[error("url: {0}")]
    None(String),
    #[error("url: must not contain a user or password; use the keys user and password")]
    Login,
    #[error("url: missing host")]
    NoHost,
    #[error("url: {0} would be contacted without TLS; use smtps://{0} or smtp://{0}:587?tls=required")]
    PlainMail(String),
    #[error("url: unknown scheme {0}: expected smtps or smtp")]
    Scheme(String),
}

/// The shared secret of a webhook is marked as Base64, but is not valid Base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("secret: expected base64 after whsec_")]
pub struct SharedSecretError;
