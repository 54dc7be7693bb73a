//! Tests channels that only send: a webhook, ntfy, a program.

use serde_json::json;

use super::server::Server;
use crate::test_gateway::{TestGateway, until};

const MEDIUM: &str = "npm install left-pad-of-somebody";

fn secret(gateway: &TestGateway, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = gateway.path("secret");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path.display().to_string()
}

#[test]
fn a_webhook_is_signed_tried_again_and_told_the_end() {
    let server = Server::new(|_| Some((204, String::new())));
    server.fail("/hook", 500, "");
    let mut gateway = TestGateway::new("");
    let file = secret(&gateway, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    gateway.write_config(&format!(
        "[[channel]]\nname = \"hook\"\nkind = \"webhook\"\nurl = \"{}/hook\"\nsecret = {{ file = \"{file}\" }}\n",
        server.url()
    ));
    gateway.end("-TERM");
    gateway.start();
    let mut agent = gateway.agent(MEDIUM);
    until(|| server.asked("/hook").len() >= 2);
    let [first, second] = [0, 1].map(|at| server.asked("/hook")[at].clone());
    let header = |asked: &super::server::ReceivedRequest, name: &str| {
        let line = asked.head.lines().find(|line| line.to_lowercase().starts_with(name)).unwrap().to_owned();
        line.split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(header(&first, "webhook-id:"), header(&second, "webhook-id:"));
    let key = <base64ct::Base64 as base64ct::Encoding>::decode_vec("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let (id, at) = (header(&second, "webhook-id:"), header(&second, "webhook-timestamp:"));
    let wanted = guard_gateway::channel::webhook::sign(&key, &id, &at, &second.text);
    assert_eq!(header(&second, "webhook-signature:"), wanted);
    assert_eq!(second.body["data"]["command"], MEDIUM);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
    until(|| server.asked("/hook").iter().any(|asked| asked.body["type"] == "request.ended"));
}

#[test]
fn ntfy_tells_where_to_answer() {
    let server = Server::new(|_| Some((200, json!({ "id": "x1", "event": "message" }).to_string())));
    let gateway = TestGateway::new(&format!(
        "page = \"https://guard.test\"\n[[channel]]\nname = \"phone\"\nkind = \"ntfy\"\nurl = \"{}/guard-x7\"\n",
        server.url()
    ));
    let mut agent = gateway.agent(MEDIUM);
    until(|| !server.asked("/").is_empty());
    let card = server.asked("/").remove(0);
    assert_eq!(card.body["topic"], "guard-x7");
    assert!(card.body["click"].as_str().unwrap().starts_with("https://guard.test/#"), "{}", card.text);
    assert!(card.body["actions"].is_null(), "whoever knows the topic could press it");
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
}

#[test]
fn a_card_that_was_on_its_way_when_its_request_ended_is_told_the_end() {
    let mut gateway = TestGateway::new("");
    let (out, go) = (gateway.path("told"), gateway.path("go"));
    let program = format!(
        "cat >> '{0}'; i=0; while [ ! -e '{1}' ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done",
        out.display(),
        go.display()
    );
    gateway.write_config(&format!(
        "[[channel]]\nname = \"slow\"\nkind = \"program\"\ncommand = {}\n",
        json!(["/bin/sh", "-c", program])
    ));
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let mut agent = gateway.agent(MEDIUM);
    let told = |wanted: &str| std::fs::read_to_string(&out).unwrap_or_default().contains(wanted);
    until(|| told("request.filed"));
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({})).status, 200);
    // Everything that the answer triggers happens before the channel has accepted the card.
    agent.wait().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!told("request.ended"));
    std::fs::write(&go, "").unwrap();
    until(|| told("denied by ada"));
}

#[test]
fn a_broadcast_goes_out_on_all_channels_at_once() {
    let mut gateway = TestGateway::new("");
    let (one, two) = (gateway.path("one"), gateway.path("two"));
    // Each program accepts the card only once the other one has it too.
    let program = |own: &std::path::Path, other: &std::path::Path| {
        let text = format!(
            "cat > '{}'; i=0; while [ ! -e '{}' ]; do i=$((i+1)); [ $i -lt 160 ] || exit 1; sleep 0.05; done",
            own.display(),
            other.display()
        );
        json!(["/bin/sh", "-c", text])
    };
    gateway.write_config(&format!(
        "[[channel]]\nname = \"one\"\nkind = \"program\"\ncommand = {}\n\
         [[channel]]\nname = \"two\"\nkind = \"program\"\ncommand = {}\n\
         [[route]]\nbroadcast = true\nchannels = [\"one\", \"two\"]\n",
        program(&one, &two),
        program(&two, &one)
    ));
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let mut agent = gateway.agent(MEDIUM);
    let state = |name: &str| gateway.get("/v1/status", &gateway.person).body["channels"][name]["state"].clone();
    until(|| ["one", "two"].iter().all(|name| !state(name).is_null()));
    assert_eq!(["one", "two"].map(state), [json!("up"), json!("up")]);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
}

#[test]
fn a_program_gets_the_card_and_one_notice_stands_for_a_flood() {
    let mut gateway = TestGateway::new("");
    let out = gateway.path("cards");
    gateway.write_config(&format!(
        "[[channel]]\nname = \"mine\"\nkind = \"program\"\ncommand = [\"/bin/sh\", \"-c\", \"cat >> '{}'\"]\n",
        out.display()
    ));
    gateway.end("-TERM");
    gateway.start();
    let ids: Vec<String> = (0..6)
        .map(|at| {
            let told = gateway.submit(&format!("{MEDIUM}-{at}"));
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
        assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({})).status, 200);
    }
}

