//! The card: what will run, where, why it is asked, and which keys answer.

use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;

use super::style::{Line, Look, Style};
use super::visible::{self, Glyph, Shown};
use super::wrap;
use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::policy::Prompt;
use crate::judge::risk::{CircumstanceFact, Finding, Reversibility, Risk, Tier, Weight};
use crate::judge::syntax::tree::Span;

/// Everything that the card shows of one command. A value: the same view draws the same card.
#[derive(Clone, Debug, PartialEq)]
pub struct CardView {
    /// The bytes that will run; arguments are quoted as a shell would need them.
    pub command: Vec<u8>,
    /// Where command words stand in it: look-alike letters are marked there.
    pub words: Vec<Span>,
    pub cwd: Vec<u8>,
    /// The account's home, shown as `~`.
    pub home: Option<Vec<u8>>,
    pub user: String,
    /// It runs as root.
    pub root: bool,
    /// The machine, when the session comes from elsewhere.
    pub host: Option<String>,
    pub origin: Origin,
    /// The agent that asks, by name.
    pub agent: Option<String>,
    pub risk: Risk,
    /// The score from which this origin is asked.
    pub threshold: Weight,
    /// What is known of what it would touch, a sentence each.
    pub evidence: Vec<String>,
    /// What `s` would cover, in words; `None`: not offered.
    pub session_grant: Option<String>,
    /// What `a` would cover, in words; `None`: not offered.
    pub standing_grant: Option<String>,
}

impl CardView {
    /// The view of an invocation and its risk, with no evidence and no grants on offer.
    #[must_use]
    pub fn new(invocation: &Invocation, risk: Risk, threshold: Weight) -> Self {
        Self {
            command: command_bytes(&invocation.request),
            words: Vec::new(),
            cwd: invocation.cwd.as_os_str().as_bytes().to_vec(),
            home: invocation.home.as_ref().map(|home| home.as_os_str().as_bytes().to_vec()),
            user: invocation.user.clone(),
            root: invocation.uid == 0,
            host: None,
            origin: invocation.origin,
            agent: invocation.session.agent.clone(),
            risk,
            threshold,
            evidence: Vec::new(),
            session_grant: None,
            standing_grant: None,
        }
    }
}

/// The bytes of a command as a person reads them: the string itself, or the arguments quoted where a shell would
/// need it. Unlike [`Invocation::display`] it keeps bytes that are no UTF-8.
#[must_use]
pub fn command_bytes(request: &Request) -> Vec<u8> {
    match request {
        Request::Line(line) => line.text.clone(),
        Request::Argv(argv) => {
            let mut all = Vec::new();
            for (number, word) in argv.iter().enumerate() {
                if number > 0 {
                    all.push(b' ');
                }
                quote(word.as_bytes(), &mut all);
            }
            all
        }
    }
}

/// A word as a shell needs it written, quoted only where it must be.
fn quote(word: &[u8], out: &mut Vec<u8>) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(byte);
    if !word.is_empty() && word.iter().all(plain) {
        out.extend_from_slice(word);
        return;
    }
    out.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => out.extend_from_slice(br"'\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}

/// What changes on the card while it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardState<'a> {
    pub prompt: &'a Prompt,
    /// Seconds left to answer.
    pub left: u32,
    /// Seconds there were.
    pub total: u32,
    pub entry: Entry<'a>,
    /// A word to whoever pressed a key that means nothing here.
    pub hint: Option<&'a str>,
}

/// What the card waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// One of the keys.
    Key,
    /// A second `y` for the standing grant.
    Confirm,
    /// The words that go with a no.
    Words(&'a str),
    /// A random word.
    Word { word: &'a str, typed: &'a str, started: bool },
}

/// The room for a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// Below this a card has no room for what must be seen at once; it is printed line by line instead.
    pub const LEAST: Self = Self { columns: 24, rows: 9 };

    /// Whether a card fits at all.
    #[must_use]
    pub const fn is_enough(self) -> bool {
        self.columns >= Self::LEAST.columns && self.rows >= Self::LEAST.rows
    }
}

/// No line of prose is wider: it reads badly.
const WIDEST: usize = 100;

