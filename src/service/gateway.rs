//! The requests of the gateway, which shows waiting commands to people on other devices and passes their answers on.
//!
//! Out of scope: verifying who approved. The gateway sends a name; the service trusts only signatures.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::Signed;
use crate::store::queue::PendingMessage;

/// A request of the gateway.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GatewayRequest {
    /// Send a byte whenever something happens to any request. This must be the last request of a connection.
    Watch,
    /// List the requests of all accounts that follow this one, oldest first: a [`RequestPage`].
    List { after: Option<(Timestamp, String)> },
    /// Return the message that an approver signs for an approval of this scope, or nothing if the request can no
    /// longer be approved.
    Approval { shown: Box<PendingMessage>, scope: AnswerScope },
    /// Record a person's answer. Returns the outcome.
    Answer(Box<GatewayAnswer>),
    /// Record that somebody without permission tried to answer.
    Attempt { why: String },
}

/// A page of the list of requests.
#[derive(Debug, Serialize, Deserialize)]
pub struct RequestPage {
    pub requests: Vec<PendingMessage>,
    /// Whether more follow.
    pub more: bool,
}

/// An answer that a person gave through the gateway.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayAnswer {
    /// The request as it was shown.
    pub shown: PendingMessage,
    pub yes: bool,
    /// The name of the person, according to the gateway.
    pub by: String,
    pub words: Option<String>,
    /// An approver's signature over the message of [`GatewayRequest::Approval`].
    pub signed: Option<Signed>,
    /// The scope of an approval.
    pub scope: AnswerScope,
}
