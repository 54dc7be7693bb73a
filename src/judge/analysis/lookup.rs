//! Resolves the name of a command in the directories of `PATH`, as it is at this point of the command.
//!
//! This module detects programs that were planted in a directory before those of the system. A name that is searched
//! only in directories of the system needs no question. Out of scope: the effects of a program.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::act::{Piece, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::builtins::is_builtin;
use super::fuel::{cost, of_bytes};
use super::place::Place;
use super::progress::WalkProgress;
use super::question::{FileFacts, ProgramFacts};
use super::state::{Build as _, State, VariableValue};
use crate::judge::path_class::PathClass;
use crate::judge::rules::word_lists;

/// Maximum number of directories of a `PATH` that are searched.
const MAX_DIRECTORIES: usize = 64;

/// Maximum number of programs to which an approval is bound.
const MAX_PROGRAMS: usize = 64;

/// The variable with the directories that a shell searches for programs.
const PATH: &str = "PATH";

/// A name with the directories in which a shell searches it, in order; none for a name that is a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedName {
    pub name: String,
    pub dirs: Rc<[String]>,
}

/// The directories of a `PATH`.
#[derive(Clone, Debug)]
pub(super) struct SearchPath {
    /// The known directories, in order.
    dirs: Rc<[String]>,
    /// The number of directories before the first one of the system.
    before: usize,
    /// Whether the command, or a program for its own commands, set it.
    changed: bool,
}

impl SearchPath {
    /// Returns the path of a shell that has either: the directories before those of the system are searched in both.
    fn or(self, other: Self) -> Self {
        let (own, rest) = self.dirs.split_at(self.before);
        let others = other.dirs.get(..other.before).unwrap_or_default();
        let dirs: Vec<String> = own.iter().chain(others).chain(rest).take(MAX_DIRECTORIES).cloned().collect();
        let before = (own.len() + others.len()).min(dirs.len());
        Self { dirs: dirs.into(), before, changed: self.changed || other.changed }
    }
}

/// The result of resolving a name or a path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramLocation {
    /// Its path, if the path was given, or is not that of the usual program with this name.
    pub path: Option<Value>,
    /// The program of the system of which it is a link or a copy with another name.
    pub other: Option<String>,
}

/// The results of resolving names.
#[derive(Debug, Default)]
pub(super) struct Resolver<'a> {
    /// The paths of planted programs.
    planted: BTreeSet<String>,
    /// The resolved names, with the directories that were searched.
    resolved: HashMap<String, (Rc<[String]>, Option<&'a ProgramFacts>)>,
    /// The last values of `PATH` that the command set, with the directory at that time, and the directories in them.
    own_path: Option<(Vec<Value>, Option<String>, SearchPath)>,
    /// The directories of the inherited `PATH`, computed on first use.
    inherited_path: Option<SearchPath>,
    /// The names of programs, so that an approval is bound to the resolved files.
    pub programs: Vec<SearchedName>,
}

impl<'a> Resolver<'a> {
    /// Resolves a name or a path. `by_shell`: a shell searches it, so that builtins take precedence. On another machine
    /// the result is unknown.
    pub fn leads_to(
        &mut self,
        progress: WalkProgress<'_, 'a>,
        state: &State,
        (name, path): (&str, Option<Value>),
        env: &[(String, Value)],
        by_shell: bool,
        is_remote: bool,
    ) -> ProgramLocation {
        let path = match path {
            path if is_remote => path,
            Some(path) => {
                let known = path.known().and_then(|path| state.path(&path));
                known.iter().for_each(|path| self.remember(path, &Rc::from([])));
                Some(path)
            }
            None if by_shell && is_builtin(name) || state.elsewhere || name.contains(':') => None,
            None => self.found_first(progress, state, name, env).map(Value::text),
        };
        let known = path.as_ref().filter(|_| !is_remote).and_then(Value::known);
        let other = known.and_then(|path| progress.under_another_name(state, name, &path));
        ProgramLocation { path, other }
    }

    /// Reports whether a program at this path was planted before the usual one.
    pub fn is_planted(&self, path: &str) -> bool {
        self.planted.contains(path)
    }

