//! Glob qualifiers: `*(.om[1,5])` selects files, `*(e:'rm x':)` and `*(+command)` run a command for each.

use crate::judge::syntax::tree::{Part, Word};

/// Reports whether a group in this word could be qualifiers that run a command.
pub(super) fn may_run(parts: &[Part]) -> bool {
    // Brace expansion can move any group to the end of a word.
    let braces = parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains('{')));
    parts.iter().enumerate().any(|(index, part)| {
        let Part::ExtGlob { alternatives, .. } = part else { return false };
        let rest = parts.get(index + 1..).unwrap_or_default();
        // Text after a group makes it a part of the pattern. The result of an expansion could be empty.
        let followed = !braces
            && rest.iter().any(|part| !matches!(part, Part::Parameter(_) | Part::Command(_) | Part::ExtGlob { .. }));
        !followed && !is_harmless(alternatives)
    })
}

/// Reports whether the group is a set of alternatives, or qualifiers that only select files.
fn is_harmless(alternatives: &[Word]) -> bool {
    let explicit = alternatives
        .first()
        .and_then(|word| word.parts.first())
        .is_some_and(|part| matches!(part, Part::Literal(text) if text.starts_with("#q")));
    let nested =
        |word: &Word| word.parts.iter().any(|part| matches!(part, Part::Literal(text) if text.contains(['(', ')'])));
    if !explicit && (alternatives.len() > 1 || alternatives.iter().any(nested)) {
        return true;
    }
    let mut text = String::new();
    for word in alternatives {
        for part in &word.parts {
            let Part::Literal(piece) = part else { return false };
            text.push_str(piece);
        }
    }
    let text = text.strip_prefix("#q").unwrap_or(&text);
    alternatives.len() == 1 && only_chooses(text.as_bytes())
}

/// Reports whether all qualifiers are known not to run a command.
fn only_chooses(mut text: &[u8]) -> bool {
    while let Some((&first, rest)) = text.split_first() {
        text = match first {
            b'/' | b'F' | b'.' | b'@' | b'=' | b'p' | b'*' | b'r' | b'w' | b'x' | b'A' | b'I' | b'E' | b'R' | b'W'
            | b'X' | b's' | b'S' | b't' | b'U' | b'G' | b'N' | b'D' | b'n' | b'M' | b'T' | b'^' | b'-' | b',' => rest,
            b'%' => skip(rest, b"bc", 1),
            b'L' => skip(skip(skip(rest, b"kKmMgGtTpP", 1), b"+-", 1), b"0123456789", usize::MAX),
            b'm' | b'a' | b'c' => skip(skip(skip(rest, b"Mwhmsd", 1), b"+-", 1), b"0123456789", usize::MAX),
            b'l' => skip(skip(rest, b"+-", 1), b"0123456789", usize::MAX),
            b'd' | b'u' | b'g' | b'Y' => skip(rest, b"0123456789", usize::MAX),
            b'f' => skip(rest, b"01234567?=+-", usize::MAX),
            b'o' | b'O' => match rest.split_first() {
                Some((b'n' | b'L' | b'l' | b'a' | b'm' | b'c' | b'd' | b'N', rest)) => rest,
                _ => return false,
            },
            b'[' => match rest.iter().position(|&byte| byte == b']') {
                Some(end) if rest.iter().take(end).all(|byte| b"0123456789,-".contains(byte)) => {
                    rest.get(end + 1..).unwrap_or_default()
                }
                _ => return false,
            },
            // The modifiers up to the end only change the names that were found.
            b':' => return true,
            _ => return false,
        };
    }
    true
}

/// Returns `text` without at most `limit` leading bytes in `set`.
fn skip<'t>(text: &'t [u8], set: &[u8], limit: usize) -> &'t [u8] {
    let len = text.iter().take(limit).take_while(|byte| set.contains(byte)).count();
    text.get(len..).unwrap_or_default()
}
