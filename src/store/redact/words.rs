//! Splits a command into flat words: at blanks, operators and quotes, at any nesting.

use std::ops::Range;

/// A flat word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlatWord {
    pub span: Range<usize>,
    /// The separator between the previous word and this one.
    pub gap: Separator,
}

/// The separator of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// The beginning of the text or an operator, after which a command may begin.
    Command,
    /// A pipe: a command begins, which reads the output of the previous one.
    Pipe,
    /// Blanks, or blanks and quotes.
    Blank,
    /// Only quotes: both words are parts of one word.
    Joined,
    /// `<<<`
    HereString,
    /// Another redirection.
    Redirection,
}

const fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>' | b'`' | b'\'' | b'"')
}

/// Splits a text into flat words. All bytes between two words are separators, so that no byte is lost.
pub(super) fn split(text: &str) -> Vec<FlatWord> {
    let bytes = text.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at + bytes.iter().skip(at).take_while(|&&byte| is_separator(byte)).count();
        let end = start + bytes.iter().skip(start).take_while(|&&byte| !is_separator(byte)).count();
        if start < end {
            let gap = gap(text.get(at..start).unwrap_or_default(), words.is_empty());
            words.push(FlatWord { span: start..end, gap });
        }
        at = end.max(start);
    }
    words
}

fn gap(between: &str, first: bool) -> Separator {
    let has = |wanted: &[char]| between.contains(wanted);
    if between.contains("<<<") {
        Separator::HereString
    } else if has(&['<', '>']) {
        Separator::Redirection
    } else if between.contains('|') && !between.contains("||") {
        Separator::Pipe
    } else if first || has(&[';', '&', '|', '(', ')', '`', '\n']) {
        Separator::Command
    } else if has(&[' ', '\t', '\r']) {
        Separator::Blank
    } else {
        Separator::Joined
    }
}

/// Returns the span of the value that begins at `start`, up to the end of the word in a shell.
///
/// `opened` is a quote that was opened before the name of the value and encloses the value too, as in `'--password=two
/// words'`.
pub(super) fn value(text: &str, start: usize, opened: Option<u8>) -> Range<usize> {
    let bytes = text.as_bytes();
    if let Some(quote) = opened {
        return start..close(bytes, start, quote);
    }
    let mut at = start;
    // A quote before the value is not redacted, so that the rest remains readable as a command.
    let first = bytes.get(at).copied();
    if first == Some(b'\\')
        && let Some(&quote @ (b'\'' | b'"')) = bytes.get(at + 1)
    {
        // This is a quote inside quotes, as in JSON in a shell command: the closing one is escaped too.
        let inside = at + 2;
        let partner = bytes.windows(2).skip(inside).position(|pair| pair == [b'\\', quote]);
        return inside..partner.map_or(bytes.len(), |partner| inside + partner).max(inside);
    }
    let ansi = first == Some(b'$') && matches!(bytes.get(at + 1), Some(b'\'' | b'"'));
    if let Some(&quote @ (b'\'' | b'"')) = bytes.get(at + usize::from(ansi)) {
        let inside = at + usize::from(ansi) + 1;
        let end = close(bytes, inside, quote);
        at = end + 1;
        if bytes.get(at).is_none_or(|&byte| is_end(byte)) {
            return inside..end;
        }
        // If text follows the closing quote directly, the value includes it, and the quotes are redacted too.
    }
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\'' | b'"' if at > start && has_partner(bytes, at) => at = close(bytes, at + 1, byte) + 1,
            // A substitution contains a command, which is scanned separately.
            b'$' if bytes.get(at + 1) == Some(&b'(') => break,
            b',' if names_follow(bytes, at + 1) => break,
            b'$' if bytes.get(at + 1) == Some(&b'{') => at = close(bytes, at + 2, b'}') + 1,
            _ if is_end(byte) || matches!(byte, b'\'' | b'"') => break,
            _ => at += 1,
        }
    }
    start..at.min(bytes.len())
}

const fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>' | b'`' | b']' | b'}')
}

/// Returns the end of a quoted part: its closing quote, or the end of the text.
fn close(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote != b'\'' => at += 2,
            _ if byte == quote => {
                // `'\''` is the notation of a single quote inside single quotes.
                if quote == b'\'' && bytes.get(at..at + 4) == Some(br"'\''") {
                    at += 4;
                } else {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Reports whether the quote at `at` has a closing quote within the same word, before the next blank.
fn has_partner(bytes: &[u8], at: usize) -> bool {
    let Some(&quote) = bytes.get(at) else { return false };
    bytes.iter().skip(at + 1).take_while(|byte| !byte.is_ascii_whitespace()).any(|&byte| byte == quote)
}

/// Reports whether `name=` follows: the next part of a list like `user=a,password=b`.
fn names_follow(bytes: &[u8], start: usize) -> bool {
    let name = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    name > 0 && bytes.get(start + name) == Some(&b'=')
}
