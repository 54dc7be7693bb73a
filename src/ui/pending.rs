//! The table of waiting requests.

use super::style::width;

/// Describes how many of several required approvers have approved; `None` if one person is sufficient.
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

/// Truncates a text, with an ellipsis.
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
