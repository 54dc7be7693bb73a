//! A client for a running gateway, over its Unix socket.
//!
//! Out of scope: the meaning of requests and responses.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The maximum number of bytes read of a response.
const LONGEST: u64 = 1 << 20;

/// The time limit of a request that the gateway answers at once.
const SOON: Duration = Duration::from_secs(5);

/// The reason why there is no successful response.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no answer in time")]
    Late,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("invalid answer")]
    Invalid,
    /// The gateway's error message.
    #[error("{0}")]
    Refused(String),
}

/// Sends a GET request.
///
/// # Errors
/// Returns an error if there is no response, or if its status is not 200.
pub async fn get(socket: &Path, path: &str) -> Result<Value, ClientError> {
    send(socket, &format!("GET {path} HTTP/1.1\r\n"), "", SOON).await
}

/// Sends a POST request with a JSON body and this time limit.
///
/// # Errors
/// Returns an error if there is no response, or if its status is not 200.
pub async fn post(socket: &Path, path: &str, body: &Value, timeout: Duration) -> Result<Value, ClientError> {
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    send(socket, &head, &body, timeout).await
}

async fn send(socket: &Path, head: &str, body: &str, timeout: Duration) -> Result<Value, ClientError> {
    let exchange = async {
        let mut stream = tokio::net::UnixStream::connect(socket).await?;
        let request = format!("{head}Host: localhost\r\nConnection: close\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.take(LONGEST).read_to_string(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = tokio::time::timeout(timeout, exchange).await.map_err(|_| ClientError::Late)??;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(ClientError::Invalid)?;
    let value: Value = serde_json::from_str(body.trim()).unwrap_or_default();
    if head.starts_with("HTTP/1.1 200") {
        return Ok(value);
    }
    let first = head.lines().next().unwrap_or_default();
    Err(ClientError::Refused(value["detail"].as_str().unwrap_or(first).to_owned()))
}
