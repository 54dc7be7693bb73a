//! Channels that tell and hear nothing back: a webhook, ntfy, a program.

use serde_json::json;

use super::server::Server;
use crate::house::{House, until};

const MEDIUM: &str = "npm install left-pad-of-somebody";

fn secret(house: &House, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = house.path("secret");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
fn a_webhook_is_signed_tried_again_and_told_the_end() {
    let server = Server::new(|_| Some((204, String::new())));
    server.fail("/hook", 500, "");
    let mut house = House::new("");
    let file = secret(&house, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    house.write_config(&format!(
        "[[channel]]\nname = \"hook\"\nkind = \"webhook\"\nurl = \"{}/hook\"\nsecret = {{ file = \"{file}\" }}\n",
        server.url()
    ));
    house.end("-TERM");
    house.start();
    let mut agent = house.agent(MEDIUM);
    until(|| server.asked("/hook").len() >= 2);
    let [first, second] = [0, 1].map(|at| server.asked("/hook")[at].clone());
    let header = |asked: &super::server::Asked, name: &str| {
        let line = asked.head.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap().to_owned();
        line.split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(header(&first, "webhook-id:"), header(&second, "webhook-id:"));
    let key = <base64ct::Base64 as base64ct::Encoding>::decode_vec("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let (id, at) = (header(&second, "webhook-id:"), header(&second, "webhook-timestamp:"));
    let wanted = guard_gateway::channel::webhook::sign(&key, &id, &at, &second.text);
    assert_eq!(header(&second, "webhook-signature:"), wanted);
    assert_eq!(second.body["data"]["command"], MEDIUM);
    let id = house.waiting()["action_id"].as_str().unwrap().to_owned();
    house.post(&format!("/v1/requests/{id}/deny"), &house.person, &json!({}));
    agent.wait().unwrap();
    until(|| server.asked("/hook").iter().any(|asked| asked.body["type"] == "request.ended"));
}

#[test]
fn ntfy_tells_where_to_answer() {
    let server = Server::new(|_| Some((200, json!({ "id": "x1", "event": "message" }).to_string())));
    let house = House::new(&format!(
        "page = \"https://guard.test\"\n[[channel]]\nname = \"phone\"\nkind = \"ntfy\"\nurl = \"{}/guard-x7\"\n",
        server.url()
    ));
    let mut agent = house.agent(MEDIUM);
    until(|| !server.asked("/").is_empty());
    let card = server.asked("/").remove(0);
    assert_eq!(card.body["topic"], "guard-x7");
    assert!(card.body["click"].as_str().unwrap().starts_with("https://guard.test/#"), "{}", card.text);
    assert!(card.body["actions"].is_null(), "whoever knows the topic could press it");
    let id = house.waiting()["action_id"].as_str().unwrap().to_owned();
    house.post(&format!("/v1/requests/{id}/deny"), &house.person, &json!({}));
    agent.wait().unwrap();
}

#[test]
fn a_program_gets_the_card_and_one_notice_stands_for_a_flood() {
    let mut house = House::new("");
    let out = house.path("cards");
    house.write_config(&format!(
        "[[channel]]\nname = \"mine\"\nkind = \"program\"\ncommand = [\"/bin/sh\", \"-c\", \"cat >> '{}'\"]\n",
        out.display()
    ));
    house.end("-TERM");
    house.start();
    let ids: Vec<String> = (0..6)
        .map(|at| {
            let told = house.submit(&format!("{MEDIUM}-{at}"));
            assert_eq!(told.status, 202, "{}", told.text);
            told.body["action_id"].as_str().unwrap().to_owned()
        })
        .collect();
    let lines = || std::fs::read_to_string(&out).unwrap_or_default();
    until(|| lines().contains("\"notice\""));
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(lines().matches("request.filed").count(), 3, "{}", lines());
    assert_eq!(lines().matches("\"notice\"").count(), 1, "{}", lines());
    for id in ids {
        assert_eq!(house.post(&format!("/v1/requests/{id}/deny"), &house.person, &json!({})).status, 200);
    }
}