/// The card in at most `size.rows - 1` lines of at most `size.columns - 1` columns. What does not fit is left out
/// last things first, and where something is left out, a line says how much.
#[must_use]
pub fn card(view: &CardView, state: &CardState<'_>, size: Size, look: &Look) -> Vec<Line> {
    let columns = size.columns.min(WIDEST).saturating_sub(3).max(Size::LEAST.columns - 3);
    let rows = size.rows.max(Size::LEAST.rows) - 1;
    let header = header(view, columns);
    let details = details(view, columns, look);
    let foot = foot(view, state, columns);
    let command = Command::new(view, columns - 2, look);

    let fixed = header.len() + foot.len();
    let room = rows.saturating_sub(fixed).max(3);
    let airy = command.height() + details.len() + 3 <= room;
    let (for_command, for_details) = if command.height() + details.len() <= room {
        (command.height(), details.len())
    } else {
        // Half for each, and what one does not need goes to the other.
        let least = command.height().min(room.div_ceil(2)).max(room.saturating_sub(details.len()));
        (least, room - least)
    };
    let mut body = header;
    let air = |body: &mut Vec<Line>| {
        if airy {
            body.push(Line::new());
        }
    };
    air(&mut body);
    body.extend(command.lines(for_command).into_iter().map(|line| {
        let mut indented = Line::of(Style::Plain, "  ");
        indented.extend(&line);
        indented
    }));
    air(&mut body);
    body.extend(cut(details, for_details));
    air(&mut body);
    body.extend(foot);
    let bar = Line::of(Style::Tier(view.risk.tier), "┃ ");
    body.into_iter()
        .map(|line| {
            let mut whole = bar.clone();
            whole.extend(&line);
            whole
        })
        .collect()
}

/// The card for a terminal whose cursor cannot be moved: everything, once, without the keys.
#[must_use]
pub fn plain(view: &CardView, columns: usize, look: &Look) -> Vec<Line> {
    let columns = columns.min(WIDEST).saturating_sub(1).max(Size::LEAST.columns);
    let mut lines = header(view, columns);
    lines.extend(Command::new(view, columns - 2, look).all().into_iter().map(|line| {
        let mut indented = Line::of(Style::Plain, "  ");
        indented.extend(&line);
        indented
    }));
    lines.extend(details(view, columns, look));
    lines
}

/// Who wants what.
fn header(view: &CardView, columns: usize) -> Vec<Line> {
    let who = match (view.origin, &view.agent) {
        (Origin::Cli, _) => None,
        (Origin::Agent, Some(agent)) => Some(agent.clone()),
        (Origin::Agent, None) => Some("an agent".to_owned()),
        (Origin::Api, _) => Some("a caller of the API".to_owned()),
        (Origin::Discord, _) => Some("a chat on Discord".to_owned()),
        (Origin::Telegram, _) => Some("a chat on Telegram".to_owned()),
    };
    let lead = who.map_or_else(|| "guard: this is".to_owned(), |who| format!("guard: {who} wants to run"));
    let what = match view.risk.tier {
        Tier::Safe | Tier::Low => "a command",
        Tier::Medium => "a medium-risk command",
        Tier::High => "a high-risk command",
        Tier::Critical => "a CRITICAL command",
    };
    let tier = view.risk.tier;
    let line = Line::of(Style::Plain, &lead).with(Style::Plain, " ").with(Style::Tier(tier), what);
    if line.width() <= columns {
        return vec![line];
    }
    let mut lines: Vec<Line> =
        wrap::prose(&lead, columns).into_iter().map(|text| Line::of(Style::Plain, text)).collect();
    lines.push(Line::of(Style::Tier(tier), what));
    lines
}

/// Where, how bad, why, on what, and what to do instead.
fn details(view: &CardView, columns: usize, look: &Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let label = |text: &str| Line::of(Style::Dim, text);
    for (shown, times) in visible::oddities(&visible::glyphs(&view.command, &ranges(&view.words), look.ascii)) {
        let meaning = visible::meaning(shown);
        let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
        let what = if meaning.is_empty() { "does not show as itself" } else { meaning };
        let lead = Line::of(Style::Odd, shown.to_string()).with(Style::Plain, " ");
        lines.extend(wrap::labelled(&lead, Style::Plain, &format!("{what}{times}"), columns));
    }
    lines.extend(place(view, columns));
    lines.extend(wrap::labelled(&label("risk  "), Style::Plain, &risk_words(view), columns));
    for group in groups(&view.risk.findings) {
        let first = group.first;
        let mark = Line::of(Style::Tier(first.tier), "• ");
        lines.extend(wrap::labelled(&mark, Style::Plain, &first.reason, columns));
        let mut under = first.rule.clone();
        if !group.touches.is_empty() {
            under.push_str(" · touches ");
            under.push_str(&group.touches.join(", "));
        }
        lines.extend(wrap::labelled(&label("  "), Style::Dim, &under, columns));
        if let Some(instead) = &first.instead {
            lines.extend(wrap::labelled(&label("  safer: "), Style::Safe, instead, columns));
        }
    }
    for sentence in &view.evidence {
        lines.extend(wrap::labelled(&label("› "), Style::Plain, sentence, columns));
    }
    lines
}

