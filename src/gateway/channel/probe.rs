//! A channel tried without a person: a message goes out and comes back changed, and whether answers would be heard is
//! found out without hearing any.
//!
//! Out of scope: a card of a request, and anything that counts as an answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::buttons::ApproverNonce;
use super::{Card, Channel, ChannelStatus, SendError, open};
use crate::config::ChannelConfig;

/// How long a person has to press a button of a test card.
pub const TAP: Duration = Duration::from_secs(120);

/// What is said where a message wants no answer.
const NOTICE: &str = "Test message of guard doctor, no answer needed.";

/// The result of a probe, as a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeStatus {
    Ok,
    /// The messenger wants to be left alone for a while.
    Later,
    Broken,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeResult {
    pub channel: String,
    /// Which messenger it is.
    pub kind: String,
    #[serde(rename = "how")]
    pub status: ProbeStatus,
    /// What was delivered, or why it was not, without any secret.
    #[serde(rename = "says")]
    pub message: String,
}

/// Which process receives the answers of a channel.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// No gateway runs that would hold it: it may be opened for the probe.
    Nobody,
    /// A gateway runs, and this is how its connection is; `None`: it has said nothing of it yet.
    Gateway(Option<ChannelStatus>),
}

/// Tries one channel. `accept` is how long it may take for each message.
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
    // Nonces that are kept nowhere: whoever is quick enough to press a button presses one of nobody's.
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

/// A card of no request.
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
