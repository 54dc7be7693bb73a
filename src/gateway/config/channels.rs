//! The messengers in the configuration.
//!
//! Out of scope: their protocols ([`crate::channel`]).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{FieldError, Secret};

/// A messenger.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct ChannelConfig {
    pub name: String,
    pub kind: ChannelKind,
}

impl TryFrom<toml::Table> for ChannelConfig {
    type Error = FieldError;

    fn try_from(mut table: toml::Table) -> Result<Self, FieldError> {
        let name = match table.remove("name") {
            Some(toml::Value::String(name)) => name,
            _ => return Err(FieldError::NoName),
        };
        match toml::Value::Table(table).try_into() {
            Ok(kind) => Ok(Self { name, kind }),
            Err(why) => Err(FieldError::Channel { name, why }),
        }
    }
}

/// The settings of a messenger.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ChannelKind {
    Telegram {
        token: Secret,
        #[serde(default = "telegram_url")]
        url: String,
        /// The ID of the chat for cards.
        chat: i64,
        /// The user IDs of the approvers.
        approvers: BTreeMap<String, i64>,
    },
    Discord {
        token: Secret,
        #[serde(default = "discord_url")]
        url: String,
        /// The ID of the channel for cards.
        chat: String,
        approvers: BTreeMap<String, String>,
        /// Whether `!approve ID` and `!deny ID REASON` count too. The bot needs the message content intent for that.
        #[serde(default)]
        commands: bool,
    },
    Ntfy {
        /// The URL with the topic, which must be hard to guess.
        url: String,
        token: Option<Secret>,
    },
    Webhook {
        url: String,
        secret: Secret,
    },
    Program {
        command: Vec<String>,
    },
    Slack {
        /// The token that writes messages (`xoxb-`).
        token: Secret,
        /// The token that opens the connection in socket mode (`xapp-`).
        app_token: Secret,
        #[serde(default = "slack_url")]
        url: String,
        /// The ID of the channel for cards.
        chat: String,
        approvers: BTreeMap<String, String>,
    },
    Pushover {
        token: Secret,
        /// The key of a user or a group.
        user: Secret,
        #[serde(default = "pushover_url")]
        url: String,
    },
    Twilio {
        account: String,
        token: Secret,
        #[serde(default = "twilio_url")]
        url: String,
        from: String,
        to: Vec<String>,
    },
    Email {
        /// The server: `smtps://mail.example.org`.
        url: String,
        user: Option<String>,
        password: Option<Secret>,
        from: String,
        to: String,
        /// The approver who reads the mail, and in whose name the link answers.
        approver: String,
    },
    Desktop {
        /// `notify-send`, or a program with the same arguments.
        #[serde(default = "notify_send")]
        command: Vec<String>,
        /// The approver whom the record names for a denial.
        approver: String,
    },
}

impl ChannelKind {
    /// Returns the name of the kind in the file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Telegram { .. } => "telegram",
            Self::Discord { .. } => "discord",
            Self::Ntfy { .. } => "ntfy",
            Self::Webhook { .. } => "webhook",
            Self::Program { .. } => "program",
            Self::Slack { .. } => "slack",
            Self::Pushover { .. } => "pushover",
            Self::Twilio { .. } => "twilio",
            Self::Desktop { .. } => "desktop",
            Self::Email { .. } => "email",
        }
    }

    /// Returns the position among channels without a configured order. The lowest is tried first.
    #[must_use]
    pub const fn default_order(&self) -> u8 {
        match self {
            Self::Telegram { .. } => 0,
            Self::Discord { .. } => 1,
            Self::Slack { .. }
            | Self::Ntfy { .. }
            | Self::Pushover { .. }
            | Self::Email { .. }
            | Self::Webhook { .. }
            | Self::Program { .. } => 2,
            // A person at the desktop has a terminal too.
            Self::Desktop { .. } => 3,
            // Each message costs money.
            Self::Twilio { .. } => 4,
        }
    }

    /// Reports whether answers arrive from the messenger's servers.
    #[must_use]
    pub const fn is_heard(&self) -> bool {
        matches!(self, Self::Telegram { .. } | Self::Discord { .. } | Self::Slack { .. })
    }
}

fn slack_url() -> String {
    "https://slack.com/api".to_owned()
}

fn pushover_url() -> String {
    "https://api.pushover.net".to_owned()
}

fn twilio_url() -> String {
    "https://api.twilio.com".to_owned()
}

fn notify_send() -> Vec<String> {
    vec!["notify-send".to_owned()]
}

fn telegram_url() -> String {
    "https://api.telegram.org".to_owned()
}

fn discord_url() -> String {
    "https://discord.com/api/v10".to_owned()
}