/// The folder, the account and the machine.
fn place(view: &CardView, columns: usize) -> Vec<Line> {
    let mut text = visible::line(&shorten(&view.cwd, view.home.as_deref()));
    if let Some(host) = &view.host {
        text.push_str(&format!(" on {host}"));
    }
    let style = if view.root { Style::Strong } else { Style::Plain };
    if view.root {
        text.push_str(", as root");
    }
    wrap::labelled(&Line::of(Style::Dim, "in    "), style, &text, columns)
}

/// A path with the home written `~`.
fn shorten(path: &[u8], home: Option<&[u8]>) -> Vec<u8> {
    match home.and_then(|home| path.strip_prefix(home)) {
        Some(rest) if home != Some(b"/") && (rest.is_empty() || rest.starts_with(b"/")) => [b"~", rest].concat(),
        _ => path.to_vec(),
    }
}

/// Tier, score, threshold, what adds to it, and whether it can be undone.
pub(super) fn risk_words(view: &CardView) -> String {
    let risk = &view.risk;
    let mut text = format!("{} (tier {}), score {}", risk.tier.name(), risk.tier.number(), risk.score);
    let context: Vec<String> = risk
        .context
        .iter()
        .map(|circumstance| {
            let sign = if circumstance.weight < Weight(0) { "" } else { "+" };
            format!("{} {sign}{}", circumstance_words(circumstance.fact), circumstance.weight)
        })
        .collect();
    if !context.is_empty() {
        text.push_str(&format!(" with {}", context.join(", ")));
    }
    text.push_str(&format!("; asked from {}", view.threshold));
    text.push_str(match risk.reversibility {
        Reversibility::ReadOnly => "; changes nothing",
        Reversibility::Soft => "; easily undone",
        Reversibility::Hard => "; hard to undo",
        Reversibility::Irreversible => "; cannot be undone",
    });
    text
}

/// A circumstance in a few words.
#[must_use]
pub const fn circumstance_words(fact: CircumstanceFact) -> &'static str {
    match fact {
        CircumstanceFact::Production => "production",
        CircumstanceFact::Root => "as root",
        CircumstanceFact::Ssh => "over ssh",
        CircumstanceFact::OutsideProject => "outside the project",
        CircumstanceFact::ProtectedBranch => "protected branch",
        CircumstanceFact::Disguise => "disguised",
        CircumstanceFact::TrustedFolder => "trusted folder",
        CircumstanceFact::SecretsRead => "secrets were read",
        CircumstanceFact::EgressAfterSecrets => "sends out after reading secrets",
        CircumstanceFact::OtherAgent => "another agent's files",
        CircumstanceFact::OwnInstructions => "its own instructions",
        CircumstanceFact::OtherPeople => "reaches other people",
        CircumstanceFact::AskedAgain => "was denied before",
    }
}

/// Findings of one rule with one reason, as one.
pub(super) struct Group<'a> {
    pub(super) first: &'a Finding,
    pub(super) touches: Vec<&'a str>,
}

/// The findings, worst first, each reason once.
pub(super) fn groups(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| (std::cmp::Reverse((finding.tier, finding.weight)), finding.span.start));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in sorted {
        let touches = finding.touches.iter().map(String::as_str);
        match groups.iter_mut().find(|group| group.first.rule == finding.rule && group.first.reason == finding.reason) {
            Some(group) => {
                for touched in touches {
                    if !group.touches.contains(&touched) {
                        group.touches.push(touched);
                    }
                }
            }
            None => groups.push(Group { first: finding, touches: touches.collect() }),
        }
    }
    groups
}

