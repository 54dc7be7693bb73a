//! Tests the API from submission to result.

use std::process::Command;

use serde_json::{Value, json};

use guard_gateway::judge::invocation::Origin;

use crate::channels::server::Server;
use crate::test_gateway::{TestGateway, bearer, guard};

/// A command of tier 2, which requires approval for an agent and over the API.
const MEDIUM: &str = "npm install left-pad-of-somebody";

#[test]
fn a_safe_command_is_allowed_at_once_with_a_token_that_is_good_once() {
    let gateway = TestGateway::new("");
    let told = gateway.submit("ls -la");
    assert_eq!((told.status, &told.body["decision"]), (200, &json!("allow")), "{}", told.text);
    let (id, token) = (told.body["action_id"].as_str().unwrap(), told.body["token"].as_str().unwrap());
    let result = format!("/v1/requests/{id}/result");
    let wrong = gateway.post(&result, &gateway.client, &json!({ "token": "go_x", "exit": 0, "duration_ms": 5 }));
    assert_eq!(wrong.status, 403, "{}", wrong.text);
    let ended = json!({ "token": token, "exit": 3, "duration_ms": 5 });
    let reported = gateway.post(&result, &gateway.client, &ended);
    assert_eq!(reported.status, 204, "{}", reported.text);
    assert_eq!(gateway.post(&result, &gateway.client, &ended).status, 409, "twice");
    // The token is no longer returned, and was never returned to other clients.
    assert!(gateway.get(&format!("/v1/requests/{id}"), &gateway.client).body["token"].is_null());
    let log = gateway.program(guard()).args(["log", "--json"]).output().unwrap();
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains("\"ls -la\"") && log.contains("\"api\""), "{log}");
    let verified = gateway.program(guard()).arg("verify").status().unwrap();
    assert!(verified.success());
}

#[test]
fn the_threshold_of_the_api_is_stricter_than_that_of_an_agent() {
    let gateway = TestGateway::new("");
    let config = gateway.path("home/.config/guard/config.toml");
    // Agents get a higher threshold; only that of the API keeps its default.
    std::fs::write(config, "[thresholds]\nagent = 3.0\n").unwrap();
    // A stand-in that writes outside the project would exceed the agent's threshold too.
    gateway.stand_in("npm", "exit 7");
    let told = gateway.submit(MEDIUM);
    assert_eq!(told.status, 202, "{}", told.text);
    let mut agent = gateway.agent(MEDIUM);
    assert_eq!(agent.wait().unwrap().code(), Some(7));
}

#[test]
fn what_is_asked_about_waits_until_a_person_says_yes() {
    let gateway = TestGateway::new("");
    let told = gateway.submit(MEDIUM);
    assert_eq!((told.status, &told.body["status"]), (202, &json!("pending")), "{}", told.text);
    let id = told.body["action_id"].as_str().unwrap().to_owned();
    assert_eq!(id.len(), 26);
    // The requester cannot answer, not even with the right scope.
    let own = gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.client, &json!({}));
    assert_eq!(own.status, 403, "{}", own.text);
    let yes = gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({}));
    assert_eq!((yes.status, &yes.body["outcome"]), (200, &json!("done")), "{}", yes.text);
    let seen = gateway.get(&format!("/v1/requests/{id}?wait=20"), &gateway.client);
    assert_eq!(seen.body["decision"], "allow", "{}", seen.text);
    assert!(seen.body["token"].as_str().unwrap().starts_with("go_"), "{}", seen.text);
    let others = gateway.get(&format!("/v1/requests/{id}"), &gateway.person);
    assert!(others.body["token"].is_null(), "{}", others.text);
    // A repeated answer succeeds; the opposite one is too late.
    let again = gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({}));
    assert_eq!(again.status, 200, "{}", again.text);
    let no = gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    assert_eq!((no.status, &no.body["type"]), (409, &json!("urn:guard:problem:settled")), "{}", no.text);
}

