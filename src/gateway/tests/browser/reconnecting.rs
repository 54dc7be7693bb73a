//! Tests that the list recovers after its connection was lost and after a restart of the gateway.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::chromium::Browser;
use super::{MEDIUM, logged_in, logged_in_at};
use crate::test_gateway::TestGateway;

const LOST: &str = "/^(connection lost|not connected)/.test(document.querySelector('#state').textContent)";

/// Marks a page, so that a reload can be detected.
fn mark(page: &mut Browser) {
    page.run("window.marked = true");
    page.until("document.querySelector('#state').textContent === '0 waiting'");
}

fn marked(gateway: &TestGateway) -> Browser {
    let mut page = logged_in(gateway);
    mark(&mut page);
    page
}

/// Checks that a request appears on the page without a reload, and answers it there.
#[track_caller]
fn shows_and_answers(page: &mut Browser, mut agent: Child) {
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("window.marked"), json!(true), "it was loaded anew");
    page.run("document.querySelector('article [data-do=approve]').click()");
    assert!(agent.wait().unwrap().success());
    page.until("document.querySelectorAll('article').length === 0");
}

#[test]
fn the_list_survives_a_gateway_that_is_killed_and_started_again() {
    let mut gateway = TestGateway::new("");
    let mut page = marked(&gateway);
    let port = gateway.port;
    gateway.kill();
    page.until(LOST);
    gateway.start_at(port);
    shows_and_answers(&mut page, gateway.agent(MEDIUM));
    page.run("fetch('/v1/logout', { method: 'POST', headers: { 'x-guard': '1' } }).then((told) => told.status)");
    gateway.kill();
    gateway.start_at(port);
    // A user who logged out stays logged out.
    page.until("!document.querySelector('#login').hidden");
}

#[test]
fn the_list_survives_what_answers_in_the_gateways_place() {
    let mut gateway = TestGateway::new("");
    let mut page = marked(&gateway);
    let port = gateway.port;
    gateway.kill();
    let over = Arc::new(AtomicBool::new(false));
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let ended = over.clone();
    // Acts as a proxy whose gateway is down: the browser takes its response for the end of a stream.
    let proxy = std::thread::spawn(move || {
        let mut answered = 0;
        for stream in listener.incoming() {
            if ended.load(Ordering::SeqCst) {
                break;
            }
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            answered += 1;
        }
        answered
    });
    page.until("performance.getEntriesByType('resource').some((one) => one.responseStatus === 502)");
    page.until(LOST);
    over.store(true, Ordering::SeqCst);
    let _ = TcpStream::connect(("127.0.0.1", port));
    assert!(proxy.join().unwrap() > 0);
    gateway.start_at(port);
    shows_and_answers(&mut page, gateway.agent(MEDIUM));
}

/// A relay between a browser and the gateway that can be interrupted.
struct Relay {
    port: u16,
    /// The generation of the connections; those of earlier generations transfer nothing.
    number: Arc<AtomicUsize>,
    refuses: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    fn to(gateway: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let relay = Self {
            port: listener.local_addr().unwrap().port(),
            number: Arc::default(),
            refuses: Arc::default(),
            open: Arc::default(),
        };
        let (number, refuses, open) = (relay.number.clone(), relay.refuses.clone(), relay.open.clone());
        std::thread::spawn(move || {
            for near in listener.incoming().map(Result::unwrap) {
                if refuses.load(Ordering::SeqCst) {
                    continue;
                }
                let far = TcpStream::connect(("127.0.0.1", gateway)).unwrap();
                let own = number.load(Ordering::SeqCst);
                let ways = [(&near, &far), (&far, &near)].map(|(from, to)| (from.try_clone(), to.try_clone()));
                open.lock().unwrap().extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (from, to) in ways {
                    let (mut from, mut to, number) = (from.unwrap(), to.unwrap(), number.clone());
                    std::thread::spawn(move || {
                        let mut part = [0; 16 << 10];
                        while let Ok(read @ 1..) = from.read(&mut part) {
                            if number.load(Ordering::SeqCst) == own && to.write_all(&part[..read]).is_err() {
                                break;
                            }
                        }
                        if number.load(Ordering::SeqCst) == own {
                            let _ = to.shutdown(Shutdown::Both);
                        }
                    });
                }
            }
        });
        relay
    }

    /// Closes every connection, and refuses new ones.
    fn cut(&self) {
        self.refuses.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Keeps the existing connections open, but transfers nothing over them.
    fn stall(&self) {
        self.number.fetch_add(1, Ordering::SeqCst);
    }
}

/// Opens a page that reaches its gateway through a relay.
fn relayed() -> (TestGateway, Relay, Browser) {
    let gateway = TestGateway::new("hosts = [\"localhost\", \"127.0.0.1\"]\n");
    let relay = Relay::to(gateway.port);
    let mut page = logged_in_at(&gateway, relay.port);
    mark(&mut page);
    (gateway, relay, page)
}

#[test]
fn the_list_survives_a_lost_connection() {
    let (gateway, relay, mut page) = relayed();
    relay.cut();
    page.until(LOST);
    // A request that is filed during the interruption is not missed.
    let agent = gateway.agent(MEDIUM);
    gateway.waiting();
    assert_eq!(page.run("document.querySelectorAll('article').length"), 0);
    relay.refuses.store(false, Ordering::SeqCst);
    shows_and_answers(&mut page, agent);
}

#[test]
fn the_list_survives_a_connection_that_is_cut_without_a_word() {
    let (gateway, relay, mut page) = relayed();
    // Opens as many connections as a browser keeps to one host; all of them will be dead.
    let many = "Promise.all(Array.from({ length: 6 }, () => fetch('/v1/replies').then((told) => told.text())))";
    page.run(many);
    relay.stall();
    let agent = gateway.agent(MEDIUM);
    gateway.waiting();
    assert_eq!(page.run("document.querySelectorAll('article').length"), 0);
    // A phone reports this event when it has switched networks.
    page.run("window.dispatchEvent(new Event('online'))");
    shows_and_answers(&mut page, agent);
    // The page also receives the next request.
    shows_and_answers(&mut page, gateway.agent(MEDIUM));
}