/// At most `room` lines; a cut says so in the last of them.
fn cut(mut lines: Vec<Line>, room: usize) -> Vec<Line> {
    if lines.len() > room {
        let left = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        if room > 0 {
            lines.push(more(left));
        }
    }
    lines
}

/// The line that says how much is not shown.
fn more(lines: usize) -> Line {
    let noun = if lines == 1 { "line" } else { "lines" };
    Line::of(Style::Strong, format!("… {lines} more {noun}: press ? to see all"))
}

/// The keys, and the time that is left.
fn foot(view: &CardView, state: &CardState<'_>, columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    match state.entry {
        Entry::Key => {
            let mut keys = vec![("y", "once")];
            if state.prompt.may_grant && view.session_grant.is_some() {
                keys.push(("s", "this session"));
            }
            if state.prompt.may_grant && view.standing_grant.is_some() {
                keys.push(("a", "always"));
            }
            keys.extend([("n", "no"), ("?", "explain")]);
            lines.extend(key_lines(&keys, columns));
            if let Some(words) = view.session_grant.as_deref().filter(|_| state.prompt.may_grant) {
                lines.extend(wrap::labelled(&Line::of(Style::Dim, "s covers "), Style::Dim, words, columns));
            }
        }
        Entry::Confirm => {
            let words = view.standing_grant.as_deref().unwrap_or_default();
            lines.extend(wrap::labelled(&Line::of(Style::Strong, "always: "), Style::Plain, words, columns));
            lines.extend(key_lines(&[("y", "allow always"), ("n", "no")], columns));
        }
        Entry::Words(typed) => {
            let lead = Line::of(Style::Plain, "Why not? (Enter for no words) ");
            lines.extend(entry_line(&lead, typed, columns));
        }
        Entry::Word { word, typed, .. } => {
            let lead = Line::of(Style::Plain, "To run it, type ")
                .with(Style::Key, word)
                .with(Style::Plain, " and press Enter: ");
            lines.extend(entry_line(&lead, typed, columns));
        }
    }
    lines.push(countdown(state, columns));
    lines
}

