//! The state of a shell at one point of a command: its variables, functions and directories, as far as they are known.
//!
//! This module also joins the states of two branches. Out of scope: words and programs.

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

/// Maximum number of values of a variable. With more the variable is unknown.
pub(super) const MAX_CHOICES: usize = 8;

/// Maximum number of possible working directories besides the most likely one.
const MAX_DIRECTORIES: usize = 3;

/// Maximum length of the path of a directory, in bytes.
const MAX_PATH: usize = 4096;

/// A value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableValue {
    /// The value in the environment.
    Inherited,
    Unset,
    Scalar(Value),
    /// The elements of an array by subscript, in order. Copies of a shell share them.
    Array(Rc<Vec<(String, Value)>>),
}

/// An attribute that changes assigned values.
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

/// A variable that the command sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable {
    /// Its possible values. There is at least one; there are several if branches differ.
    pub values: Vec<VariableValue>,
    pub exported: bool,
    pub attribute: Attribute,
}

impl Variable {
    pub fn of(bound: VariableValue) -> Self {
        Self { values: vec![bound], exported: false, attribute: Attribute::Plain }
    }
}

/// A function, with the context of its definition.
#[derive(Debug)]
pub(super) struct DefinedFunction {
    pub name: String,
    pub body: tree::Compound,
    pub context: Context,
}

/// The state of one shell.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The variables that the command sets; others have their value in the environment.
    variables: Map<Variable>,
    /// Those of them that are exported.
    exported: Map<Variable>,
    /// Those of them that may have a taint.
    tainted: Map<()>,
    /// The variables that had several values at some time. All others have one value.
    pub several: Map<()>,
    pub zero: Value,
    pub positional: Rc<Vec<Value>>,
    pub functions: Map<Rc<DefinedFunction>>,
    pub aliases: Map<Value>,
    /// The entries that `history -s` added to the history.
    pub history: Rc<Vec<Value>>,
    /// The paths that `hash -p` assigned to programs.
    pub hashed: Map<String>,
    /// The variables and functions that were exported before they were set.
    exports: Map<()>,
    pub exported_functions: Map<()>,
    /// The working directory; `None` if it is unknown.
    pub cwd: Option<Place>,
    /// The working directories after an unchecked `cd` failed.
    pub doubt: Vec<Option<Place>>,
    /// Whether the last `cd` fails even if the directory exists.
    pub fails: bool,
    /// Other possible working directories, because branches differ.
    pub also: Vec<Option<Place>>,
    pub previous: Option<Place>,
    pub stack: Vec<Option<Place>>,
    pub last_argument: Option<Value>,
    pub streams: Streams,
    /// The traps.
    pub traps: Vec<Rc<Trap>>,
    /// The variables that `local` hides, for each function call.
    pub scopes: Vec<Vec<(String, Option<Variable>)>>,
    /// For variables with several values, the index of the value that is being evaluated.
    pub chosen: BTreeMap<String, usize>,
    /// Whether the environment is that of another machine or account, which is unknown.
    pub elsewhere: bool,
    /// Whether another shell of the command started it.
    pub inner: bool,
    /// `set -e`
    pub errexit: bool,
    /// `set -f`
    pub noglob: bool,
    /// `set -a`: assigned variables are exported.
    pub allexport: bool,
    /// `set -x`, `set -v`: the shell prints what it reads.
    pub traces: bool,
    /// `setopt extendedglob` of zsh
    pub extended_glob: bool,
    /// `setopt kshglob` of zsh
    pub ksh_glob: bool,
    /// Whether the last command of a pipeline runs in this shell.
    pub lastpipe: bool,
}

impl State {
    /// Creates the state of a shell in a directory.
    pub fn at(cwd: Option<Place>) -> Self {
        Self { cwd, ..Self::default() }
    }

