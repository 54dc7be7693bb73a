//! Tests Discord with a server that implements its HTTP API and its gateway, including resumed, dropped and half-open
//! connections.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::server::{ReceivedRequest, Server};
use super::socket::{Reply, SocketCommand, SocketEvent, SocketServer};
use crate::test_gateway::{TestGateway, until};

const MEDIUM: &str = "npm install left-pad-of-somebody";
const CHAT: &str = "900";
const ADA: &str = "80351110224678912";

pub struct Bot {
    pub server: Server,
    /// The first message of the client on each connection.
    begun: Mutex<Receiver<Value>>,
    socket: SocketServer,
}

impl Bot {
    /// Starts a server whose gateway requires a heartbeat at this interval, in milliseconds.
    pub fn new(heartbeat: u64) -> Self {
        let (say, begun) = channel();
        let socket = SocketServer::new(move |port, heard| {
            let SocketEvent::Said(said) = heard else {
                let hello = json!({ "op": 10, "d": { "heartbeat_interval": heartbeat } });
                return Reply { say: Some(hello), ready: false };
            };
            let answer = match said["op"].as_u64() {
                Some(1) => return Reply { say: Some(json!({ "op": 11 })), ready: false },
                Some(2) => json!({ "op": 0, "t": "READY", "s": 1, "d": {
                    "session_id": "s1", "resume_gateway_url": format!("ws://127.0.0.1:{port}"),
                }}),
                Some(6) => json!({ "op": 0, "t": "RESUMED", "s": 5, "d": {} }),
                other => panic!("op {other:?}"),
            };
            say.send(said).unwrap();
            Reply { say: Some(answer), ready: true }
        });
        let port = socket.port;
        let mut sent = 70;
        let answer = move |asked: &ReceivedRequest| {
            assert!(asked.head.contains("Bot abc"), "{}", asked.head);
            let told = if asked.path == "/gateway/bot" {
                json!({ "url": format!("ws://127.0.0.1:{port}"), "session_start_limit": { "remaining": 900 } })
            } else {
                sent += 1;
                json!({ "id": sent.to_string() })
            };
            Some((200, told.to_string()))
        };
        Self { server: Server::new(answer), begun: Mutex::new(begun), socket }
    }

    pub fn gateway(&self, more: &str) -> TestGateway {
        use std::os::unix::fs::PermissionsExt as _;
        let secret = tempfile::tempdir().unwrap().keep().join("token");
        std::fs::write(&secret, "abc\n").unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        TestGateway::new(&format!(
            "[[channel]]\nname = \"dc\"\nkind = \"discord\"\nurl = \"{}\"\nchat = \"{CHAT}\"\n{more}\n\
             token = {{ file = \"{}\" }}\napprovers = {{ ada = \"{ADA}\" }}\n",
            self.server.url(),
            secret.display()
        ))
    }

    fn begun(&self) -> Value {
        self.begun.lock().unwrap().recv_timeout(Duration::from_secs(20)).unwrap()
    }

    fn cards(&self) -> Vec<ReceivedRequest> {
        let all = self.server.asked(&format!("/channels/{CHAT}/messages"));
        all.into_iter().filter(|asked| asked.body["components"].is_array()).collect()
    }

