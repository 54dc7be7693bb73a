//! Tests the text and the buttons of cards on the messengers with buttons: truncation, signatures, and the link to the
//! whole command.

use std::os::unix::fs::PermissionsExt as _;

use guard_gateway::channel::buttons::ApproverNonce;
use guard_gateway::channel::{self, Card};
use guard_gateway::config::Config;
use serde_json::{Value, json};

use super::server::Server;
use super::telegram::Bot;
use crate::test_gateway::until;

/// Returns the message that a messenger received for a card, and the labels and payloads of its buttons.
fn sent(kind: &str, card: &Card) -> (String, Vec<(String, Option<String>)>) {
    sent_to(kind, card, 1)
}

/// Returns the same for a number of approvers.
fn sent_to(kind: &str, card: &Card, approvers: usize) -> (String, Vec<(String, Option<String>)>) {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "123:abc\n").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let answer = json!({ "ok": true, "result": { "message_id": 1 }, "id": "1", "ts": "1.1" }).to_string();
    let server = Server::new(move |_| Some((200, answer.clone())));
    let secret = format!("{{ file = \"{}\" }}", secret.display());
    let more = match kind {
        "telegram" => "chat = 5".to_owned(),
        "discord" => "chat = \"5\"".to_owned(),
        _ => format!("chat = \"C5\"\napp_token = {secret}"),
    };
    let id = |at: usize| if kind == "telegram" { at.to_string() } else { format!("\"U{at}\"") };
    let approvers: Vec<String> = (0..approvers).map(|at| format!("a{at} = {}", id(at))).collect();
    let text = format!(
        "[[channel]]\nname = \"x\"\nkind = \"{kind}\"\nurl = \"{}\"\ntoken = {secret}\n{more}\napprovers = {{ {} }}\n",
        server.url(),
        approvers.join(", ")
    );
    let config = Config::parse(&text).unwrap();
    let channel = channel::open(&config.channel[0]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let own = ApproverNonce::of_all(channel.approvers()).unwrap();
    runtime.block_on(channel.send(card, &own)).unwrap();
    let body = server.asked("").pop().unwrap().body;
    let mut buttons = Vec::new();
    collect(&body, &mut buttons);
    (body.to_string(), buttons)
}

/// Collects all buttons in a message, regardless of the messenger's field names.
fn collect(value: &Value, into: &mut Vec<(String, Option<String>)>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| collect(one, into)),
        Value::Object(members) => {
            let is_button = ["callback_data", "custom_id", "value", "url"]
                .iter()
                .any(|name| members.get(*name).is_some_and(Value::is_string));
            let label = members.get("label").or_else(|| members.get("text"));
            let label = label.and_then(|label| label.as_str().or_else(|| label["text"].as_str()));
            if let Some(label) = label.filter(|_| is_button) {
                into.push((label.to_owned(), members.get("url").and_then(Value::as_str).map(str::to_owned)));
            }
            members.values().for_each(|one| collect(one, into));
        }
        _ => {}
    }
}

#[test]
fn a_card_that_is_cut_or_signed_offers_the_page_and_a_yes_only_beside_it() {
    let base = Card { request: "b2c3".to_owned(), digest: "0a1b2c3d".to_owned(), timeout_secs: 60, ..Card::default() };
    let page = Some("https://guard.test/#abc".to_owned());
    let long = format!("curl {} https://evil.example/", "-H x ".repeat(1500));
    for kind in ["telegram", "discord", "slack"] {
        let of = |command: &str, link: &Option<String>, bar: Option<&str>| {
            let bar = bar.map(str::to_owned);
            let card =
                Card { command: command.to_owned(), link: link.clone(), sign: bar.is_some(), bar, ..base.clone() };
            let (text, buttons) = sent(kind, &card);
            assert!(text.contains("0a1b2c3d"), "{kind}: {text}");
            let approves = buttons.iter().any(|(label, _)| label.contains("Approve"));
            let opens = buttons.iter().filter_map(|(_, url)| url.clone()).next();
            assert!(buttons.iter().any(|(label, _)| label.contains("Deny")), "{kind}: {buttons:?}");
            (text, approves, opens)
        };
        let (_, approves, opens) = of("ls", &page, None);
        assert_eq!((approves, opens), (true, None), "{kind}: whole");
        let (text, approves, opens) = of(&long, &None, None);
        assert_eq!((approves, opens), (false, None), "{kind}: cut, and all of it nowhere");
        assert!(text.contains("curl -H x") && text.contains("evil.example"), "{kind}: head and tail: {text}");
        assert!(text.contains("omitted") && text.contains("guard review"), "{kind}: {text}");
        let (_, approves, opens) = of(&long, &page, None);
        assert_eq!((approves, opens), (true, page.clone()), "{kind}: cut, and all of it a tap away");
        let (_, approves, opens) = of("ls", &page, Some("an approver must sign this"));
        assert_eq!((approves, opens), (false, page.clone()), "{kind}: signed on the page");
        let (_, approves, opens) = of("ls", &None, Some("an approver must sign this"));
        assert_eq!((approves, opens), (false, None), "{kind}: signed at a terminal");
    }
}

#[test]
fn the_end_of_a_long_command_is_on_its_card_with_the_digest_that_lists_show() {
    let bot = Bot::new();
    let gateway = bot.gateway();
    let mut agent = gateway.agent(&format!("npm install {} package-of-the-end", "left-pad-of-somebody ".repeat(250)));
    until(|| bot.cards().len() == 1);
    let text = bot.cards()[0].body["text"].as_str().unwrap().to_owned();
    let waiting = gateway.waiting();
    assert!(text.contains("npm install left-pad") && text.contains("package-of-the-end"), "{text}");
    assert!(text.contains(&format!("digest {}", waiting["short_digest"].as_str().unwrap())), "{text}");
    assert!(text.contains("To see all of it: guard review."), "{text}");
    assert!(!bot.cards()[0].text.contains("Approve"), "{}", bot.cards()[0].text);
    assert!(text.chars().count() < 4096);
    agent.kill().unwrap();
    agent.wait().unwrap();
}

#[test]
fn every_approver_has_buttons_as_far_as_there_is_room() {
    let card = Card { command: "ls".to_owned(), replies: vec!["not now".to_owned()], ..Card::default() };
    for kind in ["telegram", "discord", "slack"] {
        for (count, wanted) in [(1, 3), (2, 6), (4, 12), (5, 10), (8, 16)] {
            let (_, buttons) = sent_to(kind, &card, count);
            assert_eq!(buttons.len(), wanted, "{kind}, {count}: {buttons:?}");
            let of_the_last = format!("Approve (a{})", count - 1);
            let named = buttons.iter().any(|(label, _)| label.contains(&of_the_last));
            assert_eq!(named, count > 1, "{kind}, {count}: {buttons:?}");
        }
        let (text, buttons) = sent_to(kind, &card, 12);
        let all = if kind == "discord" { 20 } else { 24 };
        assert_eq!(buttons.len(), all, "{kind}: {text}");
    }
}
