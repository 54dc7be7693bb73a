//! Messengers: one module for each, behind a common trait.
//!
//! A messenger shows a card to a person and reports what they do. The only thing trusted about an action is its author,
//! as reported by the messenger; whether it counts is decided elsewhere ([`crate::interactions`]). Out of scope: the
//! queue.

pub mod buttons;
pub mod desktop;
pub mod discord;
pub mod email;
mod error;
pub mod http;
pub mod inbound;
pub mod ntfy;
pub mod probe;
pub mod program;
pub mod pushover;
pub mod setup;
pub mod slack;
pub mod telegram;
pub mod text;
pub mod twilio;
pub mod webhook;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use self::buttons::ApproverNonce;
pub use self::error::{AddressError, ChannelError, SharedSecretError};
use crate::config::{ChannelConfig, ChannelKind};

/// A request as messengers show it. All of it is redacted, and invisible characters are made visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Card {
    /// The public ID of the request.
    pub action_id: String,
    /// The ID of the request in the queue, for typed commands.
    pub request: String,
    pub command: String,
    pub cwd: String,
    /// The worst finding, and the reviewer's opinion if there is one.
    pub why: String,
    pub tier: u8,
    pub tier_name: String,
    pub score: String,
    /// The requester: the agent or the origin, and the session.
    pub who: String,
    pub timeout_secs: i64,
    /// Whether the request always needs a person's decision.
    pub decision: bool,
    /// Whether the requester reports that a person is in a crisis.
    pub crisis: bool,
    /// The requester's reason.
    pub said: Option<String>,
    /// The first letters of the digest of the request. They are the same on every card of it.
    pub digest: String,
    /// The reason why the request cannot be approved on a messenger, if it cannot.
    pub bar: Option<String>,
    /// Whether an approval needs an approver's signature, which a passkey creates on the page.
    pub sign: bool,
    /// The suggested reasons of a denial, each for one button.
    pub replies: Vec<String>,
    /// The URL of the request on the page, if a page is configured.
    pub link: Option<String>,
}

impl Card {
    /// Reports whether a message with at most this many characters of untrusted text offers an approval. It does not if
    /// it shows only a part of the command, unless it links to the page, which shows all of it.
    #[must_use]
    pub fn offers_yes(&self, most: usize) -> bool {
        self.bar.is_none() && (self.link.is_some() || !text::is_cut(&self.command, most))
    }

    /// Returns the URL for a button that opens the page, if an approval is signed there or only the page shows the
    /// whole command. Messengers accept only https URLs.
    #[must_use]
    pub fn button_to_page(&self, most: usize) -> Option<&str> {
        let link = self.link.as_deref().filter(|link| link.starts_with("https://"));
        link.filter(|_| self.sign || text::is_cut(&self.command, most))
    }
}

/// The reason why a message was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The messenger limits the rate. The next message may be sent after this time.
    RateLimited(Duration),
    /// The messenger cannot be reached or has an internal error, so a retry may succeed. Contains no secrets.
    Unavailable(String),
    /// Any other error. Contains no secrets.
    Rejected(String),
}

impl SendError {
    /// Creates an error from the status of a response. A server error (5xx) may be temporary.
    #[must_use]
    pub fn of(status: u16, why: String) -> Self {
        if status >= 500 { Self::Unavailable(why) } else { Self::Rejected(why) }
    }
}

impl std::fmt::Display for SendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::RateLimited(wait) => write!(f, "too many messages; try again in {} s", wait.as_secs().max(1)),
            Self::Unavailable(why) | Self::Rejected(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SendError {}

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An action of a person on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAction {
    /// A press of a button, with its nonce and kind.
    Pressed { nonce: String, press: ButtonKind },
    /// A typed command, with the ID of a request.
    Typed { request: String, yes: bool, words: Option<String> },
    /// A reaction to a message, with the messenger's ID of the message.
    Reacted { message: String, yes: bool },
    /// A command without the ID of a request. The reply explains the commands.
    Incomplete,
}

/// The kind of a button of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ButtonKind {
    Approve,
    Deny,
    /// A denial with the reason at this index of the card's list.
    Reply(u8),
}

impl ButtonKind {
    /// Returns the code that precedes the nonce.
    #[must_use]
    pub fn code(self) -> String {
        match self {
            Self::Approve => "a".to_owned(),
            Self::Deny => "d".to_owned(),
            Self::Reply(at) => format!("r{at}"),
        }
    }

    /// Returns the data of a button: its code and the nonce.
    #[must_use]
    pub fn with(self, nonce: &str) -> String {
        format!("{}:{nonce}", self.code())
    }

    /// Parses the data of a button.
    #[must_use]
    pub fn read(data: &str) -> Option<UserAction> {
        let (code, nonce) = data.split_once(':')?;
        let press = match code {
            "a" => Self::Approve,
            "d" => Self::Deny,
            _ => Self::Reply(code.strip_prefix('r')?.parse().ok()?),
        };
        Some(UserAction::Pressed { nonce: nonce.to_owned(), press })
    }
}

