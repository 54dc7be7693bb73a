//! Draws the review: the list of waiting requests, and the card of the selected one.

use super::card::Size;
use super::pending::cut;
use super::style::{Line, Style};
use super::wrap::{labelled, prose};
use crate::judge::risk::Tier;

/// A request in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewRow {
    pub id: String,
    pub tier: Tier,
    /// The remaining time, or the outcome.
    pub waits: String,
    /// Whether the requester waits for an answer, or the request was filed for a later one.
    pub open: bool,
    /// The requester.
    pub by: String,
    /// The redacted command on one line.
    pub command: String,
    pub marked: bool,
    /// Whether its card was opened.
    pub opened: bool,
}

/// The content of the review. Equal views draw equal screens.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewView {
    pub rows: Vec<ReviewRow>,
    /// The selected row.
    pub at: usize,
    /// The description of the filter.
    pub filter: String,
    /// The card of the selected row, the reason why there is none, or the help.
    pub card: Vec<Line>,
    /// Whether the help is shown, which leaves one row for the list.
    pub help: bool,
    /// The result of the last key.
    pub status: String,
    /// The message that is being typed.
    pub entry: Option<String>,
}

/// The keys, the most important first.
const KEYS: [(&str, &str); 10] = [
    ("Enter", "open and answer"),
    ("q", "quit"),
    ("?", "help"),
    ("j/k", "move"),
    ("space", "mark"),
    ("A", "approve marked"),
    ("d", "deny"),
    ("*", "mark all"),
    ("s", "session"),
    ("t", "tier"),
];

/// Draws the help for the keys, wrapped to `columns`.
#[must_use]
pub fn help(columns: usize) -> Vec<Line> {
    [
        ("Enter", "open a request; answer on its card with y, s, a, n"),
        ("j k", "move, like the arrow keys"),
        ("space *", "mark one, or all; tier 4 cannot be in a batch"),
        (
            "A",
            "approve all marked requests with one question, after showing each in full; tier 3 only once it was opened",
        ),
        ("d", "deny the marked requests, or this one, with a reason for the agent"),
        ("s t", "filter by session or tier: one, the next, all"),
        ("Esc", "go back: close this, clear filters, clear marks, quit"),
        ("q", "quit; requests continue to wait"),
    ]
    .into_iter()
    .flat_map(|(keys, what)| labelled(&Line::of(Style::Key, format!("{keys:8}")), Style::Plain, what, columns))
    .collect()
}

/// Draws the review. The list takes at most half of the screen, and the card the rest.
#[must_use]
pub fn review(view: &ReviewView, size: Size) -> Vec<Line> {
    let columns = size.columns.max(20) - 1;
    let rows = size.rows.max(6);
    let count = view.rows.len();
    let mut lines = vec![head(view, columns)];
    let room = rows - 3;
    let for_list = count.min(match (view.card.is_empty(), view.help) {
        (true, _) => room,
        (false, true) => 1,
        (false, false) => (room / 2).max(1),
    });
    let top = view.at.saturating_sub(for_list.saturating_sub(1)).min(count.saturating_sub(for_list));
    for (number, row) in view.rows.iter().enumerate().skip(top).take(for_list) {
        lines.push(drawn(row, number == view.at, columns));
    }
    if count == 0 {
        lines.push(Line::of(Style::Plain, "No requests are waiting."));
    }
    let left = rows.saturating_sub(lines.len() + 2);
    if left > 2 && !view.card.is_empty() {
        lines.push(Line::of(Style::Dim, "─".repeat(columns)));
        let room = left - 1;
        if view.card.len() > room {
            lines.extend(view.card.iter().take(room - 1).cloned());
            let more = view.card.len() - (room - 1);
            let how = if view.help { "make the window taller" } else { "Enter shows all" };
            lines.push(Line::of(Style::Strong, format!("… {more} more lines: {how}")));
        } else {
            lines.extend(view.card.iter().cloned());
        }
    }
    // The result of the last key is displayed completely, at the expense of the card.
    let said = match &view.entry {
        Some(words) => vec![
            Line::of(Style::Plain, "Why not? (Enter: no reason, Esc: cancel) ")
                .with(Style::Strong, tail(words, columns.saturating_sub(44)))
                .with(Style::Dim, "_"),
        ],
        None => {
            prose(&view.status, columns).into_iter().take(rows / 2).map(|text| Line::of(Style::Plain, text)).collect()
        }
    };
    let above = rows - 1 - said.len();
    lines.truncate(above);
    while lines.len() < above {
        lines.push(Line::new());
    }
    lines.extend(said);
    lines.push(foot(columns));
    lines
}

/// Draws the question about a batch: all commands in full, from line `top`, and the keys.
#[must_use]
pub fn batch(lines: &[Line], top: usize, question: &str, size: Size) -> Vec<Line> {
    let columns = size.columns.max(20) - 1;
    let room = size.rows.max(6) - 2;
    let mut shown: Vec<Line> = lines.iter().skip(top).take(room).cloned().collect();
    let end = top + shown.len();
    while shown.len() < room {
        shown.push(Line::new());
    }
    shown.push(Line::new());
    shown.push(if end < lines.len() {
        let more = lines.len() - end;
        Line::of(
            Style::Strong,
            cut(&format!("{more} more lines; press space to read them before you answer; q cancels"), columns),
        )
    } else {
        Line::of(Style::Strong, cut(&format!("{question} [y/N]"), columns))
    });
    shown
}

