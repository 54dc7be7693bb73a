//! Decodes the bytes of a terminal into keys. The functions are pure.

/// A key, or something else that a terminal sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
    Char(char),
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C, if the terminal does not send a signal for it.
    Interrupt,
    /// Ctrl-D.
    EndOfFile,
    /// Ctrl-\.
    Quit,
    Up,
    Down,
    PageUp,
    PageDown,
    /// A key without a meaning.
    Unknown,
    /// A report that the terminal sends itself (focus, cursor position).
    Report,
    /// Pasted text of any length.
    Paste,
}

/// Decodes bytes as they arrive, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The beginning of an incomplete sequence.
    pending: Vec<u8>,
    /// Whether a bracketed paste is in progress.
    pasting: bool,
}

/// Maximum length of a control sequence.
const LONGEST: usize = 64;

impl Decoder {
    /// Returns the keys that these bytes complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<KeyPress> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = next(&self.pending) {
            let token: Vec<u8> = self.pending.drain(..length.min(self.pending.len())).collect();
            match token.as_slice() {
                b"\x1b[200~" => {
                    self.pasting = true;
                    keys.push(KeyPress::Paste);
                }
                b"\x1b[201~" => self.pasting = false,
                _ if self.pasting => {}
                _ => keys.push(key),
            }
        }
        keys
    }

    /// Reports whether a sequence is incomplete. A single escape is incomplete until the timeout.
    pub(super) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns the incomplete sequence as a key, after the timeout.
    pub(super) fn take_pending(&mut self) -> Option<KeyPress> {
        let pending = std::mem::take(&mut self.pending);
        match pending.as_slice() {
            _ if self.pasting => None,
            [] => None,
            [0x1b] => Some(KeyPress::Escape),
            _ => Some(KeyPress::Unknown),
        }
    }

    /// Discards an incomplete sequence.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Returns the first key and its number of bytes; `None` if it is incomplete.
fn next(bytes: &[u8]) -> Option<(KeyPress, usize)> {
    let (first, rest) = bytes.split_first()?;
    match first {
        0x1b => match rest.first()? {
            b'[' => {
                let length = rest.iter().skip(1).take(LONGEST).position(|byte| (0x40..=0x7e).contains(byte));
                match length {
                    Some(parameters) => {
                        let end = 2 + parameters + 1;
                        Some((csi(bytes.get(2..end).unwrap_or_default()), end))
                    }
                    None if rest.len() > LONGEST => Some((KeyPress::Unknown, bytes.len())),
                    None => None,
                }
            }
            b'O' => rest.get(1).map(|letter| (arrow(*letter), 3)),
            // Two escapes are Escape; an escape and a letter are Alt and the letter, which is not an answer.
            0x1b => Some((KeyPress::Escape, 1)),
            _ => Some((KeyPress::Unknown, 2)),
        },
        b'\r' | b'\n' => Some((KeyPress::Enter, 1)),
        0x7f | 0x08 => Some((KeyPress::Backspace, 1)),
        0x03 => Some((KeyPress::Interrupt, 1)),
        0x04 => Some((KeyPress::EndOfFile, 1)),
        0x1c => Some((KeyPress::Quit, 1)),
        0x00..=0x1f => Some((KeyPress::Unknown, 1)),
        0x20..=0x7e => Some((KeyPress::Char(char::from(*first)), 1)),
        _ => {
            let length = match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => return Some((KeyPress::Unknown, 1)),
            };
            let sequence = &bytes[..length.min(bytes.len())];
            match std::str::from_utf8(sequence) {
                Ok(text) => Some((text.chars().next().map_or(KeyPress::Unknown, KeyPress::Char), length)),
                Err(error) if error.error_len().is_none() => None,
                Err(_) => Some((KeyPress::Unknown, 1)),
            }
        }
    }
}

/// Returns the key of a control sequence, by its parameters and its last letter.
fn csi(sequence: &[u8]) -> KeyPress {
    match sequence {
        b"5~" => KeyPress::PageUp,
        b"6~" => KeyPress::PageDown,
        [letter] => match letter {
            b'I' | b'O' => KeyPress::Report,
            letter => arrow(*letter),
        },
        [.., b'R' | b'c' | b'n' | b't' | b'y'] => KeyPress::Report,
        _ => KeyPress::Unknown,
    }
}

/// Returns the arrow key of a letter, in both kinds of sequences.
const fn arrow(letter: u8) -> KeyPress {
    match letter {
        b'A' => KeyPress::Up,
        b'B' => KeyPress::Down,
        _ => KeyPress::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoder, KeyPress};

    /// Returns the keys of bytes that arrive in these pieces, followed by the timeout.
    fn keys(pieces: &[&[u8]]) -> Vec<KeyPress> {
        let mut decoder = Decoder::default();
        let mut keys: Vec<KeyPress> = pieces.iter().flat_map(|piece| decoder.feed(piece)).collect();
        keys.extend(decoder.take_pending());
        keys
    }

    #[test]
    fn a_lone_escape_is_the_key() {
        assert_eq!(keys(&[b"\x1b"]), [KeyPress::Escape]);
        assert_eq!(keys(&[b"\x1b\x1b"]), [KeyPress::Escape, KeyPress::Escape]);
    }

    #[test]
    fn escape_and_a_letter_are_neither_escape_nor_the_letter() {
        assert_eq!(keys(&[b"\x1by"]), [KeyPress::Unknown]);
        assert_eq!(keys(&[b"\x1b", b"y"]), [KeyPress::Unknown]);
    }

    #[test]
    fn a_sequence_is_one_key_however_it_arrives() {
        assert_eq!(keys(&[b"\x1b[A"]), [KeyPress::Up]);
        assert_eq!(keys(&[b"\x1b", b"[", b"6", b"~"]), [KeyPress::PageDown]);
        assert_eq!(keys(&[b"\x1bOB"]), [KeyPress::Down]);
        assert_eq!(keys(&[b"\x1b[1;5y"]), [KeyPress::Report]);
        assert_eq!(keys(&[b"\x1b[200~y\x1b[201~"]), [KeyPress::Paste]);
        assert_eq!(keys(&[b"\x1b[200~", b"y", b"\x1b[20", b"1~"]), [KeyPress::Paste]);
        assert_eq!(keys(&[b"\x1b[200~y"]), [KeyPress::Paste]);
    }

    #[test]
    fn a_sequence_without_end_is_no_letter() {
        let mut long = b"\x1b[".to_vec();
        long.resize(100, b'1');
        assert_eq!(keys(&[&long]), [KeyPress::Unknown]);
        assert_eq!(keys(&[b"\x1b[1;"]), [KeyPress::Unknown]);
    }

    #[test]
    fn letters_of_many_bytes_are_letters_and_broken_ones_are_none() {
        assert_eq!(keys(&["é漢".as_bytes()]), [KeyPress::Char('é'), KeyPress::Char('漢')]);
        assert_eq!(keys(&[b"\xc3", b"\xa9"]), [KeyPress::Char('é')]);
        assert_eq!(keys(&[b"\xff\xc3y"]), [KeyPress::Unknown, KeyPress::Unknown, KeyPress::Char('y')]);
    }

    #[test]
    fn the_keys_that_mean_no_are_told_apart() {
        assert_eq!(keys(&[b"\r"]), [KeyPress::Enter]);
        assert_eq!(keys(&[b"\n"]), [KeyPress::Enter]);
        assert_eq!(keys(&[b"\x03\x04\x1c"]), [KeyPress::Interrupt, KeyPress::EndOfFile, KeyPress::Quit]);
    }
}
