//! Tests callbacks with a receiver that checks the signature and the time, as Standard Webhooks specifies.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use guard_gateway::channel::webhook::{secret, sign};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::channels::server::{ReceivedRequest, Server};
use crate::test_gateway::TestGateway;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The tolerated difference between the clocks, in seconds.
const TOLERANCE: i64 = 5 * 60;

/// Returns a header of a request.
fn header(asked: &ReceivedRequest, name: &str) -> String {
    let found = asked.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")));
    found.unwrap().split_once(':').unwrap().1.trim().to_owned()
}

/// Returns the status with which a receiver answers whose clock differs by this many seconds.
fn judged(asked: &ReceivedRequest, off: i64) -> u16 {
    let at = header(asked, "webhook-timestamp");
    let wanted = sign(&secret(SECRET).unwrap(), &header(asked, "webhook-id"), &at, &asked.text);
    let late = (Timestamp::now().as_second() + off - at.parse::<i64>().unwrap()).abs();
    match (header(asked, "webhook-signature") == wanted, late <= TOLERANCE) {
        (true, true) => 204,
        (true, false) => 400,
        (false, _) => 401,
    }
}

#[test]
fn a_receiver_whose_clock_is_off_takes_the_callback_once_it_is_set_right() {
    let off = Arc::new(AtomicI64::new(0));
    let said: Arc<Mutex<Vec<(u16, Value)>>> = Arc::default();
    let (clock, heard) = (off.clone(), said.clone());
    let receiver = Server::new(move |asked| {
        let status = judged(asked, clock.load(Ordering::Relaxed));
        heard.lock().unwrap().push((status, asked.body.clone()));
        // After the rejection, the operator corrects the clock of the receiver.
        clock.store(0, Ordering::Relaxed);
        Some((status, String::new()))
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    std::fs::write(&path, SECRET).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let gateway = TestGateway::new(&format!(
        "[[callback]]\nname = \"ci\"\nurl = \"{}/done\"\nsecret = {{ file = \"{}\" }}\n",
        receiver.url(),
        path.display()
    ));
    let body = json!({ "command": "ls", "cwd": gateway.path("work"), "callback": "ci" });
    // A difference below the tolerance has no effect, in either direction.
    for seconds in [TOLERANCE - 60, 60 - TOLERANCE] {
        off.store(seconds, Ordering::Relaxed);
        let before = said.lock().unwrap().len();
        assert_eq!(gateway.post("/v1/requests", &gateway.client, &body).status, 200);
        gateway.until(|| said.lock().unwrap().len() > before);
        assert_eq!(said.lock().unwrap().pop().unwrap().0, 204, "{seconds}");
    }
    // A larger difference is rejected; the retry has a new timestamp and signature.
    for seconds in [TOLERANCE + 60, -TOLERANCE - 60] {
        said.lock().unwrap().clear();
        let before = receiver.asked("/done").len();
        off.store(seconds, Ordering::Relaxed);
        assert_eq!(gateway.post("/v1/requests", &gateway.client, &body).status, 200);
        gateway.until(|| receiver.asked("/done").len() == before + 2);
        let codes: Vec<u16> = said.lock().unwrap().iter().map(|(status, _)| *status).collect();
        assert_eq!(codes, [400, 204], "{seconds}");
        let tries = receiver.asked("/done").split_off(before);
        assert_eq!(header(&tries[0], "webhook-id"), header(&tries[1], "webhook-id"), "the same message");
        let at = |asked: &ReceivedRequest| header(asked, "webhook-timestamp").parse::<i64>().unwrap();
        assert!(at(&tries[1]) > at(&tries[0]), "sent anew, signed anew");
        assert_eq!(tries[1].body["data"]["decision"], "allow");
    }
}
