//! Encodes and sends syslog messages (RFC 5424): in datagrams, or in a stream with the length before each message (RFC
//! 6587).

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The facility for security and authorization messages, for private readers.
const FACILITY: u8 = 10;

/// Maximum length of a message's text. Not every receiver accepts a longer one.
const ROOM: usize = 8000;

/// The timeout for a host.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The content of a message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// From 3 (an error) to 6 (informational).
    pub severity: u8,
    /// The time in the format of RFC 3339.
    pub time: &'a str,
    pub host: &'a str,
    /// The kind of the message, one word.
    pub id: &'a str,
    /// Structured data in addition to the text.
    pub fields: &'a [(&'a str, String)],
    pub text: &'a str,
}

impl Message<'_> {
    /// Returns the encoded message. A text that is too long is truncated and marked with a field.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let word = |text: &str, most: usize| {
            let plain: String = text.chars().filter(char::is_ascii_graphic).take(most).collect();
            if plain.is_empty() { "-".to_owned() } else { plain }
        };
        let mut end = self.text.len().min(ROOM);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let text = self.text.get(..end).unwrap_or_default();
        let mut line = format!(
            "<{}>1 {} {} guard {} {} [guard@32473",
            FACILITY * 8 + self.severity,
            self.time,
            word(self.host, 255),
            std::process::id(),
            word(self.id, 32)
        );
        let cut = [("cut", "1".to_owned())];
        let cut: &[(&str, String)] = if end < self.text.len() { &cut } else { &[] };
        for (name, value) in self.fields.iter().chain(cut).filter(|(_, value)| !value.is_empty()) {
            let mut value: String = value.chars().take(ROOM / 8).collect();
            for special in ['\\', '"', ']'] {
                value = value.replace(special, &format!("\\{special}"));
            }
            line.push_str(&format!(" {name}=\"{}\"", value.replace('\n', " ")));
        }
        line.push_str("] ");
        line.push_str(&text.replace('\n', "\\n"));
        line.into_bytes()
    }
}

/// Sends messages over a stream. Success means only that the stream accepted them, because the receiver does not
/// respond.
///
/// # Errors
/// The host cannot be reached, or the stream ended.
pub fn stream(host: &[SocketAddr], messages: &[Vec<u8>]) -> io::Result<()> {
    let mut stream = connect(host)?;
    let mut all = Vec::new();
    for message in messages {
        write!(all, "{} ", message.len())?;
        all.extend(message);
    }
    stream.write_all(&all)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // A connection that the host has closed fails at this read.
    let mut rest = [0; 1];
    match io::Read::read(&mut stream, &mut rest) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Err(error),
        _ => Ok(()),
    }
}

/// Connects to the first of a host's addresses that responds, with timeouts for reads and writes.
pub(super) fn connect(host: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::ErrorKind::NotFound.into();
    for address in host {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_field_or_a_line_is_taken_out_of_its_meaning_and_what_is_too_long_is_cut() {
        let fields = [("a", "x\"y]z\\".to_owned()), ("b", String::new())];
        let message =
            Message { severity: 4, time: "2026-11-21T12:00:00Z", host: "h", id: "x", fields: &fields, text: "a\nb" };
        let line = String::from_utf8(message.encode()).unwrap();
        let pid = std::process::id();
        assert_eq!(
            line,
            format!("<84>1 2026-11-21T12:00:00Z h guard {pid} x [guard@32473 a=\"x\\\"y\\]z\\\\\"] a\\nb")
        );
        let long = "ä".repeat(ROOM);
        let cut = Message { text: &long, host: "", ..message }.encode();
        assert!(cut.len() < ROOM + 200 && String::from_utf8(cut).unwrap().contains(" cut=\"1\"] ä"));
    }
}
