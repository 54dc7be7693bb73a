//! Kills the gateway (SIGKILL) at each step of a request, and checks that no request is lost, nothing is approved that
//! nobody approved, and no message keeps its buttons.

use std::process::Child;

use serde_json::json;

use crate::channels::telegram::{ADA, Bot, CHAT};
use crate::test_gateway::{TestGateway, until};

const MEDIUM: &str = "npm install left-pad-of-somebody";

/// Approves a command by a button of the last card, and checks that it runs once and that its message shows this.
#[track_caller]
fn approve(bot: &Bot, gateway: &TestGateway, mut agent: Child) {
    assert_eq!(gateway.ran(), 0, "nobody has approved it yet");
    assert!(agent.try_wait().unwrap().is_none(), "whoever asked still waits");
    assert_eq!(bot.press(ADA, CHAT, &bot.button("a")), "approved");
    assert!(agent.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
    closed(bot, "approved");
}

/// Checks that the last message shows the outcome of its request.
#[track_caller]
fn closed(bot: &Bot, how: &str) {
    until(|| bot.server.asked("/editMessageText").last().is_some_and(|edit| edit.text.contains(how)));
}

#[test]
fn before_a_request_is_filed() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    gateway.kill();
    let agent = gateway.agent(MEDIUM);
    gateway.start();
    gateway.waiting();
    approve(&bot, &gateway, agent);
    assert_eq!(bot.cards().len(), 1);
}

#[test]
fn while_a_card_is_on_its_way() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    // The card arrives, but the response is never sent.
    bot.server.hold("/sendMessage");
    let agent = gateway.agent(MEDIUM);
    until(|| bot.cards().len() == 1);
    let lost = bot.button("a");
    gateway.kill();
    gateway.start();
    until(|| bot.cards().len() == 2);
    assert_ne!(bot.button("a"), lost);
    assert_eq!(bot.press(ADA, CHAT, &lost), "this is not a button of guard");
    approve(&bot, &gateway, agent);
}

#[test]
fn after_a_card_was_taken() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    let agent = gateway.agent(MEDIUM);
    until(|| bot.cards().len() == 1);
    // It is recorded that the channel has the card.
    offered(&gateway);
    gateway.kill();
    gateway.start();
    gateway.waiting();
    approve(&bot, &gateway, agent);
    assert_eq!(bot.cards().len(), 1, "what was offered is not offered twice");
}

#[test]
fn between_a_tap_and_its_reading() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    let mut agent = gateway.agent(MEDIUM);
    let no = bot.button("d");
    offered(&gateway);
    gateway.kill();
    // The messenger keeps the button press.
    bot.pressed(ADA, CHAT, &no);
    gateway.start();
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    assert_eq!(gateway.ran(), 0);
    closed(&bot, "denied");
}

#[test]
fn after_the_answer_and_before_the_messages_say_so() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    let mut agent = gateway.agent(MEDIUM);
    let no = bot.button("d");
    offered(&gateway);
    bot.server.hold("/editMessageText");
    bot.pressed(ADA, CHAT, &no);
    until(|| bot.server.asked("/editMessageText").len() == 1);
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    gateway.kill();
    gateway.start();
    until(|| bot.server.asked("/editMessageText").len() == 2);
    closed(&bot, "denied");
    // The same tap again, and an approval by the old button, change nothing.
    assert!(bot.press(ADA, CHAT, &bot.button("a")).starts_with("denied by ada"));
    assert_eq!(gateway.ran(), 0);
}

