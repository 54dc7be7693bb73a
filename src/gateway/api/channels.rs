//! Trying the channels as they are connected now, for `guard doctor`.
//!
//! What may not enter: how a channel is tried ([`crate::channel::probe`]).

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
use crate::channel::Status;
use crate::channel::probe::{Ear, How, Tried, try_out};
use crate::config::ChannelConfig;
use crate::routing::note;

/// How long a channel that is about to connect is waited for.
const CONNECTING: Duration = Duration::from_secs(5);

/// Which channels.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Which {
    /// Their names; none: all.
    channels: Vec<String>,
}

/// Sends a test message through each channel, and says what became of it. Nothing of it can be answered.
#[utoipa::path(post, path = "/v1/channels/test", request_body = Which, responses(
    (status = 200, description = "`tried`: for each channel `how` (ok, later, broken) and what was delivered"),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn test(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(Which { channels }): Json<Which>,
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
    let mut all: Vec<(usize, Tried)> = probes.join_all().await;
    all.sort_by_key(|(at, _)| *at);
    let tried: Vec<Tried> = all.into_iter().map(|(_, tried)| tried).collect();
    Ok(Json(json!({ "tried": tried })))
}

async fn tried(app: &App, one: &ChannelConfig, accept: Duration) -> Tried {
    // Whoever may look must not be able to ring a phone all day.
    if let Err(wait) = locked(&app.limits).test.take(one.name.clone(), Instant::now()) {
        let says = format!("too many tests; try again in {} s", wait.as_secs().max(1));
        return Tried { channel: one.name.clone(), kind: one.kind.name().to_owned(), how: How::Later, says };
    }
    let until = tokio::time::Instant::now() + CONNECTING;
    let status = loop {
        let status: Option<Status> = locked(&app.channels).get(&one.name).and_then(|health| health.hears.clone());
        if status.is_some() || !one.kind.is_heard() || tokio::time::Instant::now() >= until {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let tried = try_out(one, accept, Ear::Gateway(status)).await;
    if matches!(tried.how, How::Ok) {
        note(app, &one.name, |health| health.sends = Some(Status::Up));
    }
    tried
}
