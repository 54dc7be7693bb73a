//! Tests the page in a real browser: headless Chromium, controlled by its own protocol over a pipe.

pub mod chromium;
mod reconnecting;
mod views;

use serde_json::json;

use crate::test_gateway::TestGateway;
use chromium::Browser;

pub const MEDIUM: &str = "npm install left-pad-of-somebody";

/// Opens the page and logs in.
pub fn logged_in(gateway: &TestGateway) -> Browser {
    logged_in_at(gateway, gateway.port)
}

/// Opens the page at another port and logs in.
fn logged_in_at(gateway: &TestGateway, port: u16) -> Browser {
    let mut page = Browser::open(&format!("http://127.0.0.1:{port}/"));
    page.until("document.querySelector('#login') && !document.querySelector('#login').hidden");
    page.run(&format!(
        "document.querySelector('#secret').value = {}; document.querySelector('#login').requestSubmit()",
        json!(gateway.person)
    ));
    page.until("!document.querySelector('#queue').hidden && document.querySelector('#login').hidden");
    page
}

#[test]
fn a_person_answers_on_the_page() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    assert_eq!(page.run("location.origin"), json!(format!("http://localhost:{}", gateway.port)), "led to the name");
    page.until("!document.querySelector('#nothing').hidden");
    let mut agent = gateway.agent(MEDIUM);
    // The request appears without a reload.
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("document.querySelector('article pre').textContent"), json!(MEDIUM));
    assert_eq!(page.run("document.title"), "(1) guard");
    page.picture("phone");
    page.run("document.querySelector('article [data-do=approve]').click()");
    assert!(agent.wait().unwrap().success());
    assert_eq!(gateway.ran(), 1);
    page.until("document.querySelectorAll('article').length === 0");

    let agent = gateway.agent(MEDIUM);
    page.until("document.querySelectorAll('article').length === 1");
    page.run("[...document.querySelectorAll('[data-do=reply]')].find((one) => one.textContent.includes('show me first')).click()");
    let output = agent.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(126) && said.contains("show me first"), "{said}");
    page.run("document.querySelector('#show-history').click()");
    page.until("document.querySelectorAll('.past').length >= 2");
    let past = page.run("document.querySelector('.past').textContent");
    assert!(past.as_str().unwrap().contains("denied by ada: show me first"), "{past}");
    page.run("document.querySelector('#words').value = 'nothing like it'; document.querySelector('#words').dispatchEvent(new Event('input'))");
    page.until("document.querySelectorAll('.past').length === 0");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_yes_on_the_page_lasts_where_that_is_chosen() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    let mut agent = gateway.agent(MEDIUM);
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("document.querySelector('.lasts').value"), "once");
    let offered = page.run("[...document.querySelector('.lasts').options].map((one) => one.textContent).join(', ')");
    let offered = offered.as_str().unwrap();
    assert!(offered.starts_with("this once, ") && offered.ends_with("for a week, until revoked"), "{offered}");
    page.picture("lasts");
    page.run(
        "document.querySelector('.lasts').value = '24'; document.querySelector('article [data-do=approve]').click()",
    );
    assert!(agent.wait().unwrap().success());
    page.until("document.querySelectorAll('article').length === 0");
    assert!(gateway.agent(MEDIUM).wait().unwrap().success());
    assert_eq!(gateway.ran(), 2);
    // A request that offers no grant has no choice of a scope.
    let mut agent = gateway.agent("bash -c 'npm install some-pkg'");
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("document.querySelectorAll('.lasts').length"), 0);
    page.run("document.querySelector('article [data-do=deny]').click()");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn what_wants_more_offers_no_yes_and_says_where() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    let mut agent = gateway.agent("git push --force origin main");
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("document.querySelectorAll('[data-do=approve]').length"), 0);
    let bar = page.run("document.querySelector('.bar').textContent");
    assert!(bar.as_str().unwrap().contains("answer at a terminal"), "{bar}");
    page.run("document.querySelector('[data-do=deny]').click()");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
}