#[test]
fn after_a_card_was_taken_for_what_a_client_handed_in() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    let id = gateway.submit(MEDIUM).body["action_id"].as_str().unwrap().to_owned();
    until(|| bot.cards().len() == 1);
    // The client, the list, the events and the message all show one request.
    assert_eq!(gateway.waiting()["action_id"], json!(id));
    offered(&gateway);
    let story = gateway.get(&format!("/v1/requests/{id}/story"), &gateway.person);
    let kinds: Vec<_> = story.body["events"].as_array().unwrap().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["request.filed", "request.offered"]);
    gateway.kill();
    gateway.start();
    // The same is true after a restart, and the existing card still works.
    until(|| gateway.get(&format!("/v1/requests/{id}"), &gateway.client).body["status"] == "pending");
    assert_eq!(gateway.waiting()["action_id"], json!(id));
    assert_eq!(bot.press(ADA, CHAT, &bot.button("a")), "approved");
    let seen = gateway.get(&format!("/v1/requests/{id}?wait=20"), &gateway.client);
    assert_eq!(seen.body["decision"], "allow", "{}", seen.text);
    closed(&bot, "approved");
    assert_eq!(bot.cards().len(), 1);
    let list = gateway.get("/v1/requests", &gateway.person);
    let names: Vec<_> = list.body["requests"].as_array().unwrap().iter().map(|one| one["action_id"].clone()).collect();
    assert_eq!(names, [json!(id)], "{}", list.text);
}

#[test]
fn while_a_call_of_a_tool_waits_that_was_handed_in() {
    let mut gateway = TestGateway::new("unsigned_tier = 3\n");
    let secret = "an-input-that-is-for-nobodys-eyes";
    let body = json!({ "tool": "delete_event", "input": { "id": 3, "note": secret }, "cwd": gateway.path("work") });
    let told = gateway.post("/v1/requests", &gateway.client, &body);
    assert_eq!(told.status, 202, "{}", told.text);
    let id = told.body["action_id"].as_str().unwrap().to_owned();
    let before = gateway.waiting()["id"].clone();
    gateway.kill();
    // The gateway's database does not reveal the submission.
    for name in ["gateway.db", "gateway.db-wal"] {
        let kept = std::fs::read(gateway.path("home/.local/share/guard").join(name)).unwrap_or_default();
        assert!(!kept.windows(secret.len()).any(|part| part == secret.as_bytes()), "{name}");
    }
    gateway.start();
    // The same request is pending again.
    until(|| gateway.get(&format!("/v1/requests/{id}"), &gateway.client).body["status"] == "pending");
    assert_eq!(gateway.waiting()["id"], before);
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({})).status, 200);
    let seen = gateway.get(&format!("/v1/requests/{id}?wait=20"), &gateway.client);
    assert_eq!(seen.body["decision"], "allow", "{}", seen.text);
    let kept = guard_gateway::backend::memory::open(&gateway.path("home/.local/share/guard")).unwrap();
    assert_eq!(kept.submission(&id).unwrap().unwrap().body, "", "and nothing is kept of it");
}

#[test]
fn after_a_client_was_told_that_its_command_may_run() {
    let mut gateway = TestGateway::new("");
    let key = format!("Idempotency-Key: {}", "k".repeat(20));
    let body = json!({ "command": MEDIUM, "cwd": gateway.path("work") }).to_string();
    let token = format!("Authorization: Bearer {}", gateway.client);
    let submit = |gateway: &TestGateway| gateway.send("POST", "/v1/requests", &[&token, &key], &body);
    let id = submit(&gateway).body["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({})).status, 200);
    let seen = gateway.get(&format!("/v1/requests/{id}?wait=20"), &gateway.client);
    let once = seen.body["token"].as_str().unwrap().to_owned();
    gateway.kill();
    gateway.start();
    // The answer still counts, there is no new question, and the token reports a result once.
    let again = submit(&gateway);
    assert_eq!((&again.body["action_id"], &again.body["decision"]), (&json!(id), &json!("allow")), "{}", again.text);
    let result = json!({ "token": once, "exit": 0, "duration_ms": 5 });
    let report =
        |gateway: &TestGateway| gateway.post(&format!("/v1/requests/{id}/result"), &gateway.client, &result).status;
    assert_eq!((report(&gateway), report(&gateway)), (204, 409));
}

/// Waits until it is recorded that a channel has accepted a card.
#[track_caller]
fn offered(gateway: &TestGateway) {
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let path = format!("/v1/requests/{id}/story");
    until(|| {
        let story = gateway.get(&path, &gateway.person);
        story.body["events"].as_array().unwrap().iter().any(|event| event["type"] == "request.offered")
    });
}
