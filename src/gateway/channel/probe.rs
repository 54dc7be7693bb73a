//! Tests a channel without a person: sends a message, edits it, and checks whether answers could be received without
//! receiving any.
//!
//! Out of scope: cards of requests, and anything that counts as an answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::buttons::ApproverNonce;
use super::{Card, Channel, ChannelStatus, SendError, open};
use crate::config::ChannelConfig;

/// The time that a person has to press a button of a test card.
pub const TAP: Duration = Duration::from_secs(120);

/// The text of a message that needs no answer.
const NOTICE: &str = "Test message of guard doctor, no answer needed.";

/// The result of a probe, as a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeStatus {
    Ok,
    /// The messenger asks to wait before the next message.
    Later,
    Broken,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeResult {
    pub channel: String,
    /// The kind of messenger.
    pub kind: String,
    #[serde(rename = "how")]
    pub status: ProbeStatus,
    /// A description of what was delivered, or the error, without secrets.
    #[serde(rename = "says")]
    pub message: String,
}

/// The process that receives the answers of a channel.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// No gateway runs, so the probe may open a connection.
    Nobody,
    /// A gateway runs, with this status of its connection, or `None` if it has not reported one yet.
    Gateway(Option<ChannelStatus>),
}

/// Tests one channel. `accept` is the time limit for each message.
pub async fn probe(config: &ChannelConfig, accept: Duration, receiver: Receiver) -> ProbeResult {
    let done = match open(config) {
        Ok(channel) => round_trip(&*channel, accept, receiver).await,
        Err(why) => Err(SendError::Rejected(why.to_string())),
    };
    let (status, message) = match done {
        Ok(says) => (ProbeStatus::Ok, says),
        Err(failed @ SendError::RateLimited(_)) => (ProbeStatus::Later, failed.to_string()),
        Err(SendError::Unavailable(why) | SendError::Rejected(why)) => (ProbeStatus::Broken, why),
    };
    ProbeResult { channel: config.name.clone(), kind: config.kind.name().to_owned(), status, message }
}

async fn round_trip(channel: &dyn Channel, accept: Duration, receiver: Receiver) -> Result<String, SendError> {
    let alone = matches!(receiver, Receiver::Nobody);
    let Some(receives) = channel.receives(alone) else {
        in_time(accept, "the test message was rejected", channel.send_notice(NOTICE)).await?;
        return Ok("the test message was sent; answers cannot come back this way".to_owned());
    };
    let card = test_card("guard doctor");
    // The nonces are not stored, so a press of these buttons has no effect.
    let own = ApproverNonce::of_all(channel.approvers()).map_err(|why| SendError::Rejected(why.to_string()))?;
    let message = in_time(accept, "the test message was rejected", channel.send(&card, &own)).await?;
    let closing = channel.close(&message, &card, "Test of guard doctor finished, no answer needed");
    in_time(accept, "the test message was sent, but could not be changed afterwards", closing).await?;
    let deaf = "the test message was sent, but answers would not be received";
    in_time(accept, deaf, receives).await?;
    match receiver {
        Receiver::Nobody => Ok("the test message was sent and changed, and answers can be received".to_owned()),
        Receiver::Gateway(Some(ChannelStatus::Up)) => {
            Ok("the test message was sent and changed, and the gateway receives answers".to_owned())
        }
        Receiver::Gateway(Some(ChannelStatus::Down { why })) => Err(SendError::Rejected(format!("{deaf}: {why}"))),
        Receiver::Gateway(None) => Err(SendError::Rejected(format!("{deaf}: the gateway is not connected"))),
    }
}

async fn in_time<T>(
    accept: Duration,
    what: &str,
    doing: impl Future<Output = Result<T, SendError>>,
) -> Result<T, SendError> {
    match tokio::time::timeout(accept, doing).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(SendError::Unavailable(why) | SendError::Rejected(why))) => {
            Err(SendError::Rejected(format!("{what}: {why}")))
        }
        Ok(Err(later @ SendError::RateLimited(_))) => Err(later),
        Err(_) => Err(SendError::Rejected(format!("{what}: no answer within {} s", accept.as_secs()))),
    }
}

/// Returns a card without a request.
#[must_use]
pub fn test_card(who: &str) -> Card {
    Card {
        request: "test".to_owned(),
        command: "echo 'a test of guard'".to_owned(),
        cwd: "/".to_owned(),
        why: "Nothing runs, whatever you press.".to_owned(),
        tier_name: "test".to_owned(),
        score: "0.0".to_owned(),
        who: who.to_owned(),
        ..Card::default()
    }
}
