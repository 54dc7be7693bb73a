//! Tests Telegram with a server that implements the Bot API, including its faults.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::server::{ReceivedRequest, Server};
use crate::test_gateway::{TestGateway, until};

const MEDIUM: &str = "npm install left-pad-of-somebody";

/// The server of a bot: pending updates and sent messages.
pub struct Bot {
    pub server: Server,
    updates: Arc<Mutex<Vec<Value>>>,
}

pub const CHAT: i64 = 500;
pub const ADA: i64 = 7;

impl Bot {
    pub fn new() -> Self {
        let updates: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (waiting, mut sent) = (updates.clone(), 41);
        let answer = move |asked: &ReceivedRequest| {
            let method = asked.path.rsplit('/').next().unwrap_or_default();
            assert!(asked.path.starts_with("/bot123:abc/"), "{}", asked.path);
            let result = match method {
                "getUpdates" => {
                    let offset = asked.body["offset"].as_i64().unwrap_or(0);
                    let fresh = || -> Vec<Value> {
                        let all = waiting.lock().unwrap();
                        all.iter().filter(|one| one["update_id"].as_i64().unwrap() >= offset).cloned().collect()
                    };
                    let mut found = fresh();
                    for _ in 0..20 {
                        if !found.is_empty() {
                            break;
                        }
                        std::thread::sleep(Duration::from_millis(10));
                        found = fresh();
                    }
                    json!(found)
                }
                "sendMessage" => {
                    sent += 1;
                    json!({ "message_id": sent, "chat": { "id": CHAT }, "date": 0 })
                }
                _ => json!(true),
            };
            Some((200, json!({ "ok": true, "result": result }).to_string()))
        };
        Self { server: Server::new(answer), updates }
    }

    pub fn gateway(&self) -> TestGateway {
        self.gateway_with("")
    }

    fn gateway_with(&self, more: &str) -> TestGateway {
        let directory = tempfile::tempdir().unwrap().keep();
        let secret = directory.join("token");
        std::fs::write(&secret, "123:abc\n").unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        TestGateway::new(&format!(
            "{more}\n[[channel]]\nname = \"tg\"\nkind = \"telegram\"\nurl = \"{}\"\nchat = {CHAT}\n\
             token = {{ file = \"{}\" }}\napprovers = {{ ada = {ADA} }}\n",
            self.server.url(),
            secret.display()
        ))
    }

    /// Returns the sent cards.
    pub fn cards(&self) -> Vec<ReceivedRequest> {
        let all = self.server.asked("/sendMessage");
        all.into_iter().filter(|asked| asked.body["reply_markup"].is_object()).collect()
    }

