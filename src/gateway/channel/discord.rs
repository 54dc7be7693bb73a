//! Discord: buttons below a message, and for who cannot press them marks on it. What is pressed comes over the gateway, a
//! WebSocket that is kept alive by heartbeats and taken up again where it broke off.
//!
//! What may not enter: whether a tap counts.

#![allow(clippy::collapsible_match, reason = "an arm that sends is no guard of its arm")]

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::buttons::{Button, Own, buttons};
use super::heard::FromPlace;
use super::text::{self, Medium, cut};
use super::{Card, Channel, ChannelState, Did, Doing, Failed, Inbox, Press, Status, Tap, heard, http};

/// The most characters of a message that are others' words; Discord takes 2000 in all.
const MOST: usize = 1400;

/// The most rows of buttons below a message, of five buttons each.
const ROWS: usize = 5;

/// How long a failing connection rests at most.
const REST: Duration = Duration::from_secs(60);

/// Discord waits so long for the answer to a press; it is told within.
const PRESSED: Duration = Duration::from_millis(2500);

/// How many strangers' marks are answered while this runs.
const REFUSED: usize = 1000;

/// How many presses may be under way at once; the next wait where they come from.
const PRESSES: usize = 32;

/// The intents that typed commands need: messages of servers and of chats with the bot, and their content.
const TYPED: u32 = (1 << 9) | (1 << 12) | (1 << 15);

/// The intents that marks on messages need, in servers and in chats with the bot. Discord asks no leave for them.
const MARKS: u32 = (1 << 10) | (1 << 13);

/// Closes after which nothing gets better by itself: a wrong token, an intent that the bot has not.
const FINAL: [u16; 6] = [4004, 4010, 4011, 4012, 4013, 4014];

/// A message of which only those who pressed see the answer.
const EPHEMERAL: u32 = 64;

/// A bot and the channel it writes to.
pub struct Discord {
    name: String,
    client: reqwest::Client,
    url: String,
    token: String,
    chat: String,
    approvers: BTreeMap<String, String>,
    commands: bool,
    /// Strangers who were told so, with the message that they marked: a mark can be set again and again.
    refused: Mutex<HashSet<(String, String)>>,
}

/// A session of the gateway that can be taken up.
#[derive(Clone, Debug)]
struct Resume {
    session: String,
    url: String,
}

/// How a connection ended.
enum Over {
    /// It can be taken up.
    Again,
    /// It has to begin anew.
    Anew,
    /// It is no use.
    Never(String),
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

impl Discord {
    /// A bot by its token.
    ///
    /// # Errors
    /// There is no HTTP client, or the channel's id is none.
    pub fn new(
        name: String,
        url: &str,
        token: &str,
        chat: &str,
        approvers: BTreeMap<String, String>,
        commands: bool,
    ) -> Result<Self, String> {
        if chat.is_empty() || !chat.chars().all(|c| c.is_ascii_digit()) {
            return Err("chat: the ID of a channel must be a number".to_owned());
        }
        let (url, token, chat) = (url.trim_end_matches('/').to_owned(), token.to_owned(), chat.to_owned());
        Ok(Self { name, client: http::client()?, url, token, chat, approvers, commands, refused: Mutex::default() })
    }

    async fn call(&self, method: reqwest::Method, path: &str, body: Option<&Value>) -> Result<Value, Failed> {
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request = request.header("authorization", format!("Bot {}", self.token));
        let request = if let Some(body) = body { request.json(body) } else { request };
        let (status, value) = http::answer(request.send().await).await?;
        match status {
            200..=299 => Ok(value),
            429 => Err(Failed::Later(Duration::from_secs_f64(
                value["retry_after"].as_f64().unwrap_or(1.0).clamp(0.0, 3600.0),
            ))),
            _ => {
                let why = value["message"].as_str().unwrap_or("no reason");
                Err(Failed::of(status, format!("discord: {status}: {}", cut(why, 200))))
            }
        }
    }

    fn rows(card: &Card, own: &[Own]) -> Value {
        let write = |button: &Button| {
            let style = match (button.press, &button.words) {
                (Press::Approve, _) => 3,
                (_, None) => 4,
                (_, Some(_)) => 2,
            };
            let label = button.label("Approve", "Deny", "No");
            json!({ "type": 2, "style": style, "label": cut(&label, 80), "custom_id": button.data })
        };
        let page = card.button_to_page(MOST);
        let room = ROWS - usize::from(page.is_some());
        let mut all = buttons(card, own, card.offers_yes(MOST));
        let mut rows: Vec<Value> = Vec::new();
        if all.len() > room {
            for of_one in &mut all {
                of_one.retain(|button| button.words.is_none());
            }
            all = all.chunks(2).map(<[_]>::concat).collect();
        }
        for of_some in all.iter().take(room) {
            rows.push(json!({ "type": 1, "components": of_some.iter().map(write).collect::<Vec<_>>() }));
        }
        if let Some(page) = page {
            let open = json!({ "type": 2, "style": 5, "label": "Open the page", "url": page });
            rows.push(json!({ "type": 1, "components": [open] }));
        }
        json!(rows)
    }

