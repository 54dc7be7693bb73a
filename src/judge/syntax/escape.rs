//! Decodes the escapes of `$'…'`.

/// The decoded text of `$'…'`.
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// Whether an escape produced a NUL, at which bash ends the string.
    pub(super) cut: bool,
}

/// Decodes the text between the quotes of `$'…'`.
pub(super) fn ansi_c(text: &[u8]) -> Decoded {
    let mut bytes = Vec::with_capacity(text.len());
    let mut pos = 0;
    while let Some(&byte) = text.get(pos) {
        pos += 1;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some(&kind) = text.get(pos) else {
            bytes.push(b'\\');
            break;
        };
        pos += 1;
        let start = bytes.len();
        match kind {
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b'e' | b'E' => bytes.push(27),
            b'f' => bytes.push(12),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'v' => bytes.push(11),
            b'\\' | b'\'' | b'"' | b'?' => bytes.push(kind),
            b'0'..=b'7' => {
                let (value, len) = number(text, pos - 1, 3, 8);
                pos = pos - 1 + len;
                bytes.push((value & 0xFF) as u8);
            }
            b'x' => pos = hexadecimal(text, pos, &mut bytes),
            b'u' | b'U' => {
                let (value, len) = number(text, pos, if kind == b'u' { 4 } else { 8 }, 16);
                pos += len;
                if len == 0 {
                    bytes.extend([b'\\', kind]);
                } else {
                    unicode(value, &mut bytes);
                }
            }
            b'c' => match text.get(pos) {
                Some(&control) => {
                    // `\c\\` is a single control character.
                    let escaped = control == b'\\' && text.get(pos + 1) == Some(&b'\\');
                    pos += if escaped { 2 } else { 1 };
                    bytes.push(if control == b'?' { 0x7F } else { control.to_ascii_uppercase() & 0x1F });
                }
                None => bytes.extend(b"\\c"),
            },
            _ => bytes.extend([b'\\', kind]),
        }
        if bytes.get(start) == Some(&0) {
            bytes.truncate(start);
            return Decoded { bytes, cut: true };
        }
    }
    Decoded { bytes, cut: false }
}

/// Decodes the digits after `\x`, with or without braces, and returns the position after them.
fn hexadecimal(text: &[u8], pos: usize, bytes: &mut Vec<u8>) -> usize {
    if text.get(pos) == Some(&b'{') {
        let (value, len) = number(text, pos + 1, usize::MAX, 16);
        let end = pos + 1 + len;
        if len > 0 {
            bytes.push((value & 0xFF) as u8);
            return if text.get(end) == Some(&b'}') { end + 1 } else { end };
        }
    }
    let (value, len) = number(text, pos, 2, 16);
    if len == 0 {
        bytes.extend(b"\\x");
    } else {
        bytes.push((value & 0xFF) as u8);
    }
    pos + len
}

/// Returns the number at `pos`, which has at most `digits` digits, and its length.
fn number(text: &[u8], pos: usize, digits: usize, radix: u32) -> (u32, usize) {
    let mut value = 0_u32;
    let mut len = 0;
    while len < digits
        && let Some(digit) = text.get(pos + len).and_then(|&byte| char::from(byte).to_digit(radix))
    {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        len += 1;
    }
    (value, len)
}

/// Appends a code point in bash's encoding, even if it is not valid in Unicode.
fn unicode(value: u32, bytes: &mut Vec<u8>) {
    let (lead, following) = match value {
        0..=0x7F => return bytes.push(value as u8),
        0x80..=0x7FF => (0xC0, 1),
        0x800..=0xFFFF => (0xE0, 2),
        0x1_0000..=0x1F_FFFF => (0xF0, 3),
        0x20_0000..=0x3FF_FFFF => (0xF8, 4),
        _ => (0xFC, 5),
    };
    bytes.push(lead | (value >> (6 * following)) as u8);
    bytes.extend((0..following).rev().map(|index| 0x80 | (value >> (6 * index) & 0x3F) as u8));
}
