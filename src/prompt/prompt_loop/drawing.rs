//! Draws a prompt: the card, a page of its explanation, or lines if the cursor cannot be moved.
//!
//! Out of scope: the meaning of keys.

use std::os::fd::AsFd as _;
use std::time::Duration;

use super::PromptLoop;
use crate::prompt::answer::{PromptClosed, failed, hung_up};
use crate::prompt::signal_watch::now;
use crate::prompt::split_screen;
use crate::ui::card::{self, Size};
use crate::ui::card_view::{CardInput, CardState};
use crate::ui::explain::explain;
use crate::ui::style::{Line, Style};
use crate::ui::{foot, wrap};

impl PromptLoop<'_> {
    /// Draws the current state.
    pub(super) fn draw(&mut self) -> Result<(), PromptClosed> {
        if self.line_by_line {
            return self.draw_lines();
        }
        let size = self.tty.size();
        // When there is enough room again, the person has to read the card again.
        let was_small = std::mem::replace(&mut self.small, !size.is_enough());
        if was_small && !self.small {
            self.shown = None;
        }
        let lines = match self.dialog.page() {
            _ if self.small => card::too_small(self.left(), size),
            Some(top) => self.page(top, size),
            None => card::card(&self.view, &self.state(), size, &self.look),
        };
        let first = self.shown.is_none();
        let anew =
            if self.screen.is_of_another_size(size) { split_screen::divided(self.tty.whole_size()) } else { None };
        if anew.is_some() {
            self.screen.forget();
        }
        let upper = anew.or_else(split_screen::changed).unwrap_or_default();
        let bytes = upper + &self.screen.draw(&lines, &self.look, size);
        self.write(&bytes)?;
        if first {
            self.now_shown()?;
        }
        Ok(())
    }

    /// Marks the question as shown, and discards input that was typed before.
    pub(super) fn now_shown(&mut self) -> Result<(), PromptClosed> {
        self.tty.flush_input().map_err(hung_up)?;
        self.decoder.clear();
        self.shown = Some(now());
        Ok(())
    }

    /// Returns the state of the dialog for the card.
    fn state(&self) -> CardState<'_> {
        CardState {
            prompt: self.prompt,
            left: self.left(),
            total: self.total,
            entry: self.dialog.entry(),
            hint: self.dialog.hint,
            asking: self.asking,
        }
    }

    /// Returns a page of the explanation, with the remaining time.
    fn page(&mut self, top: usize, size: Size) -> Vec<Line> {
        let all = explain(self.explained, size.columns, &self.look);
        let count = all.len();
        let foot = |room: usize| {
            let hint = self.dialog.hint.unwrap_or("space: on, b: back, q: to the card");
            let line = Line::of(Style::Strong, format!("{} s", self.left()));
            let where_ = format!(" · lines {}–{} of {count} · {hint}", top + 1, (top + room).min(count));
            // If the terminal wrapped a line itself, the next drawing would be at the wrong place.
            wrap::styled(&line.with(Style::Dim, where_), size.columns.saturating_sub(1))
        };
        let room = size.rows.saturating_sub(2 + foot(count).len()).max(1);
        let foot = foot(room);
        self.dialog.page_lines = room;
        self.dialog.all_lines = count;
        let mut lines: Vec<Line> = all.into_iter().skip(top).take(room).collect();
        lines.push(Line::new());
        lines.extend(foot);
        lines
    }

    /// Writes each question once as lines, on a terminal whose cursor cannot be moved.
    fn draw_lines(&mut self) -> Result<(), PromptClosed> {
        if self.shown.is_some() {
            return Ok(());
        }
        let size = self.tty.size();
        let mut lines = Vec::new();
        if self.dialog.close_page() {
            lines = explain(self.explained, size.columns, &self.look);
        } else if self.dialog.hint.is_none()
            && matches!(self.dialog.entry(), CardInput::Key | CardInput::Overrule(_) | CardInput::Word { .. })
        {
            lines = card::plain(&self.view, self.prompt.may_grant, size.columns, &self.look);
        }
        if let Some(tenths) = self.asking {
            lines.push(Line::of(Style::Plain, foot::asking(tenths)));
        }
        if let Some(hint) = self.dialog.hint {
            lines.push(Line::of(Style::Plain, hint));
        }
        if let (CardInput::Confirm, Some(words)) = (self.dialog.entry(), &self.view.standing_grant) {
            lines.push(Line::of(Style::Plain, format!("always: {words}")));
        }
        let question = match self.dialog.entry() {
            CardInput::Key => {
                let session = if self.view.session_grant.is_some() { ", s this session" } else { "" };
                let standing = if self.view.standing_grant.is_some() { ", a always" } else { "" };
                let grants = if self.prompt.may_grant { format!("{session}{standing}") } else { String::new() };
                format!("y {}{grants}, n no, ? explain; then Enter ({} s):", self.view.yes(), self.left())
            }
            CardInput::Confirm => format!("y allow always, n no; then Enter ({} s):", self.left()),
            CardInput::Overrule(_) => {
                format!("The reviewer denied it. To run it anyway, type a reason, then Enter ({} s):", self.left())
            }
            CardInput::Words(_) => format!("Why not? Enter: no reason ({} s):", self.left()),
            CardInput::Word { word, .. } => format!("To run it, type {word} and press Enter ({} s):", self.left()),
        };
        let mut out = String::from("\r\n");
        for line in &lines {
            out.push_str(&line.render(&self.look));
            out.push_str("\r\n");
        }
        out.push_str(&Line::of(Style::Plain, question).render(&self.look));
        out.push(' ');
        self.write(&out)?;
        self.now_shown()
    }

    /// Writes the whole text, until the deadline.
    pub(super) fn write(&self, text: &str) -> Result<(), PromptClosed> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let taken = self.tty.write(rest).map_err(hung_up)?;
            rest = rest.get(taken..).unwrap_or_default();
            if taken == 0 {
                // A terminal that accepts no output must not delay the answer beyond the deadline.
                if self.is_late() {
                    return Ok(());
                }
                self.watch.wait(self.tty.as_fd(), true, Duration::from_millis(100)).map_err(failed)?;
                self.look_for_the_end()?;
            }
        }
        Ok(())
    }
}
