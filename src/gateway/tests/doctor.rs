//! Tests `guard doctor` on every channel and on the page: what is delivered, and each possible error.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::channels::server::Server;
use crate::channels::telegram::{ADA, Bot, CHAT};
use crate::channels::{discord, slack};
use crate::test_gateway::{TestGateway, guard, until};

/// Returns the findings of these checks, and whether the doctor exits successfully.
fn findings(gateway: &TestGateway, only: &[&str]) -> (Vec<Value>, bool) {
    let output = gateway.program(guard()).arg("doctor").args(only).arg("--json").output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(told["ok"] == true, output.status.success());
    (told["findings"].as_array().unwrap().clone(), output.status.success())
}

/// Returns the finding of one check, with its status in front.
#[track_caller]
fn said(gateway: &TestGateway, check: &str) -> String {
    let (all, _) = findings(gateway, &[check]);
    let one = all.iter().find(|one| one["check"] == check).unwrap_or_else(|| panic!("no {check}: {all:?}"));
    format!("{}: {}", one["status"].as_str().unwrap(), one["says"].as_str().unwrap())
}

fn secret(gateway: &TestGateway) -> String {
    let path = gateway.path("secret");
    std::fs::write(&path, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
fn a_test_message_goes_out_is_changed_and_cannot_be_answered() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    until(|| !bot.server.asked("/getUpdates").is_empty());
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("ok: ") && told.contains("changed, and the gateway receives answers"), "{told}");
    let card = bot.cards().pop().unwrap();
    assert!(card.text.contains("Nothing runs, whatever you press"), "{}", card.text);
    let edit = bot.server.asked("/editMessageText").pop().unwrap();
    assert!(
        edit.text.contains("Test of guard doctor finished") && edit.body["message_id"].is_number(),
        "{}",
        edit.text
    );
    assert_eq!(bot.press(ADA, CHAT, &bot.button("a")), "this is not a button of guard");
    // Without a gateway, the doctor tests the channel itself, and does not consume pending updates.
    gateway.end("-TERM");
    let before = bot.server.asked("/getUpdates").len();
    let (all, content) = findings(&gateway, &["channel", "gateway", "page"]);
    let status = |check: &str| all.iter().find(|one| one["check"] == check).map(|one| one["status"].clone());
    assert_eq!((status("channel.tg"), status("gateway"), content), (Some(json!("ok")), Some(json!("warn")), true));
    assert_eq!(status("page"), None, "there is none");
    let looked = bot.server.asked("/getUpdates").split_off(before);
    // The last poll of the gateway may be among them.
    let tries: Vec<_> = looked.iter().filter(|asked| asked.body["limit"] == 1).collect();
    assert!(tries.len() == 1 && tries[0].body["offset"].is_null(), "{looked:?}");
}

#[test]
fn each_fault_of_a_channel_is_named() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    gateway.end("-TERM");
    bot.server.fail("/sendMessage", 403, "{\"ok\":false,\"description\":\"Forbidden: bot was kicked\"}");
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("fail: ") && told.contains("was rejected") && told.contains("bot was kicked"), "{told}");
    bot.server.fail("/editMessageText", 400, "{\"ok\":false,\"description\":\"message can't be edited\"}");
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("fail: ") && told.contains("could not be changed"), "{told}");
    bot.server.fail("/getWebhookInfo", 200, "{\"ok\":true,\"result\":{\"url\":\"https://elsewhere.example\"}}");
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("fail: ") && told.contains("answers would not be received: a webhook is set"), "{told}");
    bot.server.fail("/getUpdates", 409, "{\"ok\":false,\"description\":\"Conflict: another getUpdates\"}");
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("fail: ") && told.contains("answers would not be received: getUpdates: 409"), "{told}");
    bot.server.fail("/sendMessage", 429, "{\"ok\":false,\"parameters\":{\"retry_after\":30}}");
    assert_eq!(said(&gateway, "channel.tg"), "warn: telegram: too many messages; try again in 30 s");
    bot.server.fail("/sendMessage", 200, "{ this is no JSON");
    assert!(said(&gateway, "channel.tg").starts_with("fail: "));
    let config = std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    gateway.write_config(&format!("accept_secs = 1\n{config}"));
    bot.server.hold("/sendMessage");
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("fail: ") && told.contains("no answer within 1 s"), "{told}");
    assert!(!told.contains("123:abc"), "a secret: {told}");
    gateway.write_config(&config.replace("file = \"", "file = \"/nowhere"));
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("fail: ") && told.contains("/nowhere"), "{told}");
    gateway.write_config("listen = 5\n");
    let told = said(&gateway, "gateway");
    assert!(told.starts_with("fail: ") && told.contains("line 1"), "{told}");
}

#[test]
fn the_sockets_of_discord_and_slack_are_opened_where_no_gateway_holds_them() {
    let (discord, slack) = (discord::Bot::new(45_000), slack::Bot::new());
    for (check, kind, mut gateway) in
        [("channel.dc", "discord", discord.gateway("")), ("channel.sl", "slack", slack.gateway())]
    {
        // Once the gateway is connected, it reports that itself.
        let told = said(&gateway, check);
        assert!(told.starts_with(&format!("ok: {kind}")) && told.contains("the gateway receives answers"), "{told}");
        gateway.end("-TERM");
        let told = said(&gateway, check);
        assert!(told.starts_with(&format!("ok: {kind}")) && told.contains("answers can be received"), "{told}");
        let fault = "{\"url\":\"ws://127.0.0.1:9\",\"ok\":true}";
        // Only this server fails, because the other gateway may still be connecting.
        match kind {
            "discord" => discord.server.fail("/gateway/bot", 200, fault),
            _ => slack.server.fail("/apps.connections.open", 200, fault),
        }
        let told = said(&gateway, check);
        assert!(told.starts_with(&format!("fail: {kind}")) && told.contains("no connection"), "{told}");
    }
}

