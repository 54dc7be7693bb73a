//! What the gateway asks the service, which carries requests to people elsewhere and their answers back.
//!
//! Out of scope: who said yes. The gateway says who did; what the service believes is a signature.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::Signed;
use crate::store::queue::PendingMessage;

/// A question of the gateway's.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GatewayRequest {
    /// Send a byte whenever anything happens to any request. The last thing that is said on a connection.
    Watch,
    /// The requests of all accounts, the oldest first, from behind this one on: a [`RequestPage`].
    List { after: Option<(Timestamp, String)> },
    /// What an approver signs for a yes that reaches so far; nothing where a yes is not taken any more.
    Approval { shown: Box<PendingMessage>, scope: AnswerScope },
    /// A person's answer: what became of it.
    Answer(Box<GatewayAnswer>),
    /// Write down that somebody tried to answer who may not.
    Attempt { why: String },
}

/// A page of the list of requests: as many as go into one line.
#[derive(Debug, Serialize, Deserialize)]
pub struct RequestPage {
    pub requests: Vec<PendingMessage>,
    /// There are more behind the last one.
    pub more: bool,
}

/// An answer that a person elsewhere gave.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayAnswer {
    /// The request as it was shown.
    pub shown: PendingMessage,
    pub yes: bool,
    /// Who, as the gateway says.
    pub by: String,
    pub words: Option<String>,
    /// The signature of an approver over what [`GatewayRequest::Approval`] told.
    pub signed: Option<Signed>,
    /// How far a yes reaches.
    pub scope: AnswerScope,
}