fn head(view: &ReviewView, columns: usize) -> Line {
    let marked = view.rows.iter().filter(|row| row.marked).count();
    let open = view.rows.iter().filter(|row| row.open).count();
    let mut text = match open {
        0 => "guard: no requests".to_owned(),
        1 => "guard: 1 request".to_owned(),
        count => format!("guard: {count} requests"),
    };
    if open < view.rows.len() {
        text.push_str(&format!(", {} timed out", view.rows.len() - open));
    }
    if marked > 0 {
        text.push_str(&format!(", {marked} marked"));
    }
    if !view.filter.is_empty() {
        text.push_str(&format!(" · only {}", view.filter));
    }
    Line::of(Style::Strong, cut(&text, columns))
}

fn drawn(row: &ReviewRow, here: bool, columns: usize) -> Line {
    let cursor = if here { "> " } else { "  " };
    let mark = match (row.marked, row.opened) {
        (true, _) => "[x]",
        (false, true) => "[o]",
        (false, false) => "[ ]",
    };
    // In a narrow window the command gets the available room.
    let (tier, waits) = match columns {
        ..60 => (format!("{} ", row.tier.number()), format!("{:>5}  ", cut(&row.waits, 9))),
        60.. => (format!("tier {}  ", row.tier.number()), format!("{:>9}  ", cut(&row.waits, 9))),
    };
    let front = Line::of(if here { Style::Key } else { Style::Plain }, format!("{cursor}{mark} "))
        .with(Style::Strong, format!("{:4}  ", row.id))
        .with(Style::Tier(row.tier), tier)
        .with(Style::Plain, waits);
    let by = if columns >= 70 { format!("{:10}  ", cut(&row.by, 10)) } else { String::new() };
    let room = columns.saturating_sub(front.width() + by.len()).max(8);
    let command = cut(&row.command, room);
    front.with(Style::Dim, by).with(if here { Style::Strong } else { Style::Plain }, command)
}

fn foot(columns: usize) -> Line {
    let mut line = Line::new();
    for (key, meaning) in KEYS {
        let item = Line::of(Style::Key, key).with(Style::Dim, format!(" {meaning}"));
        let gap = if line.width() == 0 { 0 } else { 3 };
        if line.width() + gap + item.width() > columns {
            break;
        }
        line.push(Style::Plain, " ".repeat(gap));
        line.extend(&item);
    }
    line
}

/// Returns the end of the typed input.
fn tail(text: &str, room: usize) -> String {
    let count = text.chars().count();
    text.chars().skip(count.saturating_sub(room.max(8))).collect()
}

#[cfg(test)]
mod tests {
    use super::{ReviewRow, ReviewView, Size, help, review};
    use crate::judge::risk::Tier;

    #[test]
    fn what_became_of_a_key_is_shown_whole() {
        let status =
            "this terminal and the requesting command have the same parent process; answer from another terminal";
        for columns in [40, 80] {
            let view = ReviewView {
                rows: Vec::new(),
                at: 0,
                filter: String::new(),
                card: Vec::new(),
                help: false,
                status: status.to_owned(),
                entry: None,
            };
            let lines = review(&view, Size { columns, rows: 24 });
            assert_eq!(lines.len(), 24);
            let text: Vec<String> = lines.iter().map(crate::ui::style::Line::plain).collect();
            assert!(text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ").contains(status), "{text:#?}");
            assert!(lines.iter().all(|line| line.width() < columns), "{text:#?}");
        }
    }

    #[test]
    fn a_narrow_list_leaves_half_of_a_row_to_the_command() {
        let row = ReviewRow {
            id: "k7m2".to_owned(),
            tier: Tier::High,
            waits: "120 s".to_owned(),
            open: true,
            by: "claude".to_owned(),
            command: "git push --force origin main".to_owned(),
            marked: false,
            opened: false,
        };
        let shown = super::drawn(&row, true, 39).plain();
        assert_eq!(shown, "> [ ] k7m2  3 120 s  git push --force …");
        assert!(super::drawn(&row, true, 79).plain().contains("tier 3"));
    }

    #[test]
    fn the_help_is_read_whole_beside_many_requests_on_a_narrow_screen() {
        let row = |number: usize| ReviewRow {
            id: format!("k{number}"),
            tier: Tier::High,
            waits: "20 s".to_owned(),
            open: true,
            by: "claude".to_owned(),
            command: "rm -rf src".to_owned(),
            marked: false,
            opened: false,
        };
        for (columns, rows) in [(40, 24), (80, 24), (230, 50)] {
            let view = ReviewView {
                rows: (0..9).map(row).collect(),
                at: 7,
                filter: String::new(),
                card: help(columns - 1),
                help: true,
                status: String::new(),
                entry: None,
            };
            let lines = review(&view, Size { columns, rows });
            let text: Vec<String> = lines.iter().map(crate::ui::style::Line::plain).collect();
            assert!(lines.len() == rows && lines.iter().all(|line| line.width() < columns), "{text:#?}");
            let words = text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            for said in ["after showing each in full", "requests continue to wait", "> [ ] k7"] {
                assert!(words.contains(said), "{columns}: {said}\n{text:#?}");
            }
        }
    }
}
