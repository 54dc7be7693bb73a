//! Tests a thousand requests on five messengers and the API, which eight people answer concurrently.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use guard_gateway::store::Paths;
use guard_gateway::store::queue::{FilingResult, Queue, RequestState};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::server::{ReceivedRequest, Server};
use super::socket::{Reply, SocketCommand, SocketEvent, SocketServer};
use crate::test_gateway::TestGateway;
use crate::waiting;

const REQUESTS: usize = 1000;

/// The maximum peak memory of the gateway, in KiB.
const MOST_KIB: u64 = 64 * 1024;

/// The time limit for a large number of operations on a slow machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// The nonces of the approve buttons of each of the two people, in the order in which the cards arrived.
type Nonces = Arc<Mutex<Vec<[String; 2]>>>;

/// The counters of a messenger.
#[derive(Clone, Default)]
struct Counts {
    nonces: Nonces,
    /// The number of edited messages.
    closed: Arc<AtomicUsize>,
    /// The number of presses, and of those that were answered.
    pressed: Arc<AtomicUsize>,
    told: Arc<AtomicUsize>,
}

impl Counts {
    /// Stores the nonces of a card's approve buttons, wherever they are in the message.
    fn card(&self, asked: &ReceivedRequest) {
        let nonce =
            |at: usize| asked.text.split("\"a:").nth(at).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
        self.nonces.lock().unwrap().push([nonce(1), nonce(2)]);
    }

    fn closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    fn told(&self) {
        self.told.fetch_add(1, Ordering::Relaxed);
    }

    /// Presses a button of every card until nothing is pending, as one of two people: one approves from the first card
    /// on, the other denies from the last one back.
    fn press_all(&self, forward: bool, done: &AtomicBool, press: impl Fn(String)) {
        let mut at = 0;
        while !done.load(Ordering::Relaxed) {
            let nonces = self.nonces.lock().unwrap();
            if nonces.len() <= at {
                drop(nonces);
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            let (code, place) = if forward { ("a", at) } else { ("d", nonces.len() - 1 - at / 2) };
            let data = format!("{code}:{}", nonces[place][usize::from(!forward)]);
            drop(nonces);
            press(data);
            self.pressed.fetch_add(1, Ordering::Relaxed);
            at += 1;
        }
    }
}

fn telegram(counts: &Counts) -> (Server, Arc<Mutex<VecDeque<Value>>>) {
    let updates: Arc<Mutex<VecDeque<Value>>> = Arc::default();
    let (counts, waiting, mut sent) = (counts.clone(), updates.clone(), 0);
    let server = Server::new(move |asked| {
        let result = match asked.path.rsplit('/').next().unwrap_or_default() {
            "getUpdates" => {
                let offset = asked.body["offset"].as_i64().unwrap_or(0);
                let mut all = waiting.lock().unwrap();
                all.retain(|one| one["update_id"].as_i64().unwrap() >= offset);
                if all.is_empty() {
                    thread::sleep(Duration::from_millis(1));
                }
                json!(all.iter().take(100).collect::<Vec<_>>())
            }
            "sendMessage" => {
                counts.card(asked);
                sent += 1;
                json!({ "message_id": sent, "chat": { "id": 500 }, "date": 0 })
            }
            other => {
                if other == "editMessageText" {
                    counts.closed();
                } else if other == "answerCallbackQuery" {
                    counts.told();
                }
                json!(true)
            }
        };
        Some((200, json!({ "ok": true, "result": result }).to_string()))
    });
    (server, updates)
}

fn discord(counts: &Counts) -> (Server, SocketServer) {
    let socket = SocketServer::new(|port, heard| {
        let SocketEvent::Said(said) = heard else {
            let hello = json!({ "op": 10, "d": { "heartbeat_interval": 45_000 } });
            return Reply { say: Some(hello), ready: false };
        };
        if said["op"] == 1 {
            return Reply { say: Some(json!({ "op": 11 })), ready: false };
        }
        let url = format!("ws://127.0.0.1:{port}");
        let ready = json!({ "op": 0, "t": "READY", "s": 1, "d": { "session_id": "s1", "resume_gateway_url": url } });
        Reply { say: Some(ready), ready: true }
    });
    let (counts, port, mut sent) = (counts.clone(), socket.port, 0);
    let server = Server::new(move |asked| {
        let told = match asked.path.as_str() {
            "/gateway/bot" => {
                json!({ "url": format!("ws://127.0.0.1:{port}"), "session_start_limit": { "remaining": 900 } })
            }
            path if path.ends_with("/callback") => {
                counts.told();
                json!({})
            }
            _ if asked.method == "PATCH" => {
                counts.closed();
                json!({})
            }
            _ => {
                counts.card(asked);
                sent += 1;
                json!({ "id": sent.to_string() })
            }
        };
        Some((200, told.to_string()))
    });
    (server, socket)
}

fn slack(counts: &Counts) -> (Server, SocketServer) {
    let socket = SocketServer::new(|_, what| match what {
        SocketEvent::Opened => Reply { say: Some(json!({ "type": "hello", "num_connections": 1 })), ready: true },
        SocketEvent::Said(_) => Reply::default(),
    });
    let (counts, port, mut sent) = (counts.clone(), socket.port, 0);
    let server = Server::new(move |asked| {
        let told = match asked.path.as_str() {
            "/apps.connections.open" => json!({ "ok": true, "url": format!("ws://127.0.0.1:{port}/link") }),
            "/chat.postEphemeral" => {
                counts.told();
                json!({ "ok": true })
            }
            "/chat.update" => {
                counts.closed();
                json!({ "ok": true })
            }
            _ => {
                counts.card(asked);
                sent += 1;
                json!({ "ok": true, "channel": "C1", "ts": format!("1700000000.{sent:06}") })
            }
        };
        Some((200, told.to_string()))
    });
    (server, socket)
}

/// Starts a server that accepts and counts all requests.
fn listener(counts: &Counts) -> Server {
    let counts = counts.clone();
    Server::new(move |_| {
        counts.told();
        Some((200, json!({ "id": "x" }).to_string()))
    })
}

/// Waits until a condition is true.
#[track_caller]
fn eventually(is_so: impl Fn() -> bool, what: impl Fn() -> String) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came: {}", what());
        thread::sleep(Duration::from_millis(50));
    }
}