    /// Returns the payload of the button with this prefix on the last card.
    pub fn button(&self, code: &str) -> String {
        let mut found = None;
        until(|| {
            found = self.cards().last().and_then(|card| {
                let rows = card.body["reply_markup"]["inline_keyboard"].as_array().unwrap().clone();
                let all = rows.into_iter().flat_map(|row| row.as_array().unwrap().clone());
                let mut data = all.filter_map(|one| one["callback_data"].as_str().map(str::to_owned));
                data.find(|data| data.starts_with(&format!("{code}:")))
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// Queues a button press, whether the gateway reads it or not, and returns the number of the update.
    pub fn pressed(&self, from: i64, chat: i64, data: &str) -> i64 {
        let mut updates = self.updates.lock().unwrap();
        let id = 1000 + i64::try_from(updates.len()).unwrap();
        updates.push(json!({ "update_id": id, "callback_query": {
            "id": format!("cb{id}"), "from": { "id": from, "is_bot": false }, "data": data,
            "message": { "message_id": 42, "chat": { "id": chat } },
        }}));
        id
    }

    /// Queues a text message to the bot.
    pub fn write(&self, from: i64, chat: i64, text: &str) {
        let mut updates = self.updates.lock().unwrap();
        let id = 1000 + i64::try_from(updates.len()).unwrap();
        updates.push(json!({ "update_id": id, "message": {
            "message_id": id, "from": { "id": from, "is_bot": false }, "chat": { "id": chat }, "text": text,
        }}));
    }

    /// Presses a button, and returns the response to the user.
    pub fn press(&self, from: i64, chat: i64, data: &str) -> String {
        let before = self.server.asked("/answerCallbackQuery").len();
        let id = self.pressed(from, chat, data);
        until(|| self.server.asked("/answerCallbackQuery").len() > before);
        let last = self.server.asked("/answerCallbackQuery").pop().unwrap();
        assert_eq!(last.body["callback_query_id"], format!("cb{id}"));
        last.body["text"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_button_answers_once_and_the_message_says_how_it_ended() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    assert!(yes.len() <= 64, "{yes}");
    let card = bot.cards().pop().unwrap();
    assert_eq!((card.body["chat_id"].as_i64(), card.body["parse_mode"].as_str()), (Some(CHAT), Some("HTML")));
    assert!(card.body["text"].as_str().unwrap().contains(&format!("<pre>{MEDIUM}</pre>")), "{}", card.text);
    assert_eq!(bot.press(ADA, CHAT, &yes), "approved");
    assert!(agent.wait_with_output().unwrap().status.success());
    assert_eq!(gateway.ran(), 1);
    until(|| !bot.server.asked("/editMessageText").is_empty());
    let edit = bot.server.asked("/editMessageText").pop().unwrap();
    let text = edit.body["text"].as_str().unwrap();
    assert!(text.contains("approved") && text.contains("by ada (tg)"), "{text}");
    assert_eq!(edit.body["reply_markup"], json!({ "inline_keyboard": [] }));
    // The same button again, and the opposite one too late: nothing is answered twice.
    assert!(bot.press(ADA, CHAT, &yes).contains("approved"));
    let told = bot.press(ADA, CHAT, &yes.replacen('a', "d", 1));
    assert!(told.contains("approved") && told.contains("ada"), "{told}");
    let record = rusqlite::Connection::open(gateway.path("home/.local/share/guard/guard.db")).unwrap();
    let count = |kind: &str| -> i64 {
        record.query_row("SELECT count(*) FROM record WHERE kind = ?1", [kind], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("answered"), count("taken")), (1, 1));
}

#[test]
fn a_stranger_is_refused_told_and_in_the_record() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    for (from, chat) in [(8, CHAT), (ADA, CHAT + 1)] {
        assert!(bot.press(from, chat, &yes).contains("not an approver"));
    }
    assert_eq!(bot.press(ADA, CHAT, "a:aaaaaaaaaaaaaaaaaaaaaaaaaa"), "this is not a button of guard");
    assert_eq!(bot.press(ADA, CHAT, "nonsense"), "this is not a button of guard");
    assert!(agent.try_wait().unwrap().is_none(), "it still waits");
    let log = gateway.program(crate::test_gateway::guard()).args(["log", "--json"]).output().unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    assert_eq!(log.matches("a stranger on tg").count(), 2, "{log}");
    // A denial with the message of a button, which the agent receives.
    let no = bot.button("r1");
    assert_eq!(bot.press(ADA, CHAT, &no), "denied");
    let output = agent.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(126) && said.contains("show me first"), "{said}");
}

#[test]
fn what_is_typed_counts_as_much_as_a_button() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let agent = gateway.agent(MEDIUM);
    bot.button("a");
    let request = gateway.waiting()["id"].as_str().unwrap().to_owned();
    bot.updates.lock().unwrap().push(json!({ "update_id": 1000, "message": {
        "from": { "id": ADA }, "chat": { "id": CHAT }, "text": format!("/deny {} not on a Friday", request.to_uppercase()),
    }}));
    let output = agent.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(126) && said.contains("not on a Friday"), "{said}");
}

#[test]
fn a_button_of_another_approver_is_refused_and_in_the_record() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    let text = std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    gateway.write_config(&text.replace("{ ada = 7 }", "{ ada = 7, bob = 9 }"));
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let mut agent = gateway.agent(MEDIUM);
    let of_ada = bot.button("a");
    let rows = bot.cards().pop().unwrap().body["reply_markup"]["inline_keyboard"].clone();
    let all = rows.as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap().clone());
    let of = |label: &str| {
        let found = all.clone().find(|one| one["text"] == label);
        found.unwrap()["callback_data"].as_str().unwrap().to_owned()
    };
    assert_eq!(of("✅ Approve (ada)"), of_ada);
    let of_bob = of("✅ Approve (bob)");
    assert_ne!(of_ada, of_bob);
    for data in [&of_ada, &of("❌ Deny (ada)")] {
        assert_eq!(bot.press(9, CHAT, data), "this button is for ada; use your own");
    }
    assert_eq!(bot.press(ADA, CHAT, &of_bob), "this button is for bob; use your own");
    assert!(agent.try_wait().unwrap().is_none(), "it still waits");
    let log = gateway.program(crate::test_gateway::guard()).args(["log", "--json"]).output().unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    assert_eq!(log.matches("bob on tg pressed a button of ada").count(), 2, "{log}");
    assert_eq!(bot.press(9, CHAT, &of_bob), "approved");
    assert!(agent.wait().unwrap().success());
    let told = bot.press(9, CHAT, &of_bob);
    assert!(told.starts_with("approved") && told.contains("by bob (tg)"), "{told}");
    // The button of the other approver was not used, and no longer has an effect.
    let told = bot.press(ADA, CHAT, &of_ada);
    assert!(told.contains("approved") && told.contains("by bob"), "{told}");
    assert_eq!(gateway.ran(), 1);
}

#[test]
fn a_typed_yes_counts_only_where_the_card_offers_one() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let typed = |number: i64, text: String| {
        let before = bot.server.asked("/sendMessage").len();
        let message = json!({ "from": { "id": ADA }, "chat": { "id": CHAT }, "text": text });
        bot.updates.lock().unwrap().push(json!({ "update_id": number, "message": message }));
        until(|| bot.server.asked("/sendMessage").len() > before);
        bot.server.asked("/sendMessage").pop().unwrap().body["text"].as_str().unwrap().to_owned()
    };
    let mut cut = gateway.agent(&format!("npm install {} package-of-the-end", "left-pad-of-somebody ".repeat(250)));
    let no = bot.button("d");
    let request = gateway.waiting()["id"].as_str().unwrap().to_owned();
    let told = typed(1000, format!("/approve {request}"));
    assert!(told.contains("does not show the whole command"), "{told}");
    // Nor does an approval that is forged from the button for a denial.
    let told = bot.press(ADA, CHAT, &no.replacen('d', "a", 1));
    assert!(told.contains("does not show the whole command"), "{told}");
    assert!(cut.try_wait().unwrap().is_none());
    assert_eq!(typed(1002, format!("/deny {request} too long")), "denied");
    assert_eq!(cut.wait().unwrap().code(), Some(126));
    let mut whole = gateway.agent(MEDIUM);
    bot.button("a");
    let request = gateway.waiting()["id"].as_str().unwrap().to_owned();
    assert_eq!(typed(1003, "/approve".to_owned()), "usage: /approve ID, or /deny ID REASON");
    assert_eq!(typed(1004, format!("/approve {request}")), "approved");
    assert!(whole.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
}

#[test]
fn what_no_card_here_shows_is_not_approved_by_typing_its_name() {
    let bot = Bot::new();
    let gateway = bot.gateway_with("[[route]]\nchannels = []\n");
    let mut agent = gateway.agent(MEDIUM);
    let request = gateway.waiting()["id"].as_str().unwrap().to_owned();
    let message = json!({ "from": { "id": ADA }, "chat": { "id": CHAT }, "text": format!("/approve {request}") });
    bot.updates.lock().unwrap().push(json!({ "update_id": 1000, "message": message }));
    until(|| bot.server.asked("/sendMessage").iter().any(|asked| asked.text.contains("no message here shows")));
    assert!(agent.try_wait().unwrap().is_none());
    end(&gateway);
    agent.wait().unwrap();
    assert_eq!(gateway.ran(), 0);
}

#[test]
fn what_wants_more_than_a_button_offers_no_yes() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent("git push --force origin main");
    let no = bot.button("d");
    let card = bot.cards().pop().unwrap();
    assert!(!card.text.contains("\"a:"), "{}", card.text);
    assert!(card.body["text"].as_str().unwrap().contains("answer at a terminal"), "{}", card.text);
    // Nor does a forged button.
    let told = bot.press(ADA, CHAT, &no.replacen('d', "a", 1));
    assert!(told.contains("unsigned_tier"), "{told}");
    assert!(agent.try_wait().unwrap().is_none());
    assert_eq!(bot.press(ADA, CHAT, &no), "denied");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    assert_eq!(gateway.ran(), 0);
}

