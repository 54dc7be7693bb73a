//! Decoders of known text: escapes, base 64, hexadecimal digits, and sets of `tr`.

use super::act::Value;
use super::builtin_output::KnownOutput;
use super::state::MAX_TEXT;
use crate::judge::reserved;

/// Decodes backslash escapes of `echo -e` and `printf`. `None` if an escape ends the output, or the result is not valid
/// UTF-8.
pub(super) fn escapes(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return Some(text.to_owned());
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match chars.next() {
            Some('n') => bytes.push(b'\n'),
            Some('t') => bytes.push(b'\t'),
            Some('r') => bytes.push(b'\r'),
            Some('a') => bytes.push(7),
            Some('b') => bytes.push(8),
            Some('f') => bytes.push(12),
            Some('v') => bytes.push(11),
            Some('e' | 'E') => bytes.push(27),
            Some('\\') => bytes.push(b'\\'),
            Some('"') => bytes.push(b'"'),
            Some('\'') => bytes.push(b'\''),
            Some('c') => break,
            Some('x') => bytes.push(u8::try_from(read_digits(&mut chars, 16, 2, None)?).ok()?),
            Some('u') => push_code(&mut bytes, read_digits(&mut chars, 16, 4, None)?),
            Some('U') => push_code(&mut bytes, read_digits(&mut chars, 16, 8, None)?),
            Some(first @ '0'..='7') => {
                let most = if first == '0' { 4 } else { 3 };
                bytes.push((read_digits(&mut chars, 8, most, Some(first))? & 0xff) as u8);
            }
            Some(other) => {
                bytes.push(b'\\');
                bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => bytes.push(b'\\'),
        }
    }
    let bytes = reserved::unescaped_bytes(text.as_bytes(), &bytes);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn push_code(bytes: &mut Vec<u8>, code: u32) {
    if let Some(c) = char::from_u32(code) {
        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

pub(super) fn read_digits(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    first: Option<char>,
) -> Option<u32> {
    let mut number = first.and_then(|c| c.to_digit(radix));
    let mut count = usize::from(number.is_some());
    while count < most
        && let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix))
    {
        number = Some(number.unwrap_or(0).checked_mul(radix)?.checked_add(digit)?);
        chars.next();
        count += 1;
    }
    number
}

pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            byte if byte.is_ascii_whitespace() => continue,
            _ => return None,
        };
        held = (held << 6 | u32::from(value)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

pub(super) fn base32(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'2'..=b'7' => byte - b'2' + 26,
            b'=' => break,
            byte if byte.is_ascii_whitespace() => continue,
            _ => return None,
        };
        held = (held << 5 | u32::from(value)) & 0xff_ffff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// Decodes hexadecimal digits, or a hex dump with offsets.
pub(super) fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let mut digits = String::new();
    for line in text.lines() {
        let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
        let line = line.split_once("  ").map_or(line, |(hex, _)| hex);
        digits.extend(line.chars().filter(|c| !c.is_whitespace()));
    }
    if digits.len() > MAX_TEXT || !digits.is_ascii() {
        return None;
    }
    digits
        .as_bytes()
        .chunks_exact(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect()
}

/// Performs `tr` with simple sets.
pub(super) fn translate(args: &[&str], text: &str) -> Option<KnownOutput> {
    let translated = |text: String| Some(KnownOutput { text: Value::text(text), decoded: true });
    match args {
        ["-d", set] => {
            let set = characters(set)?;
            translated(text.chars().filter(|c| !set.contains(c)).collect())
        }
        ["-s", set] => {
            let set = characters(set)?;
            let mut squeezed = String::new();
            for c in text.chars() {
                if !(set.contains(&c) && squeezed.ends_with(c)) {
                    squeezed.push(c);
                }
            }
            translated(squeezed)
        }
        [from, to] if !from.starts_with('-') || from.len() == 1 => {
            let (from, to) = (characters(from)?, characters(to)?);
            let last = *to.last()?;
            let map = |c: char| match from.iter().rposition(|own| *own == c) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => c,
            };
            translated(text.chars().map(map).collect())
        }
        _ => None,
    }
}

/// Returns the characters of a set of `tr`, with ranges and classes expanded.
pub(super) fn characters(set: &str) -> Option<Vec<char>> {
    let set = escapes(set)?;
    let (lower, upper) = (('a'..='z'), ('A'..='Z'));
    match set.as_str() {
        "[:lower:]" => return Some(lower.collect()),
        "[:upper:]" => return Some(upper.collect()),
        "[:digit:]" => return Some(('0'..='9').collect()),
        "[:space:]" => return Some(vec![' ', '\t', '\n', '\r', '\x0b', '\x0c']),
        _ => {}
    }
    if set.contains("[:") || set.contains("[=") {
        return None;
    }
    let chars: Vec<char> = set.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(&high)) if c <= high && (high as u32 - c as u32) < 256 => {
                // A range contains characters that are not in the text.
                all.push(c);
                all.extend((c..high).skip(1).map(reserved::taken_in_letter));
                all.extend((c < high).then_some(high));
                at += 3;
            }
            _ => {
                all.push(c);
                at += 1;
            }
        }
    }
    Some(all)
}
