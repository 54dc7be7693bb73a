//! A WebSocket server in a thread: it takes one connection after the other, answers as a test scripts it, and sends what a test
//! has it send.

use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_tungstenite::tungstenite::Message;

use crate::test_gateway::until;

/// What happened on a connection.
pub enum SocketEvent {
    /// It is new.
    Opened,
    Said(Value),
}

/// What is answered to it.
#[derive(Default)]
pub struct Reply {
    pub say: Option<Value>,
    /// From now on a test may send something over this connection.
    pub ready: bool,
}

/// What a test has the server do.
#[derive(Clone)]
pub enum SocketCommand {
    Send(String),
    /// Break the connection off without a word.
    Drop,
    /// Answer nothing any more, signs of life included.
    Deafen,
}

type Newest = Arc<Mutex<Option<UnboundedSender<SocketCommand>>>>;

/// The server, as long as the process is there.
pub struct SocketServer {
    pub port: u16,
    /// To the newest connection.
    to: Newest,
}

impl SocketServer {
    /// With these answers; the port is given to them.
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
                    // That a client is gone is found in what it does next.
                    let _ = serve(stream, &newest, |heard| answer(port, heard)).await;
                    *newest.lock().unwrap() = None;
                }
            });
        });
        Self { port, to }
    }

    /// Has the newest connection do something, once there is one that is ready.
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
