//! `guard-gateway mcp`: connects standard input and output to an MCP server that is reached over HTTP.
//!
//! `guard mcp --http` starts it instead of a server's program and judges each call before it arrives here, because
//! guard itself does not use HTTP. Messages are passed unchanged, one per line. What HTTP adds to them (the session,
//! the protocol version, streams that break off and resume) is handled here; [`front`] does the same in the other
//! direction. Out of scope: judging, and the meaning of messages beyond whom they answer.

mod custom_headers;
mod events;
pub mod front;
mod message;
mod remote;

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use self::custom_headers::HeaderError;
use self::events::EventTooLong;
use self::message::MessageInfo;
use self::remote::Remote;
use crate::channel::http::HttpError;

/// The maximum number of messages that are queued to be sent or printed.
const MOST: usize = 64;

/// The time to wait for outstanding responses after the input has ended.
const FAREWELL: Duration = Duration::from_secs(10);

/// The arguments of `guard-gateway mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// The URL of the server
    url: String,
    /// A header for every request, as NAME: VALUE; ${NAME} is replaced by the environment variable
    #[arg(long, value_name = "HEADER")]
    header: Vec<String>,
}

/// The reason why no messages are transferred, or why a request has no response.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("invalid URL {url}: {why}")]
    Url { url: String, why: String },
    #[error("invalid URL {0}: expected https://, or http:// for this machine")]
    Plain(String),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Events(#[from] EventTooLong),
    #[error("the server's answer broke off")]
    BrokeOff,
    #[error("the server's answer ended early and was not continued")]
    NotContinued,
    /// The reason why a stream cannot be requested again.
    #[error("{0}")]
    NoStream(String),
    #[error("the server's answer is longer than {0} KiB")]
    TooLong(usize),
    /// An error of standard output.
    #[error("printing failed")]
    Printing,
    /// An error of the runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Transfers messages in both directions until standard input ends.
///
/// # Errors
/// The URL or a header is invalid, or the system's certificates cannot be used.
pub fn run(args: &McpArgs) -> Result<u8, McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (out, mut said) = mpsc::channel::<Vec<u8>>(MOST);
    let remote = Remote::new(&args.url, &args.header, |name| std::env::var(name).ok(), out)?;
    let printing = std::thread::spawn(move || {
        let mut stdout = std::io::stdout().lock();
        while let Some(line) = said.blocking_recv() {
            // The reader has closed the pipe, so this process ends too.
            if stdout.write_all(&line).and_then(|()| stdout.flush()).is_err() {
                std::process::exit(1);
            }
        }
    });
    let (heard, lines) = mpsc::channel::<Vec<u8>>(MOST);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match stdin.read_until(b'\n', &mut line) {
                Ok(length) if length > 0 && heard.blocking_send(line).is_ok() => {}
                _ => return,
            }
        }
    });
    runtime.block_on(carry(Arc::new(remote), lines));
    // Dropping the runtime ends the listening task, so that the thread can print the last lines and end.
    drop(runtime);
    printing.join().map_err(|_| McpError::Printing)?;
    Ok(0)
}

/// Sends the messages that come in. `initialize` and messages that expect no response are sent in order; other requests
/// run concurrently.
async fn carry(remote: Arc<Remote>, mut lines: mpsc::Receiver<Vec<u8>>) {
    let mut running = JoinSet::new();
    let mut listening = JoinSet::new();
    // The running requests by ID, in protocol versions without sessions: there, a request is cancelled by closing its
    // connection.
    let mut abortable: HashMap<String, AbortHandle> = HashMap::new();
    let mut has_session = true;
    while let Some(line) = lines.recv().await {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let asks = MessageInfo::of(&line);
        let is_ready = asks.is_initialized;
        has_session = asks.repeats.is_none() && (has_session || asks.is_initialize);
        if let Some(id) = asks.cancels.as_ref()
            && !has_session
        {
            if let Some(running) = abortable.remove(&id.to_string()) {
                running.abort();
            }
            continue;
        }
        abortable.retain(|_, running| !running.is_finished());
        if asks.ids.is_empty() || asks.is_initialize {
            remote.send(line, asks).await;
        } else {
            let remote = Arc::clone(&remote);
            let ids = if asks.repeats.is_some() { asks.ids.clone() } else { Vec::new() };
            let handle = running.spawn(async move { remote.send(line, asks).await });
            abortable.extend(ids.iter().map(|id| (id.to_string(), handle.clone())));
        }
        if is_ready && listening.is_empty() {
            let remote = Arc::clone(&remote);
            listening.spawn(async move { remote.listen().await });
        }
        while running.try_join_next().is_some() {}
    }
    let all = async { while running.join_next().await.is_some() {} };
    // Responses that are later than this would not be read.
    let _ = tokio::time::timeout(FAREWELL, all).await;
    remote.leave().await;
}