#[test]
fn an_agents_command_is_answered_from_afar() {
    let gateway = TestGateway::new("");
    let agent = gateway.agent(MEDIUM);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let no = gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({ "words": "use a branch" }));
    assert_eq!(no.status, 200, "{}", no.text);
    let output = agent.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("use a branch"), "{said}");
    assert_eq!(gateway.ran(), 0);
    // The messages of denials are offered as replies.
    let replies = gateway.get("/v1/replies", &gateway.person);
    assert_eq!(replies.body["replies"][0], "use a branch", "{}", replies.text);

    let agent = gateway.agent(MEDIUM);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({})).status, 200);
    assert!(agent.wait_with_output().unwrap().status.success());
    assert_eq!(gateway.ran(), 1);
}

#[test]
fn a_yes_that_lasts_is_a_grant_of_this_command_alone() {
    let gateway = TestGateway::new("");
    let agent = gateway.agent(MEDIUM);
    let waiting = gateway.waiting();
    let offers: Vec<&str> = waiting["offers"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(offers.starts_with(&["once"]) && offers.ends_with(&["until", "always"]), "{offers:?}");
    let id = waiting["action_id"].as_str().unwrap().to_owned();
    let approve = |id: &str, body: Value| gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &body);
    let day = |days: i64| (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days)).to_string();
    for (body, status, kind) in [
        (json!({ "scope": "until" }), 400, "bad-request"),
        (json!({ "scope": "always", "until": day(1) }), 400, "bad-request"),
        (json!({ "scope": "until", "until": day(-1) }), 422, "not-offered"),
        (json!({ "scope": "until", "until": day(15) }), 422, "not-offered"),
    ] {
        let no = approve(&id, body.clone());
        assert_eq!(
            (no.status, &no.body["type"]),
            (status, &json!(format!("urn:guard:problem:{kind}"))),
            "{body}: {}",
            no.text
        );
    }
    let no = gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({ "scope": "always" }));
    assert_eq!(no.status, 400, "{}", no.text);
    assert_eq!(gateway.waiting()["action_id"], id.as_str(), "nothing was approved");
    let yes = approve(&id, json!({ "scope": "until", "until": day(13) }));
    assert_eq!(yes.status, 200, "{}", yes.text);
    assert!(yes.body["told"].as_str().unwrap().starts_with("approved, and the same command until "), "{}", yes.text);
    assert!(agent.wait_with_output().unwrap().status.success());
    // The same command now runs without a question, another one does not.
    assert!(gateway.agent(MEDIUM).wait_with_output().unwrap().status.success());
    assert_eq!(gateway.ran(), 2);
    let other = gateway.agent(&format!("{MEDIUM}-other"));
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    assert_eq!(approve(&id, json!({})).body["scope"], "once");
    assert!(other.wait_with_output().unwrap().status.success());
    let again = gateway.agent(&format!("{MEDIUM}-other"));
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({})).status, 200);
    assert_eq!(again.wait_with_output().unwrap().status.code(), Some(126));
    assert_eq!(gateway.ran(), 3);
}

#[test]
fn what_the_card_offers_no_grant_for_is_approved_once_at_a_time() {
    let gateway = TestGateway::new("unsigned_tier = 3\n");
    let agent = gateway.agent("bash -c 'npm install some-pkg'");
    let waiting = gateway.waiting();
    if waiting["offers"] != json!(["once"]) {
        panic!("{waiting}");
    }
    let id = waiting["action_id"].as_str().unwrap().to_owned();
    for scope in ["session", "always"] {
        let no = gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({ "scope": scope }));
        assert_eq!((no.status, &no.body["type"]), (422, &json!("urn:guard:problem:not-offered")), "{}", no.text);
    }
    assert_eq!(gateway.ran(), 0);
    assert_eq!(
        gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({ "scope": "once" })).status,
        200
    );
    assert!(agent.wait_with_output().unwrap().status.success());
}

