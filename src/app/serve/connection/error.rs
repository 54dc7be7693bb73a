//! The reasons why the service refuses a request of a connection. The client gets the text as [`Reply::Error`].
//!
//! [`Reply::Error`]: crate::service::message::Reply::Error

use std::io;

use super::super::error::RecordLimit;
use super::gateway::{MAX_NAME, MAX_WORDS};
use crate::app::approver::sign::NoSignature;
use crate::judge::policy::Refusal;
use crate::service::message::VERSION;
use crate::store::StoreError;

/// The reason why the service refuses a request.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Limit(#[from] RecordLimit),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The record or the queue was opened, but the connection could not keep it.
    #[error("cannot use the record")]
    NotOpen,
    #[error("guard and its service have different versions ({theirs} and {VERSION}); restart the service")]
    Version { theirs: u32 },
    #[error("invalid request: {0}")]
    Unreadable(serde_json::Error),
    #[error("invalid request")]
    Invalid,
    /// A request for another part of the connection, which should not arrive here.
    #[error("unexpected request")]
    Unexpected,
    #[error("invalid directory in the request")]
    Directory,
    #[error("invalid command in the request")]
    Command,
    #[error("the command is not in the format of this version")]
    Format,
    #[error("cannot identify the process")]
    NoProcess,
    #[error("this account has no request {0}")]
    NotOwn(String),
    #[error("no request {0}")]
    NoRequest(String),
    #[error("another process already waits for {0}")]
    WaitedFor(String),
    #[error("{0} is not the gateway's account in /etc/guard/config.toml")]
    NotGateway(String),
    #[error("{0} is the gateway's account, which can only list requests and pass on answers")]
    GatewayOnly(String),
    #[error("the name in an answer has at most {MAX_NAME} characters, and the reason at most {MAX_WORDS}")]
    TooLong,
    #[error("{user} may not {what}; only the approvers in /etc/guard/config.toml may")]
    NotApprover { user: String, what: &'static str },
    /// No person can be at the terminal of the process. Holds the reason.
    #[error("{0}")]
    NoPerson(String),
    #[error("an account cannot answer its own request; another approver must answer")]
    OwnRequest,
    #[error("a session cannot answer its own request; answer from another terminal")]
    OwnSession,
    #[error("this process and the requesting command have the same parent process")]
    SameParent,
    #[error("this process runs below a guard process that waits for its command")]
    BelowWaiter,
    #[error("an account cannot add grants for itself")]
    OwnGrant,
    #[error("an account cannot resume its own sessions")]
    OwnResume,
    #[error("the record does not contain that answer ({how})")]
    NoSuchAnswer { how: &'static str },
    #[error("row {0} does not belong to this process")]
    OtherRow(i64),
    #[error("{}", unsigned(.0))]
    Unsigned(#[from] NoSignature),
    /// An answer from a client that may not give it. The attempt is recorded.
    #[error("{}", attempt(.0))]
    Attempt(Box<AskError>),
}

fn unsigned(why: &NoSignature) -> Refusal {
    Refusal::Unsigned { why: why.to_string() }
}

fn attempt(why: &AskError) -> Refusal {
    Refusal::Attempt { why: why.to_string() }
}
