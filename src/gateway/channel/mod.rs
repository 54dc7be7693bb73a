//! Messengers: each in a file of its own, behind one trait.
//!
//! A messenger carries a card to its person and a tap back. It believes nothing of a tap but who made it, by the
//! messenger's own word; whether that counts is said elsewhere ([`crate::interactions`]). Out of scope: the queue.

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

/// A request as a messenger shows it. Everything is redacted, and what does not show is made visible.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Card {
    /// Its name towards clients.
    pub action_id: String,
    /// Its name in the queue, for commands that are typed.
    pub request: String,
    pub command: String,
    pub cwd: String,
    /// The worst finding.
    pub why: String,
    pub tier: u8,
    pub tier_name: String,
    pub score: String,
    /// Who asks: the agent, or where it comes from, and the session.
    pub who: String,
    pub timeout_secs: i64,
    /// A person decides it every time.
    pub decision: bool,
    /// Whoever asked says that somebody is in a crisis.
    pub crisis: bool,
    /// Why, as whoever asked says.
    pub said: Option<String>,
    /// The first letters of the digest of what was asked: the same on every card of it.
    pub digest: String,
    /// Why no yes is taken here, where none is.
    pub bar: Option<String>,
    /// A yes is an approver's signature, which a passkey gives on the page.
    pub sign: bool,
    /// What a no may say with one tap.
    pub replies: Vec<String>,
    /// All of it, where there is a page.
    pub link: Option<String>,
}

impl Card {
    /// Whether a message offers a yes in which the command may have so many characters: nobody approves what they are
    /// shown in part, unless all of it is a tap away.
    #[must_use]
    pub fn offers_yes(&self, most: usize) -> bool {
        self.bar.is_none() && (self.link.is_some() || !text::is_cut(&self.command, most))
    }

    /// The page, for a button that opens it: where a yes is signed there, and where the command is shown whole only there.
    /// Messengers refuse addresses that are none of the web's.
    #[must_use]
    pub fn button_to_page(&self, most: usize) -> Option<&str> {
        let link = self.link.as_deref().filter(|link| link.starts_with("https://"));
        link.filter(|_| self.sign || text::is_cut(&self.command, most))
    }
}

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The messenger wants to be left alone for so long.
    RateLimited(Duration),
    /// The messenger cannot be reached, or fails by itself: the same may be taken later. Without any secret.
    Unavailable(String),
    /// Anything else, without any secret.
    Rejected(String),
}

impl SendError {
    /// By the status of an answer: what is a fault of the messenger's own may pass.
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

/// What a person did on a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAction {
    /// A button: what it carries, and which one.
    Pressed { nonce: String, press: ButtonKind },
    /// A command that was typed, with the name of a request.
    Typed { request: String, yes: bool, words: Option<String> },
    /// A mark that was set on a message, by the channel's own name for the message.
    Reacted { message: String, yes: bool },
    /// Something else, which may be the first word of somebody who sets the channel up.
    OtherText,
}

/// Which button of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ButtonKind {
    Approve,
    Deny,
    /// A no with the words of this place in the card's list.
    Reply(u8),
}

impl ButtonKind {
    /// The letters in front of the nonce.
    #[must_use]
    pub fn code(self) -> String {
        match self {
            Self::Approve => "a".to_owned(),
            Self::Deny => "d".to_owned(),
            Self::Reply(at) => format!("r{at}"),
        }
    }

    /// What a button carries: which one it is, and the nonce.
    #[must_use]
    pub fn with(self, nonce: &str) -> String {
        format!("{}:{nonce}", self.code())
    }