#[test]
fn a_gateway_whose_ear_is_cut_off_or_that_has_read_something_else_is_told_apart() {
    let bot = Bot::new();
    let mut gateway = bot.gateway();
    until(|| !bot.server.asked("/getUpdates").is_empty());
    let config = std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    gateway.write_config(&format!("{config}{}", config.replace("\"tg\"", "\"tg2\"")));
    let told = said(&gateway, "channel.tg2");
    assert!(told.starts_with("fail: ") && told.contains("does not know this channel"), "{told}");
    gateway.write_config(&config);
    gateway.end("-TERM");
    let why = "{\"ok\":false,\"description\":\"Conflict\",\"parameters\":{\"retry_after\":60}}";
    bot.server.fail("/getUpdates", 409, why);
    gateway.start();
    until(|| bot.server.asked("/getUpdates").len() >= 2);
    let told = said(&gateway, "channel.tg");
    assert!(told.starts_with("fail: ") && told.contains("sent, but answers would not be received"), "{told}");
    // Repeated tests do not notify a phone each time.
    let cards = bot.cards().len();
    let tests: Vec<String> = (0..4).map(|_| said(&gateway, "channel.tg")).collect();
    assert!(tests[3].starts_with("warn: ") && tests[3].contains("too many tests"), "{tests:?}");
    assert_eq!(bot.cards().len() - cards, 2);
}

#[test]
fn what_only_tells_is_tried_by_a_notice() {
    let server = Server::new(|_| Some((200, json!({ "id": "x1", "status": 1, "sid": "SM1" }).to_string())));
    let mut gateway = TestGateway::new("");
    let (file, out, url) = (secret(&gateway), gateway.path("told"), server.url());
    gateway.write_config(&format!(
        "[[channel]]\nname = \"phone\"\nkind = \"ntfy\"\nurl = \"{url}/guard-x7\"\n\
         [[channel]]\nname = \"hook\"\nkind = \"webhook\"\nurl = \"{url}/hook\"\nsecret = {{ file = \"{file}\" }}\n\
         [[channel]]\nname = \"mine\"\nkind = \"program\"\ncommand = [\"/bin/sh\", \"-c\", \"cat >> '{}'\"]\n\
         [[channel]]\nname = \"lost\"\nkind = \"program\"\ncommand = [\"/bin/false\"]\n",
        out.display()
    ));
    gateway.end("-TERM");
    gateway.start();
    let (all, content) = findings(&gateway, &["channel"]);
    let how = |name: &str| {
        let one = all.iter().find(|one| one["check"] == format!("channel.{name}")).unwrap();
        (one["status"].as_str().unwrap().to_owned(), one["says"].as_str().unwrap().to_owned())
    };
    for name in ["phone", "hook", "mine"] {
        let (status, says) = how(name);
        assert!(status == "ok" && says.contains("cannot come back this way"), "{name}: {says}");
    }
    assert_eq!((how("lost").0.as_str(), content), ("fail", false));
    assert_eq!(server.asked("/hook")[0].body["type"], "notice");
    assert!(server.asked("/")[0].body["message"].as_str().unwrap().contains("no answer needed"));
    assert!(std::fs::read_to_string(out).unwrap().contains("no answer needed"));
}

#[test]
fn the_page_is_fetched_and_a_proxy_that_spoils_it_is_found() {
    let gateway = TestGateway::new("");
    let told = said(&gateway, "page");
    assert!(told.starts_with("ok: ") && told.contains(&format!("http://localhost:{}", gateway.port)), "{told}");
    // Faults of a proxy: missing headers, another page, and access with the account's own permissions.
    let page = gateway.get("/", "").text;
    let plain = page.clone();
    let proxy = Server::new(move |_| Some((200, plain.clone())));
    gateway.write_config(&format!("page = \"{}\"\n", proxy.url()));
    let (all, content) = findings(&gateway, &["page"]);
    let spoilt = |all: &[Value]| all[1]["says"].as_str().unwrap().to_owned();
    assert!(!content && all[0]["status"] == "ok" && all[1]["status"] == "fail", "{all:?}");
    assert!(spoilt(&all).contains("the page has the content type"), "{all:?}");
    proxy.fail("/", 200, "<html>welcome</html>");
    assert!(spoilt(&findings(&gateway, &["page"]).0).contains("another program serves this address"));
    proxy.fail("/", 502, "");
    assert!(spoilt(&findings(&gateway, &["page"]).0).contains("answered 502"));
    gateway.write_config("page = \"http://127.0.0.1:9\"\n");
    assert!(spoilt(&findings(&gateway, &["page"]).0).contains("no connection"));
    // A host name that the gateway does not serve.
    gateway.write_config(&format!("page = \"http://guard.localhost:{}\"\n", gateway.port));
    let told = spoilt(&findings(&gateway, &["page"]).0);
    assert!(told.contains("Host") || told.contains("no connection"), "{told}");
}

#[test]
fn where_nothing_is_set_up_the_doctor_says_nothing_of_it() {
    let mut gateway = TestGateway::new("");
    gateway.end("-TERM");
    let path = gateway.path("home/.config/guard/gateway.toml");
    let _ = std::fs::remove_file(path);
    let output = gateway.program(guard()).args(["doctor", "channel"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("no check channel"));
}
