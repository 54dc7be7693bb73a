//! The state of a shell at one point of a line: what its variables, functions and directories are known to be.
//!
//! In scope: values and how two ways through a line join. Out of scope: words and programs.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::act::{Piece, Taint, Unknown, UnknownReason, Value};
use super::command_context::Context;
use super::env::EnvView;
use super::map::Map;
use super::place::Place;
use super::streams::Streams;
use super::traps::Trap;
pub(super) use super::value::{Build, MAX_TEXT};
use crate::judge::syntax::tree;

/// The most values one variable is followed with; beyond it the variable is unknown.
pub(super) const MAX_CHOICES: usize = 8;

/// The most directories in which the shell may stand beside the one that is most likely.
const MAX_DIRECTORIES: usize = 3;

/// The longest path of a directory that is followed, in bytes.
const MAX_PATH: usize = 4096;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableValue {
    /// What the environment gives it.
    Inherited,
    Unset,
    Scalar(Value),
    /// Elements by subscript, in order. Copies of a shell share them.
    Array(Rc<Vec<(String, Value)>>),
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
    pub values: Vec<VariableValue>,
    pub exported: bool,
    pub attribute: Attribute,
}

impl Variable {
    pub fn of(bound: VariableValue) -> Self {
        Self { values: vec![bound], exported: false, attribute: Attribute::Plain }
    }
}

/// A function, with where it was written.
#[derive(Debug)]
pub(super) struct DefinedFunction {
    pub name: String,
    pub body: tree::Compound,
    pub context: Context,
}

/// The state of one shell.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// What the line set; what is not here comes from the environment.
    variables: Map<Variable>,
    /// Those of them that are handed on to what it runs.
    exported: Map<Variable>,
    /// Of these, what may carry something.
    tainted: Map<()>,
    /// The variables that had several values at some time: all others have one, and need not be looked at.
    pub several: Map<()>,
    pub zero: Value,
    pub positional: Rc<Vec<Value>>,
    pub functions: Map<Rc<DefinedFunction>>,
    pub aliases: Map<Value>,
    /// What `history -s` put into the history.
    pub history: Rc<Vec<Value>>,
    /// Programs by the path that `hash -p` gave them.
    pub hashed: Map<String>,
    /// Variables and functions that were exported before they were set.
    exports: Map<()>,
    pub exported_functions: Map<()>,
    /// The working directory; `None` when it is not known.
    pub cwd: Option<Place>,
    /// Where the shell stands instead when an unguarded `cd` failed.
    pub doubt: Vec<Option<Place>>,
    /// The last `cd` does not succeed even where the directory is there.
    pub fails: bool,
    /// Where else the shell may stand, because ways through the line differ.
    pub also: Vec<Option<Place>>,
    pub previous: Option<Place>,
    pub stack: Vec<Option<Place>>,
    pub last_argument: Option<Value>,
    pub streams: Streams,
    /// What it runs when a signal comes, or when it ends.
    pub traps: Vec<Rc<Trap>>,
    /// What `local` hid, by function call, to be put back.
    pub scopes: Vec<Vec<(String, Option<Variable>)>>,
    /// Which of several values is looked at now, by variable.
    pub chosen: BTreeMap<String, usize>,
    /// The environment is another machine's or account's: nothing is known of it.
    pub elsewhere: bool,
    /// It was started by another shell of the line.
    pub inner: bool,
    /// `set -e`
    pub errexit: bool,
    /// `set -f`
    pub noglob: bool,
    /// `set -a`: what is assigned is handed on.
    pub allexport: bool,
    /// The last command of a pipeline runs in this shell.
    pub lastpipe: bool,
}

impl State {
    /// A shell in a directory, of which nothing else is known.
    pub fn at(cwd: Option<Place>) -> Self {
        Self { cwd, ..Self::default() }
    }

    /// The place that a path names from the working directory.
    pub fn place(&self, path: &str) -> Option<Place> {
        Place::at(self.cwd.as_ref(), path)
    }

    /// The place by which a file is remembered that a value names.
    pub fn file(&self, value: &Value) -> Option<Place> {
        Place::of_file(self.cwd.as_ref(), value)
    }

    /// The path of [`Self::place`], when all of it is known.
    pub fn path(&self, path: &str) -> Option<String> {
        self.place(path)?.text().map(str::to_owned)
    }

