//! The input of the analysis: the invocation, the descriptions, and the answers about the system.
//!
//! This module answers questions that depend only on the input, and charges work. Out of scope: results of the walk, so
//! that every pass can share the input.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use super::act::Value;
use super::fuel::{cost, of_argument, of_bytes};
use super::inquiry::Inquiry;
use super::paths::{NormalPath, PathClass, PathClasses, Placer};
use super::place::Place;
use super::question::PathKind;
use super::state::{Build as _, State};
use crate::judge::invocation::{Invocation, Request};
use crate::judge::rules::catalog::Catalog;

/// The values that are the same for the whole command and never change, and what is computed or charged once.
pub(super) struct AnalysisInput<'a> {
    pub invocation: &'a Invocation,
    pub catalog: &'a Catalog,
    pub inquiry: &'a Inquiry<'a>,
    placer: OnceCell<Rc<Placer>>,
    /// The files that added fuel.
    files: RefCell<BTreeSet<String>>,
}

impl<'a> AnalysisInput<'a> {
    pub const fn new(invocation: &'a Invocation, catalog: &'a Catalog, inquiry: &'a Inquiry<'a>) -> Self {
        Self { invocation, catalog, inquiry, placer: OnceCell::new(), files: RefCell::new(BTreeSet::new()) }
    }

    /// Charges work. `false`: the remaining fuel is reserved for the rules; the next step of the walk adds an opaque
    /// part.
    pub fn spend(&self, units: u64) -> bool {
        self.inquiry.fuel.spend(units)
    }

    /// Adds the fuel for a file that is read as code, once, however often it is read.
    pub fn add_file(&self, path: &str, bytes: usize) {
        if self.files.borrow_mut().insert(path.to_owned()) {
            self.inquiry.fuel.add_file(bytes);
        }
    }

    /// Charges copies of the text of these values.
    pub fn copies(&self, values: &[&Value]) {
        self.spend(values.iter().map(|value| of_bytes(value.size())).sum());
    }

    /// Charges copies of these values, as elements of a list.
    pub fn copies_all<'v>(&self, values: impl IntoIterator<Item = &'v Value>) {
        self.spend(values.into_iter().map(|value| cost::COPY + of_bytes(value.length())).sum());
    }

    /// Charges the long texts among the arguments of a command. `false`: there is not enough fuel for them.
    pub fn reads_all<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> bool {
        self.spend(values.into_iter().map(|value| of_argument(value.length())).sum())
    }

    /// Charges this number of replacements in a text. `false`: there is not enough fuel for them.
    pub fn replaces(&self, count: usize, bytes: usize) -> bool {
        self.spend((cost::REPLACEMENT + of_bytes(bytes)).saturating_mul(count as u64))
    }

    /// Copies the state of a shell and charges it.
    pub fn fork(&self, state: &State) -> Box<State> {
        self.spend(cost::FORK + state.size() as u64);
        state.fork()
    }

    /// Returns the path of the shell that runs the command, if there is one.
    pub fn shell_path(&self) -> Option<String> {
        match &self.invocation.request {
            Request::Line(line) => line.shell.to_str().map(str::to_owned),
            Request::Argv(_) | Request::Files(_) | Request::Tool(_) => None,
        }
    }

    /// Returns the classifier of paths, which is created on first use.
    pub fn placer(&self) -> &Placer {
        self.placer.get_or_init(|| self.inquiry.placer(self.invocation))
    }

    /// Returns the path classes of a value in a directory. Without a directory, only classes that do not depend on it.
    pub fn classes(&self, dir: Option<&Place>, path: &Value) -> PathClasses {
        self.placer().classes(path, dir, self.catalog, self.inquiry)
    }

    /// Reports whether a value is a path in the project or in the temporary directory.
    #[inline(never)]
    pub fn is_ours(&self, path: &Value) -> bool {
        self.classes(None, path).has_any(&[PathClass::Project, PathClass::Temp])
    }

    /// Reports whether a value is a path in the temporary directory.
    #[inline(never)]
    pub fn is_temporary(&self, path: &Value) -> bool {
        self.classes(None, path).has(PathClass::Temp)
    }

    /// Reports whether an assignment sets a variable to the value that it has in the environment.
    pub fn holds_already(&self, name: &str, value: &Value) -> bool {
        let held = self.invocation.env.get(name);
        held.is_some() && value.known().as_deref() == held
    }

    /// Returns `PATH` in the environment of the command.
    pub fn outer_path(&self) -> Value {
        self.invocation.env.get("PATH").map(Value::text).unwrap_or_default()
    }

    /// Reports whether nothing exists at a place, or the question has no answer.
    pub fn is_not_there(&self, place: &Place) -> bool {
        let there = place.text().and_then(|path| self.inquiry.path(path));
        there.is_none_or(|facts| facts.kind == PathKind::Missing)
    }

    /// Reports whether this session created a path that did not exist.
    pub fn has_made(&self, path: &str) -> bool {
        let both = || Some((self.inquiry.path(path)?, self.inquiry.ledger()?));
        let plain = |path: &str| NormalPath::absolute(path).map_or_else(|| path.to_owned(), |path| path.rough());
        both().is_some_and(|(facts, ledger)| ledger.has_made(&plain(&facts.canonical)))
    }
}

#[cfg(test)]
mod tests;