/// Parses a typed command: `/approve ID`, `!deny ID REASON`.
#[must_use]
pub fn typed(text: &str) -> Option<UserAction> {
    // The verb must follow the mark directly.
    let command = text.trim().strip_prefix(['/', '!'])?;
    let (verb, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    // In a group, a command may include the bot's name, as in `/approve@guard_bot`.
    let yes = match verb.split('@').next()? {
        "approve" => true,
        "deny" => false,
        _ => return None,
    };
    let rest = rest.trim_start();
    if rest.is_empty() {
        return Some(UserAction::Incomplete);
    }
    let (request, words) = match rest.split_once(char::is_whitespace) {
        Some((request, words)) => (request, Some(words.trim().to_owned())),
        None => (rest, None),
    };
    Some(UserAction::Typed { request: request.to_ascii_lowercase(), yes, words })
}

/// An interaction received from a messenger.
#[derive(Debug)]
pub struct Interaction {
    /// The channel's name.
    pub channel: String,
    /// The approver that the configuration assigns to this person, or `None` for a stranger.
    pub approver: Option<String>,
    /// The messenger's ID of the person.
    pub from: String,
    pub action: UserAction,
    /// The sender for the reply to the person.
    pub reply: oneshot::Sender<String>,
}

/// The sender for interactions.
pub type Inbox = mpsc::Sender<Interaction>;

/// Submits the action of a person on a channel, and waits for the reply to them.
async fn hand_in(inbox: &Inbox, channel: &str, approver: Option<String>, from: &str, action: UserAction) -> String {
    let (reply, told) = oneshot::channel();
    let interaction = Interaction { channel: channel.to_owned(), approver, from: from.to_owned(), action, reply };
    let lost = || "guard did not accept it; try again".to_owned();
    if inbox.send(interaction).await.is_err() {
        return lost();
    }
    told.await.unwrap_or_else(|_| lost())
}

/// The status of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum ChannelStatus {
    Up,
    Down { why: String },
}

/// The status of a channel in both directions. That messages are sent says nothing about whether answers are received,
/// and vice versa.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The status of the receiving side, or `None` if it is not known yet or nothing is received.
    pub receives: Option<ChannelStatus>,
    /// The result of the last message sent, or `None` before the first.
    pub sends: Option<ChannelStatus>,
}

impl Health {
    /// Combines both: down if either is down, and `None` if nothing is known.
    #[must_use]
    pub fn combined(&self) -> Option<ChannelStatus> {
        match (&self.receives, &self.sends) {
            (Some(ChannelStatus::Down { why: receives }), Some(ChannelStatus::Down { why: sends }))
                if receives != sends =>
            {
                Some(ChannelStatus::Down { why: format!("{receives}; the last message was rejected: {sends}") })
            }
            (Some(down @ ChannelStatus::Down { .. }), _) => Some(down.clone()),
            (_, Some(ChannelStatus::Down { why })) => {
                Some(ChannelStatus::Down { why: format!("the last message was rejected: {why}") })
            }
            (receives, sends) => receives.clone().or_else(|| sends.clone()),
        }
    }
}

/// The storage of a channel's status and of its position in the messenger's events.
pub trait ChannelState: Send + Sync {
    /// Sets the status of the receiving side.
    fn status(&self, channel: &str, status: ChannelStatus);
    /// Returns the position after the last event that was read.
    fn position<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Option<String>>;
    /// Sets the position after the last event that was read.
    fn set_position<'a>(&'a self, channel: &'a str, position: String) -> BoxFuture<'a, ()>;
}

/// A messenger.
pub trait Channel: Send + Sync {
    /// Sends a card, with the nonces of each approver's buttons. Returns the messenger's ID of the message.
    fn send<'a>(&'a self, card: &'a Card, own: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>>;

    /// Returns the approvers who have buttons or a link in its messages.
    fn approvers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Sends a text that needs no answer.
    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>>;

    /// Replaces the message of a card with the outcome of its request.
    fn close<'a>(&'a self, message: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>>;

    /// Reports whether the message of this card has a button to approve. Only then does a typed approval or a reaction
    /// count.
    fn offers_yes(&self, card: &Card) -> bool {
        let _ = card;
        false
    }

    /// Receives interactions; never returns. `None` if answers cannot come back this way.
    fn receive(self: Arc<Self>, inbox: Inbox, state: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>>;

    /// Checks whether the messenger would deliver answers, without consuming any. `None` if no answers arrive from
    /// another machine. `alone` means that no other gateway is connected, from which this could take answers.
    fn receives(&self, alone: bool) -> Option<BoxFuture<'_, Result<(), SendError>>> {
        let _ = alone;
        None
    }
}

