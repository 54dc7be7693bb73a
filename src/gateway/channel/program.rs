//! A program of the user, which reads the card as a line of JSON on standard input. Exit code 0 means that it was
//! delivered.
//!
//! Out of scope: answers, which arrive over the API.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, Command};

use super::buttons::ApproverNonce;
use super::{BoxFuture, Card, Channel, ChannelError, ChannelState, Inbox, SendError};

/// The time limit of the program.
const LIMIT: Duration = Duration::from_secs(10);

/// The time to wait for the error messages of a program that has exited: a child process may still hold its standard
/// error open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The number of bytes kept of the end of its standard error.
const KEPT: usize = 4096;

/// The maximum length of the error message shown, in characters.
const LONGEST: usize = 200;

/// A program and its arguments.
pub struct Program {
    command: Vec<String>,
}

impl Program {
    /// Creates a channel from the absolute path of a program and its arguments.
    ///
    /// # Errors
    /// Returns an error if the path is not absolute.
    pub fn new(command: Vec<String>) -> Result<Self, ChannelError> {
        match command.first() {
            Some(program) if program.starts_with('/') => Ok(Self { command }),
            Some(program) => Err(ChannelError::Relative(program.clone())),
            None => Err(ChannelError::NoProgram),
        }
    }

    async fn run(&self, input: &Value) -> Result<String, SendError> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(SendError::Rejected("no program".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut said = Vec::new();
        let work = async {
            let mut child = command.spawn()?;
            let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
            let waiting = async {
                if let Some(mut stdin) = stdin {
                    // A program that needs no input may exit without reading it.
                    let _ = stdin.write_all(format!("{input}\n").as_bytes()).await;
                }
                child.wait().await
            };
            let hearing = keep_end(stderr, &mut said);
            tokio::pin!(waiting, hearing);
            tokio::select! {
                () = &mut hearing => waiting.await,
                status = &mut waiting => {
                    if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
                        let _ = tokio::time::timeout(LAST_WORDS, hearing).await;
                    }
                    status
                }
            }
        };
        let why = match tokio::time::timeout(LIMIT, work).await {
            Ok(Ok(status)) if status.success() => return Ok(String::new()),
            Ok(Ok(status)) => format!("{program}: {status}"),
            Ok(Err(error)) => format!("{program}: {error}"),
            Err(_) => format!("{program} took longer than {} s", LIMIT.as_secs()),
        };
        // The service that the program uses may be unavailable.
        Err(SendError::Unavailable(match last_line(&said) {
            Some(last) => format!("{why}: {last}"),
            None => why,
        }))
    }
}

/// Keeps the end of a program's standard error.
async fn keep_end(from: Option<ChildStderr>, said: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut part = [0; 1024];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        said.extend_from_slice(part.get(..length).unwrap_or_default());
        said.drain(..said.len().saturating_sub(KEPT));
    }
}

/// Returns the last line that is not blank, made safe to display.
fn last_line(said: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    let (line, _) = crate::store::redact(line);
    let line = guard_ui::ui::visible::text(&line).into_owned();
    Some(match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} ... (cut)", line.get(..at).unwrap_or_default()),
        None => line,
    })
}

impl Channel for Program {
    fn send<'a>(&'a self, card: &'a Card, _: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move { self.run(&json!({ "type": "request.filed", "data": card })).await })
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move { self.run(&json!({ "type": "notice", "data": { "text": text } })).await.map(drop) })
    }

    fn close<'a>(&'a self, _: &'a str, card: &'a Card, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let data = json!({ "action_id": card.action_id, "request": card.request, "text": text });
            self.run(&json!({ "type": "request.ended", "data": data })).await.map(drop)
        })
    }

    fn receive(self: Arc<Self>, _: Inbox, _: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fails(script: &str) -> String {
        let program = Program::new(["/bin/sh", "-c", script].map(str::to_owned).to_vec()).unwrap();
        program.run(&json!({})).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn what_it_said_last_is_told_with_how_it_ended() {
        assert_eq!(fails("exit 3").await, "/bin/sh: exit status: 3");
        let said = fails("echo first >&2; printf 'no such \\033[1mroom\\n\\n  \\n' >&2; exit 1").await;
        assert!(said.starts_with("/bin/sh: exit status: 1: no such ") && said.ends_with("room"), "{said}");
        assert!(!said.contains('\u{1b}') && !said.contains("first"), "{said}");
        let said = fails("echo password=hunter2hunter2 >&2; exit 1").await;
        assert!(!said.contains("hunter2"), "{said}");
        let said = fails("head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1").await;
        assert!(said.ends_with("xxx ... (cut)") && said.len() < 300, "{said}");
        // A child that keeps running does not delay the result.
        assert!(fails("echo gone >&2; sleep 60 & exit 1").await.ends_with(": gone"));
        let program = Program::new(["/bin/sh", "-c", "echo fine >&2"].map(str::to_owned).to_vec()).unwrap();
        assert_eq!(program.run(&json!({})).await, Ok(String::new()));
    }
}