#[test]
fn what_is_of_tier_3_is_not_approved_from_afar_unless_the_configuration_says_so() {
    let mut gateway = TestGateway::new("");
    let agent = gateway.agent("git push --force origin main");
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let yes = gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({}));
    assert_eq!((yes.status, &yes.body["type"]), (403, &json!("urn:guard:problem:not-from-afar")), "{}", yes.text);
    gateway.write_config("unsigned_tier = 3\n");
    assert!(gateway.end("-TERM").success());
    gateway.start();
    let yes = gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({}));
    assert_eq!(yes.status, 200, "{}", yes.text);
    assert!(agent.wait_with_output().unwrap().status.success());
    assert_eq!(gateway.ran(), 1);
}

#[test]
fn a_client_sees_its_own_alone_and_cancels_it() {
    let gateway = TestGateway::new("");
    let other = gateway.token("other", "submit");
    let id = gateway.submit(MEDIUM).body["action_id"].as_str().unwrap().to_owned();
    let path = format!("/v1/requests/{id}");
    assert_eq!(gateway.get(&path, &other).status, 404);
    assert_eq!(gateway.get("/v1/requests", &other).status, 403);
    assert_eq!(gateway.send("DELETE", &path, &[&bearer(&other)], "").status, 404);
    assert_eq!(gateway.send("DELETE", &path, &[&bearer(&gateway.client)], "").status, 204);
    gateway.until(|| gateway.get(&path, &gateway.client).body["decision"] == "deny");
    assert_eq!(gateway.send("DELETE", &path, &[&bearer(&gateway.client)], "").status, 409);
}

#[test]
fn the_same_key_is_the_same_command() {
    let gateway = TestGateway::new("");
    let body = json!({ "command": MEDIUM, "cwd": gateway.path("work") }).to_string();
    let send =
        |body: &str| gateway.send("POST", "/v1/requests", &[&bearer(&gateway.client), "Idempotency-Key: k1"], body);
    let first = send(&body);
    let second = send(&body);
    assert_eq!((first.status, second.status), (202, 202), "{}", second.text);
    assert_eq!(first.body["action_id"], second.body["action_id"]);
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    assert_eq!(list.body["requests"].as_array().unwrap().len(), 1, "{}", list.text);
    let other = send(&body.replace("left-pad", "right-pad"));
    assert_eq!((other.status, &other.body["type"]), (422, &json!("urn:guard:problem:key-reused")), "{}", other.text);
}

#[test]
fn several_at_once_are_answered_in_order() {
    let gateway = TestGateway::new("");
    let cwd = gateway.path("work");
    let one = |command: &str| json!({ "command": command, "cwd": cwd });
    let told = gateway.post("/v1/requests/batch", &gateway.client, &json!([one("ls"), {"cwd": 5}, one("true")]));
    assert_eq!(told.status, 207, "{}", told.text);
    let codes: Vec<&Value> = told.body.as_array().unwrap().iter().map(|one| &one["status_code"]).collect();
    assert_eq!(codes, [200, 400, 200], "{}", told.text);
}

#[test]
fn who_has_no_token_or_another_scope_gets_nothing() {
    let gateway = TestGateway::new("");
    for path in ["/v1/requests", "/v1/events", "/v1/ws", "/v1/status", "/v1/requests/abc"] {
        let told = gateway.get(path, "");
        assert_eq!(told.status, 401, "{path}: {}", told.text);
        assert!(told.head.to_lowercase().contains("content-type: application/problem+json"), "{}", told.head);
    }
    let reader = gateway.token("reader", "read");
    let id = gateway.submit(MEDIUM).body["action_id"].as_str().unwrap().to_owned();
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/approve"), &reader, &json!({})).status, 403);
    assert_eq!(gateway.post("/v1/requests", &reader, &json!({ "command": "ls", "cwd": "/" })).status, 403);
    assert_eq!(gateway.get("/v1/requests", &reader).status, 200);
    // A revoked token is rejected at once.
    assert!(gateway.command(&["token", "remove", "reader"]).status().unwrap().success());
    assert_eq!(gateway.get("/v1/requests", &reader).status, 401);
    // The stored data does not contain the secret of a token.
    let kept = std::fs::read(gateway.path("home/.local/share/guard/gateway.db")).unwrap();
    let secret = gateway.person.as_bytes();
    assert!(!kept.windows(secret.len()).any(|found| found == secret));
}

