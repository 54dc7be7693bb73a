//! Rows of the record as lines: one for each in the table, many for a row by itself.

use jiff::tz::TimeZone;

use super::super::moment;
use super::prune::extent;
use crate::judge::approved::{Place, Until, What};
use crate::judge::risk::Tier;
use crate::store::{End, Entry, Kind, ResultEntry};
use crate::ui::style::{Line, Style, width};
use crate::ui::visible;

/// The columns in front of the command: number, time, decision, tier, who settled it.
const COLUMNS: usize = 7 + 2 + 19 + 2 + 7 + 2 + 4 + 2 + 13 + 2;

/// The first line of the table.
pub(in crate::app) fn head() -> Line {
    Line::of(
        Style::Dim,
        format!("{:>7}  {:19}  {:7}  {:4}  {:13}  {}", "ID", "TIME", "", "TIER", "SETTLED BY", "COMMAND"),
    )
}

/// One row. `columns` cuts the command to the width of a terminal; whole without.
pub(in crate::app) fn row(entry: &Entry, zone: &TimeZone, columns: Option<usize>) -> Line {
    let mut line = Line::of(Style::Dim, format!("{:>7}  ", entry.id));
    line.push(Style::Plain, format!("{}  ", moment::shown(entry.time, zone)));
    let (word, style) = decision(entry);
    line.push(style, format!("{word:7}"));
    line.push(Style::Plain, "  ");
    let tier = entry.tier.map_or(String::new(), |tier| tier.number().to_string());
    line.push(entry.tier.map_or(Style::Plain, Style::Tier), format!("{tier:>4}"));
    line.push(Style::Plain, format!("  {:13}  ", settled(entry)));

    let mut tail = Line::new();
    if let Some(end) = entry.result.as_ref().and_then(ResultEntry::end).filter(|end| *end != End::Exit(0)) {
        tail.push(Style::Dim, format!("  ({})", ended(end)));
    }
    if let (Some("deny"), Some(words)) = (entry.decision.as_deref(), &entry.words) {
        tail.push(Style::Dim, format!("  {words}"));
    }
    let text = visible::text(&text(entry, zone)).into_owned();
    match columns.map(|columns| columns.saturating_sub(COLUMNS).max(12)) {
        Some(room) if width(&text) + tail.width() > room => {
            // The command has the first right to the room.
            let tail = cut(&tail.plain(), room.saturating_sub(width(&text)));
            line.push(Style::Plain, cut(&text, room.saturating_sub(width(&tail))));
            line.push(Style::Dim, tail);
        }
        _ => {
            line.push(Style::Plain, text);
            line.extend(&tail);
        }
    }
    line
}

/// What a row is about: the command, or the grant in words.
fn text(entry: &Entry, zone: &TimeZone) -> String {
    match (&entry.command, entry.kind) {
        (Some(command), _) => command.clone(),
        (None, Kind::Grant) => {
            let what = entry.what.as_ref().map(covered).unwrap_or_default();
            format!("{what}: {}", entry.words.as_deref().unwrap_or_default())
        }
        (None, Kind::Revoked) => format!("grant {}", entry.about.unwrap_or_default()),
        (None, Kind::Pruned) => entry.pruned.as_ref().map(|pruned| extent(pruned, zone)).unwrap_or_default(),
        (None, _) => String::new(),
    }
}

/// What a grant covers, in short.
fn covered(what: &What) -> String {
    match what {
        What::Exact { command } => command.clone(),
        What::Shape { shape } => format!("{shape} …"),
        What::Rule { rule } => format!("rule {rule}"),
    }
}

fn decision(entry: &Entry) -> (&str, Style) {
    match (entry.kind, entry.decision.as_deref()) {
        (Kind::Grant, _) => ("grant", Style::Strong),
        (Kind::Revoked, _) => ("revoke", Style::Strong),
        (Kind::Pruned, _) => ("pruned", Style::Strong),
        (_, Some("deny")) => ("deny", Style::Tier(Tier::High)),
        (_, Some("ask")) => ("ask", Style::Tier(Tier::Medium)),
        (_, Some(word)) => (word, Style::Plain),
        (_, None) => ("", Style::Plain),
    }
}

fn settled(entry: &Entry) -> String {
    match (entry.settled_by.as_deref(), &entry.grant) {
        (Some("grant"), Some(grant)) => format!("grant {grant}"),
        (Some(settled), _) => settled.to_owned(),
        (None, _) => entry.user.clone().unwrap_or_default(),
    }
}

