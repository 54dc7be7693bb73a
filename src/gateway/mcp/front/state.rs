//! Tracks who receives a server's messages: pending requests, a listener, and stored messages for the next listener.
//!
//! Messages are passed unchanged. Out of scope: processes and their pipes.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::super::message::{self, MessageInfo};

/// The maximum number of messages that are stored for the next listener. The oldest are dropped first.
pub(super) const MOST_KEPT: usize = 256;

#[derive(Debug)]
pub(super) struct FrontState {
    /// The pending requests, in the order in which they arrived.
    pub(super) open: Vec<OpenMessage>,
    pub(super) next: u64,
    /// The receiver of messages that belong to no request.
    pub(super) listener: Option<(u64, Sender<Vec<u8>>)>,
    pub(super) kept: VecDeque<Vec<u8>>,
    /// The protocol version that the server agreed to.
    pub(super) version: Option<String>,
    pub(super) used: Instant,
    pub(super) has_ended: bool,
}

/// A client's message with at least one pending request.
#[derive(Debug)]
pub(super) struct OpenMessage {
    pub(super) number: u64,
    pub(super) asks: MessageInfo,
    pub(super) out: Sender<Vec<u8>>,
}

impl FrontState {
    pub(super) fn new() -> Self {
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

    pub(super) fn takes(&self, asks: &MessageInfo) -> bool {
        let open = || self.open.iter().map(|open| &open.asks);
        let has = |all: &[Value], one: &Value| all.contains(one);
        let own = &asks.ids;
        let is_repeated = own.iter().enumerate().any(|(at, id)| own.get(..at).is_some_and(|before| has(before, id)));
        !is_repeated
            && !open().any(|open| own.iter().any(|id| has(&open.ids, id)))
            && !open().any(|open| asks.progress.iter().any(|token| has(&open.progress, token)))
    }

    /// Returns the receiver of a message; stores the message if there is none.
    pub(super) fn place(&mut self, line: &[u8]) -> Option<(Sender<Vec<u8>>, Vec<u8>)> {
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
        // guard could not parse the ID of the request; it was the last one that was sent.
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
        // Without a listener, the message most likely belongs to a pending request.
        let anybody = listener.or_else(|| self.open.iter().map(|open| &open.out).rfind(|out| !out.is_closed()));
        match anybody {
            Some(out) => Some((out.clone(), line.to_vec())),
            None => {
                self.keep(line.to_vec());
                None
            }
        }
    }

    pub(super) fn keep(&mut self, line: Vec<u8>) {
        if self.kept.len() >= MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{self, Receiver};

    use super::*;

    const MOST: usize = 64;

    fn asks(state: &mut FrontState, text: &str) -> Receiver<Vec<u8>> {
        let (out, answers) = mpsc::channel(MOST);
        state.open.push(OpenMessage { number: 0, asks: MessageInfo::of(text.as_bytes()), out });
        answers
    }

    fn place(state: &mut FrontState, text: &str) -> Option<String> {
        let (out, line) = state.place(text.as_bytes())?;
        out.try_send(line.clone()).unwrap();
        Some(String::from_utf8(line).unwrap())
    }

    const ONE: &str = r#"{"id":1,"method":"a","params":{"_meta":{"progressToken":"p"}}}"#;

    #[test]
    fn each_message_goes_to_whom_it_belongs() {
        let mut state = FrontState::new();
        let (mut one, mut two) =
            (asks(&mut state, ONE), asks(&mut state, r#"[{"id":2,"method":"b"},{"id":3,"method":"b"}]"#));
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":"p"}}"#;
        for text in [progress, r#"{"id":1,"result":{}}"#] {
            place(&mut state, text).unwrap();
            assert_eq!(one.try_recv().unwrap(), text.as_bytes());
        }
        assert_eq!(one.try_recv(), Err(mpsc::error::TryRecvError::Disconnected), "all is answered");
        // One request of this batch is still pending.
        place(&mut state, r#"{"id":3,"result":{}}"#).unwrap();
        assert!(two.try_recv().is_ok() && two.try_recv() == Err(mpsc::error::TryRecvError::Empty));
        place(&mut state, r#"{"id":2,"error":{}}"#).unwrap();
        assert!(two.try_recv().is_ok() && two.try_recv() == Err(mpsc::error::TryRecvError::Disconnected));
        // Nobody waits for a second answer to a request, or for progress of one that has ended.
        assert_eq!((place(&mut state, r#"{"id":2,"error":{}}"#), place(&mut state, progress)), (None, None));
        assert_eq!(state.kept.len(), 2);
    }

    #[test]
    fn what_nobody_asked_for_goes_to_who_listens_or_waits_or_is_kept() {
        let mut state = FrontState::new();
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
        let mut state = FrontState::new();
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
        let mut state = FrontState::new();
        let _one = asks(&mut state, ONE);
        for (text, wanted) in [
            (r#"{"id":1,"method":"b"}"#, false),
            (r#"{"id":"1","method":"b"}"#, true),
            (r#"{"id":2,"method":"b","params":{"_meta":{"progressToken":"p"}}}"#, false),
            (r#"[{"id":2,"method":"b"},{"id":2,"method":"b"}]"#, false),
            (r#"[{"id":2,"method":"b"},{"id":3,"method":"b"}]"#, true),
        ] {
            assert_eq!(state.takes(&MessageInfo::of(text.as_bytes())), wanted, "{text}");
        }
    }

    #[test]
    fn the_version_is_the_one_that_the_server_agreed_to() {
        let mut state = FrontState::new();
        let _one = asks(&mut state, r#"{"id":1,"method":"initialize"}"#);
        place(&mut state, r#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#).unwrap();
        assert_eq!(state.version.as_deref(), Some("2025-06-18"));
    }
}