    /// Returns the file to which a name without a slash resolves, if that is not the usual program: a script or a
    /// program in a directory before those of the system.
    #[inline(never)]
    fn found_first(
        &mut self,
        progress: WalkProgress<'_, 'a>,
        state: &State,
        name: &str,
        env: &[(String, Value)],
    ) -> Option<String> {
        let search = self.search_path(progress.input, state, env);
        self.remember(name, &search.dirs);
        if search.before == 0 {
            return None;
        }
        let dirs = &search.dirs[..search.before];
        // A file that the command itself creates there.
        let made = |dir: &String| format!("{}/{name}", dir.trim_end_matches('/'));
        if !progress.files.written.is_empty() || !progress.files.links.is_empty() {
            progress.input.spend(cost::LOOK_UP * 8 * dirs.len() as u64);
            if let Some(path) = dirs
                .iter()
                .filter(|dir| progress.may_make_in(dir))
                .map(made)
                .find(|path| progress.is_made_here(state, &Value::text(path.as_str())))
            {
                self.planted.insert(path.clone());
                return Some(path);
            }
        }
        if search.changed
            && let Some(path) = progress.touched_script(state, name, dirs.iter().map(made))
        {
            self.planted.insert(path.clone());
            return Some(path);
        }
        let found = self.resolved(progress.input, name, &search)?;
        let installed = found.path != found.canonical && found.canonical.contains("/node_modules/");
        if is_of_system(&found.canonical) || installed {
            return None;
        }
        // A link to guard with the name of a shell.
        if progress.input.classes(state.cwd.as_ref(), &Value::text(found.canonical.as_str())).has(PathClass::Guard) {
            return None;
        }
        let ours = || progress.input.is_ours(&Value::text(found.canonical.as_str()));
        if !(search.changed || found.since_session || ours()) {
            return None;
        }
        self.planted.insert(found.path.clone());
        Some(found.path.clone())
    }

    /// Reports whether a program that is called by its path in a directory of tools was written there by this session.
    /// It is then judged by its content and not by its name. On another machine the result is unknown.
    #[inline(never)]
    pub fn is_written(&mut self, input: &AnalysisInput<'a>, state: &State, path: &str, is_remote: bool) -> bool {
        let Some(at) = state.path(path).filter(|at| !is_remote && !is_of_system(at)) else { return false };
        let Some(ledger) = input.inquiry.ledger() else { return false };
        let led = input.inquiry.path(&at).map(|facts| facts.canonical.as_str());
        let wrote = led.into_iter().chain([at.as_str()]).any(|path| ledger.has_written(path));
        if wrote {
            self.planted.insert(path.to_owned());
        }
        wrote
    }

    /// Resolves a name in the directories before those of the system. The result is cached for the same directories.
    fn resolved(&mut self, input: &AnalysisInput<'a>, name: &str, search: &SearchPath) -> Option<&'a ProgramFacts> {
        if let Some((dirs, found)) = self.resolved.get(name)
            && Rc::ptr_eq(dirs, &search.dirs)
        {
            return *found;
        }
        input.spend(cost::QUESTION);
        let found = input.inquiry.resolve(name, search.dirs.get(..search.before)?);
        self.resolved.insert(name.to_owned(), (Rc::clone(&search.dirs), found));
        found
    }

    /// Stores the name of a program, so that an approval is bound to the resolved file.
    fn remember(&mut self, name: &str, dirs: &Rc<[String]>) {
        let known = |named: &SearchedName| named.name == name && named.dirs == *dirs;
        if self.programs.len() < MAX_PROGRAMS && !self.programs.iter().any(known) {
            self.programs.push(SearchedName { name: name.to_owned(), dirs: Rc::clone(dirs) });
        }
    }

    /// Returns `PATH` for a command: the value set for it, or that of the shell.
    fn search_path(&mut self, input: &AnalysisInput<'_>, state: &State, env: &[(String, Value)]) -> SearchPath {
        let values = paths_in(state, env);
        if !values.is_empty() {
            let size = values.iter().map(|value| value.size()).sum();
            input.spend(cost::STEP + of_bytes(size));
            let dir = state.dir().map(str::to_owned);
            let is_same = |known: &[Value]| known.iter().eq(values.iter().copied());
            if let Some((_, _, path)) = self.own_path.as_ref().filter(|(known, at, _)| is_same(known) && *at == dir) {
                return path.clone();
            }
            input.spend(of_bytes(size) * 8);
            let own = input.invocation.env.get(PATH);
            let of_value = |value: &&Value| directories(value, state, !own.is_some_and(|path| value.is(path)));
            let searched = values.iter().map(of_value).reduce(SearchPath::or);
            let path = searched.unwrap_or_else(|| directories(&Value::default(), state, false));
            self.own_path = Some((values.into_iter().cloned().collect(), dir, path.clone()));
            return path;
        }
        if let Some(known) = &self.inherited_path {
            return known.clone();
        }
        let path = directories(&input.outer_path(), state, false);
        // A relative directory may be another one for the next command.
        if input.invocation.env.get(PATH).is_none_or(|path| path.split(':').all(|dir| dir.starts_with('/'))) {
            self.inherited_path = Some(path.clone());
        }
        path
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the program of the system of which a file is a link or a copy, if it has another name and description:
    /// `ln -s /bin/rm tools/eslint; tools/eslint -r src`.
    #[inline(never)]
    fn under_another_name(&self, state: &State, name: &str, path: &str) -> Option<String> {
        let path = state.path(path).filter(|path| !is_of_system(path))?;
        let linked = || self.behind(state, &Value::text(path.as_str())).and_then(|(target, _)| target.known_text());
        let copied = || self.files.written.get(&Place::of(path.as_str()))?.copies.first()?.text().map(str::to_owned);
        let there =
            || self.input.inquiry.path(&path).filter(|facts| facts.symlink).map(|facts| facts.canonical.clone());
        let target = linked().or_else(copied).or_else(there).filter(|target| is_of_system(target))?;
        let other = target.rsplit('/').next()?;
        let described = self.input.catalog.program(other)?;
        let is_same = self.input.catalog.program(name).is_some_and(|program| std::ptr::eq(program, described));
        (!is_same && other != name).then_some(target)
    }

    /// Returns the first of these paths with a name that is an existing script which the command named before, for
    /// example to make it executable.
    fn touched_script(&self, state: &State, name: &str, mut paths: impl Iterator<Item = String>) -> Option<String> {
        self.input.spend(cost::LOOK_UP * self.acts.len() as u64);
        let operands = self.acts.iter().flat_map(|act| &act.operands);
        // Most operands are other names, and need not be placed in the directory.
        let may_be = |text: &str| matches!(text.rsplit('/').next(), Some("" | "." | "..")) || text.ends_with(name);
        let named = operands.filter_map(|operand| operand.value.known().filter(|text| may_be(text)));
        let named: Vec<String> = named.filter_map(|text| state.path(&text)).collect();
        let is_text = |path: &String| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. }));
        paths.find(|path| named.contains(path) && is_text(path))
    }
}

