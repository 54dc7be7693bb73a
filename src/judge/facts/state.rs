//! The state of a shell at one point of a line: what its variables, functions and directories are known to be.
//!
//! What belongs here: values and how two ways through a line join. What may not enter: words and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::act::{Piece, Taint, Unknown, UnknownReason, Value};
use super::frame::Frame;
use super::streams::Streams;
use super::traps::Trap;
pub(super) use super::value::{Build, MAX_TEXT};
use crate::judge::order;
use crate::judge::syntax::tree;

/// The most values one variable is followed with; beyond it the variable is unknown.
pub(super) const MAX_CHOICES: usize = 8;

/// The most directories in which the shell may stand beside the one that is most likely.
const MAX_DIRECTORIES: usize = 3;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    /// What the environment gives it.
    Inherited,
    Unset,
    Scalar(Value),
    /// Elements by subscript, in order.
    Array(Vec<(String, Value)>),
}

/// What assignments to a variable do to its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Attribute {
    #[default]
    Plain,
    /// `declare -l`
    Lower,
    /// `declare -u`
    Upper,
    /// `declare -i`
    Integer,
    /// `declare -n`: its value names another variable.
    Reference,
}

/// A variable that was set in the line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    /// What it may hold: never empty; more than one when ways through the line differ.
    pub values: Vec<Bound>,
    pub exported: bool,
    pub attribute: Attribute,
}

impl Variable {
    pub fn of(bound: Bound) -> Self {
        Self { values: vec![bound], exported: false, attribute: Attribute::Plain }
    }
}

/// A function, with where it was written.
#[derive(Debug)]
pub(super) struct Defined {
    pub name: String,
    pub body: tree::Compound,
    pub frame: Frame,
}

/// The state of one shell.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// What the line set; what is not here comes from the environment.
    pub variables: BTreeMap<String, Variable>,
    /// The variables that had several values at some time: all others have one, and need not be looked at.
    pub several: BTreeSet<String>,
    pub zero: Value,
    pub positional: Vec<Value>,
    pub functions: BTreeMap<String, Rc<Defined>>,
    pub aliases: BTreeMap<String, Value>,
    /// What `history -s` put into the history.
    pub history: Vec<Value>,
    /// Programs by the path that `hash -p` gave them.
    pub hashed: BTreeMap<String, String>,
    /// Variables and functions that were exported before they were set.
    pub exports: BTreeSet<String>,
    pub exported_functions: BTreeSet<String>,
    /// The working directory; `None` when it is not known.
    pub cwd: Option<String>,
    /// Where the shell stands instead when an unguarded `cd` failed.
    pub doubt: Vec<Option<String>>,
    /// The last `cd` does not succeed even where the directory is there.
    pub fails: bool,
    /// Where else the shell may stand, because ways through the line differ.
    pub also: Vec<Option<String>>,
    pub previous: Option<String>,
    pub stack: Vec<Option<String>>,
    pub last_argument: Option<Value>,
    pub streams: Streams,
    /// What it runs when a signal comes, or when it ends.
    pub traps: Vec<Rc<Trap>>,
    /// What `local` hid, by function call, to be put back.
    pub scopes: Vec<Vec<(String, Option<Variable>)>>,
    /// Which of several values is looked at now, by variable.
    pub chosen: BTreeMap<String, usize>,
    /// The environment is another machine's or account's: nothing is known of it.
    pub foreign: bool,
    /// It was started by another shell of the line.
    pub inner: bool,
    /// `set -e`
    pub errexit: bool,
    /// `set -f`
    pub noglob: bool,
    /// The last command of a pipeline runs in this shell.
    pub lastpipe: bool,
}

impl State {
    /// A copy for a process beside this one, or for another way through the line.
    #[inline(never)]
    pub fn fork(&self) -> Box<Self> {
        Box::new(self.clone())
    }

    /// A copy for a process beside this one, which does not run this one's traps.
    pub fn subshell(&self) -> Box<Self> {
        let mut child = self.fork();
        child.traps.clear();
        child
    }