    fn button(&self, code: &str) -> String {
        let mut found = None;
        until(|| {
            found = self.cards().last().and_then(|card| {
                let row = card.body["components"][0]["components"].as_array().unwrap().clone();
                let mut ids = row.into_iter().filter_map(|one| one["custom_id"].as_str().map(str::to_owned));
                ids.find(|id| id.starts_with(&format!("{code}:")))
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// Presses a button, and returns the response to the user.
    fn press(&self, seq: u64, user: &str, data: &str) -> String {
        let before = self.server.asked("/callback").len();
        self.socket.act(&SocketCommand::Send(
            json!({ "op": 0, "t": "INTERACTION_CREATE", "s": seq, "d": {
                "id": format!("i{seq}"), "token": "tok", "type": 3, "channel_id": CHAT,
                "member": { "user": { "id": user } }, "data": { "component_type": 2, "custom_id": data },
            }})
            .to_string(),
        ));
        until(|| self.server.asked("/callback").len() > before);
        let last = self.server.asked("/callback").pop().unwrap();
        assert_eq!(last.path, format!("/interactions/i{seq}/tok/callback"));
        assert_eq!(last.body["data"]["flags"], 64);
        last.body["data"]["content"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_button_answers_and_a_stranger_does_not() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("");
    let begun = bot.begun();
    assert_eq!((&begun["op"], &begun["d"]["intents"]), (&json!(2), &json!((1 << 10) | (1 << 13))), "{begun}");
    let mut agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    let card = bot.cards().pop().unwrap();
    assert_eq!(card.body["allowed_mentions"], json!({ "parse": [] }));
    assert!(bot.press(2, "1", &yes).contains("not an approver"));
    assert!(agent.try_wait().unwrap().is_none());
    assert_eq!(bot.press(3, ADA, &yes), "approved");
    assert!(agent.wait().unwrap().success());
    until(|| bot.server.asked("/messages/71").iter().any(|asked| asked.method == "PATCH"));
    let edit = bot.server.asked("/messages/71").pop().unwrap();
    assert_eq!(edit.body["components"], json!([]));
    assert!(edit.body["content"].as_str().unwrap().contains("by ada"), "{}", edit.text);
    assert!(bot.press(4, ADA, &yes).contains("approved"), "pressed again");
}

fn mark(seq: u64, user: &str, (chat, message): (&str, &str), emoji: &Value) -> SocketCommand {
    let event = json!({ "user_id": user, "channel_id": chat, "message_id": message, "guild_id": "1", "emoji": emoji,
        "member": { "user": { "id": user } } });
    SocketCommand::Send(json!({ "op": 0, "t": "MESSAGE_REACTION_ADD", "s": seq, "d": event }).to_string())
}

#[test]
fn a_mark_on_the_card_answers_and_a_mark_on_anything_else_does_not() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    let mut agent = gateway.agent(MEDIUM);
    bot.button("a");
    let (check, cross) = (json!({ "id": null, "name": "\u{2705}" }), json!({ "id": null, "name": "\u{274C}" }));
    let own = json!({ "id": "41771983429993937", "name": "\u{2705}" });
    let card = (CHAT, "71");
    let said = || bot.server.asked(&format!("/channels/{CHAT}/messages"));
    let refused = || said().iter().filter(|asked| asked.text.contains("not an approver")).count();
    // A reaction finds the card as soon as the ID of its message is stored.
    until(|| {
        bot.socket.act(&mark(2, "1", card, &check));
        std::thread::sleep(Duration::from_millis(100));
        refused() > 0
    });
    until(|| {
        let before = refused();
        std::thread::sleep(Duration::from_millis(500));
        refused() == before
    });
    let before = said().len();
    // A reaction to another message, in another channel, with another emoji or with a custom emoji, and an event that
    // is not a reaction.
    for step in [
        mark(3, ADA, (CHAT, "70"), &check),
        mark(4, "2", (CHAT, "70"), &check),
        mark(5, "1", card, &check),
        mark(5, "1", card, &cross),
        mark(5, ADA, ("901", "71"), &check),
        mark(6, ADA, card, &json!({ "id": null, "name": "\u{1F44D}" })),
        mark(7, ADA, card, &own),
        mark(8, ADA, (CHAT, "71/../72"), &check),
        mark(9, ADA, card, &json!("x")),
        SocketCommand::Send(json!({ "op": 0, "t": "MESSAGE_REACTION_ADD", "s": 10, "d": [] }).to_string()),
        mark(11, "2", card, &check),
    ] {
        bot.socket.act(&step);
    }
    until(|| said().len() > before);
    assert!(agent.try_wait().unwrap().is_none());
    assert_eq!(said().len(), before + 1, "one word to each stranger: {:?}", said());
    bot.socket.act(&mark(12, ADA, card, &check));
    assert!(agent.wait().unwrap().success());
    until(|| said().len() == before + 2);
    let reply = said().pop().unwrap();
    assert_eq!(
        (&reply.body["content"], &reply.body["message_reference"]["message_id"]),
        (&json!("approved"), &json!("71"))
    );
    // The opposite reaction changes nothing, and the reply shows the decision.
    bot.socket.act(&mark(13, ADA, card, &cross));
    until(|| said().len() == before + 3);
    assert!(said().pop().unwrap().text.contains("approved"), "{:?}", said().pop());
}

#[test]
fn where_a_yes_must_be_signed_a_mark_is_none() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    let mut agent = gateway.agent("git push --force origin main");
    bot.button("d");
    let said = || bot.server.asked(&format!("/channels/{CHAT}/messages"));
    until(|| {
        bot.socket.act(&mark(2, ADA, (CHAT, "71"), &json!({ "id": null, "name": "\u{2705}" })));
        std::thread::sleep(Duration::from_millis(100));
        said().iter().any(|asked| asked.text.contains("unsigned_tier"))
    });
    assert!(agent.try_wait().unwrap().is_none());
    until(|| {
        bot.socket.act(&mark(3, ADA, (CHAT, "71"), &json!({ "id": null, "name": "\u{274C}" })));
        std::thread::sleep(Duration::from_millis(100));
        agent.try_wait().unwrap().is_some()
    });
}

#[test]
fn a_cross_on_the_card_is_a_no() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    let mut agent = gateway.agent(MEDIUM);
    bot.button("a");
    let mut ended = None;
    until(|| {
        bot.socket.act(&mark(2, ADA, (CHAT, "71"), &json!({ "id": null, "name": "\u{274C}" })));
        std::thread::sleep(Duration::from_millis(100));
        ended = agent.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(126));
}

#[test]
fn a_connection_that_breaks_off_is_taken_up_where_it_was() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    let mut agent = gateway.agent(MEDIUM);
    let no = bot.button("d");
    bot.socket.act(&SocketCommand::Send(json!({ "op": 0, "t": "SOMETHING_NEW", "s": 4, "d": {} }).to_string()));
    bot.socket.act(&SocketCommand::Drop);
    let resumed = bot.begun();
    assert_eq!(
        (&resumed["op"], &resumed["d"]["session_id"], &resumed["d"]["seq"]),
        (&json!(6), &json!("s1"), &json!(4))
    );
    // A button that was pressed during the interruption is delivered after the resume.
    assert_eq!(bot.press(6, ADA, &no), "denied");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    // The server requests a reconnect, and then reports that the session is gone.
    bot.socket.act(&SocketCommand::Send(json!({ "op": 7, "d": null }).to_string()));
    assert_eq!(bot.begun()["op"], 6);
    bot.socket.act(&SocketCommand::Send(json!({ "op": 9, "d": false }).to_string()));
    assert_eq!(bot.begun()["op"], 2);
}

#[test]
fn a_connection_that_is_open_on_one_side_alone_is_given_up() {
    let bot = Bot::new(200);
    let _gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    bot.socket.act(&SocketCommand::Deafen);
    assert_eq!(bot.begun()["op"], 6);
}

#[test]
fn a_connection_over_which_anything_comes_is_kept() {
    let bot = Bot::new(1000);
    let _gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    bot.socket.act(&SocketCommand::Deafen);
    for seq in 2..42 {
        bot.socket.act(&SocketCommand::Send(json!({ "op": 0, "t": "SOMETHING_NEW", "s": seq, "d": {} }).to_string()));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(bot.begun.lock().unwrap().try_recv().is_err(), "it was not opened anew");
    assert_eq!(bot.begun()["op"], 6, "and is when nothing comes any more");
}

#[test]
fn what_is_typed_counts_where_the_configuration_says_so() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("commands = true");
    assert_eq!(bot.begun()["d"]["intents"], (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13) | (1 << 15));
    let mut agent = gateway.agent(MEDIUM);
    let request = gateway.waiting()["id"].as_str().unwrap().to_owned();
    let message = |seq: u64, user: &str| {
        json!({ "op": 0, "t": "MESSAGE_CREATE", "s": seq, "d": {
            "author": { "id": user }, "channel_id": CHAT, "content": format!("!deny {request} not now"),
        }})
    };
    bot.socket.act(&SocketCommand::Send(message(2, "5").to_string()));
    let all = || bot.server.asked(&format!("/channels/{CHAT}/messages"));
    until(|| all().iter().any(|asked| asked.text.contains("not an approver")));
    assert!(agent.try_wait().unwrap().is_none());
    bot.socket.act(&SocketCommand::Send(message(3, ADA).to_string()));
    assert_eq!(agent.wait().unwrap().code(), Some(126));
}

#[test]
fn a_mark_says_yes_only_to_what_the_message_shows_whole() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    let mut agent = gateway.agent(&format!("npm install {} package-of-the-end", "left-pad-of-somebody ".repeat(90)));
    until(|| bot.cards().len() == 1);
    assert!(!bot.cards()[0].text.contains("Approve"), "{}", bot.cards()[0].text);
    let said = || bot.server.asked(&format!("/channels/{CHAT}/messages"));
    until(|| {
        bot.socket.act(&mark(2, ADA, (CHAT, "71"), &json!({ "id": null, "name": "\u{2705}" })));
        std::thread::sleep(Duration::from_millis(100));
        said().iter().any(|asked| asked.text.contains("does not show the whole command"))
    });
    assert_eq!(gateway.waiting()["status"], "pending");
    assert_eq!(bot.press(3, ADA, &bot.button("d")), "denied");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    assert_eq!(gateway.ran(), 0);
}

#[test]
fn a_typed_yes_counts_only_where_the_card_offers_one() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("commands = true");
    assert_eq!(bot.begun()["op"], 2);
    let typed = |seq: u64, request: &str| {
        bot.socket.act(&SocketCommand::Send(
            json!({ "op": 0, "t": "MESSAGE_CREATE", "s": seq, "d": {
                "author": { "id": ADA }, "channel_id": CHAT, "content": format!("!approve {request}"),
            }})
            .to_string(),
        ));
    };
    let said = || bot.server.asked(&format!("/channels/{CHAT}/messages"));
    let mut cut = gateway.agent(&format!("npm install {} package-of-the-end", "left-pad-of-somebody ".repeat(90)));
    let no = bot.button("d");
    typed(2, gateway.waiting()["id"].as_str().unwrap());
    until(|| said().iter().any(|asked| asked.text.contains("does not show the whole command")));
    assert!(bot.press(3, ADA, &no.replacen('d', "a", 1)).contains("does not show the whole command"));
    assert!(cut.try_wait().unwrap().is_none());
    assert_eq!(bot.press(4, ADA, &no), "denied");
    assert_eq!(cut.wait().unwrap().code(), Some(126));
    let mut whole = gateway.agent(MEDIUM);
    until(|| bot.cards().len() == 2);
    typed(5, gateway.waiting()["id"].as_str().unwrap());
    assert!(whole.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
}

#[test]
fn a_press_counts_though_its_interaction_has_expired() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("");
    assert_eq!(bot.begun()["op"], 2);
    let mut agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    // Discord has waited too long for the response to the interaction, and no longer accepts one.
    bot.server.fail("/callback", 404, r#"{"message":"Unknown interaction","code":10062}"#);
    bot.press(2, ADA, &yes);
    assert!(agent.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
    until(|| bot.server.asked("/messages/71").iter().any(|asked| asked.method == "PATCH"));
    // The next press is received and answered on the same connection.
    let mut agent = gateway.agent(MEDIUM);
    until(|| bot.cards().len() == 2);
    assert_eq!(bot.press(3, ADA, &bot.button("d")), "denied");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    let status = gateway.get("/v1/status", &gateway.person);
    assert_eq!(status.body["channels"]["dc"]["state"], "up", "{}", status.text);
}

#[test]
fn what_is_no_event_is_passed_over() {
    let bot = Bot::new(45_000);
    let gateway = bot.gateway("commands = true");
    assert_eq!(bot.begun()["op"], 2);
    let mut agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    for text in [
        "{ this is no JSON",
        "",
        "null",
        "[]",
        "\"INTERACTION_CREATE\"",
        r#"{"op":0}"#,
        r#"{"op":"0","t":"INTERACTION_CREATE","s":2,"d":{}}"#,
        r#"{"op":0,"t":"INTERACTION_CREATE","s":"2","d":null}"#,
        r#"{"op":0,"t":"INTERACTION_CREATE","s":2,"d":{"data":{"custom_id":["a:x"]}}}"#,
        r#"{"op":0,"t":"MESSAGE_CREATE","s":2,"d":{"content":7}}"#,
        r#"{"op":0,"t":"MESSAGE_REACTION_ADD","s":2,"d":{"emoji":[]}}"#,
        r#"{"op":0,"t":{},"s":-1,"d":{}}"#,
    ] {
        bot.socket.act(&SocketCommand::Send(text.to_owned()));
    }
    assert!(agent.try_wait().unwrap().is_none(), "nothing was answered");
    assert_eq!(bot.press(3, ADA, &yes), "approved");
    assert!(agent.wait().unwrap().success());
}
