//! A desktop notification with a button to deny.
//!
//! Out of scope: approving. Every program of the session can press a button of a notification, including the agent.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};

use super::buttons::ApproverNonce;
use super::text::{self, Medium, cut};
use super::{
    BoxFuture, ButtonKind, Card, Channel, ChannelError, ChannelState, ChannelStatus, Inbox, Interaction, SendError,
    UserAction,
};

/// The largest number of characters of untrusted text in a notification.
const MOST: usize = 500;

/// A program that exits sooner than this has shown nothing.
const SHOWN: Duration = Duration::from_millis(300);

/// The number of lines of output that are read although they name no button. After that, the notification stays but is
/// no longer read.
const ODD: usize = 100;

/// The number of presses that can be queued.
const PRESSES: usize = 16;

/// The desktop of this account.
pub struct Desktop {
    name: String,
    /// `notify-send`, or a program with the same arguments.
    command: Vec<String>,
    /// The approver for the record.
    approver: String,
    /// The senders that close each shown notification.
    shown: Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>,
    pressed: mpsc::Sender<(String, ButtonKind)>,
    presses: Mutex<Option<mpsc::Receiver<(String, ButtonKind)>>>,
}

impl Desktop {
    /// Creates a desktop channel with a program that shows notifications.
    ///
    /// # Errors
    /// Returns an error if the command is empty.
    pub fn new(name: String, command: Vec<String>, approver: &str) -> Result<Self, ChannelError> {
        if command.first().is_none_or(String::is_empty) {
            return Err(ChannelError::NoCommand);
        }
        let (pressed, presses) = mpsc::channel(PRESSES);
        let presses = Mutex::new(Some(presses));
        Ok(Self { name, command, approver: approver.to_owned(), shown: Arc::default(), pressed, presses })
    }

    fn start(&self, urgent: bool, actions: &[(String, String)], title: &str, body: &str) -> Result<Child, SendError> {
        let (program, arguments) =
            self.command.split_first().ok_or_else(|| SendError::Rejected("no command".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments).args(["-a", "guard", "-u", if urgent { "critical" } else { "normal" }]);
        for (code, label) in actions {
            command.arg("-A").arg(format!("{code}={label}"));
        }
        command.args(["--", title, body]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.kill_on_drop(true);
        command.spawn().map_err(|error| SendError::Rejected(format!("{program}: {error}")))
    }
}

/// Returns the button that was pressed on a notification, or `None` if it was closed. The notification stays while its
/// request waits; other output is ignored.
async fn pressed_on(child: &mut Child, nonce: &str, mut ended: oneshot::Receiver<()>) -> Option<ButtonKind> {
    let mut lines = BufReader::new(child.stdout.take()?).lines();
    let mut odd = 0;
    loop {
        tokio::select! {
            line = lines.next_line(), if odd < ODD => {
                let code = match line {
                    Ok(None) => return None,
                    Ok(Some(code)) => code,
                    Err(_) => String::new(),
                };
                match ButtonKind::read(&format!("{}:{nonce}", code.trim())) {
                    // An approval by a notification is never accepted.
                    Some(UserAction::Pressed { press, nonce: read }) if press != ButtonKind::Approve && read == nonce => {
                        return Some(press);
                    }
                    _ => odd += 1,
                }
            }
            _ = &mut ended => {
                drop(child.start_kill());
                return None;
            }
        }
    }
}

impl Channel for Desktop {
    fn send<'a>(&'a self, card: &'a Card, own: &'a [ApproverNonce]) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let mut body = text::card(&Card { bar: None, ..card.clone() }, Medium::Notice, MOST);
            if card.link.is_none() {
                body.push_str(&format!("\nguard approve {}", card.request));
            }
            let mut actions = vec![(ButtonKind::Deny.code(), "Deny".to_owned())];
            for (at, words) in (0..).zip(card.replies.iter().take(2)) {
                actions.push((ButtonKind::Reply(at).code(), cut(&format!("No: {words}"), 40)));
            }
            let urgent = card.decision || card.tier >= 3;
            let mut child = self.start(urgent, &actions, &format!("guard: tier {}", card.tier), &body)?;
            // The program runs for as long as the notification is shown.
            if let Ok(Ok(status)) = tokio::time::timeout(SHOWN, child.wait()).await
                && !status.success()
            {
                return Err(SendError::Rejected(format!("the notification was not shown ({status})")));
            }
            let id = crate::secrets::secret::<8>("").map_err(|why| SendError::Rejected(why.to_string()))?;
            let (end, ended) = oneshot::channel();
            self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), end);
            let (pressed, nonce) = (self.pressed.clone(), own.first().map(|own| own.nonce.clone()).unwrap_or_default());
            tokio::spawn(async move {
                if let Some(press) = pressed_on(&mut child, &nonce, ended).await {
                    let _ = pressed.send((nonce, press)).await;
                }
            });
            Ok(id)
        })
    }

    fn approvers(&self) -> Vec<String> {
        vec![self.approver.clone()]
    }

    fn send_notice<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let mut child = self.start(true, &[], "guard", &Medium::Notice.escape(&cut(text, 500)))?;
            let status = child.wait().await.map_err(|error| SendError::Rejected(error.to_string()))?;
            if status.success() { Ok(()) } else { Err(SendError::Rejected(format!("it was not shown ({status})"))) }
        })
    }

    fn close<'a>(&'a self, message: &'a str, _: &'a Card, _: &'a str) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let end = self.shown.lock().unwrap_or_else(PoisonError::into_inner).remove(message);
            if let Some(end) = end {
                let _ = end.send(());
            }
            Ok(())
        })
    }

    fn receive(self: Arc<Self>, inbox: Inbox, state: Arc<dyn ChannelState>) -> Option<BoxFuture<'static, ()>> {
        let mut presses = self.presses.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Box::pin(async move {
            state.status(&self.name, ChannelStatus::Up);
            while let Some((nonce, press)) = presses.recv().await {
                let (reply, told) = oneshot::channel();
                let action = UserAction::Pressed { nonce, press };
                let approver = Some(self.approver.clone());
                let interaction =
                    Interaction { channel: self.name.clone(), approver, from: "the desktop".to_owned(), action, reply };
                if inbox.send(interaction).await.is_err() {
                    return;
                }
                let _ = told.await;
            }
        }))
    }
}