#[test]
fn faults_of_the_server_lose_nothing() {
    let bot = Bot::new();
    bot.server.fail(
        "/getUpdates",
        429,
        "{\"ok\":false,\"error_code\":429,\"description\":\"Too Many Requests\",\"parameters\":{\"retry_after\":1}}",
    );
    bot.server.fail("/getUpdates", 200, "{ this is no JSON");
    let gateway = bot.gateway();
    bot.server.fail(
        "/getUpdates",
        409,
        "{\"ok\":false,\"description\":\"Conflict: terminated by other getUpdates request\"}",
    );
    let agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    assert_eq!(bot.press(ADA, CHAT, &yes), "approved");
    assert!(agent.wait_with_output().unwrap().status.success());
}

#[test]
fn a_channel_that_hears_nothing_is_down_though_its_messages_arrive() {
    let bot = Bot::new();
    bot.server.fail("/getUpdates", 429, "{\"ok\":false,\"parameters\":{\"retry_after\":60}}");
    let gateway = bot.gateway();
    let how = || gateway.get("/v1/status", &gateway.person).body["channels"]["tg"].clone();
    until(|| how()["state"] == "down");
    let mut agent = gateway.agent(MEDIUM);
    bot.button("a");
    taken(&gateway);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(how(), json!({ "state": "down", "why": "too many messages; try again in 60 s" }));
    end(&gateway);
    agent.wait().unwrap();
}

