//! What waits, as a table.

use super::style::width;

/// The beginning of a text, and an ellipsis where something is missing.
#[must_use]
pub fn cut(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    for letter in text.chars() {
        if width(&out) + width(letter.encode_utf8(&mut [0; 4])) + 1 > room {
            break;
        }
        out.push(letter);
    }
    out.push('…');
    out
}