#[test]
fn too_many_and_too_large_are_refused() {
    let gateway = TestGateway::new("");
    // One more is accepted each second, so a slow machine accepts more than the first ten.
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..60).map(|_| scope.spawn(|| gateway.submit("true").status)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let taken = codes.iter().filter(|code| **code == 200).count();
    assert!((10..60).contains(&taken), "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 429).count(), 60 - taken, "{codes:?}");
    let large = gateway.post("/v1/requests", &gateway.person, &json!({ "command": "x".repeat(1 << 20), "cwd": "/" }));
    assert_eq!(large.status, 413, "{}", large.text);
}

#[test]
fn another_site_cannot_use_it() {
    let gateway = TestGateway::new("");
    let port = gateway.port;
    let with = |lines: &[&str]| {
        let token = bearer(&gateway.person);
        let all = [&[token.as_str()], lines].concat();
        gateway.send("GET", "/v1/requests", &all, "").status
    };
    // A host name of somebody else that resolves to this machine.
    assert_eq!(with(&[&format!("Host: evil.example:{port}")]), 403);
    assert_eq!(with(&["Host: localhost:1"]), 403);
    assert_eq!(with(&[&format!("Host: 127.0.0.1:{port}")]), 200);
    assert_eq!(with(&[&format!("Host: [::1]:{port}")]), 200);
    assert_eq!(with(&["Origin: https://evil.example"]), 403);
    assert_eq!(with(&["Origin: null"]), 403);
    assert_eq!(with(&[&format!("Origin: http://localhost:{}", port - 1)]), 403);
    assert_eq!(with(&[&format!("Origin: http://localhost:{port}")]), 200);
    assert_eq!(with(&["Sec-Fetch-Site: cross-site"]), 403);
    assert_eq!(with(&["Sec-Fetch-Site: same-site"]), 403);
    assert_eq!(with(&["Sec-Fetch-Site: same-origin"]), 200);
    // A WebSocket that the page of another site opens.
    let upgrade = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Origin: https://evil.example",
    ];
    let token = bearer(&gateway.person);
    let all = [&[token.as_str()][..], &upgrade[..]].concat();
    assert_eq!(gateway.send("GET", "/v1/ws", &all, "").status, 403);
    // A page that embeds it in a frame is not shown anything.
    let page = gateway.get("/", "");
    let head = page.head.to_lowercase();
    assert_eq!(page.status, 200);
    assert!(head.contains("frame-ancestors 'none'") && head.contains("x-frame-options: deny"), "{head}");
    assert!(head.contains("default-src 'none'") && !head.contains("unsafe-inline"), "{head}");
    assert!(!head.contains("access-control-allow"), "{head}");
}