fn secret(gateway: &TestGateway, name: &str, text: &str) -> String {
    let path = gateway.path(name);
    let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    format!("{{ file = \"{}\" }}", path.display())
}

/// Returns the peak resident memory of a process, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_thousand_requests_on_five_messengers_are_decided_once_each_in_64_mib() {
    let (tg, dc, sl, nt, wh) = <(Counts, Counts, Counts, Counts, Counts)>::default();
    let ((telegram, updates), (discord, presses), (slack, taps)) = (telegram(&tg), discord(&dc), slack(&sl));
    let (ntfy, hook) = (listener(&nt), listener(&wh));
    let mut gateway = TestGateway::new("");
    gateway.write_config(&format!(
        "[[route]]\nbroadcast = true\nchannels = [\"tg\", \"dc\", \"sl\", \"nt\", \"wh\"]\n\
         [[channel]]\nname = \"tg\"\nkind = \"telegram\"\nurl = \"{}\"\nchat = 500\ntoken = {}\napprovers = {{ t1 = 1, t2 = 2 }}\n\
         [[channel]]\nname = \"dc\"\nkind = \"discord\"\nurl = \"{}\"\nchat = \"900\"\ntoken = {}\napprovers = {{ d1 = \"1\", d2 = \"2\" }}\n\
         [[channel]]\nname = \"sl\"\nkind = \"slack\"\nurl = \"{}\"\nchat = \"C1\"\ntoken = {}\napp_token = {}\napprovers = {{ s1 = \"U1\", s2 = \"U2\" }}\n\
         [[channel]]\nname = \"nt\"\nkind = \"ntfy\"\nurl = \"{}/topic\"\n\
         [[channel]]\nname = \"wh\"\nkind = \"webhook\"\nurl = \"{}/hook\"\nsecret = {}\n",
        telegram.url(), secret(&gateway, "tg", "123:abc\n"),
        discord.url(), secret(&gateway, "dc", "abc\n"),
        slack.url(), secret(&gateway, "bot", "xoxb-1\n"), secret(&gateway, "app", "xapp-1\n"),
        ntfy.url(), hook.url(), secret(&gateway, "wh", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ));
    let tokens = [gateway.token("a1", "read,decide"), gateway.token("a2", "read,decide")];
    gateway.end("-TERM");
    gateway.start();
    let queue = Queue::open(&Paths::new(gateway.path("home/.local/share/guard"))).unwrap();
    for at in 0..REQUESTS {
        assert!(matches!(waiting::file(&queue, at, at), FilingResult::Waits { .. }));
    }
    let (number, done) = (AtomicU64::new(1), AtomicBool::new(false));
    let next = || number.fetch_add(1, Ordering::Relaxed);
    thread::scope(|scope| {
        for person in [1, 2] {
            let (tg, dc, sl, gateway, done) = (&tg, &dc, &sl, &gateway, &done);
            let (updates, presses, taps, token) = (&updates, &presses, &taps, &tokens[person - 1]);
            scope.spawn(move || {
                tg.press_all(person == 1, done, |data| {
                    let mut updates = updates.lock().unwrap();
                    let id = next();
                    updates.push_back(json!({ "update_id": id, "callback_query": {
                        "id": format!("cb{id}"), "from": { "id": person, "is_bot": false }, "data": data,
                        "message": { "message_id": 42, "chat": { "id": 500 } } } }));
                });
            });
            scope.spawn(move || {
                dc.press_all(person == 1, done, |data| {
                    let event = json!({ "op": 0, "t": "INTERACTION_CREATE", "s": next(), "d": {
                        "id": format!("i{}", next()), "token": "tok", "type": 3, "channel_id": "900",
                        "member": { "user": { "id": person.to_string() } },
                        "data": { "component_type": 2, "custom_id": data } } });
                    presses.act(&SocketCommand::Send(event.to_string()));
                });
            });
            scope.spawn(move || {
                sl.press_all(person == 1, done, |data| {
                    let event = json!({ "envelope_id": format!("e{}", next()), "type": "interactive",
                        "accepts_response_payload": true, "payload": {
                            "type": "block_actions", "user": { "id": format!("U{person}") }, "channel": { "id": "C1" },
                            "actions": [{ "action_id": "x", "value": data }] } });
                    taps.act(&SocketCommand::Send(event.to_string()));
                });
            });
            scope.spawn(move || answer_all(gateway, token, person == 1, done));
        }
        let waits =
            |queue: &Queue| queue.list(Timestamp::now()).unwrap().iter().any(|one| one.state == RequestState::Waiting);
        let begun = Instant::now();
        while waits(&queue) && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(100));
        }
        done.store(true, Ordering::Relaxed);
    });
    // Every press was answered, whether it was the first one or not.
    for (name, counts) in [("telegram", &tg), ("discord", &dc), ("slack", &sl)] {
        let of = || (counts.told.load(Ordering::Relaxed), counts.pressed.load(Ordering::Relaxed));
        eventually(|| of().0 == of().1, || format!("{name}: (told, pressed) is {:?}", of()));
    }
    let mut deciders: BTreeMap<String, usize> = BTreeMap::new();
    let all = queue.list(Timestamp::now()).unwrap();
    assert_eq!(all.len(), REQUESTS, "none is lost");
    for one in all {
        assert!(matches!(one.state, RequestState::Approved | RequestState::Denied), "{one:?}");
        let by = one.decided_by.unwrap();
        *deciders.entry(by.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    let record = rusqlite::Connection::open(gateway.path("home/.local/share/guard/guard.db")).unwrap();
    let rows: i64 =
        record.query_row("SELECT count(*) FROM record WHERE kind = 'answered'", [], |row| row.get(0)).unwrap();
    assert_eq!(usize::try_from(rows), Ok(REQUESTS), "each is decided once");
    // Each messenger has at most one card for each request, and each card finally shows the outcome.
    for counts in [&tg, &dc, &sl] {
        let cards = counts.nonces.lock().unwrap().len();
        assert!((1..=REQUESTS).contains(&cards), "{cards}");
        let closed = || counts.closed.load(Ordering::Relaxed);
        eventually(|| closed() == cards, || format!("{} of {cards} are closed", closed()));
    }
    assert!([&nt, &wh].iter().all(|counts| counts.told.load(Ordering::Relaxed) > 0));
    let most = peak(gateway.pid());
    eprintln!("decided by {deciders:?}; the gateway held {most} KiB at most");
    assert!(most < MOST_KIB, "{most} KiB");
}

/// Answers all pending requests over the API, until none is left.
fn answer_all(gateway: &TestGateway, token: &str, yes: bool, done: &AtomicBool) {
    let verb = if yes { "approve" } else { "deny" };
    while !done.load(Ordering::Relaxed) {
        let page = gateway.get("/v1/requests?status=pending", token);
        let Some(requests) = page.body["requests"].as_array() else { panic!("{}", page.text) };
        for request in requests {
            let id = request["action_id"].as_str().unwrap();
            let answer = gateway.post(&format!("/v1/requests/{id}/{verb}"), token, &json!({}));
            assert!(matches!(answer.status, 200 | 409 | 410 | 429), "{}", answer.text);
            // A person also needs a moment, and the messengers' servers run in this process.
            thread::sleep(Duration::from_millis(20));
            if answer.status == 429 {
                thread::sleep(Duration::from_millis(100));
                break;
            }
        }
    }
}