    /// The reverse of it.
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

/// A command that was typed: `/approve ID`, `!deny ID words`.
#[must_use]
pub fn typed(text: &str) -> Option<UserAction> {
    // The word stands right behind its mark.
    let (verb, rest) = text.trim().strip_prefix(['/', '!'])?.split_once(char::is_whitespace)?;
    // In a group a bot is named with the command.
    let yes = match verb.split('@').next()? {
        "approve" => true,
        "deny" => false,
        _ => return None,
    };
    let rest = rest.trim_start();
    let (request, words) = match rest.split_once(char::is_whitespace) {
        Some((request, words)) => (request, Some(words.trim().to_owned())),
        None => (rest, None),
    };
    Some(UserAction::Typed { request: request.to_ascii_lowercase(), yes, words })
}

/// An interaction that came in from a messenger.
#[derive(Debug)]
pub struct Interaction {
    /// The channel's name.
    pub channel: String,
    /// The approver that the configuration maps this person to; `None`: a stranger.
    pub approver: Option<String>,
    /// The messenger's own name for the person.
    pub from: String,
    pub action: UserAction,
    /// What the person is told.
    pub reply: oneshot::Sender<String>,
}

/// Where interactions are sent.
pub type Inbox = mpsc::Sender<Interaction>;

/// Hands in what somebody did on a channel, and waits for what they are to be told.
async fn hand_in(inbox: &Inbox, channel: &str, approver: Option<String>, from: &str, action: UserAction) -> String {
    let (reply, told) = oneshot::channel();
    let interaction = Interaction { channel: channel.to_owned(), approver, from: from.to_owned(), action, reply };
    let lost = || "guard did not accept it; try again".to_owned();
    if inbox.send(interaction).await.is_err() {
        return lost();
    }
    told.await.unwrap_or_else(|_| lost())
}

/// How a channel is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum ChannelStatus {
    Up,
    Down { why: String },
}

/// How a channel is in both directions: that a message goes out says nothing of whether answers come back, and the reverse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// As its receiving side says; `None` where it has said nothing yet, or nothing comes back.
    pub receives: Option<ChannelStatus>,
    /// As the last message went; `None` before the first.
    pub sends: Option<ChannelStatus>,
}

impl Health {
    /// Both in one: down where either is; `None` where nothing is known.
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

/// Where a channel says how it is, and keeps how far it has read.
pub trait ChannelState: Send + Sync {
    /// How its receiving side is.
    fn status(&self, channel: &str, status: ChannelStatus);
    /// How far it had read.
    fn position<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Option<String>>;
    /// How far it has read.
    fn set_position<'a>(&'a self, channel: &'a str, position: String) -> BoxFuture<'a, ()>;
}

/// A messenger.
pub trait Channel: Send + Sync {
    /// Shows a card, with what the buttons of each approver carry; the channel's own name for the message, once it was
    /// taken.
    fn send<'a>(&'a self, card: &'a Card, own: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>>;

    /// Who has buttons or a link in its messages.
    fn approvers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Tells something that wants no answer.
    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>>;

    /// Says in the place of a card how its request ended.
    fn close<'a>(&'a self, message: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>>;

    /// Whether its message of this card has a button for a yes; a yes that is typed or set as a mark counts where it has.
    fn offers_yes(&self, card: &Card) -> bool {
        let _ = card;
        false
    }

    /// Hears what people answer, for ever; `None` where nothing comes back this way.
    fn receive(self: Arc<Self>, inbox: Inbox, state: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>>;

    /// Whether the messenger would hand out what people answer, found out without taking any of it; `None` where nothing
    /// comes back from another machine. With `alone` no gateway is connected that it could be taken from.
    fn receives(&self, alone: bool) -> Option<BoxFuture<'_, Result<(), SendError>>> {
        let _ = alone;
        None
    }
}

/// The messenger of a configuration.
///
/// # Errors
/// Its secret cannot be read, or its settings are none.
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
        for odd in
            ["approve b2c3", "/approve", "/start", "/approved b2c3", "/ approve b2c3", "! approve\nb2c3", "/", ""]
        {
            assert_eq!(typed(odd), None, "{odd}");
        }
    }
}
