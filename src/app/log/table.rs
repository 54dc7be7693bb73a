//! Formats rows of the record: one line for each in the table, or all details of a single row.

use jiff::Zoned;
use jiff::tz::TimeZone;

use super::super::time;
use super::prune::extent;
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::review::Opinion;
use crate::judge::risk::Tier;
use crate::store::{Entry, ExitStatus, ResultEntry, RowKind, is_probe};
use crate::ui::pending::cut;
use crate::ui::style::{Line, Style, width};
use crate::ui::visible;

/// The layout of a table.
#[derive(Clone, Debug)]
pub(in crate::app) struct Layout {
    /// The width of the row number.
    id: usize,
    /// The width of the terminal, to which commands are cut. With `None`, nothing is cut.
    columns: Option<usize>,
    /// Whether only ASCII can be shown.
    ascii: bool,
    /// The current time. On a terminal times are relative to it; elsewhere they are absolute.
    now: Zoned,
    /// The home directory, which is shown as `~`.
    home: Option<String>,
}

/// The widths of the terminal from which there is room for each of these columns.
const TIER: usize = 50;
const EXIT: usize = 60;
const TOOK: usize = 76;
const DIRECTORY: usize = 100;
const BY: usize = 120;

/// The result of a command for whose end guard did not wait.
const UNKNOWN: &str = "not known: guard did not wait for the command to end, or it has not ended yet";

/// The width of the directory column.
const OF_DIRECTORY: usize = 20;

impl Layout {
    /// Creates the layout of a table with rows up to the number `last`.
    pub(in crate::app) fn new(last: i64, columns: Option<usize>, ascii: bool, now: &Zoned) -> Self {
        let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
        Self { id: last.to_string().len().max(2), columns, ascii, now: now.clone(), home }
    }

    fn has(&self, column: usize) -> bool {
        self.columns.is_none_or(|columns| columns >= column)
    }

    /// Returns the width of the time column.
    const fn of_time(&self) -> usize {
        if self.columns.is_some() { 10 } else { 19 }
    }

    /// Returns the header of the table.
    pub(in crate::app) fn head(&self) -> Line {
        let (id, time) = (self.id, self.of_time());
        let mut head = format!("{:>id$}  {:time$}  {:8}  ", "ID", "TIME", "DECISION");
        for (from, title, columns) in [
            (TIER, "TIER", 4),
            (EXIT, "EXIT", 4),
            (TOOK, "TOOK", 6),
            (DIRECTORY, "DIRECTORY", OF_DIRECTORY),
            (BY, "SETTLED BY", 13),
        ] {
            if self.has(from) {
                head.push_str(&format!("{title:columns$}  "));
            }
        }
        Line::of(Style::Dim, head + "COMMAND")
    }