#[test]
fn a_form_of_another_site_does_nothing_with_a_cookie() {
    let gateway = TestGateway::new("");
    let login = json!({ "secret": gateway.person }).to_string();
    assert_eq!(gateway.send("POST", "/v1/login", &[], &login).status, 403, "a form sends no header of its own");
    let told = gateway.send("POST", "/v1/login", &["X-Guard: 1"], &login);
    assert_eq!(told.status, 200, "{}", told.text);
    let set = told.head.lines().find(|line| line.to_lowercase().starts_with("set-cookie:")).unwrap().to_owned();
    for wanted in ["__Host-guard=", "Secure", "HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set.contains(wanted), "{set}");
    }
    let cookie = format!("Cookie: {}", set.split_once(": ").unwrap().1.split(';').next().unwrap());
    assert_eq!(gateway.send("GET", "/v1/requests", &[&cookie], "").status, 200);
    let id = gateway.submit(MEDIUM).body["action_id"].as_str().unwrap().to_owned();
    let approve = format!("/v1/requests/{id}/approve");
    assert_eq!(gateway.send("POST", &approve, &[&cookie], "{}").status, 403);
    let foreign = [cookie.as_str(), "X-Guard: 1", "Origin: https://evil.example"];
    assert_eq!(gateway.send("POST", &approve, &foreign, "{}").status, 403);
    assert_eq!(gateway.send("POST", &approve, &[&cookie, "X-Guard: 1"], "{}").status, 200);
    assert_eq!(gateway.send("POST", "/v1/logout", &[&cookie, "X-Guard: 1"], "").status, 204);
    assert_eq!(gateway.send("GET", "/v1/requests", &[&cookie], "").status, 401);
    // Revoking the token also ends the sessions that were logged in with it.
    let told = gateway.send("POST", "/v1/login", &["X-Guard: 1"], &login);
    let set = told.head.lines().find(|line| line.to_lowercase().starts_with("set-cookie:")).unwrap().to_owned();
    let cookie = format!("Cookie: {}", set.split_once(": ").unwrap().1.split(';').next().unwrap());
    assert!(gateway.command(&["token", "remove", "ada"]).status().unwrap().success());
    assert_eq!(gateway.send("GET", "/v1/requests", &[&cookie], "").status, 401);
}

#[test]
fn nothing_is_lost_and_nothing_is_approved_when_the_gateway_is_killed() {
    let mut gateway = TestGateway::new("");
    let id = gateway.submit(MEDIUM).body["action_id"].as_str().unwrap().to_owned();
    let before = gateway.waiting()["id"].as_str().unwrap().to_owned();
    gateway.kill();
    // The waiting guard notices the end of the gateway and gives up.
    let queue = gateway.path("home/.local/share/guard");
    let queue = guard_store::store::queue::Queue::open(&guard_store::store::Paths::new(queue)).unwrap();
    gateway.until(|| queue.find(&before).unwrap().unwrap().state == guard_store::store::queue::RequestState::Late);
    gateway.start();
    // The request is pending again, under the same names for the client and for the person.
    gateway.until(|| gateway.get(&format!("/v1/requests/{id}"), &gateway.client).body["status"] == "pending");
    assert_eq!(gateway.waiting()["id"], json!(before));
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({})).status, 200);
    let seen = gateway.get(&format!("/v1/requests/{id}?wait=20"), &gateway.client);
    assert_eq!(seen.body["decision"], "allow", "{}", seen.text);
}

#[test]
fn a_broken_configuration_is_refused_and_the_old_one_goes_on() {
    let mut gateway = TestGateway::new("hosts = [\"guard.test\"]\n");
    let as_host = |gateway: &TestGateway| gateway.send("GET", "/healthz", &["Host: guard.test"], "").status;
    assert_eq!(as_host(&gateway), 200);
    let hup = |gateway: &TestGateway| Command::new("kill").args(["-HUP", &gateway.pid().to_string()]).status().unwrap();
    gateway.write_config("hosts = [\"other.test\"\n");
    hup(&gateway);
    let status = gateway.command(&["serve", "--status"]).output().unwrap();
    let said = String::from_utf8(status.stdout).unwrap();
    assert!(status.status.code() == Some(1) && said.contains("line 1") && said.contains("0 waiting"), "{said}");
    assert!(said.contains("still uses the previous one"), "{said}");
    assert!(said.contains(&format!("page: http://localhost:{}", gateway.port)), "{said}");
    assert_eq!(as_host(&gateway), 200);
    gateway.write_config("hosts = [\"other.test\"]\n");
    hup(&gateway);
    gateway.until(|| as_host(&gateway) == 403);
    assert!(gateway.end("-TERM").success());
    assert!(!gateway.path("home/.local/share/guard/gateway.sock").exists());
}

