//! Tests large numbers of answers: denials are not limited, and several answers can be given in one batch.

use guard_gateway::store::Paths;
use guard_gateway::store::queue::{FilingResult, Queue, RequestState};
use serde_json::{Value, json};

use crate::browser::logged_in;
use crate::test_gateway::{TestGateway, bearer, until};
use crate::waiting;

/// Fills the queue of a gateway with a number of pending requests.
fn filled(gateway: &TestGateway, count: usize) -> Queue {
    let queue = Queue::open(&Paths::new(gateway.path("home/.local/share/guard"))).unwrap();
    for at in 0..count {
        assert!(matches!(waiting::file(&queue, at, at), FilingResult::Waits { .. }));
    }
    until(|| gateway.get("/readyz", "").status == 200);
    queue
}

fn ids(gateway: &TestGateway) -> Vec<String> {
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    let all = list.body["requests"].as_array().unwrap().iter();
    all.map(|one| one["action_id"].as_str().unwrap().to_owned()).collect()
}

fn denied(queue: &Queue) -> usize {
    let all = queue.list(jiff::Timestamp::now()).unwrap();
    all.iter().filter(|one| one.state == RequestState::Denied).count()
}

#[test]
fn a_no_is_never_one_too_many_and_a_yes_may_be() {
    let gateway = TestGateway::new("");
    let said = |verb: &str| -> Vec<u16> {
        let path = format!("/v1/requests/nothing/{verb}");
        (0..40).map(|_| gateway.post(&path, &gateway.person, &json!({})).status).collect()
    };
    assert_eq!(said("deny"), [404; 40]);
    let yes = said("approve");
    assert!(yes[..30] == [404; 30] && yes.contains(&429), "{yes:?}");
    assert_eq!(said("deny"), [404; 40]);
}

#[test]
fn several_answers_are_given_at_once_each_with_what_became_of_it() {
    let gateway = TestGateway::new("unsigned_tier = 3\n");
    let queue = filled(&gateway, 45);
    let mut all = ids(&gateway);
    assert_eq!(all.len(), 45);
    let decide = |answers: Value| gateway.post("/v1/requests/decide", &gateway.person, &json!({ "answers": answers }));
    let each = |ids: &[String], decision: &str| -> Value {
        ids.iter().map(|id| json!({ "action_id": id, "decision": decision })).collect()
    };
    let rest = all.split_off(5);
    let told = decide(json!([
        { "action_id": all[0], "decision": "approve" },
        { "action_id": all[1], "decision": "deny", "words": "use a branch" },
        { "action_id": "nothing", "decision": "deny" },
        { "action_id": all[1], "decision": "approve" },
    ]));
    assert_eq!(told.status, 207, "{}", told.text);
    let results = told.body["results"].as_array().unwrap();
    let codes: Vec<u64> = results.iter().map(|one| one["status_code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [200, 200, 404, 409], "{}", told.text);
    assert_eq!((&results[0]["outcome"], &results[1]["action_id"]), (&json!("done"), &json!(all[1])));
    assert_eq!(results[3]["type"], "urn:guard:problem:settled");
    let words = queue.list(jiff::Timestamp::now()).unwrap().into_iter().find_map(|one| one.words);
    assert_eq!(words.as_deref(), Some("use a branch"));
    let told = decide(each(&rest, "deny"));
    assert!(told.body["results"].as_array().unwrap().iter().all(|one| one["status_code"] == 200), "{}", told.text);
    assert_eq!(denied(&queue), 41);
    // A request of tier 3 must be approved individually.
    let mut agent = gateway.agent("git push --force origin main");
    until(|| ids(&gateway).len() == 4);
    let list = gateway.get("/v1/requests?status=pending&tier=3", &gateway.person);
    let high = vec![list.body["requests"][0]["action_id"].as_str().unwrap().to_owned()];
    let told = decide(each(&high, "approve"));
    assert_eq!(told.body["results"][0]["type"], "urn:guard:problem:not-from-afar", "{}", told.text);
    assert_eq!(decide(each(&high, "deny")).body["results"][0]["status_code"], 200);
    agent.wait().unwrap();
    assert_eq!(gateway.ran(), 0);
    for (token, body, status) in [
        (&gateway.client, json!({ "answers": [] }), 403),
        (&gateway.person, json!({ "answers": vec![json!({ "action_id": "x", "decision": "deny" }); 101] }), 400),
        (&gateway.person, json!({ "answers": [{ "action_id": "x", "decision": "yes" }] }), 400),
        (&gateway.person, json!({ "answers": [{ "action_id": "x", "decision": "approve", "scope": "always" }] }), 400),
    ] {
        let told = gateway.send("POST", "/v1/requests/decide", &[&bearer(token)], &body.to_string());
        assert_eq!(told.status, status, "{body}: {}", told.text);
    }
}

#[test]
fn all_that_wait_are_denied_on_the_page_at_once() {
    let gateway = TestGateway::new("");
    let queue = filled(&gateway, 45);
    let mut page = logged_in(&gateway);
    page.until("document.querySelectorAll('#cards article').length === 45");
    page.run("document.querySelector('#batch-deny').click()");
    page.until("document.querySelectorAll('#cards article').length === 0");
    assert_eq!(denied(&queue), 45);
    assert_eq!(page.run("document.querySelector('#said').textContent"), "45 denied");
    assert_eq!(page.complaints(), Vec::<String>::new());
}
