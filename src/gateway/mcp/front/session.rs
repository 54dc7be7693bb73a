//! A guard process between an HTTP client and its server: passes messages to it, and delivers its messages to the
//! requests that they belong to.
//!
//! Messages are passed unchanged. Out of scope: HTTP.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::super::message::{self, MessageInfo};
use super::state::{FrontState, MOST_KEPT, OpenMessage};
use super::{TOKEN, locked};

/// The maximum number of messages that are queued for either side.
const MOST: usize = 64;

/// The time after which a client that reads none of its messages is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time that guard has to end. guard waits as long for the server.
const FAREWELL: Duration = Duration::from_secs(7);

/// A running guard process, and the receivers of its messages.
#[derive(Debug)]
pub struct Session {
    to: Mutex<Option<Sender<Vec<u8>>>>,
    state: Mutex<FrontState>,
}

/// The reason why a message is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A request with one of its IDs is pending.
    Twice,
    Ended,
}

/// The error of a guard process that cannot be started for a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot start {}: {error}", guard.display())]
    Start { guard: PathBuf, error: std::io::Error },
    #[error("cannot start {}: cannot open its pipes", .0.display())]
    NoPipes(PathBuf),
}

impl Session {
    /// Starts guard with these arguments, and reads its messages until it ends.
    ///
    /// # Errors
    /// guard cannot be started.
    pub fn start(guard: &Path, words: &[std::ffi::OsString]) -> Result<Arc<Self>, SessionError> {
        let mut command = Command::new(guard);
        // The server must not know the token that authenticates clients.
        command.args(words).env_remove(TOKEN).stdin(Stdio::piped()).stdout(Stdio::piped());
        let told = |error| SessionError::Start { guard: guard.to_owned(), error };
        let mut child = command.spawn().map_err(told)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SessionError::NoPipes(guard.to_owned()));
        };
        let (to, lines) = mpsc::channel(MOST);
        let session = Arc::new(Self { to: Mutex::new(Some(to)), state: Mutex::new(FrontState::new()) });
        tokio::spawn(write(stdin, lines));
        tokio::spawn(Arc::clone(&session).read(child, stdout));
        Ok(session)
    }

    /// Passes on a message that expects no response.
    ///
    /// # Errors
    /// guard has ended.
    pub async fn tell(&self, line: Vec<u8>) -> Result<(), Refusal> {
        self.state().used = Instant::now();
        let to = locked(&self.to).clone().ok_or(Refusal::Ended)?;
        to.send(line).await.map_err(|_| Refusal::Ended)
    }

    /// Passes on requests. Returns their number, and a stream of responses that ends when all requests are answered.
    ///
    /// # Errors
    /// See [`Refusal`]: nothing was passed on.
    pub async fn ask(&self, line: Vec<u8>, asks: MessageInfo) -> Result<(u64, Receiver<Vec<u8>>), Refusal> {
        let (out, answers) = mpsc::channel(MOST);
        let number = {
            let mut state = self.state();
            if state.has_ended {
                return Err(Refusal::Ended);
            }
            if !state.takes(&asks) {
                return Err(Refusal::Twice);
            }
            state.next += 1;
            let number = state.next;
            state.open.push(OpenMessage { number, asks, out });
            number
        };
        if let Err(refusal) = self.tell(line).await {
            self.state().open.retain(|open| open.number != number);
            return Err(refusal);
        }
        Ok((number, answers))
    }

    /// Reports whether responses to these requests could be distinguished from those to pending ones.
    pub fn takes(&self, asks: &MessageInfo) -> bool {
        let state = self.state();
        !state.has_ended && state.takes(asks)
    }

    /// Returns the IDs of the requests of this number that have no response yet.
    pub fn unanswered(&self, number: u64) -> Vec<Value> {
        let state = self.state();
        let open = state.open.iter().find(|open| open.number == number);
        open.map(|open| open.asks.ids.clone()).unwrap_or_default()
    }

    /// Removes the requests of this number, because nobody waits for them.
    pub fn forget(&self, number: u64) {
        self.state().open.retain(|open| open.number != number);
    }

    /// Returns the messages that belong to no request, including stored ones; `None` if somebody already listens.
    pub fn listen(&self) -> Option<(u64, Receiver<Vec<u8>>)> {
        let (out, heard) = mpsc::channel(MOST_KEPT + MOST);
        let mut state = self.state();
        if state.has_ended || state.listener.as_ref().is_some_and(|(_, out)| !out.is_closed()) {
            return None;
        }
        for line in state.kept.drain(..) {
            // The channel holds more messages than are stored.
            let _ = out.try_send(line);
        }
        state.next += 1;
        let number = state.next;
        state.used = Instant::now();
        state.listener = Some((number, out));
        Some((number, heard))
    }

    /// Returns the protocol version that the server agreed to.
    pub fn version(&self) -> Option<String> {
        self.state().version.clone()
    }

    /// Returns the time since the last activity; `None` while a request is pending or a client listens.
    pub fn idle(&self) -> Option<Duration> {
        let state = self.state();
        let listens = state.listener.as_ref().is_some_and(|(_, out)| !out.is_closed());
        (state.open.is_empty() && !listens).then(|| state.used.elapsed())
    }

    pub fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Closes the input of guard, which ends guard and its server.
    pub fn end(&self) {
        locked(&self.to).take();
    }

    fn state(&self) -> MutexGuard<'_, FrontState> {
        locked(&self.state)
    }

    /// Reads guard's messages until it ends.
    async fn read(self: Arc<Self>, mut child: Child, from: ChildStdout) {
        let mut from = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            match from.read_until(b'\n', &mut line).await {
                Ok(length) if length > 0 => {}
                _ => break,
            }
            while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                line.pop();
            }
            if !line.is_empty() {
                self.deliver(line).await;
            }
        }
        let left = {
            let mut state = self.state();
            state.has_ended = true;
            state.listener = None;
            std::mem::take(&mut state.open)
        };
        self.end();
        for OpenMessage { asks, out, .. } in left {
            for id in &asks.ids {
                let _ = out.try_send(message::error(id, message::FAILED, "the server has ended; connect again"));
            }
        }
        if tokio::time::timeout(FAREWELL, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
    }

    /// Delivers one message to the request that it belongs to.
    async fn deliver(&self, line: Vec<u8>) {
        let found = self.state().place(&line);
        let Some((out, line)) = found else { return };
        let sent = tokio::time::timeout(PATIENCE, out.send(line.clone())).await;
        if matches!(sent, Ok(Ok(()))) {
            return;
        }
        // A client that reads nothing is treated as gone. A message for any listener is stored for the next one.
        let mut state = self.state();
        if state.listener.as_ref().is_some_and(|(_, listener)| listener.same_channel(&out)) {
            state.listener = None;
            state.keep(line);
        }
        for open in state.open.iter_mut().filter(|open| open.out.same_channel(&out)) {
            open.out = mpsc::channel(1).0;
        }
    }
}

async fn write(mut to: ChildStdin, mut lines: Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}