#[test]
fn the_socket_takes_commands_and_no_answers() {
    let gateway = TestGateway::new("");
    let id = gateway.submit(MEDIUM).body["action_id"].as_str().unwrap().to_owned();
    let socket = gateway.path("home/.local/share/guard/gateway.sock");
    let curl = |method: &str, path: &str, body: &str| {
        use std::io::{Read as _, Write as _};
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!(curl("GET", "/v1/requests", ""), 200);
    let body = json!({ "command": "true", "cwd": gateway.path("work") }).to_string();
    assert_eq!(curl("POST", "/v1/requests", &body), 200);
    assert_eq!(curl("POST", &format!("/v1/requests/{id}/approve"), "{}"), 403);
    let status = gateway.command(&["serve", "--status"]).output().unwrap();
    let said = String::from_utf8(status.stdout).unwrap();
    assert!(status.status.success() && said.contains("1 waiting"), "{said}");
}

#[test]
fn events_tell_what_happens_and_begin_where_one_left_off() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let gateway = TestGateway::new("");
    let id = gateway.submit(MEDIUM).body["action_id"].as_str().unwrap().to_owned();
    gateway.waiting();
    let listen = |last: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let text = format!(
            "GET /v1/events HTTP/1.1\r\nHost: localhost:{}\r\n{}\r\n{last}\r\n",
            gateway.port,
            bearer(&gateway.person)
        );
        stream.write_all(text.as_bytes()).unwrap();
        BufReader::new(stream).lines().map_while(Result::ok)
    };
    let mut events = listen("Last-Event-ID: 0\r\n");
    let data = events.find(|line| line.starts_with("data: ")).unwrap();
    let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(event["type"], "tier3_approval_required", "{event}");
    for field in ["action_id", "tool_name", "reasoning", "timeout_secs"] {
        assert!(!event[field].is_null(), "{event}");
    }
    gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    assert!(events.any(|line| line == "event: request.answered"));
    let mut missed = listen("Last-Event-ID: 99999\r\n");
    assert!(missed.any(|line| line == "event: reset"));
}

#[test]
fn the_document_of_the_api_is_served() {
    let gateway = TestGateway::new("");
    let told = gateway.get("/openapi.json", "");
    assert_eq!(told.body["info"]["title"], "guard-gateway", "{}", told.text);
    assert!(told.body["paths"]["/v1/requests/{id}/approve"]["post"]["responses"]["403"].is_object());
}

#[test]
fn why_it_is_asked_for_is_shown_and_a_crisis_comes_first() {
    let gateway = TestGateway::new("");
    let cwd = gateway.path("work");
    let plain = gateway.submit(MEDIUM);
    assert_eq!(plain.status, 202, "{}", plain.text);
    let body = json!({
        "command": "xdg-open tel:988", "cwd": cwd, "crisis": true, "timeout_secs": 60,
        "reason": "they asked for it \u{202e} twice",
    });
    let crisis = gateway.post("/v1/requests", &gateway.client, &body);
    assert_eq!(crisis.status, 202, "{}", crisis.text);
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    let first = &list.body["requests"][0];
    assert_eq!((&first["crisis"], &first["decision"]), (&json!(true), &json!(true)), "{}", list.text);
    assert_eq!(first["said"], "they asked for it ⟨U+202E⟩ twice");
    assert_eq!(list.body["requests"].as_array().unwrap().len(), 2);
    // For anything that is not a decision, it does not change the order.
    let body = json!({ "command": "npm install right-pad-of-somebody", "cwd": cwd, "crisis": true });
    assert_eq!(gateway.post("/v1/requests", &gateway.client, &body).status, 202);
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    assert_eq!(list.body["requests"][0]["command"], "xdg-open tel:988", "{}", list.text);
    let long = json!({ "command": "ls", "cwd": cwd, "reason": "x".repeat(5000) });
    assert_eq!(gateway.post("/v1/requests", &gateway.client, &long).status, 400);
}

