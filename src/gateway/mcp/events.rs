//! Parses server-sent events incrementally from the bytes of a stream.
//!
//! Out of scope: the meaning of an event.

use std::time::Duration;

/// The maximum length of a buffered event, in bytes.
const LONGEST: usize = 256 << 20;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The data lines, separated by line feeds.
    pub data: Vec<u8>,
    /// The ID from which the stream can be resumed.
    pub id: Option<String>,
    /// The time to wait before reconnecting.
    pub retry: Option<Duration>,
}

/// The error of an event that is longer than the buffer allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server sent an event of more than {} MiB", LONGEST >> 20)]
pub struct EventTooLong;

/// The parser of one stream.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// Whether the last byte was a carriage return. A line feed after it does not end another line.
    after_return: bool,
}

impl Events {
    /// Returns the events that end within these bytes.
    ///
    /// # Errors
    /// An event is too long to be buffered.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLong> {
        let mut done = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return)
                && let Some((b'\n', behind)) = rest.split_first()
            {
                rest = behind;
                continue;
            }
            let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            let (line, behind) = rest.split_at(end);
            self.line.extend_from_slice(line);
            self.after_return = behind.first() == Some(&b'\r');
            rest = behind.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            done.extend(self.take(&line));
        }
        if self.line.len().saturating_add(self.event.data.len()) > LONGEST {
            return Err(EventTooLong);
        }
        Ok(done)
    }

    /// Processes one line; an empty one ends the event.
    fn take(&mut self, line: &[u8]) -> Option<SseEvent> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let is_one = std::mem::take(&mut self.has_data) || event.id.is_some() || event.retry.is_some();
            return is_one.then_some(event);
        }
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(at);
        let value = value.get(1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok().map(Duration::from_millis),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(data: &str, id: Option<&str>, retry: Option<u64>) -> SseEvent {
        SseEvent { data: data.into(), id: id.map(str::to_owned), retry: retry.map(Duration::from_millis) }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_come() {
        let text = "\u{feff}: hello\r\n\r\ndata: {\"a\":1}\nid: 7\n\ndata:one\rdata: two\r\rid: 8\r\nretry: 250\r\n\r\ndata:  x\nevent: m\n\nid\ndata\n\ndata: cut";
        let wanted = [
            of("{\"a\":1}", Some("7"), None),
            of("one\ntwo", None, None),
            of("", Some("8"), Some(250)),
            of(" x", None, None),
            of("", Some(""), None),
        ];
        for size in [1, 2, 3, 7, 1000] {
            let mut events = Events::default();
            let all: Vec<SseEvent> = text.as_bytes().chunks(size).flat_map(|part| events.feed(part).unwrap()).collect();
            assert_eq!(all, wanted, "{size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_not_held_for_ever() {
        let part = vec![b'a'; 64 << 20];
        let mut events = Events::default();
        assert!((0..4).all(|_| events.feed(&part).is_ok()));
        assert!(events.feed(&part).is_err());
    }

    proptest! {
        /// Checks that arbitrary bytes are parsed without a panic, and to the same events in two parts as in one.
        #[test]
        fn anything_is_read_in_two_parts_as_in_one(bytes in prop::collection::vec(prop_oneof![
            prop::sample::select(b"\n\r: datidre".to_vec()), any::<u8>()], 0..80), at in 0_usize..80) {
            let whole = Events::default().feed(&bytes);
            let (front, back) = bytes.split_at(at.min(bytes.len()));
            let mut events = Events::default();
            let mut parts = events.feed(front).unwrap();
            parts.extend(events.feed(back).unwrap());
            prop_assert_eq!(whole, Ok(parts));
        }
    }
}