#[test]
fn several_are_answered_at_once_and_their_effect_is_told_together() {
    let gateway = TestGateway::new("");
    // The file that the first command writes must exist already, so that the second command is judged as before.
    std::fs::write(gateway.path("home/ran"), "").unwrap();
    let mut page = logged_in(&gateway);
    let mut agents = [gateway.agent(MEDIUM), gateway.agent("npm install right-pad-of-somebody")];
    page.until("document.querySelectorAll('article').length === 2");
    page.run("document.querySelectorAll('article input[type=checkbox]').forEach((one) => one.click())");
    let text = page.run("document.querySelector('#batch-text').textContent");
    assert!(text.as_str().unwrap().starts_with("2 selected, in "), "{text}");
    // The common effect is listed once, with the commands that have it.
    let effects = page.run("[...document.querySelectorAll('#batch-effect li')].map((one) => one.textContent)");
    let effects: Vec<String> = serde_json::from_value(effects).unwrap();
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert!(effects[0].starts_with("2 × tier 2: "), "{effects:?}");
    assert!(effects[0].contains(MEDIUM) && effects[0].contains("right-pad"), "{effects:?}");
    page.picture("batch");
    page.run("document.querySelector('#batch-approve').click()");
    for agent in &mut agents {
        assert!(agent.wait().unwrap().success());
    }
    assert_eq!(gateway.ran(), 2);
}

#[test]
fn a_card_says_why_as_the_one_at_a_terminal_does() {
    let gateway = TestGateway::new("");
    std::fs::create_dir(gateway.path("work/data")).unwrap();
    std::fs::write(gateway.path("work/data/one"), "1").unwrap();
    let mut page = logged_in(&gateway);
    let mut agent = gateway.agent(&format!("ls; rm -rf data; {MEDIUM}"));
    page.until("document.querySelectorAll('article').length === 1");
    let texts = |page: &mut Browser, what: &str| -> Vec<String> {
        let all = page.run(&format!("[...document.querySelectorAll('{what}')].map((one) => one.textContent)"));
        serde_json::from_value(all).unwrap()
    };
    assert_eq!(texts(&mut page, "article pre"), [format!("ls; rm -rf data; {MEDIUM}")], "it is shown whole");
    assert_eq!(texts(&mut page, "article mark.part[data-tier=\"3\"]"), ["data"]);
    let added = texts(&mut page, "article mark.part[data-tier=\"2\"]");
    assert!(added.len() == 1 && added[0].ends_with("left-pad-of-somebody"), "{added:?}");
    let reasons = texts(&mut page, "article .reasons li");
    assert!(
        reasons[0].contains("tier 3 · effects.delete-recursive") && reasons[0].contains("touches data"),
        "{reasons:?}"
    );
    assert!(reasons[1].contains("tier 2 · packages."), "{reasons:?}");
    let evidence = texts(&mut page, "article .reasons .evidence");
    assert!(evidence.iter().any(|sentence| sentence.contains("data")), "{reasons:?}");
    let facts = texts(&mut page, "article dl").remove(0);
    let digest = gateway.waiting()["short_digest"].as_str().unwrap().to_owned();
    assert!(digest.len() == 8 && facts.contains(&format!("digest {digest}")), "{facts}");
    assert!(facts.contains("(tier 3") && facts.contains("cannot be undone"), "{facts}");
    assert_eq!(page.run("document.documentElement.scrollWidth <= 390"), true, "nothing is wider than a phone");
    page.picture("why");
    page.run("document.querySelector('[data-do=deny]').click()");
    assert_eq!(agent.wait().unwrap().code(), Some(126));
    // The history still shows it.
    page.until("document.querySelectorAll('article').length === 0");
    page.run("document.querySelector('#show-history').click()");
    page.until("document.querySelectorAll('.past').length === 1");
    page.run("document.querySelector('.past button').click()");
    page.until("document.querySelectorAll('#story .reasons li').length >= 2");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn the_text_of_a_command_is_text_on_the_page() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    let odd = "npm install left-pad-of-somebody '<img src=x onerror=document.title=1><script>1</script>\u{202e}'";
    let mut agent = gateway.agent(odd);
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("document.querySelectorAll('article img, article script').length"), 0);
    let text = page.run("document.querySelector('article pre').textContent");
    assert!(text.as_str().unwrap().contains("<img src=x onerror=document.title=1>"), "{text}");
    assert_eq!(page.run("document.querySelector('article mark.odd').textContent"), "⟨U+202E⟩");
    page.run("document.querySelector('[data-do=deny]').click()");
    agent.wait().unwrap();
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn everything_that_is_pressed_has_a_name_for_those_who_listen() {
    let gateway = TestGateway::new("");
    let mut page = logged_in(&gateway);
    let mut agent = gateway.agent(MEDIUM);
    page.until("document.querySelectorAll('article').length === 1");
    let named = page.accessible(&["button", "textbox", "searchbox", "checkbox"]);
    assert!(named.len() >= 7, "{named:?}");
    assert!(named.iter().all(|(_, name)| !name.trim().is_empty()), "{named:?}");
    // Nothing is wider than the screen of a phone.
    assert_eq!(page.run("document.documentElement.scrollWidth <= 390"), true);
    page.run("document.querySelector('[data-do=deny]').click()");
    agent.wait().unwrap();
}
