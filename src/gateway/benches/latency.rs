//! Measures the time between a request's entry in the queue and its event at a client: 100 requests a second for five
//! seconds, and their median and 99th percentile. Exits with 1 if the 99th percentile is above 100 ms.
//!
//!     cargo build --release && cargo bench -p guard-gateway --bench latency --profile gateway
//!
//! The benchmark ends with an `unwrap` if anything cannot be set up, because nothing can be measured then.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use guard_gateway::backend::local::LocalBackend;
use guard_gateway::backend::memory;
use guard_gateway::backend::{Scope, Token};
use guard_gateway::judge::invocation::Origin;
use guard_gateway::store::Paths;
use guard_gateway::store::queue::Queue;
use jiff::Timestamp;
use served::BenchGateway;

mod served;
#[path = "../tests/waiting.rs"]
mod waiting;

const REQUESTS: usize = 500;
const EVERY: Duration = Duration::from_millis(10);
const MOST: Duration = Duration::from_millis(100);

// If a part of the benchmark cannot be set up, it ends, because nothing can be measured.
fn main() -> ExitCode {
    let guard = match served::guard() {
        Ok(guard) => guard,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::new(home.path().join(".local/share/guard"));
    drop(LocalBackend::open(&paths).unwrap());
    let token = Token {
        name: "bench".to_owned(),
        scopes: vec![Scope::Read],
        directories: Vec::new(),
        origin: Origin::Api,
        max_tier: 2,
        created: Timestamp::now(),
        used: None,
        hash: guard_gateway::secrets::hash("gt_bench"),
    };
    memory::open(paths.directory()).unwrap().add_token(&token).unwrap();
    let gateway = BenchGateway::start(&guard, home.path());
    let port = &gateway.port;
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(stream, "GET /v1/events HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer gt_bench\r\n\r\n")
        .unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.next().unwrap().starts_with("HTTP/1.1 200"));
    let (say, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in lines {
            let Some(at) = line.split_once("npm install p").and_then(|(_, rest)| {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<usize>().ok()
            }) else {
                continue;
            };
            if say.send((at, Instant::now())).is_err() {
                return;
            }
        }
    });
    let queue = Queue::open(&paths).unwrap();
    let begun = Instant::now();
    let (mut filed, mut took) = (Vec::new(), Vec::new());
    for at in 0..REQUESTS {
        std::thread::sleep((EVERY * u32::try_from(at).unwrap()).saturating_sub(begun.elapsed()));
        filed.push(Instant::now());
        waiting::file(&queue, at, 0);
        took.push(filed[at].elapsed());
    }
    let mut seen: HashMap<usize, Duration> = HashMap::new();
    while seen.len() < REQUESTS {
        let (at, when) = heard.recv_timeout(Duration::from_secs(10)).expect("a request never came");
        seen.entry(at).or_insert_with(|| when.duration_since(filed[at]));
    }
    drop(gateway);
    let mut all: Vec<Duration> = seen.into_values().collect();
    all.sort_unstable();
    let (median, last) = (all[REQUESTS / 2], all[REQUESTS * 99 / 100]);
    took.sort_unstable();
    println!("filing one took {:?} in the median, {:?} at most", took[REQUESTS / 2], took[REQUESTS - 1]);
    println!("{REQUESTS} requests, one each {EVERY:?}: median {median:?}, 99th percentile {last:?}, most {MOST:?}");
    if last <= MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
