//! Tests a passkey from its code in a terminal to the command that it approves, in a real browser with a virtual
//! authenticator; and forgeries of each part that it signs.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Child;

use serde_json::{Value, json};

use crate::browser::chromium::Browser;
use crate::terminal::Terminal;
use crate::test_gateway::{HttpResponse, TestGateway, guard, until};

const FLAGGED: &str = "git push --force origin main";

fn authenticator(browser: &mut Browser) -> Value {
    browser.call("WebAuthn.enable", json!({ "enableUI": false }));
    let options = json!({
        "protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "internal", "hasResidentKey": true,
        "hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true,
    });
    browser.call("WebAuthn.addVirtualAuthenticator", json!({ "options": options }))["authenticatorId"].clone()
}

/// Enrols ada with a passkey, and returns the browser that has it.
fn enrolled(gateway: &TestGateway) -> (Browser, Value) {
    let mut terminal = Terminal::new(gateway.program(Path::new("script")), "approver add ada --passkey");
    terminal.wait_for("within two minutes");
    terminal.wait_for("/enrol#");
    until(|| terminal.screen().split("/enrol#").nth(1).is_some_and(|rest| rest.contains('\n')));
    let screen = terminal.screen();
    let url = screen.split_whitespace().find(|word| word.contains("/enrol#")).unwrap().to_owned();
    assert!(screen.contains("for another device, set page"), "{screen}");
    assert!(screen.contains('█') || screen.contains('▀'), "a code to be read by a camera: {screen}");
    let mut page = Browser::open("about:blank");
    let key = authenticator(&mut page);
    page.call("Page.navigate", json!({ "url": url }));
    page.until("document.querySelector('#make') && !document.querySelector('#make').hidden");
    assert_eq!(page.run("location.hash"), json!(""), "the secret is gone from the address");
    page.run("document.querySelector('#make').click()");
    page.until("document.querySelector('#digits').textContent.length === 6");
    let digits = page.run("document.querySelector('#digits').textContent").as_str().unwrap().to_owned();
    page.picture("enrol");
    terminal.wait_for(&format!("the digits {digits}?"));
    terminal.answer("y");
    terminal.wait_for("Continue?");
    terminal.answer("y");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("Enrolled ada (passkey)"), "{screen}");
    // The code is valid once.
    let again = gateway.send("POST", "/v1/enrol", &[], &json!({ "secret": url.split('#').nth(1) }).to_string());
    assert_eq!(again.status, 410, "{}", again.text);
    assert_eq!(page.complaints(), Vec::<String>::new());
    (page, key)
}

fn log_in(page: &mut Browser, gateway: &TestGateway) {
    page.call("Page.navigate", json!({ "url": format!("http://localhost:{}/", gateway.port) }));
    page.until("document.querySelector('#login') && !document.querySelector('#login').hidden");
    page.run(&format!(
        "document.querySelector('#secret').value = {}; document.querySelector('#login').requestSubmit()",
        json!(gateway.person)
    ));
    page.until("!document.querySelector('#queue').hidden && document.querySelector('#login').hidden");
}

#[test]
fn a_passkey_approves_from_its_code_on_a_terminal_to_the_run() {
    let gateway = TestGateway::new("");
    let (mut page, _) = enrolled(&gateway);
    log_in(&mut page, &gateway);
    let mut agent = gateway.agent(FLAGGED);
    page.until("document.querySelectorAll('[data-do=sign]').length === 1");
    assert_eq!(page.run("document.querySelectorAll('[data-do=approve]').length"), 0);
    let compare = page.run("document.querySelector('.compare strong').textContent");
    assert_eq!(compare, gateway.waiting()["short_digest"], "what guard's own side shows too");
    page.picture("passkey");
    page.run("document.querySelector('[data-do=sign]').click()");
    assert!(agent.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
    let log = gateway.program(guard()).args(["log", "show"]).output().unwrap();
    let text = String::from_utf8_lossy(&log.stdout);
    assert!(text.contains("ada (passkey)") && text.contains("signed by ada"), "{text}");
    assert_eq!(page.complaints(), Vec::<String>::new());
    // A request of tier 4 cannot be signed remotely.
    let mut agent = gateway.agent("rm -rf ~/");
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("document.querySelectorAll('[data-do=sign]').length"), 0);
    page.run("document.querySelector('[data-do=deny]').click()");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
}

/// Returns the assertion of the passkey in this browser for a request.
fn assertion(page: &mut Browser, id: &str) -> Value {
    page.run(&format!(
        "(async () => {{ const {{ sign }} = await import('/passkey.js');
           const response = await fetch('/v1/requests/{id}/challenge', {{ headers: {{ 'x-guard': '1' }} }});
           return sign(await response.json()); }})()"
    ))
}

