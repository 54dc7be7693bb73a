//! The list goes on by itself after its connection was lost and after the gateway was started again.

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

/// Makes a page known to have been loaded anew, if it is.
fn mark(page: &mut Browser) {
    page.run("window.marked = true");
    page.until("document.querySelector('#state').textContent === '0 waiting'");
}

fn marked(gateway: &TestGateway) -> Browser {
    let mut page = logged_in(gateway);
    mark(&mut page);
    page
}

/// A request shows, on the page as it was, and is answered there.
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
    // Who logged out stays so.
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
    // As a proxy whose gateway is away: the browser takes that for the end of a stream.
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

/// What carries bytes between a browser and the gateway, as long as it is let.
struct Relay {
    port: u16,
    /// Connections of an earlier number carry nothing any more.
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

    /// Ends every connection, and lets none begin.
    fn cut(&self) {
        self.refuses.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets every connection stand, and carries nothing over those that there are.
    fn stall(&self) {
        self.number.fetch_add(1, Ordering::SeqCst);
    }
}

/// A page that reaches its gateway through a relay.
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
    // What is asked meanwhile is not missed.
    let agent = gateway.agent(MEDIUM);
    gateway.waiting();
    assert_eq!(page.run("document.querySelectorAll('article').length"), 0);
    relay.refuses.store(false, Ordering::SeqCst);
    shows_and_answers(&mut page, agent);
}

#[test]
fn the_list_survives_a_connection_that_is_cut_without_a_word() {
    let (gateway, relay, mut page) = relayed();
    // As many connections as a browser keeps to one host, and all of them dead.
    let many = "Promise.all(Array.from({ length: 6 }, () => fetch('/v1/replies').then((told) => told.text())))";
    page.run(many);
    relay.stall();
    let agent = gateway.agent(MEDIUM);
    gateway.waiting();
    assert_eq!(page.run("document.querySelectorAll('article').length"), 0);
    // As a phone says that went from one network to another.
    page.run("window.dispatchEvent(new Event('online'))");
    shows_and_answers(&mut page, agent);
    // And it hears of the next one.
    shows_and_answers(&mut page, gateway.agent(MEDIUM));
}
