//! `guard review`: shows the waiting requests on the full screen and lets a person answer them.
//!
//! Answers are given on the card, one by one, or to a batch whose commands were all shown in full, in the same way as
//! by `guard approve` ([`super::approvals`]). Out of scope: the appearance (`ui`), and running.

mod list;

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use self::list::{List, Name, name};
use super::approvals::{AnswerReport, Approvals, ShownRequest, Unanswerable, in_full, question};
use super::failure::{Failure, ViewStopped};
use super::{exit, pending};
use crate::judge::answer_scope::AnswerScope;
use crate::judge::risk::Tier;
use crate::prompt::answer::{PromptClosed, READING};
use crate::prompt::fullscreen::{self, Fullscreen, KeyPress, ScreenEvent};
use crate::store::queue::{Pending, RequestState};
use crate::ui::card;
use crate::ui::card_view::CardView;
use crate::ui::pending::approvals;
use crate::ui::review::{ReviewRow, ReviewView, batch, help, review};
use crate::ui::style::{Line, Look, Style};
use crate::ui::visible;

/// The interval between two reads of the queue.
const PACE: Duration = Duration::from_millis(250);

/// Shows the waiting requests until the person quits.
///
/// # Errors
/// The queue or the terminal cannot be used.
pub fn run() -> Result<u8, Failure> {
    match run_interactive()? {
        Ok(code) => Ok(code),
        Err(PromptClosed::Interrupted(signal) | PromptClosed::Signal(signal)) => {
            crate::exec::leave(crate::exec::ProcessStatus::Killed { signal: signal as i32, core: false })
        }
        Err(closed) => Err(fullscreen::closed_error(&closed).into()),
    }
}