/// A question and what was typed so far, with the end of it in sight.
fn entry_line(lead: &Line, typed: &str, columns: usize) -> Vec<Line> {
    let typed = visible::text(typed).into_owned();
    let room = if lead.width() + 12 <= columns { columns - lead.width() } else { columns };
    let mut kept = String::new();
    let mut used = 1;
    for c in typed.chars().rev() {
        used += super::style::width(c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        kept.insert(0, c);
    }
    kept.push('_');
    if room == columns {
        return vec![lead.clone(), Line::of(Style::Strong, kept)];
    }
    vec![lead.clone().with(Style::Strong, kept)]
}

/// Keys and what they mean, in as many lines as they need.
fn key_lines(keys: &[(&str, &str)], columns: usize) -> Vec<Line> {
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

/// The bar that runs out, the seconds, and a word.
fn countdown(state: &CardState<'_>, columns: usize) -> Line {
    let left = state.left.min(state.total);
    let seconds = match state.entry {
        Entry::Word { started: false, .. } => format!(" {left} s to begin"),
        _ => format!(" {left} s"),
    };
    let note = state.hint.unwrap_or("no answer means no");
    let bar = 20.min(columns.saturating_sub(seconds.len() + 4)).min(if columns < 50 { 8 } else { 20 });
    let full = (left as usize * bar).div_ceil((state.total as usize).max(1)).min(bar);
    let style = if left <= 5 { Style::Strong } else { Style::Dim };
    let line = Line::of(style, "█".repeat(full)).with(Style::Dim, "░".repeat(bar - full)).with(Style::Strong, seconds);
    let rest = columns.saturating_sub(line.width() + 3);
    let note: String = if super::style::width(note) <= rest {
        note.to_owned()
    } else {
        wrap::prose(note, rest.max(1)).into_iter().next().unwrap_or_default()
    };
    line.with(Style::Dim, " · ").with(if state.hint.is_some() { Style::Plain } else { Style::Dim }, note)
}

/// Spans as ranges.
pub(super) fn ranges(spans: &[Span]) -> Vec<Range<usize>> {
    spans.iter().map(|span| span.start as usize..span.end as usize).collect()
}

/// A command in rows, with the parts that findings are about marked.
pub(super) struct Command {
    glyphs: Vec<Glyph>,
    rows: Vec<wrap::Row>,
    danger: Vec<Range<usize>>,
    /// Marks are drawn below the rows, because there is no colour.
    carets: bool,
}

impl Command {
    pub(super) fn new(view: &CardView, columns: usize, look: &Look) -> Self {
        let glyphs = visible::glyphs(&view.command, &ranges(&view.words), look.ascii);
        let rows = wrap::command(&glyphs, columns);
        let worst = view.risk.findings.iter().map(|finding| finding.tier).max().unwrap_or_default();
        let danger = view
            .risk
            .findings
            .iter()
            .filter(|finding| finding.tier >= Tier::Medium || finding.tier == worst)
            .map(|finding| finding.span.start as usize..finding.span.end as usize)
            .filter(|range| !range.is_empty())
            .collect();
        Self { glyphs, rows, danger, carets: !look.color }
    }

    /// The glyphs of a row.
    fn glyphs(&self, row: wrap::Row) -> &[Glyph] {
        self.glyphs.get(row.from..row.to).unwrap_or_default()
    }

    /// Whether a finding is about this glyph.
    fn is_danger(&self, glyph: &Glyph) -> bool {
        self.danger.iter().any(|range| range.start < glyph.end && glyph.start < range.end)
    }

    /// Whether a finding is about a part of this row.
    fn is_marked(&self, row: wrap::Row) -> bool {
        self.glyphs(row).iter().any(|glyph| self.is_danger(glyph))
    }

    /// Lines that a row takes.
    fn height_of(&self, row: wrap::Row) -> usize {
        1 + usize::from(self.carets && self.is_marked(row))
    }

    /// Lines that all of it takes.
    pub(super) fn height(&self) -> usize {
        self.rows.iter().map(|row| self.height_of(*row)).sum()
    }

    /// All of it.
    pub(super) fn all(&self) -> Vec<Line> {
        self.rows.iter().flat_map(|row| self.row(*row)).collect()
    }

    /// At most `room` lines (but two at least): the beginning, and the first part that a finding is about. What is left
    /// out is counted where it is left out.
    pub(super) fn lines(&self, room: usize) -> Vec<Line> {
        if self.height() <= room {
            return self.all();
        }
        let mut shown = vec![false; self.rows.len()];
        // A line for what is left out at the end, and one for a gap before the first marked row.
        let mut left = room.max(2) - 1;
        let marked = self.rows.iter().position(|row| self.is_marked(*row));
        let mut take = |number: usize, left: &mut usize| {
            if let (Some(row), Some(shown)) = (self.rows.get(number), shown.get_mut(number)) {
                let height = self.height_of(*row);
                if !*shown && height <= *left {
                    *left -= height;
                    *shown = true;
                }
            }
        };
        if let Some(marked) = marked {
            take(marked, &mut left);
            if marked > 0 {
                left = left.saturating_sub(1);
            }
        }
        (0..self.rows.len()).take_while(|_| left > 0).collect::<Vec<_>>().into_iter().for_each(|number| {
            take(number, &mut left);
        });
        let mut lines = Vec::new();
        let mut hidden = 0;
        for (row, shown) in self.rows.iter().zip(shown) {
            if shown {
                if hidden > 0 {
                    lines.push(more(std::mem::take(&mut hidden)));
                }
                lines.extend(self.row(*row));
            } else {
                hidden += 1;
            }
        }
        if hidden > 0 {
            lines.push(more(hidden));
        }
        lines
    }

    /// One row, and the carets below it.
    fn row(&self, row: wrap::Row) -> Vec<Line> {
        let mut line = Line::new();
        let mut carets = String::new();
        for glyph in self.glyphs(row) {
            let danger = self.is_danger(glyph);
            let style = match glyph.shown {
                shown if shown.is_odd() => Style::Odd,
                Shown::Newline | Shown::Tab => Style::Dim,
                _ if danger => Style::Danger,
                _ => Style::Plain,
            };
            line.push(style, glyph.shown.to_string());
            carets.push_str(&if danger { "^" } else { " " }.repeat(glyph.shown.width()));
        }
        let mut lines = vec![line];
        if self.carets && carets.contains('^') {
            lines.push(Line::of(Style::Plain, carets.trim_end()));
        }
        lines
    }
}
