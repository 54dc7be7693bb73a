//! Tests adding, testing and removing a messenger from a terminal, while a gateway runs.

use std::path::Path;

use serde_json::json;

use super::telegram::{ADA, Bot, CHAT};
use crate::terminal::Terminal;
use crate::test_gateway::{TestGateway, until};

const MEDIUM: &str = "npm install left-pad-of-somebody";

#[test]
fn a_bot_is_added_by_its_token_a_code_and_a_tap_and_tried_and_removed_while_the_gateway_runs() {
    let bot = Bot::new();
    let gateway = TestGateway::new("");
    let person = |line: &str| Terminal::new(gateway.program(Path::new("script")), line);
    let mut terminal = person(&format!("channel add telegram --url {}", bot.server.url()));
    terminal.wait_for("Token: ");
    terminal.answer("123:abc");
    terminal.wait_for("Name of the approver who answers there: ");
    terminal.answer("ada");
    terminal.wait_for("from the chat where you want to be asked:");
    until(|| terminal.screen().split("to be asked:").nth(1).is_some_and(|rest| rest.contains('\n')));
    let code = terminal.screen().split("to be asked:").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    // A stranger writes to the bot first, without the code.
    bot.write(666, 667, "hello");
    bot.write(ADA, CHAT, &format!("it is {code}"));
    terminal.wait_for("Press one of its buttons");
    bot.press(ADA, CHAT, &bot.button("a"));
    let (ended, screen) = terminal.end();
    assert_eq!(ended, Some(0), "{screen}");
    assert!(screen.contains("Button pressed by ada") && screen.contains("The running gateway has read it"), "{screen}");
    assert!(!screen.contains("123:abc"), "a secret is not shown: {screen}");
    let config = std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    assert!(!config.contains("123:abc") && config.contains(&format!("chat = {CHAT}")), "{config}");
    // The channel is in use at once.
    let agent = gateway.agent(MEDIUM);
    until(|| bot.cards().iter().any(|card| card.text.contains(MEDIUM)));
    assert_eq!(bot.press(ADA, CHAT, &bot.button("a")), "approved");
    assert!(agent.wait_with_output().unwrap().status.success());
    // The gateway receives all button presses, and passes on the one for the test.
    let before = bot.cards().len();
    let terminal = person("channel test telegram");
    until(|| bot.cards().len() > before);
    let button = bot.button("d");
    assert_eq!(bot.press(666, CHAT, &button), "you are not an approver of this guard");
    assert_eq!(bot.press(ADA, CHAT, &button), "it works");
    let (ended, screen) = terminal.end();
    assert!(ended == Some(0) && screen.contains("Button pressed by ada: the channel works."), "{screen}");
    assert!(screen.contains("Button pressed by 666, who is not an approver here"), "{screen}");
    assert_eq!(bot.press(ADA, CHAT, &button), "this is not a button of guard", "the test is over");
    let (ended, screen) = person("channel remove telegram").end();
    assert!(ended == Some(0) && screen.contains("The running gateway has read it"), "{screen}");
    assert_eq!(gateway.get("/v1/status", &gateway.person).body["channels"], json!({}));
    let (ended, screen) = person("channel test telegram").end();
    assert!(ended != Some(0) && screen.contains("telegram"), "{screen}");
}
