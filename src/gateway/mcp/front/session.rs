//! One guard between a client behind HTTP and its server: what it is told, and to whom what it says belongs.
//!
//! Messages pass as they are. What may not enter: HTTP.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::super::message::{self, Asks};
use super::{TOKEN, locked};

/// How many messages wait to be taken by either side.
const MOST: usize = 64;

/// How many messages that nobody asked for wait for somebody who listens; of more, the oldest go.
const MOST_KEPT: usize = 256;

/// How long a client may take none of what it is told before nobody waits for it any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long guard may take to end: it waits for the server that long.
const FAREWELL: Duration = Duration::from_secs(7);

/// A guard that runs, and who waits for what it says.
#[derive(Debug)]
pub struct Session {
    to: Mutex<Option<Sender<Vec<u8>>>>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Requests that are not answered, in the order in which they came.
    open: Vec<Open>,
    next: u64,
    /// Whoever hears what belongs to no request.
    listener: Option<(u64, Sender<Vec<u8>>)>,
    kept: VecDeque<Vec<u8>>,
    /// Of the protocol, as the server agreed to it.
    version: Option<String>,
    used: Instant,
    has_ended: bool,
}

/// A message of the client that is not answered whole.
#[derive(Debug)]
struct Open {
    number: u64,
    asks: Asks,
    out: Sender<Vec<u8>>,
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A request with one of its ids waits.
    Twice,
    Ended,
}

