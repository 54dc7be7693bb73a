//! Reloads the configuration for a program that has just changed it, such as `guard channel add`.
//!
//! Out of scope: the reading itself ([`crate::serve`]).

use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::App;
use super::access::{Caller, Peer};
use super::problem::Problem;

/// The sender of the result: what was reloaded, or the reason why nothing changed.
pub type ReloadReply = oneshot::Sender<Result<String, String>>;

/// Reloads the configuration, as SIGHUP does. Only over the Unix socket, for the gateway's account and root.
#[utoipa::path(post, path = "/v1/reload", responses(
    (status = 200, description = "`told`: what was read, and what of it takes effect after a restart"),
    (status = 400, body = Problem), (status = 401, body = Problem), (status = 403, body = Problem)))]
pub async fn reload(
    State(app): State<Arc<App>>,
    _: Caller,
    ConnectInfo(peer): ConnectInfo<Peer>,
) -> Result<Json<Value>, Problem> {
    // Both accounts could send the signal as well.
    if !matches!(peer, Peer::Account(uid) if uid == app.account.uid || uid == 0) {
        return Err(Problem::new("forbidden", "only the gateway's account and root may do this, over the socket"));
    }
    let (say, told) = oneshot::channel();
    let closed = || Problem::failed("the gateway is ending");
    app.reloads.send(say).await.map_err(|_| closed())?;
    match told.await.map_err(|_| closed())? {
        Ok(told) => Ok(Json(json!({ "told": told }))),
        Err(why) => Err(Problem::new("bad-request", why)),
    }
}