/// Returns the pending request other than this one.
fn another(gateway: &TestGateway, id: &str) -> String {
    let mut other = String::new();
    until(|| {
        let list = gateway.get("/v1/requests?status=pending", &gateway.person);
        let all = list.body["requests"].as_array().cloned().unwrap_or_default();
        let found = all.iter().find(|one| one["action_id"] != json!(id));
        other = found.map_or(String::new(), |one| one["action_id"].as_str().unwrap().to_owned());
        !other.is_empty()
    });
    other
}

/// Starts an agent's command that waits, and returns the code that its guard shows.
fn with_code(gateway: &TestGateway, command: &str) -> (Child, String) {
    let mut agent = gateway.agent(command);
    let (code, _) = next_code(&mut agent);
    (agent, code)
}

/// Returns the next code that the guard of an agent's command shows, and its output before that.
fn next_code(agent: &mut Child) -> (String, String) {
    // Reads no byte beyond the lines themselves, because the rest is read later.
    let mut stderr = BufReader::with_capacity(1, agent.stderr.as_mut().unwrap());
    let mut said = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "no code: {said}");
        said.push_str(&line);
        if let Some((_, code)) = line.trim().split_once("; code ") {
            assert!(code.len() == 4 && code.chars().all(|c| c.is_ascii_digit()), "{line}");
            return (code.to_owned(), said);
        }
    }
}

/// Signs a request in this browser, and sends the signature with this code.
fn sign_with(gateway: &TestGateway, page: &mut Browser, id: &str, code: Option<&str>) -> HttpResponse {
    let mut assertion = assertion(page, id);
    if let Some(code) = code {
        assertion["code"] = json!(code);
    }
    approve(gateway, id, &assertion)
}

#[test]
fn a_gateway_that_has_another_request_signed_does_not_know_its_code() {
    let gateway = TestGateway::new("");
    std::fs::write(gateway.path("home/.config/guard/config.toml"), "[queue]\nconfirm_code = true\n").unwrap();
    let (mut page, _) = enrolled(&gateway);
    log_in(&mut page, &gateway);
    let (mut shown, code) = with_code(&gateway, FLAGGED);
    let shown_id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let (mut swapped, mut other_code) = with_code(&gateway, "git push --force origin other");
    // The person sees one request, types its code, and is tricked into signing the other one, as many times as a code
    // may be tried. Both may have the same code by chance.
    for left in (0..3).rev() {
        let swapped_id = another(&gateway, &shown_id);
        let wrong = if code == other_code { "00000".to_owned() } else { code.clone() };
        let told = sign_with(&gateway, &mut page, &swapped_id, Some(&wrong));
        assert_eq!(told.status, 200, "{}", told.text);
        if left > 0 {
            let said;
            (other_code, said) = next_code(&mut swapped);
            assert!(said.contains("is not the one that guard showed") && said.contains("requested again"), "{said}");
            until(|| another(&gateway, &shown_id) != swapped_id);
        }
    }
    assert_eq!(swapped.wait().unwrap().code(), Some(126));
    let mut said = String::new();
    swapped.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("is not the one that guard showed") && said.contains("run the command again"), "{said}");
    // The requests that the gateway sees do not contain the code.
    let all = gateway.get("/v1/requests", &gateway.person).text;
    assert!(!all.contains("\"code\""), "{all}");
    // The page sends the code that is typed.
    page.until("document.querySelectorAll('[data-do=sign]').length === 1");
    page.run(&format!("document.querySelector('[data-code]').value = {}", json!(format!(" {code}"))));
    page.run("document.querySelector('[data-do=sign]').click()");
    assert!(shown.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
}