impl Session {
    /// Starts guard with these arguments, and reads what it says until it ends.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(guard: &Path, words: &[std::ffi::OsString]) -> Result<Arc<Self>, String> {
        let mut command = Command::new(guard);
        // The server behind it has no business with what lets clients in.
        command.args(words).env_remove(TOKEN).stdin(Stdio::piped()).stdout(Stdio::piped());
        let told = |why: String| format!("{} cannot be started: {why}", guard.display());
        let mut child = command.spawn().map_err(|error| told(error.to_string()))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(told("it has no pipes".to_owned()));
        };
        let (to, lines) = mpsc::channel(MOST);
        let session = Arc::new(Self { to: Mutex::new(Some(to)), state: Mutex::new(State::new()) });
        tokio::spawn(write(stdin, lines));
        tokio::spawn(Arc::clone(&session).read(child, stdout));
        Ok(session)
    }

    /// Hands on a message that asks for nothing.
    ///
    /// # Errors
    /// guard has ended.
    pub async fn tell(&self, line: Vec<u8>) -> Result<(), Refusal> {
        self.state().used = Instant::now();
        let to = locked(&self.to).clone().ok_or(Refusal::Ended)?;
        to.send(line).await.map_err(|_| Refusal::Ended)
    }

    /// Hands on requests; what answers them comes out, and its end when all are answered. The number is theirs.
    ///
    /// # Errors
    /// See [`Refusal`]: nothing was handed on.
    pub async fn ask(&self, line: Vec<u8>, asks: Asks) -> Result<(u64, Receiver<Vec<u8>>), Refusal> {
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
            state.open.push(Open { number, asks, out });
            number
        };
        if let Err(refusal) = self.tell(line).await {
            self.state().open.retain(|open| open.number != number);
            return Err(refusal);
        }
        Ok((number, answers))
    }

    /// Whether these requests could be told from those that wait.
    pub fn takes(&self, asks: &Asks) -> bool {
        let state = self.state();
        !state.has_ended && state.takes(asks)
    }

    /// The requests of this number that are still open.
    pub fn unanswered(&self, number: u64) -> Vec<Value> {
        let state = self.state();
        let open = state.open.iter().find(|open| open.number == number);
        open.map(|open| open.asks.ids.clone()).unwrap_or_default()
    }

    /// Nobody waits for the requests of this number any more.
    pub fn forget(&self, number: u64) {
        self.state().open.retain(|open| open.number != number);
    }

    /// What belongs to no request, from what was kept on; `None` where somebody listens already.
    pub fn listen(&self) -> Option<(u64, Receiver<Vec<u8>>)> {
        let (out, heard) = mpsc::channel(MOST_KEPT + MOST);
        let mut state = self.state();
        if state.has_ended || state.listener.as_ref().is_some_and(|(_, out)| !out.is_closed()) {
            return None;
        }
        for line in state.kept.drain(..) {
            // It holds more than is kept.
            let _ = out.try_send(line);
        }
        state.next += 1;
        let number = state.next;
        state.used = Instant::now();
        state.listener = Some((number, out));
        Some((number, heard))
    }

    /// The protocol's version that the server agreed to.
    pub fn version(&self) -> Option<String> {
        self.state().version.clone()
    }

    /// For how long nobody has asked, waited or listened; `None` while somebody does.
    pub fn idle(&self) -> Option<Duration> {
        let state = self.state();
        let listens = state.listener.as_ref().is_some_and(|(_, out)| !out.is_closed());
        (state.open.is_empty() && !listens).then(|| state.used.elapsed())
    }

    pub fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Closes its input: guard ends, and its server.
    pub fn end(&self) {
        locked(&self.to).take();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Reads what guard says until that ends.
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
        for Open { asks, out, .. } in left {
            for id in &asks.ids {
                let _ = out.try_send(message::error(id, message::FAILED, "the server has ended: connect anew"));
            }
        }
        if tokio::time::timeout(FAREWELL, child.wait()).await.is_err() {
            let _ = child.kill().await;
        }
    }

    /// Gives one message to whom it belongs.
    async fn deliver(&self, line: Vec<u8>) {
        let found = self.state().place(&line);
        let Some((out, line)) = found else { return };
        let sent = tokio::time::timeout(PATIENCE, out.send(line.clone())).await;
        if matches!(sent, Ok(Ok(()))) {
            return;
        }
        // Whoever takes nothing has gone; what was for anybody is kept for the next.
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

impl State {
    fn new() -> Self {
        Self {
            open: Vec::new(),
            next: 0,
            listener: None,
            kept: VecDeque::new(),
            version: None,
            used: Instant::now(),
            has_ended: false,
        }
    }

    fn takes(&self, asks: &Asks) -> bool {
        let open = || self.open.iter().map(|open| &open.asks);
        let has = |all: &[Value], one: &Value| all.contains(one);
        let own = &asks.ids;
        let is_repeated = own.iter().enumerate().any(|(at, id)| own.get(..at).is_some_and(|before| has(before, id)));
        !is_repeated
            && !open().any(|open| own.iter().any(|id| has(&open.ids, id)))
            && !open().any(|open| asks.progress.iter().any(|token| has(&open.progress, token)))
    }

    /// Whose a message is; what is nobody's is kept.
    fn place(&mut self, line: &[u8]) -> Option<(Sender<Vec<u8>>, Vec<u8>)> {
        let mut whose = None;
        for open in &mut self.open {
            let is_greeting = open.asks.is_initialize;
            if open.asks.answered(line) {
                if is_greeting {
                    self.version = message::version(line);
                }
                whose = Some((open.out.clone(), line.to_vec()));
                break;
            }
        }
        if whose.is_none()
            && let Some(token) = message::progress(line)
        {
            let open = self.open.iter().find(|open| open.asks.progress.contains(&token));
            whose = open.map(|open| (open.out.clone(), line.to_vec()));
        }
        // guard could not read which request it was: that was the last.
        if whose.is_none()
            && let Some(open) = self.open.last_mut()
            && let Some(own) = open.asks.ids.iter().map(|id| message::adopted(line, id)).collect::<Option<Vec<_>>>()
        {
            let is_batch = own.len() > 1;
            let own = own.join(b",".as_slice());
            open.asks.ids.clear();
            whose = Some((open.out.clone(), if is_batch { [b"[".as_slice(), &own, b"]"].concat() } else { own }));
        }
        self.open.retain(|open| !open.asks.ids.is_empty());
        self.used = Instant::now();
        if whose.is_some() {
            return whose;
        }
        let listener = self.listener.as_ref().map(|(_, out)| out).filter(|out| !out.is_closed());
        // Without one, it most likely belongs to what runs.
        let anybody = listener.or_else(|| self.open.iter().map(|open| &open.out).rfind(|out| !out.is_closed()));
        match anybody {
            Some(out) => Some((out.clone(), line.to_vec())),
            None => {
                self.keep(line.to_vec());
                None
            }
        }
    }

    fn keep(&mut self, line: Vec<u8>) {
        if self.kept.len() >= MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(line);
    }
}

async fn write(mut to: ChildStdin, mut lines: Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if to.write_all(&line).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(state: &mut State, text: &str) -> Receiver<Vec<u8>> {
        let (out, answers) = mpsc::channel(MOST);
        state.open.push(Open { number: 0, asks: Asks::of(text.as_bytes()), out });
        answers
    }

    fn place(state: &mut State, text: &str) -> Option<String> {
        let (out, line) = state.place(text.as_bytes())?;
        out.try_send(line.clone()).unwrap();
        Some(String::from_utf8(line).unwrap())
    }

    const ONE: &str = r#"{"id":1,"method":"a","params":{"_meta":{"progressToken":"p"}}}"#;

    #[test]
    fn each_message_goes_to_whom_it_belongs() {
        let mut state = State::new();
        let (mut one, mut two) =
            (asks(&mut state, ONE), asks(&mut state, r#"[{"id":2,"method":"b"},{"id":3,"method":"b"}]"#));
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":"p"}}"#;
        for text in [progress, r#"{"id":1,"result":{}}"#] {
            place(&mut state, text).unwrap();
            assert_eq!(one.try_recv().unwrap(), text.as_bytes());
        }
        assert_eq!(one.try_recv(), Err(mpsc::error::TryRecvError::Disconnected), "all is answered");
        // Not all of these are.
        place(&mut state, r#"{"id":3,"result":{}}"#).unwrap();
        assert!(two.try_recv().is_ok() && two.try_recv() == Err(mpsc::error::TryRecvError::Empty));
        place(&mut state, r#"{"id":2,"error":{}}"#).unwrap();
        assert!(two.try_recv().is_ok() && two.try_recv() == Err(mpsc::error::TryRecvError::Disconnected));
        // Nobody waits for these: an answer that comes twice, and progress of what has ended.
        assert_eq!((place(&mut state, r#"{"id":2,"error":{}}"#), place(&mut state, progress)), (None, None));
        assert_eq!(state.kept.len(), 2);
    }

    #[test]
    fn what_nobody_asked_for_goes_to_who_listens_or_waits_or_is_kept() {
        let mut state = State::new();
        let text = r#"{"id":1,"method":"roots/list"}"#;
        assert_eq!(place(&mut state, text), None);
        assert_eq!(state.kept.len(), 1);
        let mut one = asks(&mut state, ONE);
        place(&mut state, text).unwrap();
        assert!(one.try_recv().is_ok(), "the server's own request is no answer to the client's of the same id");
        let (out, mut heard) = mpsc::channel(1);
        state.listener = Some((9, out));
        place(&mut state, text).unwrap();
        assert!(heard.try_recv().is_ok() && one.try_recv().is_err());
        for _ in 0..2 * MOST_KEPT {
            state.keep(Vec::new());
        }
        assert_eq!(state.kept.len(), MOST_KEPT);
    }

    #[test]
    fn an_error_that_names_no_request_is_that_of_the_last() {
        let mut state = State::new();
        let (mut one, mut two) = (asks(&mut state, ONE), asks(&mut state, r#"{"id":"x","method":"b"}"#));
        let told = place(&mut state, r#"{"id":null,"error":{"code":-32600}}"#).unwrap();
        assert_eq!(told, r#"{"error":{"code":-32600},"id":"x"}"#);
        assert!(two.try_recv().is_ok() && one.try_recv() == Err(mpsc::error::TryRecvError::Empty));
        let _batch = asks(&mut state, r#"[{"id":2,"method":"b"},{"id":3,"method":"b"}]"#);
        let told = place(&mut state, r#"{"id":null,"error":{}}"#).unwrap();
        assert_eq!(told, r#"[{"error":{},"id":2},{"error":{},"id":3}]"#);
    }

    #[test]
    fn requests_that_could_not_be_told_apart_are_not_taken() {
        let mut state = State::new();
        let _one = asks(&mut state, ONE);
        for (text, wanted) in [
            (r#"{"id":1,"method":"b"}"#, false),
            (r#"{"id":"1","method":"b"}"#, true),
            (r#"{"id":2,"method":"b","params":{"_meta":{"progressToken":"p"}}}"#, false),
            (r#"[{"id":2,"method":"b"},{"id":2,"method":"b"}]"#, false),
            (r#"[{"id":2,"method":"b"},{"id":3,"method":"b"}]"#, true),
        ] {
            assert_eq!(state.takes(&Asks::of(text.as_bytes())), wanted, "{text}");
        }
    }

    #[test]
    fn the_version_is_the_one_that_the_server_agreed_to() {
        let mut state = State::new();
        let _one = asks(&mut state, r#"{"id":1,"method":"initialize"}"#);
        place(&mut state, r#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#).unwrap();
        assert_eq!(state.version.as_deref(), Some("2025-06-18"));
    }
}
