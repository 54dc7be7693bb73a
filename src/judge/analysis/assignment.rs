//! Assignments to scalars, arrays and elements, by the attributes of the variable.

use std::borrow::Cow;
use std::rc::Rc;

use super::act::{NumberId, OpaqueReason, Piece, UnknownReason, Value};
use super::command::assignment_of;
use super::command_context::Context;
use super::expand::Field;
use super::fuel::{cost, of_bytes};
use super::function::suffix_alias;
use super::lookup::path_in;
use super::recipes::is_name;
use super::state::{Attribute, Build as _, State, VariableValue, unknown};
use super::text_edits::with_attribute;
use super::walk::Walker;
use crate::judge::sort;
use crate::judge::syntax::tree::{ArrayElement, Assignment, AssignmentValue, Dialect, Part, Span, Word};

/// Variables whose value a shell executes.
const RUN_BY_SHELLS: [&str; 3] = ["NULLCMD", "PROMPT_COMMAND", "READNULLCMD"];

/// Variables of the shell that hold numbers: assigned values are evaluated.
const NUMBERS: [&str; 7] = ["EPOCHSECONDS", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

/// Arrays of zsh that define commands.
const ZSH_TABLES: [&str; 5] = ["aliases", "commands", "functions", "galiases", "saliases"];

/// Returns the elements of a table by key. In a list, elements without a subscript are alternately keys and values; a
/// key may be unknown.
fn pairs(elements: &[(String, Value)], is_list: bool) -> Vec<(Option<Cow<'_, str>>, &Value)> {
    let is_listed = |key: &str| is_list && key.parse::<u64>().is_ok();
    let listed: Vec<&Value> = elements.iter().filter(|(key, _)| is_listed(key)).map(|(_, value)| value).collect();
    let named =
        elements.iter().filter(|(key, _)| !is_listed(key)).map(|(key, value)| (Some(key.as_str().into()), value));
    let paired = listed.as_chunks::<2>().0.iter().map(|[key, value]| (key.known(), *value));
    named.chain(paired).collect()
}

/// The elements of an array by subscript, in order.
type Elements = Rc<Vec<(String, Value)>>;

impl Walker<'_> {
    /// Applies an assignment to an internal table of zsh: aliases, functions, paths of commands.
    fn zsh_table(
        &mut self,
        state: &mut State,
        context: &Context,
        assignment: &Assignment,
        elements: &[(String, Value)],
    ) {
        let (name, span) = (assignment.name.as_str(), assignment.span);
        if !ZSH_TABLES.contains(&name) {
            return;
        }
        for (key, value) in pairs(elements, matches!(assignment.value, AssignmentValue::Array(_))) {
            let Some(key) = key else {
                self.opaque(OpaqueReason::Syntax, format!("it is not known which of zsh's {name} are set"), span);
                continue;
            };
            match name {
                "aliases" | "galiases" => state.aliases.insert(&*key, value.clone()),
                "saliases" => state.aliases.insert(suffix_alias(&key), value.clone()),
                "commands" => value.known_text().into_iter().for_each(|path| state.hashed.insert(&*key, path)),
                _ => {
                    let Some(text) = value.known_text() else {
                        self.opaque(OpaqueReason::Code, format!("what the function {key} does is not known"), span);
                        continue;
                    };
                    let key = &*key;
                    if key.is_empty() || is_name(key) {
                        let context = context.elsewhere(context.spans.map(Span::default()));
                        self.text(state, &context, &format!("{key}() {{\n{text}\n}}"));
                    }
                }
            }
        }
    }

    /// Performs an assignment, or only computes its value if a command follows.
    #[inline(never)]
    pub fn assign(&mut self, state: &mut State, context: &Context, assignment: &Assignment, lasting: bool) -> Value {
        let subscript = assignment.subscript.as_ref().map(|word| {
            let value = self.expand().single(state, context, word);
            if let Some(text) = value.known_text() {
                self.walk_embedded(state, context, &text);
            }
            self.expand().compute(state, context, &value);
            value.known_text()
        });
        let name = assignment.name.as_str();
        match &assignment.value {
            AssignmentValue::Array(elements) => {
                let array = self.elements(state, context, name, elements, (assignment.append, lasting));
                if lasting {
                    if context.dialect == Dialect::Zsh {
                        self.zsh_table(state, context, assignment, &array);
                        // `path` of zsh is the array of the directories in `PATH`.
                        if name == "path" {
                            let old = path_in(state, &[]).cloned().unwrap_or_else(|| self.input.outer_path());
                            let is_old = |dir: &Value| matches!(dir.pieces(), [Piece::Unknown(of)] if of.why == UnknownReason::Variable("path".to_owned()));
                            let dirs = array.iter().map(|(_, dir)| if is_old(dir) { &old } else { dir });
                            state.set_scalar("PATH", Value::join(dirs, ":"));
                        }
                    }
                    state.set(name, VariableValue::Array(array));
                }
                Value::default()
            }
            AssignmentValue::Scalar(word) => {
                self.input.spend(cost::STEP);
                let mut value = self.expand().assigned_value(state, context, word);
                self.input.spend(of_bytes(value.size()));
                if !lasting {
                    return value;
                }
                match subscript {
                    None => {
                        if assignment.append {
                            value = self.appended(state, name, &value);
                        }
                        self.set_scalar(state, context, name, value.clone());
                        // A variable of the environment remains exported.
                        if state.allexport || self.input.invocation.env.get(name).is_some() {
                            state.change(name, |variable| variable.exported = true);
                        }
                        if name.starts_with("PS") || RUN_BY_SHELLS.contains(&name) {
                            self.command_variable(state, context, name, &value, context.spans.map(assignment.span));
                        }
                    }
                    Some(None) => state.set_scalar(name, unknown(UnknownReason::Other("an array"), value.taint())),
                    Some(Some(key)) => {
                        let mut held = self.held_elements(state, name, true);
                        self.copying(&held);
                        let array = Rc::make_mut(&mut held);
                        let old = array.iter().position(|(other, _)| *other == key);
                        self.input.spend(array.len() as u64 / 16);
                        match old.and_then(|at| array.get_mut(at)) {
                            Some((_, old)) if assignment.append => old.push_value(&value),
                            Some((_, old)) => *old = value.clone(),
                            None => {
                                let number = |key: &str| key.parse().unwrap_or(u64::MAX);
                                let own = number(&key);
                                let at = array.partition_point(|(other, _)| number(other) <= own);
                                array.insert(at, (key, value.clone()));
                            }
                        }
                        if context.dialect == Dialect::Zsh {
                            self.zsh_table(state, context, assignment, &held);
                        }
                        state.set(name, VariableValue::Array(held));
                    }
                }
                value
            }
        }
    }

    #[inline(never)]
    pub fn appended(&mut self, state: &State, name: &str, value: &Value) -> Value {
        match self.expand().lookup(state, name) {
            VariableValue::Scalar(mut old) if !super::parameter::is_unset_marker(&old) => {
                old.push_value(value);
                old
            }
            _ => value.clone(),
        }
    }

    /// Sets a scalar by the attributes of the variable: in lower case, as a number, through a reference.
    #[inline(never)]
    pub fn set_scalar(&mut self, state: &mut State, context: &Context, name: &str, value: Value) {
        let attribute = state.variable(name).map_or(Attribute::Plain, |variable| variable.attribute);
        if NUMBERS.contains(&name) {
            self.expand().compute(state, context, &value);
        }
        match attribute {
            Attribute::Reference => {
                let target = state.variable(name).and_then(|variable| match variable.values.first() {
                    Some(VariableValue::Scalar(target)) => target.known_text(),
                    _ => None,
                });
                match target.filter(|target| target != name) {
                    Some(target) => state.set_scalar(&target, value),
                    None => state.set_scalar(name, value),
                }
            }
            Attribute::Integer => {
                let number = self.expand().compute(state, context, &value);
                let value = number.map_or_else(
                    || unknown(UnknownReason::Number(NumberId::default()), value.taint()),
                    |number| Value::text(number.to_string()),
                );
                state.set_scalar(name, value);
            }
            attribute => state.set_scalar(name, with_attribute(value, attribute)),
        }
    }

    /// Returns the array in a variable. If the variable is set next, the array is moved out, so that appending copies
    /// nothing.
    fn held_elements(&mut self, state: &mut State, name: &str, taken: bool) -> Elements {
        if taken
            && let Some([VariableValue::Array(_)]) = state.variable(name).map(|variable| variable.values.as_slice())
        {
            let mut held = Rc::default();
            state.change(name, |variable| {
                if let Some(VariableValue::Array(array)) = variable.values.first_mut() {
                    std::mem::swap(array, &mut held);
                }
            });
            return held;
        }
        match self.expand().lookup(state, name) {
            VariableValue::Array(old) => old,
            VariableValue::Scalar(old) if !super::parameter::is_unset_marker(&old) => {
                Rc::new(vec![("0".to_owned(), old)])
            }
            _ => Rc::default(),
        }
    }

    /// Charges the copy that a change of these elements requires.
    fn copying(&mut self, elements: &Elements) {
        if Rc::strong_count(elements) > 1 {
            self.input.spend(elements.len() as u64);
        }
    }

    /// Returns the elements of `( … )`, after those of the variable if it `appends`. `lasting`: the variable is set to
    /// them.
    #[inline(never)]
    pub fn elements(
        &mut self,
        state: &mut State,
        context: &Context,
        name: &str,
        elements: &[ArrayElement],
        (appends, lasting): (bool, bool),
    ) -> Elements {
        let mut added: Vec<(Option<String>, Value)> = Vec::new();
        for element in elements {
            match &element.subscript {
                Some(subscript) => {
                    let key = self.expand().single(state, context, subscript);
                    let value = self.expand().single(state, context, &element.value);
                    added.push((Some(key.known_text().unwrap_or_default()), value));
                }
                None => {
                    let mut fields = Vec::new();
                    self.expand().fields(state, context, &element.value, &mut fields);
                    added.extend(fields.into_iter().map(|field| (None, field.value)));
                }
            }
        }
        self.input.spend(cost::COPY * added.len() as u64);
        let mut held = if appends { self.held_elements(state, name, lasting) } else { Rc::default() };
        self.copying(&held);
        let array = Rc::make_mut(&mut held);
        let number = |key: &str| key.parse::<u64>().ok();
        // Elements without a number are at the end.
        let mut is_sorted = array.last().is_none_or(|(key, _)| number(key).is_some());
        let last = array.iter().rev().find_map(|(key, _)| number(key));
        let mut next = last.map_or(0, |last| last.saturating_add(1));
        for (key, value) in added {
            match key {
                Some(key) => {
                    if let Some(number) = number(&key) {
                        next = number.saturating_add(1);
                    }
                    self.input.spend(array.len() as u64 / 16);
                    array.retain(|(other, _)| *other != key);
                    array.push((key, value));
                    is_sorted = false;
                }
                None => {
                    array.push((next.to_string(), value));
                    next = next.saturating_add(1);
                }
            }
        }
        if !is_sorted {
            self.input.spend(array.len() as u64);
            sort::sort_by_key(array, |(key, _)| number(key).unwrap_or(u64::MAX));
        }
        held
    }

    /// Expands an assignment in the arguments of a declaring builtin. It is not split, and the builtin performs it
    /// later.
    #[inline(never)]
    pub fn declared(&mut self, state: &mut State, context: &Context, word: &Word, out: &mut Vec<Field>) {
        let value = self.expand().assigned_value(state, context, word);
        out.push(Field::word(value, context.spans.map(word.span)));
        if let (Some(name), Some(Part::Array(elements))) = (assignment_of(word), word.parts.last()) {
            let name = name.trim_end_matches('+').to_owned();
            let array = self.elements(state, context, &name, elements, (false, true));
            state.localize_if(&name, context);
            state.set(&name, VariableValue::Array(array));
        }
    }

    /// Performs the assignments before a function or builtin, and returns the previous values.
    pub fn set_for(state: &mut State, env: &[(String, Value)]) -> Vec<(String, Option<super::state::Variable>)> {
        env.iter()
            .map(|(name, value)| {
                let old = state.variable(name).cloned();
                state.set_scalar(name, value.clone());
                (name.clone(), old)
            })
            .collect()
    }

    /// Restores the values that [`Self::set_for`] replaced.
    pub fn put_back(state: &mut State, outer: Vec<(String, Option<super::state::Variable>)>) {
        for (name, old) in outer {
            state.put(&name, old);
        }
    }
}
