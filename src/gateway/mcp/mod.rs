//! `guard-gateway mcp`: an MCP server that is reached over HTTP, spoken to over standard input and output.
//!
//! `guard mcp --http` starts it in the place of a server's program, and judges each call before it comes here: guard itself
//! speaks no HTTP. Messages pass as they are, one a line; what HTTP adds to them (the session, the protocol's version,
//! streams that break off and go on) stays here; [`front`] is the same the other way round. Out of scope: judging, and what messages mean beyond whom they
//! answer.

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

/// How many messages wait to be sent or printed at once.
const MOST: usize = 64;

/// How long answers are waited for when nobody asks anything any more.
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

/// Why no messages are carried, or why one of them has no answer.
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
    /// Why a stream is not to be had again.
    #[error("{0}")]
    NoStream(String),
    #[error("the server's answer is longer than {0} KiB")]
    TooLong(usize),
    /// Standard output.
    #[error("printing failed")]
    Printing,
    /// The runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Carries messages to and fro until standard input ends.
///
/// # Errors
/// The address or a header is none, or the system's certificates cannot be used.
pub fn run(args: &McpArgs) -> Result<u8, McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (out, mut said) = mpsc::channel::<Vec<u8>>(MOST);
    let remote = Remote::new(&args.url, &args.header, |name| std::env::var(name).ok(), out)?;
    let printing = std::thread::spawn(move || {
        let mut stdout = std::io::stdout().lock();
        while let Some(line) = said.blocking_recv() {
            // Whoever reads it has gone: so does this.
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
    // What still listens goes with it, and the last lines are printed.
    drop(runtime);
    printing.join().map_err(|_| McpError::Printing)?;
    Ok(0)
}

/// Sends what comes. What asks for nothing is sent in its turn; requests are waited for beside one another.
async fn carry(remote: Arc<Remote>, mut lines: mpsc::Receiver<Vec<u8>>) {
    let mut running = JoinSet::new();
    let mut listening = JoinSet::new();
    // What runs in a version without a session, by the id of its request: there, to take one back is to hang up.
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
    // Whoever has not answered by then is heard by nobody.
    let _ = tokio::time::timeout(FAREWELL, all).await;
    remote.leave().await;
}
