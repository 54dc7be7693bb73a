//! Tests the views of the page other than the queue, its use by keyboard alone, and its accessibility to screen
//! readers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::chromium::Browser;
use super::{MEDIUM, logged_in};
use crate::test_gateway::TestGateway;

/// Opens a view and waits for an expression to be true in it.
#[track_caller]
fn visit(page: &mut Browser, view: &str, until: &str) {
    page.run(&format!("document.querySelector('#show-{view}').click()"));
    page.until(&format!("!document.querySelector('#{view}').hidden && {until}"));
}

/// Denies a command on the page with a message.
#[track_caller]
fn refuse(gateway: &TestGateway, page: &mut Browser, command: &str, words: &str) {
    let mut agent = gateway.agent(command);
    page.until("document.querySelectorAll('article').length === 1");
    page.run(&format!("document.querySelector('article input:not([type=checkbox])').value = {}", json!(words)));
    page.run("document.querySelector('article [data-do=deny]').click()");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    page.until("document.querySelectorAll('#cards article').length === 0");
}

#[test]
fn axe_finds_nothing_in_any_view_by_day_and_by_night() {
    let gateway = TestGateway::new("");
    let mut page = Browser::open(&format!("http://127.0.0.1:{}/", gateway.port));
    page.until("document.querySelector('#login') && !document.querySelector('#login').hidden");
    assert_eq!(page.axe(), Vec::<String>::new(), "login");
    drop(page);
    let mut page = logged_in(&gateway);
    refuse(&gateway, &mut page, MEDIUM, "use a branch");
    let mut agents = [gateway.agent(MEDIUM), gateway.agent("git push --force origin main")];
    page.until("document.querySelectorAll('#cards article').length === 2");
    page.run("document.querySelector('article input[type=checkbox]').click()");
    for scheme in ["light", "dark"] {
        page.scheme(scheme);
        visit(&mut page, "queue", "document.querySelectorAll('#batch-effect li').length === 1");
        assert_eq!(page.axe(), Vec::<String>::new(), "queue {scheme}");
        page.picture(&format!("queue-{scheme}"));
        visit(&mut page, "history", "document.querySelectorAll('.past').length >= 3");
        assert_eq!(page.axe(), Vec::<String>::new(), "history {scheme}");
        page.run("document.querySelector('.past button').click()");
        page.until("document.querySelectorAll('.happened li').length >= 1");
        assert_eq!(page.axe(), Vec::<String>::new(), "story {scheme}");
        visit(&mut page, "sessions", "document.querySelectorAll('#sessions article').length >= 1");
        assert_eq!(page.axe(), Vec::<String>::new(), "sessions {scheme}");
        visit(&mut page, "figures", "document.querySelectorAll('figure').length >= 3");
        assert_eq!(page.axe(), Vec::<String>::new(), "figures {scheme}");
        page.picture(&format!("figures-{scheme}"));
        assert_eq!(page.run("document.documentElement.scrollWidth <= 390"), true, "nothing is wider than a phone");
    }
    page.desktop();
    page.picture("desktop-figures");
    visit(&mut page, "queue", "document.querySelectorAll('#cards article').length === 2");
    page.picture("desktop-queue");
    page.run("document.querySelector('#batch-deny').click()");
    for agent in &mut agents {
        assert_eq!(agent.wait().unwrap().code(), Some(126));
    }
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn one_request_tells_its_whole_story() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    refuse(&gateway, &mut page, MEDIUM, "show me first");
    visit(&mut page, "history", "document.querySelectorAll('.past').length === 1");
    page.run("document.querySelector('.past button').click()");
    page.until("document.querySelectorAll('.happened li').length >= 3");
    assert_eq!(page.run("document.activeElement.textContent.startsWith('Request ')"), true, "the focus goes with it");
    let told = page.run("document.querySelector('#story').innerText");
    let told = told.as_str().unwrap();
    for part in [MEDIUM, "requested by", "denied by ada: show me first", "of the record"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    page.picture("story");
    page.run("[...document.querySelectorAll('#story button')].pop().click()");
    page.until("!document.querySelector('#history').hidden");
    // A command that ran without a question is only in the record.
    assert!(gateway.agent("echo harmless-words").wait().unwrap().success());
    page.run("document.querySelector('#everything').click()");
    page.run("document.querySelector('#words').value = 'words harmless'; document.querySelector('#words').dispatchEvent(new Event('input'))");
    page.until("document.querySelectorAll('.past').length === 1 && document.querySelector('.past').innerText.includes('harmless-words')");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_link_of_a_message_leads_to_its_request() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    let mut agent = gateway.agent(MEDIUM);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    page.until("document.querySelectorAll('article').length === 1");
    page.run(&format!("location.hash = '{id}'"));
    page.until(&format!("document.activeElement.id === 'card-{id}'"));
    page.run("document.querySelector('article [data-do=deny]').click()");
    agent.wait().unwrap();
    page.until("document.querySelectorAll('#cards article').length === 0");
    page.run("location.hash = ''");
    page.run(&format!("location.hash = '{id}'"));
    page.until("!document.querySelector('#story').hidden");
}

#[test]
fn keys_answer_on_a_card_and_nowhere_else() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    let mut first = gateway.agent(MEDIUM);
    page.until("document.querySelectorAll('article').length === 1");
    let mut second = gateway.agent("npm install right-pad-of-somebody");
    page.until("document.querySelectorAll('article').length === 2");
    page.press("a");
    page.press("j");
    page.until("document.activeElement === document.querySelectorAll('article')[0]");
    page.press("j");
    page.until("document.activeElement === document.querySelectorAll('article')[1]");
    page.press("k");
    page.until("document.activeElement === document.querySelectorAll('article')[0]");
    page.press("w");
    page.until("document.activeElement.tagName === 'INPUT'");
    for letter in ["a", "d"] {
        page.press(letter);
    }
    page.until("document.activeElement.value === 'ad'");
    assert_eq!(page.run("document.querySelectorAll('article').length"), 2, "letters of words answer nothing");
    page.run("document.activeElement.closest('article').focus()");
    page.press("d");
    page.until("document.querySelectorAll('article').length === 1");
    page.run("document.querySelector('article').focus()");
    page.press("d");
    for agent in [&mut first, &mut second] {
        assert_eq!(agent.wait().unwrap().code(), Some(126));
    }
}

