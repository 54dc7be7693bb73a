//! Errors of the configuration, and of the secrets that it names.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::{fmt, io};

use crate::channel::AddressError;
use crate::keyring::KeyringError;
use crate::logging::LogError;

/// The reason why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// An error in this file.
    #[error("{}: {why}", path.display())]
    In { path: PathBuf, why: Box<Self> },
    /// The file is not TOML, or has an unknown key or an invalid value. Contains the line.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    #[error("unsigned_tier: at most 3, because tier 4 can only be answered at a terminal")]
    UnsignedTier,
    #[error("certificate and key must be set together, each to a PEM file")]
    HalfACertificate,
    #[error("certificate, behind_proxy: either the gateway or a proxy in front of it does TLS; set only one of them")]
    TlsTwice,
    /// The address would accept unencrypted connections from other machines.
    #[error(
        "{0} is reachable from other machines, which requires TLS: set certificate and key, or use a TLS proxy and \
         set behind_proxy = true, or listen on 127.0.0.1"
    )]
    Plain(SocketAddr),
    /// The same error for an address in the file.
    #[error("listen: {0}")]
    Listen(Box<Self>),
    #[error("channel: invalid name {0:?}: use only letters, digits and dashes")]
    ChannelName(String),
    #[error("channel: duplicate name {0}")]
    SameName(String),
    /// A callback's URL is not acceptable.
    #[error("callback {name}: {why}")]
    Callback { name: String, why: AddressError },
    #[error("route: no channel {0}")]
    NoChannel(String),
    /// The log levels are invalid.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// An invalid field of a channel or a route. The error of the configuration contains the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// A channel has no name.
    NoName,
    /// A channel has an unknown field, or lacks a required one.
    Channel {
        name: String,
        why: toml::de::Error,
    },
    Day(String),
    Hours(String),
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => f.write_str("a channel needs a name"),
            Self::Channel { name, why } => write!(f, "channel {name}: {why}"),
            Self::Day(text) => write!(f, "invalid day {text}: expected mon, tue, wed, thu, fri, sat or sun"),
            Self::Hours(text) => write!(f, "invalid hours {text}: expected a range such as 09:00-17:00"),
        }
    }
}

/// The reason why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{} is readable by others; run chmod 600 on it", .0.display())]
    ReadableByOthers(PathBuf),
    #[error("the command for the secret is empty")]
    NoCommand,
    /// The command cannot be started.
    #[error("{program}: {error}")]
    Program { program: String, error: io::Error },
    #[error("{program} failed ({status}) and printed no secret")]
    Failed { program: String, status: ExitStatus },
    /// The command took too long and was killed with its children.
    #[error("{program} printed no secret within {seconds} s")]
    TookTooLong { program: String, seconds: u64 },
    #[error("{0} printed more than one line; it must print only the secret")]
    TooLong(String),
    #[error("the output of {0} is not text")]
    NoText(String),
    #[error("the secret is empty")]
    Empty,
    /// The keyring does not have it.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
}
