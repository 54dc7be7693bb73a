//! A small HTTP server in a thread that stores its requests, with responses that a test scripts.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// A received request.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub method: String,
    pub path: String,
    pub head: String,
    pub bytes: Vec<u8>,
    pub text: String,
    pub body: Value,
}

type Answering = dyn FnMut(&ReceivedRequest) -> Option<(u16, String)> + Send;

/// A server with scripted responses.
#[derive(Clone)]
pub struct Server {
    pub port: u16,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// Scripted responses that take precedence, by the end of the path that they are for.
    faults: Arc<Mutex<VecDeque<(String, u16, String)>>>,
}

impl Server {
    /// Starts a server with these responses; `None` closes the connection.
    pub fn new(answer: impl FnMut(&ReceivedRequest) -> Option<(u16, String)> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server =
            Self { port: listener.local_addr().unwrap().port(), asked: Arc::default(), faults: Arc::default() };
        let answer: Arc<Mutex<Box<Answering>>> = Arc::new(Mutex::new(Box::new(answer)));
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, answer) = (shared.clone(), answer.clone());
                std::thread::spawn(move || while serve(&stream, &shared, &answer) {});
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sets the response to the next request whose path ends with `path`.
    pub fn fail(&self, path: &str, status: u16, body: &str) {
        self.faults.lock().unwrap().push_back((path.to_owned(), status, body.to_owned()));
    }

    /// Leaves the next request whose path ends with `path` unanswered.
    pub fn hold(&self, path: &str) {
        self.fail(path, 0, "");
    }

    /// Returns the received requests whose path ends with `path`.
    pub fn asked(&self, path: &str) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().iter().filter(|asked| asked.path.ends_with(path)).cloned().collect()
    }
}

fn serve(stream: &TcpStream, server: &Server, answer: &Mutex<Box<Answering>>) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if !reader.read_line(&mut line).is_ok_and(|read| read > 0) {
            return false;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut bytes = vec![0; length.unwrap_or(0)];
    if reader.read_exact(&mut bytes).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut first = head.split(' ');
    let (method, path) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let body = serde_json::from_str(&text).unwrap_or_default();
    let asked = ReceivedRequest { method, path, head, bytes, text, body };
    let fault = {
        let mut faults = server.faults.lock().unwrap();
        let at = faults.iter().position(|(path, ..)| asked.path.ends_with(path.as_str()));
        at.and_then(|at| faults.remove(at))
    };
    let told = match fault {
        Some((_, status, body)) => Some((status, body)),
        None => (answer.lock().unwrap())(&asked),
    };
    server.asked.lock().unwrap().push(asked);
    let Some((status, body)) = told else { return false };
    if status == 0 {
        // Waits until the client disconnects.
        let _ = reader.read_to_end(&mut Vec::new());
        return false;
    }
    let text = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = stream;
    stream.write_all(text.as_bytes()).is_ok()
}
