//! Formats the counts as a report for a person.

use super::tally::Tally;
use crate::ui::count::{counted, number};

/// The largest number of rules or commands, and of days, in the report.
const ROWS: usize = 10;
const DAYS: usize = 14;

/// Returns the report. It ends with a line end.
#[must_use]
pub fn text(tally: &Tally) -> String {
    let mut text = String::new();
    if tally.calls == 0 {
        text.push_str("No commands to judge.\n");
        skipped(tally, &mut text);
        return text;
    }
    let by: Vec<String> = tally.by.iter().map(|(who, count)| format!("{who} {}", number(*count))).collect();
    text.push_str(&counted(tally.calls - tally.changes, "command", "commands"));
    if tally.changes > 0 {
        text.push_str(&format!(" and {}", counted(tally.changes, "change of a file", "changes of files")));
    }
    text.push_str(&format!(" ({})", by.join(", ")));
    if let (Some((first, _)), Some((last, _))) = (tally.days.first_key_value(), tally.days.last_key_value()) {
        text.push_str(&format!(", {first} to {last}"));
    }
    text.push_str(&format!(
        "\nguard would have asked about {} ({}), refused {} ({}) and allowed {}\n",
        number(tally.asked),
        share(tally.asked, tally.calls),
        number(tally.refused),
        share(tally.refused, tally.calls),
        number(tally.calls - tally.asked - tally.refused),
    ));
    if let Some(days) = u64::try_from(tally.days.len()).ok().filter(|days| *days > 0) {
        let most = tally.days.iter().max_by_key(|(day, count)| (count.asked, std::cmp::Reverse(**day)));
        let tenths = tally.days.values().map(|day| day.asked).sum::<u64>() * 10 / days;
        text.push_str(&format!("{}.{} prompts a day", tenths / 10, tenths % 10));
        if let Some((day, count)) = most.filter(|(_, count)| count.asked > 0) {
            text.push_str(&format!(", at most {} ({day})", count.asked));
        }
        text.push('\n');
    }
    let tiers: Vec<String> = (0..).zip(tally.tiers).map(|(tier, count)| format!("{tier}: {}", number(count))).collect();
    text.push_str(&format!("by tier  {}\n", tiers.join("   ")));
    let rules = tally.rules();
    if !rules.is_empty() {
        text.push_str("\nrules\n");
        for (rule, count, reason) in rules.iter().take(ROWS) {
            text.push_str(&format!("{:>7}  {rule}  {reason}\n", number(*count)));
        }
        more(rules.len(), &mut text);
    }
    let top = tally.top();
    if !top.is_empty() {
        text.push_str("\ncommands\n");
        for (command, count) in top.iter().take(ROWS) {
            text.push_str(&format!("{:>7}  {command}\n", number(*count)));
        }
        more(top.len(), &mut text);
    }
    if tally.days.len() > 1 {
        text.push_str("\nday         calls  asked  refused\n");
        let late = tally.days.len().saturating_sub(DAYS);
        for (day, count) in tally.days.iter().skip(late) {
            let (calls, asked, refused) = (number(count.calls), number(count.asked), number(count.refused));
            text.push_str(&format!("{day}  {calls:>5}  {asked:>5}  {refused:>7}\n"));
        }
    }
    skipped(tally, &mut text);
    text
}

fn more(all: usize, text: &mut String) {
    if all > ROWS {
        text.push_str(&format!("{:>7}  more; --json lists 50\n", all - ROWS));
    }
}

/// Appends notes about what was not read, and about commands that were judged without their files.
fn skipped(tally: &Tally, text: &mut String) {
    let mut notes = Vec::new();
    if tally.gone > 0 {
        notes.push(format!(
            "{} ran in directories that no longer exist; judged strictly, without looking at files",
            number(tally.gone)
        ));
    }
    if tally.placeless > 0 {
        let placeless = number(tally.placeless);
        notes.push(format!("{placeless} have no directory; judged strictly, without looking at files"));
    }
    if tally.skipped_lines > 0 {
        let lines = counted(tally.skipped_lines, "line", "lines");
        notes.push(format!("skipped {lines} that could not be read"));
    }
    if !tally.unreadable.is_empty() {
        let files = counted(tally.unreadable.len() as u64, "file", "files");
        let first = tally.unreadable.first().map(|(path, why)| format!("{}: {why}", path.display()));
        notes.push(format!("skipped {files} that could not be read ({})", first.unwrap_or_default()));
    }
    if !notes.is_empty() {
        text.push('\n');
        for note in notes {
            text.push_str(&crate::ui::visible::text(&note));
            text.push('\n');
        }
    }
}

/// Formats a share as a percentage with one decimal place.
fn share(part: u64, whole: u64) -> String {
    let tenths = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_shares_read_well() {
        assert_eq!([7, 1234, 1_234_567].map(number), ["7", "1,234", "1,234,567"]);
        assert_eq!([share(1, 3), share(0, 7), share(7, 7)], ["33.3 %", "0.0 %", "100.0 %"]);
    }
}