#[test]
fn a_channel_that_takes_no_message_is_down_though_it_hears_until_it_takes_one() {
    let bot = Bot::new();
    bot.server.fail("/sendMessage", 403, "{\"ok\":false,\"description\":\"bot was blocked\"}");
    let gateway = bot.gateway();
    let how = || gateway.get("/v1/status", &gateway.person).body["channels"]["tg"].clone();
    until(|| how()["state"] == "up");
    let mut agent = gateway.agent(MEDIUM);
    until(|| how()["state"] == "down");
    let polls = bot.server.asked("/getUpdates").len();
    until(|| bot.server.asked("/getUpdates").len() > polls + 1);
    assert_eq!(how()["why"], "the last message was rejected: sendMessage: 403: bot was blocked");
    end(&gateway);
    agent.wait().unwrap();
    let mut agent = gateway.agent(MEDIUM);
    until(|| how()["state"] == "up");
    end(&gateway);
    agent.wait().unwrap();
}

/// Denies the only pending request.
fn end(gateway: &TestGateway) {
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({})).status, 200);
}

/// Waits until the gateway knows that a card was sent.
fn taken(gateway: &TestGateway) {
    until(|| {
        let memory = guard_gateway::backend::memory::open(&gateway.path("home/.local/share/guard")).unwrap();
        memory.offers(None).unwrap().iter().any(|offer| offer.message.is_some())
    });
}

