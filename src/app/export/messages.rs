//! Converts a row to a message for a collector. No I/O.

use super::forms::{action, head, reason, rules};
use crate::collector::journald::field;
use crate::collector::syslog::Message;
use crate::judge::risk::Tier;
use crate::store::Entry;

/// The message ID of guard's entries in journald.
const MESSAGE_ID: &str = "6d3f2b1c9a8e4f70b5d1c2e3f4a59687";

/// The longest command, in bytes, in a message that is cut because the collector rejected a longer one.
const ROOM: usize = 16 << 10;

/// Describes what happened in one line: `command denied: rm -rf build`, `call denied: payment.charge {…}`.
fn said(entry: &Entry) -> String {
    let what = entry.command.as_deref().or(entry.words.as_deref()).unwrap_or_default();
    let action = action(entry).replace('-', " ");
    if what.is_empty() { action } else { format!("{action}: {what}") }
}

/// 3 for an attempt to answer from where none may, 4 for what did not run, 6 for the rest.
fn severity(entry: &Entry) -> u8 {
    match (entry.settled_by.as_deref(), entry.decision.as_deref()) {
        (Some("attempt" | "edited"), _) => 3,
        (_, Some("deny")) => 4,
        _ => 6,
    }
}

/// Returns the fields besides the text, with names that are valid in both protocols.
fn fields(entry: &Entry) -> Vec<(&'static str, String)> {
    let or = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
    let result = entry.result.as_ref();
    vec![
        ("head", head(entry)),
        ("row", entry.id.to_string()),
        ("kind", entry.kind.name().to_owned()),
        ("about", number(entry.about)),
        ("tool", or(&entry.tool)),
        ("decision", or(&entry.decision)),
        ("settled_by", or(&entry.settled_by)),
        ("provenance", or(&entry.provenance)),
        ("tier", number(entry.tier.map(|tier| i64::from(Tier::number(tier))))),
        ("score", entry.score.map_or_else(String::new, |score| score.to_string())),
        ("rules", rules(entry).join(" ")),
        ("reason", reason(entry)),
        ("directory", or(&entry.cwd)),
        ("user", or(&entry.user)),
        ("origin", or(&entry.origin)),
        ("agent", or(&entry.agent)),
        ("session", or(&entry.session)),
        ("answer_ms", number(entry.answer_ms)),
        ("exit", number(result.and_then(|result| result.exit).map(i64::from))),
        ("signal", number(result.and_then(|result| result.signal).map(i64::from))),
        ("duration_ms", number(result.map(|result| result.duration_ms))),
    ]
}

/// Encodes a row for journald. `cut` shortens it, for a socket that rejects the whole message.
pub(super) fn journald(entry: &Entry, cut: bool) -> Vec<u8> {
    let short = |text: &str| {
        let mut end = if cut { text.len().min(ROOM) } else { text.len() };
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.get(..end).unwrap_or_default().to_owned()
    };
    let mut message = Vec::new();
    field(&mut message, "MESSAGE", &short(&said(entry)));
    field(&mut message, "MESSAGE_ID", MESSAGE_ID);
    field(&mut message, "PRIORITY", &severity(entry).to_string());
    field(&mut message, "SYSLOG_IDENTIFIER", "guard");
    field(&mut message, "SYSLOG_FACILITY", "10");
    let command = entry.command.as_deref().map(short).unwrap_or_default();
    let cut = if cut { "1" } else { "" };
    let more = [("command", command), ("time", entry.time.to_string()), ("cut", cut.to_owned())];
    for (name, value) in fields(entry).into_iter().chain(more).filter(|(_, value)| !value.is_empty()) {
        field(&mut message, &format!("GUARD_{}", name.to_ascii_uppercase()), &short(&value));
    }
    message
}

/// Encodes a row for syslog.
pub(super) fn syslog(entry: &Entry, host: &str) -> Vec<u8> {
    let (fields, time, text) = (fields(entry), format!("{:.6}", entry.time), said(entry));
    let (severity, id) = (severity(entry), action(entry));
    Message { severity, time: &time, host, id, fields: &fields, text: &text }.encode()
}