    /// Connects, again and again, and hears what is pressed.
    async fn listen(&self, inbox: Inbox, state: Arc<dyn ChannelState>) {
        let (mut resume, mut seq): (Option<Resume>, Option<u64>) = (None, None);
        let mut rest = Duration::from_secs(1);
        loop {
            let connected = self.connect(resume.as_ref()).await;
            let over = match connected {
                Ok(socket) => self.hold_connection(socket, &mut resume, &mut seq, &inbox, &*state, &mut rest).await,
                Err(why) => {
                    state.status(&self.name, Status::Down { why: why.to_string() });
                    // Where it was to be taken up there may be nothing any more.
                    Over::Again
                }
            };
            match over {
                Over::Again => {}
                Over::Anew => (resume, seq) = (None, None),
                Over::Never(why) => {
                    state.status(&self.name, Status::Down { why });
                    return;
                }
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(REST);
        }
    }

    async fn connect(&self, resume: Option<&Resume>) -> Result<Socket, Failed> {
        let url = match resume {
            Some(resume) => resume.url.clone(),
            None => {
                let told = self.call(reqwest::Method::GET, "/gateway/bot", None).await?;
                let left = told["session_start_limit"]["remaining"].as_u64().unwrap_or(1);
                if left == 0 {
                    // One more would have the token taken away.
                    let ms = told["session_start_limit"]["reset_after"].as_u64().unwrap_or(3_600_000);
                    return Err(Failed::Later(Duration::from_millis(ms)));
                }
                told["url"].as_str().unwrap_or_default().to_owned()
            }
        };
        let url = format!("{}/?v=10&encoding=json", url.trim_end_matches('/'));
        let connecting = tokio::time::timeout(http::PATIENCE, connect_async(&url)).await;
        let broken = |why: &str| Failed::Broken(format!("the gateway of discord: {why}"));
        let (socket, _) = connecting.map_err(|_| broken("no answer in time"))?.map_err(|_| broken("no connection"))?;
        Ok(socket)
    }

    /// One connection, until it ends. What is pressed is answered beside it: Discord hangs up on whoever is slow to say
    /// that they are alive.
    async fn hold_connection(
        &self,
        mut socket: Socket,
        resume: &mut Option<Resume>,
        seq: &mut Option<u64>,
        inbox: &Inbox,
        state: &dyn ChannelState,
        rest: &mut Duration,
    ) -> Over {
        let hello = tokio::time::timeout(http::PATIENCE, next(&mut socket)).await;
        let Ok(Ok(hello)) = hello else { return Over::Again };
        let every =
            Duration::from_millis(hello["d"]["heartbeat_interval"].as_u64().unwrap_or(45_000).clamp(10, 600_000));
        let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + every / 2, every);
        let mut answered = true;
        let mut taken: FuturesUnordered<Doing<'_, ()>> = FuturesUnordered::new();
        let begin = match (&*resume, &*seq) {
            (Some(Resume { session, .. }), Some(seq)) => {
                json!({ "op": 6, "d": { "token": self.token, "session_id": session, "seq": seq } })
            }
            _ => {
                let intents = MARKS | if self.commands { TYPED } else { 0 };
                let properties = json!({ "os": std::env::consts::OS, "browser": "guard", "device": "guard" });
                json!({ "op": 2, "d": { "token": self.token, "intents": intents, "properties": properties } })
            }
        };
        if say(&mut socket, &begin).await.is_err() {
            return Over::Again;
        }
        let over = loop {
            let event = tokio::select! {
                event = next(&mut socket), if taken.len() < PRESSES => match event {
                    Ok(event) => event,
                    Err(over) => break over,
                },
                Some(()) = taken.next() => continue,
                _ = beat.tick() => {
                    // A connection that is open on one side alone answers nothing.
                    if !answered || say(&mut socket, &json!({ "op": 1, "d": *seq })).await.is_err() {
                        let code = CloseFrame { code: 4000.into(), reason: "".into() };
                        let _ = tokio::time::timeout(Duration::from_secs(1), socket.close(Some(code))).await;
                        break Over::Again;
                    }
                    answered = false;
                    continue;
                }
            };
            if let Some(number) = event["s"].as_u64() {
                *seq = Some(number);
            }
            match event["op"].as_u64() {
                Some(1) => {
                    if say(&mut socket, &json!({ "op": 1, "d": *seq })).await.is_err() {
                        break Over::Again;
                    }
                }
                Some(7) => break Over::Again,
                Some(9) => break if event["d"] == true { Over::Again } else { Over::Anew },
                Some(11) => answered = true,
                Some(0) => match event["t"].as_str().unwrap_or_default() {
                    "READY" => {
                        let text = |name: &str| event["d"][name].as_str().unwrap_or_default().to_owned();
                        *resume = Some(Resume { session: text("session_id"), url: text("resume_gateway_url") });
                        *rest = Duration::from_secs(1);
                        state.status(&self.name, Status::Up);
                    }
                    "RESUMED" => {
                        *rest = Duration::from_secs(1);
                        state.status(&self.name, Status::Up);
                    }
                    "INTERACTION_CREATE" | "MESSAGE_CREATE" | "MESSAGE_REACTION_ADD" => {
                        taken.push(Box::pin(self.taken(event, inbox)));
                    }
                    _ => {}
                },
                _ => {}
            }
        };
        // What was taken is answered for whoever pressed, however the connection ended.
        let _ = tokio::time::timeout(PRESSED, taken.collect::<()>()).await;
        over
    }

