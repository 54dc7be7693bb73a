//! Callbacks: posts the outcome of a submitted command to its submitter, signed as specified by Standard Webhooks, and
//! retries a limited number of times.
//!
//! The URLs come from the configuration and never from a submission: the gateway posts only to addresses that its owner
//! configured. Out of scope: answers.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::App;
use crate::backend::BackendError;
use crate::channel::{AddressError, SharedSecretError, http, webhook};
use crate::config::{Callback, SecretError};

/// The wait before each attempt, in seconds.
const TRIES: [u64; 5] = [0, 5, 30, 120, 600];

/// The reason why a callback was not delivered.
#[derive(Debug, thiserror::Error)]
enum CallbackError {
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error("gateway.toml has no [[callback]] named {0}")]
    Unknown(String),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    SharedSecret(#[from] SharedSecretError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Http(#[from] http::HttpError),
    #[error("gave up after {tries} attempts: {last}")]
    GaveUp { tries: usize, last: String },
}

/// Starts a background task that posts the outcome of a command, if it has a callback that is still due.
pub fn tell(app: &Arc<App>, action: String) {
    let app = app.clone();
    tokio::spawn(async move {
        if let Err(why) = told(&app, &action).await {
            tracing::warn!("callback of {action}: {why}");
        }
    });
}

async fn told(app: &App, action: &str) -> Result<(), CallbackError> {
    let name = action.to_owned();
    let submission = app.backend.run(move |backend| backend.memory().submission(&name)).await??;
    let Some(submission) = submission else { return Ok(()) };
    let (Some(wanted), Some(result)) = (submission.callback, submission.result) else { return Ok(()) };
    let config = app.config();
    let callback = config.callback.iter().find(|known| known.name == wanted);
    let callback = callback.ok_or(CallbackError::Unknown(wanted))?;
    let result: Value = serde_json::from_str(&result)?;
    // The one-time token is only for the client that polls with its own token, so it is left out.
    let mut data = json!({ "action_id": action });
    for part in ["decision", "settled_by", "by", "reason", "digest"] {
        if !result[part].is_null() {
            data[part] = result[part].clone();
        }
    }
    let body = json!({ "type": "request.ended", "data": data }).to_string();
    let done = post(callback, action, &body).await;
    let name = action.to_owned();
    app.backend.run(move |backend| backend.memory().called_back(&name)).await??;
    done
}

/// Posts the message until it is accepted. Every attempt has the same ID, so that the receiver can recognize a
/// duplicate.
async fn post(callback: &Callback, action: &str, body: &str) -> Result<(), CallbackError> {
    let secret = webhook::secret(&callback.secret.read()?)?;
    webhook::check_url(&callback.url)?;
    let client = http::client()?;
    let id = format!("msg_{action}");
    let mut last = String::new();
    for wait in TRIES {
        tokio::time::sleep(Duration::from_secs(wait)).await;
        let at = Timestamp::now().as_second().to_string();
        let request = client.post(&callback.url).header("content-type", "application/json");
        let request = request.header("webhook-id", &id).header("webhook-timestamp", &at);
        let request = request.header("webhook-signature", webhook::sign(&secret, &id, &at, body));
        match http::answer(request.body(body.to_owned()).send().await).await {
            Ok((200..=299, _)) => return Ok(()),
            Ok((status, _)) => last = format!("{} answered {status}", callback.name),
            Err(failed) => last = failed.to_string(),
        }
    }
    Err(CallbackError::GaveUp { tries: TRIES.len(), last })
}