    /// The working directory, when all of its path is known.
    pub fn dir(&self) -> Option<&str> {
        self.cwd.as_ref()?.text()
    }

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
    pub fn set(&mut self, name: &str, bound: VariableValue) {
        // `printf -v 'a[x]'`: an element.
        if let Some((array, key)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            if let VariableValue::Scalar(value) = bound {
                let mut elements = match self.variables.get(array).and_then(|variable| variable.values.first()) {
                    Some(VariableValue::Array(elements)) => elements.clone(),
                    _ => Rc::default(),
                };
                let list = Rc::make_mut(&mut elements);
                list.retain(|(other, _)| other != key);
                list.push((key.to_owned(), value));
                self.set(array, VariableValue::Array(elements));
            }
            return;
        }
        if let VariableValue::Array(elements) = &bound {
            self.set_table(name, elements);
        }
        match self.variables.get_mut(name) {
            Some(variable) => {
                variable.values.clear();
                variable.values.push(bound);
            }
            None => self.variables.insert(name, Variable::of(bound)),
        }
        self.hand_on(name);
        self.chosen.remove(name);
    }

    /// An array of bash that is one of its own tables.
    fn set_table(&mut self, name: &str, elements: &[(String, Value)]) {
        match name {
            "BASH_ALIASES" => elements.iter().for_each(|(key, value)| self.aliases.insert(key, value.clone())),
            "BASH_CMDS" => {
                for (key, value) in elements {
                    value.known_text().into_iter().for_each(|path| self.hashed.insert(key, path));
                }
            }
            _ => {}
        }
    }

