//! Tests the programs of docs/examples/channels as channels of a gateway.

use std::path::Path;

use serde_json::{Value, json};

use super::server::{ReceivedRequest, Server};
use crate::test_gateway::{TestGateway, until};

/// A command that looks like markup.
const COMMAND: &str = "npm install '[left](https://example.org)-pad*of*somebody'";

/// Starts a gateway whose channels are these programs with these arguments.
fn gateway(server: &Server, programs: &[(&str, &[&str])]) -> TestGateway {
    let mut gateway = TestGateway::new("");
    for (name, text) in [("token", "t0ken"), ("hook", &*format!("{}/teams?sig=x", server.url()))] {
        let path = gateway.path(name);
        std::fs::write(&path, format!("{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/channels");
    let mut text = "page = \"https://guard.test\"\naccept_secs = 30\n".to_owned();
    for (name, arguments) in programs {
        let program = directory.join(format!("to_{name}.py")).display().to_string();
        // With -B, Python writes no cache files beside the program.
        let mut command = vec!["/usr/bin/env".to_owned(), "python3".to_owned(), "-B".to_owned(), program];
        let given = |word: &&str| match word.strip_prefix('@') {
            Some(file) => gateway.path(file).display().to_string(),
            None => word.replace("SERVER", &server.url()),
        };
        command.extend(arguments.iter().map(given));
        text.push_str(&format!("[[channel]]\nname = \"{name}\"\nkind = \"program\"\ncommand = {}\n", json!(command)));
    }
    text.push_str("[[route]]\nbroadcast = true\n");
    let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
    text.push_str(&format!("channels = {}\n", json!(names)));
    gateway.write_config(&text);
    assert!(gateway.end("-TERM").success());
    gateway.start();
    gateway
}

/// Checks that this is the text of the card, with everything that a person needs.
#[track_caller]
fn is_card(text: &str) {
    for wanted in [COMMAND, "guard asks (", "https://guard.test/#"] {
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn each_example_tells_of_a_request_and_of_its_end() {
    let server = Server::new(|_| Some((200, json!({}).to_string())));
    let gateway = gateway(
        &server,
        &[
            ("matrix", &["SERVER", "!room:guard.test", "@token"]),
            ("signal", &["+15550100", "+15550101"]),
            ("whatsapp", &["SERVER/v21.0/123/messages", "15550101", "@token"]),
            ("teams", &["@hook"]),
        ],
    );
    gateway.stand_in("signal-cli", "{ echo \"$*\"; cat; echo; } >> \"$HOME/signal\"");
    let mut agent = gateway.agent(COMMAND);
    let posted = |wanted: &str| -> Vec<ReceivedRequest> {
        server.asked("").into_iter().filter(|asked| asked.path.contains(wanted)).collect()
    };
    let signal = || std::fs::read_to_string(gateway.path("home/signal")).unwrap_or_default();
    let places =
        ["/_matrix/client/v3/rooms/%21room%3Aguard.test/send/m.room.message/", "/v21.0/123/messages", "/teams"];
    until(|| places.iter().all(|place| posted(place).len() == 1) && signal().contains("https://guard.test/#"));
    let [matrix, whatsapp, teams] = places.map(|place| posted(place).remove(0));
    let bearer = |asked: &ReceivedRequest| asked.head.to_lowercase().contains("authorization: bearer t0ken");
    assert!(matrix.method == "PUT" && bearer(&matrix) && bearer(&whatsapp) && !bearer(&teams));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    is_card(&text(&matrix.body["body"]));
    assert!(matrix.body["formatted_body"].is_null());
    is_card(&text(&whatsapp.body["text"]["body"]));
    let card = &teams.body["attachments"][0]["content"];
    is_card(&text(&card["body"][0]["inlines"][0]["text"]));
    assert!(text(&card["actions"][0]["url"]).starts_with("https://guard.test/#"));
    is_card(&signal());
    assert!(signal().starts_with("-a +15550100 send --message-from-stdin +15550101\n"), "{}", signal());
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({})).status, 200);
    agent.wait().unwrap();
    let ended = |asked: &ReceivedRequest| asked.text.contains("denied by ada");
    until(|| places.iter().all(|place| posted(place).iter().any(ended)) && signal().contains("denied by ada"));
}

#[test]
fn an_example_whose_message_is_not_taken_says_so() {
    let server = Server::new(|_| Some((200, json!({}).to_string())));
    server.fail("/messages", 401, "{}");
    let gateway = gateway(&server, &[("whatsapp", &["SERVER/v21.0/123/messages", "15550101", "@token"])]);
    let mut agent = gateway.agent(COMMAND);
    until(|| gateway.get("/v1/status", &gateway.person).body["channels"]["whatsapp"]["state"] == "down");
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({})).status, 200);
    agent.wait().unwrap();
}