#[test]
fn a_call_of_a_tool_is_judged_by_its_name_and_its_input() {
    let gateway = TestGateway::new("");
    let cwd = gateway.path("work");
    let submit = |body: Value| gateway.post("/v1/requests", &gateway.client, &body);
    let read = submit(json!({ "tool": "list_files", "input": { "path": "." }, "cwd": cwd }));
    assert_eq!((read.status, &read.body["decision"]), (200, &json!("allow")), "{}", read.text);
    let deletes = submit(json!({ "tool": "delete_event", "input": { "id": 3 }, "cwd": cwd }));
    assert_eq!(deletes.status, 202, "{}", deletes.text);
    let odd = submit(json!({ "tool": "x", "command": "ls", "cwd": cwd }));
    assert_eq!(odd.status, 400, "{}", odd.text);
    assert_eq!(submit(json!({ "command": "ls", "input": {}, "cwd": cwd })).status, 400);
}

#[test]
fn what_a_messengers_bot_hands_in_is_of_that_messenger() {
    let gateway = TestGateway::new("");
    for (origin, asked) in [(Origin::Telegram, true), (Origin::Discord, false), (Origin::Api, true)] {
        let token = gateway.token_of(origin.name(), "submit,read", origin);
        let body = json!({ "command": "curl https://unknown.example.com/", "cwd": gateway.path("work") });
        let told = gateway.post("/v1/requests", &token, &body);
        let tier_2 = json!({ "command": "chmod 777 notes.txt", "cwd": gateway.path("work") });
        let told =
            if told.status == 202 || told.status == 200 { told } else { gateway.post("/v1/requests", &token, &tier_2) };
        assert!(told.status == 202 || told.status == 200, "{asked} {}", told.text);
    }
    let log = gateway.program(guard()).args(["log", "--json"]).output().unwrap();
    let text = String::from_utf8_lossy(&log.stdout);
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    let all = format!("{text}{}", list.text);
    for origin in ["telegram", "discord", "api"] {
        assert!(all.contains(&format!("\"origin\":\"{origin}\"")), "{origin}: {all}");
    }
}

