//! The list of the review: filters, marks and the cursor.
//!
//! Out of scope: the screen, and answering.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::judge::risk::Tier;
use crate::judge::sort;
use crate::store::queue::Pending;

/// Identifies a state of a request: its ID, when it was filed, and how many have approved it. A request that is filed
/// again or signed once more has another name.
pub type Name = (String, Timestamp, usize);

pub fn name(pending: &Pending) -> Name {
    (pending.id.clone(), pending.filed, pending.approved_by.len())
}

/// Reports whether two requests are shown as one.
fn is_twin(one: &Pending, other: &Pending) -> bool {
    one.is_same(other) && one.root == other.root && one.state == other.state
}

/// The requests that can be answered.
#[derive(Debug, Default)]
pub struct List {
    all: Vec<Pending>,
    /// The request at the cursor.
    at: Option<String>,
    /// The cursor's last position, where it stays if its request disappears.
    stood: usize,
    marked: HashSet<Name>,
    opened: HashSet<Name>,
    /// Show only this session.
    session: Option<String>,
    /// Show only this tier.
    tier: Option<Tier>,
}

impl List {
    /// Replaces the requests with the current ones of the queue.
    pub fn renew(&mut self, all: Vec<Pending>) {
        self.all = all;
        self.all.retain(|one| one.state.is_open());
        let known: HashSet<Name> = self.all.iter().map(name).collect();
        self.marked.retain(|one| known.contains(one));
    }

    pub fn has(&self, known: &Name) -> bool {
        self.all.iter().any(|one| name(one) == *known)
    }

    /// Describes the filters.
    pub fn filter(&self) -> String {
        let tier = self.tier.map(|tier| format!("tier {}", tier.number()));
        let session = self.session.as_ref().map(|session| format!("session {session}"));
        [tier, session].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub fn is_marked(&self, one: &Pending) -> bool {
        self.marked.contains(&name(one))
    }

    /// Reports whether the card of this request, or of the same command of the same session, was opened.
    pub fn is_opened(&self, one: &Pending) -> bool {
        self.twins(one).iter().any(|twin| self.opened.contains(twin))
    }

    pub fn open(&mut self, one: &Pending) {
        self.opened.insert(name(one));
    }

    /// Toggles the mark of a request and of all that are shown as one with it.
    pub fn mark(&mut self, one: &Pending) {
        let twins = self.twins(one);
        if self.is_marked(one) {
            self.marked.retain(|one| !twins.contains(one));
        } else {
            self.marked.extend(twins);
        }
    }

    /// Returns the requests that pass the filters. The same command of the same session appears once.
    pub fn shown(&self) -> Vec<&Pending> {
        let mut shown: Vec<&Pending> = Vec::new();
        for one in self.through() {
            if !shown.iter().any(|first| is_twin(first, one)) {
                shown.push(one);
            }
        }
        shown
    }

    /// Returns the requests that are shown as one with this one.
    pub fn twins(&self, of: &Pending) -> Vec<Name> {
        self.through().into_iter().filter(|one| is_twin(of, one)).map(name).collect()
    }

    /// Returns all requests that pass the filters.
    fn through(&self) -> Vec<&Pending> {
        let through = |one: &&Pending| {
            self.session.as_ref().is_none_or(|session| one.session == *session)
                && self.tier.is_none_or(|tier| one.tier == tier)
        };
        self.all.iter().filter(through).collect()
    }

    /// Returns the index of the cursor among the shown requests.
    pub fn place(&self) -> usize {
        let shown = self.shown();
        let at = self.at.as_ref().and_then(|at| shown.iter().position(|one| one.id == *at));
        at.unwrap_or_else(|| self.stood.min(shown.len().saturating_sub(1)))
    }

    /// Keeps the cursor on its request while others appear and disappear.
    pub fn hold(&mut self) {
        self.stood = self.place();
        self.at = self.here().map(|one| one.id);
    }

    pub fn here(&self) -> Option<Pending> {
        self.shown().get(self.place()).map(|one| (*one).clone())
    }

    pub fn step(&mut self, by: isize) {
        let count = self.shown().len();
        let to = self.place().saturating_add_signed(by).min(count.saturating_sub(1));
        self.at = self.shown().get(to).map(|one| one.id.clone());
    }

    pub fn mark_all(&mut self) {
        let all: Vec<Name> = self.through().into_iter().filter(|one| one.tier < Tier::Critical).map(name).collect();
        if all.iter().all(|one| self.marked.contains(one)) {
            self.marked.clear();
        } else {
            self.marked.extend(all);
        }
    }

    pub fn next_session(&mut self) {
        let mut sessions: Vec<String> = self.all.iter().map(|one| one.session.clone()).collect();
        sort::sort(&mut sessions);
        sessions.dedup();
        self.session = match &self.session {
            None => sessions.first().cloned(),
            Some(now) => sessions.into_iter().find(|session| session > now),
        };
    }

    pub fn next_tier(&mut self) {
        let mut tiers: Vec<Tier> = self.all.iter().map(|one| one.tier).collect();
        sort::sort(&mut tiers);
        tiers.dedup();
        self.tier = match self.tier {
            None => tiers.first().copied(),
            Some(now) => tiers.into_iter().find(|tier| *tier > now),
        };
    }

    /// Removes the marks of these requests.
    pub fn unmark(&mut self, done: &[String]) {
        self.marked.retain(|(id, ..)| !done.contains(id));
    }

    /// Removes a filter, or the marks if there is none. Returns `false` if there is nothing to remove.
    pub fn step_back(&mut self) -> bool {
        if self.tier.is_some() || self.session.is_some() {
            (self.tier, self.session) = (None, None);
        } else if self.marked.is_empty() {
            return false;
        } else {
            self.marked.clear();
        }
        true
    }

    /// Returns those of these requests that still exist.
    pub fn left_of(&self, chosen: &[Pending]) -> Vec<Pending> {
        let is_chosen = |one: &&Pending| chosen.iter().any(|other| (&other.id, other.filed) == (&one.id, one.filed));
        self.all.iter().filter(is_chosen).cloned().collect()
    }

    /// Returns the marked requests among the shown ones.
    pub fn chosen(&self) -> Vec<Pending> {
        self.through().into_iter().filter(|one| self.marked.contains(&name(one))).cloned().collect()
    }
}
