//! One message per line, in both directions. A line that is too long or takes too long to arrive is an error, after
//! which the connection is closed.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The maximum length of a line, in bytes. It suffices for a command and its environment, for which systems have a
/// lower limit.
pub const MAX_LINE: usize = 3 << 20;

/// The time limit for the rest of a line that has begun.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that sends and receives lines.
#[derive(Debug)]
pub struct Lines {
    stream: UnixStream,
    /// Bytes received after the last complete line.
    buffer: Vec<u8>,
}

impl Lines {
    /// Wraps a connection.
    ///
    /// # Errors
    /// Its timeouts cannot be set.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Returns the connection.
    #[must_use]
    pub const fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends a line. Appends the newline.
    ///
    /// # Errors
    /// The line is too long, or the other end does not receive it.
    pub fn send(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        if line.len() > MAX_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("longer than {} MiB", MAX_LINE >> 20)));
        }
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// Returns the next line without its newline, or `None` if the other end has closed the connection. The line must
    /// begin within `idle`; `None` means no limit.
    ///
    /// # Errors
    /// The line did not arrive in time, or is too long.
    pub fn receive(&mut self, idle: Option<Duration>) -> io::Result<Option<Vec<u8>>> {
        let mut until = None;
        let mut seen = 0;
        loop {
            if let Some(end) = self.buffer.iter().skip(seen).position(|byte| *byte == b'\n').map(|at| at + seen) {
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.truncate(end);
                return Ok(Some(line));
            }
            seen = self.buffer.len();
            if seen > MAX_LINE {
                let why = format!("a line is longer than {} MiB", MAX_LINE >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            let left = if self.buffer.is_empty() {
                idle
            } else {
                let until = *until.get_or_insert_with(|| Instant::now() + PATIENCE);
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Some(left)
            };
            self.stream.set_read_timeout(left)?;
            let mut bytes = [0; 16 << 10];
            match self.stream.read(&mut bytes) {
                Ok(0) if self.buffer.is_empty() => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.buffer.extend_from_slice(bytes.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_by_one_however_they_were_sent() {
        let (mut one, other) = UnixStream::pair().unwrap();
        let mut lines = Lines::new(other).unwrap();
        one.write_all(b"a\nbc\n\nd").unwrap();
        for line in [&b"a"[..], b"bc", b""] {
            assert_eq!(lines.receive(None).unwrap().unwrap(), line);
        }
        one.write_all(b"e\n").unwrap();
        assert_eq!(lines.receive(None).unwrap().unwrap(), b"de");
        drop(one);
        assert_eq!(lines.receive(None).unwrap(), None);
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let (mut one, other) = UnixStream::pair().unwrap();
        let sender = std::thread::spawn(move || {
            let bytes = vec![b'x'; 64 << 10];
            (0..).map_while(|_| one.write_all(&bytes).ok()).count()
        });
        let mut lines = Lines::new(other).unwrap();
        assert_eq!(lines.receive(None).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(lines);
        assert!(sender.join().unwrap() < 1000);
    }
}
