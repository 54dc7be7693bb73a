//! The HTTP clients for messengers, webhooks and models.
//!
//! Out of scope: which servers they connect to.

use std::time::Duration;

use serde_json::Value;

use super::SendError;

/// The default timeout.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum length of a response body, in bytes.
const LONGEST: usize = 4 << 20;

/// Creates a client that follows no redirects.
///
/// # Errors
/// Returns an error if the system's certificates cannot be used.
pub fn client() -> Result<reqwest::Client, HttpError> {
    builder().timeout(PATIENCE).build().map_err(HttpError::from)
}

/// Creates a client without a timeout, for streams.
///
/// # Errors
/// Returns an error if the system's certificates cannot be used.
pub fn lasting_client() -> Result<reqwest::Client, HttpError> {
    builder().build().map_err(HttpError::from)
}

/// Creates a client for this machine, which ignores proxies of the environment.
///
/// # Errors
/// Returns an error if the system's certificates cannot be used.
pub fn direct_client() -> Result<reqwest::Client, HttpError> {
    builder().no_proxy().timeout(PATIENCE).build().map_err(HttpError::from)
}

fn builder() -> reqwest::ClientBuilder {
    // It is not an error if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(PATIENCE)
        .user_agent(concat!("guard-gateway/", env!("CARGO_PKG_VERSION")))
}

/// The reason why a request failed, without its URL, which may contain a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("no answer in time")]
    Late,
    #[error("no connection")]
    NoConnection,
    #[error("the answer is incomplete or invalid")]
    Invalid,
    #[error("the request failed")]
    Failed,
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() {
            Self::Late
        } else if error.is_connect() {
            Self::NoConnection
        } else if error.is_decode() || error.is_body() {
            Self::Invalid
        } else {
            Self::Failed
        }
    }
}

/// Returns the status and the body of a response. A body that is not JSON is null.
///
/// # Errors
/// Returns an error if there is no response, or if it is too long.
pub async fn answer(response: Result<reqwest::Response, reqwest::Error>) -> Result<(u16, Value), SendError> {
    told(response).await.map(|(status, _, value)| (status, value))
}

/// Like [`answer`], and also returns the time to wait before the next request, if the response has a `Retry-After`
/// header.
///
/// # Errors
/// Returns an error if there is no response, or if it is too long.
pub async fn told(
    response: Result<reqwest::Response, reqwest::Error>,
) -> Result<(u16, Option<Duration>, Value), SendError> {
    let broken = |error: reqwest::Error| SendError::Unavailable(HttpError::from(error).to_string());
    let mut response = response.map_err(broken)?;
    let status = response.status().as_u16();
    let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let wait = wait.map(|seconds: u64| Duration::from_secs(seconds.min(3600)));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return Err(SendError::Rejected("the answer is too long".to_owned()));
        }
    }
    Ok((status, wait, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}
