//! A WebSocket server in a thread: it accepts one connection after the other, responds as a test scripts it, and sends
//! what the test tells it to.

use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_tungstenite::tungstenite::Message;

use crate::test_gateway::until;

/// An event on a connection.
pub enum SocketEvent {
    /// The connection was opened.
    Opened,
    Said(Value),
}

/// The reaction to an event.
#[derive(Default)]
pub struct Reply {
    pub say: Option<Value>,
    /// Whether the test may send messages over this connection from now on.
    pub ready: bool,
}

/// An action of the server, which a test triggers.
#[derive(Clone)]
pub enum SocketCommand {
    Send(String),
    /// Closes the connection without a message.
    Drop,
    /// Stops responding, including to pings.
    Deafen,
}

type Newest = Arc<Mutex<Option<UnboundedSender<SocketCommand>>>>;

/// The server. It runs until the process ends.
pub struct SocketServer {
    pub port: u16,
    /// The sender to the newest connection.
    to: Newest,
}

impl SocketServer {
    /// Starts a server with these responses, which are given its port.
    pub fn new(mut answer: impl FnMut(u16, SocketEvent) -> Reply + Send + 'static) -> Self {
        let to: Newest = Arc::default();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let newest = to.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    // Errors of a connection are ignored, because the client connects again.
                    let _ = serve(stream, &newest, |heard| answer(port, heard)).await;
                    *newest.lock().unwrap() = None;
                }
            });
        });
        Self { port, to }
    }

    /// Makes the newest connection perform an action, once one is ready.
    pub fn act(&self, step: &SocketCommand) {
        until(|| self.to.lock().unwrap().as_ref().is_some_and(|to| to.send(step.clone()).is_ok()));
    }
}

async fn serve(stream: TcpStream, newest: &Newest, mut answer: impl FnMut(SocketEvent) -> Reply) -> Option<()> {
    let mut socket = tokio_tungstenite::accept_async(stream).await.ok()?;
    let (to, mut steps) = unbounded_channel();
    let (mut deaf, mut heard) = (false, SocketEvent::Opened);
    loop {
        let Reply { say, ready } = answer(heard);
        if let Some(say) = say.filter(|_| !deaf) {
            socket.send(Message::text(say.to_string())).await.ok()?;
        }
        if ready {
            *newest.lock().unwrap() = Some(to.clone());
        }
        heard = loop {
            tokio::select! {
                said = socket.next() => match said?.ok()? {
                    Message::Text(said) => break SocketEvent::Said(serde_json::from_str(said.as_str()).unwrap()),
                    Message::Close(_) => return None,
                    _ => {}
                },
                step = steps.recv() => match step? {
                    SocketCommand::Send(text) => socket.send(Message::text(text)).await.ok()?,
                    SocketCommand::Deafen => deaf = true,
                    SocketCommand::Drop => return None,
                },
            }
        };
    }
}