/// Opens the messenger of a configuration.
///
/// # Errors
/// Returns an error if its secret cannot be read, or if its settings are invalid.
pub fn open(config: &ChannelConfig) -> Result<Arc<dyn Channel>, ChannelError> {
    opened(config).map_err(|why| ChannelError::Of { name: config.name.clone(), why: Box::new(why) })
}

fn opened(config: &ChannelConfig) -> Result<Arc<dyn Channel>, ChannelError> {
    let name = config.name.clone();
    Ok(match &config.kind {
        ChannelKind::Telegram { token, url, chat, approvers } => {
            Arc::new(telegram::Telegram::new(name, url, &token.read()?, *chat, approvers.clone())?)
        }
        ChannelKind::Discord { token, url, chat, approvers, commands } => {
            Arc::new(discord::Discord::new(name, url, &token.read()?, chat, approvers.clone(), *commands)?)
        }
        ChannelKind::Ntfy { url, token } => {
            Arc::new(ntfy::Ntfy::new(url, token.as_ref().map(crate::config::Secret::read).transpose()?)?)
        }
        ChannelKind::Webhook { url, secret } => Arc::new(webhook::Webhook::new(url, &secret.read()?)?),
        ChannelKind::Slack { token, app_token, url, chat, approvers } => {
            let tokens = (token.read()?, app_token.read()?);
            Arc::new(slack::Slack::new(name, url, (&tokens.0, &tokens.1), chat, approvers.clone())?)
        }
        ChannelKind::Pushover { token, user, url } => {
            Arc::new(pushover::Pushover::new(url, &token.read()?, &user.read()?)?)
        }
        ChannelKind::Twilio { account, token, url, from, to } => {
            Arc::new(twilio::Twilio::new(url, account, &token.read()?, from, to)?)
        }
        ChannelKind::Desktop { command, approver } => Arc::new(desktop::Desktop::new(name, command.clone(), approver)?),
        ChannelKind::Email { url, user, password, from, to, approver } => {
            let login = match (user, password) {
                (Some(user), Some(password)) => Some((user.clone(), password.read()?)),
                (None, None) => None,
                _ => return Err(ChannelError::HalfALogin),
            };
            Arc::new(email::Email::new(url, login, from, (to, approver))?)
        }
        ChannelKind::Program { command } => Arc::new(program::Program::new(command.clone())?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_carries_which_one_it_is() {
        for press in [ButtonKind::Approve, ButtonKind::Deny, ButtonKind::Reply(2)] {
            assert_eq!(
                ButtonKind::read(&press.with("n0")),
                Some(UserAction::Pressed { nonce: "n0".to_owned(), press })
            );
        }
        for odd in ["", "a", "x:n", "r:n", "r300:n", "rx:n"] {
            assert_eq!(ButtonKind::read(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_channel_is_up_where_neither_direction_is_down() {
        let down = |why: &str| Some(ChannelStatus::Down { why: why.to_owned() });
        let whole = |receives: &Option<ChannelStatus>, sends: &Option<ChannelStatus>| {
            Health { receives: receives.clone(), sends: sends.clone() }.combined()
        };
        let up = Some(ChannelStatus::Up);
        assert_eq!(whole(&None, &None), None);
        for (receives, sends) in [(&up, &None), (&None, &up), (&up, &up)] {
            assert_eq!(whole(receives, sends), up);
        }
        for sends in [&None, &up, &down("deaf")] {
            assert_eq!(whole(&down("deaf"), sends), down("deaf"));
        }
        for receives in [&None, &up] {
            assert_eq!(whole(receives, &down("full")), down("the last message was rejected: full"));
        }
        let both = down("deaf; the last message was rejected: full");
        assert_eq!(whole(&down("deaf"), &down("full")), both);
    }

    #[test]
    fn a_typed_command_names_its_request() {
        let typed_as = |request: &str, yes, words: Option<&str>| {
            Some(UserAction::Typed { request: request.to_owned(), yes, words: words.map(str::to_owned) })
        };
        assert_eq!(typed("/approve B2C3"), typed_as("b2c3", true, None));
        assert_eq!(typed("/approve@guard_bot b2c3"), typed_as("b2c3", true, None));
        assert_eq!(typed("!deny b2c3  use a branch "), typed_as("b2c3", false, Some("use a branch")));
        assert_eq!(typed("/deny  b2c3\nno"), typed_as("b2c3", false, Some("no")));
        for incomplete in ["/approve", "!deny ", "/deny@guard_bot"] {
            assert_eq!(typed(incomplete), Some(UserAction::Incomplete), "{incomplete}");
        }
        for odd in ["approve b2c3", "/start", "/approved b2c3", "/ approve b2c3", "! approve\nb2c3", "/", ""] {
            assert_eq!(typed(odd), None, "{odd}");
        }
    }
}
