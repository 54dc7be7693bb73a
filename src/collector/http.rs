//! As much of HTTP/1.1 as handing a text to a collector takes: one request on one connection, and the status of the answer.
//! No TLS: a collector on this machine is spoken to, and that one goes on.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::syslog::{PATIENCE, connect};

/// The longest answer that is read.
const MAX_ANSWER: u64 = 64 << 10;

/// Hands JSON to a host. Returns the body of the answer.
///
/// # Errors
/// The host is not to be reached, or does not take it: then with the status that it gave.
pub fn post(host: &str, port: u16, path: &str, body: &[u8]) -> io::Result<String> {
    let name = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    exchange(connect(host, port)?, &name, path, body)
}

/// The same at a socket of this machine.
///
/// # Errors
/// As those of [`post`].
pub fn post_unix(socket: &Path, path: &str, body: &[u8]) -> io::Result<String> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    exchange(stream, "localhost", path, body)
}

fn exchange(mut stream: impl Read + Write, host: &str, path: &str, body: &[u8]) -> io::Result<String> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: guard/{}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION"),
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    // Half an answer may hold the status already.
    let read = stream.take(MAX_ANSWER).read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    match (status.and_then(|status| status.parse::<u16>().ok()), read) {
        (Some(200..=299), _) => Ok(body.to_owned()),
        (Some(_), _) => Err(io::Error::other(format!("answered {}", head.lines().next().unwrap_or_default()))),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP")),
    }
}
