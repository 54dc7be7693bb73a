//! The one HTTP client: for messengers, webhooks and, later, models.
//!
//! Out of scope: whom it speaks to.

use std::time::Duration;

use serde_json::Value;

use super::SendError;

/// How long anything may take that is not told otherwise.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer that is read.
const LONGEST: usize = 4 << 20;

/// A client that follows no redirects.
///
/// # Errors
/// The system's certificates cannot be used.
pub fn client() -> Result<reqwest::Client, HttpError> {
    builder().timeout(PATIENCE).build().map_err(HttpError::from)
}

/// The same for answers that may take as long as they like, as streams do.
///
/// # Errors
/// The system's certificates cannot be used.
pub fn lasting_client() -> Result<reqwest::Client, HttpError> {
    builder().build().map_err(HttpError::from)
}

/// The same for this machine, which no proxy of the environment stands before.
///
/// # Errors
/// The system's certificates cannot be used.
pub fn direct_client() -> Result<reqwest::Client, HttpError> {
    builder().no_proxy().timeout(PATIENCE).build().map_err(HttpError::from)
}

fn builder() -> reqwest::ClientBuilder {
    // The first one stays; that another was there already is no error.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(PATIENCE)
        .user_agent(concat!("guard-gateway/", env!("CARGO_PKG_VERSION")))
}

/// What is wrong with a request, without its address, which may hold a secret.
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

/// The status and the body of an answer, which is JSON or nothing.
///
/// # Errors
/// There is none, or it is too long.
pub async fn answer(response: Result<reqwest::Response, reqwest::Error>) -> Result<(u16, Value), SendError> {
    told(response).await.map(|(status, _, value)| (status, value))
}

/// The same, and after how long it may be tried again, where the answer says so.
///
/// # Errors
/// There is none, or it is too long.
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
