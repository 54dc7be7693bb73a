//! A command cut into flat words: at blanks, at operators and at quotes, wherever they are nested.

use std::ops::Range;

/// A flat word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlatWord {
    pub span: Range<usize>,
    /// What stands between the word before and this one.
    pub gap: Separator,
}

/// What separates two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// The beginning of the text or an operator: a command may begin here.
    Command,
    /// A pipe: a command begins here, and is fed by the one before.
    Pipe,
    /// Blanks only, or blanks and quotes.
    Blank,
    /// Only quotes: the two belong together.
    Joined,
    /// `<<<`
    HereString,
    /// Another redirection.
    Redirection,
}

const fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b';' | b'|' | b'&' | b'(' | b')' | b'<' | b'>' | b'`' | b'\'' | b'"')
}

/// Cuts a text into flat words. Everything between two words is separators, so that no byte is lost.
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

/// Where the value ends that begins at `start`: as a shell would read the rest of the word.
///
/// `opened` is the quote that was open already where the value's name began and that belongs to the value too, as in
/// `'--password=two words'`.
pub(super) fn value(text: &str, start: usize, opened: Option<u8>) -> Range<usize> {
    let bytes = text.as_bytes();
    if let Some(quote) = opened {
        return start..close(bytes, start, quote);
    }
    let mut at = start;
    // A quote in front is not part of what is hidden, so that the rest still reads as a command.
    let first = bytes.get(at).copied();
    if first == Some(b'\\')
        && let Some(&quote @ (b'\'' | b'"')) = bytes.get(at + 1)
    {
        // A quote inside quotes, as in JSON that is handed to a shell: its partner is escaped too.
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
        // What is glued to the closing quote belongs to the value: then all of it is hidden, quotes and all.
    }
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\'' | b'"' if at > start && has_partner(bytes, at) => at = close(bytes, at + 1, byte) + 1,
            // What a substitution does is a command of its own, and read as one.
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

/// Where a quoted part ends: at its closing quote, or at the end of the text.
fn close(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote != b'\'' => at += 2,
            _ if byte == quote => {
                // `'\''` is how a single quote is written inside single quotes.
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

/// Whether the quote at `at` opens something within the same word: a closing one stands before the next blank.
fn has_partner(bytes: &[u8], at: usize) -> bool {
    let Some(&quote) = bytes.get(at) else { return false };
    bytes.iter().skip(at + 1).take_while(|byte| !byte.is_ascii_whitespace()).any(|&byte| byte == quote)
}

/// Whether `name=` stands here: the next part of a list like `user=a,password=b`.
fn names_follow(bytes: &[u8], start: usize) -> bool {
    let name = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    name > 0 && bytes.get(start + name) == Some(&b'=')
}