    /// Sets an option of zsh for globs. Its name is written with or without underscores, in any case.
    pub fn set_glob_option(&mut self, option: &str) {
        let name: String = option.chars().filter(|c| !"_-".contains(*c)).map(|c| c.to_ascii_lowercase()).collect();
        match name.as_str() {
            "extendedglob" => self.extended_glob = true,
            "noextendedglob" => self.extended_glob = false,
            "kshglob" => self.ksh_glob = true,
            "nokshglob" => self.ksh_glob = false,
            _ => {}
        }
    }

    /// Returns the names of the variables whose value has a taint.
    pub fn tainted_names(&self) -> impl Iterator<Item = String> {
        let is_tainted = |value: &VariableValue| match value {
            VariableValue::Scalar(value) => value.taint() != Taint::default(),
            VariableValue::Array(elements) => elements.iter().any(|(_, value)| value.taint() != Taint::default()),
            VariableValue::Inherited | VariableValue::Unset => false,
        };
        let tainted = self.variables.iter().filter(move |(_, variable)| variable.values.iter().any(is_tainted));
        tainted.map(|(name, _)| name.to_string())
    }

    /// Returns the place of a path relative to the working directory.
    pub fn place(&self, path: &str) -> Option<Place> {
        Place::at(self.cwd.as_ref(), path)
    }

    /// Returns the place under which a file is stored that a value names.
    pub fn file(&self, value: &Value) -> Option<Place> {
        Place::of_file(self.cwd.as_ref(), value)
    }

    /// Returns the path of [`Self::place`] if it is completely known.
    pub fn path(&self, path: &str) -> Option<String> {
        self.place(path)?.text().map(str::to_owned)
    }

    /// Returns the working directory if it is completely known.
    pub fn dir(&self) -> Option<&str> {
        self.cwd.as_ref()?.text()
    }

    /// Copies the state for a concurrent process, or for another branch.
    #[inline(never)]
    pub fn fork(&self) -> Box<Self> {
        Box::new(self.clone())
    }

    /// Copies the state for a subshell, which does not run the traps.
    pub fn subshell(&self) -> Box<Self> {
        let mut child = self.fork();
        child.traps.clear();
        child
    }

    /// Sets a variable to one value. Its attributes remain.
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

    /// Sets an array of bash that is one of its internal tables.
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