    /// What the line set a variable to.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// The names of the variables that the line set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| &**name)
    }

    /// Whether the line set a variable.
    pub fn sets(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Changes a variable that the line set. `false`: it did not.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut Variable)) -> bool {
        let Some(variable) = self.variables.get_mut(name) else { return false };
        change(variable);
        self.hand_on(name);
        true
    }

    /// Makes a variable what it was at another time.
    pub fn put(&mut self, name: &str, variable: Option<Variable>) {
        match variable {
            Some(variable) => self.variables.insert(name, variable),
            None => self.variables.remove(name),
        }
        self.hand_on(name);
    }

    /// Exports a variable, now or once it is set.
    pub fn export(&mut self, name: &str) {
        if !self.change(name, |variable| variable.exported = true) {
            self.exports.insert(name, ());
        }
    }

    /// Keeps what is handed on in step with a variable that was changed.
    fn hand_on(&mut self, name: &str) {
        let was_asked = !self.exports.is_empty() && self.exports.contains_key(name);
        let is_exported = self.variables.get(name).map(|variable| variable.exported);
        if is_exported == Some(false)
            && was_asked
            && let Some(variable) = self.variables.get_mut(name)
        {
            variable.exported = true;
        }
        if is_exported == Some(true) || is_exported.is_some() && was_asked {
            self.exported.share(name, &self.variables);
            let carries = |bound: &VariableValue| matches!(bound, VariableValue::Scalar(value) if value.taint() != Taint::default());
            if self.exported.get(name).is_some_and(|variable| variable.values.iter().any(carries)) {
                self.tainted.insert(name, ());
            } else if !self.tainted.is_empty() {
                self.tainted.remove(name);
            }
        } else if !self.exported.is_empty() {
            self.exported.remove(name);
        }
    }

    /// Whether both have the same variables.
    pub fn has_variables_of(&self, other: &Self) -> bool {
        self.variables == other.variables
    }

    /// What a call that begins here may hang on.
    pub fn begun(&self) -> Self {
        Self {
            variables: self.variables.clone(),
            positional: Rc::clone(&self.positional),
            functions: self.functions.clone(),
            aliases: self.aliases.clone(),
            cwd: self.cwd.clone(),
            streams: Streams { stdin: self.streams.stdin.clone(), ..Streams::default() },
            ..Self::default()
        }
    }

    /// The names of the variables that are not what they are in another one.
    pub fn changed_variables(&self, other: &Self) -> Vec<Rc<str>> {
        self.variables.differences(&other.variables)
    }

    /// What a copy of it costs, in units of work.
    pub fn size(&self) -> usize {
        let paths = [&self.cwd, &self.previous].into_iter().flatten().map(|place| place.shown().len()).sum::<usize>();
        let runs = self.variables.runs() + self.functions.runs() + self.several.runs() + self.exported.runs();
        runs + paths / 8
    }

    /// Sets a variable to a scalar.
    pub fn set_scalar(&mut self, name: &str, value: Value) {
        self.set(name, VariableValue::Scalar(value));
    }

    /// The environment of a command that this is set for.
    pub fn env(&self, own: &[(String, Value)]) -> EnvView {
        EnvView::new(&self.exported, &self.tainted, own)
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
    pub fn localize_if(&mut self, name: &str, context: &Context) {
        if !context.calls.is_empty() {
            self.localize(name);
        }
    }

    /// The state of a shell that is started from here: what was exported, and what is set for it.
    #[inline(never)]
    pub fn child(&self, env: &[(String, Value)]) -> Box<Self> {
        let mut child = Box::new(Self {
            variables: self.exported.clone(),
            exported: self.exported.clone(),
            tainted: self.tainted.clone(),
            functions: self
                .functions
                .iter()
                .filter(|(name, _)| !self.exported_functions.is_empty() && self.exported_functions.contains_key(name))
                .map(|(name, function)| (name, Rc::clone(function)))
                .collect(),
            exported_functions: self.exported_functions.clone(),
            cwd: self.cwd.clone(),
            doubt: self.doubt.clone(),
            fails: self.fails,
            also: self.also.clone(),
            previous: self.previous.clone(),
            streams: self.streams.clone(),
            chosen: self.chosen.clone(),
            elsewhere: self.elsewhere,
            inner: true,
            ..Self::default()
        });
        for (name, value) in env {
            child.set_scalar(name, value.clone());
            child.export(name);
        }
        child
    }

    /// The state of a shell on another machine, or of another account: nothing of it is known but what is sent along.
    #[inline(never)]
    pub fn elsewhere(&self, env: &[(String, Value)]) -> Box<Self> {
        let mut other =
            Box::new(Self { elsewhere: true, inner: true, streams: self.streams.clone(), ..Self::default() });
        for (name, value) in env {
            other.set_scalar(name, value.clone());
        }
        other
    }

    /// Puts back what the function that just ended had hidden.
    pub fn leave_scope(&mut self) {
        for (name, old) in self.scopes.pop().unwrap_or_default() {
            self.put(&name, old);
        }
    }

    /// Changes the directory for certain.
    pub fn move_to(&mut self, dir: Option<Place>) {
        self.previous = self.cwd.take();
        // No system has longer ones.
        self.cwd = dir.filter(|dir| dir.shown().len() <= MAX_PATH);
        self.doubt.clear();
        self.also.clear();
    }

    /// A program changes to a directory for itself.
    pub fn enter(&mut self, dir: &Value) {
        let to = Place::of_directory(self.cwd.as_ref(), dir);
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
        let names = self.variables.differences(&other.variables);
        for name in names {
            let ours = self.variables.get(&name);
            let theirs = other.variables.get(&name);
            // A variable that only one way sets has, on the other, what the environment gives it.
            let mut values = ours.map_or_else(|| vec![VariableValue::Inherited], |variable| variable.values.clone());
            for bound in theirs.map_or(&[VariableValue::Inherited][..], |variable| &variable.values) {
                if !values.contains(bound) {
                    values.push(bound.clone());
                }
            }
            if values.len() > MAX_CHOICES {
                let taint = values.iter().fold(Taint::default(), |all, bound| match bound {
                    VariableValue::Scalar(value) => all.and(value.taint()),
                    _ => all,
                });
                values = vec![VariableValue::Scalar(unknown(UnknownReason::Other("one of many values"), taint))];
            }
            if values.len() > 1 {
                self.several.insert(&name, ());
            }
            let kept = ours.or(theirs);
            let variable = Variable {
                values,
                exported: ours.is_some_and(|v| v.exported) || theirs.is_some_and(|v| v.exported),
                attribute: kept.map_or(Attribute::Plain, |v| v.attribute),
            };
            self.put(&name, Some(variable));
        }
        if self.positional != other.positional {
            let list = unknown(UnknownReason::Other("one of several argument lists"), Taint::default());
            self.positional = Rc::new(vec![list]);
        }
        self.functions.add_missing(&other.functions);
        self.aliases.add_missing(&other.aliases);
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
        self.allexport |= other.allexport;
    }
}

/// A value of which nothing but its reason and taint is known.
pub(super) fn unknown(why: UnknownReason, taint: Taint) -> Value {
    Value::of(vec![Piece::Unknown(Unknown { why, taint })])
}