#[test]
fn whoever_handed_a_command_in_is_called_back_with_a_signature() {
    let taken = Server::new(|_| Some((204, String::new())));
    let secret = tempfile::tempdir().unwrap().keep().join("secret");
    std::fs::write(&secret, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let config = format!(
        "[[callback]]\nname = \"ci\"\nurl = \"{}/done\"\nsecret = {{ file = \"{}\" }}\n",
        taken.url(),
        secret.display()
    );
    let gateway = TestGateway::new(&config);
    // The first attempt fails and is repeated.
    taken.fail("/done", 500, "");
    let body = json!({ "command": "ls", "cwd": gateway.path("work"), "callback": "ci" });
    let told = gateway.post("/v1/requests", &gateway.client, &body);
    assert_eq!(told.status, 200, "{}", told.text);
    gateway.until(|| taken.asked("/done").len() == 2);
    let came = taken.asked("/done");
    let header = |at: usize, name: &str| {
        let found = came[at].head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")));
        found.unwrap().split_once(':').unwrap().1.trim().to_owned()
    };
    assert_eq!(header(0, "webhook-id"), header(1, "webhook-id"), "the same message");
    let key = guard_gateway::channel::webhook::secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    for (at, one) in came.iter().enumerate() {
        let wanted = guard_gateway::channel::webhook::sign(
            &key,
            &header(at, "webhook-id"),
            &header(at, "webhook-timestamp"),
            &one.text,
        );
        assert_eq!(header(at, "webhook-signature"), wanted);
        assert_eq!(one.body["data"]["decision"], "allow");
        assert!(!one.text.contains("go_"), "the one-time token goes nowhere else: {}", one.text);
    }
    let elsewhere = json!({ "command": "ls", "cwd": gateway.path("work"), "callback": "https://evil.example.org/" });
    assert_eq!(gateway.post("/v1/requests", &gateway.client, &elsewhere).status, 400);
}

#[test]
fn help_comes_at_once_whatever_limit_is_reached_and_whatever_cannot_be_written() {
    let gateway = TestGateway::new("");
    gateway.stand_in("xdg-open", "echo ran >> \"$HOME/ran\"");
    let help = |command: Value| {
        let mut body = json!({ "cwd": gateway.path("work") });
        body.as_object_mut().unwrap().extend(command.as_object().unwrap().clone());
        gateway.post("/v1/requests", &gateway.client, &body)
    };
    let line = json!({ "command": "xdg-open https://988lifeline.org/" });
    let argv = json!({ "argv": ["xdg-open", "https://988lifeline.org/"] });
    // Uses up the rate limit of this minute.
    gateway.until(|| gateway.submit("true").status == 429);
    for command in [&line, &argv, &line, &argv] {
        let told = help(command.clone());
        assert_eq!((told.status, &told.body["settled_by"]), (200, &json!("support")), "{}", told.text);
    }
    let mut many = vec![json!({ "command": "true", "cwd": gateway.path("work") }); 70];
    many.push(json!({ "command": "xdg-open https://988lifeline.org/", "cwd": gateway.path("work") }));
    let told = gateway.post("/v1/requests/batch", &gateway.client, &json!(many));
    let codes: Vec<u64> =
        told.body.as_array().unwrap().iter().map(|one| one["status_code"].as_u64().unwrap()).collect();
    assert!(codes.contains(&429) && codes[70] == 200, "{codes:?}");
    // A command that only resembles a support command is rate-limited like any other.
    gateway.until(|| gateway.submit("true").status == 429);
    assert_eq!(help(json!({ "command": "xdg-open https://988lifeline.org/; ls" })).status, 429);
    // Its result is reported like that of any other command, once.
    let told = help(line.clone());
    let path = format!("/v1/requests/{}/result", told.body["action_id"].as_str().unwrap());
    let ended = json!({ "token": told.body["token"], "exit": 0, "duration_ms": 5 });
    gateway.until(|| gateway.post(&path, &gateway.client, &ended).status == 204);
    assert_eq!(gateway.post(&path, &gateway.client, &ended).status, 409);
    // While another process locks the gateway's database, nothing can be stored in it.
    let kept = rusqlite::Connection::open(gateway.path("home/.local/share/guard/gateway.db")).unwrap();
    kept.execute_batch("BEGIN IMMEDIATE").unwrap();
    let told = help(line);
    assert_eq!((told.status, &told.body["decision"]), (200, &json!("allow")), "{}", told.text);
    kept.execute_batch("COMMIT").unwrap();
}

#[test]
fn what_is_handed_in_many_at_a_time_is_told_of_under_one_name_each() {
    let gateway = TestGateway::new("");
    let ids: Vec<String> = std::thread::scope(|scope| {
        let submit =
            |at: usize| gateway.submit(&format!("{MEDIUM}-{at}")).body["action_id"].as_str().unwrap().to_owned();
        let all: Vec<_> = (0..8).map(|at| scope.spawn(move || submit(at))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    // A listener received each event once, by the name that its client was given.
    let mut heard: Vec<String> = Vec::new();
    for id in &ids {
        let told = gateway.get(&format!("/v1/requests/{id}/story"), &gateway.person);
        let all = told.body["events"].as_array().unwrap().clone();
        heard.extend(all.iter().filter(|one| one["type"] == "request.filed").map(|_| id.clone()));
    }
    assert_eq!(heard, ids);
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    let mut listed: Vec<String> = list.body["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["action_id"].as_str().unwrap().to_owned())
        .collect();
    let mut ids = ids;
    listed.sort();
    ids.sort();
    assert_eq!(listed, ids);
    for id in &ids {
        gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
    }
}
