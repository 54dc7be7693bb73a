//! Tests the pages and filters of lists of requests.

use std::collections::BTreeSet;

use guard_gateway::store::Paths;
use guard_gateway::store::queue::Queue;
use serde_json::Value;

use crate::test_gateway::TestGateway;
use crate::waiting;

const REQUESTS: usize = 60;

#[test]
fn a_list_comes_in_pages_and_shows_what_is_asked_for() {
    let gateway = TestGateway::new("");
    let queue = Queue::open(&Paths::new(gateway.path("home/.local/share/guard"))).unwrap();
    for at in 0..REQUESTS {
        waiting::file(&queue, at, at % 7);
    }
    let get = |query: &str| gateway.get(&format!("/v1/requests?{query}"), &gateway.person);
    gateway.until(|| get("q=p59").body["requests"].as_array().is_some_and(|found| found.len() == 1));
    let names = |body: &Value| -> Vec<String> {
        body["requests"].as_array().unwrap().iter().map(|one| one["action_id"].as_str().unwrap().to_owned()).collect()
    };
    let first = get("").body;
    let cursor = first["next"].as_str().unwrap().to_owned();
    let second = get(&format!("cursor={cursor}")).body;
    assert_eq!((names(&first).len(), names(&second).len()), (50, REQUESTS - 50));
    assert!(second["next"].is_null(), "{second}");
    let all: BTreeSet<String> = [names(&first), names(&second)].concat().into_iter().collect();
    assert_eq!(all.len(), REQUESTS, "each once");
    let wrong = get("cursor=nothing");
    assert!(wrong.status == 400 && wrong.text.contains("cursor"), "{}", wrong.text);
    // Filters by text, tier, session and status.
    let one = get("q=install%20p7").body;
    assert_eq!(names(&one).len(), 1, "{one}");
    let session = one["requests"][0]["session"].as_str().unwrap().to_owned();
    let tier = one["requests"][0]["tier"].as_u64().unwrap();
    let count = |query: &str| names(&get(query).body).len();
    let of_session = count(&format!("session={session}"));
    assert!(of_session > 0 && of_session < REQUESTS, "{of_session}");
    assert_eq!((count(&format!("tier={tier}&session={session}")), count("tier=4")), (of_session, 0));
    assert_eq!((count("status=pending&q=p7"), count("status=denied")), (1, 0));
    let id = &names(&one)[0];
    assert_eq!(gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &serde_json::json!({})).status, 200);
    assert_eq!((names(&get("status=denied").body), count("status=pending&q=install%20p7")), (vec![id.clone()], 0));
    assert_eq!(get("status=pending&nonsense=1").status, 400);
}