    /// Something that a person did.
    async fn taken(&self, event: Value, inbox: &Inbox) {
        match event["t"].as_str().unwrap_or_default() {
            "INTERACTION_CREATE" => self.pressed(&event["d"], inbox).await,
            "MESSAGE_CREATE" => self.typed(&event["d"], inbox).await,
            _ => self.reacted(&event["d"], inbox).await,
        }
    }

    fn approver(&self, user: &str, chat: &str) -> Option<String> {
        let known = self.approvers.iter().find(|(_, id)| *id == user && chat == self.chat);
        known.map(|(name, _)| name.clone())
    }

    /// A button.
    async fn pressed(&self, event: &Value, inbox: &Inbox) {
        let Some((FromPlace { from, chat, did }, place)) = heard::discord_press(event) else { return };
        let told = match did {
            None => "this is not a button of guard".to_owned(),
            Some(did) => {
                let approver = self.approver(from, chat);
                match tokio::time::timeout(PRESSED, self.hand_in(approver, from, did, inbox)).await {
                    Ok(told) => told,
                    Err(_) => "guard needs more time; see the message for the result".to_owned(),
                }
            }
        };
        let body = json!({
            "type": 4,
            "data": { "content": cut(&told, 1900), "flags": EPHEMERAL, "allowed_mentions": { "parse": [] } },
        });
        let _ = self.call(reqwest::Method::POST, &place, Some(&body)).await;
    }

    /// A command that was typed.
    async fn typed(&self, message: &Value, inbox: &Inbox) {
        let heard = if self.commands { heard::discord_message(message) } else { None };
        let Some(FromPlace { from, chat, did: Some(did) }) = heard else { return };
        let told = self.hand_in(self.approver(from, chat), from, did, inbox).await;
        if chat.chars().all(|c| c.is_ascii_digit()) {
            let body = json!({ "content": cut(&told, 1900), "allowed_mentions": { "parse": [] } });
            let _ = self.call(reqwest::Method::POST, &format!("/channels/{chat}/messages"), Some(&body)).await;
        }
    }

    /// A mark on a message. One that is none of guard's is passed over without a word.
    async fn reacted(&self, event: &Value, inbox: &Inbox) {
        let Some(FromPlace { from, chat, did: Some(did) }) = heard::discord_reaction(event) else { return };
        let Did::Reacted { message, .. } = &did else { return };
        if chat != self.chat {
            return;
        }
        let message = message.clone();
        let approver = self.approver(from, chat);
        let is_stranger = approver.is_none();
        let told = self.hand_in(approver, from, did, inbox).await;
        if !told.is_empty() && (!is_stranger || self.is_first_refusal(from, &message)) {
            let body = json!({
                "content": cut(&told, 1900), "allowed_mentions": { "parse": [] },
                "message_reference": { "message_id": message, "fail_if_not_exists": false },
            });
            let _ = self.call(reqwest::Method::POST, &format!("/channels/{chat}/messages"), Some(&body)).await;
        }
    }

    /// Whether a stranger has not been told yet that a mark of theirs on this message does not count.
    fn is_first_refusal(&self, stranger: &str, message: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.len() < REFUSED && refused.insert((stranger.to_owned(), message.to_owned()))
    }