/// Like [`run`]. If the terminal ended it before the person did, the caller gets the reason.
pub(super) fn run_interactive() -> Result<Result<u8, PromptClosed>, Failure> {
    let approvals = match Approvals::open("review", &[])? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(Ok(code)),
    };
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    let size = crossterm::terminal::size().unwrap_or((80, 24));
    if look.dumb || !io::stdout().is_terminal() || size.0 < 40 || size.1 < 10 {
        return one_by_one(&approvals).map(Ok);
    }
    let mut failed = None;
    let done = fullscreen::on_screen(look, |screen| {
        let mut session = ReviewSession::new(&approvals, look);
        match session.run(screen) {
            Ok(()) | Err(ViewStopped::Enough) => Ok(session.results),
            Err(ViewStopped::Closed(closed)) => Err(closed),
            Err(ViewStopped::Failed(error)) => {
                failed = Some(error);
                Ok(session.results)
            }
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let results = match done {
        Ok(results) => results,
        Err(closed) => return Ok(Err(closed)),
    };
    let mut out = io::stdout().lock();
    for line in results {
        writeln!(out, "{}", visible::text(&line))?;
    }
    Ok(Ok(exit::ALLOW))
}

/// For a terminal that cannot move the cursor: prints the table, then one card after the other.
fn one_by_one(approvals: &Approvals) -> Result<u8, Failure> {
    let mut report = AnswerReport::default();
    let now = Timestamp::now();
    let mut waiting: Vec<Pending> =
        approvals.queue.list(now)?.into_iter().filter(|one| one.state == RequestState::Waiting).collect();
    pending::open_first(&mut waiting, now);
    let count = waiting.len();
    let open = waiting.iter().filter(|one| pending::is_open(one, now)).count();
    let late = if open < count { format!(" Timed out: {}.", count - open) } else { String::new() };
    writeln!(
        io::stdout(),
        "{}{late}",
        if open == 0 { "No requests are waiting.".to_owned() } else { format!("Waiting: {open}.") }
    )?;
    for (number, one) in waiting.iter().enumerate() {
        writeln!(io::stdout(), "Request {} ({} of {count})", one.id, number + 1)?;
        match approvals.show(one)? {
            Ok(shown) => approvals.ask(&shown, AnswerScope::Once, &mut report)?,
            Err(why) => report.no(&one.id, why),
        }
        for line in report.lines.drain(..) {
            writeln!(io::stdout(), "{}", visible::text(&line))?;
        }
    }
    Ok(exit::ALLOW)
}

/// The state of the full-screen review.
struct ReviewSession<'a> {
    approvals: &'a Approvals,
    look: Look,
    list: List,
    looked: Option<Instant>,
    /// The cards of requests, or the reasons why they cannot be shown.
    cards: HashMap<Name, Result<CardView, Unanswerable>>,
    status: String,
    /// Whether the help for the keys is shown instead of the card.
    help: bool,
    /// The reason for a denial, while it is typed.
    entry: Option<String>,
    /// The requests that this denial is for.
    refused: Vec<Pending>,
    results: Vec<String>,
}

impl<'a> ReviewSession<'a> {
    fn new(approvals: &'a Approvals, look: Look) -> Self {
        Self {
            approvals,
            look,
            list: List::default(),
            looked: None,
            cards: HashMap::new(),
            status: String::new(),
            help: false,
            entry: None,
            refused: Vec::new(),
            results: Vec::new(),
        }
    }

    fn run(&mut self, screen: &mut Fullscreen<'_>) -> Result<(), ViewStopped> {
        loop {
            self.look_again()?;
            let size = screen.size();
            let view = self.view(size.columns)?;
            screen.draw(&review(&view, size))?;
            let ScreenEvent::Keys(keys) = screen.wait(PACE)? else { continue };
            if let Some(words) = &mut self.entry {
                // A reason may be pasted, but the key that ends it must arrive alone.
                for key in &keys {
                    match key {
                        KeyPress::Char(letter) if words.chars().count() < 300 => words.push(*letter),
                        KeyPress::Backspace => drop(words.pop()),
                        _ => {}
                    }
                }
                match keys.as_slice() {
                    [KeyPress::Escape | KeyPress::Interrupt | KeyPress::EndOfFile] => self.entry = None,
                    [KeyPress::Enter] => self.deny()?,
                    _ => {}
                }
                continue;
            }
            let [key] = keys.as_slice() else {
                self.status = "input ignored: it came too fast to be typed".to_owned();
                continue;
            };
            self.status.clear();
            match key {
                KeyPress::Char('q' | 'Q') | KeyPress::EndOfFile => return Ok(()),
                KeyPress::Char('?') => self.help = !self.help,
                KeyPress::Escape if std::mem::take(&mut self.help) || self.list.step_back() => {}
                KeyPress::Escape => return Ok(()),
                KeyPress::Char('j') | KeyPress::Down => self.list.step(1),
                KeyPress::Char('k') | KeyPress::Up => self.list.step(-1),
                KeyPress::PageDown => self.list.step(10),
                KeyPress::PageUp => self.list.step(-10),
                KeyPress::Char(' ') => self.mark(),
                KeyPress::Char('*') => self.list.mark_all(),
                KeyPress::Char('s') => self.list.next_session(),
                KeyPress::Char('t') => self.list.next_tier(),
                KeyPress::Char('d') => self.begin_to_deny(),
                KeyPress::Enter | KeyPress::Char('o') => self.open(screen)?,
                KeyPress::Char('A') => self.approve_marked(screen)?,
                KeyPress::Char('y' | 'Y') => {
                    self.status = "press Enter to open the request, and answer there".to_owned()
                }
                _ => self.status = "unknown key; ? shows the keys".to_owned(),
            }
        }
    }

    /// Reads the queue again if the interval has passed.
    fn look_again(&mut self) -> Result<(), Failure> {
        if self.looked.is_some_and(|looked| looked.elapsed() < PACE) {
            return Ok(());
        }
        let now = Timestamp::now();
        let mut all = self.approvals.queue.list(now)?;
        pending::open_first(&mut all, now);
        self.list.renew(all);
        self.looked = Some(Instant::now());
        self.cards.retain(|one, _| self.list.has(one));
        Ok(())
    }

    /// Returns the card of a request, which is judged once while it waits.
    fn card(&mut self, one: &Pending) -> Result<&Result<CardView, Unanswerable>, Failure> {
        let name = name(one);
        if !self.cards.contains_key(&name) {
            // Looking at one's own request is not an attempt to approve it; answering is.
            let card = match self.approvals.asked_here(one)? {
                Some(why) => Err(Unanswerable::Own(why)),
                None => self.approvals.show(one)?.map(|shown| shown.card().0.view),
            };
            self.cards.insert(name.clone(), card);
        }
        // It was just inserted.
        self.cards.get(&name).ok_or_else(|| Failure::Message("the request is no longer shown".to_owned()))
    }

    fn view(&mut self, columns: usize) -> Result<ReviewView, Failure> {
        let look = self.look;
        self.list.hold();
        let card = match self.list.here() {
            _ if self.help => help(columns.saturating_sub(1)),
            None => Vec::new(),
            Some(one) => match self.card(&one)? {
                Ok(view) => card::plain(view, false, columns, &look),
                Err(why) => vec![Line::of(Style::Plain, why.to_string())],
            },
        };
        let now = Timestamp::now();
        let shown = self.list.shown();
        let rows = shown.iter().map(|one| ReviewRow {
            id: one.id.clone(),
            tier: one.tier,
            waits: pending::waits(one, now),
            open: pending::is_open(one, now),
            by: visible::line(one.agent.as_deref().unwrap_or(&one.origin).as_bytes(), look.ascii).to_string(),
            command: {
                let count = self.list.twins(one).len();
                let times = if count > 1 { format!("{count} times: ") } else { String::new() };
                let so_far =
                    approvals(one.approvals, &one.approved_by).map_or(String::new(), |so_far| format!("[{so_far}] "));
                so_far + &times + &visible::line(one.command.as_bytes(), look.ascii)
            },
            marked: self.list.is_marked(one),
            opened: self.list.is_opened(one),
        });
        Ok(ReviewView {
            rows: rows.collect(),
            at: self.list.place(),
            filter: self.list.filter(),
            card,
            help: self.help,
            status: self.status.clone(),
            entry: self.entry.clone(),
        })
    }

    fn mark(&mut self) {
        if let Some(one) = self.list.here() {
            if one.tier == Tier::Critical {
                self.status = format!("{} is tier 4 and cannot be approved in a batch; press Enter to open it", one.id);
            } else {
                self.list.mark(&one);
            }
            self.list.step(1);
        }
    }

    /// Begins to deny the marked requests that are shown, or the one at the cursor if none is.
    fn begin_to_deny(&mut self) {
        self.refused = self.list.chosen();
        if self.refused.is_empty() {
            self.refused.extend(self.list.here());
        }
        if !self.refused.is_empty() {
            self.entry = Some(String::new());
        }
    }

    /// Denies the chosen requests that still wait, and no request that has replaced one of them.
    fn deny(&mut self) -> Result<(), Failure> {
        let words = self.entry.take().unwrap_or_default();
        let words = Some(words.trim()).filter(|words| !words.is_empty());
        let chosen = self.list.left_of(&std::mem::take(&mut self.refused));
        if chosen.is_empty() {
            self.status = "the request is no longer in the queue; nothing was denied".to_owned();
        }
        let mut report = AnswerReport::default();
        for one in chosen {
            match self.approvals.may_answer(&one)? {
                Ok(()) => self.approvals.deny(&one, words, &mut report)?,
                Err(why) => report.no(&one.id, why),
            }
        }
        self.tell(report);
        Ok(())
    }

    /// Opens the card, on which the person answers.
    fn open(&mut self, screen: &mut Fullscreen<'_>) -> Result<(), ViewStopped> {
        let Some(one) = self.list.here() else { return Ok(()) };
        let mut report = AnswerReport::default();
        // Judge again, because time has passed since it was listed.
        match self.approvals.show(&one)? {
            Err(why) => report.no(&one.id, why),
            Ok(shown) => {
                self.list.open(&one);
                let approvals = self.approvals;
                screen.meanwhile(|| approvals.ask(&shown, AnswerScope::Once, &mut report))??;
            }
        }
        self.cards.remove(&name(&one));
        self.tell(report);
        Ok(())
    }

    /// Shows all marked requests in full, and asks one question.
    fn approve_marked(&mut self, screen: &mut Fullscreen<'_>) -> Result<(), ViewStopped> {
        let mut report = AnswerReport::default();
        let mut chosen = Vec::new();
        for one in self.list.chosen() {
            if (one.tier >= Tier::High || one.approvals > 1) && !self.list.is_opened(&one) {
                report.no(&one.id, "not approved: open tier 3, and what needs several approvers, with Enter first");
                continue;
            }
            match self.approvals.show(&one)? {
                Ok(shown) if shown.tier() == Tier::Critical => {
                    report.no(&one.id, "tier 4 requests cannot be approved in a batch")
                }
                Ok(shown) => chosen.push(shown),
                Err(why) => report.no(&one.id, why),
            }
        }
        if chosen.is_empty() {
            if report.lines.is_empty() {
                self.status = "nothing is marked; mark requests with space".to_owned();
            }
            self.tell(report);
            return Ok(());
        }
        let yes = self.ask_batch(&chosen, screen)?;
        if yes {
            let done: Vec<String> = chosen.iter().map(|shown| shown.id().to_owned()).collect();
            self.list.unmark(&done);
        }
        let approvals = self.approvals;
        // An approver may have to sign on the same terminal.
        screen.meanwhile(|| {
            chosen.iter().try_for_each(|shown| match yes {
                true => approvals.allow(shown, AnswerScope::Once, None, &mut report),
                false => {
                    report.no(shown.id(), "not approved");
                    Ok(())
                }
            })
        })??;
        self.tell(report);
        Ok(())
    }

    /// Asks one question about exactly these requests. An answer counts only once the end of the list has been on the
    /// screen for a moment.
    fn ask_batch(&self, chosen: &[ShownRequest], screen: &mut Fullscreen<'_>) -> Result<bool, ViewStopped> {
        let (mut top, mut turned) = (0_usize, Instant::now());
        let mut wide = 0;
        let mut lines = Vec::new();
        loop {
            let size = screen.size();
            if wide != size.columns {
                // A new width changes the layout, so the list must be read again.
                (wide, top, turned) = (size.columns, 0, Instant::now());
                lines = in_full(chosen, size.columns, &self.look);
            }
            let page = size.rows.max(6) - 2;
            let at_end = top + page >= lines.len();
            screen.draw(&batch(&lines, top, &question(chosen), size))?;
            let ScreenEvent::Keys(keys) = screen.wait(PACE)? else { continue };
            match keys.as_slice() {
                [KeyPress::Char('y' | 'Y')] if at_end && turned.elapsed() >= READING => return Ok(true),
                [KeyPress::Char('y' | 'Y')] => {}
                [KeyPress::Char(' ') | KeyPress::PageDown] if !at_end => {
                    (top, turned) = ((top + page).min(lines.len().saturating_sub(page)), Instant::now());
                }
                [KeyPress::Char('j') | KeyPress::Down] if !at_end => (top, turned) = (top + 1, Instant::now()),
                [KeyPress::Char('k') | KeyPress::Up] => top = top.saturating_sub(1),
                [KeyPress::Char('b') | KeyPress::PageUp] => top = top.saturating_sub(page),
                [KeyPress::Char(' ' | 'j') | KeyPress::PageDown | KeyPress::Down] => {}
                // Enter and every other key mean no, and so does input that no person typed.
                _ => return Ok(false),
            }
        }
    }

    /// Keeps the results for the end, and shows the last one.
    fn tell(&mut self, report: AnswerReport) {
        if let Some(said) = report.in_short() {
            self.status = said;
        }
        self.results.extend(report.lines);
        self.looked = None;
    }
}