#[test]
fn a_code_that_was_mistyped_may_be_typed_again_and_one_that_is_missing_ends_nothing() {
    let gateway = TestGateway::new("");
    std::fs::write(gateway.path("home/.config/guard/config.toml"), "[queue]\nconfirm_code = true\n").unwrap();
    let (mut page, _) = enrolled(&gateway);
    log_in(&mut page, &gateway);
    let (mut agent, _) = with_code(&gateway, FLAGGED);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    // Without a code, the page signs nothing and the API accepts nothing.
    page.until("document.querySelectorAll('[data-code]').length === 1");
    page.run("document.querySelector('[data-do=sign]').click()");
    page.until("document.querySelector('#said').textContent.startsWith('Type the code')");
    for code in [None, Some(" ")] {
        let told = sign_with(&gateway, &mut page, &id, code);
        assert!(told.status == 422 && told.text.contains("type the code"), "{}", told.text);
    }
    assert_eq!(gateway.waiting()["action_id"], json!(id), "it waits still");
    // A wrong code on the page: the command is requested again, with a new card and a new code.
    page.run("document.querySelector('[data-code]').value = 'x'; document.querySelector('[data-do=sign]').click()");
    let (again, said) = next_code(&mut agent);
    assert!(said.contains("requested again with another code"), "{said}");
    until(|| another(&gateway, "") != id);
    let id = another(&gateway, "");
    page.until(&format!("document.querySelector('#code-{id}')"));
    page.picture("code");
    page.run(&format!("document.querySelector('#code-{id}').value = {}", json!(again)));
    page.run("document.querySelector('[data-do=sign]').click()");
    assert!(agent.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
    // If no code is required, the card has no field for one.
    page.until("document.querySelectorAll('article').length === 0");
    std::fs::write(gateway.path("home/.config/guard/config.toml"), "").unwrap();
    let mut agent = gateway.agent(FLAGGED);
    page.until("document.querySelectorAll('[data-do=sign]').length === 1");
    assert_eq!(page.run("document.querySelectorAll('[data-code]').length"), 0);
    page.run("document.querySelector('[data-do=sign]').click()");
    assert!(agent.wait().unwrap().success());
    assert_eq!(page.complaints(), Vec::<String>::new());
}

fn approve(gateway: &TestGateway, id: &str, assertion: &Value) -> HttpResponse {
    gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({ "assertion": assertion }))
}

#[test]
fn what_is_forged_replayed_or_swapped_approves_nothing() {
    let gateway = TestGateway::new("");
    let (mut page, key) = enrolled(&gateway);
    log_in(&mut page, &gateway);
    let mut first = gateway.agent(FLAGGED);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let good = assertion(&mut page, &id);
    let refused = |what: &str, told: HttpResponse| {
        assert!([403, 404, 409, 422].contains(&told.status), "{what}: {} {}", told.status, told.text);
    };
    refused("nothing", gateway.post(&format!("/v1/requests/{id}/approve"), &gateway.person, &json!({})));
    for part in ["id", "authenticatorData", "clientDataJSON", "signature"] {
        let mut forged = good.clone();
        let text = good[part].as_str().unwrap();
        let last = if text.starts_with('A') { "B" } else { "A" };
        forged[part] = json!(format!("{last}{}", &text[1..]));
        let told = approve(&gateway, &id, &forged);
        assert_eq!(
            (told.status, &told.body["type"]),
            (422, &json!("urn:guard:problem:bad-assertion")),
            "{part}: {}",
            told.text
        );
    }
    page.call("WebAuthn.setResponseOverrideBits", json!({ "authenticatorId": key, "isBadUV": true }));
    let unverified = assertion(&mut page, &id);
    let told = approve(&gateway, &id, &unverified);
    assert!(told.status == 422 && told.text.contains("user verification"), "{}", told.text);
    page.call("WebAuthn.setResponseOverrideBits", json!({ "authenticatorId": key }));
    // A signature for one request is not valid for another.
    let mut second = gateway.agent("git push --force origin other");
    let other = another(&gateway, &id);
    let told = approve(&gateway, &other, &good);
    assert!(told.status == 422 && told.text.contains("another challenge"), "{}", told.text);
    assert_eq!(gateway.ran(), 0);
    let told = approve(&gateway, &id, &good);
    assert_eq!(told.status, 200, "{}", told.text);
    assert!(first.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
    // A signature is valid once.
    let again = gateway.agent(FLAGGED);
    until(|| {
        let list = gateway.get("/v1/requests?status=pending", &gateway.person);
        list.body["requests"].as_array().is_some_and(|all| all.len() == 2)
    });
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    for one in list.body["requests"].as_array().unwrap() {
        refused("replayed", approve(&gateway, one["action_id"].as_str().unwrap(), &good));
    }
    // The counter of a copied key continues from the time of the copy.
    let all = page.call("WebAuthn.getCredentials", json!({ "authenticatorId": key }));
    let mut copied = all["credentials"][0].clone();
    copied["signCount"] = json!(0);
    page.call("WebAuthn.removeCredential", json!({ "authenticatorId": key, "credentialId": copied["credentialId"] }));
    page.call("WebAuthn.addCredential", json!({ "authenticatorId": key, "credential": copied }));
    let by_copy = assertion(&mut page, &other);
    let told = approve(&gateway, &other, &by_copy);
    assert!(told.status == 422 && told.text.contains("copied"), "{}", told.text);
    assert_eq!(gateway.ran(), 1);
    for one in list.body["requests"].as_array().unwrap() {
        let id = one["action_id"].as_str().unwrap();
        assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({})).status, 200);
    }
    assert_eq!(second.wait().unwrap().code(), Some(126));
    assert_eq!(again.wait_with_output().unwrap().status.code(), Some(126));
}
