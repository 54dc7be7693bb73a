//! Draws the foot of the card: the keys, the typed input, and the remaining time.

use unicode_width::UnicodeWidthChar as _;

use super::card_view::{CardInput, CardState, CardView};
use super::style::{Line, Style, width};
use super::{visible, wrap};

/// Draws the foot. A question that exceeds `room` lines is truncated.
pub(super) fn lines(view: &CardView, state: &CardState<'_>, columns: usize, room: usize) -> Vec<Line> {
    let mut lines = match state.entry {
        CardInput::Key => {
            let grants = state.prompt.may_grant;
            let session = (grants && view.session_grant.is_some()).then_some(("s", "this session"));
            let standing = (grants && view.standing_grant.is_some()).then_some(("a", "always"));
            let all = [Some(("y", view.yes())), session, standing, Some(("n", "no")), Some(("?", "explain"))];
            keys(all.into_iter().flatten(), columns)
        }
        CardInput::Confirm => {
            let words = view.standing_grant.as_deref().unwrap_or_default();
            let mut lines = wrap::labelled(&Line::of(Style::Strong, "always: "), Style::Plain, words, columns);
            let answers = keys([("y", "allow always"), ("n", "no")].into_iter(), columns);
            lines.truncate(room.saturating_sub(answers.len() + 1).max(1));
            lines.extend(answers);
            lines
        }
        CardInput::Words(typed) => {
            let lead = if columns < 50 { "Why not? (or Enter) " } else { "Why not? (Enter: no reason) " };
            entry(&Line::of(Style::Plain, lead), typed, columns)
        }
        CardInput::Overrule(typed) => {
            let long =
                format!("The reviewer denied it. To run it anyway, type a reason and press Enter; {}:", view.escape());
            let mut lines = wrap::styled(&Line::of(Style::Strong, long), columns);
            lines.extend(entry(&Line::of(Style::Plain, "reason: "), typed, columns));
            lines
        }
        CardInput::Word { word, typed, .. } => {
            let lead = |before: &str, after: &str| {
                Line::of(Style::Plain, before).with(Style::Key, word).with(Style::Plain, after)
            };
            let long = lead("To run it, type ", &format!(" and press Enter; {}: ", view.escape()));
            if long.width() + 12 <= columns {
                entry(&long, typed, columns)
            } else {
                let mut lines = vec![lead("Type ", " to run it,")];
                lines.extend(entry(&Line::of(Style::Plain, "then Enter: "), typed, columns));
                lines
            }
        }
    };
    if let Some(tenths) = state.asking {
        lines.push(Line::of(Style::Dim, asking(tenths)));
    }
    lines.push(countdown(state, columns));
    lines
}

/// Returns the text about the consulted reviewer, with the time so far.
#[must_use]
pub fn asking(tenths: u64) -> String {
    format!("asking the reviewer · {}.{} s", tenths / 10, tenths % 10)
}

/// Draws a question and the end of the typed input.
fn entry(lead: &Line, typed: &str, columns: usize) -> Vec<Line> {
    let room = columns.saturating_sub(lead.width() + 1).max(8);
    let typed = visible::text(typed);
    let mut start = typed.len();
    let mut used = 0;
    for (at, c) in typed.char_indices().rev() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        start = at;
    }
    // A combining accent without its letter would be displayed by its code and need more room.
    let end = typed.get(start..).unwrap_or_default().trim_start_matches(|c: char| c.width() == Some(0));
    vec![lead.clone().with(Style::Strong, end).with(Style::Dim, "_")]
}

/// Draws the keys with their meanings.
fn keys<'a>(keys: impl Iterator<Item = (&'a str, &'a str)>, columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    for (key, meaning) in keys {
        let item = Line::of(Style::Key, key).with(Style::Plain, format!(" {meaning}"));
        match lines.last_mut() {
            Some(line) if line.width() == 0 => line.extend(&item),
            Some(line) if line.width() + 3 + item.width() <= columns => {
                line.push(Style::Plain, "   ");
                line.extend(&item);
            }
            _ => lines.push(item),
        }
    }
    lines
}

/// Draws the countdown: a bar, the seconds, and a note.
fn countdown(state: &CardState<'_>, columns: usize) -> Line {
    let left = state.left.min(state.total);
    let seconds = match state.entry {
        CardInput::Word { started: false, .. } => format!(" {left} s to begin"),
        _ => format!(" {left} s"),
    };
    let bar: u32 = if columns < 50 { 6 } else { 20 };
    let full = (left.saturating_mul(bar)).div_ceil(state.total.max(1)).min(bar);
    let style = if left <= 5 { Style::Strong } else { Style::Dim };
    let line = Line::of(style, "█".repeat(full as usize))
        .with(Style::Dim, "░".repeat((bar - full) as usize))
        .with(Style::Strong, seconds);
    let note = state.hint.unwrap_or("no answer means no");
    let room = columns.saturating_sub(line.width() + 3).max(1);
    let note = wrap::prose(note, room).into_iter().next().unwrap_or_default();
    line.with(Style::Dim, " · ").with(if state.hint.is_some() { Style::Plain } else { Style::Dim }, note)
}