#[test]
fn a_token_may_lie_in_the_keyring_of_the_account() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    let text = std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    let (front, back) = text.split_once("token = { file = ").unwrap();
    let (_, back) = back.split_once('}').unwrap();
    gateway.write_config(&format!("{front}token = {{ keyring = \"bot\" }}{back}"));
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let how = gateway.get("/v1/status", &gateway.person).body["channels"]["tg"].clone();
    assert!(how["why"].as_str().unwrap().contains("no keyring has the secret bot"), "{how}");
    gateway.stand_in("secret-tool", "[ \"$*\" = 'lookup service guard account bot' ] && echo 123:abc");
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let agent = gateway.agent(MEDIUM);
    assert_eq!(bot.press(ADA, CHAT, &bot.button("a")), "approved");
    assert!(agent.wait_with_output().unwrap().status.success());
}

#[test]
fn a_card_that_was_taken_is_not_sent_again_after_a_kill_and_its_button_still_holds() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    let agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    taken(&gateway);
    gateway.kill();
    gateway.start();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(bot.cards().len(), 1);
    assert_eq!(bot.press(ADA, CHAT, &yes), "approved");
    assert!(agent.wait_with_output().unwrap().status.success());
}

#[test]
fn when_a_channel_takes_nothing_the_next_one_is_asked() {
    let (deaf, bot) = (Bot::new(), Bot::new());
    deaf.server.fail("/sendMessage", 429, "{\"ok\":false,\"parameters\":{\"retry_after\":30}}");
    let mut gateway = deaf.gateway();
    let text = std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    let second = text.replace("\"tg\"", "\"tg2\"").replace(&deaf.server.url(), &bot.server.url());
    gateway.write_config(&format!("{text}{second}"));
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    assert_eq!(bot.press(ADA, CHAT, &yes), "approved");
    assert!(agent.wait_with_output().unwrap().status.success());
    assert_eq!(deaf.cards().len(), 1, "it was tried once");
}

#[test]
fn the_text_of_a_command_writes_nothing_of_the_card() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent("npm install left-pad-of-somebody '</pre><b>harmless</b>&\u{202e}'");
    let no = bot.button("d");
    let card = bot.cards().pop().unwrap();
    let text = card.body["text"].as_str().unwrap();
    assert!(text.contains("&lt;/pre&gt;&lt;b&gt;harmless&lt;/b&gt;&amp;⟨U+202E⟩"), "{text}");
    bot.press(ADA, CHAT, &no);
    agent.wait().unwrap();
}

#[test]
fn a_message_that_could_not_be_changed_is_changed_once_the_messenger_is_back() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent(MEDIUM);
    let yes = bot.button("a");
    for status in [500, 502] {
        bot.server.fail("/editMessageText", status, "");
    }
    assert_eq!(bot.press(ADA, CHAT, &yes), "approved");
    assert!(agent.wait().unwrap().success());
    until(|| bot.server.asked("/editMessageText").len() == 3);
    let edits = bot.server.asked("/editMessageText");
    assert!(edits.iter().all(|edit| edit.body["message_id"] == edits[0].body["message_id"]));
    assert!(edits[2].text.contains("approved") && edits[2].body["reply_markup"]["inline_keyboard"] == json!([]));
    // An edit that the messenger rejects permanently is not repeated.
    let mut agent = gateway.agent(&format!("{MEDIUM}-else"));
    until(|| bot.cards().len() == 2);
    bot.server.fail("/editMessageText", 400, r#"{"ok":false,"description":"Bad Request: message to edit not found"}"#);
    assert_eq!(bot.press(ADA, CHAT, &bot.button("d")), "denied");
    agent.wait().unwrap();
    until(|| bot.server.asked("/editMessageText").len() == 4);
    let mut agent = gateway.agent(&format!("{MEDIUM}-third"));
    until(|| bot.cards().len() == 3);
    assert_eq!(bot.press(ADA, CHAT, &bot.button("d")), "denied");
    agent.wait().unwrap();
    until(|| bot.server.asked("/editMessageText").len() == 5);
    let last = bot.server.asked("/editMessageText").pop().unwrap();
    assert!(last.text.contains("-third"), "{}", last.text);
}