    async fn hand_in(&self, approver: Option<String>, user: &str, did: Did, inbox: &Inbox) -> String {
        let (reply, told) = oneshot::channel();
        let tap = Tap { channel: self.name.clone(), approver, from: user.to_owned(), did, reply };
        let lost = || "guard did not accept it; try again".to_owned();
        if inbox.send(tap).await.is_err() {
            return lost();
        }
        told.await.unwrap_or_else(|_| lost())
    }
}

async fn say(socket: &mut Socket, value: &Value) -> Result<(), ()> {
    let sending = socket.send(Message::text(value.to_string()));
    tokio::time::timeout(http::PATIENCE, sending).await.map_err(drop)?.map_err(drop)
}

/// The next event; what is no JSON is passed over.
async fn next(socket: &mut Socket) -> Result<Value, Over> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                if let Ok(value) = serde_json::from_str(text.as_str()) {
                    return Ok(value);
                }
            }
            Some(Ok(Message::Close(Some(frame)))) => {
                let code = u16::from(frame.code);
                return Err(match code {
                    _ if FINAL.contains(&code) => Over::Never(format!(
                        "discord closed the connection permanently ({code}: {})",
                        cut(&frame.reason, 100)
                    )),
                    // What it had sent is gone: an invalid number, or a session that timed out.
                    4007 | 4009 => Over::Anew,
                    _ => Over::Again,
                });
            }
            Some(Ok(Message::Close(None)) | Err(_)) | None => return Err(Over::Again),
            Some(Ok(_)) => {}
        }
    }
}

impl Channel for Discord {
    fn send<'a>(&'a self, card: &'a Card, own: &'a [Own]) -> Doing<'a, Result<String, Failed>> {
        Box::pin(async move {
            let body = json!({
                "content": text::card(card, Medium::Markdown, MOST), "allowed_mentions": { "parse": [] },
                "components": Self::rows(card, own),
            });
            let path = format!("/channels/{}/messages", self.chat);
            let sent = self.call(reqwest::Method::POST, &path, Some(&body)).await?;
            let id = sent["id"].as_str().filter(|id| id.chars().all(|c| c.is_ascii_digit()));
            id.map(str::to_owned).ok_or_else(|| Failed::Broken("discord returned no message ID".to_owned()))
        })
    }

    fn approvers(&self) -> Vec<String> {
        self.approvers.keys().cloned().collect()
    }

    fn tell<'a>(&'a self, text: &'a str) -> Doing<'a, Result<(), Failed>> {
        Box::pin(async move {
            let text = cut(&Medium::Markdown.escape(text), 1900);
            let body = json!({ "content": text, "allowed_mentions": { "parse": [] } });
            self.call(reqwest::Method::POST, &format!("/channels/{}/messages", self.chat), Some(&body)).await.map(drop)
        })
    }

    fn close<'a>(&'a self, message: &'a str, card: &'a Card, text: &'a str) -> Doing<'a, Result<(), Failed>> {
        Box::pin(async move {
            let ended = Medium::Markdown.escape(&cut(text, 200));
            let card = Card { bar: None, link: None, ..card.clone() };
            let text = format!("{}\n**{ended}**", text::card(&card, Medium::Markdown, MOST - 200));
            let body = json!({ "content": text, "allowed_mentions": { "parse": [] }, "components": [] });
            let path = format!("/channels/{}/messages/{message}", self.chat);
            self.call(reqwest::Method::PATCH, &path, Some(&body)).await.map(drop)
        })
    }

    fn offers_yes(&self, card: &Card) -> bool {
        card.offers_yes(MOST)
    }

    fn receive(self: Arc<Self>, inbox: Inbox, state: Arc<dyn ChannelState>) -> Option<Doing<'static, ()>> {
        Some(Box::pin(async move { self.listen(inbox, state).await }))
    }

    fn hears(&self, alone: bool) -> Option<Doing<'_, Result<(), Failed>>> {
        Some(Box::pin(async move {
            if !alone {
                return self.call(reqwest::Method::GET, "/gateway/bot", None).await.map(drop);
            }
            // A connection that does not say who it is gets no events.
            let mut socket = self.connect(None).await?;
            let hello = tokio::time::timeout(http::PATIENCE, next(&mut socket)).await;
            let _ = tokio::time::timeout(Duration::from_secs(1), socket.close(None)).await;
            match hello {
                Ok(Ok(hello)) if hello["op"] == 10 => Ok(()),
                _ => Err(Failed::Broken("the gateway of discord sent no hello".to_owned())),
            }
        }))
    }
}