    /// Formats one row.
    pub(in crate::app) fn row(&self, entry: &Entry) -> Line {
        let zone = self.now.time_zone();
        let mut line = Line::of(Style::Dim, format!("{:>width$}  ", entry.id, width = self.id));
        let time =
            if self.columns.is_some() { time::ago(entry.time, &self.now) } else { time::format(entry.time, zone) };
        line.push(Style::Plain, format!("{time:columns$}  ", columns = self.of_time()));
        let (word, style) = decision(entry);
        line.push(style, format!("{word:8}"));
        line.push(Style::Plain, "  ");
        if self.has(TIER) {
            let tier = entry.tier.map_or(String::new(), |tier| tier.number().to_string());
            line.push(entry.tier.map_or(Style::Plain, Style::Tier), format!("{tier:>4}"));
            line.push(Style::Plain, "  ");
        }
        let end = entry.result.as_ref().and_then(ResultEntry::end);
        // An empty column would suggest that the command never ran.
        let none = if is_unknown(entry) { "-" } else { "" };
        if self.has(EXIT) {
            let style = if end.is_none_or(|end| end == ExitStatus::Exit(0)) { Style::Dim } else { Style::Strong };
            line.push(style, format!("{:>4}  ", end.map_or_else(|| none.to_owned(), code)));
        }
        if self.has(TOOK) {
            let took = entry.result.as_ref().map_or_else(|| none.to_owned(), |result| time::brief(result.duration_ms));
            line.push(Style::Dim, format!("{took:>6}  "));
        }
        let directory = entry.cwd.as_deref().map(|cwd| self.directory(cwd)).unwrap_or_default();
        if self.has(DIRECTORY) {
            let shown = if self.columns.is_some() { cut_front(&directory, OF_DIRECTORY) } else { directory.clone() };
            line.push(Style::Plain, shown.clone());
            line.push(Style::Plain, " ".repeat(OF_DIRECTORY.saturating_sub(width(&shown)) + 2));
        }
        if self.has(BY) {
            line.push(Style::Plain, format!("{:13}  ", settled(entry)));
        }

        let mut tail = Line::new();
        if let Some(end) = end.filter(|end| *end != ExitStatus::Exit(0) && !self.has(EXIT)) {
            tail.push(Style::Dim, format!("  ({})", ended(end)));
        }
        if let (Some("deny"), Some(words)) = (entry.decision.as_deref(), &entry.words) {
            // The words of a timeout are only the ID of the request.
            let why = if entry.settled_by.as_deref() == Some("timeout") { "timed out: " } else { "" };
            tail.push(Style::Dim, format!("  ({why}{})", visible::line(words.as_bytes(), self.ascii)));
        }
        if !directory.is_empty() && !self.has(DIRECTORY) {
            tail.push(Style::Dim, format!("  in {directory}"));
        }
        let text = visible::line(text(entry, zone).as_bytes(), self.ascii);
        match self.columns.map(|columns| columns.saturating_sub(line.width()).max(12)) {
            Some(room) if width(&text) + tail.width() > room => {
                // The command takes precedence over the details after it.
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

    /// Formats a directory, with the home directory as `~`.
    fn directory(&self, cwd: &str) -> String {
        let rest = self.home.as_deref().and_then(|home| cwd.strip_prefix(home));
        let short = match rest {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
            _ => cwd.to_owned(),
        };
        visible::line(short.as_bytes(), self.ascii)
    }
}

/// Shortens a directory to its end, after an ellipsis: the last name is the most informative.
fn cut_front(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let starts = text.char_indices().map(|(start, _)| &text[start..]);
    let end = starts.skip(1).find(|end| width(end) < room).unwrap_or_default();
    format!("…{end}")
}

/// Reports whether a command was allowed but its end is not recorded: guard replaced itself with the command, left it
/// to the agent that asked, or still waits for it.
fn is_unknown(entry: &Entry) -> bool {
    entry.kind == RowKind::Intent && entry.decision.as_deref() == Some("allow") && entry.result.is_none()
}

/// Formats the end of a command for a narrow column: the exit code, or the signal without `SIG`.
fn code(end: ExitStatus) -> String {
    match end {
        ExitStatus::Exit(code) => code.to_string(),
        ExitStatus::Signal(_) => {
            ended(end).trim_start_matches("SIG").trim_start_matches("signal ").chars().take(4).collect()
        }
    }
}

/// Returns the subject of a row: the command, or a description of the grant or of what was pruned.
fn text(entry: &Entry, zone: &TimeZone) -> String {
    match (&entry.command, entry.kind) {
        (Some(command), _) => command.clone(),
        (None, RowKind::Grant) => {
            let what = entry.what.as_ref().map(covered).unwrap_or_default();
            format!("{what}: {}", entry.words.as_deref().unwrap_or_default())
        }
        (None, RowKind::Revoked) => format!("grant {}", entry.about.unwrap_or_default()),
        (None, RowKind::Pruned) => entry.pruned.as_ref().map(|pruned| extent(pruned, zone)).unwrap_or_default(),
        (None, RowKind::Resumed) => entry.words.clone().unwrap_or_default(),
        (None, _) => String::new(),
    }
}

/// Describes in short what a grant covers.
fn covered(what: &GrantSubject) -> String {
    match what {
        GrantSubject::Exact { command } => command.clone(),
        GrantSubject::Shape(scope) => scope.shape.clone(),
        GrantSubject::Rule { rule } => format!("rule {rule}"),
        GrantSubject::UpTo { tier } => format!("tier {} and below", tier.number()),
    }
}

fn decision(entry: &Entry) -> (&str, Style) {
    match (entry.kind, entry.decision.as_deref()) {
        (RowKind::Grant, _) => ("grant", Style::Strong),
        (RowKind::Revoked, _) => ("revoke", Style::Strong),
        (RowKind::Pruned, _) => ("pruned", Style::Strong),
        (RowKind::Resumed, _) => ("resume", Style::Strong),
        (RowKind::Answered, Some("allow")) => ("yes", Style::Strong),
        (RowKind::Answered, _) => ("no", Style::Strong),
        (_, Some("deny")) => ("deny", Style::Tier(Tier::High)),
        (_, Some("ask")) => ("ask", Style::Tier(Tier::Medium)),
        (_, Some(word)) => (word, Style::Plain),
        (_, None) => ("", Style::Plain),
    }
}

fn settled(entry: &Entry) -> String {
    match (entry.settled_by.as_deref(), &entry.grant) {
        _ if !entry.signed_by.is_empty() => entry.signed_by.join(" and "),
        _ if entry.kind == RowKind::Answered => entry.user.clone().unwrap_or_default(),
        (Some("grant"), Some(grant)) => format!("grant {grant}"),
        // `guard doctor` approved its own test command.
        (Some("person"), _) if is_probe(&entry.findings) => "trial".to_owned(),
        (Some(settled), _) => settled.to_owned(),
        // The agent asks its own user about this command.
        (None, _) if entry.kind == RowKind::Advised => entry.agent.clone().unwrap_or_default(),
        (None, _) => entry.user.clone().unwrap_or_default(),
    }
}

fn ended(end: ExitStatus) -> String {
    match end {
        ExitStatus::Exit(code) => format!("exit {code}"),
        ExitStatus::Signal(number) => match nix::sys::signal::Signal::try_from(number) {
            Ok(signal) => signal.as_str().to_owned(),
            Err(_) => format!("signal {number}"),
        },
    }
}

/// Returns a line with a label and a text.
pub(in crate::app) fn labelled(label: &str, text: String) -> Line {
    Line::of(Style::Dim, format!("{label:12}")).with(Style::Plain, text)
}

/// Formats all details of a row.
pub(in crate::app) fn whole(entry: &Entry, zone: &TimeZone) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = |label: &str, text: String| {
        if !text.is_empty() {
            lines.push(labelled(label, text));
        }
    };
    let or = |text: &Option<String>| text.clone().unwrap_or_default();
    line("row", format!("{} ({})", entry.id, entry.kind.name()));
    line("time", entry.time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S%.3f %:z").to_string());
    for (number, part) in or(&entry.command).split('\n').enumerate() {
        line(if number == 0 { "command" } else { "" }, part.to_owned());
    }
    if entry.redacted {
        line("", "(secrets are hidden: ***)".to_owned());
    }
    line("directory", or(&entry.cwd));
    if let Some(decision) = &entry.decision {
        let by = entry.settled_by.as_ref().map_or(String::new(), |by| format!(", settled by {by}"));
        let provenance = entry.provenance.as_ref().map_or(String::new(), |provenance| format!(" ({provenance})"));
        line("decision", format!("{decision}{by}{provenance}"));
    }
    line("grant", or(&entry.grant));
    line("words", or(&entry.words));
    line("answered", entry.answer_ms.map_or(String::new(), |ms| format!("after {}", time::length(ms))));
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
        line("result", format!("{end} after {}", time::length(result.duration_ms)));
    } else if is_unknown(entry) {
        line("result", UNKNOWN.to_owned());
    }
    let who = if entry.kind == RowKind::Answered { "answered by" } else { "asked by" };
    line(who, [or(&entry.user), or(&entry.origin), or(&entry.agent)].join(" ").trim().to_owned());
    line("signed by", entry.signed_by.join(" and "));
    if let Some(opinion) = &entry.review {
        let yolo =
            if opinion.yolo.is_empty() { String::new() } else { format!(", by yolo of {}", opinion.yolo.join(", ")) };
        let policy = if opinion.policy.is_empty() { String::new() } else { format!(", policy {}", opinion.policy) };
        let Opinion { says, reason, by, ms, .. } = opinion;
        line("reviewer", format!("{} ({by}, {ms} ms{policy}{yolo}): {reason}", says.name()));
        // The record contains a keyed digest. The reviewer got another one, which it quotes.
        let quoted =
            if opinion.about.is_empty() { String::new() } else { format!("{} (told and quoted)", opinion.about) };
        line("its digest", quoted);
    }
    line("session", or(&entry.session));
    line("root", or(&entry.root));
    let about = match entry.kind {
        RowKind::Intent | RowKind::Advised => "below",
        RowKind::Grant => "carries on",
        RowKind::Result
        | RowKind::Revoked
        | RowKind::Pruned
        | RowKind::Answered
        | RowKind::Resumed
        | RowKind::Taken => "about",
    };
    line(about, entry.about.map_or(String::new(), |about| format!("row {about}")));
    let nested: Vec<String> = entry.nested.iter().map(ToString::to_string).collect();
    let rows = if nested.len() == 1 { "row" } else { "rows" };
    line("above", if nested.is_empty() { String::new() } else { format!("{rows} {}", nested.join(", ")) });
    line("digest", or(&entry.digest));
    line("hash", entry.hash.to_string());
    lines
}

/// Describes where a grant applies.
pub(in crate::app) fn place(place: &GrantPlace) -> String {
    match place {
        GrantPlace::Directory { path } => format!("{path} and below"),
        GrantPlace::Anywhere => "anywhere".to_owned(),
    }
}

/// Describes how long a grant applies.
pub(in crate::app) fn end_of(until: &GrantExpiry, zone: &TimeZone) -> String {
    match until {
        GrantExpiry::Session { id } => format!("the end of session {id}"),
        GrantExpiry::Date { at } => {
            jiff::Timestamp::from_second(*at).map_or_else(|_| at.to_string(), |at| time::format(at, zone))
        }
        GrantExpiry::Revoked => "revoked".to_owned(),
    }
}
