//! Tests the record over the API: statistics, sessions and rows.

use serde_json::{Value, json};

use crate::browser::MEDIUM;
use crate::test_gateway::TestGateway;

/// Runs a command that a person denies.
fn refuse(gateway: &TestGateway, words: &str) {
    let mut agent = gateway.agent(MEDIUM);
    let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
    let told = gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({ "words": words }));
    assert_eq!(told.status, 200, "{}", told.text);
    assert_eq!(agent.wait().unwrap().code(), Some(126));
}

#[test]
fn the_record_is_read_with_the_scope_for_it() {
    let gateway = TestGateway::new("");
    assert!(gateway.agent("echo one two").wait().unwrap().success());
    refuse(&gateway, "use a branch");
    let found = |query: &str| gateway.get(&format!("/v1/record?{query}"), &gateway.person);
    let all = found("q=branch%20npm");
    assert!(!all.body["rows"].as_array().unwrap().is_empty(), "{}", all.text);
    assert!(all.body["rows"].as_array().unwrap().iter().all(|row| row["command_shown"] == MEDIUM), "{}", all.text);
    assert_eq!(found("q=two%20one").body["rows"][0]["command_shown"], "echo one two");
    assert_eq!(found("q=nothing-like-it").body["rows"], json!([]));
    assert_eq!(found("cursor=x").status, 400);
    let stats = gateway.get("/v1/stats?days=1", &gateway.person);
    assert_eq!((&stats.body["asked"], &stats.body["denied"]), (&json!(1), &json!(1)), "{}", stats.text);
    assert_eq!(gateway.get("/v1/stats?days=0", &gateway.person).status, 400);
    for path in ["/v1/record", "/v1/stats", "/v1/sessions"] {
        assert_eq!(gateway.get(path, &gateway.client).status, 403, "{path}");
        assert_eq!(gateway.get(path, "").status, 401, "{path}");
    }
    let id = gateway.get("/v1/requests", &gateway.person).body["requests"][0]["action_id"].as_str().unwrap().to_owned();
    let story = gateway.get(&format!("/v1/requests/{id}/story"), &gateway.person);
    assert!(story.body["rows"].as_array().unwrap().iter().any(|row| row["words"] == "use a branch"), "{}", story.text);
    assert_eq!(gateway.get(&format!("/v1/requests/{id}/story"), &gateway.client).status, 403);
}

#[test]
fn a_session_goes_on_only_for_whoever_may_decide_and_says_why() {
    let gateway = TestGateway::new("unsigned_tier = 1\n");
    for _ in 0..3 {
        refuse(&gateway, "no");
    }
    let one = || gateway.get("/v1/sessions", &gateway.person).body["sessions"][0].clone();
    let session = one()["id"].clone();
    assert_eq!(one()["stopped"], true);
    let post = |verb: &str, token: &str, body: Value| gateway.post(&format!("/v1/sessions/{verb}"), token, &body);
    assert_eq!(post("resume", &gateway.client, json!({ "session": session, "words": "x" })).status, 403);
    assert_eq!(post("resume", &gateway.person, json!({ "session": session })).status, 400);
    assert_eq!(post("resume", &gateway.person, json!({ "session": "of nobody", "words": "x" })).status, 404);
    assert_eq!(post("trust", &gateway.person, json!({ "session": session })).status, 403, "unsigned_tier is 1");
    let done = post("resume", &gateway.person, json!({ "session": session, "words": "looked at it" }));
    assert_eq!(done.status, 200, "{}", done.text);
    assert_eq!(one()["stopped"], false);
    assert_eq!(post("resume", &gateway.person, json!({ "session": session, "words": "again" })).status, 409);
    assert_eq!(one()["trusted_by"], Value::Null);
    let row = gateway.get("/v1/record?q=looked%20at%20it", &gateway.person);
    assert_eq!(row.body["rows"][0]["kind"], "resumed", "{}", row.text);
    assert_eq!(row.body["rows"][0]["user"], "ada");
}