#[test]
fn a_session_is_resumed_and_then_trusted_at_the_page() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    for _ in 0..3 {
        refuse(&gateway, &mut page, MEDIUM, "no");
    }
    // The session is stopped: no more questions are asked.
    assert_eq!(gateway.agent(MEDIUM).wait().unwrap().code(), Some(126));
    visit(&mut page, "sessions", "document.querySelector('[data-do=resume]')");
    page.picture("sessions");
    page.run("document.querySelector('[data-do=resume]').click()");
    page.until("document.querySelector('#said').textContent.includes('give the reason')");
    page.run("document.querySelector('[data-do=why]').value = 'looked at it'");
    page.run("document.querySelector('[data-do=resume]').click()");
    page.until("document.querySelector('[data-do=trust]')");
    page.run("document.querySelector('[data-do=trust]').click()");
    assert!(page.run("document.querySelector('[data-do=trust]').textContent").as_str().unwrap().starts_with("Yes: "));
    page.run("document.querySelector('[data-do=trust]').click()");
    page.until("document.querySelector('#sessions').textContent.includes('trusted by grant')");
    // A rule that was denied in this session still asks; another rule does not.
    assert!(gateway.agent("chmod 777 .").wait().unwrap().success());
}

#[test]
fn a_notice_that_is_pushed_is_shown() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    let origin = format!("http://localhost:{}", gateway.port);
    page.call("Browser.grantPermissions", json!({ "origin": origin, "permissions": ["notifications"] }));
    page.until("navigator.serviceWorker.controller !== null");
    page.call("ServiceWorker.enable", json!({}));
    let found = page.event("ServiceWorker.workerVersionUpdated", |params| {
        params["versions"].as_array().is_some_and(|all| all.iter().any(|one| one["status"] == "activated"))
    });
    let active = found["versions"].as_array().unwrap().iter().find(|one| one["status"] == "activated").unwrap();
    let data = json!({ "title": "guard asks", "body": MEDIUM, "action_id": "a".repeat(26), "urgent": false });
    let pushed = json!({ "origin": origin, "registrationId": active["registrationId"], "data": data.to_string() });
    let shown = "navigator.serviceWorker.ready.then((ready) => ready.getNotifications())\
                 .then((all) => all.map((one) => [one.title, one.body, one.tag]))";
    let mut last = Value::Null;
    for _ in 0..30 {
        // A push service redelivers a message that no worker took; a repeated notification replaces the one before it.
        page.call("ServiceWorker.deliverPushMessage", pushed.clone());
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(2) {
            last = page.run(shown);
            if last == json!([["guard asks", MEDIUM, "a".repeat(26)]]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    panic!("shown instead: {last}; permission: {}", page.run("Notification.permission"));
}