    /// Sets a variable to one value, keeping what it was declared to be.
    pub fn set(&mut self, name: &str, bound: Bound) {
        // `printf -v 'a[x]'`: an element.
        if let Some((array, key)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            if let Bound::Scalar(value) = bound {
                let mut elements = match self.variables.get(array).and_then(|variable| variable.values.first()) {
                    Some(Bound::Array(elements)) => elements.clone(),
                    _ => Vec::new(),
                };
                elements.retain(|(other, _)| other != key);
                elements.push((key.to_owned(), value));
                self.set(array, Bound::Array(elements));
            }
            return;
        }
        if let Bound::Array(elements) = &bound {
            self.set_table(name, elements);
        }
        match self.variables.get_mut(name) {
            Some(variable) => {
                variable.values.clear();
                variable.values.push(bound);
            }
            None => {
                self.variables.insert(name.to_owned(), Variable::of(bound));
            }
        }
        self.chosen.remove(name);
    }

    /// An array of bash that is one of its own tables.
    fn set_table(&mut self, name: &str, elements: &[(String, Value)]) {
        match name {
            "BASH_ALIASES" => self.aliases.extend(elements.iter().cloned()),
            "BASH_CMDS" => {
                let known = elements.iter().filter_map(|(key, value)| Some((key.clone(), value.known_text()?)));
                self.hashed.extend(known);
            }
            _ => {}
        }
    }

    /// Sets a variable to a scalar.
    pub fn set_scalar(&mut self, name: &str, value: Value) {
        self.set(name, Bound::Scalar(value));
    }

    /// The variables that the line exported to what it runs, as far as they hold one text.
    pub fn exported(&self) -> Vec<(String, Value)> {
        let given = |(name, variable): (&String, &Variable)| match variable.values.as_slice() {
            [Bound::Scalar(value)] if variable.exported || self.exports.contains(name) => {
                Some((name.clone(), value.clone()))
            }
            _ => None,
        };
        self.variables.iter().filter_map(given).collect()
    }

    /// Hides a variable until the running function returns.
    pub fn localize(&mut self, name: &str) {
        let old = self.variables.get(name).cloned();
        if let Some(scope) = self.scopes.last_mut()
            && !scope.iter().any(|(hidden, _)| hidden == name)
        {
            scope.push((name.to_owned(), old));
        }
    }

    /// As [`Self::localize`], where a function is running.
    pub fn localize_if(&mut self, name: &str, frame: &Frame) {
        if !frame.calls.is_empty() {
            self.localize(name);
        }
    }

    /// The state of a shell that is started from here: what was exported, and what is set for it.
    #[inline(never)]
    pub fn child(&self, env: &[(String, Value)]) -> Box<Self> {
        let mut child = Box::new(Self {
            variables: order::map(
                self.variables
                    .iter()
                    .filter(|(name, variable)| variable.exported || self.exports.contains(*name))
                    .map(|(name, variable)| (name.clone(), variable.clone())),
            ),
            functions: order::map(
                self.functions
                    .iter()
                    .filter(|(name, _)| self.exported_functions.contains(*name))
                    .map(|(name, function)| (name.clone(), Rc::clone(function))),
            ),
            exported_functions: self.exported_functions.clone(),
            cwd: self.cwd.clone(),
            doubt: self.doubt.clone(),
            fails: self.fails,
            also: self.also.clone(),
            previous: self.previous.clone(),
            streams: self.streams.clone(),
            chosen: self.chosen.clone(),
            foreign: self.foreign,
            inner: true,
            ..Self::default()
        });
        for (name, value) in env {
            child.set_scalar(name, value.clone());
            if let Some(variable) = child.variables.get_mut(name) {
                variable.exported = true;
            }
        }
        child
    }

    /// The state of a shell on another machine, or of another account: nothing of it is known but what is sent along.
    #[inline(never)]
    pub fn elsewhere(&self, env: &[(String, Value)]) -> Box<Self> {
        let mut other = Box::new(Self { foreign: true, inner: true, streams: self.streams.clone(), ..Self::default() });
        for (name, value) in env {
            other.set_scalar(name, value.clone());
        }
        other
    }

    /// Puts back what the function that just ended had hidden.
    pub fn leave_scope(&mut self) {
        for (name, old) in self.scopes.pop().unwrap_or_default() {
            match old {
                Some(variable) => self.variables.insert(name, variable),
                None => self.variables.remove(&name),
            };
        }
    }