    /// Returns a variable that the command sets.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.get(name)
    }

    /// Returns the names of the variables that the command sets.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| &**name)
    }

    /// Reports whether the command sets a variable.
    pub fn sets(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// Changes a variable that the command sets. `false`: it does not set it.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut Variable)) -> bool {
        let Some(variable) = self.variables.get_mut(name) else { return false };
        change(variable);
        self.hand_on(name);
        true
    }

    /// Replaces a variable by an earlier state of it.
    pub fn put(&mut self, name: &str, variable: Option<Variable>) {
        match variable {
            Some(variable) => self.variables.insert(name, variable),
            None => self.variables.remove(name),
        }
        self.hand_on(name);
    }

    /// Exports a variable, now or when it is set.
    pub fn export(&mut self, name: &str) {
        if !self.change(name, |variable| variable.exported = true) {
            self.exports.insert(name, ());
        }
    }

    /// Updates the exported variables after a change.
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

    /// Reports whether both states have equal variables.
    pub fn has_variables_of(&self, other: &Self) -> bool {
        self.variables == other.variables
    }

    /// Returns the part of the state on which a call that begins here may depend.
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

    /// Returns the names of the variables that differ from another state.
    pub fn changed_variables(&self, other: &Self) -> Vec<Rc<str>> {
        self.variables.differences(&other.variables)
    }

    /// Returns the cost of a copy, in units of fuel.
    pub fn size(&self) -> usize {
        let paths = [&self.cwd, &self.previous].into_iter().flatten().map(|place| place.shown().len()).sum::<usize>();
        let runs = self.variables.runs() + self.functions.runs() + self.several.runs() + self.exported.runs();
        runs + paths / 8 + self.streams.others.len() / 4
    }

    /// Sets a variable to a scalar value.
    pub fn set_scalar(&mut self, name: &str, value: Value) {
        self.set(name, VariableValue::Scalar(value));
    }

    /// Returns the environment of a command with these assignments.
    pub fn env(&self, own: &[(String, Value)]) -> EnvView {
        EnvView::new(&self.exported, &self.tainted, own)
    }

    /// Hides a variable until the current function returns.
    pub fn localize(&mut self, name: &str) {
        let old = self.variables.get(name).cloned();
        if let Some(scope) = self.scopes.last_mut()
            && !scope.iter().any(|(hidden, _)| hidden == name)
        {
            scope.push((name.to_owned(), old));
        }
    }

    /// Like [`Self::localize`], if a function is running.
    pub fn localize_if(&mut self, name: &str, context: &Context) {
        if !context.calls.is_empty() {
            self.localize(name);
        }
    }

    /// Returns the state of a child shell in a directory; `None`: the directory is unknown.
    pub fn child_in(&self, env: &[(String, Value)], dir: Option<&Place>) -> Box<Self> {
        let mut child = self.child(env);
        if child.cwd.as_ref() != dir {
            child.move_to(dir.cloned());
        }
        child
    }

    /// Returns the state of a child shell: the exported variables, and those set for it.
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

    /// Returns the state of a shell on another machine or of another account, of which only the variables set for it
    /// are known.
    #[inline(never)]
    pub fn elsewhere(&self, env: &[(String, Value)]) -> Box<Self> {
        let mut other =
            Box::new(Self { elsewhere: true, inner: true, streams: self.streams.clone(), ..Self::default() });
        for (name, value) in env {
            other.set_scalar(name, value.clone());
        }
        other
    }

    /// Restores the variables that the function which just ended had hidden.
    pub fn leave_scope(&mut self) {
        for (name, old) in self.scopes.pop().unwrap_or_default() {
            self.put(&name, old);
        }
    }

    /// Sets the working directory, without a doubt.
    pub fn move_to(&mut self, dir: Option<Place>) {
        self.previous = self.cwd.take();
        // No system has longer paths.
        self.cwd = dir.filter(|dir| dir.shown().len() <= MAX_PATH);
        self.doubt.clear();
        self.also.clear();
    }

    /// Changes the directory for a program that changes to it itself.
    pub fn enter(&mut self, dir: &Value) {
        let to = Place::of_directory(self.cwd.as_ref(), dir);
        self.move_to(to);
    }

    /// Restores the directory in which a failed, unchecked `cd` leaves the shell.
    pub fn stay(&mut self) {
        let mut dirs = std::mem::take(&mut self.doubt).into_iter();
        if let Some(dir) = dirs.next() {
            self.cwd = dir;
            self.also.extend(dirs);
            self.forget_many_directories();
        }
    }

    /// Makes the directory unknown if there are too many possible ones.
    pub fn forget_many_directories(&mut self) {
        self.also.retain(|dir| *dir != self.cwd);
        self.doubt.retain(|dir| *dir != self.cwd);
        if self.also.len() > MAX_DIRECTORIES || self.doubt.len() > MAX_DIRECTORIES {
            self.cwd = None;
            self.also.clear();
            self.doubt.clear();
        }
    }

    /// Joins the states of two branches.
    #[inline(never)]
    pub fn join(&mut self, other: &Self) {
        let names = self.variables.differences(&other.variables);
        for name in names {
            let ours = self.variables.get(&name);
            let theirs = other.variables.get(&name);
            // A variable that only one branch sets has its value in the environment in the other.
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
        self.traces |= other.traces;
        self.extended_glob |= other.extended_glob;
        self.ksh_glob |= other.ksh_glob;
    }
}

/// Creates an unknown value with this reason and taint.
pub(super) fn unknown(why: UnknownReason, taint: Taint) -> Value {
    Value::of(vec![Piece::Unknown(Unknown { why, taint })])
}
