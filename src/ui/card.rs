//! Draws the card: the command, its directory, the reasons, and the keys.

use std::iter;

use super::card_view::{CardInput, CardState, CardView};
use super::command::{Command, more};
use super::style::{Line, Look, Style};
use super::{foot, why, wrap};
use crate::judge::invocation::Origin;
use crate::judge::risk::{Reversibility, Tier};

/// The size of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// The minimum size for a card. In a smaller window it is printed line by line.
    pub const LEAST: Self = Self { columns: 32, rows: 9 };

    /// Reports whether a card fits.
    #[must_use]
    pub const fn is_enough(self) -> bool {
        self.columns >= Self::LEAST.columns && self.rows >= Self::LEAST.rows
    }
}

/// Maximum width of prose, for legibility.
const WIDEST: usize = 100;

/// With fewer rows the header is one line.
const LOW: usize = 14;

/// Draws the card in at most `size.rows - 1` lines of at most `size.columns - 1` columns, if [`Size::is_enough`]. Parts
/// that do not fit are omitted from the end, and a line says how much.
#[must_use]
pub fn card(view: &CardView, state: &CardState<'_>, size: Size, look: &Look) -> Vec<Line> {
    // The bar takes two columns, and the last column remains free, because some terminals wrap when it is written.
    let columns = size.columns.clamp(Size::LEAST.columns, WIDEST) - 3;
    let rows = size.rows.max(Size::LEAST.rows) - 1;
    let command = Command::new(view, columns - 2, look);
    let header = header(view, columns, rows < LOW);
    let why = why::lines(view, &command, state.prompt.may_grant && state.entry == CardInput::Key, columns, look);
    let least = header.len() + command.height().min(Command::LEAST) + why.len().min(1);
    let foot = foot::lines(view, state, columns, rows.saturating_sub(least));

    let room = rows.saturating_sub(header.len() + foot.len());
    let all = command.height() + why.len();
    // Each gets half of the rows, and the rows that the other does not need.
    let for_command = command.height().min(room.div_ceil(2).max(room.saturating_sub(why.len())));
    let command = command.lines(for_command);
    let why = cut(why, room.saturating_sub(command.len()), columns);
    // Empty lines only if there is room.
    let air = if all + 3 <= room { vec![Line::new()] } else { Vec::new() };

    let bar = Line::of(Style::Tier(view.risk.tier), "┃ ");
    let indented = command.iter().map(|line| Line::of(Style::Plain, "  ").and(line)).collect();
    [header, air.clone(), indented, air.clone(), why, air, foot]
        .concat()
        .iter()
        .map(|line| bar.clone().and(line))
        .collect()
}

/// Draws the message that replaces the card if the window became too small.
#[must_use]
pub fn too_small(left: u32, size: Size) -> Vec<Line> {
    let text = format!("{left} s: this window is too small for the card, so you cannot approve here; n denies.");
    let lines = wrap::prose(&text, size.columns.saturating_sub(1));
    lines.into_iter().take(size.rows.saturating_sub(1).max(1)).map(|text| Line::of(Style::Strong, text)).collect()
}

/// Draws the whole card without the keys, for a terminal whose cursor cannot be moved.
#[must_use]
pub fn plain(view: &CardView, grants: bool, columns: usize, look: &Look) -> Vec<Line> {
    let columns = columns.clamp(Size::LEAST.columns, WIDEST) - 1;
    let command = Command::new(view, columns - 2, look);
    let mut lines = header(view, columns, false);
    lines.extend(command.all().iter().map(|line| Line::of(Style::Plain, "  ").and(line)));
    lines.extend(why::lines(view, &command, grants, columns, look));
    lines
}

/// Draws the header: the requester, and the tier.
fn header(view: &CardView, columns: usize, short: bool) -> Vec<Line> {
    let risk = match view.risk.tier {
        Tier::Safe => "safe",
        Tier::Low => "low-risk",
        Tier::Medium => "medium-risk",
        Tier::High => "high-risk",
        Tier::Critical => "CRITICAL",
    };
    let slip = why::is_syntax_error(&view.risk);
    let risk = Line::of(Style::Tier(view.risk.tier), if slip { "syntax error" } else { risk });
    let undo = match view.risk.reversibility {
        Reversibility::ReadOnly | Reversibility::Soft => ["", ""],
        Reversibility::Hard => [" that is hard to undo", ", hard to undo"],
        Reversibility::Irreversible => [" that cannot be undone", ", cannot be undone"],
    };
    let lead = match (view.origin, view.agent.as_deref()) {
        (Origin::Cli, _) => "guard: this is a ".to_owned(),
        (Origin::Agent, Some(agent)) => {
            let name = wrap::prose(agent, 20).into_iter().next().unwrap_or_default();
            format!("guard: {name} wants to run a ")
        }
        (Origin::Agent, None) => "guard: an agent wants to run a ".to_owned(),
        (Origin::Api, _) => "guard: a program wants to run a ".to_owned(),
        (Origin::Discord, _) => "guard: Discord wants to run a ".to_owned(),
        (Origin::Telegram, _) => "guard: Telegram wants to run a ".to_owned(),
    };
    let line = if slip {
        let lead = lead.strip_suffix("a ").unwrap_or(&lead);
        Line::of(Style::Plain, format!("{lead}a command with a ")).and(&risk)
    } else {
        Line::of(Style::Plain, lead).and(&risk).with(Style::Plain, format!(" command{}", undo[0]))
    };
    if !short {
        return wrap::styled(&line, columns);
    }
    // The longest form that fits in one line.
    let brief = |rest: String| Line::of(Style::Plain, "guard: ").and(&risk).with(Style::Plain, rest);
    let least = brief(if slip { "" } else { " command" }.to_owned());
    let briefer = [brief(format!(" command{}", undo[0])), brief(undo[1].to_owned())];
    let mut all = iter::once(line).chain(briefer.into_iter().filter(|_| !slip));
    vec![all.find(|line| line.width() <= columns).unwrap_or(least)]
}

/// Truncates to `room` lines; the last one then says so.
fn cut(mut lines: Vec<Line>, room: usize, columns: usize) -> Vec<Line> {
    if lines.len() > room {
        let kept = room.saturating_sub(1);
        let left = lines.len() - kept;
        lines.truncate(kept);
        if room > 0 {
            lines.push(more(left, columns));
        }
    }
    lines
}
