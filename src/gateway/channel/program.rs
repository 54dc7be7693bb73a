//! A program of the user's own: it gets the card as a line of JSON on standard input, and has taken it when it ends well.
//!
//! What may not enter: answers, which come back over the API.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::{Card, Channel, ChannelState, Doing, Failed, Inbox};

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A program and its arguments.
pub struct Program {
    command: Vec<String>,
}

impl Program {
    /// A program by its whole path.
    ///
    /// # Errors
    /// It is none.
    pub fn new(command: Vec<String>) -> Result<Self, String> {
        match command.first() {
            Some(program) if program.starts_with('/') => Ok(Self { command }),
            _ => Err("command: a program by its whole path, and its arguments".to_owned()),
        }
    }

    async fn run(&self, input: &Value) -> Result<String, Failed> {
        let broken = |why: String| Failed::Broken(why);
        let Some((program, arguments)) = self.command.split_first() else { return Err(broken("no program".into())) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let work = async {
            let mut child = command.spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                // A program that needs no input may end without reading it.
                let _ = stdin.write_all(format!("{input}\n").as_bytes()).await;
            }
            child.wait().await
        };
        match tokio::time::timeout(LIMIT, work).await {
            Ok(Ok(status)) if status.success() => Ok(String::new()),
            Ok(Ok(status)) => Err(broken(format!("{program}: {status}"))),
            Ok(Err(error)) => Err(broken(format!("{program}: {error}"))),
            Err(_) => Err(broken(format!("{program} took longer than {} s", LIMIT.as_secs()))),
        }
    }
}

impl Channel for Program {
    fn send<'a>(&'a self, card: &'a Card, _: &'a str) -> Doing<'a, Result<String, Failed>> {
        Box::pin(async move { self.run(&json!({ "type": "request.filed", "data": card })).await })
    }

    fn tell<'a>(&'a self, text: &'a str) -> Doing<'a, Result<(), Failed>> {
        Box::pin(async move { self.run(&json!({ "type": "notice", "data": { "text": text } })).await.map(drop) })
    }

    fn close<'a>(&'a self, _: &'a str, card: &'a Card, text: &'a str) -> Doing<'a, Result<(), Failed>> {
        Box::pin(async move {
            let data = json!({ "action_id": card.action_id, "request": card.request, "text": text });
            self.run(&json!({ "type": "request.ended", "data": data })).await.map(drop)
        })
    }

    fn receive(self: Arc<Self>, _: Inbox, _: Arc<dyn ChannelState>) -> Option<Doing<'static, ()>> {
        None
    }
}