fn ended(end: End) -> String {
    match end {
        End::Exit(code) => format!("exit {code}"),
        End::Signal(number) => match nix::sys::signal::Signal::try_from(number) {
            Ok(signal) => signal.as_str().to_owned(),
            Err(_) => format!("signal {number}"),
        },
    }
}

/// The beginning of a text, and an ellipsis where something is missing.
fn cut(text: &str, room: usize) -> String {
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

/// All that a row says.
pub(in crate::app) fn whole(entry: &Entry, zone: &TimeZone) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = |label: &str, text: String| {
        if !text.is_empty() {
            lines.push(Line::of(Style::Dim, format!("{label:12}")).with(Style::Plain, text));
        }
    };
    let or = |text: &Option<String>| text.clone().unwrap_or_default();
    line("row", format!("{} ({})", entry.id, entry.kind.name()));
    line("time", entry.time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S%.3f %:z").to_string());
    for (number, part) in or(&entry.command).split('\n').enumerate() {
        line(if number == 0 { "command" } else { "" }, part.to_owned());
    }
    if entry.redacted {
        line("", "(what stands for a secret is hidden: ***)".to_owned());
    }
    line("folder", or(&entry.cwd));
    if let Some(decision) = &entry.decision {
        let by = entry.settled_by.as_ref().map_or(String::new(), |by| format!(", settled by {by}"));
        let provenance = entry.provenance.as_ref().map_or(String::new(), |provenance| format!(" ({provenance})"));
        line("decision", format!("{decision}{by}{provenance}"));
    }
    line("grant", or(&entry.grant));
    line("words", or(&entry.words));
    line("answered", entry.answer_ms.map_or(String::new(), |ms| format!("after {}", moment::length(ms))));
    if let Some(tier) = entry.tier {
        let score = entry.score.map_or(String::new(), |score| format!(", score {score}"));
        let back = entry.reversibility.map_or(String::new(), |back| format!(", {}", back.name()));
        line("tier", format!("{} ({}){score}{back}", tier.number(), tier.name()));
    }
    for (number, finding) in entry.findings.iter().enumerate() {
        let label = if number == 0 { "findings" } else { "" };
        line(label, format!("{} (tier {}): {}", finding.rule, finding.tier.number(), finding.reason));
        let more = if finding.more_touches > 0 { format!(" and {} more", finding.more_touches) } else { String::new() };
        let touches = finding.touches.join(", ");
        line("", if touches.is_empty() { touches } else { format!("  on {touches}{more}") });
        line("", finding.lowered.as_ref().map_or(String::new(), |why| format!("  lowered: {why}")));
        line("", finding.instead.as_ref().map_or(String::new(), |instead| format!("  instead: {instead}")));
    }
    for (number, circumstance) in entry.context.iter().enumerate() {
        let label = if number == 0 { "context" } else { "" };
        let fact = serde_json::to_value(circumstance.fact).unwrap_or_default();
        let detail = circumstance.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
        line(label, format!("{} {:+.1}{detail}", fact.as_str().unwrap_or_default(), circumstance.weight.as_f64()));
    }
    line("what", entry.what.as_ref().map(covered).unwrap_or_default());
    line("pruned", entry.pruned.as_ref().map(|pruned| extent(pruned, zone)).unwrap_or_default());
    line("place", entry.place.as_ref().map(place).unwrap_or_default());
    line("until", entry.until.as_ref().map(|until| end_of(until, zone)).unwrap_or_default());
    if let Some(result) = &entry.result {
        let end = result.end().map(ended).unwrap_or_default();
        line("result", format!("{end} after {}", moment::length(result.duration_ms)));
    }
    line("asked by", [or(&entry.user), or(&entry.origin), or(&entry.agent)].join(" ").trim().to_owned());
    line("session", or(&entry.session));
    line("root", or(&entry.root));
    line("about", entry.about.map_or(String::new(), |about| format!("row {about}")));
    line("digest", or(&entry.digest));
    line("hash", entry.hash.to_string());
    lines
}

/// Where a grant holds.
pub(in crate::app) fn place(place: &Place) -> String {
    match place {
        Place::Folder { path } => format!("{path} and below"),
        Place::Anywhere => "anywhere".to_owned(),
    }
}

/// How long a grant holds.
pub(in crate::app) fn end_of(until: &Until, zone: &TimeZone) -> String {
    match until {
        Until::Session { id } => format!("the end of session {id}"),
        Until::Date { at } => {
            jiff::Timestamp::from_second(*at).map_or_else(|_| at.to_string(), |at| moment::shown(at, zone))
        }
        Until::Revoked => "revoked".to_owned(),
    }
}
