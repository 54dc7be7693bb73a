//! Tests Slack with a server that implements its HTTP API and its socket mode, including dropped connections, strangers
//! and late presses.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{ReceivedRequest, Server};
use super::socket::{Reply, SocketCommand, SocketEvent, SocketServer};
use crate::test_gateway::{TestGateway, until};

const MEDIUM: &str = "npm install left-pad-of-somebody";
const CHAT: &str = "C024BE91L";
const ADA: &str = "U061F7AUR";

pub struct Bot {
    pub server: Server,
    socket: SocketServer,
    /// The messages of the client, and the number of its connections.
    said: Arc<Mutex<(Vec<Value>, usize)>>,
}

impl Bot {
    pub fn new() -> Self {
        let said: Arc<Mutex<(Vec<Value>, usize)>> = Arc::default();
        let heard = said.clone();
        let socket = SocketServer::new(move |_, what| match what {
            SocketEvent::Opened => {
                heard.lock().unwrap().1 += 1;
                Reply { say: Some(json!({ "type": "hello", "num_connections": 1 })), ready: true }
            }
            SocketEvent::Said(said) => {
                heard.lock().unwrap().0.push(said);
                Reply::default()
            }
        });
        let port = socket.port;
        let mut sent = 0;
        let answer = move |asked: &ReceivedRequest| {
            let app = asked.path == "/apps.connections.open";
            let token = if app { "Bearer xapp-1" } else { "Bearer xoxb-1" };
            assert!(asked.head.contains(token), "{}", asked.head);
            sent += 1;
            let told = if app {
                json!({ "ok": true, "url": format!("ws://127.0.0.1:{port}/link") })
            } else {
                json!({ "ok": true, "channel": CHAT, "ts": format!("1700000000.{sent:06}") })
            };
            Some((200, told.to_string()))
        };
        Self { server: Server::new(answer), socket, said }
    }

    pub fn gateway(&self) -> TestGateway {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap().keep();
        for (name, text) in [("bot", "xoxb-1\n"), ("app", "xapp-1\n")] {
            std::fs::write(directory.join(name), text).unwrap();
            std::fs::set_permissions(directory.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let (url, directory) = (self.server.url(), directory.display());
        TestGateway::new(&format!(
            "[[channel]]\nname = \"sl\"\nkind = \"slack\"\nurl = \"{url}\"\nchat = \"{CHAT}\"\n\
             token = {{ file = \"{directory}/bot\" }}\napp_token = {{ file = \"{directory}/app\" }}\n\
             approvers = {{ ada = \"{ADA}\" }}\n"
        ))
    }

    fn button(&self, code: &str) -> String {
        let mut found = None;
        until(|| {
            found = self.server.asked("/chat.postMessage").last().and_then(|card| {
                let row = card.body["blocks"][1]["elements"].as_array()?.clone();
                let mut values = row.into_iter().filter_map(|one| one["value"].as_str().map(str::to_owned));
                values.find(|value| value.starts_with(&format!("{code}:")))
            });
            found.is_some()
        });
        found.unwrap()
    }

    fn connections(&self) -> usize {
        self.said.lock().unwrap().1
    }

    /// Sends a message, or closes the connection.
    fn tell(&self, what: Option<Value>) {
        let Some(value) = what else { return self.socket.act(&SocketCommand::Drop) };
        // Invalid JSON in between is ignored.
        self.socket.act(&SocketCommand::Send("{\"type\":".to_owned()));
        self.socket.act(&SocketCommand::Send(value.to_string()));
    }

    /// Presses a button, and returns the response to the user.
    fn press(&self, envelope: &str, user: &str, value: &str) -> String {
        let before = self.server.asked("/chat.postEphemeral").len();
        self.tell(Some(json!({
            "envelope_id": envelope, "type": "interactive", "accepts_response_payload": true,
            "payload": {
                "type": "block_actions", "user": { "id": user }, "channel": { "id": CHAT },
                "actions": [{ "action_id": "x", "value": value }],
            },
        })));
        until(|| self.server.asked("/chat.postEphemeral").len() > before);
        // The envelope is acknowledged at once.
        until(|| self.said.lock().unwrap().0.contains(&json!({ "envelope_id": envelope })));
        let last = self.server.asked("/chat.postEphemeral").pop().unwrap();
        assert_eq!(last.body["user"], user);
        last.body["text"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_tap_in_slack_lets_it_run_and_the_message_says_so() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    assert_eq!(bot.press("e1", ADA, &yes), "approved");
    assert!(agent.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
    until(|| !bot.server.asked("/chat.update").is_empty());
    let update = bot.server.asked("/chat.update").pop().unwrap();
    assert!(
        update.text.contains("approved") && update.body["blocks"].as_array().unwrap().len() == 1,
        "{}",
        update.text
    );
    // A repeated late press is answered with the decision, and nothing else happens.
    let again = bot.press("e1", ADA, &yes);
    assert!(again.contains("approved"), "{again}");
    assert_eq!(gateway.ran(), 1);
}

#[test]
fn strangers_and_made_up_buttons_answer_nothing_and_a_lost_connection_is_opened_anew() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    assert!(bot.press("e1", "UEVE", &yes).contains("not an approver"));
    assert!(bot.press("e2", ADA, "a:made-up").contains("not a button of guard"));
    assert!(bot.press("e3", ADA, "nonsense").contains("not a button of guard"));
    assert_eq!(gateway.ran(), 0);
    let log = gateway.program(crate::test_gateway::guard()).args(["log"]).output().unwrap();
    assert!(!log.stdout.is_empty());
    let before = bot.connections();
    bot.tell(Some(json!({ "type": "disconnect", "reason": "refresh_requested" })));
    until(|| bot.connections() > before);
    let before = bot.connections();
    bot.tell(None);
    until(|| bot.connections() > before);
    let no = bot.button("d");
    assert_eq!(bot.press("e4", ADA, &no), "denied");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
}

#[test]
fn a_made_up_yes_to_a_card_that_is_cut_is_none() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent(&format!("npm install {} package-of-the-end", "left-pad-of-somebody ".repeat(250)));
    let no = bot.button("d");
    let card = bot.server.asked("/chat.postMessage").pop().unwrap();
    assert!(!card.text.contains("\"a:"), "{}", card.text);
    let told = bot.press("e1", ADA, &no.replacen('d', "a", 1));
    assert!(told.contains("does not show the whole command"), "{told}");
    assert!(agent.try_wait().unwrap().is_none());
    assert_eq!(bot.press("e2", ADA, &no), "denied");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    assert_eq!(gateway.ran(), 0);
}

#[test]
fn a_channel_that_wants_to_be_left_alone_is_passed_over() {
    let bot = Bot::new();
    bot.server.fail("/chat.postMessage", 429, "{\"ok\":false,\"error\":\"ratelimited\"}");
    let gateway = bot.gateway();
    let mut agent = gateway.agent(MEDIUM);
    until(|| {
        let status = gateway.get("/v1/status", &gateway.person);
        status.body["channels"]["sl"]["why"].as_str().is_some_and(|why| why.contains("again in"))
    });
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
}