    /// Changes the directory for certain.
    pub fn move_to(&mut self, dir: Option<String>) {
        self.previous = self.cwd.take();
        self.cwd = dir;
        self.doubt.clear();
        self.also.clear();
    }

    /// A program changes to a directory for itself.
    pub fn enter(&mut self, dir: &Value) {
        let to = match dir.known() {
            Some(text) => super::redirect::absolute(self, &text),
            None => super::builtins::named_in_part(self, dir),
        };
        self.move_to(to);
    }

    /// The directory is where an unguarded `cd` left it when it failed.
    pub fn stay(&mut self) {
        let mut dirs = std::mem::take(&mut self.doubt).into_iter();
        if let Some(dir) = dirs.next() {
            self.cwd = dir;
            self.also.extend(dirs);
            self.forget_many_directories();
        }
    }

    /// More than a few directories are as good as unknown.
    pub fn forget_many_directories(&mut self) {
        self.also.retain(|dir| *dir != self.cwd);
        self.doubt.retain(|dir| *dir != self.cwd);
        if self.also.len() > MAX_DIRECTORIES || self.doubt.len() > MAX_DIRECTORIES {
            self.cwd = None;
            self.also.clear();
            self.doubt.clear();
        }
    }

    /// Makes this the state after either of two ways.
    #[inline(never)]
    pub fn join(&mut self, other: &Self) {
        let mut names: Vec<&String> = self.variables.keys().collect();
        names.extend(other.variables.keys().filter(|name| !self.variables.contains_key(*name)));
        let names: Vec<String> =
            names.into_iter().filter(|name| self.variables.get(*name) != other.variables.get(*name)).cloned().collect();
        for name in names {
            let ours = self.variables.get(&name);
            let theirs = other.variables.get(&name);
            // A variable that only one way sets has, on the other, what the environment gives it.
            let mut values = ours.map_or_else(|| vec![Bound::Inherited], |variable| variable.values.clone());
            for bound in theirs.map_or(&[Bound::Inherited][..], |variable| &variable.values) {
                if !values.contains(bound) {
                    values.push(bound.clone());
                }
            }
            if values.len() > MAX_CHOICES {
                let taint = values.iter().fold(Taint::default(), |all, bound| match bound {
                    Bound::Scalar(value) => all.and(value.taint()),
                    _ => all,
                });
                values = vec![Bound::Scalar(unknown(UnknownReason::Other("one of many values"), taint))];
            }
            if values.len() > 1 {
                self.several.insert(name.clone());
            }
            let kept = ours.or(theirs);
            let variable = Variable {
                values,
                exported: ours.is_some_and(|v| v.exported) || theirs.is_some_and(|v| v.exported),
                attribute: kept.map_or(Attribute::Plain, |v| v.attribute),
            };
            self.variables.insert(name, variable);
        }
        if self.positional != other.positional {
            self.positional = vec![unknown(UnknownReason::Other("one of several argument lists"), Taint::default())];
        }
        for (name, function) in &other.functions {
            self.functions.entry(name.clone()).or_insert_with(|| Rc::clone(function));
        }
        for (name, text) in &other.aliases {
            self.aliases.entry(name.clone()).or_insert_with(|| text.clone());
        }
        for trap in &other.traps {
            if !self.traps.iter().any(|known| Rc::ptr_eq(known, trap)) {
                self.traps.push(Rc::clone(trap));
            }
        }
        for dir in std::iter::once(&other.cwd).chain(&other.also) {
            if *dir != self.cwd && !self.also.contains(dir) {
                self.also.push(dir.clone());
            }
        }
        for dir in &other.doubt {
            if *dir != self.cwd && !self.doubt.contains(dir) {
                self.doubt.push(dir.clone());
            }
        }
        self.fails |= other.fails;
        self.forget_many_directories();
        if self.last_argument != other.last_argument {
            self.last_argument = None;
        }
        self.errexit &= other.errexit;
        self.noglob &= other.noglob;
    }
}

/// A value of which nothing but its reason and taint is known.
pub(super) fn unknown(why: UnknownReason, taint: Taint) -> Value {
    Value::of(vec![Piece::Unknown(Unknown { why, taint })])
}
