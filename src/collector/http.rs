//! The part of HTTP/1.1 that is needed to send a text to a collector: one request on one connection, and the status of
//! the response. Without TLS: the collector runs on this machine, and forwards what it receives.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::syslog::{PATIENCE, connect};

/// Maximum length of the response that is read.
const MAX_ANSWER: usize = 64 << 10;

/// Sends JSON to a host and returns the body of the response. `host` is the name in the request, and `at` are its
/// addresses.
///
/// # Errors
/// The host cannot be reached, or rejects the request; the error then contains the status.
pub fn post(host: (&str, u16), at: &[SocketAddr], path: &str, body: &[u8]) -> io::Result<String> {
    let (host, port) = host;
    let name = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    exchange(connect(at)?, &name, path, body)
}

/// Sends JSON to a Unix socket of this machine.
///
/// # Errors
/// As for [`post`].
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
    let mut bytes = [0; 4096];
    // A partial response may contain the status already, and not every server closes the connection as requested.
    let read = loop {
        match stream.read(&mut bytes) {
            Ok(0) => break Ok(()),
            Ok(length) => answer.extend(bytes.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
        if answer.len() > MAX_ANSWER || is_whole(&answer) {
            break Ok(());
        }
    };
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    match (status.and_then(|status| status.parse::<u16>().ok()), read) {
        (Some(200..=299), _) => Ok(body.to_owned()),
        (Some(_), _) => Err(io::Error::other(format!("answered {}", head.lines().next().unwrap_or_default()))),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP")),
    }
}

/// Reports whether a response with a known length is complete.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let field = |wanted: &str| {
        let mut fields = head.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    };
    match field("content-length").and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => field("transfer-encoding").is_some() && body.ends_with("0\r\n\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that returns a response piece by piece, and then nothing more.
    struct Slow(Vec<&'static [u8]>);

    impl Read for Slow {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop().ok_or(io::ErrorKind::TimedOut)?;
            bytes[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_is_over_where_it_says_and_its_status_counts() {
        let post = |pieces: &[&'static [u8]]| {
            exchange(Slow(pieces.iter().rev().copied().collect()), "h", "/", b"{}").map_err(|error| error.to_string())
        };
        let whole: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nconTent-Length: 4\r\n", b"\r\n{", b"\"\"}"];
        assert_eq!(post(whole), Ok("{\"\"}".to_owned()));
        assert_eq!(post(&[b"HTTP/1.1 204 No Content\r\n\r\n"]), Ok(String::new()));
        let chunked: &[&[u8]] =
            &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"more"];
        assert_eq!(post(chunked), Ok("2\r\n{}\r\n0\r\n\r\n".to_owned()));
        assert_eq!(post(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"]), Err("answered HTTP/1.1 400 Bad Request".to_owned()));
        assert_eq!(post(&[b"SSH-2.0-OpenSSH\r\n"]), Err("timed out".to_owned()));
        assert_eq!(post(&[b"SSH-2.0-OpenSSH\r\n", b""]), Err("the answer is not HTTP".to_owned()));
    }
}
