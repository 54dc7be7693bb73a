//! Syslog as RFC 5424 has it, in datagrams or, by RFC 6587, with its length in front in a stream.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Security and authorization messages, for private readers.
const FACILITY: u8 = 10;

/// The longest text of a message: more is not taken everywhere.
const ROOM: usize = 8000;

/// For how long a host may keep us waiting.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What a message says.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// From 3 (an error) to 6 (informational).
    pub severity: u8,
    /// As RFC 3339 has it.
    pub time: &'a str,
    pub host: &'a str,
    /// The kind of the message, one word.
    pub id: &'a str,
    /// What is said beside the text.
    pub fields: &'a [(&'a str, String)],
    pub text: &'a str,
}

impl Message<'_> {
    /// The message as it is sent. A text that is too long is cut, and says so in a field.
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

/// Sends messages over a stream. That they were taken is all that can be told: the other side does not answer.
///
/// # Errors
/// The host is not to be reached, or the stream ended.
pub fn stream(host: &[SocketAddr], messages: &[Vec<u8>]) -> io::Result<()> {
    let mut stream = connect(host)?;
    let mut all = Vec::new();
    for message in messages {
        write!(all, "{} ", message.len())?;
        all.extend(message);
    }
    stream.write_all(&all)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // Who is not there any more says so now.
    let mut rest = [0; 1];
    match io::Read::read(&mut stream, &mut rest) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Err(error),
        _ => Ok(()),
    }
}

/// A stream to the first of a host's addresses that answers, which may not keep us waiting.
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
