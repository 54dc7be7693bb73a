//! Detects obfuscated spellings. Common ways of quoting are not obfuscation.

use super::act::Disguise;
use crate::judge::syntax::tree::{Part, Word};

/// Returns how the quoting of a word obfuscates it. A completely quoted word and a leading backslash do not.
pub(super) fn of_word(word: &Word) -> Option<Disguise> {
    let ansi = |part: &Part| matches!(part, Part::AnsiC(_));
    if word.parts.iter().any(ansi) {
        // The source of `$'text'` without an escape is three bytes longer than its text.
        let plain = match word.parts.as_slice() {
            [Part::AnsiC(text)] => word.span.end.saturating_sub(word.span.start) as usize == text.len() + 3,
            _ => false,
        };
        return if plain { None } else { Some(Disguise::Encoding) };
    }
    let mut parts = word.parts.as_slice();
    if let [Part::Escaped(_), rest @ ..] = parts {
        parts = rest;
    }
    if parts.len() < 2 {
        return None;
    }
    let is_static = |part: &Part| match part {
        Part::Literal(_) | Part::Escaped(_) | Part::Single(_) => true,
        Part::Double { parts, .. } => parts.iter().all(|part| matches!(part, Part::Literal(_) | Part::Escaped(_))),
        _ => false,
    };
    let quoted = parts.iter().any(|part| !matches!(part, Part::Literal(_)));
    if !quoted || !parts.iter().all(is_static) {
        return None;
    }
    let text = text_of(parts)?;
    let plain = if text.starts_with('-') {
        // Only the name of an option is examined; in `-d"x"` that is one letter.
        let attached = matches!(parts, [Part::Literal(option), _] if option.len() == 2);
        !attached && text.len() > 1 && text.chars().skip(1).all(|c| c.is_ascii_alphabetic() || c == '-')
    } else {
        text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
    };
    plain.then_some(Disguise::Quoting)
}

fn text_of(parts: &[Part]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(own) | Part::Escaped(own) | Part::Single(own) => text.push_str(own),
            Part::Double { parts, .. } => text.push_str(&text_of(parts)?),
            _ => return None,
        }
    }
    Some(text)
}

/// Reports whether a word is `"$@"` or `"${array[@]}"`, which expands to no argument if there are no elements.
pub(super) fn is_only_arguments(parts: &[Part]) -> bool {
    let all = |part: &Part| match part {
        Part::Parameter(parameter) => {
            parameter.name == "@"
                || parameter
                    .subscript
                    .as_ref()
                    .is_some_and(|word| matches!(word.parts.as_slice(), [Part::Literal(text)] if text == "@"))
        }
        _ => false,
    };
    !parts.is_empty() && parts.iter().all(all)
}

/// Replaces homoglyphs and removes invisible characters in a command word. `None` if there are none.
pub(super) fn plain_characters(word: &str) -> Option<String> {
    if word.is_ascii() && !word.contains(|c: char| c.is_ascii_control()) {
        return None;
    }
    let mut plain = String::with_capacity(word.len());
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => skip_sequence(&mut chars),
            '\u{ff01}'..='\u{ff5e}' => plain.extend(char::from_u32(c as u32 - 0xfee0)),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{180e}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0000}'..='\u{e007f}' => {}
            '\n' | '\t' => plain.push(c),
            '\u{9b}' => skip_parameters(&mut chars),
            c if c.is_control() => {}
            c => plain.push(look_alike(c)),
        }
    }
    (plain != word).then_some(plain)
}

/// Skips the rest of an escape sequence: a control sequence, an operating system command, or one character.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_parameters(chars);
        }
        Some(']') => {
            while let Some(c) = chars.next() {
                if c == '\x07' || (c == '\x1b' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some(_) => {
            chars.next();
        }
        None => {}
    }
}

/// Skips the parameters of a control sequence.
fn skip_parameters(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    for c in chars.by_ref() {
        if ('\x40'..='\x7e').contains(&c) {
            break;
        }
    }
}

/// Returns the Latin letter that looks like a Cyrillic or Greek letter, or a mathematical variant.
fn look_alike(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' => 'e',
        'һ' => 'h',
        'і' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'ӏ' => 'l',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'ѕ' => 's',
        'υ' => 'u',
        'ν' => 'v',
        'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'м' => 'm',
        'к' | 'κ' => 'k',
        'т' | 'τ' => 't',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2044}' | '\u{2215}' => '/',
        '\u{1d400}'..='\u{1d6a3}' => {
            let index = (c as u32 - 0x1d400) % 52;
            let letter = if index < 26 { u32::from(b'A') + index } else { u32::from(b'a') + index - 26 };
            char::from_u32(letter).unwrap_or(c)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_and_invisible_characters_are_mapped() {
        assert_eq!(plain_characters("ｒｍ").as_deref(), Some("rm"));
        assert_eq!(plain_characters("r\u{200b}m").as_deref(), Some("rm"));
        assert_eq!(plain_characters("\x1b[31mrm\x1b[0m").as_deref(), Some("rm"));
        assert_eq!(plain_characters("\x1b]0;title\x07rm").as_deref(), Some("rm"));
        assert_eq!(plain_characters("ѕudo").as_deref(), Some("sudo"));
        assert_eq!(plain_characters("rm"), None);
        assert_eq!(plain_characters("größe"), None);
    }
}