#[test]
fn pushover_sounds_again_until_somebody_has_seen_what_is_urgent() {
    let server = Server::new(|asked| {
        let told = json!({ "status": 1, "request": "q1", "receipt": "rAbC1" });
        assert!(asked.text.contains("token=secret&user=secret"), "{}", asked.text);
        Some((200, told.to_string()))
    });
    let mut gateway = TestGateway::new("");
    let file = secret(&gateway, "secret");
    gateway.write_config(&format!(
        "page = \"https://guard.test\"\n[[channel]]\nname = \"po\"\nkind = \"pushover\"\nurl = \"{}\"\n\
         token = {{ file = \"{file}\" }}\nuser = {{ file = \"{file}\" }}\n",
        server.url()
    ));
    gateway.end("-TERM");
    gateway.start();
    server.fail("/messages.json", 500, "{\"status\":0,\"errors\":[\"down\"]}");
    let mut agent = gateway.agent(MEDIUM);
    until(|| server.asked("/messages.json").len() == 1);
    let plain = server.asked("/messages.json").remove(0);
    assert!(plain.text.contains("priority=0") && plain.text.contains("url=https%3A%2F%2Fguard.test"), "{}", plain.text);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
    let mut agent = gateway.agent("xdg-open tel:988");
    until(|| server.asked("/messages.json").len() == 2);
    let urgent = server.asked("/messages.json").remove(1);
    assert!(urgent.text.contains("priority=2&retry=30&expire=600"), "{}", urgent.text);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
    until(|| server.asked("/rAbC1/cancel.json").len() == 1);
}

#[test]
fn an_sms_says_where_to_answer_and_nothing_more() {
    let server = Server::new(|asked| {
        // AC1:secret, encoded for basic authentication.
        assert!(asked.head.contains("QUMxOnNlY3JldA=="), "{}", asked.head);
        Some((201, json!({ "sid": "SM1", "status": "queued" }).to_string()))
    });
    let mut gateway = TestGateway::new("");
    let file = secret(&gateway, "secret");
    gateway.write_config(&format!(
        "[[channel]]\nname = \"sms\"\nkind = \"twilio\"\nurl = \"{}\"\naccount = \"AC1\"\n\
         token = {{ file = \"{file}\" }}\nfrom = \"+15550100\"\nto = [\"+15550101\", \"+15550102\"]\n",
        server.url()
    ));
    gateway.end("-TERM");
    gateway.start();
    let mut agent = gateway.agent(MEDIUM);
    until(|| server.asked("/Accounts/AC1/Messages.json").len() == 2);
    let text = &server.asked("/Messages.json")[0].text;
    assert!(text.contains("To=%2B15550101&From=%2B15550100") && text.contains("guard+approve"), "{text}");
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
}

#[test]
fn a_button_on_the_desktop_says_no_and_never_yes() {
    let gateway = TestGateway::new("");
    let script = gateway.path("notify");
    std::fs::write(
        &script,
        "#!/bin/sh\necho \"$*\" >> \"$0.said\"\nsleep 0.6\necho $$ > \"$0.pid\"\ncat \"$0.answer\"\n\
         until [ -e \"$0.late\" ]; do sleep 0.1; done\ncat \"$0.late\"\nsleep 30\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let answer = gateway.path("notify.answer");
    std::fs::write(&answer, "a\n").unwrap();
    let mut gateway = gateway;
    gateway.write_config(&format!(
        "[[channel]]\nname = \"desk\"\nkind = \"desktop\"\napprover = \"ada\"\ncommand = [\"/bin/sh\", \"{}\"]\n",
        script.display()
    ));
    gateway.end("-TERM");
    gateway.start();
    let mut agent = gateway.agent(MEDIUM);
    let said = || std::fs::read_to_string(gateway.path("notify.said")).unwrap_or_default();
    until(|| said().contains(MEDIUM));
    assert!(said().contains("-A d=Deny") && !said().contains("Approve"), "{}", said());
    std::thread::sleep(std::time::Duration::from_millis(1200));
    assert_eq!(gateway.ran(), 0, "a yes that is printed is none");
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    agent.wait().unwrap();
    // Invalid output is not an answer. The notification stays, because its request is still pending.
    for text in ["{ this is not JSON", "d d", "a"] {
        let pid = gateway.path("notify.pid");
        std::fs::remove_file(&pid).unwrap();
        std::fs::write(&answer, format!("{text}\n")).unwrap();
        let mut agent = gateway.agent(MEDIUM);
        until(|| pid.exists());
        std::thread::sleep(std::time::Duration::from_millis(700));
        let shown: u32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        let is_there = !std::fs::read(format!("/proc/{shown}/cmdline")).unwrap_or_default().is_empty();
        assert!(is_there && agent.try_wait().unwrap().is_none(), "after {text:?}");
        let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
        let yes = gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({}));
        assert_eq!(yes.status, 200, "it waits still, after {text:?}: {}", yes.text);
        assert!(agent.wait().unwrap().success());
    }
    // After that, its button still works.
    std::fs::write(gateway.path("notify.late"), "d\n").unwrap();
    let agent = gateway.agent(MEDIUM);
    let output = agent.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", String::from_utf8_lossy(&output.stderr));
}
