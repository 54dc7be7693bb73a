//! What waits, as a table.

use super::style::width;

/// How many approvers have said yes to what wants several, in words; `None` where one person is enough.
#[must_use]
pub fn approvals(wanted: u8, by: &[String]) -> Option<String> {
    if wanted < 2 {
        return None;
    }
    let left = usize::from(wanted).saturating_sub(by.len());
    let more = match left {
        0 => String::new(),
        1 => "; one more needed".to_owned(),
        left => format!("; {left} more needed"),
    };
    Some(match by {
        [] => format!("{wanted} approvers needed"),
        by => format!("{} of {wanted} approvals, by {}{more}", by.len(), by.join(" and ")),
    })
}

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
    if room > 0 {
        out.push('…');
    }
    out
}
