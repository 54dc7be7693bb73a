//! Manages the devices that receive push notifications when a command waits.
//!
//! Out of scope: the content of notifications ([`crate::push`]).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::App;
use super::access::Caller;
use super::problem::Problem;
use crate::backend::Scope;
use crate::push::{Subscription, Vapid};

/// Returns the public key that a browser subscribes with.
#[utoipa::path(get, path = "/v1/push", responses((status = 200, description = "`key`, in base64url"),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn key(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may_for_all(Scope::Read)?;
    let bytes = app.backend.run(|backend| backend.memory().vapid()).await??;
    Ok(Json(json!({ "key": Vapid::read(&bytes).map_err(Problem::failed)?.public() })))
}

/// Subscribes a device to notifications about pending requests, until it unsubscribes or its token is revoked.
#[utoipa::path(post, path = "/v1/push", request_body = Subscription, responses(
    (status = 204, description = "the device is subscribed"), (status = 400, body = Problem),
    (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn subscribe(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(device): Json<Subscription>,
) -> Result<StatusCode, Problem> {
    caller.may_for_all(Scope::Read)?;
    device.check(&app.config().push_hosts).map_err(|why| Problem::new("bad-request", why.to_string()))?;
    let kept = move |backend: &mut dyn crate::backend::Backend| {
        backend.memory().subscribe(&caller.name, caller.token.as_deref(), &device, Timestamp::now())
    };
    if !app.backend.run(kept).await?? {
        return Err(Problem::new("bad-request", "too many devices for this name; remove one"));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The device to unsubscribe.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    endpoint: String,
}

/// Unsubscribes a device.
#[utoipa::path(post, path = "/v1/push/remove", request_body = Device, responses(
    (status = 204, description = "the device is unsubscribed"), (status = 401, body = Problem),
    (status = 403, body = Problem), (status = 404, body = Problem)))]
pub async fn unsubscribe(
    State(app): State<Arc<App>>,
    caller: Caller,
    Json(Device { endpoint }): Json<Device>,
) -> Result<StatusCode, Problem> {
    caller.may_for_all(Scope::Read)?;
    let gone = app.backend.run(move |backend| backend.memory().unsubscribe(Some(&caller.name), &endpoint)).await??;
    if gone { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::new("not-found", "you have no such device")) }
}
