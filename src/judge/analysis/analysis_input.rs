//! What a judgment is given: the invocation, the descriptions, and the answers of the world.
//!
//! In scope: questions that these alone answer, and paying for work. Out of scope: anything that the walk
//! found out, so that every pass may share it.

use std::cell::OnceCell;
use std::rc::Rc;

use super::act::Value;
use super::fuel::{cost, of_bytes};
use super::inquiry::Inquiry;
use super::paths::{NormalPath, PathClass, PathClasses, Placer};
use super::place::Place;
use super::question::PathKind;
use super::state::{Build as _, State};
use crate::judge::invocation::{Invocation, Request};
use crate::judge::rules::catalog::Catalog;

/// What is the same wherever in the line a pass stands, and is never changed.
pub(super) struct AnalysisInput<'a> {
    pub invocation: &'a Invocation,
    pub catalog: &'a Catalog,
    pub inquiry: &'a Inquiry<'a>,
    placer: OnceCell<Rc<Placer>>,
}

impl<'a> AnalysisInput<'a> {
    pub const fn new(invocation: &'a Invocation, catalog: &'a Catalog, inquiry: &'a Inquiry<'a>) -> Self {
        Self { invocation, catalog, inquiry, placer: OnceCell::new() }
    }

    /// Pays for work. `false`: what is left is for the rules alone; the next step of the walk puts that on record.
    pub fn spend(&self, units: u64) -> bool {
        self.inquiry.fuel.spend(units)
    }

    /// Pays for texts that are copied from these values.
    pub fn copies(&self, values: &[&Value]) {
        self.spend(values.iter().map(|value| of_bytes(value.size())).sum());
    }

    /// A copy of a shell's state, paid for.
    pub fn fork(&self, state: &State) -> Box<State> {
        self.spend(cost::FORK + state.size() as u64);
        state.fork()
    }

    /// The shell that reads the line, when it is one.
    pub fn shell_path(&self) -> Option<String> {
        match &self.invocation.request {
            Request::Line(line) => line.shell.to_str().map(str::to_owned),
            Request::Argv(_) | Request::Files(_) | Request::Tool(_) => None,
        }
    }

    /// What tells places of paths apart; it is made when it is first needed.
    pub fn placer(&self) -> &Placer {
        self.placer.get_or_init(|| self.inquiry.placer(self.invocation))
    }

    /// What kind of place a value names in a directory; without one, only where it does not depend on that.
    pub fn classes(&self, dir: Option<&Place>, path: &Value) -> PathClasses {
        self.placer().classes(path, dir, self.catalog, self.inquiry)
    }

    /// Whether a value names a place of the project or of temporary files.
    #[inline(never)]
    pub fn is_ours(&self, path: &Value) -> bool {
        self.classes(None, path).has_any(&[PathClass::Project, PathClass::Temp])
    }

    /// Whether a value names a place of temporary files.
    #[inline(never)]
    pub fn is_temporary(&self, path: &Value) -> bool {
        self.classes(None, path).has(PathClass::Temp)
    }

    /// Whether an assignment gives a variable the value that it has from the start.
    pub fn holds_already(&self, name: &str, value: &Value) -> bool {
        let held = self.invocation.env.get(name);
        held.is_some() && value.known().as_deref() == held
    }

    /// `PATH` as the environment of the line has it.
    pub fn outer_path(&self) -> Value {
        self.invocation.env.get("PATH").map(Value::text).unwrap_or_default()
    }

    /// Whether the world says nothing of a place, or that nothing is there.
    pub fn is_not_there(&self, place: &Place) -> bool {
        let there = place.text().and_then(|path| self.inquiry.path(path));
        there.is_none_or(|facts| facts.kind == PathKind::Missing)
    }

    /// Whether this session made something at the path where nothing was.
    pub fn has_made(&self, path: &str) -> bool {
        let both = || Some((self.inquiry.path(path)?, self.inquiry.ledger()?));
        let plain = |path: &str| NormalPath::absolute(path).map_or_else(|| path.to_owned(), |path| path.rough());
        both().is_some_and(|(facts, ledger)| ledger.has_made(&plain(&facts.canonical)))
    }
}

#[cfg(test)]
mod tests;