/// Returns the value of `PATH` that is set for a command, or in its shell; the first of several possible ones.
pub(super) fn path_in<'s>(state: &'s State, env: &'s [(String, Value)]) -> Option<&'s Value> {
    paths_in(state, env).into_iter().next()
}

/// Returns the possible values of `PATH` that are set for a command, or in its shell.
fn paths_in<'s>(state: &'s State, env: &'s [(String, Value)]) -> Vec<&'s Value> {
    if let Some((_, value)) = env.iter().rev().find(|(name, _)| name == PATH) {
        return vec![value];
    }
    let values = state.variable(PATH).map(|variable| variable.values.as_slice()).unwrap_or_default();
    let known = |value: &'s VariableValue| match value {
        VariableValue::Scalar(value) => Some(value),
        _ => None,
    };
    values.iter().filter_map(known).collect()
}

/// Returns the known directories in a value of `PATH`.
fn directories(value: &Value, state: &State, changed: bool) -> SearchPath {
    let mut parts: Vec<Option<String>> = vec![Some(String::new())];
    // Whether the last part is one variable that may be empty, which stands for the working directory.
    let mut may_be_empty = false;
    for piece in value.pieces() {
        match piece {
            Piece::Text(text) | Piece::Glob(text) => {
                for (at, part) in text.split(':').enumerate() {
                    if at > 0 {
                        if std::mem::take(&mut may_be_empty) {
                            parts.push(Some(String::new()));
                        }
                        parts.push(Some(String::new()));
                    }
                    may_be_empty &= part.is_empty();
                    parts.last_mut().into_iter().flatten().for_each(|last| last.push_str(part));
                }
            }
            Piece::Unknown(unknown) => {
                let is_alone = parts.last().is_some_and(|last| last.as_ref().is_some_and(String::is_empty));
                may_be_empty = is_alone && matches!(unknown.why, UnknownReason::Variable(_));
                parts.last_mut().into_iter().for_each(|last| *last = None);
            }
        }
    }
    if may_be_empty {
        parts.push(Some(String::new()));
    }
    let dir = |part: &String| match part.as_str() {
        "" => state.dir().map(str::to_owned),
        part => state.path(part),
    };
    let known = parts.iter().take(MAX_DIRECTORIES).flatten();
    let dirs: Vec<String> = if value.pieces().is_empty() { Vec::new() } else { known.filter_map(dir).collect() };
    let before = dirs.iter().position(|dir| is_of_system(dir)).unwrap_or(dirs.len());
    SearchPath { dirs: dirs.into(), before, changed }
}

/// Reports whether a path is in a directory that only the administrator can write.
fn is_of_system(path: &str) -> bool {
    word_lists::SYSTEM_PROGRAM_DIRECTORIES
        .iter()
        .any(|place| path.starts_with(place) || place.strip_suffix('/') == Some(path))
}

#[cfg(test)]
mod tests;
