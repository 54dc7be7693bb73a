//! Tests the channels as they are connected now, for `guard doctor` and `guard channel test`.
//!
//! Out of scope: how a channel is tested ([`crate::channel::probe`]), and who pressed a button ([`crate::test_cards`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::access::Caller;
use super::problem::Problem;
use super::{App, locked};
use crate::backend::Scope;
use crate::channel::buttons::ApproverNonce;
use crate::channel::probe::{ProbeResult, ProbeStatus, Receiver, TAP, probe, test_card};
use crate::channel::{ChannelStatus, SendError};
use crate::config::ChannelConfig;
use crate::routing::note;

/// The time to wait for a channel that is still connecting.
const CONNECTING: Duration = Duration::from_secs(5);

/// The channels to test.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelsBody {
    /// The names of the channels; empty for all channels
    channels: Vec<String>,
}

/// Sends a test message through each channel and returns the results. The messages cannot be answered.
#[utoipa::path(post, path = "/v1/channels/test", request_body = ChannelsBody, responses(
    (status = 200, description = "`tried`: for each channel `how` (ok, later, broken) and what was delivered"),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn test(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(ChannelsBody { channels }): Json<ChannelsBody>,
) -> Result<Json<Value>, Problem> {
    caller.may_for_all(Scope::Read)?;
    let config = app.config();
    let mut probes = tokio::task::JoinSet::new();
    let wanted = |one: &&ChannelConfig| channels.is_empty() || channels.contains(&one.name);
    for (at, one) in config.channel.iter().enumerate().filter(|(_, one)| wanted(one)) {
        let (app, one) = (app.clone(), one.clone());
        let accept = config.accept();
        probes.spawn(async move { (at, tried(&app, &one, accept).await) });
    }
    let mut all: Vec<(usize, ProbeResult)> = probes.join_all().await;
    all.sort_by_key(|(at, _)| *at);
    let tried: Vec<ProbeResult> = all.into_iter().map(|(_, tried)| tried).collect();
    Ok(Json(json!({ "tried": tried })))
}

async fn tried(app: &App, one: &ChannelConfig, accept: Duration) -> ProbeResult {
    // A caller with read access must not be able to send an unlimited number of notifications to a phone.
    if let Err(wait) = locked(&app.limits).test.take(one.name.clone(), Instant::now()) {
        let message = format!("too many tests; try again in {} s", wait.as_secs().max(1));
        return ProbeResult {
            channel: one.name.clone(),
            kind: one.kind.name().to_owned(),
            status: ProbeStatus::Later,
            message,
        };
    }
    let until = tokio::time::Instant::now() + CONNECTING;
    let status = loop {
        let status: Option<ChannelStatus> =
            locked(&app.channels).get(&one.name).and_then(|health| health.receives.clone());
        if status.is_some() || !one.kind.is_heard() || tokio::time::Instant::now() >= until {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let tried = probe(one, accept, Receiver::Gateway(status)).await;
    if matches!(tried.status, ProbeStatus::Ok) {
        note(app, &one.name, |health| health.sends = Some(ChannelStatus::Up));
    }
    tried
}

/// The channel to test.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelBody {
    /// The name of the channel
    channel: String,
}

/// Sends a test card through a channel, and waits up to two minutes until somebody presses one of its buttons.
#[utoipa::path(post, path = "/v1/channels/press", request_body = ChannelBody, responses(
    (status = 200, description = "`heard`: whether answers can come back this way; `by`: the approver who pressed, if \
                                  one did; `others`: who else pressed"),
    (status = 401, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem),
    (status = 429, body = Problem), (status = 503, body = Problem)))]
pub async fn press(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(ChannelBody { channel: name }): Json<ChannelBody>,
) -> Result<Json<Value>, Problem> {
    caller.may_for_all(Scope::Read)?;
    let config = app.config();
    let one = config.channel.iter().find(|one| one.name == name);
    let one = one.ok_or_else(|| Problem::new("not-found", format!("the running gateway has no channel {name}")))?;
    locked(&app.limits).test.take(one.name.clone(), Instant::now()).map_err(Problem::too_many)?;
    let connections = app.connections.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let connection =
        connections.get(&one.name).ok_or_else(|| Problem::failed(format!("channel {name} could not be opened")))?;
    let card = test_card("guard channel test");
    let own = ApproverNonce::of_all(connection.approvers())?;
    // The card is registered before it is sent, so that an immediate press is not lost.
    let mut test_card = app.test_cards.begin(&own);
    let sent = tokio::time::timeout(config.accept(), connection.send(&card, &own)).await;
    let sent =
        sent.unwrap_or_else(|_| Err(SendError::Rejected(format!("no answer within {} s", config.accept().as_secs()))));
    let message = sent.map_err(|why| Problem::failed(format!("channel {name}: {why}")))?;
    note(&app, &one.name, |health| health.sends = Some(ChannelStatus::Up));
    if !one.kind.is_heard() {
        return Ok(Json(json!({ "heard": false })));
    }
    let until = tokio::time::Instant::now() + TAP;
    let (mut by, mut others) = (None, Vec::new());
    while let Ok(Some(pressed)) = tokio::time::timeout_at(until, test_card.pressed.recv()).await {
        match pressed.approver {
            Some(approver) => {
                by = Some(approver);
                break;
            }
            None => others.push(pressed.from),
        }
    }
    let told = if by.is_some() { "it works" } else { "no button pressed" };
    let _ = tokio::time::timeout(config.accept(), connection.close(&message, &card, told)).await;
    Ok(Json(json!({ "heard": true, "by": by, "others": others })))
}
